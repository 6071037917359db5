//! Senders with their defaults on paths that nothing bounds, and equal flows that get unequal shares: each cause is taken away by
//! one setting.

use bentpipe_sim::record::RunResult;
use bentpipe_sim::scenario::from_toml;
use bentpipe_sim::Network;

fn run(text: &str, seed: u64) -> RunResult {
    let scenario = from_toml(text, "defaults", &[]).unwrap_or_else(|problems| panic!("{problems}")).scenario;
    let mut network = Network::build(&scenario, seed);
    assert!(network.run(u64::MAX));
    network.finish().unwrap()
}

/// Mbit/s of each flow.
fn goodputs(result: &RunResult) -> Vec<f64> {
    result.flows.real("goodput_bps").iter().map(|bps| bps / 1e6).collect()
}

/// A geostationary path of 20 Mbit/s without errors.
fn geo(tcp: &str) -> RunResult {
    let text = format!(
        "duration = \"120 s\"\n[tcp]\nlike = \"rfc\"\n{tcp}\n[link.sat]\nfrom = \"g\"\nto = \"t\"\nrate = \"20 Mbit/s\"\n\
         delay = \"270 ms\"\nqueue = \"1 bdp\"\n[flow.f]\nfrom = \"g\"\nto = \"t\"\n"
    );
    run(&text, 1)
}

/// Two flows on 50 Mbit/s and 40 ms; the second begins later. Mbit/s of both over the last third.
fn two(cc: &str, start_s: f64, queue: &str, seed: u64) -> [f64; 2] {
    let text = format!(
        "duration = \"120 s\"\n[tcp]\nlike = \"rfc\"\ncc = {cc}\n[link.m]\nfrom = \"a\"\nto = \"b\"\nrate = \"50 Mbit/s\"\n\
         delay = \"20 ms\"\nqueue = \"{queue}\"\n[flow.f1]\nfrom = \"a\"\nto = \"b\"\n[flow.f2]\nfrom = \"a\"\nto = \"b\"\n\
         start = \"{start_s} s\"\n[record]\nseries = [\"goodput_bps\"]\ninterval = \"1 s\"\n"
    );
    let result = run(&text, seed);
    let (_, table) = result.series.iter().find(|(name, _)| name == "goodput_bps").unwrap();
    let rows = table.real("time_s").iter().zip(table.text("flow")).zip(table.real("goodput_bps"));
    let mut sums = [0.0; 2];
    for ((_, flow), &bps) in rows.filter(|((time_s, _), _)| **time_s > 80.0) {
        sums[usize::from(flow == "f2")] += bps / 40e6;
    }
    sums
}

/// In a queue of a round trip, Up of v2 is over before its first ACK arrives; Up of v3 waits for it.
#[test]
fn bbr2_does_not_even_out_because_up_ends_at_once() {
    for seed in 1..=2 {
        let [first, second] = two("\"bbr2\"", 0.5, "4 bdp", seed);
        assert!(first > 1.8 * second, "seed {seed}: {first} and {second}");
        let [first, second] = two("{ kind = \"bbr2\", up_ends = \"plateau\" }", 0.5, "4 bdp", seed);
        assert!(first < 1.6 * second && second < 1.6 * first, "seed {seed}, plateau: {first} and {second}");
    }
}

/// The flow whose mean of round-trip times is above 1.5 times its least one does not grow; the other one does.
#[test]
fn hswa_starves_its_like_because_the_delay_stops_one_of_them() {
    let shares = |epsilon: &str, seed| two(&format!("{{ kind = \"hswa\", epsilon = {epsilon} }}"), 30.0, "1 bdp", seed);
    for seed in [1, 3] {
        let [first, second] = shares("0.01", seed);
        assert!(second > 20.0 * first, "seed {seed}: {first} and {second}");
        let [first, second] = shares("1e6", seed);
        assert!(first > 0.4 * second && second > 0.4 * first, "seed {seed}, without delay: {first} and {second}");
    }
}

/// Bursts of slow start and ACKs that the receiver holds back look like a queue.
#[test]
fn santa_cruz_leaves_slow_start_because_of_bursts_and_delayed_acks() {
    let of = |tcp: &str| {
        let result = geo(&format!("cc = \"santa-cruz\"\n{tcp}"));
        (goodputs(&result)[0], result.flows.real("ssthresh_end_bytes")[0] / 1460.0)
    };
    for tcp in ["", "pacing = { kind = \"window\" }", "ack.every = 1"] {
        let (goodput, threshold) = of(tcp);
        assert!(goodput < 3.5 && threshold < 30.0, "{tcp}: {goodput} Mbit/s, {threshold} segments");
    }
    let (goodput, threshold) = of("pacing = { kind = \"window\" }\nack.every = 1");
    assert!(goodput > 18.0 && threshold > 800.0, "{goodput} Mbit/s, {threshold} segments");
}

/// 533,000 retransmissions with the acceleration, 5,000 without.
#[test]
fn hybla_does_not_flood_by_default_and_says_so_where_it_does() {
    let hybla = geo("cc = \"hybla\"");
    assert!(goodputs(&hybla)[0] > 18.0 && hybla.flows.whole("retransmissions")[0] < 10_000);
    assert!(hybla.notes.is_empty(), "{:?}", hybla.notes);
    let flood = geo("cc = { kind = \"hybla\", needs_ssthresh = false }");
    assert!(flood.flows.whole("retransmissions")[0] > 100_000);
    assert_eq!(flood.notes.len(), 1);
    assert!(flood.notes[0].starts_with("hybla opens") && flood.notes[0].contains("(flow \"f\")"), "{:?}", flood.notes);
}

#[test]
fn notes_name_senders_that_nothing_bounds_and_no_others() {
    let notes = |tcp: &str, queue: &str, flows: u32| {
        let text = format!(
            "duration = \"1 s\"\n[tcp]\n{tcp}\n[link.l]\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
             [link.l.forward]\nqueue = {queue}\n[flow.f]\nfrom = \"a\"\nto = \"b\"\ncount = {flows}\n"
        );
        from_toml(&text, "notes", &[]).unwrap_or_else(|problems| panic!("{problems}")).scenario.notes()
    };
    let (plain, priority) =
        ("\"20 packets\"", "{ kind = \"priority\", class = [{ limit = \"20 packets\" }, { limit = \"20 packets\" }] }");
    let accelerated = "like = \"rfc\"\ncc = { kind = \"hybla\", needs_ssthresh = false }";
    for (tcp, queue, expected) in [
        ("like = \"rfc\"\ncc = \"cubic\"", plain, 0),
        (accelerated, plain, 1),
        (accelerated, priority, 1),
        (&format!("{accelerated}\nreceive_buffer = \"64 kB\""), plain, 0),
        (&format!("{accelerated}\nsend_buffer = \"64 kB\""), plain, 0),
        (&format!("{accelerated}\nwindow_scaling = false"), plain, 0),
        (&format!("{accelerated}\ninitial_ssthresh = \"20 segments\""), plain, 0),
        ("like = \"linux-6\"\ncc = \"hybla\"", plain, 0),
        ("like = \"rfc\"\ncc = \"peach\"", plain, 1),
        ("like = \"rfc\"\ncc = \"peach\"\nsend_buffer = \"64 kB\"", plain, 1),
        ("like = \"rfc\"\ncc = \"peach\"\nreceive_buffer = \"64 kB\"", plain, 0),
        ("like = \"rfc\"\ncc = { kind = \"peach\", probe_max = 64 }", plain, 0),
        ("like = \"rfc\"\ncc = { kind = \"peach\", receiver_knows = false }", plain, 0),
        ("like = \"rfc\"\ncc = \"peach-plus\"", priority, 0),
        ("like = \"rfc\"\ncc = \"swift\"", plain, 1),
    ] {
        let found = notes(tcp, queue, 1);
        assert_eq!(found.len(), expected, "{tcp}: {found:?}");
    }
    let many = notes("like = \"rfc\"\ncc = \"swift\"", plain, 5);
    assert!(many.len() == 1 && many[0].contains("and 2 more"), "{many:?}");
}

/// 150 kB over 2 Mbit/s and 12 ms, a queue of two packets, and 5 % of the packets 30 ms late. With `all` a timeout sends a
/// thousand probes into that queue, and the retransmissions after them are lost, each with a longer timeout.
#[test]
fn peach_does_not_stall_in_a_plain_queue() {
    let worst = |probe_again: &str| {
        let text = format!(
            "duration = \"300 s\"\n[tcp]\nlike = \"rfc\"\ncc = {{ kind = \"peach\", probe_again = \"{probe_again}\" }}\ngive_up = \"never\"\n\
             [node.m]\nmiddlebox = [{{ kind = \"impair\", reorder = 0.05, hold = \"30 ms\" }}]\n[link.l]\nfrom = \"a\"\nto = \"m\"\n\
             rate = \"2 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"1 bdp\"\n[link.k]\nfrom = \"m\"\nto = \"b\"\nrate = \"1 Gbit/s\"\n\
             delay = \"1 ms\"\n[flow.f]\nfrom = \"a\"\nto = \"b\"\napp = {{ kind = \"file\", size = \"150 kB\" }}\n"
        );
        let times = (1..=24).map(|seed| run(&text, seed).flows.real("completion_s")[0]);
        times.map(|time_s| if time_s.is_nan() { f64::INFINITY } else { time_s }).fold(0.0, f64::max)
    };
    let (known, all) = (worst("known"), worst("all"));
    assert!(known < 35.0 && all > 200.0, "{known} s, {all} s");
}

/// Linux's filter with Linux's cut, and the paper's with the paper's: 6.6 Mbit/s each; mixed they gave 3.9.
#[test]
fn westwood_plus_pairs_its_filter_with_its_cut() {
    let of = |settings: &str| goodputs(&geo(&format!("cc = {{ kind = \"westwood-plus\"{settings} }}")))[0];
    let linux = of("");
    assert_eq!(linux, of(", smoothing = \"linux\", cut = \"at-exit\""));
    let paper = of(", smoothing = \"mean-of-two\", cut = \"at-loss\"");
    assert!(linux > 6.0 && paper > 6.0 && of(", cut = \"at-loss\"") < 4.5, "{linux} and {paper}");
}

/// 5 % of the packets are 20 ms late on a path of 100 ms; nothing is lost.
#[test]
fn rack_learns_of_reordering_by_default() {
    let of = |tcp: &str| {
        let text = format!(
            "duration = \"40 s\"\n[tcp]\nlike = \"rfc\"\n{tcp}\n[node.m]\nmiddlebox = [{{ kind = \"impair\", reorder = 0.05, hold = \"20 ms\" }}]\n\
             [link.l]\nfrom = \"a\"\nto = \"m\"\nrate = \"20 Mbit/s\"\ndelay = \"25 ms\"\n[link.k]\nfrom = \"m\"\nto = \"b\"\n\
             rate = \"20 Mbit/s\"\ndelay = \"25 ms\"\n[flow.f]\nfrom = \"a\"\nto = \"b\"\n"
        );
        goodputs(&run(&text, 1))[0]
    };
    let (with, without) =
        (of("cc = \"sack\"\nrecovery = \"rack\""), of("cc = \"sack\"\nrecovery = \"rack\"\ndsack = false"));
    assert!(with > 2.0 * without, "{with} and {without} Mbit/s");
    assert_eq!(with, of("cc = \"sack\"\nrecovery = \"rack\"\ndsack = true"));
}
