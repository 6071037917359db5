//! Random slots of links.

use super::draw::Dice;
use bentpipe_model::spec::{ErrorModel, Link, Slot, Slots};
use bentpipe_units::Duration;
use std::sync::Arc;

/// Returns slots, or none, for a link that may have them: their losses are the only errors of the link.
pub(super) fn slots(dice: &mut Dice, link: &Link) -> Option<Arc<Slots>> {
    let is_plain = link.error == ErrorModel::None && link.interleave.is_none() && link.coded.is_none();
    if !is_plain || dice.coin() {
        return None;
    }
    let rows = [0, 7].map(|base| Slot {
        base: dice.ms(&[0, 3]) + Duration::from_micros(base),
        wait: (0..10).map(|k| Duration::from_micros(k * k * 700)).collect(),
        slow: *dice.pick(&[0.0, 0.05, 0.5]),
        loss: *dice.pick(&[0.0, 0.02]),
        rate: *dice.pick(&[1.0, 0.5]),
    });
    Some(Arc::new(Slots {
        table: None,
        rows: rows.to_vec(),
        every: dice.ms(&[40, 300]),
        offset: dice.ms(&[0, 120]),
        neighbours: *dice.pick(&[1, 3]),
        hold: dice.ms(&[1, 7]),
        correlation: dice.ms(&[0, 20]),
        burst: dice.ms(&[0, 5]),
        base: dice.coin(),
    }))
}
