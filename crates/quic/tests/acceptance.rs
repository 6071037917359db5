//! The numbers of `docs/validation/quic.md`. `BLESS=1` writes them.

use crate::network::{run_over, value};
use crate::path::{transfer, Path, Way};
use bentpipe_cc::keys::{ByteCounting, CarefulResume, SavedWindow};
use bentpipe_cc::{CcConfig, CcKind};
use bentpipe_sim::spec::{
    Quic, QuicAckFrequency, QuicCc, QuicChange, QuicHandshake, QuicInitialWindow, QuicMigration, QuicResume, QuicWindow,
};
use bentpipe_units::{Duration, Time};
use std::fmt::Write;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/validation/quic.md");
const MARKS: [&str; 2] = ["<!-- numbers -->\n", "<!-- end of numbers -->"];
const MB: u64 = 1_000_000;

fn wide(cc: QuicCc, bytes: u64) -> Quic {
    let window = QuicWindow::Bytes(bytes);
    Quic { cc, stream_window: window, connection_window: window, ..Quic::default() }
}

fn house(kind: CcKind) -> QuicCc {
    QuicCc::House(CcConfig::from(kind))
}

/// A download over GEO, its time in seconds.
fn load(quic: &Quic, [down, up]: [f64; 2], bytes: u64) -> f64 {
    transfer(quic, Path::geo(down, up), bytes, Way::Download, 600).time()
}

/// Rows of the page: the measure, the expected value, and the value.
fn rows() -> Vec<(&'static str, &'static str, String)> {
    let s = |seconds: f64| format!("{seconds:.2} s");
    let (slow, fast) = ([20.0, 2.0], [250.0, 3.0]);
    let handshake = |flight: u32| {
        let quic = Quic { handshake: QuicHandshake { flight, ..QuicHandshake::default() }, ..Quic::default() };
        transfer(&quic, Path::geo(20.0, 2.0), 1000, Way::Download, 60).handshake
    };
    let packets = |ms: u64| {
        let quic = Quic { initial_rtt: Duration::from_millis(ms), ..Quic::default() };
        transfer(&quic, Path::geo(20.0, 2.0), 1000, Way::Download, 60).packets
    };
    let cubic = |byte_counting| Quic { byte_counting, ..wide(house(CcKind::Cubic), 8 * MB) };
    let stack = |bytes| Quic { initial_window: QuicInitialWindow::Bytes(12_000), ..wide(QuicCc::StackCubic, bytes) };
    let upload =
        |quic: &Quic, [up, down]: [f64; 2]| transfer(quic, Path::geo(down, up), 100 * MB, Way::Upload, 600).time();
    let seeded = Quic { initial_window: QuicInitialWindow::Bdp(500_000), ..wide(house(CcKind::Cubic), 64 * MB) };
    let resumed = |millionths| {
        let resume = CarefulResume { saved: SavedWindow::Bdp(millionths), ..CarefulResume::default() };
        Quic { careful_resume: Some(resume), ..wide(house(CcKind::Cubic), 64 * MB) }
    };
    let early = |flight, window, resume, address_token| {
        let handshake = QuicHandshake { flight, resume, address_token, ..QuicHandshake::default() };
        let quic = Quic { handshake, initial_window: QuicInitialWindow::Bytes(window), ..stack(2 * MB) };
        s(transfer(&quic, Path::geo(20.0, 2.0), 100_000, Way::EarlyDownload, 60).time())
    };
    let visits = |window| {
        let all = [(QuicResume::No, false), (QuicResume::ZeroRtt, false), (QuicResume::ZeroRtt, true)];
        all.map(|(resume, token)| early(900, window, resume, token)).join(", ")
    };
    let acks = |every| {
        let quic = Quic { ack_frequency: Some(QuicAckFrequency { every, ..Default::default() }), ..stack(64 * MB) };
        transfer(&quic, Path::geo(250.0, 3.0), 100 * MB, Way::Download, 100).counters[0].acks
    };
    let moved = |quic: Quic| {
        let at = |change| QuicMigration::At { times: vec![Time::ZERO + Duration::from_secs(6)], change };
        let changes = [None, Some(QuicChange::Rebinding), Some(QuicChange::Address)];
        let all = changes.map(|change| change.map_or(QuicMigration::Off, at));
        all.map(|migration| s(load(&Quic { migration, ..quic.clone() }, slow, 20 * MB))).join(", ")
    };
    let over = |transport: &str| {
        let app = "app = { kind = 'request-response', request = '100 B', response = '10 MB', count = 1 }";
        let done = (1..=10).map(|seed| {
            value(&run_over("", &format!("{app}\n{transport}"), "[tcp]\nlike = 'rfc'", seed), "flows", "completion_s")
        });
        done.sum::<f64>() / 10.0
    };
    vec![
        (
            "3: handshake, flights of 900, 4000, 7000 B",
            "0.6, 0.6, 1.2 s",
            [900, 4000, 7000].map(|f| s(handshake(f))).join(", "),
        ),
        (
            "3: packets with `initial_rtt` 100, 333, 600 ms",
            "10 more, then none",
            [100, 333, 600].map(|ms| packets(ms).to_string()).join(", "),
        ),
        ("4: `cubic`, RFC 5681 counting", "11.41 s", s(load(&cubic(ByteCounting::Rfc5681), slow, 10 * MB))),
        ("4: `cubic`", "8.92 s", s(load(&cubic(ByteCounting::UbcPure), slow, 10 * MB))),
        ("4: `bbr3`", "9.94 s", s(load(&wide(house(CcKind::Bbr3), 8 * MB), slow, 10 * MB))),
        ("4: `hybla`, and with its window of 10 packets", "9.13 s", {
            let plain = "quic = { cc = { kind = 'hybla', initial_window = 'connection' }, stream_window = '8 MB' }";
            let first = load(&wide(house(CcKind::Hybla), 8 * MB), slow, 10 * MB);
            format!("{}, {}", s(first), s(over(plain)))
        }),
        ("4: `stack-cubic`", "9.10 s", s(load(&stack(8 * MB), slow, 10 * MB))),
        ("4: `bbr3` over QUIC and over TCP, means of 10 seeds", "within 5 %", {
            let [quic, tcp] =
                ["quic = { cc = 'bbr3', stream_window = '8 MB' }", "tcp = { cc = 'bbr3', receive_buffer = '8 MB' }"]
                    .map(over);
            format!("{}, {}", s(quic), s(tcp))
        }),
        ("4: `cubic` with RFC 5681 counting over QUIC and over TCP, means of 10 seeds", "within 1 %", {
            let [quic, tcp] = [
                "quic = { byte_counting = 'rfc5681', stream_window = '8 MB' }",
                "tcp = { cc = 'cubic', receive_buffer = '8 MB' }",
            ]
            .map(over);
            format!("{}, {}", s(quic), s(tcp))
        }),
        ("5: 100 MB at 250/3, stream window of 1.25 MB", "59.2 s", s(load(&stack(1_250_000), fast, 100 * MB))),
        ("6: upload of 100 MB at 250/3", "11.0 s", s(upload(&wide(house(CcKind::Cubic), 64 * MB), fast))),
        ("6: the same, half of the path as initial window", "4.9 s", s(upload(&seeded, fast))),
        ("6: upload of 100 MB at 10/2", "88 s", s(upload(&wide(house(CcKind::Cubic), 64 * MB), [10.0, 2.0]))),
        ("6: upload of 100 MB at 2/10", "421 s", s(upload(&wide(house(CcKind::Cubic), 64 * MB), [2.0, 10.0]))),
        ("7: 100 MB at 250/3, without and with careful resume", "10.39, 6.76 s", {
            format!(
                "{}, {}",
                s(load(&wide(house(CcKind::Cubic), 64 * MB), fast, 100 * MB)),
                s(load(&resumed(MB), fast, 100 * MB))
            )
        }),
        (
            "7: 10 MB at 20/2, saved window 12 times too large",
            "below 8.92 s",
            s(load(&resumed(12 * MB), slow, 10 * MB)),
        ),
        ("8: 100 kB fresh, with 0-RTT, with an address token too", "3.07, 2.79, 2.56 s", visits(12_000)),
        ("8: the same, initial window of 8 packets", "3.07, 2.79, 2.56 s", visits(8 * 1452)),
        ("8: the same, initial window of 10 packets", "3.07, 2.79, 2.56 s", visits(10 * 1452)),
        (
            "8: fresh, flights of 900, 2000, 3000 B",
            "3.07 s (900 B)",
            [900, 2000, 3000].map(|flight| early(flight, 12_000, QuicResume::No, false)).join(", "),
        ),
        (
            "9: ACKs of 100 MB at 250/3, one for 10 packets, and for 11",
            "below 7,000",
            [10, 11].map(|every| acks(every).to_string()).join(", "),
        ),
        ("10: 20 MB, a new port or a new address at 6 s", "13.57, 14.35, 17.01 s", moved(stack(8 * MB))),
        (
            "10: the same, initial window of 10 packets",
            "13.57, 14.35, 17.01 s",
            moved(wide(QuicCc::StackCubic, 8 * MB)),
        ),
        (
            "10: the same, and default windows",
            "13.57, 14.35, 17.01 s",
            moved(Quic { cc: QuicCc::StackCubic, ..Quic::default() }),
        ),
    ]
}

#[test]
fn the_page_has_the_numbers() {
    let mut table = "| case | expected | measured |\n|---|---|---|\n".to_owned();
    for (case, expected, measured) in rows() {
        writeln!(table, "| {case} | {expected} | {measured} |").unwrap();
    }
    let page = std::fs::read_to_string(PAGE).unwrap();
    let [(before, rest), (_, after)] = [page.split_once(MARKS[0]), page.split_once(MARKS[1])].map(Option::unwrap);
    assert!(rest.contains(MARKS[1]));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(PAGE, format!("{before}{}{table}\n{}{after}", MARKS[0], MARKS[1])).unwrap();
    } else {
        assert!(rest.starts_with(&format!("{table}\n")), "not what the page has; BLESS=1 writes it:\n{table}");
    }
}
