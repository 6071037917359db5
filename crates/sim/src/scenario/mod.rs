//! A scenario: what a run is made of. `file` is what the user wrote, [`Scenario`] what it means, with every
//! default filled in and every reference checked: it cannot stand for an experiment that makes no sense.
//!
//! The way from one to the other: text becomes a `tree` with the place of each value, `check` compares it with the
//! schema that the structs of `file` generate and writes the defaults in, `resolve` joins the names.

mod app;
mod cases;
mod channel;
mod check;
mod crossing;
mod direction;
mod file;
mod files;
mod generate;
mod inherit;
mod json;
mod like;
mod load;
mod own;
mod pass;
mod problem;
mod queue;
mod registered;
mod resolve;
mod route;
mod settings;
mod sweep;
#[cfg(test)]
mod tests;
mod text;
mod trace;
mod tree;
mod words;
mod work;
mod write;

pub use crate::traffic::variate::{Size, Wait};
pub use app::{App, Arrivals, Bulk, Datagrams, Gaps, Page, Reader, RequestResponse};
pub use channel::{Downtimes, Effect, ErrorModel, ErrorUnit, Interleave, Outage, Profile, Stay, MILLIONTHS};
pub use files::{Files, Folder, NoFiles, Sender};
pub use generate::{choices, python_types, reference, Choice};
pub use like::Like;
pub use problem::{Problem, Problems};
pub use queue::{Codel, FqCodel, Pie, Queue, QueueLimit, Red, Share};
pub use sweep::{Axis, Sweep, Table};
pub use write::Resolved;

use bentpipe_tcp::Config;
use bentpipe_units::{Duration, Rate, Time};
use check::{Check, Found};
use resolve::{Report, DURATION_MAX};
use tree::{Place, Tree};

/// Reads a scenario file. `source` is the name of the file, for messages; `sets` are pairs of a dotted key and a value
/// that go over what the file says.
///
/// # Errors
/// Everything that is wrong with it, each with its place.
pub fn from_toml(text: &str, source: &str, sets: &[(String, String)]) -> Result<Resolved, Problems> {
    from_toml_with(text, source, sets, &NoFiles)
}

/// Reads a scenario file that may name other files, which are asked of `files`.
///
/// # Errors
/// Everything that is wrong with it and them, each with its place.
pub fn from_toml_with(
    text: &str,
    source: &str,
    sets: &[(String, String)],
    files: &dyn Files,
) -> Result<Resolved, Problems> {
    too_large(text, source, sets)?;
    let tree = Tree::from_toml(text, source).map_err(|problem| Problems { problems: vec![problem] })?;
    from_tree(tree, source, sets, files)
}

/// Reads the same as JSON, which is how Python values arrive: there, places are the source's name and paths of keys.
///
/// # Errors
/// Everything that is wrong with it.
pub fn from_json(text: &str, source: &str, sets: &[(String, String)]) -> Result<Resolved, Problems> {
    from_json_with(text, source, sets, &NoFiles)
}

/// Reads a scenario as JSON that may name files, which are asked of `files`.
///
/// # Errors
/// Everything that is wrong with it and them.
pub fn from_json_with(
    text: &str,
    source: &str,
    sets: &[(String, String)],
    files: &dyn Files,
) -> Result<Resolved, Problems> {
    too_large(text, source, sets)?;
    match json::read(text) {
        Ok(tree) => from_tree(tree, source, sets, files),
        Err(error) => {
            let place = format!("{source}:{}:{}", error.line(), error.column());
            Err(alone(place, format!("not JSON: {error}"), String::new()))
        }
    }
}

/// The JSON Schema (draft 2020-12) of a scenario file. `x-origin` says where a default is from.
pub fn schema() -> serde_json::Value {
    check::schema().clone()
}

/// Longer texts are not scenarios. A resolved scenario has its traces in it: a third of a million points fit.
const TEXT_MAX: usize = 16 << 20;

fn too_large(text: &str, source: &str, sets: &[(String, String)]) -> Result<(), Problems> {
    let size = text.len() + sets.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>();
    if size <= TEXT_MAX {
        return Ok(());
    }
    Err(alone(source.into(), format!("the scenario has {size} B of text"), format!("expected at most {TEXT_MAX} B")))
}

fn alone(place: String, message: String, expected: String) -> Problems {
    Problems { problems: vec![Problem { place, path: String::new(), message, expected, hint: String::new() }] }
}

fn from_tree(mut tree: Tree, source: &str, sets: &[(String, String)], files: &dyn Files) -> Result<Resolved, Problems> {
    if tree.table().is_none() {
        let message = format!("a scenario is a table, and this is {}", check::type_name(&tree));
        return Err(alone(source.into(), message, "expected duration, link and flow, by name".into()));
    }
    let mut problems: Vec<Problem> = sets.iter().filter_map(|(key, value)| tree.set(key, value).err()).collect();
    let cases = cases::take(&mut tree, source).map_err(|problem| Problems { problems: vec![problem] })?;
    let mut check = Check::default();
    let axes = sweep::take(&mut tree, sets, &mut check);
    problems.extend(check.found.into_iter().map(|found| located(found, source)));
    let (mut whole, written) = read(tree.clone(), source, problems, files)?;
    for (name, case) in &cases {
        let mut own = tree.clone();
        cases::put(&mut own, case.clone());
        whole.cases.push((name.clone(), read(own, source, Vec::new(), files)?.0));
    }
    whole.sweep = Some(Sweep::new(written, axes, tree, cases, source));
    Ok(whole)
}

/// Reads a scenario whose cases and grid have been taken out; of the latter there is what is not about its points.
/// `problems` are those that are known already.
fn read(
    mut tree: Tree,
    source: &str,
    mut problems: Vec<Problem>,
    files: &dyn Files,
) -> Result<(Resolved, file::Sweep), Problems> {
    let mut check = Check::default();
    own::stand_in(&mut tree, files.senders());
    check.walk(check::schema(), &mut tree, "");
    if check.found.is_empty() && problems.is_empty() {
        inherit::tcp(&mut tree);
        like::fill(&mut tree);
        check::complete(check::schema(), &mut tree);
        inherit::links(&mut tree);
        match serde_json::from_value::<file::File>(tree.to_json()) {
            Ok(file) => {
                let meaning = resolve::resolve(&file, &mut Report { tree: &tree, check: &mut check, files, traced: 0 });
                if let Some(meaning) = meaning {
                    return Ok((Resolved::new(meaning, tree), file.sweep));
                }
            }
            // The walker lets nothing through that the structs refuse; if it did, saying so beats a panic.
            Err(error) => {
                check.add(&Place::Nowhere, "", format!("not a scenario: {error}"), String::new(), String::new())
            }
        }
    }
    check.found.sort_by(|a, b| a.place.cmp(&b.place));
    problems.splice(0..0, check.found.into_iter().map(|found| located(found, source)));
    // What is inherited is wrong once, however many inherit it.
    let mut seen = std::collections::BTreeSet::new();
    problems.retain(|problem| seen.insert((problem.place.clone(), problem.message.clone())));
    Err(Problems { problems })
}

fn located(found: Found, source: &str) -> Problem {
    Problem { place: found.place.shown(source), ..found.problem }
}

/// A complete, valid experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// One line for tables and figures.
    pub title: String,
    /// Simulated time after which the run ends.
    pub duration: Duration,
    /// Seed of all random streams.
    pub seed: u64,
    /// Sorted by name; [`Link::from`] and its like are indices into this.
    pub nodes: Vec<Node>,
    /// One direction each: `NAME.forward` and `NAME.reverse`, sorted by name.
    pub links: Vec<Link>,
    /// Sorted by name (natural order: `f2` before `f10`).
    pub flows: Vec<Flow>,
    /// Which time series are kept.
    pub record: Record,
}

/// A place where links meet.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// As in the file.
    pub name: String,
    /// What happens to corrupted packets here.
    pub kind: NodeKind,
    /// Functions that see each packet passing through, in order.
    pub middleboxes: Vec<crate::middlebox::MiddleboxConfig>,
}

bentpipe_units::words! {
    /// What a node does with a packet that arrives corrupted.
    pub enum NodeKind {
        /// Checks each packet and drops a corrupted one.
        "router" => Router,
        /// A repeater: passes corrupted packets on, corrupted.
        "bent-pipe" => BentPipe,
    }
}

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// `NAME.forward` or `NAME.reverse`.
    pub name: String,
    /// Index of the sending node.
    pub from: usize,
    /// Index of the receiving node.
    pub to: usize,
    /// Bit rate over time.
    pub rate: Profile<Rate>,
    /// Propagation delay over time.
    pub delay: Profile<Duration>,
    /// When the link is down.
    pub outage: Option<Outage>,
    /// The queue in front of it.
    pub queue: Queue,
    /// What corrupts packets on it.
    pub error: ErrorModel,
    /// What becomes of a packet that an error hits.
    pub effect: Effect,
    /// What spreads errors, and corrects some.
    pub interleave: Option<Interleave>,
}

/// An application, and the connections or datagrams that it sends by.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// As in the file; instances of an entry with `count` are numbered.
    pub name: String,
    /// Index of the sending node.
    pub from: usize,
    /// Index of the receiving node.
    pub to: usize,
    /// What it sends.
    pub app: App,
    /// How the application at the receiving end reads; none: at once.
    pub reader: Option<Reader>,
    /// When it opens.
    pub start: Start,
    /// Its class in queues that tell classes apart.
    pub class: u8,
    /// Indices of the links from `from` to `to`.
    pub route: Vec<usize>,
    /// Indices of the links back.
    pub reverse_route: Vec<usize>,
    /// The transport at both ends; datagrams do not use it. `rto.phase` is ignored where `phase_drawn` is set.
    pub tcp: Config,
    /// Draw the phase of each end's clock (uniform in one tick) instead of taking `tcp.rto.phase`.
    pub phase_drawn: bool,
    /// Which host's settings filled what the file left open; they are all in `tcp`.
    pub like: Like,
    /// Time that a host takes before it handles a packet: shortest and longest, the latter excluded unless they are equal.
    pub processing: (Duration, Duration),
}

/// When a flow starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At this instant.
    At(Time),
    /// Uniform in [from, to), from the flow's own stream.
    Uniform {
        /// Earliest instant.
        from: Time,
        /// Latest instant, excluded.
        to: Time,
    },
}

/// Time series to keep.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Record {
    /// Names from the dictionary (`cwnd_bytes`, `srtt_s`, ...), sorted.
    pub series: Vec<String>,
    /// Time between samples of links and of rates.
    pub interval: Duration,
    /// Rows kept at most, over all series; what is beyond is counted, not kept.
    pub rows_max: u64,
    /// Transfers kept at most, one by one; the statistics are of all.
    pub transfers_max: u64,
}
