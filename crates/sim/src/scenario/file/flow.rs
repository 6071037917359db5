//! Flows as they are written.

use super::{App, Reader, Tcp};
use crate::scenario::text::Span;
use schemars::JsonSchema;
use serde::Deserialize;

/// An application, and the connections or datagrams that it sends by.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct Flow {
    /// The sending node; where there are questions and answers, the one that asks. May contain `{n}` if there is a `count`.
    pub(in crate::scenario) from: String,
    /// The receiving node. May contain `{n}` if there is a `count`.
    pub(in crate::scenario) to: String,
    /// Make this many flows from the entry, with 1, 2, ... for `{n}` in `from`, `to`, routes and the name (appended if it has none).
    #[schemars(range(min = 1, max = 1_000_000))]
    pub(in crate::scenario) count: Option<u32>,
    /// What it sends.
    #[schemars(extend("default" = "greedy"))]
    pub(in crate::scenario) app: App,
    /// How the application that receives the data reads them. Without it, at once.
    pub(in crate::scenario) reader: Option<Reader>,
    /// When it begins.
    #[schemars(extend("default" = "0 s"))]
    pub(in crate::scenario) start: Start,
    /// Its class in queues that tell classes apart, for packets in both directions; with strict priority 0 is the highest.
    #[schemars(extend("default" = 0))]
    pub(in crate::scenario) class: u8,
    /// The way there: nodes from `from` to `to`, or names of links where two links join the same nodes. Without it, the way of shortest delay at the start of the run.
    pub(in crate::scenario) route: Option<Vec<String>>,
    /// The way back, from `to` to `from`. Without it, the way of shortest delay.
    pub(in crate::scenario) reverse_route: Option<Vec<String>>,
    /// What differs from `[tcp]`, key by key.
    pub(in crate::scenario) tcp: Option<Tcp>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(in crate::scenario) enum Start {
    At(Span),
    Uniform(StartUniform),
}

/// A random instant.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct StartUniform {
    /// Earliest and latest instant, the latest excluded; drawn for each flow.
    pub(in crate::scenario) uniform: (Span, Span),
}
