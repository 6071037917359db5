//! Protocol between two SaTPEP gateways: one stream of bytes in each direction, cumulative acknowledgements for each
//! packet, negative ones for gaps, and a window from the gateway. SYN and FIN are places in the stream, as in TCP.

use bentpipe_tcp::{Flags, Options, SackBlocks, Segment};
use bentpipe_units::{Duration, Seq, Time};
use std::collections::{BTreeMap, VecDeque};

/// Sending parameters of a gateway.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    /// Payload bytes of a packet.
    pub(super) mss: u64,
    /// Bytes that may wait at the receiving gateway.
    pub(super) buffer: u64,
    /// Whether it has its own window below the gateway's. That starts with one packet, doubles, and falls back to one
    /// packet after a timeout.
    pub(super) slow_start: bool,
    /// Whether it asks about the last packets after silence.
    pub(super) probes: bool,
}

/// Packets without data that are to be sent.
#[derive(Clone, Copy, Debug, Default)]
struct Owes {
    ack: bool,
    nack: bool,
    probe: bool,
}

/// One end of the hop.
#[derive(Clone, Debug)]
pub(super) struct Hop {
    manner: Manner,
    una: u64,
    nxt: u64,
    /// End of the data to send, the FIN included.
    end: u64,
    /// Place of the FIN.
    fin_at: Option<u64>,
    /// End of the room at the other gateway.
    peer_edge: u64,
    /// Ranges to retransmit, and the time of each last transmission.
    again: VecDeque<(u64, u64)>,
    resent: BTreeMap<u64, Time>,
    /// End of the timed packet, and the time when it left.
    timed: Option<(u64, Time)>,
    pub(super) rtt: RoundTrip,
    /// Time of the last news from the other gateway.
    quiet_since: Time,
    has_probed: bool,
    tries: u32,
    /// Window that the gateway allows, bytes.
    pub(super) window: u64,
    cwnd: u64,
    ssthresh: u64,

    /// Next byte expected, ranges received beyond it, and the end of the data known to be sent.
    rx_nxt: u64,
    runs: BTreeMap<u64, u64>,
    rx_known: u64,
    rx_fin: Option<u64>,
    /// Bytes that have left the receiving gateway.
    freed: u64,
    rx_edge: u64,
    owes: Owes,
    nacked: Time,
}

/// Round trip between the gateways: the key's value until it is measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundTrip {
    pub(super) estimate: Duration,
    is_measured: bool,
}

impl RoundTrip {
    fn sample(&mut self, sample: Duration) {
        self.estimate = if self.is_measured { (self.estimate * 7 + sample) / 8 } else { sample };
        self.is_measured = true;
    }
}

/// Time beyond the round trip before a gap is reported again, or before a question about the end.
const PATIENCE: Duration = Duration::from_millis(50);
/// Mark of packets of the hop, in a reserved bit of the TCP header.
pub(super) const MARK: Flags = Flags::SLOW_START;
/// Timeouts in a row after which the other gateway counts as gone.
const TRIES_MAX: u32 = 15;
/// Unit of windows in the header, bytes: 16 MB at most.
const WINDOW_UNIT: u64 = 256;

impl Hop {
    /// Creates an end of the hop. If it opens, its stream begins with a SYN.
    pub(super) fn new(manner: Manner, opens: bool, rtt: Duration, window: u64, now: Time) -> Self {
        let (start, rx_start) = if opens { (0, 1) } else { (1, 0) };
        Self {
            manner,
            una: start,
            nxt: start,
            end: 1,
            fin_at: None,
            peer_edge: 1 + manner.buffer,
            again: VecDeque::new(),
            resent: BTreeMap::new(),
            timed: None,
            rtt: RoundTrip { estimate: rtt, is_measured: false },
            quiet_since: now,
            has_probed: false,
            tries: 0,
            window,
            cwnd: manner.mss,
            ssthresh: u64::MAX,
            rx_nxt: rx_start,
            runs: BTreeMap::new(),
            rx_known: 0,
            rx_fin: None,
            freed: 0,
            rx_edge: 1 + manner.buffer,
            owes: Owes::default(),
            nacked: Time::ZERO,
        }
    }

    pub(super) fn offer(&mut self, bytes: u64) {
        if self.fin_at.is_none() {
            self.end += bytes;
        }
    }

    pub(super) fn close(&mut self) {
        if self.fin_at.is_none() {
            self.fin_at = Some(self.end);
            self.end += 1;
        }
    }

    /// Returns the bytes of data that the other gateway has acknowledged.
    pub(super) fn acked(&self) -> u64 {
        self.una.clamp(1, self.fin_at.unwrap_or(u64::MAX)) - 1
    }

    /// Returns the bytes of data that arrived in order.
    pub(super) fn delivered(&self) -> u64 {
        self.rx_nxt.clamp(1, self.rx_fin.unwrap_or(u64::MAX)) - 1
    }

    /// Whether all data has arrived, the FIN included.
    pub(super) fn is_finished(&self) -> bool {
        self.rx_fin.is_some_and(|fin| self.rx_nxt > fin)
    }

    /// Whether both directions are finished.
    pub(super) fn has_ended(&self) -> bool {
        self.is_finished() && self.fin_at.is_some_and(|fin| self.una > fin)
    }

    pub(super) fn has_given_up(&self) -> bool {
        self.tries > TRIES_MAX
    }

    pub(super) fn outstanding(&self) -> u64 {
        self.nxt - self.una
    }

    /// Reports the total of bytes that have left the receiving gateway.
    pub(super) fn free_to(&mut self, freed: u64) {
        self.freed = freed;
        let edge = 1 + freed + self.manner.buffer;
        // In worthwhile steps, like windows in RFC 9293 §3.8.6.2.2.
        self.owes.ack |= edge >= self.rx_edge + (2 * self.manner.mss).min(self.manner.buffer / 2).max(WINDOW_UNIT);
    }

    /// Processes a packet of the other gateway.
    pub(super) fn on_segment(&mut self, now: Time, segment: &Segment) {
        self.on_ack(now, segment);
        let start = segment.seq.offset_near(Seq::new(0), self.rx_nxt);
        let end = start + segment.sequence_len();
        let known = self.rx_known.max(self.rx_nxt);
        if segment.sequence_len() == 0 {
            if start > known {
                // It asks about earlier data.
                self.rx_known = start;
                self.owes.nack = true;
            }
            return;
        }
        self.owes.ack = true;
        if segment.flags.has(Flags::FIN) {
            self.rx_fin = Some(end - 1);
        }
        self.owes.nack |= start > known;
        self.rx_known = self.rx_known.max(end);
        if end <= self.rx_nxt || end > self.rx_edge + 1 {
            return;
        }
        let run = self.runs.entry(start).or_insert(end);
        *run = end.max(*run);
        while let Some(first) = self.runs.first_entry().filter(|first| *first.key() <= self.rx_nxt) {
            self.rx_nxt = self.rx_nxt.max(first.remove());
        }
    }

    fn on_ack(&mut self, now: Time, segment: &Segment) {
        let ack = segment.ack.offset_near(Seq::new(0), self.una);
        if ack > self.nxt {
            return;
        }
        self.peer_edge = self.peer_edge.max(ack + u64::from(segment.window) * WINDOW_UNIT);
        if ack > self.una {
            let news = ack - self.una;
            self.una = ack;
            self.resent = self.resent.split_off(&ack);
            (self.quiet_since, self.tries, self.has_probed) = (now, 0, false);
            if let Some((_, sent)) = self.timed.take_if(|timed| timed.0 <= ack) {
                self.rtt.sample(now - sent);
            }
            let mss = self.manner.mss;
            self.cwnd += if self.cwnd < self.ssthresh { news.min(mss) } else { (mss * mss / self.cwnd).max(1) };
        }
        let Options::Sack(gaps) = segment.options else { return };
        for &(left, right) in gaps.as_slice() {
            let (mut from, to) = (left.offset_near(Seq::new(0), self.una), right.offset_near(Seq::new(0), self.una));
            while from < to.min(self.nxt) {
                let until = to.min(from + self.manner.mss);
                let is_new = self.resent.get(&from).is_none_or(|at| *at + self.rtt.estimate * 9 / 10 <= now);
                if is_new && from >= self.una {
                    self.resent.insert(from, now);
                    self.again.push_back((from, until));
                }
                from = until;
            }
        }
    }

    pub(super) fn on_wakeup(&mut self, now: Time) {
        if self.has_gap() && self.nacked + self.rtt.estimate + PATIENCE <= now {
            self.owes.nack = true;
        }
        if self.outstanding() == 0 {
            return;
        }
        if self.quiet_since + self.rtt.estimate * 2 + PATIENCE * 2 <= now {
            self.tries += 1;
            (self.quiet_since, self.has_probed, self.timed) = (now, false, None);
            if self.manner.slow_start {
                self.ssthresh = (self.outstanding() / 2).max(2 * self.manner.mss);
                self.cwnd = self.manner.mss;
            }
            self.resent.insert(self.una, now);
            self.again.push_back((self.una, self.nxt.min(self.una + self.manner.mss)));
        } else if self.manner.probes && !self.has_probed && self.quiet_since + self.rtt.estimate + PATIENCE <= now {
            (self.has_probed, self.owes.probe) = (true, true);
        }
    }

    pub(super) fn next_wakeup(&self) -> Time {
        let mut due = Time::NEVER;
        if self.has_gap() {
            due = self.nacked + self.rtt.estimate + PATIENCE;
        }
        if self.outstanding() > 0 {
            due = due.min(self.quiet_since + self.rtt.estimate * 2 + PATIENCE * 2);
            if self.manner.probes && !self.has_probed {
                due = due.min(self.quiet_since + self.rtt.estimate + PATIENCE);
            }
        }
        due
    }

    fn has_gap(&self) -> bool {
        self.rx_known > self.rx_nxt
    }

    /// Returns the next packet to send now: retransmissions, new data, answers.
    pub(super) fn poll(&mut self, now: Time) -> Option<Segment> {
        while let Some((from, until)) = self.again.pop_front() {
            if until > self.una {
                self.timed = None;
                let from = from.max(self.una);
                return Some(Segment { is_retransmission: true, ..self.packet(from, until) });
            }
        }
        let window = if self.manner.slow_start { self.window.min(self.cwnd) } else { self.window };
        // A FIN needs no room.
        let room = self.peer_edge + u64::from(self.fin_at == Some(self.peer_edge));
        let until = self.end.min(self.nxt + self.manner.mss).min(room);
        if self.nxt < until && (self.outstanding() == 0 || until - self.una <= window) {
            // A SYN travels alone, so that the stream can be cut anywhere behind it.
            let until = if self.nxt == 0 { 1 } else { until };
            if self.outstanding() == 0 {
                self.quiet_since = now;
            }
            let segment = self.packet(self.nxt, until);
            self.nxt = until;
            self.timed.get_or_insert((until, now));
            return Some(segment);
        }
        if std::mem::take(&mut self.owes.probe) {
            return Some(self.packet(self.nxt, self.nxt));
        }
        if std::mem::take(&mut self.owes.nack) && self.has_gap() {
            self.nacked = now;
            let mut gaps = SackBlocks::default();
            let mut from = self.rx_nxt;
            for (&start, &end) in self.runs.iter().chain([(&self.rx_known, &self.rx_known)]) {
                if start > from {
                    gaps.push(Seq::new(0).at(from), Seq::new(0).at(start));
                }
                from = from.max(end);
            }
            return Some(Segment { options: Options::Sack(gaps), ..self.packet(self.nxt, self.nxt) });
        }
        self.owes.ack.then(|| self.packet(self.una, self.una))
    }

    /// Returns a packet with the data between two places of the stream, and an acknowledgement.
    fn packet(&mut self, from: u64, until: u64) -> Segment {
        self.owes.ack = false;
        self.rx_edge = self.rx_edge.max(1 + self.freed + self.manner.buffer);
        let window = (self.rx_edge.saturating_sub(self.rx_nxt) / WINDOW_UNIT).min(65_535) as u16;
        let mut flags = Flags::ACK.with(MARK);
        let has_syn = from == 0 && until > 0;
        let has_fin = self.fin_at.is_some_and(|fin| (from..until).contains(&fin));
        if has_syn {
            flags = flags.with(Flags::SYN);
        }
        if has_fin {
            flags = flags.with(Flags::FIN);
        }
        let len = (until - from - u64::from(has_syn) - u64::from(has_fin)) as u16;
        let (seq, ack) = (Seq::new(0).at(from), Seq::new(0).at(self.rx_nxt));
        Segment { seq, ack, len, window, flags, ..Segment::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn pair(slow_start: bool, probes: bool) -> [Hop; 2] {
        let manner = Manner { mss: MSS, buffer: 100_000, slow_start, probes };
        [true, false].map(|opens| Hop::new(manner, opens, Duration::from_millis(500), 50_000, Time::ZERO))
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    fn all(hop: &mut Hop, now: Time) -> Vec<Segment> {
        std::iter::from_fn(|| hop.poll(now)).collect()
    }

    /// satpep.md: three packets missing give one NACK, and all of them are sent again after one round trip.
    #[test]
    fn a_gap_is_reported_once_and_filled_in_a_round_trip() {
        let [mut tx, mut rx] = pair(false, true);
        tx.offer(10 * MSS);
        let sent = all(&mut tx, at(0));
        assert_eq!(sent.len(), 11);
        let mut answers = Vec::new();
        for (_, segment) in sent.iter().enumerate().filter(|(n, _)| !(4..7).contains(n)) {
            rx.on_segment(at(250), segment);
            answers.extend(all(&mut rx, at(250)));
        }
        let nacks: Vec<_> = answers.iter().filter(|segment| matches!(segment.options, Options::Sack(_))).collect();
        assert_eq!(nacks.len(), 1);
        answers.iter().for_each(|answer| tx.on_segment(at(500), answer));
        let again = all(&mut tx, at(500));
        assert_eq!(again.iter().map(|segment| segment.seq.value()).collect::<Vec<_>>(), [3001, 4001, 5001]);
        again.iter().for_each(|segment| rx.on_segment(at(750), segment));
        assert_eq!(rx.delivered(), 10 * MSS);
    }

    /// What was sent last leaves no gap: with probes it is asked about, without it waits for the timer.
    #[test]
    fn probes_show_what_leaves_no_gap() {
        for (probes, repaired_ms) in [(true, 550), (false, 1100)] {
            let [mut tx, mut rx] = pair(true, probes);
            assert_eq!(all(&mut tx, at(0)).len(), 1);
            assert_eq!(tx.next_wakeup(), at(repaired_ms));
            tx.on_wakeup(at(repaired_ms));
            let sent = all(&mut tx, at(repaired_ms));
            sent.iter().for_each(|segment| rx.on_segment(at(repaired_ms + 250), segment));
            let answer = all(&mut rx, at(repaired_ms + 250));
            assert_eq!(matches!(answer[0].options, Options::Sack(_)), probes);
            assert_eq!(rx.rx_nxt, u64::from(!probes));
            // BEEN-22: a timeout at one packet leaves a threshold of two.
            assert_eq!(tx.ssthresh, if probes { u64::MAX } else { 2 * MSS });
        }
    }

    #[test]
    fn a_receiver_without_room_stops_the_sender() {
        let [mut tx, mut rx] = pair(false, true);
        tx.window = 1 << 20;
        tx.offer(200_000);
        let mut now = 0;
        while tx.outstanding() > 0 || now == 0 {
            all(&mut tx, at(now)).iter().for_each(|segment| rx.on_segment(at(now), segment));
            now += 1;
            all(&mut rx, at(now)).iter().for_each(|segment| tx.on_segment(at(now), segment));
        }
        assert!((99_000..=100_000).contains(&rx.delivered()), "{}", rx.delivered());
        rx.free_to(50_000);
        all(&mut rx, at(now)).iter().for_each(|segment| tx.on_segment(at(now), segment));
        let sent: u64 = all(&mut tx, at(now)).iter().map(|segment| u64::from(segment.len)).sum();
        assert!((49_000..=50_000).contains(&sent), "{sent}");
    }
}
