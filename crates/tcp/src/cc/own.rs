//! Congestion controls that are not in the registry: a user's own, written elsewhere, perhaps in another language.
//! They cost an indirect call for each hook.

use super::{CongestionControl, Init};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// One of them at work on a connection. All that implement the contract and can be cloned are it.
pub trait Own: CongestionControl + fmt::Debug + Send + Sync {
    /// An independent copy, as of now.
    fn copy(&self) -> Box<dyn Own>;
    /// [`undo`](CongestionControl::undo), for a copy of this one.
    fn undo_own(&mut self, before: Box<dyn Own>);
    /// As what it is.
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl<T: CongestionControl + fmt::Debug + Send + Sync + Clone + 'static> Own for T {
    fn copy(&self) -> Box<dyn Own> {
        Box::new(self.clone())
    }

    fn undo_own(&mut self, before: Box<dyn Own>) {
        // A connection keeps its kind.
        if let Ok(before) = before.into_any().downcast::<T>() {
            self.undo(*before);
        }
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl Clone for Box<dyn Own> {
    fn clone(&self) -> Self {
        (**self).copy()
    }
}

/// What makes one for each connection, and what it is called.
#[derive(Clone)]
pub struct OwnCc {
    name: Arc<str>,
    code: Arc<str>,
    make: Arc<dyn Fn(Init) -> Box<dyn Own> + Send + Sync>,
}

impl OwnCc {
    /// `name` is for tables; `code` is different wherever it may act differently, such as a hash of its source. `make` is
    /// called when a connection is made, and again when its data transfer begins.
    pub fn new(name: &str, code: &str, make: impl Fn(Init) -> Box<dyn Own> + Send + Sync + 'static) -> Self {
        Self { name: name.into(), code: code.into(), make: Arc::new(make) }
    }

    /// The same one, made otherwise.
    #[must_use]
    pub fn made_by(&self, make: impl Fn(Init) -> Box<dyn Own> + Send + Sync + 'static) -> Self {
        Self { make: Arc::new(make), ..self.clone() }
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What tells it from others of this name.
    pub fn code(&self) -> &str {
        &self.code
    }

    pub(crate) fn build(&self, init: Init) -> Box<dyn Own> {
        (self.make)(init)
    }
}

impl fmt::Debug for OwnCc {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "OwnCc({} {})", self.name, self.code)
    }
}

impl PartialEq for OwnCc {
    /// Whether both are the same one, not two that do the same.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.make, &other.make)
    }
}
