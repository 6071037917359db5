//! Records of probes: each with its answer, or the cause of its loss.

use bentpipe_model::dictionary::{Cause, ProbeRow};
use bentpipe_units::{Duration, Time};

/// The probes of a flow, in the order in which they were sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Probes(Vec<Probe>);

#[derive(Clone, Copy, Debug)]
struct Probe {
    sent: Time,
    /// First arrival at the other end. `NEVER`: not yet.
    arrived: Time,
    /// First arrival of an answer. `NEVER`: not yet.
    answered: Time,
    /// First loss of the probe, of its answer, or of a copy of one of them.
    lost: Option<(Time, Cause)>,
}

impl Probes {
    pub(crate) fn on_sent(&mut self, at: Time) {
        self.0.push(Probe { sent: at, arrived: Time::NEVER, answered: Time::NEVER, lost: None });
    }

    pub(crate) fn on_arrival(&mut self, sent: Time, at: Time) {
        if let Some(probe) = self.find(sent) {
            probe.arrived = probe.arrived.min(at);
        }
    }

    /// Notes an answer. Returns the round-trip time, if it is the first answer to its probe.
    pub(crate) fn on_answer(&mut self, sent: Time, at: Time) -> Option<Duration> {
        let probe = self.find(sent).filter(|probe| probe.answered == Time::NEVER)?;
        probe.answered = at;
        Some(at - sent)
    }

    /// Notes a loss. Links may report losses late, so that the first is not the first noted.
    pub(crate) fn on_loss(&mut self, sent: Time, at: Time, cause: Cause) {
        if let Some(probe) = self.find(sent) {
            let lost = (at, cause);
            probe.lost = Some(probe.lost.map_or(lost, |before| before.min(lost)));
        }
    }

    fn find(&mut self, sent: Time) -> Option<&mut Probe> {
        let place = self.0.binary_search_by_key(&sent, |probe| probe.sent).ok()?;
        self.0.get_mut(place)
    }

    /// Returns a row for each probe.
    pub(crate) fn rows<'a>(&'a self, flow: &'a str) -> impl Iterator<Item = ProbeRow<'a>> {
        (0..).zip(&self.0).map(move |(number, probe)| probe.row(flow, number))
    }
}

impl Probe {
    fn row<'a>(&self, flow: &'a str, number: u64) -> ProbeRow<'a> {
        // A middlebox may have answered in the place of the other end, which then has the probe later or never.
        let between =
            |from: Time, to: Time| if to == Time::NEVER || from > to { f64::NAN } else { (to - from).as_secs_f64() };
        let (outcome, cause) = match self.lost {
            _ if self.answered != Time::NEVER => ("answered", ""),
            Some((_, cause)) => ("lost", cause.name()),
            None => ("under-way", ""),
        };
        ProbeRow {
            flow,
            number,
            outcome,
            sent_s: self.sent.as_secs_f64(),
            rtt_s: between(self.sent, self.answered),
            forward_s: between(self.sent, self.arrived),
            reverse_s: between(self.arrived, self.answered),
            cause,
        }
    }
}
