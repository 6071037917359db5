//! Writes a resolved scenario in the language of scenario files. Reading it gives the same scenario.

use super::budget::Cost;
use super::problem::Problem;
use super::resolve::Meaning;
use super::route::Graph;
use super::schema::to_json;
use super::sweep::Sweep;
use super::tree::{is_hidden, split_path, Place, Tree, Value};
use super::tune::Tune;
use super::{direction, keys, like, sky, timeline};
use bentpipe_cc::{CcConfig, CcKind, CustomCc};
use bentpipe_model::ids::{LinkId, NodeId};
use bentpipe_model::spec::{App, Flow, Framing, Lane, Link, Medium, Multi, NodeKind, Scenario, Subflow, Timeline};
use bentpipe_tcp::{AutoBuffer, AutoSendBuffer, ClockPhase, Config, RtoConfig};
use bentpipe_units::settings::{Fields, Settings, Typed, Value as Written};
use bentpipe_units::{Duration, Word};
use serde_json::{json, Map, Value as Json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// Valid scenario with the origin of each value.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// Scenario of the run.
    pub scenario: Arc<Scenario>,
    /// Its cost, at most.
    pub cost: Cost,
    /// Written scenario, defaults included.
    tree: Tree,
    /// Entry of the file for each link and flow.
    entries: [BTreeMap<String, String>; 2],
    /// Table of the file for each change of the timeline.
    changes: Vec<usize>,
    /// Complete cases of the scenario, by name.
    pub cases: Vec<(String, Resolved)>,
    /// Sweep of the scenario. None for a case or a point of a sweep.
    pub sweep: Option<Sweep>,
    /// Search of the scenario. None for a case, a point of a sweep or a condition of a search.
    pub tune: Option<Tune>,
    /// Name of the text, for places.
    pub(super) source: String,
    /// Written text of a scenario with a sky. In `tree`, links replace the sky.
    pub(super) sky: Option<Box<Tree>>,
}

impl Resolved {
    pub(super) fn new(meaning: Meaning, tree: Tree) -> Self {
        let entries = [meaning.links, meaning.flows];
        let changes = meaning.changes;
        let Meaning { scenario, cost, .. } = meaning;
        Self {
            scenario,
            cost,
            tree,
            entries,
            changes,
            cases: Vec::new(),
            sweep: None,
            tune: None,
            source: String::new(),
            sky: None,
        }
    }

    /// Whether the scenario has a sky.
    pub fn has_sky(&self) -> bool {
        self.sky.is_some()
    }

    /// Whether each replication has its own day of the sky.
    pub fn has_days(&self) -> bool {
        self.sky.as_deref().is_some_and(sky::day::is_open)
    }

    /// Returns notes and hints as problems, each at its key if that is known.
    pub fn warnings(&self) -> Vec<Problem> {
        let about = |(key, message): (String, String)| {
            let path = split_path(&key).unwrap_or_default();
            let place = self.written_at(&path);
            let problem = Problem::new(place.shown(&self.source), &key, message, "");
            Problem { span: place.span(), ..problem }
        };
        self.scenario.warnings().into_iter().map(about).collect()
    }

    /// Returns the place of a key in the text, or of its table if the key is not written.
    fn written_at(&self, path: &[String]) -> Place {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let tree = self.sky.as_deref().filter(|_| path.first() == Some(&"sky")).unwrap_or(&self.tree);
        let entry = |path: &[&str]| path.iter().try_fold(tree, |tree, key| tree.get(key)).map(|tree| tree.key.clone());
        let written = (1..=path.len()).rev().filter_map(|length| entry(&path[..length]));
        let is_written = |place: &Place| matches!(place, Place::Line(_) | Place::Set(_));
        written.into_iter().find(is_written).unwrap_or(Place::Nowhere)
    }

    /// Returns the complete scenario as TOML, with the origin of each value. Entries with `count` are expanded. Nodes
    /// appear only if they are more than a router.
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        let mut document = document(&self.scenario);
        document.remove("at");
        self.section(&mut out, &mut Vec::new(), &document);
        for timeline::Written { keys, firsts } in at_tables(&self.scenario) {
            out += "\n[[at]]\n";
            for ((key, value), first) in keys.iter().zip(firsts) {
                let line = format!("{key} = {}", inline(value));
                let _ = writeln!(out, "{line:<40}  # {}", self.origin_at(self.changes[first], key));
            }
        }
        out
    }

    /// Returns the complete scenario as JSON, with the same keys.
    pub fn to_json(&self) -> Json {
        Json::Object(document(&self.scenario))
    }

    /// Returns the keys that replace a key without an effect. Empty for a key with an effect, and for cases and points
    /// of a sweep.
    pub fn acting(&self, key: &str) -> Vec<String> {
        self.sweep.as_ref().map_or_else(Vec::new, |sweep| sweep.acting(key))
    }

    /// Returns a hash of everything that can change a result, except the seed: 16 hexadecimal digits. Recorded series
    /// change no result. The table of transfers counts, because its length depends on the scenario.
    pub fn digest(&self) -> String {
        let mut document = document(&self.scenario);
        document.retain(|key, _| !matches!(key.as_str(), "title" | "seed" | "record"));
        document.insert("transfers_max".into(), self.scenario.record.transfers_max.into());
        // FNV-1a, then the finaliser of SplitMix64: protects against accidents, not against attacks.
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let mut hash = Json::Object(document).to_string().bytes().fold(0xcbf2_9ce4_8422_2325, step);
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        format!("{:016x}", hash ^ (hash >> 31))
    }

    fn section(&self, out: &mut String, path: &mut Vec<String>, table: &Map<String, Json>) {
        let (sections, values): (Vec<_>, Vec<_>) = table.iter().partition(|(key, value)| is_section(path, key, value));
        if !path.is_empty() && (!values.is_empty() || sections.is_empty()) {
            let header: Vec<String> = path.iter().map(|key| bare_or_quoted(key)).collect();
            let _ = writeln!(out, "\n[{}]", header.join("."));
        }
        for (key, value) in values {
            path.push(key.clone());
            let line = format!("{} = {}", bare_or_quoted(key), inline(value));
            let _ = writeln!(out, "{line:<40}  # {}", self.origin(path));
            path.pop();
        }
        for (key, value) in sections {
            path.push(key.clone());
            if let Json::Object(table) = value {
                self.section(out, path, table);
            }
            path.pop();
        }
    }

    /// Returns the origin of a change's key, in this table of the file.
    fn origin_at(&self, table: usize, key: &str) -> String {
        let table = self.tree.at(["at", &table.to_string()]);
        let is_written = |tree: &&Tree| !matches!(tree.place, Place::Default(_));
        let own = table.get(key).filter(|tree| is_written(tree) || matches!(key, "waiting" | "in_flight"));
        let handover = table.get("handover").filter(is_written);
        own.or(handover).unwrap_or(table).place.origin()
    }

    /// Returns the origin of the value at a path of the document.
    fn origin(&self, path: &[String]) -> String {
        let mut path: Vec<&str> = path.iter().map(String::as_str).collect();
        // The document's `[tcp]` is that of the first flow.
        if path[0] == "tcp" {
            let uses = |flow: &Flow| flow.app.has_transport() || *flow.app == App::Port;
            if !self.scenario.flows.iter().any(uses) {
                return "default, and no flow has connections".into();
            }
            path.splice(0..0, ["flow", shared(&self.scenario).map_or("", |flow| &flow.name)]);
        }
        let [links, flows] = &self.entries;
        match path[0] {
            "link" => {
                path[1] = links.get(path[1]).map_or("", String::as_str);
                if path[2] != "from" && path[2] != "to" && path.len() == 3 {
                    path.insert(2, "forward");
                }
            }
            "flow" => path[1] = flows.get(path[1]).map_or("", String::as_str),
            _ => {}
        }
        // A flow without its own table shares `[tcp]`.
        if let ["flow", entry, "tcp", ..] = path[..] {
            let flow = self.tree.get("flow").and_then(|flows| flows.get(entry));
            if flow.is_some_and(|flow| flow.get("tcp").is_none()) {
                path.drain(..2);
            }
        }
        let find = |path: &[&str]| path.iter().try_fold(&self.tree, |tree, key| tree.get(key));
        let written = find(&path).or_else(|| match path[..] {
            // A list of receivers makes it.
            ["flow", entry, "copy_of"] => find(&["flow", entry, "to"]),
            _ => None,
        });
        let Some(written) = written else {
            return match path.last() {
                Some(&("route" | "reverse_route")) => "default, shortest delay".into(),
                Some(key) => like::asked(key).map_or("default".into(), |why| format!("default, {why}")),
                None => "default".into(),
            };
        };
        let origin = match &written.place {
            Place::Line(stretch) if path[0] == "tcp" || (written.inherited && path[0] == "flow") => {
                let table = if path[0] == "flow" { path[2] } else { path[0] };
                format!("[{table}] line {}", stretch.line())
            }
            place => place.origin(),
        };
        // Lists the keys that a preset has set in a table of one line.
        if let (Value::Table(table), false) = (&written.value, matches!(written.place, Place::Default(_))) {
            let filled = table.iter().filter_map(|(key, child)| match &child.place {
                Place::Default(Some(origin)) if like::is_origin(origin) => Some(format!("; {key}: default, {origin}")),
                _ => None,
            });
            return filled.fold(origin, |all, one| all + &one);
        }
        // Values in bdp have become bytes.
        match (&written.value, path.last()) {
            (
                Value::Text(text),
                Some(
                    &("queue" | "initial_ssthresh" | "receive_buffer" | "send_buffer" | "initial_window"
                    | "stream_window" | "connection_window" | "send_window"),
                ),
            ) if text.ends_with("bdp") || text == "auto" && path.contains(&"quic") => {
                format!("{origin}: {}", text.trim())
            }
            _ => origin,
        }
    }
}

impl Place {
    /// Returns the origin as a comment of the resolved scenario.
    fn origin(&self) -> String {
        match self {
            Self::Nowhere => "given".into(),
            Self::Line(stretch) => format!("file line {}", stretch.line()),
            Self::Set(_) => "--set".into(),
            Self::Default(Some(origin)) => format!("default, {origin}"),
            Self::Default(None) => "default".into(),
        }
    }
}

/// Whether a table has its own header. Other tables are in one line.
fn is_section(path: &[String], key: &str, value: &Json) -> bool {
    let names: Vec<&str> = path.iter().map(String::as_str).chain([key]).collect();
    value.is_object()
        && matches!(
            names.as_slice(),
            ["tcp" | "record" | "node" | "medium" | "link" | "flow"]
                | ["node" | "medium" | "link" | "flow", _]
                | ["tcp", "rto" | "ack"]
                | ["link", _, "forward" | "reverse"]
                | ["flow", _, "tcp" | "quic" | "multipath" | "subflow"]
                | ["flow", _, "tcp", "rto" | "ack"]
                | ["flow", _, "subflow", _]
                | ["flow", _, "subflow", _, "tcp"]
                | ["flow", _, "subflow", _, "tcp", "rto" | "ack"]
        )
}

fn inline(value: &Json) -> String {
    match value {
        Json::String(text) => quoted(text),
        Json::Array(list) => format!("[{}]", list.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Json::Object(table) => {
            let entries: Vec<_> =
                table.iter().map(|(key, v)| format!("{} = {}", bare_or_quoted(key), inline(v))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
        other => other.to_string(),
    }
}

fn bare_or_quoted(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !key.is_empty() && key.chars().all(bare) {
        key.to_owned()
    } else {
        quoted(key)
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if is_hidden(c) => drop(write!(out, "\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Returns the flow whose transport becomes `[tcp]` of the document.
fn shared(scenario: &Scenario) -> Option<&Flow> {
    let has_tcp = |flow: &&Flow| flow.app.has_transport() && flow.transport.quic().is_none();
    scenario.flows.iter().find(has_tcp).or(scenario.flows.first())
}

/// Returns a route from a node as names of nodes, or of links if several join the same nodes.
fn way(scenario: &Scenario, graph: &Graph<'_>, from: NodeId, links: &[LinkId]) -> Json {
    let node = |index: NodeId| Json::from(scenario.nodes[index].name.as_str());
    let step = |&link: &LinkId| {
        let target = &scenario.links[link];
        let base = target.name.rsplit_once('.').map_or("", |(base, _)| base);
        if graph.is_parallel(link) {
            base.into()
        } else {
            node(target.to)
        }
    };
    [node(from)].into_iter().chain(links.iter().map(step)).collect()
}

/// Returns the timeline as tables.
fn at_tables(scenario: &Scenario) -> Vec<timeline::Written> {
    let graph = Graph::new(scenario.nodes.len(), &scenario.links);
    let from = |route: &[LinkId]| route.first().map_or(NodeId::new(0), |&link| scenario.links[link].from);
    timeline::tables(scenario, |route| way(scenario, &graph, from(route), route))
}

fn document(scenario: &Scenario) -> Map<String, Json> {
    let graph = Graph::new(scenario.nodes.len(), &scenario.links);
    let first = shared(scenario);
    let common = first.map_or(Json::Null, transport);
    let nodes = scenario.nodes.iter().filter_map(|node| {
        let plain = node.kind == NodeKind::Router && node.middleboxes.is_empty();
        let keys = keys::Node { kind: node.kind, middleboxes: node.middleboxes.clone() };
        (!plain).then(|| (node.name.clone(), to_json(&Typed::write(&keys))))
    });
    let links = scenario.links.iter().filter_map(|link| {
        let name = link.name.strip_suffix(".forward")?;
        let reverse = format!("{name}.reverse");
        let reverse = scenario.links.binary_search_by(|other| other.name.cmp(&reverse)).ok()?;
        let mut table = Map::new();
        table.insert("from".into(), scenario.nodes[link.from].name.clone().into());
        table.insert("to".into(), scenario.nodes[link.to].name.clone().into());
        let [forward, reverse] = [link, &scenario.links[reverse]].map(|link| direction(link, &scenario.media));
        if forward == reverse {
            table.extend(forward);
        } else {
            table.insert("forward".into(), forward.into());
            table.insert("reverse".into(), reverse.into());
        }
        Some((name.to_owned(), Json::Object(table)))
    });
    let flows = scenario.flows.iter().map(|flow| {
        let node = |index: NodeId| Json::from(scenario.nodes[index].name.as_str());
        let way = |from, links| way(scenario, &graph, from, links);
        let mut table = Map::new();
        table.insert("from".into(), node(flow.from));
        table.insert("to".into(), node(flow.to));
        table.extend(flow.copy_of.map(|first| ("copy_of".to_owned(), scenario.flows[first].name.clone().into())));
        table.insert("app".into(), to_json(&keys::App::written(&flow.app)));
        table.extend(flow.reader.map(|reader| ("reader".to_owned(), to_json(&Typed::write(&reader)))));
        table.insert("start".into(), to_json(&flow.start.write()));
        let Lane { route, reverse_route, class, .. } = &scenario.lanes[flow.lane];
        table.insert("class".into(), (*class).into());
        if let Some(multi) = flow.transport.multi() {
            table.insert("multipath".into(), multipath(multi));
            let mut subflows = Map::new();
            for (lane, subflow) in scenario.lanes[flow.lane.index()..].iter().zip(&multi.subflows) {
                let ways = [way(flow.from, &lane.route), way(flow.to, &lane.reverse_route)];
                subflows.insert(lane.subflow().to_owned(), subflow_table(flow, (lane, subflow), ways));
            }
            table.insert("subflow".into(), subflows.into());
        } else {
            table.insert("route".into(), way(flow.from, route));
            table.insert("reverse_route".into(), way(flow.to, reverse_route));
        }
        let same = first.is_some_and(|first| transport(flow) == transport(first));
        if let Some(quic) = flow.transport.quic() {
            table.insert("quic".into(), to_json(&Typed::write(quic.as_ref())));
        } else if !same && flow.app.has_transport() {
            table.insert("tcp".into(), difference(&transport(flow), &common));
        }
        (flow.name.clone(), Json::Object(table))
    });
    let document = json!({
        "title": scenario.title,
        "duration": to_json(&scenario.duration.write()),
        "seed": scenario.seed,
        "tcp": common,
        "node": Json::Object(nodes.collect()),
        "link": Json::Object(links.collect()),
        "flow": Json::Object(flows.collect()),
        "record": to_json(&Typed::write(&scenario.record)),
    });
    let Json::Object(mut document) = document else { return Map::new() };
    // Tables without content are left out, so that digests stay the same.
    if !scenario.media.is_empty() {
        let media = scenario.media.iter().map(|medium| (medium.name.clone(), to_json(&medium.kind.write())));
        document.insert("medium".into(), Json::Object(media.collect()));
    }
    if scenario.timeline != Timeline::default() {
        document.insert("forwarding".into(), scenario.timeline.forwarding.name().into());
        let tables = at_tables(scenario).into_iter().map(|table| Json::Object(table.keys));
        document.insert("at".into(), tables.collect());
    }
    document
}

/// Returns the keys of `own` that differ from `common`. Tables that flows inherit key by key contain only such keys.
fn difference(own: &Json, common: &Json) -> Json {
    let Json::Object(own) = own else { return Json::Null };
    let differing = own.iter().filter(|(key, value)| common.get(key) != Some(value));
    let differing = differing.map(|(key, value)| match key.as_str() {
        "rto" | "ack" => (key.clone(), difference(value, &common[key])),
        _ => (key.clone(), value.clone()),
    });
    Json::Object(differing.collect())
}

fn direction(link: &Link, media: &[Medium]) -> Map<String, Json> {
    let mut table = Fields::default();
    Settings::write(&direction::written(link, media), &mut table);
    // A link without framing has no such key, so that digests stay the same.
    if link.framing == Framing::None {
        table.take("framing");
    }
    table.0.iter().map(|(key, value)| (key.clone(), to_json(value))).collect()
}

/// Returns the values of TCP that a document without connections has.
fn without_connections() -> Arc<Config> {
    let rto = RtoConfig { phase: ClockPhase::At(Duration::ZERO), ..RtoConfig::default() };
    Arc::new(Config { rto, ..Config::default() })
}

/// Returns the values of a flow over several paths. Its receive buffer is that of its TCP.
fn multipath(multi: &Multi) -> Json {
    let mut table = Fields::default();
    Settings::write(multi.config.as_ref(), &mut table);
    table.take("receive_buffer");
    if let Some(own) = &multi.config.own_scheduler {
        let mut scheduler = Fields::of_kind(own.name());
        scheduler.put("code", own.code().into());
        table.put("scheduler", Written::Table(scheduler));
    }
    to_json(&Written::Table(table))
}

fn subflow_table(flow: &Flow, (lane, subflow): (&Lane, &Subflow), [route, reverse_route]: [Json; 2]) -> Json {
    let mut table = Map::new();
    table.insert("route".into(), route);
    table.insert("reverse_route".into(), reverse_route);
    table.insert("start".into(), to_json(&subflow.start.write()));
    table.insert("backup".into(), subflow.is_backup.into());
    table.insert("class".into(), lane.class.into());
    let tcp = difference(&tcp_of(flow, &subflow.tcp), &transport(flow));
    if tcp.as_object().is_some_and(|tcp| !tcp.is_empty()) {
        table.insert("tcp".into(), tcp);
    }
    Json::Object(table)
}

fn transport(flow: &Flow) -> Json {
    let multi = || flow.transport.multi().map(|multi| &multi.tcp);
    let config = flow.transport.tcp().or_else(multi).map_or_else(without_connections, Arc::clone);
    tcp_of(flow, &config)
}

/// Returns the values of TCP of a flow, or of one of its subflows.
fn tcp_of(flow: &Flow, config: &Arc<Config>) -> Json {
    let (start, limit) = (config.auto_buffer.unwrap_or_default(), config.receive_buffer);
    let auto_buffer = AutoBuffer { start, limit, growth: config.buffer_growth };
    let (start, limit) = (config.auto_send_buffer.unwrap_or_default(), config.send_buffer);
    let auto_send_buffer = AutoSendBuffer { start, limit };
    let keys = keys::Tcp {
        like: flow.like,
        buffers: flow.buffers,
        config: config.as_ref().clone(),
        processing: flow.processing,
        auto_buffer,
        auto_send_buffer,
    };
    let mut table = Fields::default();
    Settings::write(&keys, &mut table);
    if let Some(own) = &config.own_cc {
        table.put("cc", own_cc(own, config.cc));
    }
    for (size, auto, is_auto) in [
        ("receive_buffer", "auto_buffer", config.auto_buffer.is_some()),
        ("send_buffer", "auto_send_buffer", config.auto_send_buffer.is_some()),
    ] {
        if is_auto {
            table.put(size, "auto".into());
        } else {
            table.take(auto);
        }
    }
    to_json(&Written::Table(table))
}

/// Returns a custom congestion control with the settings of the congestion control that it extends.
fn own_cc(own: &CustomCc, extends: CcConfig) -> Written {
    let mut table = Fields::of_kind(own.name());
    table.put("code", own.code().into());
    let Written::Table(Fields(settings)) = extends.write() else { return Written::Table(table) };
    for (key, value) in settings.into_iter().filter(|(key, _)| key != "kind") {
        table.put(&key, value);
    }
    // Reno's window has no settings, and its recovery is a separate key.
    let kind = extends.kind();
    if !matches!(kind, CcKind::Sack | CcKind::NewReno | CcKind::Reno | CcKind::Tahoe | CcKind::TcpMin) {
        table.put("extends", kind.name().into());
    }
    Written::Table(table)
}
