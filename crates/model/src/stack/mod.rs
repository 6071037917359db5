//! Stacks that the simulator does not contain, such as QUIC: their contract, one end of one connection, and their keys.
//!
//! The network gives an engine datagrams and the time, and takes datagrams, events and the time of its next wake-up. After
//! each call that changes it, the network takes its events, then its datagrams, then its wake-up. An engine has no clock
//! and draws no random numbers but those of its seed. Applications move counts of bytes: an engine makes the content.

mod quic;

pub use quic::*;

use bentpipe_cc::{PathLesson, SavedPath};
use bentpipe_tcp::Ecn;
use bentpipe_units::{Duration, Time};
use std::fmt;
use std::sync::Arc;

/// Number of a stream of a connection. The opener's streams of two directions are 0, 4, 8, ... (RFC 9000 §2.1).
pub type StreamNo = u64;

/// One end of a connection.
pub trait Engine: fmt::Debug + Send + Sync {
    /// Processes a datagram as [`poll_transmit`](Self::poll_transmit) of the peer wrote it.
    fn handle(&mut self, now: Time, datagram: &[u8], ecn: Ecn);
    /// Processes the timers that have expired by `now`.
    fn handle_wakeup(&mut self, now: Time);
    /// Writes the next datagram into the empty buffer `into`. Returns `None` if no datagram leaves now.
    fn poll_transmit(&mut self, now: Time, into: &mut Vec<u8>) -> Option<SentDatagram>;
    /// Returns the time of its next wake-up; `Time::NEVER`: only an arrival or the application can make it act.
    fn next_wakeup(&self) -> Time;
    /// Returns the next event for the application.
    fn poll_event(&mut self) -> Option<EngineEvent>;
    /// Reports that a path of the connection has other links now: a handover, or another route.
    fn lane_changed(&mut self, path: u8, now: Time);
    /// Begins to open the connection. Only the opener does.
    fn connect(&mut self, now: Time);
    /// Opens a stream of two directions, and returns its number. Data may be written at once.
    fn open_stream(&mut self, now: Time) -> StreamNo;
    /// Offers `bytes` of data to a stream, and its end with `is_last`.
    fn write(&mut self, now: Time, stream: StreamNo, bytes: u64, is_last: bool);
    /// Sends an unreliable datagram with `bytes` of payload, at least [`DATAGRAM_MIN`] (RFC 9221). It is not retransmitted. A
    /// full buffer discards its oldest.
    fn send_datagram(&mut self, now: Time, bytes: u16);
    /// Closes the connection.
    fn close(&mut self, now: Time);
    /// Returns its counters.
    fn counters(&self) -> EngineCounters;
    /// Returns the state of its congestion control and of its path.
    fn state(&self) -> EngineState;
    /// Returns what later connections over its path may use (RFC 9959).
    fn path_lesson(&self) -> PathLesson;
    /// Returns the next round-trip sample since the last call.
    fn take_rtt(&mut self) -> Option<Duration>;
}

/// Least payload of an unreliable datagram, bytes: its number and the time of its departure.
pub const DATAGRAM_MIN: u16 = 12;

/// Identity of a connection, from which all its random numbers come.
#[derive(Clone, Copy, Debug)]
pub struct Seed<'a> {
    /// Seed of the run.
    pub run: u64,
    /// Name of its flow.
    pub flow: &'a str,
    /// Its number in the flow.
    pub ordinal: u64,
}

/// Makes the ends of a connection: the opener, then the listener, each with the path that an earlier connection saved.
type Make = dyn Fn(&Quic, Seed<'_>, [Option<SavedPath>; 2]) -> [Box<dyn Engine>; 2] + Send + Sync;

/// A stack: makes the ends of connections.
#[derive(Clone)]
pub struct Engines(Arc<Make>);

impl Engines {
    /// Returns a stack that makes connections by `make`.
    pub fn new(
        make: impl Fn(&Quic, Seed<'_>, [Option<SavedPath>; 2]) -> [Box<dyn Engine>; 2] + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(make))
    }

    /// Makes the ends of a connection: the opener, then the listener.
    pub fn make(&self, quic: &Quic, seed: Seed<'_>, saved: [Option<SavedPath>; 2]) -> [Box<dyn Engine>; 2] {
        (self.0)(quic, seed, saved)
    }
}

impl fmt::Debug for Engines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Engines")
    }
}

impl PartialEq for Engines {
    /// A build has at most one stack.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A datagram that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentDatagram {
    /// Payload of UDP, bytes.
    pub len: u16,
    /// Codepoint in the header of IP.
    pub ecn: Ecn,
    /// Path of the connection; 0 if it has one.
    pub path: u8,
    /// Number of its last packet.
    pub number: u64,
}

/// An event of a connection, for its application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EngineEvent {
    /// The handshake is complete at this end.
    Established,
    /// This many bytes of a stream have been read so far. With `is_last`, these are all bytes of the stream.
    Received {
        /// The stream.
        stream: StreamNo,
        /// Bytes read so far.
        bytes: u64,
        /// Whether the stream has ended.
        is_last: bool,
    },
    /// The peer has acknowledged all data of a stream, and its end.
    Acked(StreamNo),
    /// An unreliable datagram has arrived.
    Datagram {
        /// Its number among those of the peer, from 0.
        number: u32,
        /// When the peer's application sent it.
        sent_at: Time,
    },
    /// The connection has failed, with the stack's reason.
    Failed(String),
}

/// Counters of one end of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineCounters {
    /// Datagrams sent.
    pub sent_datagrams: u64,
    /// Payload of UDP sent, bytes.
    pub sent_bytes: u64,
    /// Datagrams received.
    pub received_datagrams: u64,
    /// Payload of UDP received, bytes.
    pub received_bytes: u64,
    /// Packets declared lost.
    pub declared_lost: u64,
    /// Packets declared lost that have arrived. On the wire this is unknown, and 0.
    pub needless: u64,
    /// Frames with acknowledgements sent.
    pub acks: u64,
    /// Bytes that the application has written to streams and datagrams.
    pub offered_bytes: u64,
    /// Bytes of streams and datagrams read.
    pub read_bytes: u64,
    /// Bytes of finished streams that the peer has acknowledged.
    pub acked_bytes: u64,
    /// Reductions of the congestion window.
    pub reductions: u64,
    /// Path challenges sent.
    pub path_challenges: u64,
    /// Frames sent because flow control blocks a stream or the connection.
    pub blocked: u64,
    /// Datagrams that the connection could not read.
    pub unreadable: u64,
    /// Connections that the idle timeout has ended: 0 or 1.
    pub idle_timeouts: u64,
}

impl std::ops::AddAssign for EngineCounters {
    fn add_assign(&mut self, other: Self) {
        // Written out, so that the compiler misses a new counter.
        let Self {
            sent_datagrams,
            sent_bytes,
            received_datagrams,
            received_bytes,
            declared_lost,
            needless,
            acks,
            offered_bytes,
            read_bytes,
            acked_bytes,
            reductions,
            path_challenges,
            blocked,
            unreadable,
            idle_timeouts,
        } = other;
        self.sent_datagrams += sent_datagrams;
        self.sent_bytes += sent_bytes;
        self.received_datagrams += received_datagrams;
        self.received_bytes += received_bytes;
        self.declared_lost += declared_lost;
        self.needless += needless;
        self.acks += acks;
        self.offered_bytes += offered_bytes;
        self.read_bytes += read_bytes;
        self.acked_bytes += acked_bytes;
        self.reductions += reductions;
        self.path_challenges += path_challenges;
        self.blocked += blocked;
        self.unreadable += unreadable;
        self.idle_timeouts += idle_timeouts;
    }
}

/// State of a congestion control and of its path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineState {
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Slow start threshold, bytes; `None`: none yet.
    pub ssthresh: Option<u64>,
    /// Smoothed round-trip time; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// Bytes in flight.
    pub in_flight: u64,
}
