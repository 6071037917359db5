//! Data in the SYN, and measurements that connections share.

use super::*;
use crate::cache::PathCache;
use crate::segment::{FastOpenOption, SynOptions};

const R: Duration = Duration::from_millis(540);
const COOKIE: [u8; 8] = *b"biscuits";

fn config(is_known: bool) -> Config {
    Config { fast_open: Some(FastOpen { is_known, cookie: COOKIE }), ..Config::default() }
}

/// A client that sends `request` bytes, a server that answers with `reply` bytes, on a path of R / 2. `lost`: packets that
/// never arrive, counted from 0. Returns both, when the reply was complete, and the SYN.
fn call(
    config: &Config,
    request: u64,
    reply: u64,
    lost: &[u64],
    cache: &PathCache,
) -> (Connection, Connection, Time, Segment) {
    let mut a = Connection::new(config.clone(), Role::Active, Seq::new(1000));
    let b = Connection::new(
        Config { fast_open: self::config(false).fast_open, ..config.clone() },
        Role::Passive,
        Seq::new(9),
    );
    a.prime(cache, Time::ZERO);
    a.offer(request);
    let (mut pair, mut is_answered) = (Pair::open(a, b, R / 2), false);
    while pair.a.counters().delivered_bytes < reply || pair.b.counters().delivered_bytes < request {
        if pair.b.counters().delivered_bytes >= request && !std::mem::replace(&mut is_answered, true) {
            pair.b.offer(reply);
        }
        pair.transmit(&|k| if lost.contains(&k) { Fate::Drop } else { Fate::Deliver });
        assert!(pair.step() && pair.now < Time::ZERO + Duration::from_secs(60), "stuck");
    }
    (pair.a, pair.b, pair.now, pair.first.unwrap())
}

fn fast_open_of(syn: &Segment) -> FastOpenOption {
    match syn.options {
        Options::Syn(SynOptions { fast_open, .. }) => fast_open,
        _ => FastOpenOption::None,
    }
}

/// `docs/specs/transaction-tcp-tfo.md`: request and reply of one segment take 2 R, with Fast Open 1 R.
#[test]
fn rfc7413_a_request_and_its_reply_take_one_round_trip() {
    let none = PathCache::default();
    let plain = call(&Config::default(), 500, 500, &[], &none);
    assert_eq!((plain.2, fast_open_of(&plain.3), plain.3.len), (Time::ZERO + R * 2, FastOpenOption::None, 0));
    // First contact: the client asks for a cookie, and saves no time.
    let (a, _, at, syn) = call(&config(false), 500, 500, &[], &none);
    assert_eq!((at, fast_open_of(&syn), syn.len), (Time::ZERO + R * 2, FastOpenOption::Request, 0));
    let mut cache = PathCache::default();
    a.contribute(&mut cache, at);
    // Second contact.
    let (a, b, at, syn) = call(&config(false), 500, 500, &[], &cache);
    assert_eq!((at, fast_open_of(&syn), syn.len), (Time::ZERO + R, FastOpenOption::Cookie(COOKIE), 500));
    assert_eq!((syn.sequence_len(), syn.data_seq()), (501, Seq::new(1001)));
    assert_eq!(
        (a.counters().sent_bytes, b.counters().delivered_bytes, a.counters().retransmitted_bytes),
        (500, 500, 0)
    );
    // A client that is configured to know the cookie.
    assert_eq!(call(&config(true), 500, 500, &[], &none).2, Time::ZERO + R);
}

#[test]
fn rfc7413_4_2_1_what_fits_a_packet_goes_along() {
    let (_, _, _, syn) = call(&config(true), 20_000, 1, &[], &PathCache::default());
    assert_eq!((u64::from(syn.len) + u64::from(syn.header_len()), syn.header_len()), (1500, 60));
    let timestamps = Config { timestamps: true, ..config(true) };
    let (_, _, _, syn) = call(&timestamps, 20_000, 1, &[], &PathCache::default());
    assert_eq!(u64::from(syn.len) + u64::from(syn.header_len()), 1512, "as long as a full segment with timestamps");
}

/// RFC 7413 §4.2.2: the server acknowledges the SYN alone; the data follows immediately, without a sign of loss.
#[test]
fn rfc7413_4_2_2_wrong_cookies_cost_a_round_trip() {
    let mut wrong = config(true);
    wrong.fast_open = Some(FastOpen { is_known: true, cookie: [1; 8] });
    let (a, b, at, syn) = call(&wrong, 500, 500, &[], &PathCache::default());
    assert_eq!((at, syn.len), (Time::ZERO + R * 2, 500));
    assert_eq!((a.counters().retransmitted_bytes, a.counters().retransmitted_segments), (500, 1));
    assert_eq!((a.counters().timeouts, a.counters().fast_retransmits), (0, 0));
    assert_eq!((a.ssthresh(), b.counters().delivered_bytes), (None, 500));
    // The right one came with the SYN-ACK.
    let mut cache = PathCache::default();
    a.contribute(&mut cache, at);
    assert_eq!(call(&wrong, 500, 500, &[], &cache).2, Time::ZERO + R);
}

/// A lost SYN with data is repeated without them, and the next connection opens the old way for an hour.
#[test]
fn rfc7413_4_1_3_1_lost_syns_are_remembered() {
    let mut cache = PathCache::default();
    let (a, b, at, _) = call(&config(true), 500, 500, &[0], &cache);
    assert_eq!((at, b.counters().delivered_bytes), (Time::ZERO + Duration::from_secs(1) + R * 2, 500));
    a.contribute(&mut cache, Time::ZERO);
    let mut next = Connection::new(config(true), Role::Active, Seq::new(0));
    next.prime(&cache, Time::ZERO + Duration::from_secs(3599));
    assert_eq!(next.life.fast_open_option(&next.tcb.cx.config, false), FastOpenOption::None);
    next.prime(&cache, Time::ZERO + Duration::from_secs(3600));
    assert_eq!(next.life.fast_open_option(&next.tcb.cx.config, false), FastOpenOption::Cookie(COOKIE));
    // The SYN-ACK is lost: the server has the data, and acknowledges it after the plain SYN.
    let (a, b, _, _) = call(&config(true), 500, 500, &[1], &PathCache::default());
    assert_eq!((b.counters().arrived_bytes, b.counters().delivered_bytes), (500, 500));
    assert_eq!((a.acked_bytes(), a.counters().sent_bytes), (500, 500), "not sent twice");
}

/// The time of a request of 500 B and a reply of ten segments, the initial window, and timeouts and undos of both ends.
fn ten_segments(config: &Config, round_trip: Duration, fate: impl Fn(u64) -> Fate) -> (Duration, [(u64, u64); 2]) {
    let reply = 10 * u64::from(config.smss);
    let mut a = Connection::new(config.clone(), Role::Active, Seq::new(1000));
    let b = Connection::new(config.clone(), Role::Passive, Seq::new(9));
    a.offer(500);
    let (mut pair, mut is_answered) = (Pair::open(a, b, round_trip / 2), false);
    while pair.a.counters().delivered_bytes < reply {
        if pair.b.counters().delivered_bytes >= 500 && !std::mem::replace(&mut is_answered, true) {
            pair.b.offer(reply);
        }
        pair.transmit(&fate);
        assert!(pair.step() && pair.now < Time::ZERO + Duration::from_secs(60), "stuck");
    }
    let counts = [pair.a, pair.b].map(|end| (end.counters().timeouts, end.counters().undos));
    (pair.now.saturating_since(Time::ZERO), counts)
}

/// A SYN or SYN-ACK is retransmitted if its answer takes more than the first timeout of 1 s. The echoed timestamp shows
/// that it was late, and the reply takes one round trip.
#[test]
fn rfc3522_a_late_handshake_keeps_the_initial_window() {
    let wait = Duration::from_millis(600);
    // The client sends the SYN, and its request as the third packet, which waits for capacity.
    let waits = |k| if k == 2 { Fate::Delay(600) } else { Fate::Deliver };
    let eifel = Config { timestamps: true, spurious_detection: SpuriousDetection::Eifel, ..Config::default() };
    assert_eq!(ten_segments(&eifel, R, waits), (R * 2 + wait, [(0, 0), (1, 1)]));
    let long = Duration::from_millis(1200);
    assert_eq!(ten_segments(&eifel, long, |_| Fate::Deliver), (long * 2, [(1, 1), (0, 0)]));
    // RFC 5681 §3.1: one segment after a loss. Without the timestamps, a late one counts as lost.
    let off = Config { spurious_detection: SpuriousDetection::Off, ..eifel.clone() };
    for config in [off, Config { timestamps: false, ..eifel.clone() }] {
        let (at, ends) = ten_segments(&config, R, waits);
        assert!(at >= R * 4 + wait, "{at:?}");
        assert_eq!(ends, [(0, 0), (1, 0)]);
    }
    // The SYN-ACK is lost, and the repeated SYN. The first SYN was not.
    let (at, ends) = ten_segments(&eifel, R, |k| if k == 1 || k == 2 { Fate::Drop } else { Fate::Deliver });
    assert!(at >= Duration::from_secs(1) + R * 4, "{at:?}");
    assert_eq!(ends, [(1, 1), (1, 0)]);
}

fn transactions(is_known: bool) -> Config {
    Config { transactions: Some(Transactions { is_known }), ..Config::default() }
}

/// A transaction of one connection that both ends close: who opens sends a request and its FIN, who answers a reply and
/// its FIN. Returns both ends with the time of the reply, and the segments of each end.
fn transact(caches: &mut [PathCache; 2], count: u32) -> (Time, [u64; 2]) {
    let end = |role, cache: &PathCache| {
        let mut end = Connection::new(transactions(false), role, Seq::new(7));
        end.set_count(count);
        end.prime(cache, Time::ZERO);
        end
    };
    let (mut a, b) = (end(Role::Active, &caches[0]), end(Role::Passive, &caches[1]));
    a.offer(500);
    a.close();
    let (mut pair, mut is_answered, mut at) = (Pair::open(a, b, R / 2), false, Time::NEVER);
    while !matches!(pair.a.state(), State::TimeWait) || pair.b.state() != State::Closed {
        if pair.b.counters().delivered_bytes == 500 && !std::mem::replace(&mut is_answered, true) {
            pair.b.offer(300);
            pair.b.close();
        }
        pair.transmit(&|_| Fate::Deliver);
        at = if pair.a.counters().delivered_bytes == 300 { at.min(pair.now) } else { at };
        assert!(pair.step() && pair.now < Time::ZERO + Duration::from_secs(60), "stuck");
    }
    for (end, cache) in [&pair.a, &pair.b].into_iter().zip(caches) {
        end.contribute(cache, pair.now);
    }
    (at, [&pair.a, &pair.b].map(|end| end.counters().sent_segments))
}

/// RFC 1644 §2.2: the first contact takes two round trips, and each later one takes one: three segments in all.
#[test]
fn rfc1644_2_2_a_transaction_takes_three_segments() {
    let mut caches = [PathCache::default(); 2];
    assert_eq!(transact(&mut caches, 2), (Time::ZERO + R * 2, [3, 2]));
    assert_eq!(transact(&mut caches, 3), (Time::ZERO + R, [2, 1]));
    assert_eq!(transact(&mut caches, 9), (Time::ZERO + R, [2, 1]));
    // The server has restarted: the data are queued, and nothing is sent twice.
    caches[1] = PathCache::default();
    assert_eq!(transact(&mut caches, 10), (Time::ZERO + R * 2, [3, 2]));
    assert_eq!(transact(&mut caches, 11), (Time::ZERO + R, [2, 1]));
    // The client has: its new count is no proof, and the server forgets the old one.
    caches[0] = PathCache::default();
    assert_eq!(transact(&mut caches, 3), (Time::ZERO + R * 2, [3, 2]));
    assert_eq!(transact(&mut caches, 4), (Time::ZERO + R, [2, 1]));
}

/// RFC 1644 §3.2: all segments of the connection carry its count, those with SACK blocks among them. The blocks, the count and
/// timestamps share 40 bytes (RFC 9293 §3.1).
#[test]
fn rfc1644_3_2_acks_with_sack_blocks_carry_the_count() {
    for (timestamps, blocks) in [(false, 3), (true, 2)] {
        let config = |receives| Config {
            smss: SMSS as u32,
            recovery: CcKind::Sack.recovery(),
            timestamps,
            receive_buffer: if receives { 100 * SMSS } else { Config::default().receive_buffer },
            initial_window: InitialWindow::Segments(30),
            ..transactions(false)
        };
        let mut a = Connection::new(config(false), Role::Active, Seq::new(7));
        let mut b = Connection::new(config(true), Role::Passive, Seq::new(77));
        a.set_count(5);
        b.set_count(6);
        a.offer(30 * SMSS);
        b.open(Time::ZERO);
        a.open(Time::ZERO);
        let (mut most, mut sent) = (0, 0);
        for ms in 0..50 {
            let now = Time::ZERO + Duration::from_millis(ms);
            while let Some(segment) = leave(&mut a, now) {
                sent += 1;
                // Every second segment is lost, after the SYN.
                if segment.flags.has(Flags::SYN) || sent % 2 == 0 {
                    b.handle(now, &segment);
                }
                while let Some(ack) = leave(&mut b, now) {
                    if let Options::Sack(found) = ack.options {
                        most = most.max(found.as_slice().len());
                        assert_eq!(ack.count, Some(6));
                    }
                    assert!(ack.header_len() <= 80);
                    a.handle(now + Duration::from_millis(1), &ack);
                }
            }
        }
        assert_eq!(most, blocks, "timestamps: {timestamps}");
    }
}

fn sharing(cwnd: SharedCwnd) -> Config {
    let pacing = Pacing::Window { gain_slow_start: 2000, gain: 1200, burst: WindowSize::Segments(2) };
    Config {
        smss: SMSS as u32,
        initial_window: InitialWindow::Segments(10),
        ack: AckPolicy { every: 1, ..AckPolicy::default() },
        pacing: if cwnd == SharedCwnd::Full { pacing } else { Pacing::Off },
        sharing: Some(Sharing { ssthresh: true, rtt: true, cwnd, age_max: Duration::from_secs(3600) }),
        ..Config::default()
    }
}

/// `docs/specs/tcb-sharing.md`, test 1: window of ten, ssthresh of sixty.
#[test]
fn rfc9040_5_2_the_next_connection_knows_the_path() {
    let mut cache = PathCache::default();
    let mut old = Bench::new(CcKind::Reno, 10, |config| {
        config.sharing = sharing(SharedCwnd::Cautious).sharing;
        config.initial_ssthresh = InitialSsthresh::Bytes(60 * SMSS);
    });
    let mut acked = 0;
    old.send(10_000);
    while old.cwnd() < 100 {
        old.now += Duration::from_millis(50);
        acked += 1;
        old.ack(acked, &[]);
    }
    old.conn.contribute(&mut cache, old.now);
    let later = old.now + Duration::from_secs(3600);
    let begin = |cwnd, at| {
        let mut next = Connection::new(Config { handshake: false, ..sharing(cwnd) }, Role::Active, Seq::new(0));
        next.prime(&cache, at);
        next.open(at);
        next
    };
    let next = begin(SharedCwnd::Cautious, later);
    assert_eq!((next.cwnd(), next.ssthresh()), (10 * SMSS, Some(60 * SMSS)));
    assert_eq!(
        (next.report().srtt(), next.report().pacing_rate()),
        (None, None),
        "the round trip is expected, not measured"
    );
    assert_eq!(begin(SharedCwnd::Full, later).cwnd() / SMSS, 100);
    assert!(begin(SharedCwnd::Full, later).report().pacing_rate().is_some());
    // Too old.
    let next = begin(SharedCwnd::Full, later + Duration::from_secs(1));
    assert_eq!((next.cwnd(), next.ssthresh()), (10 * SMSS, None));
}

#[test]
fn rfc9040_5_a_short_transfer_teaches_nothing() {
    let mut s = Bench::new(CcKind::Reno, 10, |config| config.sharing = sharing(SharedCwnd::Cautious).sharing);
    s.send(9);
    s.ack(9, &[]);
    let mut cache = PathCache::default();
    s.conn.contribute(&mut cache, s.now);
    assert_eq!(cache, PathCache::default());
}

/// Test 5: a hundred segments from a window of ten take four rounds; a remembered window of a hundred takes one.
#[test]
fn rfc9040_5_remembered_windows_save_rounds() {
    let bytes = 100 * SMSS;
    let first = Config { fast_open: None, ..sharing(SharedCwnd::Ignore) };
    let (a, _, at, _) = call(&first, bytes, 1, &[], &PathCache::default());
    // Handshake, four rounds, and the reply's way back.
    assert_eq!(at, Time::ZERO + R + R * 3 + R);
    // Measurements of such a connection if it had gone on to a window of a hundred.
    let mut cache = PathCache::default();
    a.contribute(&mut cache, at);
    for _ in 0..3 {
        let (a, _, at, _) = call(&sharing(SharedCwnd::Full), bytes, 1, &[], &cache);
        a.contribute(&mut cache, at);
    }
    let (_, _, at, _) = call(&sharing(SharedCwnd::Full), bytes, 1, &[], &cache);
    // Handshake, one way there and one back, and the time to pace the window: about a round trip.
    assert!(at > Time::ZERO + R * 5 / 2 && at <= Time::ZERO + R * 13 / 4, "{at}");
}
