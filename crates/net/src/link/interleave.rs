//! Errors of a link with a block interleaver and a code.
//!
//! A block of codewords is written row by row and sent column by column, which takes a time S. Bytes that enter in [kS,
//! (k+1)S) are on the air in [(k+1)S, (k+2)S). The bytes of each codeword are spread evenly over that time. All codewords
//! thus meet the same share of good and bad times. The byte error rate is the average over the block:
//!
//! e = (1/S) ∫ e(t) dt, over the block's time on the air.
//!
//! Interleaving is assumed ideal: bytes of a codeword fail independently. A codeword of n bytes that corrects t of them
//! survives with P(n) = sum over i ≤ t of (n over i) eⁱ (1 - e)^(n - i). A packet of L bytes fills a codewords of n - 2t data
//! bytes and one of the remaining r bytes, which has 2t check bytes too: it survives with P(n)^a P(r + 2t). With t = 0 that
//! is (1 - e)^L. (J. Proakis, Digital Communications, 4th ed. 2001, chapter 8; B. Sklar, Digital Communications, 2nd ed.
//! 2001, chapter 8.)

use super::profile::Pieces;
use super::states::TimedStates;
use bentpipe_model::spec::{ErrorModel as Spec, ErrorUnit, Interleave, Stay};
use bentpipe_units::{Duration, Stream, Time};

/// Errors that remain after deinterleaving and decoding.
#[derive(Clone, Debug)]
pub(super) struct InterleavedErrors {
    medium: ByteChannel,
    code: Code,
    span: Duration,
    losses: Stream,
    end: Time,
    /// Number of the block whose error rate is known.
    block: u64,
    rate: f64,
    /// Size and rate of the last packet, and its probability of survival: most packets are alike.
    known: (u64, f64, f64),
}

/// Byte error rates over time.
#[derive(Clone, Debug)]
enum ByteChannel {
    Steady(f64),
    States { states: TimedStates, rates: [f64; 2] },
    Varying { unit: ErrorUnit, rates: Pieces<f64> },
}

impl InterleavedErrors {
    /// `None`: the link has no errors.
    pub(super) fn new(
        interleave: &Interleave,
        errors: &Spec,
        (seed, losses): (u64, Stream),
        link: &str,
        end: Time,
    ) -> Option<Self> {
        debug_assert_eq!(errors.is_of_packets(), None, "the scenario refuses it");
        let medium = match errors {
            Spec::Independent { unit, rate } => ByteChannel::Steady(of_bytes(*unit, *rate)),
            Spec::GilbertElliott { unit, stay: Stay::Time { good, bad }, rate_good, rate_bad } => {
                // The last packet's block is on the air after the end.
                let states =
                    TimedStates::new(*good, *bad, Stream::new(seed, link, "error/state"), end + interleave.delay());
                ByteChannel::States { states, rates: [*rate_good, *rate_bad].map(|rate| of_bytes(*unit, rate)) }
            }
            Spec::Profile { unit, rates } => ByteChannel::Varying { unit: *unit, rates: Pieces::of(rates) },
            // No errors, or errors of packets.
            _ => return None,
        };
        Some(Self {
            medium,
            code: Code { length: interleave.codeword, corrects: interleave.corrects },
            span: interleave.span,
            losses,
            end,
            block: u64::MAX,
            rate: 0.0,
            known: (0, 0.0, 1.0),
        })
    }

    pub(super) fn has_error(&mut self, at: Time, index: u64, size: u64) -> bool {
        if at > self.end || at == Time::NEVER {
            // After the end of the run.
            return false;
        }
        let block = at.as_ps().checked_div(self.span.as_ps());
        if block.is_none_or(|block| block != self.block) {
            self.rate = match block {
                None => self.medium.rate_at(at),
                Some(block) => {
                    let from = Time::ZERO + self.span * (block + 1);
                    self.medium.mean_rate(from, from + self.span)
                }
            };
            self.block = block.unwrap_or(u64::MAX);
        }
        if (size, self.rate) != (self.known.0, self.known.1) {
            self.known = (size, self.rate, self.code.survival(size, self.rate));
        }
        self.losses.uniform(index) >= self.known.2
    }
}

/// The probability of a byte error.
fn of_bytes(unit: ErrorUnit, rate: f64) -> f64 {
    match unit {
        ErrorUnit::Bit => -libm::expm1(8.0 * libm::log1p(-rate)),
        ErrorUnit::Byte | ErrorUnit::Packet => rate,
    }
}

impl ByteChannel {
    fn rate_at(&mut self, at: Time) -> f64 {
        match self {
            Self::Steady(rate) => *rate,
            Self::States { states, rates } => rates[usize::from(states.is_bad_at(at))],
            Self::Varying { unit, rates } => {
                rates.seek(at);
                of_bytes(*unit, rates.value())
            }
        }
    }

    /// The mean rate from `from` to `to`.
    fn mean_rate(&mut self, from: Time, to: Time) -> f64 {
        match self {
            Self::Steady(rate) => *rate,
            Self::States { states, rates } => {
                let bad = states.bad_share(from, to);
                rates[0] * (1.0 - bad) + rates[1] * bad
            }
            Self::Varying { unit, rates } => {
                let (mut at, mut sum) = (from, 0.0);
                while at < to {
                    rates.seek(at);
                    let until = rates.end().min(to);
                    sum += of_bytes(*unit, rates.value()) * (until - at).as_secs_f64();
                    at = until;
                }
                sum / (to - from).as_secs_f64()
            }
        }
    }
}

/// A code over bytes.
#[derive(Clone, Copy, Debug)]
struct Code {
    length: u64,
    corrects: u64,
}

impl Code {
    /// The probability that a packet of `size` bytes has no codeword with too many errors.
    fn survival(&self, size: u64, rate: f64) -> f64 {
        let data = (self.length - 2 * self.corrects).max(1);
        let (full, rest) = (size / data, size % data);
        let part = |words: u64, length: u64| match words {
            0 => 1.0,
            _ => libm::pow(self.word_survival(length, rate), words as f64),
        };
        part(full, self.length) * part(u64::from(rest > 0), rest + 2 * self.corrects)
    }

    /// The probability of at most `corrects` errors in `length` bytes.
    fn word_survival(&self, length: u64, rate: f64) -> f64 {
        if self.corrects >= length {
            return 1.0;
        }
        if rate >= 1.0 {
            return 0.0;
        }
        // At most 255 bytes: if the first term is too small for a float, so is half of the sum.
        let mut term = libm::exp(length as f64 * libm::log1p(-rate));
        let mut sum = term;
        for i in 0..self.corrects {
            term *= (length - i) as f64 / (i + 1) as f64 * rate / (1.0 - rate);
            sum += term;
        }
        sum.min(1.0)
    }
}
