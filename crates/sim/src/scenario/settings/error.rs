//! Errors, and what spreads them.

use super::{below, in_order, instant};
use crate::scenario::resolve::Report;
use crate::scenario::text::Amount;
use crate::scenario::{file, trace, Effect, ErrorModel, ErrorUnit, Interleave, Profile, Stay, MILLIONTHS};
use bentpipe_units::Duration;

pub(in crate::scenario) fn error(
    error: &file::ErrorModel,
    report: &mut Report<'_>,
    path: &[String],
) -> (ErrorModel, Effect) {
    use file::ErrorModel as File;
    let independent = |unit, rate: f64| ErrorModel::Independent { unit, rate };
    match error {
        File::None => (ErrorModel::None, Effect::Corrupt),
        File::Bit { rate, effect } => (independent(ErrorUnit::Bit, rate.0), effect.0),
        File::Byte { rate, effect } => (independent(ErrorUnit::Byte, rate.0), effect.0),
        File::Packet { rate, effect } => (independent(ErrorUnit::Packet, rate.0), effect.0),
        File::GilbertElliott { unit, mean_good, mean_bad, rate_good, rate_bad, effect } => {
            let stay = stay(mean_good.0, mean_bad.0, report, path);
            let rates = (rate_good.0, rate_bad.0);
            (ErrorModel::GilbertElliott { unit: unit.0, stay, rate_good: rates.0, rate_bad: rates.1 }, effect.0)
        }
        File::Bursts { mean_loss, mean_burst, effect } => (bursts(mean_loss.0, mean_burst.0, report, path), effect.0),
        File::Profile { unit, points, every, effect } => {
            let points = points.iter().map(|(at, rate)| (instant(at.0), rate.0)).collect();
            let rates = Profile::Points { points, linear: false, period: every.map(|every| every.0) };
            in_order(&rates, report, path);
            (ErrorModel::Profile { unit: unit.0, rates }, effect.0)
        }
        File::Trace { unit, file, column, every, effect } => {
            let points = trace::chances(file, column.as_deref(), report, path);
            let rates = super::traced(points, false, every.map(|every| every.0), report, path);
            (rates.map_or(ErrorModel::None, |rates| ErrorModel::Profile { unit: unit.0, rates }), effect.0)
        }
        File::Arrivals { list, every, effect } => {
            if let Some(pair) = list.windows(2).find(|pair| pair[0] >= pair[1]) {
                let message = format!("is not in order: {} does not come after {}", pair[1], pair[0]);
                report.value(&below(path, "list"), &message, "expected indices that increase");
            }
            if let (Some(every), Some(last)) = (every, list.last().or(Some(&0))) {
                if every <= last {
                    let expected = format!("expected more than {last}, the last index");
                    report.value(&below(path, "every"), "is too short for the list", &expected);
                }
            }
            (ErrorModel::Arrivals { list: list.clone(), period: *every }, effect.0)
        }
        File::PacketTrace { file, format, repeat, effect } => {
            let (list, count) = match format.0 {
                file::PacketFormat::Outcomes => trace::outcomes(file, report, path),
                file::PacketFormat::Runs => trace::runs(file, report, path),
            };
            (ErrorModel::Arrivals { list, period: repeat.then_some(count.max(1)) }, effect.0)
        }
    }
}

fn stay(good: Amount, bad: Amount, report: &mut Report<'_>, path: &[String]) -> Stay {
    for (key, mean) in [("mean_good", good), ("mean_bad", bad)] {
        at_least_something(mean, report, &below(path, key));
    }
    match (good, bad) {
        (Amount::Millionths(good), Amount::Millionths(bad)) => Stay::Packets { good, bad },
        (Amount::Span(good), Amount::Span(bad)) => Stay::Time { good, bad },
        _ => {
            let message = "is not in the measure of mean_good";
            report.value(&below(path, "mean_bad"), message, "expected both in time, or both in packets");
            Stay::Packets { good: MILLIONTHS, bad: MILLIONTHS }
        }
    }
}

fn at_least_something(mean: Amount, report: &mut Report<'_>, path: &[String]) {
    match mean {
        Amount::Span(Duration::ZERO) => report.value(path, "is no duration of a state", "expected more than 0 s"),
        Amount::Millionths(..MILLIONTHS) => {
            report.value(path, "is no duration of a state", "expected at least 1 packet");
        }
        _ => {}
    }
}

/// The channel without errors in the good state and with nothing else in the bad one, whose bad state lasts `burst` on
/// average, and of which `loss` is bad: 1/r = b, p = q r / (1 - q), the good state lasts 1/p = b (1 - q) / q.
fn bursts(loss: f64, burst: Amount, report: &mut Report<'_>, path: &[String]) -> ErrorModel {
    at_least_something(burst, report, &below(path, "mean_burst"));
    if loss == 0.0 {
        return ErrorModel::None;
    }
    let ratio = (1.0 - loss) / loss;
    let stay = match burst {
        Amount::Millionths(bad) => {
            let good = (bad as f64 * ratio).round() as u64;
            if good < MILLIONTHS {
                let most = bad as f64 / (bad + MILLIONTHS) as f64;
                let message = "is too much for such bursts: there is at least one packet between two";
                report.value(&below(path, "mean_loss"), message, &format!("expected at most {most:.6}"));
            }
            Stay::Packets { good, bad }
        }
        Amount::Span(bad) => {
            let good = Duration::from_secs_f64(bad.as_secs_f64() * ratio);
            if good == Duration::ZERO {
                report.value(&below(path, "mean_loss"), "leaves no time between bursts", "expected less than 1");
            }
            Stay::Time { good, bad }
        }
        _ => return ErrorModel::None,
    };
    let (Stay::Packets { good: u64::MAX, .. } | Stay::Time { good: Duration::MAX, .. }) = stay else {
        return ErrorModel::GilbertElliott { unit: ErrorUnit::Packet, stay, rate_good: 0.0, rate_bad: 1.0 };
    };
    report.value(&below(path, "mean_loss"), "is too rare for such bursts", "expected a larger probability, or 0");
    ErrorModel::None
}

pub(in crate::scenario) fn interleave(
    interleave: &file::Interleave,
    error: &ErrorModel,
    report: &mut Report<'_>,
    path: &[String],
) -> Interleave {
    let file::Interleave { span, codeword, corrects } = *interleave;
    if span.0 > SPAN_MAX {
        report.value(&below(path, "span"), "is out of range", &format!("expected at most {SPAN_MAX}"));
    }
    if !(1..=255).contains(&codeword.0) {
        report.value(&below(path, "codeword"), "is out of range", "expected 1 B to 255 B");
    } else if 2 * u128::from(corrects.0) >= u128::from(codeword.0) {
        let expected = format!("expected at most {} B", (codeword.0 - 1) / 2);
        report.value(&below(path, "corrects"), "leaves no room for data: two check bytes correct one", &expected);
    }
    if let Some(reason) = error.is_of_packets() {
        let expected = "expected errors per bit or byte, with states that last for times";
        report.value(path, &format!("spreads bytes, and {reason}"), expected);
    }
    Interleave { span: span.0, codeword: codeword.0, corrects: corrects.0 }
}

/// Longer blocks are no link's.
const SPAN_MAX: Duration = Duration::from_secs(60);
