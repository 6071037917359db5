//! RACK-TLP (RFC 8985): a segment is lost if one that was sent later has arrived and a little time has passed since;
//! and if nothing arrives at all, a probe asks for an ACK before the retransmission timer expires.

use super::recovery::Phase;
use super::scoreboard::{Newest, DUP_THRESH};
use super::Connection;
use crate::cc::{Congestion, CongestionControl};
use crate::config::Rack;
use crate::segment::Segment;
use crate::verdict::{Loss, LossVerdict, Verdict};
use bentpipe_units::{Duration, Time};

/// RFC 8985 §6.2 step 4: recoveries for which a window that reordering widened is kept.
const PERSIST: u32 = 16;
/// RFC 8985 §7.2: the probe timeout before the first sample.
const PROBE_INITIAL: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct RackTlp {
    settings: Rack,
    /// The transmission that was made last of those that arrived (RACK.xmit_ts, RACK.end_seq).
    newest: Option<Newest>,
    /// Its round-trip time.
    rtt: Duration,
    min_rtt: WindowedMin,
    /// Highest sequence that arrived (RACK.fack).
    highest: u64,
    has_reordering: bool,
    /// The reordering window is this many quarters of the smallest round-trip time.
    quarters: u64,
    persist: u32,
    /// A report of a duplicate counts once until this is acknowledged.
    dsack_round: Option<u64>,
    /// The reordering timer.
    look_at: Time,
    probe_at: Time,
    /// The probe is to be sent.
    probes: bool,
    probe: Option<Probe>,
    /// A round trip was sampled since the last probe.
    has_sample: bool,
    /// The window was reduced for a loss that a probe repaired, when everything below this had been sent.
    reduced_until: u64,
}

/// A probe that was sent (RFC 8985 §7.3).
#[derive(Clone, Copy, Debug)]
struct Probe {
    end: u64,
    is_resent: bool,
}

impl RackTlp {
    pub(super) fn new(settings: Rack) -> Self {
        Self {
            settings,
            newest: None,
            rtt: Duration::ZERO,
            min_rtt: WindowedMin::new(settings.min_rtt_window),
            highest: 0,
            has_reordering: false,
            quarters: 1,
            persist: PERSIST,
            dsack_round: None,
            look_at: Time::NEVER,
            probe_at: Time::NEVER,
            probes: false,
            probe: None,
            has_sample: true,
            reduced_until: 0,
        }
    }

    pub(super) fn next_wakeup(&self) -> Time {
        self.look_at.min(self.probe_at)
    }

    pub(super) fn min_rtt(&self) -> Duration {
        self.min_rtt.get().unwrap_or(Duration::ZERO)
    }

    /// Loss recovery begins: no probe is needed.
    pub(super) fn stop_probing(&mut self) {
        self.probe = None;
        self.probes = false;
        self.probe_at = Time::NEVER;
    }

    pub(super) fn stop_timers(&mut self) {
        self.look_at = Time::NEVER;
        self.stop_probing();
    }

    /// RFC 8985 §6.2 step 4: how long after its sending a segment is lost, if one that was sent later has arrived.
    fn patience(&self, srtt: Option<Duration>, in_recovery: bool, sacked_segments: u64) -> Duration {
        if !self.has_reordering && (in_recovery || sacked_segments >= DUP_THRESH) {
            return self.rtt;
        }
        let window = self.min_rtt() * self.quarters / 4;
        self.rtt + window.min(srtt.unwrap_or(window))
    }

    /// Step 4: duplicates widen the window, one quarter a round trip; sixteen recoveries without narrow it.
    fn on_round(&mut self, una: u64, nxt: u64, has_dsack: bool, recovery_ended: bool) {
        if self.dsack_round.is_some_and(|round| una >= round) {
            self.dsack_round = None;
        }
        if self.dsack_round.is_none() && has_dsack {
            self.dsack_round = Some(nxt);
            self.quarters += 1;
            self.persist = PERSIST;
        } else if recovery_ended {
            self.persist = self.persist.saturating_sub(1);
            if self.persist == 0 {
                self.quarters = 1;
            }
        }
    }
}

impl Connection {
    /// An ACK has been entered into the scoreboard. Returns whether it showed further losses.
    pub(super) fn rack_on_ack(&mut self, now: Time, recovery_ended: bool) -> bool {
        let delivery = self.board.delivery();
        let Some(rack) = &mut self.rack else { return false };
        if let Some(newest) = delivery.newest.filter(|newest| !newest.is_resent) {
            rack.min_rtt.update(now, now - newest.sent_at);
            rack.has_sample = true;
        }
        if let Some(proven) = delivery.proven {
            rack.rtt = now - proven.sent_at;
            if rack.newest.is_none_or(|newest| proven.is_later(newest.sent_at, newest.end)) {
                rack.newest = Some(proven);
            }
        }
        // Step 3: something arrived after what was sent later than it.
        rack.has_reordering |= delivery.original_end < rack.highest;
        rack.highest = rack.highest.max(delivery.end);
        rack.on_round(self.snd_una, self.snd_nxt, self.dsack.is_some(), recovery_ended);
        self.find_overdue(now)
    }

    /// RFC 8985 §6.2 step 5.
    fn find_overdue(&mut self, now: Time) -> bool {
        let in_recovery = !self.is_calm();
        let Some(rack) = &mut self.rack else { return false };
        let patience = rack.patience(self.rtt.srtt(), in_recovery, self.board.sacked_segments());
        rack.look_at = Time::NEVER;
        let Some(newest) = rack.newest else { return false };
        let (found, again) = self.board.find_overdue(now, newest, patience);
        rack.look_at = again;
        found
    }

    /// What the retransmission timer takes for lost (RFC 8985 §6.3): the first segment, and what is overdue anyway.
    pub(super) fn mark_overdue_after_rto(&mut self, now: Time) {
        let Some(rack) = &mut self.rack else { return };
        rack.stop_timers();
        let patience = rack.patience(self.rtt.srtt(), true, self.board.sacked_segments());
        // Before the first sample nothing is known of what is on its way.
        let patience = if rack.newest.is_none() { Duration::ZERO } else { patience };
        self.board.mark_overdue(now, patience);
    }

    /// The reordering timer or the probe timer may have expired.
    pub(super) fn on_rack_wakeup(&mut self, now: Time) {
        let Some(rack) = &mut self.rack else { return };
        if rack.look_at <= now {
            if self.find_overdue(now) {
                self.recover_what_rack_found(now);
            }
            if self.board.flight_size() > 0 {
                self.arm_rto(now);
            }
        }
        let Some(rack) = &mut self.rack else { return };
        if rack.probe_at <= now {
            rack.probe_at = Time::NEVER;
            // RFC 8985 §7.3: one probe until it is resolved, and a sample between two.
            rack.probes = rack.probe.is_none() && rack.has_sample;
            if self.board.flight_size() > 0 {
                self.arm_rto(now);
            }
        }
    }

    pub(super) fn recover_what_rack_found(&mut self, now: Time) {
        if self.episode.phase == Phase::Open && self.may_recover() && self.board.has_waiting() {
            self.enter_recovery(now, Phase::Sack);
        }
    }

    /// RFC 8985 §7.2: after new data, or an ACK of new data, unless losses are being repaired.
    pub(super) fn schedule_probe(&mut self, now: Time) {
        let flight = self.board.flight_size();
        let is_calm = self.is_calm() && self.board.sacked_bytes() == 0;
        let expiry = if self.rto_not_before == Time::NEVER { now + self.rtt.rto() } else { self.rto_expiry() };
        let Some(rack) = &mut self.rack else { return };
        rack.probe_at = Time::NEVER;
        if !rack.settings.tlp || flight == 0 || !is_calm {
            return;
        }
        let alone = if flight <= u64::from(self.smss) { rack.settings.max_ack_delay } else { Duration::ZERO };
        let timeout = self.rtt.srtt().map_or(PROBE_INITIAL, |srtt| srtt * 2 + alone);
        rack.probe_at = (now + timeout).min(expiry);
    }

    /// The probe: a new segment, whatever the window, or else the last one again.
    pub(super) fn next_probe(&mut self, now: Time) -> Option<Segment> {
        let is_due = self.rack.as_mut().is_some_and(|rack| std::mem::take(&mut rack.probes));
        if !is_due || self.episode.phase != Phase::Open {
            return None;
        }
        self.episode.may_exceed = true;
        let fresh = self.next_new(now);
        self.episode.may_exceed = false;
        let is_resent = fresh.is_none();
        let segment = fresh.or_else(|| {
            let last = self.board.next_index().checked_sub(1).filter(|_| self.board.flight_size() > 0)?;
            Some(self.resend(now, last, true))
        });
        if let (Some(rack), Some(_)) = (&mut self.rack, &segment) {
            rack.probe = Some(Probe { end: self.snd_nxt, is_resent });
            rack.has_sample = false;
            rack.probe_at = Time::NEVER;
        }
        segment
    }

    /// RFC 8985 §7.4: what an ACK says about the probe. If the probe repaired a loss, the window answers to it.
    pub(super) fn resolve_probe(&mut self, now: Time, ack: u64, is_bare_duplicate: bool) {
        let Some(rack) = &mut self.rack else { return };
        let Some(probe) = rack.probe.filter(|probe| ack >= probe.end) else { return };
        let is_repair = probe.is_resent && self.dsack.is_none() && ack > probe.end;
        if is_repair || !probe.is_resent || self.dsack.is_some() || is_bare_duplicate {
            rack.probe = None;
        }
        if is_repair {
            self.reduce_for_probe(now, probe.end.saturating_sub(1));
        }
    }

    /// RFC 8985 §7.4.2: a probe has repaired the loss at `offset`. The window answers once for its window of data, and
    /// recovery is over as it begins.
    fn reduce_for_probe(&mut self, now: Time, offset: u64) {
        let path = self.path(now);
        let verdict = self.verdict.judge(&Loss { offset, by_timeout: false }, &path);
        if verdict != Verdict::Congestion || self.has_reduced_for_mark(offset) || self.has_reduced_for_probe(offset) {
            return;
        }
        self.before_reduction(false);
        self.cc.on_congestion(Congestion::FastRetransmit, &path);
        self.note_reduction();
        if let Some(rack) = &mut self.rack {
            rack.reduced_until = self.snd_nxt;
        }
        let path = self.path(now);
        self.cc.on_recovery_exit(&path);
    }

    /// Whether what was lost at `offset` had been sent when the window was reduced for a loss that a probe repaired.
    pub(super) fn has_reduced_for_probe(&self, offset: u64) -> bool {
        self.rack.as_ref().is_some_and(|rack| offset < rack.reduced_until)
    }
}

/// The smallest value of a span of time, from three candidates: exact while the minimum lasts, at most half a span late
/// in forgetting it.
#[derive(Clone, Debug)]
pub(super) struct WindowedMin {
    span: Duration,
    /// The smallest, and the smallest since then, and since that; in order of time.
    best: [Option<(Time, Duration)>; 3],
}

impl WindowedMin {
    pub(super) fn new(span: Duration) -> Self {
        Self { span, best: [None; 3] }
    }

    pub(super) fn get(&self) -> Option<Duration> {
        self.best[0].map(|(_, value)| value)
    }

    pub(super) fn update(&mut self, now: Time, value: Duration) {
        let new = Some((now, value));
        let is_below = |candidate: Option<(Time, Duration)>| candidate.is_none_or(|(_, least)| value <= least);
        let is_old = |candidate: Option<(Time, Duration)>, span: Duration| {
            candidate.is_none_or(|(at, _)| now.saturating_since(at) > span)
        };
        if is_below(self.best[0]) || is_old(self.best[2], self.span) {
            self.best = [new; 3];
            return;
        }
        if is_below(self.best[1]) {
            (self.best[1], self.best[2]) = (new, new);
        } else if is_below(self.best[2]) {
            self.best[2] = new;
        }
        if is_old(self.best[0], self.span) {
            self.best = [self.best[1], self.best[2], new];
        } else if self.best[1].map(|b| b.0) == self.best[0].map(|b| b.0) && is_old(self.best[1], self.span / 4) {
            (self.best[1], self.best[2]) = (new, new);
        } else if self.best[2].map(|b| b.0) == self.best[1].map(|b| b.0) && is_old(self.best[2], self.span / 2) {
            self.best[2] = new;
        }
    }
}
