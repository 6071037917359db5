//! Errors.

use super::below;
use crate::scenario::resolve::Report;
use crate::scenario::{file, ErrorModel, ErrorUnit};
use bentpipe_units::Duration;

pub(in crate::scenario) fn error(error: &file::ErrorModel, report: &mut Report<'_>, path: &[String]) -> ErrorModel {
    match error {
        file::ErrorModel::None => ErrorModel::None,
        file::ErrorModel::Bit { rate } => ErrorModel::Independent { unit: ErrorUnit::Bit, rate: rate.0 },
        file::ErrorModel::Byte { rate } => ErrorModel::Independent { unit: ErrorUnit::Byte, rate: rate.0 },
        file::ErrorModel::Packet { rate } => ErrorModel::Independent { unit: ErrorUnit::Packet, rate: rate.0 },
        file::ErrorModel::GilbertElliott { unit, mean_good, mean_bad, rate_good, rate_bad } => {
            for (key, mean) in [("mean_good", mean_good.0), ("mean_bad", mean_bad.0)] {
                if mean == Duration::ZERO {
                    report.value(&below(path, key), "is no duration of a state", "expected more than 0 s");
                }
            }
            ErrorModel::GilbertElliott {
                unit: unit.0,
                mean_good: mean_good.0,
                mean_bad: mean_bad.0,
                rate_good: rate_good.0,
                rate_bad: rate_bad.0,
            }
        }
        file::ErrorModel::Arrivals { list } => {
            if let Some(pair) = list.windows(2).find(|pair| pair[0] >= pair[1]) {
                let message = format!("is not in order: {} does not come after {}", pair[1], pair[0]);
                report.value(&below(path, "list"), &message, "expected indices that increase");
            }
            ErrorModel::Arrivals(list.clone())
        }
    }
}
