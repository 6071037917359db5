//! Where satellites and places are, whom they see, and which path is shortest when.
//!
//! A [`scene::Sky`] is made of a constellation (shells by Walker's parameters, element sets, slots over the equator),
//! the Earth under it, and places. It says who sees whom at an instant; [`selection`] which satellite serves a place
//! when, [`route`] which path is best when, [`survey`] when satellites pass and what they cover.
//!
//! Time is seconds after the constellation's epoch, UTC; lengths are km; angles are degrees where their name says so.

pub mod catalogue;
pub mod constellation;
pub mod earth;
pub mod elements;
pub mod epoch;
mod error;
mod graph;
pub mod links;
pub mod matrix;
pub mod motion;
mod near_earth;
pub mod orbit;
pub mod overhead;
pub mod places;
pub mod presets;
pub mod route;
pub mod scene;
pub mod selection;
pub mod span;
pub mod survey;
mod vector;
pub mod view;

pub use error::SkyError;
pub use vector::{distance, Vector};
