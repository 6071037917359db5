//! Applications of flows. Each kind has a file with its [`Application`], and a line in [`registry!`] below.

mod arrivals;
mod bulk;
mod catalogue;
mod contract;
mod datagrams;
mod page;
mod port;
mod probe;
mod records;
mod request_response;
mod single;

pub(super) use contract::Draws;
#[cfg(test)]
pub(crate) use datagrams::send_times_of;

use super::goal::{End, Goal, StreamRead};
use super::sessions::{FlowSessions, Over};
use crate::record::Recorder;
use bentpipe_model::spec::App;
use contract::Application;

/// Declares the applications: the pattern of their keys, the variant with its type, and the values for `new`.
macro_rules! registry {
    ($($keys:pat => $kind:ident($file:ident::$type:ident) of $spec:expr;)+) => {
        /// An application of any kind.
        #[derive(Clone, Debug)]
        pub(super) enum AnyApp { $($kind(Box<$file::$type>),)+ }

        impl AnyApp {
            pub(super) fn new(app: &App, draws: &Draws<'_>) -> Self {
                match *app { $($keys => Self::$kind(Box::new($file::$type::new($spec, draws))),)+ }
            }

            pub(super) fn set_up(&mut self, sessions: &mut FlowSessions<'_>) {
                match self { $(Self::$kind(app) => app.set_up(sessions),)+ }
            }

            pub(super) fn wake(&mut self, sessions: &mut FlowSessions<'_>) {
                match self { $(Self::$kind(app) => app.wake(sessions),)+ }
            }

            pub(super) fn on_timer(&mut self, sessions: &mut FlowSessions<'_>, session: Over) {
                match self { $(Self::$kind(app) => app.on_timer(sessions, session),)+ }
            }

            pub(super) fn on_goal(
                &mut self,
                sessions: &mut FlowSessions<'_>,
                at: (Over, End),
                goal: Goal,
                recorder: &mut Recorder,
            ) {
                match self { $(Self::$kind(app) => app.on_goal(sessions, at, goal, recorder),)+ }
            }

            pub(super) fn on_stream(
                &mut self,
                sessions: &mut FlowSessions<'_>,
                at: (Over, End),
                read: StreamRead,
                recorder: &mut Recorder,
            ) {
                match self { $(Self::$kind(app) => app.on_stream(sessions, at, read, recorder),)+ }
            }

            pub(super) fn on_abort(&mut self, sessions: &mut FlowSessions<'_>, session: Over) {
                match self { $(Self::$kind(app) => app.on_abort(sessions, session),)+ }
            }

            pub(super) fn on_gap(&mut self, from: u64, to: u64) {
                match self { $(Self::$kind(app) => app.on_gap(from, to),)+ }
            }

            pub(super) fn on_boundary(&mut self, offset: u64) {
                match self { $(Self::$kind(app) => app.on_boundary(offset),)+ }
            }
        }
    };
}

registry! {
    App::Greedy | App::File { .. } => Single(single::Single) of ();
    App::Bulk(bulk) => Bulk(bulk::BulkState) of bulk;
    App::Arrivals(arrivals) => Arrivals(arrivals::ArrivalsState) of arrivals;
    App::Records(records) => Records(records::RecordsState) of records;
    App::RequestResponse(exchanges) => RequestResponse(request_response::RequestResponseState) of exchanges;
    App::Page(ref page) => Page(page::PageState) of page.clone();
    App::Datagrams(datagrams) => Datagrams(datagrams::DatagramsState) of datagrams;
    App::Probe(ref probe) => Probe(probe::ProbeState) of probe.clone();
    App::Port => Port(port::PortState) of ();
}
