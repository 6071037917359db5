//! Rows, samples and services of a link for the record.

use super::framed::Framed;
use super::granted::{GrantCounts, Granted};
use super::journal::{Journal, Service};
use super::lazy::Layer2;
use super::lazy::LazyLink;
use super::queue::Discipline;
use crate::dictionary::{LinkRow, LinkSeries};
use crate::record::{ratio, Sample};
use bentpipe_access::Waveform;
use bentpipe_units::{Rate, Time};

impl LazyLink {
    /// Adds a journal of all services. The link is then never plain, and its packets never take the fast path.
    pub(crate) fn with_journal(mut self) -> Self {
        self.wire.0.get_or_insert_with(Box::default).journal = Some(Journal::default());
        self
    }

    /// The services since the last call, in order. Empty for a link without a journal.
    pub(crate) fn take_services(&mut self) -> Vec<Service> {
        let journal = self.wire.0.as_mut().and_then(|apart| apart.journal.as_mut());
        journal.map(|journal| std::mem::take(&mut journal.0)).unwrap_or_default()
    }

    /// Its row in a run that ended at `at`.
    pub(crate) fn row<'a>(&self, name: &'a str, at: Time) -> LinkRow<'a> {
        let run_s = at.as_secs_f64();
        let counters = self.counters();
        let (resent_packets, resent_bytes) = self.arq().map_or((0, 0), |arq| (arq.resent, arq.resent_bytes));
        LinkRow {
            link: name,
            utilisation: ratio(self.busy_ps(at) as f64 / 1e12, run_s),
            carried_bps: ratio((counters.carried_bytes + resent_bytes) as f64 * 8.0, run_s),
            offered_packets: counters.offered,
            carried_packets: counters.carried,
            carried_bytes: counters.carried_bytes,
            resent_packets,
            corrupted_packets: counters.corrupted - self.granted().map_or(0, |granted| granted.corrupted_after(at)),
            dropped_packets: counters.dropped,
            marked_packets: self.queue.marked(),
            queue_mean_s: self.waits.mean_s(),
            queue_p50_s: self.waits.quantile_s(0.50),
            queue_p95_s: self.waits.quantile_s(0.95),
            queue_p99_s: self.waits.quantile_s(0.99),
            queue_max_bytes: counters.backlog_bytes_max,
            queue_end_packets: self.len() as u64,
        }
    }

    /// A series at the last instant of `advance`.
    pub(crate) fn sample(&self, series: LinkSeries) -> Sample {
        match series {
            LinkSeries::QueueBytes => Sample::Value(self.backlog().1 as f64),
            LinkSeries::QueuePackets => Sample::Value(self.backlog().0 as f64),
            LinkSeries::Carried => Sample::Bytes(self.counters().carried_bytes),
            LinkSeries::Waveform | LinkSeries::Granted | LinkSeries::Requested | LinkSeries::Backlog => {
                let framed = self.framed().map(|framed| framed.sample(series, self.queue.bytes()));
                framed.or_else(|| self.granted().map(|granted| granted.sample(series))).unwrap_or(Sample::None)
            }
        }
    }

    /// The counts of a link in a medium.
    pub(crate) fn grants(&self) -> Option<GrantCounts> {
        self.framed().map(Framed::counts).or_else(|| self.granted().map(Granted::counts))
    }

    /// Notes the plan of its medium for the link, for samples.
    pub(crate) fn note_plan(&mut self, waveform: Option<Waveform>, requested: Rate) {
        if let Some(Layer2::Granted(granted)) = self.layer2.as_deref_mut() {
            granted.note_plan(waveform, requested);
        }
    }

    /// An idle link that has carried this many packets.
    #[cfg(test)]
    pub(crate) fn that_carried(packets: u64) -> Self {
        let spec = crate::spec::Link::plain(bentpipe_units::Rate::from_bps(1), bentpipe_units::Duration::ZERO);
        let mut link = Self::new(&spec, 0, Time::ZERO);
        link.counters.carried = packets;
        link
    }

    /// Packets whose transmission has begun.
    pub(crate) fn carried_packets(&self) -> u64 {
        self.counters().carried
    }
}
