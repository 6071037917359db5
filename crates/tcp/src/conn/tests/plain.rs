//! A connection with a feature that acts on its segments is not plain.

use super::random::features;
use super::*;
use crate::conn::receiver::ReceiverExtras;
use crate::conn::sender::SenderExtras;
use crate::segment::Timestamps;
use bentpipe_cc::keys::{Growth, RapidStart};
use bentpipe_cc::{CcConfig, ScpsSettings};
use bentpipe_cc::{ExplicitHeader, Notice};
use std::collections::BTreeSet;

/// The extras that a connection has. A part does not compile before it is named here, and fails before a case below has it.
fn extras(conn: &Connection, names: &mut BTreeSet<&'static str>) {
    let (sender, receiver) = (conn.tcb.sender.extras.get().cloned(), conn.tcb.receiver.extras.clone());
    let SenderExtras {
        ecn,
        ack_ratio,
        polls,
        probes,
        records,
        feedback,
        resume,
        rapid,
        notified,
        // It comes with an echo, and is gone when data can be sent.
        early_word: _,
        count,
        early,
        signals_slow_start,
        paces_acks,
        // A driver sets it, no configuration: see `a_backlog_above_is_not_the_limit_of_the_application`.
        backlog: _,
        // The meta of a multipath connection sets it, no configuration: see `multi::tests::single`.
        mapped: _,
    } = sender.unwrap_or_default();
    let ReceiverExtras { ecn: marks, snack, patience, probes: answers, echo } = *receiver.unwrap_or_default();
    let has = [
        (ecn.is_some(), "ecn"),
        (ack_ratio.is_some(), "ack_ratio"),
        (polls.is_some(), "polls"),
        (probes.is_some(), "probes"),
        (records.is_some(), "records"),
        (feedback.is_some(), "feedback"),
        (resume.is_some(), "resume"),
        (rapid.is_some(), "rapid"),
        (notified.is_some(), "notified"),
        (count.is_some(), "count"),
        (early > 0, "early"),
        (signals_slow_start, "signals_slow_start"),
        (paces_acks, "paces_acks"),
        (marks.is_some(), "marks"),
        (snack.is_some(), "snack"),
        (patience.is_some(), "patience"),
        (answers.is_some(), "answers"),
        (echo.is_some(), "echo"),
    ];
    names.extend(has.iter().filter(|(is_on, _)| *is_on).map(|(_, name)| *name));
}

const ALL: usize = 18;

/// The client, after a handshake with a server that is configured alike.
fn opened(config: &Config) -> Connection {
    let mut a = Connection::new(config.clone(), Role::Active, Seq::new(5));
    let b = Connection::new(config.clone(), Role::Passive, Seq::new(77));
    a.offer(500);
    let mut pair = Pair::open(a, b, Duration::from_millis(50));
    while !pair.a.report().has_been_established() {
        pair.transmit(&|_| Fate::Deliver);
        assert!(pair.step());
    }
    pair.a
}

#[test]
fn a_feature_of_segments_makes_a_connection_other_than_plain() {
    let with = |cc: CcConfig| Config { cc, recovery: cc.kind().recovery(), ..Config::default() };
    let scps =
        CcConfig::Scps(ScpsSettings { rate: bentpipe_units::Rate::from_bps(1_000_000), ..ScpsSettings::default() });
    let tcp = Config::default();
    let every = AckPolicy { slow_start: SlowStartAcks::Every, ..tcp.ack };
    let mut cases = features(&tcp);
    cases.extend([
        with(CcKind::Stp.into()),
        with(CcKind::Peach.into()),
        with(scps),
        Config { ecn: EcnConfig { feedback: EcnFeedback::Classic, ..tcp.ecn }, ..tcp.clone() },
        Config { transactions: Some(Transactions { is_known: true }), ..tcp.clone() },
        Config { fast_open: Some(FastOpen { is_known: true, cookie: [9; 8] }), ..tcp.clone() },
        Config { ack: every, ..tcp.clone() },
        Config { auto_buffer: Some(10_000), ..tcp.clone() },
        Config { careful_resume: Some(CarefulResume::default()), ..tcp.clone() },
        Config { growth: Growth { slow_start: SlowStart::Rapid(RapidStart::default()), ..tcp.growth }, ..tcp.clone() },
    ]);
    let mut names = BTreeSet::new();
    for config in cases {
        let conn = opened(&config);
        assert!(!conn.tcb.cx.agreed.is_plain, "{config:?}");
        extras(&conn, &mut names);
    }
    assert_eq!(names.len(), ALL, "only {names:?}");
    for config in
        [tcp.clone(), Config { timestamps: true, auto_buffer: Some(10_000), ..tcp }, with(CcKind::Cubic.into())]
    {
        assert!(opened(&config).tcb.cx.agreed.is_plain, "{config:?}");
    }
}

#[test]
fn a_report_of_a_segment_that_is_too_large_makes_a_connection_other_than_plain() {
    let mut s = Bench::new(CcKind::Sack, 10, |_| ());
    s.send(10);
    assert!(s.conn.tcb.cx.agreed.is_plain);
    let seq = s.conn.tcb.wire.ours(0);
    s.conn.notify(s.now, Notice::TooBig { seq, len: SMSS as u16, mtu: 600 });
    assert!(!s.conn.tcb.cx.agreed.is_plain);
}

/// The form in which a segment leaves.
struct FormOf;

impl Sink for FormOf {
    type Made = &'static str;

    fn plain(&mut self, _: &PlainSegment) -> &'static str {
        "plain"
    }

    fn stamped(&mut self, _: &PlainSegment, _: Timestamps) -> &'static str {
        "stamped"
    }

    fn general(&mut self, _: &Segment) -> &'static str {
        "general"
    }

    fn explicit(&mut self, _: &Segment, _: ExplicitHeader, _: Feedback) -> &'static str {
        "explicit"
    }
}

#[test]
fn segments_leave_in_the_form_that_they_need() {
    let form = |config: &Config| {
        let mut conn = opened(config);
        let now = Time::ZERO + Duration::from_secs(1);
        if conn.sends_plainly() {
            conn.transmit_plainly(now, &mut FormOf)
        } else {
            conn.transmit(now, &mut FormOf)
        }
    };
    let tcp = Config::default();
    assert_eq!(form(&tcp), Some("plain"));
    assert_eq!(form(&Config { timestamps: true, ..tcp.clone() }), Some("stamped"));
    assert_eq!(form(&Config { transactions: Some(Transactions { is_known: true }), ..tcp.clone() }), Some("general"));
    let xcp = features(&tcp).into_iter().find(|config| matches!(config.feedback, Feedback::Xcp(_)));
    assert_eq!(form(&xcp.unwrap()), Some("explicit"));
}
