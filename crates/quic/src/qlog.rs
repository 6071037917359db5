//! qlog: a file for each end of a connection with its packets sent, received and lost, in virtual time.
//!
//! The format is qlog 0.3 as JSON text sequences (draft-ietf-quic-qlog-main-schema-07 §4, RFC 7464), which qvis reads. Events are
//! those of draft-ietf-quic-qlog-quic-events-06: packets sent, received and lost with their numbers, metrics of recovery, and
//! states of the connection. Frames are left out.
//!
//! The replacement of TLS protects no headers, so that this reader finds the numbers of packets in datagrams. Only the stack's
//! own qlog names lost packets, so this reads it. That file lacks sizes of packets received, and has round trips in seconds.

use crate::fates::take_varint;
use crate::migration::CID_LEN;
use bentpipe_sim::stack::EngineState;
use bentpipe_units::Time;
use quinn_proto::{QlogConfig, QlogStream};
use std::fmt;
use std::io::{self, Write};

/// Separator in front of each record (RFC 7464 §2.2).
const RS: u8 = 0x1e;
/// Directions.
const SENT: usize = 0;
const RECEIVED: usize = 1;

/// Destination of the events of an end.
pub type Output = Box<dyn Write + Send + Sync>;

/// The file of one end.
pub(crate) struct Log {
    out: Output,
    line: Vec<u8>,
    /// Largest number sent, and received, in each space: Initial, Handshake, application.
    largest: [[Option<u64>; 3]; 2],
    state: EngineState,
}

/// A packet in a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PacketHeader {
    kind: Kind,
    /// Its truncated number and the bits of this.
    number: u64,
    bits: u32,
    length: usize,
}

/// Type of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Initial,
    ZeroRtt,
    Handshake,
    Retry,
    OneRtt,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Initial => "initial",
            Self::ZeroRtt => "0RTT",
            Self::Handshake => "handshake",
            Self::Retry => "retry",
            Self::OneRtt => "1RTT",
        }
    }

    fn space(self) -> usize {
        match self {
            Self::Initial | Self::Retry => 0,
            Self::Handshake => 1,
            Self::ZeroRtt | Self::OneRtt => 2,
        }
    }
}

impl Log {
    /// Begins a file. `title` is the name of the flow, `group` the number of the connection in it.
    pub(crate) fn new(mut out: Output, title: &str, group: u64, is_client: bool) -> Self {
        let side = if is_client { "client" } else { "server" };
        let title = escaped(title);
        let head = format!(
            r#"{{"qlog_version":"0.3","qlog_format":"JSON-SEQ","title":"{title}","trace":{{"vantage_point":{{"type":"{side}"}},"common_fields":{{"group_id":"{title}/{group}","time_format":"relative","reference_time":0}}}}}}"#
        );
        let mut line = vec![RS];
        line.extend(head.as_bytes());
        line.push(b'\n');
        // The owner of the output keeps its errors.
        let _ = out.write_all(&line);
        Self { out, line, largest: [[None; 3]; 2], state: EngineState::default() }
    }

    fn write(&mut self, now: Time, category: &str, name: &str, data: fmt::Arguments<'_>) {
        self.line.clear();
        // Whole nanoseconds, as the stack has them.
        let ms = (now.as_ps() / 1000) as f64 / 1e6;
        let _ = writeln!(self.line, "\u{1e}{{\"time\":{ms},\"name\":\"{category}:{name}\",\"data\":{data}}}");
        let _ = self.out.write_all(&self.line);
    }

    /// A datagram has left.
    pub(crate) fn on_sent(&mut self, now: Time, datagram: &[u8]) {
        self.on_packets(now, SENT, datagram);
    }

    /// A datagram has arrived.
    pub(crate) fn on_received(&mut self, now: Time, datagram: &[u8]) {
        self.on_packets(now, RECEIVED, datagram);
    }

    fn on_packets(&mut self, now: Time, way: usize, mut datagram: &[u8]) {
        while let Some(PacketHeader { kind, number, bits, length }) = read_header(datagram) {
            let largest = &mut self.largest[way][kind.space()];
            let number = decode(*largest, number, bits);
            *largest = (*largest).max(Some(number));
            let name = ["packet_sent", "packet_received"][way];
            // The packet of a Retry has none.
            let number = if kind == Kind::Retry { String::new() } else { format!(r#","packet_number":{number}"#) };
            let kind = kind.name();
            let data = format_args!(r#"{{"header":{{"packet_type":"{kind}"{number}}},"raw":{{"length":{length}}}}}"#);
            self.write(now, "transport", name, data);
            datagram = &datagram[length..];
        }
    }

    /// A packet is declared lost.
    pub(crate) fn on_lost(&mut self, now: Time, lost: &Lost) {
        let Lost { kind, number } = lost;
        let data = format_args!(r#"{{"header":{{"packet_type":"{kind}","packet_number":{number}}}}}"#);
        self.write(now, "recovery", "packet_lost", data);
    }

    /// Writes the metrics of recovery if they have changed.
    pub(crate) fn on_metrics(&mut self, now: Time, state: EngineState) {
        if self.state == state {
            return;
        }
        self.state = state;
        let ssthresh = state.ssthresh.map_or_else(String::new, |bytes| format!(r#","ssthresh":{bytes}"#));
        let srtt =
            state.srtt.map_or_else(String::new, |srtt| format!(r#","smoothed_rtt":{}"#, 1e3 * srtt.as_secs_f64()));
        let (window, flight) = (state.cwnd, state.in_flight);
        let data = format_args!(r#"{{"congestion_window":{window},"bytes_in_flight":{flight}{ssthresh}{srtt}}}"#);
        self.write(now, "recovery", "metrics_updated", data);
    }

    /// The handshake is complete, or the connection has failed with this reason.
    pub(crate) fn on_state(&mut self, now: Time, failure: Option<&str>) {
        match failure {
            None => self.write(
                now,
                "connectivity",
                "connection_state_updated",
                format_args!(r#"{{"new":"handshake_complete"}}"#),
            ),
            Some(reason) => {
                let reason = escaped(reason);
                let data = format_args!(r#"{{"owner":"local","reason":"{reason}"}}"#);
                self.write(now, "connectivity", "connection_closed", data);
            }
        }
    }
}

/// A packet that the stack has declared lost.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    kind: String,
    number: u64,
}

impl Lost {
    /// Reads a record of the stack's qlog, if it reports a lost packet.
    fn read(record: &[u8]) -> Option<Self> {
        let record: serde_json::Value = serde_json::from_slice(record).ok()?;
        if !record["name"].as_str()?.ends_with("packet_lost") {
            return None;
        }
        let header = &record["data"]["header"];
        let kind = header["packet_type"].as_str()?.to_owned();
        Some(Self { kind, number: header["packet_number"].as_u64()? })
    }
}

/// Takes the stack's qlog, and leaves lost packets to `tell`.
pub(crate) struct StackLog<F> {
    record: Vec<u8>,
    tell: F,
}

impl<F: FnMut(Lost) + Send + Sync + 'static> StackLog<F> {
    /// Returns the destination of the stack's qlog.
    pub(crate) fn stream(tell: F) -> Option<QlogStream> {
        let mut config = QlogConfig::default();
        config.writer(Box::new(Self { record: Vec::new(), tell }));
        config.into_stream()
    }
}

impl<F: FnMut(Lost)> Write for StackLog<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.record.extend(piece.strip_prefix(&[RS]).unwrap_or(piece));
            if piece.ends_with(b"\n") {
                Lost::read(&self.record).into_iter().for_each(&mut self.tell);
                self.record.clear();
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").finish_non_exhaustive()
    }
}

/// Reads the header of the first packet of a datagram (RFC 9000 §17). `None`: none is left, or it has another form.
fn read_header(datagram: &[u8]) -> Option<PacketHeader> {
    let mut rest = datagram;
    let first = take(&mut rest, 1)?[0];
    let kind = if first & 0x80 == 0 {
        take(&mut rest, CID_LEN)?;
        Kind::OneRtt
    } else {
        take(&mut rest, 4)?;
        for _ in 0..2 {
            let length = take(&mut rest, 1)?[0];
            take(&mut rest, length.into())?;
        }
        [Kind::Initial, Kind::ZeroRtt, Kind::Handshake, Kind::Retry][usize::from(first >> 4 & 3)]
    };
    if kind == Kind::Retry {
        return Some(PacketHeader { kind, number: 0, bits: 0, length: datagram.len() });
    }
    if kind == Kind::Initial {
        let length = take_length(&mut rest)?;
        take(&mut rest, length)?;
    }
    let payload = match kind {
        Kind::OneRtt => rest.len(),
        _ => take_length(&mut rest)?,
    };
    let length = datagram.len() - rest.len() + payload;
    let bytes = usize::from(first & 3) + 1;
    let number = take(&mut rest, bytes)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
    (length <= datagram.len()).then_some(PacketHeader { kind, number, bits: 8 * bytes as u32, length })
}

fn take_length(rest: &mut &[u8]) -> Option<usize> {
    usize::try_from(take_varint(rest)?).ok()
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(count)?;
    *rest = left;
    Some(taken)
}

/// Returns the number of a packet, of which only the lowest bits are sent (RFC 9000 A.3).
fn decode(largest: Option<u64>, truncated: u64, bits: u32) -> u64 {
    if bits == 0 {
        return truncated;
    }
    let expected = largest.map_or(0, |largest| largest + 1);
    let window = 1_u64 << bits;
    let candidate = expected & !(window - 1) | truncated;
    if candidate + window / 2 <= expected {
        candidate + window
    } else if candidate > expected + window / 2 && candidate >= window {
        candidate - window
    } else {
        candidate
    }
}

/// Text as a string of JSON has it, without its quotes.
fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |mut out, char| {
        match char {
            '"' | '\\' => out.extend(['\\', char]),
            char if char.is_control() => out.push(' '),
            char => out.push(char),
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9000 A.3: the largest is 0xa82f30ea, and 0x9b32 of 16 bits is 0xa82f9b32.
    #[test]
    fn truncated_numbers_are_decoded() {
        assert_eq!(decode(Some(0xa82f_30ea), 0x9b32, 16), 0xa82f_9b32);
        assert_eq!((decode(None, 0, 8), decode(Some(255), 1, 8), decode(Some(256), 254, 8)), (0, 257, 254));
    }

    /// RFC 9000 A.1: 494,878,333 in four bytes, 15,293 in two, and 37 in one.
    #[test]
    fn numbers_of_variable_length_are_read() {
        for (bytes, number) in [(&[0x9d, 0x7f, 0x3e, 0x7d][..], 494_878_333), (&[0x7b, 0xbd], 15_293), (&[0x25], 37)] {
            let mut rest = bytes;
            assert_eq!((take_varint(&mut rest), rest.len()), (Some(number), 0));
            assert_eq!(take_varint(&mut &bytes[..bytes.len() - 1]), None);
        }
    }

    #[test]
    fn any_bytes_are_survived() {
        let mut draws = bentpipe_units::Stream::new(1, "qlog", "bytes");
        let mut draw = 0;
        let mut next = |end| {
            draw += 1;
            draws.below(draw, end)
        };
        for _ in 0..20_000 {
            let bytes: Vec<u8> = (0..next(60)).map(|_| next(256) as u8).collect();
            assert!(read_header(&bytes).is_none_or(|header| (1..=bytes.len()).contains(&header.length)), "{bytes:?}");
        }
    }
}
