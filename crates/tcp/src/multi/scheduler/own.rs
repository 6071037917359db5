//! Custom schedulers: written by users, not in the registry, possibly in another language.

use super::Scheduler;
use std::fmt;
use std::sync::Arc;

/// Factory and name of a custom scheduler.
#[derive(Clone)]
pub struct OwnScheduler {
    name: Arc<str>,
    code: Arc<str>,
    make: Arc<dyn Fn() -> Box<dyn Scheduler> + Send + Sync>,
}

impl OwnScheduler {
    /// Creates a factory with a `name` for tables and a `code` that identifies its behaviour, such as a hash of its source. Each
    /// end of a multipath connection calls `make` once.
    pub fn new(name: &str, code: &str, make: impl Fn() -> Box<dyn Scheduler> + Send + Sync + 'static) -> Self {
        Self { name: name.into(), code: code.into(), make: Arc::new(make) }
    }

    /// Returns it with another factory of the same scheduler.
    #[must_use]
    pub fn made_by(&self, make: impl Fn() -> Box<dyn Scheduler> + Send + Sync + 'static) -> Self {
        Self { make: Arc::new(make), ..self.clone() }
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the code that distinguishes it from others of this name.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.code
    }

    pub(crate) fn build(&self) -> Box<dyn Scheduler> {
        (self.make)()
    }
}

impl fmt::Debug for OwnScheduler {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "OwnScheduler({} {})", self.name, self.code)
    }
}

impl PartialEq for OwnScheduler {
    /// Whether both are the same scheduler, not two with the same effect.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.make, &other.make)
    }
}
