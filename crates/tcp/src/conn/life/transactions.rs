//! T/TCP (RFC 1644): each connection has a count, larger than those of all earlier ones of its host. A server that
//! remembers the last count of a client takes a larger one for proof that the SYN is new (the TAO test), and with it
//! data and FIN. A SYN that fails the test opens with three segments, and its data is queued.
//!
//! RFC 1644 §3.3 marks the states in which the peer has not acknowledged our SYN yet with a star. They are `SynSent`
//! and `SynReceived` here. ESTABLISHED* is [`State::SynReceived`](super::State::SynReceived) with early data, and
//! CLOSE-WAIT* is the same state after the peer's FIN. In LAST-ACK* and SYN-SENT*, our FIN has left, too.
//!
//! DEVIATION: RFC 1644 lets a client send a window of segments before the SYN is answered. Here it sends one segment,
//! as with Fast Open.
//!
//! DEVIATION: RFC 1644 §3.4 discards segments without a count on a connection that has them. Middleboxes write ACKs
//! without a count, and an ACK with SACK blocks, younger than T/TCP, has no room for one.

use crate::cache::KnownCounts;
use crate::segment::{CountOption, Options, Segment, SynOptions};
use bentpipe_units::{Duration, Time};

/// The maximum segment lifetime (RFC 9293 §3.4.2), which is also how long a connection may last for its TIME-WAIT to be short.
const MSL: Duration = Duration::from_secs(120);

/// RFC 1644 §2.4: the truncated TIME-WAIT, in retransmission timeouts.
const TIME_WAIT_RTOS: u64 = 8;

/// The count of a connection whose driver gives none. The one before it is what a host remembers that has the counts of a
/// connection from before the run.
const FIRST: u32 = 2;

/// The connection counts of a connection (RFC 1644 §3.1).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    /// CCsend and CCrecv.
    ours: u32,
    pub(super) peers: Option<u32>,
    /// The host's memory of the other host.
    pub(super) known: KnownCounts,
    /// Server: data and FIN of a SYN that failed the test, until the handshake is complete.
    pub(super) queued: Option<(u16, bool)>,
    /// Server: the SYN-ACK waits for the application's answer, as long as an ACK may.
    pub(super) holds_answer: bool,
    opened_at: Time,
}

impl Counts {
    pub(super) fn new(is_known: bool) -> Self {
        let known = is_known.then_some(FIRST - 1);
        let known = KnownCounts { received: known, sent: known };
        Self { ours: FIRST, peers: None, known, queued: None, holds_answer: false, opened_at: Time::ZERO }
    }

    pub(crate) fn ours(&self) -> u32 {
        self.ours
    }

    pub(crate) fn set_ours(&mut self, count: u32) {
        self.ours = count.max(FIRST);
    }

    pub(crate) fn known(&self) -> KnownCounts {
        self.known
    }

    pub(super) fn on_open(&mut self, now: Time) {
        self.opened_at = now;
    }

    /// The options of the SYN or SYN-ACK that is sent next.
    pub(super) fn options(&self, answers: bool) -> (CountOption, Option<u32>) {
        match (answers, self.known.sent) {
            (true, _) if self.peers.is_none() => (CountOption::None, None),
            (true, _) => (CountOption::Count(self.ours), self.peers),
            // RFC 1644 §2.1: a new count asks for a handshake.
            (false, Some(sent)) if is_after(self.ours, sent) => (CountOption::Count(self.ours), None),
            (false, _) => (CountOption::New(self.ours), None),
        }
    }

    /// Server: a SYN arrived. Whether it passes the TAO test, so that what it brings is taken at once.
    pub(super) fn on_syn(&mut self, syn: &SynOptions) -> bool {
        self.peers = syn.count.get();
        let passes = match (syn.count, self.known.received) {
            (CountOption::Count(count), Some(known)) => is_after(count, known),
            _ => false,
        };
        match syn.count {
            _ if passes => self.known.received = self.peers,
            CountOption::Count(_) => {}
            // The client has lost its count, or has none: earlier counts are invalid.
            CountOption::New(_) | CountOption::None => self.known.received = None,
        }
        passes
    }

    /// Server: the handshake is complete, so the count is no old duplicate's.
    pub(super) fn on_confirmed(&mut self) {
        let (peers, received) = (self.peers, self.known.received);
        if peers.is_some_and(|count| received.is_none_or(|known| is_after(count, known))) {
            self.known.received = peers;
        }
    }

    /// Client: the SYN-ACK arrived. Without an echo its host does not know T/TCP.
    pub(super) fn on_syn_ack(&mut self, options: Options) {
        let syn = if let Options::Syn(syn) = options { syn } else { SynOptions::default() };
        self.peers = syn.count.get().filter(|_| syn.count_echo == Some(self.ours));
        self.known.sent = self.peers.map(|_| self.ours);
    }

    /// Client: the SYN-ACK echoes the count of another connection.
    pub(super) fn is_stale(&self, syn_ack: &Segment) -> bool {
        matches!(syn_ack.options, Options::Syn(SynOptions { count_echo: Some(echo), .. }) if echo != self.ours)
    }

    /// A segment with this count belongs to another connection.
    pub(crate) fn is_of_another(&self, count: u32) -> bool {
        self.peers.is_some_and(|peers| peers != count)
    }

    /// Returns the duration of TIME-WAIT; `None`: as without counts (RFC 1644 §2.4).
    pub(super) fn time_wait(&self, now: Time, rto: Duration) -> Option<Duration> {
        (self.peers.is_some() && now.saturating_since(self.opened_at) < MSL).then(|| rto * TIME_WAIT_RTOS)
    }
}

/// Whether one count is larger than another: they wrap around (RFC 1644 §2.3).
fn is_after(count: u32, other: u32) -> bool {
    (count.wrapping_sub(other) as i32) > 0
}
