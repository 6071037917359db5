//! Types that all crates share: [`Time`] and [`Duration`] in picoseconds, [`Rate`] in bit/s, TCP sequence numbers, ECN codepoints,
//! quantities and names as written by users, and random streams that are *addressed*, not consumed.
//!
//! Lengths and windows are plain `u64` counts of bytes throughout the workspace. There is no second unit to confuse
//! them with: segments appear only as `n * smss`.

mod ecn;
pub mod module_doc;
pub mod quantity;
mod rate;
mod rng;
mod seq;
pub mod settings;
mod time;
mod words;

pub use ecn::Ecn;
pub use rate::Rate;
pub use rng::Stream;
pub use seq::Seq;
pub use time::{Duration, Time};
pub use words::Word;
