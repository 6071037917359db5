//! `cargo bench -p bentpipe-sim --bench functions`: what a packet costs each function of the network, in instructions, counted
//! by valgrind.
//!
//! One transfer, and one question for what a cache may have, cross `a - b - c - d` at 20 Mbit/s, where a packet passes the nodes `b` and `c`; the average is over a minute of
//! it. What a packet costs with a function, less what it costs without any, is what the function costs, with all that it sends itself.
#![allow(clippy::print_stdout)]

#[path = "../tests/trials.rs"]
#[macro_use]
mod trials;

use bentpipe_sim::{scenario, Network};
use std::process::{Command, ExitCode};

const SECONDS: [u32; 2] = [10, 70];

const PATH: &str = r#"
[tcp]
like = "rfc"
[link.one]
from = "a"
to = "b"
rate = "20 Mbit/s"
delay = "5 ms"
[link.two]
from = "b"
to = "c"
rate = "20 Mbit/s"
delay = "30 ms"
queue = "1 bdp"
[link.three]
from = "c"
to = "d"
rate = "20 Mbit/s"
delay = "5 ms"
[flow.f]
from = "a"
to = "d"
[flow.one-question]
from = "d"
to = "a"
app = { kind = "request-response", response = "1 kB", count = 1, catalogue = { objects = 1 } }
"#;

macro_rules! list {
    ($($name:ident: $nodes:literal, $idle:expr;)+) => {
        const FUNCTIONS: &[(&str, &str)] = &[("none", ""), $((stringify!($name), $nodes)),+];
    };
}

trials!(list);

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    if let [_, name, seconds] = &args[..] {
        if let Some((_, nodes)) = FUNCTIONS.iter().find(|(known, _)| known == name) {
            println!("{}", run(nodes, seconds));
            return ExitCode::SUCCESS;
        }
    }
    match table() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn table() -> Result<(), String> {
    println!("| function | instructions per packet | more than without |");
    println!("|---|---|---|");
    let mut without = 0.0;
    for (name, _) in FUNCTIONS {
        let cost = per_packet(name)?;
        if *name == "none" {
            without = cost;
        }
        println!("| `{}` | {cost:.0} | {:.0} |", name.replace('_', "-"), cost - without);
    }
    Ok(())
}

/// Instructions from sender to receiver for each data packet and its part of an ACK: the difference between a long and a short run.
fn per_packet(name: &str) -> Result<f64, String> {
    let [(few, short), (many, long)] = [count(name, SECONDS[0])?, count(name, SECONDS[1])?];
    Ok((many - few) / (long - short))
}

/// Instructions of a run, and the data packets that arrived in it.
fn count(name: &str, seconds: u32) -> Result<(f64, f64), String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(own)
        .args([name, &seconds.to_string()])
        .output()
        .map_err(|error| format!("this needs valgrind, which is not here: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let collected = said.lines().find_map(|line| line.split("Collected :").nth(1)?.trim().parse().ok());
    let packets = String::from_utf8_lossy(&output.stdout).trim().parse().ok();
    collected.zip(packets).ok_or(said)
}

/// The data packets that arrive.
fn run(nodes: &str, seconds: &str) -> i64 {
    let text = format!("duration = \"{seconds} s\"\n{PATH}{nodes}\n");
    let read = scenario::from_toml(&text, "bench", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let mut network = Network::build(&read.scenario, 1);
    network.run(u64::MAX);
    let result = network.finish().unwrap_or_else(|failure| panic!("{failure}"));
    result.flows.whole("arrived_packets")[0]
}
