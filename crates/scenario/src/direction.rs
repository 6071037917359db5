//! Converts one direction of a link entry from the notation of the file to that of the engine, and back.

use super::keys::{self, DelayProfile, Errors, Jitters, LinkKeys, OutageKeys, RateProfile};
use super::media;
use super::report::{below, path, Report};
use bentpipe_model::ids::NodeId;
use bentpipe_model::spec::{Coded, Coding, Downtimes, Link, Medium, MediumKind, Outage, Profile, Signal, Terminal};
use bentpipe_units::{Duration, Rate};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Media of the file, by name.
type Media = BTreeMap<String, MediumKind>;

/// Returns both directions of the link `name`, without names and nodes. Limits of queues in bdp stay open until the
/// flows over the link are known.
pub(super) fn both(name: &str, link: &keys::Link, media: &Media, run: Duration, report: &mut Report<'_>) -> [Link; 2] {
    let mut make = |side, direction| one(|key| path(["link", name, side, key]), direction, media, run, report);
    [make("forward", &link.forward), make("reverse", &link.reverse)]
}

fn one(
    path: impl Fn(&'static str) -> Vec<String>,
    direction: &keys::Direction,
    media: &Media,
    run: Duration,
    report: &mut Report<'_>,
) -> Link {
    let keys::Direction { rate, delay, keys } = direction;
    let (terminal, alone) = media::terminal(media, direction, &path, report).unzip();
    if rate.is_none() && keys.medium.is_none() {
        let expected = "expected rate, like \"10 Mbit/s\", for the link or for each direction";
        report.key(&path("rate")[..2], "has no rate", expected);
    }
    if delay.is_none() {
        let expected = "expected delay, like \"20 ms\", for the link or for each direction";
        report.key(&path("delay")[..2], "has no delay", expected);
    }
    let (error, effect) = keys.error.meaning(report, &path("error"));
    let no_rate = Profile::Constant(alone.unwrap_or(Rate::from_bps(0)));
    let rate = rate.as_ref().map_or(no_rate, |rate| keys::rate(rate, report, &path("rate")));
    let no_delay = Profile::Constant(Duration::ZERO);
    let delay = delay.as_ref().map_or(no_delay, |delay| keys::delay(delay, report, &path("delay")));
    let jitter = keys.jitter.as_ref().map(|jitter| jitter.checked(run, report, &path("jitter")));
    if let Some(slots) = &keys.slots {
        let is_coded = keys.coding.is_some() || keys.interleave.is_some();
        keys::check_slots(slots, (&rate, &error, is_coded), run, report, &path("slots"));
    }
    keys::check_queue(&keys.queue, report, &path("queue"));
    keys::check_bucket(keys.policer, report, &path("policer"));
    keys::check_bucket(keys.shaper, report, &path("shaper"));
    let outage = keys.outage.as_ref().map(|outage| Box::new(keys::outage(outage, report, &path("outage"))));
    let mut made = Link {
        name: String::new(),
        from: NodeId::new(0),
        to: NodeId::new(0),
        rate,
        terminal: terminal.map(Box::new),
        delay,
        jitter: jitter.filter(|all| !all.is_empty()).map(Arc::new),
        slots: keys.slots.clone().map(Arc::new),
        policer: keys.policer.map(Box::new),
        shaper: keys.shaper.map(Box::new),
        queue: keys.queue.clone(),
        error,
        effect,
        interleave: keys.interleave.map(Box::new),
        coded: None,
        arq: keys.arq,
        framing: keys.framing,
        mtu: keys.mtu,
        outage,
    };
    if let (Some(coding), true) = (&keys.coding, report.findings.found.is_empty()) {
        encode(&mut made, coding.clone(), run, report, &path("coding"));
    }
    keys::check_framing(made.framing, report, &path("framing"));
    if let Some(mtu) = made.mtu {
        keys::check_mtu(mtu, report, &path("mtu"));
    }
    if let Some(interleave) = &made.interleave {
        keys::check_interleave(**interleave, &made.error, report, &path("interleave"));
    }
    made
}

/// Replaces rate and errors by those of the coded link.
fn encode(link: &mut Link, coding: Coding, run: Duration, report: &mut Report<'_>, path: &[String]) {
    let (rate, delay, error) = (link.rate.clone(), link.delay.clone(), link.error.clone());
    let coded = Coded { coding, rate, delay, error };
    match coded.meets(link.interleave.is_some(), run) {
        Ok(meets) => (link.rate, link.delay, link.error) = (meets.rate, meets.delay, meets.error),
        Err((key, message, expected)) => report.value(&below(path, key), &message, &expected),
    }
    link.coded = Some(Box::new(coded));
}

/// Returns the keys of a direction.
pub(super) fn written(link: &Link, media: &[Medium]) -> keys::Direction {
    let (rate, delay, error) = match link.coded.as_deref() {
        Some(coded) => (&coded.rate, &coded.delay, &coded.error),
        None => (&link.rate, &link.delay, &link.error),
    };
    let terminal: Option<&Terminal> = link.terminal.as_deref();
    keys::Direction {
        rate: Some(RateProfile::of(rate)).filter(|_| terminal.is_none()),
        delay: Some(DelayProfile::of(delay)),
        keys: LinkKeys {
            medium: terminal.map(|of| media[of.medium].name.clone()),
            access: terminal.filter(|of| media[of.medium].kind.has_access()).map(|of| of.access.clone()),
            es_n0: terminal.and_then(|of| of.es_n0.as_ref()).map(Signal::of),
            jitter: link.jitter.as_deref().and_then(|all| Jitters::of(all)),
            slots: link.slots.as_deref().cloned(),
            policer: link.policer.as_deref().copied(),
            shaper: link.shaper.as_deref().copied(),
            queue: link.queue.clone(),
            error: Errors::of(error, link.effect),
            interleave: link.interleave.as_deref().copied(),
            coding: link.coded.as_ref().map(|coded| coded.coding.clone()),
            arq: link.arq,
            framing: link.framing,
            mtu: link.mtu,
            outage: link.outage.as_deref().map(OutageKeys::of),
        },
    }
}

/// Returns the number of points, spans and indices of a direction.
pub(super) fn entries(link: &Link) -> usize {
    let spans = match link.outage.as_deref() {
        Some(Outage { when: Downtimes::Spans { spans, .. }, .. }) => spans.len(),
        _ => 0,
    };
    let signal = link.terminal.as_ref().and_then(|of| of.es_n0.as_ref()).map_or(0, |signal| signal.values().count());
    signal
        + link.rate.values().count()
        + link.delay.values().count()
        + link.queue.entries()
        + spans
        + link.error.entries()
        + link.slots.as_ref().map_or(0, |slots| slots.rows.len())
}
