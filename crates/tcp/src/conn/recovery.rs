//! Loss episodes: when recovery begins, what it does with partial ACKs, when it ends.
//!
//! The procedures differ in little: which evidence counts (duplicate ACKs, SACK blocks, or time), what is resent
//! (one segment, or everything from the hole on), and whether the window is inflated meanwhile.

use super::prr::Progress;
use super::{Connection, Event, Prr};
use crate::cc::{Congestion, CongestionControl};
use crate::config::{
    GiveUp, NewReno, NewRenoDeflate, NewRenoExit, NewRenoTimer, Recovery, Reduction, SackEvidence, SackOnRto,
};
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
    /// Since when the timer had run, or the last partial ACK came, when it expired; none in other episodes.
    pub(super) stalled_since: Option<Time>,
    /// Where the timer expired last: a second time at the same place does not lower ssthresh again.
    pub(super) rto_at: Option<u64>,
    /// What duplicate ACKs add to the window in fast recovery; partial ACKs may make it negative.
    pub(super) inflation: i64,
    partial_acks: u32,
    partial_ack_at: Time,
    /// The window was reduced for this episode.
    is_reduced: bool,
    /// The first hole is resent next, whatever the window.
    pub(super) resend_first: bool,
    /// RFC 6675: RescueRxt.
    pub(super) rescued: Option<u64>,
    /// Sent by limited transmit: not part of the flight that is halved (RFC 3042 §2).
    pub(super) limited_bytes: u64,
    /// The window falls in proportion to what is delivered.
    pub(super) prr: Option<Prr>,
    /// The next new segment may exceed the window: it is a probe.
    pub(super) may_exceed: bool,
    /// New segments that fast recovery may still send in answer to the last ACK.
    pub(super) burst_left: u32,
}

impl Episode {
    /// As it goes on after a timeout that was spurious; over, if the timer did not interrupt a recovery.
    pub(super) fn resumed(self) -> Self {
        match self.phase {
            Phase::Open => Self::default(),
            _ => Self { dupacks: 0, resend_first: false, ..self },
        }
    }
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
    /// A round trip in which losses that SNACK reports reduce the window no further.
    Snack,
}

impl Connection {
    /// A duplicate ACK on a connection without SACK.
    pub(super) fn on_duplicate(&mut self, now: Time) {
        let threshold = self.dup_threshold();
        let episode = &mut self.episode;
        episode.dupacks = episode.dupacks.saturating_add(1);
        if episode.phase == Phase::Fast {
            self.episode.burst_left = self.burst();
            if self.inflates() {
                self.episode.inflation += i64::from(self.smss);
            }
            self.tell_recovery_ack(now, false);
        } else if episode.dupacks == threshold && self.may_recover() {
            match self.config.recovery {
                Recovery::TimeoutOnly => {}
                Recovery::FastRetransmit => self.restart_from_hole(now),
                _ => self.enter_recovery(now, Phase::Fast),
            }
        }
    }

    /// An ACK with SACK negotiated; `news`: bytes that it reported for the first time. Returns whether it showed further
    /// losses.
    pub(super) fn on_sack(&mut self, now: Time, news: u64, recovery_ended: bool) -> bool {
        let is_waiting = self.is_waiting_for_frto();
        if let Recovery::Rack(_) = self.config.recovery {
            let found = self.rack_on_ack(now, recovery_ended);
            self.episode.dupacks += u32::from(news > 0 && self.episode.phase == Phase::Open);
            if !is_waiting {
                self.recover_what_rack_found(now);
            }
            return found;
        }
        if news == 0 {
            return false;
        }
        let lost_before = self.board.lost_bytes();
        let in_recovery = self.episode.phase == Phase::Sack;
        self.mark_lost_by_sack(in_recovery);
        let found = self.board.lost_bytes() > lost_before;
        if in_recovery {
            return found;
        }
        self.episode.dupacks = self.episode.dupacks.saturating_add(1);
        let first_is_lost = self.board.first().is_some_and(|first| self.board.is_lost(first));
        let is_proven = self.episode.dupacks >= DUP_THRESH || first_is_lost || self.is_early_by_sack();
        if is_proven && self.may_recover() {
            self.enter_recovery(now, Phase::Sack);
            self.mark_lost_by_sack(true);
        }
        found
    }

    /// What SACK information proves to be lost.
    fn mark_lost_by_sack(&mut self, in_recovery: bool) {
        let smss = u64::from(self.smss);
        match self.config.recovery {
            Recovery::Sack { evidence: SackEvidence::Fack, .. } => self.board.mark_lost_by_distance(smss),
            Recovery::Sack { evidence: SackEvidence::Hole, .. } if !in_recovery => {}
            Recovery::Sack { evidence: SackEvidence::Hole, .. } => self.board.mark_holes_lost(),
            _ => self.board.mark_lost(smss),
        }
    }

    /// Duplicate ACKs that prove a loss: three, or fewer if fewer can come (RFC 5827 §3.1).
    fn dup_threshold(&self) -> u32 {
        let smss = u64::from(self.smss);
        let flight = self.board.flight_size();
        if !self.config.early_retransmit || flight >= 4 * smss || self.can_send_new() {
            return DUP_THRESH;
        }
        let segments = flight.div_ceil(smss) as u32;
        // Never with one segment outstanding: its duplicates say nothing of it.
        if segments < 2 {
            DUP_THRESH
        } else {
            segments - 1
        }
    }

    /// RFC 5827 §3.2: all but one segment arrived.
    fn is_early_by_sack(&self) -> bool {
        let (smss, flight) = (u64::from(self.smss), self.board.flight_size());
        let is_left = flight - self.board.sacked_bytes() <= smss;
        self.config.early_retransmit && flight < 4 * smss && flight > smss && is_left && !self.can_send_new()
    }

    /// Whether there are unsent data that the receiver's window allows.
    pub(super) fn can_send_new(&self) -> bool {
        self.data_end() > self.snd_nxt && self.snd_una + self.rwnd > self.snd_nxt
    }

    /// An ACK in recovery was counted: how much may be in the network now.
    pub(super) fn reduce_in_proportion(&mut self, advanced: bool, found: bool) {
        let progress = Progress {
            delivered: self.board.delivery().bytes,
            pipe: self.board.pipe(),
            is_safe: advanced && !found,
            smss: u64::from(self.smss),
        };
        if let Some(prr) = &mut self.episode.prr {
            prr.on_ack(&progress);
        }
    }

    /// The cumulative ACK advanced by `newly` bytes. Returns whether this ACK was part of loss recovery (so that
    /// the window does not grow) and whether the retransmission timer restarts.
    #[inline]
    pub(super) fn on_advance(&mut self, now: Time, newly: u64) -> Advance {
        let una = self.snd_una;
        let episode = &mut self.episode;
        episode.dupacks = 0;
        episode.limited_bytes = 0;
        if episode.after_rto {
            self.leave_slow_start_after_rto(now);
        }
        let episode = &mut self.episode;
        let is_full = episode.recover.is_none_or(|recover| una >= recover);
        match episode.phase {
            Phase::Open => Advance::USUAL,
            Phase::Sack | Phase::Snack if !is_full => {
                self.tell_recovery_ack(now, true);
                Advance { in_recovery: true, ..Advance::USUAL }
            }
            Phase::Sack | Phase::Snack => self.exit_recovery(now),
            Phase::Fast => match newreno(self.config.recovery) {
                Some(options) if !is_full => {
                    self.tell_recovery_ack(now, true);
                    let (smss, inflates) = (i64::from(self.smss), self.inflates());
                    let episode = &mut self.episode;
                    if inflates {
                        episode.inflation -= newly as i64;
                    }
                    if options.deflate == NewRenoDeflate::Window && episode.inflation < 0 {
                        let beyond = episode.inflation.unsigned_abs();
                        episode.inflation = 0;
                        self.cc.limit_cwnd(self.cc.cwnd().saturating_sub(beyond));
                    }
                    let episode = &mut self.episode;
                    if inflates && newly as i64 >= smss {
                        episode.inflation += smss;
                    }
                    if options.deflate == NewRenoDeflate::ToSsthresh {
                        episode.inflation = episode.inflation.max(0);
                    }
                    episode.burst_left = options.burst();
                    episode.partial_acks += 1;
                    episode.partial_ack_at = now;
                    episode.resend_first = true;
                    let restart_timer = options.timer == NewRenoTimer::SlowButSteady || episode.partial_acks == 1;
                    Advance { in_recovery: true, restart_timer }
                }
                Some(options) => {
                    let deflates = episode.is_reduced && !self.cc.is_model_based();
                    if options.exit == NewRenoExit::FlightSize && deflates {
                        let smss = u64::from(self.smss);
                        let flight = self.board.flight_size();
                        self.cc.limit_cwnd(flight.max(smss) + smss);
                    }
                    self.exit_recovery(now)
                }
                // RFC 5681 §3.2 step 6: any new ACK ends it.
                None => self.exit_recovery(now),
            },
        }
    }

    #[cold]
    fn leave_slow_start_after_rto(&mut self, now: Time) {
        if self.episode.recover.is_none_or(|recover| self.snd_una >= recover) {
            self.episode.after_rto = false;
            self.note_exit();
            let path = self.path(now);
            self.cc.on_recovery_exit(&path);
        }
    }

    /// The retransmission timer expired with data outstanding.
    pub(super) fn on_data_timeout(&mut self, now: Time) {
        self.counters.timeouts += 1;
        self.events.push_back(Event::Timeout(self.snd_una));
        if self.must_give_up(now) {
            return self.abort();
        }
        self.save_before_episode(true);
        self.copy_from_the_oldest();
        let path = self.path(now);
        let loss = Loss { offset: self.snd_una, by_timeout: true };
        let verdict = self.verdict.judge(&loss, &path);
        if verdict == Verdict::Congestion {
            let is_first = self.config.rto.reduce_again || self.episode.rto_at != Some(self.snd_una);
            if is_first {
                self.before_reduction(true);
            }
            self.cc.on_rto(is_first, &path);
            self.note_reduction();
        }
        // RFC 2018 §8: if the receiver dropped what it had reported, so do we.
        let reneged = self.board.first().is_some_and(|first| self.board.is_sacked(first));
        let forget = matches!(self.config.recovery, Recovery::Sack { on_rto: SackOnRto::Discard, .. }) || reneged;
        if self.rack.is_some() && !forget {
            self.mark_overdue_after_rto(now);
        } else {
            self.board.mark_all_lost(forget);
        }
        self.episode = Episode {
            recover: Some(self.snd_nxt),
            after_rto: true,
            // The timer may run on while partial ACKs come (RFC 6582 §4).
            stalled_since: Some(self.rto_armed.0.max(self.episode.partial_ack_at)),
            rto_at: Some(self.snd_una),
            resend_first: true,
            ..Episode::default()
        };
        if let Some(snack) = &mut self.snack {
            snack.on_timeout();
        }
        self.timed = None;
        if verdict == Verdict::Congestion {
            self.rtt.back_off();
        }
        self.disarm_rto();
    }

    /// RFC 6582 §3.2 step 1, RFC 6675 §5: what was sent before the last episode began cannot start another. (For
    /// Reno and Tahoe this is ns-2's reading: duplicates of what a timeout resent prove nothing.)
    /// Neither in recovery nor in the slow start after a timeout.
    #[inline]
    pub(super) fn is_calm(&self) -> bool {
        self.episode.phase == Phase::Open && !self.episode.after_rto
    }

    pub(super) fn may_recover(&self) -> bool {
        match (self.episode.recover, self.config.recovery) {
            (Some(recover), _) if self.has_sack => self.snd_una >= recover,
            (Some(recover), _) => self.snd_una > recover,
            (None, Recovery::NewReno(options)) => options.first_loss || self.snd_una > 0,
            (None, _) => true,
        }
    }

    pub(super) fn enter_recovery(&mut self, now: Time, phase: Phase) {
        self.begin_episode(now);
        let smss = u64::from(self.smss);
        let falls = phase == Phase::Sack && self.episode.is_reduced && !self.cc.is_model_based();
        if self.config.reduction != Reduction::AtOnce && falls {
            let arrived = [self.board.sacked_bytes(), self.board.delivery().bytes];
            let flight = self.board.flight_size();
            let mut prr = Prr::new(self.config.reduction, self.cc.ssthresh(), flight, arrived, smss);
            prr.allow(self.board.pipe() + smss);
            self.episode.prr = Some(prr);
        }
        if let Some(rack) = &mut self.rack {
            rack.stop_probing();
        }
        self.episode.phase = phase;
        self.episode.burst_left = self.burst();
        self.episode.resend_first = true;
        if phase == Phase::Fast && !self.inflates() {
            self.episode.inflation = 0;
        } else if phase == Phase::Fast {
            self.episode.inflation = i64::from(DUP_THRESH) * i64::from(self.smss);
            self.board.note_first_lost();
        } else {
            // RFC 6675 §5 step 4.3: RescueRxt starts at the segment that is resent now.
            let first = self.board.first().map_or(0, |first| self.board.len_of(first));
            self.episode.rescued = Some(self.snd_una + first);
        }
    }

    /// New segments that fast recovery may send in answer to one ACK.
    fn burst(&self) -> u32 {
        newreno(self.config.recovery).map_or(u32::MAX, NewReno::burst)
    }

    /// The controller hears of each ACK that comes in recovery.
    pub(super) fn tell_recovery_ack(&mut self, now: Time, is_partial: bool) {
        let path = self.path(now);
        self.cc.on_recovery_ack(is_partial, &path);
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

    pub(super) fn begin_episode(&mut self, now: Time) {
        self.save_before_episode(false);
        self.copy_from_the_oldest();
        self.counters.fast_retransmits += 1;
        self.events.push_back(Event::FastRetransmit(self.snd_una));
        // DEVIATION: RFC 6298 §5 restarts the timer only for new data acknowledged. Unless told otherwise we restart it here
        // too, as Linux and ns-2 do: recovery would have only what is left of it.
        if self.config.rto.restart_on_fast_retransmit {
            self.arm_rto(now);
        }
        let path = self.path(now);
        let verdict = self.verdict.judge(&Loss { offset: self.snd_una, by_timeout: false }, &path);
        let has_reduced = self.has_reduced_for_mark(self.snd_una) || self.has_reduced_for_probe(self.snd_una);
        if verdict == Verdict::Congestion && !has_reduced {
            self.before_reduction(false);
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

    fn exit_recovery(&mut self, now: Time) -> Advance {
        self.episode.phase = Phase::Open;
        self.episode.inflation = 0;
        self.episode.prr = None;
        self.note_exit();
        let path = self.path(now);
        self.cc.on_recovery_exit(&path);
        self.events.push_back(Event::RecoveryExit(self.snd_una));
        Advance { in_recovery: !self.config.grow_on_exit, ..Advance::USUAL }
    }

    fn must_give_up(&self, now: Time) -> bool {
        match self.config.give_up {
            GiveUp::Never => false,
            GiveUp::AfterRetransmissions(most) => self.board.first_resends() >= most,
            GiveUp::AfterTime(longest) => now.saturating_since(self.first_resend) >= longest,
        }
    }
}

/// Recovery through partial ACKs, also where the peer refused SACK or SNACK.
fn newreno(recovery: Recovery) -> Option<NewReno> {
    match recovery {
        Recovery::NewReno(options) => Some(options),
        Recovery::Sack { .. } | Recovery::Rack(_) | Recovery::Snack(_) => Some(NewReno::default()),
        Recovery::TimeoutOnly | Recovery::FastRetransmit | Recovery::Reno => None,
    }
}

impl NewReno {
    /// New segments that recovery may send in answer to one ACK.
    fn burst(self) -> u32 {
        if self.burst == 0 {
            u32::MAX
        } else {
            self.burst
        }
    }
}

/// What an advancing ACK means for window and timer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Advance {
    pub(super) in_recovery: bool,
    pub(super) restart_timer: bool,
}

impl Advance {
    /// Outside of recovery.
    const USUAL: Self = Self { in_recovery: false, restart_timer: true };
}
