//! Careful resume (RFC 9959) of a connection: gives the product's part its facts, and sets the window that it returns.
//! Positions are offsets of bytes in packets sent. Retransmissions are new packets, and so have later offsets.

use crate::tap::Shared;
use bentpipe_cc::{
    CarefulResume, Custom, Pace, PathLesson, PathObserver, ResumeFacts, ResumePhase, ResumeReason, Resumed, SavedPath,
};
use bentpipe_units::{Duration, Rate, Time};

/// State of a sender at an event, as its adapter knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight {
    pub(crate) now: Time,
    pub(crate) smss: u64,
    pub(crate) in_flight: u64,
    /// Offset of the next packet, and that below which everything has arrived or is lost.
    pub(crate) next: u64,
    pub(crate) settled: u64,
    pub(crate) delivered: u64,
    pub(crate) srtt: Option<Duration>,
    pub(crate) least_rtt: Option<Duration>,
    pub(crate) is_app_limited: bool,
}

/// Careful resume of a connection, and its observation of the path.
#[derive(Clone, Debug)]
pub(crate) struct Resume {
    /// The part; absent without a saved path.
    part: Option<CarefulResume>,
    observer: PathObserver,
    initial_window: u64,
    /// Bytes that arrived of packets of the jump.
    validated: u64,
    has_retreated: bool,
}

impl Resume {
    pub(crate) fn new(part: Option<CarefulResume>, initial_window: u64) -> Self {
        Self { part, observer: PathObserver::default(), initial_window, validated: 0, has_retreated: false }
    }

    /// Whether ACKs may grow the window.
    pub(crate) fn may_grow(&self) -> bool {
        self.part.as_ref().is_none_or(CarefulResume::may_grow)
    }

    /// Returns the pace of a window that is not proven yet (RFC 9959 §3.3).
    pub(crate) fn pace(&self, srtt: Option<Duration>) -> Option<Pace> {
        let (window, rtt) = (self.part.as_ref()?.paced_window()?, srtt?);
        let bits = 8 * u128::from(window) * u128::from(Duration::from_secs(1).as_ps());
        let bps = bits / u128::from(rtt.as_ps().max(1));
        Some(Pace::at(Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX).max(1))))
    }

    /// `bytes` of the packet at offset `start` have arrived.
    pub(crate) fn on_delivered(&mut self, start: u64, bytes: u64) {
        if self.part.as_ref().is_some_and(|part| start >= part.first()) {
            self.validated += bytes;
        }
    }

    /// An ACK was handled.
    pub(crate) fn on_ack(&mut self, own: &mut dyn Custom, flight: &Flight) {
        self.observer.on_ack(flight.settled, flight.next, flight.delivered, !flight.is_app_limited);
        self.apply(own, flight, |part, facts| part.on_ack(facts));
    }

    /// A packet has left.
    pub(crate) fn on_sent(&mut self, own: &mut dyn Custom, flight: &Flight) {
        self.apply(own, flight, |part, facts| part.on_sent(facts));
    }

    /// Losses or marks have reduced the window.
    pub(crate) fn on_congestion(&mut self, own: &mut dyn Custom, flight: &Flight, reason: ResumeReason) {
        self.apply(own, flight, |part, facts| part.on_congestion(reason, facts));
    }

    /// Persistent congestion has reduced the window.
    pub(crate) fn on_timeout(&mut self, own: &mut dyn Custom, flight: &Flight) {
        self.apply(own, flight, |part, _| part.on_timeout());
    }

    /// Passes an event to the part, and sets the window that it returns.
    fn apply(
        &mut self,
        own: &mut dyn Custom,
        flight: &Flight,
        tell: impl FnOnce(&mut CarefulResume, &ResumeFacts) -> Option<Resumed>,
    ) {
        let Some(part) = self.part.as_mut().filter(|part| part.phase() != ResumePhase::Normal) else { return };
        let facts = ResumeFacts {
            now: flight.now,
            cwnd: own.cwnd(),
            flight: flight.in_flight,
            // The stack reports whether data waits, without its size.
            waiting: if flight.is_app_limited { 0 } else { own.cwnd() },
            next: flight.next,
            settled: flight.settled,
            delivered: flight.delivered,
            validated: self.validated,
            smss: flight.smss,
            srtt: flight.srtt,
            rtt_min: flight.least_rtt,
        };
        let Some(change) = tell(part, &facts) else { return };
        self.has_retreated |= change.phase == ResumePhase::Retreat;
        if change.cwnd.is_some() || change.ssthresh.is_some() {
            own.set_window(change.cwnd.unwrap_or(own.cwnd()), change.ssthresh.unwrap_or(own.ssthresh()));
        }
    }

    /// Leaves what later connections may use (RFC 9959 §3.1).
    pub(crate) fn teach(&self, own: &dyn Custom, flight: &Flight, facts: &Shared) {
        let in_slow_start = own.cwnd() < own.ssthresh();
        let window = in_slow_start.then(|| own.cwnd() / 2);
        let saved = self.observer.saved(self.initial_window, flight.delivered, window).zip(flight.least_rtt);
        let saved = saved.map(|(window, rtt)| SavedPath { window, rtt, at: flight.now });
        facts.lock().lesson = PathLesson { saved, is_deleted: self.has_retreated };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9959 §2.4: what arrives of packets that left before the jump proves nothing about it.
    #[test]
    fn only_the_jump_validates() {
        let rtt = Duration::from_millis(600);
        let saved = SavedPath { window: 1_000_000, rtt, at: Time::ZERO };
        let part = CarefulResume::new(bentpipe_cc::keys::CarefulResume::default(), saved, 12_000, 1200);
        let mut resume = Resume::new(Some(part), 12_000);
        (0..10).for_each(|packet| resume.on_delivered(1200 * packet, 1200));
        assert_eq!(resume.validated, 0);
    }
}
