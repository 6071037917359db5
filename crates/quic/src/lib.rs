//! QUIC in virtual time: the stack quinn-proto as a transport of the simulator.
//!
//! | module | content |
//! |---|---|
//! | `driver` | one end of a connection: datagrams, time, streams, pace |
//! | `setup` | settings for the stack, from those of the scenario |
//! | `migration` | addresses and their changes |
//! | `house` | adapter for the congestion controls of the product |
//! | `resume` | careful resume in this adapter |
//! | `tap` | what the congestion control of a connection knows, for tables and series |
//! | `null` | replacement of TLS |
//! | `qlog` | what a connection does, as a file |
//! | `clock` | virtual time as the stack has it |
//!
//! Equal seeds give equal bytes: nothing here or in the stack reads a clock or draws from the process.
#![forbid(unsafe_code)]

mod clock;
mod driver;
mod house;
mod migration;
mod null;
mod qlog;
mod resume;
mod setup;
mod tap;

pub use driver::{engines, logged_engines, pair, QuicEnd};
pub use qlog::Output;
