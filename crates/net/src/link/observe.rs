//! Rows, samples and services of a link for the record.

use super::counters::LinkAtEnd;
use super::counters::LinkCounters;
use super::journal::{Journal, Service};
use super::layer2::Layer2Kind;
use super::lazy::LazyLink;
use super::levels::Levels;
use super::queue::Discipline;
use crate::record::{ratio, Sample};
use bentpipe_model::dictionary::{LinkRow, LinkSeries};
use bentpipe_units::Time;

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

    /// Its packets at the end of a run. Call `advance` before.
    pub(crate) fn at_end(&self, now: Time) -> LinkAtEnd {
        // On a link that is away, the first packet has left the queue and waits for the server.
        let waiting = self.backlog().0 + usize::from(self.sending_since > now);
        LinkAtEnd { packets: self.len(), waiting, is_up: self.gate.is_up(now) }
    }

    /// Its row in a run that ended at `at`.
    pub(crate) fn row<'a>(&self, name: &'a str, at: Time) -> LinkRow<'a> {
        let run_s = at.as_secs_f64();
        let counters = self.counters();
        let (resent_packets, resent_bytes) = self.layer2.arq().map_or((0, 0), |arq| (arq.resent, arq.resent_bytes));
        let l4s = self.queue.l4s().cloned().unwrap_or_default();
        LinkRow {
            link: name,
            utilisation: ratio(self.busy_ps(at) as f64 / 1e12, run_s),
            carried_bps: ratio((counters.carried_bytes + resent_bytes) as f64 * 8.0, run_s),
            offered_packets: counters.offered,
            carried_packets: counters.carried,
            carried_bytes: counters.carried_bytes,
            resent_packets,
            corrupted_packets: counters.corrupted
                - self.layer2.granted().map_or(0, |granted| granted.corrupted_after(at)),
            dropped_packets: counters.dropped,
            marked_packets: self.queue.marked(),
            l4s_packets: l4s.waits[0].count(),
            l4s_native_marks: l4s.native_marks,
            l4s_coupled_marks: l4s.coupled_marks,
            l4s_queue_mean_s: l4s.waits[0].mean_s(),
            l4s_queue_p99_s: l4s.waits[0].quantile_s(0.99),
            classic_queue_mean_s: l4s.waits[1].mean_s(),
            queue_mean_s: self.waits.mean_s(),
            queue_p50_s: self.waits.quantile_s(0.50),
            queue_p95_s: self.waits.quantile_s(0.95),
            queue_p99_s: self.waits.quantile_s(0.99),
            queue_max_bytes: counters.backlog_bytes_max,
            queue_end_packets: self.len() as u64,
        }
    }

    /// Packets and bytes that wait.
    pub(crate) fn backlog(&self) -> (usize, u64) {
        let (packets, bytes) = self.plain.as_ref().map_or((0, 0), |plain| plain.backlog());
        (packets + self.queue.len(), bytes + self.queue.bytes())
    }

    /// Counters at the instant of the last `advance`.
    pub(crate) fn counters(&self) -> LinkCounters {
        let Some(plain) = &self.plain else { return self.counters };
        let (packets, bytes) = plain.backlog();
        LinkCounters {
            carried: self.counters.carried - packets as u64,
            carried_bytes: self.counters.carried_bytes - bytes,
            corrupted: self.counters.corrupted - plain.waiting_corrupted(),
            ..self.counters
        }
    }

    /// Observes the backlog between samples from now on.
    pub(crate) fn observe_levels(&mut self) {
        self.levels = Some(Box::new(Levels::since(self.backlog())));
    }

    /// Starts the next interval between samples.
    pub(crate) fn renew_levels(&mut self) {
        let backlog = self.backlog();
        if let Some(levels) = &mut self.levels {
            **levels = Levels::since(backlog).with_free_packets(self.waits.zeros());
        }
    }

    /// Notes the backlog, if the record has samples of it.
    pub(super) fn note_level(&mut self) {
        if let Some(levels) = &mut self.levels {
            levels.note((self.queue.len(), self.queue.bytes()));
        }
    }

    /// Extremes of the backlog since the last sample, up to the last instant of `advance`.
    fn extremes(&self) -> Levels {
        let mut levels = self.levels.as_deref().copied().unwrap_or(Levels::since(self.backlog()));
        levels.note(self.backlog());
        if self.plain.is_some() && self.waits.zeros() > levels.free_packets() {
            levels.note((0, 0));
        }
        levels
    }

    /// A series at the last instant of `advance`.
    pub(crate) fn sample(&self, series: LinkSeries) -> Sample {
        match series {
            LinkSeries::QueueBytes => Sample::Level(self.backlog().1 as f64, self.extremes().bytes()),
            LinkSeries::QueuePackets => Sample::Level(self.backlog().0 as f64, self.extremes().packets()),
            LinkSeries::Carried => Sample::Bytes(self.counters().carried_bytes),
            LinkSeries::Waveform | LinkSeries::Granted | LinkSeries::Requested | LinkSeries::Backlog => {
                let framed = self.layer2.framed().map(|framed| framed.sample(series, self.queue.bytes()));
                framed.or_else(|| self.layer2.granted().map(|granted| granted.sample(series))).unwrap_or(Sample::None)
            }
        }
    }

    /// Notes from `now` on whether the terminal of a link in a medium has capacity to come.
    pub(crate) fn note_asking(&mut self, now: Time, asks: bool) {
        if let Some(Layer2Kind::Granted(granted)) = self.layer2.0.as_deref_mut() {
            granted.note_asking(&self.queue, now, asks);
        }
    }

    /// An idle link that has carried this many packets.
    #[cfg(test)]
    pub(crate) fn that_carried(packets: u64) -> Self {
        let spec = bentpipe_model::spec::Link::plain(bentpipe_units::Rate::from_bps(1), bentpipe_units::Duration::ZERO);
        let mut link = Self::new(&spec, 0, Time::ZERO);
        link.counters.carried = packets;
        link
    }

    /// Packets whose transmission has begun.
    pub(crate) fn carried_packets(&self) -> u64 {
        self.counters().carried
    }
}
