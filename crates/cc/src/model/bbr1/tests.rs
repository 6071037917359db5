use super::*;
use crate::facts::RateSample;
use crate::testbench::bottleneck::{Bottleneck, SMSS};
use crate::testbench::{path, DELIVERY, RATE_SAMPLE};

const BW: f64 = 1_250_000.0;

fn bbr() -> Bbr1 {
    Bbr1::new(Init { smss: SMSS, cwnd: 10 * SMSS, ..Init::default() }, Bbr1Settings::default())
}

/// With a model of 10 Mbit/s and this round-trip time.
fn knowing(rtt_ms: u64, state: State) -> Bbr1 {
    let mut cc = bbr();
    cc.max_bw.update(0, BW);
    cc.min_rtt = Some(Duration::from_millis(rtt_ms));
    cc.pipe.has_been = true;
    cc.state = state;
    cc
}

fn near(value: f64, expected: f64, share: f64) {
    assert!((value / expected - 1.0).abs() <= share, "{value} instead of {expected}");
}

/// `docs/specs/bbr.md`, test 1: and three quanta, in even segments, two more in the probe.
#[test]
fn the_window_is_twice_the_product() {
    assert_eq!(knowing(500, State::ProbeBw { phase: 3 }).target(CWND_GAIN), 1_250_000 + 4000);
    assert_eq!(knowing(500, State::ProbeBw { phase: 0 }).target(CWND_GAIN), 1_250_000 + 6000);
    assert_eq!(knowing(0, State::ProbeBw { phase: 3 }).target(CWND_GAIN), 4000);
}

/// Test 9: the round-trip time rises from 20 to 60 ms.
#[test]
fn a_longer_path_is_held_below_the_bandwidth() {
    let window = knowing(20, State::ProbeBw { phase: 3 }).target(CWND_GAIN) as f64;
    near((window - 4000.0) / 0.060, 2.0 / 3.0 * BW, 1e-9);
    let mut link = Bottleneck::new(bbr(), 10.0, 20, 1000.0);
    link.run(5.0, |_| false);
    link.rtt = Duration::from_millis(60);
    // Packets under way keep their order.
    link.run(0.3, |_| false);
    let before = link.delivered;
    link.run(2.0, |_| false);
    near((link.delivered - before) as f64 / 2.0, 2.0 / 3.0 * BW, 0.1);
    link.run(15.0, |_| false);
    near(link.cc.min_rtt.unwrap().as_secs_f64(), 0.060, 0.05);
}

/// Issue 5: bandwidth and round-trip time within 3 %, and only the queues of the probes and the three quanta.
#[test]
fn a_constant_path_is_found() {
    for (mbps, rtt_ms) in [(10.0, 20), (10.0, 100), (20.0, 540), (1.0, 300)] {
        let mut link = Bottleneck::new(bbr(), mbps, rtt_ms, 1e9);
        link.run(20.0, |_| false);
        near(link.cc.bw(), link.rate, 0.03);
        let serialisation = SMSS as f64 / link.rate;
        near(link.cc.min_rtt.unwrap().as_secs_f64(), rtt_ms as f64 / 1000.0 + serialisation, 0.03);
        let (mut most, mut sum, mut acks) = (0.0_f64, 0.0, 0.0);
        link.run(20.0, |link| {
            most = most.max(link.waiting);
            sum += link.waiting;
            acks += 1.0;
            false
        });
        let bdp = link.bdp() / SMSS as f64;
        assert!(most <= 0.27 * bdp + 8.0, "{most} waiting, {bdp} on the way");
        assert!(sum / acks <= 0.10 * bdp + 6.0, "{} waiting, {bdp} on the way", sum / acks);
    }
}

/// log2(BDP / initial window) round trips, and three that show no growth; then what exceeds the product drains.
#[test]
fn startup_and_drain_take_the_rounds_of_the_model() {
    for (mbps, rtt_ms) in [(10.0, 100), (20.0, 540), (100.0, 300)] {
        let mut link = Bottleneck::new(bbr(), mbps, rtt_ms, 1e9);
        link.run(60.0, |link| link.cc.state != State::Startup);
        let rounds = libm::log2(link.bdp() / (10.0 * SMSS as f64)) + 3.0;
        let startup = link.cc.rounds.count as f64;
        // The pace rises within a round trip too.
        assert!(startup >= rounds - 2.0 && startup <= rounds + 3.0, "{startup} round trips, {rounds}");
        let began = link.now;
        link.run(60.0, |link| link.cc.state != State::Drain);
        // 2.9 products in flight leave at a rate of 1 - 1 / 2.885.
        let drain = (link.now - began).as_secs_f64() / link.rtt.as_secs_f64();
        near(drain, 1.9 / (1.0 - 1.0 / HIGH_GAIN), 0.2);
        assert!(matches!(link.cc.state, State::ProbeBw { .. }));
    }
}

/// The rate after some time with each `every`-th segment lost, over that of the path.
fn share(loss_every: u64, settings: Bbr1Settings) -> f64 {
    let cc = Bbr1::new(Init { smss: SMSS, cwnd: 10 * SMSS, ..Init::default() }, settings);
    let mut link = Bottleneck::new(cc, 10.0, 100, 1000.0);
    link.loss_every = loss_every;
    link.run(10.0, |_| false);
    let before = link.delivered;
    link.run(20.0, |_| false);
    (link.delivered - before) as f64 / 20.0 / link.rate
}

/// Losses take what they take, and nothing more, up to a fifth of all.
#[test]
fn random_losses_are_ignored() {
    for (loss_every, least) in [(100, 0.93), (50, 0.91), (20, 0.82), (10, 0.65)] {
        let share = share(loss_every, Bbr1Settings::default());
        assert!(share >= least, "one of {loss_every}: {share}");
    }
}

/// Beyond that the gain of the probe does not make up for the losses any more.
#[test]
fn a_third_lost_is_too_much() {
    let without = Bbr1Settings { policer: false, ..Bbr1Settings::default() };
    assert!(share(3, without) < 0.3);
}

#[test]
fn probe_rtt_comes_every_ten_seconds() {
    let mut link = Bottleneck::new(bbr(), 10.0, 100, 1e9);
    let mut stays = Vec::new();
    let mut state = State::Startup;
    link.run(35.0, |link| {
        if (link.cc.state == State::ProbeRtt) != (state == State::ProbeRtt) {
            stays.push(link.now.as_secs_f64());
        }
        if link.cc.state == State::ProbeRtt {
            assert!(link.cc.cwnd() <= 4 * SMSS && link.cc.holds_back());
        }
        state = link.cc.state;
        false
    });
    assert_eq!(stays.len(), 6, "{stays:?}");
    assert!(stays[0] >= 10.0 && stays[0] <= 10.6, "{stays:?}");
    for stay in stays.chunks(2) {
        let length = stay[1] - stay[0];
        assert!((0.2..0.6).contains(&length), "{stays:?}");
    }
    assert!(stays[2] - stays[1] >= 10.0);
}

/// A delivery by an ACK and the total so far, in segments; no sample of the rate.
fn delivery(newly: u64, in_flight: u64, delivered: u64) -> Delivery {
    Delivery {
        newly_delivered: newly * SMSS,
        delivered: delivered * SMSS,
        in_flight: in_flight * SMSS,
        is_repairing: true,
        ..DELIVERY
    }
}

/// Packet conservation in the first round trip of recovery, the model after it, and the window back at the end.
#[test]
fn recovery_conserves_packets_for_a_round() {
    let mut cc = knowing(100, State::ProbeBw { phase: 3 });
    cc.cwnd = 250 * SMSS;
    let view = PathState { smss: SMSS, ..path(100 * SMSS) };
    cc.on_congestion(Congestion::FastRetransmit, &view);
    cc.on_delivery(&delivery(2, 90, 100), &view);
    assert_eq!(cc.cwnd(), 92 * SMSS);
    let lost = LostSegment {
        start: 0,
        len: 5 * SMSS,
        flight_before: 0,
        lost: 5 * SMSS,
        is_app_limited: false,
        prior_delivered: 0,
        delivered: 0,
        has_sack: true,
    };
    cc.on_lost(&lost, &view);
    cc.on_delivery(&delivery(1, 80, 101), &view);
    assert_eq!(cc.cwnd(), 87 * SMSS, "lost segments leave the window");
    cc.on_delivery(&delivery(1, 95, 102), &view);
    assert_eq!(cc.cwnd(), 96 * SMSS, "never below what is in flight and was delivered");
    cc.on_recovery_exit(&view);
    cc.on_delivery(&delivery(2, 90, 104), &view);
    assert_eq!(cc.cwnd(), 252 * SMSS);
    cc.on_rto(true, &view);
    assert_eq!(cc.cwnd(), SMSS);
    cc.on_recovery_exit(&view);
    cc.on_delivery(&delivery(4, 90, 108), &view);
    assert!(cc.cwnd() >= 252 * SMSS);
}

/// Linux looks at the state once an ACK was processed: where random losses follow one another there is one recovery, and packets
/// are conserved in its first round trip only.
#[test]
fn a_recovery_that_begins_as_another_ends_goes_on_with_it() {
    let mut cc = knowing(100, State::ProbeBw { phase: 3 });
    cc.cwnd = 200 * SMSS;
    let view = PathState { smss: SMSS, ..path(100 * SMSS) };
    cc.on_congestion(Congestion::FastRetransmit, &view);
    cc.on_delivery(&delivery(2, 90, 100), &view);
    cc.recovery.conserves_packets = false;
    cc.on_recovery_exit(&view);
    cc.on_congestion(Congestion::FastRetransmit, &view);
    cc.on_delivery(&delivery(2, 50, 102), &view);
    assert_eq!(cc.cwnd(), 94 * SMSS, "it grows by the delivered data, from 92");
    cc.on_recovery_exit(&view);
    cc.on_delivery(&delivery(2, 50, 104), &view);
    assert_eq!(cc.cwnd(), 202 * SMSS, "and is back when the last of them ends");
    cc.on_congestion(Congestion::FastRetransmit, &view);
    cc.on_delivery(&delivery(2, 50, 106), &view);
    assert_eq!(cc.cwnd(), 52 * SMSS, "a recovery that begins later conserves packets");
}

/// RFC 8985 §7.4.2: such a loss begins a recovery and ends it, with the same ACK.
#[test]
fn a_loss_that_a_probe_repaired_conserves_no_packets() {
    let mut cc = knowing(100, State::ProbeBw { phase: 3 });
    cc.cwnd = 200 * SMSS;
    let view = PathState { smss: SMSS, ..path(100 * SMSS) };
    cc.on_congestion(Congestion::FastRetransmit, &view);
    cc.on_recovery_exit(&view);
    cc.on_delivery(&delivery(2, 50, 100), &view);
    assert_eq!(cc.cwnd(), 202 * SMSS);
}

/// draft-cardwell-iccrg-bbr-congestion-control-00 §4.2.1: `SRTT ? SRTT : Inf`, which the larger data packets never undercut.
#[test]
fn the_handshake_gives_the_first_round_trip_time() {
    let rtt = Some(Duration::from_millis(600));
    let cc = Bbr1::new(Init { rtt, ..Init::default() }, Bbr1Settings::default());
    assert_eq!(cc.min_rtt, rtt);
}

/// tcp_ack_update_rtt of Linux: a retransmission has no other round-trip time.
#[test]
fn the_echo_of_a_retransmission_is_a_round_trip_time() {
    let ms = Duration::from_millis;
    let mut cc = knowing(100, State::ProbeBw { phase: 3 });
    let view = PathState { smss: SMSS, now: Time::ZERO + ms(5000), ..path(100 * SMSS) };
    cc.on_delivery(&Delivery { echoed_rtt: Some(ms(99)), ..delivery(1, 50, 100) }, &view);
    assert_eq!((cc.min_rtt, cc.min_rtt_at), (Some(ms(99)), view.now));
    // The segment that was sent once gives the exact value.
    let (interval, rtt) = (ms(100), Some(ms(100)));
    let rate = RateSample { delivered: SMSS, interval, rtt, flight_before: SMSS, ..RATE_SAMPLE };
    cc.on_delivery(&Delivery { rate: Some(rate), echoed_rtt: Some(ms(98)), ..delivery(1, 50, 101) }, &view);
    assert_eq!(cc.min_rtt, Some(ms(99)));
}

/// All but the phase of 0.75, and for each seed the same.
#[test]
fn the_first_phase_is_drawn_from_the_seed() {
    let phases = |seed| {
        let mut cc = Bbr1::new(Init { seed, ..Init::default() }, Bbr1Settings::default());
        std::array::from_fn::<_, 50, _>(|_| {
            cc.probe_bw(Time::ZERO);
            match cc.state {
                State::ProbeBw { phase } => phase,
                _ => unreachable!(),
            }
        })
    };
    assert_eq!(phases(1), phases(1));
    assert_ne!(phases(1), phases(2));
    for phase in 0..8 {
        assert_eq!(phases(1).contains(&phase), phase != 1);
    }
}

/// Linux, bbr_inflight: a phase that drains is over while three quanta, in even segments, are in flight beyond the product.
#[test]
fn what_is_on_its_way_to_the_path_is_no_queue() {
    let mut cc = knowing(100, State::ProbeBw { phase: 1 });
    cc.phase.began_at = Time::ZERO;
    let product = 125;
    cc.update_phase((product + 4) * SMSS, Time::ZERO);
    assert_eq!(cc.state, State::ProbeBw { phase: 1 });
    cc.update_phase((product + 3) * SMSS, Time::ZERO);
    assert_eq!(cc.state, State::ProbeBw { phase: 2 });
}
