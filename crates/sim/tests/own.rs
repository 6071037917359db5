//! Custom middleboxes in a scenario: where they act, and how they are named.

use crate::every::{Every, EveryConfig};
use bentpipe_sim::middlebox::{Maker, OwnConfig};
use bentpipe_sim::scenario::{from_json_with, from_toml_with, Files, Problems, Resolved};
use bentpipe_sim::Network;

struct Given(Vec<OwnConfig>);

impl Files for Given {
    fn read(&self, _: &str) -> Result<Vec<u8>, (String, String)> {
        unreachable!("no file is named")
    }
    fn functions(&self) -> &[OwnConfig] {
        &self.0
    }
}

fn given(code: &str) -> Given {
    let make = Some(Maker::new(|_| Box::new(Every::new(&EveryConfig { each: 10 }, 0, ""))));
    Given(vec![OwnConfig { name: "Every".into(), code: code.into(), make }])
}

fn read(given: &Given, name: &str) -> Result<Resolved, Problems> {
    read_list(given, &format!("\"ack-filter\", {{ kind = \"own\", name = \"{name}\" }}"))
}

fn read_list(given: &Given, list: &str) -> Result<Resolved, Problems> {
    let text = format!(
        "duration = \"2 s\"
        [node.b]
        middlebox = [{list}]
        [link.l]
        from = \"a\"
        to = \"b\"
        rate = \"1 Mbit/s\"
        delay = \"1 ms\"
        [flow.f]
        from = \"a\"
        to = \"b\"
        app = {{ kind = \"cbr\", size = \"100 B\", rate = \"80 kbit/s\" }}"
    );
    from_toml_with(&text, "", &[], given)
}

#[test]
fn it_acts_at_its_place() {
    let scenario = read(&given("1"), "Every").unwrap().scenario;
    let mut network = Network::build(&scenario, 1);
    assert!(network.run(u64::MAX));
    let lost = network.finish().unwrap().summary.whole("lost_packets")[0];
    assert!((19..=20).contains(&lost), "{lost} of 200 datagrams");
}

#[test]
fn one_that_nobody_gave_is_refused() {
    let problems = read(&Given(Vec::new()), "Every").unwrap_err().to_string();
    assert!(
        problems.contains("node.b.middlebox.1.name = \"Every\" is a custom middlebox without its class"),
        "{problems}"
    );
    assert!(read(&given("1"), "Evry").unwrap_err().to_string().contains("did you mean \"Every\"?"));
}

/// A custom middlebox is named like a registered one.
#[test]
fn a_name_alone_stands_for_its_table() {
    let digest = |list: &str| read_list(&given("1"), list).unwrap().digest();
    let whole = digest("\"ack-filter\", { kind = \"own\", name = \"Every\" }");
    for list in ["\"ack-filter\", \"Every\"", "\"ack-filter\", { kind = \"Every\" }"] {
        assert_eq!(digest(list), whole, "{list}");
    }
    assert_ne!(digest("\"Every\", \"ack-filter\""), whole);
    let problems = read_list(&given("1"), "{ kind = \"Every\", each = 3 }").unwrap_err().to_string();
    assert!(problems.contains("node.b.middlebox[0].each is not a known key"), "{problems}");
    let problems = read_list(&Given(Vec::new()), "\"Every\"").unwrap_err().to_string();
    assert!(problems.contains("node.b.middlebox[0] = \"Every\" is not a middlebox"), "{problems}");
}

#[test]
fn a_registered_name_keeps_its_meaning() {
    let mut given = given("1");
    given.0[0].name = "ack-filter".into();
    let read = read_list(&given, "\"ack-filter\"").unwrap();
    assert_eq!(read.digest(), read_list(&Given(Vec::new()), "\"ack-filter\"").unwrap().digest());
}

#[test]
fn what_it_is_decides_the_digest_and_the_resolved_scenario_reads_back() {
    let resolved = read(&given("1"), "Every").unwrap();
    assert_ne!(resolved.digest(), read(&given("2"), "Every").unwrap().digest());
    let again = from_json_with(&resolved.to_json().to_string(), "", &[], &given("1")).unwrap();
    assert_eq!(again.digest(), resolved.digest());
    let again = from_toml_with(&resolved.to_toml(), "", &[], &given("1")).unwrap();
    assert_eq!(again.digest(), resolved.digest());
}
