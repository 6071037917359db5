//! Forward carriers: checks of their keys and of the links in them.

use super::super::keys::LinkKeys;
use super::super::report::{below, path, Report};
use bentpipe_model::ids::{LinkId, MediumId};
use bentpipe_model::spec::{Link, MediumKind, MfTdma, Tdm};
use bentpipe_units::Duration;
use std::collections::{BTreeMap, BTreeSet};

/// Shortest time between two measurements: it bounds the reports on their way, and the events of a second.
const EVERY_MIN: Duration = Duration::from_micros(100);

/// Checks the keys of a carrier.
pub(super) fn check(name: &str, tdm: &Tdm, report: &mut Report<'_>) {
    let key = |key| path(["medium", name, key]);
    if tdm.symbol_rate.0 < 1.0 {
        report.value(&key("symbol_rate"), "is too small", "expected a symbol rate, like \"45 Mbaud\"");
    }
    if ![0, 3, 6].contains(&tdm.label) {
        report.value(&key("label"), "is not the size of a label", "expected \"0 B\", \"3 B\" or \"6 B\"");
    }
    if tdm.acm.every < EVERY_MIN {
        report.value(&below(&key("acm"), "every"), "is too short", &format!("expected at least {EVERY_MIN}"));
    }
    super::check_levels([tdm.acm.margin, tdm.acm.hysteresis], &key("acm"), report);
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

#[cfg(test)]
mod tests {
    use crate::{from_toml, Resolved};

    const TEXT: &str = r#"
duration = "10 s"
[medium.down]
kind = "tdm"
symbol_rate = "45 Mbaud"
[medium.up]
kind = "mf-tdma"
symbol_rate = "1 Mbaud"
carriers = 2
controller = "gateway"
plan_over = "down"
[link.user]
from = "gateway"
to = "terminal{n}"
count = 2
delay = "250 ms"
forward = { medium = "down", es_n0 = "13 dB" }
reverse = { medium = "up", es_n0 = "9 dB", access = { constant = "64 kbit/s" } }
[flow.f]
from = "gateway"
to = "terminal{n}"
count = 2
"#;

    /// Reads the text with these overrides, and with a replacement.
    fn with(sets: &[(&str, &str)], replace: (&str, &str)) -> Result<Resolved, String> {
        let sets: Vec<_> = sets.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        from_toml(&TEXT.replace(replace.0, replace.1), "t.toml", &sets).map_err(|problems| problems.to_string())
    }

    #[test]
    fn what_is_read_is_written_back() {
        let sets = [("medium.down.acm", "{ every = '2 s' }"), ("medium.down.share", "'time'")];
        let resolved = with(&sets, ("", "")).unwrap();
        let text = resolved.to_toml();
        let again = from_toml(&text, "again", &[]).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
        assert_eq!(again.scenario.media, resolved.scenario.media);
        assert_eq!(again.scenario.links, resolved.scenario.links);
        assert_eq!(again.digest(), resolved.digest());
    }

    #[test]
    fn contradictions_are_refused_where_they_are() {
        let forward = "link.user.forward";
        let key = |name: &str| format!("{forward}.{name}");
        let cases: &[(&str, &str, &str, &str)] = &[
            (&key("rate"), "'1 Mbit/s'", "link.user.forward.rate excludes medium", "rate or medium"),
            (&key("coding"), "{ kind = 'convolutional' }", "forward.coding excludes medium", "coding or medium"),
            (&key("framing"), "'gse'", "link.user.forward.framing excludes medium", "framing or medium"),
            (&key("interleave"), "{ span = '1 ms' }", "forward.interleave excludes medium", "interleave or medium"),
            (&key("arq"), "{ retransmissions = 1 }", "link.user.forward.arq excludes medium", "arq or medium"),
            (&key("access"), "{ constant = '1 kbit/s' }", "access belongs to a return link", "kind \"mf-tdma\""),
            (&key("medium"), "'dwon'", "link.user.forward.medium = \"dwon\" is not a medium", "down"),
            ("medium.down.symbol_rate", "'45 Mbit/s'", "is not a symbol rate", "45 Mbaud"),
            ("medium.down.label", "'4 B'", "medium.down.label = \"4 B\" is not the size of a label", "\"3 B\""),
            ("medium.down.acm", "{ every = '0 s' }", "medium.down.acm.every = \"0 s\" is too short", "at least 100 us"),
            (
                "medium.down.acm",
                "{ every = '1 ns' }",
                "medium.down.acm.every = \"1 ns\" is too short",
                "at least 100 us",
            ),
            ("medium.down.acm", "{ margin = '-5 dB' }", "acm.margin = \"-5 dB\" is negative", "at least 0 dB"),
            ("medium.up.acm", "{ margin = '-5 dB' }", "acm.margin = \"-5 dB\" is negative", "at least 0 dB"),
            ("medium.up.acm", "{ hysteresis = '-1 dB' }", "acm.hysteresis = \"-1 dB\" is negative", "at least 0 dB"),
            ("medium.up.plan_over", "'donw'", "plan_over = \"donw\" is not a medium of this scenario", "down"),
            ("medium.up.plan_over", "'up'", "plan_over = \"up\" is not a forward carrier", "of kind \"tdm\""),
            (
                "medium.t",
                "{ kind = 'tdm', symbol_rate = '1 Mbaud' }",
                "medium.t is not used by any link",
                "medium = \"t\"",
            ),
            ("node.gateway.middlebox", "['xcp']", "needs the rate of \"user1.forward\"", "links have a rate"),
        ];
        for (name, value, message, expected) in cases {
            let said = with(&[(name, value)], ("", "")).expect_err(message);
            assert!(said.contains(message) && said.contains(expected), "{name} = {value}\n{said}");
        }
        let often = [("medium.down.acm", "{ every = '100 us' }"), ("duration", "'24 h'")];
        let said = with(&often, ("", "")).expect_err("reports");
        assert!(said.contains("medium.down = {...} makes about 1.7e9 reports in 86400 s"), "{said}");
        let both = [("medium.down.acm", "{ margin = '2 dB' }"), ("medium.down.modcod", "'QPSK 1/2'")];
        let said = with(&both, ("", "")).expect_err("both");
        assert!(said.contains("medium.down.acm and modcod exclude each other"), "{said}");
        let said = with(&[], (", es_n0 = \"13 dB\"", "")).expect_err("no signal");
        assert!(said.contains("link.user.forward.medium needs the signal of the link"), "{said}");
        let far =
            "[link.far]\nfrom = 'gateway'\nto = 'x'\ndelay = '1 ms'\nforward = { medium = 'down', es_n0 = '9 dB' }\n\
                   reverse.rate = '1 Mbit/s'\n[flow.g]\nfrom = 'gateway'\nto = 'x'\n[flow.f]";
        let moved = TEXT.replace("{ medium = \"down\", es_n0 = \"13 dB\" }", "{ rate = \"1 Mbit/s\" }");
        let said = from_toml(&moved.replace("[flow.f]", far), "t.toml", &[]).map(drop).map_err(|said| said.to_string());
        let said = said.expect_err("plans reach nobody");
        assert!(said.contains("medium.up.plan_over = \"down\" reaches no terminal of this medium"), "{said}");
    }

    /// A queue of 1 bdp has the rate of the carrier in the best modulation of the signal: 6,720 B in 16,686 symbols.
    #[test]
    fn a_bdp_is_that_of_the_carrier() {
        let resolved = with(&[("link.user.forward.queue", "'1 bdp'")], ("", "")).unwrap();
        let link = resolved.scenario.links.iter().find(|link| link.name == "user1.forward").unwrap();
        let bentpipe_model::spec::Queue::DropTail { limit: bentpipe_model::spec::QueueLimit::Bytes(bytes) } =
            link.queue
        else {
            panic!("{:?}", link.queue)
        };
        let expected = 6720.0 * 45e6 / 16_686.0 * 0.5;
        assert!((bytes as f64 / expected - 1.0).abs() < 1e-4, "{bytes} {expected}");
    }
}
