use bentpipe_sim::record::RunResult;
use bentpipe_sim::scenario::from_toml;
use bentpipe_sim::Network;

fn run(sets: &[(&str, &str)], seed: u64) -> RunResult {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/bentpipe/scenarios/peach.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let sets: Vec<_> = sets.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let resolved = from_toml(&text, "peach", &sets).unwrap_or_else(|problems| panic!("{problems}"));
    let mut network = Network::build(&resolved.scenario, seed);
    assert!(network.run(u64::MAX));
    network.finish()
}

#[test]
fn try_it() {
    for rate in ["0", "1e-4", "1e-3", "3e-3", "1e-2", "3e-2"] {
        for cc in ["reno", "newreno", "sack", "cubic", "peach", "peach-plus", "swift"] {
            let r = run(&[("tcp.cc", cc), ("link.sat.forward.error.rate", rate)], 1);
            let drops: Vec<_> = r.drops.text("where").iter().zip(r.drops.text("cause")).zip(r.drops.whole("packets")).map(|((a, b), c)| format!("{a} {b} {c}")).take(6).collect();
            println!("{rate} {cc}: {:.3} Mbit/s, to {:?} fr {:?} dummies {:?} {:?}", r.summary.real("goodput_bps")[0] / 1e6,
                r.flows.whole("timeouts"), r.flows.whole("fast_retransmits"), r.flows.whole("dummy_packets"), drops);
        }
    }
}
