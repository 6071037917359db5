//! Replaces custom congestion controls by registered ones, because the schema knows only those.

use super::files::Sender;
use super::transports::{tables_of, TRANSPORTS};
use super::tree::{OwnCode, Tree, Value};

/// Replaces each custom congestion control by the registered congestion control that it extends, and records the
/// original. A resolved scenario may contain it as a table whose `code` identifies the class at that time.
pub(super) fn stand_in(tree: &mut Tree, senders: &[Sender]) {
    if senders.is_empty() {
        return;
    }
    for transport in TRANSPORTS {
        tables_of(tree, transport).for_each(|table| replace(table, senders));
    }
}

fn replace(transport: &mut Tree, senders: &[Sender]) {
    let Some(cc) = transport.table_mut().and_then(|table| table.get_mut("cc")) else { return };
    let Some(sender) = senders.iter().find(|sender| names(cc, sender.cc.name())) else { return };
    put(cc, sender.like.name(), OwnCode::Sender(sender.cc.clone()));
}

/// Whether the value, or its kind, is this name.
pub(super) fn names(value: &Tree, name: &str) -> bool {
    let kind = match &value.value {
        Value::Table(table) => table.get("kind").map(|kind| &kind.value),
        name => Some(name),
    };
    matches!(kind, Some(Value::Text(kind)) if kind == name)
}

/// Puts a registered name in place of a custom class. Other keys of a table are its settings.
pub(super) fn put(value: &mut Tree, registered: &str, own: OwnCode) {
    let stand_in = Value::Text(registered.into());
    match &mut value.value {
        Value::Table(table) => {
            table.retain(|key, _| key != "code" && key != "extends");
            if let Some(kind) = table.get_mut("kind") {
                kind.value = stand_in;
            }
        }
        name => *name = stand_in,
    }
    value.own = Some(Box::new(own));
}

#[cfg(test)]
mod tests {
    use super::super::{from_json_with, from_toml_with, Files};
    use super::*;
    use bentpipe_cc::{CcConfig, CcKind, CustomCc, Reno};
    use bentpipe_tcp::Recovery;

    const TEXT: &str = "duration = \"1 s\"
[link.l]
from = \"a\"
to = \"b\"
rate = \"1 Mbit/s\"
delay = \"1 ms\"
[tcp]
like = \"rfc\"
[flow.one]
from = \"a\"
to = \"b\"
[flow.two]
from = \"a\"
to = \"b\"
tcp = { cc = \"cubic\" }
[flow.three]
from = \"a\"
to = \"b\"
tcp = { smss = \"536 B\" }
[sweep.vary]
tcp.cc = [\"mine\", \"reno\"]
";

    struct Given(Vec<Sender>);

    impl Files for Given {
        fn read(&self, _: &str) -> Result<Vec<u8>, (String, String)> {
            unreachable!("no file is named")
        }
        fn senders(&self) -> &[Sender] {
            &self.0
        }
    }

    fn given(code: &str) -> Given {
        of(code, CcKind::Sack)
    }

    fn of(code: &str, like: CcKind) -> Given {
        let make = |init, _| Box::new(Reno::new(init, Default::default())) as Box<_>;
        Given(vec![Sender { cc: CustomCc::named("mine", code, make), like }])
    }

    fn set(value: &str) -> [(String, String); 1] {
        [("tcp.cc".into(), value.into())]
    }

    #[test]
    fn it_is_in_the_flows_that_take_it_and_in_no_other() {
        let read = from_toml_with(TEXT, "", &set("mine"), &given("1")).unwrap();
        let names: Vec<_> =
            read.scenario.flows.iter().map(|flow| flow.tcp().own_cc.as_ref().map(CustomCc::name)).collect();
        assert_eq!(names, [Some("mine"), Some("mine"), None], "one, three, two");
        assert!(read.scenario.flows[..2].iter().all(|flow| matches!(flow.tcp().recovery, Recovery::Sack { .. })));
        assert!(from_toml_with(TEXT, "", &set("yours"), &given("1")).is_err());
    }

    #[test]
    fn what_it_is_decides_the_digest_and_the_resolved_scenario_reads_back() {
        let read = |code: &str, name: &str| from_toml_with(TEXT, "", &set(name), &given(code)).unwrap();
        let digests = [read("1", "mine").digest(), read("2", "mine").digest(), read("1", "sack").digest()];
        assert!(digests[0] != digests[1] && digests[0] != digests[2]);
        let given = given("1");
        let resolved = from_toml_with(TEXT, "", &set("mine"), &given).unwrap();
        let again = from_json_with(&resolved.to_json().to_string(), "", &[], &given).unwrap();
        assert_eq!(again.digest(), resolved.digest());
        let again = from_toml_with(&resolved.to_toml(), "", &[], &given).unwrap();
        assert_eq!(again.digest(), resolved.digest());
    }

    #[test]
    fn it_can_be_a_point_of_a_grid() {
        let given = given("1");
        let sweep = from_toml_with(TEXT, "", &[], &given).unwrap().sweep.unwrap();
        let points = [0, 1].map(|at| sweep.point(&[at], &given).unwrap().scenario.flows[0].tcp().own_cc.is_some());
        assert_eq!(points, [true, false]);
    }

    /// A preset gives settings, too.
    #[test]
    fn it_has_the_settings_of_the_one_that_it_extends() {
        let given = of("1", CcKind::Cubic);
        let sets = [set("{ kind = \"mine\", beta = 0.8 }")[0].clone(), ("tcp.like".into(), "linux-6".into())];
        let read = from_toml_with(TEXT, "", &sets, &given).unwrap();
        let CcConfig::Cubic(settings) = read.scenario.flows[0].tcp().cc else { panic!("cubic") };
        assert_eq!((settings.beta, settings.first_growth), (0.8, 0.05));
        let text = read.to_toml();
        assert!(text.contains("extends = \"cubic\"") && text.contains("beta = 0.8"), "{text}");
        let again = from_toml_with(&text, "", &[], &given).unwrap();
        assert_eq!(
            (again.digest(), again.scenario.flows[0].tcp().cc),
            (read.digest(), read.scenario.flows[0].tcp().cc)
        );
        let wrong = set("{ kind = \"mine\", epsilon = 1 }");
        let problems = from_toml_with(TEXT, "", &wrong, &given).map(drop).unwrap_err().to_string();
        assert!(problems.contains("tcp.cc.epsilon is not a known key"), "{problems}");
    }
}
