//! Congestion controls with a model of the path: its bandwidth and its round-trip time.

mod bbr1;
mod bbr3;
mod common;
mod leocc;
mod wtcp;

pub use bbr1::{Bbr1, Bbr1Settings};
pub use bbr3::{Bbr2Settings, Bbr2Up, Bbr3, Bbr3Profile, Bbr3Settings};
pub use common::BbrQuantum;
pub use leocc::{LeoCc, LeoCcBandwidth, LeoCcSettings};
pub use wtcp::{Wtcp, WtcpSettings};
