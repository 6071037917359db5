//! SEARCH beside a separate packet model: times of the end of slow start, and lost packets.

use bentpipe_sim::scenario::from_toml;
use bentpipe_sim::Network;

/// Returns the time from the first segment to the end of slow start, seconds, the packets that the queue dropped, and the
/// windows at its end and a second later, in bandwidth-delay products of 1000 segments.
fn end_of_slow_start(queue: &str, look_back: &str) -> (f64, i64, [f64; 2]) {
    let text = format!(
        "duration = '12 s'\n[tcp]\nlike = 'rfc'\ncc = 'reno'\nrecovery = 'sack'\nbyte_counting = 'abc'\nsmss = '1460 B'\n\
         initial_window = '10 segments'\nslow_start = {{ kind = 'search', look_back = '{look_back}' }}\nack.every = 2\n\
         [link.l]\nfrom = 'a'\nto = 'b'\ndelay = '300 ms'\nrate = '20 Mbit/s'\nforward.queue = '{queue}'\n\
         [flow.f]\nfrom = 'a'\nto = 'b'\n[record]\nseries = ['events', 'cwnd_bytes']\n"
    );
    let scenario = from_toml(&text, "search", &[]).unwrap_or_else(|problems| panic!("{problems}")).scenario;
    let mut network = Network::build(&scenario, 1);
    assert!(network.run(u64::MAX));
    let result = network.finish().unwrap();
    let (times, names) = (result.events.real("time_s"), result.events.text("event"));
    let at = times[names.iter().position(|name| name == "slow_start_exit").unwrap()];
    let (_, cwnd) = result.series.iter().find(|(name, _)| *name == "cwnd_bytes").unwrap();
    let window =
        |at: f64| cwnd.real("cwnd_bytes")[cwnd.real("time_s").partition_point(|&time| time <= at) - 1] / 1.46e6;
    (at - 0.6, result.links.whole("dropped_packets").iter().sum(), [window(at - 1e-9), window(at + 3.0)])
}

/// 20 Mbit/s, 600 ms, two segments an ACK. With the newest round trip, slow start ends before a loss only if the queue
/// holds more than four bandwidth-delay products. With the least one, two are enough.
#[test]
fn search_ends_slow_start_when_the_model_does() {
    for (queue, look_back, expected, dropped) in [
        ("1 bdp", "latest", 6.44, 2002.0),
        ("1 bdp", "least", 5.86, 1034.0),
        ("2 bdp", "latest", 7.34, 2490.0),
        ("2 bdp", "least", 5.86, 34.0),
        ("5 bdp", "latest", 7.34, 0.0),
        ("5 bdp", "least", 5.86, 0.0),
    ] {
        let (at, lost, windows) = end_of_slow_start(queue, look_back);
        assert!((at - expected).abs() < 0.02, "{queue} {look_back}: {at}");
        assert!((lost as f64 - dropped).abs() <= 2.0, "{queue} {look_back}: {lost}");
        if dropped == 0.0 {
            // 15 of 16 segments are not replaced, until what arrives in a round trip is in flight.
            assert!(windows[0] > 2.9 && (1.0..1.1).contains(&windows[1]), "{queue} {look_back}: {windows:?}");
        }
    }
}
