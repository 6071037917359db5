//! Notes on flows of a finished run that failed without an error: nothing arrived, or a custom congestion control left
//! the window at its least.

use crate::record::{Drops, Names};
use bentpipe_model::dictionary::FlowRow;
use bentpipe_model::ids::FlowId;
use bentpipe_model::spec::{Flow, Scenario};

/// Seconds that a flow has before its silence is noted, if round trips are short.
const PATIENCE_S: f64 = 1.0;
/// Round trips that a flow has before its silence is noted.
const ROUND_TRIPS: f64 = 4.0;

/// Segments that a flow has acknowledged before its window is judged.
const FEW: u64 = 20;

/// Returns the notes about the flows of a run that ended at `end_s`.
pub(super) fn notes(
    scenario: &Scenario,
    end_s: f64,
    rows: &[FlowRow<'_>],
    drops: &Drops,
    names: &Names<'_>,
) -> Vec<String> {
    let each = || FlowId::all(rows.len()).zip(&scenario.flows).zip(rows);
    let mut notes = Vec::new();
    let silent: Vec<_> = each().filter(|((_, flow), row)| is_silent(scenario, flow, row, end_s)).collect();
    if let Some(&((id, flow), row)) = silent.first() {
        let losses = match drops.most_of(id) {
            Some((place, cause, packets)) => {
                format!("{packets} of them were lost at \"{}\" ({})", place.name(names), cause.name())
            }
            None => "none of them was lost; they wait, or are on their way".to_owned(),
        };
        let what = if row.arrived_packets == 0 { "nothing" } else { "no data" };
        notes.push(format!(
            "{what} arrived of flow \"{}\"{}: {} packets sent in {:.1} s, and {losses}",
            flow.name,
            more(silent.len()),
            row.sent_packets,
            end_s - row.start_s
        ));
    }
    let small: Vec<_> = each().filter(|((_, flow), row)| is_below_a_segment(flow, row)).collect();
    if let Some(((_, flow), row)) = small.first() {
        notes.push(format!(
            "flow \"{}\"{} ends with a window of one segment, the least, and lost nothing: {} may count segments, and \
             windows are in bytes",
            flow.name,
            more(small.len()),
            row.cc
        ));
    }
    notes
}

/// Whether a flow sent packets for some round trips and nothing of its data arrived.
fn is_silent(scenario: &Scenario, flow: &Flow, row: &FlowRow<'_>, end_s: f64) -> bool {
    let lane = &scenario.lanes[flow.lane];
    let ways = lane.route.iter().chain(&lane.reverse_route);
    let rtt_s: f64 = ways.map(|&link| scenario.links[link].delay.largest().as_secs_f64()).sum();
    let is_empty = row.arrived_packets == 0 || (row.delivered_bytes == 0 && row.sent_bytes > 0);
    // NaN: it has not started.
    row.sent_packets > 0 && is_empty && end_s - row.start_s > PATIENCE_S.max(ROUND_TRIPS * rtt_s)
}

/// Whether a custom congestion control has kept the window at one segment, which is the least that a connection has,
/// without a loss as the reason.
fn is_below_a_segment(flow: &Flow, row: &FlowRow<'_>) -> bool {
    let smss = u64::from(flow.transport.payload());
    let has_lost = row.retransmissions + row.timeouts.unwrap_or(0) + row.ecn_reductions.unwrap_or(0) > 0;
    let is_least = row.cwnd_end_bytes <= smss as f64 && row.acked_bytes > FEW * smss;
    flow.transport.own_cc().is_some() && is_least && !has_lost
}

/// Counts the other flows.
fn more(flows: usize) -> String {
    match flows - 1 {
        0 => String::new(),
        others => format!(" and {others} more"),
    }
}

#[cfg(test)]
mod tests {
    use crate::Network;
    use bentpipe_scenario::from_toml;

    const PATH: &str = r#"
duration = "20 s"
[link.sat]
from = "a"
to = "b"
rate = "1 Mbit/s"
delay = "20 ms"
[flow.f]
from = "a"
to = "b"
"#;

    fn notes(sets: &[(&str, &str)]) -> Vec<String> {
        let sets: Vec<(String, String)> = sets.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        let read = from_toml(PATH, "silence", &sets).unwrap_or_else(|problems| panic!("{problems}"));
        let mut network = Network::build(&read.scenario, 1);
        assert!(network.run(u64::MAX));
        network.finish().unwrap_or_else(|failure| panic!("{failure}")).notes
    }

    #[test]
    fn flows_of_which_nothing_arrives_have_a_note_with_the_cause() {
        let lost = "lost at \"b\" (bit-error)";
        for (sets, begin, cause) in [
            (vec![], "", ""),
            (vec![("link.sat.error", "{ kind = \"packet\", rate = 1.0 }")], "nothing arrived of flow \"f\": ", lost),
            (
                vec![("link.sat.outage", "{ spans = [[\"0 s\", \"20 s\"]] }")],
                "nothing arrived of flow \"f\": ",
                "none of them was lost; they wait, or are on their way",
            ),
        ] {
            let found = notes(&sets);
            let silence = found.iter().find(|note| note.contains("arrived of flow"));
            match begin {
                "" => assert_eq!(silence, None, "{sets:?}"),
                _ => assert!(silence.is_some_and(|note| note.starts_with(begin) && note.ends_with(cause)), "{found:?}"),
            }
        }
    }

    #[test]
    fn data_that_a_link_is_too_small_for_has_a_note() {
        let mtu = ("link.sat.mtu", "{ size = \"1000 B\", oversize = \"drop\" }");
        let found = notes(&[mtu]);
        let is_about_data =
            |note: &String| note.starts_with("no data arrived of flow \"f\": ") && note.contains("(too-big)");
        assert!(found.iter().any(is_about_data), "{found:?}");
    }
}
