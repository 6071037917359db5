//! Errors of links.

use super::profile::{check_points, traced};
use crate::scenario::report::{below, Report};
use crate::scenario::trace;
use crate::spec::{Effect, ErrorModel, ErrorUnit, Interleave, Profile, Stay, MILLIONTHS};
use bentpipe_units::settings::Chance;
use bentpipe_units::{amounts, kinds, words, Duration, Time};

kinds! {
    /// What corrupts packets, with all ways to say it.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) enum Errors as "ErrorModel" {
        /// No errors.
        "none" => None;
        /// Each bit of a packet, headers and framing included, is wrong with this probability; one is enough.
        "bit" => Bit {
            /// Bit error rate.
            rate: f64 as Chance;
            /// What becomes of the packets that are hit.
            effect: Effect = Effect::Corrupt;
        };
        /// Each byte of a packet, headers and framing included, is wrong with this probability (ns-2: unit byte).
        "byte" => Byte {
            /// Byte error rate.
            rate: f64 as Chance;
            /// What becomes of the packets that are hit.
            effect: Effect = Effect::Corrupt;
        };
        /// Each packet is hit with this probability, whatever its size (ns-2's default unit).
        "packet" => Packet {
            /// Packet error rate.
            rate: f64 as Chance;
            /// What becomes of the packets that are hit.
            effect: Effect = Effect::Corrupt;
        };
        /// Good and bad states that last for exponential times or geometric numbers of packets, with errors in each (Gilbert 1960, Elliott 1963).
        "gilbert-elliott" => GilbertElliott {
            /// What the rates count.
            unit: ErrorUnit = ErrorUnit::Packet, "ns-2";
            /// Mean duration of the good state.
            mean_good: Mean;
            /// Mean duration of the bad state, in time or in packets like that of the good one.
            mean_bad: Mean;
            /// Error rate in the good state.
            rate_good: f64 as Chance = 0.0, "Gilbert 1960";
            /// Error rate in the bad state.
            rate_bad: f64 as Chance = 1.0, "Gilbert 1960";
            /// What becomes of the packets that are hit.
            effect: Effect = Effect::Corrupt;
        };
        /// Bursts in which every packet is hit, fitted to a measured mean: a Gilbert-Elliott channel without errors in the good state.
        "bursts" => Bursts {
            /// Share of the packets that are hit; below 1.
            mean_loss: f64 as Chance;
            /// Mean length of a burst, in packets (states change from packet to packet) or in time (by the clock).
            mean_burst: Mean;
            /// What becomes of the packets that are hit.
            effect: Effect = Effect::Corrupt;
        };
        /// Independent errors whose rate changes in steps: errors at set instants, such as handovers.
        "profile" => Profile {
            /// What the rates count.
            unit: ErrorUnit = ErrorUnit::Packet, "ns-2";
            /// Pairs of instant and error rate, increasing in time, the first at 0 s. Each holds until the next.
            points: Vec<(Time, Chance)>, [1];
            /// Start again after this long. Without it, the last point holds.
            every: Option<Duration>;
            /// What becomes of the packets that are hit.
            effect: Effect = Effect::Corrupt;
        };
        /// Independent errors whose rate was measured: a profile from a CSV file.
        "trace" => Trace {
            /// A file beside the scenario or in a folder there. The resolved scenario has its content as a profile.
            file: String;
            /// Name of the column to take, from 0 to 1, or in per cent if it ends in `_pct`. Not needed where there is only one beside the time.
            column: Option<String>;
            /// Start again after this long. Without it, the last value holds.
            every: Option<Duration>;
            /// What the rates count.
            unit: ErrorUnit = ErrorUnit::Packet, "ns-2";
            /// What becomes of the packets that are hit.
            effect: Effect = Effect::Corrupt;
        };
        /// Exactly these packets: for worked examples.
        "arrivals" => Arrivals {
            /// Indices of the packets that are hit, increasing; 0 is the first that the link sends.
            list: Vec<u64>, [0, 1_000_000];
            /// Start again after this many packets. Without it, the list comes once.
            every: Option<u64>;
            /// What becomes of the packets that are hit.
            effect: Effect = Effect::Corrupt;
        };
        /// The recorded fate of each packet, from a file.
        "packet-trace" => PacketTrace {
            /// A file beside the scenario or in a folder there. The resolved scenario has its content as arrivals.
            file: String;
            /// What is in it.
            format: PacketFormat = PacketFormat::Outcomes;
            /// Whether the file starts again when it has ended; otherwise no more packets are hit.
            repeat: bool = false;
            /// What becomes of the packets that are hit.
            effect: Effect = Effect::Corrupt;
        };
    }
}

amounts! {
    /// The mean of what a state lasts.
    pub(crate) enum Mean("stay", "a mean duration", "a duration, or a number of packets", "20 ms") {
        /// Packets, in millionths.
        count("packets", MILLIONTHS) => Packets(u64);
        /// Time.
        span => Time(Duration);
    }
}

words! {
    /// What is in the file of a packet trace.
    pub(crate) enum PacketFormat {
        /// One character for each packet: 0 carried, 1 hit. White space does not count.
        "outcomes" => Outcomes,
        /// Whole numbers: packets carried, packets hit, carried, hit, and so on.
        "runs" => Runs,
    }
}

impl Errors {
    /// What they are in a run.
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

    /// As they would be written.
    pub(crate) fn of(model: &ErrorModel, effect: Effect) -> Self {
        match model {
            ErrorModel::None => Self::None,
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

/// The channel without errors in the good state and with nothing else in the bad one, whose bad state lasts `burst` on
/// average, and of which `loss` is bad: 1/r = b, p = q r / (1 - q), the good state lasts 1/p = b (1 - q) / q.
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

/// What makes no sense in what spreads these errors.
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

/// Longer blocks are no link's.
const SPAN_MAX: Duration = Duration::from_secs(60);
