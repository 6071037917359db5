//! Errors as they are written.

use crate::scenario::registered::Named;
use crate::scenario::text::{Bytes, Chance, Span, Stay};
use crate::scenario::{Effect, ErrorUnit};
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
        /// What becomes of the packets that are hit.
        #[schemars(extend("default" = "corrupt"))]
        effect: Named<Effect>,
    },
    /// Each byte of a packet, headers included, is wrong with this probability (ns-2: unit byte).
    Byte {
        /// Byte error rate.
        rate: Chance,
        /// What becomes of the packets that are hit.
        #[schemars(extend("default" = "corrupt"))]
        effect: Named<Effect>,
    },
    /// Each packet is hit with this probability, whatever its size (ns-2's default unit).
    Packet {
        /// Packet error rate.
        rate: Chance,
        /// What becomes of the packets that are hit.
        #[schemars(extend("default" = "corrupt"))]
        effect: Named<Effect>,
    },
    /// Good and bad states that last for exponential times or geometric numbers of packets, with errors in each (Gilbert 1960, Elliott 1963).
    GilbertElliott {
        /// What the rates count.
        #[schemars(extend("default" = "packet", "x-origin" = "ns-2"))]
        unit: Named<ErrorUnit>,
        /// Mean duration of the good state.
        mean_good: Stay,
        /// Mean duration of the bad state, in time or in packets like that of the good one.
        mean_bad: Stay,
        /// Error rate in the good state.
        #[schemars(extend("default" = 0, "x-origin" = "Gilbert 1960"))]
        rate_good: Chance,
        /// Error rate in the bad state.
        #[schemars(extend("default" = 1, "x-origin" = "Gilbert 1960"))]
        rate_bad: Chance,
        /// What becomes of the packets that are hit.
        #[schemars(extend("default" = "corrupt"))]
        effect: Named<Effect>,
    },
    /// Bursts in which every packet is hit, fitted to a measured mean: a Gilbert-Elliott channel without errors in the good state.
    Bursts {
        /// Share of the packets that are hit; below 1.
        mean_loss: Chance,
        /// Mean length of a burst, in packets (states change from packet to packet) or in time (by the clock).
        mean_burst: Stay,
        /// What becomes of the packets that are hit.
        #[schemars(extend("default" = "corrupt"))]
        effect: Named<Effect>,
    },
    /// Independent errors whose rate changes in steps: errors at set instants, such as handovers.
    Profile {
        /// What the rates count.
        #[schemars(extend("default" = "packet", "x-origin" = "ns-2"))]
        unit: Named<ErrorUnit>,
        /// Pairs of instant and error rate, increasing in time, the first at 0 s. Each holds until the next.
        #[schemars(length(min = 1))]
        points: Vec<(Span, Chance)>,
        /// Start again after this long. Without it, the last point holds.
        every: Option<Span>,
        /// What becomes of the packets that are hit.
        #[schemars(extend("default" = "corrupt"))]
        effect: Named<Effect>,
    },
    /// Independent errors whose rate was measured: a profile from a CSV file.
    Trace {
        /// A file beside the scenario or in a folder there. The resolved scenario has its content as a profile.
        file: String,
        /// Name of the column to take, from 0 to 1, or in per cent if it ends in `_pct`. Not needed where there is only one beside the time.
        column: Option<String>,
        /// Start again after this long. Without it, the last value holds.
        every: Option<Span>,
        /// What the rates count.
        #[schemars(extend("default" = "packet", "x-origin" = "ns-2"))]
        unit: Named<ErrorUnit>,
        /// What becomes of the packets that are hit.
        #[schemars(extend("default" = "corrupt"))]
        effect: Named<Effect>,
    },
    /// Exactly these packets: for worked examples.
    Arrivals {
        /// Indices of the packets that are hit, increasing; 0 is the first that the link sends.
        #[schemars(length(max = 1_000_000))]
        list: Vec<u64>,
        /// Start again after this many packets. Without it, the list comes once.
        every: Option<u64>,
        /// What becomes of the packets that are hit.
        #[schemars(extend("default" = "corrupt"))]
        effect: Named<Effect>,
    },
    /// The recorded fate of each packet, from a file.
    PacketTrace {
        /// A file beside the scenario or in a folder there. The resolved scenario has its content as arrivals.
        file: String,
        /// What is in it.
        #[schemars(extend("default" = "outcomes"))]
        format: Named<PacketFormat>,
        /// Whether the file starts again when it has ended; otherwise no more packets are hit.
        #[schemars(extend("default" = false))]
        repeat: bool,
        /// What becomes of the packets that are hit.
        #[schemars(extend("default" = "corrupt"))]
        effect: Named<Effect>,
    },
}

/// A block interleaver with an error-correcting code: a burst hits many codewords a little instead of few fully, for two blocks of delay. It needs errors per bit or byte that do not count packets.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct Interleave {
    /// How long a block takes to send. Errors are spread over it, and the delay grows by two of it.
    pub(in crate::scenario) span: Span,
    /// Length of a codeword, check bytes included; at most 255 B.
    #[schemars(extend("default" = "255 B", "x-origin" = "CCSDS 131.0-B, Reed-Solomon (255, 223)"))]
    pub(in crate::scenario) codeword: Bytes,
    /// Wrong bytes that a codeword survives; it has twice as many check bytes. The link's rate is that of packets, without them.
    #[schemars(extend("default" = "16 B", "x-origin" = "CCSDS 131.0-B, Reed-Solomon (255, 223)"))]
    pub(in crate::scenario) corrects: Bytes,
}

bentpipe_units::words! {
    /// What is in the file of a packet trace.
    pub(in crate::scenario) enum PacketFormat {
        /// One character for each packet: 0 carried, 1 hit. White space does not count.
        "outcomes" => Outcomes,
        /// Whole numbers: packets carried, packets hit, carried, hit, and so on.
        "runs" => Runs,
    }
}
