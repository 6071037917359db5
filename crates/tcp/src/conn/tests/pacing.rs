//! Pacing.

use super::*;
use bentpipe_units::Rate;

const MS: u64 = 1_000_000_000;

fn paced(window: u32, pacing: Pacing) -> Bench {
    Bench::new(CcKind::Reno, window, |config| {
        config.smss = 1460;
        config.pacing = pacing;
    })
}

/// The instants, in microseconds, at which the next `count` segments leave.
fn departures(s: &mut Bench, count: usize) -> Vec<u64> {
    let mut seen = Vec::new();
    while seen.len() < count {
        if let Some(segment) = leave(&mut s.conn, s.now) {
            assert!(segment.len > 0);
            seen.push(s.now.as_ps() / 1_000_000);
        } else {
            s.now = s.conn.next_wakeup();
            s.conn.handle_wakeup(s.now);
        }
    }
    seen
}

/// `docs/specs/pacing.md`: bursts.
#[test]
fn a_rate_spaces_segments_and_a_pause_saves_up_one_burst() {
    let rate = Rate::from_bps(1_200_000);
    let mut s = paced(100, Pacing::Rate { rate, burst: WindowSize::Segments(1) });
    s.conn.offer(1 << 20);
    assert_eq!(departures(&mut s, 3), [0, 10_000, 20_000]);
    let mut s = paced(100, Pacing::Rate { rate, burst: WindowSize::Bytes(3000) });
    s.now = Time::ZERO + Duration::from_secs(1);
    s.conn.offer(1 << 20);
    assert_eq!(departures(&mut s, 3), [1_000_000, 1_000_000, 1_010_000]);
}

/// 100 packets of 1500 B in 0.5 s: 2.4 Mbit/s; with a gain of 1.2, 2.88 Mbit/s.
#[test]
fn a_window_is_spread_over_a_round_trip() {
    for (gain, mbps, gap_us) in [(1000, 2_400_000, 5000), (1200, 2_880_000, 4167)] {
        let mut s = paced(100, Pacing::Window { gain_slow_start: 2000, gain, burst: WindowSize::Segments(1) });
        s.conn.offer(1 << 30);
        // Before the first sample no rate is known.
        assert_eq!(s.conn.report().pacing_rate(), None);
        assert_eq!(departures(&mut s, 100), [0; 100]);
        s.conn.tcb.sender.rtt.update(Duration::from_millis(500));
        assert_eq!(s.conn.report().pacing_rate(), Some(Rate::from_bps(4_800_000)), "slow start");
        let path = s.conn.tcb.sender.path(s.now, &s.conn.tcb.cx);
        s.conn.tcb.sender.window.cc.on_congestion(bentpipe_cc::Congestion::Ecn { beta: Some(1000) }, &path);
        assert_eq!(s.conn.report().pacing_rate(), Some(Rate::from_bps(mbps)));
        s.now = Time::ZERO + Duration::from_millis(500);
        let ack = Segment { ack: s.conn.tcb.wire.iss.at(1 + 3 * 1460), ..s.peer_segment(0) };
        s.conn.tcb.sender.space.rwnd = 1 << 30;
        s.conn.handle(s.now, &Segment { window: u16::MAX, ..ack });
        let seen = departures(&mut s, 3);
        assert!(seen.windows(2).all(|pair| (pair[1] - pair[0]).abs_diff(gap_us) <= 10), "{seen:?}");
    }
}

#[test]
fn retransmissions_are_paced_and_acks_are_not() {
    let rate = Rate::from_bps(1_200_000);
    let mut s = Bench::new(CcKind::Sack, 10, |config| {
        config.smss = 1460;
        config.pacing = Pacing::Rate { rate, burst: WindowSize::Segments(1) };
    });
    s.conn.offer(10 * 1460);
    departures(&mut s, 10);
    // Everything below the last segment is lost.
    let first = s.conn.tcb.wire.iss.at(1);
    for left in [9, 8, 7] {
        let mut blocks = SackBlocks::default();
        blocks.push(first.at(left * 1460), first.at(10 * 1460));
        let ack = Segment { options: Options::Sack(blocks), ..s.peer_segment(0) };
        s.conn.handle(s.now, &ack);
    }
    let seen = departures(&mut s, 2);
    assert_eq!(seen[1] - seen[0], 10_000, "{seen:?}");
    // Data arrive while the next one waits.
    let data = Segment { len: 1000, ..s.peer_segment(0) };
    s.conn.handle(s.now, &data);
    s.conn.handle(s.now, &Segment { seq: data.seq.at(1000), ..data });
    assert_eq!(leave(&mut s.conn, s.now).map(|ack| ack.len), Some(0));
}

/// Eight losses at a round-trip time of 160 ms: one each 20 ms.
#[test]
fn eight_losses_are_spread_over_a_round_trip() {
    let mut s = paced(8, Pacing::Window { gain_slow_start: 1000, gain: 1000, burst: WindowSize::Segments(1) });
    s.conn.tcb.sender.rtt.update(Duration::from_millis(160));
    s.conn.offer(1 << 20);
    let seen = departures(&mut s, 8);
    assert!(seen.windows(2).all(|pair| pair[1] - pair[0] == 20_000), "{seen:?}");
}

#[test]
fn waiting_for_the_pacer_needs_one_wakeup() {
    let mut s = paced(100, Pacing::Rate { rate: Rate::from_bps(12_000), burst: WindowSize::Segments(1) });
    s.conn.offer(1 << 20);
    assert_eq!(departures(&mut s, 1), [0]);
    assert_eq!(leave(&mut s.conn, s.now), None);
    // The retransmission timer comes no earlier than a second.
    assert_eq!(s.conn.next_wakeup(), Time::from_ps(1000 * MS));
}
