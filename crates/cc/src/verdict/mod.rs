//! Loss differentiation: whether a loss means congestion or an error of the link. It is separate from retransmission
//! (recovery) and from the window (congestion control).
//!
//! A new policy is one file here and one line in [`registry!`] below.

mod always_congestion;
mod always_link_error;
mod assume_congestion;
mod assume_corruption;
mod ceten;
mod indications;
mod low_priority_copies;

pub use always_congestion::AlwaysCongestion;
pub use always_link_error::AlwaysLinkError;
pub use assume_congestion::AssumeCongestion;
pub use assume_corruption::AssumeCorruption;
pub use ceten::{CetenA, CetenP};
pub use low_priority_copies::LowPriorityCopies;

use crate::facts::PathState;
use crate::keys::{Copies, Snack};
use bentpipe_units::settings::{Fields, Shape, Table, Title, Typed, Unfit, Value};

/// Cause that a loss is attributed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A queue overflowed: the window is reduced.
    Congestion,
    /// The link corrupted it: the window stays, and the timer does not back off.
    LinkError,
    /// Either cause. This much of the window is left. A timeout is congestion.
    Partly {
        /// Thousandths of the window.
        left: u32,
    },
}

/// A loss that recovery found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Offset of the first missing byte.
    pub offset: u64,
    /// Whether the retransmission timer found it; otherwise duplicate or selective ACKs did.
    pub by_timeout: bool,
    /// Whether it is in a recovery that reduced the window.
    pub was_reduced: bool,
    /// Segments sent so far.
    pub sent_segments: u64,
    /// Retransmissions among them.
    pub retransmitted_segments: u64,
}

/// The contract of a loss differentiation policy.
pub trait LossVerdict {
    /// Judges a loss, once per loss episode, before the window changes.
    fn judge(&mut self, loss: &Loss, path: &PathState) -> Verdict;

    /// Reports an ACK, which reports corrupted packets or does not (SCPS-TP).
    fn on_corruption(&mut self, is_reported: bool, path: &PathState) {
        let _ = (is_reported, path);
    }

    /// Reports the hole [start, end) for the first time. Returns whether a report of corruption covers it; `None` if
    /// the policy does not distinguish holes.
    fn covers(&mut self, hole: (u64, u64), path: &PathState) -> Option<bool> {
        let _ = (hole, path);
        None
    }

    /// Reports ECN marks from the receiver.
    fn on_mark(&mut self, path: &PathState) {
        let _ = path;
    }

    /// Reports the share of packets that cross the path uncorrupted (CETEN).
    fn on_survival(&mut self, survival: f32) {
        let _ = survival;
    }

    /// Receives [`Config::copies`](crate::Config::copies) and the settings of SNACK, before any other call.
    fn configure(&mut self, copies: Copies, snack: Snack) {
        let _ = (copies, snack);
    }

    /// Returns the data segments per copy of low priority; `None`: no copies.
    fn copies_every(&self) -> Option<u32> {
        None
    }

    /// Reports that such a copy left, or that an answer to one arrived.
    fn on_copy(&mut self, is_answer: bool, path: &PathState) {
        let _ = (is_answer, path);
    }
}

macro_rules! registry {
    ($($(#[doc = $doc:literal])+ $name:literal => $type:ident;)+) => {
        /// The policies by the names that scenario files use.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum VerdictKind { $($(#[doc = $doc])+ $type,)+ }

        impl VerdictKind {
            /// All policies, in the order of the registry.
            pub const ALL: &'static [Self] = &[$(Self::$type,)+];

            /// The name in scenario files.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$type => $name,)+ }
            }

            /// One line for lists and the reference.
            pub const fn summary(self) -> &'static str {
                match self { $(Self::$type => concat!($($doc),+).trim_ascii(),)+ }
            }

            /// Makes the policy of a connection.
            pub fn build(self, copies: Copies, snack: Snack) -> Policy {
                let mut policy = match self { $(Self::$type => Policy::$type(Box::default()),)+ };
                policy.configure(copies, snack);
                policy
            }
        }

        impl Typed for VerdictKind {
            fn shape() -> Shape {
                let table = |kind: &Self| Table { name: kind.name(), about: kind.summary(), keys: Some(Vec::new()) };
                let title = Title { name: "Verdict", noun: "a verdict" };
                Shape::Kinds(title, Self::ALL.iter().map(table).collect())
            }
            fn read(value: &Value) -> Result<Self, Unfit> {
                match value.table()?.kind()? {
                    $($name => Ok(Self::$type),)+
                    _ => Err(value.unfit("a verdict")),
                }
            }
            fn write(&self) -> Value {
                Value::Table(Fields::of_kind(self.name()))
            }
        }

        /// A policy of any kind, dispatched without a vtable. Few have state, and few losses need it, so it is boxed.
        #[derive(Clone, Debug)]
        pub enum Policy { $($(#[doc = $doc])+ $type(Box<$type>),)+ }

        impl LossVerdict for Policy {
            fn judge(&mut self, loss: &Loss, path: &PathState) -> Verdict {
                match self { $(Self::$type(p) => p.judge(loss, path),)+ }
            }
            fn on_corruption(&mut self, is_reported: bool, path: &PathState) {
                match self { $(Self::$type(p) => p.on_corruption(is_reported, path),)+ }
            }
            fn covers(&mut self, hole: (u64, u64), path: &PathState) -> Option<bool> {
                match self { $(Self::$type(p) => p.covers(hole, path),)+ }
            }
            fn on_mark(&mut self, path: &PathState) {
                match self { $(Self::$type(p) => p.on_mark(path),)+ }
            }
            fn on_survival(&mut self, survival: f32) {
                match self { $(Self::$type(p) => p.on_survival(survival),)+ }
            }
            fn configure(&mut self, copies: Copies, snack: Snack) {
                match self { $(Self::$type(p) => p.configure(copies, snack),)+ }
            }
            fn copies_every(&self) -> Option<u32> {
                match self { $(Self::$type(p) => p.copies_every(),)+ }
            }
            fn on_copy(&mut self, is_answer: bool, path: &PathState) {
                match self { $(Self::$type(p) => p.on_copy(is_answer, path),)+ }
            }
        }
    };
}

registry! {
    /// Every loss is congestion (RFC 5681).
    "always-congestion" => AlwaysCongestion;
    /// Losses found by duplicate ACKs never reduce the window: the best possible result on a path without congestion.
    "always-link-error" => AlwaysLinkError;
    /// A loss is congestion, unless a report of corruption covers it and no mark indicated congestion within two round trips (SCPS-TP).
    "assume-congestion" => AssumeCongestion;
    /// A loss, or a timeout, is an error of the link, unless marks indicated congestion within two round trips
    /// (SCPS-TP).
    "assume-corruption" => AssumeCorruption;
    /// Losses that the network's survival probability does not explain are congestion; other losses reduce nothing
    /// (CETEN_P).
    "ceten-p" => CetenP;
    /// Each loss reduces the window by the share of congestion among losses, at most by half (CETEN_A).
    "ceten-a" => CetenA;
    /// A loss is an error of the link where most of the low-priority copies of the same round trip came back (after Zabir 2004, a reading).
    "low-priority-copies" => LowPriorityCopies;
}
