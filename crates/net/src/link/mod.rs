//! A link: queue, then server, then errors, then propagation.
//!
//! Service is *lazy*. A packet moves from the queue to the ring when its transmission starts; its arrival is known then. Each
//! call at `t` first replays all starts up to `t`. If the ring is empty, no packet is in transmission, so none waits. The
//! head of the ring is therefore the link's next visible effect, and its only entry in the schedule. This holds for any queue
//! that decides from past arrivals only.
//!
//! A packet that the link corrupts, erases or truncates stays in the ring with a flag: its loss has an instant, and the
//! argument above holds.

mod arq;
mod bucket;
mod counters;
mod crossing;
mod delays;
mod downtime;
mod error;
mod framed;
mod gate;
mod granted;
mod hybrid;
mod interleave;
mod jitter;
mod journal;
mod layer2;
mod lazy;
mod levels;
mod observe;
mod outages;
mod plain;
mod processing;
mod profile;
mod queue;
mod ring;
mod served;
mod slotted;
mod states;
#[cfg(test)]
mod tests;
mod wire;

pub(crate) use counters::LinkAtEnd;
#[cfg(test)]
pub(crate) use delays::{DelayParts, DelaySums};
pub(crate) use downtime::Downtime;
pub(crate) use framed::{OnCarrier, Sent};
pub(crate) use granted::{GrantCounts, Planned};
pub(crate) use journal::Service;
pub(crate) use lazy::LazyLink;
pub(crate) use plain::Crossing;
pub(crate) use processing::{processing, Processing};
pub(crate) use profile::DelayCursor;
#[cfg(test)]
pub(crate) use queue::L4sCounts;
pub(crate) use queue::Losses;
