//! The tests that every congestion control inherits from the registry.

use super::{AckSample, Cc, CcKind, Congestion, CongestionControl, Cwnd, Init, PathState};
use bentpipe_units::{Duration, Time};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

const SMSS: u64 = 1460;

#[derive(Clone, Debug)]
enum Operation {
    Ack { segments: u64, limited: bool },
    Congestion,
    Mark { beta: Option<u32> },
    Rto { first: bool },
    Limit { segments: u64 },
    Smss { smss: u64 },
}

pub(super) fn all(kind: CcKind) {
    registered(kind);
    slow_start_doubles(kind);
    unused_windows_do_not_grow(kind);
    repeated_timeouts_keep_ssthresh(kind);
    any_operations_keep_the_bounds(kind);
}

fn registered(kind: CcKind) {
    assert!(CcKind::ALL.contains(&kind));
    assert_eq!(CcKind::ALL.iter().filter(|other| other.name() == kind.name()).count(), 1);
    assert!(kind.summary().ends_with('.'), "the summary of {} is one sentence", kind.name());
}

fn slow_start_doubles(kind: CcKind) {
    let mut cc = start(kind, 4 * SMSS, u64::MAX);
    let before = cc.cwnd();
    for _ in 0..4 {
        cc.on_ack(&ack(SMSS, true), &path(before));
    }
    assert_eq!(cc.cwnd(), 2 * before, "{}", kind.name());
}

fn unused_windows_do_not_grow(kind: CcKind) {
    for ssthresh in [2 * SMSS, u64::MAX] {
        let mut cc = start(kind, 4 * SMSS, ssthresh);
        cc.on_ack(&ack(SMSS, false), &path(SMSS));
        assert_eq!(cc.cwnd(), 4 * SMSS, "{}", kind.name());
    }
}

fn repeated_timeouts_keep_ssthresh(kind: CcKind) {
    let mut cc = start(kind, 20 * SMSS, u64::MAX);
    cc.on_rto(true, &path(20 * SMSS));
    let ssthresh = cc.ssthresh();
    cc.on_rto(false, &path(SMSS));
    assert_eq!((cc.cwnd(), cc.ssthresh()), (SMSS, ssthresh), "{}", kind.name());
}

fn any_operations_keep_the_bounds(kind: CcKind) {
    let operation = prop_oneof![
        8 => (1..200u64, any::<bool>()).prop_map(|(segments, limited)| Operation::Ack { segments, limited }),
        1 => Just(Operation::Congestion),
        1 => prop_oneof![Just(None), (1..1000u32).prop_map(Some)].prop_map(|beta| Operation::Mark { beta }),
        1 => any::<bool>().prop_map(|first| Operation::Rto { first }),
        1 => (0..50u64).prop_map(|segments| Operation::Limit { segments }),
        1 => (40..9000u64).prop_map(|smss| Operation::Smss { smss }),
    ];
    TestRunner::deterministic()
        .run(&proptest::collection::vec(operation, 1..400), |operations| {
            let mut cc = start(kind, 10 * SMSS, u64::MAX);
            let mut smss = SMSS;
            for operation in operations {
                let before = cc.cwnd();
                let view = PathState { smss, ..path(before) };
                match operation {
                    Operation::Ack { segments, limited } => {
                        cc.on_ack(&ack(segments * smss, limited), &view);
                        prop_assert!(cc.cwnd() >= before);
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
                        prop_assert_eq!(cc.cwnd(), smss);
                    }
                    Operation::Limit { segments } => {
                        cc.limit_cwnd(segments * smss);
                        prop_assert!(cc.cwnd() <= (segments * smss).max(smss).max(before.min(smss)));
                    }
                    Operation::Smss { smss: new } => {
                        smss = new;
                        cc.on_smss(smss);
                    }
                }
                prop_assert!(cc.cwnd() >= smss && cc.cwnd() <= Cwnd::MAX);
            }
            Ok(())
        })
        .unwrap();
}

fn start(kind: CcKind, cwnd: u64, ssthresh: u64) -> Cc {
    kind.build(Init { smss: SMSS, cwnd, ssthresh })
}

fn ack(newly_acked: u64, is_cwnd_limited: bool) -> AckSample {
    AckSample { newly_acked, is_cwnd_limited, rtt: Some(Duration::from_millis(500)) }
}

fn path(flight_size: u64) -> PathState {
    PathState {
        now: Time::from_ps(1),
        smss: SMSS,
        flight_size,
        ssthresh_base: flight_size,
        ssthresh_unit: 1,
        srtt: Some(Duration::from_millis(500)),
        rwnd: 1 << 30,
    }
}
