//! Schedulers: which subflow carries the next segment.
//!
//! A scheduler chooses a subflow while data wait and the receive window allows a segment. It also chooses whenever a
//! subflow could carry data that others carry already. It sees all subflows ([`SchedulerView`]) and names one, or
//! waits. Reinjection is the task of the [meta](super::Meta).
//!
//! A new scheduler is one file here and one line in [`registry!`] below.

mod blest;
mod ecf;
mod linger;
mod min_rtt;
mod own;
mod redundant;
mod round_robin;

pub use blest::Blest;
pub use ecf::Ecf;
pub use linger::Linger;
pub use min_rtt::MinRttFirst;
pub use own::OwnScheduler;
pub use redundant::Redundant;
pub use round_robin::RoundRobin;

use bentpipe_units::settings::NoSettings;
use bentpipe_units::{kinds, module_doc, settings, Duration, Rate, Time};
use std::fmt;

/// The contract of a scheduler.
pub trait Scheduler: fmt::Debug + Send + Sync {
    /// Returns the subflow for the next segment.
    fn choose(&mut self, view: &SchedulerView) -> Choice;

    /// Whether it ever answers [`Choice::Repeat`]; finding what to repeat costs time. Never changes.
    fn repeats(&self) -> bool {
        false
    }

    /// Whether it fills the send buffer of a subflow beyond its congestion window. Never changes.
    fn fills_buffers(&self) -> bool {
        false
    }

    /// Returns an independent copy of the present state.
    fn copy(&self) -> Box<dyn Scheduler>;
}

impl Clone for Box<dyn Scheduler> {
    fn clone(&self) -> Self {
        (**self).copy()
    }
}

/// A scheduler's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// This subflow carries the next new data.
    Send(usize),
    /// This subflow carries the first data that others carry and it does not.
    Repeat(usize),
    /// No subflow carries anything now.
    Wait,
}

/// View of a multipath connection for a scheduler.
#[derive(Clone, Debug, Default)]
pub struct SchedulerView {
    /// The present.
    pub now: Time,
    /// Bytes from the first unacknowledged one to the end of the receive window.
    pub window: u64,
    /// Bytes of new data that the receive window allows.
    pub room: u64,
    /// Bytes of new data that wait.
    pub unsent: u64,
    /// Segments reinjected so far because they blocked the receive window.
    pub opportunistic: u64,
    /// The subflows, in the order of their numbers.
    pub paths: Vec<PathView>,
}

/// View of a subflow for a scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathView {
    /// Whether it may carry data: open, not failed, and not a backup while others are open.
    pub is_usable: bool,
    /// Whether its congestion window and its pacing allow a segment now.
    pub has_room: bool,
    /// Whether it has room, and others carry data that it does not.
    pub can_repeat: bool,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Duration,
    /// Its variation.
    pub rttvar: Duration,
    /// The least smoothed round-trip time so far.
    pub srtt_min: Duration,
    /// The greatest.
    pub srtt_max: Duration,
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Bytes sent and not acknowledged.
    pub flight: u64,
    /// Bytes that it was given and has not sent.
    pub queued: u64,
    /// Bytes that its send buffer has room for.
    pub buffer: u64,
    /// Payload of a full segment, bytes.
    pub smss: u64,
    /// The rate at which it sends now; `None`: as fast as its window allows.
    pub pacing_rate: Option<Rate>,
    /// Whether it is in its first slow start.
    pub is_starting: bool,
}

impl PathView {
    /// Whether it can carry a segment now.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.is_usable && self.has_room
    }

    /// The congestion window in segments.
    #[must_use]
    pub fn cwnd_segments(&self) -> f64 {
        self.cwnd as f64 / self.smss.max(1) as f64
    }

    /// Segments sent and not acknowledged, or given to it.
    #[must_use]
    pub fn flight_segments(&self) -> f64 {
        (self.flight + self.queued) as f64 / self.smss.max(1) as f64
    }
}

impl SchedulerView {
    /// Returns the subflow with the least round-trip time among those that `is_candidate` accepts; the first of equals.
    #[must_use]
    pub fn fastest(&self, is_candidate: impl Fn(&PathView) -> bool) -> Option<usize> {
        let candidates = self.paths.iter().enumerate().filter(|(_, path)| is_candidate(path));
        candidates.min_by_key(|(_, path)| path.srtt).map(|(i, _)| i)
    }
}

macro_rules! registry {
    ($($(#[doc = $doc:literal])+ $name:literal => $kind:ident($type:ident, $settings:ident) in $file:literal;)+) => {
        kinds! {
            /// Choice of the subflow for the next segment.
            #[derive(Clone, Copy, Debug, PartialEq)]
            pub enum SchedulerConfig as "Scheduler", "a scheduler" {
                $($(#[doc = $doc])+ $name => $kind($settings);)+
            }
        }

        impl SchedulerConfig {
            /// Its name in the registry.
            #[must_use]
            pub const fn kind(self) -> SchedulerKind {
                match self { $(Self::$kind(_) => SchedulerKind::$kind,)+ }
            }

            pub(crate) fn build(self) -> Box<dyn Scheduler> {
                match self { $(Self::$kind(settings) => Box::new($type::new(settings)),)+ }
            }
        }

        impl From<SchedulerKind> for SchedulerConfig {
            /// Returns it with its default settings.
            fn from(kind: SchedulerKind) -> Self {
                match kind { $(SchedulerKind::$kind => Self::$kind($settings::default()),)+ }
            }
        }

        /// The schedulers by the names that scenario files use.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum SchedulerKind { $($(#[doc = $doc])+ $kind,)+ }

        impl SchedulerKind {
            /// All schedulers, in the order of the registry.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)+];

            /// The name in scenario files.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)+ }
            }

            /// One line for lists and the reference.
            #[must_use]
            pub const fn summary(self) -> &'static str {
                match self { $(Self::$kind => concat!($($doc),+).trim_ascii(),)+ }
            }

            /// The module documentation of its file, in Markdown: source and rule.
            #[must_use]
            pub fn doc(self) -> String {
                let doc = match self {
                    $(Self::$kind => {
                        const FILE: &[u8] = include_bytes!($file);
                        const DOC: &[u8] = &module_doc::head::<{ module_doc::length(FILE) }>(FILE);
                        DOC
                    })+
                };
                module_doc::text(doc, |_| false)
            }
        }
    };
}

registry! {
    /// The subflow with the least round-trip time that has room (C. Raiciu et al. 2012).
    "min-rtt" => MinRtt(MinRttFirst, NoSettings) in "min_rtt.rs";
    /// Each subflow in turn.
    "round-robin" => RoundRobin(RoundRobin, RoundRobinSettings) in "round_robin.rs";
    /// Every subflow carries all data.
    "redundant" => Redundant(Redundant, NoSettings) in "redundant.rs";
    /// Waits for the fastest subflow if a slower one would block the receive window (S. Ferlin et al. 2016).
    "blest" => Blest(Blest, BlestSettings) in "blest.rs";
    /// Waits for the fastest subflow if it delivers what is left earlier than a slower one (Y. Lim et al. 2017).
    "ecf" => Ecf(Ecf, EcfSettings) in "ecf.rs";
    /// The subflow that takes the least time to send what it was given, for a burst of 64 kB (Linux 6, `mptcp_subflow_get_send`).
    "linger" => Linger(Linger, NoSettings) in "linger.rs";
}

settings! {
    /// Settings of `round-robin`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct RoundRobinSettings {
        /// Segments that a subflow carries before the next one.
        burst: u32 = 1, [1, 1_000_000];
        /// Whether a subflow without room is skipped; otherwise all wait for it.
        fill: bool = true;
    }
}

settings! {
    /// Settings of `blest`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct BlestSettings {
        /// Initial factor on the data that the fastest subflow would send, 1 to 1.3. It follows the segments that were reinjected
        /// because they blocked the receive window.
        lambda: u32 as bentpipe_units::settings::Thousandths = 1200, [1.0, 1.3], "the implementation of the authors; the paper begins with 1.0";
    }
}

settings! {
    /// Settings of `ecf`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct EcfSettings {
        /// Hysteresis: while it waits, the slower subflow counts as slower by this share.
        beta: u32 as bentpipe_units::settings::Thousandths = 250, [0.0, 10.0], "Y. Lim et al. 2017, §4";
    }
}

#[cfg(test)]
mod tests;
