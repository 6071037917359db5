//! Terminals: their access, their state at the start of a superframe, and counts.

use crate::random::RandomUse;
use bentpipe_units::Rate;

/// Capacity that a terminal has, and may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Constant rate (CRA).
    pub constant: Rate,
    /// Limit of the constant rate and the rate asked for (RBDC).
    pub rate_based: Rate,
    /// Whether it asks for volumes (VBDC).
    pub volume_based: bool,
    /// Use of random access.
    pub random: RandomUse,
    /// Slots in a turn.
    pub weight: u32,
}

impl Default for Access {
    fn default() -> Self {
        let none = Rate::from_bps(0);
        Self { constant: none, rate_based: none, volume_based: false, random: RandomUse::None, weight: 1 }
    }
}

/// A terminal: the name of its link, and its access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// Name of the link, which addresses its random numbers.
    pub name: String,
    /// Its access.
    pub access: Access,
}

/// State of a terminal at the start of a superframe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// Bytes that wait, with the rest of a packet that has left in part.
    pub backlog: u64,
    /// Bytes that came since the last superframe.
    pub arrived: u64,
    /// Signal with which bursts of this superframe reach the controller, dB.
    pub es_n0_db: f64,
    /// Whether the link is up.
    pub is_up: bool,
    /// Requests that another medium hands over, for a terminal that comes up.
    pub handed: Option<Asked>,
}

/// Open requests of a terminal, which no window has answered yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Rate, beyond the constant one.
    pub rate: Rate,
    /// Volume, bytes.
    pub volume: u64,
}

/// Counts of a medium since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MediumCounters {
    /// Slots for data that were granted.
    pub granted_slots: u64,
    /// Bytes of these slots.
    pub granted_bytes: u64,
    /// Control slots.
    pub control_slots: u64,
    /// Bytes of plans.
    pub plan_bytes: u64,
    /// Requests in bursts of windows.
    pub requests_in_bursts: u64,
    /// Requests in control slots.
    pub requests_in_control: u64,
    /// Requests in random bursts.
    pub requests_in_random: u64,
    /// Requests that were lost.
    pub requests_lost: u64,
    /// Bursts of random access.
    pub random_bursts: u64,
    /// Bursts of random access that were lost.
    pub random_lost: u64,
}
