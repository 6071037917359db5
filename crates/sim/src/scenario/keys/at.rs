//! What changes during a run.

use crate::spec::{InFlight, Waiting};
use bentpipe_units::{settings, Duration, Time};

settings! {
    /// What changes at an instant of the run. Links come up first, then routes are withdrawn, then installed, then links go down. Several tables may have the same time.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct At {
        /// When; at most 200 days. What is after the end of the run does not happen.
        time: Time;
        /// Links that come back: a name for both directions, or `LINK.forward` or `LINK.reverse` for one.
        up: Vec<String> = Vec::new();
        /// Links that are taken away, named in the same way.
        down: Vec<String> = Vec::new();
        /// What becomes of packets that wait for a link that goes down here, or come while it is away.
        waiting: Waiting = Waiting::Lost;
        /// What becomes of packets that a link that goes down here has sent, and that have not arrived.
        in_flight: InFlight = InFlight::Lost;
        /// Routes that nodes learn.
        install: Vec<Install> = Vec::new();
        /// Flows whose packets have no route any more, until one is installed: a name for both directions, or `FLOW.forward` or `FLOW.reverse` for one. The name of an entry with `count` is that of all its flows.
        withdraw: Vec<String> = Vec::new();
        /// What passes one node or link, and then another. It is short for the changes above.
        handover: Vec<Handover> = Vec::new();
    }
}

settings! {
    /// The routes of a flow from now on; those of a direction that is not written stay.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Install {
        /// The flow. The name of an entry with `count` is that of all its flows.
        flow: String;
        /// The way there, written as that of a flow: its first name is the node where it begins, which may be any on the way, and it ends at `to`. Nodes that are not on it keep what they know. May contain `{n}`. Where the first name is that of a link, it begins at `from`.
        route: Option<Vec<String>>;
        /// The way back, which ends at `from`.
        reverse_route: Option<Vec<String>>;
    }
}

settings! {
    /// Every route that passes `from` at that instant passes `to` instead. With neither `make_before_break` nor `break_before_make` both happen at once.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Handover {
        /// A node, such as a satellite, or a link, such as a beam.
        from: String;
        /// A node that has links to the same neighbours, or a link that joins the same two nodes.
        to: String;
        /// How long the old links stay up after the new ones take over.
        make_before_break: Option<Duration>;
        /// How long after the old links go down the new ones come up. With `waiting = "lost"` there is no route in between; otherwise packets wait for the new links.
        break_before_make: Option<Duration>;
    }
}
