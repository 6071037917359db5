//! A TCP connection without input or output.
#![forbid(unsafe_code)]

pub mod cc;
mod config;
pub mod verdict;

pub use config::*;
