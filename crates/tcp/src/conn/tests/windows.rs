//! Windows and echoes of the receiver, and reactions of the sender.

use super::*;

/// A closed window is probed until it opens; then everything arrives.
#[test]
fn rfc9293_3_8_6_1_zero_windows_are_probed() {
    let config = Config { receive_buffer: 3000, smss: 1000, handshake: false, ..Config::default() };
    let mut a = Connection::new(config.clone(), Role::Active, Seq::new(1));
    let mut b = Connection::new(config, Role::Passive, Seq::new(1));
    b.set_reads_at_once(false);
    a.offer(20_000);
    a.close();
    a.open(Time::ZERO);
    b.open(Time::ZERO);
    let mut now = Time::ZERO;
    let mut probes = 0;
    while b.counters().delivered_bytes < 20_000 {
        assert!(now < Time::ZERO + Duration::from_secs(1000), "stuck");
        let before = now;
        now += Duration::from_millis(100);
        let (mut from_a, mut from_b) = (Vec::new(), Vec::new());
        while let Some(segment) = leave(&mut a, before) {
            probes += u32::from(segment.len == 0 && segment.flags == Flags::ACK && a.report().receive_window() == 0);
            from_a.push(segment);
        }
        from_a.iter().for_each(|segment| b.handle(now, segment));
        b.handle_wakeup(now);
        // Every ten seconds the reader wakes up.
        if now.as_ps() % 10_000_000_000_000 == 0 {
            b.read(3000);
        }
        while let Some(segment) = leave(&mut b, now) {
            // The window update itself is lost: only a probe can learn of it.
            if segment.window == 0 || b.counters().arrived_segments % 2 == 0 {
                from_b.push(segment);
            }
        }
        from_b.iter().for_each(|segment| a.handle(now, segment));
        a.handle_wakeup(now);
    }
    assert!(probes > 0);
}

/// `docs/specs/timestamps-window-scaling.md`, test 4: which timestamp is echoed.
#[test]
fn rfc7323_4_3_echo_rule() {
    let config = Config {
        timestamps: true,
        handshake: false,
        smss: 1000,
        ack: AckPolicy { every: 1, ..AckPolicy::default() },
        ..Config::default()
    };
    let mut r = Connection::new(config.clone(), Role::Passive, Seq::new(0));
    r.open(Time::ZERO);
    let mut arrive = |segment_number: u64, value: u32| {
        let now = Time::ZERO + Duration::from_secs(1);
        let segment = Segment {
            seq: Seq::new(1).at(segment_number * 1000),
            ack: Seq::new(1),
            len: 1000,
            window: 1000,
            flags: Flags::ACK,
            timestamps: Some(crate::Timestamps { value, echo: 0 }),
            ..Segment::default()
        };
        r.handle(now, &segment);
        let ack = leave(&mut r, now).unwrap();
        (u64::from(ack.ack.value() - 1) / 1000, ack.timestamps.unwrap().echo)
    };
    // A C B E D.
    assert_eq!(
        [(0, 1), (2, 3), (1, 2), (4, 5), (3, 4)].map(|(n, ts)| arrive(n, ts)),
        [(1, 1), (1, 1), (3, 2), (3, 2), (5, 4)]
    );
}

/// Test 5: older timestamps are refused, but not after 24 days.
#[test]
fn rfc7323_5_3_paws() {
    let config = Config { timestamps: true, handshake: false, ..Config::default() };
    let mut r = Connection::new(config, Role::Passive, Seq::new(0));
    r.open(Time::ZERO);
    let data = |value| Segment {
        seq: Seq::new(1),
        ack: Seq::new(1),
        len: 100,
        window: 1000,
        flags: Flags::ACK,
        timestamps: Some(crate::Timestamps { value, echo: 0 }),
        ..Segment::default()
    };
    r.tcb.wire.ts_recent = 0x10;
    r.handle(Time::ZERO, &data(0xFFFF_FFF0));
    assert_eq!((r.counters().delivered_bytes, r.tcb.receiver.must_ack_now()), (0, true));
    r.handle(Time::ZERO + Duration::from_secs(25 * 86_400), &data(0xFFFF_FFF0));
    assert_eq!(r.counters().delivered_bytes, 100);
}

/// RFC 9293 §3.7.4: one small segment at a time; full segments, and the last one, do not wait.
#[test]
fn rfc9293_3_7_4_nagle() {
    for (nagle, second) in [(false, vec![100]), (true, vec![])] {
        let mut s = Bench::new(CcKind::Reno, 10, |config| config.nagle = nagle);
        let lens = |s: &mut Bench, bytes| -> Vec<u16> {
            s.conn.offer(bytes);
            std::iter::from_fn(|| leave(&mut s.conn, s.now)).map(|segment| segment.len).collect()
        };
        assert_eq!(lens(&mut s, 100), [100]);
        assert_eq!(lens(&mut s, 100), second);
        if nagle {
            // With the 100 that wait, 1100.
            assert_eq!(lens(&mut s, 1000), [1000]);
            let ack = Segment { ack: s.conn.tcb.wire.iss.at(1 + 1100), ..s.peer_segment(0) };
            s.conn.handle(s.now, &ack);
            assert_eq!(lens(&mut s, 0), [100], "everything before is acknowledged");
            s.conn.offer(50);
            s.conn.close();
            assert_eq!(lens(&mut s, 0), [50], "nothing can be added to it");
        }
    }
}

/// RFC 1122 §4.2.3.4: into a window smaller than a segment, only data of half the largest window leaves, or data that
/// the override timer releases.
#[test]
fn rfc1122_4_2_3_4_senders_avoid_silly_windows() {
    let mut s = Bench::new(CcKind::Reno, 10, |config| config.receive_buffer = 4 * SMSS);
    assert_eq!(s.send(10), [0, 1, 2, 3]);
    let window = |s: &mut Bench, ack: u64, bytes: u64| {
        let segment = Segment {
            seq: s.conn.tcb.wire.irs.at(1),
            ack: s.conn.tcb.wire.iss.at(1 + ack * SMSS),
            window: bytes as u16,
            ..s.peer_segment(0)
        };
        s.conn.handle(s.now, &segment);
        std::iter::from_fn(|| leave(&mut s.conn, s.now)).map(|segment| segment.len).collect::<Vec<_>>()
    };
    assert_eq!(window(&mut s, 4, 400), [0; 0]);
    s.now = s.conn.next_wakeup();
    s.conn.handle_wakeup(s.now);
    assert_eq!(leave(&mut s.conn, s.now).map(|segment| segment.len), Some(400));
    // Half of 4000 would do, but a full segment fits.
    let ack = Segment { ack: s.conn.tcb.wire.iss.at(1 + 4400), window: 2000, ..s.peer_segment(0) };
    s.conn.handle(s.now, &ack);
    let lens: Vec<u16> = std::iter::from_fn(|| leave(&mut s.conn, s.now)).map(|segment| segment.len).collect();
    assert_eq!(lens, [1000, 1000]);
}

/// RFC 2760 §3.2.3.3: no ACK is delayed while the sender signals slow start.
#[test]
fn rfc2760_3_2_3_3_delayed_acks_after_slow_start() {
    let mut s = Bench::new(CcKind::Reno, 4, |config| {
        config.ack.slow_start = SlowStartAcks::Every;
        config.initial_ssthresh = InitialSsthresh::Bytes(5 * SMSS);
    });
    s.conn.offer(100 * SMSS);
    let signals = |s: &mut Bench| -> Vec<bool> {
        let sent = std::iter::from_fn(|| leave(&mut s.conn, s.now));
        sent.map(|segment| segment.flags.has(Flags::SLOW_START)).collect()
    };
    assert_eq!(signals(&mut s), [true; 4]);
    s.conn.handle(s.now, &Segment { ack: s.conn.tcb.wire.iss.at(1 + SMSS), ..s.peer_segment(0) });
    assert_eq!(signals(&mut s), [false; 2]);
    let mut r = Bench::new(CcKind::Reno, 4, |config| config.ack.slow_start = SlowStartAcks::Every).conn;
    let mut answers = |number: u64, flags: Flags| {
        let seq = r.tcb.wire.irs.at(1 + number * SMSS);
        let segment = Segment {
            seq,
            ack: r.tcb.wire.iss.at(1),
            len: 1000,
            window: 9,
            flags: Flags::ACK.with(flags),
            ..Segment::default()
        };
        r.handle(Time::ZERO, &segment);
        leave(&mut r, Time::ZERO).is_some()
    };
    let plain = Flags::default();
    assert_eq!([0, 1, 2].map(|number| answers(number, Flags::SLOW_START)), [true; 3]);
    assert_eq!([3, 4].map(|number| answers(number, plain)), [false, true]);
}

/// A buffer that starts small does not hold a fast path back for long.
#[test]
fn tuned_buffers_follow_slow_start() {
    for timestamps in [false, true] {
        let tuned = Config {
            timestamps,
            receive_buffer: 4_000_000,
            auto_buffer: Some(65_535),
            initial_window: InitialWindow::Segments(4),
            ..Config::default()
        };
        let time = |config: &Config| {
            let (a, b, at) = exchange(config, 3_000_000, Seq::new(5), |_| Fate::Deliver);
            assert_eq!((b.counters().delivered_bytes, a.counters().timeouts), (3_000_000, 0));
            at
        };
        let unlimited = time(&Config { auto_buffer: None, ..tuned.clone() });
        let fixed = time(&Config { receive_buffer: 65_535, auto_buffer: None, ..tuned.clone() });
        let (tuned, slack) = (time(&tuned), Duration::from_millis(400));
        assert!(tuned <= unlimited + slack && tuned + Duration::from_secs(2) < fixed, "{tuned} {unlimited} {fixed}");
    }
}

/// Everything arrives, and the connection closes, however little the send buffer holds, with Nagle's algorithm and losses.
#[test]
fn any_send_buffer_is_enough() {
    for (send_buffer, auto_send_buffer) in [(1000, None), (1500, None), (2999, None), (20_000, Some(1000))] {
        for (nagle, lost) in [(false, 0), (true, 0), (false, 9), (true, 9)] {
            let config = Config { smss: 1000, send_buffer, auto_send_buffer, nagle, ..Config::default() };
            let (a, b, _) = exchange(&config, 60_300, Seq::new(5), |k| {
                if lost > 0 && k % 17 == lost {
                    Fate::Drop
                } else {
                    Fate::Deliver
                }
            });
            assert_eq!(b.counters().delivered_bytes, 60_300, "{send_buffer} {nagle} {lost}");
            assert!(matches!(a.state(), State::TimeWait | State::Closed), "{send_buffer} {nagle} {lost}");
            if lost == 0 {
                assert_eq!((a.counters().sent_bytes, a.counters().timeouts), (60_300, 0), "{send_buffer} {nagle}");
            }
        }
    }
}

/// It follows the window up to its limit, and never shrinks.
#[test]
fn tuned_send_buffers_hold_two_windows() {
    let mut s = Bench::new(CcKind::Reno, 4, |config| {
        (config.send_buffer, config.auto_send_buffer) = (15 * SMSS, Some(3 * SMSS));
    });
    assert_eq!(s.send(100), [0, 1, 2]);
    // A window of five segments.
    assert_eq!((s.ack(1, &[]), s.cwnd(), s.conn.tcb.sender.space.buffer), (vec![3, 4, 5], 5, 10 * SMSS));
    (2..=6).for_each(|ack| drop(s.ack(ack, &[])));
    assert_eq!((s.cwnd(), s.conn.tcb.sender.space.buffer), (10, 15 * SMSS));
    s.time_out();
    s.ack(7, &[]);
    assert_eq!((s.cwnd(), s.conn.tcb.sender.space.buffer), (2, 15 * SMSS));
}

#[test]
fn rfc9293_3_10_7_4_an_older_segment_does_not_change_the_window() {
    let mut s = Bench::new(CcKind::Reno, 4, |config| config.window_scaling = false);
    s.send(4);
    let newer = Segment { seq: s.conn.tcb.wire.peers(1000), window: 30_000, ..s.peer_segment(2000) };
    for segment in [newer, Segment { window: 50_000, ..s.peer_segment(2000) }] {
        s.conn.handle(s.now, &segment);
        assert_eq!(s.conn.report().receive_window(), 30_000);
    }
}

#[test]
fn rfc9293_3_8_6_1_probes_of_a_closed_window_are_at_most_a_minute_apart() {
    let mut s = Bench::new(CcKind::Reno, 4, |config| config.give_up = GiveUp::Never);
    s.conn.handle(s.now, &Segment { window: 0, ..s.peer_segment(0) });
    s.send(4);
    let gaps = [(); 10].map(|()| {
        let before = s.now;
        s.wake_up();
        s.now - before
    });
    assert_eq!(gaps[9], Duration::from_secs(60));
    assert!(gaps.is_sorted());
}
