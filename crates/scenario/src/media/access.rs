//! Access of terminals to a return link: rejects capacity that the link does not have, and classes without a queue.

use super::super::keys::LinkKeys;
use super::super::report::{below, path, Report};
use bentpipe_access::{Free, RandomUse};
use bentpipe_model::ids::LinkId;
use bentpipe_model::spec::{ClassAccess, Link, MfTdma, Profile, TerminalAccess};
use bentpipe_units::Rate;

const NONE: Rate = Rate::from_bps(0);

/// Checks the access of a terminal with this signal.
pub(super) fn check(
    (name, medium): (&str, &MfTdma),
    access: &TerminalAccess,
    es_n0: &Profile<f64>,
    at: &[String],
    report: &mut Report<'_>,
) {
    let uses = access.random.unwrap_or(RandomUse::None);
    if uses != RandomUse::None && medium.random.is_none() {
        let expected = format!("expected random in medium.{name}, like {{ carriers = 1 }}, or random = \"none\"");
        report.value(&below(at, "random"), "uses random access, which the medium does not have", &expected);
    }
    let constant = access.sum(|class| class.constant);
    if constant == NONE && !access.asks() && medium.free == Free::None && uses != RandomUse::Data {
        let expected = "expected constant, rate_based or volume_based in access, like { constant = \"64 kbit/s\" }";
        report.key(at, "brings no slot", expected);
        return;
    }
    let has_slots = constant > NONE || medium.free == Free::All;
    let every = medium.control_interval.every();
    if access.asks() && every.is_none() && uses == RandomUse::None && !has_slots {
        let expected = format!("expected control_interval or random in medium.{name}, or constant beside it");
        report.key(at, "has no way for a request", &expected);
    }
    let lapses = every.filter(|every| uses == RandomUse::None && medium.persistence <= *every && !has_slots);
    let own = (access.classes.is_empty(), access.request_classes());
    for (number, class) in own.1.iter().enumerate() {
        let key = |key: &str| match own.0 {
            true => below(at, key),
            false => below(&below(&below(at, "class"), &number.to_string()), key),
        };
        check_class(class, &key, report);
        if let Some(every) = lapses.filter(|_| class.rate_based > class.constant) {
            let expected = format!("expected medium.{name}.persistence above its control_interval, {every}");
            report.value(&key("rate_based"), "would lapse between two requests", &expected);
        }
    }
    check_carrier(medium, access, es_n0, at, report);
}

/// Checks the rates of a class against each other.
fn check_class(class: &ClassAccess, key: &impl Fn(&str) -> Vec<String>, report: &mut Report<'_>) {
    if class.rate_based > NONE && class.constant > class.rate_based {
        let expected = format!("expected at most rate_based, {}, which includes it", class.rate_based);
        report.value(&key("constant"), "is above rate_based", &expected);
    }
    let limit = Rate::from_bps(class.rate_based.as_bps().saturating_sub(class.constant.as_bps()));
    if class.guaranteed > limit {
        let expected = format!("expected at most {limit}, the largest rate that it asks for");
        report.value(&key("guaranteed"), "is above rate_based less constant", &expected);
    }
}

/// Rejects constant and guaranteed rates that one carrier does not have, and notes a limit that it never reaches.
fn check_carrier(
    medium: &MfTdma,
    access: &TerminalAccess,
    es_n0: &Profile<f64>,
    at: &[String],
    report: &mut Report<'_>,
) {
    let start = es_n0.values().next().unwrap_or(f64::NEG_INFINITY);
    let fits = medium.waveform_for(start).map_or(NONE, |waveform| medium.carrier_rate(waveform));
    let sure = access.sum(sure);
    if sure > fits {
        let message = "is above one carrier, the most that a terminal can send";
        let expected = format!("expected at most {fits}, with the signal at 0 s");
        let key =
            if access.classes.is_empty() && access.guaranteed == NONE { below(at, "constant") } else { at.to_vec() };
        report.value(&key, message, &expected);
    }
    let best = es_n0.values().fold(f64::NEG_INFINITY, f64::max);
    let most = medium.waveform_for(best).map_or(NONE, |waveform| medium.carrier_rate(waveform));
    let limit = access.request_classes().iter().map(|class| class.rate_based).max().unwrap_or(NONE);
    if limit > most && sure <= fits {
        let key = at.join(".");
        let dot = if access.classes.is_empty() { ".rate_based" } else { ".class" };
        let note = format!("{key}{dot} = {limit}: one carrier has {most} in the best waveform of its signal");
        report.findings.notes.push(note);
    }
}

/// Returns the rate that a class is sure to get: the constant one, and the guaranteed part of its requests.
fn sure(class: &ClassAccess) -> Rate {
    Rate::from_bps(class.constant.as_bps() + class.guaranteed.as_bps())
}

/// Checks that a terminal with request classes has a queue with as many.
pub(super) fn check_classes(
    medium: &MfTdma,
    access: &TerminalAccess,
    link: &LinkKeys,
    at: &impl Fn(&'static str) -> Vec<String>,
    report: &mut Report<'_>,
) {
    let count = access.classes.len();
    if count == 0 {
        return;
    }
    let class = below(&at("access"), "class");
    let &TerminalAccess { constant, rate_based, guaranteed, volume_based, .. } = access;
    if [constant, rate_based, guaranteed].iter().any(|rate| *rate > NONE) || volume_based {
        let expected = "expected constant, rate_based, guaranteed and volume_based in each class, or no class";
        report.key(&class, "excludes capacity of the whole terminal", expected);
    }
    if medium.hands_over && count > 1 {
        let expected = "expected one class, or hands_over = false in the medium";
        report.key(&class, "excludes hands_over, which moves one request per terminal", expected);
    }
    if link.queue.classes().unwrap_or(1) != count {
        let message = format!("has {count} classes, and the queue has another number");
        let each = vec!["{}"; count].join(", ");
        report.key(
            &class,
            &message,
            &format!("expected queue = {{ kind = \"priority\", class = [{each}] }} beside it"),
        );
    }
}

/// Rejects a medium whose constant and guaranteed rates together exceed it: the admission of terminals.
pub(super) fn check_sums((name, medium): (&str, &MfTdma), members: &[LinkId], links: &[Link], report: &mut Report<'_>) {
    let second = medium.superframe.as_secs_f64();
    let slots = |link: &LinkId| {
        let terminal = links[*link].terminal.as_ref()?;
        let waveform = medium.waveform_for(terminal.es_n0.as_ref()?.values().next()?)?;
        Some(terminal.access.sum(sure).as_bps() as f64 * second / f64::from(8 * waveform.payload()))
    };
    let wanted: f64 = members.iter().filter_map(slots).sum();
    let most = medium.data_slots() as f64;
    if wanted > most {
        let message =
            format!("grants {wanted:.1} slots a superframe as constant and guaranteed rates, and has {most:.0}");
        let expected = "expected lower constant or guaranteed rates, fewer terminals or more carriers";
        report.key(&path(["medium", name]), &message, expected);
    }
}
