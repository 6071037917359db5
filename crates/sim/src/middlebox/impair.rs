//! Duplication and reordering at a node, as `netem` does it: a packet is sent twice, or held for a while, at random and
//! independently of all others. With both probabilities zero it is transparent.

use super::{Middlebox, Outbox, Side};
use crate::packet::Packet;
use bentpipe_units::{Duration, Stream, Time};
use std::collections::VecDeque;

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub struct ImpairConfig {
    /// Probability that a packet is sent twice.
    pub duplicate: f64,
    /// Probability that a packet is held back for `hold`.
    pub reorder: f64,
    /// How long a reordered packet is held.
    pub hold: Duration,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Impair {
    config: ImpairConfig,
    dice: Stream,
    seen: u64,
    /// In order of release: all are held equally long.
    held: VecDeque<(Time, Packet)>,
}

impl Impair {
    pub(crate) fn new(config: &ImpairConfig, seed: u64, component: &str) -> Self {
        Self { config: config.clone(), dice: Stream::new(seed, component, "impair"), seen: 0, held: VecDeque::new() }
    }
}

impl Middlebox for Impair {
    fn on_packet(&mut self, now: Time, _from: Side, packet: Packet, out: &mut Outbox) {
        let draw = 2 * self.seen;
        self.seen += 1;
        if self.dice.uniform(draw) < self.config.duplicate {
            out.duplicate(&packet);
        }
        if self.dice.uniform(draw + 1) < self.config.reorder {
            self.held.push_back((now + self.config.hold, packet));
        } else {
            out.forward(packet);
        }
    }

    fn on_wakeup(&mut self, now: Time, out: &mut Outbox) {
        while self.held.front().is_some_and(|held| held.0 <= now) {
            if let Some((_, packet)) = self.held.pop_front() {
                out.forward(packet);
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
