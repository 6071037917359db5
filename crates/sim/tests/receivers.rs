//! Flows with several receivers against closed forms: copies on each link, losses of each receiver, frames of a carrier.

use bentpipe_sim::dictionary::Table;
use bentpipe_sim::record::RunResult;
use bentpipe_sim::scenario::{from_toml, Resolved};
use bentpipe_sim::Network;

fn read(text: &str) -> Resolved {
    from_toml(text, "receivers", &[]).unwrap_or_else(|problems| panic!("{problems}"))
}

fn run(text: &str) -> RunResult {
    let scenario = read(text).scenario;
    let mut network = Network::build(&scenario, scenario.seed);
    assert!(network.run(u64::MAX));
    network.finish().unwrap()
}

fn refused(text: &str) -> String {
    match from_toml(text, "receivers", &[]) {
        Err(problems) => problems.to_string(),
        Ok(_) => panic!("it is accepted"),
    }
}

/// The value of a column in the row with this name in the first column.
fn of(table: &Table, name: &str, column: &str) -> i64 {
    let names = table.text(table.columns[0].0);
    table.whole(column)[names.iter().position(|known| known == name).unwrap_or_else(|| panic!("{name} in {names:?}"))]
}

fn real(table: &Table, name: &str, column: &str) -> f64 {
    let names = table.text(table.columns[0].0);
    table.real(column)[names.iter().position(|known| known == name).unwrap_or_else(|| panic!("{name} in {names:?}"))]
}

/// A tree: a server, a hub with an office, two regions, and three homes in each.
fn tree(shared_error: &str, home_error: &str) -> String {
    let regions = ["one", "two"].map(|region| {
        format!(
            "[link.{region}]\nfrom = 'hub'\nto = '{region}'\nrate = '20 Mbit/s'\ndelay = '10 ms'\n\
             [link.home-{region}]\nfrom = '{region}'\nto = '{region}{{n}}'\ncount = 3\nrate = '10 Mbit/s'\ndelay = '5 ms'\n\
             reverse.rate = '1 Mbit/s'\n{home_error}\n"
        )
    });
    format!(
        "duration = '20 s'\n[link.up]\nfrom = 'server'\nto = 'hub'\nrate = '20 Mbit/s'\ndelay = '250 ms'\n{shared_error}\n\
         [link.office]\nfrom = 'hub'\nto = 'office'\nrate = '100 Mbit/s'\ndelay = '1 ms'\n{}\
         [flow.tv]\nfrom = 'server'\nto = ['one{{n}}', 'two{{n}}', 'office', 'hub']\ncount = 3\n\
         app = {{ kind = 'rtp', rate = '2 Mbit/s' }}\n",
        regions.concat()
    )
}

/// A packet crosses each link of the tree once. Each receiver has all packets, with the delay of its path.
#[test]
fn each_link_of_the_tree_carries_each_packet_once() {
    let result = run(&tree("", ""));
    let sent = of(&result.datagrams, "tv1", "sent_packets");
    // One packet of 1316 B of media in 5.264 ms, from 0 to 20 s.
    assert_eq!(sent, (20.0 / (1316.0 * 8.0 / 2e6)) as i64 + 1);
    assert_eq!(result.datagrams.len(), 8);
    let links = ["up", "office", "one", "two", "home-one1", "home-one3", "home-two2"];
    for link in links.map(|link| format!("{link}.forward")) {
        // The last packets are under way.
        let carried = of(&result.links, &link, "carried_packets");
        assert!(sent - carried <= 55, "{link} carried {carried} of {sent}");
    }
    for (flow, receiver, delay_s) in
        [("tv1", "one1", 0.265), ("tv5", "two2", 0.265), ("tv7", "office", 0.251), ("tv8", "hub", 0.250)]
    {
        let row = result.datagrams.text("flow").iter().position(|name| name == flow).unwrap();
        assert_eq!(result.datagrams.text("receiver")[row], receiver);
        assert_eq!(of(&result.datagrams, flow, "lost_packets"), 0);
        let least = real(&result.datagrams, flow, "delay_min_s");
        // 1356 B on three links take less than 3 ms.
        assert!((0.0..3e-3).contains(&(least - delay_s)), "{flow}: {least}");
        assert!(real(&result.datagrams, flow, "late_packets") == 0.0);
    }
    assert_eq!(result.summary.whole("lost_packets"), &[0]);
}

/// A loss on a shared link is a loss of all receivers behind it; a loss on the last link that of one. Both are binomial.
#[test]
fn each_receiver_counts_the_losses_of_its_own_path() {
    let result = run(&tree(
        "error = { kind = 'packet', rate = '10 %', effect = 'lose' }",
        "error = { kind = 'packet', rate = '5 %', effect = 'lose' }",
    ));
    let sent = of(&result.datagrams, "tv1", "sent_packets") as f64;
    let drops = &result.drops;
    let lost = |place: &str, flow: &str| -> i64 {
        let rows = drops.text("where").iter().zip(drops.text("flow")).zip(drops.whole("packets"));
        rows.filter(|((at, of), _)| *at == place && *of == flow).map(|(_, packets)| *packets).sum()
    };
    let shared = lost("up.forward", "tv1");
    assert!((shared as f64 - 0.1 * sent).abs() < 4.0 * (sent * 0.1 * 0.9).sqrt(), "{shared} of {sent}");
    for (flow, link) in [("tv1", "home-one1"), ("tv2", "home-one2"), ("tv6", "home-two3")] {
        assert_eq!(lost("up.forward", flow), shared, "{flow}");
        let own = lost(&format!("{link}.forward"), flow);
        let reached = sent - shared as f64;
        assert!((own as f64 - 0.05 * reached).abs() < 4.0 * (reached * 0.05 * 0.95).sqrt(), "{own} of {reached}");
        assert_eq!(of(&result.datagrams, flow, "lost_packets"), shared + own);
    }
    assert_eq!(of(&result.datagrams, "tv7", "lost_packets"), shared, "the link of the office loses nothing");
    assert_eq!(of(&result.links, "up.forward", "dropped_packets"), shared, "a link counts packets, not receivers");
}

/// A forward carrier with ten terminals, of which the last has this signal, and a flow of 2 Mbit/s to all.
fn carrier(signal: &str, to: &str, more: &str) -> String {
    format!(
        "duration = '30 s'\n[medium.down]\nkind = 'tdm'\nsymbol_rate = '4.5 Mbaud'\n\
         [link.user]\nfrom = 'hub'\nto = 'home{{n}}'\ncount = 9\ndelay = '250 ms'\nreverse.rate = '1 Mbit/s'\n\
         [link.user.forward]\nmedium = 'down'\nes_n0 = '13 dB'\n\
         [link.far]\nfrom = 'hub'\nto = 'home10'\ndelay = '250 ms'\nreverse.rate = '1 Mbit/s'\n\
         [link.far.forward]\nmedium = 'down'\nes_n0 = '{signal}'\n\
         [link.server]\nfrom = 'server'\nto = 'hub'\nrate = '100 Mbit/s'\ndelay = '5 ms'\n\
         [flow.tv]\nfrom = 'server'\nto = {to}\ncount = 10\n\
         app = {{ kind = 'cbr', rate = '1 Mbit/s', size = '1222 B' }}\n{more}"
    )
}

/// One packet in the frames serves ten receivers. Ten flows of one receiver take ten times the bytes.
#[test]
fn a_carrier_sends_one_packet_to_all_receivers() {
    let many = run(&carrier("13 dB", "['home{n}']", ""));
    let sent = of(&many.datagrams, "tv1", "sent_packets");
    let one = run(&carrier("13 dB", "'home{n}'", ""));
    let [carried, tenfold] = [&many, &one].map(|result| result.media.whole("carried_bytes")[0]);
    // Packets of 1250 B. The last one may be under way to the hub.
    assert!((sent - 1) * 1250 <= carried && carried <= sent * 1250, "{carried} for {sent} packets");
    assert!((tenfold - 10 * carried).abs() <= 10 * 1250, "{tenfold} against {carried}");
    for n in 1..=10 {
        let flow = format!("tv{n}");
        assert_eq!(of(&many.datagrams, &flow, "lost_packets"), 0);
        assert!(sent - of(&many.datagrams, &flow, "arrived_packets") < 60);
    }
    assert_eq!(of(&many.links, "user1.forward", "carried_packets"), of(&many.links, "far.forward", "carried_packets"));
    let padding = many.media.whole("used_bytes")[0] - carried - many.media.whole("header_bytes")[0];
    assert_eq!(padding, many.media.whole("padding_bytes")[0]);
}

/// Frames for several receivers have the modulation and code of the weakest that can be served. A receiver without any loses
/// what the frames carry, and does not slow the others.
#[test]
fn the_weakest_receiver_that_is_served_decides_the_waveform() {
    let modcods = |signal: &str| run(&carrier(signal, "['home{n}']", "")).modcods.text("modcod").to_vec();
    // Of the margin of 1 dB and the thresholds of EN 302 307-1, table 13.
    assert_eq!(modcods("13 dB"), ["16APSK 5/6"]);
    assert_eq!(modcods("3 dB"), ["QPSK 1/2"]);
    let cut_off = run(&carrier("-10 dB", "['home{n}']", ""));
    assert_eq!(cut_off.modcods.text("modcod"), ["16APSK 5/6"]);
    let sent = of(&cut_off.datagrams, "tv10", "sent_packets");
    assert!(sent - of(&cut_off.datagrams, "tv10", "lost_packets") < 60);
    assert_eq!(of(&cut_off.datagrams, "tv1", "lost_packets"), 0);
    assert!(cut_off.drops.text("cause").iter().all(|cause| cause == "acm-outage"), "{:?}", cut_off.drops);
}

/// TCP beside a broadcast shares the carrier: the broadcast takes its share once.
#[test]
fn tcp_beside_a_broadcast_loses_its_share_once() {
    let tcp = "[flow.web]\nfrom = 'server'\nto = 'home1'\n";
    let result = run(&carrier("13 dB", "['home{n}']", tcp));
    let [carried, headers, padding] =
        ["carried_bytes", "header_bytes", "padding_bytes"].map(|name| result.media.whole(name)[0]);
    assert_eq!(carried + headers + padding, result.media.whole("used_bytes")[0]);
    let broadcast = of(&result.datagrams, "tv1", "sent_packets") * 1250;
    let web = of(&result.flows, "web", "arrived_packets") * 1500;
    let share = (broadcast + web) as f64 / carried as f64;
    assert!((0.9..=1.1).contains(&share), "{broadcast} + {web} of {carried}");
    assert_eq!(of(&result.datagrams, "tv1", "lost_packets"), 0);
}

/// Each copy has the path of its packet: the parts of the time of each receiver add up to its delays.
#[test]
fn each_receiver_has_its_critical_path() {
    let text = tree("", "");
    let (plain, traced) = (run(&text), run(&format!("{text}[record]\nseries = ['critical_path']\n")));
    assert_eq!(plain.datagrams, traced.datagrams);
    let (_, parts) = traced.series.iter().find(|(name, _)| name == "critical_path").expect("the series");
    for flow in ["tv1", "tv5", "tv7"] {
        let rows = parts.text("flow").iter().zip(parts.real("total_s")).filter(|(of, _)| *of == flow);
        let sum: f64 = rows.map(|(_, time_s)| time_s).sum();
        let arrived = of(&traced.datagrams, flow, "arrived_packets") as f64;
        let delays = arrived * real(&traced.datagrams, flow, "delay_mean_s");
        assert!((sum / delays - 1.0).abs() < 1e-6, "{flow}: {sum} of {delays}");
    }
    let text = carrier("13 dB", "['home{n}']", "");
    assert_eq!(run(&text).datagrams, run(&format!("{text}[record]\nseries = ['critical_path']\n")).datagrams);
}

/// The resolved text is the same scenario, and a flow may join by name.
#[test]
fn the_resolved_scenario_has_a_flow_for_each_receiver() {
    let resolved = read(&tree("", ""));
    let text = resolved.to_toml();
    assert!(text.contains("copy_of = \"tv1\""), "{text}");
    assert_eq!(read(&text).scenario, resolved.scenario);
    let media = read(&carrier("13 dB", "['home{n}']", ""));
    assert_eq!(read(&media.to_toml()).scenario, media.scenario);
}

#[test]
fn receivers_that_cannot_work_are_refused() {
    let base = tree("", "");
    let with = |from: &str, to: &str| refused(&base.replace(from, to));
    let several = "['one{n}', 'two{n}', 'office', 'hub']";
    assert!(with("kind = 'rtp', rate = '2 Mbit/s'", "kind = 'probe'").contains("cannot have several receivers"));
    assert!(with("{ kind = 'rtp', rate = '2 Mbit/s' }", "'greedy'").contains("cannot have several receivers"));
    assert!(with(several, "[]").contains("expected at least one receiver"));
    assert!(
        with(several, "['office', 'hub']").contains("no name in")
            || with(several, "['office', 'hub']").contains("has no effect")
    );
    assert!(with(several, "['one{n}', 'nowhere']").contains("is not a node"));
    assert!(with(several, "['one{n}', 'server']").contains("is the same node as from"));
    let second =
        "[flow.other]\nfrom = 'server'\nto = 'office'\napp = { kind = 'cbr', rate = '1 Mbit/s' }\ncopy_of = 'tv1'\n";
    assert!(refused(&format!("{base}{second}")).contains("app differs from that of \"tv1\""));
    let unknown = second.replace("'tv1'", "'tv'");
    assert!(refused(&format!("{base}{unknown}")).contains("no flow has the name \"tv\""));
    let list = second.replace("'office'", "['office', 'hub']");
    assert!(refused(&format!("{base}{list}")).contains("app differs from that of \"tv1\""));
    let change = "[[at]]\ntime = '5 s'\ndown = ['one']\n";
    let message = refused(&format!("{base}{change}"));
    assert!(message.contains("has several receivers, and the path to"), "{message}");
}

/// A carousel with this file and these blocks over a link that loses each packet with this chance, to 40 homes.
fn carousel(seed: u32, keys: &str, loss: &str) -> RunResult {
    run(&format!(
        "seed = {seed}\nduration = '100 s'\n[link.home]\nfrom = 'server'\nto = 'home{{n}}'\ncount = 40\nrate = '20 Mbit/s'\ndelay = '250 ms'\n\
         error = {{ kind = 'packet', rate = '{loss}', effect = 'lose' }}\nreverse.rate = '1 Mbit/s'\n\
         [flow.file]\nfrom = 'server'\nto = ['home{{n}}']\ncount = 40\napp = {{ kind = 'carousel', rate = '1 Mbit/s', size = '1250 B', {keys} }}\n"
    ))
}

/// Without losses, the last packet of the file completes it: 1 MB at 1 Mbit/s, in packets of 1250 B each 10 ms. Packets for
/// repair of other blocks leave before it.
#[test]
fn a_file_is_complete_with_its_last_packet() {
    // The last packet leaves after 799 others, has 1294 B with headers at 20 Mbit/s, and is under way for 250 ms.
    let arrival_s = 0.25 + 1294.0 * 8.0 / 20e6;
    let result = carousel(1, "file = '1 MB', block = 200", "0 %");
    let times = result.datagrams.real("file_complete_s");
    assert_eq!(times.len(), 40);
    assert!(times.iter().all(|time| (time - (7.99 + arrival_s)).abs() < 1e-9), "{times:?}");
    assert!(result.datagrams.real("file_lacks_packets").iter().all(|lacks| *lacks == 0.0));
    // 800 packets in three blocks of at most 300: 267, 267 and 266. The last packet of the first round is of the second.
    let result = carousel(1, "file = '1 MB', block = 300, repair = 30, rounds = 1", "0 %");
    assert!(result.datagrams.real("file_complete_s").iter().all(|time| (time - (7.99 + arrival_s)).abs() < 1e-9));
    assert_eq!(of(&result.datagrams, "file1", "sent_packets"), 800 + 3 * 30);
    // The flow does not complete as a transfer does, so that it counts neither as complete nor as failed.
    assert!(result.summary.real("completion_bound_s")[0].is_nan());
}

/// One round with p = 10 % lost: a receiver has a block of 100 packets and 15 for repair if at most 15 of the 115 are lost,
/// and the file if this holds for all 8 blocks. The number of receivers is binomial.
#[test]
fn blocks_are_complete_as_often_as_the_binomial_distribution_says() {
    let term = |lost: u32| {
        (0..lost).fold(0.9f64.powi(115 - lost as i32) * 0.1f64.powi(lost as i32), |term, k| {
            term * f64::from(115 - k) / f64::from(k + 1)
        })
    };
    let share = (0..=15).map(term).sum::<f64>().powi(8);
    assert!((0.2..0.8).contains(&share), "{share}");
    let runs: Vec<RunResult> =
        (1..=10).map(|seed| carousel(seed, "file = '1 MB', block = 100, repair = 15, rounds = 1", "10 %")).collect();
    let times = runs.iter().flat_map(|result| result.datagrams.real("file_complete_s"));
    let complete = times.filter(|time| !time.is_nan()).count() as f64;
    assert!(
        (complete - 400.0 * share).abs() < 4.0 * (400.0 * share * (1.0 - share)).sqrt(),
        "{complete} of 400, {share}"
    );
}

/// Without packets for repair, a receiver waits for rounds until it has each of n packets: the chance that r rounds are enough
/// is (1 - p^r)^n.
#[test]
fn without_repair_the_last_packet_takes_rounds() {
    let (packets, loss) = (800, 0.1f64);
    let result = carousel(1, "file = '1 MB', block = 100", "10 %");
    let rounds: Vec<f64> =
        result.datagrams.real("file_complete_s").iter().map(|time| ((time - 0.25) / 8.0).ceil()).collect();
    let enough = |rounds: i32| (1.0 - loss.powi(rounds)).powi(packets);
    let mean: f64 = (0..50).map(|rounds| 1.0 - enough(rounds)).sum();
    let variance: f64 = (0..50).map(|r| (1.0 - enough(r)) * (2.0 * f64::from(r) + 1.0)).sum::<f64>() - mean * mean;
    let found = rounds.iter().sum::<f64>() / 40.0;
    assert!((found - mean).abs() < 4.0 * (variance / 40.0).sqrt(), "{found} rounds, expected {mean}");
}
