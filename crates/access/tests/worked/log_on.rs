//! Log-on of terminals: storms against a model of tries alone, idle terminals that log off, outages and resets.

use crate::lab::*;
use crate::slotted::demand;
use bentpipe_access::{Demand, LogOn, MfTdma, RandomUse, SlottedMedium};
use bentpipe_units::{Duration, Stream, Time};

const R: u64 = 21;
const T: f64 = 0.0265;

fn keys(slots: u32) -> LogOn {
    LogOn { slots, at_start: true, repeat: (16, 512), after: Duration::from_secs(10), idle: None, resets: Vec::new() }
}

fn link(log_on: LogOn, count: usize, seed: u64) -> SlottedMedium {
    let medium = MfTdma { log_on: Some(log_on), ..medium() };
    SlottedMedium::mf_tdma(&medium, &terminals(count, volume_based(RandomUse::None)), seed)
}

/// Superframes until all terminals are on, with visits of those awake.
fn storm(link: &mut SlottedMedium, count: usize, most: u64) -> u64 {
    let demands = vec![demand(0, 9.0); count];
    for k in 1..most {
        link.visits();
        link.advance(&demands);
        if (0..count).all(|n| link.is_on(n)) {
            return k;
        }
    }
    panic!("{} of {count} are on", (0..count).filter(|n| link.is_on(*n)).count());
}

/// Superframes until `count` terminals are on, from the rule of the tries alone.
fn model(count: usize, slots: u64, seed: u64) -> u64 {
    let mut draws = Stream::new(seed, "model", "tries");
    let mut number = 0;
    let mut draw = |limit: u64| {
        number += 1;
        draws.below(number, limit)
    };
    let mut next: Vec<(u64, u32)> = (0..count).map(|_| (draw(16), 0)).collect();
    for k in 0.. {
        let tries: Vec<usize> = (0..next.len()).filter(|&n| next[n].0 == k).collect();
        let chosen: Vec<u64> = tries.iter().map(|_| draw(slots)).collect();
        let mut on = Vec::new();
        for (at, &n) in tries.iter().enumerate() {
            if chosen.iter().filter(|slot| **slot == chosen[at]).count() == 1 {
                on.push(n);
            } else {
                next[n].1 += 1;
                next[n].0 = k + R + 2 + draw((16 << next[n].1).min(512));
            }
        }
        for n in on.into_iter().rev() {
            next.swap_remove(n);
        }
        if next.is_empty() {
            return k + R;
        }
    }
    0
}

/// Slotted ALOHA reads 1/e of its slots at best, so n terminals on s slots of a superframe need n e / s superframes. Windows that
/// double from 16 to 512 need more for the first and the last of them, as the model does.
#[test]
fn a_storm_ends_as_the_model_of_its_tries() {
    for (count, slots, most) in [(1, 4, 40), (100, 4, 40), (1000, 4, 4), (1000, 16, 8), (1000, 49, 8)] {
        let seeds = 1..=most;
        let mean = |of: &dyn Fn(u64) -> u64| seeds.clone().map(|seed| of(seed) as f64).sum::<f64>() / most as f64;
        let found = mean(&|seed| storm(&mut link(keys(slots), count, seed), count, 20_000));
        let expected = mean(&|seed| model(count, slots.into(), seed));
        assert!((found / expected - 1.0).abs() < 0.2, "{count} on {slots}: {found} {expected}");
        let least = count as f64 * core::f64::consts::E / f64::from(slots);
        assert!(found > least && found < 3.0 * least + 30.0 / T, "{count} on {slots}: {found} {least}");
    }
}

/// A reset loses all, and all come back. Before, they have control slots; without log-on, none.
#[test]
fn a_reset_is_a_storm() {
    let count = 200;
    let at = Time::ZERO + Duration::from_secs(60);
    let mut link = link(LogOn { resets: vec![at], ..keys(16) }, count, 1);
    let first = storm(&mut link, count, 2000);
    let demands = vec![demand(0, 9.0); count];
    while link.next_wakeup() <= at + Duration::from_micros(26_500) {
        link.visits();
        link.advance(&demands);
    }
    assert!((0..count).all(|n| !link.is_on(n)));
    let again = storm(&mut link, count, 2000);
    assert!((0.5..2.0).contains(&(again as f64 / first as f64)), "{first} {again}");
    let counts = link.log_ons();
    assert_eq!((counts.done, counts.bursts - counts.lost), (400, 400));
}

/// A terminal without traffic logs off, has no control slots then, and logs on again with its first packet.
#[test]
fn an_idle_terminal_logs_off_until_a_packet_comes() {
    let mut link = link(LogOn { at_start: false, idle: Some(Duration::from_secs(5)), ..keys(4) }, 1, 1);
    let step = |link: &mut SlottedMedium, demand: Demand, wakes: bool| {
        if wakes {
            link.wake(0);
        }
        link.visits();
        link.advance(&[demand]);
    };
    let idle = demand(0, 9.0);
    (0..1000).for_each(|_| step(&mut link, idle, false));
    assert!(!link.is_on(0));
    let slots = link.counters().control_slots;
    (0..500).for_each(|_| step(&mut link, idle, false));
    assert_eq!(link.counters().control_slots, slots);
    // A wait of up to 16 superframes, R, a control slot in 38 superframes, and R.
    let needed = (0..200).find(|_| {
        step(&mut link, demand(400, 9.0), true);
        !link.windows(0).is_empty()
    });
    assert!((2 * R..2 * R + 16 + 38 + 2).contains(&needed.unwrap()), "{needed:?}");
}

/// An outage below `after` keeps a terminal on.
#[test]
fn a_long_outage_needs_a_log_on() {
    for (superframes, is_kept) in [(100, true), (500, false)] {
        let mut link = link(LogOn { at_start: false, ..keys(4) }, 1, 1);
        let down = Demand { is_up: false, ..demand(0, 9.0) };
        (0..50).for_each(|_| link.advance(&[demand(0, 9.0)]));
        (0..superframes).for_each(|_| link.advance(&[down]));
        link.advance(&[demand(0, 9.0)]);
        assert_eq!(link.is_on(0), is_kept);
        (0..60).for_each(|_| link.advance(&[demand(0, 9.0)]));
        assert!(link.is_on(0));
    }
}
