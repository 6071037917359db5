//! Terminals: their access, their state at the start of a superframe, and counts.

use crate::random::RandomUse;
use bentpipe_units::{Rate, Time};

/// Request classes of a terminal, at most.
pub const CLASSES: usize = 4;

/// Capacity that a request class of a terminal has, and may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Constant rate (CRA).
    pub constant: Rate,
    /// Limit of the constant rate and the rate asked for (RBDC).
    pub rate_based: Rate,
    /// Part of the rate asked for that comes before all other requests.
    pub guaranteed: Rate,
    /// Whether it asks for volumes (VBDC).
    pub volume_based: bool,
}

impl Default for Capacity {
    fn default() -> Self {
        let none = Rate::from_bps(0);
        Self { constant: none, rate_based: none, guaranteed: none, volume_based: false }
    }
}

/// Access of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Capacity of its first request class.
    pub first: Capacity,
    /// Capacity of further classes, from class 1 on. A plan serves a request of a lower class first.
    pub further: [Option<Capacity>; CLASSES - 1],
    /// Use of random access.
    pub random: RandomUse,
    /// Slots in a turn.
    pub weight: u32,
}

impl Access {
    /// Returns the capacity of each request class.
    pub fn classes(&self) -> impl Iterator<Item = Capacity> {
        core::iter::once(self.first).chain(self.further.into_iter().map_while(|class| class))
    }
}

impl Default for Access {
    fn default() -> Self {
        let (first, further) = (Capacity::default(), [None; CLASSES - 1]);
        Self { first, further, random: RandomUse::None, weight: 1 }
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

/// Packets of a request class of a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Bytes that wait, with the rest of a packet that has left in part.
    pub backlog: u64,
    /// Bytes that came since the last superframe.
    pub arrived: u64,
}

/// State of a terminal at the start of a superframe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// Packets of each request class.
    pub waiting: [Waiting; CLASSES],
    /// Signal with which bursts of this superframe reach the controller, dB.
    pub es_n0_db: f64,
    /// Whether the link is up.
    pub is_up: bool,
    /// The time until which it stays up, or down. [`Time::NEVER`]: until the end.
    pub until: Time,
    /// The time until which its signal stays, and only the medium reads its bursts while no packet comes.
    pub steady: Time,
    /// Requests that another medium hands over, for a terminal that comes up.
    pub handed: Option<Asked>,
}

impl Demand {
    /// Returns the demand of a terminal of one class that is up.
    pub fn of(backlog: u64, arrived: u64, es_n0_db: f64) -> Self {
        let mut waiting = [Waiting::default(); CLASSES];
        waiting[0] = Waiting { backlog, arrived };
        Self { waiting, es_n0_db, is_up: true, until: Time::NEVER, steady: Time::NEVER, handed: None }
    }

    /// Returns the bytes that wait.
    pub fn backlog(&self) -> u64 {
        self.waiting.iter().map(|class| class.backlog).sum()
    }

    /// Whether bytes wait or came since the last superframe.
    pub fn is_busy(&self) -> bool {
        self.waiting.iter().any(|class| class.backlog > 0 || class.arrived > 0)
    }
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
