//! Checks properties of all networks on swarms of random networks. `PROPTEST_CASES` makes the swarms larger, and
//! `BENTPIPE_SWARM` draws others.

mod carrier;
mod cell;
mod changes;
mod draw;
mod forward;
mod happening;
mod link;
mod medium;
mod naive_meta;
mod outlook;
mod paths;
mod ports;
mod probe;
mod random;
mod receivers;
mod reference;
mod routes;
mod shared_cell;
mod slotted;
mod slotted_media;

use crate::record::RunResult;
use crate::{Failure, Network, Trouble};
use bentpipe_model::dictionary::{Values, MISSING};
use bentpipe_model::ids::FlowId;
use bentpipe_model::spec::{
    App, Datagrams, Downtimes, Gaps, Outage, Queue, QueueLimit, Scenario, Timeline, Transport, Wait,
};
use bentpipe_tcp::{Config, GiveUp};
use bentpipe_units::{Duration, Rate, Stream, Time};
use draw::Dice;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use random::Sketch;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Returns the same swarm in every run, of `cases` networks unless the environment sets its number and its size.
fn swarm(cases: u32) -> ProptestConfig {
    let asked = |name| std::env::var(name).ok()?.parse::<u64>().ok();
    ProptestConfig {
        cases: asked("PROPTEST_CASES").map_or(cases, |cases| cases as u32),
        rng_seed: RngSeed::Fixed(asked("BENTPIPE_SWARM").unwrap_or(1)),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn sketch() -> impl Strategy<Value = Sketch> {
    (any::<u64>(), 1..=8usize, 1..=12u64, 0..=random::ALL).prop_map(|(seed, flows, seconds, features)| Sketch {
        seed,
        flows,
        seconds,
        features,
    })
}

/// Runs a scenario. `finish` asserts that packets are conserved.
fn run(scenario: &Scenario) -> RunResult {
    let mut network = Network::build(&Arc::new(scenario.clone()), scenario.seed);
    assert!(network.run(u64::MAX));
    network.finish().unwrap_or_else(|failure| panic!("{failure}"))
}

/// Returns the sketch's scenario without proxies.
fn end_to_end(sketch: &Sketch) -> Scenario {
    without_proxies(sketch.scenario())
}

/// Returns the scenario without middleboxes that acknowledge data before the receiver has it. With them, an end may know less
/// about the other.
fn without_proxies(mut scenario: Scenario) -> Scenario {
    for node in &mut scenario.nodes {
        node.middleboxes.retain(|function| !["split", "cache", "spoof", "satpep"].contains(&function.name()));
    }
    scenario
}

/// Changes TCP of a flow, over all its paths.
fn change_tcp(transport: &mut Transport, change: impl Fn(&mut Config)) {
    transport.tcp_mut().into_iter().for_each(&change);
    for subflow in transport.multi_mut().into_iter().flat_map(|multi| &mut multi.subflows) {
        change(Arc::make_mut(&mut subflow.tcp));
    }
}

/// (application, outcome, delivered bytes, acknowledged bytes).
fn outcomes<'a>(scenario: &'a Scenario, result: &'a RunResult) -> impl Iterator<Item = (App, &'a str, u64, u64)> {
    let columns = ["delivered_bytes", "acked_bytes"].map(|name| result.flows.whole(name));
    let outcomes = result.flows.text("outcome");
    (0..outcomes.len()).map(move |row| {
        let [delivered, acked] = columns.map(|column| column[row] as u64);
        ((*scenario.flows[row].app).clone(), outcomes[row].as_str(), delivered, acked)
    })
}

/// Asserts that the result is that of the naive engine.
fn assert_specified(sketch: &Sketch, scenario: &Scenario) -> Result<(), TestCaseError> {
    let entering = sketch.entering(scenario);
    let probes = || sketch.probes(scenario.nodes.len());
    let (result, left) = match ports::run(scenario, probes(), &entering) {
        // A proxy that forgets a connection leaves two ends with different numbers. RFC 9293 §3.10.7.4 answers each
        // unacceptable segment: without a delay the two ends answer each other for ever, in the naive engine too.
        Err(Failure { what: Trouble::Endless, .. }) => return Err(TestCaseError::reject("without end")),
        other => other.unwrap_or_else(|failure| panic!("{failure}")),
    };
    let (expected, expected_left) = reference::run(scenario, sketch.seed, probes(), &entering);
    prop_assert_eq!(left, expected_left);
    prop_assert_eq!(&result.links, &expected.links);
    prop_assert_eq!(&result.drops, &expected.drops);
    prop_assert_eq!(&result.summary, &expected.summary);
    prop_assert_eq!(&result.flows, &expected.flows);
    prop_assert_eq!(&result.subflows, &expected.subflows);
    prop_assert_eq!(&result.transfers, &expected.transfers);
    prop_assert_eq!(&result.datagrams, &expected.datagrams);
    prop_assert_eq!(&result.probes, &expected.probes);
    prop_assert_eq!(&result.media, &expected.media);
    prop_assert_eq!(&result.terminals, &expected.terminals);
    prop_assert_eq!(&result.modcods, &expected.modcods);
    prop_assert_eq!(&result.events, &expected.events);
    for (series, expected) in result.series.iter().zip(&expected.series) {
        prop_assert_eq!(series, expected);
    }
    prop_assert!(result == expected);
    Ok(())
}

/// Returns a random dumbbell of plain links, with flows of one connection each, and with all settings of connections.
pub(crate) fn dumbbell(seed: u64) -> Scenario {
    let features = random::SETTINGS | random::ENDS | random::BENT_PIPES | random::UNEQUAL | random::ERRORS;
    let (flows, seconds) = (3 + seed as usize % 6, 4 + seed % 9);
    let sketches = (0..).map(|draw| Sketch { seed: seed << 16 | draw, flows, seconds, features }.scenario());
    let has_two_sides = |scenario: &Scenario| scenario.nodes.len() == 2 * flows + 2;
    let mut scenario = sketches.into_iter().find(has_two_sides).expect("every fifth is a dumbbell");
    for link in &mut scenario.links {
        (link.arq, link.interleave, link.coded) = (None, None, None);
        link.queue = Queue::DropTail { limit: QueueLimit::Packets(5 + seed % 40) };
    }
    for (flow, size) in scenario.flows.iter_mut().zip([0, 1, 2, 3, 4].iter().cycle().skip(flows)) {
        flow.app = Arc::new(if *size == 0 { App::Greedy } else { App::File { size: 100_000 * size } });
    }
    scenario
}

/// Returns the sketch's scenario with files of all sizes in place of all applications, and with connections that give up soon
/// in every second network.
fn files(sketch: &Sketch) -> Scenario {
    let mut scenario = sketch.scenario();
    let rules = [GiveUp::AfterRetransmissions(1), GiveUp::AfterTime(Duration::from_secs(1)), GiveUp::Never];
    for (flow, size) in scenario.flows.iter_mut().zip([0, 100, 20_000, 300_000].iter().cycle().skip(sketch.flows)) {
        flow.app = Arc::new(App::File { size: *size });
        if let Some(rule) = rules.get(sketch.seed as usize % 6) {
            change_tcp(&mut flow.transport, |tcp| tcp.give_up = *rule);
        }
    }
    scenario
}

/// Returns the sketch without media: a terminal whose signal fits no waveform never sends, and a million seconds have too many
/// superframes.
fn without_media(sketch: Sketch) -> Sketch {
    Sketch { features: sketch.features & !random::MEDIA, ..sketch }
}

/// Returns the scenario with small files, connections that never give up, and time enough.
fn patient(mut scenario: Scenario) -> Scenario {
    scenario.duration = Duration::from_secs(1_000_000);
    scenario.record.series.clear();
    // A transfer without a route for the rest of the run does not complete.
    scenario.timeline = Timeline::default();
    // A link that is up for less than a packet's transmission time passes hardly any packet, even in a million
    // seconds.
    for link in &mut scenario.links {
        // A million seconds have too many slots.
        link.slots = None;
        if let Some(Outage { when: Downtimes::Random { mean_up, .. }, .. }) = link.outage.as_deref_mut() {
            *mean_up = (*mean_up).max(Duration::from_secs(1));
        }
    }
    for (flow, size) in scenario.flows.iter_mut().zip([0, 1, 100, 1460, 5000, 20_000].iter().cycle()) {
        flow.app = Arc::new(App::File { size: *size });
        change_tcp(&mut flow.transport, |tcp| tcp.give_up = GiveUp::Never);
    }
    scenario
}

/// Asserts that all transfers of a patient scenario complete.
fn assert_complete(scenario: &Scenario) -> Result<(), TestCaseError> {
    let result = run(scenario);
    for (app, outcome, delivered, _) in outcomes(scenario, &result) {
        prop_assert_eq!((App::File { size: delivered }, outcome), (app, "completed"));
    }
    Ok(())
}

/// Regression: networks with several paths that differed. A segment overtook its sibling at a host. After the application had left,
/// a subflow read messages, and data waited.
#[test]
fn several_paths_that_differed_agree() {
    for (seed, flows, seconds, features) in [
        (17_602_399_582_219_672_184, 3, 5, 9818),
        (3_865_745_836_845_634_513, 4, 12, 98_303),
        (2_018_019_079_309_131_218, 1, 8, 112_402),
        // A subflow that has another connection.
        (5_604_480_888_592_754_937, 4, 4, 108_400),
    ] {
        let sketch = Sketch { seed, flows, seconds, features };
        assert_specified(&sketch, &paths::of(&sketch)).unwrap_or_else(|failure| panic!("{sketch:?}: {failure}"));
    }
}

/// Returns the differences between a network of several paths and a naive meta that sees its packets.
fn faults_of_paths(sketch: &Sketch) -> Vec<String> {
    let mut scenario = paths::of(sketch);
    scenario.record.series = vec!["events".to_owned()];
    let mut network = Network::build(&Arc::new(scenario.clone()), scenario.seed);
    let naive = naive_meta::Watching::default();
    network.watch(Box::new(naive.clone()));
    assert!(network.run(u64::MAX));
    let ended = network.now();
    let result = network.finish().unwrap_or_else(|failure| panic!("{failure}"));
    naive.faults(&scenario, &result, ended)
}

/// Regression: networks whose naive meta found a fault. Probe segments leave the timestamp as it is. An application that has
/// left a connection does not wait for data. Beside the multipath option, a SNACK had more than 40 B of
/// options. The end of all data counts in a segment that its connection refuses. Signals of other subflows do not end the keys of the first.
#[test]
fn several_paths_whose_naive_meta_differed_agree() {
    for (seed, flows, seconds, features) in [
        (16_150_119_236_092_058_754, 6, 2, 75_168),
        (12_234_396_689_857_653_884, 4, 11, 111_350),
        (1_037_049_442_889_518_056, 7, 8, 28_524),
        (2_950_097_769_061_982_390, 4, 3, 90_087),
        (2_666_400_819_791_060_031, 5, 7, 25_291),
        (8_784_127_454_534_568_758, 5, 7, 13_245),
    ] {
        let sketch = Sketch { seed, flows, seconds, features };
        assert_eq!(faults_of_paths(&sketch), Vec::<String>::new(), "{sketch:?}");
    }
}

proptest! {
    #![proptest_config(swarm(1000))]

    /// The schedule of sources and the lazy links give the same result as an event for everything, to the last bit.
    #[test]
    fn the_engine_agrees_with_its_specification(sketch in sketch()) {
        assert_specified(&sketch, &sketch.scenario())?;
    }

    /// Samples and ends of intervals miss no peak of a queue, also in a series that thins itself.
    #[test]
    fn the_greatest_value_of_each_queue_is_that_of_its_table(sketch in sketch()) {
        let mut scenario = sketch.scenario();
        scenario.record.series = vec!["queue_bytes".to_owned()];
        scenario.record.rows_max = 20 * scenario.links.len() as u64;
        let result = run(&scenario);
        let series = &result.series[0].1;
        let greatest = |link: &String| {
            let rows = series.text("link").iter().zip(series.real("greatest")).filter(|row| row.0 == link);
            rows.map(|row| *row.1).fold(0.0, f64::max)
        };
        for (link, most) in result.links.text("link").iter().zip(result.links.whole("queue_max_bytes")) {
            prop_assert_eq!(greatest(link), *most as f64, "{}", link);
        }
    }

    /// Also if endpoints work ahead of time between samples, with routes that change, up to the end of the last file.
    #[test]
    fn files_agree_with_their_specification_between_samples(sketch in sketch()) {
        let mut scenario = files(&sketch);
        scenario.record.series.retain(|name| bentpipe_model::dictionary::is_sampled(name));
        assert_specified(&sketch, &scenario)?;
    }

    /// Also if some links share a cell of satellites.
    #[test]
    fn cells_agree_with_their_specification(sketch in sketch()) {
        let sketch = Sketch { features: sketch.features & !random::MEDIA, ..sketch };
        let mut scenario = sketch.scenario();
        let mut dice = Dice::new(Stream::new(sketch.seed, "scenario", "cell"));
        scenario.media = shared_cell::share(&mut scenario.links, &mut dice);
        shared_cell::divide(&mut scenario.links, &mut scenario.media, &mut dice);
        assert_specified(&sketch, &scenario)?;
    }

    /// Also if one flow has several receivers. Each packet for a receiver has arrived or is lost, if nothing is under
    /// way any more.
    #[test]
    fn several_receivers_agree_with_their_specification(sketch in sketch()) {
        let mut scenario = sketch.scenario();
        let mut dice = Dice::new(Stream::new(sketch.seed, "scenario", "receivers"));
        receivers::join(&mut scenario, &mut dice);
        assert_specified(&sketch, &scenario)?;
        scenario.nodes.iter_mut().for_each(|node| node.middleboxes.clear());
        scenario.duration += Duration::from_secs(20);
        for flow in scenario.flows.iter_mut().filter(|flow| !matches!(*flow.app, App::Datagrams(_))) {
            flow.app = Arc::new(App::File { size: 1000 });
        }
        scenario.record.series.clear();
        for flow in scenario.flows.iter_mut().filter(|flow| !matches!(*flow.app, App::Datagrams(_))) {
            flow.app = Arc::new(App::File { size: 1000 });
        }
        let result = run(&scenario);
        if result.summary.whole("in_flight_packets")[0] == 0 {
            let [sent, arrived, lost] = ["sent_packets", "arrived_packets", "lost_packets"].map(|name| result.datagrams.whole(name));
            for (row, flow) in result.datagrams.text("flow").iter().enumerate() {
                let of = scenario.flows.iter().find(|of| of.name == *flow).expect("a flow of the scenario");
                let has_end = matches!(*of.app, App::Datagrams(Datagrams { gaps: Gaps::OnOff { .. }, .. }));
                if has_end {
                    prop_assert_eq!(sent[row], arrived[row] + lost[row], "{}", flow);
                }
            }
        }
    }

    /// Also if some flows have several paths.
    #[test]
    fn several_paths_agree_with_their_specification(sketch in sketch()) {
        assert_specified(&sketch, &paths::of(&sketch))?;
    }

    /// Data over several paths arrive once and in order, with losses, delays, copies, ends and reinjections.
    #[test]
    fn several_paths_are_as_a_naive_meta_finds_them(sketch in sketch()) {
        let faults = faults_of_paths(&sketch);
        prop_assert!(faults.is_empty(), "{}", faults[..faults.len().min(5)].join("\n"));
    }

    /// A run does not end before any of its horizons.
    #[test]
    fn nothing_works_ahead_beyond_the_end_of_the_run(sketch in sketch()) {
        let mut scenario = files(&sketch);
        scenario.record.series.clear();
        let (mut network, mut farthest) = (Network::build(&Arc::new(scenario), sketch.seed), Time::ZERO);
        while !network.run(1) {
            farthest = farthest.max(network.runs_ahead_until());
        }
        prop_assert!(farthest <= network.now());
    }

    /// Packets that enter by a port are delivered and lost like the same datagrams of the simulator.
    #[test]
    fn a_recorded_list_of_packets_fares_as_the_datagrams_that_it_was_recorded_from(sketch in sketch()) {
        let mut scenario = sketch.scenario();
        // Other tests cover datagrams that other events depend on.
        let flow = FlowId::new(0);
        let gaps = Gaps::OnOff {
            peak: Rate::from_bps(2_000_000),
            on: Wait::Constant(Duration::from_millis(40)),
            off: Wait::Constant(Duration::from_millis(60)),
        };
        let spec = Datagrams::new(700, gaps);
        (scenario.flows[flow].app, scenario.flows[flow].processing) = (Arc::new(App::Datagrams(spec)), Default::default());
        let entering = ports::recorded(&scenario, flow, spec);
        let expected = run(&scenario);
        scenario.flows[flow].app = Arc::new(App::Port);
        let (result, _) = ports::run(&scenario, Vec::new(), &entering).unwrap_or_else(|failure| panic!("{failure}"));
        prop_assert_eq!(&result.links, &expected.links);
        prop_assert_eq!(&result.drops, &expected.drops);
        prop_assert_eq!(&result.datagrams, &expected.datagrams);
        prop_assert_eq!(&result.summary, &expected.summary);
        prop_assert_eq!(&result.flows, &expected.flows);
    }

    /// Every transfer that began is complete, failed, or in progress. The table contains the complete ones.
    #[test]
    fn transfers_are_conserved(sketch in sketch()) {
        let scenario = end_to_end(&sketch);
        let result = run(&scenario);
        let all = result.completions.text("sizes").iter().map(|sizes| sizes == "all");
        let sum = |values: &[f64]| values.iter().zip(all.clone()).filter(|(_, all)| *all).map(|(n, _)| *n).sum::<f64>();
        let complete: i64 = result.completions.whole("transfers").iter().zip(all.clone()).map(|(n, all)| n * i64::from(all)).sum();
        prop_assert_eq!(complete, result.transfers.len() as i64);
        prop_assert_eq!(complete, result.summary.whole("transfers").first().copied().unwrap_or(0));
        prop_assert_eq!(sum(result.completions.real("failed")) as i64, result.summary.whole("transfers_failed")[0]);
        prop_assert!(sum(result.completions.real("unfinished")) >= 0.0);
        let [whole, received] = ["duration_s", "duration_rx_s"].map(|name| result.transfers.real(name));
        prop_assert!(whole.iter().zip(received).all(|(whole, received)| received <= whole));
        // A code over several links may repair a packet before it arrives itself. Compressed headers are shorter than
        // the least size assumes. The drawn rate of a link in a medium does not bound its slots.
        let mut functions = scenario.nodes.iter().flat_map(|node| &node.middleboxes);
        let is_exempt = functions.any(|function| ["erasure", "compress"].contains(&function.name()));
        let has_slots = |name: &str| {
            let flow = scenario.flows.iter().find(|flow| flow.name == name).expect("a flow of the scenario");
            let lane = &scenario.lanes[flow.lane];
            lane.route.iter().chain(&lane.reverse_route).any(|link| scenario.links[link.index()].terminal.is_some())
        };
        let slowdowns = result.transfers.text("flow").iter().zip(result.transfers.real("slowdown"));
        let least = slowdowns.filter(|(flow, _)| !has_slots(flow)).map(|(_, slowdown)| *slowdown).fold(f64::INFINITY, f64::min);
        prop_assert!(is_exempt || least > 0.999, "{least}");
    }

    #[test]
    fn what_is_acknowledged_was_delivered_and_what_was_delivered_was_offered(sketch in sketch()) {
        let scenario = end_to_end(&sketch);
        let result = run(&scenario);
        for (app, outcome, delivered, acked) in outcomes(&scenario, &result) {
            prop_assert!(acked <= delivered, "{} of {} acknowledged", acked, delivered);
            match (app, outcome) {
                (App::Datagrams(_) | App::Probe(_) | App::Port, "running" | "waiting") => {}
                (app, "completed") if app.count().is_some() => {}
                (app, "running" | "aborted" | "waiting") if !app.is_single() && app.has_transport() => {}
                (App::File { size }, "completed") => prop_assert_eq!((delivered, acked), (size, size)),
                (App::File { size }, "running" | "aborted" | "waiting") => prop_assert!(delivered <= size),
                (App::Greedy, "running" | "aborted" | "waiting") => {}
                (app, outcome) => prop_assert!(false, "{:?} {}", app, outcome),
            }
        }
    }

    /// A column has one meaning: the counters of a flow are those of its sending hosts, also behind proxies.
    #[test]
    fn counters_of_a_flow_are_those_of_its_hosts_and_nothing_exceeds_its_limit(sketch in sketch()) {
        let scenario = sketch.scenario();
        let [once, again] = [0, 1].map(|_| {
            let mut network = Network::build(&Arc::new(scenario.clone()), scenario.seed);
            network.run(u64::MAX);
            network.finish()
        });
        let result = match (once, again) {
            (Ok(once), Ok(again)) => {
                prop_assert!(once == again, "twice the same");
                once
            }
            // As in `assert_specified`.
            (Err(Failure { what: Trouble::Endless, .. }), _) => return Err(TestCaseError::reject("without end")),
            (Err(failure), _) | (_, Err(failure)) => panic!("{failure}"),
        };
        let tables = [&result.flows, &result.links, &result.datagrams, &result.completions, &result.transfers];
        for (name, values) in tables.iter().flat_map(|table| &table.columns) {
            match values {
                Values::Whole(values) => prop_assert!(values.iter().all(|value| *value >= 0 || *value == MISSING), "{} {:?}", name, values),
                // NaN is a missing value.
                Values::Real(values) => {
                    let is_sound = |value: &f64| value.is_nan() || (value.is_finite() && *value >= 0.0);
                    prop_assert!(values.iter().all(is_sound), "{} {:?}", name, values);
                }
                Values::Text(_) => {}
            }
        }
        // These send a packet once more, each.
        let functions = scenario.nodes.iter().flat_map(|node| &node.middleboxes);
        let copiers = functions.filter(|function| ["impair", "erasure"].contains(&function.name())).count();
        let copies = 1 << copiers.min(16);
        let whole = |name: &str| result.flows.whole(name);
        for row in 0..result.flows.len() {
            let [sent, arrived, resent] = ["sent_packets", "arrived_packets", "retransmissions"].map(|name| whole(name)[row]);
            prop_assert!(arrived <= copies * sent, "{} of {} arrived", arrived, sent);
            let spurious = whole("spurious_retransmissions")[row];
            prop_assert!(spurious <= copies * resent, "{} of {} spurious", spurious, resent);
            prop_assert!(whole("retransmitted_bytes")[row] <= whole("sent_bytes")[row]);
            let [goodput, throughput] = ["goodput_bps", "throughput_bps"].map(|name| result.flows.real(name)[row]);
            prop_assert!(goodput.is_nan() || goodput <= throughput, "{} of {}", goodput, throughput);
        }
        let run_s = result.summary.real("simulated_s")[0];
        for (row, link) in scenario.links.iter().enumerate() {
            let utilisation = result.links.real("utilisation")[row];
            prop_assert!(utilisation.is_nan() || utilisation <= 1.0 + 1e-9, "{}", utilisation);
            // Packets that an outage cuts off count whole, and the slots of a medium decide the rate in it.
            if link.outage.is_some() || link.terminal.is_some() {
                continue;
            }
            // One packet may still be on its way.
            let line = link.rate.largest().as_bps() as f64 + 8.0 * 65_536.0 / run_s;
            let carried = result.links.real("carried_bps")[row];
            prop_assert!(carried.is_nan() || carried <= line, "{} of {} on {:?}", carried, line, link);
        }
    }

    /// Loss, reordering, duplication, outages, tiny queues and windows delay a transfer, but it completes.
    #[test]
    fn transfers_that_never_give_up_complete(sketch in sketch()) {
        let sketch = without_media(sketch);
        assert_complete(&patient(end_to_end(&sketch)))?;
    }

    /// Also over several paths.
    #[test]
    fn transfers_over_several_paths_complete(sketch in sketch()) {
        assert_complete(&patient(without_proxies(paths::of(&without_media(sketch)))))?;
    }
}

/// Among the networks with several paths are some whose subflows join again.
#[test]
fn some_subflows_of_the_swarm_return() {
    let returns = |seed| {
        let mut scenario = paths::of(&Sketch { seed, flows: 4, seconds: 10, features: random::ALL });
        scenario.record.series = vec!["events".to_owned()];
        let events = run(&scenario).events;
        let mut rows = events.text("event").iter().zip(events.whole("value"));
        rows.any(|(event, earlier)| *event == "subflow_joined" && *earlier > 0)
    };
    let found = (0..1000).filter(|&seed| returns(seed)).take(10).count();
    assert_eq!(found, 10);
}

/// The swarm contains every cause of loss, outcome and event that it should cover.
#[test]
fn the_swarm_covers_every_outcome() {
    let mut missing = [
        ["bit-error", "queue-overflow", "outage", "no-listener"],
        ["early-drop", "forced-drop", "link-loss", "acked"],
        ["handover", "route-missing", "dummy", "undo"],
        ["completed", "running", "aborted", "time-limit"],
        ["fast_retransmit", "recovery_exit", "timeout", "retransmission"],
        ["established", "zero_window", "transfer", "acked"],
        ["access-collision", "acm-outage", "push-out", "sent"],
        ["no-waveform", "sent", "acked", "completed"],
    ]
    .concat();
    for seed in 0..6000 {
        let result = run(&Sketch { seed, flows: 4, seconds: 10, features: random::ALL }.scenario());
        let (causes, outcomes) = (result.drops.text("cause"), result.flows.text("outcome"));
        let (stops, events) = (result.summary.text("stop"), result.events.text("event"));
        missing
            .retain(|wanted| ![causes, outcomes, stops, events].iter().any(|met| met.iter().any(|met| met == wanted)));
        if missing.is_empty() {
            return;
        }
    }
    panic!("{missing:?}");
}

/// The swarm contains L4S with marks of both kinds, each end of slow start that ends by a loss or before it, and the
/// phases of careful resume.
#[test]
fn the_swarm_covers_l4s_and_the_starts_of_connections() {
    let mut missing: BTreeSet<&str> =
        ["native", "coupled", "prague", "dctcp", "resume_unvalidated", "resume_retreat"].into();
    missing.extend(["standard", "limited", "hoe", "hystart", "hystart++", "search", "rapid"]);
    for seed in 0..12_000 {
        let features = random::SETTINGS | random::ENDS | random::ERRORS | random::SERIES_KEPT;
        let scenario = Sketch { seed, flows: 2, seconds: 10, features }.scenario();
        let result = run(&scenario);
        let sum = |name: &str| result.links.whole(name).iter().sum::<i64>();
        let marked = [("native", sum("l4s_native_marks")), ("coupled", sum("l4s_coupled_marks"))];
        missing.retain(|wanted| !marked.iter().any(|(name, packets)| name == wanted && *packets > 0));
        let reductions = result.flows.whole("ecn_reductions");
        let events = result.events.text("event");
        for (flow, &reduced) in scenario.flows.iter().zip(reductions) {
            let tcp = flow.tcp();
            // Missing counts are negative.
            if reduced > 0 {
                missing.remove(tcp.cc.kind().name());
            }
            if tcp.cc.kind().takes().slow_start && events.iter().any(|event| event == "slow_start_exit") {
                missing.remove(tcp.growth.slow_start.name());
            }
        }
        missing.retain(|wanted| !events.iter().any(|event| event == wanted));
        if missing.is_empty() {
            return;
        }
    }
    panic!("{missing:?}");
}
