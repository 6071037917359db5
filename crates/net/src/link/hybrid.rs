//! Hybrid ARQ: decodes a packet with all its copies so far.

use super::profile::Pieces;
use super::states::TimedStates;
use bentpipe_model::spec::{Arq, Combiner, Link, SignalOverTime, Stay};
use bentpipe_units::{Stream, Time};

/// The decoder of a link that combines copies.
#[derive(Clone, Debug)]
pub(super) struct Hybrid {
    combiner: Combiner,
    /// Signals of first transmissions, of first copies, and so on: each in order of time.
    signals: Vec<Signal>,
    /// Draws for the copies.
    draws: Vec<Stream>,
    end: Time,
}

#[derive(Clone, Debug)]
enum Signal {
    Steps(Pieces<f64>),
    States(TimedStates, [f64; 2]),
}

impl Hybrid {
    /// Nothing is computed after `end`, the end of the run.
    pub(super) fn of(spec: &Link, arq: Arq, seed: u64, end: Time) -> Option<Self> {
        let combiner = spec.coded.as_deref()?.combiner(arq.combining, spec.interleave.is_some()).ok().flatten()?;
        let name = format!("link/{}", spec.name);
        let signal = match &combiner.signal {
            SignalOverTime::Profile(levels) => Signal::Steps(Pieces::of(levels)),
            // The states of the link's error model.
            SignalOverTime::States(Stay::Time { good, bad }, levels) => {
                Signal::States(TimedStates::new(*good, *bad, Stream::new(seed, &name, "error/state"), end), *levels)
            }
            SignalOverTime::States(Stay::Packets { .. }, _) => return None,
        };
        let signals = vec![signal; arq.retransmissions as usize + 1];
        let draws =
            (1..=arq.retransmissions).map(|round| Stream::new(seed, &name, &format!("error/{round}"))).collect();
        Some(Self { combiner, signals, draws, end })
    }

    /// The signal of the transmission at `at`: first (0), first copy (1), and so on.
    pub(super) fn signal(&mut self, round: usize, at: Time) -> f64 {
        if at > self.end {
            return f64::INFINITY;
        }
        match &mut self.signals[round] {
            Signal::Steps(levels) => {
                levels.seek(at);
                levels.value()
            }
            Signal::States(states, levels) => levels[usize::from(states.is_bad_at(at))],
        }
    }

    /// Whether a packet with signal `held` is still damaged after the copy of this round, number `index`, whose last bit
    /// leaves at `at`.
    pub(super) fn has_error(&mut self, at: Time, (round, index): (usize, u64), bytes: u64, held: &mut f64) -> bool {
        let before = self.combiner.damage(*held, bytes);
        let copy = self.signal(round + 1, at);
        *held = self.combiner.with(*held, copy);
        let now = self.combiner.damage(*held, bytes);
        // Conditional probability: this packet was damaged in all rounds before.
        now > 0.0 && self.draws[round].uniform(index) * before < now
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{packet, spec};
    use super::super::{LazyLink, Losses};
    use bentpipe_model::spec::{
        Arq, Coded, Coding, Combining, ErrorModel, ErrorUnit, Link, Modcod, Order, Profile, QueueLimit, Signal, Stay,
    };
    use bentpipe_units::settings::Level;
    use bentpipe_units::{Duration, Rate, Time};

    fn link(coding: Coding, error: ErrorModel, retransmissions: u32, combining: Combining) -> Link {
        let plain = spec(QueueLimit::Unlimited);
        let coded = Coded { coding, rate: plain.rate.clone(), delay: plain.delay.clone(), error };
        let meets = coded.meets(false, Duration::from_secs(1)).unwrap();
        let arq = Some(Arq { retransmissions, order: Order::InOrder, combining });
        let (rate, delay) =
            (Profile::Constant(Rate::from_bps(1_000_000_000)), Profile::Constant(Duration::from_millis(1)));
        Link { error: meets.error, rate, delay, coded: Some(Box::new(coded)), arq, ..plain }
    }

    /// Returns the share of lost packets and the mean number of transmissions.
    fn outcome(link: &Link, count: u32) -> [f64; 2] {
        let (mut lazy, mut losses, mut lost) = (LazyLink::new(link, 7, Time::NEVER), Losses::new(), 0);
        for id in 0..count {
            lazy.accept(Time::ZERO, &packet(id, 1000), &mut losses);
        }
        while lazy.next_arrival() != Time::NEVER {
            let now = lazy.next_arrival();
            lazy.advance(now, &mut losses);
            lost += lazy.take(now).map_or(0, |packet| u32::from(packet.is_damaged()));
        }
        let resent = lazy.row("l", Time::NEVER).resent_packets as f64;
        [f64::from(lost) / f64::from(count), 1.0 + resent / f64::from(count)]
    }

    fn near(measured: f64, expected: f64, tolerance: f64) {
        assert!((measured / expected - 1.0).abs() < tolerance, "{measured} {expected}");
    }

    /// 8 in 100 bits wrong on the channel: the code leaves p1 = 0.5451 of packets of 1000 B damaged, and two combined copies
    /// p2 = 1.064e-5 (`erfc` of Python). So the second transmission saves nearly all packets, and p1 are sent twice. Without
    /// combining, p1² = 0.2971 are lost.
    #[test]
    fn what_is_left_is_what_the_code_leaves_of_all_copies_together() {
        let convolutional = Coding::Convolutional { eb_n0: None, burst: 5 };
        let error = ErrorModel::Independent { unit: ErrorUnit::Bit, rate: 0.08 };
        let of = |how| outcome(&link(convolutional.clone(), error.clone(), 1, how), 200_000);
        let [alone, together] = [of(Combining::None), of(Combining::Chase)];
        near(alone[0], 0.2971, 0.01);
        assert!(together[0] < 5e-5, "{together:?}");
        near(together[1], 1.5451, 0.005);
    }

    /// At 15 in 100: all damaged after one transmission, 0.2260 after two, 5.071e-4 after three. All need the second, 0.2260
    /// the third: 2.2260 transmissions.
    #[test]
    fn each_copy_fails_with_the_share_that_those_before_it_left() {
        let convolutional = Coding::Convolutional { eb_n0: None, burst: 5 };
        let error = ErrorModel::Independent { unit: ErrorUnit::Bit, rate: 0.15 };
        let [lost, sends] = outcome(&link(convolutional, error, 2, Combining::Chase), 200_000);
        near(lost, 5.071e-4, 0.25);
        near(sends, 2.2260, 0.002);
    }

    /// 8PSK 2/3 at 2 dB (it needs 6.62 dB): one transmission never passes. Three copies with added signals pass, or two with
    /// added information.
    #[test]
    fn below_the_threshold_copies_together_still_pass() {
        let dvb = || Coding::DvbS2 {
            es_n0: Signal::Constant(Level(2.0)),
            modcod: Some(Modcod::Psk8x2of3),
            acm: None,
            implementation_loss: Level(0.0),
            losses: bentpipe_model::spec::Losses::Step,
        };
        let of = |how| outcome(&link(dvb(), ErrorModel::None, 3, how), 1000);
        assert_eq!(of(Combining::None), [1.0, 4.0]);
        assert_eq!(of(Combining::Chase), [0.0, 3.0]);
        assert_eq!(of(Combining::Incremental), [0.0, 2.0]);
    }

    /// A channel that is bad (a bit in five wrong) for half of the time, in periods longer than the link's round trip: a copy
    /// of a packet damaged in a bad period often meets the same period. Two bad copies leave more errors than a bad and a
    /// good one.
    #[test]
    fn a_copy_meets_the_channel_of_its_own_time() {
        let stay = |ms| Stay::Time { good: Duration::from_micros(ms), bad: Duration::from_micros(ms) };
        let of = |us| {
            let unit = ErrorUnit::Bit;
            let error = ErrorModel::GilbertElliott { unit, stay: stay(us), rate_good: 1e-6, rate_bad: 0.2 };
            outcome(&link(Coding::Convolutional { eb_n0: None, burst: 5 }, error, 1, Combining::Chase), 100_000)
        };
        // No packet survives one or two bad copies, and all survive a bad and a good one.
        let [slow, fast] = [of(200_000), of(20)];
        assert!(slow[0] > 0.8 * (slow[1] - 1.0), "{slow:?}");
        near(fast[0], 0.25, 0.05);
    }
}
