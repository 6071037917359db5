//! Start of the window, and fate of an unused one.

use super::*;
use crate::Backlog;

/// All outstanding data is acknowledged, segment by segment, half a second later.
fn round(s: &mut Bench) {
    s.now += Duration::from_millis(500);
    for ack in s.conn.tcb.sender.space.una / SMSS + 1..=s.conn.tcb.sender.space.nxt / SMSS {
        s.ack(ack, &[]);
    }
}

/// Sixteen segments in congestion avoidance; `segments` of them are used in each of `rounds` rounds.
fn used(cwnd_validation: CwndValidation, segments: u64, rounds: u32) -> Bench {
    let mut s = Bench::new(CcKind::Reno, 16, |config| {
        config.cwnd_validation = cwnd_validation;
        config.initial_ssthresh = InitialSsthresh::Bytes(2 * SMSS);
    });
    for _ in 0..rounds {
        s.send(segments);
        round(&mut s);
    }
    s
}

#[test]
fn rfc2861_3_2_idle_time_halves_the_window_for_each_timeout() {
    let mut s = used(CwndValidation::Rfc2861, 16, 1);
    let (cwnd, rto) = (s.conn.cwnd(), s.conn.report().rto());
    s.now += rto * 3;
    assert_eq!(s.send(40).len() as u64, cwnd / 8 / SMSS);
    assert_eq!((s.conn.cwnd(), s.conn.ssthresh()), (cwnd / 2 / 2 / 2, Some(cwnd - cwnd / 4)));
    let mut s = used(CwndValidation::Rfc2861, 16, 1);
    s.now += Duration::from_secs(3600);
    assert_eq!(s.send(40), [16], "never less than a segment");
}

#[test]
fn rfc2861_3_2_half_of_what_is_not_used_is_given_back_after_a_timeout_s_time() {
    // The timeout is a second, and data leave each half second: those at the start of the third round fall.
    let s = used(CwndValidation::Rfc2861, 4, 2);
    assert_eq!((s.cwnd(), s.ssthresh()), (16, 2));
    let s = used(CwndValidation::Rfc2861, 4, 3);
    assert_eq!((s.cwnd(), s.ssthresh()), (10, 12));
    let s = used(CwndValidation::IfUsed, 4, 10);
    assert_eq!((s.cwnd(), s.ssthresh()), (16, 2));
}

/// Linux keeps the restart window, and three quarters in whole segments (`tcp_cwnd_restart`).
#[test]
fn linux_halves_an_idle_window_down_to_the_initial_window() {
    let started = |timeouts: u32| {
        let mut s = Bench::new(CcKind::Reno, 4, |config| {
            config.cwnd_validation = CwndValidation::Linux;
            config.ssthresh_rounding = SsthreshRounding::Window;
            config.initial_ssthresh = InitialSsthresh::Bytes(19 * SMSS);
        });
        s.send(28);
        for _ in 0..3 {
            round(&mut s);
        }
        assert_eq!((s.cwnd(), s.conn.flight_size()), (19, 0));
        s.now += s.conn.report().rto() * u64::from(timeouts) + Duration::from_millis(1);
        (s.send(60).len(), s.ssthresh())
    };
    assert_eq!([0, 1, 2, 9].map(started), [(19, 19), (9, 19), (4, 19), (4, 19)]);
}

/// An unfilled window stays, as in the kernel: each ACK restarts the time of `tcp_cwnd_application_limited`.
#[test]
fn linux_keeps_an_unfilled_window() {
    let s = used(CwndValidation::Linux, 4, 6);
    assert_eq!((s.cwnd(), s.ssthresh()), (16, 2));
}

/// A driver may offer data only when the window has room. Its window grows as if all data had been offered before.
#[test]
fn a_window_that_is_filled_exactly_grows() {
    for kind in [CcKind::NewReno, CcKind::Cubic, CcKind::Hybla, CcKind::Bbr3] {
        let windows = |just_in_time: bool| {
            let mut s = Bench::new(kind, 10, |config| config.initial_ssthresh = InitialSsthresh::Segments(20));
            if !just_in_time {
                s.conn.offer(1 << 40);
            }
            Vec::from_iter((0..60).map(|_| {
                if just_in_time {
                    s.conn.offer(s.conn.cwnd().saturating_sub(s.conn.flight_size()));
                }
                while leave(&mut s.conn, s.now).is_some() {}
                round(&mut s);
                s.conn.cwnd()
            }))
        };
        let (all, just_in_time) = (windows(false), windows(true));
        let (all, just_in_time) = (all.last().unwrap() / SMSS, just_in_time.last().unwrap() / SMSS);
        assert!(just_in_time.abs_diff(all) <= 1 + all / 50, "{}: {just_in_time} for {all}", kind.name());
    }
}

/// SACKed data do not count again when they are acknowledged (`tcp_cong_control`: acked_sacked).
#[test]
fn linux_counts_data_once() {
    for (byte_counting, grown) in [(ByteCounting::UbcPure, 11), (ByteCounting::Ubc, 13)] {
        let mut s = Bench::new(CcKind::Sack, 10, |config| {
            config.recovery = Recovery::Rack(Rack { tlp: false, ..Rack::default() });
            config.growth.byte_counting = byte_counting;
        });
        s.send(10);
        s.now += Duration::from_millis(100);
        s.ack(0, &[(1, 3)]);
        s.now += Duration::from_millis(1);
        s.ack(3, &[]);
        assert_eq!(s.cwnd(), grown, "{byte_counting:?}");
    }
}

/// A full window makes no difference.
#[test]
fn rfc7661_4_3_windows_that_are_filled_grow_as_ever() {
    let windows = |cwnd_validation| {
        let mut s = Bench::new(CcKind::Reno, 4, |config| {
            config.cwnd_validation = cwnd_validation;
            config.initial_ssthresh = InitialSsthresh::Bytes(64 * SMSS);
        });
        s.send(2000);
        [(); 8].map(|()| {
            round(&mut s);
            s.cwnd()
        })
    };
    assert_eq!(windows(CwndValidation::Rfc7661), [8, 16, 32, 64, 64, 65, 66, 67]);
    for cwnd_validation in [CwndValidation::Off, CwndValidation::IfUsed, CwndValidation::Rfc2861] {
        assert_eq!(windows(cwnd_validation), windows(CwndValidation::Rfc7661));
    }
}

/// A window is validated while at least half of it is acknowledged in a round trip.
#[test]
fn rfc7661_4_3_windows_grow_to_twice_what_is_used() {
    let mut s = Bench::new(CcKind::Reno, 8, |config| config.cwnd_validation = CwndValidation::Rfc7661);
    for _ in 0..20 {
        s.send(8);
        round(&mut s);
    }
    assert!((16..=17).contains(&s.cwnd()), "{}", s.cwnd());
}

#[test]
fn rfc7661_4_3_the_window_outlasts_a_pause_of_minutes() {
    let mut s = used(CwndValidation::Rfc7661, 16, 4);
    let cwnd = s.cwnd();
    s.now += Duration::from_secs(290);
    assert_eq!(s.send(40).len() as i64, cwnd);
    let mut s = used(CwndValidation::IfUsed, 16, 4);
    s.now += Duration::from_secs(2);
    assert_eq!(s.send(40).len(), 16, "the restart window");
}

#[test]
fn rfc7661_4_4_3_the_window_is_halved_for_each_five_minutes_but_not_below_the_initial_window() {
    let start = |minutes: u64| {
        let mut s = used(CwndValidation::Rfc7661, 16, 4);
        std::sync::Arc::make_mut(&mut s.conn.tcb.cx.config).initial_window = InitialWindow::Segments(3);
        let before = s.conn.cwnd();
        s.now += Duration::from_secs(60 * minutes);
        s.send(1);
        (before, s.conn.cwnd(), s.conn.ssthresh())
    };
    let (before, cwnd, ssthresh) = start(6);
    assert_eq!((cwnd, ssthresh), (before / 2, Some(before / 2 + before / 4)));
    assert_eq!(start(11).1, before / 4);
    assert_eq!(start(600).1, 3 * SMSS);
}

/// Six segments are in flight after a pause when the first is lost.
#[test]
fn rfc7661_4_4_1_a_loss_falls_back_to_what_was_used() {
    let mut s = used(CwndValidation::Rfc7661, 16, 2);
    s.now += Duration::from_secs(20);
    s.send(6);
    (0..3).for_each(|_| drop(s.ack(32, &[])));
    assert_eq!((s.conn.cwnd(), s.ssthresh()), (3 * SMSS, 3));
    s.now += Duration::from_millis(500);
    s.ack(38, &[]);
    let halved = (6 - 1) * SMSS / 2;
    assert_eq!((s.conn.cwnd(), s.conn.ssthresh()), (halved, Some(halved)), "(LossFlightSize - R) / 2");
}

/// Acknowledged data counts if it is more than the data in flight.
#[test]
fn rfc7661_4_4_1_pipe_ack_counts_if_it_is_larger() {
    let mut s = used(CwndValidation::Rfc7661, 6, 3);
    assert_eq!(s.cwnd(), 16);
    s.send(4);
    (0..3).for_each(|_| drop(s.ack(18, &[])));
    assert_eq!(s.ssthresh(), 3);
    let mut s = used(CwndValidation::IfUsed, 6, 3);
    s.send(4);
    (0..3).for_each(|_| drop(s.ack(18, &[])));
    assert_eq!(s.ssthresh(), 2);
}

#[test]
fn the_end_of_slow_start_is_reported() {
    let seen = |s: &mut Bench| {
        std::iter::from_fn(|| s.conn.poll())
            .filter_map(|event| if let Event::SlowStartExit(cwnd) = event { Some(cwnd / SMSS) } else { None })
            .collect::<Vec<_>>()
    };
    let start = |ssthresh| {
        let mut s = Bench::new(CcKind::Reno, 4, |config| config.initial_ssthresh = ssthresh);
        s.send(100);
        s
    };
    let mut s = start(InitialSsthresh::Bytes(6 * SMSS));
    round(&mut s);
    round(&mut s);
    assert_eq!(seen(&mut s), [6], "by the threshold");
    let mut s = start(InitialSsthresh::Unlimited);
    round(&mut s);
    (0..3).for_each(|_| drop(s.ack(4, &[])));
    assert_eq!(seen(&mut s), [8], "by a loss");
    let mut s = start(InitialSsthresh::Unlimited);
    s.time_out();
    assert_eq!(seen(&mut s), [4], "by a timeout");
    s.ack(4, &[]);
    round(&mut s);
    assert_eq!(seen(&mut s), [2], "of the connection after it");
}

/// Both ends of a handshake, after the change that `change` makes to the SYN-ACK.
fn connect(client: Config, server: Config, change: impl Fn(&mut Segment)) -> (Connection, Connection) {
    let mut client = Connection::new(client, Role::Active, Seq::new(1));
    let mut server = Connection::new(server, Role::Passive, Seq::new(2));
    let now = Time::ZERO;
    server.open(now);
    client.open(now);
    server.handle(now, &leave(&mut client, now).unwrap());
    let mut syn_ack = leave(&mut server, now).unwrap();
    change(&mut syn_ack);
    client.handle(now, &syn_ack);
    server.handle(now, &leave(&mut client, now).unwrap());
    (client, server)
}

#[test]
fn initial_windows_end_at_the_window_of_the_peer_s_syn() {
    let hundred = |receive_buffer| Config {
        smss: SMSS as u32,
        initial_window: InitialWindow::Segments(100),
        receive_buffer,
        ..Config::default()
    };
    let (client, server) = connect(hundred(1 << 20), hundred(6000), |_| ());
    assert_eq!([client.cwnd(), server.cwnd()], [6000, 65_535], "it is not scaled");
}

/// RFC 6691: the option counts no options, so timestamps take from the segment.
#[test]
fn initial_windows_count_in_segments_that_both_ends_take() {
    let config = |smss, timestamps| Config { smss, timestamps, ..Config::default() };
    let (client, server) = connect(config(1460, false), config(1000, false), |_| ());
    assert_eq!([client.tcb.sender.space.smss, server.tcb.sender.space.smss], [1000, 1000]);
    assert_eq!([client.cwnd(), server.cwnd()], [10_000, 10_000]);
    let (client, server) = connect(config(1448, true), config(524, true), |_| ());
    assert_eq!([client.tcb.sender.space.smss, server.tcb.sender.space.smss], [524, 524]);
    // RFC 9293 §3.7.1.
    let (client, _) = connect(config(1460, false), config(1460, false), |syn_ack| syn_ack.options = Options::None);
    assert_eq!((client.tcb.sender.space.smss, client.cwnd(), client.tcb.cx.agreed.sack), (536, 5360, false));
}

/// A sender of 200 round trips of 100 ms. It is offered all data at once, or as much as the window has room for, each round
/// trip, by a driver that has more. Returns the sender, with the limit that it had before each offer.
fn driven(kind: CcKind, cwnd_validation: CwndValidation, in_time: bool, more: bool) -> (Connection, Vec<SendLimit>) {
    let config = Config {
        cc: kind.into(),
        recovery: kind.recovery(),
        cwnd_validation,
        initial_ssthresh: InitialSsthresh::Segments(20),
        receive_buffer: 1 << 30,
        ..Config::default()
    };
    let mut client = Connection::new(config.clone(), Role::Active, Seq::new(7));
    let mut server = Connection::new(config, Role::Passive, Seq::new(9));
    let (mut now, mut limits) = (Time::ZERO, Vec::new());
    client.measure_rates();
    client.set_backlog(if more { Backlog::Comes } else { Backlog::None });
    server.open(now);
    client.open(now);
    if !in_time {
        client.offer(1 << 40);
    }
    for _ in 0..200 {
        now += Duration::from_millis(50);
        client.handle_wakeup(now);
        if in_time && client.report().has_been_established() {
            limits.extend(client.report().send_limit());
            client.offer(client.cwnd().saturating_sub(client.flight_size()));
        }
        while client.transmit(now, &mut |segment: Segment| server.handle(now, &segment)).is_some() {}
        now += Duration::from_millis(50);
        server.handle_wakeup(now);
        while server.transmit(now, &mut |segment: Segment| client.handle(now, &segment)).is_some() {}
    }
    (client, limits)
}

/// RFC 7661 §4.1 judges by flight against window, not by a queue above the window.
#[test]
fn rfc7661_4_1_a_window_grows_alike_if_data_are_offered_just_in_time() {
    for kind in [CcKind::NewReno, CcKind::Cubic, CcKind::Hybla, CcKind::Bbr3] {
        for validation in
            [CwndValidation::IfUsed, CwndValidation::Rfc2861, CwndValidation::Rfc7661, CwndValidation::Linux]
        {
            let all = driven(kind, validation, false, false).0.cwnd();
            for more in [false, true] {
                let in_time = driven(kind, validation, true, more).0.cwnd();
                let ratio = in_time as f64 / all as f64;
                assert!((0.98..1.02).contains(&ratio), "{kind:?} {validation:?} {more}: {in_time}, not {all}");
            }
        }
    }
}

/// A driver with more data is never the limit: not in rate samples, and not in the limit that the sender reports.
#[test]
fn a_backlog_above_is_not_the_limit_of_the_application() {
    for more in [false, true] {
        let (client, limits) = driven(CcKind::NewReno, CwndValidation::IfUsed, true, more);
        assert_eq!(client.report().rate_sample().map(|sample| sample.is_app_limited), Some(!more));
        assert_eq!(limits.iter().filter(|limit| **limit == SendLimit::Application).count() > 190, !more, "{limits:?}");
        assert_eq!(limits.iter().all(|limit| *limit != SendLimit::Application), more, "{limits:?}");
    }
}
