//! Failures of middleboxes. They end the run.

use bentpipe_model::middlebox::HELD_MAX;
use bentpipe_units::Time;
use std::fmt;

/// A middlebox broke its contract, and the run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The name of its node.
    pub node: String,
    /// Its kind, by its name in scenario files.
    pub middlebox: &'static str,
    /// Its position among the middleboxes of the node, from 0.
    pub position: usize,
    /// The instant of the failure.
    pub at: Time,
    /// The failure.
    pub what: Trouble,
}

/// The failures of a middlebox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It lost or made packets without an action for them.
    Forgot {
        /// Packets that it received or held.
        owed: i64,
        /// Packets that it returned or holds.
        accounted: i64,
    },
    /// It holds more than [`HELD_MAX`].
    Hoards,
    /// Its packets or wake-ups cause each other at one instant, without end.
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
            Trouble::Endless => {
                writeln!(f, "it acts without end at this instant")?;
                write!(f, "behind a proxy, acceptable_acks = \"rfc5961\" limits answers to unacceptable segments")
            }
        }
    }
}

impl std::error::Error for Failure {}
