//! Careful resume beside a separate packet model of its specification: phases, losses, and times of files over GEO.

use bentpipe_sim::record::RunResult;
use bentpipe_sim::scenario::from_toml;
use bentpipe_sim::Network;

/// 20 Mbit/s, 600 ms, an ACK for each segment: a bandwidth-delay product is 1000 segments.
fn run(resume: &str, queue: &str, app: &str) -> RunResult {
    let text = format!(
        "duration = '12 s'\n[tcp]\nlike = 'rfc'\ncc = 'reno'\nrecovery = 'sack'\nsmss = '1460 B'\nprocessing = '0 s'\n\
         initial_window = '10 segments'\nhandshake = false\nack.every = 1\n{resume}\n\
         [link.l]\nfrom = 'a'\nto = 'b'\ndelay = '300 ms'\nrate = '20 Mbit/s'\nforward.queue = '{queue}'\n\
         reverse = {{ rate = '10 Gbit/s', queue = 'unlimited' }}\n\
         [flow.f]\nfrom = 'a'\nto = 'b'\n{app}\n[record]\nseries = ['events']\n"
    );
    let scenario = from_toml(&text, "resume", &[]).unwrap_or_else(|problems| panic!("{problems}")).scenario;
    let mut network = Network::build(&scenario, 1);
    assert!(network.run(u64::MAX));
    network.finish().unwrap()
}

fn given(segments: u32) -> String {
    format!("careful_resume = {{ kind = 'on', saved = '{segments} segments', saved_rtt = '600 ms' }}")
}

/// Time of the first event of a name, and its value in segments.
fn first(result: &RunResult, event: &str) -> Option<(f64, f64)> {
    let place = result.events.text("event").iter().position(|name| name == event)?;
    Some((result.events.real("time_s")[place], result.events.whole("value")[place] as f64 / 1460.0))
}

/// `docs/specs/careful-resume.md`, test 6.
#[test]
fn a_connection_over_geo_resumes_half_of_what_was_saved() {
    let result = run(&given(1000), "1 bdp", "");
    for (event, at, cwnd) in
        [("resume_unvalidated", 0.606, 500.0), ("resume_validating", 1.183, 500.0), ("resume_normal", 1.784, 1000.0)]
    {
        let (found, window) = first(&result, event).unwrap();
        assert!((found - at).abs() < 0.02 && (window / cwnd - 1.0).abs() < 0.02, "{event}: {found} {window}");
    }
    let loss = |result: &RunResult| first(result, "fast_retransmit").unwrap().0;
    assert!((loss(&result) - 3.602).abs() < 0.05, "{}", loss(&result));
    let without = run("", "1 bdp", "");
    assert!((loss(&without) - 6.437).abs() < 0.05, "{}", loss(&without));
    // The jump moves the overshoot, and does not cure it.
    let dropped = |result: &RunResult| result.links.whole("dropped_packets").iter().sum::<i64>() as f64;
    assert!((dropped(&result) / dropped(&without) - 1.0).abs() < 0.05, "{} {}", dropped(&result), dropped(&without));
}

/// Test 6: when the last byte has arrived, from the first segment.
#[test]
fn files_over_geo_arrive_when_the_model_says() {
    for (segments, with, without) in [(100, 0.992, 2.120), (685, 1.606, 3.937), (1370, 2.017, 4.564)] {
        let app = format!("app = {{ kind = 'file', size = '{} B' }}", segments * 1460);
        let time = |resume: &str| run(resume, "1 bdp", &app).flows.real("completion_rx_s")[0];
        let found = [time(&given(1000)), time("")];
        assert!((found[0] - with).abs() < 0.02 && (found[1] - without).abs() < 0.02, "{segments}: {found:?}");
    }
}

/// Test 7: the saved window is four times too large. The jump fills the queue at twice the rate of the link, after 0.3 s and
/// 1000 segments. With the 18 in flight before, half of 1018 is the window when the loss is seen.
#[test]
fn a_window_that_is_too_large_retreats_within_a_round_trip() {
    let result = run(&given(4000), "500 packets", "");
    let (at, window) = first(&result, "resume_retreat").unwrap();
    assert!((at - 1.801).abs() < 0.05 && (window / 509.0 - 1.0).abs() < 0.05, "{at} {window}");
    assert!(first(&result, "resume_normal").unwrap().0 > at);
    // A path with another round trip: nothing happens.
    let other = run("careful_resume = { kind = 'on', saved = '1000 segments', saved_rtt = '50 ms' }", "1 bdp", "");
    assert!(first(&other, "resume_unvalidated").is_none() && first(&other, "resume_normal").is_some());
}
