//! Two ends with random settings, on a path that loses, doubles, delays or marks some of their packets.

use super::*;
use bentpipe_cc::verdict::VerdictKind;
use bentpipe_units::Rate;
use proptest::prelude::*;

/// Handshake, transfer, close: through every state, with nothing lost and with one packet in `drop_every` lost.
#[test]
fn rfc9293_3_6_both_ends_close() {
    for drop_every in [0, 3, 4, 5, 7] {
        let config = Config { give_up: GiveUp::Never, ..Config::default() };
        let (a, b, _) = exchange(&config, 50_000, Seq::new(u32::MAX - 20_000), |k| {
            // Scattered, so that no retransmission meets the same fate by rhythm.
            let dice = (k + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            if drop_every > 0 && dice % drop_every == 0 {
                Fate::Drop
            } else {
                Fate::Deliver
            }
        });
        assert_eq!(b.counters().delivered_bytes, 50_000, "drop {drop_every}");
        assert!(matches!(a.state(), State::TimeWait | State::Closed), "{:?} drop {drop_every}", a.state());
        assert_eq!(b.state(), State::Closed, "drop {drop_every}");
    }
}

fn any_config() -> impl Strategy<Value = Config> {
    let cc = proptest::sample::select(CcKind::ALL);
    let options = (any::<[bool; 7]>(), 1u32..4, 0u8..4, 100u32..3000, 1u64..60_000);
    let plain = (cc, options).prop_map(|(cc, (flags, every, recovery, smss, buffer))| Config {
        smss,
        cc: cc.into(),
        recovery: match recovery {
            0 => Recovery::Sack {
                on_rto: match (flags[6], flags[5]) {
                    (true, _) => SackOnRto::Keep,
                    (false, true) => SackOnRto::Discard,
                    (false, false) => SackOnRto::Ignore,
                },
                evidence: if flags[0] { SackEvidence::Hole } else { SackEvidence::Rfc6675 },
                counting: if flags[1] { SackCounting::Acks } else { SackCounting::Data },
                rescue: flags[2],
            },
            1 => Recovery::NewReno(NewReno { deflate: NewRenoDeflate::ToSsthresh, ..NewReno::default() }),
            2 => Recovery::Snack(Snack {
                form: if flags[6] { SnackForm::Long } else { SnackForm::Short },
                resnacks: every,
                grows: flags[0],
                corruption_experienced: true,
                corruption_covers: CorruptionCovers::Hole,
            }),
            _ => cc.recovery(),
        },
        limited_transmit: flags[0],
        timestamps: flags[1],
        window_scaling: flags[2],
        cwnd_validation: if flags[3] { CwndValidation::IfUsed } else { CwndValidation::Off },
        handshake: flags[4],
        receive_buffer: if flags[5] { buffer } else { Config::RECEIVE_BUFFER_MAX },
        ack: AckPolicy { every, ..AckPolicy::default() },
        rto: RtoConfig { min: Duration::from_millis(200), ..RtoConfig::default() },
        ..Config::default()
    });
    (plain, any::<u32>()).prop_map(|(config, dice)| losses::varied(config, dice))
}

/// As `any_config`, with some of marks, pacing, data in the SYN, Nagle's algorithm and a tuned buffer.
pub(super) fn any_ends() -> impl Strategy<Value = Config> {
    let feedback = [EcnFeedback::Off, EcnFeedback::Classic, EcnFeedback::PerSegment, EcnFeedback::Accurate];
    let burst = prop_oneof![(1u32..4).prop_map(WindowSize::Segments), (40u64..5000).prop_map(WindowSize::Bytes)];
    let pacing = (0u8..3, 1000u32..3000, 8_000u64..5_000_000, burst).prop_map(|(kind, gain, bps, burst)| match kind {
        0 => Pacing::Off,
        1 => Pacing::Window { gain_slow_start: 2 * gain, gain, burst },
        _ => Pacing::Rate { rate: Rate::from_bps(bps), burst },
    });
    let beta = prop_oneof![Just(None), (100u32..1000).prop_map(Some)];
    let ends = (proptest::sample::select(feedback.to_vec()), beta, pacing, 0u8..5, any::<[bool; 3]>());
    (any_config(), ends).prop_map(|(config, (feedback, beta, pacing, fast_open, flags))| Config {
        ecn: EcnConfig { feedback, beta, ..EcnConfig::OFF },
        pacing,
        fast_open: (1..=2).contains(&fast_open).then_some(FastOpen { is_known: fast_open > 1, cookie: [99; 8] }),
        transactions: (fast_open > 2).then_some(Transactions { is_known: fast_open > 3 }),
        nagle: flags[0],
        auto_buffer: flags[1].then_some(u64::from(config.smss)),
        ack: AckPolicy {
            slow_start: if flags[2] { SlowStartAcks::Every } else { SlowStartAcks::Delayed },
            ..config.ack
        },
        ..config
    })
}

/// Returns the configuration with one further feature each.
pub(super) fn features(config: &Config) -> Vec<Config> {
    let snack = Recovery::Snack(Snack::default());
    let ack = AckPolicy { congestion_control: true, ..config.ack };
    vec![
        Config {
            keepalive: Some(Keepalive { idle: Duration::from_secs(1), ..Keepalive::default() }),
            ..config.clone()
        },
        Config { recovery: snack, best_effort: Some(BestEffort::default()), ..config.clone() },
        Config { ack, ..config.clone() },
        Config { feedback: Feedback::Xcp(XcpSender::default()), ..config.clone() },
        Config { feedback: Feedback::RefwaPlus(RefwaPlus::default()), ..config.clone() },
        Config { error_reports: ErrorReports::Resend, ..config.clone() },
        Config { verdict: VerdictKind::LowPriorityCopies, ..config.clone() },
    ]
}

fn any_features() -> impl Strategy<Value = Config> {
    (any_ends(), any::<proptest::sample::Index>()).prop_map(|(config, at)| at.get(&features(&config)).clone())
}

/// Both ends send 30 kB over a path that drops one packet in `drop_every`; the path of plain segments in and out of a
/// connection is compared with the general path. Returns the number of comparisons. Unless the ends read, their windows
/// close.
fn compare_layers(config: &Config, drop_every: u64, reads: bool) -> u64 {
    let ends = [(Role::Active, u32::MAX - 20_000), (Role::Passive, 77)];
    let [a, b] = ends.map(|(role, iss)| {
        let mut conn = Connection::new(config.clone(), role, Seq::new(iss));
        conn.set_reads_at_once(reads);
        conn.offer(30_000);
        conn.close();
        conn
    });
    let mut pair = Pair::open(a, b, Duration::from_millis(50));
    pair.compares = true;
    for _ in 0..1000 {
        pair.transmit(&|k| if drop_every > 0 && k % drop_every == 3 { Fate::Drop } else { Fate::Deliver });
        if !pair.step() {
            break;
        }
    }
    pair.compared
}

#[test]
fn plain_segments_do_what_whole_ones_do() {
    for (cc, drop_every) in [(CcKind::Reno, 0), (CcKind::NewReno, 7), (CcKind::Sack, 5), (CcKind::Cubic, 11)] {
        for timestamps in [false, true] {
            let recovery = cc.recovery();
            let config = Config { give_up: GiveUp::Never, cc: cc.into(), recovery, timestamps, ..Config::default() };
            let compared = compare_layers(&config, drop_every, true);
            assert!(compared > 50, "{cc:?}: {compared}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Plain segments have the same effect with marks, pacing, options and all features of segments.
    #[test]
    fn plain_segments_do_what_whole_ones_do_whatever_is_set(
        config in prop_oneof![any_config(), any_ends(), any_features()],
        drop_every in 0u64..20,
        reads in any::<bool>(),
    ) {
        compare_layers(&config, drop_every, reads);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// On any path, every byte arrives once and in order, or a failure is reported.
    #[test]
    fn every_byte_arrives_or_failure_is_reported(
        config in any_ends(),
        bytes in 0u64..60_000,
        iss in any::<u32>(),
        fates in proptest::collection::vec((0u8..100, 1u64..400), 50..200),
        harm in 0u8..60,
    ) {
        let (a, b, _) = exchange(&config, bytes, Seq::new(iss), |k| {
            let (dice, ms) = fates[(k as usize).wrapping_mul(7) % fates.len()];
            match dice {
                d if d >= harm => Fate::Deliver,
                d if d % 3 == 0 => Fate::Drop,
                d if d % 3 == 1 => Fate::Duplicate,
                d if d % 2 == 0 => Fate::Mark,
                _ => Fate::Delay(ms),
            }
        });
        let aborted = |conn: &Connection| conn.tcb.cx.events.iter().any(|e| matches!(e, Event::Aborted(_)))
            || conn.state() == State::Closed;
        if b.counters().delivered_bytes != bytes {
            prop_assert!(aborted(&a), "{:?} {:?}, {} of {bytes}", a.state(), b.state(), b.counters().delivered_bytes);
        }
        prop_assert!(a.acked_bytes() <= b.counters().delivered_bytes);
    }
}
