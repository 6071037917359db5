//! The laboratory.
#![forbid(unsafe_code)]

pub mod middlebox;
pub mod record;
pub mod scenario;
