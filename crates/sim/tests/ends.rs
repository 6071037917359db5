//! What the ends agree on, seen from the network: opening, pacing, buffers, marks and SNACK in whole runs.

use bentpipe_sim::record::RunResult;
use bentpipe_sim::{scenario, Network};

/// A geostationary link of 10 Mbit/s with a round trip of 500 ms.
fn run(tcp: &str, app: &str) -> RunResult {
    let text = format!(
        "duration = \"30 s\"\n[tcp]\nlike = \"rfc\"\n{tcp}\n[link.l]\nfrom = \"a\"\nto = \"b\"\nrate = \"10 Mbit/s\"\ndelay = \"250 ms\"\n\
         [flow.f]\nfrom = \"a\"\nto = \"b\"\napp = {app}\n"
    );
    let scenario = scenario::from_toml(&text, "ends", &[]).unwrap_or_else(|problems| panic!("{problems}")).scenario;
    let mut network = Network::build(&scenario, 1);
    while !network.run(10_000) {}
    network.finish().unwrap()
}

const SMALL: &str = r#"{ kind = "file", size = "1 kB" }"#;
const LARGE: &str = r#"{ kind = "file", size = "2 MB" }"#;
const GREEDY: &str = r#"{ kind = "greedy" }"#;

fn completion_s(result: &RunResult) -> f64 {
    result.flows.real("completion_s")[0]
}

#[test]
fn rfc7413_a_known_cookie_saves_a_round_trip() {
    let plain = completion_s(&run("", SMALL));
    let first = completion_s(&run("fast_open = \"on\"", SMALL));
    let known = completion_s(&run("fast_open = { kind = \"on\", cookie = \"cached\" }", SMALL));
    assert!((plain - first).abs() < 1e-4, "{plain} {first}: asking for a cookie costs a few bytes");
    assert!((plain - known - 0.5).abs() < 1e-3, "{plain} {known}");
}

/// RFC 1644 §2.2: with known counts a small file is there after half a round trip, and acknowledged after a whole one.
#[test]
fn rfc1644_known_counts_save_a_round_trip() {
    let plain = completion_s(&run("", SMALL));
    let first = completion_s(&run("transactions = \"on\"", SMALL));
    let known = completion_s(&run("transactions = { kind = \"on\", counts = \"cached\" }", SMALL));
    assert!((plain - first).abs() < 1e-3, "{plain} {first}: counts cost a few bytes");
    assert!((plain - known - 0.5).abs() < 1e-3, "{plain} {known}");
}

/// RFC 1644 §3.1: what one connection leaves, the next one uses, in the same run.
#[test]
fn rfc1644_each_transfer_but_the_first_saves_a_round_trip() {
    let app = r#"{ kind = "bulk", size = "1 kB", pause = "1 s", reconnect = true, count = 4 }"#;
    let [plain, counted] = ["", "transactions = \"on\""].map(|tcp| {
        let result = run(tcp, app);
        result.transfers.real("duration_s").to_vec()
    });
    // In round trips.
    let saved: Vec<f64> =
        plain.iter().zip(&counted).map(|(plain, counted)| ((plain - counted) / 0.5).round()).collect();
    assert_eq!(saved, [0.0, 1.0, 1.0, 1.0], "{plain:?} {counted:?}");
}

#[test]
fn paced_senders_fill_no_queue() {
    let pacing = "pacing = { kind = \"rate\", rate = \"9 Mbit/s\", burst = \"1 segments\" }";
    // Without a SYN, whose window has no scale and bounds the first one.
    let large = "handshake = false\ninitial_window = \"1 MB\"";
    let (paced, bursty) = (run(&format!("{large}\n{pacing}"), GREEDY), run(large, GREEDY));
    assert_eq!(paced.links.whole("queue_max_bytes")[0], 0);
    assert!(bursty.links.whole("queue_max_bytes")[0] > 500_000);
    // 9 Mbit/s of which 1460 of 1500 bytes are data, less the way there.
    let goodput = paced.flows.real("goodput_bps")[0];
    let expected = 9e6 * 1460.0 / 1500.0 * (30.0 - 0.25) / 30.0;
    assert!((goodput / expected - 1.0).abs() < 0.01, "{goodput} {expected}");
}

/// A window far below the bandwidth-delay product, spread over a round trip, needs no queue but for two segments.
#[test]
fn a_paced_window_needs_no_queue() {
    let queue_max = |tcp: &str| {
        let window = "initial_window = \"40 segments\"\nreceive_buffer = \"40 segments\"\n";
        run(&format!("{window}{tcp}"), LARGE).links.whole("queue_max_bytes")[0]
    };
    let (paced, bursty) = (queue_max("pacing = \"window\""), queue_max(""));
    assert!(paced <= 3000 && bursty > 50_000, "{paced} {bursty}");
}

#[test]
fn an_automatic_buffer_grows_with_the_path() {
    let time = |buffer: &str| completion_s(&run(&format!("receive_buffer = \"{buffer}\""), LARGE));
    let (auto, fixed, unlimited) = (time("auto"), time("65535 B"), time("unlimited"));
    assert!(auto < fixed / 2.0 && auto < unlimited + 1.5, "{auto} {fixed} {unlimited}");
}

/// Without a queue that marks, agreement on marks changes no instant.
#[test]
fn marks_that_nobody_sets_change_nothing() {
    let plain = run("", GREEDY);
    for feedback in ["classic", "per-segment", "accurate"] {
        let marked = run(&format!("ecn = \"{feedback}\""), GREEDY);
        assert_eq!(marked.flows, plain.flows, "{feedback}");
    }
}

/// The same link with packet errors on the way there, greedy, from a given window and threshold.
fn corrupting(tcp: &str) -> RunResult {
    let text = format!(
        "duration = \"60 s\"\n[tcp]\nlike = \"rfc\"\nsmss = \"1000 B\"\ninitial_ssthresh = \"200 segments\"\nack = {{ every = 1 }}\n{tcp}\n\
         [link.l]\nfrom = \"a\"\nto = \"b\"\nrate = \"10 Mbit/s\"\ndelay = \"250 ms\"\n\
         [link.l.forward]\nerror = {{ kind = \"packet\", rate = 0.05 }}\n[flow.f]\nfrom = \"a\"\nto = \"b\"\n"
    );
    let scenario = scenario::from_toml(&text, "ends", &[]).unwrap_or_else(|problems| panic!("{problems}")).scenario;
    let mut network = Network::build(&scenario, 1);
    while !network.run(10_000) {}
    network.finish().unwrap()
}

fn goodput_bps(tcp: &str) -> f64 {
    corrupting(tcp).flows.real("goodput_bps")[0]
}

/// One packet in twenty is lost, and no window is cut: what counts is how many holes a round trip repairs.
#[test]
fn snack_repairs_more_holes_in_a_round_trip_than_sack_and_newreno() {
    let with =
        |recovery: &str| goodput_bps(&format!("cc = \"reno\"\nverdict = \"always-link-error\"\nrecovery = {recovery}"));
    let (short, long) = (with("\"snack\""), with("{ kind = \"snack\", form = \"long\" }"));
    let (sack, newreno) = (with("\"sack\""), with("\"newreno\""));
    assert!(short > 1.5 * sack && long > 1.5 * sack && sack > newreno, "{short} {long} {sack} {newreno}");
}

/// The host tells of packets that the link damaged, the sender keeps its window; untold, each loss is congestion.
#[test]
fn a_receiver_that_tells_of_corruption_keeps_the_window_open() {
    let told = goodput_bps("cc = \"scps\"");
    let untold = goodput_bps("cc = \"scps\"\nrecovery = { kind = \"snack\", corruption_experienced = false }");
    assert!(told > 4.0 * untold, "{told} {untold}");
    // Nobody else listens.
    let deaf = goodput_bps("cc = \"scps\"\nverdict = \"always-congestion\"");
    assert!((deaf / untold - 1.0).abs() < 0.01, "{deaf} {untold}");
}

/// The same link with one damaged packet in a thousand, about as many as round trips, and slow start without a threshold: a report
/// in each round trip, and a queue that overflows. The overflow ends slow start, and is no damage.
#[test]
fn queue_drops_end_slow_start_while_damage_is_reported() {
    let run = |rate: &str, recovery: &str| {
        let text = format!(
            "duration = \"40 s\"\n[tcp]\nlike = \"rfc\"\ncc = \"scps\"\nsmss = \"1000 B\"\nrecovery = {{ kind = \"snack\"{recovery} }}\n\
             [link.l]\nfrom = \"a\"\nto = \"b\"\nrate = \"10 Mbit/s\"\ndelay = \"250 ms\"\n\
             [link.l.forward]\nerror = {{ kind = \"packet\", rate = {rate} }}\n[flow.f]\nfrom = \"a\"\nto = \"b\"\n"
        );
        let scenario = scenario::from_toml(&text, "ends", &[]).unwrap_or_else(|problems| panic!("{problems}")).scenario;
        let mut network = Network::build(&scenario, 1);
        while !network.run(10_000) {}
        network.finish().unwrap()
    };
    let [clean, damaged, lasting] = [("0", ""), ("0.001", ""), ("0.001", ", corruption_covers = \"round-trips\"")]
        .map(|(rate, recovery)| run(rate, recovery));
    let goodput = |result: &RunResult| result.flows.real("goodput_bps")[0];
    let whole = |result: &RunResult, name: &str| result.flows.whole(name)[0];
    assert!(goodput(&damaged) > 0.8 * goodput(&clean), "{} {}", goodput(&damaged), goodput(&clean));
    assert!(whole(&damaged, "reductions") >= 1 && whole(&damaged, "error_reductions") == 0);
    // Losses of the overflow that the first report of the same window could not cover.
    let share = |result: &RunResult| {
        whole(result, "congestion_taken_for_errors") as f64 / whole(result, "congestion_losses") as f64
    };
    assert!(share(&damaged) < 0.05 && share(&lasting) > 0.5, "{} {}", share(&damaged), share(&lasting));
    assert!(whole(&lasting, "retransmissions") > 10 * whole(&damaged, "retransmissions"));
}

/// Without congestion control the rate is the limit, whatever is lost.
#[test]
fn rate_control_alone_fills_its_rate() {
    // A second, the default, is as long as two round trips: what is lost twice would time out.
    let tcp = "cc = { kind = \"scps\", congestion = \"none\", rate = \"8 Mbit/s\" }\nrto = { min = \"2 s\" }";
    let goodput = goodput_bps(tcp);
    let expected = 8e6 * 0.95 * 1000.0 / 1040.0;
    assert!((goodput / expected - 1.0).abs() < 0.05, "{goodput} {expected}");
}

/// 10 Mbit/s need 417 ACKs of 40 B in a second at one for two segments; 32 kbit/s carry 100.
fn narrow_return(tcp: &str, queue: &str) -> RunResult {
    // STP counts bytes by itself.
    let counting = if tcp == POLLED { "" } else { "byte_counting = \"ubc\"" };
    let text = format!(
        "duration = \"120 s\"\n[tcp]\nlike = \"rfc\"\nreceive_buffer = \"150 kB\"\n{counting}\n{tcp}\n[link.l]\nfrom = \"a\"\n\
         to = \"b\"\nrate = \"10 Mbit/s\"\ndelay = \"50 ms\"\n[link.l.reverse]\nrate = \"32 kbit/s\"\n{queue}\n\
         [flow.f]\nfrom = \"a\"\nto = \"b\"\napp = \"greedy\"\n"
    );
    let scenario = scenario::from_toml(&text, "ends", &[]).unwrap_or_else(|problems| panic!("{problems}")).scenario;
    let mut network = Network::build(&scenario, 1);
    while !network.run(10_000) {}
    network.finish().unwrap()
}

const POLLED: &str = "cc = \"stp\"";
const ACKS_TOO: &str = "ack = { congestion_control = true }";

#[test]
fn polled_receivers_leave_a_narrow_way_back_free() {
    let (plain, polled) =
        (narrow_return("", "queue = \"20 packets\""), narrow_return(POLLED, "queue = \"20 packets\""));
    assert_eq!(polled.links.whole("dropped_packets")[1], 0);
    // Three in a round trip of 110 to 220 ms, and as many for full windows at most, where every second segment makes 50,000.
    let acks = polled.links.whole("carried_packets")[1];
    assert!((3 * 120_000 / 220..2 * 3 * 120_000 / 110).contains(&acks), "{acks}");
    let goodput = |result: &RunResult| result.flows.real("goodput_bps")[0];
    assert!(goodput(&polled) > 1.5 * goodput(&plain), "{} {}", goodput(&polled), goodput(&plain));
}

#[test]
fn rfc5690_acks_that_get_lost_are_sent_less_often() {
    let queue = "queue = \"20 packets\"";
    let lost = |result: &RunResult| result.links.whole("dropped_packets")[1];
    let (plain, controlled) = (narrow_return("", queue), narrow_return(ACKS_TOO, queue));
    assert!(10 * lost(&controlled) < lost(&plain), "{} {}", lost(&controlled), lost(&plain));
    let goodput = |result: &RunResult| result.flows.real("goodput_bps")[0];
    // 150 kB in a round trip: 100 ms, and 200 ms in a queue of ACKs that is full.
    let expected = 150e3 * 8.0 / 0.3;
    assert!((goodput(&plain) / expected - 1.0).abs() < 0.1, "{}", goodput(&plain));
    assert!(goodput(&controlled) > 1.3 * goodput(&plain), "{} {}", goodput(&controlled), goodput(&plain));
}

#[test]
fn rfc5690_marks_slow_acks_down_before_a_queue_drops_them() {
    let queue = "queue = { kind = \"codel\", limit = \"200 packets\", ecn = true }";
    let marked = |result: &RunResult| result.links.whole("marked_packets")[1];
    let (plain, controlled) =
        (narrow_return("ecn = \"classic\"", queue), narrow_return(&format!("ecn = \"classic\"\n{ACKS_TOO}"), queue));
    assert_eq!(marked(&plain), 0, "pure ACKs may not be marked without");
    assert!(marked(&controlled) > 0);
    assert!(controlled.links.whole("dropped_packets")[1] < plain.links.whole("dropped_packets")[1] / 10);
}
