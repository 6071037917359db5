//! Tables of a scenario file that name other scenarios: cases, sweeps and searches.

use bentpipe_units::settings::{Chance, Fields, Shape, Share, Table as Keys, Typed, Unfit, Value};
use bentpipe_units::{settings, words, Duration};
use std::collections::BTreeMap;

words! {
    /// Result table of a run.
    pub enum Table {
        /// One row per flow.
        "flows" => Flows,
        /// One row per subflow of flows over several paths.
        "subflows" => Subflows,
        /// One row per link and direction.
        "links" => Links,
        /// One row per place, flow and cause of loss.
        "drops" => Drops,
        /// One row per flow with several transfers, and class of sizes.
        "completions" => Completions,
        /// One row per transfer.
        "transfers" => Transfers,
        /// One row per flow of datagrams.
        "datagrams" => Datagrams,
        /// One row per probe.
        "probes" => Probes,
        /// One row per flow over QUIC.
        "quic" => Quic,
        /// One row per medium.
        "media" => Media,
        /// One row per link and direction in a medium.
        "terminals" => Terminals,
        /// One row per medium and modulation and code that it granted.
        "modcods" => Modcods,
    }
}

settings! {
    /// Grid of experiments for `bentpipe sweep`: this scenario with other values of some keys, each combination several
    /// times.
    #[derive(Clone, Debug)]
    pub(crate) struct Sweep {
        /// Number of replications of each point. Replication k has the scenario's seed + k, so all points meet the same
        /// channels. With `until`, the least number.
        replications: u32 = 10, [1, 10_000];
        /// Largest number of replications of a point that does not meet `until`.
        replications_max: u32 = 100, [1, 10_000];
        /// Precision of a point's mean that ends its replications.
        until: Option<Until> = None;
        /// Metrics of the report, in this order; see `bentpipe list metrics`. The store contains all metrics.
        metrics: Vec<String> = vec!["goodput".to_owned()];
        /// Baseline: the congestion control or case that the others are compared with. Default: the best one.
        against: Option<String> = None;
        /// Tables of each run to keep, in addition to its metrics.
        tables: Vec<Table> = Vec::new();
        /// Keys of the scenario, each with its values: a list, or a range such as `{ from = 1e-5, to = 1e-1, count = 9,
        /// scale = "log" }` or `{ from = "1 Mbit/s", to = "9 Mbit/s", step = "2 Mbit/s" }`. Every value is combined
        /// with every value of the other keys. The key `case` takes names of the scenario's cases.
        vary: Vary = Vary;
        /// Tables like `vary` whose keys change together: first values with first values, second with second.
        together: Vec<Vary> = Vec::new();
    }
}

settings! {
    /// Precision that ends the replications of a point.
    #[derive(Clone, Debug)]
    pub(crate) struct Until {
        /// Metric; see `bentpipe list metrics`.
        metric: String = "goodput".to_owned();
        /// Largest half width of the mean's 95 % interval, as a share of the mean.
        half_width: f64 as Chance = 0.02;
    }
}

words! {
    /// Score of a setting over all conditions of a search.
    pub enum Robust {
        /// Weighted mean over the conditions.
        "mean" => Mean,
        /// The worst condition.
        "worst" => Worst,
        /// The weighted 90 % quantile over the conditions.
        "q90" => Q90,
    }
}

words! {
    /// Settings that a search may recommend.
    pub enum Space {
        /// Only what a stock kernel, gateway or modem can switch on.
        "linux" => Linux,
        /// Also what exists only in research.
        "all" => All,
    }
}

settings! {
    /// Search for better settings with `bentpipe tune`. The values in the file are the default, which every setting is
    /// compared with.
    #[derive(Clone, Debug)]
    pub(crate) struct Tune {
        /// Metrics to improve, each with its weight: `{ "fct:pages" = 1 }`. For a front of compromises:
        /// `{ pareto = ["fct:pages", "goodput:film"] }`. See `bentpipe list metrics`; `bytes:LINK` is what the link
        /// carries per delivered byte.
        objective: Objective = Objective;
        /// Metrics that must hold in every condition, each with its bound. A share is relative to the default:
        /// `{ "goodput:film" = "-15 %", unfinished = 0 }`.
        guard: Guard = Guard;
        /// Score of a setting over all conditions.
        robust: Robust = Robust::Mean;
        /// Smallest improvement that matters, as a share of the default's value.
        margin: Share = Share(Share::WHOLE / 100), "as in `compare`";
        /// Settings that may be recommended.
        space: Space = Space::Linux;
        /// Known period of the steps of the path, such as the reallocation of satellites. `bentpipe fit` writes the period
        /// that it finds. Default: the period of the delay, slots, jitter or selection of satellites.
        period: Option<Duration> = None;
        /// Keys of the scenario with the values to try, as in `[sweep.vary]`. Default: a stock space for
        /// this scenario.
        vary: Vary = Vary;
        /// Conditions, by name, besides the scenario as it is written. Each overrides parts of the scenario, like a
        /// case. `weight` is its share of time; without it, all conditions have the same share. `draws` names files
        /// of traces, such as `"path.data/draws/*.csv"`: each replication takes the next file.
        condition: BTreeMap<String, Condition> = BTreeMap::new();
    }
}

/// Tables with any keys, removed before the rest is read.
macro_rules! open {
    ($($(#[doc = $about:literal])+ $name:ident;)+) => {$(
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $name;

        impl Typed for $name {
            fn shape() -> Shape {
                Shape::Table(Keys { name: stringify!($name), about: concat!($($about),+).trim_ascii(), keys: None })
            }
            fn read(_: &Value) -> Result<Self, Unfit> {
                Ok(Self)
            }
            fn write(&self) -> Value {
                Value::Table(Fields::default())
            }
        }
    )+};
}

open! {
    /// Part of a scenario, with any of its keys.
    Case;
    /// Keys of the scenario with lists or ranges of values.
    Vary;
    /// Metrics with weights, or `pareto` with a list of metrics.
    Objective;
    /// Metrics with bounds.
    Guard;
    /// Part of a scenario, with any of its keys, a weight and draws.
    Condition;
}
