//! The scenario file, defined once. From these structs come the JSON schema, and from the schema the check of what
//! was written, the reference page and the Python types.
//!
//! The doc comment of a field is its text in the reference. `default` and `x-origin` (where the default is from) stand
//! in the schema; the walker writes defaults into the tree before it becomes these structs, so a field with a default is
//! not an `Option`, and there is no second place where a default could differ.

mod app;
mod ends;
mod error;
mod flow;
mod growth;
mod link;
mod profile;
mod queue;
mod sweep;
mod tcp;

pub(super) use app::*;
pub(super) use ends::*;
pub(super) use error::*;
pub(super) use flow::*;
pub(super) use growth::*;
pub(super) use link::*;
pub(super) use profile::*;
pub(super) use queue::*;
pub(super) use sweep::*;
pub(super) use tcp::*;

use super::registered::{Named, SeriesName};
use super::text::{Chance, Span};
use super::NodeKind;
use crate::middlebox::Way;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A bentpipe scenario: an experiment with TCP over links that lose, delay and vary.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "bentpipe scenario")]
pub(in crate::scenario) struct File {
    /// One line for tables and figures.
    #[schemars(extend("default" = ""))]
    pub(in crate::scenario) title: String,
    /// Simulated time after which the run ends; at most 200 days.
    pub(in crate::scenario) duration: Span,
    /// Seed of all random streams: the same seed gives the same channel to every sender that is compared.
    #[schemars(extend("default" = 1))]
    pub(in crate::scenario) seed: u64,
    /// The transport at both ends of every flow; each key may be repeated for one flow under `[flow.NAME.tcp]`.
    #[schemars(extend("default" = {}))]
    pub(in crate::scenario) tcp: Tcp,
    /// Properties of nodes. A node exists because a link names it; a table is needed only to change it.
    #[schemars(extend("default" = {}))]
    pub(in crate::scenario) node: BTreeMap<String, Node>,
    /// The links, by name. Each carries both directions.
    pub(in crate::scenario) link: BTreeMap<String, Link>,
    /// The connections, by name.
    pub(in crate::scenario) flow: BTreeMap<String, Flow>,
    /// Which time series are kept.
    #[schemars(extend("default" = {}))]
    pub(in crate::scenario) record: Record,
    /// Alternatives that `bentpipe compare` compares, by name. Each is a part of a scenario that goes over the rest, as `[case.prr]` with `tcp.reduction = "prr"`.
    #[schemars(extend("default" = {}))]
    #[allow(dead_code, reason = "taken out before the rest is read")]
    pub(in crate::scenario) case: BTreeMap<String, Case>,
    /// A grid of experiments, for `bentpipe sweep`.
    #[schemars(extend("default" = {}))]
    pub(in crate::scenario) sweep: Sweep,
}

/// A part of a scenario, any of its keys.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::scenario) struct Case {}

/// A place where links meet.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct Node {
    /// What happens to corrupted packets here.
    #[schemars(extend("default" = "router"))]
    pub(in crate::scenario) kind: Named<NodeKind>,
    /// Functions that see each packet passing through, in order.
    #[schemars(extend("default" = []))]
    pub(in crate::scenario) middlebox: Vec<Middlebox>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::scenario) enum Middlebox {
    /// Duplicates and holds back packets at random.
    Impair {
        /// Probability that a packet is sent twice.
        #[schemars(extend("default" = 0))]
        duplicate: Chance,
        /// Probability that a packet is held back, so that later ones overtake it.
        #[schemars(extend("default" = 0))]
        reorder: Chance,
        /// How long a packet is held back.
        #[schemars(extend("default" = "0 s"))]
        hold: Hold,
        /// Which packets are touched.
        #[schemars(extend("default" = "both"))]
        direction: Named<Way>,
    },
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(in crate::scenario) enum Hold {
    For(Span),
    Uniform(HoldUniform),
}

/// A random time, drawn for each packet.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct HoldUniform {
    /// Shortest and longest time, the latter excluded.
    pub(in crate::scenario) uniform: (Span, Span),
}

/// Time series to keep.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct Record {
    /// Which series are kept.
    #[schemars(extend("default" = []))]
    pub(in crate::scenario) series: Vec<SeriesName>,
    /// Time between samples of links and of rates.
    #[schemars(extend("default" = "100 ms"))]
    pub(in crate::scenario) interval: Span,
    /// Rows kept at most, over all series; what is beyond is counted, not kept.
    #[schemars(extend("default" = 1_000_000), range(max = 1_000_000_000))]
    pub(in crate::scenario) rows_max: u64,
    /// Rows of the table of transfers kept at most; what is beyond is counted, and the statistics are of all.
    #[schemars(extend("default" = 100_000), range(max = 1_000_000_000))]
    pub(in crate::scenario) transfers_max: u64,
}
