//! Loss episodes: begin of recovery, partial ACKs, end. Entered and left only here.

use super::prr::Prr;
use crate::config::{NewReno, NewRenoDeflate, NewRenoExit, NewRenoTimer, RtoDuplicates};
use bentpipe_units::Time;

/// RFC 5681 §3.2: duplicate ACKs that prove a loss.
pub(crate) const DUP_THRESH: u32 = super::scoreboard::DUP_THRESH as u32;

/// Phase of an episode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    /// No known losses.
    #[default]
    Open,
    /// Fast recovery by duplicate ACKs (Reno, NewReno).
    Fast,
    /// Recovery by SACK.
    Selective,
    /// A round trip in which losses that SNACK reports reduce the window no further.
    Snack,
    /// After a timeout: the data that it declared lost is retransmitted in slow start.
    Loss,
}

impl Phase {
    /// Whether recovery goes on that duplicate or selective ACKs began.
    #[inline]
    pub(crate) fn is_recovery(self) -> bool {
        matches!(self, Self::Fast | Self::Selective | Self::Snack)
    }
}

/// State of loss recovery.
#[derive(Clone, Debug, Default)]
pub(crate) struct Episode {
    pub(crate) phase: Phase,
    /// Duplicate ACKs since the cumulative ACK advanced last.
    pub(crate) dupacks: u32,
    /// Duplicate ACKs of this count from before the last timeout: limited transmit has answered them.
    pub(crate) dupacks_before: u8,
    /// Everything below was sent when the last episode began (RFC 6582: recover; RFC 6675: RecoveryPoint).
    pub(crate) recovery_point: Option<u64>,
    /// Since when the timer had run, or the last partial ACK came, when it expired; none in other episodes.
    pub(crate) stalled_since: Option<Time>,
    /// SND.UNA at the last expiry of the timer. A second expiry there does not lower ssthresh again.
    pub(crate) rto_at: Option<u64>,
    /// Bytes that duplicate ACKs add to the window in fast recovery; negative after some partial ACKs.
    pub(crate) inflation: i64,
    partial_acks: u32,
    partial_ack_at: Time,
    /// The window was reduced for this episode.
    pub(crate) is_reduced: bool,
    /// The first hole is retransmitted next, regardless of the window.
    pub(crate) retransmits_first: bool,
    /// RFC 6675: RescueRxt.
    pub(crate) rescue_rxt: Option<u64>,
    /// Sent by limited transmit: not part of the flight that is halved (RFC 3042 §2).
    pub(crate) limited_bytes: u64,
    /// The window falls in proportion to the delivered data.
    pub(crate) prr: Option<Box<Prr>>,
    /// New segments that fast recovery may still send in answer to the last ACK.
    pub(crate) burst_left: u32,
}

/// Consequences of an advancing ACK for window and timer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Advance {
    pub(crate) in_recovery: bool,
    pub(crate) restarts_timer: bool,
}

impl Advance {
    /// Outside of recovery.
    pub(crate) const OPEN: Self = Self { in_recovery: false, restarts_timer: true };
}

/// Effect of an advancing ACK on an episode.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// Everything that was outstanding at the timeout is acknowledged.
    LeavesLoss,
    StaysInLoss,
    /// A part of the outstanding data is acknowledged. The window shrinks permanently by `shrinks_by` bytes.
    Partial {
        restarts_timer: bool,
        shrinks_by: u64,
    },
    /// All of it is; with `deflates` the window falls to the data in flight.
    Full {
        deflates: bool,
    },
}

impl Episode {
    /// Loss recovery begins with everything below `nxt` sent; nothing is known of how yet.
    pub(crate) fn begun(&self, nxt: u64, is_reduced: bool) -> Self {
        Self { dupacks: self.dupacks, recovery_point: Some(nxt), rto_at: self.rto_at, is_reduced, ..Self::default() }
    }

    /// The retransmission timer, armed at `armed`, expired with [una, nxt) outstanding. It may run on while partial ACKs come
    /// (RFC 3782 §4). `duplicates`: the treatment of the duplicate ACKs counted.
    pub(crate) fn timed_out(&self, una: u64, nxt: u64, armed: Time, duplicates: RtoDuplicates) -> Self {
        let dupacks = duplicates.after_timeout(self.dupacks);
        Self {
            phase: Phase::Loss,
            dupacks,
            dupacks_before: dupacks.try_into().unwrap_or(u8::MAX),
            recovery_point: Some(nxt),
            stalled_since: Some(armed.max(self.partial_ack_at)),
            rto_at: Some(una),
            retransmits_first: true,
            ..Self::default()
        }
    }

    /// Returns the episode after a spurious timeout. It is over if the timer did not interrupt a recovery.
    pub(crate) fn resumed(self) -> Self {
        if self.phase.is_recovery() {
            Self { dupacks: 0, retransmits_first: false, ..self }
        } else {
            Self::default()
        }
    }

    /// Fast recovery: `burst` new segments may leave for each ACK, and the window is inflated, if it is at all.
    pub(crate) fn enter_fast(&mut self, burst: u32, inflation: i64) {
        self.enter(Phase::Fast, burst);
        self.inflation = inflation;
    }

    /// Recovery by SACK. RFC 6675 §5 step 4.3: RescueRxt starts at the segment that is retransmitted now, which ends at `rescue_rxt`.
    pub(crate) fn enter_selective(&mut self, rescue_rxt: u64) {
        self.enter(Phase::Selective, u32::MAX);
        self.rescue_rxt = Some(rescue_rxt);
    }

    fn enter(&mut self, phase: Phase, burst: u32) {
        self.phase = phase;
        self.burst_left = burst;
        self.retransmits_first = true;
    }

    pub(crate) fn enter_snack(&mut self) {
        self.phase = Phase::Snack;
    }

    /// Slow start from the hole (Tahoe).
    pub(crate) fn enter_loss(&mut self) {
        self.phase = Phase::Loss;
    }

    pub(crate) fn leave(&mut self) {
        self.phase = Phase::Open;
        self.inflation = 0;
        self.prr = None;
    }

    /// A duplicate ACK in fast recovery.
    pub(crate) fn on_duplicate(&mut self, burst: u32, inflation: i64) {
        self.burst_left = burst;
        self.inflation += inflation;
    }

    /// The cumulative ACK advanced by `newly` bytes to `una`, not in the open phase. `newreno`: how fast recovery answers partial
    /// ACKs; none: any new ACK ends it (RFC 5681 §3.2 step 6). `inflation`: a segment, or nothing.
    pub(crate) fn on_advance(
        &mut self,
        now: Time,
        una: u64,
        newly: u64,
        newreno: Option<NewReno>,
        inflation: i64,
    ) -> Step {
        let is_full = self.recovery_point.is_none_or(|point| una >= point);
        match (self.phase, newreno) {
            (Phase::Loss, _) => {
                self.dupacks_before = 0;
                if is_full {
                    self.phase = Phase::Open;
                    return Step::LeavesLoss;
                }
                Step::StaysInLoss
            }
            (Phase::Fast, Some(options)) if !is_full => self.on_partial(now, newly, options, inflation),
            (Phase::Fast, Some(options)) => {
                Step::Full { deflates: options.exit == NewRenoExit::FlightSize && self.is_reduced }
            }
            (Phase::Selective | Phase::Snack, _) if !is_full => Step::Partial { restarts_timer: true, shrinks_by: 0 },
            _ => Step::Full { deflates: false },
        }
    }

    /// RFC 6582 §3.2 step 3, partial acknowledgements.
    fn on_partial(&mut self, now: Time, newly: u64, options: NewReno, inflation: i64) -> Step {
        let mut shrinks_by = 0;
        if inflation > 0 {
            self.inflation -= newly as i64;
        }
        if options.deflate == NewRenoDeflate::Window && self.inflation < 0 {
            shrinks_by = self.inflation.unsigned_abs();
            self.inflation = 0;
        }
        if inflation > 0 && newly as i64 >= inflation {
            self.inflation += inflation;
        }
        if options.deflate == NewRenoDeflate::ToSsthresh {
            self.inflation = self.inflation.max(0);
        }
        self.burst_left = options.burst();
        self.partial_acks += 1;
        self.partial_ack_at = now;
        self.retransmits_first = true;
        let restarts_timer = options.timer == NewRenoTimer::SlowButSteady || self.partial_acks == 1;
        Step::Partial { restarts_timer, shrinks_by }
    }
}
