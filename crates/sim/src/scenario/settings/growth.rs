//! How the window starts and grows.

use super::tcp::WINDOW_MAX;
use crate::scenario::file;
use crate::scenario::resolve::Report;
use crate::scenario::text::{Amount, WindowSize};
use bentpipe_tcp::{
    ByteCounting, CwndValidation, Growth, Hoe, HyStart, HyStartPlusPlus, Increase, SlowStart, SsthreshRounding,
};
use bentpipe_units::Duration;

/// `path` gives the path of keys below the transport's table.
pub(super) fn growth(
    tcp: &file::Tcp,
    smss: u32,
    report: &mut Report<'_>,
    path: &dyn Fn(&[&'static str]) -> Vec<String>,
) -> Growth {
    let bytes = |window: WindowSize| match window.0 {
        Amount::Segments(n) => n.saturating_mul(smss.into()),
        Amount::Bytes(n) => n,
        _ => 0,
    };
    let byte_counting = match tcp.byte_counting {
        file::ByteCounting::Rfc5681 => ByteCounting::Rfc5681,
        file::ByteCounting::PerAck => ByteCounting::PerAck,
        file::ByteCounting::Abc { limit } => ByteCounting::Abc { limit },
        file::ByteCounting::Lbc => ByteCounting::Lbc,
        file::ByteCounting::Ubc => ByteCounting::Ubc,
        file::ByteCounting::UbcPure => ByteCounting::UbcPure,
    };
    let mut bounds = |least: (&'static str, Duration), most: (&'static str, Duration)| {
        if least.1 > most.1 {
            let key = if report.is_default(&path(&["slow_start", least.0])) { most.0 } else { least.0 };
            let expected = format!("expected {} at most {}", least.0, most.0);
            report.value(&path(&["slow_start", key]), "does not fit the other bound", &expected);
        }
    };
    let slow_start = match tcp.slow_start {
        file::SlowStart::Standard => SlowStart::Standard,
        file::SlowStart::Limited { max_ssthresh } => {
            let max_ssthresh = bytes(max_ssthresh);
            if !(2 * u64::from(smss)..=WINDOW_MAX).contains(&max_ssthresh) {
                let expected = "expected at least 2 segments, at most 1 TB";
                report.value(&path(&["slow_start", "max_ssthresh"]), "is out of range", expected);
            }
            SlowStart::Limited { max_ssthresh }
        }
        file::SlowStart::Hoe { pairs, resolution } => SlowStart::Hoe(Hoe { pairs, resolution: resolution.0 }),
        file::SlowStart::HyStart {
            low_window,
            detect,
            ack_spacing,
            train_divisor,
            baseline,
            samples,
            delay_divisor,
            delay_min,
            delay_max,
        } => {
            bounds(("delay_min", delay_min.0), ("delay_max", delay_max.0));
            SlowStart::HyStart(HyStart {
                low_window: bytes(low_window),
                detect: detect.0,
                ack_spacing: ack_spacing.0,
                train_divisor,
                baseline: baseline.0,
                samples,
                delay_divisor,
                delay_min: delay_min.0,
                delay_max: delay_max.0,
            })
        }
        file::SlowStart::HyStartPlusPlus {
            min_rtt_threshold,
            max_rtt_threshold,
            min_rtt_divisor,
            rtt_samples,
            css_growth_divisor,
            css_rounds,
            limit,
        } => {
            bounds(("min_rtt_threshold", min_rtt_threshold.0), ("max_rtt_threshold", max_rtt_threshold.0));
            SlowStart::HyStartPlusPlus(HyStartPlusPlus {
                min_rtt_threshold: min_rtt_threshold.0,
                max_rtt_threshold: max_rtt_threshold.0,
                min_rtt_divisor,
                rtt_samples,
                css_growth_divisor,
                css_rounds,
                limit,
            })
        }
    };
    let increase = match tcp.increase {
        file::Increase::Standard => Increase::Standard,
        file::Increase::ConstantRate { reference_rtt } => {
            if reference_rtt.0 < Duration::from_micros(1) {
                report.value(&path(&["increase", "reference_rtt"]), "is out of range", "expected at least 1 us");
            }
            Increase::ConstantRate { reference_rtt: reference_rtt.0 }
        }
        file::Increase::ByK { k, above_rtt } => Increase::ByK { k, above_rtt: above_rtt.0 },
    };
    let cc = tcp.cc.0.kind();
    if increase != Increase::Standard && !cc.takes().increase {
        let message = format!("means nothing to {}, which has an increase of its own", cc.name());
        report.value(&path(&["increase"]), &message, "expected \"standard\", or another congestion control");
    }
    Growth {
        byte_counting,
        slow_start,
        increase,
        slow_start_at_ssthresh: tcp.slow_start_at_ssthresh,
        whole_segments: tcp.ssthresh_rounding.0 == SsthreshRounding::Window,
    }
}

/// Whether an idle time ends with the restart window: RFC 2861 and RFC 7661 replace it.
pub(super) fn idle_restart(tcp: &file::Tcp, report: &mut Report<'_>, path: &[String]) -> bool {
    let says_itself = matches!(tcp.cwnd_validation.0, CwndValidation::Rfc2861 | CwndValidation::Rfc7661);
    if says_itself && tcp.idle_restart == Some(true) {
        let message = "contradicts cwnd_validation, which says itself what an idle time does";
        report.value(path, message, "expected false, or cwnd_validation = \"if-used\" or \"off\"");
    }
    tcp.idle_restart.unwrap_or(!says_itself)
}
