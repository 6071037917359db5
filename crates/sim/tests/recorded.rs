//! What changes a result raises `RESULTS`: runs that are kept under one number must be what we would give now.
//!
//! `recorded.txt` has the number, and of each of these runs a hash of all its tables, with the names of their columns.
//! `BLESS=1` writes it, where a hash changed only with a higher number.

use bentpipe_cc::verdict::VerdictKind;
use bentpipe_cc::CcKind;
use bentpipe_sim::dictionary::{Table, Values, SERIES};
use bentpipe_sim::record::RunResult;
use bentpipe_sim::scenario::{from_toml, Problems};
use bentpipe_sim::{Network, RESULTS};
use std::collections::BTreeMap;
use std::path::Path;

const FILE: &str = "tests/recorded.txt";

/// Losses of all kinds, marks, reordering, and more to send than fits.
const ROUGH: &str = r#"
duration = "8 s"
[tcp]
like = "rfc"
ecn = "classic"
[node.sat]
middlebox = [{ kind = "impair", duplicate = "0.1 %", reorder = "0.2 %", hold = "10 ms" }]
[link.up]
from = "s{n}"
to = "sat"
count = 2
rate = "20 Mbit/s"
delay = "5 ms"
[link.down]
from = "sat"
to = "r"
rate = "4 Mbit/s"
delay = "40 ms"
queue = { kind = "red", limit = "40 packets", ecn = true }
error = { kind = "packet", rate = 2e-3 }
outage = { spans = [["5 s", "5.6 s"]] }
[flow.f]
from = "s{n}"
to = "r"
count = 2
start = { uniform = ["0 s", "200 ms"] }
"#;

/// A hash of everything that a run gave.
fn hash(result: &RunResult) -> String {
    let tables = [
        ("flows", &result.flows),
        ("links", &result.links),
        ("drops", &result.drops),
        ("completions", &result.completions),
        ("transfers", &result.transfers),
        ("datagrams", &result.datagrams),
        ("summary", &result.summary),
        ("events", &result.events),
    ];
    let series = result.series.iter().map(|(name, table)| (name.as_str(), table));
    // FNV-1a: against chance, not against an adversary.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |bytes: &[u8]| {
        for &byte in bytes.iter().chain(&[0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for (name, table) in tables.into_iter().chain(series) {
        add(name.as_bytes());
        for (column, values) in &table.columns {
            add(column.as_bytes());
            match values {
                Values::Text(texts) => texts.iter().for_each(|text| add(text.as_bytes())),
                Values::Real(reals) => reals.iter().for_each(|real| add(&real.to_bits().to_le_bytes())),
                Values::Whole(wholes) => wholes.iter().for_each(|whole| add(&whole.to_le_bytes())),
            }
        }
    }
    result.notes.iter().for_each(|note| add(note.as_bytes()));
    format!("{hash:016x}")
}

/// A hash of the numbers alone, whatever columns, events and causes are called.
fn numbers(result: &RunResult) -> String {
    let plain = |table: &Table| {
        let columns = table.columns.iter().filter(|(_, values)| !matches!(values, Values::Text(_)));
        Table { columns: columns.map(|(_, values)| ("", values.clone())).collect() }
    };
    let mut kept = result.clone();
    for table in [
        &mut kept.flows,
        &mut kept.links,
        &mut kept.drops,
        &mut kept.completions,
        &mut kept.transfers,
        &mut kept.datagrams,
        &mut kept.summary,
        &mut kept.events,
    ]
    .into_iter()
    .chain(kept.series.iter_mut().map(|(_, table)| table))
    {
        *table = plain(table);
    }
    kept.series.iter_mut().for_each(|(name, _)| name.clear());
    kept.notes.clear();
    hash(&kept)
}

fn run(name: &str, text: &str, sets: &[(&str, &str)]) -> RunResult {
    try_run(name, text, sets).unwrap_or_else(|problems| panic!("{name}: {problems}"))
}

fn try_run(name: &str, text: &str, sets: &[(&str, &str)]) -> Result<RunResult, Problems> {
    // Without a medium or several paths, their series have no rows. Runs with datagrams have hashes of the delays besides.
    let of_others = ["modcod", "granted_bps", "requested_bps", "backlog_bytes", "held_bytes", "delay_s"];
    let names = SERIES.iter().map(|series| series.column.name).filter(|name| !of_others.contains(name));
    let names: Vec<String> = names.map(|name| format!("{name:?}")).collect();
    let series = format!("[{}, \"events\"]", names.join(", "));
    // The last value of a key holds.
    let sets = [&[("record.series", &*series)], sets].concat();
    let sets: Vec<_> = sets.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let read = from_toml(text, name, &sets)?;
    let mut network = Network::build(&read.scenario, read.scenario.seed);
    assert!(network.run(u64::MAX));
    Ok(network.finish().unwrap())
}

/// Name and text of each scenario that comes with bentpipe, but those over QUIC, whose stack another crate has.
fn shipped() -> impl Iterator<Item = (String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/bentpipe/scenario/shipped");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let all = paths.filter(|path| path.extension().is_some_and(|extension| extension == "toml")).map(|path| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, std::fs::read_to_string(&path).unwrap())
    });
    all.filter(|(_, text)| !text.contains("\nquic = "))
}

/// Scenarios whose delays of datagrams are recorded, too.
const DELAYS: [&str; 2] = ["broadcast.toml", "web-on-geo.toml"];

/// By name of a run, its hash: all that comes with bentpipe, cut short, and each congestion control and loss verdict.
fn hashes() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (name, text) in shipped() {
        if DELAYS.contains(&&*name) {
            let delays = run(&name, &text, &[("duration", "6 s"), ("record.series", "[\"delay_s\"]")]);
            assert!(delays.series[0].1.len() > 10, "{name}");
            found.insert(format!("delays-{name}"), hash(&delays));
        }
        let hash = hash(&run(&name, &text, &[("duration", "6 s")]));
        found.insert(name, hash);
    }
    for kind in CcKind::ALL {
        // Congestion controls that count marks need reports of their number.
        let ecn = if kind.takes().marks { "accurate" } else { "classic" };
        let sets = [("tcp.cc", kind.name()), ("tcp.ecn", ecn)];
        found.insert(format!("cc-{}", kind.name()), hash(&run(kind.name(), ROUGH, &sets)));
    }
    for kind in VerdictKind::ALL {
        found.insert(
            format!("verdict-{}", kind.name()),
            hash(&run(kind.name(), ROUGH, &[("tcp.verdict", kind.name())])),
        );
    }
    found
}

/// The number and the hashes that a file has.
fn read(text: &str) -> (u32, BTreeMap<String, String>) {
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    let number = lines.next().and_then(|(_, number)| number.parse().ok()).unwrap_or(0);
    (number, lines.map(|(name, hash)| (name.to_owned(), hash.to_owned())).collect())
}

fn written(number: u32, hashes: &BTreeMap<String, String>) -> String {
    let lines: String = hashes.iter().map(|(name, hash)| format!("{name} {hash}\n")).collect();
    format!("results {number}\n{lines}")
}

/// What is wrong with blessing what we have now, if anything. What was not recorded before changes no result.
fn refused(before: &str, number: u32, hashes: &BTreeMap<String, String>) -> Option<String> {
    let (old, kept) = read(before);
    let changed: Vec<&str> = hashes
        .iter()
        .filter(|(name, hash)| kept.get(*name).is_some_and(|kept| kept != *hash))
        .map(|(name, _)| name.as_str())
        .collect();
    let is_raised = number > old || (number == old && changed.is_empty());
    (!is_raised).then(|| {
        format!(
            "{} of {} recorded runs changed, such as {:?}, and RESULTS is {number} as in {FILE} ({old}): raise RESULTS in \
             crates/sim/src/lib.rs to {}, add the reason to docs/develop/results-history.md, then BLESS=1",
            changed.len(),
            hashes.len(),
            changed.first().unwrap_or(&"none"),
            old + 1
        )
    })
}

#[test]
fn what_changes_a_result_raises_its_number() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    let (before, hashes) = (std::fs::read_to_string(&path).unwrap_or_default(), hashes());
    if let Some(why) = refused(&before, RESULTS, &hashes) {
        panic!("{why}");
    }
    let now = written(RESULTS, &hashes);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, now).unwrap();
    } else {
        assert!(before == now, "{FILE} is stale: BLESS=1 cargo test -p bentpipe-sim --test it recorded");
    }
}

/// For a change that must not change results: the numbers of every shipped scenario under every sender.
#[test]
#[ignore = "takes minutes: cargo test --release -p bentpipe-sim --test it recorded -- --ignored"]
fn every_scenario_gives_every_sender_the_same_numbers() {
    const FILE: &str = "tests/recorded-numbers.txt";
    let mut found = BTreeMap::new();
    for (name, text) in shipped() {
        for kind in CcKind::ALL {
            let sets = [("duration", "12 s"), ("tcp.cc", kind.name())];
            let numbers = try_run(&name, &text, &sets).map_or_else(|_| "refused".to_owned(), |run| numbers(&run));
            found.insert(format!("{name}/{}", kind.name()), numbers);
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    let before = read(&std::fs::read_to_string(&path).unwrap_or_default());
    let changed: Vec<&String> =
        found.iter().filter(|(name, hash)| before.1.get(*name) != Some(hash)).map(|(name, _)| name).collect();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, written(RESULTS, &found)).unwrap();
    } else {
        assert!(changed.is_empty(), "{} of {} changed: {changed:?}", changed.len(), found.len());
    }
}

#[test]
fn a_changed_hash_is_blessed_with_a_higher_number_only() {
    let hashes = |hash: &str| BTreeMap::from([("geo".to_owned(), hash.to_owned())]);
    let before = written(7, &hashes("a"));
    assert_eq!(refused(&before, 7, &hashes("a")), None);
    assert_eq!(refused(&before, 8, &hashes("b")), None);
    assert_eq!(refused(&before, 8, &hashes("a")), None);
    let why = refused(&before, 7, &hashes("b")).unwrap();
    assert!(why.contains("\"geo\"") && why.contains("raise RESULTS") && why.contains("to 8"), "{why}");
    assert!(refused(&before, 6, &hashes("a")).is_some(), "a number that was used is not used again");
    let more = BTreeMap::from([("geo".to_owned(), "a".to_owned()), ("leo".to_owned(), "c".to_owned())]);
    assert_eq!(refused(&before, 7, &more), None, "a run that was not recorded yet");
}

#[test]
fn a_column_is_a_part_of_the_hash() {
    let read = from_toml(ROUGH, "rough", &[("duration".into(), "1 s".into())]).unwrap();
    let result = || {
        let mut network = Network::build(&read.scenario, 1);
        assert!(network.run(u64::MAX));
        network.finish().unwrap()
    };
    let (one, mut other) = (result(), result());
    assert_eq!(hash(&one), hash(&other));
    let rows = other.flows.len();
    other.flows = Table { columns: [other.flows.columns, vec![("new_s", Values::Real(vec![0.0; rows]))]].concat() };
    assert_ne!(hash(&one), hash(&other));
}
