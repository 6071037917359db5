//! QUIC: the keys of `[quic]`. Both ends of a connection get the same settings.

use super::Engines;
use crate::distribution::Between;
use bentpipe_cc::settings::{Fields, Shape, Table, Title, Typed, Unfit, Value};
use bentpipe_cc::{CcConfig, CcKind, Init};
use bentpipe_tcp::{ByteCounting, CarefulResume, MaxJump, SavedRtt, SavedWindow, SlowStart};
use bentpipe_units::settings::{Bytes, OnOff, Switch};
use bentpipe_units::{amounts, kinds, settings, words, Duration, Time};

settings! {
    /// Settings of one QUIC connection.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Quic {
        /// Congestion control: one of TCP's, or one of the stack. Tahoe, Reno and tcpmin by name mean their window:
        /// loss recovery is always that of QUIC.
        cc: QuicCc = QuicCc::House(CcConfig::from(CcKind::Cubic)), "the stack's default";
        /// Value of an ACK for the growth of the window.
        byte_counting: ByteCounting = ByteCounting::UbcPure, "RFC 9002 §7.3.1: all bytes acknowledged";
        /// Growth of the window in slow start, and its end besides the threshold and losses.
        slow_start: SlowStart = SlowStart::Standard, "RFC 9002 §7.3.1";
        /// Window at the start of a connection.
        initial_window: QuicInitialWindow = QuicInitialWindow::Packets(10), "RFC 9002 §7.2";
        /// Round-trip time before the first sample. It sets the first probe timeout, three times this value.
        initial_rtt: Duration = Duration::from_millis(333), "RFC 9002 §6.2.2";
        /// Receive window of each stream. `auto`: three bandwidth-delay products of the path, at least 2 MB.
        stream_window: QuicWindow = QuicWindow::Auto;
        /// Receive window of all streams together. `auto`: as `stream_window`.
        connection_window: QuicWindow = QuicWindow::Auto;
        /// Send buffer of all streams: data that is not acknowledged yet. `auto`: twice `stream_window`.
        send_window: QuicWindow = QuicWindow::Auto;
        /// Payload of UDP in a full datagram, from 1200 B on.
        mtu: u32 as Bytes = 1452, "1500 B packets less 48 B: IPv6 and UDP";
        /// Packets acknowledged after a packet that is then lost (kPacketThreshold).
        packet_threshold: u32 = 3, [3], "RFC 9002 §6.1.1";
        /// Round-trip times after which an earlier packet is lost (kTimeThreshold).
        time_threshold: f64 = 1.125, [1.0, 1000.0], "RFC 9002 §6.1.2";
        /// Probe timeouts without an ACK that are persistent congestion (kPersistentCongestionThreshold).
        persistent_congestion: u32 = 3, [1], "RFC 9002 §7.6.1";
        /// The handshake.
        handshake: QuicHandshake = QuicHandshake::default();
        /// Acknowledgements that both ends ask for.
        ack_frequency: Option<QuicAckFrequency> as OnOff = None, "an extension";
        /// Careful resume: a jump to half of the window that an earlier connection used (RFC 9959). Not for congestion
        /// controls of the stack, or with a window of a model.
        careful_resume: Option<CarefulResume> as OnOff = None, "RFC 9002 §7.2: each connection probes from the initial window";
        /// Changes of the client's address.
        migration: QuicMigration = QuicMigration::Off, "a fixed host";
        /// Order of the streams of an end with data.
        send_order: QuicSendOrder = QuicSendOrder::RoundRobin, "the stack's default";
        /// Order in which the receiver reads a stream.
        read: QuicRead = QuicRead::Unordered;
        /// Whether packets ask for ECN marks.
        ecn: bool = true, "RFC 9000 §13.4";
        /// Time without packets after which a connection ends.
        idle_timeout: Duration = Duration::from_secs(30), "RFC 9308 §3.2";
        /// Interval of pings on an idle connection.
        keep_alive: QuicKeepAlive = QuicKeepAlive::Off, "RFC 9000 §10.1.2: an application decides";
        /// Processing time of a packet at a receiving host, as `processing` of `[tcp]`.
        processing: (Duration, Duration) as Between = (Duration::ZERO, Duration::from_micros(100)), "as `[tcp]`";
    } with {
        /// Stack that makes the ends of a connection; `None`: this build has no QUIC.
        engines: Option<Engines> = None;
    }
}

settings! {
    /// Handshake of QUIC.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct QuicHandshake {
        /// Bytes of the server's messages after its ServerHello: certificates, above all. A server sends at most three times
        /// the bytes that it has received (RFC 9000 §8.1), so a long chain costs a round trip.
        flight: u32 as Bytes = 3000, "a usual chain of certificates";
        /// Session of an earlier connection that the client resumes. It is given: no connection of the run makes it.
        resume: QuicResume = QuicResume::No, "a first visit";
        /// Whether the server accepts early data. Otherwise the client retransmits it after the handshake.
        accepted: bool = true, "RFC 9001 §4.6.2 allows both";
        /// Whether the client has an address token from an earlier connection (RFC 9000 §8.1.3): the server then sends more
        /// than three times what it has received.
        address_token: bool = false, "a first visit";
        /// Whether the server validates the client's address before the handshake, by a Retry packet (RFC 9000 §8.1.2). An
        /// address token does it, too.
        retry: bool = false, "usual only under attack";
    }
}

words! {
    /// Session that a client resumes.
    pub enum QuicResume {
        /// A full handshake, with certificates.
        "none" => No,
        /// A handshake without certificates; data follows it.
        "1-rtt" => OneRtt,
        /// Data leaves with the first packet (RFC 9001 §4.6).
        "0-rtt" => ZeroRtt,
    }
}

settings! {
    /// Acknowledgements that a sender asks for (draft-ietf-quic-ack-frequency-04, with the transport parameter of -08).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct QuicAckFrequency {
        /// Packets with data for each acknowledgement.
        every: u32 = 10, [1, 1_000_000], "draft-ietf-quic-ack-frequency";
        /// Longest delay of an acknowledgement.
        delay: Duration = Duration::from_millis(25), "RFC 9000 §18.2, max_ack_delay";
        /// Number of reordered packets that a receiver acknowledges immediately; 0: never.
        reordering: u32 = 2, [0, 1_000_000], "packet threshold less one";
    }
}

impl Switch for QuicAckFrequency {
    const OFF: &'static str = "An ACK for every second packet (RFC 9000 §13.2.2).";
}

kinds! {
    /// Changes of the client's address during a connection (RFC 9000 §9).
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum QuicMigration as "QuicMigration", "a migration" {
        /// The address stays.
        "off" => Off;
        /// The address changes whenever a route of the flow changes: at a handover, for instance.
        "handover" => Handover {
            /// Part of the address that changes.
            change: QuicChange = QuicChange::Rebinding;
        };
        /// The address changes at given times.
        "at" => At {
            /// Times, increasing.
            times: Vec<Time>, [1, 100_000];
            /// Part of the address that changes.
            change: QuicChange = QuicChange::Rebinding;
        };
    }
}

words! {
    /// Change of a client's address.
    pub enum QuicChange {
        /// The port only: a NAT has forgotten the client, which does not know. Packets to the old port are lost. The server
        /// keeps window and round-trip time (RFC 9000 §9.4).
        "rebinding" => Rebinding,
        /// The host: the client knows. The server begins with the initial window, and sends at most three times what it
        /// receives until the path is validated.
        "address" => Address,
    }
}

amounts! {
    /// A window of QUIC's flow control.
    pub enum QuicWindow("quic-window", "a window", "\"auto\", a size, or a multiple of bdp", "3 bdp") {
        /// Follows the path.
        word("auto") => Auto;
        /// Bandwidth-delay products, in millionths.
        count("bdp", 1_000_000) => Bdp(u64);
        /// Bytes.
        size => Bytes(u64);
    }
}

amounts! {
    /// Interval of pings on an idle connection.
    pub enum QuicKeepAlive("quic-keep-alive", "an interval", "\"off\", or a time", "10 s") {
        /// No pings.
        word("off") => Off;
        /// A ping after each time without packets.
        span => Every(Duration);
    }
}

amounts! {
    /// Initial window of QUIC.
    pub enum QuicInitialWindow("quic-initial-window", "an initial window", "a number of packets, a size, or a multiple of bdp", "10 packets") {
        /// Full datagrams.
        count("packets") => Packets(u32);
        /// Bandwidth-delay products, in millionths.
        count("bdp", 1_000_000) => Bdp(u64);
        /// Bytes.
        size => Bytes(u64);
    }
}

words! {
    /// Order of streams that all have data.
    pub enum QuicSendOrder {
        /// A packet of each stream in turn: all objects of a page arrive together, late.
        "round-robin" => RoundRobin,
        /// One stream after the other, in the order of their numbers: the default of HTTP/3 (RFC 9218 §10: equal urgency,
        /// not incremental).
        "in-turn" => InTurn,
    }
}

words! {
    /// Order in which a receiver reads a stream.
    pub enum QuicRead {
        /// Data is read when it arrives, also behind a gap. An application that does so needs offsets, such as a file.
        "unordered" => Unordered,
        /// Data is read up to the first gap. The stack fails if a stream has more than 1024 pieces behind gaps.
        "ordered" => Ordered,
    }
}

/// Congestion control of QUIC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QuicCc {
    /// A congestion control of the registry.
    House(CcConfig),
    /// CUBIC of the stack.
    StackCubic,
    /// NewReno of the stack.
    StackNewReno,
    /// No congestion control: the window is `initial_window`.
    Fixed,
}

/// Congestion controls that are not in the registry, with their meaning.
const OTHERS: [(&str, &str, QuicCc); 3] = [
    ("stack-cubic", "CUBIC of the stack, quinn-proto.", QuicCc::StackCubic),
    ("stack-newreno", "NewReno of the stack, quinn-proto.", QuicCc::StackNewReno),
    ("none", "No congestion control: the window stays at `initial_window`.", QuicCc::Fixed),
];

impl QuicCc {
    /// Returns the reason why a congestion control of the registry cannot control QUIC; `None`: it can.
    pub fn refusal(kind: CcKind) -> Option<&'static str> {
        match kind {
            CcKind::Peach | CcKind::PeachPlus => Some("its dummy segments are segments of TCP"),
            CcKind::Prague | CcKind::Dctcp => Some("the stack does not count marks"),
            CcKind::Swift => Some("it is defined by partial ACKs of TCP"),
            CcKind::Scps => Some("it belongs to SCPS-TP"),
            CcKind::Stp => Some("it polls the receiver for ACKs, which QUIC has no frame for"),
            CcKind::SaTcp | CcKind::Leocc => Some("it needs notices of handovers, which QUIC's ends do not get"),
            _ => None,
        }
    }

    /// Whether its window can be set: it is one of the registry, and no model computes it.
    pub fn has_settable_window(&self) -> bool {
        matches!(self, Self::House(cc) if !cc.custom(Init::default()).is_model_based())
    }

    /// Returns its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::House(cc) => cc.kind().name(),
            _ => OTHERS.iter().find(|(_, _, cc)| cc == self).map_or("", |(name, ..)| name),
        }
    }
}

impl Typed for QuicCc {
    fn shape() -> Shape {
        let title = Title { name: "QuicCc", noun: "a congestion control" };
        let house = CcKind::ALL.iter().map(|kind| Table {
            name: kind.name(),
            about: kind.summary(),
            keys: Some(kind.settings()),
        });
        let others = OTHERS.iter().map(|(name, about, _)| Table { name, about, keys: Some(Vec::new()) });
        Shape::Kinds(title, house.chain(others).collect())
    }
    fn read(value: &Value) -> Result<Self, Unfit> {
        let name = value.table()?.kind()?;
        match OTHERS.iter().find(|(other, ..)| *other == name) {
            Some((.., cc)) => Ok(*cc),
            None => CcConfig::read(value).map(Self::House),
        }
    }
    fn write(&self) -> Value {
        match self {
            Self::House(cc) => cc.write(),
            other => Value::Table(Fields::of_kind(other.name())),
        }
    }
}

impl Quic {
    /// Least payload of UDP in a full datagram (RFC 9000 §14).
    pub const MTU_MIN: u32 = 1200;
    /// Headers of IPv4 and UDP, bytes.
    pub const HEADERS: u16 = 28;
    /// Least window with `auto`, bytes.
    pub const AUTO_MIN: u64 = 2_000_000;

    /// Returns the largest payload of an unreliable datagram, bytes: a packet less its header of 13 B at most, its tag of 16 B
    /// and the frame's header of at most 9 B (RFC 9000 §17.3, RFC 9221 §4).
    pub fn datagram_max(&self) -> u32 {
        self.mtu.saturating_sub(13 + 16 + 9)
    }

    /// Sets the values that depend on the path, whose bandwidth-delay product is `bdp` bytes and whose round trip is `rtt`.
    #[must_use]
    pub fn over(mut self, bdp: u64, rtt: Duration) -> Self {
        let bytes = |window: QuicWindow, auto: u64| match window {
            QuicWindow::Auto => auto,
            QuicWindow::Bdp(millionths) => share(bdp, millionths),
            QuicWindow::Bytes(bytes) => bytes,
        };
        let stream = bytes(self.stream_window, (3 * bdp).max(Self::AUTO_MIN));
        self.connection_window = QuicWindow::Bytes(bytes(self.connection_window, stream));
        self.send_window = QuicWindow::Bytes(bytes(self.send_window, 2 * stream));
        self.stream_window = QuicWindow::Bytes(stream);
        if let QuicInitialWindow::Bdp(millionths) = self.initial_window {
            self.initial_window = QuicInitialWindow::Bytes(share(bdp, millionths));
        }
        if let Some(resume) = &mut self.careful_resume {
            if let SavedWindow::Bdp(millionths) = resume.saved {
                resume.saved = SavedWindow::Bytes(share(bdp, millionths));
            }
            if let MaxJump::Bdp(millionths) = resume.max_jump {
                resume.max_jump = MaxJump::Bytes(share(bdp, millionths));
            }
            if resume.saved_rtt == SavedRtt::Path {
                resume.saved_rtt = SavedRtt::Time(rtt);
            }
        }
        self
    }

    /// Returns the age at which a saved path is forgotten, if connections save it for later ones.
    pub fn saves_for(&self) -> Option<Duration> {
        self.careful_resume.filter(|resume| resume.saved == SavedWindow::Cache).map(|resume| resume.lifetime)
    }

    /// Returns the receive window of a stream, that of the connection, and the send window, bytes.
    pub fn windows(&self) -> [u64; 3] {
        [self.stream_window, self.connection_window, self.send_window].map(|window| match window {
            QuicWindow::Bytes(bytes) => bytes,
            // Without a path.
            QuicWindow::Auto | QuicWindow::Bdp(_) => Self::AUTO_MIN,
        })
    }

    /// Returns the initial window, bytes, at least two packets (RFC 9002 §7.2).
    pub fn initial_bytes(&self) -> u64 {
        let mtu = u64::from(self.mtu);
        let bytes = match self.initial_window {
            QuicInitialWindow::Packets(n) => u64::from(n) * mtu,
            QuicInitialWindow::Bytes(bytes) => bytes,
            QuicInitialWindow::Bdp(_) => 0,
        };
        bytes.max(2 * mtu)
    }
}

/// `millionths` of `bytes`.
fn share(bytes: u64, millionths: u64) -> u64 {
    u64::try_from(u128::from(bytes) * u128::from(millionths) / 1_000_000).unwrap_or(u64::MAX)
}
