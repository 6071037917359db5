//! Start and growth of the window: checks of conflicting keys, and conversion of windows to bytes.

use crate::report::Report;
use bentpipe_tcp::{Config, CwndValidation, Increase, Recovery, SlowStart, SsthreshRounding, WindowSize};
use bentpipe_units::Duration;

/// Largest window (1 TiB). Larger thresholds are the same as none.
pub(super) const WINDOW_MAX: u64 = 1 << 40;

/// Checks the keys of growth and converts windows to bytes. `path` returns the path of keys in the transport's table.
pub(super) fn settle(config: &mut Config, report: &mut Report<'_>, path: &dyn Fn(&[&'static str]) -> Vec<String>) {
    let smss = u64::from(config.smss);
    let in_bytes = |window: WindowSize| WindowSize::Bytes(window.bytes(smss));
    match &mut config.growth.slow_start {
        SlowStart::Standard | SlowStart::Hoe(_) | SlowStart::Search(_) => {}
        SlowStart::Limited { max_ssthresh } => {
            *max_ssthresh = in_bytes(*max_ssthresh);
            if !(2 * smss..=WINDOW_MAX).contains(&max_ssthresh.bytes(smss)) {
                let expected = "expected at least 2 segments, at most 1000 GB";
                report.value(&path(&["slow_start", "max_ssthresh"]), "is out of range", expected);
            }
        }
        SlowStart::HyStart(hystart) => {
            hystart.low_window = in_bytes(hystart.low_window);
            check_bounds(("delay_min", hystart.delay_min), ("delay_max", hystart.delay_max), report, path);
        }
        SlowStart::HyStartPlusPlus(of) => {
            let bounds = [("min_rtt_threshold", of.min_rtt_threshold), ("max_rtt_threshold", of.max_rtt_threshold)];
            check_bounds(bounds[0], bounds[1], report, path);
        }
        SlowStart::Rapid(_) => {
            // A loss counts when it is found: other recoveries find one in a round trip, or not all.
            if !matches!(config.recovery, Recovery::Rack(_)) {
                let message =
                    format!("counts each lost segment, which recovery \"{}\" does not find", config.recovery.name());
                report.value(
                    &path(&["slow_start", "kind"]),
                    &message,
                    "expected recovery = \"rack\", or another slow start",
                );
            }
        }
    }
    let increase = config.growth.increase;
    if matches!(increase, Increase::ConstantRate { reference_rtt } if reference_rtt < Duration::from_micros(1)) {
        report.value(&path(&["increase", "reference_rtt"]), "is out of range", "expected at least 1 us");
    }
    let cc = config.cc.kind();
    if increase != Increase::Standard && !cc.takes().increase {
        let message = format!("has no effect on {}, which has its own increase", cc.name());
        report.value(&path(&["increase"]), &message, "expected \"standard\", or another congestion control");
    }
    config.growth.whole_segments = config.ssthresh_rounding == SsthreshRounding::Window;
}

fn check_bounds(
    least: (&'static str, Duration),
    most: (&'static str, Duration),
    report: &mut Report<'_>,
    path: &dyn Fn(&[&'static str]) -> Vec<String>,
) {
    if least.1 > most.1 {
        let key = if report.is_default(&path(&["slow_start", least.0])) { most.0 } else { least.0 };
        let expected = format!("expected {} at most {}", least.0, most.0);
        report.value(&path(&["slow_start", key]), "contradicts the other bound", &expected);
    }
}

/// Whether the validation of the window defines the effect of an idle time.
pub(super) fn decides_about_idle_times(config: &Config) -> bool {
    matches!(config.cwnd_validation, CwndValidation::Rfc2861 | CwndValidation::Rfc7661 | CwndValidation::Linux)
}

/// Rejects an idle restart beside a validation that decides about idle times.
pub(super) fn check_idle_restart(config: &Config, is_given: bool, report: &mut Report<'_>, path: &[String]) {
    if decides_about_idle_times(config) && is_given && config.idle_restart {
        let message = "contradicts cwnd_validation, which decides about idle times itself";
        report.value(path, message, "expected false, or cwnd_validation = \"if-used\" or \"off\"");
    }
}
