//! Types that the reader of a scenario and the network that runs share.
//!
//! | module | content |
//! |---|---|
//! | [`dictionary`] | meaning of each column, series, event and cause of loss, and their tables |
//! | `distribution` | random sizes and times |
//! | `framing` | bytes of a packet on a link |
//! | [`spec`] | description of a run as plain values, with their keys in a scenario |
//! | [`stack`] | contract of transports that are not part of the simulator, such as QUIC |
//! | [`ids`] | indices of the parts of a network |
//! | [`packet`] | packets under way |
//! | [`middlebox`] | middleboxes |
#![forbid(unsafe_code)]

pub mod dictionary;
pub mod distribution;
mod framing;
pub mod ids;
pub mod middlebox;
pub mod packet;
pub mod spec;
pub mod stack;
