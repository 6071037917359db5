//! Least duration of flows. The run does not end before, so links and endpoints may run ahead of time.

use super::dispatch::Traffic;
use super::flow::FlowState;
use bentpipe_model::ids::{EndpointId, FlowId};
use bentpipe_model::spec::App;
use bentpipe_units::{Duration, Time};

/// Effect of the middleboxes and media on the path of a flow on its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OnPath {
    /// There are none.
    Nothing,
    /// They may shorten a transfer: an erasure code does, or a medium faster than its estimate.
    Middlebox,
    /// They may reset a connection at any time.
    Reset,
}

/// Returns an instant before which a flow neither completes nor fails; [`Time::NEVER`]: it lasts as long as the run.
/// Nothing is due before `now`; the state of hosts may be a later one.
pub(crate) fn lasts_until(traffic: &Traffic, now: Time, flow: FlowId, on_path: OnPath) -> Time {
    let state = &traffic.flows[flow];
    if state.completed.is_some() || state.has_failed {
        return Time::ZERO;
    }
    if !state.app.is_single() {
        // Most applications do not end while their timers run: another transfer begins then.
        let is_sure = state.timer != Time::NEVER && !(state.has_begun && state.app.ends_in_pauses());
        return match state.app.count() {
            None => Time::NEVER,
            Some(_) if is_sure => state.timer,
            Some(_) => Time::ZERO,
        };
    }
    let Some(slot) = state.newest_slot() else { return Time::ZERO };
    if traffic.has_engine(EndpointId::opener(slot)) || traffic.hosts[EndpointId::opener(slot)].in_group {
        return if state.has_begun { Time::ZERO } else { traffic.hosts[EndpointId::opener(slot)].timer };
    }
    let [opener, listener] = EndpointId::both(slot).map(|end| &traffic.hosts[end]);
    if !state.has_begun {
        return opener.timer;
    }
    let is_open = opener.conn.report().has_been_established() && listener.conn.report().has_been_established();
    if !is_open || on_path == OnPath::Reset {
        return Time::ZERO;
    }
    let gives_up = [opener, listener].map(|end| end.conn.report().gives_up_from(now));
    let sent = opener.conn.acked_bytes() + opener.conn.flight_size();
    gives_up[0].min(gives_up[1]).min(state.completes_from(now, sent, on_path))
}

/// Returns the least round-trip time of a flow.
pub(crate) fn least_rtt(traffic: &Traffic, flow: FlowId) -> Duration {
    traffic.flows.get(flow.index()).map_or(Duration::ZERO, |flow| flow.path.rtt())
}

impl FlowState {
    /// Returns an instant before which its only transfer is not complete, if it has sent this many bytes.
    fn completes_from(&self, now: Time, sent: u64, on_path: OnPath) -> Time {
        match *self.app {
            App::File { size } if size > sent && on_path == OnPath::Nothing => now + self.path.least_rest(size - sent),
            App::File { .. } => Time::ZERO,
            _ => Time::NEVER,
        }
    }
}
