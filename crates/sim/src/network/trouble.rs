//! What a middlebox does that cannot be, and how the run ends then.

use super::Network;
use crate::ids::NodeId;
use crate::middlebox::HELD_MAX;
use crate::record::StopReason;
use bentpipe_units::Time;
use std::fmt;

/// A middlebox broke its contract; the run ended there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The name of its node.
    pub node: String,
    /// Its kind, as scenario files write it.
    pub middlebox: &'static str,
    /// Its place among the middleboxes of the node, from 0.
    pub position: usize,
    /// When.
    pub at: Time,
    /// What it did.
    pub what: Trouble,
}

/// What a middlebox can do wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It was given packets, or held them, and fewer (or more) left than it has no longer.
    Forgot {
        /// Packets that it was given or held.
        owed: i64,
        /// Packets that it gave back or holds.
        accounted: i64,
    },
    /// It holds more than [`HELD_MAX`].
    Hoards,
    /// Its packets or wake-ups lead to one another at one instant, without end.
    Endless,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, middlebox, position, at, what } = self;
        let at = at.as_secs_f64();
        write!(f, "middlebox {position} (\"{middlebox}\") of node \"{node}\" ended the run at {at:.9} s: ")?;
        match what {
            Trouble::Forgot { owed, accounted } if owed > accounted => {
                write!(f, "it gave back or holds {accounted} of its {owed} packets")
            }
            Trouble::Forgot { owed, accounted } => {
                write!(f, "it had {owed} packets, and gave back or holds {accounted}; new packets must be emitted")
            }
            Trouble::Hoards => write!(f, "it holds more than {HELD_MAX} packets"),
            Trouble::Endless => write!(f, "it acts without end at this instant"),
        }
    }
}

impl std::error::Error for Failure {}

impl Network {
    /// Ends the run; the first failure counts.
    #[cold]
    pub(super) fn fail(&mut self, node: NodeId, position: usize, what: Trouble) {
        self.stop.get_or_insert(StopReason::Interrupted);
        let failure = Failure {
            node: self.scenario.nodes[node].name.clone(),
            middlebox: self.nodes[node].boxes[position].name(),
            position,
            at: self.now,
            what,
        };
        self.trouble.get_or_insert(failure);
    }
}
