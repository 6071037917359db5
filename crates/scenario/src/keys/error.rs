//! Error models of links.

use super::profile::{check_points, traced};
use crate::report::{below, Report};
use crate::trace;
use bentpipe_model::spec::{Effect, ErrorModel, ErrorUnit, Interleave, Profile, Stay, MILLIONTHS};
use bentpipe_units::settings::Chance;
use bentpipe_units::{amounts, kinds, words, Duration, Time};

kinds! {
    /// Error model of a link, in every notation.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) enum Errors as "ErrorModel", "an error model" {
        /// No errors.
        "none" => None;
        /// Independent bit errors. One wrong bit, including headers and framing, corrupts the packet.
        "bit" => Bit {
            /// Bit error rate.
            rate: f64 as Chance;
            /// Fate of corrupted packets.
            effect: Effect = Effect::Corrupt;
        };
        /// Independent byte errors. One wrong byte, including headers and framing, corrupts the packet (ns-2: unit
        /// byte).
        "byte" => Byte {
            /// Byte error rate.
            rate: f64 as Chance;
            /// Fate of corrupted packets.
            effect: Effect = Effect::Corrupt;
        };
        /// Independent packet errors, for packets of any size (ns-2's default unit).
        "packet" => Packet {
            /// Packet error rate.
            rate: f64 as Chance;
            /// Fate of corrupted packets.
            effect: Effect = Effect::Corrupt;
        };
        /// Good and bad states with their own error rates. A state lasts for an exponential time or for a geometric
        /// number of packets (Gilbert 1960, Elliott 1963).
        "gilbert-elliott" => GilbertElliott {
            /// Unit of the error rates.
            unit: ErrorUnit = ErrorUnit::Packet, "ns-2";
            /// Mean duration of the good state, in time or in packets.
            mean_good: Mean;
            /// Mean duration of the bad state, in the same measure as `mean_good`.
            mean_bad: Mean;
            /// Error rate in the good state.
            rate_good: f64 as Chance = 0.0, "Gilbert 1960";
            /// Error rate in the bad state.
            rate_bad: f64 as Chance = 1.0, "Gilbert 1960";
            /// Fate of corrupted packets.
            effect: Effect = Effect::Corrupt;
        };
        /// Bursts that corrupt every packet, fitted to a measured mean: a Gilbert-Elliott channel without errors in the
        /// good state.
        "bursts" => Bursts {
            /// Share of corrupted packets, below 1.
            mean_loss: f64 as Chance;
            /// Mean length of a burst, in packets (the state changes from packet to packet) or in time (the state
            /// changes by the clock).
            mean_burst: Mean;
            /// Fate of corrupted packets.
            effect: Effect = Effect::Corrupt;
        };
        /// Independent errors whose rate changes in steps, for errors at known instants such as handovers.
        "profile" => Profile {
            /// Unit of the error rates.
            unit: ErrorUnit = ErrorUnit::Packet, "ns-2";
            /// Pairs of instant and error rate, increasing in time, the first at 0 s. Each rate holds until the next
            /// instant.
            points: Vec<(Time, Chance)>, [1];
            /// Period after which the points repeat. Default: no repetition; the last point holds.
            every: Option<Duration>;
            /// Fate of corrupted packets.
            effect: Effect = Effect::Corrupt;
        };
        /// Independent errors with a measured rate: a profile from a CSV file.
        "trace" => Trace {
            /// CSV file beside the scenario or in a folder there. The resolved scenario contains its content as a
            /// profile.
            file: String;
            /// Name of the column with the error rate: a share from 0 to 1, or per cent if the name ends in `_pct`.
            /// Default: the only column beside the time.
            column: Option<String>;
            /// Period after which the values repeat. Default: no repetition; the last value holds.
            every: Option<Duration>;
            /// Unit of the error rates.
            unit: ErrorUnit = ErrorUnit::Packet, "ns-2";
            /// Fate of corrupted packets.
            effect: Effect = Effect::Corrupt;
        };
        /// Listed packets, for worked examples.
        "arrivals" => Arrivals {
            /// Indices of the corrupted packets, increasing. The first packet that the link sends has index 0.
            list: Vec<u64>, [0, 1_000_000];
            /// Number of packets after which the list repeats. Default: no repetition.
            every: Option<u64>;
            /// Fate of corrupted packets.
            effect: Effect = Effect::Corrupt;
        };
        /// Recorded fate of each packet, from a file.
        "packet-trace" => PacketTrace {
            /// File beside the scenario or in a folder there. The resolved scenario contains its content as arrivals.
            file: String;
            /// Format of the file.
            format: PacketFormat = PacketFormat::Outcomes;
            /// Whether the file repeats after its end. Otherwise, no packets are corrupted after it.
            repeat: bool = false;
            /// Fate of corrupted packets.
            effect: Effect = Effect::Corrupt;
        };
    }
}

amounts! {
    /// Mean duration of a state.
    pub(crate) enum Mean("stay", "a mean duration", "a duration, or a number of packets", "20 ms") {
        /// Packets, in millionths.
        count("packets", MILLIONTHS) => Packets(u64);
        /// Time.
        span => Time(Duration);
    }
}

words! {
    /// Format of a packet trace.
    pub(crate) enum PacketFormat {
        /// One character per packet: 0 for a delivered packet, 1 for a corrupted packet. White space is ignored.
        "outcomes" => Outcomes,
        /// Whole numbers in turn: delivered packets, corrupted packets, delivered packets, and so on.
        "runs" => Runs,
    }
}

impl Errors {
    /// Converts the keys into the error model of a run and reports invalid values.
    pub(crate) fn meaning(&self, report: &mut Report<'_>, path: &[String]) -> (ErrorModel, Effect) {
        let independent = |unit, rate| ErrorModel::Independent { unit, rate };
        match self {
            Self::None => (ErrorModel::None, Effect::Corrupt),
            Self::Bit { rate, effect } => (independent(ErrorUnit::Bit, *rate), *effect),
            Self::Byte { rate, effect } => (independent(ErrorUnit::Byte, *rate), *effect),
            Self::Packet { rate, effect } => (independent(ErrorUnit::Packet, *rate), *effect),
            &Self::GilbertElliott { unit, mean_good, mean_bad, rate_good, rate_bad, effect } => {
                let stay = stay(mean_good, mean_bad, report, path);
                (ErrorModel::GilbertElliott { unit, stay, rate_good, rate_bad }, effect)
            }
            Self::Bursts { mean_loss, mean_burst, effect } => (bursts(*mean_loss, *mean_burst, report, path), *effect),
            Self::Profile { unit, points, every, effect } => {
                let points = points.iter().map(|(at, rate)| (*at, rate.0)).collect();
                let rates = Profile::Points { points, linear: false, period: *every };
                check_points(&rates, report, path);
                (ErrorModel::Profile { unit: *unit, rates }, *effect)
            }
            Self::Trace { unit, file, column, every, effect } => {
                let points = trace::chances(file, column.as_deref(), report, path);
                let rates = traced(points, false, *every, report, path);
                (rates.map_or(ErrorModel::None, |rates| ErrorModel::Profile { unit: *unit, rates }), *effect)
            }
            Self::Arrivals { list, every, effect } => {
                check_list(list, *every, report, path);
                (ErrorModel::Arrivals { list: list.clone(), period: *every }, *effect)
            }
            Self::PacketTrace { file, format, repeat, effect } => {
                let (list, count) = match format {
                    PacketFormat::Outcomes => trace::outcomes(file, report, path),
                    PacketFormat::Runs => trace::runs(file, report, path),
                };
                (ErrorModel::Arrivals { list, period: repeat.then_some(count.max(1)) }, *effect)
            }
        }
    }

    /// Returns the keys that describe an error model.
    pub(crate) fn of(model: &ErrorModel, effect: Effect) -> Self {
        match model {
            // Blocks are those of a code, bursts those of slots, which are written in their place.
            ErrorModel::None | ErrorModel::Blocks { .. } | ErrorModel::Bursts(_) => Self::None,
            &ErrorModel::Independent { unit: ErrorUnit::Bit, rate } => Self::Bit { rate, effect },
            &ErrorModel::Independent { unit: ErrorUnit::Byte, rate } => Self::Byte { rate, effect },
            &ErrorModel::Independent { unit: ErrorUnit::Packet, rate } => Self::Packet { rate, effect },
            &ErrorModel::GilbertElliott { unit, stay, rate_good, rate_bad } => {
                let (mean_good, mean_bad) = match stay {
                    Stay::Time { good, bad } => (Mean::Time(good), Mean::Time(bad)),
                    Stay::Packets { good, bad } => (Mean::Packets(good), Mean::Packets(bad)),
                };
                Self::GilbertElliott { unit, mean_good, mean_bad, rate_good, rate_bad, effect }
            }
            ErrorModel::Profile { unit, rates } => {
                let points = rates.points().map(|(at, rate)| (at, Chance(rate))).collect();
                Self::Profile { unit: *unit, points, every: rates.period(), effect }
            }
            ErrorModel::Arrivals { list, period } => Self::Arrivals { list: list.clone(), every: *period, effect },
        }
    }
}

fn check_list(list: &[u64], every: Option<u64>, report: &mut Report<'_>, path: &[String]) {
    if let Some(pair) = list.windows(2).find(|pair| pair[0] >= pair[1]) {
        let message = format!("is not in order: {} does not come after {}", pair[1], pair[0]);
        report.value(&below(path, "list"), &message, "expected indices that increase");
    }
    if let (Some(every), Some(last)) = (every, list.last().or(Some(&0))) {
        if every <= *last {
            let expected = format!("expected more than {last}, the last index");
            report.value(&below(path, "every"), "is too short for the list", &expected);
        }
    }
}

fn stay(good: Mean, bad: Mean, report: &mut Report<'_>, path: &[String]) -> Stay {
    for (key, mean) in [("mean_good", good), ("mean_bad", bad)] {
        at_least_something(mean, report, &below(path, key));
    }
    match (good, bad) {
        (Mean::Packets(good), Mean::Packets(bad)) => Stay::Packets { good, bad },
        (Mean::Time(good), Mean::Time(bad)) => Stay::Time { good, bad },
        _ => {
            let message = "has another unit than mean_good";
            report.value(&below(path, "mean_bad"), message, "expected both in time, or both in packets");
            Stay::Packets { good: MILLIONTHS, bad: MILLIONTHS }
        }
    }
}

fn at_least_something(mean: Mean, report: &mut Report<'_>, path: &[String]) {
    match mean {
        Mean::Time(Duration::ZERO) => report.value(path, "is too small", "expected more than 0 s"),
        Mean::Packets(..MILLIONTHS) => {
            report.value(path, "is too small", "expected at least 1 packet");
        }
        Mean::Packets(_) | Mean::Time(_) => {}
    }
}

/// Returns the Gilbert-Elliott channel with a bad state of mean length `burst` and the share `loss` of bad packets. The
/// good state has no errors; the bad state corrupts every packet. With b = `burst` and q = `loss`: 1/r = b, p = q r /
/// (1 - q), and the good state lasts 1/p = b (1 - q) / q.
fn bursts(loss: f64, burst: Mean, report: &mut Report<'_>, path: &[String]) -> ErrorModel {
    at_least_something(burst, report, &below(path, "mean_burst"));
    if loss == 0.0 {
        return ErrorModel::None;
    }
    let ratio = (1.0 - loss) / loss;
    let stay = match burst {
        Mean::Packets(bad) => {
            let good = (bad as f64 * ratio).round() as u64;
            if good < MILLIONTHS {
                let most = bad as f64 / (bad + MILLIONTHS) as f64;
                let message = "is too large for such bursts: at least one packet is between two";
                report.value(&below(path, "mean_loss"), message, &format!("expected at most {most:.6}"));
            }
            Stay::Packets { good, bad }
        }
        Mean::Time(bad) => {
            let good = Duration::from_secs_f64(bad.as_secs_f64() * ratio);
            if good == Duration::ZERO {
                report.value(&below(path, "mean_loss"), "leaves no time between bursts", "expected less than 1");
            }
            Stay::Time { good, bad }
        }
    };
    let (Stay::Packets { good: u64::MAX, .. } | Stay::Time { good: Duration::MAX, .. }) = stay else {
        return ErrorModel::GilbertElliott { unit: ErrorUnit::Packet, stay, rate_good: 0.0, rate_bad: 1.0 };
    };
    report.value(&below(path, "mean_loss"), "is too rare for such bursts", "expected a larger probability, or 0");
    ErrorModel::None
}

/// Checks the keys of an interleaver.
pub(crate) fn check_interleave(interleave: Interleave, error: &ErrorModel, report: &mut Report<'_>, path: &[String]) {
    let Interleave { span, codeword, corrects } = interleave;
    if span > SPAN_MAX {
        report.value(&below(path, "span"), "is out of range", &format!("expected at most {SPAN_MAX}"));
    }
    if !(1..=255).contains(&codeword) {
        report.value(&below(path, "codeword"), "is out of range", "expected 1 B to 255 B");
    } else if 2 * u128::from(corrects) >= u128::from(codeword) {
        let expected = format!("expected at most {} B", (codeword - 1) / 2);
        report.value(&below(path, "corrects"), "leaves no room for data: two check bytes correct one", &expected);
    }
    if let Some(reason) = error.is_of_packets() {
        let expected = "expected errors per bit or byte, with states that last for times";
        report.value(path, &format!("spreads bytes, and {reason}"), expected);
    }
}

/// Largest interleaving span. Real links have shorter spans.
const SPAN_MAX: Duration = Duration::from_secs(60);
