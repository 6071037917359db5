//! Lazy service against times computed by hand. Packets have 1000 bytes and links 8 kbit/s: a transmission takes a second.

use super::counters::LinkCounters;
use super::{LazyLink, Losses};
use bentpipe_model::dictionary::Cause;
use bentpipe_model::ids::EndpointId;
use bentpipe_model::packet::{Origin, Packet, NO_BODY};
use bentpipe_model::spec::{
    Codel, Downtimes, ErrorModel as ErrorSpec, ErrorUnit, Framing, Link as Spec, Outage, Pie, Profile, Queue,
    QueueLimit, Share, Stay,
};
use bentpipe_tcp::{Flags, Segment};
use bentpipe_units::{Duration, Rate, Seq, Time};

fn s(seconds: f64) -> Time {
    Time::ZERO + Duration::from_secs_f64(seconds)
}

/// A link of 8 kbit/s and 10 s.
pub(super) fn spec(limit: QueueLimit) -> Spec {
    let queue = Queue::DropTail { limit };
    Spec { queue, ..Spec::plain(Rate::from_bps(8000), Duration::from_secs(10)) }
}

fn outage(from: f64, to: f64, flush: bool) -> Option<Box<Outage>> {
    Some(Box::new(Outage { when: Downtimes::Spans { spans: vec![(s(from), s(to))], period: None }, flush }))
}

/// Packet number `id`, `size` bytes with its headers.
/// Packets and bytes that wait.
fn backlog(link: &LazyLink) -> (usize, u64) {
    link.backlog()
}

pub(super) fn packet(id: u32, size: u16) -> Packet {
    let segment = Segment {
        seq: Seq::new(id),
        ack: Seq::new(0),
        len: size - 40,
        window: 0,
        flags: Flags::ACK,
        ..Segment::default()
    };
    let packet = Packet::new(
        &segment,
        &Origin::of(EndpointId::opener(0), id.into()),
        &mut bentpipe_model::packet::Bodies::default(),
    );
    assert_eq!((packet.size(), packet.body), (u64::from(size), NO_BODY));
    packet
}

/// Removes the head of the ring at its arrival. Returns it, with the next arrival.
fn deliver(link: &mut LazyLink, at: Time, losses: &mut Losses) -> (Option<Packet>, Time) {
    link.advance(at, losses);
    (link.take(at), link.next_arrival())
}

/// (number, seconds) of each arrival at the far end.
type Arrivals = Vec<(u32, f64)>;

/// Offers packets 0, 1, ... of `size` bytes at these instants. Returns (packet, seconds) of the arrivals and (packet, cause)
/// of the losses.
fn run(link: &mut LazyLink, size: u16, offers: &[f64]) -> (Arrivals, Vec<(u32, Cause)>) {
    let (mut arrivals, mut losses) = (Vec::new(), Losses::new());
    let mut deliver_until = |link: &mut LazyLink, until: Time, losses: &mut Losses| {
        while link.next_arrival() < until {
            let at = link.next_arrival();
            let (packet, next) = deliver(link, at, losses);
            assert_eq!(next, link.next_arrival());
            arrivals.extend(packet.map(|packet| (packet.seq.value(), at.as_secs_f64())));
        }
    };
    for (id, &at) in (0..).zip(offers) {
        deliver_until(link, s(at), &mut losses);
        link.accept(s(at), &packet(id, size), &mut losses);
    }
    deliver_until(link, Time::NEVER, &mut losses);
    (arrivals, losses.iter().map(|(packet, cause)| (packet.seq.value(), *cause)).collect())
}

#[test]
fn first_come_first_served() {
    let mut link = LazyLink::new(&spec(QueueLimit::Unlimited), 1, Time::NEVER);
    let (arrivals, losses) = run(&mut link, 1000, &[0.0, 0.5, 0.5, 5.0]);
    assert_eq!(arrivals, [(0, 11.0), (1, 12.0), (2, 13.0), (3, 16.0)]);
    assert!(losses.is_empty());
    let LinkCounters { offered, carried, carried_bytes, dropped, backlog_bytes_max, .. } = link.counters;
    assert_eq!((offered, carried, carried_bytes, dropped, backlog_bytes_max), (4, 4, 4000, 0, 2000));
    assert_eq!(link.waits.mean_s(), (0.5 + 1.5) / 4.0);
}

/// AAL5: 1000 + 16 B are 22 cells, 1166 B; 40 + 16 B are 2 cells, 106 B. Counters and backlog are in bytes of packets.
#[test]
fn what_is_framed_takes_longer_and_counts_its_own_bytes() {
    let framed = Spec { framing: Framing::Aal5 { header: 8 }, ..spec(QueueLimit::Bytes(1040)) };
    for is_plain in [false, true] {
        let link = LazyLink::new(&framed, 1, Time::NEVER);
        let mut link = if is_plain { link.simplified(&framed) } else { link };
        let mut losses = Losses::new();
        for (id, size) in [(0, 1000), (1, 40), (2, 1000), (3, 40)] {
            link.accept(Time::ZERO, &packet(id, size), &mut losses);
        }
        let mut arrivals = Vec::new();
        while link.next_arrival() != Time::NEVER {
            let at = link.next_arrival();
            arrivals.extend(deliver(&mut link, at, &mut losses).0.map(|packet| (packet.seq.value(), at)));
        }
        assert_eq!(arrivals, [(0, s(11.166)), (1, s(11.272)), (2, s(12.438))], "plain: {is_plain}");
        let LinkCounters { carried_bytes, dropped, busy_ps, backlog_bytes_max, .. } = link.counters();
        assert_eq!((carried_bytes, dropped, backlog_bytes_max), (2040, 1, 1040));
        assert_eq!(Duration::from_ps(busy_ps), Duration::from_millis(2438));
    }
}

/// 1 - (1 - 2e-5)^(8 x 1696) of packets of 1500 B, and not 1 - (1 - 2e-5)^(8 x 1500): within four standard deviations.
#[test]
fn errors_hit_what_is_on_the_wire() {
    let error = ErrorSpec::Independent { unit: ErrorUnit::Bit, rate: 2e-5 };
    let share = |framing: Framing, is_plain: bool| {
        let spec = Spec { framing, error: error.clone(), ..spec(QueueLimit::Unlimited) };
        let link = LazyLink::new(&spec, 1, Time::NEVER);
        let mut link = if is_plain { link.simplified(&spec) } else { link };
        let count = 100_000;
        let offers = vec![0.0; count];
        assert_eq!(run(&mut link, 1500, &offers).0.len(), count);
        link.counters().corrupted as f64 / count as f64
    };
    let expected = |wire: f64| 1.0 - (8.0 * wire * (-2e-5f64).ln_1p()).exp();
    let deviation = (expected(1696.0) * (1.0 - expected(1696.0)) / 1e5).sqrt();
    assert!(expected(1696.0) - expected(1500.0) > 10.0 * deviation);
    for is_plain in [false, true] {
        let framed = share(Framing::Aal5 { header: 8 }, is_plain);
        assert!((framed - expected(1696.0)).abs() < 4.0 * deviation, "{framed}");
        let bare = share(Framing::None, is_plain);
        assert!((bare - expected(1500.0)).abs() < 4.0 * deviation, "{bare}");
    }
}

/// Only an idle link needs a schedule entry: its head is then the new packet.
#[test]
fn the_head_is_the_next_event() {
    let (mut link, mut losses) = (LazyLink::new(&spec(QueueLimit::Unlimited), 1, Time::NEVER), Losses::new());
    assert_eq!(link.accept(s(1.0), &packet(0, 1000), &mut losses), Some(s(12.0)));
    assert_eq!(link.accept(s(1.5), &packet(1, 1000), &mut losses), None);
    assert_eq!(backlog(&link), (1, 1000));
    link.advance(s(1.999), &mut losses);
    assert_eq!(backlog(&link), (1, 1000));
    link.advance(s(2.0), &mut losses);
    assert_eq!((backlog(&link), link.len()), ((0, 0), 2));
    assert_eq!(deliver(&mut link, s(12.0), &mut losses).1, s(13.0));
    assert_eq!(deliver(&mut link, s(13.0), &mut losses).1, Time::NEVER);
}

/// One packet of 1000 B is in transmission, two wait.
#[test]
fn each_series_of_a_link_has_its_own_value() {
    use crate::record::Sample;
    use bentpipe_model::dictionary::LinkSeries;
    let (mut link, mut losses) = (LazyLink::new(&spec(QueueLimit::Unlimited), 1, Time::NEVER), Losses::new());
    (0..3).for_each(|id| {
        link.accept(s(0.0), &packet(id, 1000), &mut losses);
    });
    let value = |series| match link.sample(series) {
        Sample::Value(value) => (value, 0),
        Sample::Bytes(bytes) => (f64::NAN, bytes),
        Sample::Level(value, _) => (value, 0),
        Sample::None => (f64::NAN, 0),
    };
    assert_eq!(value(LinkSeries::QueueBytes), (2000.0, 0));
    assert_eq!(value(LinkSeries::QueuePackets), (2.0, 0));
    assert_eq!(value(LinkSeries::Carried).1, 1000);
}

/// The packet in transmission does not count; at 1.0 s the next one starts before packet 4 arrives.
#[test]
fn a_full_queue_turns_packets_away() {
    let full = [(3, Cause::QueueOverflow), (5, Cause::QueueOverflow)];
    for limit in [QueueLimit::Packets(2), QueueLimit::Bytes(2000), QueueLimit::Bytes(2999)] {
        let mut link = LazyLink::new(&spec(limit), 1, Time::NEVER);
        let (arrivals, losses) = run(&mut link, 1000, &[0.0, 0.1, 0.2, 0.3, 1.0, 1.5]);
        assert_eq!(arrivals, [(0, 11.0), (1, 12.0), (2, 13.0), (4, 14.0)], "{limit:?}");
        assert_eq!(losses, full, "{limit:?}");
        assert_eq!((link.counters.offered, link.counters.dropped, link.counters.carried), (6, 2, 4));
    }
}

#[test]
fn small_packets_fit_where_large_ones_do_not() {
    let (mut link, mut losses) = (LazyLink::new(&spec(QueueLimit::Bytes(1500)), 1, Time::NEVER), Losses::new());
    for (id, size) in [(0, 1000), (1, 1000), (2, 1000), (3, 500)] {
        link.accept(s(0.0), &packet(id, size), &mut losses);
    }
    assert_eq!((backlog(&link), losses.len()), ((2, 1500), 1));
}

/// Down from 1.5 s to 4 s: packet 1 is truncated but occupies its full length, 2 starts when the link is up again.
#[test]
fn an_outage_cuts_and_keeps() {
    let mut link =
        LazyLink::new(&Spec { outage: outage(1.5, 4.0, false), ..spec(QueueLimit::Unlimited) }, 1, Time::NEVER);
    let mut losses = Losses::new();
    for id in 0..3 {
        link.accept(s(0.0), &packet(id, 1000), &mut losses);
    }
    let arrivals: Vec<_> = std::iter::from_fn(|| {
        let at = Some(link.next_arrival()).filter(|&at| at != Time::NEVER)?;
        deliver(&mut link, at, &mut losses)
            .0
            .map(|packet| (packet.seq.value(), at.as_secs_f64(), packet.is_truncated()))
    })
    .collect();
    assert_eq!(arrivals, [(0, 11.0, false), (1, 11.5, true), (2, 15.0, false)]);
    assert_eq!((link.counters.carried, losses.len()), (3, 0));
    assert_eq!(link.busy_ps(s(20.0)), 2_500_000_000_000);
}

/// The outage above, flushing: it drops packets 2 and 3, rejects 4; packet 5 finds an idle link.
#[test]
fn an_outage_flushes_and_closes() {
    let mut link =
        LazyLink::new(&Spec { outage: outage(1.5, 4.0, true), ..spec(QueueLimit::Unlimited) }, 1, Time::NEVER);
    let (arrivals, losses) = run(&mut link, 1000, &[0.0, 0.0, 0.0, 0.0, 3.0, 4.0]);
    assert_eq!(arrivals, [(0, 11.0), (1, 11.5), (5, 15.0)]);
    assert_eq!(losses, [(2, Cause::Outage), (3, Cause::Outage), (4, Cause::Outage)]);
    // The network counts the truncated packet.
    assert_eq!(link.counters.dropped, 3);
}

/// The delay falls from 10 s to 1 s at 2 s: later packets do not overtake earlier ones.
#[test]
fn arrivals_stay_in_order_when_the_delay_falls() {
    let points = vec![(Time::ZERO, Duration::from_secs(10)), (s(2.0), Duration::from_secs(1))];
    let delay = Profile::Points { points, linear: false, period: None };
    let mut link = LazyLink::new(&Spec { delay, ..spec(QueueLimit::Unlimited) }, 1, Time::NEVER);
    let (arrivals, _) = run(&mut link, 1000, &[0.0, 1.0, 2.0, 12.0]);
    assert_eq!(arrivals, [(0, 11.0), (1, 11.0), (2, 11.0), (3, 14.0)]);
}

#[test]
fn listed_packets_are_corrupted_and_delivered() {
    let mut link = LazyLink::new(
        &Spec { error: ErrorSpec::Arrivals { list: vec![1], period: None }, ..spec(QueueLimit::Unlimited) },
        1,
        Time::NEVER,
    );
    let mut losses = Losses::new();
    for id in 0..3 {
        link.accept(s(0.0), &packet(id, 1000), &mut losses);
    }
    let marks: Vec<bool> = std::iter::from_fn(|| {
        let at = Some(link.next_arrival()).filter(|&at| at != Time::NEVER)?;
        deliver(&mut link, at, &mut losses).0.map(|packet| packet.is_corrupted())
    })
    .collect();
    assert_eq!((marks.as_slice(), link.counters.corrupted), ([false, true, false].as_slice(), 1));
}

#[test]
fn a_sending_that_goes_on_counts_in_part() {
    let (mut link, mut losses) = (LazyLink::new(&spec(QueueLimit::Unlimited), 1, Time::NEVER), Losses::new());
    link.accept(s(1.0), &packet(0, 1000), &mut losses);
    assert_eq!(link.busy_ps(s(1.25)), 250_000_000_000);
    assert_eq!(link.busy_ps(s(9.0)), 1_000_000_000_000);
}

/// Regression: the rest of the outage was subtracted from the busy time before it.
#[test]
fn a_packet_that_waits_for_the_link_to_come_up_takes_nothing_off_its_busy_time() {
    let mut link =
        LazyLink::new(&Spec { outage: outage(2.0, 9.0, false), ..spec(QueueLimit::Unlimited) }, 1, Time::NEVER);
    let mut losses = Losses::new();
    link.accept(s(0.0), &packet(0, 1000), &mut losses);
    link.accept(s(3.0), &packet(1, 1000), &mut losses);
    assert_eq!(link.busy_ps(s(4.0)), 1_000_000_000_000);
    assert_eq!(link.busy_ps(s(9.5)), 1_500_000_000_000);
}

/// Regression: a packet that never leaves took all busy time, and moved the state of a bursty channel to the end of time.
#[test]
fn a_dead_link_keeps_its_packet_and_its_counters() {
    let points = vec![(Time::ZERO, Rate::from_bps(8000)), (s(2.0), Rate::from_bps(0))];
    let error = ErrorSpec::GilbertElliott {
        unit: bentpipe_model::spec::ErrorUnit::Packet,
        stay: Stay::Time { good: Duration::from_secs(1), bad: Duration::from_secs(1) },
        rate_good: 0.0,
        rate_bad: 0.0,
    };
    let ms = Duration::from_millis;
    let delays = vec![(Time::ZERO, ms(10)), (s(1.0), ms(20))];
    let spec = Spec {
        rate: Profile::Points { points, linear: false, period: None },
        delay: Profile::Points { points: delays, linear: true, period: Some(ms(3000)) },
        error,
        ..spec(QueueLimit::Unlimited)
    };
    let (mut link, mut losses) = (LazyLink::new(&spec, 1, Time::NEVER), Losses::new());
    link.accept(s(0.0), &packet(0, 1000), &mut losses);
    assert_eq!(deliver(&mut link, s(1.02), &mut losses).1, Time::NEVER);
    assert_eq!(link.accept(s(3.0), &packet(1, 1000), &mut losses), Some(Time::NEVER));
    assert_eq!(link.busy_ps(s(4.0)), 1_000_000_000_000);
    assert_eq!(link.len(), 1);
}

/// For any queue: an empty ring means that no packet waits, so the head of the ring is enough for the schedule. Each offered
/// packet was sent, was lost, or waits.
#[test]
fn an_empty_ring_means_that_nothing_waits() {
    let limit = QueueLimit::Packets(10);
    let (ms, share) = (Duration::from_millis, Share { weight: 1, limit });
    for queue in [
        Queue::Codel(Codel { limit, target: ms(100), interval: ms(3000), ecn: true }),
        Queue::Pie(Pie {
            limit,
            target: ms(500),
            update: ms(500),
            burst: ms(1000),
            derandomise: true,
            mean_packet: 400,
            ecn: false,
        }),
        Queue::Priority { limits: vec![limit; 3], push_out: false },
        Queue::Priority { limits: vec![limit; 3], push_out: true },
        Queue::Drr { quantum: 100, classes: vec![share; 3] },
    ] {
        let down = outage(200.0, 300.0, true);
        let mut link = LazyLink::new(&Spec { queue: queue.clone(), outage: down, ..spec(limit) }, 1, Time::NEVER);
        let (mut dice, mut losses, mut at) =
            (bentpipe_units::Stream::new(1, "link", "tests"), Losses::new(), Time::ZERO);
        for id in 0..2000 {
            // At most busy, then quiet.
            at += ms(dice.below(id, if id % 500 < 300 { 2000 } else { 8000 }));
            while link.next_arrival() <= at {
                let due = link.next_arrival();
                deliver(&mut link, due, &mut losses);
                assert!(link.next_arrival() != Time::NEVER || backlog(&link) == (0, 0), "{queue:?}");
            }
            link.accept(at, &packet(id as u32, 1000).in_class(id as u8 % 3), &mut losses);
            let LinkCounters { offered, carried, dropped, .. } = link.counters;
            assert_eq!(offered, carried + dropped + backlog(&link).0 as u64);
            assert_eq!(dropped, losses.len() as u64);
        }
        let is_managed = matches!(queue, Queue::Codel(_) | Queue::Pie(_));
        assert_eq!(losses.iter().any(|(_, cause)| *cause == Cause::EarlyDrop), is_managed, "{queue:?}");
        assert!(losses.iter().any(|(_, cause)| *cause == Cause::Outage));
    }
}
