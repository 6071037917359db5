//! Loss detectors. A detector reads the facts of an ACK and marks the scoreboard. Other parts decide about episodes,
//! the window and departures.
//!
//! A new detector is one file here and one line in [`detectors!`] below (and the key that chooses it, in `config`).

mod dupack;
mod fack;
mod rack;
mod sack;
mod snack;
mod status;
mod timeout;
mod tlp;

pub(crate) use dupack::ByDuplicates;
pub(crate) use fack::ByDistance;
pub(crate) use rack::ByTime;
pub(crate) use sack::BySack;
pub(crate) use snack::{reported_holes, ByReport};
pub(crate) use status::ByStatus;
pub(crate) use timeout::ByTimeout;

use super::ack::AckFacts;
use super::episode::Episode;
use super::rtt::Rtt;
use super::scoreboard::{Evidence, Scoreboard};
use super::space::SendSpace;
use crate::config::{Config, NewReno, Recovery, SackEvidence};
use crate::conn::agreed::Agreed;
use crate::conn::timers::Timers;
use bentpipe_units::{Duration, Time};
use std::ops::{Deref, DerefMut};

/// A detector's view, besides the scoreboard and the ACK.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) now: Time,
    pub(crate) space: &'a SendSpace,
    pub(crate) episode: &'a Episode,
    pub(crate) rtt: &'a Rtt,
    pub(crate) config: &'a Config,
}

/// Result of a detector.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Finding {
    /// Losses that were not known.
    pub(crate) is_further: bool,
    /// They are proven, so that recovery begins, unless it is on or [must not](Detect::may_begin).
    pub(crate) is_proven: bool,
    /// Data arrived after data that left later (RFC 8985 §6.2 step 3).
    pub(crate) is_reordered: bool,
    /// Bytes that the window must hold.
    pub(crate) window_min: u64,
    /// A hole that was never reported before.
    pub(crate) new_hole: Option<(u64, u64)>,
}

/// Repair of the losses of a detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repair {
    /// Slow start from the hole (Tahoe).
    GoBack,
    /// Fast recovery (Reno, NewReno).
    Fast,
    /// Recovery by SACK.
    Selective,
    /// Immediately, regardless of the window (SNACK).
    AtOnce,
}

/// The contract of a detector. The first two methods are required. The others have defaults that suit most detectors.
pub(crate) trait Detect {
    /// Marks the segments that an ACK shows to be lost. The scoreboard already contains the ACK.
    fn find(&mut self, view: &View<'_>, facts: &AckFacts, board: &mut Scoreboard, timers: &mut Timers) -> Finding;
    /// Returns the way in which its losses are repaired.
    fn repair(&self) -> Repair;

    /// Marks losses after the receiver reported [start, end) as missing.
    fn find_hole(&mut self, view: &View<'_>, hole: (u64, u64), board: &mut Scoreboard) -> Finding {
        let _ = (view, hole, board);
        Finding::default()
    }
    /// Marks losses after the reordering timer expired.
    fn on_reorder_timer(&mut self, view: &View<'_>, board: &mut Scoreboard, timers: &mut Timers) -> Finding {
        let _ = (view, board, timers);
        Finding::default()
    }
    /// Notes that nodes of the network reported data up to `end` as corrupted, which explains its loss.
    fn on_report(&mut self, end: u64) {
        let _ = end;
    }
    /// Marks the segments that an expired retransmission timer shows to be lost. With `forget_sacks`, SACK information
    /// is void.
    fn on_timeout(&mut self, view: &View<'_>, forget_sacks: bool, board: &mut Scoreboard, timers: &mut Timers) {
        let _ = (view, timers);
        board.mark(Evidence::Everything { forget_sacks });
    }
    /// Whether losses may begin an episode after an episode with this recovery point. RFC 6675 §5: data from before the
    /// last episode cannot start another.
    fn may_begin(&self, una: u64, recovery_point: Option<u64>) -> bool {
        recovery_point.is_none_or(|point| una >= point)
    }
    /// Recovery has begun.
    fn on_recovery(&mut self, board: &mut Scoreboard, timers: &mut Timers) {
        let _ = (board, timers);
    }
    /// Data that recovery retransmitted were late, not lost. Returns whether the detector counts this as reordering.
    fn on_late(&mut self) -> bool {
        false
    }
    /// The connection is over.
    fn stop(&mut self, timers: &mut Timers) {
        let _ = timers;
    }

    /// Returns the segment that is retransmitted first, regardless of the window.
    fn first(&self, board: &mut Scoreboard) -> Option<u64> {
        board.first_missing()
    }
    /// Returns a retransmission for SACK recovery if there are no known losses and no new data. The flag is true if it
    /// counts in pipe.
    fn next_doubtful(&self, episode: &mut Episode, una: u64, board: &mut Scoreboard) -> Option<(u64, bool)> {
        let _ = (episode, una, board);
        None
    }
    /// Whether an ACK with SACK counts as a duplicate (RFC 6675 §2).
    fn is_duplicate(&self, facts: &AckFacts) -> bool {
        facts.newly_sacked > 0
    }
    /// Notes ranges in the report of the next ACK that the scoreboard does not enter.
    fn ignore(&mut self, ranges: &[(u64, u64)]) {
        let _ = ranges;
    }
    /// Whether ACKs are counted in [`pipe`](Self::pipe), not the data that they report.
    fn counts_acks(&self) -> bool {
        false
    }
    /// Returns the bytes in the network, by the estimate of SACK recovery.
    fn pipe(&self, board: &Scoreboard) -> u64 {
        board.pipe()
    }
    /// Notes that SACK recovery sent `len` bytes within its window.
    fn on_selective_sent(&mut self, len: u64) {
        let _ = len;
    }
    /// Returns the bytes beyond SND.UNA that arrived according to duplicate ACKs, if repair is independent of the
    /// window.
    fn delivered_beyond(&self) -> Option<u64> {
        None
    }
    /// Returns the reaction of fast recovery to partial ACKs; `None` if a partial ACK ends recovery (RFC 5681).
    fn newreno(&self) -> Option<NewReno> {
        None
    }
    /// Whether ACKs of new data grow the window in recovery, too.
    fn grows_in_recovery(&self) -> bool {
        false
    }

    /// Whether it needs the details of the data that each ACK delivered, and in which order. Never changes.
    fn needs_detail(&self) -> Option<InOrderOfTime> {
        None
    }
    /// Returns its smallest round-trip time. An ACK that comes sooner after a retransmission is of the original
    /// segment.
    fn min_rtt(&self) -> Duration {
        Duration::ZERO
    }

    /// Whether the echo of an ACK also dates the data that it SACKs. Never changes.
    fn has_sack_echo(&self) -> bool {
        true
    }

    /// Schedules a probe, after an ACK was answered or new data left. Returns the place of a loss that a probe has
    /// repaired.
    fn after_ack(&mut self, view: &View<'_>, facts: &AckFacts, board: &Scoreboard, timers: &mut Timers) -> Option<u64> {
        let _ = (view, facts, board, timers);
        None
    }
    /// The probe timeout expired.
    fn on_probe_timer(&mut self) {}
    /// Takes the due probe: returns whether one was due, and clears it.
    fn take_probe(&mut self) -> bool {
        false
    }
    /// Notes that a probe left: a new segment that ends at `end`, or a copy of the last segment.
    fn on_probe_sent(&mut self, end: u64, is_retrans: bool, timers: &mut Timers) {
        let _ = (end, is_retrans, timers);
    }
}

/// Whether the scoreboard keeps transmissions in the order of time.
pub(crate) type InOrderOfTime = bool;

macro_rules! detectors {
    ($($(#[$doc:meta])+ $type:ident, $recovery:pat, $if_refused:expr;)+) => {
        /// A detector of any kind.
        #[derive(Clone, Debug)]
        #[allow(clippy::enum_variant_names)]
        pub(crate) enum Detector { $($(#[$doc])+ $type(Box<$type>),)+ }

        impl Detector {
            /// Returns the detector of a recovery. The peer agreed to its needs.
            pub(crate) fn of(config: &Config, agreed: &Agreed) -> Self {
                #[allow(unreachable_patterns)]
                match config.recovery {
                    $($recovery if $if_refused(agreed) => Self::$type(Box::new($type::new(config, agreed))),)+
                    // The peer refused its needs.
                    _ => Self::ByDuplicates(Box::new(ByDuplicates::new(config, agreed))),
                }
            }
        }

        macro_rules! each {
            ($of:expr, $detector:ident => $does:expr) => {
                match $of { $(Detector::$type($detector) => $does,)+ }
            };
        }

        impl Deref for Detector {
            type Target = dyn Detect;

            #[inline]
            fn deref(&self) -> &Self::Target {
                each!(self, detector => &**detector)
            }
        }

        impl DerefMut for Detector {
            #[inline]
            fn deref_mut(&mut self) -> &mut Self::Target {
                each!(self, detector => &mut **detector)
            }
        }
    };
}

detectors! {
    /// Only the retransmission timer finds losses (TCPmin).
    ByTimeout, Recovery::TimeoutOnly, always;
    /// Duplicate ACKs (RFC 5681, RFC 6582); also where the peer refuses what another needs.
    ByDuplicates, Recovery::FastRetransmit | Recovery::Reno | Recovery::NewReno(_), always;
    /// SACKed data more than three segments above (FACK).
    ByDistance, Recovery::Sack { evidence: SackEvidence::Fack, .. }, with_sack;
    /// SACKed data above, at any distance (STP).
    ByStatus, Recovery::Sack { evidence: SackEvidence::Status, .. }, with_sack;
    /// SACKed data above (RFC 6675).
    BySack, Recovery::Sack { .. }, with_sack;
    /// Something that was sent later arrived (RFC 8985).
    ByTime, Recovery::Rack(_), with_sack;
    /// The receiver reports holes (SCPS-TP).
    ByReport, Recovery::Snack(_), with_snack;
}

/// Questions before and after each segment with new data, answered without a call: only one detector has more to do.
impl Detector {
    /// Whether something else than new data may leave first although nothing is known to be lost.
    #[inline]
    pub(crate) fn comes_first(&self) -> bool {
        match self {
            Self::ByTime(by_time) => by_time.has_probe(),
            Self::ByReport(_) => true,
            _ => false,
        }
    }

    /// New data left.
    #[inline]
    pub(crate) fn after_new(&mut self, view: &View<'_>, board: &Scoreboard, timers: &mut Timers) {
        if let Self::ByTime(by_time) = self {
            by_time.after_new(view, board, timers);
        }
    }
}

fn always(_: &Agreed) -> bool {
    true
}

fn with_sack(agreed: &Agreed) -> bool {
    agreed.sack
}

fn with_snack(agreed: &Agreed) -> bool {
    agreed.snack.is_some()
}
