//! Mathematics of the sky: positions of satellites and places, visibility and shortest paths ([`sky`]), and budgets of
//! radio links in clear air and rain ([`budget`]).
//!
//! Code here does not depend on packets. It uses only `libm`, so the same sky gives the same numbers on every machine.

pub mod budget;
pub mod sky;
