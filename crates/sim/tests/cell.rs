//! Links in a cell of satellites in low orbit against closed forms.

use bentpipe_sim::dictionary::Table;
use bentpipe_sim::record::RunResult;
use bentpipe_sim::scenario::from_toml;
use bentpipe_sim::Network;
use std::fmt::Write;

/// 36 Mbit/s, 3 ms each way: 12 slots of 500 B in a frame of 4/3 ms.
const CELL: &str = r#"
[medium.down]
kind = "leo-cell"
rate = "36 Mbit/s"
controller = "satellite"
[medium.up]
kind = "leo-cell"
rate = "36 Mbit/s"
controller = "satellite"
[link.user]
from = "satellite"
to = "home{n}"
count = 1
delay = "3 ms"
queue = "1000 packets"
forward.medium = "down"
reverse.medium = "up"
"#;

/// Length of a frame, in s.
const T: f64 = 4.0 / 3000.0;
/// Time from a request to its grant, 1 + ceil(3 / T) + ceil(3.5 / T) frames, in s.
const R: f64 = 7.0 * T;
/// Length of a slot, in s.
const SLOT: f64 = T / 12.0;
/// Propagation to the satellite, in s.
const PROPAGATION: f64 = 0.003;

/// Overrides: key and value.
type Sets<'a> = &'a [(&'a str, &'a str)];

fn run(text: &str, sets: Sets<'_>) -> RunResult {
    let sets: Vec<_> = sets.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let read = from_toml(text, "cell", &sets).unwrap_or_else(|problems| panic!("{problems}"));
    let mut network = Network::build(&read.scenario, read.scenario.seed);
    assert!(network.run(u64::MAX));
    network.finish().unwrap()
}

/// The ends of a flow, up or down.
fn ends(is_up: bool) -> [&'static str; 2] {
    if is_up {
        ["home1", "satellite"]
    } else {
        ["satellite", "home1"]
    }
}

/// CELL with this flow, up or down.
fn cell(seconds: u32, is_up: bool, app: &str) -> String {
    let [from, to] = ends(is_up);
    format!("duration = '{seconds} s'\n{CELL}[flow.f]\nfrom = '{from}'\nto = '{to}'\napp = {app}\n")
}

/// Asserts that the granted bytes of each medium are accounted for, and that bytes are conserved.
fn assert_conserved(media: &Table) {
    for row in 0..media.len() {
        let of = |name: &str| media.whole(name)[row];
        assert_eq!(of("granted_bytes"), of("used_bytes") + of("unused_bytes"), "{media:?}");
        let in_bursts = of("carried_bytes") + of("header_bytes") + of("padding_bytes");
        assert_eq!(of("used_bytes"), in_bursts, "{media:?}");
        assert!(of("padding_bytes") >= 0 && of("unused_bytes") >= 0);
    }
}

/// The wait of single packets of 40 B at all phases of a frame: to the end of their slot. Least, mean and most.
fn waits(is_up: bool) -> [f64; 3] {
    let count = 1000;
    let mut times = String::new();
    for n in 0..count {
        let at = 0.05 * f64::from(n) + T * (f64::from(n) * 0.618_033_988_7).fract();
        write!(times, "'{at:.9} s', ").unwrap();
    }
    let probe = format!("{{ kind = 'probe', size = '12 B', times = [{times}] }}");
    let result = run(&cell(51, is_up, &probe), &[]);
    let waits: Vec<f64> = result.probes.real("forward_s").iter().map(|delay| delay - PROPAGATION).collect();
    assert_eq!(waits.len(), count as usize);
    assert_conserved(&result.media);
    let [least, most] = [f64::min, f64::max].map(|of| waits.iter().copied().reduce(of).unwrap());
    [least, waits.iter().sum::<f64>() / f64::from(count), most]
}

/// U(0, T) + R + the place in the frame, which is the first slot.
#[test]
fn a_packet_upwards_waits_for_its_grant() {
    let [least, mean, most] = waits(true);
    assert!((mean - (T / 2.0 + R + SLOT)).abs() < 0.05 * T, "{mean}");
    assert!((least - R - SLOT).abs() < 0.02 * T, "{least}");
    assert!(most <= T + R + SLOT && most > 0.98 * T + R + SLOT, "{most}");
}

/// U(0, T) + the place in the frame: the controller sees the queue.
#[test]
fn a_packet_downwards_waits_for_the_next_frame() {
    let [least, mean, most] = waits(false);
    assert!((mean - (T / 2.0 + SLOT)).abs() < 0.05 * T, "{mean}");
    assert!((least - SLOT).abs() < 0.02 * T, "{least}");
    assert!(most <= T + SLOT && most > 0.98 * T + SLOT, "{most}");
}

/// Packets upwards ask, and packets downwards do not.
#[test]
fn requests_are_for_uploads() {
    for is_up in [true, false] {
        let result = run(&cell(2, is_up, "{ kind = 'cbr', rate = '1 Mbit/s', size = '472 B' }"), &[]);
        let requests = result.media.whole("requests_in_control");
        let [down, up] = [requests[0], requests[1]];
        assert_eq!(down, 0);
        assert_eq!(up > 0, is_up);
        assert_eq!(result.datagrams.whole("lost_packets")[0], 0);
    }
}

/// The rate that a greedy sender of datagrams gets, of 36 Mbit/s, in a run of these seconds.
fn share(seconds: u32, is_up: bool, sets: Sets<'_>) -> f64 {
    let text = cell(seconds, is_up, "{ kind = 'cbr', rate = '40 Mbit/s', size = '1472 B' }");
    let result = run(&text, sets);
    assert_conserved(&result.media);
    let row = usize::from(is_up);
    result.media.whole("carried_bytes")[row] as f64 * 8.0 / f64::from(seconds) / 36e6
}

/// A packet of 1500 B takes 3 to 4 slots of 500 B, with 2 B to 8 B of headers: the whole rate less 0.6 %.
#[test]
fn a_user_alone_has_the_whole_cell() {
    for is_up in [true, false] {
        let alone = share(20, is_up, &[]);
        assert!((0.99..1.0).contains(&alone), "{alone}");
        let key = if is_up { "medium.up.others" } else { "medium.down.others" };
        assert_eq!(share(20, is_up, &[(key, "{ active = 0, holding = '2 s' }")]), alone);
    }
}

/// (1 - exp(-a)) / a for a others on average: 0.245 for 4. Runs of 300 s vary by 0.013 (standard deviation), so the mean of
/// six varies by 0.0053.
#[test]
fn a_greedy_user_gets_what_the_others_leave() {
    let a = 4.0_f64;
    let expected = (1.0 - (-a).exp()) / a;
    let mut sum = 0.0;
    for (seed, is_up) in [("1", true), ("2", true), ("3", true), ("4", false), ("5", false), ("6", false)] {
        let key = if is_up { "medium.up.others" } else { "medium.down.others" };
        sum += share(300, is_up, &[(key, "{ active = 4, holding = '2 s' }"), ("seed", seed)]);
    }
    let mean = sum / 6.0 / 0.994;
    assert!((mean - expected).abs() < 4.0 * 0.0053, "{mean} {expected}");
}

/// Three others for one second of four leave 1/4 of this second.
#[test]
fn others_by_points_leave_their_share() {
    let points = "{ points = [['0 s', 3], ['1 s', 0]], every = '4 s' }";
    let found = share(20, false, &[("medium.down.others", points)]);
    assert!((found / 0.994 - (3.0 + 0.25) / 4.0).abs() < 0.005, "{found}");
}

/// Two users that always have data, one of them with turns of 3 slots.
#[test]
fn weights_are_turns() {
    let mut text = "duration = '20 s'\n".to_owned();
    text.push_str(&CELL[..CELL.find("[link.user]").unwrap()]);
    for (n, weight) in [(1, 3), (2, 1)] {
        write!(
            text,
            "[link.user{n}]\nfrom = 'satellite'\nto = 'home{n}'\ndelay = '3 ms'\nqueue = '1000 packets'\n\
             forward.medium = 'down'\nreverse = {{ medium = 'up', access = {{ weight = {weight} }} }}\n\
             [flow.f{n}]\nfrom = 'home{n}'\nto = 'satellite'\n\
             app = {{ kind = 'cbr', rate = '40 Mbit/s', size = '1472 B' }}\n"
        )
        .unwrap();
    }
    let result = run(&text, &[]);
    assert_conserved(&result.media);
    let of = |link: &str| {
        let row = result.links.text("link").iter().position(|name| name == link).unwrap();
        result.links.whole("carried_bytes")[row] as f64
    };
    let ratio = of("user1.reverse") / of("user2.reverse");
    assert!((ratio / 3.0 - 1.0).abs() < 0.01, "{ratio}");
}
