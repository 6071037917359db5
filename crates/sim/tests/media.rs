//! Links in a medium against closed forms, and against links with a rate.

use bentpipe_sim::dictionary::Table;
use bentpipe_sim::record::RunResult;
use bentpipe_sim::scenario::from_toml;
use bentpipe_sim::Network;
use std::fmt::Write;

/// Default keys, 12 carriers of 1 Mbaud and 250 ms each way. At 9 dB the waveform is number 7, with 108 B in a burst.
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
pub(crate) const T: f64 = 0.0265;
/// Length of a burst, in s.
pub(crate) const BURST: f64 = 536e-6;
/// Propagation to the gateway, in s.
pub(crate) const PROPAGATION: f64 = 0.25;
/// Time from a request to its grant, 21 superframes, in s.
pub(crate) const R: f64 = 21.0 * T;

/// Overrides: key and value.
pub(crate) type Sets<'a> = &'a [(&'a str, &'a str)];

pub(crate) fn run(text: &str, sets: Sets<'_>) -> RunResult {
    let sets: Vec<_> = sets.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let read = from_toml(text, "access", &sets).unwrap_or_else(|problems| panic!("{problems}"));
    let mut network = Network::build(&read.scenario, read.scenario.seed);
    assert!(network.run(u64::MAX));
    network.finish().unwrap()
}

/// GEO with this access, and a flow from the terminal.
pub(crate) fn geo(access: &str, app: &str) -> String {
    format!("duration = '60 s'\n{GEO}access = {access}\n[flow.f]\nfrom = 'terminal1'\nto = 'gateway'\napp = {app}\n")
}

/// Asserts that all granted bytes are accounted for, and returns the granted and the carried ones.
fn conserved(media: &Table) -> [f64; 2] {
    let of = |name: &str| media.whole(name)[0];
    assert_eq!(of("granted_bytes"), of("used_bytes") + of("unused_bytes"), "{media:?}");
    let in_bursts = of("carried_bytes") + of("header_bytes") + of("padding_bytes");
    assert_eq!(of("used_bytes"), in_bursts, "{media:?}");
    assert!(of("padding_bytes") >= 0 && of("unused_bytes") >= 0);
    [of("granted_bytes") as f64, of("carried_bytes") as f64]
}

/// A damaged datagram counts when the burst with its last part begins, also if the run ends inside its window.
#[test]
fn a_damaged_datagram_counts_with_its_last_burst() {
    let text = geo("{ constant = '512 kbit/s' }", "{ kind = 'probe', size = '472 B', times = ['0 s'] }");
    let errors: Sets<'_> = &[("link.user.reverse.error", "{ kind = 'arrivals', list = [0] }")];
    // Two superframes in steps of a fifth of a burst.
    let counts = (1..500).map(|step| {
        let end_ns = (f64::from(step) * BURST * 2e8).round();
        let duration = format!("'{end_ns} ns'");
        let links = run(&text, &[errors, &[("duration", &duration)]].concat()).links;
        let reverse = links.text("link").iter().position(|name| name.ends_with("reverse")).unwrap();
        let of = |name: &str| links.whole(name)[reverse];
        let busy_s = links.real("utilisation")[reverse] * end_ns / 1e9;
        (of("carried_packets"), of("corrupted_packets"), busy_s)
    });
    let sent: Vec<_> = counts.filter(|(carried, ..)| *carried == 1).collect();
    assert!(
        sent.iter().any(|(_, corrupted, _)| *corrupted == 0) && sent.iter().any(|(_, corrupted, _)| *corrupted == 1)
    );
    for (_, corrupted, busy_s) in sent {
        assert_eq!(corrupted == 1, busy_s > 3.95 * BURST, "five bursts: {busy_s}");
    }
}

#[test]
fn datagrams_below_the_constant_rate_wait_for_a_superframe_at_most() {
    let cbr = "{ kind = 'cbr', rate = '400 kbit/s', size = '472 B' }";
    let result = run(&geo("{ constant = '512 kbit/s' }", cbr), &[]);
    let of = |name: &str| result.datagrams.real(name)[0];
    // A packet of 500 B takes five bursts, or six if it begins in a burst that another has begun.
    assert!(of("delay_min_s") >= PROPAGATION + 4.0 * BURST, "{}", of("delay_min_s"));
    assert!(of("delay_p99_s") <= (PROPAGATION + T + 6.0 * BURST) * 1.016, "{}", of("delay_p99_s"));
    assert_eq!(result.datagrams.whole("lost_packets")[0], 0);
    let [granted, _] = conserved(&result.media);
    assert!((granted * 8.0 / 60.0 / 512e3 - 1.0).abs() < 0.01, "{granted}");
}

#[test]
fn datagrams_above_the_constant_rate_queue_for_what_does_not_fit() {
    let cbr = "{ kind = 'cbr', rate = '600 kbit/s', size = '472 B' }";
    let result = run(&geo("{ constant = '512 kbit/s' }", cbr), &[("link.user.reverse.queue", "'unlimited'")]);
    let [granted, carried] = conserved(&result.media);
    // Of 15.7 bursts in a superframe, each window keeps 3 B, and a packet has headers of 4 B and 2 B for each further part.
    let bursts = 512e3 * T / 8.0 / 108.0;
    let expected = (bursts * 108.0 - 3.0) * 500.0 / (500.0 + 4.0 + 4.6 * 2.0) * 8.0 / T;
    assert!((carried * 8.0 / 60.0 / expected - 1.0).abs() < 0.01, "{} {expected}", carried * 8.0 / 60.0);
    assert!(carried > 0.95 * granted, "nothing stays empty");
    let waiting = result.links.whole("queue_end_packets")[1] as f64 * 500.0;
    let offered = 60.0 * 600e3 / 8.0 * 500.0 / 472.0;
    assert!((waiting / (offered - carried) - 1.0).abs() < 0.02, "{waiting} {offered} {carried}");
}

/// The time from sending a packet of 40 B to the end of its burst, of an idle terminal: mean and 95 % quantile.
fn idle_wait(access: &str, medium: Sets<'_>) -> [f64; 2] {
    let count = 240;
    let mut times = String::new();
    for n in 0..count {
        // All phases of superframes and of control slots.
        let at = 5.0 + 7.0 * f64::from(n) + 2.0 * (f64::from(n) * 0.618_033_988_7).fract();
        write!(times, "'{at:.6} s', ").unwrap();
    }
    let probe = format!("{{ kind = 'probe', size = '12 B', times = [{times}] }}");
    let text = geo(access, &probe).replace("'60 s'", &format!("'{} s'", 8 + 7 * count));
    let result = run(&text, medium);
    let mut waits: Vec<f64> = result.probes.real("forward_s").iter().map(|delay| delay - PROPAGATION).collect();
    assert_eq!(waits.len(), count as usize);
    waits.sort_by(f64::total_cmp);
    [waits.iter().sum::<f64>() / f64::from(count), waits[waits.len() * 95 / 100]]
}

/// Means within 3 % or one superframe, as the closed forms of docs/concepts/shared-access.md.
#[test]
fn the_first_packet_of_an_idle_terminal_waits_as_its_access_says() {
    let random = ("medium.up.random", "{ carriers = 1 }");
    let each_fourth = ("medium.up.control_interval", "'106 ms'");
    let rate = "{ rate_based = '1 Mbit/s' }";
    let data = "{ volume_based = true, random = 'data' }";
    let cases: [(&str, Sets<'_>, f64); 9] = [
        ("{ constant = '64 kbit/s' }", &[], T / 2.0 + BURST),
        // A slot in every second superframe.
        ("{ constant = '16 kbit/s' }", &[], T + BURST),
        (rate, &[], 1.007 / 2.0 + R + BURST),
        (rate, &[each_fourth], 2.0 * T + R + BURST),
        (rate, &[random], T / 2.0 + R + BURST),
        ("{ volume_based = true }", &[], 1.007 / 2.0 + R + BURST),
        ("{ volume_based = true }", &[random], T / 2.0 + R + BURST),
        (data, &[random], 1.5 * T),
        // The window of the only terminal is open nearly all the time.
        ("{ volume_based = true }", &[("medium.up.free", "'all'")], BURST),
    ];
    for (access, medium, expected) in cases {
        let [mean, _] = idle_wait(access, medium);
        let tolerance = (0.03 * expected).max(T);
        assert!((mean - expected).abs() < tolerance, "{access} {medium:?}: {mean}, not {expected}");
        // Below a superframe of tolerance, waits without a request are exact.
        if expected < 2.0 * T {
            assert!((mean - expected).abs() < 0.004, "{access} {medium:?}: {mean}, not {expected}");
        }
    }
}

#[test]
fn request_to_grant_follows_superframe_propagation_and_control_delay() {
    for (superframe, delay, control, expected) in [
        ("100 ms", "280 ms", "100 ms", 0.850),
        ("45 ms", "250 ms", "10 ms", 0.609),
        ("26.5 ms", "130 ms", "50 ms", 0.359),
    ] {
        let [superframe, control] = [superframe, control].map(|time| format!("'{time}'"));
        let delay_s: f64 = delay.trim_end_matches(" ms").parse::<f64>().unwrap() / 1000.0;
        let delay = format!("'{delay}'");
        let sets = [
            ("medium.up.random", "{ carriers = 1 }"),
            ("medium.up.superframe", &superframe),
            ("medium.up.control_delay", &control),
            ("link.user.delay", &delay),
        ];
        let [mean, _] = idle_wait("{ volume_based = true }", &sets);
        let mean = mean + PROPAGATION - delay_s;
        assert!((mean - expected).abs() < 0.005, "{superframe} {delay} {control}: {mean}, not {expected}");
    }
}

/// A constant rate of one carrier is a link of that rate, up to a superframe.
#[test]
fn a_terminal_alone_on_its_carrier_has_a_link_of_that_rate() {
    let poisson = "{ kind = 'poisson', rate = '1 Mbit/s', size = '472 B' }";
    let carrier = run(&geo("{ constant = '1.597 Mbit/s' }", poisson), &[("medium.up.carriers", "1")]);
    let plain = geo("", poisson);
    let start = plain.find("[medium.up]").unwrap();
    let end = plain.find("[link.user]").unwrap();
    let plain = [&plain[..start], &plain[end..]].concat();
    let plain = plain.replace("medium = \"up\"\nes_n0 = \"9 dB\"\naccess = ", "rate = '1.55 Mbit/s'");
    let plain = run(&plain, &[]);
    for name in ["delay_min_s", "delay_mean_s", "delay_p50_s", "delay_p95_s", "delay_p99_s"] {
        let [a, b] = [&carrier, &plain].map(|result| result.datagrams.real(name)[0]);
        assert!((a - b).abs() < T, "{name}: {a} {b}");
    }
    let [a, b] = [&carrier, &plain].map(|result| result.datagrams.whole("arrived_packets")[0] as f64);
    assert!((a / b - 1.0).abs() < 0.002, "{a} {b}");
}

/// The medium opens the windows of a terminal once per superframe, so ACKs leave together.
#[test]
fn acknowledgements_arrive_in_bunches_a_superframe_apart() {
    let text = geo("{ constant = '64 kbit/s' }", "{ kind = 'file', size = '4 MB' }");
    let text = text.replace("from = 'terminal1'\nto = 'gateway'", "from = 'gateway'\nto = 'terminal1'");
    let result = run(&text, &[("record.series", "['events']"), ("tcp.ack.every", "1")]);
    let times = result.events.real("time_s").iter().zip(result.events.text("event"));
    let acked: Vec<f64> = times.filter(|(_, event)| *event == "acked").map(|(time, _)| *time).collect();
    assert!(acked.len() > 1000, "{}", acked.len());
    let mut apart = 0;
    for gap in acked.windows(2).map(|pair| pair[1] - pair[0]) {
        let off = gap - T * (gap / T).round();
        // Two bursts, one later where a control slot comes first.
        assert!(off.abs() <= 3.0 * BURST, "{gap}");
        apart += u32::from(gap > T / 2.0);
    }
    assert!(apart > 100 && (apart as usize) < acked.len() / 2, "{apart} of {}", acked.len());
}

/// 98 % of the slots carry packets: the rest is control slots 0.2 %, headers 2.1 %, requests 0.2 %.
#[test]
fn greedy_terminals_fill_the_medium_equally() {
    let text = geo("{ volume_based = true }", "{ kind = 'cbr', rate = '1 Mbit/s', size = '1472 B' }");
    let text =
        text.replace("count = 1", "count = 40").replace("from = 'terminal1'", "from = 'terminal{n}'\ncount = 40");
    let sets = [
        ("duration", "'20 s'"),
        ("link.user.reverse.queue", "'100 kB'"),
        ("record.series", "['carried_bps']"),
        ("record.interval", "'10 s'"),
    ];
    let result = run(&text, &sets);
    let carried = &result.series[0].1;
    let rows = carried.real("time_s").iter().zip(carried.text("link")).zip(carried.real("carried_bps"));
    let last = rows.filter(|((time, link), _)| **time > 15.0 && link.ends_with("reverse"));
    let rates: Vec<f64> = last.map(|(_, rate)| *rate).collect();
    let sum: f64 = rates.iter().sum();
    let jain = sum * sum / (40.0 * rates.iter().map(|rate| rate * rate).sum::<f64>());
    assert!((sum / 18.70e6 - 1.0).abs() < 0.01 && jain > 0.999, "{sum} {jain}");
    conserved(&result.media);
}

/// A fade below the threshold of waveform 7 loses bursts until the plans that follow it: at most R and a superframe later.
#[test]
fn a_fade_loses_bursts_until_the_plans_follow() {
    let cbr = "{ kind = 'cbr', rate = '400 kbit/s', size = '472 B' }";
    let fade = "{ points = [['0 s', '9 dB'], ['20 s', '5 dB']] }";
    let sets = [("link.user.reverse.es_n0", fade), ("record.series", "['losses', 'modcod']")];
    let result = run(&geo("{ constant = '512 kbit/s' }", cbr), &sets);
    let of = |name: &str| &result.series.iter().find(|(series, _)| series == name).unwrap().1;
    let losses = of("losses");
    assert!(losses.text("cause").iter().all(|cause| cause == "acm-outage"));
    let times = losses.real("time_s");
    assert!(times.len() > 20, "{}", times.len());
    assert!(
        times.iter().all(|time| (20.0 + PROPAGATION..20.0 + PROPAGATION + R + 2.0 * T).contains(time)),
        "{times:?}"
    );
    let modcods = of("modcod");
    assert_eq!([modcods.real("modcod")[0], *modcods.real("modcod").last().unwrap()], [7.0, 4.0]);
    assert_eq!(result.modcods.whole("waveform"), [4, 7]);
}

/// Two terminals that often pick the same slot of ALOHA.
#[test]
fn colliding_bursts_take_their_packets_with_them() {
    let text =
        geo("{ volume_based = true, random = 'data' }", "{ kind = 'poisson', rate = '4 kbit/s', size = '12 B' }");
    let text =
        text.replace("count = 1", "count = 60").replace("from = 'terminal1'", "from = 'terminal{n}'\ncount = 60");
    let result = run(&text, &[("medium.up.random", "{ carriers = 1, copies = 1 }")]);
    let causes = result.drops.text("cause");
    assert!(!causes.is_empty() && causes.iter().all(|cause| cause == "access-collision"), "{causes:?}");
    let of = |name: &str| result.media.whole(name)[0];
    assert!(of("random_lost") > 0 && of("random_lost") < of("random_bursts"), "{:?}", result.media);
}

/// The wait for the grant has its own part of the time, and the rest is the closed form's.
#[test]
fn critical_paths_have_the_wait_for_access() {
    let cbr = "{ kind = 'cbr', rate = '16 bit/s', size = '12 B' }";
    let text = geo("{ volume_based = true }", cbr);
    let sets =
        [("record.series", "['critical_path']"), ("medium.up.random", "{ carriers = 1 }"), ("duration", "'600 s'")];
    let result = run(&text, &sets);
    let parts = &result.series[0].1;
    let access = parts.text("part").iter().position(|part| part == "access").expect("packets wait for grants");
    let mean = parts.real("total_s")[access] / parts.whole("transfers")[access] as f64;
    assert!((mean - (T / 2.0 + R)).abs() < T, "{mean}");
    let wait = result.media.real("grant_wait_mean_s")[0];
    assert!((mean - wait).abs() < 0.01, "{mean} {wait}");
    let total: f64 = parts.real("total_s").iter().sum();
    let sent = result.datagrams.real("delay_mean_s")[0] * result.datagrams.whole("arrived_packets")[0] as f64;
    assert!((total - sent).abs() < 1e-6 * sent, "{total} {sent}");
}

/// A link whose signal is below every waveform until 20 s. Its queue of 10 packets is full after 11 of them.
#[test]
fn a_queue_without_a_waveform_names_it() {
    let cbr = "{ kind = 'cbr', rate = '80 kbit/s', size = '472 B' }";
    let weak = ("link.user.reverse.es_n0", "{ points = [['0 s', '1 dB'], ['20 s', '9 dB']] }");
    let short = ("duration", "'20 s'");
    for queue in ["'10 packets'", "{ kind = 'codel', limit = '10 packets' }", "{ kind = 'pie', limit = '10 packets' }"]
    {
        for (waveform, signal) in [("", weak), ("12", ("link.user.reverse.es_n0", "'9 dB'"))] {
            let mut sets = vec![signal, short, ("link.user.reverse.queue", queue)];
            sets.extend((!waveform.is_empty()).then_some(("medium.up.waveform", waveform)));
            let result = run(&geo("{ volume_based = true }", cbr), &sets);
            let causes = result.drops.text("cause");
            assert!(!causes.is_empty() && causes.iter().all(|cause| cause == "no-waveform"), "{sets:?} {causes:?}");
            assert!(result.notes.iter().any(|note| note.contains("waveform")), "{:?}", result.notes);
        }
    }
    // With a signal, a full queue is congestion.
    let fast = "{ kind = 'cbr', rate = '4 Mbit/s', size = '472 B' }";
    let result = run(&geo("{ volume_based = true }", fast), &[short, ("link.user.reverse.queue", "'10 packets'")]);
    assert!(result.drops.text("cause").iter().all(|cause| cause == "queue-overflow"), "{:?}", result.drops);
    // Losses stop when a waveform fits.
    let sets =
        [weak, ("duration", "'40 s'"), ("link.user.reverse.queue", "'10 packets'"), ("record.series", "['losses']")];
    let result = run(&geo("{ volume_based = true }", cbr), &sets);
    let losses = &result.series.iter().find(|(name, _)| name == "losses").unwrap().1;
    let times = losses.real("time_s").iter().zip(losses.text("cause"));
    let late: Vec<_> = times.filter(|(_, cause)| *cause == "no-waveform").map(|(time, _)| *time).collect();
    assert!(late.last().is_some_and(|last| (19.9..20.0).contains(last)), "{:?}", late.last());
}

/// Twenty homes by volume on 98 slots of 108 B, 3.2 Mbit/s, with datagrams of 528 B: at 66 % and 99 % (above 100 with headers) of
/// the capacity, and at 159 %. The parts of the delay add up to it, and overload has longer waits.
#[test]
fn parts_of_the_delay_add_up_to_it_and_overload_never_reads_better() {
    let (mut waits, mut behind) = (vec![0.0], vec![0.0]);
    for load in [0.66, 0.99, 1.59] {
        let rate = load * 98.0 * 108.0 * 8.0 / T / 20.0;
        let app = format!("{{ kind = 'poisson', rate = '{rate:.0} bit/s', size = '500 B' }}");
        let text = geo("{ volume_based = true }", &app).replace("count = 1", "count = 20").replace("'60 s'", "'30 s'");
        let text = text.replace("'terminal1'", "'terminal{n}'\ncount = 20").replace("1000 packets", "unlimited");
        let result = run(&text, &[("medium.up.carriers", "2")]);
        let terminals = &result.terminals;
        let of = |name: &str, row: usize| terminals.real(name)[row];
        let [mut all, mut longest] = [0.0; 2];
        for (flow, mean) in result.datagrams.text("flow").iter().zip(result.datagrams.real("delay_mean_s")) {
            let link = flow.replace('f', "user") + ".reverse";
            let row = terminals.text("link").iter().position(|name| *name == link).unwrap();
            let parts = ["asking_mean_s", "behind_mean_s", "turn_mean_s"].map(|name| of(name, row));
            let wait: f64 = parts.iter().sum();
            assert!((wait - of("grant_wait_mean_s", row)).abs() < 1e-9);
            let sum = wait + of("sending_mean_s", row) + of("air_mean_s", row);
            assert!((sum - mean).abs() < 1e-3, "{sum} {mean}");
            // A packet has five or six bursts.
            assert!((4.5 * BURST..6.5 * BURST).contains(&of("sending_mean_s", row)));
            assert!((of("air_mean_s", row) - PROPAGATION).abs() < 1e-9);
            (all, longest) = (all + wait / 20.0, longest + parts[1] / 20.0);
        }
        assert!(all > waits[waits.len() - 1] && longest > behind[behind.len() - 1], "{load}: {all} {longest}");
        waits.push(all);
        behind.push(longest);
    }
    assert!(waits[3] > 3.0 && behind[3] > 0.9 * waits[3], "{waits:?} {behind:?}");
}

/// Three random bursts of a packet are on the air at one time, and count once.
#[test]
fn parts_of_the_delay_add_up_with_packets_in_random_bursts() {
    let app = "{ kind = 'poisson', rate = '8 kbit/s', size = '250 B' }";
    let text = geo("{ volume_based = true, random = 'data' }", app);
    let result = run(&text, &[("medium.up.random", "{ carriers = 1 }")]);
    let parts = ["grant_wait_mean_s", "sending_mean_s", "air_mean_s"].map(|name| result.terminals.real(name)[0]);
    let (sum, mean) = (parts.iter().sum::<f64>(), result.datagrams.real("delay_mean_s")[0]);
    assert!((sum - mean).abs() < 1e-9, "{sum} {mean}");
    assert!(parts[1] > 0.5 * T && parts[1] < 1.1 * T, "{parts:?}");
}

/// A lone packet of an idle terminal asks: the wait for its control slot and R. A constant slot in every second superframe is
/// promised, so it waits for its turn.
#[test]
fn a_lone_packet_asks_or_waits_for_its_turn() {
    let probes = "{ kind = 'probe', size = '12 B', times = ['5.0071 s', '11.3013 s', '17.9037 s'] }";
    let parts = |access: &str| {
        let result = run(&geo(access, probes), &[]);
        ["asking_mean_s", "behind_mean_s", "turn_mean_s", "sending_mean_s"].map(|name| result.terminals.real(name)[0])
    };
    let [asking, behind, turn, sending] = parts("{ volume_based = true }");
    assert!((R..R + 1.02).contains(&asking) && behind == 0.0 && turn < T, "{asking} {behind} {turn}");
    assert!((sending - BURST).abs() < 1e-9);
    let [asking, _, turn, _] = parts("{ constant = '16 kbit/s' }");
    assert!(asking == 0.0 && turn > 0.0 && turn < 2.1 * T, "{asking} {turn}");
}

/// A home calls and backs up 2 MB by volume. The default target of its queue is above the wait for a grant: the backup takes less
/// than 1.15 times as long as with drop-tail. A target of 5 ms slows it several times.
#[test]
fn the_default_target_of_a_queue_leaves_the_wait_for_grants_alone() {
    let text = geo("{ volume_based = true }", "{ kind = 'file', size = '2 MB' }")
        + "[flow.call]\nfrom = 'terminal1'\nto = 'gateway'\napp = { kind = 'cbr', rate = '32 kbit/s', size = '80 B' }\n";
    let time = |queue: &str| {
        let result = run(&text, &[("tcp.like", "'linux-6'"), ("link.user.reverse.queue", queue)]);
        let row = result.flows.text("flow").iter().position(|flow| flow == "f").unwrap();
        let time = result.flows.real("completion_s")[row];
        if time.is_nan() {
            60.0
        } else {
            time
        }
    };
    let [drop_tail, default, short] =
        ["'1000 packets'", "'fq-codel'", "{ kind = 'fq-codel', target = '5 ms', interval = '100 ms' }"].map(time);
    assert!(default < 1.15 * drop_tail && short > 2.0 * default, "{drop_tail} {default} {short}");
}

/// Datagrams of 3 Mbit/s into 1.6 Mbit/s do not react to losses, and an interval of 2.1 s makes CoDel drop too slowly for them.
/// The default limit, an interval's bytes, bounds the wait. 10,240 packets let it grow for the whole run.
#[test]
fn the_default_limit_of_a_queue_bounds_the_wait_of_datagrams() {
    let text = geo("{ volume_based = true }", "{ kind = 'cbr', rate = '3 Mbit/s', size = '1000 B' }");
    let wait = |queue: &str| run(&text, &[("link.user.reverse.queue", queue)]).terminals.real("grant_wait_mean_s")[0];
    let [default, packets] = ["'fq-codel'", "{ kind = 'fq-codel', limit = '10240 packets' }"].map(wait);
    assert!(default < 2.2 && packets > 4.0 * default, "{default} {packets}");
}
