//! QUIC in virtual time, and on the wire: the stack quinn-proto as a transport of the simulator.
//!
//! | module | content |
//! |---|---|
//! | `driver` | one end of a connection: datagrams, time, streams, pace |
//! | `content` | bytes of streams on the wire |
//! | `gate` | pace of a congestion control with its own rate |
//! | `setup` | settings for the stack, from those of the scenario |
//! | `migration` | addresses and their changes |
//! | `house` | adapter for the congestion controls of the product |
//! | `resume` | careful resume in this adapter |
//! | `tap` | what the congestion control of a connection knows, for tables and series |
//! | `null` | replacement of TLS |
//! | `fates` | packets that arrived, and those declared lost |
//! | `tls` | TLS 1.3, with the feature of this name |
//! | `wire` | an end on the wire, with the feature `tls` |
//! | `report` | losses and events of an end, for counters and qlog |
//! | `qlog` | what a connection does, as a file |
//! | `clock` | virtual time as the stack has it |
//!
//! Equal seeds give equal bytes: nothing here or in the stack reads a clock or draws from the process. Only TLS draws, and an end
//! on the wire has the clock of the machine.
#![forbid(unsafe_code)]

mod clock;
mod content;
mod driver;
mod fates;
mod gate;
mod house;
mod migration;
mod null;
mod qlog;
mod rapid;
mod report;
mod resume;
mod setup;
mod tap;
#[cfg(feature = "tls")]
mod tls;
#[cfg(feature = "tls")]
mod wire;

pub use clock::Clock;
pub use content::Piece;
pub use driver::{engines, logged_engines, pair, QuicEnd};
pub use qlog::Output;
#[cfg(feature = "tls")]
pub use {tls::ALPN, wire::check_on_the_wire};
