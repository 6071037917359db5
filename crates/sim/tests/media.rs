//! Links in a medium: against closed forms of docs/concepts/shared-access.md, and against each other.

use bentpipe_sim::record::RunResult;
use bentpipe_sim::scenario::from_toml;
use bentpipe_sim::Network;

/// Defaults, 12 carriers of 1 Mbaud, 250 ms each way, waveform 7 (108 B).
const GEO: &str = r#"
[medium.up]
kind = "mf-tdma"
symbol_rate = "1 Mbaud"
carriers = 12
controller = "gateway"
[link.user]
from = "gateway"
to = "terminal{n}"
count = 1
delay = "250 ms"
queue = "1000 packets"
forward.rate = "20 Mbit/s"
[link.user.reverse]
medium = "up"
es_n0 = "9 dB"
"#;

/// Length of a superframe, in s.
const T: f64 = 0.0265;
/// Length of a burst, in s.
const BURST: f64 = 536e-6;

fn run(text: &str, sets: &[(&str, &str)]) -> RunResult {
    let sets: Vec<_> = sets.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let read = from_toml(text, "access", &sets).unwrap_or_else(|problems| panic!("{problems}"));
    let mut network = Network::build(&read.scenario, read.scenario.seed);
    assert!(network.run(u64::MAX));
    network.finish().unwrap()
}

/// GEO with this access, and datagrams of `size` bytes of payload from the terminal.
fn geo(access: &str, app: &str) -> String {
    format!(
        "duration = '60 s'\n{GEO}access = {access}\n[flow.f]\nfrom = 'terminal1'\nto = 'gateway'\napp = {app}\n"
    )
}

#[test]
fn datagrams_below_the_constant_rate_wait_for_a_superframe_at_most() {
    let cbr = "{ kind = 'cbr', rate = '400 kbit/s', size = '472 B' }";
    let result = run(&geo("{ constant = '512 kbit/s' }", cbr), &[]);
    let of = |name: &str| result.datagrams.real(name)[0];
    println!("{} {} {} {:?}", of("delay_min_s"), of("delay_mean_s"), of("delay_p99_s"), result.drops);
    // A packet of 500 B takes five or six bursts.
    assert!(of("delay_min_s") >= 0.25 + BURST);
    assert!(of("delay_p99_s") <= 0.25 + 2.0 * T, "{}", of("delay_p99_s"));
    assert_eq!(result.datagrams.whole("lost_packets")[0], 0);
}

#[test]
fn datagrams_above_the_constant_rate_queue_for_what_does_not_fit() {
    let cbr = "{ kind = 'cbr', rate = '600 kbit/s', size = '472 B' }";
    let result = run(&geo("{ constant = '512 kbit/s' }", cbr), &[("link.user.reverse.queue", "'unlimited'")]);
    let arrived = result.datagrams.whole("arrived_packets")[0] as f64;
    println!("{arrived} {:?}", result.links);
}
