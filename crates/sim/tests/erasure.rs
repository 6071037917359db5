//! Erasure codes between two nodes: what transfers gain, and where a code is refused.

use bentpipe_sim::record::RunResult;
use bentpipe_sim::scenario::{from_toml, Problems, Resolved};
use bentpipe_sim::Network;

/// A satellite hop between `b` and `c` that corrupts one packet in a hundred each way, and a window that it never drops of.
const HOP: &str = r#"
duration = "300 s"
[tcp]
like = "linux-6"
receive_buffer = "400 kB"
[link.one]
from = "a"
to = "b"
rate = "100 Mbit/s"
delay = "5 ms"
[link.two]
from = "b"
to = "c"
rate = "10 Mbit/s"
delay = "270 ms"
queue = "unlimited"
error = { kind = "packet", rate = "1 %" }
[link.three]
from = "c"
to = "d"
rate = "100 Mbit/s"
delay = "5 ms"
[flow.f]
from = "a"
to = "d"
app = { kind = "file", size = "5 MB" }
"#;

fn read(nodes: &[(&str, &str)]) -> Result<Resolved, Problems> {
    let tables = nodes.iter().map(|(node, table)| format!("[node.{node}]\n{table}\n"));
    from_toml(&format!("{HOP}{}", tables.collect::<String>()), "hop", &[])
}

fn run(nodes: &[(&str, &str)]) -> RunResult {
    let resolved = read(nodes).unwrap_or_else(|problems| panic!("{problems}"));
    let mut network = Network::build(&resolved.scenario, 1);
    while !network.run(100_000) {}
    network.finish().unwrap_or_else(|failure| panic!("{failure}"))
}

fn end(role: &str, keys: &str) -> String {
    format!("{{ kind = \"erasure\", role = \"{role}\"{keys} }}")
}

#[test]
fn a_transfer_behind_a_code_sees_hardly_a_loss_and_uses_the_link() {
    let both = |keys: &str, order: &str| {
        let (encoder, decoder) = (end("encoder", keys), end("decoder", order));
        let table = format!("middlebox = [{decoder}, {encoder}]");
        run(&[("b", &table), ("c", &table)])
    };
    let seconds = |result: &RunResult| result.flows.real("completion_s")[0];
    let plain = run(&[]);
    for code in ["", ", code = \"rateless\", repair = 8"] {
        let coded = both(code, ", order = \"in-order\"");
        assert!(seconds(&coded) < 0.5 * seconds(&plain), "{} s against {} s", seconds(&coded), seconds(&plain));
        let [with, without] = [&coded, &plain].map(|result| result.flows.whole("retransmissions")[0]);
        assert!(4 * with < without, "{with} retransmissions, {without} without a code");
    }
}

/// What an encoder writes is for the decoder further on, and not for one at the same node, which meets it first on the way back.
#[test]
fn a_decoder_leaves_alone_what_the_encoder_beside_it_wrote() {
    let [there, back] = ["to-receiver", "to-sender"].map(|way| format!(", direction = \"{way}\""));
    let first = format!("middlebox = [{}, {}]", end("encoder", &there), end("decoder", &back));
    let second = format!("middlebox = [{}, {}]", end("decoder", ""), end("encoder", &back));
    let result = run(&[("b", &first), ("c", &second)]);
    for node in ["b", "c"] {
        let made = |note: &&String| note.contains("recovered_packets") && !note.contains("recovered_packets = 0");
        let mut notes = result.notes.iter().filter(|note| note.starts_with(&format!("\"erasure\" at node \"{node}\"")));
        assert!(notes.any(|note| made(&note)), "nothing is made again at {node}: {:?}", result.notes);
    }
}

fn assert_refused(nodes: &[(&str, &str)], expected: &[&str]) {
    let found = read(nodes).err().unwrap_or_else(|| panic!("{nodes:?} is accepted")).to_string();
    assert!(expected.iter().all(|part| found.contains(part)), "{expected:?} in:\n{found}");
}

#[test]
fn half_a_pair_is_refused_with_the_place_of_the_other() {
    let at = |role: &str, keys: &str| format!("middlebox = [{}]", end(role, keys));
    let (encoder, decoder) = (at("encoder", ""), at("decoder", ""));
    let key = "node.b.middlebox.0.role";
    let expected =
        "expected { kind = \"erasure\", role = \"decoder\" } at one of: a, c, d, and no other encoder between";
    assert_refused(&[("b", &encoder)], &[key, "= \"encoder\" has no decoder behind \"b\"", expected]);
    assert_refused(&[("b", &decoder)], &[key, "= \"decoder\" has no encoder before \"b\""]);
    // Each is told to act on packets that do not come from the other.
    let there = at("encoder", ", direction = \"to-receiver\"");
    assert_refused(&[("c", &there), ("b", &decoder)], &["node.c.middlebox.0.role", "at one of: d, and no other"]);
    assert!(read(&[("c", &at("encoder", ", direction = \"to-sender\"")), ("b", &decoder)]).is_ok());
    // Another encoder stands between.
    assert_refused(&[("a", &there), ("b", &there), ("c", &decoder)], &["node.a.middlebox.0.role = \"encoder\" has no"]);
    let bent = format!("kind = \"bent-pipe\"\n{decoder}");
    assert_refused(&[("b", &encoder), ("c", &bent)], &["node.c.middlebox.0", "a bent pipe reads no packets"]);
}

#[test]
fn a_pair_that_does_not_fit_is_refused() {
    let at = |role: &str, keys: &str| format!("middlebox = [{}]", end(role, keys));
    let (slow, hasty) = (at("encoder", ", wait = \"300 ms\""), at("decoder", ", timeout = \"300 ms\""));
    let expected = ["node.c.middlebox.0.timeout = \"300 ms\"", "expected more than its wait"];
    assert_refused(&[("b", &slow), ("c", &hasty)], &expected);
    let [encoder, decoder] = ["encoder", "decoder"].map(|role| end(role, ", direction = \"to-receiver\""));
    let (first, last) = (format!("middlebox = [{encoder}]"), format!("middlebox = [{decoder}]"));
    let between = |[one, two]: [&str; 2]| format!("middlebox = [{one}, {two}]");
    let wrong = between([&encoder, &decoder]);
    let expected = ["node.b.middlebox.0.role", "meets packets of \"f\" before the decoder", "the decoder, middlebox 1"];
    assert_refused(&[("a", &first), ("b", &wrong), ("c", &last)], &expected);
    let right = between([&decoder, &encoder]);
    assert!(read(&[("a", &first), ("b", &right), ("c", &last)]).is_ok());
    let long = at("encoder", ", overhead = \"2 kB\"");
    assert_refused(&[("b", &long), ("c", &last)], &["node.b.middlebox.0.overhead", "expected at most 1000 B"]);
    let twice = between([&encoder, &encoder]);
    assert_refused(
        &[("b", &twice), ("c", &last)],
        &["node.b.middlebox.1.role", "acts on packets that middlebox 0 of \"b\""],
    );
}
