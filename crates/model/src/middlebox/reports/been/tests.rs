use super::estimate::tests::config;
use super::*;
use crate::ids::EndpointId;
use crate::middlebox::{Action, Bench};
use crate::packet::{Label, Message, Origin};
use bentpipe_tcp::{Notice, Segment};
use bentpipe_units::Seq;

fn data(number: u32, bench: &mut Bench) -> Packet {
    let segment = Segment { seq: Seq::new(1 + 40 * number), len: 40, ..Segment::default() };
    Packet::new(&segment, &Origin::of(EndpointId::opener(0), 0), &mut bench.bodies)
}

/// Returns the notices: offset and rate.
fn notices(bench: &mut Bench) -> Vec<(u32, Option<f32>)> {
    let notice = |action: &Action| {
        let Action::Emit(packet) = action else { panic!("{action:?}") };
        assert!(packet.is_to_sender() && packet.size() == 76);
        match bench.bodies.message(packet) {
            Some(Message::Notice(_, Notice::Corrupted { seq, len: 40, error_rate })) => (seq.value() / 40, error_rate),
            message => panic!("{message:?}"),
        }
    };
    bench.out.take().iter().map(notice).collect()
}

/// `docs/specs/been.md`, test 1.
#[test]
fn ten_records_make_an_estimate_and_each_error_a_report() {
    let (mut bench, mut gateway) = (Bench::default(), Gateway::new(config(|_| {})));
    for number in 0..20 {
        let packet = data(number, &mut bench);
        assert_eq!(gateway.number(&packet, Time::ZERO), number);
    }
    let mut read = |first, corrupted, count| {
        bench.at(Time::ZERO, |cx| gateway.read(Records { first, count, corrupted }, false, cx));
        notices(&mut bench)
    };
    assert_eq!(read(0, 0b0001_0100, 8), [(2, None), (4, None)], "reports come before the first estimate");
    assert_eq!(read(8, 0, 2), []);
    let (first, rate) = read(10, 1, 1)[0];
    assert_eq!(first, 10);
    assert!((rate.unwrap() / 2.785_41e-3 - 1.0).abs() < 1e-5, "{rate:?}");
}

/// With one estimate per connection, the packets of one connection do not affect the estimate of another.
#[test]
fn estimates_are_shared_by_the_uplink_or_kept_for_each_connection() {
    for (scope, other) in [(Scope::Uplink, true), (Scope::Flow, false)] {
        let mut bench = Bench::default();
        let mut gateway = Gateway::new(config(|config| (config.scope, config.window) = (scope, 1)));
        let segment = Segment { len: 40, ..Segment::default() };
        for flow in 0..2 {
            let packet = Packet::new(&segment, &Origin::of(EndpointId::opener(0), flow), &mut bench.bodies);
            gateway.number(&packet, Time::ZERO);
        }
        for first in 0..2 {
            let records = Records { first, count: 1, corrupted: 1 };
            bench.at(Time::ZERO, |cx| gateway.read(records, false, cx));
        }
        let rates: Vec<_> = notices(&mut bench).iter().map(|notice| notice.1.is_some()).collect();
        assert_eq!(rates, [false, other]);
    }
}

#[test]
fn what_a_link_between_satellites_does_is_reported_and_not_estimated() {
    let (mut bench, mut gateway) = (Bench::default(), Gateway::new(config(|config| config.window = 1)));
    let packet = data(0, &mut bench);
    gateway.number(&packet, Time::ZERO);
    bench.at(Time::ZERO, |cx| gateway.read(Records { first: 0, count: 1, corrupted: 1 }, true, cx));
    assert_eq!(notices(&mut bench), [(0, None)]);
    bench.at(Time::ZERO, |cx| gateway.read(Records { first: 0, count: 1, corrupted: 1 }, false, cx));
    bench.at(Time::ZERO, |cx| gateway.read(Records { first: 0, count: 1, corrupted: 1 }, false, cx));
    assert_eq!(notices(&mut bench)[1], (0, Some(1.0)));
}

#[test]
fn the_table_forgets_by_time_and_by_number() {
    let (mut bench, mut gateway) = (Bench::default(), Gateway::new(config(|_| {})));
    let at = |ms: u64| Time::ZERO + Duration::from_millis(ms);
    for number in 0..70_000 {
        let packet = data(number, &mut bench);
        gateway.number(&packet, at(u64::from(number / 100)));
    }
    assert_eq!(gateway.remembers(), 1 << 16);
    bench.at(at(1600), |cx| gateway.read(Records { first: 1, count: 1, corrupted: 1 }, false, cx));
    assert_eq!(notices(&mut bench), [], "forgotten packets are not reported");
    assert_eq!(gateway.wakes_at, at(1000));
    bench.at(at(1000), |cx| gateway.on_wakeup(cx));
    bench.at(at(2000), |cx| gateway.on_wakeup(cx));
    assert_eq!((gateway.remembers(), gateway.wakes_at), (0, Time::NEVER), "nothing is left of flows that have ended");
}

/// Records wait without a link back. Passing packets carry them, one each, or more if many wait.
#[test]
fn records_wait_for_packets_and_the_list_is_bounded() {
    let (mut bench, mut satellite) = (Bench::default(), Satellite::new(config(|_| {})));
    for id in 0..40_000 {
        let mut packet = data(id, &mut bench);
        let label = Label::Numbered { by: NodeId::new(3), id, is_recorded: false };
        bench.bodies.set_label(&mut packet, label, 8);
        assert_eq!(packet.size(), 88);
        bench.at(Time::ZERO, |cx| match id % 3 {
            0 => satellite.on_corrupted(&packet, cx),
            _ => satellite.on_packet(packet, cx),
        });
        for action in bench.out.take() {
            let Action::Forward(packet) = action else { panic!("{action:?}") };
            assert_eq!((bench.bodies.label(&packet), packet.size()), (None, 80));
        }
        if id % 3 == 0 {
            bench.bodies.release(&packet);
        }
    }
    let most = 8 << 12;
    assert!(satellite.waiting() > most - 16 && satellite.waiting() <= most, "{}", satellite.waiting());
    assert_eq!(bench.bodies.in_use(), 0);
}

#[test]
fn words_carry_records() {
    let records = Records { first: u32::MAX, count: 8, corrupted: 0b1010_0001 };
    for is_between in [false, true] {
        assert_eq!(of_words(to_words(records, is_between)), Some((records, is_between)));
    }
    assert_eq!(of_words([7, 0]), None);
    assert_eq!(records.iter().filter(|record| record.1).map(|record| record.0).collect::<Vec<_>>(), [u32::MAX, 4, 6]);
}
