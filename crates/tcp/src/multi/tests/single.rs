//! One subflow beside plain TCP: the same segments at the same times, except for the bytes of the multipath option.
//! Pacing is off: it counts these bytes. Both are open from the start, because the first data behind a handshake repeat its keys.

use super::bench::{at, ms, plain, tcp, Departure, Path, World, CLIENT, SERVER, SMSS};
use crate::multi::{Coupling, MultiConfig, MultiEvent};
use crate::{Config, CwndValidation, Options};
use bentpipe_cc::CcKind;
use proptest::prelude::*;

/// Segments without multipath options: time, end, subflow, segment, whether it arrives.
fn of_meta(tcp: &Config, path: Path, seed: u64, offered: u64, until: u64) -> Vec<Departure> {
    let config = MultiConfig { coupling: Coupling::None, receive_buffer: tcp.receive_buffer, ..MultiConfig::default() };
    let mut world = World::new(config, tcp, vec![path]);
    world.set_seed(seed);
    (world.log, world.confirms) = (Some(Vec::new()), false);
    world.offer(offered);
    world.close(CLIENT);
    world.open();
    while world.step(at(until)) {
        let has_finished = |(_, event): &(_, MultiEvent)| *event == MultiEvent::PeerFinished;
        if world.ends[SERVER].events.iter().any(has_finished) {
            world.close(SERVER);
        }
    }
    let mut log = world.log.take().unwrap_or_default();
    log.iter_mut().for_each(|departure| departure.3.multi = None);
    log
}

/// MSS and window of a SYN are those of the whole connection; SACK blocks have less room.
fn comparable(mut log: Vec<Departure>) -> Vec<Departure> {
    for departure in &mut log {
        match &mut departure.3.options {
            Options::Syn(syn) => syn.mss = 0,
            Options::Sack(blocks) => {
                blocks.fit(28);
            }
            _ => {}
        }
    }
    log
}

fn compare(tcp: &Config, path: &Path, seed: u64, offered: u64) -> Result<(), TestCaseError> {
    let tcp = &Config { handshake: false, ..tcp.clone() };
    let of_subflow = Config { smss: tcp.smss - 20, ..tcp.clone() };
    let expected = comparable(plain(&of_subflow, path.clone(), seed, offered, at(100_000)));
    let found = comparable(of_meta(tcp, path.clone(), seed, offered, 100_000));
    for (number, (expected, found)) in expected.iter().zip(&found).enumerate() {
        prop_assert_eq!(found, expected, "segment {} with {:?}", number, path);
    }
    prop_assert_eq!(found.len(), expected.len());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn one_subflow_is_tcp(
        delay in 1u64..300,
        segment_us in 0u64..3000,
        queue in 3usize..200,
        loss in prop_oneof![Just(0u64), 0u64..400],
        ack_loss in prop_oneof![Just(0u64), 0u64..400],
        offered in 1u64..400_000,
        buffer in prop_oneof![Just(1u64 << 24), 3_000u64..200_000],
        cc in prop_oneof![Just(CcKind::NewReno), Just(CcKind::Sack), Just(CcKind::Cubic), Just(CcKind::Reno)],
        rack in any::<bool>(),
        linux in any::<bool>(),
        seed in 1u64..1_000_000,
    ) {
        let path = Path {
            segment_time: bentpipe_units::Duration::from_micros(segment_us),
            queue,
            loss,
            ack_loss,
            ..Path::of(delay)
        };
        let config = Config {
            cc: cc.into(),
            recovery: if rack && cc != CcKind::Reno { CcKind::Bbr1.recovery() } else { cc.recovery() },
            receive_buffer: buffer,
            cwnd_validation: if linux { CwndValidation::Linux } else { CwndValidation::Rfc7661 },
            ..tcp()
        };
        compare(&config, &path, seed, offered)?;
    }
}

/// The plain case, by itself.
#[test]
fn a_transfer_without_losses_is_the_same() {
    let path = Path { segment_time: ms(1), ..Path::of(50) };
    compare(&tcp(), &path, 1, 300 * SMSS).unwrap();
}

/// Behind a handshake the first segment has 4 B less.
#[test]
fn the_keys_take_4_bytes_of_the_first_segment() {
    let path = Path { segment_time: ms(1), ..Path::of(50) };
    let of_subflow = Config { smss: tcp().smss - 20, ..tcp() };
    let offered = 300 * SMSS - 4;
    let data = |log: Vec<Departure>| -> Vec<_> {
        let of_client = log.into_iter().filter(|sent| sent.1 == CLIENT && sent.3.len > 0);
        of_client.map(|sent| (sent.0, u64::from(sent.3.len))).collect()
    };
    let mut expected = data(plain(&of_subflow, path.clone(), 1, offered, at(100_000)));
    let found = data(of_meta(&tcp(), path, 1, offered, 100_000));
    // Otherwise the last one has.
    expected[0].1 -= 4;
    expected[299].1 += 4;
    assert_eq!(found, expected);
}

/// The window and limited transmit count full segments where the end of a mapping makes the next one smaller: here the last byte
/// of the data leaves after the second duplicate ACK.
#[test]
fn a_short_last_segment_leaves_after_duplicate_acks() {
    let path = Path { segment_time: bentpipe_units::Duration::from_micros(1), queue: 4, ..Path::of(1) };
    let config = Config { cc: CcKind::Reno.into(), recovery: CcKind::Reno.recovery(), ..tcp() };
    compare(&config, &path, 1, 19 * SMSS + 1).unwrap();
}

/// RFC 8985 §7.3: a tail loss probe is new data if there are any. The window after a loss has one segment.
#[test]
fn a_tail_loss_probe_has_new_data() {
    let path = Path { segment_time: bentpipe_units::Duration::from_micros(1), queue: 3, loss: 196, ..Path::of(80) };
    let recovery = CcKind::Bbr1.recovery();
    let config = Config { cc: CcKind::NewReno.into(), recovery, receive_buffer: 4000, ..tcp() };
    compare(&config, &path, 243_012, 84_501).unwrap();
}

/// RFC 6675 §4, rules 3 and 4: only where no new data can leave, a segment that is not known as lost is retransmitted.
#[test]
fn new_data_come_before_what_may_be_lost() {
    for (delay, micros, queue, buffer, offered) in [(22, 667, 9, 32_000, 120_001), (1, 1, 4, 8001, 25_335)] {
        let segment_time = bentpipe_units::Duration::from_micros(micros);
        let path = Path { segment_time, queue, ..Path::of(delay) };
        compare(&Config { receive_buffer: buffer, ..tcp() }, &path, 1, offered).unwrap();
    }
}
