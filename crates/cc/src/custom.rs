//! Custom congestion controls: written by users, not in the registry, possibly in another language. Each hook costs an
//! indirect call.

use crate::{CcConfig, CongestionControl, Init};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// A custom congestion control on a connection. Any cloneable type that implements the contract is one.
pub trait Custom: CongestionControl + fmt::Debug + Send + Sync {
    /// Returns an independent copy of the present state.
    fn copy(&self) -> Box<dyn Custom>;
    /// Calls [`undo`](CongestionControl::undo) with an earlier copy of this one.
    fn undo_custom(&mut self, before: Box<dyn Custom>);
    /// Converts to `Any`, for the concrete type.
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl<T: CongestionControl + fmt::Debug + Send + Sync + Clone + 'static> Custom for T {
    fn copy(&self) -> Box<dyn Custom> {
        Box::new(self.clone())
    }

    fn undo_custom(&mut self, before: Box<dyn Custom>) {
        // A connection never changes its congestion control.
        if let Ok(before) = before.into_any().downcast::<T>() {
            self.undo(*before);
        }
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl Clone for Box<dyn Custom> {
    fn clone(&self) -> Self {
        (**self).copy()
    }
}

/// Factory and name of a custom congestion control.
#[derive(Clone)]
pub struct CustomCc {
    name: Arc<str>,
    code: Arc<str>,
    make: Arc<dyn Fn(Init, CcConfig) -> Box<dyn Custom> + Send + Sync>,
}

impl CustomCc {
    /// Creates a factory. A connection calls `make` when it is created, and again when its data transfer begins.
    pub fn new(make: impl Fn(Init) -> Box<dyn Custom> + Send + Sync + 'static) -> Self {
        Self::named("own", "", move |init, _| make(init))
    }

    /// Creates a factory with a `name` for tables and a `code` that identifies its behaviour, such as a hash of its
    /// source. `make` also receives the congestion control of the registry that it replaces, with the settings of the
    /// connection.
    pub fn named(
        name: &str,
        code: &str,
        make: impl Fn(Init, CcConfig) -> Box<dyn Custom> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), code: code.into(), make: Arc::new(make) }
    }

    /// Returns the same congestion control with another factory.
    #[must_use]
    pub fn made_by(&self, make: impl Fn(Init, CcConfig) -> Box<dyn Custom> + Send + Sync + 'static) -> Self {
        Self { make: Arc::new(make), ..self.clone() }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the code that distinguishes it from others of this name.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// Makes one for a connection, instead of a congestion control of the registry.
    pub fn build(&self, init: Init, instead_of: CcConfig) -> Box<dyn Custom> {
        (self.make)(init, instead_of)
    }
}

impl fmt::Debug for CustomCc {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "CustomCc({} {})", self.name, self.code)
    }
}

impl PartialEq for CustomCc {
    /// Whether both are the same congestion control, not two with the same effect.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.make, &other.make)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::loss_window::window_hooks;
    use crate::{AckSample, Cc, Congestion, PathState, Window};

    /// Keeps what was learnt when it goes back.
    #[derive(Clone, Debug)]
    struct Learns {
        window: Window,
        acks: u64,
    }

    impl CongestionControl for Learns {
        fn on_ack(&mut self, _: &AckSample, _: &PathState) {
            self.acks += 1;
            self.window.add(self.acks as f64);
        }
        fn on_congestion(&mut self, _: Congestion, path: &PathState) {
            self.window.reduce(path.half(), path.half());
        }
        fn on_rto(&mut self, _: bool, _: &PathState) {}
        fn undo(&mut self, before: Self) {
            self.window = before.window;
        }
        window_hooks!(limit_cwnd, set_window, on_smss, cwnd, ssthresh);
    }

    #[test]
    fn it_goes_back_in_its_own_way() {
        let ack = AckSample { newly_acked: 1460, is_cwnd_limited: true, rtt: None, ..AckSample::default() };
        let path = crate::testbench::path(14_600);
        let mut cc = Cc::from(Box::new(Learns { window: Window::new(Init::default()), acks: 0 }) as Box<dyn Custom>);
        let before = cc.clone();
        cc.on_ack(&ack, &path);
        cc.on_congestion(Congestion::FastRetransmit, &path);
        assert_eq!(cc.cwnd(), 7300);
        cc.undo(before);
        assert_eq!(cc.cwnd(), 14_600);
        cc.on_ack(&ack, &path);
        assert_eq!(cc.cwnd(), 14_602, "the second ACK that it saw");
    }
}
