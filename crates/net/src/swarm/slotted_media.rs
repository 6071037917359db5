//! Random media of slots.

use super::draw::Dice;
use super::shared_cell;
use bentpipe_access::{BurstLength, Free, RandomUse, CLASSES};
use bentpipe_model::ids::{MediumId, NodeId};
use bentpipe_model::spec::{
    ClassAccess, ControlInterval, ErrorModel, Framing, Link, LogOn, Losses, Medium, MediumKind, MfTdma, Profile,
    RandomAccess, Repeat, Terminal, TerminalAccess,
};
use bentpipe_units::settings::Baud;
use bentpipe_units::{Duration, Rate, Time};

/// Puts some of the links into a medium, and returns it.
pub(super) fn share(links: &mut [Link], dice: &mut Dice) -> Vec<Medium> {
    if dice.coin() {
        return shared_cell::share(links, dice);
    }
    let random =
        dice.coin().then(|| RandomAccess { carriers: 1, copies: *dice.pick(&[1, 2, 3]), ..RandomAccess::default() });
    let log_on = LogOn {
        slots: 2,
        at_start: dice.coin(),
        repeat: Repeat { first: 2, most: 4 },
        after: Duration::from_millis(300),
        idle: dice.coin().then(|| Duration::from_millis(400)),
        resets: vec![Time::ZERO + Duration::from_millis(700)],
    };
    let keys = MfTdma {
        symbol_rate: Baud(*dice.pick(&[200e3, 536e3, 1e6])),
        carriers: *dice.pick(&[2, 3, 7]),
        bursts: *dice.pick(&[BurstLength::Short, BurstLength::Short, BurstLength::Tiny, BurstLength::Robust]),
        superframe: *dice.pick(&[Duration::from_millis(20), Duration::from_micros(26_500)]),
        control_interval: *dice.pick(&[ControlInterval::None, ControlInterval::Every(Duration::from_millis(300))]),
        free: *dice.pick(&[Free::None, Free::Asking, Free::All]),
        load_limit: *dice.pick(&[1.0, 1.0, 0.8]),
        log_on: dice.pick(&[None, None, Some(log_on)]).clone(),
        losses: *dice.pick(&[Losses::Step, Losses::Waterfall]),
        random,
        ..MfTdma::named("n0")
    };
    for link in links.iter_mut() {
        if dice.coin() {
            continue;
        }
        let levels = [3.0, 6.0, 9.0, 14.0];
        let es_n0 = match dice.coin() {
            true => Profile::Constant(*dice.pick(&levels)),
            false => {
                let at = |ms| Time::ZERO + Duration::from_millis(ms);
                let points = [0, 400, 900].map(|ms| (at(ms), *dice.pick(&levels))).to_vec();
                Profile::Points { points, linear: false, period: None }
            }
        };
        let uses = match random {
            Some(_) => *dice.pick(&[RandomUse::None, RandomUse::Requests, RandomUse::Data]),
            None => RandomUse::None,
        };
        let mut class = || ClassAccess {
            constant: Rate::from_bps(*dice.pick(&[0, 16_000, 64_000])),
            rate_based: Rate::from_bps(*dice.pick(&[0, 256_000])),
            guaranteed: Rate::from_bps(*dice.pick(&[0, 0, 40_000])),
            volume_based: dice.coin(),
        };
        // As many classes as the queue, or one.
        let count = link.queue.classes().filter(|count| *count <= CLASSES).unwrap_or(1);
        let classes = (0..count).map(|_| class()).collect();
        let access =
            TerminalAccess { classes, weight: *dice.pick(&[1, 3]), random: Some(uses), ..TerminalAccess::default() };
        link.terminal = Some(Box::new(Terminal { medium: MediumId::new(0), es_n0: Some(es_n0), access }));
        link.rate = Profile::Constant(Rate::from_bps(1_000_000));
        (link.coded, link.arq, link.interleave, link.framing) = (None, None, None, Framing::None);
        link.shaper = None;
        if matches!(link.error, ErrorModel::Profile { .. } | ErrorModel::Blocks { .. }) {
            link.error = ErrorModel::None;
        }
    }
    let [there, back] = [dice.ms(&[0, 5, 250]), dice.ms(&[0, 5, 250])];
    vec![Medium {
        name: "m".to_owned(),
        kind: MediumKind::MfTdma(keys),
        controller: NodeId::new(0),
        there,
        back,
        beyond: Duration::ZERO,
    }]
}
