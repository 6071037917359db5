//! Tests of all controllers, and paths for them.

pub(crate) mod path;
pub(crate) mod suite;
pub(crate) mod toy;
