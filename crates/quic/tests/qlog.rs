//! qlog: a file for each end, as JSON text sequences.

use bentpipe_quic::logged_engines;
use bentpipe_sim::{scenario, Network};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

type Files = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

struct File(String, Files);

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.1.lock().unwrap().entry(self.0.clone()).or_default().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Numbers of the packets of 1-RTT in the events of this name.
fn numbers(records: &[serde_json::Value], name: &str) -> Vec<u64> {
    let found = records.iter().filter(|record| record["name"] == name);
    let headers = found.map(|record| &record["data"]["header"]).filter(|header| header["packet_type"] == "1RTT");
    headers.map(|header| header["packet_number"].as_u64().unwrap()).collect()
}

/// Times rise. The packets that one end has sent and the network has not lost are those that the other end has received. Packets
/// declared lost are among those that are missing.
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
    let ends: Vec<Vec<serde_json::Value>> = files
        .values()
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
    let [sent, lost] = ["transport:packet_sent", "recovery:packet_lost"].map(|name| numbers(&ends[0], name));
    let received = numbers(&ends[1], "transport:packet_received");
    assert!(sent.is_sorted_by(|a, b| a < b));
    let missing: Vec<u64> = sent.iter().copied().filter(|number| !received.contains(number)).collect();
    assert!(missing.len() >= 3 && received.iter().all(|number| sent.contains(number)), "{missing:?}");
    // All losses of data are declared: the file is complete. Two of the last packets only acknowledge or close.
    let declared = result.quic.whole("declared_lost")[0];
    assert!((declared - 1..=declared).contains(&(lost.len() as i64)), "{lost:?}, {declared}");
    // The handshake has datagrams with several packets, where sizes do not decide.
    let wrong: Vec<_> = lost.iter().filter(|number| !missing.contains(number)).collect();
    assert!(wrong.len() <= 1, "{lost:?} {missing:?}");
}
