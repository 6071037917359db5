//! Declares settings of congestion controls, in the language of all keys.

pub use bentpipe_units::settings;
pub use bentpipe_units::settings::*;
