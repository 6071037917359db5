//! Draws forward carriers for random networks.

use super::draw::Dice;
use bentpipe_access::{Modcod, Share};
use bentpipe_model::ids::{MediumId, NodeId};
use bentpipe_model::spec::{
    ErrorModel, Framing, Link, Losses, Medium, MediumKind, Profile, Tdm, Terminal, TerminalAccess,
};
use bentpipe_units::settings::{Baud, Level};
use bentpipe_units::{Duration, Rate, Time};

/// Puts some of the links that are in no medium on a carrier.
pub(super) fn carry(links: &mut [Link], media: &mut Vec<Medium>, dice: &mut Dice) {
    let base = Tdm::of_baud(Baud(*dice.pick(&[150e3, 1e6, 6e6])));
    let mut acm = base.acm;
    (acm.every, acm.hold) = (dice.ms(&[30, 400, 1100]), *dice.pick(&[1, 3]));
    acm.margin = Level(*dice.pick(&[0.0, 1.0]));
    let tdm = Tdm {
        pilots: dice.coin(),
        label: *dice.pick(&[0, 3, 6]),
        share: *dice.pick(&[Share::Bits, Share::Time]),
        hold: dice.ms(&[0, 5, 15, 60]),
        short_frames: dice.coin(),
        acm,
        modcod: dice.coin().then(|| *dice.pick(&[Modcod::Qpsk1of2, Modcod::Apsk16x3of4])),
        losses: *dice.pick(&[Losses::Step, Losses::Waterfall]),
        ..base
    };
    let id = MediumId::new(media.len());
    for link in links.iter_mut().filter(|link| link.terminal.is_none()) {
        if dice.coin() {
            continue;
        }
        let levels = [-5.0, 2.0, 6.0, 9.0, 14.0, 18.0];
        let es_n0 = match dice.coin() {
            true => Profile::Constant(*dice.pick(&levels[1..])),
            false => {
                let at = |ms| Time::ZERO + Duration::from_millis(ms);
                let points = [0, 300, 800, 1900].map(|ms| (at(ms), *dice.pick(&levels))).to_vec();
                Profile::Points { points, linear: false, period: dice.coin().then(|| Duration::from_millis(2707)) }
            }
        };
        link.terminal = Some(Box::new(Terminal { medium: id, es_n0: Some(es_n0), access: TerminalAccess::default() }));
        link.rate = Profile::Constant(Rate::from_bps(1_000_000));
        (link.coded, link.arq, link.interleave, link.framing) = (None, None, None, Framing::None);
        link.shaper = None;
        if matches!(link.error, ErrorModel::Profile { .. } | ErrorModel::Blocks { .. }) {
            link.error = ErrorModel::None;
        }
    }
    for medium in media.iter_mut() {
        if let (MediumKind::MfTdma(keys), true) = (&mut medium.kind, dice.coin()) {
            keys.plan_over = Some("t".to_owned());
        }
    }
    let [there, back] = [Duration::ZERO; 2];
    media.push(Medium {
        name: "t".to_owned(),
        kind: MediumKind::Tdm(tdm),
        controller: NodeId::new(0),
        there,
        back,
        beyond: Duration::ZERO,
    });
}
