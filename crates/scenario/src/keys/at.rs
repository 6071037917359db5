//! Changes during a run.

use bentpipe_model::spec::{InFlight, Waiting};
use bentpipe_units::{settings, Duration, Time};

settings! {
    /// Changes at an instant of the run. Their order is: links come up, routes are withdrawn, routes are installed,
    /// links go down. Several tables may have the same time.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct At {
        /// Instant of the changes, at most 200 days. Changes after the end of the run are ignored.
        time: Time;
        /// Links that come up. `LINK` stands for both directions, `LINK.forward` or `LINK.reverse` for one direction.
        up: Vec<String> = Vec::new();
        /// Links that go down, named as in `up`.
        down: Vec<String> = Vec::new();
        /// Treatment of packets that wait for a link of `down`, or that arrive during its outage.
        waiting: Waiting = Waiting::Lost;
        /// Treatment of packets on the way over a link of `down`.
        in_flight: InFlight = InFlight::Lost;
        /// Routes that nodes learn.
        install: Vec<Install> = Vec::new();
        /// Flows that lose their route until a new route is installed. `FLOW` stands for both directions,
        /// `FLOW.forward` or `FLOW.reverse` for one direction. The name of an entry with `count` stands for all its
        /// flows, and `FLOW.SUBFLOW` for one path of a flow over several.
        withdraw: Vec<String> = Vec::new();
        /// Handovers from one node or link to another: a short form of the changes above.
        handover: Vec<Handover> = Vec::new();
    }
}

settings! {
    /// New routes of a flow. A direction without a key keeps its route.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Install {
        /// Name of the flow, or `FLOW.SUBFLOW` of a flow over several paths. The name of an entry with `count` stands for
        /// all its flows.
        flow: String;
        /// Route to `to`, in the notation of a flow's `route`. It may begin at any node on the path. Nodes outside the
        /// new route keep their routing entries. May contain `{n}`. A route whose first name is a link begins at
        /// `from`.
        route: Option<Vec<String>>;
        /// Route back, which ends at `from`.
        reverse_route: Option<Vec<String>>;
    }
}

settings! {
    /// Handover: every route through `from` at that instant goes through `to` instead. The old links go down and the
    /// new links come up at the same instant unless `make_before_break` or `break_before_make` is set.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Handover {
        /// Node, such as a satellite, or link, such as a beam.
        from: String;
        /// Node with links to the same neighbours, or link between the same two nodes.
        to: String;
        /// Time for which the old links stay up after the new links take over.
        make_before_break: Option<Duration>;
        /// Time between the end of the old links and the start of the new links. With `waiting = "lost"`, flows have no
        /// route during this time. Otherwise, packets wait for the new links.
        break_before_make: Option<Duration>;
    }
}
