//! Against ns-2, where the program `ns` is installed: `cargo test -p bentpipe-sim --test it ns2 -- --ignored --nocapture`. The
//! scenarios and ns-2's scripts are in `validation`; docs/validation/ns2.md says what agreement means.
#![allow(clippy::print_stdout)]

use bentpipe_sim::scenario::from_toml;
use bentpipe_sim::Network;
use std::process::Command;

const SEEDS: u64 = 5;

/// Utilisation, mean packets waiting, share of packets dropped.
type Measures = [f64; 3];

fn ours(seed: u64, waits: bool) -> Measures {
    let text = include_str!("../../../validation/red.toml");
    let wait = [("link.l.forward.queue.wait".to_owned(), waits.to_string())];
    let scenario = from_toml(text, "red.toml", &wait).unwrap_or_else(|problems| panic!("{problems}")).scenario;
    let mut network = Network::build(&scenario, seed);
    assert!(network.run(u64::MAX));
    let links = network.finish().unwrap().links;
    assert_eq!(links.text("link")[0], "l.forward");
    let whole = |column: &str| links.whole(column)[0] as f64;
    // Little's law.
    let waiting = links.real("queue_mean_s")[0] * whole("carried_packets") / 300.0;
    [links.real("utilisation")[0], waiting, whole("dropped_packets") / whole("offered_packets")]
}

fn theirs(seed: u64, waits: bool) -> Measures {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../validation/red.tcl");
    let output = Command::new("ns").args([script, &seed.to_string(), &waits.to_string()]).output();
    let text = String::from_utf8(output.expect("ns is installed").stdout).unwrap();
    let numbers: Vec<f64> = text.split_whitespace().map(|number| number.parse().unwrap()).collect();
    numbers.try_into().unwrap_or_else(|_| panic!("three numbers, not {text}"))
}

fn mean(run: impl Fn(u64) -> Measures) -> Measures {
    let runs: Vec<Measures> = (1..=SEEDS).map(run).collect();
    [0, 1, 2].map(|i| runs.iter().map(|run| run[i]).sum::<f64>() / SEEDS as f64)
}

#[test]
#[ignore = "needs ns-2"]
fn red_agrees_with_ns2() {
    for waits in [true, false] {
        let (ours, theirs) = (mean(|seed| ours(seed, waits)), mean(|seed| theirs(seed, waits)));
        println!("wait = {waits}: bentpipe {ours:.4?}, ns-2 {theirs:.4?}");
        // The queues agree; the SACK senders differ from the second loss of a window on, and with them how often they lose.
        for (index, tolerance) in [(0, 0.02), (1, 0.02), (2, 0.08)] {
            let (ours, theirs) = (ours[index], theirs[index]);
            assert!((ours / theirs - 1.0).abs() < tolerance, "{ours} is not {theirs}");
        }
    }
}
