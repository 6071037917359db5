//! Congestion controls that are not in the registry: a user's own, written elsewhere, perhaps in another language.
//! They cost an indirect call for each hook.

use super::{CcConfig, CongestionControl, Init};
use std::fmt;
use std::sync::Arc;

/// One of them at work on a connection. All that implement the contract and can be cloned are it.
pub trait Own: CongestionControl + fmt::Debug + Send + Sync {
    /// An independent copy, as of now.
    fn copy(&self) -> Box<dyn Own>;
}

impl<T: CongestionControl + fmt::Debug + Send + Sync + Clone + 'static> Own for T {
    fn copy(&self) -> Box<dyn Own> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Own> {
    fn clone(&self) -> Self {
        (**self).copy()
    }
}

/// What makes one for each connection.
#[derive(Clone)]
pub struct OwnCc(Arc<dyn Fn(Init) -> Box<dyn Own> + Send + Sync>);

impl OwnCc {
    /// `make` is called when a connection is made, and again when its data transfer begins.
    pub fn new(make: impl Fn(Init) -> Box<dyn Own> + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }

    pub(crate) fn build(&self, init: Init) -> Box<dyn Own> {
        (self.0)(init)
    }
}

impl CcConfig {
    /// One of the registry at work, to be wrapped by one's own.
    pub fn own(self, init: Init) -> Box<dyn Own> {
        Box::new(self.build(init))
    }
}

impl fmt::Debug for OwnCc {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("OwnCc")
    }
}

impl PartialEq for OwnCc {
    /// Whether both are the same one, not two that do the same.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
