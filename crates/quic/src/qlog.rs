//! qlog: a file for each end of a connection with its packets sent, received and lost, in virtual time.
//!
//! The format is qlog 0.3 as JSON text sequences (draft-ietf-quic-qlog-main-schema-07 §4, RFC 7464), which qvis reads. Events are
//! those of draft-ietf-quic-qlog-quic-events-06: packets sent, received and lost with their numbers, metrics of recovery, and
//! states of the connection. Frames are left out.
//!
//! TLS protects the numbers of packets, so they come from the stack's own qlog, which this reads. That file lacks the sizes of
//! packets received, which the unprotected parts of headers have, and has round trips in seconds.

use crate::fates::take_varint;
use bentpipe_model::stack::EngineState;
use bentpipe_units::Time;
use quinn_proto::{QlogConfig, QlogStream};
use std::fmt;
use std::io::{self, Write};

/// Separator in front of each record (RFC 7464 §2.2).
const RS: u8 = 0x1e;
/// Destination of the events of an end.
pub type Output = Box<dyn Write + Send + Sync>;

/// The file of one end.
pub(crate) struct Log {
    out: Output,
    line: Vec<u8>,
    is_client: bool,
    state: EngineState,
}

/// A packet in a datagram, as far as its header is readable without keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PacketHeader {
    kind: &'static str,
    length: usize,
}

/// Type of a packet without a number.
const RETRY: &str = "retry";

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
        Self { out, line, is_client, state: EngineState::default() }
    }

    fn write(&mut self, now: Time, name: &str, data: fmt::Arguments<'_>) {
        self.line.clear();
        // Whole nanoseconds, as the stack has them.
        let ms = (now.as_ps() / 1000) as f64 / 1e6;
        let _ = writeln!(self.line, "\u{1e}{{\"time\":{ms},\"name\":\"{name}\",\"data\":{data}}}");
        let _ = self.out.write_all(&self.line);
    }

    /// Writes the packets that the stack has noted. `datagram` has left or arrived with some of them, and shows their sizes.
    pub(crate) fn on_packets(&mut self, now: Time, datagram: &[u8], notes: &[Note]) {
        let mut headers = read_headers(datagram);
        for Note { fate, kind, number } in notes {
            let at = headers.iter().position(|header| header.kind == kind && *fate != Fate::Lost);
            let raw = at.map_or_else(String::new, |at| raw(headers.remove(at).length));
            let data = format_args!(r#"{{"header":{{"packet_type":"{kind}","packet_number":{number}}}{raw}}}"#);
            self.write(now, fate.event(), data);
        }
        // The stack notes no Retry.
        for header in headers.iter().filter(|header| header.kind == RETRY) {
            let fate = if self.is_client { Fate::Received } else { Fate::Sent };
            let raw = raw(header.length);
            self.write(now, fate.event(), format_args!(r#"{{"header":{{"packet_type":"{RETRY}"}}{raw}}}"#));
        }
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
        self.write(now, "recovery:metrics_updated", data);
    }

    /// The handshake is complete, or the connection has failed with this reason.
    pub(crate) fn on_state(&mut self, now: Time, failure: Option<&str>) {
        match failure {
            None => self.write(
                now,
                "connectivity:connection_state_updated",
                format_args!(r#"{{"new":"handshake_complete"}}"#),
            ),
            Some(reason) => {
                let reason = escaped(reason);
                let data = format_args!(r#"{{"owner":"local","reason":"{reason}"}}"#);
                self.write(now, "connectivity:connection_closed", data);
            }
        }
    }
}

/// Fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Sent,
    Received,
    Lost,
}

impl Fate {
    const ALL: [Self; 3] = [Self::Sent, Self::Received, Self::Lost];

    fn event(self) -> &'static str {
        match self {
            Self::Sent => "transport:packet_sent",
            Self::Received => "transport:packet_received",
            Self::Lost => "recovery:packet_lost",
        }
    }
}

/// A packet that the stack has sent, received or declared lost.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Note {
    fate: Fate,
    kind: String,
    number: u64,
}

impl Note {
    /// Reads a record of the stack's qlog, if it is about a packet.
    fn read(record: &[u8]) -> Option<Self> {
        let record: serde_json::Value = serde_json::from_slice(record).ok()?;
        let name = record["name"].as_str()?;
        let fate = Fate::ALL.into_iter().find(|fate| fate.event() == name)?;
        let header = &record["data"]["header"];
        let kind = header["packet_type"].as_str()?.to_owned();
        Some(Self { fate, kind, number: header["packet_number"].as_u64()? })
    }
}

/// Takes the stack's qlog, and leaves its packets to `tell`.
pub(crate) struct StackLog<F> {
    record: Vec<u8>,
    tell: F,
}

impl<F: FnMut(Note) + Send + Sync + 'static> StackLog<F> {
    /// Returns the destination of the stack's qlog.
    pub(crate) fn stream(tell: F) -> Option<QlogStream> {
        let mut config = QlogConfig::default();
        config.writer(Box::new(Self { record: Vec::new(), tell }));
        config.into_stream()
    }
}

impl<F: FnMut(Note)> Write for StackLog<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.record.extend(piece.strip_prefix(&[RS]).unwrap_or(piece));
            if piece.ends_with(b"\n") {
                Note::read(&self.record).into_iter().for_each(&mut self.tell);
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

/// Returns the size of a packet as a member of its event.
fn raw(length: usize) -> String {
    format!(r#","raw":{{"length":{length}}}"#)
}

/// Reads the headers of the packets in a datagram, up to one of another form.
fn read_headers(mut datagram: &[u8]) -> Vec<PacketHeader> {
    std::iter::from_fn(|| {
        let header = read_header(datagram)?;
        datagram = &datagram[header.length..];
        Some(header)
    })
    .collect()
}

/// Reads the header of the first packet of a datagram (RFC 9000 §17). `None`: none is left, or it has another form.
fn read_header(datagram: &[u8]) -> Option<PacketHeader> {
    let (mut rest, whole) = (datagram, datagram.len());
    let first = take(&mut rest, 1)?[0];
    if first & 0x80 == 0 {
        return Some(PacketHeader { kind: "1RTT", length: whole });
    }
    take(&mut rest, 4)?;
    for _ in 0..2 {
        let length = take(&mut rest, 1)?[0];
        take(&mut rest, length.into())?;
    }
    let kind = ["initial", "0RTT", "handshake", RETRY][usize::from(first >> 4 & 3)];
    if kind == RETRY {
        return Some(PacketHeader { kind, length: whole });
    }
    if kind == "initial" {
        let length = take_length(&mut rest)?;
        take(&mut rest, length)?;
    }
    let payload = take_length(&mut rest)?;
    let length = whole - rest.len() + payload;
    (length <= whole).then_some(PacketHeader { kind, length })
}

fn take_length(rest: &mut &[u8]) -> Option<usize> {
    usize::try_from(take_varint(rest)?).ok()
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(count)?;
    *rest = left;
    Some(taken)
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
            let headers = read_headers(&bytes);
            assert!(headers.iter().map(|header| header.length.max(1)).sum::<usize>() <= bytes.len(), "{bytes:?}");
        }
    }
}
