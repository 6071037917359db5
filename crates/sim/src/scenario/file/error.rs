//! Errors as they are written.

use crate::scenario::registered::Named;
use crate::scenario::text::{Chance, Span};
use crate::scenario::ErrorUnit;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::scenario) enum ErrorModel {
    /// No errors.
    None,
    /// Each bit of a packet, headers included, is wrong with this probability; one is enough.
    Bit {
        /// Bit error rate.
        rate: Chance,
    },
    /// Each byte of a packet, headers included, is wrong with this probability (ns-2: unit byte).
    Byte {
        /// Byte error rate.
        rate: Chance,
    },
    /// Each packet is corrupted with this probability, whatever its size (ns-2's default unit).
    Packet {
        /// Packet error rate.
        rate: Chance,
    },
    /// Good and bad states that last for exponential times, with errors in each (Gilbert 1960, Elliott 1963).
    GilbertElliott {
        /// What the rates count.
        #[schemars(extend("default" = "packet", "x-origin" = "ns-2"))]
        unit: Named<ErrorUnit>,
        /// Mean duration of the good state.
        mean_good: Span,
        /// Mean duration of the bad state.
        mean_bad: Span,
        /// Error rate in the good state.
        #[schemars(extend("default" = 0, "x-origin" = "Gilbert 1960"))]
        rate_good: Chance,
        /// Error rate in the bad state.
        #[schemars(extend("default" = 1, "x-origin" = "Gilbert 1960"))]
        rate_bad: Chance,
    },
    /// Exactly these packets: for worked examples.
    Arrivals {
        /// Indices of the packets that are corrupted, increasing; 0 is the first that the link sends.
        #[schemars(length(max = 1_000_000))]
        list: Vec<u64>,
    },
}
