//! A cell of satellites in low orbit.

use crate::lab::*;
use crate::slotted::demand;
use bentpipe_access::{Access, Demand, LeoCell, OtherUsers, RandomUse, SlottedMedium};
use bentpipe_units::{Duration, Rate, Time};

/// Three milliseconds each way.
fn cell(others: Option<OtherUsers>) -> LeoCell {
    let way = Duration::from_millis(3);
    LeoCell { rate: Rate::from_bps(36_000_000), to_controller: way, to_terminal: way, others, ..LeoCell::default() }
}

/// Share of the cell that is granted to one terminal with data at all times.
fn share(others: OtherUsers, is_up: bool, end: f64, seed: u64) -> f64 {
    let cell = cell(Some(others));
    let users = terminals(1, Access::default());
    let mut lab = Lab::new(SlottedMedium::leo_cell(&cell, &users, is_up, "cell", seed), 1, 0.0);
    lab.run_greedy(seconds(end), 1_000_000);
    let bytes: u64 = lab.left.iter().map(|left| u64::from(left.bytes)).sum();
    bytes as f64 * 8.0 / end / 36e6
}

/// (1 - exp(-a)) / a of the cell with a others on average, less 1.5 % for headers. Runs of
/// 300 s vary by 0.013.
fn assert_share(active: f64, is_up: bool, end: f64, seed: u64) {
    let others = OtherUsers::Coming { active, holding: Duration::from_secs(2) };
    let expected = (1.0 - (-active).exp()) / active;
    let found = share(others, is_up, end, seed);
    let deviation = 0.013 * (300.0 / end).sqrt();
    assert!((found - expected).abs() < 3.0 * deviation + 0.015 * expected, "{active}: {found} for {expected}");
}

#[test]
fn a_user_gets_what_the_others_leave() {
    for (active, is_up) in [(4.0, true), (4.0, false)] {
        assert_share(active, is_up, 300.0, 1);
    }
}

#[test]
#[ignore = "half a minute: cargo test -p bentpipe-access -- --ignored"]
fn a_user_gets_what_the_others_leave_in_long_runs() {
    for active in [1.0, 4.0, 10.0] {
        assert_share(active, true, 6000.0, 2);
    }
}

/// Three others leave a quarter.
#[test]
fn others_may_be_given_as_points() {
    let points = OtherUsers::Points { points: vec![(Time::ZERO, 3)], every: None };
    let found = share(points, false, 20.0, 1);
    assert!((found / 0.25 - 1.0).abs() < 0.02, "{found}");
}

/// One second of three others and three seconds of none: 1/16 + 3/4.
#[test]
fn points_repeat() {
    let points = vec![(Time::ZERO, 3), (Time::ZERO + Duration::from_secs(1), 0)];
    let others = OtherUsers::Points { points, every: Some(Duration::from_secs(4)) };
    let found = share(others, true, 40.0, 1);
    assert!((found / 0.8125 - 1.0).abs() < 0.02, "{found}");
}

/// Upwards U(0, T) + R + place, R = 7 frames = 9.3 ms; downwards the controller sees the queue: U(0, T) + place.
#[test]
fn an_upload_asks_and_a_download_is_seen() {
    let users = terminals(1, volume_based(RandomUse::None));
    for (is_up, round) in [(true, 7.0), (false, 0.0)] {
        let mut lab = Lab::new(SlottedMedium::leo_cell(&cell(None), &users, is_up, "cell", 1), 1, 0.0);
        let (mut apart, mut at) = (Exponential::new(3, "leo"), 0.0);
        lab.run(seconds(300.0), |_| {
            at += 0.05 + 0.05 * apart.draw();
            Some((seconds(at), 40))
        });
        let waits = Waits::of(lab.left.iter().map(|left| left.wait));
        let frame = 4.0 / 3.0;
        // A packet of 40 B fits into the first slot.
        let expected = frame / 2.0 + round * frame + frame / 12.0;
        assert!((waits.mean() - expected).abs() < 0.03, "{is_up}: {} for {expected}", waits.mean());
        assert!(waits.count() > 2000 && waits.quantile(1.0) < expected + frame / 2.0 + 0.01);
    }
}

/// With a turn in each n-th frame and a request in each m-th one: the next frame with a request, R, and the next turn after it.
#[test]
fn a_packet_waits_for_its_turn() {
    for (is_up, turn, requests) in [(true, 8, 1), (true, 1, 6), (true, 8, 6), (true, 5, 3), (false, 8, 1)] {
        let users = terminals(3, volume_based(RandomUse::None));
        let cell = LeoCell { turn, requests, ..cell(None) };
        let mut lab = Lab::new(SlottedMedium::leo_cell(&cell, &users, is_up, "cell", 1), 3, 0.0);
        let mut apart: Vec<_> = ["a", "b", "c"].iter().map(|name| (Exponential::new(3, name), 0.0)).collect();
        lab.run(seconds(300.0), |n| {
            let (apart, at) = &mut apart[n];
            *at += 0.1 + 0.1 * apart.draw();
            Some((seconds(*at), 40))
        });
        let (frame, round) = (4.0 / 3.0, if is_up { 7 } else { 0 });
        for n in 0..3 {
            let next = |from: u64, every: u32| (from..).find(|at| (at + n) % u64::from(every) == 0).unwrap();
            let all = u64::from(turn * requests);
            let waits: Vec<u64> = (n..n + all).map(|came| next(next(came, requests) + round, turn) - came).collect();
            let (sum, most) = (waits.iter().sum::<u64>(), waits.iter().max().unwrap());
            let expected = frame * (sum as f64 / all as f64 + 0.5) + frame / 12.0;
            let found = Waits::of(lab.left.iter().filter(|left| left.terminal as u64 == n).map(|left| left.wait));
            assert!((found.mean() - expected).abs() < 0.3, "{turn}, {requests}: {} for {expected}", found.mean());
            assert!(found.count() > 1000);
            // At most three packets wait for the same frame.
            let bound = frame * (*most as f64 + 1.0) + 3.0 * frame / 12.0 + 0.01;
            assert!(found.quantile(1.0) <= bound, "{turn}, {requests}: {} above {bound}", found.quantile(1.0));
        }
    }
}

/// Eight frames to a turn, and 24 users: three share each frame of two slots, so each has a slot in two of three turns. A user
/// that always has data has 1/24 of the cell.
#[test]
fn users_of_a_frame_share_it() {
    let others = OtherUsers::Points { points: vec![(Time::ZERO, 23)], every: None };
    let users = terminals(1, Access::default());
    let cell = LeoCell { turn: 8, slots: 2, ..cell(Some(others)) };
    for is_up in [true, false] {
        let mut lab = Lab::new(SlottedMedium::leo_cell(&cell, &users, is_up, "cell", 1), 1, 0.0);
        lab.run_greedy(seconds(60.0), 1_000_000);
        let bytes: u64 = lab.left.iter().map(|left| u64::from(left.bytes)).sum();
        let found = bytes as f64 * 8.0 / 60.0 / 36e6;
        assert!((found * 24.0 - 1.0).abs() < 0.02, "{found}");
    }
}

/// Down from 0.2 s to 3.5 s and again from 4 s on, between two transfers: as many grants and plans as with every frame.
#[test]
fn frames_pass_while_all_terminals_are_down() {
    let users = terminals(2, Access::default());
    for is_up in [true, false] {
        let others = OtherUsers::Coming { active: 2.0, holding: Duration::from_millis(300) };
        let mut each = SlottedMedium::leo_cell(&cell(Some(others)), &users, is_up, "cell", 3);
        let mut resting = each.clone();
        let mut advanced = 0;
        for _ in 0..4500 {
            let at = each.next_wakeup();
            let is_down = (seconds(0.2)..seconds(3.5)).contains(&at) || at >= seconds(4.0);
            let state = |backlog| Demand { is_up: !is_down, ..demand(if is_down { 0 } else { backlog }, 0.0) };
            let demands = [state(9_000), state(900)];
            each.advance(&demands);
            if at == resting.next_wakeup() {
                resting.advance(&demands);
                advanced += 1;
                for n in 0..2 {
                    assert_eq!(each.windows(n), resting.windows(n), "at {at}");
                }
                resting.rest(if at < seconds(3.5) { seconds(3.5) } else { Time::NEVER });
            } else {
                assert!(each.opened().is_empty(), "at {at}");
            }
            assert_eq!(each.counters(), resting.counters(), "at {at}");
        }
        assert!((525..600).contains(&advanced), "{advanced} of 4500 frames");
    }
}
