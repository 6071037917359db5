//! Flows: their applications, the connections that these open, and both endpoints of each connection.
//!
//! A flow is an application that opens one connection or many. Each connection is a *session* with a slot in a pool.
//! Slots are invisible outside: names, random draws and the order of events depend only on the flow and the ordinal of
//! its session. The network reports events to [`Traffic`] and then carries out its [`Task`]s.

mod apps;
mod dispatch;

mod driving;
mod engines;
mod flow;
mod goal;
mod groups;
mod host;
mod joining;
mod lasting;
mod loss_verdicts;
mod messages;
mod observe;
mod pool;
mod returning;
mod send_times;
mod sessions;
mod streams;
mod totals;
mod ways;

#[cfg(test)]
pub(crate) use apps::send_times_of;
pub(crate) use dispatch::Traffic;
pub(crate) use engines::EngineEnd;
pub(crate) use lasting::{lasts_until, least_rtt, OnPath};
pub(crate) use observe::{event_kind, event_of_segment};
#[cfg(test)]
pub(crate) use pool::Session;
pub(crate) use pool::Task;
#[cfg(test)]
pub(crate) use returning::rank_in_session;
pub(crate) use returning::{formers, is_former, join_again, may_join, session_of};
