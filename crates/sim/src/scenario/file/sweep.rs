//! A grid of experiments as it is written.

use crate::scenario::registered::Named;
use crate::scenario::sweep::Table;
use crate::scenario::text::Chance;
use schemars::JsonSchema;
use serde::Deserialize;

/// What `bentpipe sweep` runs: this scenario with other values at some of its keys, each combination several times.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct Sweep {
    /// Runs of each point of the grid. Run k has the scenario's seed + k, so that all points meet the same channels. With `until`, the fewest.
    #[schemars(extend("default" = 10), range(min = 1, max = 10_000))]
    pub(in crate::scenario) replications: u32,
    /// Runs of a point at most, where `until` is not met.
    #[schemars(extend("default" = 100), range(min = 1, max = 10_000))]
    pub(in crate::scenario) replications_max: u32,
    /// Go on with a point until its mean is known this well.
    pub(in crate::scenario) until: Option<Until>,
    /// What is reported, in this order; see `bentpipe list metrics`. The store has all of them.
    #[schemars(extend("default" = ["goodput"]))]
    pub(in crate::scenario) metrics: Vec<String>,
    /// A congestion control or case that varies: every other one is compared with it. Without it, the best with every other one.
    pub(in crate::scenario) against: Option<String>,
    /// Tables of each run that are kept besides its metrics.
    #[schemars(extend("default" = []))]
    pub(in crate::scenario) tables: Vec<Named<Table>>,
    /// Keys of the scenario, each with its values: a list, or a range such as `{ from = 1e-5, to = 1e-1, count = 9, scale = "log" }` or `{ from = "1 Mbit/s", to = "9 Mbit/s", step = "2 Mbit/s" }`. Every value is combined with every value of the other keys. The key `case` takes names of the scenario's cases.
    #[schemars(extend("default" = {}))]
    #[allow(dead_code, reason = "taken out before the rest is read")]
    pub(in crate::scenario) vary: Vary,
    /// Tables like `vary` whose keys go together: first values with first values, second with second.
    #[schemars(extend("default" = []))]
    #[allow(dead_code, reason = "taken out before the rest is read")]
    pub(in crate::scenario) together: Vec<Vary>,
}

/// When a point has been run often enough.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct Until {
    /// Which metric; see `bentpipe list metrics`.
    #[schemars(extend("default" = "goodput"))]
    pub(in crate::scenario) metric: String,
    /// Largest half width of the mean's 95 % interval, as a share of the mean.
    #[schemars(extend("default" = "2 %"))]
    pub(in crate::scenario) half_width: Chance,
}

/// Keys of the scenario with lists or ranges of values.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::scenario) struct Vary {}
