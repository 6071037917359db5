//! Paths in slots.

use crate::report::{below, Report};
use bentpipe_model::spec::{ErrorModel, Profile, Slots, SHARES};
use bentpipe_units::{Duration, Rate};

/// Shortest slot, and shortest time for which a wait holds.
const EVERY_MIN: Duration = Duration::from_millis(10);
const HOLD_MIN: Duration = Duration::from_micros(100);
/// Largest number of waits and of slots in a run. Each wait depends on the one before it.
const WAITS_MAX: u64 = 10_000_000;
const SLOTS_MAX: u64 = 300_000;
/// Largest delay of a slot.
const DELAY_MAX: Duration = Duration::from_secs(60);

/// Reports slots that a run of this length cannot have.
pub(crate) fn check_slots(
    slots: &Slots,
    (rate, error, is_coded): (&Profile<Rate>, &ErrorModel, bool),
    run: Duration,
    report: &mut Report<'_>,
    path: &[String],
) {
    if slots.table.is_some() != slots.rows.is_empty() {
        let expected = "expected table, with the name of a bundled table, or rows";
        report.key(&below(path, "table"), "and rows: one of them is the measured slots", expected);
    }
    for (key, value, least, most) in [
        ("every", slots.every, EVERY_MIN, SLOTS_MAX),
        ("hold", slots.hold, HOLD_MIN, WAITS_MAX),
        ("burst", slots.burst, HOLD_MIN, WAITS_MAX),
    ] {
        if key == "burst" && value == Duration::ZERO {
            continue;
        }
        if value < least {
            report.value(&below(path, key), "is too short", &format!("expected at least {least}"));
        } else if run.as_ps() / value.as_ps() > most {
            let message = format!("makes more than {most} values in the run");
            report.value(&below(path, key), &message, "expected a longer one, or a shorter run");
        }
    }
    for (number, row) in slots.rows.iter().enumerate() {
        let key = below(&below(&below(path, "rows"), &number.to_string()), "wait");
        let is_long = row.wait.last().is_some_and(|last| row.base > DELAY_MAX || *last > DELAY_MAX);
        if row.wait.len() != SHARES.len() || !row.wait.is_sorted() || is_long {
            let expected = format!(
                "expected {} rising delays: those of 0, 1, 5, 25, 50, 75, 95, 99, 99.9 and 100 % of the time, up to {DELAY_MAX}",
                SHARES.len()
            );
            report.value(&key, "is not the waits of a slot", &expected);
        }
    }
    let rounds = rate.period().map_or(0, |period| run.as_ps() / period.as_ps().max(1));
    if slots.changes().1 && rounds.saturating_mul(rate.points().count() as u64) > SLOTS_MAX {
        let message = format!("has more than {SLOTS_MAX} changes, beside slots that lower the rate");
        let expected = "expected fewer changes, or slots with rate = 1";
        report.value(&below(&path[..path.len() - 1], "rate"), &message, expected);
    }
    if slots.changes().0 && *error != ErrorModel::None {
        let expected = "expected error = \"none\", or slots without losses";
        report.key(&below(&path[..path.len() - 1], "error"), "is beside slots that have losses", expected);
    }
    if slots.changes().0 && is_coded {
        let expected = "expected no coding and no interleave, or slots without losses";
        report.key(path, "has losses of packets, which a code does not repair", expected);
    }
}
