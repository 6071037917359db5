//! The language in which settings are declared; it is that of all keys.

pub use bentpipe_units::settings;
pub use bentpipe_units::settings::*;
