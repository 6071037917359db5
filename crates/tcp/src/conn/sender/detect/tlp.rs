//! The tail loss probe of RACK-TLP (RFC 8985 §7).

use super::{AckFacts, Scoreboard, Timers, View};
use crate::config::Rack;
use crate::conn::sender::episode::Phase;
use crate::conn::timers::Timer;
use bentpipe_units::{Duration, Time};

/// RFC 8985 §7.2: the probe timeout before the first sample.
const PTO_INITIAL: Duration = Duration::from_secs(1);

/// Time of the next probe, and the fate of the last one.
#[derive(Clone, Debug)]
pub(crate) struct Tlp {
    settings: Rack,
    /// The probe is to be sent.
    is_due: bool,
    /// The probe that no ACK has resolved.
    sent: Option<Probe>,
    /// A round trip was sampled since the last probe.
    has_sample: bool,
    /// The probe timeout was started at this instant with more than a segment outstanding. More data do not change it.
    started: Time,
}

/// A probe that was sent (RFC 8985 §7.3): TLP.end_seq, TLP.is_retrans.
#[derive(Clone, Copy, Debug)]
struct Probe {
    end_seq: u64,
    is_retrans: bool,
}

impl Tlp {
    pub(super) fn new(settings: Rack) -> Self {
        Self { settings, is_due: false, sent: None, has_sample: true, started: Time::NEVER }
    }

    /// A round trip was sampled.
    pub(super) fn on_sample(&mut self) {
        self.has_sample = true;
    }

    /// Loss recovery begins, or the connection ends: no probe is needed.
    pub(super) fn stop(&mut self, timers: &mut Timers) {
        self.sent = None;
        self.is_due = false;
        self.started = Time::NEVER;
        timers.stop(Timer::LossProbe);
    }

    /// RFC 8985 §7.2: after new data, or an ACK of new data, unless losses are being repaired.
    #[inline(never)]
    pub(super) fn schedule(&mut self, view: &View<'_>, board: &Scoreboard, timers: &mut Timers) {
        let (flight, srtt) = (board.flight_size(), view.rtt.srtt());
        timers.stop(Timer::LossProbe);
        self.started = Time::NEVER;
        if !self.settings.tlp || flight == 0 || !is_open(view, board) {
            return;
        }
        let alone = if flight <= view.space.smss() { self.settings.max_ack_delay } else { Duration::ZERO };
        let probe = view.now + srtt.map_or(PTO_INITIAL, |srtt| srtt * 2 + alone);
        let expiry = match timers.get(Timer::Retransmit) {
            Time::NEVER => view.now + view.rtt.rto(),
            // The exact instant, which is not earlier, costs two divisions.
            earliest if probe <= earliest => earliest,
            _ => view.rtt.armed_expiry(),
        };
        timers.set(Timer::LossProbe, probe.min(expiry));
        if probe <= expiry && flight > view.space.smss() {
            self.started = view.now;
        }
    }

    /// Whether it was scheduled at this instant, and new data do not change the time: then the retransmission timer, which may
    /// have been restarted since, does not expire before.
    #[inline]
    pub(super) fn is_scheduled(&self, view: &View<'_>, board: &Scoreboard, timers: &Timers) -> bool {
        let retransmit = timers.get(Timer::Retransmit);
        let is_first = timers.get(Timer::LossProbe) <= retransmit && retransmit != Time::NEVER;
        self.started == view.now && is_first && is_open(view, board)
    }

    /// Whether a probe is to be sent.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        self.is_due
    }

    /// RFC 8985 §7.3: one probe until it is resolved, and a sample between two.
    pub(super) fn on_timer(&mut self) {
        self.is_due = self.sent.is_none() && self.has_sample;
    }

    /// Data up to `end` was reported as corrupted: a probe that repairs it shows no congestion.
    pub(super) fn on_report(&mut self, end: u64) {
        self.sent = self.sent.filter(|probe| !probe.is_retrans || probe.end_seq > end);
    }

    pub(super) fn take_due(&mut self) -> bool {
        std::mem::take(&mut self.is_due)
    }

    pub(super) fn on_sent(&mut self, end_seq: u64, is_retrans: bool, timers: &mut Timers) {
        self.sent = Some(Probe { end_seq, is_retrans });
        self.has_sample = false;
        self.started = Time::NEVER;
        timers.stop(Timer::LossProbe);
    }

    /// RFC 8985 §7.4: reads an ACK of everything below `ack`. Returns the offset of the loss that the probe repaired.
    pub(super) fn resolve(&mut self, ack: u64, facts: &AckFacts) -> Option<u64> {
        let probe = self.sent.filter(|probe| ack >= probe.end_seq)?;
        let is_repair = probe.is_retrans && facts.dsack.is_none() && ack > probe.end_seq;
        let is_bare_duplicate = facts.newly_acked == 0 && facts.is_pure;
        if is_repair || !probe.is_retrans || facts.dsack.is_some() || is_bare_duplicate {
            self.sent = None;
        }
        is_repair.then(|| probe.end_seq.saturating_sub(1))
    }
}

/// Whether a probe would help: no losses are being repaired, and no ACK asks for an answer.
#[inline]
fn is_open(view: &View<'_>, board: &Scoreboard) -> bool {
    view.episode.phase == Phase::Open && board.sacked_bytes() == 0
}
