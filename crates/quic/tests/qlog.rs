//! qlog: a file for each end, as JSON text sequences.

use bentpipe_quic::logged_engines;
use bentpipe_sim::{scenario, Network};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

pub(crate) type Files = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

pub(crate) struct File(pub(crate) String, pub(crate) Files);

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.1.lock().unwrap().entry(self.0.clone()).or_default().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Numbers and bytes of the packets of 1-RTT in the events of this name.
fn numbers(records: &[serde_json::Value], name: &str) -> Vec<(u64, u64)> {
    let found = records.iter().filter(|record| record["name"] == name).map(|record| &record["data"]);
    let found = found.filter(|data| data["header"]["packet_type"] == "1RTT");
    found
        .map(|data| (data["header"]["packet_number"].as_u64().unwrap(), data["raw"]["length"].as_u64().unwrap()))
        .collect()
}

#[test]
fn each_end_has_a_file_of_its_events() {
    let text = "duration = '60 s'\n[link.l]\nfrom = 'a'\nto = 'b'\nrate = '5 Mbit/s'\ndelay = '100 ms'\n\
        error = { kind = 'packet', rate = 0.01, effect = 'lose' }\n\
        [flow.f]\nfrom = 'a'\nto = 'b'\napp = { kind = 'file', size = '1 MB' }\nquic = {}";
    let read = scenario::from_toml(text, "test", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let files = Files::default();
    let sink = files.clone();
    let engines =
        logged_engines(move |flow, ordinal, side| Box::new(File(format!("{flow}-{ordinal}-{side}"), sink.clone())));
    let run = |scenario| {
        let mut network = Network::build(&Arc::new(scenario), 1);
        assert!(network.run(u64::MAX));
        network.finish().unwrap()
    };
    let result = run(read.scenario.with_engines(&engines));
    // The result is that without files.
    assert!(result == run(read.scenario.with_engines(&bentpipe_quic::engines())));
    let files = files.lock().unwrap();
    assert_eq!(files.keys().collect::<Vec<_>>(), ["flow/f-0-client", "flow/f-0-server"]);
    check(files.values(), result.quic.whole("declared_lost")[0] as u64);
}

/// Checks the files of a client that sends a file, and of its server. Times rise. The packets that one end has sent and the
/// network has not lost are those that the other end has received. The packets declared lost are those that are missing.
pub(crate) fn check<'a>(files: impl Iterator<Item = &'a Vec<u8>>, declared_lost: u64) {
    let ends: Vec<Vec<serde_json::Value>> = files
        .map(|bytes| {
            let mut records = bytes.split(|byte| *byte == 0x1e);
            assert_eq!(records.next(), Some(&b""[..]));
            records
                .map(|record| {
                    assert_eq!(record.last(), Some(&b'\n'));
                    serde_json::from_slice(record).unwrap()
                })
                .collect()
        })
        .collect();
    for (records, side) in ends.iter().zip(["client", "server"]) {
        assert_eq!((&records[0]["qlog_version"], &records[0]["qlog_format"]), (&"0.3".into(), &"JSON-SEQ".into()));
        assert_eq!(records[0]["trace"]["vantage_point"]["type"], side);
        let times: Vec<f64> = records[1..].iter().map(|record| record["time"].as_f64().unwrap()).collect();
        assert!(times.is_sorted() && times.len() > 100);
        let states = records.iter().filter(|record| record["name"] == "connectivity:connection_state_updated");
        assert_eq!(states.count(), 1);
        assert!(
            records.iter().any(|record| record["data"]["congestion_window"].as_u64() > Some(14_520))
                || side == "server"
        );
    }
    let sent = numbers(&ends[0], "transport:packet_sent");
    let received = numbers(&ends[1], "transport:packet_received");
    assert!(sent.is_sorted_by(|a, b| a < b));
    assert!(received.iter().all(|packet| sent.contains(packet)));
    // Packets that only acknowledge or close are never declared lost.
    let missing: Vec<_> = sent.iter().filter(|packet| packet.1 >= 100 && !received.contains(packet)).collect();
    assert_eq!(missing.len() as u64, declared_lost);
    let lost = ends[0].iter().filter(|record| record["name"] == "recovery:packet_lost");
    let mut lost: Vec<u64> = lost.map(|record| record["data"]["header"]["packet_number"].as_u64().unwrap()).collect();
    lost.sort();
    assert_eq!(lost, missing.iter().map(|packet| packet.0).collect::<Vec<_>>());
    ends.iter().flat_map(|records| &records[1..]).for_each(check_fields);
}

/// Fields of each event, and those that it must have, as draft-ietf-quic-qlog-quic-events-06 §4 to §7 defines them.
const FIELDS: [(&str, &[&str], &[&str]); 6] = [
    ("transport:packet_sent", &["header", "is_coalesced", "frames", "raw", "trigger"], &["header"]),
    ("transport:packet_received", &["header", "is_coalesced", "frames", "raw", "trigger"], &["header"]),
    ("recovery:packet_lost", &["header", "frames", "is_mtu_probe_packet", "trigger"], &[]),
    (
        "recovery:metrics_updated",
        &["min_rtt", "smoothed_rtt", "latest_rtt", "pto_count", "congestion_window", "bytes_in_flight", "ssthresh"],
        &[],
    ),
    ("connectivity:connection_state_updated", &["old", "new"], &["new"]),
    ("connectivity:connection_closed", &["owner", "connection_code", "application_code", "reason", "trigger"], &[]),
];

fn check_fields(record: &serde_json::Value) {
    let found = FIELDS.iter().find(|(name, ..)| record["name"] == **name);
    let (_, known, needed) = found.unwrap_or_else(|| panic!("{record}"));
    let data = record["data"].as_object().unwrap();
    assert!(data.keys().all(|key| known.contains(&key.as_str())), "{record}");
    assert!(needed.iter().all(|key| data.contains_key(*key)), "{record}");
    if let Some(header) = data.get("header") {
        let kind = header["packet_type"].as_str().unwrap();
        assert!(["initial", "handshake", "0RTT", "1RTT", "retry"].contains(&kind), "{record}");
        assert!((kind == "retry") == header["packet_number"].is_null(), "{record}");
    }
}
