use super::*;

const SMSS: u64 = 1000;
const MS: Duration = Duration::from_millis(1);
/// The path of RFC 9959's examples.
const RTT: Duration = Duration::from_millis(600);

/// A connection in units of segments, whose round trip is that of the saved path.
struct Trial {
    part: CarefulResume,
    facts: ResumeFacts,
}

impl Trial {
    fn new(saved: u64, settings: Settings) -> Self {
        let saved = SavedPath { window: saved * SMSS, rtt: RTT, at: Time::ZERO };
        let facts = ResumeFacts {
            now: Time::ZERO + RTT,
            cwnd: 10 * SMSS,
            flight: 10 * SMSS,
            waiting: 1000 * SMSS,
            next: 10 * SMSS,
            settled: 0,
            delivered: 0,
            validated: 0,
            smss: SMSS,
            srtt: Some(RTT),
            rtt_min: Some(RTT),
        };
        Self { part: CarefulResume::new(settings, saved, 10 * SMSS, SMSS), facts }
    }

    /// The example of the RFC after its initial window: 29 segments in flight, 39 sent.
    fn example(settings: Settings) -> Self {
        let mut trial = Self::new(300, settings);
        (trial.facts.delivered, trial.facts.settled) = (10 * SMSS, 10 * SMSS);
        (trial.facts.cwnd, trial.facts.flight, trial.facts.next) = (29 * SMSS, 29 * SMSS, 39 * SMSS);
        let jumped = trial.ack().unwrap();
        assert_eq!((jumped.phase, jumped.reason), (ResumePhase::Unvalidated, ResumeReason::CongestionWindowLimited));
        assert_eq!((trial.facts.cwnd, trial.part.first()), (150 * SMSS, 39 * SMSS));
        trial
    }

    fn set(&mut self, change: Option<Resumed>) -> Option<Resumed> {
        if let Some(cwnd) = change.and_then(|change| change.cwnd) {
            self.facts.cwnd = cwnd;
        }
        change
    }

    fn ack(&mut self) -> Option<Resumed> {
        let change = self.part.on_ack(&self.facts);
        self.set(change)
    }

    fn send(&mut self, segments: u64) -> Option<Resumed> {
        (self.facts.next, self.facts.flight) = (self.facts.next + segments * SMSS, self.facts.flight + segments * SMSS);
        let change = self.part.on_sent(&self.facts);
        self.set(change)
    }

    /// Segments of the data before the jump, then of the jump, arrive.
    fn arrive(&mut self, before: u64, validated: u64) {
        let arrived = before + validated;
        self.facts.delivered += arrived * SMSS;
        self.facts.validated += validated * SMSS;
        self.facts.settled += arrived * SMSS;
        self.facts.flight -= arrived * SMSS;
    }

    fn lose(&mut self) -> Option<Resumed> {
        let change = self.part.on_congestion(ResumeReason::PacketLoss, &self.facts);
        self.set(change)
    }
}

/// `docs/specs/careful-resume.md`, test 1.
#[test]
fn rfc9959_example_without_a_loss() {
    let mut trial = Trial::example(Settings::default());
    assert!(!trial.part.may_grow() && trial.part.paced_window() == Some(150 * SMSS));
    assert_eq!(trial.send(100), None);
    let full = trial.send(21).unwrap();
    assert_eq!((full.phase, full.reason), (ResumePhase::Validating, ResumeReason::LastUnvalidatedPacketSent));
    assert_eq!((trial.facts.cwnd, trial.part.may_grow(), trial.part.paced_window()), (150 * SMSS, true, None));
    trial.arrive(29, 120);
    assert_eq!(trial.ack(), None);
    trial.arrive(0, 1);
    let proven = trial.ack().unwrap();
    assert_eq!((proven.phase, proven.cwnd, proven.ssthresh), (ResumePhase::Normal, None, None));
    // The first of them is acknowledged before all have left.
    let mut trial = Trial::example(Settings::default());
    trial.send(100);
    trial.arrive(29, 1);
    let first = trial.ack().unwrap();
    assert_eq!(first.reason, ResumeReason::FirstUnvalidatedPacketAcknowledged);
    assert_eq!((first.phase, first.cwnd), (ResumePhase::Validating, Some(99 * SMSS)));
}

/// Test 2: 50 segments are sent of 121, or 25.
#[test]
fn rfc9959_example_of_a_sender_with_too_little_data() {
    for (sent, phase, cwnd) in [(50, ResumePhase::Validating, 49), (25, ResumePhase::Normal, 30)] {
        let mut trial = Trial::example(Settings::default());
        trial.send(sent);
        trial.arrive(29, 1);
        let change = trial.ack().unwrap();
        assert_eq!((change.phase, change.cwnd), (phase, Some(cwnd * SMSS)));
        assert_eq!(change.reason == ResumeReason::RateLimited, phase == ResumePhase::Normal);
    }
    // Never less than the initial window.
    let mut trial = Trial::new(300, Settings::default());
    (trial.facts.delivered, trial.facts.settled, trial.facts.flight) = (10 * SMSS, 10 * SMSS, SMSS);
    trial.ack().unwrap();
    trial.facts.now += RTT + MS;
    let change = trial.ack().unwrap();
    assert_eq!((change.reason, change.cwnd), (ResumeReason::RateLimited, Some(10 * SMSS)));
}

/// Test 3: the 35th unvalidated segment is lost. The text of RFC 9959 has 120 at the end, and forgets the 29 in flight before.
#[test]
fn rfc9959_example_of_a_loss() {
    for (pipe, window, ssthresh) in [(ResumePipe::Unvalidated, 31_500, 74_500), (ResumePipe::All, 46_000, 89_000)] {
        let mut trial = Trial::example(Settings { pipe, ..Settings::default() });
        trial.send(121);
        trial.arrive(29, 34);
        assert_eq!(trial.ack(), None);
        let retreat = trial.lose().unwrap();
        assert_eq!((retreat.phase, retreat.cwnd, retreat.ssthresh), (ResumePhase::Retreat, Some(window), Some(window)));
        assert!(!trial.part.may_grow());
        assert_eq!(trial.lose(), None, "one retreat");
        trial.arrive(0, 85);
        assert_eq!(trial.ack(), None);
        // The lost one is declared lost, and the last one arrives.
        trial.facts.settled += SMSS;
        trial.arrive(0, 1);
        let over = trial.ack().unwrap();
        assert_eq!((over.phase, over.reason), (ResumePhase::Normal, ResumeReason::ExitRecovery));
        assert_eq!((over.cwnd, over.ssthresh), (None, Some(ssthresh)));
    }
}

/// Test 4: R 50 ms, S 80 kB.
#[test]
fn rfc9959_3_2_the_round_trip_is_that_of_the_saved_path() {
    let check = |cwnd: u64, rtt_ms: u64| {
        let saved = SavedPath { window: 80 * SMSS, rtt: MS * 50, at: Time::ZERO };
        let mut part = CarefulResume::new(Settings::default(), saved, 10 * SMSS, SMSS);
        let mut facts = Trial::new(1, Settings::default()).facts;
        (facts.cwnd, facts.delivered, facts.rtt_min) = (cwnd * SMSS, 10 * SMSS, Some(MS * rtt_ms));
        part.on_ack(&facts).map(|change| change.reason)
    };
    assert_eq!(check(45, 50), Some(ResumeReason::NothingToGain));
    for (rtt_ms, jumps) in [(25, false), (26, true), (500, true), (501, false)] {
        let reason = if jumps { ResumeReason::CongestionWindowLimited } else { ResumeReason::RttNotValidated };
        assert_eq!(check(20, rtt_ms), Some(reason), "{rtt_ms}");
    }
}

#[test]
fn rfc9959_3_2_nothing_happens_before_the_initial_window_has_arrived_and_data_waits() {
    let mut trial = Trial::new(300, Settings::default());
    trial.facts.delivered = 9 * SMSS;
    assert_eq!(trial.ack(), None);
    (trial.facts.delivered, trial.facts.waiting, trial.facts.flight) = (10 * SMSS, 0, SMSS);
    assert_eq!(trial.ack(), None, "the data may come later");
    assert_eq!(trial.part.phase(), ResumePhase::Reconnaissance);
    trial.facts.waiting = 100 * SMSS;
    assert!(trial.ack().is_some());
}

#[test]
fn rfc9959_3_3_the_jump_is_a_share_of_the_saved_window_within_its_limit() {
    let jump = |settings| Trial::new(300, settings).part.jump / SMSS;
    assert_eq!(jump(Settings::default()), 150);
    assert_eq!(jump(Settings { fraction: 1000, ..Settings::default() }), 300);
    assert_eq!(jump(Settings { max_jump: MaxJump::Segments(40), ..Settings::default() }), 40);
    assert_eq!(jump(Settings { max_jump: MaxJump::Bytes(400_000), ..Settings::default() }), 150);
}

#[test]
fn rfc9959_3_3_unvalidated_lasts_a_round_trip() {
    let mut trial = Trial::example(Settings::default());
    trial.facts.now += RTT;
    assert_eq!(trial.send(60), None);
    trial.facts.now += MS;
    assert_eq!(trial.ack().unwrap().reason, ResumeReason::RttExceeded);
}

#[test]
fn rfc9959_3_a_loss_or_a_new_path_ends_it_by_phase() {
    let outcome = |part: &dyn Fn() -> Trial, reason| {
        let mut trial = part();
        let facts = trial.facts;
        trial.part.on_congestion(reason, &facts).map(|change| change.phase)
    };
    let recon = || Trial::new(300, Settings::default());
    let unvalidated = || Trial::example(Settings::default());
    let validating = || {
        let mut trial = Trial::example(Settings::default());
        trial.send(121);
        trial
    };
    for reason in [ResumeReason::PacketLoss, ResumeReason::EcnCe, ResumeReason::PathChanged] {
        assert_eq!(outcome(&recon, reason), Some(ResumePhase::Normal));
        assert_eq!(outcome(&unvalidated, reason), Some(ResumePhase::Retreat));
        let is_path = reason == ResumeReason::PathChanged;
        assert_eq!(outcome(&validating, reason), (!is_path).then_some(ResumePhase::Retreat));
    }
    let mut trial = unvalidated();
    assert_eq!(trial.part.on_timeout().map(|change| (change.phase, change.cwnd)), Some((ResumePhase::Normal, None)));
    assert_eq!(trial.part.on_timeout(), None);
    let mut trial = validating();
    trial.lose();
    assert_eq!(trial.part.on_undo().map(|change| change.phase), Some(ResumePhase::Normal));
    assert_eq!(trial.ack(), None);
}

/// Test 5, with an initial window of ten segments: 39 segments in a round trip are not saved, 40 are.
#[test]
fn rfc9959_3_1_saved_is_what_arrived_in_a_round_trip_that_the_window_limited() {
    let saved = |rounds: &[(u64, bool)], window| {
        let (mut observer, mut acked) = (PathObserver::default(), 0);
        for &(segments, is_limited) in rounds {
            observer.on_ack(acked, acked + segments * SMSS, acked, is_limited);
            acked += segments * SMSS;
        }
        observer.on_ack(acked, acked + SMSS, acked, true);
        observer.saved(10 * SMSS, acked, window).map(|bytes| bytes / SMSS)
    };
    assert_eq!(saved(&[(10, true), (39, true)], None), None);
    assert_eq!(saved(&[(10, true), (40, true)], None), Some(40));
    assert_eq!(saved(&[(10, true), (80, true), (50, true)], None), Some(50), "the latest");
    assert_eq!(saved(&[(10, true), (80, true), (50, false)], None), Some(80), "the application limited the last");
    assert_eq!(saved(&[(10, true), (80, true)], Some(60 * SMSS)), Some(60), "slow start may have overshot");
}
