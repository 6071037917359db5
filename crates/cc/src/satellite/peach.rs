//! TCP-Peach and Peach+ probe for room with dummy segments. They replace slow start, and complement fast recovery.
//! Congestion avoidance is Reno's. A dummy segment is a copy of data at the lowest priority, so routers drop it first.
//! Each answered dummy shows room for a segment.
//!
//! I. F. Akyildiz, G. Morabito and S. Palazzo, "TCP-Peach: a new congestion control scheme for satellite IP networks",
//! IEEE/ACM Trans. Networking 9(3), 2001. Source not available, nor the authors' code: the rules follow descriptions by
//! others.
//!
//! # How it works
//!
//! ```text
//! Sudden Start     cwnd = 1, then rwnd - 1 dummies, one every RTT / rwnd; over a round trip after the last
//! Rapid Recovery   at the third duplicate: c0 = cwnd, cwnd = c0 / 2, adsn = c0, wdsn = c0 / 2
//!                  each further ACK, duplicate or partial: two dummies, until adsn are sent
//! answer           wdsn > 0: wdsn -= 1, else cwnd += 1, up to rwnd
//! ACK of data      cwnd += 1 / cwnd
//! ```
//!
//! If an error of the link lost the segment, c0 dummies are answered, and half of the answers are ignored. Two round
//! trips after the loss the window is c0 again. If a queue lost the segment, it drops dummies first, and c0 / 2 is
//! left.
//!
//! Both ends agree on dummies by a flag on the SYN. With a receiver that does not know dummies, Peach is Reno.
//!
//! # Differences from the source
//!
//! Readings:
//!
//! - Duplicate ACKs do not inflate the window (`inflate`). New data leaves once less than cwnd is outstanding. The
//!   remaining window may leave immediately when recovery ends.
//! - Sudden Start probes for the receiver's window, up to `probe_max` segments. Windows were small when Peach was made,
//!   and a buffer of a gigabyte would ask for a flood. The window of a SYN is not scaled. If the first ACK shows a
//!   larger window, dummies continue for the difference, and Sudden Start takes a round trip longer.
//! - After a timeout or an idle time, Sudden Start probes up to the largest window so far (`probe_again`), because
//!   Rapid Recovery returns to the window before the loss. The paper probes for the receiver's window each time
//!   (`"all"`). In a plain queue that can lose one retransmission after the other, each with a doubled timeout.
//! - Sudden Start waits for the first round-trip time if there was no handshake. An idle time that costs the window
//!   starts it again, like a timeout.
//! - An ECN mark halves the window without probing.
//! - wdsn ends with the recovery or timeout that follows it.
//!
//! # peach-plus
//!
//! I. F. Akyildiz, X. Zhang and J. Fang, "TCP-Peach+: enhancement of TCP-Peach for satellite IP networks", IEEE
//! Communications Letters, 2002. Only the abstract was available. Its NIL segments are dummies that carry
//! unacknowledged data: the oldest first, one after the other and then from the first again, but no SACKed data. So
//! they repair the gaps that they find. Jump Start and Quick Recovery count like Sudden Start and Rapid Recovery. SACK
//! repairs losses.
//!
//! # When it helps
//!
//! Peach was made for geostationary paths. The window opens in two round trips, where slow start needs ten. An error of
//! the link costs two round trips instead of half the window for hundreds. In the scenario `peach`, five flows of Peach
//! or Peach+ have more goodput than five of NewReno. The difference grows with the loss rate of the link. From a loss
//! rate of 1e-2 on, Peach+ has more than Peach.
//!
//! # When it hurts
//!
//! - Every hop needs a queue that serves dummies last and drops them first, such as `priority` with `push_out`. In a
//!   plain queue dummies are load: they delay and displace data of all flows. Their answers then give no information
//!   about room.
//! - If the narrowest hop of a busy path has a plain queue, Peach loses more than half of its goodput. Peach+, which
//!   repairs with its dummies, loses a little.
//! - Both need a receiver's window near the bandwidth-delay product, because they probe for it. With an unlimited
//!   receive buffer the first probe has `probe_max` - 1 dummies, which is a flood on a slow link. The notes of a run
//!   warn of it.
//! - They cannot be used between networks.

use crate::parts::loss_window::window_hooks;
use crate::probe_segments::ProbeSegments;
use crate::settings::settings;
use crate::{AckSample, Congestion, CongestionControl, Init, PathState, Unbounded, Window, HALF};
use bentpipe_units::{Duration, Time};

bentpipe_units::words! {
    /// Window that Sudden Start probes for after the first time.
    pub enum PeachAgain {
        /// The largest window so far.
        "known" => Known,
        /// The window of the first time.
        "all" => All,
    }
}

settings! {
    /// Settings of Peach.
    pub struct PeachSettings {
        /// Largest window that Sudden Start probes for, segments. A smaller receiver's window takes precedence.
        probe_max: u64 = 1024, [1, 1_000_000], "a GEO path of 20 Mbit/s";
        /// Window that Sudden Start probes for after a timeout or an idle time, within the same limits.
        probe_again: enum PeachAgain = PeachAgain::Known, "reading; Akyildiz 2001: rwnd";
        /// Whether duplicate ACKs inflate the window in recovery, as in Reno.
        inflate: bool = false, "reading";
        /// Whether the receiver knows dummy segments. Otherwise Peach is Reno.
        receiver_knows: bool = true, "Akyildiz 2001";
    }
}

settings! {
    /// Settings of Peach+.
    pub struct PeachPlusSettings {
        /// Largest window that Jump Start probes for, segments. A smaller receiver's window takes precedence.
        probe_max: u64 = 1024, [1, 1_000_000], "a GEO path of 20 Mbit/s";
        /// Window that Jump Start probes for after a timeout or an idle time, within the same limits.
        probe_again: enum PeachAgain = PeachAgain::Known, "reading; Akyildiz 2002: rwnd";
        /// Whether dummies carry the oldest unacknowledged data. Otherwise they carry the data sent last, as Peach's.
        repair: bool = true, "Akyildiz 2002";
        /// Whether the receiver knows dummy segments. Otherwise Peach+ is Reno.
        receiver_knows: bool = true, "Akyildiz 2002";
    }
}

/// Settings of Peach or Peach+.
#[derive(Clone, Copy, Debug)]
pub struct PeachRules {
    probe_max: u64,
    probe_again: PeachAgain,
    inflates: bool,
    repairs: bool,
    receiver_knows: bool,
}

impl From<PeachSettings> for PeachRules {
    fn from(settings: PeachSettings) -> Self {
        let PeachSettings { probe_max, probe_again, inflate, receiver_knows } = settings;
        Self { probe_max, probe_again, inflates: inflate, repairs: false, receiver_knows }
    }
}

impl From<PeachPlusSettings> for PeachRules {
    /// Settings that SACK does not need keep their defaults.
    fn from(settings: PeachPlusSettings) -> Self {
        let PeachPlusSettings { probe_max, probe_again, repair, receiver_knows } = settings;
        Self { probe_max, probe_again, inflates: true, repairs: repair, receiver_knows }
    }
}

/// Peach or Peach+ on a connection: the window, Sudden Start and Rapid Recovery.
#[derive(Clone, Debug)]
pub struct Peach {
    window: Window,
    rules: PeachRules,
    /// Whether both ends know dummies. Otherwise Peach is Reno.
    has_probe_segments: bool,
    /// Whether data was sent.
    has_begun: bool,
    /// Round-trip time of the handshake.
    first_rtt: Option<Duration>,
    sudden_start: Option<SuddenStart>,
    /// The largest window before a reduction, bytes; 0: no reduction yet.
    largest: u64,
    /// Whether it is in Rapid Recovery.
    is_recovering: bool,
    /// Dummies of Rapid Recovery: still to be sent, those that may leave now, and answers to be ignored.
    adsn: u64,
    ready: u64,
    wdsn: u64,
    /// State when data followed an idle time, until the next ACK.
    resumed: Option<PathState>,
}

/// Sudden Start in progress: the dummies that are still to be sent.
#[derive(Clone, Copy, Debug)]
struct SuddenStart {
    /// Round-trip time; `None`: not known yet.
    rtt: Option<Duration>,
    sent: u64,
    /// Time of the next dummy; never if all are sent, or before the round-trip time is known.
    next: Time,
    /// Arrival of the last answer.
    ends: Time,
}

impl SuddenStart {
    /// Returns the interval and the number of dummies for a window of `segments`.
    fn plan(&self, segments: u64) -> (Duration, u64) {
        let rtt = self.rtt.unwrap_or(Duration::ZERO);
        (Duration::from_ps(rtt.as_ps() / segments.max(1)), segments.saturating_sub(1))
    }

    /// Plans the dummies again if the receiver's window or the round-trip time has changed.
    fn prepare(&mut self, segments: u64, path: &PathState) {
        self.rtt = self.rtt.or(path.srtt);
        let (step, all) = self.plan(segments);
        if self.rtt.is_some() && self.next == Time::NEVER && self.sent < all {
            (self.next, self.ends) = (path.now + step, Time::NEVER);
        }
    }

    fn on_sent(&mut self, segments: u64, path: &PathState) {
        let (step, all) = self.plan(segments);
        self.sent += 1;
        // Late dummies keep the interval: no burst.
        self.next = (self.next + step).max(path.now);
        if self.sent >= all {
            (self.next, self.ends) = (Time::NEVER, path.now + self.rtt.unwrap_or(Duration::ZERO));
        }
    }
}

impl Peach {
    /// Starts with one segment and Sudden Start. With a receiver that does not know dummies, starts with `init.cwnd`
    /// bytes in slow start.
    pub fn new(init: Init, settings: impl Into<PeachRules>) -> Self {
        let mut peach = Self {
            window: Window::new(init),
            rules: settings.into(),
            has_probe_segments: init.has_probe_segments,
            has_begun: false,
            first_rtt: init.rtt,
            sudden_start: None,
            largest: 0,
            is_recovering: false,
            adsn: 0,
            ready: 0,
            wdsn: 0,
            resumed: None,
        };
        if peach.has_probe_segments {
            peach.window.set(init.smss, init.smss);
        }
        peach
    }

    fn start_suddenly(&mut self, path: &PathState) {
        let mut start =
            SuddenStart { rtt: path.srtt.or(self.first_rtt), sent: 0, next: Time::NEVER, ends: Time::NEVER };
        start.prepare(self.probed(path), path);
        self.sudden_start = Some(start);
        (self.adsn, self.ready, self.wdsn, self.is_recovering) = (0, 0, 0, false);
    }

    /// Returns the window that Sudden Start probes for, segments.
    fn probed(&self, path: &PathState) -> u64 {
        let limit = (path.rwnd / path.smss.max(1)).min(self.rules.probe_max);
        match self.rules.probe_again {
            PeachAgain::Known if self.largest > 0 => limit.min(self.largest / path.smss.max(1)),
            _ => limit,
        }
    }

    /// Notes the window before a reduction.
    fn note_largest(&mut self) {
        self.largest = self.largest.max(self.window.cwnd());
    }

    fn watch_sudden_start(&mut self, path: &PathState) {
        let segments = self.probed(path);
        if let Some(start) = &mut self.sudden_start {
            start.prepare(segments, path);
            if start.ends <= path.now {
                self.sudden_start = None;
            }
        }
    }
}

impl CongestionControl for Peach {
    #[inline]
    fn on_ack(&mut self, ack: &AckSample, path: &PathState) {
        if !self.has_probe_segments {
            self.window.grow(ack, path);
            return;
        }
        self.resumed = None;
        if self.sudden_start.is_some() {
            self.watch_sudden_start(path);
        }
        if ack.is_cwnd_limited && self.window.cwnd() < path.rwnd {
            self.window.increase(ack.newly_acked, path);
            self.window.limit(path.rwnd);
        }
    }

    fn on_congestion(&mut self, why: Congestion, path: &PathState) {
        if !self.has_probe_segments {
            let left = path.share(why.left(HALF));
            return self.window.reduce(path.as_ssthresh(left), left);
        }
        (self.sudden_start, self.resumed) = (None, None);
        self.note_largest();
        let before = self.window.cwnd();
        let left = (before * u64::from(why.left(HALF)) / 1000).max(2 * path.smss);
        self.window.reduce(path.as_ssthresh(left).max(2 * path.smss), left);
        if why == Congestion::FastRetransmit {
            self.is_recovering = true;
            self.ready = 0;
            self.adsn = before / path.smss.max(1);
            self.wdsn = self.adsn / 2;
        }
    }

    fn on_recovery_ack(&mut self, _: bool, _: &PathState) {
        if self.is_recovering {
            let more = self.adsn.min(2);
            self.adsn -= more;
            self.ready += more;
        }
    }

    fn on_recovery_exit(&mut self, _: &PathState) {
        (self.is_recovering, self.adsn) = (false, 0);
    }

    fn on_rto(&mut self, first: bool, path: &PathState) {
        if self.has_probe_segments {
            self.note_largest();
            self.window.restart(Some(path.smss));
            self.start_suddenly(path);
        } else {
            self.window.restart(first.then(|| path.half_as_ssthresh()));
        }
    }

    fn on_resume(&mut self, path: &PathState) {
        if !self.has_probe_segments {
            return;
        }
        self.resumed = Some(*path);
        if !std::mem::replace(&mut self.has_begun, true) {
            self.start_suddenly(path);
        }
    }

    fn unbounded(&self) -> Option<Unbounded> {
        let probes = self.rules.probe_max - 1;
        // The user chose a smaller limit for the path.
        let is_chosen = self.rules.probe_max < PeachSettings::default().probe_max;
        (self.rules.receiver_knows && !is_chosen).then(|| Unbounded {
            does: format!(
                "sends up to {probes} dummy segments in the first round trip, and a plain queue drops data for them"
            ),
            is_probes: true,
        })
    }

    fn probes_up_to(&self) -> Option<u64> {
        self.rules.receiver_knows.then_some(self.rules.probe_max)
    }

    fn limit_cwnd(&mut self, max: u64) {
        let before = self.window.cwnd();
        self.window.limit(max);
        if self.window.cwnd() < before {
            if let Some(path) = self.resumed.take() {
                self.largest = self.largest.max(before);
                self.start_suddenly(&path);
            }
        }
    }

    fn probe_segments(&mut self) -> Option<&mut dyn ProbeSegments> {
        Some(self)
    }

    window_hooks!(set_window, on_smss, cwnd, ssthresh, inside);
}

impl ProbeSegments for Peach {
    fn answers(&self) -> bool {
        self.rules.receiver_knows
    }

    fn inflates(&self) -> bool {
        self.rules.inflates
    }

    fn repairs(&self) -> bool {
        self.rules.repairs
    }

    fn due(&self) -> Time {
        if self.ready > 0 {
            return Time::ZERO;
        }
        self.sudden_start.map_or(Time::NEVER, |start| start.next)
    }

    fn on_sent(&mut self, path: &PathState) {
        let segments = self.probed(path);
        if self.ready > 0 {
            self.ready -= 1;
        } else if let Some(start) = &mut self.sudden_start {
            start.on_sent(segments, path);
        }
    }

    fn on_answer(&mut self, path: &PathState) {
        if self.wdsn > 0 {
            self.wdsn -= 1;
        } else {
            let room = path.rwnd.saturating_sub(self.window.cwnd());
            self.window.add(path.smss.min(room) as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbench::path as any_path;

    const SMSS: u64 = 1000;

    fn at(ms: f64) -> Time {
        Time::ZERO + Duration::from_secs_f64(ms / 1000.0)
    }

    /// What a sender with a receiver's window of 64 segments knows after so many milliseconds.
    fn path(ms: f64) -> PathState {
        let srtt = Some(Duration::from_millis(550));
        PathState { now: at(ms), smss: SMSS, rwnd: 64 * SMSS, srtt, ..any_path(0) }
    }

    fn peach(settings: PeachSettings) -> Peach {
        let rtt = Some(Duration::from_millis(550));
        Peach::new(Init { smss: SMSS, cwnd: 10 * SMSS, rtt, has_probe_segments: true, ..Init::default() }, settings)
    }

    fn started() -> Peach {
        let mut peach = peach(PeachSettings::default());
        peach.on_resume(&path(0.0));
        peach
    }

    /// In congestion avoidance with this window.
    fn steady(segments: u64) -> Peach {
        let mut peach = started();
        (peach.sudden_start, peach.resumed) = (None, None);
        peach.set_window(segments * SMSS, SMSS);
        peach
    }

    /// When the dummies of this time leave, ms.
    fn dummies(peach: &mut Peach, rwnd: u64, until_ms: f64) -> Vec<f64> {
        let mut sent = Vec::new();
        while peach.due() <= at(until_ms) {
            let now = peach.due();
            sent.push(now.as_secs_f64() * 1000.0);
            peach.on_sent(&PathState { now, rwnd, ..path(0.0) });
        }
        sent
    }

    fn ack(peach: &mut Peach, path: &PathState) {
        peach.on_ack(
            &AckSample { newly_acked: SMSS, is_cwnd_limited: true, rtt: path.srtt, ..AckSample::default() },
            path,
        );
    }

    fn answers(peach: &mut Peach, n: u64) -> f64 {
        (0..n).for_each(|_| peach.on_answer(&path(1000.0)));
        peach.cwnd() as f64 / SMSS as f64
    }

    /// Test 1: 550 ms / 64 = 8.594 ms.
    #[test]
    fn sudden_start_opens_the_receivers_window_in_two_round_trips() {
        let mut peach = started();
        assert_eq!(peach.cwnd(), SMSS);
        let sent = dummies(&mut peach, 64 * SMSS, 2000.0);
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 0.05, "{found} for {expected}");
        assert_eq!(sent.len(), 63);
        near(sent[0], 8.594);
        near(sent[62], 541.4);
        for &ms in &sent {
            assert!(peach.sudden_start.is_some());
            peach.on_answer(&path(ms + 550.0));
        }
        near(sent[62] + 550.0, 1091.4);
        assert_eq!(peach.cwnd(), 64 * SMSS);
        // The receiver's window is never exceeded.
        peach.on_answer(&path(1100.0));
        ack(&mut peach, &path(1100.0));
        assert_eq!(peach.cwnd(), 64 * SMSS);
        assert!(peach.sudden_start.is_none());
    }

    #[test]
    fn data_add_what_they_add_in_congestion_avoidance() {
        let mut peach = started();
        ack(&mut peach, &path(550.0));
        assert_eq!(peach.cwnd(), 2 * SMSS);
        ack(&mut peach, &path(560.0));
        assert_eq!(peach.cwnd(), 2500);
    }

    /// As the window of a SYN is not scaled.
    #[test]
    fn sudden_start_goes_on_if_the_window_proves_to_be_larger() {
        let mut peach = started();
        assert_eq!(dummies(&mut peach, 64 * SMSS, 549.0).len(), 63);
        let larger = PathState { rwnd: 256 * SMSS, ..path(550.0) };
        ack(&mut peach, &larger);
        let sent = dummies(&mut peach, 256 * SMSS, 5000.0);
        assert_eq!(sent.len(), 255 - 63);
        assert!((sent[0] - 550.0 - 550.0 / 256.0).abs() < 0.01 && sent[191] < 550.0 + 550.0);
        // But not beyond what it may probe for.
        let mut peach = self::peach(PeachSettings { probe_max: 10, ..PeachSettings::default() });
        peach.on_resume(&path(0.0));
        assert_eq!(dummies(&mut peach, 64 * SMSS, 5000.0).len(), 9);
    }

    #[test]
    fn without_a_handshake_it_waits_for_a_round_trip_time() {
        let settings = PeachSettings::default();
        let mut peach = Peach::new(Init { smss: SMSS, has_probe_segments: true, ..Init::default() }, settings);
        peach.on_resume(&PathState { srtt: None, ..path(0.0) });
        assert_eq!(peach.due(), Time::NEVER);
        ack(&mut peach, &path(550.0));
        assert_eq!(dummies(&mut peach, 64 * SMSS, 2000.0).len(), 63);
    }

    /// Test 2: of 19 duplicates the third begins recovery, and each of the next ten sends two dummies.
    #[test]
    fn rapid_recovery_brings_the_window_back_after_an_error() {
        let mut peach = steady(20);
        peach.on_congestion(Congestion::FastRetransmit, &path(0.0));
        assert_eq!((peach.cwnd(), peach.due()), (10 * SMSS, Time::NEVER));
        let sent: Vec<usize> = (0..16)
            .map(|_| {
                peach.on_recovery_ack(false, &path(1.0));
                dummies(&mut peach, 64 * SMSS, 1.0).len()
            })
            .collect();
        assert_eq!(sent, [[2; 10].as_slice(), &[0; 6]].concat());
        peach.on_recovery_exit(&path(550.0));
        assert_eq!((answers(&mut peach, 10), answers(&mut peach, 10)), (10.0, 20.0));
    }

    /// Test 3.
    #[test]
    fn fewer_answers_after_congestion_leave_half_of_the_window() {
        for (returned, segments, ignored) in [(12, 12.0, 0), (8, 10.0, 2)] {
            let mut peach = steady(20);
            peach.on_congestion(Congestion::FastRetransmit, &path(0.0));
            peach.on_recovery_exit(&path(550.0));
            assert_eq!((answers(&mut peach, returned), peach.wdsn), (segments, ignored));
        }
        let mut peach = steady(20);
        peach.on_congestion(Congestion::FastRetransmit, &path(0.0));
        peach.on_congestion(Congestion::FastRetransmit, &path(2000.0));
        assert_eq!((peach.adsn, peach.wdsn), (10, 5), "another recovery counts from zero");
    }

    #[test]
    fn a_timeout_or_an_idle_time_begins_sudden_start_again() {
        let mut peach = steady(20);
        peach.on_congestion(Congestion::FastRetransmit, &path(0.0));
        peach.on_recovery_ack(false, &path(0.0));
        peach.on_rto(true, &path(1000.0));
        assert_eq!((peach.cwnd(), peach.wdsn, peach.ready), (SMSS, 0, 0));
        assert_eq!(dummies(&mut peach, 64 * SMSS, 5000.0).len(), 19);

        let mut peach = steady(20);
        peach.on_resume(&path(60_000.0));
        peach.limit_cwnd(4 * SMSS);
        assert_eq!((peach.cwnd(), dummies(&mut peach, 64 * SMSS, 70_000.0).len()), (4 * SMSS, 19));
        // What recovery limits is no idle time.
        let mut peach = steady(20);
        peach.limit_cwnd(4 * SMSS);
        assert_eq!(peach.due(), Time::NEVER);
    }

    /// 20 segments were the most.
    #[test]
    fn later_probes_go_no_further_than_the_largest_window() {
        let course = |probe_again| {
            let mut peach = peach(PeachSettings { probe_again, ..PeachSettings::default() });
            peach.on_resume(&path(0.0));
            peach.sudden_start = None;
            peach.set_window(20 * SMSS, SMSS);
            [1000.0, 10_000.0].map(|ms| {
                peach.on_rto(true, &path(ms));
                dummies(&mut peach, 64 * SMSS, ms + 5000.0).len()
            })
        };
        assert_eq!(course(PeachAgain::Known), [19, 19]);
        assert_eq!(course(PeachAgain::All), [63, 63]);
    }

    #[test]
    fn marks_halve_and_probe_for_nothing() {
        let mut peach = steady(20);
        peach.on_congestion(Congestion::Ecn { beta: None }, &path(0.0));
        peach.on_recovery_ack(false, &path(0.0));
        assert_eq!((peach.cwnd(), peach.due(), answers(&mut peach, 1)), (10 * SMSS, Time::NEVER, 11.0));
    }

    /// Test 5.
    #[test]
    fn with_a_receiver_that_does_not_know_dummies_it_is_reno() {
        let init = Init { smss: SMSS, cwnd: 4 * SMSS, ..Init::default() };
        let mut peach = Peach::new(init, PeachPlusSettings::default());
        let mut reno = crate::Reno::new(init, crate::settings::NoSettings);
        for step in 0..200_u64 {
            let view = PathState { ssthresh_base: peach.cwnd(), ..path(step as f64) };
            let sample =
                AckSample { newly_acked: SMSS, is_cwnd_limited: step % 7 > 0, rtt: None, ..AckSample::default() };
            for cc in [&mut peach as &mut dyn CongestionControl, &mut reno] {
                match step {
                    60 | 120 => cc.on_congestion(Congestion::FastRetransmit, &view),
                    150 => cc.on_rto(true, &view),
                    _ if step % 20 == 0 => cc.on_resume(&view),
                    _ => cc.on_ack(&sample, &view),
                }
                cc.on_recovery_ack(false, &view);
            }
            assert_eq!((peach.cwnd(), peach.ssthresh()), (reno.cwnd(), reno.ssthresh()));
            assert_eq!(peach.due(), Time::NEVER);
        }
    }
}
