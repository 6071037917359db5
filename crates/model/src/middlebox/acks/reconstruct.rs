//! Reconstructs filtered acknowledgements (RFC 3449 §5.2.3).
//!
//! # How it works
//!
//! An acknowledgement of many segments is replaced by the acknowledgements of a few segments each that would have
//! arrived without a filter. They leave at the pace at which the segments arrived. The sender then grows its window and
//! clocks out data as without a filter.
//!
//! Acknowledgements with more information than a number (SACK, ECN, data, FIN) pass unchanged, after those that waited
//! before them.
//!
//! # Position on the path
//!
//! Behind the slow link that returns acknowledgements, at the far end of the filter and in front of the sender.
//!
//! # When it helps
//!
//! It prevents bursts, and restores windows that grow per acknowledgement.
//!
//! # When it hurts
//!
//! The acknowledgement of the last segments arrives later, because those before it are spread.

use crate::middlebox::sessions::Sessions;
use crate::middlebox::{Context, Middlebox, Side, Way};
use crate::packet::Packet;
use bentpipe_tcp::Flags;
use bentpipe_units::{settings, Duration, Seq, Time};

settings! {
    /// Reconstruction of acknowledgements.
    pub struct AckReconstructConfig {
        /// Direction of the packets that are reconstructed.
        direction: Way = Way::ToSender;
        /// Segments per acknowledgement.
        every: u32 = 2, [1, 1000], "RFC 5681 §4.2: at least every second segment is acknowledged";
        /// Connections with reconstruction at the same time. Acknowledgements of other connections pass unchanged.
        sessions: u32 = 100_000, [1, 1_000_000];
        /// Time without a packet after which state is discarded.
        idle: Duration = Duration::from_secs(60);
    }
}

/// Reconstruction at a node.
#[derive(Clone, Debug)]
pub struct AckReconstruct {
    config: AckReconstructConfig,
    sessions: Sessions<Stream>,
    held: usize,
}

/// Acknowledgements of a connection in one direction.
#[derive(Clone, Debug)]
struct Stream {
    /// Last acknowledgement number that the sender received.
    told: Seq,
    /// Payload bytes of the largest segment in the other direction.
    mss: u64,
    /// Rate of acknowledged data, bytes per second, smoothed; 0: unknown.
    rate: f64,
    latest: Time,
    /// The latest acknowledgement until it leaves, and the time between two.
    waiting: Option<Packet>,
    gap: Duration,
    due: Time,
}

impl AckReconstruct {
    pub(crate) fn new(config: &AckReconstructConfig, _seed: u64, _component: &str) -> Self {
        Self { config: *config, sessions: Sessions::default(), held: 0 }
    }

    fn on_ack(&mut self, key: u64, packet: Packet, cx: &mut Context<'_>) {
        let every = u64::from(self.config.every);
        let Some(stream) = self.sessions.get_mut(key) else { return cx.forward(packet) };
        self.held -= stream.flush(cx);
        let new = stream.ahead(&packet);
        let is_plain = packet.is_bare_ack() && !cx.has_options(&packet) && !packet.header_flags().has(Flags::ECE);
        if new > 0 {
            stream.measure(cx.now, new);
        }
        let count = new.div_ceil(stream.mss).div_ceil(every);
        if !is_plain || count < 2 || stream.rate == 0.0 {
            stream.told = if new > 0 { packet.ack_no() } else { stream.told };
            return cx.forward(packet);
        }
        // RFC 3449 §5.2.3: spread over the estimated time in which that much data arrived.
        stream.gap = Duration::from_secs_f64(new as f64 / stream.rate / count as f64);
        (stream.waiting, stream.due) = (Some(packet), cx.now);
        self.held += 1;
        self.held -= stream.tell(every, cx);
        self.arm(key);
    }

    fn arm(&mut self, key: u64) {
        if let Some(stream) = self.sessions.get_mut(key) {
            let due = if stream.waiting.is_some() { stream.due } else { stream.latest + self.config.idle };
            self.sessions.arm(key, due);
        }
    }
}

impl Stream {
    /// Returns the bytes that an acknowledgement covers beyond the last one sent.
    fn ahead(&self, packet: &Packet) -> u64 {
        (packet.ack_no().value().wrapping_sub(self.told.value()) as i32).max(0) as u64
    }

    /// Updates the rate, which follows the last few acknowledgements.
    fn measure(&mut self, now: Time, new: u64) {
        let span = (now - self.latest).as_secs_f64();
        self.latest = now;
        if span > 0.0 {
            let sample = new as f64 / span;
            self.rate = if self.rate == 0.0 { sample } else { 0.75 * self.rate + 0.25 * sample };
        }
    }

    /// Sends the next acknowledgement in place of the waiting one. Returns 1 if it was the last.
    fn tell(&mut self, every: u64, cx: &mut Context<'_>) -> usize {
        let Some(packet) = self.waiting else { return 0 };
        if self.ahead(&packet) <= every * self.mss {
            return self.flush(cx);
        }
        self.told = self.told.at(every * self.mss);
        let mut told = cx.copy_of(&packet);
        told.ack = self.told;
        cx.emit(told);
        self.due = cx.now + self.gap;
        0
    }

    /// Sends the waiting acknowledgement. Returns the number of packets sent.
    fn flush(&mut self, cx: &mut Context<'_>) -> usize {
        let Some(packet) = self.waiting.take() else { return 0 };
        self.told = packet.ack_no();
        cx.forward(packet);
        1
    }
}

impl Middlebox for AckReconstruct {
    fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        if !packet.is_segment() || packet.is_damaged() {
            return cx.forward(packet);
        }
        if !self.config.direction.is_from(Side::origin_of(&packet)) {
            // Data, whose acknowledgements travel the other way.
            if let Some(stream) = self.sessions.get_mut(packet.conversation() ^ 1) {
                stream.mss = stream.mss.max(packet.len.into());
            }
            return cx.forward(packet);
        }
        let (key, flags) = (packet.conversation(), packet.header_flags());
        if flags.has_any(Flags::SYN.with(Flags::FIN).with(Flags::RST)) {
            if let Some(mut stream) = self.sessions.remove(key) {
                self.held -= stream.flush(cx);
            }
            return cx.forward(packet);
        }
        if self.sessions.get_mut(key).is_none() && packet.is_bare_ack() {
            if self.sessions.len() >= self.config.sessions as usize {
                return cx.forward(packet);
            }
            let (told, latest) = (packet.ack_no(), cx.now);
            let (waiting, gap, due) = (None, Duration::ZERO, Time::NEVER);
            self.sessions.insert(key, Stream { told, mss: 536, rate: 0.0, latest, waiting, gap, due });
        }
        self.on_ack(key, packet, cx);
        self.arm(key);
    }

    fn on_wakeup(&mut self, cx: &mut Context<'_>) {
        while let Some(key) = self.sessions.pop_due(cx.now) {
            let Some(stream) = self.sessions.get_mut(key) else { continue };
            if stream.waiting.is_none() && stream.latest + self.config.idle <= cx.now {
                self.sessions.remove(key);
                continue;
            }
            if stream.due <= cx.now {
                self.held -= stream.tell(self.config.every.into(), cx);
            }
            self.arm(key);
        }
    }

    fn next_wakeup(&self) -> Time {
        self.sessions.next_wakeup()
    }

    fn held(&self) -> usize {
        self.held
    }

    fn flows(&self) -> usize {
        self.sessions.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::EndpointId;
    use crate::middlebox::{Action, Bench};
    use crate::packet::Origin;
    use bentpipe_tcp::Segment;

    /// pep.md, test 3: a jump of six segments becomes three acknowledgements of two, at the pace of the data.
    #[test]
    fn a_jump_is_told_in_steps() {
        let config = AckReconstructConfig { every: 2, ..AckReconstructConfig::default() };
        let (mut function, mut bench) = (AckReconstruct::new(&config, 1, "node/n/0"), Bench::default());
        let mut told = Vec::new();
        let mut see = |ms: u64, from: usize, ack: u32, len: u16| {
            let now = Time::ZERO + Duration::from_millis(ms);
            while function.next_wakeup() <= now {
                let due = function.next_wakeup();
                bench.at(due, |cx| function.on_wakeup(cx));
                told.extend(bench.out.take().into_iter().map(|action| (due, action)));
            }
            let segment = Segment { ack: Seq::new(ack), len, flags: Flags::ACK, ..Segment::default() };
            let packet = Packet::new(&segment, &Origin::of(EndpointId::both(0)[from], 0), &mut bench.bodies);
            bench.at(now, |cx| function.on_packet(packet, cx));
            told.extend(bench.out.take().into_iter().map(|action| (now, action)));
            assert_eq!(function.held(), usize::from(ack == 9001));
        };
        see(0, 1, 1001, 0);
        see(1, 0, 0, 1000);
        // Two segments in 20 ms: 100 bytes in a millisecond.
        see(20, 1, 3001, 0);
        see(80, 1, 9001, 0);
        see(200, 0, 0, 1000);
        let acks = told.iter().filter_map(|(at, action)| match action {
            Action::Forward(packet) | Action::Emit(packet) if packet.len == 0 => {
                Some(((*at - Time::ZERO).as_secs_f64() * 1000.0, packet.ack_no().value()))
            }
            _ => None,
        });
        let rounded: Vec<_> = acks.map(|(ms, ack)| (ms.round() as u64, ack)).collect();
        assert_eq!(rounded, [(0, 1001), (20, 3001), (80, 5001), (100, 7001), (120, 9001)]);
    }
}
