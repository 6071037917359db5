//! Traces of real paths: the formats people have them in, replayed. The data do not come with bentpipe: tests for which
//! they are missing say so and do nothing.

use bentpipe_sim::record::RunResult;
use bentpipe_sim::scenario::{from_toml, from_toml_with, Folder, Profile, Resolved};
use bentpipe_sim::Network;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A trace of `shared/data`, decompressed; nothing if it is not there, which is said.
fn data(name: &str) -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(name);
    let output = Command::new("xz").arg("-dc").arg(&path).output();
    let text = output.ok().filter(|output| output.status.success()).map(|output| output.stdout);
    if text.is_none() {
        // Past the harness, which keeps what a test that passes prints.
        let _ = writeln!(std::io::stderr(), "skipped: no {} (or no xz to read it with)", path.display());
    }
    text.map(|text| String::from_utf8(text).unwrap())
}

/// A folder with one file, `trace`.
struct Beside(PathBuf);

impl Beside {
    fn new(test: &str, content: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("bentpipe-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("trace"), content).unwrap();
        Self(folder)
    }

    /// A scenario of a minute with `link` in its one link.
    fn read(&self, seconds: u32, link: &str) -> Resolved {
        let text = format!(
            "duration = \"{seconds} s\"\n[tcp]\nlike = \"rfc\"\ncc = \"sack\"\n[link.l]\nfrom = \"a\"\nto = \"b\"\n{link}\n\
             [flow.f]\nfrom = \"a\"\nto = \"b\"\n"
        );
        let resolved = from_toml_with(&text, "s.toml", &[], &Folder(self.0.clone()));
        let resolved = resolved.unwrap_or_else(|problems| panic!("{problems}"));
        let again = from_toml(&resolved.to_toml(), "again", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(again.scenario, resolved.scenario, "the resolved scenario has all that it needs");
        resolved
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run(resolved: &Resolved) -> RunResult {
    let mut network = Network::build(&resolved.scenario, 1);
    assert!(network.run(u64::MAX));
    network.finish().unwrap()
}

fn forward(result: &RunResult, column: &str) -> f64 {
    result.links.real(column)[0]
}

#[test]
fn delivery_opportunities_of_starlink_carry_what_they_did() {
    let Some(text) = data("starlink/leocc-example-delivery-opportunities-ms.txt.xz") else { return };
    let opportunities = text.lines().count() as f64;
    let seconds = text.lines().last().unwrap().parse::<f64>().unwrap() / 1e3;
    let beside = Beside::new("mahimahi", &text);
    let resolved = beside.read(60, "delay = \"15 ms\"\nforward.rate = { file = \"trace\", format = \"mahimahi\" }\nreverse.rate = \"20 Mbit/s\"\nqueue = \"500 packets\"");
    let Profile::Points { points, period, .. } = &resolved.scenario.links[0].rate else { panic!("points") };
    let ends =
        points.iter().skip(1).map(|point| point.0.as_secs_f64()).chain(period.map(|period| period.as_secs_f64()));
    let bits: f64 =
        points.iter().zip(ends).map(|(from, to)| from.1.as_bps() as f64 * (to - from.0.as_secs_f64())).sum();
    assert!((bits / (opportunities * 12_000.0) - 1.0).abs() < 1e-6, "{bits}");
    let (carried, mean) = (forward(&run(&resolved), "carried_bps"), opportunities * 12_000.0 / seconds);
    assert!(carried > 0.5 * mean && carried < 1.2 * mean, "{carried} of {mean}");
}

#[test]
fn one_way_delays_of_starlink_are_met() {
    let Some(text) = data("starlink/leocc-example-owd-10ms.txt.xz") else { return };
    let delays: Vec<f64> = text.lines().map(|line| line.parse().unwrap()).collect();
    let rows: String = (0..).zip(&delays).map(|(i, ms)| format!("{}, {ms}\n", 10 * i)).collect();
    let beside = Beside::new("owd", &format!("time_ms,owd_ms\n{rows}"));
    let resolved = beside
        .read(60, "rate = \"100 Mbit/s\"\ndelay = { file = \"trace\", every = \"120 s\" }\nqueue = \"unlimited\"");
    let result = run(&resolved);
    let least = delays[..6000].iter().fold(f64::MAX, |a, &b| a.min(b)) / 1e3;
    let rtt = result.flows.real("rtt_min_s")[0];
    assert!(rtt >= 2.0 * least && rtt < 2.0 * least + 0.01, "{rtt} {least}");
}

/// As they were measured: a round trip on one direction, none on the other. What was sent later does not overtake.
#[test]
fn pings_over_starlink_and_oneweb_can_be_replayed_as_they_are() {
    for name in [
        "starlink/leolive-ping10ms-bentpipe-victoria-1.csv.xz",
        "starlink/leolive-ping10ms-bentpipe-victoria-2.csv.xz",
        "oneweb/leolive-ping10ms-oneweb-iowa.csv.xz",
    ] {
        let Some(text) = data(name) else { return };
        let beside = Beside::new("ping", &text);
        let link = "rate = \"50 Mbit/s\"\nforward.delay = { file = \"trace\" }\nreverse.delay = \"0 s\"";
        let rtt = run(&beside.read(60, link)).flows.real("rtt_min_s")[0];
        let row = |line: &str| line.split_once(',').map(|(t, rtt)| [t, rtt].map(|cell| cell.parse::<f64>().unwrap()));
        let rows: Vec<[f64; 2]> = text.lines().skip(1).filter_map(row).collect();
        let mut rtts: Vec<f64> = rows.iter().filter(|row| row[0] < rows[0][0] + 60.0).map(|row| row[1] / 1e3).collect();
        rtts.sort_by(f64::total_cmp);
        let (least, median) = (rtts[0], rtts[rtts.len() / 2]);
        assert!(rtt >= least && rtt < median + 0.001, "{name}: {rtt} of {least}, {median}");
    }
}

/// The 36 000 pings of which 2.5 % were lost: each packet meets the fate of its number.
#[test]
fn packets_meet_the_fates_of_recorded_pings() {
    let Some(text) = data("starlink/mmsys24-ping-bentpipe-victoria-seattle.csv.xz") else { return };
    let fates: String = text.lines().skip(1).map(|line| if line.ends_with(",-1") { '1' } else { '0' }).collect();
    let beside = Beside::new("fates", &fates);
    let error = "forward.error = { kind = \"packet-trace\", file = \"trace\", effect = \"lose\" }";
    let resolved = beside.read(120, &format!("rate = \"50 Mbit/s\"\ndelay = \"20 ms\"\n{error}"));
    let result = run(&resolved);
    let carried = result.links.whole("carried_packets")[0] as usize;
    let lost = fates.bytes().take(carried).filter(|fate| *fate == b'1').count() as i64;
    let in_flight = result.links.whole("queue_end_packets")[0];
    let drops = result.drops.text("cause").iter().zip(result.drops.whole("packets"));
    let counted: i64 = drops.filter(|(cause, _)| *cause == "link-loss").map(|(_, packets)| packets).sum();
    assert!(carried > 5000 && counted <= lost && counted >= lost - in_flight, "{counted} {lost} of {carried}");
}

#[test]
fn rates_of_a_drive_are_followed() {
    let Some(text) = data("starlink/autobahn-throughput-1s.csv.xz") else { return };
    let columns = text.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    let rates: Vec<f64> = columns.clone().map(|row| row[1].parse().unwrap()).collect();
    let rows: String = (0..).zip(columns).map(|(s, row)| format!("{s},{},{}\n", row[1], row[2])).collect();
    let beside = Beside::new("drive", &format!("time_s,download_mbps,upload_mbps\n{rows}"));
    let resolved = beside.read(
        300,
        "delay = \"25 ms\"\nqueue = \"1 MB\"\nforward.rate = { file = \"trace\", column = \"download_mbps\" }\n\
         reverse.rate = { file = \"trace\", column = \"upload_mbps\" }",
    );
    let mean = rates[..300].iter().sum::<f64>() / 300.0 * 1e6;
    let carried = forward(&run(&resolved), "carried_bps");
    assert!(carried < mean && carried > 0.3 * mean, "{carried} of {mean}");
}
