//! The scenarios that come with bentpipe: each is valid, runs, and does what its first lines say.

use bentpipe_sim::record::RunResult;
use bentpipe_sim::scenario::{from_toml, Resolved};
use bentpipe_sim::Network;
use std::path::{Path, PathBuf};

/// Name and text of each, but those over QUIC, whose stack another crate has with its tests.
fn shipped() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/bentpipe/scenario/shipped");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let all = paths.iter().map(|path| (name(path), std::fs::read_to_string(path).unwrap()));
    all.filter(|(_, text)| !text.contains("\nquic = ")).collect()
}

fn load(name: &str, text: &str, sets: &[(&str, &str)]) -> Resolved {
    let sets: Vec<_> = sets.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    from_toml(text, name, &sets).unwrap_or_else(|problems| panic!("{name}: {problems}"))
}

fn run(name: &str, sets: &[(&str, &str)]) -> RunResult {
    let text = shipped().into_iter().find(|(file, _)| file == name).unwrap().1;
    let scenario = load(name, &text, sets).scenario;
    let mut network = Network::build(&scenario, scenario.seed);
    while !network.run(1 << 16) {}
    network.finish().unwrap()
}

/// Notes on flows without an answer, on a flow that starts after the 20 s of this test, and on the constellations in use.
fn is_expected(note: &str) -> bool {
    note.contains("answered")
        || note == "flow \"update\" would start after the end of the run, 20 s"
        || note.starts_with("sky: Madrid to ship: over starlink 100 % of the time")
        // Its two paths share no bottleneck.
        || note.starts_with("flow \"download\": its subflows are not coupled")
}

#[test]
fn each_shipped_scenario_runs() {
    assert!(shipped().len() >= 12);
    for (name, text) in shipped() {
        let whole = load(&name, &text, &[]);
        assert!(!whole.scenario.title.is_empty(), "{name} has a title");
        assert!(!whole.scenario.notes().iter().any(|note| note.contains("would start")), "{name}");
        assert!(text.starts_with("# ") && text.contains("#   bentpipe "), "{name} says what it is and what to try");

        let result = run(&name, &[("duration", "20 s")]);
        let (goodput, fastest) = (result.summary.real("goodput_bps")[0], 300e6);
        assert!(goodput > 0.0 && goodput < fastest, "{name}: {goodput}");
        let flows = result.flows.text("outcome").iter().zip(result.flows.whole("delivered_bytes"));
        assert!(flows.into_iter().all(|(outcome, &bytes)| bytes > 0 || outcome == "waiting"), "{name}");
        assert!(result.links.real("utilisation").iter().all(|share| (0.0..=1.0).contains(share)), "{name}");
        let notes: Vec<_> = result.notes.iter().filter(|note| !is_expected(note)).collect();
        assert!(notes.is_empty(), "{name}: {notes:?}");
    }
}

/// Almost all time of each has a cause: packets keep their trails over each way through the network.
#[test]
fn the_time_of_each_shipped_scenario_is_explained() {
    for (name, _) in shipped() {
        let result = run(&name, &[("record.series", "[\"critical_path\"]")]);
        let table = &result.series.iter().find(|(series, _)| series == "critical_path").unwrap().1;
        let total_s = |counts: &dyn Fn(usize) -> bool| -> f64 {
            (0..table.len()).filter(|&row| counts(row)).map(|row| table.real("total_s")[row]).sum()
        };
        for flow in table.text("flow") {
            let is_of = |row: usize| &table.text("flow")[row] == flow;
            let rest_s = total_s(&|row| is_of(row) && table.text("part")[row] == "rest");
            assert!(rest_s < 0.02 * total_s(&is_of), "{name}: {flow}: {rest_s} s, {table:?}");
        }
    }
}

/// What `bentpipe check` prints of each is the same scenario.
#[test]
fn each_shipped_scenario_can_be_written_out() {
    for (name, text) in shipped() {
        let resolved = load(&name, &text, &[]);
        let again = load(&name, &resolved.to_toml(), &[]);
        // Notes on paths over the sky are made with its links.
        let plain = |resolved: &Resolved| {
            let mut scenario = (*resolved.scenario).clone();
            scenario.notes.clear();
            scenario
        };
        assert_eq!((again.digest(), plain(&again)), (resolved.digest(), plain(&resolved)), "{name}");
    }
}

/// The commands in their first lines name keys that exist.
#[test]
fn the_settings_that_they_suggest_are_accepted() {
    for (name, text) in shipped() {
        for line in text.lines().filter(|line| line.starts_with("#   bentpipe ")) {
            // Quoted as a whole, only the value, or not at all.
            let word = |text: &str| -> String {
                let mut is_quoted = false;
                let inside = text.chars().take_while(|&c| {
                    is_quoted ^= c == '\'';
                    is_quoted || !c.is_whitespace()
                });
                inside.filter(|&c| c != '\'').collect()
            };
            let settings: Vec<String> = line.split("--set ").skip(1).map(word).collect();
            let sets: Vec<(&str, &str)> = settings.iter().map(|setting| setting.split_once('=').unwrap()).collect();
            load(&name, &text, &sets);
        }
    }
}

/// Poisson bursts of slotted ALOHA collide with probability 1 - exp(-G). Copies of CRDSA are removed. A request takes W, half a
/// superframe and 21 superframes, to its grant. The burst has room for a packet that comes in this time, which waits W / 2 on
/// average.
#[test]
fn geo_access_random_loses_bursts_that_collide() {
    let lost = |copies: &str| {
        let result = run("geo-access-random.toml", &[("medium.up.random.copies", copies)]);
        let of = |name: &str| result.media.whole(name)[0] as f64;
        // 49 slots in each superframe of 26.5 ms.
        (of("random_lost") / of("random_bursts"), of("random_bursts") / (120.0 / 0.0265 * 49.0))
    };
    let (aloha, load) = lost("1");
    assert!((load - 0.11).abs() < 0.01 && (aloha - (1.0 - (-load).exp())).abs() < 0.01, "{aloha} at {load}");
    let (three, _) = lost("3");
    assert!(three < 0.002, "{three}");
    let access = "{ volume_based = true, random = 'requests' }";
    let result = run("geo-access-random.toml", &[("link.sensor.forward.access", access)]);
    let delays = result.datagrams.real("delay_mean_s");
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    let wait = 21.5 * 0.0265;
    let coming = wait / 2.0;
    let expected = 0.25 + wait * (1.0 + coming / 2.0) / (1.0 + coming);
    assert!((mean / expected - 1.0).abs() < 0.03, "{mean} {expected}");
}

/// Forty homes receive 4 Mbit/s of media at the price of one: in frames of the weakest home, QPSK 5/6 at 6 dB less 1 dB.
#[test]
fn broadcast_sends_one_packet_for_forty_homes() {
    let result = run("broadcast.toml", &[]);
    let [sent, arrived] = ["sent_packets", "arrived_packets"].map(|name| result.datagrams.whole(name));
    assert_eq!(sent.len(), 40);
    let media_s = 1316.0 * 8.0 / 4e6;
    assert!(sent.iter().all(|sent| *sent == (60.0 / media_s) as i64 + 1), "{sent:?}");
    assert!(arrived.iter().zip(sent).all(|(arrived, sent)| sent - arrived < 120), "{arrived:?}");
    assert!(result.datagrams.real("late_packets").iter().all(|late| *late == 0.0));
    let web: f64 = result.flows.real("goodput_bps").iter().take(4).sum();
    assert!(web > 15e6, "{web}");
    let weak = run("broadcast.toml", &[("link.edge.forward.es_n0", "1 dB")]);
    let slower: f64 = weak.flows.real("goodput_bps").iter().take(4).sum();
    assert!(slower < 0.95 * web, "{slower} of {web}");
}

/// What documents show as a scenario is one, and runs.
#[test]
fn examples_in_documents_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut examples = 0;
    for page in [
        "README.md",
        "docs/guides/first-scenario.md",
        "docs/guides/compare-congestion-controls.md",
        "docs/concepts/sky.md",
    ] {
        let text = std::fs::read_to_string(root.join(page)).unwrap();
        for example in text.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()) {
            let scenario = load(page, example, &[]).scenario;
            let mut network = Network::build(&scenario, scenario.seed);
            while !network.run(1 << 16) {}
            let result = network.finish().unwrap();
            assert!(result.flows.whole("delivered_bytes").iter().all(|&bytes| bytes > 0), "{page}: {example}");
            examples += 1;
        }
    }
    assert!(examples >= 4);
}

#[test]
fn s1_fills_its_bottleneck_and_errors_empty_it() {
    let clean = run("s1.toml", &[("duration", "30 s")]).summary.real("goodput_bps")[0];
    let lossy = run("s1.toml", &[("duration", "30 s"), ("link.isl1.forward.error.rate", "1e-2")]);
    assert!(clean > 8e6 && clean <= 10e6 * 1024.0 / 1064.0, "{clean}");
    assert!(lossy.summary.real("goodput_bps")[0] < 0.8 * clean);
    assert!(lossy.drops.text("cause").iter().any(|cause| cause == "bit-error"));
}

/// The satellite repeats what the uplink corrupted; the earth station drops it.
#[test]
fn s2_loses_packets_where_they_are_checked() {
    let error = [("duration", "20 s"), ("link.uplink.error", "{ kind = \"packet\", rate = 1e-3 }")];
    let result = run("s2.toml", &error);
    let places = result.drops.text("where");
    assert!(!places.is_empty() && places.iter().all(|place| place.starts_with("ES")), "{places:?}");
}

/// 6375 segments fill the path, and nothing is lost.
#[test]
fn s2_has_a_window_of_one_bandwidth_delay_product() {
    let result = run("s2.toml", &[]);
    assert_eq!(result.flows.whole("retransmissions"), [0]);
    let lan1 = result.links.text("link").iter().position(|link| link == "lan1.forward").unwrap();
    assert!(result.links.real("utilisation")[lan1] > 0.85);
}

/// One round trip of 504 ms for the handshake, then 8, 7, 6, 5 for 100 segments from 1, 2, 4, 8 (threshold 32), and the
/// time that sending takes.
#[test]
fn s3_takes_as_many_round_trips_as_the_window_needs() {
    for (window, rounds) in [(1, 8), (2, 7), (4, 6), (8, 5)] {
        let result = run("s3.toml", &[("tcp.initial_window", &format!("{window} segments"))]);
        let seconds = result.flows.real("completion_s")[0];
        let least = 0.504 * f64::from(rounds + 1);
        assert!(seconds > least && seconds < least + 0.15, "{window}: {seconds} s for {rounds} rounds");
    }
}

/// The queue, not the orbit, makes the round trip when the buffer is large.
#[test]
fn leo_pass_completes_and_its_buffer_makes_the_round_trip() {
    let result = run("leo-pass.toml", &[("flow.ftp.app.size", "25 MB"), ("link.pass.error.rate", "0")]);
    assert_eq!(result.flows.text("outcome"), ["completed"]);
    assert_eq!(result.flows.whole("timeouts"), [0]);
    let rtt = result.flows.real("rtt_p50_s")[0];
    assert!((0.24..0.28).contains(&rtt), "65535 B at 2.048 Mbit/s take 256 ms: {rtt}");
}

/// With one packet in five corrupted, some segment of 250 MB is lost seven times in a row.
#[test]
fn leo_pass_gives_up_at_a_high_error_rate() {
    let result = run("leo-pass.toml", &[("link.pass.error.rate", "2e-5"), ("duration", "12 h")]);
    assert_eq!(result.flows.text("outcome"), ["aborted"]);
}

/// 0.2 % of the packets of a direction, as in the table of slots. None at boundaries, where packets are held.
#[test]
fn starlink_loses_packets_on_the_air_alone() {
    let share = |sets: &[(&str, &str)]| {
        let result = run("starlink.toml", sets);
        assert!(result.drops.text("cause").iter().all(|cause| cause == "bit-error"));
        let access = result.links.text("link").iter().position(|link| link == "access.forward").unwrap();
        let [hit, all] =
            ["corrupted_packets", "carried_packets"].map(|column| result.links.whole(column)[access] as f64);
        hit / all
    };
    // A sender at constant rate meets the mean of the slots.
    let blind =
        [("flow.download.app", "{ kind = \"cbr\", rate = \"10 Mbit/s\", size = \"1200 B\" }"), ("duration", "1200 s")];
    let mean = share(&blind);
    assert!((mean / 1.85e-3 - 1.0).abs() < 0.1, "{mean}");
}

/// Round trips of pings from the Seychelles to Lagos in 2023 (J. Zhao and J. Pan, MMSys 2024): least, median, 95 %.
#[test]
fn starlink_isl_has_the_round_trips_that_were_measured() {
    let result = run("starlink-isl.toml", &[("duration", "1 h")]);
    for (column, measured_ms) in [("rtt_min_s", 59.1), ("rtt_p50_s", 109.0), ("rtt_p95_s", 208.0)] {
        let ratio = 1e3 * result.flows.real(column)[0] / measured_ms;
        assert!((0.85..1.15).contains(&ratio), "{column}: {ratio}");
    }
    // The path is always there. A few packets are lost at satellites without a way to the next one.
    assert_eq!(result.notes.len(), 0);
    let causes: Vec<&str> = result.drops.text("cause").iter().map(String::as_str).collect();
    assert!(causes.iter().all(|cause| ["handover", "bit-error"].contains(cause)), "{causes:?}");
    let lost = result.summary.whole("lost_packets")[0] as f64 / result.summary.whole("sent_packets")[0] as f64;
    assert!(lost < 0.01, "{lost}");
    let best = run("starlink-isl.toml", &[("sky.selection", "any")]).flows.real("rtt_p95_s")[0];
    // 80 ms and the waits for the scheduler.
    assert!(best < 0.1, "{best}");
}

/// Packets that wait for a place go on over the links between satellites. No ping waits until its satellite comes back.
#[test]
fn pings_over_starlink_isl_do_not_wait_for_a_satellite_to_come_back() {
    let pings = ("flow.ping.app", "{ kind = \"probe\", interval = \"50 ms\" }");
    let result = run("starlink-isl.toml", &[pings, ("duration", "10 min")]);
    let slowest = result.probes.real("rtt_s").iter().copied().fold(0.0, f64::max);
    assert!((0.2..1.0).contains(&slowest), "{slowest}");
    assert_eq!(result.summary.whole("stranded_packets"), [0]);
    let rows = result.probes.text("outcome").iter().zip(result.probes.real("sent_s"));
    let under_way: Vec<f64> = rows.filter(|(outcome, _)| *outcome == "under-way").map(|(_, sent)| *sent).collect();
    assert!(under_way.iter().all(|sent| *sent > 599.0), "{under_way:?}");
}

/// 200 acknowledgements a second, each of two full segments; what the window holds beyond that waits on the way back.
#[test]
fn asymmetric_is_as_fast_as_its_acknowledgements() {
    let goodput = |sets: &[(&str, &str)]| run("asymmetric.toml", sets).flows.real("goodput_bps")[0];
    let plain = goodput(&[]);
    assert!((4.4e6..=4.672e6).contains(&plain), "{plain}");
    for sets in
        [("tcp.ack.every", "5"), ("link.sat.reverse.rate", "256 kbit/s"), ("link.sat.reverse.queue", "10 packets")]
    {
        let faster = goodput(&[sets]);
        assert!(faster > 1.2 * plain, "{sets:?}: {faster} {plain}");
    }
}

/// What is lost in the first ten seconds, and where slow start ended, by what ends it.
#[test]
fn slow_start_overshoots_unless_it_is_ended_before() {
    // Rate times round trip, in packets of 1040 B.
    let path = 100e6 * 0.51 / 8.0 / 1040.0;
    let end = |slow_start, processing| {
        let result = run("slow-start.toml", &[("tcp.slow_start", slow_start), ("tcp.processing", processing)]);
        let (names, values) = (result.events.text("event"), result.events.whole("value"));
        let exit = names.iter().position(|name| name == "slow_start_exit").map(|row| values[row] as f64 / 1000.0);
        (result.summary.whole("lost_packets")[0], exit.map(|segments| segments / path))
    };
    let usual = "{ uniform = [\"0 s\", \"100 us\"] }";
    // What path and queue do not hold is lost, once.
    for (slow_start, most) in [("standard", 4.1), ("hystart++", 3.6)] {
        let (lost, exit) = end(slow_start, usual);
        let (beyond, exit) = ((exit.unwrap() - 2.0) * path, exit.unwrap());
        assert!((lost as f64 / beyond - 1.0).abs() < 0.01 && exit < most, "{slow_start}: {lost} {exit}");
    }
    // ACKs are 83 us apart: hosts that take up to 100 us blur the spacing of the path.
    let (lost, exit) = end("hoe", "0 s");
    assert!(lost == 0 && (0.99..1.01).contains(&exit.unwrap()), "{lost} {exit:?}");
    assert!(!(0.99..1.01).contains(&end("hoe", usual).1.unwrap()));
    let (lost, exit) = end("hystart", usual);
    assert!(lost == 0 && (0.5..2.0).contains(&exit.unwrap()), "{lost} {exit:?}");
    assert_eq!(end("limited", usual), (0, None));
}

/// Eight round trips of 600 ms at the least: three for the main object, three for the first from another host, and one for
/// each further depth. Securing connections is one of the three, at two hosts one after the other.
#[test]
fn web_on_geo_is_made_of_round_trips() {
    let pages = |sets: &[(&str, &str)]| {
        let result = run("web-on-geo.toml", sets);
        let row = result.completions.text("flow").iter().position(|flow| flow == "pages").unwrap();
        assert_eq!(result.completions.text("sizes")[row], "all");
        ["duration_min_s", "duration_mean_s"].map(|name| result.completions.real(name)[row])
    };
    let [plain, today, secured] = ["0", "1", "2"].map(|trips| pages(&[("flow.pages.app.tls_rtts", trips)]));
    assert!(today[0] > 4.8 && today[1] < 15.0, "{today:?}");
    assert!((1.8..3.2).contains(&(secured[1] - plain[1])), "{plain:?} {secured:?}");
    let fast = pages(&[("link.sat.forward.rate", "100 Mbit/s")]);
    assert!((0.75..0.9).contains(&(fast[1] / today[1])), "{fast:?} {today:?}");
    let result = run("web-on-geo.toml", &[]);
    assert!(result.datagrams.real("delay_min_s").iter().all(|delay| (0.3..0.31).contains(delay)));
    assert!(result.flows.text("outcome").iter().all(|outcome| outcome == "running"));
}

#[test]
fn load_offers_what_it_says() {
    let result = run("load.toml", &[]);
    let access = result.links.text("link").iter().position(|link| link == "access.forward").unwrap();
    let carried = result.links.real("utilisation")[access];
    // Heavy tails: some hundred megabytes, in a few hundred large transfers.
    assert!((0.5..0.9).contains(&carried), "{carried}");
    assert!(result.summary.whole("transfers")[0] > 1000 && result.summary.whole("transfers_failed")[0] == 0);
    let slowdown = result.completions.real("slowdown_mean");
    assert!(slowdown.len() >= 4 && slowdown.iter().all(|slowdown| (1.0..20.0).contains(slowdown)), "{slowdown:?}");
}

/// A download and an upload get less as others come. The call waits for grants upwards, and for the next frames downwards.
#[test]
fn a_cell_is_shared_with_others() {
    let others = |count: &str| {
        run(
            "leo-cell.toml",
            &[("duration", "20 s"), ("medium.down.others.active", count), ("medium.up.others.active", count)],
        )
    };
    let [night, day, evening] = ["0", "4", "10"].map(others);
    let goodput = |result: &RunResult, flow: &str| {
        let row = result.flows.text("flow").iter().position(|name| name == flow).unwrap();
        result.flows.real("goodput_bps")[row]
    };
    for flow in ["download", "upload"] {
        let [night, day, evening] = [&night, &day, &evening].map(|result| goodput(result, flow));
        assert!(night > 2.0 * day && day > 1.5 * evening, "{flow}: {night} {day} {evening}");
    }
    let wait = |link: &str| {
        let row = night.terminals.text("link").iter().position(|name| name == link).unwrap();
        night.terminals.real("grant_wait_p95_s")[row]
    };
    let frame = 4.0 / 3000.0;
    assert!(wait("user3.forward") < 2.0 * frame && wait("user3.reverse") > 3.0 * frame);
}
