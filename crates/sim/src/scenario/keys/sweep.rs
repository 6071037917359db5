//! The tables of a scenario file that name other scenarios: its cases, and its grid of experiments.

use bentpipe_units::settings::{Chance, Fields, Shape, Table as Keys, Typed, Unfit, Value};
use bentpipe_units::{settings, words};

words! {
    /// A table that a run has.
    pub enum Table {
        /// A row per flow.
        "flows" => Flows,
        /// A row per link and direction.
        "links" => Links,
        /// A row per place, flow and cause of loss.
        "drops" => Drops,
        /// A row per flow with several transfers, and class of sizes.
        "completions" => Completions,
        /// A row per transfer.
        "transfers" => Transfers,
        /// A row per flow of datagrams.
        "datagrams" => Datagrams,
    }
}

settings! {
    /// What `bentpipe sweep` runs: this scenario with other values at some of its keys, each combination several times.
    #[derive(Clone, Debug)]
    pub(crate) struct Sweep {
        /// Runs of each point of the grid. Run k has the scenario's seed + k, so that all points meet the same channels. With `until`, the fewest.
        replications: u32 = 10, [1, 10_000];
        /// Runs of a point at most, where `until` is not met.
        replications_max: u32 = 100, [1, 10_000];
        /// Go on with a point until its mean is known this well.
        until: Option<Until> = None;
        /// What is reported, in this order; see `bentpipe list metrics`. The store has all of them.
        metrics: Vec<String> = vec!["goodput".to_owned()];
        /// A congestion control or case that varies: every other one is compared with it. Without it, the best with every other one.
        against: Option<String> = None;
        /// Tables of each run that are kept besides its metrics.
        tables: Vec<Table> = Vec::new();
        /// Keys of the scenario, each with its values: a list, or a range such as `{ from = 1e-5, to = 1e-1, count = 9, scale = "log" }` or `{ from = "1 Mbit/s", to = "9 Mbit/s", step = "2 Mbit/s" }`. Every value is combined with every value of the other keys. The key `case` takes names of the scenario's cases.
        vary: Vary = Vary;
        /// Tables like `vary` whose keys go together: first values with first values, second with second.
        together: Vec<Vary> = Vec::new();
    }
}

settings! {
    /// When a point has been run often enough.
    #[derive(Clone, Debug)]
    pub(crate) struct Until {
        /// Which metric; see `bentpipe list metrics`.
        metric: String = "goodput".to_owned();
        /// Largest half width of the mean's 95 % interval, as a share of the mean.
        half_width: f64 as Chance = 0.02;
    }
}

/// Tables that are taken out before the rest is read: any keys.
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
    /// A part of a scenario, any of its keys.
    Case;
    /// Keys of the scenario with lists or ranges of values.
    Vary;
}
