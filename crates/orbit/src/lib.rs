//! The sky as pure mathematics: where satellites and places are, whom they see, which path is shortest when
//! ([`sky`]), and what a radio link between them bears in clear air and rain ([`budget`]).
//!
//! Nothing here knows of packets. Only `libm` is used, so that the same sky means the same numbers on every machine.

pub mod budget;
pub mod sky;
