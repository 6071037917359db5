//! The replacement of TLS beside TLS: 10 MB over GEO, 20/2 Mbit/s.

use crate::path::{transfer, transfer_in, Done, Path, Way, World};
use crate::qlog::{check, File, Files};
use bentpipe_cc::{CcConfig, CcKind};
use bentpipe_quic::{check_on_the_wire, Clock, Output, QuicEnd};
use bentpipe_sim::spec::{Quic, QuicCc, QuicHandshake, QuicMigration, QuicResume};
use bentpipe_sim::stack::{Engine, EngineEvent, Seed};
use bentpipe_units::{Duration, Time};

const BYTES: u64 = 10_000_000;

/// With the server's messages after its ServerHello of this size.
fn settings(cc: QuicCc, flight: u32) -> Quic {
    Quic { cc, handshake: QuicHandshake { flight, ..QuicHandshake::default() }, ..Quic::default() }
}

fn with_tls(quic: &Quic, path: Path, seed: u64) -> Done {
    let quic = quic.clone().over(path.bdp(), path.rtt());
    let clock = Clock::new();
    let seed = Seed { run: seed, flow: "f", ordinal: 0 };
    let ends = [true, false].map(|is_client| QuicEnd::on_the_wire(&quic, seed, is_client, clock, None).unwrap());
    transfer_in(World::between(ends, path), BYTES, Way::Download, 60)
}

/// Packets within 0.2 %, times within 1 %. Handshakes within 0.2 ms: a certificate of 271 B more or less takes 0.1 ms at 20 Mbit/s.
#[test]
fn the_replacement_takes_the_time_of_tls() {
    let path = Path::geo(20.0, 2.0);
    let bbr3 = QuicCc::House(CcConfig::from(CcKind::Bbr3));
    for (cc, flight) in
        [(QuicCc::StackCubic, 600), (QuicCc::StackCubic, 7000), (Quic::default().cc, 3000), (bbr3, 3000)]
    {
        let quic = settings(cc, flight);
        let (null, tls) = (transfer(&quic, path, BYTES, Way::Download, 60), with_tls(&quic, path, path.seed));
        let is_near = |one: f64, other: f64, share: f64| (one / other - 1.0).abs() <= share;
        assert!((null.handshake - tls.handshake).abs() <= 2e-4, "{} {}", null.handshake, tls.handshake);
        assert!(is_near(null.time(), tls.time(), 0.01), "{} {}", null.time(), tls.time());
        assert!(is_near(null.packets as f64, tls.packets as f64, 0.002), "{} {}", null.packets, tls.packets);
    }
}

/// The file that simulated ends have, with TLS.
#[test]
fn each_end_has_a_file_of_its_events() {
    let quic = Quic::default();
    let path = Path { delay_ms: 50.0, loss: [0.01, 0.01], ..Path::geo(5.0, 5.0) };
    let quic = quic.over(path.bdp(), path.rtt());
    let (clock, files) = (Clock::new(), Files::default());
    let seed = Seed { run: 1, flow: "f", ordinal: 0 };
    let ends = [(true, "client"), (false, "server")].map(|(is_client, name)| {
        let file: Output = Box::new(File(name.into(), files.clone()));
        QuicEnd::on_the_wire(&quic, seed, is_client, clock, Some((file, "flow"))).unwrap()
    });
    let mut world = World::between(ends, path);
    world.ends[0].connect(Time::ZERO);
    world.settle(0);
    // Longer than the transfer takes: all packets have arrived, or are lost.
    while world.now < Time::ZERO + Duration::from_secs(30) && world.step() {
        while let Some((at, side, event)) = world.events.pop_front() {
            if side == 0 && event == EngineEvent::Established {
                let stream = world.ends[0].open_stream(at);
                world.ends[0].write(at, stream, 1_000_000, true);
                world.settle(0);
            }
        }
    }
    let [sender, receiver] = world.ends.each_ref().map(Engine::counters);
    assert_eq!(receiver.read_bytes, 1_000_000);
    assert!(sender.declared_lost > 2, "{}", sender.declared_lost);
    check(files.lock().unwrap().values(), sender.declared_lost);
}

#[test]
fn settings_without_a_meaning_on_the_wire_are_refused() {
    assert_eq!(check_on_the_wire(&Quic::default()), Ok(()));
    let resumed = QuicHandshake { resume: QuicResume::ZeroRtt, ..QuicHandshake::default() };
    let migration = QuicMigration::At { times: vec![Time::ZERO], change: bentpipe_sim::spec::QuicChange::Address };
    for (quic, text) in [
        (Quic { handshake: resumed, ..Quic::default() }, "expected \"none\""),
        (Quic { migration, ..Quic::default() }, "expected \"off\""),
        (Quic { mtu: 1473, ..Quic::default() }, "expected at most 1472 B"),
    ] {
        assert!(check_on_the_wire(&quic).unwrap_err().contains(text));
    }
}
