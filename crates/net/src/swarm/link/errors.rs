//! Error models from their definitions: a packet of n units is hit with probability 1 - (1 - r)^n.
//!
//! Each model draws the same numbers of the same streams as its counterpart in [`link`](crate::link), so that both hit
//! the same packets.

use super::times::{piece_at, Spells};
use bentpipe_model::spec::{Bursts, ErrorModel, ErrorUnit, Interleave, Link, Profile, Stay, MILLIONTHS};
use bentpipe_units::{Duration, Stream, Time};

/// The errors of a link, or of one round of its retransmissions.
#[derive(Debug)]
pub(super) struct NaiveErrors {
    model: Model,
    draws: Stream,
    end: Time,
}

#[derive(Debug)]
enum Model {
    None,
    Independent { unit: ErrorUnit, rate: f64, walk: Walk },
    TwoStates { unit: ErrorUnit, rates: [f64; 2], states: States },
    Varying { unit: ErrorUnit, rates: Profile<f64> },
    Bursts { bursts: Bursts, spells: Spells },
    Blocks(Profile<f64>),
    Listed { list: Vec<u64>, period: Option<u64> },
    Interleaved { interleave: Interleave, channel: Channel },
}

/// All units of a link in one line, the next wrong one among them.
#[derive(Debug, Default)]
struct Walk {
    sent: u128,
    next_wrong: u128,
    drawn: u64,
}

#[derive(Debug)]
enum States {
    InTime(Spells),
    InPackets(Runs),
}

/// Runs of packets in alternating states: the number of the first packet after each run.
#[derive(Debug)]
struct Runs {
    begins_bad: bool,
    /// Probability that a state ends after a packet: good, bad.
    leave: [f64; 2],
    lengths: Stream,
    ends: Vec<u64>,
}

/// The byte error rate in front of an interleaver.
#[derive(Debug)]
enum Channel {
    Steady(f64),
    TwoStates([f64; 2], Spells),
    Varying(ErrorUnit, Profile<f64>),
}

impl NaiveErrors {
    /// Round 0 is that of first transmissions. A list of packets names these only.
    pub(super) fn of(link: &Link, round: u32, seed: u64, end: Time) -> Self {
        let name = format!("link/{}", link.name);
        let purpose = if round == 0 { "error".to_owned() } else { format!("error/{round}") };
        let states = || Stream::new(seed, &name, "error/state");
        let mut draws = Stream::new(seed, &name, &purpose);
        let interleave = link.interleave.as_deref().copied().filter(Interleave::does_something);
        let model = match (&link.error, interleave) {
            (ErrorModel::None, _) => Model::None,
            (ErrorModel::Independent { unit, rate }, Some(interleave)) => {
                Model::Interleaved { interleave, channel: Channel::Steady(per_byte(*unit, *rate)) }
            }
            (ErrorModel::Independent { rate: 0.0, .. }, None) => Model::None,
            (ErrorModel::Independent { unit, rate }, None) => {
                let walk = Walk { next_wrong: Walk::gap(*rate, 0, &mut draws), sent: 0, drawn: 1 };
                Model::Independent { unit: *unit, rate: *rate, walk }
            }
            (ErrorModel::GilbertElliott { unit, stay, rate_good, rate_bad }, interleave) => {
                let rates = [*rate_good, *rate_bad];
                match (*stay, interleave) {
                    (Stay::Time { good, bad }, None) => {
                        let spells = Spells::draw([good, bad], states(), end);
                        Model::TwoStates { unit: *unit, rates, states: States::InTime(spells) }
                    }
                    (Stay::Time { good, bad }, Some(interleave)) => {
                        // The block of the last packet is on the air after the end.
                        let spells = Spells::draw([good, bad], states(), end + interleave.delay());
                        let rates = rates.map(|rate| per_byte(*unit, rate));
                        Model::Interleaved { interleave, channel: Channel::TwoStates(rates, spells) }
                    }
                    (Stay::Packets { good, bad }, _) => {
                        let runs = Runs::new([good, bad], states());
                        Model::TwoStates { unit: *unit, rates, states: States::InPackets(runs) }
                    }
                }
            }
            (ErrorModel::Profile { unit, rates }, Some(interleave)) => {
                Model::Interleaved { interleave, channel: Channel::Varying(*unit, rates.clone()) }
            }
            (ErrorModel::Profile { unit, rates }, None) => Model::Varying { unit: *unit, rates: rates.clone() },
            (ErrorModel::Bursts(bursts), _) => {
                let spells = Spells::draw(bursts.stays(), states(), end);
                Model::Bursts { bursts: bursts.clone(), spells }
            }
            (ErrorModel::Blocks { rates }, _) => Model::Blocks(rates.clone()),
            (ErrorModel::Arrivals { .. }, _) if round > 0 => Model::None,
            (ErrorModel::Arrivals { list, period }, _) => Model::Listed { list: list.clone(), period: *period },
        };
        Self { model, draws, end }
    }

    /// Whether packet number `index` of the link, whose last bit leaves at `at`, is hit. States have no errors after the
    /// end of the run.
    pub(super) fn hits(&mut self, at: Time, index: u64, bytes: u64) -> bool {
        let Self { model, draws, end } = self;
        let survival = match model {
            Model::None => 1.0,
            Model::Independent { unit, rate, walk } => return walk.pass(units(*unit, bytes), *rate, draws),
            Model::Listed { list, period } => return list.contains(&period.map_or(index, |period| index % period)),
            Model::TwoStates { .. } | Model::Interleaved { .. } | Model::Bursts { .. } if at > *end => 1.0,
            Model::Bursts { bursts, spells } => {
                // Of all bursts, those are kept whose draw is below the share at this time over the largest one.
                let share = piece_at(&bursts.rates, at).value / bursts.most;
                return spells.is_bad_at(at) && draws.uniform(spells.number_at(at)) < share;
            }
            Model::TwoStates { unit, rates, states } => {
                let is_bad = match states {
                    States::InTime(spells) => spells.is_bad_at(at),
                    States::InPackets(runs) => runs.is_bad_at(index),
                };
                clean(rates[usize::from(is_bad)], units(*unit, bytes))
            }
            Model::Varying { unit, rates } => clean(piece_at(rates, at).value, units(*unit, bytes)),
            Model::Blocks(rates) => clean_blocks(piece_at(rates, at).value, 8 * bytes),
            Model::Interleaved { interleave, channel } => {
                decoded(interleave, channel.mean_rate(at, interleave.span), bytes)
            }
        };
        draws.uniform(index) >= survival
    }
}

fn units(unit: ErrorUnit, bytes: u64) -> u64 {
    match unit {
        ErrorUnit::Bit => 8 * bytes,
        ErrorUnit::Byte => bytes,
        ErrorUnit::Packet => 1,
    }
}

/// Returns (1 - r)^n.
fn clean(rate: f64, units: u64) -> f64 {
    libm::pow(1.0 - rate, units as f64)
}

/// Returns the probability that all blocks of a packet are right: the mean over the 1024 places where it may begin.
fn clean_blocks(rate: f64, bits: u64) -> f64 {
    let fewest = bits.div_ceil(1024);
    // From these places it reaches into one more.
    let late = 1023 - (fewest * 1024 - bits);
    (clean(rate, fewest) * (1024 - late) as f64 + clean(rate, fewest + 1) * late as f64) / 1024.0
}

fn per_byte(unit: ErrorUnit, rate: f64) -> f64 {
    1.0 - clean(rate, units(unit, 1))
}

impl Walk {
    /// Returns the right units before a wrong one: geometric, by inversion.
    fn gap(rate: f64, number: u64, draws: &mut Stream) -> u128 {
        (libm::log(draws.uniform_positive(number)) / libm::log1p(-rate)) as u64 as u128
    }

    /// Sends the units of a packet. The next wrong unit after a hit is drawn from the end of the packet.
    fn pass(&mut self, units: u64, rate: f64, draws: &mut Stream) -> bool {
        self.sent += u128::from(units);
        if self.next_wrong >= self.sent {
            return false;
        }
        self.next_wrong = self.sent + Self::gap(rate, self.drawn, draws);
        self.drawn += 1;
        true
    }
}

impl Runs {
    fn new([good, bad]: [u64; 2], mut lengths: Stream) -> Self {
        let begins_bad = lengths.uniform(0) * (good as f64 + bad as f64) < bad as f64;
        let leave = [good, bad].map(|mean| MILLIONTHS as f64 / mean as f64);
        Self { begins_bad, leave, lengths, ends: Vec::new() }
    }

    fn is_bad_at(&mut self, index: u64) -> bool {
        while self.ends.last().is_none_or(|&end| end <= index) {
            let run = self.ends.len();
            let u = self.lengths.uniform_positive(run as u64 + 1);
            let leave = self.leave[usize::from(self.is_bad(run))];
            let length = 1 + (libm::log(u) / libm::log1p(-leave)) as u64;
            self.ends.push(self.ends.last().unwrap_or(&0) + length);
        }
        self.is_bad(self.ends.partition_point(|&end| end <= index))
    }

    fn is_bad(&self, run: usize) -> bool {
        self.begins_bad ^ (run % 2 == 1)
    }
}

impl Channel {
    /// Returns the mean byte error rate of the block of an instant. It is on the air one span after its bytes enter.
    fn mean_rate(&self, at: Time, span: Duration) -> f64 {
        let Some(block) = at.as_ps().checked_div(span.as_ps()) else { return self.rate(at) };
        let from = Time::ZERO + span * (block + 1);
        let to = from + span;
        match self {
            Self::Steady(rate) => *rate,
            Self::TwoStates([good, bad], spells) => {
                let share = spells.bad_time(from, to).as_secs_f64() / span.as_secs_f64();
                good + (bad - good) * share
            }
            Self::Varying(_, rates) => {
                let (mut at, mut wrong) = (from, 0.0);
                while at < to {
                    let until = piece_at(rates, at).end.min(to);
                    wrong += self.rate(at) * (until - at).as_secs_f64();
                    at = until;
                }
                wrong / span.as_secs_f64()
            }
        }
    }

    fn rate(&self, at: Time) -> f64 {
        match self {
            Self::Steady(rate) => *rate,
            Self::TwoStates(rates, spells) => rates[usize::from(spells.is_bad_at(at))],
            Self::Varying(unit, rates) => per_byte(*unit, piece_at(rates, at).value),
        }
    }
}

/// Returns the probability that each codeword of a packet has at most as many wrong bytes as the code corrects.
fn decoded(code: &Interleave, rate: f64, bytes: u64) -> f64 {
    let (check, mut left, mut survival) = (2 * code.corrects, bytes, 1.0);
    while left > 0 {
        let data = left.min((code.codeword - check).max(1));
        survival *= at_most(code.corrects, data + check, rate);
        left -= data;
    }
    survival
}

/// Returns the binomial probability of at most `most` wrong ones of `n`.
fn at_most(most: u64, n: u64, rate: f64) -> f64 {
    let ways = |i: u64| (0..i).map(|k| (n - k) as f64 / (k + 1) as f64).product::<f64>();
    (0..=most.min(n)).map(|i| ways(i) * libm::pow(rate, i as f64) * clean(rate, n - i)).sum()
}
