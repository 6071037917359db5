//! SaTCP is CUBIC that knows of handovers. While a handover is due, it attributes losses to it and keeps the window.
//!
//! X. Cao and X. Zhang, "SaTCP: Link-Layer Informed TCP Adaptation for Highly Dynamic LEO Satellite Networks", INFOCOM
//! 2023, and its patch to Linux.
//!
//! # How it works
//!
//! A predictor that knows the satellites sets a bit a little before each handover and clears it some time later. While
//! it is set:
//!
//! ```text
//! fast retransmit, mark:   retransmit, but keep cwnd
//! timeout:                 one segment, but keep what CUBIC and slow start have learnt;  ssthresh = cwnd
//! congestion avoidance that begins:  K = K / 9
//! ```
//!
//! The bit follows the reallocation period: it is set `early` before each instant, for `lasting`. The instants are
//! given (`period`, `offset`) or found from the round-trip times. While the bit is not set, SaTCP is CUBIC with CUBIC's
//! settings.
//!
//! # Differences from the source
//!
//! The patch keeps the state and shortens K. The paper's principle is to keep the window. Each of the three is a
//! setting. The paper does not define ssthresh after a timeout. Here it is the whole window, because the window is not
//! reduced either. In slow start, a loss while the bit is set does not end slow start.
//!
//! # When it helps
//!
//! SaTCP helps where handovers lose packets and the queue is short. CUBIC loses 30 % of its window at each handover,
//! four times per minute on Starlink, and SaTCP none. In `starlink` it has a little more goodput than CUBIC, because
//! the random loss of one packet in a thousand limits both. The default `offset` is that of `starlink`. In `leo` the
//! handovers are at 0, 15, 30 s (`offset = "0 s"`), but CUBIC fills that link, so SaTCP gains nothing.
//!
//! # When it hurts
//!
//! - With a deep queue and a window that recovers soon, the gain is small, too.
//! - While the bit is set, SaTCP does not yield, which hurts all flows on the path, itself included. A queue that
//!   overflows in these 2.3 of 15 s keeps overflowing, as in `geo` and, with the default `offset`, in `leo`.
//! - It takes losses of the link at other times for congestion, like CUBIC.
//! - It must know the time of the handovers within a few hundred milliseconds.

use crate::parts::reallocation::{Reallocation, Reallocations};
use crate::settings::settings;
use crate::{
    AckSample, Congestion, CongestionControl, Cubic, CubicAfterRto, CubicGrowth, CubicSettings, Init, PathState,
};
use bentpipe_units::{Duration, Time};

settings! {
    /// Settings of SaTCP.
    pub struct SaTcpSettings {
        /// Source of the times of handovers.
        reallocation: enum Reallocations = Reallocations::Announced, "Cao 2023: a predictor at the terminal";
        /// Time between two reallocations of the satellites.
        period: Duration = Duration::from_secs(15), "Starlink; N. Mohan 2024";
        /// Time of the first reallocation, from the start of the run.
        offset: Duration = Duration::from_secs(12), "Starlink: seconds 12, 27, 42 and 57 of each minute";
        /// Change of the least round-trip time that reveals a reallocation, between neighbours among 150 parts of the
        /// period.
        jump: Duration = Duration::from_millis(6), "measured: finds the seconds of Starlink in pings of minutes";
        /// Time between setting the bit and the handover.
        early: Duration = Duration::from_millis(500), "Cao 2023: the error of the predictor";
        /// Time for which the bit is set.
        lasting: Duration = Duration::from_millis(2300), "Cao 2023";
        /// Whether losses and marks under the bit keep the window.
        keep_window: bool = true, "Cao 2023, as a principle; not in the patch";
        /// Whether timeouts under the bit keep the state of CUBIC and slow start, and ssthresh at the window.
        keep_state: bool = true, "Cao 2023";
        /// Divisor of K under the bit.
        k_divisor: f64 = 9.0, [1.0, 1000.0], "Cao 2023, the patch: K = k - (8/9) k";
        /// Steepness of CUBIC's function, C, segments/s³.
        c: f64 = 0.4, [0.0001, 1000.0], "RFC 9438 §5.1";
        /// Share of the window after a loss while the bit is not set.
        beta: f64 = 0.7, [0.001, 0.999], "RFC 9438 §4.6";
        /// Whether a loss below the window of the last loss lowers the plateau further, to make room for new flows.
        fast_convergence: bool = true, "RFC 9438 §4.7";
        /// Whether the window grows at least as fast as Reno's.
        reno_friendly: bool = true, "RFC 9438 §4.3";
        /// Unit of growth: each unit moves the window towards its target.
        growth: enum CubicGrowth = CubicGrowth::Segment, "Linux; RFC 9438 §4.4: each ACK";
        /// Start of the first congestion avoidance after a timeout while the bit is not set.
        after_rto: enum CubicAfterRto = CubicAfterRto::Rfc, "RFC 9438 §4.8; Linux, which Cao 2023 changes, resets";
    }
}

/// SaTCP on a connection: CUBIC, and the times of handovers.
#[derive(Clone, Debug)]
pub struct SaTcp {
    cubic: Cubic,
    reallocation: Reallocation,
    settings: SaTcpSettings,
}

impl SaTcp {
    /// A window of `init.cwnd` bytes in slow start.
    pub fn new(init: Init, settings: SaTcpSettings) -> Self {
        let SaTcpSettings { c, beta, fast_convergence, reno_friendly, growth, after_rto, .. } = settings;
        let cubic = CubicSettings { c, beta, fast_convergence, reno_friendly, growth, after_rto, first_growth: 0.0 };
        Self {
            cubic: Cubic::new(init, cubic),
            reallocation: Reallocation::new(settings.reallocation, settings.period, settings.offset, settings.jump),
            settings,
        }
    }

    /// Whether the handover bit is set.
    fn is_handover_due(&self, now: Time) -> bool {
        self.reallocation.since(now + self.settings.early).is_some_and(|since| since < self.settings.lasting)
    }
}

impl CongestionControl for SaTcp {
    fn on_ack(&mut self, ack: &AckSample, path: &PathState) {
        if let Some(rtt) = ack.rtt {
            self.reallocation.sample(rtt, path.now);
        }
        if !self.cubic.is_in_epoch() {
            // The bit counts only at the start of congestion avoidance.
            let is_due = self.is_handover_due(path.now);
            self.cubic.shorten_k(if is_due { self.settings.k_divisor } else { 1.0 });
        }
        self.cubic.on_ack(ack, path);
    }

    fn on_congestion(&mut self, why: Congestion, path: &PathState) {
        if !(self.settings.keep_window && self.is_handover_due(path.now)) {
            return self.cubic.on_congestion(why, path);
        }
        let (cwnd, ssthresh) = (self.cwnd(), self.ssthresh());
        // Recovery that falls to ssthresh stays at the window.
        let kept = if cwnd >= ssthresh { path.as_ssthresh(cwnd) } else { ssthresh };
        self.cubic.set_window(cwnd, kept.max(2 * path.smss));
    }

    fn on_rto(&mut self, first: bool, path: &PathState) {
        if self.settings.keep_state && self.is_handover_due(path.now) {
            let cwnd = self.cwnd().max(2 * path.smss);
            self.cubic.restart_unchanged(first.then(|| path.as_ssthresh(cwnd)));
        } else {
            self.cubic.on_rto(first, path);
        }
    }

    fn limit_cwnd(&mut self, max: u64) {
        self.cubic.limit_cwnd(max);
    }

    fn set_window(&mut self, cwnd: u64, ssthresh: u64) {
        self.cubic.set_window(cwnd, ssthresh);
    }

    fn on_smss(&mut self, smss: u64) {
        self.cubic.on_smss(smss);
    }

    #[inline]
    fn cwnd(&self) -> u64 {
        self.cubic.cwnd()
    }

    #[inline]
    fn ssthresh(&self) -> u64 {
        self.cubic.ssthresh()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbench::path;

    const SMSS: u64 = 1000;

    fn satcp(segments: u64, settings: SaTcpSettings) -> SaTcp {
        let init = Init { smss: SMSS, cwnd: segments * SMSS, ssthresh: 2 * SMSS, ..Init::default() };
        SaTcp::new(init, settings)
    }

    fn view(cc: &SaTcp, at_s: f64) -> PathState {
        let srtt = Some(Duration::from_millis(50));
        PathState { smss: SMSS, srtt, now: Time::ZERO + Duration::from_secs_f64(at_s), ..path(cc.cwnd()) }
    }

    fn ack(cc: &mut SaTcp, at_s: f64) {
        let rtt = Some(Duration::from_millis(50));
        let path = view(cc, at_s);
        cc.on_ack(&AckSample { newly_acked: SMSS, is_cwnd_limited: true, rtt, ..AckSample::default() }, &path);
    }

    fn lose(cc: &mut SaTcp, at_s: f64) {
        let path = view(cc, at_s);
        cc.on_congestion(Congestion::FastRetransmit, &path);
    }

    #[test]
    fn the_bit_is_set_half_a_second_early_for_2_3_seconds() {
        let cc = satcp(10, SaTcpSettings::default());
        let is_due = |at_s: f64| cc.is_handover_due(Time::ZERO + Duration::from_secs_f64(at_s));
        let at = [0.0, 11.49, 11.5, 12.0, 13.79, 13.81, 26.4, 26.6, 41.5, 43.81];
        let due = [false, false, true, true, true, false, false, true, true, false];
        assert_eq!(at.map(is_due), due);
    }

    /// `docs/specs/leo-aware.md`, SaTCP, test: W_max 100, window 70, K 4.217 s → 0.469 s.
    #[test]
    fn congestion_avoidance_that_begins_under_the_bit_recovers_nine_times_as_fast() {
        let k = |loss_s, ack_s| {
            let mut cc = satcp(100, SaTcpSettings::default());
            lose(&mut cc, loss_s);
            assert_eq!(cc.cwnd(), 70_000);
            ack(&mut cc, ack_s);
            cc.cubic.k()
        };
        assert!((k(11.4, 11.6) - 0.4686).abs() < 1e-4);
        assert!((k(14.0, 14.1) - 4.2172).abs() < 1e-4);
    }

    #[test]
    fn losses_under_the_bit_leave_the_window_and_others_take_three_tenths() {
        let after = |at_s, settings| {
            let mut cc = satcp(100, settings);
            ack(&mut cc, at_s);
            let before = cc.cwnd();
            lose(&mut cc, at_s);
            (cc.cwnd() as f64 / before as f64 * 10.0).round() as u32
        };
        assert_eq!([11.0, 12.1, 13.7, 14.0].map(|at_s| after(at_s, SaTcpSettings::default())), [7, 10, 10, 7]);
        let patch = SaTcpSettings { keep_window: false, ..SaTcpSettings::default() };
        assert_eq!(after(12.1, patch), 7);
    }

    /// Recovery that falls in proportion has nowhere to fall to; slow start goes on.
    #[test]
    fn the_threshold_never_takes_from_a_window_that_is_kept() {
        let mut cc = satcp(100, SaTcpSettings::default());
        lose(&mut cc, 12.0);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (100_000, 100_000));
        let init = Init { smss: SMSS, cwnd: 10 * SMSS, ..Init::default() };
        let mut cc = SaTcp::new(init, SaTcpSettings::default());
        lose(&mut cc, 12.0);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (10_000, u64::MAX));
    }

    /// Slow start leads back to the whole window, and from there the function to the plateau of the last loss.
    #[test]
    fn timeouts_under_the_bit_leave_what_was_learnt() {
        let after = |at_s, keep_state| {
            let settings = SaTcpSettings { keep_state, after_rto: CubicAfterRto::Reset, ..SaTcpSettings::default() };
            let mut cc = satcp(100, settings);
            lose(&mut cc, 5.0);
            ack(&mut cc, 5.1);
            cc.set_window(80 * SMSS, 2 * SMSS);
            let path = view(&cc, at_s);
            cc.on_rto(true, &path);
            cc.on_rto(false, &path);
            let restart = (cc.cwnd(), cc.ssthresh());
            (0..120).for_each(|_| ack(&mut cc, at_s + 0.1));
            (restart, (cc.cubic.k() * 1000.0).round())
        };
        // ∛(20 / 0.4) / 9 s.
        assert_eq!(after(12.0, true), ((1000, 80_000), 409.0));
        assert_eq!(after(12.0, false), ((1000, 56_000), 0.0));
        assert_eq!(after(20.0, true), ((1000, 56_000), 0.0));
    }

    #[test]
    fn instants_that_are_not_told_are_found() {
        let found = SaTcpSettings { reallocation: Reallocations::Detected, ..SaTcpSettings::default() };
        let mut cc = satcp(100, found);
        lose(&mut cc, 12.1);
        assert_eq!(cc.cwnd(), 70_000, "nothing is known yet");
        for i in 0..3000 {
            let at_s = 0.05 * f64::from(i);
            // 40 ms and 60 ms in turn, from 7 s on.
            let rtt_ms = if ((at_s - 7.0) / 15.0).floor() % 2.0 == 0.0 { 40 } else { 60 };
            let path = view(&cc, at_s);
            let rtt = Some(Duration::from_millis(rtt_ms));
            cc.on_ack(&AckSample { newly_acked: SMSS, is_cwnd_limited: true, rtt, ..AckSample::default() }, &path);
        }
        cc.set_window(100 * SMSS, 2 * SMSS);
        lose(&mut cc, 150.0 + 7.2);
        assert_eq!(cc.cwnd(), 100_000);
        lose(&mut cc, 150.0 + 10.0);
        assert_eq!(cc.cwnd(), 70_000);
    }
}
