//! Duplicates and reorders packets at random, as `netem` does.
//!
//! # How it works
//!
//! A packet is sent twice, or held for some time, independently of all others. With both probabilities zero it is
//! transparent.
//!
//! # Position on the path
//!
//! At any node. Its only state is the held packets.
//!
//! # When it helps
//!
//! It shows whether a sender takes reordering for loss. Duplicates can look like help. A sender that undoes reductions
//! (`tcp.spurious_detection`, as Linux does) takes the DSACK of a duplicated packet for proof that its retransmission
//! was needless. One duplicate in a thousand gave a Linux sender over GEO, with as many errors, 1.38 (1.21 to 1.59)
//! times the goodput. Without that detection it gave 1.06 (0.98 to 1.15).
//!
//! # When it hurts
//!
//! Duplicates take link rate. Reordered packets cost a sender a reduction if it takes them for losses.

use super::needs::{unless, Unsuitable};
use super::{Context, Middlebox, Side, Way};
use crate::distribution::Between;
use crate::packet::Packet;
use bentpipe_units::settings::Chance;
use bentpipe_units::{settings, Duration, Stream, Time};
use std::collections::VecDeque;

settings! {
    /// Duplication and reordering.
    pub struct ImpairConfig {
        /// Probability that a packet is duplicated.
        duplicate: f64 as Chance = 0.0;
        /// Probability that a packet is held, so that later packets overtake it.
        reorder: f64 as Chance = 0.0;
        /// Time that a packet is held.
        hold: (Duration, Duration) as Between = (Duration::ZERO, Duration::ZERO);
        /// Direction of the packets that are impaired.
        direction: Way = Way::Both;
    }
}

impl ImpairConfig {
    pub(super) fn unsuitable(&self) -> Vec<Unsuitable> {
        let fits = self.reorder == 0.0 || self.hold.1 > Duration::ZERO;
        unless(fits, "reorder", "needs a time to hold packets", "expected hold, like \"10 ms\", or 0")
    }
}

/// The middlebox, with the packets that it holds.
#[derive(Clone, Debug)]
pub struct Impair {
    config: ImpairConfig,
    dice: Stream,
    holds: Stream,
    seen: u64,
    /// Held packets, in order of release. Packets due together are in order of arrival.
    held: VecDeque<(Time, Packet)>,
}

impl Impair {
    pub(crate) fn new(config: &ImpairConfig, seed: u64, component: &str) -> Self {
        Self {
            config: *config,
            dice: Stream::new(seed, component, "impair"),
            holds: Stream::new(seed, component, "impair/hold"),
            seen: 0,
            held: VecDeque::new(),
        }
    }

    /// Returns the time that packet number `index` is held.
    fn hold(&mut self, index: u64) -> Duration {
        let (least, most) = self.config.hold;
        if least == most {
            return least;
        }
        least + Duration::from_ps(self.holds.below(index, most.saturating_sub(least).as_ps()))
    }
}

impl Middlebox for Impair {
    fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        if !self.config.direction.is_from(Side::origin_of(&packet)) {
            return cx.forward(packet);
        }
        let index = self.seen;
        self.seen += 1;
        if self.dice.uniform(2 * index) < self.config.duplicate {
            let copy = cx.copy_of(&packet);
            cx.emit(copy);
        }
        if self.dice.uniform(2 * index + 1) < self.config.reorder {
            let due = cx.now + self.hold(index);
            let place = self.held.partition_point(|held| held.0 <= due);
            self.held.insert(place, (due, packet));
        } else {
            cx.forward(packet);
        }
    }

    fn on_wakeup(&mut self, cx: &mut Context<'_>) {
        while self.held.front().is_some_and(|held| held.0 <= cx.now) {
            if let Some((_, packet)) = self.held.pop_front() {
                cx.forward(packet);
            }
        }
    }

    fn next_wakeup(&self) -> Time {
        self.held.front().map_or(Time::NEVER, |held| held.0)
    }

    fn held(&self) -> usize {
        self.held.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::EndpointId;
    use crate::middlebox::{Action, Bench};
    use crate::packet::{Bodies, Origin};
    use bentpipe_tcp::Segment;

    fn packet(flow: u32, to_sender: bool) -> Packet {
        let end = EndpointId::both(flow as usize)[usize::from(to_sender)];
        Packet::new(&Segment::default(), &Origin::of(end, flow.into()), &mut Bodies::default())
    }

    /// Sends `packets` packets a microsecond apart, every other one back; gives (number, whether back) as they leave.
    fn run(config: &ImpairConfig, packets: u32) -> Vec<(u32, bool)> {
        let (mut impair, mut bench) = (Impair::new(config, 1, "node/n/0"), Bench::default());
        for flow in 0..packets {
            let now = Time::ZERO + Duration::from_micros(u64::from(flow));
            bench.at(now, |cx| impair.on_wakeup(cx));
            let packet = packet(flow, flow % 2 == 1);
            bench.at(now, |cx| impair.on_packet(packet, cx));
        }
        bench.at(Time::NEVER, |cx| impair.on_wakeup(cx));
        assert_eq!(impair.held(), 0);
        let packet = |action: Action| match action {
            Action::Forward(packet) | Action::Emit(packet) => (packet.session, packet.is_to_sender()),
            other => unreachable!("{other:?}"),
        };
        bench.out.take().into_iter().map(packet).collect()
    }

    #[test]
    fn as_many_are_sent_twice_and_held_back_as_asked_for() {
        let hold = (Duration::from_micros(10), Duration::from_micros(10));
        let config = ImpairConfig { direction: Way::Both, duplicate: 0.1, reorder: 0.2, hold };
        let left = run(&config, 100_000);
        assert!((left.len() as f64 / 1e5 - 1.1).abs() < 0.004, "{}", left.len());
        let early = left.iter().zip(left.iter().skip(1)).filter(|(a, b)| a.0 > b.0).count() as f64;
        // Held packets come back one by one among the others.
        assert!((early / 1e5 - 0.2).abs() < 0.06, "{early}");
    }

    #[test]
    fn one_direction_can_be_spared() {
        for (direction, spared) in [(Way::ToReceiver, true), (Way::ToSender, false)] {
            let hold = (Duration::ZERO, Duration::from_micros(50));
            let config = ImpairConfig { direction, duplicate: 0.3, reorder: 0.5, hold };
            let left = run(&config, 10_000);
            let order = |back: bool| left.iter().filter(move |packet| packet.1 == back).map(|packet| packet.0);
            assert_eq!(order(spared).count(), 5000);
            assert!(order(spared).is_sorted() && !order(!spared).is_sorted());
            assert!(order(!spared).count() > 6000);
        }
    }
}
