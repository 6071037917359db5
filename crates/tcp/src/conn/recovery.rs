//! Loss episodes: when recovery begins, what it does with partial ACKs, when it ends.
//!
//! The five procedures differ in little: which evidence counts (duplicate ACKs, or SACK blocks), what is resent
//! (one segment, or everything from the hole on), and whether the window is inflated meanwhile.

use super::{Connection, Event};
use crate::cc::{Congestion, CongestionControl};
use crate::config::{GiveUp, NewRenoDeflate, NewRenoExit, NewRenoTimer, Recovery, SackOnRto};
use crate::verdict::{Loss, LossVerdict, Verdict};
use bentpipe_units::Time;

/// RFC 5681 §3.2: duplicate ACKs that prove a loss.
const DUP_THRESH: u32 = super::scoreboard::DUP_THRESH as u32;

/// What recovery remembers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Episode {
    pub(super) phase: Phase,
    /// Duplicate ACKs since the cumulative ACK advanced last.
    pub(super) dupacks: u32,
    /// Everything below was sent when the last episode began (RFC 6582: recover; RFC 6675: RecoveryPoint).
    pub(super) recover: Option<u64>,
    /// What a timeout declared lost is not yet acknowledged: it is resent in slow start.
    pub(super) after_rto: bool,
    /// Where the timer expired last: a second time at the same place does not lower ssthresh again.
    rto_at: Option<u64>,
    /// What duplicate ACKs add to the window in fast recovery; partial ACKs may make it negative.
    pub(super) inflation: i64,
    partial_acks: u32,
    /// The window was reduced for this episode.
    is_reduced: bool,
    /// The first hole is resent next, whatever the window.
    pub(super) resend_first: bool,
    /// RFC 6675: RescueRxt.
    pub(super) rescued: Option<u64>,
    /// Sent by limited transmit: not part of the flight that is halved (RFC 3042 §2).
    pub(super) limited_bytes: u64,
}

/// Where an episode stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// No recovery, or the slow start after a timeout.
    #[default]
    Open,
    /// Fast recovery by duplicate ACKs (Reno, NewReno).
    Fast,
    /// Recovery by SACK.
    Sack,
}

impl Recovery {
    pub(super) const fn uses_sack(self) -> bool {
        matches!(self, Self::Sack { .. })
    }
}

impl Connection {
    /// A duplicate ACK without SACK.
    pub(super) fn on_duplicate(&mut self, now: Time) {
        let episode = &mut self.episode;
        episode.dupacks = episode.dupacks.saturating_add(1);
        if episode.phase == Phase::Fast {
            episode.inflation += i64::from(self.smss);
        } else if episode.dupacks == DUP_THRESH && self.may_recover() {
            match self.config.recovery {
                Recovery::FastRetransmit => self.restart_from_hole(now),
                Recovery::Reno | Recovery::NewReno(_) => self.enter_recovery(now, Phase::Fast),
                Recovery::TimeoutOnly | Recovery::Sack { .. } => {}
            }
        }
    }

    /// An ACK with SACK negotiated; `news`: bytes that it reported for the first time.
    pub(super) fn on_sack(&mut self, now: Time, news: u64) {
        if news == 0 {
            return;
        }
        self.board.mark_lost(u64::from(self.smss));
        if self.episode.phase == Phase::Sack {
            return;
        }
        self.episode.dupacks = self.episode.dupacks.saturating_add(1);
        let first_is_lost = self.board.first().is_some_and(|first| self.board.is_lost(first));
        if (self.episode.dupacks >= DUP_THRESH || first_is_lost) && self.may_recover() {
            self.enter_recovery(now, Phase::Sack);
        }
    }

    /// The cumulative ACK advanced by `newly` bytes. Returns whether this ACK was part of loss recovery (so that
    /// the window does not grow) and whether the retransmission timer restarts.
    pub(super) fn on_advance(&mut self, newly: u64) -> Advance {
        let una = self.snd_una;
        let episode = &mut self.episode;
        episode.dupacks = 0;
        episode.limited_bytes = 0;
        if episode.after_rto && episode.recover.is_none_or(|recover| una >= recover) {
            episode.after_rto = false;
        }
        let is_full = episode.recover.is_none_or(|recover| una >= recover);
        match episode.phase {
            Phase::Open => Advance { in_recovery: false, restart_timer: true },
            Phase::Sack if !is_full => Advance { in_recovery: true, restart_timer: true },
            Phase::Sack => self.exit_recovery(),
            Phase::Fast => match self.config.recovery {
                Recovery::NewReno(options) if !is_full => {
                    let smss = i64::from(self.smss);
                    episode.inflation -= newly as i64;
                    if newly as i64 >= smss {
                        episode.inflation += smss;
                    }
                    if options.deflate == NewRenoDeflate::ToSsthresh {
                        episode.inflation = episode.inflation.max(0);
                    }
                    episode.partial_acks += 1;
                    episode.resend_first = true;
                    let restart_timer = options.timer == NewRenoTimer::SlowButSteady || episode.partial_acks == 1;
                    Advance { in_recovery: true, restart_timer }
                }
                Recovery::NewReno(options) => {
                    if options.exit == NewRenoExit::FlightSize && episode.is_reduced {
                        let smss = u64::from(self.smss);
                        let flight = self.board.flight_size();
                        self.cc.limit_cwnd(flight.max(smss) + smss);
                    }
                    self.exit_recovery()
                }
                // RFC 5681 §3.2 step 6: any new ACK ends it.
                _ => self.exit_recovery(),
            },
        }
    }

    /// The retransmission timer expired with data outstanding.
    pub(super) fn on_data_timeout(&mut self, now: Time) {
        self.counters.timeouts += 1;
        self.events.push_back(Event::Timeout(self.snd_una));
        if self.must_give_up(now) {
            return self.abort();
        }
        let path = self.path(now);
        let loss = Loss { offset: self.snd_una, by_timeout: true };
        if self.verdict.judge(&loss, &path) == Verdict::Congestion {
            self.cc.on_rto(self.episode.rto_at != Some(self.snd_una), &path);
            self.note_reduction();
        }
        // RFC 2018 §8: if the receiver dropped what it had reported, so do we.
        let reneged = self.board.first().is_some_and(|first| self.board.is_sacked(first));
        let forget = matches!(self.config.recovery, Recovery::Sack { on_rto: SackOnRto::Discard }) || reneged;
        self.board.mark_all_lost(forget);
        self.episode = Episode {
            recover: Some(self.snd_nxt),
            after_rto: true,
            rto_at: Some(self.snd_una),
            resend_first: true,
            ..Episode::default()
        };
        self.timed = None;
        self.rtt.back_off();
        self.disarm_rto();
    }

    /// RFC 6582 §3.2 step 1, RFC 6675 §5: what was sent before the last episode began cannot start another. (For
    /// Reno and Tahoe this is ns-2's reading: duplicates of what a timeout resent prove nothing.)
    fn may_recover(&self) -> bool {
        match (self.episode.recover, self.config.recovery) {
            (Some(recover), Recovery::Sack { .. }) => self.snd_una >= recover,
            (Some(recover), _) => self.snd_una > recover,
            (None, Recovery::NewReno(options)) => options.first_loss || self.snd_una > 0,
            (None, _) => true,
        }
    }

    fn enter_recovery(&mut self, now: Time, phase: Phase) {
        self.begin_episode(now);
        self.episode.phase = phase;
        self.episode.resend_first = true;
        if phase == Phase::Fast {
            self.episode.inflation = i64::from(DUP_THRESH) * i64::from(self.smss);
        } else {
            // RFC 6675 §5 step 4.3: RescueRxt starts at the segment that is resent now.
            let first = self.board.first().map_or(0, |first| self.board.len_of(first));
            self.episode.rescued = Some(self.snd_una + first);
        }
    }

    /// Tahoe: slow start from the hole.
    fn restart_from_hole(&mut self, now: Time) {
        self.begin_episode(now);
        if self.episode.is_reduced {
            self.board.mark_all_lost(false);
            self.episode.after_rto = true;
        } else {
            self.episode.resend_first = true;
        }
    }

    fn begin_episode(&mut self, now: Time) {
        self.counters.fast_retransmits += 1;
        self.events.push_back(Event::FastRetransmit(self.snd_una));
        if self.config.rto.restart_on_fast_retransmit {
            self.arm_rto(now);
        }
        let path = self.path(now);
        let verdict = self.verdict.judge(&Loss { offset: self.snd_una, by_timeout: false }, &path);
        if verdict == Verdict::Congestion && !self.has_reduced_for_mark() {
            self.cc.on_congestion(Congestion::FastRetransmit, &path);
            self.note_reduction();
        }
        self.episode = Episode {
            dupacks: self.episode.dupacks,
            recover: Some(self.snd_nxt),
            rto_at: self.episode.rto_at,
            is_reduced: verdict == Verdict::Congestion,
            ..Episode::default()
        };
    }

    fn exit_recovery(&mut self) -> Advance {
        self.episode.phase = Phase::Open;
        self.episode.inflation = 0;
        self.events.push_back(Event::RecoveryExit(self.snd_una));
        Advance { in_recovery: !self.config.grow_on_exit, restart_timer: true }
    }

    fn must_give_up(&self, now: Time) -> bool {
        match self.config.give_up {
            GiveUp::Never => false,
            GiveUp::AfterRetransmissions(most) => self.board.first_resends() >= most,
            GiveUp::AfterTime(longest) => now.saturating_since(self.first_resend) >= longest,
        }
    }
}

/// What an advancing ACK means for window and timer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Advance {
    pub(super) in_recovery: bool,
    pub(super) restart_timer: bool,
}
