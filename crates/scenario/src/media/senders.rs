//! Senders of media: rejects links that cannot share a carrier, and notes controllers that are terminals.

use super::super::report::{path, Report};
use bentpipe_model::ids::{LinkId, NodeId};
use bentpipe_model::spec::{Link, MediumKind};
use std::collections::BTreeSet;

/// Whether these links can share the medium of this name.
pub(super) fn check(
    (name, kind): (&str, &MediumKind),
    controller: NodeId,
    members: &[LinkId],
    links: &[Link],
    report: &mut Report<'_>,
) -> bool {
    let of_members = || members.iter().map(|&link| &links[link]);
    match kind {
        MediumKind::Tdm(_) => {
            let Some(other) = of_members().find(|link| link.from != controller) else { return true };
            let first = &links[members[0]].name;
            let message = format!("has two senders, at the start of \"{first}\" and of \"{}\"", other.name);
            let expected = "expected links from one node: a forward carrier has one sender, so each hub needs a medium";
            report.key(&path(["medium", name]), &message, expected);
            false
        }
        MediumKind::MfTdma(_) => {
            let Some(own) = of_members().find(|link| link.from == controller) else {
                note_receiver((name, kind), controller, members, links, report);
                return true;
            };
            let senders: BTreeSet<NodeId> = of_members().map(|link| link.from).collect();
            if senders.len() == 1 || of_members().any(|link| link.from == controller && senders.contains(&link.to)) {
                let message = format!("has a link from its controller, \"{}\"", own.name);
                let expected =
                    "expected links from terminals only; a hub sends with a rate or a medium of kind \"tdm\"";
                report.key(&path(["medium", name]), &message, expected);
                return false;
            }
            note(name, kind, &format!("the sender of \"{}\"", own.name), report);
            true
        }
        MediumKind::LeoCell(_) => {
            note_receiver((name, kind), controller, members, links, report);
            true
        }
    }
}

/// Notes a controller that is one of several receivers of one sender.
fn note_receiver(
    (name, kind): (&str, &MediumKind),
    controller: NodeId,
    members: &[LinkId],
    links: &[Link],
    report: &mut Report<'_>,
) {
    let of_members = || members.iter().map(|&link| &links[link]);
    let has_one_sender = of_members().all(|link| link.from == links[members[0]].from);
    let own = of_members().find(|link| link.to == controller);
    if let Some(own) = own.filter(|_| has_one_sender && of_members().any(|link| link.to != controller)) {
        note(name, kind, &format!("the receiver of \"{}\"", own.name), report);
    }
}

fn note(name: &str, kind: &MediumKind, role: &str, report: &mut Report<'_>) {
    let written = kind.controller().unwrap_or_default();
    let note = format!(
        "medium.{name}.controller = \"{written}\" is also a terminal: {role}; requests of the others travel to it"
    );
    report.findings.notes.push(note);
}

#[cfg(test)]
mod tests {
    use crate::{from_toml, Resolved};

    fn read(text: &str) -> Result<Resolved, String> {
        from_toml(&format!("duration = '10 s'\n{text}"), "m.toml", &[]).map_err(|problems| problems.to_string())
    }

    /// A link, and a flow over it.
    fn link(name: &str, ends: [&str; 2], forward: &str, reverse: &str) -> String {
        let [from, to] = ends;
        format!(
            "[link.{name}]\nfrom = '{from}'\nto = '{to}'\ndelay = '250 ms'\nforward = {forward}\nreverse = {reverse}\n\
             [flow.{name}]\nfrom = '{from}'\nto = '{to}'\n"
        )
    }

    const RATE: &str = "{ rate = '1 Mbit/s' }";

    #[test]
    fn a_forward_carrier_has_one_sender() {
        let medium = "[medium.down]\nkind = 'tdm'\nsymbol_rate = '10 Mbaud'\n";
        let down = "{ medium = 'down', es_n0 = '13 dB' }";
        let one = |b: &str| format!("{medium}{}{b}", link("a", ["hub", "a"], down, RATE));
        read(&one(&link("b", ["hub", "b"], down, RATE))).unwrap();
        for (b, other) in
            [(link("b", ["hub2", "b"], down, RATE), "b.forward"), (link("b", ["hub", "b"], RATE, down), "b.reverse")]
        {
            let said = read(&one(&b)).unwrap_err();
            let message = format!("medium.down has two senders, at the start of \"a.forward\" and of \"{other}\"");
            assert!(said.contains(&message) && said.contains("each hub needs a medium"), "{said}");
        }
    }

    fn return_link(controller: &str) -> String {
        format!("[medium.up]\nkind = 'mf-tdma'\nsymbol_rate = '1 Mbaud'\ncarriers = 2\ncontroller = '{controller}'\n")
    }

    const UP: &str = "{ medium = 'up', es_n0 = '9 dB', access = { volume_based = true } }";

    #[test]
    fn a_hub_sends_on_no_return_link() {
        let medium = return_link("hub");
        let [a, b] = ["a", "b"].map(|name| link(name, ["hub", name], RATE, UP));
        assert_eq!(read(&format!("{medium}{a}{b}")).unwrap().scenario.notes, [""; 0]);
        for links in [link("a", ["hub", "a"], UP, UP) + &b, link("a", ["hub", "a"], UP, RATE)] {
            let said = read(&format!("{medium}{links}")).unwrap_err();
            assert!(said.contains("medium.up has a link from its controller, \"a.forward\""), "{said}");
            assert!(said.contains("a hub sends with a rate or a medium of kind \"tdm\""), "{said}");
        }
    }

    #[test]
    fn a_controller_that_is_a_terminal_is_noted() {
        let [a, b] = ["a", "b"].map(|name| link(name, ["hub", name], RATE, UP));
        let notes = read(&format!("{}{a}{b}", return_link("a"))).unwrap().scenario.notes.clone();
        let expected = "medium.up.controller = \"a\" is also a terminal: the sender of \"a.reverse\"; requests of the \
                        others travel to it";
        assert_eq!(notes, [expected]);
        let medium = "[medium.up]\nkind = 'leo-cell'\nrate = '100 Mbit/s'\ncontroller = 'a'\n";
        let [a, b] = ["a", "b"].map(|name| link(name, ["hub", name], "{ medium = 'up' }", RATE));
        let notes = read(&format!("{medium}{a}{b}")).unwrap().scenario.notes.clone();
        assert_eq!(notes, [expected.replace("sender of \"a.reverse\"", "receiver of \"a.forward\"")]);
    }
}
