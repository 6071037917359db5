//! Records of transfers: statistics of all, by flow and by size, and the first ones individually.

use super::rows::Room;
use super::{FileReceived, Histogram, Probes};
use bentpipe_model::dictionary::{Table, TransferRow};
use bentpipe_model::ids::FlowId;
use bentpipe_units::{Duration, Time};

/// A completed transfer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    /// Index among the transfers of its flow, from 0.
    pub(crate) index: u64,
    pub(crate) start: Time,
    pub(crate) size: u64,
    /// Time until it is complete at both ends.
    pub(crate) duration: Duration,
    /// Time until its last byte was received.
    pub(crate) received: Duration,
    /// Time until its last byte was acknowledged, possibly by a proxy. Equals `duration` for answers, pages and
    /// records.
    pub(crate) acked: Duration,
    /// Shortest duration of the path; `None` where it is undefined.
    pub(crate) ideal: Option<Duration>,
}

/// Upper bounds of the size classes, bytes. The last class has none.
const BOUNDS: [u64; 4] = [10_000, 100_000, 1_000_000, 10_000_000];

/// Names of the classes, after the class of all.
pub(crate) const CLASSES: [&str; 6] =
    ["all", "up to 10 kB", "10 kB to 100 kB", "100 kB to 1 MB", "1 MB to 10 MB", "above 10 MB"];

/// The transfers of a flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Completions {
    /// Transfers started so far.
    pub(crate) begun: u64,
    /// Transfers whose connection gave up, and lost records.
    pub(crate) failed: u64,
    /// Size classes, in the order of [`CLASSES`].
    classes: [SizeClass; 6],
}

/// Transfers of similar size.
#[derive(Clone, Debug, Default)]
pub(crate) struct SizeClass {
    pub(crate) bytes: u64,
    pub(crate) durations: Histogram,
    /// Slowdowns of transfers with an ideal duration. A second in the histogram is a factor of one.
    pub(crate) slowdowns: Histogram,
}

impl Completions {
    pub(crate) fn add(&mut self, transfer: &Transfer) {
        let class = 1 + BOUNDS.iter().filter(|&&bound| transfer.size > bound).count();
        for class in [0, class] {
            let class = &mut self.classes[class];
            class.bytes += transfer.size;
            class.durations.record_span(transfer.duration);
            if let Some(slowdown) = transfer.slowdown() {
                class.slowdowns.record_span(Duration::from_secs_f64(slowdown));
            }
        }
    }

    /// Adds the transfers of another flow.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.begun += other.begun;
        self.failed += other.failed;
        for (class, other) in self.classes.iter_mut().zip(&other.classes) {
            class.bytes += other.bytes;
            class.durations.merge(&other.durations);
            class.slowdowns.merge(&other.slowdowns);
        }
    }

    /// Returns the completed transfers.
    pub(crate) fn completed(&self) -> u64 {
        self.classes[0].durations.count()
    }

    /// Returns the transfers under way when the run ended.
    pub(crate) fn unfinished(&self) -> u64 {
        self.begun - self.failed - self.completed()
    }

    /// Returns the class of all.
    pub(crate) fn total(&self) -> &SizeClass {
        &self.classes[0]
    }

    /// Returns name and content of each non-empty class, and of the class of all.
    pub(crate) fn classes(&self) -> impl Iterator<Item = (&'static str, &SizeClass)> {
        let has_any = |&(name, class): &(&str, &SizeClass)| name == CLASSES[0] || class.durations.count() > 0;
        CLASSES.iter().copied().zip(&self.classes).filter(has_any)
    }
}

impl Transfer {
    /// Returns the duration over the shortest duration.
    pub(crate) fn slowdown(&self) -> Option<f64> {
        self.ideal.map(|ideal| self.duration.as_secs_f64() / ideal.as_secs_f64())
    }
}

/// Individual transfers.
#[derive(Clone, Debug, Default)]
pub(crate) struct TransferRows {
    rows: Vec<(FlowId, Transfer)>,
    max: u64,
    lost: u64,
}

impl TransferRows {
    pub(crate) fn new(max: u64) -> Self {
        Self { rows: Vec::new(), max, lost: 0 }
    }

    pub(super) fn add(&mut self, room: &mut Room, flow: FlowId, transfer: &Transfer) {
        if room.take(self.rows.len(), self.max) {
            self.rows.push((flow, *transfer));
        } else {
            self.lost += 1;
        }
    }

    /// Returns the note of transfers that are in the statistics only, if there are any.
    pub(super) fn note(&self, room: &Room) -> Option<String> {
        let why = if self.rows.len() as u64 >= self.max {
            format!("record.transfers_max = {}", self.max)
        } else {
            format!("the {} rows of all series together", room.of_all)
        };
        (self.lost > 0).then(|| format!("{} transfers did not fit {why} and were not kept one by one", self.lost))
    }

    /// Returns the table; `flows` are their names.
    pub(super) fn table(&self, flows: &[&str]) -> Table {
        TransferRow::table(self.rows.iter().map(|(flow, transfer)| TransferRow {
            flow: flows[*flow],
            transfer: transfer.index,
            start_s: transfer.start.as_secs_f64(),
            size_bytes: transfer.size,
            duration_s: transfer.duration.as_secs_f64(),
            duration_rx_s: transfer.received.as_secs_f64(),
            duration_acked_s: transfer.acked.as_secs_f64(),
            slowdown: transfer.slowdown().unwrap_or(f64::NAN),
        }))
    }
}

/// Arrived datagrams of a flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrived {
    pub(crate) delays: Histogram,
    last: Option<Duration>,
    variations: u64,
    variation: Duration,
    /// The estimate of the interarrival jitter of RFC 3550, seconds.
    smoothed_s: f64,
    /// Largest delay of a datagram that is played, from the first arrival on.
    deadline: Option<Duration>,
    /// Datagrams that arrived after their deadline.
    pub(crate) late: u64,
    /// Datagrams lost on the path.
    pub(crate) lost: u64,
    /// Datagrams sent in a connection.
    pub(crate) sent: u64,
    /// Numbered datagrams up to the largest number that arrived.
    expected: u64,
    /// Its probes, from the first one.
    pub(crate) probes: Option<Probes>,
    /// The file that they carry.
    pub(crate) file: Option<Box<FileReceived>>,
}

impl Arrived {
    /// Adds a datagram. With `playout`, it is late if its delay is above that of the first arrival by more than this.
    pub(crate) fn add(&mut self, delay: Duration, playout: Option<Duration>) {
        self.delays.record_span(delay);
        if let Some(last) = self.last.replace(delay) {
            let variation = delay.abs_diff(last);
            self.variations += 1;
            self.variation += variation;
            self.smoothed_s += (variation.as_secs_f64() - self.smoothed_s) / 16.0;
        }
        if let Some(playout) = playout {
            self.late += u64::from(delay > *self.deadline.get_or_insert(delay + playout));
        }
    }

    /// Adds a datagram that came in a connection, whose packets show no loss of datagrams: those with smaller numbers that
    /// are missing are lost (RFC 3550 A.3).
    pub(crate) fn add_numbered(&mut self, number: u32, delay: Duration, playout: Option<Duration>) {
        self.add(delay, playout);
        self.expected = self.expected.max(u64::from(number) + 1);
        self.lost = self.expected.saturating_sub(self.delays.count());
    }

    /// Returns the interarrival jitter (RFC 3550 §6.4.1) after the last arrival, seconds.
    pub(crate) fn interarrival_jitter_s(&self) -> f64 {
        if self.variations == 0 {
            return f64::NAN;
        }
        self.smoothed_s
    }

    /// Returns the mean difference of the delays of consecutive datagrams (RFC 3393 §1.1), seconds.
    pub(crate) fn jitter_s(&self) -> f64 {
        if self.variations == 0 {
            return f64::NAN;
        }
        self.variation.as_secs_f64() / self.variations as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transfer(size: u64, ms: u64) -> Transfer {
        let duration = Duration::from_millis(ms);
        Transfer {
            index: 0,
            start: Time::ZERO,
            size,
            duration,
            received: duration,
            acked: duration,
            ideal: Some(duration / 2),
        }
    }

    #[test]
    fn transfers_fall_into_classes_and_add_up() {
        let mut one = Completions { begun: 4, failed: 1, ..Completions::default() };
        one.add(&transfer(10_000, 100));
        one.add(&transfer(10_001, 300));
        let mut both = one.clone();
        both.merge(&one);
        assert_eq!((one.completed(), one.unfinished(), both.completed(), both.unfinished()), (2, 1, 4, 2));
        let names: Vec<_> = one.classes().map(|(name, class)| (name, class.durations.count())).collect();
        assert_eq!(names, [("all", 2), ("up to 10 kB", 1), ("10 kB to 100 kB", 1)]);
        let (_, all) = both.classes().next().unwrap();
        assert!((all.durations.mean_s() - 0.2).abs() < 1e-12 && (all.slowdowns.mean_s() - 2.0).abs() < 1e-12);
        assert_eq!(all.bytes, 40_002);
    }

    #[test]
    fn jitter_is_the_mean_change_of_delay() {
        let mut arrived = Arrived::default();
        assert!(arrived.jitter_s().is_nan());
        for ms in [10, 14, 12] {
            arrived.add(Duration::from_millis(ms), None);
        }
        assert!((arrived.jitter_s() - 0.003).abs() < 1e-12);
        assert_eq!(arrived.late, 0);
    }

    /// J = J + (|D| - J)/16 for each arrival after the first (RFC 3550 §6.4.1): |D| is 16 ms, then 32 ms.
    #[test]
    fn interarrival_jitter_is_that_of_rfc_3550() {
        let mut arrived = Arrived::default();
        assert!(arrived.interarrival_jitter_s().is_nan());
        for ms in [100, 116, 84] {
            arrived.add(Duration::from_millis(ms), None);
        }
        let first = 0.016 / 16.0;
        assert!((arrived.interarrival_jitter_s() - (first + (0.032 - first) / 16.0)).abs() < 1e-12);
    }

    /// The first arrival sets the playout point: 100 ms + 20 ms.
    #[test]
    fn packets_after_the_playout_point_are_late() {
        let mut arrived = Arrived::default();
        for ms in [100, 120, 121, 80, 130] {
            arrived.add(Duration::from_millis(ms), Some(Duration::from_millis(20)));
        }
        assert_eq!(arrived.late, 2);
    }
}
