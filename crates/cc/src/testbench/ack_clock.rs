//! Tests a congestion control alone: the test sets the round-trip time of each ACK.

use crate::testbench::path;
use crate::{AckSample, Congestion, CongestionControl, PathState};
use bentpipe_units::Duration;

pub(crate) const SMSS: u64 = 1000;

/// A congestion control that always fills its window, with one ACK per segment.
pub(crate) struct AckClock<C> {
    pub(crate) cc: C,
    pub(crate) path: PathState,
    mark: u64,
}

impl<C: CongestionControl> AckClock<C> {
    /// Starts with this window sent, before any ACK.
    pub(crate) fn full(cc: C) -> Self {
        let path = PathState { smss: SMSS, ..path(cc.cwnd()) };
        Self { cc, path, mark: 0 }
    }

    /// Acknowledges a segment after a pause, and sends one.
    pub(crate) fn pass(&mut self, pause: Duration) -> &PathState {
        self.path.now += pause;
        self.path.snd_una += SMSS;
        self.path.snd_nxt += SMSS;
        self.view()
    }

    /// Starts after the ACK that begins the first round, with a path of `base_ms`.
    pub(crate) fn new(cc: C, base_ms: f64) -> Self {
        let path = PathState { smss: SMSS, snd_una: 0, snd_nxt: 0, ..path(cc.cwnd()) };
        let mut clock = Self { cc, path, mark: 0 };
        clock.ack(base_ms);
        clock.mark = clock.path.snd_nxt;
        clock
    }

    pub(crate) fn segments(&self) -> f64 {
        self.cc.cwnd() as f64 / SMSS as f64
    }

    /// Returns the path as the connection would see it now.
    pub(crate) fn view(&mut self) -> &PathState {
        let cwnd = self.cc.cwnd();
        (self.path.flight_size, self.path.ssthresh_base) = (cwnd, cwnd);
        &self.path
    }

    pub(crate) fn ack(&mut self, rtt_ms: f64) {
        let cwnd = self.cc.cwnd();
        let rtt = Some(Duration::from_secs_f64(rtt_ms / 1000.0));
        self.path.snd_una += SMSS;
        self.path.snd_nxt = self.path.snd_una + cwnd - SMSS;
        self.path.now += Duration::from_secs_f64(rtt_ms / 1000.0 * SMSS as f64 / cwnd as f64);
        self.view();
        self.cc
            .on_ack(&AckSample { newly_acked: SMSS, is_cwnd_limited: true, rtt, ..AckSample::default() }, &self.path);
    }

    /// Runs a round trip of this length.
    pub(crate) fn round(&mut self, rtt_ms: f64) {
        while self.path.snd_una <= self.mark {
            self.ack(rtt_ms);
        }
        self.mark = self.path.snd_nxt;
    }

    /// Runs a round trip over a path of `base_ms` that holds `bdp` segments. The rest of the window is queued.
    pub(crate) fn round_over(&mut self, base_ms: f64, bdp: f64) {
        self.round(base_ms * (self.segments() / bdp).max(1.0));
    }

    /// Loses a segment that is repaired immediately.
    pub(crate) fn lose(&mut self) {
        self.view();
        self.cc.on_congestion(Congestion::FastRetransmit, &self.path);
        self.path.snd_una = self.path.snd_nxt;
        self.mark = self.path.snd_una + self.cc.cwnd();
    }
}
