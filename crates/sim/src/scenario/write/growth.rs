//! How the window starts and grows.

use super::text;
use bentpipe_tcp::{ByteCounting, Hoe, HyStart, HyStartPlusPlus, Increase, SlowStart};
use bentpipe_units::Word;
use serde_json::{json, Value as Json};

pub(super) fn byte_counting(counting: ByteCounting) -> Json {
    let kind = counting.name();
    match counting {
        ByteCounting::Abc { limit } => json!({ "kind": kind, "limit": limit }),
        _ => json!({ "kind": kind }),
    }
}

pub(super) fn slow_start(slow_start: SlowStart) -> Json {
    let kind = slow_start.name();
    match slow_start {
        SlowStart::Standard => json!({ "kind": kind }),
        SlowStart::Limited { max_ssthresh } => json!({ "kind": kind, "max_ssthresh": format!("{max_ssthresh} B") }),
        SlowStart::Hoe(Hoe { pairs, resolution }) => {
            json!({ "kind": kind, "pairs": pairs, "resolution": text(resolution) })
        }
        SlowStart::HyStart(HyStart {
            low_window,
            detect,
            ack_spacing,
            train_divisor,
            baseline,
            samples,
            delay_divisor,
            delay_min,
            delay_max,
        }) => json!({
            "kind": kind,
            "low_window": format!("{low_window} B"),
            "detect": detect.name(),
            "ack_spacing": text(ack_spacing),
            "train_divisor": train_divisor,
            "baseline": baseline.name(),
            "samples": samples,
            "delay_divisor": delay_divisor,
            "delay_min": text(delay_min),
            "delay_max": text(delay_max),
        }),
        SlowStart::HyStartPlusPlus(HyStartPlusPlus {
            min_rtt_threshold,
            max_rtt_threshold,
            min_rtt_divisor,
            rtt_samples,
            css_growth_divisor,
            css_rounds,
            limit,
        }) => json!({
            "kind": kind,
            "min_rtt_threshold": text(min_rtt_threshold),
            "max_rtt_threshold": text(max_rtt_threshold),
            "min_rtt_divisor": min_rtt_divisor,
            "rtt_samples": rtt_samples,
            "css_growth_divisor": css_growth_divisor,
            "css_rounds": css_rounds,
            "limit": limit,
        }),
    }
}

pub(super) fn increase(increase: Increase) -> Json {
    let kind = increase.name();
    match increase {
        Increase::Standard => json!({ "kind": kind }),
        Increase::ConstantRate { reference_rtt } => json!({ "kind": kind, "reference_rtt": text(reference_rtt) }),
        Increase::ByK { k, above_rtt } => json!({ "kind": kind, "k": k, "above_rtt": text(above_rtt) }),
    }
}
