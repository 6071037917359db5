//! The plan against a round robin that goes round, slot by slot.

use super::filling::fill;
use super::{Controller, Left, Plan};
use crate::requests::{Request, Volume};
use crate::terminal::{Access, Capacity};
use bentpipe_units::Rate;
use proptest::prelude::*;

/// Gives slots one by one, `weights[n]` in each turn, from terminal `start` on.
fn go_round(wants: &[u32], weights: &[u32], start: usize, capacity: u32) -> Vec<u32> {
    let mut given = vec![0; wants.len()];
    let mut left = capacity;
    while left > 0 && given.iter().zip(wants).any(|(given, want)| given < want) {
        for turn in 0..wants.len() {
            let n = (start + turn) % wants.len();
            for _ in 0..weights[n] {
                if given[n] < wants[n] && left > 0 {
                    (given[n], left) = (given[n] + 1, left - 1);
                }
            }
        }
    }
    given
}

/// A terminal as the naive controller knows it, in bits and seconds.
#[derive(Clone, Debug, Default)]
struct Naive {
    constant: f64,
    constant_credit: f64,
    rate: f64,
    rate_credit: f64,
    rate_until: u64,
    is_new: bool,
    volume: u64,
    volume_until: u64,
}

const SLOTS: u32 = 7;
const PAYLOAD: u32 = 100;
/// 10 ms.
const SUPERFRAME_PS: u64 = 10_000_000_000;
const PERSISTENCE: u64 = 5;

/// Plans a superframe by the words of the specification.
fn naive_plan(
    naive: &mut [Naive],
    weights: &[u32],
    carriers: u32,
    now: u64,
    left_over: Left,
    control_every: u64,
) -> Vec<[u32; 2]> {
    let count = naive.len();
    let start = (now % count as u64) as usize;
    let bits = f64::from(8 * PAYLOAD);
    let mut left = SLOTS * carriers;
    let mut total = vec![0; count];
    let share = |wants: &[u32], total: &mut Vec<u32>, left: &mut u32| {
        let capped: Vec<u32> = wants.iter().zip(total.iter()).map(|(want, total)| (*want).min(SLOTS - total)).collect();
        let given = go_round(&capped, weights, start, *left);
        for (total, given) in total.iter_mut().zip(&given) {
            *total += given;
        }
        *left -= given.iter().sum::<u32>();
        given
    };
    let due = |n: usize| (now + n as u64 * control_every / count as u64) % control_every == 0;
    let wants: Vec<u32> = (0..count).map(|n| u32::from(due(n))).collect();
    let control = share(&wants, &mut total, &mut left);
    for terminal in naive.iter_mut() {
        terminal.constant_credit += terminal.constant * 0.01;
    }
    let wants: Vec<u32> = naive.iter().map(|terminal| (terminal.constant_credit / bits + 1e-9) as u32).collect();
    let given = share(&wants, &mut total, &mut left);
    for (terminal, given) in naive.iter_mut().zip(given) {
        terminal.constant_credit = (terminal.constant_credit - f64::from(given) * bits).min(f64::from(SLOTS) * bits);
    }
    for terminal in naive.iter_mut() {
        if now >= terminal.rate_until {
            (terminal.rate, terminal.rate_credit) = (0.0, 0.0);
        }
        if terminal.rate > 0.0 {
            terminal.rate_credit = if terminal.is_new { bits } else { terminal.rate_credit + terminal.rate * 0.01 };
            terminal.is_new = false;
        }
    }
    let wants: Vec<u32> = naive.iter().map(|terminal| (terminal.rate_credit / bits + 1e-9) as u32).collect();
    let given = share(&wants, &mut total, &mut left);
    for (terminal, given) in naive.iter_mut().zip(given) {
        terminal.rate_credit = (terminal.rate_credit - f64::from(given) * bits).min(f64::from(SLOTS) * bits);
    }
    for terminal in naive.iter_mut() {
        if now >= terminal.volume_until {
            terminal.volume = 0;
        }
    }
    let wants: Vec<u32> = naive.iter().map(|terminal| terminal.volume.div_ceil(u64::from(PAYLOAD)) as u32).collect();
    let given = share(&wants, &mut total, &mut left);
    for (terminal, given) in naive.iter_mut().zip(given) {
        terminal.volume = terminal.volume.saturating_sub(u64::from(given * PAYLOAD));
    }
    if left_over != Left::Unused {
        let asks = |terminal: &Naive| terminal.rate > 0.0 || now < terminal.volume_until;
        let wants: Vec<u32> =
            naive.iter().map(|terminal| if left_over == Left::ToAll || asks(terminal) { SLOTS } else { 0 }).collect();
        share(&wants, &mut total, &mut left);
    }
    control.into_iter().zip(total).map(|(control, total)| [control, total - control]).collect()
}

/// A request: superframe, terminal, rate in kbit/s if it has one, volume in bytes if it has one.
type Asked = (u64, usize, Option<u64>, Option<(u32, bool)>);

fn asked(count: usize) -> impl Strategy<Value = Vec<Asked>> {
    let rate = prop::option::of(prop_oneof![Just(0u64), 1..600u64]);
    let volume = prop::option::of((1..5000u32, any::<bool>()));
    prop::collection::vec((0..40u64, 0..count, rate, volume), 0..30)
}

proptest! {
    /// Filling gives what going round gives.
    #[test]
    fn filling_is_a_round_robin(
        terminals in prop::collection::vec((0..20u32, 1..4u32), 1..12),
        start in 0..12usize,
        capacity in 0..150u32,
    ) {
        let (wants, weights): (Vec<u32>, Vec<u32>) = terminals.into_iter().unzip();
        let start = start % wants.len();
        let mut given = vec![0; wants.len()];
        let left = fill(&wants, &weights, start, capacity, &mut given);
        prop_assert_eq!(&given, &go_round(&wants, &weights, start, capacity));
        prop_assert_eq!(left, capacity - given.iter().sum::<u32>());
    }

    /// All phases over time give what the naive controller gives, and no terminal has two slots at a time.
    #[test]
    fn a_plan_is_what_the_naive_controller_plans(
        (constants, requests) in (1..8usize).prop_flat_map(|count| {
            (prop::collection::vec((0..400u64, 1..4u32), count), asked(count))
        }),
        carriers in 1..4u32,
        left in prop_oneof![Just(Left::Unused), Just(Left::ToAsking), Just(Left::ToAll)],
    ) {
        let count = constants.len();
        let access = |&(rate, weight): &(u64, u32)| {
            Access { first: Capacity { constant: Rate::from_bps(rate * 1000), ..Capacity::default() }, weight, ..Access::default() }
        };
        let terminals: Vec<Access> = constants.iter().map(access).collect();
        let every = 9;
        let mut controller =
            Controller::new(&terminals, SLOTS, SLOTS * carriers, SUPERFRAME_PS, Some(every), PERSISTENCE, left);
        let weights: Vec<u32> = constants.iter().map(|(_, weight)| *weight).collect();
        let mut naive: Vec<Naive> =
            constants.iter().map(|(rate, _)| Naive { constant: *rate as f64 * 1e3, ..Naive::default() }).collect();
        (0..count).for_each(|n| controller.choose(n, None, PAYLOAD));
        let mut plan = Plan::default();
        for now in 0..40 {
            for (_, n, rate, volume) in requests.iter().filter(|(at, ..)| *at == now) {
                controller.read(now, (*n, 0), Request {
                    rate: rate.map(|rate| Rate::from_bps(rate * 1000)),
                    volume: volume.map(|(bytes, is_absolute)| Volume { bytes, is_absolute }),
                });
                let terminal = &mut naive[*n];
                if now >= terminal.rate_until {
                    (terminal.rate, terminal.rate_credit, terminal.is_new) = (0.0, 0.0, false);
                }
                if now >= terminal.volume_until {
                    terminal.volume = 0;
                }
                if let Some(rate) = rate {
                    terminal.is_new = *rate > 0 && (terminal.is_new || terminal.rate == 0.0);
                    if *rate == 0 {
                        terminal.rate_credit = 0.0;
                    }
                    (terminal.rate, terminal.rate_until) = (*rate as f64 * 1e3, now + PERSISTENCE);
                }
                if let Some((bytes, is_absolute)) = volume {
                    terminal.volume = u64::from(*bytes) + if *is_absolute { 0 } else { terminal.volume };
                    terminal.volume_until = now + PERSISTENCE;
                }
            }
            controller.plan(now, now, 0, &mut plan);
            let expected = naive_plan(&mut naive, &weights, carriers, now, left, every);
            let mut found = vec![[0, 0]; count];
            let mut taken = vec![None; (SLOTS * carriers) as usize];
            for grant in &plan.grants {
                let n = grant.terminal as usize;
                found[n] = [grant.control, grant.slots];
                for position in grant.first..grant.first + grant.control + grant.slots {
                    prop_assert_eq!(taken[position as usize].replace(n), None);
                }
                let times: std::collections::BTreeSet<u32> =
                    (grant.first..grant.first + grant.control + grant.slots).map(|at| at % SLOTS).collect();
                prop_assert_eq!(times.len() as u32, grant.control + grant.slots);
            }
            prop_assert_eq!(found, expected, "superframe {}", now);
            let slots: u64 = plan.grants.iter().map(|grant| u64::from(grant.control + grant.slots)).sum();
            prop_assert_eq!(plan.bytes(), 11 + 3 * slots);
        }
    }
}

/// Slots of each terminal in superframe `now`.
fn slots(controller: &mut Controller, now: u64) -> Vec<u32> {
    let mut plan = Plan::default();
    controller.plan(now, now, 0, &mut plan);
    let mut slots = vec![0; controller.choices.len()];
    plan.grants.iter().for_each(|grant| slots[grant.terminal as usize] = grant.slots);
    slots
}

fn controller(terminals: &[Access]) -> Controller {
    let mut controller = Controller::new(terminals, SLOTS, SLOTS, SUPERFRAME_PS, None, 1000, Left::Unused);
    (0..terminals.len()).for_each(|n| controller.choose(n, None, PAYLOAD));
    controller
}

/// One slot in a superframe is 80 kbit/s. Three of seven slots are rates of class 0, and the others have 4 slots for a volume of
/// class 1.
#[test]
fn a_lower_class_comes_first() {
    let rate = Some(Rate::from_bps(240_000));
    let volume = Some(Volume { bytes: 100_000, is_absolute: true });
    let class = Some(Capacity::default());
    let access = Access { further: [class, None, None], ..Access::default() };
    let mut controller = controller(&[access; 3]);
    controller.read(0, (0, 0), Request { rate, volume: None });
    (0..3).for_each(|n| controller.read(0, (n, 1), Request { rate: None, volume }));
    slots(&mut controller, 0);
    let found: Vec<u32> = (1..31)
        .map(|now| slots(&mut controller, now))
        .fold(vec![0; 3], |sum, slots| sum.iter().zip(&slots).map(|(sum, slots)| sum + slots).collect());
    // Terminal 0 has 3 slots of class 0 and a third of 4.
    assert_eq!(found.iter().sum::<u32>(), 7 * 30);
    assert_eq!(found, [3 * 30 + 40, 40, 40]);
    // Volumes of class 0 leave nothing for those of class 1.
    controller.read(31, (0, 0), Request { rate: Some(Rate::from_bps(0)), volume });
    assert_eq!(slots(&mut controller, 31), [7, 0, 0]);
}

/// Two terminals ask for all slots as a rate. The guaranteed part of one is 5 slots, and they share the other 2.
#[test]
fn a_guaranteed_rate_comes_before_other_requests() {
    let guaranteed = Rate::from_bps(400_000);
    let first = Capacity { guaranteed, ..Capacity::default() };
    let mut controller = controller(&[Access { first, ..Access::default() }, Access::default()]);
    let all = Request { rate: Some(Rate::from_bps(560_000)), volume: None };
    (0..2).for_each(|n| controller.read(0, (n, 0), all));
    let found: Vec<_> = (0..20).map(|now| slots(&mut controller, now)).skip(10).collect();
    assert!(found.iter().all(|slots| slots == &[6, 1]), "{found:?}");
    // Of a rate below it, only this rate comes first.
    controller.read(20, (0, 0), Request { rate: Some(Rate::from_bps(80_000)), volume: None });
    let sum: u32 = (20..40).map(|now| slots(&mut controller, now)[0]).skip(10).sum();
    assert_eq!(sum, 10);
}

/// 40 kbit/s are half a slot in each superframe: each second superframe has one. A terminal that comes up after an outage
/// begins without credit, as at the start.
#[test]
fn an_outage_ends_the_credit_of_a_constant_rate() {
    let first = Capacity { constant: Rate::from_bps(40_000), ..Capacity::default() };
    let mut controller = controller(&[Access { first, ..Access::default() }]);
    let mut next = {
        let mut now = 0;
        move |controller: &mut Controller| {
            now += 1;
            slots(controller, now - 1)[0]
        }
    };
    assert_eq!([0; 5].map(|_| next(&mut controller)), [0, 1, 0, 1, 0]);
    controller.forget(0);
    assert_eq!([0; 4].map(|_| next(&mut controller)), [0, 1, 0, 1]);
}
