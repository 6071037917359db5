//! Random cells of satellites in low orbit.

use super::draw::Dice;
use bentpipe_access::RandomUse;
use bentpipe_model::ids::{MediumId, NodeId};
use bentpipe_model::spec::{
    ComingUsers, ErrorModel, Framing, LeoCell, Link, Medium, MediumKind, Others, Profile, Terminal, TerminalAccess,
    UserPoints,
};
use bentpipe_units::{Duration, Rate, Time};

/// Divides the links of the only medium among two or three that hand requests over, in every second network.
pub(super) fn divide(links: &mut [Link], media: &mut Vec<Medium>, dice: &mut Dice) {
    let [first] = media.as_mut_slice() else { return };
    if dice.coin() {
        return;
    }
    match &mut first.kind {
        MediumKind::MfTdma(keys) => keys.hands_over = true,
        MediumKind::LeoCell(keys) => keys.hands_over = true,
        MediumKind::Tdm(_) => return,
    }
    let count = *dice.pick(&[2, 3]);
    let others = (2..=count).map(|n| Medium { name: format!("m{n}"), ..first.clone() });
    let others: Vec<Medium> = others.collect();
    media.extend(others);
    for terminal in links.iter_mut().filter_map(|link| link.terminal.as_mut()) {
        terminal.medium = MediumId::new(dice.below(count as u64) as usize);
    }
}

/// Puts some of the links into a cell, and returns it. Its controller sees the queues if all links start there.
pub(super) fn share(links: &mut [Link], dice: &mut Dice) -> Vec<Medium> {
    let ms = Duration::from_millis;
    let others = match *dice.pick(&[0, 1, 2]) {
        0 => None,
        1 => Some(Others::Coming(ComingUsers {
            active: *dice.pick(&[0.0, 0.5, 3.0]),
            holding: ms(*dice.pick(&[40, 600])),
        })),
        _ => {
            let points = [0, 300, 900].map(|at| (Time::ZERO + ms(at), *dice.pick(&[0, 1, 5]))).to_vec();
            Some(Others::Points(UserPoints { points, every: dice.coin().then_some(ms(1200)) }))
        }
    };
    let cell = LeoCell {
        rate: Rate::from_bps(*dice.pick(&[500_000, 2_000_000, 20_000_000])),
        frame: *dice.pick(&[Duration::from_ps(1_333_333_333), ms(5), ms(20)]),
        slots: *dice.pick(&[1, 2, 5]),
        turn: *dice.pick(&[1, 1, 3]),
        requests: *dice.pick(&[1, 1, 4]),
        controller: "n0".to_owned(),
        control_delay: *dice.pick(&[Duration::ZERO, Duration::from_micros(500), ms(7)]),
        hands_over: false,
        others,
    };
    let is_seen = dice.coin();
    let controller = NodeId::new(0);
    for link in links.iter_mut().filter(|link| (link.from == controller) == is_seen) {
        if dice.coin() {
            continue;
        }
        let access = TerminalAccess {
            volume_based: true,
            weight: *dice.pick(&[1, 3]),
            random: Some(RandomUse::None),
            ..TerminalAccess::default()
        };
        link.terminal = Some(Box::new(Terminal { medium: MediumId::new(0), es_n0: None, access }));
        link.rate = Profile::Constant(cell.rate_alone());
        (link.coded, link.arq, link.interleave, link.framing) = (None, None, None, Framing::None);
        link.shaper = None;
        if matches!(link.error, ErrorModel::Profile { .. } | ErrorModel::Blocks { .. }) {
            link.error = ErrorModel::None;
        }
    }
    let [there, back] = [dice.ms(&[0, 3, 250]), dice.ms(&[0, 3, 250])];
    vec![Medium {
        name: "m".to_owned(),
        kind: MediumKind::LeoCell(cell),
        controller,
        there,
        back,
        beyond: Duration::ZERO,
    }]
}
