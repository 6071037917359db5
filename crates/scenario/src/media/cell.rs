//! Cells of satellites in low orbit: checks their keys, and those of the links in them.

use super::super::keys::{self, LinkKeys};
use super::super::report::{below, path, Report};
use super::super::trace;
use super::ROUND_MAX;
use bentpipe_access::RandomUse;
use bentpipe_model::ids::{LinkId, MediumId};
use bentpipe_model::spec::{
    ComingUsers, LeoCell, Link, Medium, MediumKind, Others, Profile, Terminal, TerminalAccess, UserPoints,
    CONTROL_DELAY,
};
use bentpipe_units::{Duration, Rate};

/// Shortest frame, and shortest mean stay of other users: they bound the events of a second.
const FRAME_MIN: Duration = Duration::from_micros(100);
const HOLDING_MIN: Duration = Duration::from_millis(1);
/// Smallest slot in bytes: a part of a packet and its header.
const SLOT_MIN: u32 = 16;
/// Largest number of other users at a time.
const USERS_MAX: u32 = 10_000;

/// Returns the part of a link in a cell.
pub(super) fn terminal(
    medium: MediumId,
    keys: &LinkKeys,
    at: impl Fn(&'static str) -> Vec<String>,
    report: &mut Report<'_>,
) -> Terminal {
    if keys.es_n0.is_some() {
        report.key(&at("es_n0"), "has no effect in a cell, which has one rate", "expected medium without es_n0");
    }
    let written = keys.access.clone().unwrap_or_default();
    let none = Rate::from_bps(0);
    for (is_there, key) in [
        (written.constant > none, "constant"),
        (written.rate_based > none, "rate_based"),
        (written.guaranteed > none, "guaranteed"),
        (!written.classes.is_empty(), "class"),
        (written.random.is_some_and(|random| random != RandomUse::None), "random"),
    ] {
        if is_there {
            let message = "has no effect in a cell, which grants volumes on request";
            report.value(&below(&at("access"), key), message, "expected weight in access, or no access");
        }
    }
    let access = TerminalAccess {
        volume_based: true,
        weight: written.weight,
        random: Some(RandomUse::None),
        ..TerminalAccess::default()
    };
    Terminal { medium, es_n0: None, access }
}

/// Checks the keys of a cell.
pub(super) fn check(name: &str, cell: &LeoCell, report: &mut Report<'_>) {
    let key = |key| path(["medium", name, key]);
    if cell.frame < FRAME_MIN {
        report.value(&key("frame"), "is too short", &format!("expected at least {FRAME_MIN}"));
    } else if cell.payload() < SLOT_MIN {
        let message = format!("gives a slot {} B", cell.payload());
        let expected = format!("expected at least {SLOT_MIN} B: a higher rate, a longer frame or fewer slots");
        report.value(&key("rate"), &message, &expected);
    }
    if let Some(Others::Coming(ComingUsers { holding, .. })) = &cell.others {
        if *holding < HOLDING_MIN {
            let expected = format!("expected at least {HOLDING_MIN}");
            report.value(&below(&key("others"), "holding"), "is too short", &expected);
        }
    }
}

/// Checks a cell with its links, and returns it with the content of its file.
pub(super) fn settled(medium: Medium, links: &[Link], members: &[LinkId], report: &mut Report<'_>) -> Option<Medium> {
    let MediumKind::LeoCell(mut cell) = medium.kind.clone() else { return Some(medium) };
    let name = medium.name.clone();
    let key = |key| path(["medium", &name, key]);
    let other = members.iter().map(|&link| &links[link]).find(|link| link.from != medium.controller);
    let is_seen = |&link: &LinkId| links[link].from == medium.controller;
    if let Some(other) = other.filter(|_| members.iter().any(is_seen)) {
        let other = &other.name;
        let message = format!("has links from its controller, and \"{other}\" from another node");
        report.key(&path(["medium", &name]), &message, "expected one medium per direction");
        return None;
    }
    let is_downward = other.is_none();
    if is_downward && cell.control_delay != CONTROL_DELAY {
        let message = "has no effect: the links start at the controller, and send no requests";
        report.value(&key("control_delay"), message, "expected links to the controller, or no control_delay");
    }
    if is_downward && cell.requests > 1 {
        let message = "has no effect: the links start at the controller, and send no requests";
        report.value(&key("requests"), message, "expected links to the controller, or no requests");
    }
    let frames = |span: Duration| span.as_ps() / cell.frame.as_ps().max(1);
    let round = frames(medium.there).saturating_add(frames(medium.back)).saturating_add(frames(cell.control_delay));
    if !is_downward && round > ROUND_MAX {
        let message = format!("is {round} frames away from the links");
        report.value(&key("controller"), &message, &format!("expected at most {ROUND_MAX}; shorten the delays"));
        return None;
    }
    cell.others = match &cell.others {
        None => None,
        Some(others) => Some(users(others, &key("others"), report)?),
    };
    Some(Medium { kind: MediumKind::LeoCell(cell), ..medium })
}

/// Reads and checks the number of other users.
fn users(others: &Others, key: &[String], report: &mut Report<'_>) -> Option<Others> {
    let (points, every) = match others {
        Others::Coming(_) => return Some(others.clone()),
        Others::Points(UserPoints { points, every }) => (points.clone(), *every),
        Others::Trace(file) => (trace::counts(&file.file, file.column.as_deref(), report, key), file.every),
    };
    if points.is_empty() {
        return None;
    }
    if let Some((at, most)) = points.iter().find(|(_, count)| *count > USERS_MAX) {
        let expected = format!("expected at most {USERS_MAX} users");
        report.value(&below(key, "points"), &format!("has {most} users at {at}"), &expected);
        return None;
    }
    let profile = Profile::Points { points, linear: false, period: every };
    keys::check_points(&profile, report, key);
    let Profile::Points { points, .. } = profile else { return None };
    Some(Others::Points(UserPoints { points, every }))
}

#[cfg(test)]
mod tests {
    use crate::{from_toml, Resolved};
    use bentpipe_model::spec::{MediumKind, Others, Queue, QueueLimit};

    const TEXT: &str = r#"
duration = "10 s"
[medium.down]
kind = "leo-cell"
rate = "300 Mbit/s"
controller = "satellite"
[medium.up]
kind = "leo-cell"
rate = "30 Mbit/s"
controller = "satellite"
others = { active = 4, holding = "2 s" }
[link.user]
from = "satellite"
to = "home{n}"
count = 2
delay = "3 ms"
queue = "1 bdp"
forward.medium = "down"
reverse.medium = "up"
[link.feeder]
from = "gateway"
to = "satellite"
rate = "1 Gbit/s"
delay = "3 ms"
[flow.f]
from = "home{n}"
to = "gateway"
count = 2
"#;

    /// Overrides: key and value.
    type Sets<'a> = &'a [(&'a str, &'a str)];

    fn with(sets: Sets<'_>) -> Result<Resolved, String> {
        let sets: Vec<_> = sets.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        from_toml(TEXT, "m.toml", &sets).map_err(|problems| problems.to_string())
    }

    #[test]
    fn what_is_read_is_written_back() {
        let turns = &[("medium.up.turn", "8"), ("medium.up.requests", "4")];
        for sets in [&[][..], turns, &[("medium.up.others", "{ points = [['0 s', 3], ['2 s', 0]], every = '5 s' }")]] {
            let resolved = with(sets).unwrap();
            let text = resolved.to_toml();
            let again = from_toml(&text, "again", &[]).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
            assert_eq!(again.scenario.media, resolved.scenario.media);
            assert_eq!(again.scenario.links, resolved.scenario.links);
            assert_eq!(again.digest(), resolved.digest());
            let way = |of: usize| {
                let medium = &resolved.scenario.media[of];
                [medium.there, medium.back].map(|time| time.to_string())
            };
            assert_eq!(way(1), ["3 ms", "3 ms"]);
        }
    }

    #[test]
    fn contradictions_are_refused_where_they_are() {
        let reverse = "link.user.reverse";
        let own = |key: &str| format!("{reverse}.{key}");
        let cases = [
            (own("rate"), "'1 Mbit/s'", "link.user.reverse.rate excludes medium", "rate or medium"),
            (own("es_n0"), "'9 dB'", "link.user.reverse.es_n0 has no effect in a cell", "medium without es_n0"),
            (
                own("access"),
                "{ constant = '1 Mbit/s' }",
                "access.constant = \"1 Mbit/s\" has no effect in a cell",
                "weight",
            ),
            (own("access"), "{ rate_based = '1 Mbit/s' }", "access.rate_based = \"1 Mbit/s\" has no", "weight"),
            (own("access"), "{ random = 'data' }", "access.random = \"data\" has no effect in a cell", "weight"),
            (own("medium"), "'upp'", "link.user.reverse.medium = \"upp\" is not a medium", "did you mean \"up\""),
            (
                "medium.up.controller".into(),
                "'satellites'",
                "\"satellites\" is not a node",
                "did you mean \"satellite\"",
            ),
            (own("medium"), "'down'", "medium.down has links from its controller", "one medium per direction"),
            (
                "medium.down.control_delay".into(),
                "'1 ms'",
                "medium.down.control_delay = \"1 ms\" has no effect",
                "links to the controller",
            ),
            ("medium.down.requests".into(), "8", "medium.down.requests = 8 has no effect", "links to the controller"),
            ("medium.up.frame".into(), "'1 us'", "medium.up.frame = \"1 us\" is too short", "at least 100 us"),
            ("medium.up.rate".into(), "'1 Mbit/s'", "medium.up.rate = \"1 Mbit/s\" gives a slot 13 B", "16 B"),
            (
                "medium.up.others.holding".into(),
                "'1 us'",
                "medium.up.others.holding = \"1 us\" is too short",
                "at least 1 ms",
            ),
            ("medium.up.others".into(), "{ points = [['1 s', 3]] }", "does not begin at the start of the run", "0 s"),
            (
                "medium.up.others".into(),
                "{ points = [['0 s', 30000]] }",
                "has 30000 users at 0 s",
                "at most 10000 users",
            ),
            ("link.user.delay".into(), "'1 h'", "frames away from the links", "at most 100000"),
        ];
        for (key, value, message, expected) in cases {
            let said = with(&[(&key, value)]).expect_err(message);
            assert!(said.contains(message) && said.contains(expected), "{key} = {value}\n{said}");
        }
    }

    /// 12 slots of 4166 B in 4/3 ms are 299.952 Mbit/s, and the round trip is 12 ms.
    #[test]
    fn a_bdp_is_that_of_the_whole_cell() {
        let resolved = with(&[]).unwrap();
        let link = resolved.scenario.links.iter().find(|link| link.name == "user1.forward").unwrap();
        let Queue::DropTail { limit: QueueLimit::Bytes(bytes) } = link.queue else { panic!("{:?}", link.queue) };
        assert!((bytes as f64 / (299.952e6 * 0.012 / 8.0) - 1.0).abs() < 1e-4, "{bytes}");
        // In one of five frames, 59.990 Mbit/s.
        let turns = with(&[("medium.down.turn", "5")]).unwrap();
        let MediumKind::LeoCell(cell) = &turns.scenario.media[0].kind else { panic!() };
        assert_eq!(cell.rate_alone().as_bps(), 59_990_400);
        let MediumKind::LeoCell(cell) = &resolved.scenario.media[1].kind else { panic!() };
        assert!(matches!(cell.others, Some(Others::Coming(_))));
    }
}
