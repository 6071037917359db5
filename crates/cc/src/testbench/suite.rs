//! The tests that every congestion control inherits from the registry.

use crate::facts::RateSample;
use crate::keys::{
    ByteCounting, Growth, Hoe, HyStart, HyStartPlusPlus, Increase, RapidStart, Search, SlowStart, WindowSize,
};
use crate::settings::{Fields, Shape, Typed, Value};
use crate::testbench::path;
use crate::{
    AckSample, Cc, CcConfig, CcKind, Congestion, CongestionControl, Cwnd, Delivery, HyblaSettings, Init, LostSegment,
    Marks, PathState, ScpsCongestion, ScpsSettings,
};
use bentpipe_units::{Duration, Rate};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

pub(crate) const SMSS: u64 = 1460;

#[derive(Clone, Debug)]
enum Operation {
    Ack { segments: u64, limited: bool, after_us: u64, rtt_us: u64 },
    Congestion,
    Mark { beta: Option<u32> },
    Rto { first: bool },
    Limit { segments: u64 },
    Set { segments: u64, ssthresh: u64 },
    Smss { smss: u64 },
    Deliver(Arrived),
    RecoveryAck { partial: bool },
    RecoveryExit,
    Resume,
    Undo,
    Answer,
}

/// Segments that an ACK shows as arrived and as lost.
#[derive(Clone, Debug)]
struct Arrived {
    segments: u64,
    lost: u64,
    marked: u64,
    /// Segments in flight now, and when the acknowledged segments left.
    in_flight: u64,
    flight_before: u64,
    after_us: u64,
    rtt_us: Option<u64>,
    is_app_limited: bool,
}

impl Arrived {
    /// Returns one arrived segment of ten in flight, after a round trip of `rtt_ms`.
    fn of(rtt_ms: u64) -> Self {
        let rtt_us = Some(1000 * rtt_ms);
        Self {
            segments: 1,
            lost: 0,
            marked: 0,
            in_flight: 10,
            flight_before: 10,
            after_us: 0,
            rtt_us,
            is_app_limited: false,
        }
    }
}

pub(crate) fn all(kind: CcKind) {
    registered(kind);
    takes_what_its_line_says(kind);
    slow_start_doubles(kind);
    unused_windows_do_not_grow(kind);
    repeated_timeouts_keep_ssthresh(kind);
    for growth in growths() {
        any_operations_keep_the_bounds(CcConfig::from(kind), growth, false);
    }
    for config in extremes(kind) {
        for knows in [false, true] {
            any_operations_keep_the_bounds(config, Growth::default(), knows);
        }
    }
}

/// Returns each setting at its minimum, its maximum and each of its words, with the others at their defaults. Then all
/// settings at their first value, and all at their last.
fn extremes(kind: CcKind) -> Vec<CcConfig> {
    let values = |shape: &Shape| match *shape {
        Shape::Real { min, max } => vec![Value::Real(min), Value::Real(max)],
        Shape::Whole { min, max } => vec![Value::Whole(min), Value::Whole(max.unwrap_or(u64::MAX))],
        Shape::Flag => vec![Value::Flag(false), Value::Flag(true)],
        Shape::Quantity(format) if format.name == "rate" => {
            [0, 1, u64::MAX].map(|n| Rate::from_bps(n).write()).to_vec()
        }
        Shape::Quantity(_) => [Duration::ZERO, Duration::from_ps(1), Duration::MAX].map(|span| span.write()).to_vec(),
        Shape::Word(_, ref words) => words.iter().map(|(word, _)| Value::from(*word)).collect(),
        ref other => unreachable!("no setting of a controller is {other:?}"),
    };
    let Value::Table(default) = CcConfig::from(kind).write() else { unreachable!("a table") };
    let (mut first, mut last, mut all) = (default.clone(), default.clone(), Vec::new());
    let config = |table: Fields| CcConfig::read(&Value::Table(table)).unwrap_or_else(|why| panic!("{why}"));
    for setting in kind.settings() {
        let values = values(&setting.shape);
        for value in &values {
            let mut table = default.clone();
            table.put(setting.name, value.clone());
            assert_eq!(
                config(table.clone()).write(),
                Value::Table(table.clone()),
                "{} of {}",
                setting.name,
                kind.name()
            );
            all.push(config(table));
        }
        first.put(setting.name, values[0].clone());
        last.put(setting.name, values[values.len() - 1].clone());
    }
    all.extend([first, last].map(config));
    all
}

/// Returns all combinations of the parts of growth.
fn growths() -> Vec<Growth> {
    let countings = [
        ByteCounting::Rfc5681,
        ByteCounting::PerAck,
        ByteCounting::Abc { limit: 2 },
        ByteCounting::Lbc,
        ByteCounting::Ubc,
        ByteCounting::UbcPure,
    ];
    let slow_starts = [
        SlowStart::Standard,
        SlowStart::Limited { max_ssthresh: WindowSize::Segments(20) },
        SlowStart::Hoe(Hoe::default()),
        SlowStart::HyStart(HyStart::default()),
        SlowStart::HyStartPlusPlus(HyStartPlusPlus::default()),
        SlowStart::Search(Search::default()),
        SlowStart::Rapid(RapidStart::default()),
    ];
    let increases = [
        Increase::Standard,
        Increase::ConstantRate { reference_rtt: Duration::from_micros(1) },
        Increase::ConstantRate { reference_rtt: Duration::from_secs(100) },
        Increase::ByK { k: 16, above_rtt: Duration::ZERO },
    ];
    let mut all = Vec::new();
    for byte_counting in countings {
        for slow_start in slow_starts {
            for is_linux in [false, true] {
                let (slow_start_at_ssthresh, whole_segments) = (is_linux, is_linux);
                all.extend(increases.map(|increase| Growth {
                    byte_counting,
                    slow_start,
                    increase,
                    slow_start_at_ssthresh,
                    whole_segments,
                }));
            }
        }
    }
    all
}

fn registered(kind: CcKind) {
    assert!(CcKind::ALL.contains(&kind));
    for heading in ["How it works", "When it helps", "When it hurts"] {
        assert!(kind.doc().contains(&format!("\n# {heading}\n")), "{} has no section {heading}", kind.name());
    }
    assert_eq!(CcKind::ALL.iter().filter(|other| other.name() == kind.name()).count(), 1);
    assert!(kind.summary().ends_with('.'), "the summary of {} is one sentence", kind.name());
}

/// Checks, with defaults and extreme settings, that it obeys the settings named in its line of the registry. Other
/// settings must change nothing.
fn takes_what_its_line_says(kind: CcKind) {
    let configs = || std::iter::once(CcConfig::from(kind)).chain(extremes(kind));
    let limited =
        Growth { slow_start: SlowStart::Limited { max_ssthresh: WindowSize::Segments(4) }, ..Growth::default() };
    let by_abc = Growth { byte_counting: ByteCounting::Abc { limit: 2 }, ..Growth::default() };
    let by_16 = Increase::ByK { k: 16, above_rtt: Duration::ZERO };
    let by_16 = Growth { increase: by_16, ..Growth::default() };
    let starts = |growth| configs().any(|config| grown(config, growth, 10, u64::MAX) != plain(config, 10, u64::MAX));
    let increases = configs().any(|config| {
        [10, 100].iter().any(|&segments| grown(config, by_16, segments, SMSS) != plain(config, segments, SMSS))
    });
    let reduces = configs().any(|config| {
        let mut cc = config.build(Init { smss: SMSS, cwnd: 40 * SMSS, ssthresh: SMSS, ..Init::default() });
        cc.on_congestion(Congestion::Ecn { beta: None }, &path(40 * SMSS));
        cc.cwnd() < 40 * SMSS
    });
    let takes = kind.takes();
    assert_eq!([starts(limited), starts(by_abc)], [takes.slow_start; 2], "slow_start of {}", kind.name());
    assert_eq!(increases, takes.increase, "increase of {}", kind.name());
    assert_eq!(reduces, takes.ecn, "ecn of {}", kind.name());
}

fn plain(config: CcConfig, segments: u64, ssthresh: u64) -> [u64; 2] {
    grown(config, Growth::default(), segments, ssthresh)
}

/// Returns the sum of the windows at 300 ACKs of two segments, with a loss halfway, over a path without a queue. The
/// round trips are 25 ms and half a second.
fn grown(config: CcConfig, growth: Growth, segments: u64, ssthresh: u64) -> [u64; 2] {
    [25, 500].map(|rtt_ms| {
        let rtt = Some(Duration::from_millis(rtt_ms));
        let cwnd = segments * SMSS;
        let mut cc = config.build(Init { smss: SMSS, cwnd, ssthresh, growth, ..Init::default() });
        let mut view = PathState { srtt: rtt, ..path(cwnd) };
        let mut sum = 0;
        for acks in 1..=300 {
            let cwnd = cc.cwnd();
            sum += cwnd;
            view.now += Duration::from_micros(rtt_ms * 1000 * 2 * SMSS / cwnd);
            view.snd_una += 2 * SMSS;
            (view.snd_nxt, view.flight_size, view.ssthresh_base) = (view.snd_una + cwnd, cwnd, cwnd);
            if cc.takes_deliveries() {
                let flight = cwnd / SMSS;
                let arrived = Arrived { segments: 2, in_flight: flight, flight_before: flight, ..Arrived::of(rtt_ms) };
                deliver(&mut cc, &arrived, [2 * SMSS * acks, 0], &view);
            }
            cc.on_ack(&AckSample { rtt, ..ack(2 * SMSS, true) }, &view);
            if acks == 150 {
                cc.on_congestion(Congestion::FastRetransmit, &view);
            }
        }
        sum
    })
}

/// Checks slow start at a round trip of 25 ms, where all grow alike (Caini and Firrincieli 2004).
fn slow_start_doubles(kind: CcKind) {
    let mut cc = start(kind, 4 * SMSS, u64::MAX);
    if cc.is_model_based() {
        return starts_with_what_is_delivered(kind);
    }
    if cc.ssthresh() < u64::MAX {
        // Its settings let it begin in congestion avoidance (RFC 6817 §2.4.2).
        return;
    }
    let before = cc.cwnd();
    for _ in 0..4 {
        cc.on_ack(&ack(SMSS, true), &PathState { srtt: Some(Duration::from_millis(25)), ..path(before) });
    }
    assert_eq!(cc.cwnd(), 2 * before, "{}", kind.name());
}

/// Checks the start of model-based congestion controls, which have no slow start. ACKs give no more information than
/// deliveries, and a delivered window is doubled.
fn starts_with_what_is_delivered(kind: CcKind) {
    let mut cc = start(kind, 10 * SMSS, u64::MAX);
    cc.on_resume(&path(0));
    cc.on_ack(&ack(SMSS, true), &path(10 * SMSS));
    assert_eq!(cc.cwnd(), 10 * SMSS, "{}", kind.name());
    for delivered in 1..=10 {
        deliver(&mut cc, &Arrived::of(500), [delivered * SMSS, 0], &path(10 * SMSS));
    }
    assert_eq!(cc.cwnd(), 20 * SMSS, "{}", kind.name());
}

/// Delivers an ACK and the losses that it shows; `totals` are the bytes delivered and lost.
fn deliver(cc: &mut Cc, arrived: &Arrived, totals: [u64; 2], view: &PathState) {
    let [delivered, lost] = totals;
    let (flight_before, prior_delivered) =
        (arrived.flight_before * view.smss, delivered.saturating_sub(10 * view.smss));
    for segment in 0..arrived.lost {
        let lost = LostSegment {
            start: segment * 2 * view.smss,
            len: view.smss,
            flight_before,
            lost: (segment + 1) * view.smss,
            is_app_limited: arrived.is_app_limited,
            prior_delivered,
            delivered,
            has_sack: segment % 2 == 0,
        };
        cc.on_lost(&lost, view);
    }
    let rtt = arrived.rtt_us.map(Duration::from_micros);
    let rate = RateSample {
        delivered: delivered - prior_delivered,
        interval: rtt.unwrap_or(Duration::ZERO),
        rtt,
        is_app_limited: arrived.is_app_limited,
        flight_before,
        lost: arrived.lost * view.smss,
        prior_delivered,
        is_too_short: false,
    };
    let delivery = Delivery {
        newly_delivered: arrived.segments * view.smss,
        delivered,
        newly_lost: arrived.lost * view.smss,
        lost,
        in_flight: arrived.in_flight * view.smss,
        is_cwnd_limited: !arrived.is_app_limited,
        is_repairing: arrived.lost > 0,
        // Without SACK the segment that arrived is unknown.
        rate: (arrived.segments != 3).then_some(rate),
        one_way_delay: rtt.map(|rtt| rtt / 2),
        receiver_clock: rtt.map(|_| (view.now.as_ps() >> 30) as u32),
        echoed_rtt: rtt.map(|rtt| Duration::from_millis(rtt.as_ps() / 1_000_000_000)),
        marks: marks(arrived.segments, arrived.marked),
    };
    cc.on_delivery(&delivery, view);
}

fn unused_windows_do_not_grow(kind: CcKind) {
    for ssthresh in [2 * SMSS, u64::MAX] {
        let mut cc = start(kind, 4 * SMSS, ssthresh);
        let before = cc.cwnd();
        cc.on_ack(&ack(SMSS, false), &path(SMSS));
        assert_eq!(cc.cwnd(), before, "{}", kind.name());
    }
}

fn repeated_timeouts_keep_ssthresh(kind: CcKind) {
    let mut cc = start(kind, 20 * SMSS, u64::MAX);
    cc.on_rto(true, &path(20 * SMSS));
    let ssthresh = cc.ssthresh();
    cc.on_rto(false, &path(SMSS));
    assert_eq!((cc.cwnd(), cc.ssthresh()), (SMSS, ssthresh), "{}", kind.name());
}

/// Checks that the window only grows between congestion events, unless its line names `shrinks`, and stays between a
/// segment and its maximum. With `knows` it starts with a round-trip time, and both ends know probe segments.
fn any_operations_keep_the_bounds(config: CcConfig, growth: Growth, knows: bool) {
    let acks = (1..200u64, any::<bool>(), 0..1_000_000u64, 1..1_000_000u64);
    let operation = prop_oneof![
        20 => acks.prop_map(|(segments, limited, after_us, rtt_us)| {
            Operation::Ack { segments, limited, after_us: after_us * after_us / 1_000_000, rtt_us }
        }),
        1 => Just(Operation::Congestion),
        1 => prop_oneof![Just(None), (1..1000u32).prop_map(Some)].prop_map(|beta| Operation::Mark { beta }),
        1 => any::<bool>().prop_map(|first| Operation::Rto { first }),
        1 => (0..50u64).prop_map(|segments| Operation::Limit { segments }),
        1 => (1..200u64, 2..200u64).prop_map(|(segments, ssthresh)| Operation::Set { segments, ssthresh }),
        1 => (40..9000u64).prop_map(|smss| Operation::Smss { smss }),
        2 => any::<bool>().prop_map(|partial| Operation::RecoveryAck { partial }),
        1 => Just(Operation::RecoveryExit),
        1 => Just(Operation::Resume),
        1 => Just(Operation::Undo),
        2 => Just(Operation::Answer),
    ];
    let deliveries = (1..200u64, 0..4u64, 0..300u64, 1..300u64, 0..1_000_000u64, 0..1_000_000u64, any::<bool>());
    let deliveries =
        deliveries.prop_map(|(segments, lost, in_flight, flight_before, after_us, rtt_us, is_app_limited)| {
            let rtt_us = (rtt_us % 5 != 0).then_some(rtt_us);
            let (after_us, marked) = (after_us * after_us / 1_000_000, (in_flight % 5).saturating_sub(2));
            Operation::Deliver(Arrived {
                segments,
                lost,
                marked,
                in_flight,
                flight_before,
                after_us,
                rtt_us,
                is_app_limited,
            })
        });
    let wants = config.build(Init::default()).takes_deliveries();
    let operation = if wants { prop_oneof![operation, deliveries].boxed() } else { operation.boxed() };
    let mut runner = TestRunner::new_with_rng(
        ProptestConfig { cases: 10, ..ProptestConfig::default() },
        TestRng::deterministic_rng(RngAlgorithm::ChaCha),
    );
    runner
        .run(&proptest::collection::vec(operation, 1..400), |operations| {
            let rtt = knows.then_some(Duration::from_millis(500));
            let init = Init { smss: SMSS, cwnd: 10 * SMSS, ssthresh: u64::MAX, growth, rtt, ..Init::default() };
            let mut cc = config.build(Init { has_probe_segments: knows, ..init });
            let mut smss = SMSS;
            let mut view = path(0);
            let mut totals = [0, 0];
            let mut earlier = cc.clone();
            for operation in operations {
                let before = cc.cwnd();
                view = PathState { smss, flight_size: before, ssthresh_base: before, ..view };
                view.snd_nxt = view.snd_una + before;
                match operation {
                    Operation::Ack { segments, limited, after_us, rtt_us } => {
                        view.now += Duration::from_micros(after_us);
                        view.snd_una += (segments * smss).min(before);
                        view.srtt = Some(Duration::from_micros(rtt_us));
                        let sample = AckSample { rtt: view.srtt, ..ack(segments * smss, limited) };
                        cc.on_ack(&sample, &view);
                        prop_assert!(cc.cwnd() >= before || config.kind().takes().shrinks);
                        prop_assert!(limited || cc.cwnd() == before || ends_a_probe(&config));
                    }
                    Operation::Congestion => {
                        cc.on_congestion(Congestion::FastRetransmit, &view);
                        prop_assert!(cc.ssthresh() >= 2 * smss);
                        prop_assert!(cc.cwnd() <= before.max(2 * smss));
                    }
                    Operation::Mark { beta } => {
                        cc.on_congestion(Congestion::Ecn { beta }, &view);
                        prop_assert!(cc.ssthresh() >= 2 * smss);
                        prop_assert!(cc.cwnd() <= before.max(2 * smss));
                    }
                    Operation::Rto { first } => {
                        cc.on_rto(first, &view);
                        if ignores_timeouts(&config) {
                            prop_assert_eq!(cc.cwnd(), before);
                        } else if restarts_with_more(&config) {
                            prop_assert!(cc.cwnd() <= cc.ssthresh().max(smss));
                        } else {
                            prop_assert_eq!(cc.cwnd(), smss);
                        }
                    }
                    Operation::Limit { segments } => {
                        cc.limit_cwnd(segments * smss);
                        prop_assert!(cc.cwnd() <= (segments * smss).max(smss).max(before.min(smss)));
                    }
                    Operation::Set { segments, ssthresh } => {
                        let set = (segments * smss, ssthresh * smss);
                        cc.set_window(set.0, set.1);
                        prop_assert_eq!(cc.cwnd(), set.0);
                        // A model asks for no threshold.
                        prop_assert!(cc.ssthresh() == set.1 || cc.is_model_based());
                    }
                    Operation::Smss { smss: new } => {
                        smss = new;
                        cc.on_smss(smss);
                        earlier.on_smss(smss);
                    }
                    Operation::Deliver(arrived) => {
                        view.now += Duration::from_micros(arrived.after_us);
                        view.srtt = arrived.rtt_us.map(Duration::from_micros).or(view.srtt);
                        totals = [totals[0] + arrived.segments * smss, totals[1] + arrived.lost * smss];
                        deliver(&mut cc, &arrived, totals, &view);
                    }
                    Operation::RecoveryExit => cc.on_recovery_exit(&view),
                    Operation::Resume => {
                        cc.on_resume(&view);
                        earlier = cc.clone();
                    }
                    Operation::Undo => cc.undo(earlier.clone()),
                    Operation::RecoveryAck { partial } => cc.on_recovery_ack(partial, &view),
                    Operation::Answer => {
                        if let Some(probes) = cc.probe_segments().filter(|_| knows) {
                            if probes.due() <= view.now {
                                cc.on_probe_segment(&view);
                            }
                            cc.on_probe_answer(&view);
                            prop_assert!(cc.cwnd() >= before);
                        }
                    }
                }
                prop_assert!(cc.cwnd() >= smss && cc.cwnd() <= Cwnd::MAX);
                prop_assert!(cc.pacing().is_none_or(|pace| pace.rate.as_bps() > 0));
            }
            Ok(())
        })
        .unwrap_or_else(|failure| panic!("{config:?}, {growth:?}: {failure}"));
}

/// Whether its window is the window that it probes for, until an ACK arrives after that time.
fn ends_a_probe(config: &CcConfig) -> bool {
    // Leung and Yeung 2004: two round trips at the start.
    matches!(config, CcConfig::Swift(_))
}

/// Whether a timeout may leave more than one segment, which only settings allow.
fn restarts_with_more(config: &CcConfig) -> bool {
    // Caini and Firrincieli 2004: ρ segments, up to the threshold.
    matches!(config, CcConfig::Hybla(HyblaSettings { rho_after_timeout: true, .. }))
        // Pandya and Shaikh: the bandwidth-delay product, if the timeout looks like an error.
        || matches!(config, CcConfig::EnhancedHswa(_))
}

/// Whether it ignores timeouts.
fn ignores_timeouts(config: &CcConfig) -> bool {
    // CCSDS 714.0-B: only rate control.
    matches!(config, CcConfig::Scps(ScpsSettings { congestion: ScpsCongestion::None, .. }))
}

/// Returns that many packets, and at most that many marked ones among them.
fn marks(packets: u64, marked: u64) -> Marks {
    Marks { ce_packets: marked.min(packets) as u32, delivered_packets: packets as u32 }
}

fn start(kind: CcKind, cwnd: u64, ssthresh: u64) -> Cc {
    CcConfig::from(kind).build(Init { smss: SMSS, cwnd, ssthresh, ..Init::default() })
}

fn ack(newly_acked: u64, is_cwnd_limited: bool) -> AckSample {
    AckSample { newly_acked, is_cwnd_limited, rtt: Some(Duration::from_millis(500)), ..AckSample::default() }
}
