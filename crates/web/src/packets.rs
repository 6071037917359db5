//! Packets of a span of a flow, for its time-sequence diagram.

use bentpipe_sim::record::RunResult;
use bentpipe_sim::{Fate, Sighting, Witness};
use bentpipe_tcp::Options;
use serde::Deserialize;
use serde_json::{json, Value};
use std::sync::{Arc, Mutex, PoisonError};

/// Events of the diagram.
const KINDS: [&str; 3] = ["sent", "retransmission", "acked"];
/// Largest number of events in an answer. A plot cannot show more.
const ROWS_MOST: usize = 20_000;

/// A span of a flow.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Span {
    flow: String,
    from_s: f64,
    to_s: f64,
}

/// A SACK block at the sender. Sequence number 0 is the SYN's.
#[derive(Clone, Copy, Debug)]
struct Sack {
    flow: usize,
    time_s: f64,
    first: u32,
    end: u32,
}

/// SACK blocks of the first connection of each flow: offsets are those of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sacks(Arc<Mutex<Vec<Sack>>>);

impl Witness for Sacks {
    fn on_sent(&mut self, _: &Sighting) {}

    fn on_end(&mut self, packet: &Sighting, fate: Fate) {
        let is_first = packet.connection == 0 && packet.subflow == 0;
        let Some(Options::Sack(blocks)) = packet.segment.map(|segment| segment.options) else { return };
        if is_first && packet.is_back && fate == Fate::Arrived {
            let (flow, time_s) = (packet.flow.index(), packet.at.as_secs_f64());
            let offset = |seq: u32| seq.wrapping_sub(1);
            let rows = blocks.as_slice().iter().map(|(left, right)| Sack {
                flow,
                time_s,
                first: offset(left.value()),
                end: offset(right.value()),
            });
            self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(rows);
        }
    }
}

impl Sacks {
    fn within(&self, flow: usize, span: &Span) -> Vec<(f64, u32, u32)> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let inside = all.iter().filter(|sack| sack.flow == flow && (span.from_s..=span.to_s).contains(&sack.time_s));
        inside.take(ROWS_MOST).map(|sack| (sack.time_s, sack.first, sack.end)).collect()
    }
}

/// Returns the events of a span by kind as time and value, the SACK blocks modulo 2^32, and whether these are all.
/// `end_s` is the end of the span that the run has all events of.
pub(crate) fn within(result: &RunResult, sacks: &Sacks, flow: usize, span: &Span) -> Value {
    let events = &result.events;
    let (times, values) = (events.real("time_s"), events.whole("value"));
    let rows = times.iter().zip(events.text("flow")).zip(events.text("event")).zip(values);
    let is_asked = |(((time, of), _), _): &(((&f64, &String), &String), &i64)| {
        **of == span.flow && (span.from_s..=span.to_s).contains(*time)
    };
    let mut inside = rows.filter(is_asked).filter(|((_, event), _)| KINDS.contains(&event.as_str()));
    let shown: Vec<_> = inside.by_ref().take(ROWS_MOST).collect();
    let of_kind = |kind: &str| -> Vec<(f64, i64)> {
        let rows = shown.iter().filter(|((_, event), _)| event.as_str() == kind);
        rows.map(|(((time, _), _), value)| (**time, **value)).collect()
    };
    let cut = result.coverage.iter().find(|each| each.series == "events").and_then(|each| each.end);
    json!({
        "sent": of_kind(KINDS[0]),
        "retransmitted": of_kind(KINDS[1]),
        "acked": of_kind(KINDS[2]),
        "sacked": sacks.within(flow, span),
        "is_whole": inside.next().is_none(),
        "end_s": cut.map(bentpipe_units::Time::as_secs_f64),
    })
}

impl Span {
    pub(crate) fn flow(&self) -> &str {
        &self.flow
    }
}
