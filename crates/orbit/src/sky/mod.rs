//! Positions of satellites and places, visibility, and shortest paths.
//!
//! A [`scene::Sky`] consists of a constellation (shells by Walker's parameters, element sets, slots over the equator),
//! the Earth, and places. It computes visibility at an instant. [`selection`] finds the satellite that serves a place,
//! [`route`] the best paths, and [`survey`] passes and coverage over time.
//!
//! Time is seconds after the constellation's epoch, UTC. Lengths are km. Angles are degrees if their name ends in
//! `deg`.

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
