//! A medium of slots: signals, outages, conservation, random access over time.

use crate::lab::*;
use bentpipe_access::{Access, Demand, Free, MfTdma, RandomAccess, RandomUse, SlottedMedium, Waveform};
use bentpipe_units::{Duration, Time};

const R: u64 = 21;

fn link(medium: &MfTdma, count: usize, access: Access) -> SlottedMedium {
    SlottedMedium::mf_tdma(medium, &terminals(count, access), 1)
}

pub(crate) fn demand(backlog: u64, es_n0_db: f64) -> Demand {
    Demand::of(backlog, 0, es_n0_db)
}

/// Waveforms of the windows of a terminal in each superframe, while its signal follows `signal`.
fn waveforms(medium: &MfTdma, access: Access, superframes: u64, signal: impl Fn(u64) -> f64) -> Vec<Option<u32>> {
    let mut link = link(medium, 1, access);
    let opened = |link: &SlottedMedium| link.windows(0).first().and_then(|window| window.waveform()).map(Waveform::id);
    (0..superframes)
        .map(|k| {
            link.advance(&[demand(0, signal(k))]);
            opened(&link)
        })
        .collect()
}

/// A burst that leaves in superframe k is measured, and its waveform governs k + R. Up after three bursts in a row.
#[test]
fn the_waveform_follows_the_signal_a_round_later() {
    // A slot or more in each superframe.
    let found = waveforms(&medium(), constant(64), 300, |k| if (100..200).contains(&k) { 5.0 } else { 9.0 });
    let change = |from: u64| (from..300).find(|k| found[*k as usize] != found[from as usize]).unwrap();
    assert_eq!((found[0], change(0)), (Some(7), 100 + R));
    // 5 dB less 1 dB: 59 B.
    assert_eq!((found[121], change(121)), (Some(4), 200 + R + 2));
    assert_eq!(found[299], Some(7));
}

/// Where no waveform fits, a terminal gets no slots, and is measured once per control interval.
#[test]
fn a_terminal_without_a_waveform_waits() {
    let found = waveforms(&medium(), constant(64), 400, |k| if (100..200).contains(&k) { 1.0 } else { 9.0 });
    assert!(found[100 + R as usize..200 + R as usize].iter().all(Option::is_none));
    let again = (221..400).find(|k| found[*k].is_some()).unwrap();
    // Three measurements, 38 superframes apart, and R.
    assert!((221..=200 + 3 * 38 + R as usize + 1).contains(&again), "{again}");
}

#[test]
fn a_fixed_waveform_stays() {
    let medium = MfTdma { waveform: Waveform::numbered(3), ..medium() };
    assert!(waveforms(&medium, constant(64), 200, |k| k as f64 / 20.0).iter().all(|id| *id == Some(3)));
}

/// A link that goes down loses its windows at once, and they are free from the next plan on. Back up, it has constant
/// capacity again R later at most, and asks from scratch.
#[test]
fn a_link_that_is_down_has_no_windows() {
    let mut link = link(&medium(), 2, with(constant(64), |first| first.volume_based = true));
    let mut slots = Vec::new();
    for k in 0..200 {
        let up = demand(100_000, 9.0);
        let down = Demand { is_up: !(100..150).contains(&k), ..up };
        link.advance(&[down, up]);
        slots.push([0, 1].map(|n| link.windows(n).iter().map(|window| window.bursts()).sum::<u32>()));
    }
    assert!(slots[99][0] > 0 && slots[100..150].iter().all(|slots| slots[0] == 0));
    assert!(slots[150..150 + R as usize].iter().any(|slots| slots[0] > 0));
    assert!(slots[199][0] > 0);
    assert!(slots.iter().all(|slots| slots[1] > 0));
}

/// Granted bytes are those of the windows; no window is longer than a carrier, and two of a terminal do not overlap.
#[test]
fn grants_are_windows() {
    let access = with(rate_based(1000, RandomUse::None), |first| first.volume_based = true);
    let mut link = link(&MfTdma { carriers: 3, free: Free::Asking, ..medium() }, 10, access);
    let mut bytes = 0;
    for k in 0..500 {
        let demands: Vec<Demand> = (0..10)
            .map(|n| {
                let busy = (k / 20 + n) % 3 == 0;
                if busy {
                    Demand::of(9000, 700, 9.0)
                } else {
                    Demand::of(0, 0, 9.0)
                }
            })
            .collect();
        link.advance(&demands);
        for n in 0..10 {
            let windows = link.windows(n);
            let sum: u64 = windows.iter().map(|window| u64::from(window.bursts() * window.payload())).sum();
            assert_eq!(sum, link.granted(n));
            bytes += sum;
            if let [first, second] = windows {
                assert!(first.closes() <= second.opens());
            }
            let starts = link.grid().start(k as u64);
            assert!(windows.iter().all(|window| window.opens() >= starts && window.closes() <= link.next_wakeup()));
        }
    }
    let counts = link.counters();
    assert_eq!((counts.granted_bytes, counts.granted_slots * 108), (bytes, bytes));
    assert!(bytes > 1_000_000);
}

/// 11 B and 3 B per slot: all 588 slots of 26.5 ms take 536 kbit/s.
#[test]
fn a_plan_has_its_size() {
    let mut link = link(&MfTdma { free: Free::All, ..medium() }, 40, volume_based(RandomUse::None));
    for _ in 0..30 {
        link.advance(&[demand(0, 9.0); 40]);
    }
    assert_eq!(link.plan_bytes(), 11 + 3 * 588);
    assert!((link.plan_bytes() as f64 * 8.0 / 0.0265 - 536e3).abs() < 1e3);
    assert_eq!(link.planned().count(), 40);
}

/// Four blocks in a row, two of rest, by a terminal that sends three bursts in each. Without back-off.
#[test]
fn random_access_has_limits() {
    let random = RandomAccess { back_off: (0.0, Duration::ZERO), ..RandomAccess::default() };
    let medium = MfTdma { control_interval: None, random: Some(random), ..medium() };
    let mut link = link(&medium, 1, Access { random: RandomUse::Data, ..Access::default() });
    let bursts: Vec<u32> = (0..12)
        .map(|_| {
            link.advance(&[demand(100_000, 9.0)]);
            link.windows(0).iter().map(|window| window.bursts()).sum()
        })
        .collect();
    assert_eq!(bursts, [3, 3, 3, 3, 0, 0, 3, 3, 3, 3, 0, 0]);
    assert_eq!(link.counters().random_lost, 0);
    let window = link.windows(0);
    assert!(window.is_empty());
}

/// Blocks after a block of the same terminal wait with probability 0.15. With high load, each block waits with
/// probability 0.46.
#[test]
fn random_access_backs_off() {
    const BLOCKS: u64 = 40_000;
    let share = |high_load: (f64, f64, Duration)| {
        let no_limit = RandomAccess { in_a_row: u32::MAX, high_load, ..RandomAccess::default() };
        let random = RandomAccess { back_off: (0.15, Duration::ZERO), ..no_limit };
        let medium = MfTdma { control_interval: None, random: Some(random), ..medium() };
        let mut link = link(&medium, 1, Access { random: RandomUse::Data, ..Access::default() });
        (0..BLOCKS)
            .filter(|_| {
                link.advance(&[demand(100_000, 9.0)]);
                !link.windows(0).is_empty()
            })
            .count() as f64
            / BLOCKS as f64
    };
    // A chain: from a used block to a used one with 0.85, from an unused one always.
    let calm = share((0.5, 0.46, Duration::ZERO));
    assert!((calm - 1.0 / 1.15).abs() < 0.01, "{calm}");
    // Any load is a high load.
    let loaded = share((-1.0, 0.46, Duration::ZERO));
    assert!((loaded - 0.54).abs() < 0.01, "{loaded}");
}

/// Bursts of a block are on the air for the whole superframe, and their contents are fixed at its start.
#[test]
fn random_bursts_end_with_their_block() {
    let medium = MfTdma { control_interval: None, random: Some(RandomAccess::default()), ..medium() };
    let mut link = link(&medium, 1, Access { random: RandomUse::Data, ..Access::default() });
    link.advance(&[demand(40, 9.0)]);
    let window = link.windows(0)[0];
    assert!(window.is_random() && window.bursts() == 1 && !window.is_lost(0));
    assert_eq!((window.opens(), window.closes()), (Time::ZERO, link.next_wakeup()));
    assert_eq!((window.burst_from(Time::ZERO), window.burst_from(Time::from_ps(1))), (0, 1));
}

/// The same seed gives the same run, and an unrelated terminal does not change the draws of another.
#[test]
fn draws_are_addressed() {
    let random = RandomAccess { copies: 1, ..RandomAccess::default() };
    let medium = MfTdma { control_interval: None, random: Some(random), ..medium() };
    let lost = |count: usize| {
        let mut link = link(&medium, count, Access { random: RandomUse::Data, ..Access::default() });
        let mut demands = vec![demand(0, 9.0); count];
        demands[..5].fill(demand(1000, 9.0));
        let mut lost = Vec::new();
        for _ in 0..200 {
            link.advance(&demands);
            lost.extend((0..5).flat_map(|n| link.windows(n).to_vec()));
        }
        lost
    };
    assert_eq!(lost(5), lost(50));
}

/// A terminal that goes to another medium after 100 superframes with open requests, a rate or volumes. The first plan there has
/// them, v = 10 superframes before its windows. Without them, the first window waits at least R. They lapse after 1.1 s.
#[test]
fn open_requests_go_to_another_medium() {
    let rate = rate_based(256, RandomUse::None);
    for access in [rate, volume_based(RandomUse::None)] {
        let (mut old, mut new) = (link(&medium(), 1, access), link(&medium(), 1, access));
        let (up, down) = (demand(9_000, 9.0), Demand { is_up: false, ..demand(0, 9.0) });
        for k in 0..=100 {
            if k < 100 {
                new.advance(&[down]);
            }
            old.advance(&[if k < 100 { up } else { down }]);
        }
        let now = new.next_wakeup();
        let (since, open) = old.left(now, 0).unwrap();
        assert!(since == now && (open.rate.as_bps() > 0) != (open.volume > 0), "{open:?}");
        let first = |handed| {
            let mut medium = new.clone();
            medium.advance(&[Demand { handed, ..up }]);
            (100..300).find(|_| {
                let is_open = !medium.windows(0).is_empty();
                if !is_open {
                    medium.advance(&[up]);
                }
                is_open
            })
        };
        assert_eq!(first(Some(open)), Some(110), "{open:?}");
        assert!(first(None).unwrap() >= 100 + R);
        assert_eq!(old.left(now + Duration::from_millis(1200), 0), None);
    }
}

/// 2,000 B with an overhead of a tenth are a request of 2,240 B, in units of 64 B. Until its windows open, it is under way
/// to the controller, there, or in a plan. At each of these instants, a terminal that leaves takes all of it along. The last
/// burst of a plan is granted whole.
#[test]
fn a_volume_is_handed_over_wherever_it_is_on_its_way() {
    let mut medium = link(&medium(), 1, volume_based(RandomUse::None));
    let (up, down) = (demand(2_000, 9.0), Demand { is_up: false, ..demand(0, 9.0) });
    let mut stages = 0;
    for _ in 0..300 {
        medium.advance(&[up]);
        if medium.counters().requests_in_control == 0 {
            continue;
        }
        let mut left = medium.clone();
        left.advance(&[down]);
        let (_, open) = left.left(left.next_wakeup(), 0).unwrap();
        if !left.clone().windows(0).is_empty() || medium.counters().granted_slots > 0 {
            break;
        }
        stages += 1;
        let burst = u64::from(medium.waveform(0).unwrap().payload());
        assert!((2_240..2_240 + burst).contains(&open.volume), "{open:?} after {stages} superframes");
    }
    assert_eq!(stages, R);
}
