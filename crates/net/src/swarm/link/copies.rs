//! Retransmission on the link in its simplest form: a list of all copies of the run.

use super::errors::NaiveErrors;
use super::times::{delay, finish, piece_at, Spells};
use bentpipe_model::spec::{Arq, Combiner, Link, SignalOverTime, Stay};
use bentpipe_units::{Stream, Time};

/// The copies of a link.
#[derive(Debug)]
pub(super) struct NaiveCopies {
    rounds: Vec<CopyRound>,
    decoder: Option<Decoder>,
    /// The transmission times of all copies.
    pub(super) sent: Vec<(Time, Time)>,
    pub(super) packets: u64,
    pub(super) bytes: u64,
}

/// First copies, second copies, and so on. Copies of a round leave in order.
#[derive(Debug)]
struct CopyRound {
    errors: NaiveErrors,
    draws: Stream,
    copies: u64,
    last: Time,
}

/// Decodes a packet from the signals of all its copies.
#[derive(Debug)]
struct Decoder {
    combiner: Combiner,
    states: Option<Spells>,
    end: Time,
}

impl NaiveCopies {
    pub(super) fn of(link: &Link, arq: Arq, seed: u64, end: Time) -> Self {
        let name = format!("link/{}", link.name);
        let round = |number: u32| CopyRound {
            errors: NaiveErrors::of(link, number, seed, end),
            draws: Stream::new(seed, &name, &format!("error/{number}")),
            copies: 0,
            last: Time::ZERO,
        };
        let combiner = link.coded.as_ref().and_then(|coded| coded.combiner(arq.combining, false).ok().flatten());
        let decoder = combiner.map(|combiner| {
            let states = match &combiner.signal {
                SignalOverTime::States(Stay::Time { good, bad }, _) => {
                    Some(Spells::draw([*good, *bad], Stream::new(seed, &name, "error/state"), end))
                }
                _ => None,
            };
            Decoder { combiner, states, end }
        });
        let rounds = (1..=arq.retransmissions).map(round).collect();
        Self { rounds, decoder, sent: Vec::new(), packets: 0, bytes: 0 }
    }

    /// Returns the end of a transmission between `begin` and `end` when each copy that it meets has delayed it.
    pub(super) fn delayed(&self, begin: Time, mut end: Time) -> Time {
        let mut copies: Vec<_> = self.sent.iter().filter(|copy| copy.1 > begin).collect();
        copies.sort();
        for copy in copies {
            if copy.0 < end {
                end += copy.1 - copy.0.max(begin);
            }
        }
        end
    }

    /// Sends copies of a damaged packet, which left at `left`, until one is undamaged. Returns when the last one left,
    /// and whether that is damaged. `size` is the packet's size, `wire` its size on the link.
    pub(super) fn repair(&mut self, link: &Link, mut left: Time, size: u64, wire: u64) -> (Time, bool) {
        let mut held = self.decoder.as_ref().map_or(0.0, |decoder| decoder.signal(left));
        for number in 0..self.rounds.len() {
            if left == Time::NEVER {
                break;
            }
            // The report arrives after a round trip of the link.
            let due = left + delay(link, left) * 2;
            left = self.send(link, due.max(self.rounds[number].last), wire);
            let round = &mut self.rounds[number];
            let is_damaged = match &self.decoder {
                None => round.errors.hits(left, round.copies, wire),
                Some(decoder) => {
                    let before = decoder.combiner.damage(held, wire);
                    held = decoder.combiner.with(held, decoder.signal(left));
                    // Of the packets that were damaged before, this share is still damaged.
                    round.draws.uniform(round.copies) * before < decoder.combiner.damage(held, wire)
                }
            };
            (round.last, round.copies) = (left, round.copies + 1);
            self.packets += 1;
            self.bytes += size;
            if !is_damaged {
                return (left, false);
            }
        }
        (left, true)
    }

    /// Sends a copy in the first time from `from` that no other copy has. Returns when its last bit leaves.
    fn send(&mut self, link: &Link, mut from: Time, wire: u64) -> Time {
        loop {
            let to = finish(&link.rate, from, wire);
            let met = self.sent.iter().filter(|copy| copy.0 < to && copy.1 > from).map(|copy| copy.1).min();
            let Some(later) = met else {
                if to != Time::NEVER {
                    self.sent.push((from, to));
                }
                return to;
            };
            from = later;
        }
    }
}

impl Decoder {
    /// Returns the signal of a transmission that ends at `at`. It is perfect after the end of the run.
    fn signal(&self, at: Time) -> f64 {
        match (&self.combiner.signal, &self.states) {
            _ if at > self.end => f64::INFINITY,
            (SignalOverTime::Profile(levels), _) => piece_at(levels, at).value,
            (SignalOverTime::States(_, levels), states) => {
                levels[usize::from(states.as_ref().is_some_and(|spells| spells.is_bad_at(at)))]
            }
        }
    }
}
