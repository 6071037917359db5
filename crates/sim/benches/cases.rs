//! `make bench`: what a run costs, in CPU time of one core, from a built network to its tables; and, where the program
//! `ns` is installed, what ns-2 needs for the same work, in the same call. Prints a table and writes `bench.json`.
//!
//! Each case runs in a process of its own, so that its peak memory is its own.
#![allow(clippy::print_stdout)]

use bentpipe_sim::{scenario, Network};
use serde_json::{json, Value};
use std::process::Command;

const S1: &str = include_str!("cases/s1.toml");
const S2: &str = include_str!("cases/s2.toml");
const REPETITIONS: usize = 5;

struct Case {
    name: &'static str,
    file: &'static str,
    sets: &'static [(&'static str, &'static str)],
    /// Milliseconds of CPU time that are allowed.
    budget_ms: f64,
    /// The case of `ns2/case.tcl`.
    ns: Option<&'static str>,
}

const CASES: &[Case] = &[
    Case { name: "S1, p = 0", file: S1, sets: &[], budget_ms: 30.0, ns: Some("s1") },
    Case {
        name: "S1, p = 0.01",
        file: S1,
        sets: &[("link.isl1.forward.error.kind", "packet"), ("link.isl1.forward.error.rate", "0.01")],
        budget_ms: 30.0,
        ns: None,
    },
    Case { name: "S2, one flow", file: S2, sets: &[], budget_ms: 80.0, ns: Some("s2") },
    Case {
        name: "S1 x 100 flows, 1 Gbit/s",
        file: S1,
        sets: &[
            ("duration", "60 s"),
            ("flow.f.count", "100"),
            ("link.up.count", "100"),
            ("link.down.count", "100"),
            ("link.up.rate", "1 Gbit/s"),
            ("link.down.rate", "1 Gbit/s"),
            ("link.isl1.rate", "1 Gbit/s"),
            ("link.isl2.rate", "1 Gbit/s"),
            ("link.up.queue", "1879 packets"),
            ("link.down.queue", "1879 packets"),
            ("link.isl1.queue", "1879 packets"),
            ("link.isl2.queue", "1879 packets"),
        ],
        budget_ms: 2000.0,
        ns: Some("s1x100"),
    },
    Case {
        // Sixteen segments each: the bottleneck is full and nothing is lost, so that a hop costs what it costs.
        name: "S1 x 10,000 flows, 10 Gbit/s",
        file: S1,
        sets: &[
            ("duration", "5 s"),
            ("tcp.receive_buffer", "16 segments"),
            ("flow.f.count", "10000"),
            ("link.up.count", "10000"),
            ("link.down.count", "10000"),
            ("link.isl1.rate", "10 Gbit/s"),
            ("link.isl2.rate", "10 Gbit/s"),
            ("link.isl1.queue", "20000 packets"),
            ("link.isl2.queue", "20000 packets"),
        ],
        budget_ms: f64::INFINITY,
        ns: None,
    },
];

fn main() {
    if cfg!(debug_assertions) {
        panic!("a debug build measures nothing");
    }
    // Cargo passes `--bench`; a case's own process gets its number.
    if let Some(index) = std::env::args().nth(1).and_then(|argument| argument.parse::<usize>().ok()) {
        println!("{}", measure(&CASES[index]));
        return;
    }
    println!("{:<30} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8}", "case", "hops", "ms", "budget", "ns/hop", "MB", "ns-2/us");
    let mut rows = Vec::new();
    for (index, case) in CASES.iter().enumerate() {
        let mut row = in_own_process(index);
        let (ms, hops) =
            (row["cpu_s"].as_f64().unwrap_or(f64::NAN) * 1e3, row["packet_hops"].as_f64().unwrap_or(f64::NAN));
        let ns_s = case.ns.and_then(ns2_cpu_s);
        println!(
            "{:<30} {:>9} {:>8.1} {:>8} {:>8.1} {:>8.1} {:>8}",
            case.name,
            hops,
            ms,
            if case.budget_ms.is_finite() { case.budget_ms.to_string() } else { "-".into() },
            ms * 1e6 / hops,
            row["peak_bytes"].as_f64().unwrap_or(f64::NAN) / 1e6,
            ns_s.map_or("-".into(), |s| format!("{:.1}", s * 1e3 / ms)),
        );
        row["ns2_cpu_s"] = json!(ns_s);
        row["budget_s"] = if case.budget_ms.is_finite() { json!(case.budget_ms / 1e3) } else { Value::Null };
        rows.push(row);
    }
    let text = serde_json::to_string_pretty(&json!({ "version": env!("CARGO_PKG_VERSION"), "cases": rows }));
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench.json");
    std::fs::write(path, text.expect("numbers and names") + "\n").expect("bench.json can be written");
}

/// The best of some runs: on a shared machine the others measure the neighbours.
fn measure(case: &Case) -> Value {
    let sets: Vec<(String, String)> = case.sets.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    let resolved = scenario::from_toml(case.file, "bench", &sets).unwrap_or_else(|problems| panic!("{problems}"));
    let mut best = f64::INFINITY;
    let mut hops = 0;
    for _ in 0..REPETITIONS {
        let before = cpu_s();
        let mut network = Network::build(&resolved.scenario, 1);
        network.run(u64::MAX);
        let result = network.finish().unwrap();
        best = best.min(cpu_s() - before);
        hops = result.summary.whole("packet_hops")[0];
    }
    json!({ "case": case.name, "cpu_s": best, "packet_hops": hops, "peak_bytes": peak_bytes() })
}

fn in_own_process(index: usize) -> Value {
    let program = std::env::current_exe().expect("this program has a path");
    let output = Command::new(program).arg(index.to_string()).output().expect("this program runs again");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("a case prints JSON")
}

/// CPU time of ns-2 for the same work, process start included; none if it is not installed.
fn ns2_cpu_s(case: &str) -> Option<f64> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/ns2/case.tcl");
    let timed = format!("exec 3>&1; {{ TIMEFORMAT='%U %S'; time ns {script} {case} >/dev/null 2>&1; }} 2>&3");
    let output = Command::new("bash").args(["-c", &format!("command -v ns >/dev/null && {timed}")]).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).replace(',', ".");
    let times: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    output.status.success().then(|| times.iter().sum()).filter(|&s| s > 0.0)
}

/// CPU time of this thread so far.
fn cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("the bench runs on Linux");
    text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).expect("nanoseconds first") / 1e9
}

fn peak_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("");
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) * 1024
}
