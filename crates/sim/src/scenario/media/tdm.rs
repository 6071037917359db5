//! Forward carriers: checks of their keys and of the links in them.

use super::super::keys::LinkKeys;
use super::super::report::{below, path, Report};
use crate::ids::{LinkId, MediumId};
use crate::spec::{Link, MediumKind, MfTdma, Tdm};
use bentpipe_units::Duration;
use std::collections::{BTreeMap, BTreeSet};

/// Checks the keys of a carrier.
pub(super) fn check(name: &str, tdm: &Tdm, report: &mut Report<'_>) {
    let key = |key| path(["medium", name, key]);
    if tdm.symbol_rate.0 < 1.0 {
        report.value(&key("symbol_rate"), "is too small", "expected a symbol rate, like \"45 Mbaud\"");
    }
    if ![0, 3, 6].contains(&tdm.label) {
        report.value(&key("label"), "is not the size of a label", "expected \"0 B\", \"3 B\" or \"6 B\"");
    }
    if tdm.acm.every == Duration::ZERO {
        report.value(&below(&key("acm"), "every"), "is too small", "expected more than 0 s");
    }
    if tdm.modcod.is_some() && !report.is_default(&key("acm")) {
        let expected = "expected modcod for a constant one, or acm for the choice by reports";
        report.key(&key("acm"), "and modcod exclude each other", expected);
    }
}

/// Rejects keys of a link that belong to a return link.
pub(super) fn check_link(keys: &LinkKeys, at: &impl Fn(&'static str) -> Vec<String>, report: &mut Report<'_>) {
    if keys.access.is_some() {
        let message = "belongs to a return link, and the medium is a forward carrier";
        report.key(&at("access"), message, "expected a medium of kind \"mf-tdma\", or no access");
    }
}

/// Checks the name of the carrier of the plans of a return link.
pub(super) fn check_plan_over(
    name: &str,
    medium: &MfTdma,
    media: &BTreeMap<String, MediumKind>,
    report: &mut Report<'_>,
) {
    let Some(over) = &medium.plan_over else { return };
    let carriers = media.iter().filter(|(_, kind)| matches!(kind, MediumKind::Tdm(_))).map(|(name, _)| name.as_str());
    let at = path(["medium", name, "plan_over"]);
    match media.get(over) {
        Some(MediumKind::Tdm(_)) => {}
        Some(_) => {
            let hint = report.findings.guess(over, carriers);
            report.suggest(&at, "is not a forward carrier", "expected a medium of kind \"tdm\"", hint);
        }
        None => {
            let hint = report.findings.guess(over, carriers);
            report.suggest(&at, "is not a medium of this scenario", "expected a medium of kind \"tdm\"", hint);
        }
    }
}

/// Rejects a carrier of plans that reaches no terminal of the return link with these members.
pub(super) fn check_plan_way(
    (name, medium): (&str, &MfTdma),
    members: &[LinkId],
    media: &BTreeMap<String, MediumKind>,
    links: &[Link],
    report: &mut Report<'_>,
) {
    let Some(over) = &medium.plan_over else { return };
    let Some(carrier) = media.keys().position(|known| known == over).map(MediumId::new) else { return };
    let reached: BTreeSet<_> = super::members(links, carrier).map(|link| links[link].to).collect();
    if !members.iter().any(|&link| reached.contains(&links[link].from)) {
        let expected = format!("expected a link to one of its terminals with medium = \"{over}\"");
        report.value(&path(["medium", name, "plan_over"]), "reaches no terminal of this medium", &expected);
    }
}
