//! Queues of links, and what stands at nodes.

use super::below;
use crate::middlebox::{ImpairConfig, MiddleboxConfig};
use crate::scenario::file;
use crate::scenario::resolve::Report;
use bentpipe_units::Duration;

/// The shortest and the longest of a random time.
pub(in crate::scenario) fn hold(hold: &file::Hold, report: &mut Report<'_>, path: &[String]) -> (Duration, Duration) {
    match hold {
        file::Hold::For(time) => (time.0, time.0),
        file::Hold::Uniform(file::HoldUniform { uniform: (least, most) }) => {
            if least.0 >= most.0 {
                let expected = "expected the shortest time before the longest";
                report.value(&below(path, "uniform"), "is an empty span", expected);
            }
            (least.0, most.0)
        }
    }
}

pub(in crate::scenario) fn middlebox(
    middlebox: &file::Middlebox,
    report: &mut Report<'_>,
    path: &[String],
) -> MiddleboxConfig {
    match middlebox {
        file::Middlebox::Impair { duplicate, reorder, hold, direction } => {
            let hold = self::hold(hold, report, &below(path, "hold"));
            if reorder.0 > 0.0 && hold.1 == Duration::ZERO {
                let expected = "expected hold, like \"10 ms\", beside it, or 0";
                report.value(&below(path, "reorder"), "holds packets back for no time", expected);
            }
            let (duplicate, reorder, direction) = (duplicate.0, reorder.0, direction.0);
            MiddleboxConfig::Impair(ImpairConfig { direction, duplicate, reorder, hold })
        }
    }
}
