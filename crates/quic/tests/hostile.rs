//! Random, damaged and repeated datagrams: nothing panics, and nothing grows.

use crate::path::{Path, World};
use bentpipe_sim::spec::Quic;
use bentpipe_sim::stack::Engine;
use bentpipe_units::{Duration, Ecn, Stream, Time};

/// `BENTPIPE_FUZZ_OPS` sets the number of datagrams.
fn datagrams() -> u64 {
    std::env::var("BENTPIPE_FUZZ_OPS").ok().and_then(|ops| ops.parse().ok()).unwrap_or(200_000)
}

/// Tags depend on number and length only, so a changed byte within a packet reaches the readers of frames.
#[test]
fn any_datagram_is_survived() {
    let (total, each) = (datagrams(), 200);
    for round in 0..total / each {
        let mut world = World::new(&Quic::default(), Path { seed: round, ..Path::geo(20.0, 2.0) });
        world.ends[0].connect(Time::ZERO);
        let mut draws = Stream::new(round, "hostile", "datagrams");
        let mut draw = 0;
        let mut next = |n: u64| {
            draw += 1;
            draws.below(draw, n)
        };
        let mut kept: Vec<Vec<u8>> = Vec::new();
        let mut now = Time::ZERO;
        for _ in 0..each {
            now += Duration::from_micros(1 + next(20_000));
            let mut buffer = Vec::new();
            for side in 0..2 {
                buffer.clear();
                if world.ends[side].next_wakeup() <= now {
                    world.ends[side].handle_wakeup(now);
                }
                while world.ends[side].poll_transmit(now, &mut buffer).is_some() {
                    kept.push(std::mem::take(&mut buffer));
                }
                while world.ends[side].poll_event().is_some() {}
            }
            let side = next(2) as usize;
            let mut bytes = match next(3) {
                0 if !kept.is_empty() => kept[next(kept.len() as u64) as usize].clone(),
                1 if !kept.is_empty() => kept[kept.len() - 1].clone(),
                _ => {
                    let mut bytes = vec![0, 1 - side as u8];
                    bytes.extend((0..next(1500)).map(|_| next(256) as u8));
                    bytes
                }
            };
            match next(4) {
                0 => bytes.truncate(next(bytes.len() as u64 + 1) as usize),
                1 | 2 => {
                    for _ in 0..1 + next(4) {
                        let at = next(bytes.len().max(1) as u64) as usize;
                        if let Some(byte) = bytes.get_mut(at) {
                            *byte = next(256) as u8;
                        }
                    }
                }
                _ => {}
            }
            if next(20) == 0 {
                let stream = world.ends[side].open_stream(now);
                world.ends[side].write(now, stream, next(100_000), true);
            }
            world.ends[side].handle(now, &bytes, Ecn::from_bits(next(4) as u8));
        }
    }
}
