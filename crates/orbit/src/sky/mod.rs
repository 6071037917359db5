//! Where satellites and places are, whom they see, and which path is shortest when.

pub mod earth;
pub mod elements;
pub mod epoch;
mod error;
pub mod orbit;
mod vector;

pub use error::SkyError;
pub use vector::{distance, Vector};
