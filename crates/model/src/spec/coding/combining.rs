//! Hybrid ARQ: decodes a packet from all of its copies.
//!
//! **Chase combining** repeats the same coded symbols: the signals of n copies add up (D. Chase, Code combining, IEEE
//! Trans. Commun. 1985). **Incremental redundancy** sends other coded symbols each time, so information adds up. A
//! packet meets the signal S with 1 + S = (1 + S1)(1 + S2)..., because a symbol can carry log2(1 + S) (G. Caire, D.
//! Tuninetti, IEEE Trans. Inf. Theory 2001, section III). The code's curve gives the probability P that a packet with
//! such a signal is damaged.
//!
//! A packet that n copies do not save was not saved by fewer either. So P after n copies is the residual after n. The
//! nth copy fails with P of n over P of n - 1 (Caire and Tuninetti: exact for long codes).

use super::super::loss_in_blocks;
use super::{linear, wrong_after, x_of_channel, Blocks, Coded, Coding, Receiver, Unworkable};
use crate::spec::{Combining, ErrorModel, ErrorUnit, Profile, Stay};

/// Decodes packets from all of their copies.
#[derive(Clone, Debug, PartialEq)]
pub struct Combiner {
    /// The signal of each copy.
    pub signal: SignalOverTime,
    how: Combining,
    curve: Curve,
}

/// Signal of a coded symbol over noise, as a factor.
#[derive(Clone, Debug, PartialEq)]
pub enum SignalOverTime {
    /// Steps.
    Profile(Profile<f64>),
    /// Signal in the good and in the bad state of the channel.
    States(Stay, [f64; 2]),
}

/// Residual errors of a code at a signal.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Curve {
    /// Mean bits of a burst of errors.
    Convolutional(f64),
    /// Lost blocks.
    Ldpc(Blocks),
    /// Threshold in dB.
    DvbS2(Receiver, f64),
}

impl Coded {
    /// Returns the combiner of copies on this link. Adaptive modulations have no symbols in common, and an
    /// interleaver's blocks no packets.
    pub fn combiner(&self, how: Combining, is_interleaved: bool) -> Result<Option<Combiner>, Unworkable> {
        let refused = |message: &str, expected: &str| Err(("combining", message.to_owned(), expected.to_owned()));
        let of_channel = |rate| {
            let x = x_of_channel(rate);
            x * x
        };
        if how == Combining::None {
            return Ok(None);
        }
        if is_interleaved {
            let expected = "expected no interleave, or no combining";
            return refused(
                "cannot combine: interleave decodes blocks, and a packet is only a part of a block",
                expected,
            );
        }
        let (signal, curve) = match &self.coding {
            Coding::Convolutional { .. } if how == Combining::Incremental => {
                let message =
                    "equals \"chase\" with this code: a copy doubles the free distance, like the best code of rate 1/4";
                return refused(message, "expected \"chase\", or coding of kind \"dvb-s2\"");
            }
            Coding::Convolutional { eb_n0, burst } => {
                let signal = match (eb_n0, &self.error) {
                    // Q(sqrt(2 d R Eb/N0)) with R 1/2.
                    (Some(eb_n0), _) => SignalOverTime::Profile(eb_n0.profile("eb_n0")?.map(linear)),
                    (None, ErrorModel::Independent { unit: ErrorUnit::Bit, rate }) => {
                        SignalOverTime::Profile(Profile::Constant(of_channel(*rate)))
                    }
                    (None, ErrorModel::Profile { unit: ErrorUnit::Bit, rates }) => {
                        SignalOverTime::Profile(rates.map(of_channel))
                    }
                    (None, ErrorModel::GilbertElliott { stay, rate_good, rate_bad, .. }) => {
                        SignalOverTime::States(*stay, [*rate_good, *rate_bad].map(of_channel))
                    }
                    _ => SignalOverTime::Profile(Profile::Constant(f64::INFINITY)),
                };
                (signal, Curve::Convolutional(f64::from(*burst)))
            }
            Coding::Ldpc { .. } if how == Combining::Incremental => {
                return refused(
                    "needs the signal of a symbol, but this code has the signal of a bit",
                    "expected \"chase\", or coding of kind \"dvb-s2\"",
                );
            }
            Coding::Ldpc { eb_n0, threshold, steepness, .. } => {
                let blocks = Blocks { threshold: threshold.0, steepness: *steepness };
                (SignalOverTime::Profile(eb_n0.profile("eb_n0")?.map(linear)), Curve::Ldpc(blocks))
            }
            Coding::DvbS2 { modcod: None, .. } => {
                let message = "cannot combine: with adaptive modulation, a copy may have another code";
                return refused(message, "expected modcod instead of acm");
            }
            Coding::DvbS2 { es_n0, modcod: Some(modcod), implementation_loss, losses, .. } => {
                let receiver = Receiver { loss: implementation_loss.0, losses: *losses };
                let signal = SignalOverTime::Profile(es_n0.profile("es_n0")?.map(linear));
                (signal, Curve::DvbS2(receiver, modcod.threshold_db()))
            }
        };
        Ok(Some(Combiner { signal, how, curve }))
    }
}

impl Combiner {
    /// Returns the combined signal of the held copies and another copy.
    pub fn with(&self, held: f64, copy: f64) -> f64 {
        match self.how {
            Combining::Incremental => (1.0 + held) * (1.0 + copy) - 1.0,
            Combining::None | Combining::Chase => held + copy,
        }
    }

    /// Returns the probability that a packet with this many bytes on the link is damaged.
    pub fn damage(&self, signal: f64, bytes: u64) -> f64 {
        match self.curve {
            Curve::Convolutional(burst) => {
                let bursts = (wrong_after(libm::sqrt(signal)) / burst).min(1.0);
                -libm::expm1(libm::log1p(-bursts) * (8 * bytes) as f64)
            }
            Curve::Ldpc(blocks) => loss_in_blocks(blocks.loss(10.0 * libm::log10(signal)), bytes),
            Curve::DvbS2(receiver, threshold) => receiver.loss(10.0 * libm::log10(signal), threshold),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Losses, Modcod, Signal};
    use super::*;
    use bentpipe_units::settings::Level;
    use bentpipe_units::{Duration, Rate};

    fn link(coding: Coding, error: ErrorModel) -> Coded {
        let (rate, delay) = (Profile::Constant(Rate::from_bps(1_000_000)), Profile::Constant(Duration::ZERO));
        Coded { coding, rate, delay, error }
    }

    fn dvb(losses: Losses) -> Coded {
        let (es_n0, implementation_loss) = (Signal::Constant(Level(4.0)), Level(0.0));
        let modcod = Some(Modcod::Psk8x2of3);
        link(Coding::DvbS2 { es_n0, modcod, acm: None, implementation_loss, losses }, ErrorModel::None)
    }

    /// 8PSK 2/3 needs 6.62 dB. Two copies of 4 dB are 7.01 dB to one who adds symbols, and 10.54 dB to one who adds information:
    /// (1 + 2.5119)² - 1 = 11.333. Of 2 dB one needs three copies (6.77 dB) or two (7.54 dB).
    #[test]
    fn signals_or_information_add_up() {
        let [chase, incremental] = [Combining::Chase, Combining::Incremental]
            .map(|how| dvb(Losses::Step).combiner(how, false).unwrap().unwrap());
        let db = |signal: f64| 10.0 * libm::log10(signal);
        let [strong, weak] = [4.0, 2.0].map(linear);
        assert!((db(chase.with(strong, strong)) - 7.0103).abs() < 1e-4);
        assert!((db(incremental.with(strong, strong)) - 10.5436).abs() < 1e-4);
        let needed = |combiner: &Combiner, level: f64| {
            let held = std::iter::successors(Some(level), |held| Some(combiner.with(*held, level)));
            held.take_while(|held| *held < linear(6.62)).count() + 1
        };
        assert_eq!([needed(&chase, strong), needed(&incremental, strong)], [2, 2]);
        assert_eq!([needed(&chase, weak), needed(&incremental, weak)], [3, 2]);
        assert_eq!([chase.damage(strong, 1000), chase.damage(2.0 * strong, 1000)], [1.0, 0.0]);
    }

    /// Two copies of 0 dB are 3.01 dB, 0.81 dB above the threshold: erfc(3 x 0.8103) / 2 = 2.93e-4 of the blocks (with erfc of
    /// Python), and of packets of 1000 B, which touch eight of them or mostly nine, 2.58e-3.
    #[test]
    fn copies_of_blocks_add_up() {
        let coded =
            Coding::Ldpc { eb_n0: Signal::Constant(Level(0.0)), code_rate: 0.5, threshold: Level(2.2), steepness: 3.0 };
        let combiner = link(coded.clone(), ErrorModel::None).combiner(Combining::Chase, false).unwrap().unwrap();
        assert!(combiner.damage(1.0, 1000) > 0.999_999);
        let left = combiner.damage(combiner.with(1.0, 1.0), 1000);
        assert!((left / 2.580_73e-3 - 1.0).abs() < 1e-3, "{left}");
        assert!(link(coded, ErrorModel::None).combiner(Combining::Incremental, false).is_err());
    }

    /// In a channel with one wrong bit in ten, Q⁻¹ is 1.28155 and the signal 1.64237: the bound leaves 4.724e-3 of the bits wrong
    /// (with erfc of Python), and 0.99948 of packets of 1000 B in bursts of five. Of two copies 2.263e-7, and 3.621e-4 of the packets.
    #[test]
    fn a_second_copy_doubles_the_signal_of_a_convolutional_code() {
        let coded = Coding::Convolutional { eb_n0: None, burst: 5 };
        let error = ErrorModel::Independent { unit: ErrorUnit::Bit, rate: 0.1 };
        let combiner = link(coded.clone(), error).combiner(Combining::Chase, false).unwrap().unwrap();
        let SignalOverTime::Profile(Profile::Constant(signal)) = combiner.signal else { panic!() };
        assert!((signal - 1.642_37).abs() < 1e-4, "{signal}");
        let left = [signal, 2.0 * signal].map(|signal| combiner.damage(signal, 1000));
        assert!((left[0] - 0.99948).abs() < 1e-5, "{left:?}");
        assert!((left[1] / 3.6206e-4 - 1.0).abs() < 1e-3, "{left:?}");
        let refused = link(coded, ErrorModel::None).combiner(Combining::Incremental, false);
        assert!(refused.unwrap_err().1.contains("equals \"chase\""));
    }
}
