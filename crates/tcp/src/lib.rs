//! A TCP connection without input or output: segments and time go in, segments and events come out.
//!
//! The crate cannot reach a clock, a socket or a random source. It moves ranges, not bytes: its driver owns the
//! payload. The simulator drives it with virtual time, the emulator with real time.
//!
//! Start at [`Connection`], which lists its parts.
#![forbid(unsafe_code)]

mod cache;
mod config;
mod conn;
pub mod multi;
mod multipath;
mod scps;
mod segment;

pub use bentpipe_cc::{ExplicitHeader, Notice};
pub use bentpipe_units::Ecn;
pub use cache::PathCache;
pub use config::*;
pub use conn::{Arrived, Backlog, Connection, Counters, Event, Report, Role, SendLimit, SharedWindow, Sink, State};
pub use multipath::{Dss, Multipath, ResetReason, SubflowReset};
pub use scps::{BitVector, ScpsCapabilities, ScpsOptions, SnackOption};
pub use segment::{
    CountOption, FastOpenOption, Flags, Options, PlainSegment, SackBlocks, Segment, SynOptions, Timestamps,
};
