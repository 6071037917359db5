//! Custom middleboxes, which are not in the registry and may be written in another language. A scenario names one, and
//! the program that runs the scenario provides it. They cost an indirect call per packet.

use super::{Context, Middlebox, QueueView};
use crate::ids::{LinkId, NodeId};
use crate::packet::Packet;
use bentpipe_units::{settings, Stream, Time};
use std::fmt;
use std::sync::Arc;

settings! {
    /// A custom middlebox, by name.
    #[derive(Clone, Debug, PartialEq)]
    pub struct OwnConfig {
        /// Name of the middlebox. The program that runs the scenario registers it: a scenario contains no code.
        name: String;
        /// Hash that distinguishes it from others of this name in a resolved scenario. Written values are ignored.
        code: String = String::new();
    } with {
        /// Its factory; `None` until the program registers it.
        make: Option<Maker> = None;
    }
}

/// Creates a middlebox for a node and a run. The seed is for its random choices.
#[derive(Clone)]
pub struct Maker(Arc<dyn Fn(u64) -> Box<dyn Middlebox + Send + Sync> + Send + Sync>);

impl Maker {
    /// Creates a factory. Equal seeds must give middleboxes with equal behaviour.
    pub fn new(make: impl Fn(u64) -> Box<dyn Middlebox + Send + Sync> + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }
}

/// Name and code distinguish middleboxes.
impl PartialEq for Maker {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Maker")
    }
}

/// A custom middlebox at a node.
#[derive(Debug)]
pub struct Own(pub Box<dyn Middlebox + Send + Sync>);

impl Own {
    pub(crate) fn new(config: &OwnConfig, seed: u64, component: &str) -> Self {
        let make = config.make.as_ref().expect("a named middlebox is registered");
        Self((make.0)(Stream::new(seed, component, "own").at(0)))
    }
}

impl Middlebox for Own {
    fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        self.0.on_packet(packet, cx);
    }
    fn meet(&mut self, node: NodeId, satellites: &[NodeId]) {
        self.0.meet(node, satellites);
    }
    fn on_corrupted(&mut self, packet: &Packet, cx: &mut Context<'_>) {
        self.0.on_corrupted(packet, cx);
    }
    fn on_message(&mut self, words: [u64; 2], packet: &Packet, cx: &mut Context<'_>) -> bool {
        self.0.on_message(words, packet, cx)
    }
    fn on_departure(&mut self, link: LinkId, queue: QueueView, cx: &mut Context<'_>) {
        self.0.on_departure(link, queue, cx);
    }
    fn watches_queues(&self) -> bool {
        self.0.watches_queues()
    }
    fn on_wakeup(&mut self, cx: &mut Context<'_>) {
        self.0.on_wakeup(cx);
    }
    fn next_wakeup(&self) -> Time {
        self.0.next_wakeup()
    }
    fn held(&self) -> usize {
        self.0.held()
    }
    fn flows(&self) -> usize {
        self.0.flows()
    }
    fn lost_bytes(&self) -> u64 {
        self.0.lost_bytes()
    }
    fn note(&self) -> Option<String> {
        self.0.note()
    }
    fn stands_for(&self) -> Option<&'static str> {
        self.0.stands_for()
    }
}

#[cfg(test)]
mod tests {
    use super::super::every::{Every, EveryConfig};
    use super::*;
    use crate::scenario::{from_json_with, from_toml_with, Files, Problems, Resolved};
    use crate::Network;

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

    /// As registered ones are named.
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
}
