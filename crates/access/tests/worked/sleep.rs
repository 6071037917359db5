//! Terminals that sleep: only those with something to do are visited, and no result changes.

use crate::lab::*;
use crate::slotted::demand;
use bentpipe_access::{Access, Demand, LeoCell, LogOn, MfTdma, OtherUsers, RandomAccess, RandomUse, SlottedMedium};
use bentpipe_units::{Duration, Time};
use proptest::prelude::*;

const IDLE: usize = 1000;

/// Visits of idle terminals in 100 control intervals of 38 superframes, from the third one on.
fn visits_while_idle(medium: &MfTdma, access: Access) -> usize {
    let mut link = SlottedMedium::mf_tdma(medium, &terminals(IDLE, access), 1);
    let demands = vec![demand(0, 9.0); IDLE];
    let visits = (0..102 * 38).map(|_| {
        let count = link.visits().len();
        link.advance(&demands);
        count
    });
    visits.skip(2 * 38).sum()
}

/// An idle terminal is visited in its control slots only, or once a second without them.
#[test]
fn idle_terminals_sleep() {
    let asks = volume_based(RandomUse::None);
    assert_eq!(visits_while_idle(&medium(), asks), 100 * IDLE);
    // Through the bursts of a constant rate, too: 16 kbit/s have one in each second or third superframe. Some visits find out
    // whether the controller measured it in the last second.
    let found = visits_while_idle(&medium(), constant(16));
    assert!((100 * IDLE..=125 * IDLE).contains(&found), "{found}");
    let random = MfTdma { control_interval: None, random: Some(RandomAccess::default()), ..medium() };
    let found = visits_while_idle(&random, volume_based(RandomUse::Requests));
    // A second has 37 superframes and a part.
    assert!((99 * IDLE..=104 * IDLE).contains(&found), "{found}");
}

/// A terminal with a constant rate stays on while it sleeps. Another logs off.
#[test]
fn a_constant_rate_keeps_a_terminal_on() {
    let second = Duration::from_secs(1);
    let log_on =
        LogOn { slots: 4, at_start: false, repeat: (4, 16), after: second, idle: Some(second), resets: Vec::new() };
    let medium = MfTdma { log_on: Some(log_on), ..medium() };
    for (access, is_on) in [(constant(16), true), (volume_based(RandomUse::None), false)] {
        let mut link = SlottedMedium::mf_tdma(&medium, &terminals(1, access), 1);
        for _ in 0..300 {
            link.visits();
            link.advance(&[demand(0, 9.0)]);
        }
        assert_eq!(link.is_on(0), is_on);
    }
}

#[test]
fn idle_users_of_a_cell_sleep() {
    for is_up in [true, false] {
        let mut cell = SlottedMedium::leo_cell(&LeoCell::default(), &terminals(IDLE, Access::default()), is_up, "m", 1);
        let demands = vec![demand(0, 0.0); IDLE];
        let visits = (0..100).map(|_| {
            let count = cell.visits().len();
            cell.advance(&demands);
            count
        });
        assert_eq!(visits.skip(50).sum::<usize>(), 0);
    }
}

/// State of a terminal that sends: bytes that wait and came, and the next change of its link.
fn state(n: usize, k: u64, seed: u64, period: u64) -> (u64, u64, bool, u64) {
    let number = k / period;
    let mixed = (number * 2_654_435_761 + n as u64 * 40_503 + seed * 7_919) % 97;
    let (is_busy, is_up) = (mixed % 5 == 0, mixed % 11 != 0);
    let bytes = if is_busy && is_up { 400 + 37 * mixed } else { 0 };
    (bytes, if k % period == 0 { bytes } else { 0 }, is_up, (number + 1) * period)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Visits of some terminals open the same windows as visits of all, with windows that others sleep through.
    #[test]
    fn sleep_changes_nothing(
        seed in 0..1000u64,
        count in 1..40usize,
        access in prop::sample::select(vec![
            volume_based(RandomUse::None), rate_based(300, RandomUse::Requests), constant(16),
            Access { random: RandomUse::Data, ..volume_based(RandomUse::None) },
        ]),
        control in prop::option::of(Just(Duration::from_millis(300))),
        period in 5..60u64,
        pieces in 2..60u64,
        logs_on in any::<bool>(),
    ) {
        let log_on = LogOn {
            slots: 4, at_start: true, repeat: (4, 16), after: Duration::from_secs(1), idle: Some(Duration::from_secs(2)),
            resets: vec![Time::ZERO + Duration::from_secs(9)],
        };
        let log_on = Some(log_on).filter(|_| logs_on);
        let medium = MfTdma { control_interval: control, random: Some(RandomAccess::default()), log_on, ..medium() };
        let [mut all, mut some] = [1; 2].map(|seed| SlottedMedium::mf_tdma(&medium, &terminals(count, access), seed));
        let of = |n: usize, k: u64| {
            let (backlog, arrived, is_up, until) = state(n, k, seed, period);
            let until = Time::ZERO + medium.superframe * until;
            // The link knows the end of a piece of the signal, or only the next superframe.
            let piece = k / pieces;
            let steady = if seed % 3 == 0 { k + 1 } else { (piece + 1) * pieces };
            let steady = Time::ZERO + medium.superframe * steady;
            let level_db = 4.0 + (seed + n as u64 + piece * piece % 5) as f64 % 7.0;
            Demand { is_up, until, steady, ..Demand::of(backlog, arrived, level_db) }
        };
        let mut known = vec![demand(0, 9.0); count];
        for k in 0..600 {
            let demands: Vec<Demand> = (0..count).map(|n| of(n, k)).collect();
            for n in (0..count).filter(|n| demands[*n].backlog() > 0) {
                some.wake(n);
            }
            let visits = some.visits().to_vec();
            for &n in &visits {
                known[n as usize] = demands[n as usize];
            }
            all.advance(&demands);
            some.advance(&known);
            prop_assert_eq!(all.counters(), some.counters(), "superframe {}", k);
            prop_assert!(all.granted_bursts().eq(some.granted_bursts()));
            for n in 0..count {
                let is_visited = visits.contains(&(n as u32));
                if is_visited {
                    prop_assert_eq!(all.heard(n), some.heard(n));
                } else if (n as u64 + k) % 7 == 0 {
                    // Packets come while it sleeps.
                    let began = some.wake(n);
                    prop_assert_eq!(began.is_some(), !all.windows(n).is_empty());
                    prop_assert!(began.is_none_or(|began| began == some.grid().start(k)));
                }
                if is_visited || (n as u64 + k) % 7 == 0 {
                    prop_assert_eq!(all.windows(n), some.windows(n), "terminal {} in {}", n, k);
                }
                prop_assert_eq!(all.granted_bytes(n), some.granted_bytes(n));
                prop_assert_eq!(all.waveform(n), some.waveform(n));
                prop_assert_eq!(all.is_on(n), some.is_on(n));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// A cell, where other users take slots, opens the same windows, too. Each terminal with windows was visited.
    #[test]
    fn sleep_changes_nothing_in_a_cell(
        seed in 0..1000u64,
        count in 1..10usize,
        slots in 1..6u32,
        is_up in any::<bool>(),
        period in 5..60u64,
        ways in (0..3usize, 0..3usize),
    ) {
        let ms = [0, 5, 250].map(Duration::from_millis);
        let others = Some(OtherUsers::Coming { active: 3.0, holding: Duration::from_millis(600) });
        let frame = Duration::from_millis(20);
        let cell = LeoCell {
            rate: bentpipe_units::Rate::from_bps(500_000), frame, slots, others,
            to_controller: ms[ways.0], to_terminal: ms[ways.1], ..LeoCell::default()
        };
        let [mut all, mut some] =
            [(); 2].map(|()| SlottedMedium::leo_cell(&cell, &terminals(count, Access::default()), is_up, "m", seed));
        let mut known = vec![demand(0, 0.0); count];
        let mut waiting = vec![0_u64; count];
        for k in 0..600 {
            let demands: Vec<Demand> = (0..count).map(|n| {
                let (_, arrived, is_up, until) = state(n, k, seed, period);
                waiting[n] = if is_up { waiting[n] + arrived } else { 0 };
                Demand { is_up, until: Time::ZERO + frame * until, ..Demand::of(waiting[n], arrived, 0.0) }
            }).collect();
            for n in (0..count).filter(|n| demands[*n].is_busy()) {
                some.wake(n);
            }
            let visits = some.visits().to_vec();
            for &n in &visits {
                known[n as usize] = demands[n as usize];
            }
            all.advance(&demands);
            some.advance(&known);
            prop_assert_eq!(all.counters(), some.counters(), "superframe {}", k);
            for (n, waiting) in waiting.iter_mut().enumerate() {
                prop_assert_eq!(all.windows(n), some.windows(n), "terminal {} in {}", n, k);
                prop_assert!(some.windows(n).is_empty() || visits.contains(&(n as u32)), "terminal {} in {}", n, k);
                *waiting = waiting.saturating_sub(some.granted(n));
            }
        }
    }
}
