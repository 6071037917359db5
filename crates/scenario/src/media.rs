//! Media and the links in them: converts the keys, computes propagation to the controllers, rejects contradictions.

mod access;
mod cell;
mod senders;
mod targets;
mod tdm;
#[cfg(test)]
mod tests;

pub(super) use targets::follow_grants;

use super::instances::Instance;
use super::keys::{self, File};
use super::report::{below, path, Report};
use super::route::Graph;
use bentpipe_access::RandomUse;
use bentpipe_model::ids::{LinkId, MediumId, NodeId};
use bentpipe_model::spec::{Framing, Link, Medium, MediumKind, MfTdma, Terminal, TerminalAccess};
use bentpipe_units::settings::Level;
use bentpipe_units::{Duration, Rate};
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of superframes from a request to its grant: their plans are in memory.
const ROUND_MAX: u64 = 100_000;

/// Returns the part of a link direction in its medium, with the rate that it could have alone.
pub(super) fn terminal(
    media: &BTreeMap<String, MediumKind>,
    direction: &keys::Direction,
    at: impl Fn(&'static str) -> Vec<String>,
    report: &mut Report<'_>,
) -> Option<(Terminal, Rate)> {
    let keys = &direction.keys;
    let Some(name) = &keys.medium else {
        for (is_there, key) in [(keys.access.is_some(), "access"), (keys.es_n0.is_some(), "es_n0")] {
            if is_there {
                report.key(&at(key), "has no effect without a medium", "expected medium beside it, like \"up\"");
            }
        }
        return None;
    };
    let Some((index, (_, kind))) = media.iter().enumerate().find(|(_, (known, _))| *known == name) else {
        let hint = report.findings.guess(name, media.keys().map(String::as_str));
        report.suggest(&at("medium"), "is not a medium of this scenario", "expected the name of a medium", hint);
        return None;
    };
    refuse_own_transmission(direction, &at, report);
    if let MediumKind::LeoCell(cell) = kind {
        return Some((cell::terminal(MediumId::new(index), keys, at, report), cell.rate_alone()));
    }
    let es_n0 = match keys.es_n0.as_ref().map(|signal| signal.profile("es_n0")) {
        Some(Ok(profile)) => profile,
        Some(Err((_, message, expected))) => {
            report.value(&at("es_n0"), &message, &expected);
            return None;
        }
        None => {
            report.key(&at("medium"), "needs the signal of the link", "expected es_n0 beside it, like \"9 dB\"");
            return None;
        }
    };
    let medium = match kind {
        MediumKind::MfTdma(medium) => medium,
        MediumKind::Tdm(carrier) => {
            tdm::check_link(keys, &at, report);
            let alone = carrier.rate_alone(&es_n0);
            let access = TerminalAccess::default();
            return Some((Terminal { medium: MediumId::new(index), es_n0: Some(es_n0), access }, alone));
        }
        MediumKind::LeoCell(_) => return None,
    };
    let written = keys.access.clone().unwrap_or_default();
    let of_medium = if medium.random.is_some() { RandomUse::Requests } else { RandomUse::None };
    let access = TerminalAccess { random: Some(written.random.unwrap_or(of_medium)), ..written };
    access::check((name, medium), &access, &es_n0, &at("access"), report);
    access::check_classes(medium, &access, &direction.keys, &at, report);
    let alone = medium.rate_alone(&es_n0, &access);
    Some((Terminal { medium: MediumId::new(index), es_n0: Some(es_n0), access }, alone))
}

/// Rejects keys of a link that its medium decides.
fn refuse_own_transmission(
    direction: &keys::Direction,
    at: &impl Fn(&'static str) -> Vec<String>,
    report: &mut Report<'_>,
) {
    let keys = &direction.keys;
    let own = [
        (direction.rate.is_some(), "rate", "the medium grants it"),
        (keys.coding.is_some(), "coding", "the medium has its own code"),
        (keys.framing != Framing::None, "framing", "the medium has its own headers"),
        (keys.interleave.is_some(), "interleave", "bursts and frames of the medium are coded one by one"),
        (keys.arq.is_some(), "arq", "the medium retransmits no bursts and frames"),
        (keys.shaper.is_some(), "shaper", "the medium decides when the link sends; shape the link before it"),
    ];
    for (_, key, why) in own.into_iter().filter(|(is_there, ..)| *is_there) {
        report.key(&at(key), &format!("excludes medium: {why}"), &format!("expected {key} or medium, not both"));
    }
}

/// Checks the keys of each medium.
pub(super) fn check(media: &BTreeMap<String, MediumKind>, report: &mut Report<'_>) {
    for (name, kind) in media {
        let medium = match kind {
            MediumKind::MfTdma(medium) => medium,
            MediumKind::Tdm(carrier) => {
                tdm::check(name, carrier, report);
                continue;
            }
            MediumKind::LeoCell(of) => {
                cell::check(name, of, report);
                continue;
            }
        };
        tdm::check_plan_over(name, medium, media, report);
        let key = |key| path(["medium", name, key]);
        if medium.symbol_rate.0 < 1.0 {
            report.value(&key("symbol_rate"), "is too small", "expected a symbol rate, like \"1 Mbaud\"");
            continue;
        }
        let burst = Duration::from_secs_f64(medium.bursts.symbols() as f64 / medium.symbol_rate.0);
        let slots = medium.grid().slots();
        if slots == 0 {
            let expected = format!("expected at least {burst}, the length of a burst");
            report.value(&key("superframe"), "is shorter than one burst", &expected);
            continue;
        }
        for (is_zero, of) in [
            (medium.evaluation == Duration::ZERO, "evaluation"),
            (medium.drain == Duration::ZERO, "drain"),
            (medium.control_interval.every() == Some(Duration::ZERO), "control_interval"),
        ] {
            if is_zero {
                report.value(&key(of), "is too small", "expected more than 0 s");
            }
        }
        if medium.evaluation.as_ps() / medium.superframe.as_ps() > ROUND_MAX {
            let expected = format!("expected at most {}, {ROUND_MAX} superframes", medium.superframe * ROUND_MAX);
            report.value(&key("evaluation"), "is too long", &expected);
        }
        check_levels([medium.acm.margin, medium.acm.hysteresis], &key("acm"), report);
        check_waveform(medium, &key, report);
        if medium.data_slots() == 0 {
            let message = "leaves no slot for plans";
            report.key(
                &path(["medium", name]),
                message,
                "expected more carriers, a higher load_limit, or fewer log-on slots",
            );
        }
        if let Some(log_on) = &medium.log_on {
            if log_on.resets.windows(2).any(|pair| pair[0] >= pair[1]) {
                report.value(
                    &below(&key("log_on"), "resets"),
                    "is not rising",
                    "expected instants in order, each once",
                );
            }
        }
        let Some(random) = medium.random else { continue };
        let random_key = key("random");
        if random.carriers >= medium.carriers {
            let expected = format!("expected fewer than carriers, {}", medium.carriers);
            report.key(&below(&random_key, "carriers"), "leaves no carrier for grants", &expected);
        }
        let block = u64::from(random.carriers) * u64::from(slots);
        if u64::from(random.copies) > block {
            let message = format!("is above the slots of a block, {block}");
            report.key(&below(&random_key, "copies"), &message, "expected fewer copies or more carriers");
        }
    }
}

/// Rejects margins below 0 dB, with which all bursts and frames are lost.
fn check_levels([margin, hysteresis]: [Level; 2], acm: &[String], report: &mut Report<'_>) {
    for (level, key) in [(margin, "margin"), (hysteresis, "hysteresis")] {
        if level.0 < 0.0 {
            let message = "is negative, so the choice would need more signal than there is";
            report.value(&below(acm, key), message, "expected at least 0 dB, like \"1 dB\"");
        }
    }
}

/// Checks a constant waveform: it has the length of the bursts, and excludes adaptation.
fn check_waveform(medium: &MfTdma, key: &impl Fn(&'static str) -> Vec<String>, report: &mut Report<'_>) {
    let Some(number) = medium.waveform else { return };
    if bentpipe_access::Waveform::numbered(number).is_none_or(|waveform| waveform.length() != medium.bursts) {
        let all: Vec<String> = bentpipe_access::Waveform::all(medium.bursts).map(|of| of.id().to_string()).collect();
        report.value(&key("waveform"), "has bursts of another length", &format!("expected one of {}", all.join(", ")));
    }
    if !report.is_default(&key("acm")) {
        let expected = "expected waveform for a constant one, or acm for the choice by the signal";
        report.key(&key("acm"), "and waveform exclude each other", expected);
    }
}

/// Returns the media, with the propagation between their terminals and controllers.
pub(super) fn resolve(
    file: &File,
    links: &[Link],
    instances: &[Instance<'_>],
    nodes: &BTreeMap<&str, NodeId>,
    report: &mut Report<'_>,
) -> Vec<Medium> {
    let graph = Graph::new(nodes.len(), links);
    let mut media = Vec::new();
    for (id, (name, kind)) in MediumId::all(file.medium.len()).zip(&file.medium) {
        let members: Vec<LinkId> = members(links, id).collect();
        if members.is_empty() {
            let message = "is not used by any link";
            report.key(&path(["medium", name]), message, &format!("expected a link with medium = \"{name}\""));
            continue;
        }
        let Some(written) = kind.controller() else {
            let [there, back, beyond] = [Duration::ZERO; 3];
            let controller = links[members[0]].from;
            if !senders::check((name, kind), controller, &members, links, report) {
                continue;
            }
            media.push(Medium { name: name.clone(), kind: kind.clone(), controller, there, back, beyond });
            continue;
        };
        if let MediumKind::MfTdma(keys) = kind {
            tdm::check_plan_way((name, keys), &members, &file.medium, links, report);
        }
        let Some(&controller) = nodes.get(written) else {
            let hint = report.findings.guess(written, nodes.keys().copied());
            let expected = "expected the node that reads requests, like the gateway";
            report.suggest(&path(["medium", name, "controller"]), "is not a node", expected, hint);
            continue;
        };
        if !senders::check((name, kind), controller, &members, links, report) {
            continue;
        }
        if let MediumKind::MfTdma(keys) = kind {
            access::check_sums((name, keys), &members, links, report);
        }
        let [mut there, mut back, mut beyond] = [Duration::ZERO; 3];
        let way = longest(&graph, links, controller, &members);
        for &link in &members {
            let spec = &links[link];
            let (to, from) = (way(spec.to, controller), way(controller, spec.from));
            let (Some(to), Some(from)) = (to, from) else {
                let entry =
                    instances.iter().find(|made| spec.name.rsplit_once('.').is_some_and(|(n, _)| n == made.name));
                let entry = entry.map_or(spec.name.as_str(), |made| made.entry);
                let side = if to.is_none() { "to" } else { "from" };
                let message = format!("has no way {side} the controller \"{written}\" of medium \"{name}\"");
                let expected = "expected links that join terminal and controller both ways";
                report.key(&path(["link", entry]), &message, expected);
                break;
            };
            there = there.max(spec.delay_max() + to);
            back = back.max(from);
            beyond = beyond.max(to + way(controller, spec.to).unwrap_or_default());
        }
        let medium = Medium { name: name.clone(), kind: kind.clone(), controller, there, back, beyond };
        if let MediumKind::MfTdma(keys) = kind {
            check_round(&medium, keys, report);
        }
        media.extend(cell::settled(medium, links, &members, report));
    }
    note_hand_overs(file, links, report);
    media
}

/// Notes media in which `hands_over` has no effect, because their nodes have links in no other medium with this key. All
/// in one note.
fn note_hand_overs(file: &File, links: &[Link], report: &mut Report<'_>) {
    let media: Vec<_> = file.medium.iter().collect();
    let mut nodes: BTreeMap<usize, BTreeSet<NodeId>> = BTreeMap::new();
    for link in links {
        let medium = link.terminal.as_ref().map(|terminal| terminal.medium.index());
        if let Some(medium) = medium.filter(|&medium| media[medium].1.hands_over()) {
            nodes.entry(medium).or_default().insert(link.from);
        }
    }
    let mut media_of: BTreeMap<NodeId, usize> = BTreeMap::new();
    nodes.values().flatten().for_each(|&node| *media_of.entry(node).or_default() += 1);
    let mut alone = nodes.iter().filter(|(_, nodes)| nodes.iter().all(|node| media_of[node] == 1));
    let Some((&first, _)) = alone.next() else { return };
    let name = media[first].0;
    // A medium over the sky is one for each satellite here.
    let more = match alone.count() {
        0 => String::new(),
        count => format!(" (and {count} more)"),
    };
    let note = format!("medium.{name}.hands_over{more} has no effect: its nodes have links in no other medium with it");
    report.findings.notes.push(note);
}

/// Returns the links of a medium, in order.
fn members(links: &[Link], medium: MediumId) -> impl Iterator<Item = LinkId> + '_ {
    LinkId::all(links.len()).filter(move |&link| links[link].terminal.as_ref().is_some_and(|of| of.medium == medium))
}

/// Returns the largest propagation on the shortest ways between the ends of these links and a controller, by pairs of nodes.
/// Costs one search per start of a way.
fn longest(
    graph: &Graph<'_>,
    links: &[Link],
    controller: NodeId,
    members: &[LinkId],
) -> impl Fn(NodeId, NodeId) -> Option<Duration> {
    let ends = members.iter().map(|&link| [links[link].from, links[link].to]);
    let pairs: BTreeSet<(NodeId, NodeId)> =
        ends.flat_map(|[from, to]| [(to, controller), (controller, from), (controller, to)]).collect();
    let pairs: Vec<_> = pairs.into_iter().filter(|(from, to)| from != to).collect();
    let mut found = BTreeMap::new();
    for pairs in pairs.chunk_by(|one, next| one.0 == next.0) {
        let ways = graph.shortest(pairs).unwrap_or_default();
        for (pair, way) in pairs.iter().zip(ways) {
            let sum =
                |way: Vec<LinkId>| way.into_iter().fold(Duration::ZERO, |sum, link| sum + links[link].delay_max());
            found.extend(way.map(|way| (*pair, sum(way))));
        }
    }
    move |from, to| if from == to { Some(Duration::ZERO) } else { found.get(&(from, to)).copied() }
}

/// Rejects a return link whose plans on the way would take too much memory.
fn check_round(medium: &Medium, keys: &MfTdma, report: &mut Report<'_>) {
    let superframes = |span: Duration| span.as_ps() / keys.superframe.as_ps().max(1);
    let round = [medium.there, medium.back, keys.control_delay].map(superframes);
    let round = round.into_iter().fold(0, u64::saturating_add);
    if round > ROUND_MAX {
        let message = format!("makes a grant come {round} superframes after its request");
        let expected = format!("expected at most {ROUND_MAX}; lengthen the superframe or shorten the delays");
        report.value(&path(["medium", &medium.name, "superframe"]), &message, &expected);
    }
}
