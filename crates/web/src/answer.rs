//! Requests of a page, and their answers.

use crate::packets::{self, Sacks};
use crate::{sky, written};
use bentpipe_sim::dictionary;
use bentpipe_sim::record::RunResult;
use bentpipe_sim::scenario::{self, Files, Problems, Resolved, SkyOfRun};
use bentpipe_sim::{Failure, Network, RESULTS};
use serde::Deserialize;
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Name of the scenario in messages.
const SOURCE: &str = "scenario.toml";

/// A request, by its name.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Request {
    /// Version, and the dictionary of columns, series, events and causes.
    Know {},
    /// Schema of the scenario file.
    Schema {},
    /// Reads a scenario: its problems, or its facts.
    Check(Text),
    /// The text of a scenario with every default and its source.
    Resolve(Text),
    /// The sky of a scenario, for the globe.
    Sky(Text),
    /// Coverage or delays all over the Earth, under the sky of the last request.
    Cells(sky::Cells),
    /// Begins a run, in place of an earlier one.
    Begin(Text),
    /// Continues a run for up to `events` events.
    Advance { events: u64 },
    /// Ends a run before its time.
    Stop {},
    /// Packets of a span of a flow. The run, which goes on, records `events`.
    Packets(packets::Span),
    /// Results up to now. The run goes on.
    SoFar {},
    /// Results of a run, which is over.
    Finish {},
}

/// A scenario with overrides.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    text: String,
    /// Dotted keys with values as in a file. They override the text.
    #[serde(default)]
    sets: Vec<(String, String)>,
    /// Case of the scenario, by name.
    case: Option<String>,
    seed: Option<u64>,
    /// Series to record besides those of the scenario. They change no result.
    #[serde(default)]
    series: Vec<String>,
    /// Contents of files that the scenario may name.
    #[serde(default)]
    files: Dropped,
}

/// Files that a visitor dropped on the page, by name.
#[derive(Default, Deserialize)]
struct Dropped(BTreeMap<String, String>);

impl Files for Dropped {
    fn read(&self, name: &str) -> Result<Vec<u8>, (String, String)> {
        let content = self.0.get(name).map(|content| content.clone().into_bytes());
        content.ok_or_else(|| ("is not in this page".into(), "expected a file that was dropped on the page".into()))
    }
}

impl Text {
    fn read(&self) -> Result<Resolved, Problems> {
        let whole = scenario::from_toml_with(&self.text, SOURCE, &self.sets, &self.files)?;
        let is_asked = |(name, _): &(String, Resolved)| self.case.as_ref() == Some(name);
        Ok(match whole.cases.iter().position(is_asked) {
            Some(number) => whole.cases[number].1.clone(),
            None => whole,
        })
    }

    /// Builds the network of a scenario, with more series.
    fn build(&self, resolved: &Resolved) -> Run {
        let mut scenario = resolved.scenario.as_ref().clone();
        let known = scenario.record.series.clone();
        scenario.record.series.extend(self.series.iter().filter(|name| !known.contains(name)).cloned());
        let seed = self.seed.unwrap_or(scenario.seed);
        let sacks = Sacks::default();
        let flows = scenario.flows.iter().map(|flow| flow.name.clone()).collect();
        let mut network = Network::build(&Arc::new(scenario), seed);
        if self.series.iter().any(|name| name == "events") {
            network.watch(Box::new(sacks.clone()));
        }
        Run { network, flows, sacks }
    }
}

/// The state behind a page: a run in progress, and the sky on the globe.
#[derive(Default)]
pub struct Laboratory {
    run: Option<Run>,
    sky: Option<SkyOfRun>,
}

struct Run {
    network: Network,
    flows: Vec<String>,
    sacks: Sacks,
}

impl Laboratory {
    /// Answers a request with JSON. The answer to a wrong request has `wrong`, and that to a wrong scenario has `problems`.
    pub fn answer(&mut self, request: &[u8]) -> String {
        match serde_json::from_slice(request) {
            Ok(request) => self.carry_out(request),
            Err(error) => wrong(format!("not a request: {error}")),
        }
    }

    fn carry_out(&mut self, request: Request) -> String {
        match request {
            Request::Know {} => {
                let (version, dictionary) = (env!("CARGO_PKG_VERSION"), dictionary::to_json());
                json!({ "version": version, "results": RESULTS, "dictionary": dictionary }).to_string()
            }
            Request::Schema {} => scenario::schema().to_string(),
            Request::Check(text) => of_scenario(text.read(), |resolved| written::scenario(&resolved).to_string()),
            Request::Resolve(text) => {
                of_scenario(text.read(), |resolved| json!({ "resolved": resolved.to_toml() }).to_string())
            }
            Request::Sky(text) => of_scenario(text.read(), |resolved| {
                self.sky = resolved.look_at_sky(&text.files);
                let Some(found) = &self.sky else { return Value::Null.to_string() };
                of_sky(sky::of_run(&resolved, found).map_err(|error| error.to_string()))
            }),
            Request::Cells(cells) => match &self.sky {
                Some(found) => of_sky(cells.under(found)),
                None => wrong("no sky yet: a request for a sky comes first".to_owned()),
            },
            Request::Begin(text) => of_scenario(text.read(), |resolved| {
                if resolved.scenario.needs_engines() {
                    return wrong("this page has no QUIC: install bentpipe to run this scenario".to_owned());
                }
                self.run = Some(text.build(&resolved));
                written::scenario(&resolved).to_string()
            }),
            Request::Advance { events } => self.with_run(|Run { network, .. }| {
                let is_done = network.run(events);
                let (progress, simulated_s) = (network.progress(), network.now().as_secs_f64());
                json!({ "is_done": is_done, "progress": progress, "simulated_s": simulated_s }).to_string()
            }),
            Request::Stop {} => self.with_run(|Run { network, .. }| {
                network.interrupt();
                json!({ "is_done": true }).to_string()
            }),
            Request::Packets(span) => self.with_run(|Run { network, flows, sacks }| {
                let Some(flow) = flows.iter().position(|name| name == span.flow()) else {
                    return wrong(format!("{:?} is not a flow of this run", span.flow()));
                };
                let found = network.so_far().map(|result| packets::within(&result, sacks, flow, &span).to_string());
                found.unwrap_or_else(|failure| wrong(failure.to_string()))
            }),
            Request::SoFar {} => self.with_run(|Run { network, .. }| tables(network.so_far())),
            Request::Finish {} => self.run.take().map_or_else(no_run, |run| tables(run.network.finish())),
        }
    }

    fn with_run(&mut self, act: impl FnOnce(&mut Run) -> String) -> String {
        self.run.as_mut().map_or_else(no_run, act)
    }
}

fn of_scenario(read: Result<Resolved, Problems>, act: impl FnOnce(Resolved) -> String) -> String {
    read.map_or_else(|problems| written::problems(&problems).to_string(), act)
}

fn of_sky(found: Result<Value, String>) -> String {
    found.map_or_else(wrong, |found| found.to_string())
}

fn tables(result: Result<RunResult, Failure>) -> String {
    result.map_or_else(|failure| wrong(failure.to_string()), |result| written::result(&result))
}

fn no_run() -> String {
    wrong("no run has begun".to_owned())
}

fn wrong(message: String) -> String {
    json!({ "wrong": message }).to_string()
}
