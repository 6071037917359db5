//! Captures: packets with their times in the format pcapng (draft-ietf-opsawg-pcapng), which Wireshark and tcpdump read.
//!
//! One file has the packets of one host, so no packet occurs twice in it: sent packets at their departure, received
//! packets at their arrival. A lost packet is in the file of its sender, at its place, with the cause as a comment.

use bentpipe_sim::dictionary::Cause;
use bentpipe_sim::{Delivered, Lost, Taken};
use bentpipe_units::Time;
use std::collections::VecDeque;
use std::io::{self, Write};

/// Packets begin with the header of IPv4 or IPv6 (LINKTYPE_RAW).
const RAW_IP: u16 = 101;
/// Times are in units of 10^-9 s.
const NANOSECONDS: u8 = 9;
/// 2000-01-01 in seconds since 1970, the start of scenarios: equal runs give equal bytes.
const EPOCH_S: u64 = 946_684_800;

/// Direction of a packet at the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Received by the host.
    In = 1,
    /// Sent by the host.
    Out = 2,
}

/// Bytes of blocks that are written together.
const CHUNK: usize = 1 << 18;
/// Buffers of packets that wait to be filled again.
const SPARE_MAX: usize = 1 << 12;

/// Destination of a capture's blocks: any writer, and [`Behind`](crate::behind::Behind).
pub trait Sink {
    /// Takes the content of `blocks` and empties it.
    ///
    /// # Errors
    ///
    /// The writer fails. With `WouldBlock`, there is no room at present, and `blocks` is unchanged.
    fn take(&mut self, blocks: &mut Vec<u8>) -> io::Result<()>;

    /// Completes the writing.
    ///
    /// # Errors
    ///
    /// The writer failed.
    fn finish(&mut self) -> io::Result<()>;
}

impl<W: Write> Sink for W {
    fn take(&mut self, blocks: &mut Vec<u8>) -> io::Result<()> {
        self.write_all(blocks)?;
        blocks.clear();
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.flush()
    }
}

/// Writes one capture.
#[derive(Debug)]
pub struct Capture<W> {
    to: W,
    /// Complete blocks that are not written yet, with the number of their packets.
    blocks: Vec<u8>,
    packets: u64,
    /// Number of packets that are missing in the capture because the disk was too slow.
    missed: u64,
}

impl<W: Sink> Capture<W> {
    /// Begins a capture: the program that made it, the name of the interface, and its subject.
    pub fn new(to: W, program: &str, interface: &str, about: &str) -> Self {
        let mut blocks = Vec::new();
        let mut section = Block::new(&mut blocks, 0x0A0D_0D0A);
        section.u32(0x1A2B_3C4D).u16(1).u16(0).u32(u32::MAX).u32(u32::MAX);
        section.option(1, about.as_bytes()).option(4, program.as_bytes()).end();
        let mut description = Block::new(&mut blocks, 1);
        description.u16(RAW_IP).u16(0).u32(0);
        description.option(2, interface.as_bytes()).option(9, &[NANOSECONDS]).end();
        Self { to, blocks, packets: 0, missed: 0 }
    }

    /// Adds a packet, with a comment if it has one.
    ///
    /// # Errors
    ///
    /// The writer fails.
    pub fn packet(&mut self, at: Time, direction: Direction, bytes: &[u8], comment: Option<&str>) -> io::Result<()> {
        self.beginning(at, direction, bytes, bytes.len(), comment)
    }

    /// Begins a packet of `len` bytes, with its first bytes.
    fn beginning(
        &mut self,
        at: Time,
        direction: Direction,
        bytes: &[u8],
        len: usize,
        comment: Option<&str>,
    ) -> io::Result<()> {
        let ns = EPOCH_S * 1_000_000_000 + at.as_ps() / 1000;
        let mut packet = Block::new(&mut self.blocks, 6);
        packet.u32(0).u32((ns >> 32) as u32).u32(ns as u32).u32(bytes.len() as u32).u32(len as u32).padded(bytes);
        packet.option(2, &(direction as u32).to_le_bytes());
        if let Some(comment) = comment {
            packet.option(1, comment.as_bytes());
        }
        packet.end();
        self.packets += 1;
        if self.blocks.len() < CHUNK {
            return Ok(());
        }
        self.hand_on()
    }

    /// Writes complete blocks. Does not wait for a writer that would block: its packets are missing, and counted.
    fn hand_on(&mut self) -> io::Result<()> {
        let done = self.to.take(&mut self.blocks);
        self.blocks.clear();
        let packets = std::mem::take(&mut self.packets);
        match done {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.missed += packets;
                Ok(())
            }
            other => other,
        }
    }

    /// Completes the capture. Returns the number of missing packets.
    fn finish(&mut self, at: Time) -> io::Result<u64> {
        // At the end, waiting is allowed.
        self.to.finish()?;
        if self.missed > 0 {
            let ns = EPOCH_S * 1_000_000_000 + at.as_ps() / 1000;
            let mut statistics = Block::new(&mut self.blocks, 5);
            statistics.u32(0).u32((ns >> 32) as u32).u32(ns as u32).option(5, &self.missed.to_le_bytes()).end();
        }
        self.hand_on()?;
        self.to.finish()?;
        Ok(self.missed)
    }
}

/// A block under construction: type, length, content, options, and the length again.
struct Block<'a> {
    bytes: &'a mut Vec<u8>,
    /// Start of the block.
    start: usize,
    has_options: bool,
}

impl<'a> Block<'a> {
    fn new(bytes: &'a mut Vec<u8>, kind: u32) -> Self {
        let mut block = Self { start: bytes.len(), bytes, has_options: false };
        // The length is put in at the end.
        block.u32(kind).u32(0);
        block
    }

    fn u16(&mut self, value: u16) -> &mut Self {
        self.bytes.extend(value.to_le_bytes());
        self
    }

    fn u32(&mut self, value: u32) -> &mut Self {
        self.bytes.extend(value.to_le_bytes());
        self
    }

    /// Content begins at multiples of four.
    fn padded(&mut self, content: &[u8]) -> &mut Self {
        self.bytes.extend(content);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self
    }

    /// Adds an option. Content beyond the largest length is cut.
    fn option(&mut self, code: u16, content: &[u8]) -> &mut Self {
        self.has_options = true;
        let content = &content[..content.len().min(u16::MAX.into())];
        self.u16(code).u16(content.len() as u16).padded(content)
    }

    fn end(&mut self) {
        if self.has_options {
            self.u32(0);
        }
        let len = (self.bytes.len() - self.start) as u32 + 4;
        self.bytes[self.start + 4..self.start + 8].copy_from_slice(&len.to_le_bytes());
        self.u32(len);
    }
}

/// Captures of several hosts. A sent packet waits here until its fate is known, so that a lost packet gets its comment.
pub struct Captures<W> {
    hosts: Vec<(Capture<W>, VecDeque<Seen>)>,
    /// Number of packets sent so far.
    sent: u64,
    /// Time of the last written packet.
    last: Time,
    /// Stored bytes per packet.
    kept: usize,
    /// Buffers of written packets, for reuse.
    spare: Vec<Vec<u8>>,
    failed: Option<io::Error>,
}

/// Packet that is not written yet.
struct Seen {
    /// Number of a sent packet.
    number: u64,
    at: Time,
    direction: Direction,
    bytes: Vec<u8>,
    /// Length of the whole packet.
    len: usize,
    /// Fate. `None`: in progress. Empty: it arrived.
    fate: Option<String>,
}

impl<W: Sink> Captures<W> {
    /// Creates captures of these hosts, in their order.
    pub fn new(hosts: Vec<Capture<W>>) -> Self {
        let hosts = hosts.into_iter().map(|host| (host, VecDeque::new())).collect();
        Self { hosts, sent: 0, last: Time::ZERO, kept: usize::MAX, spare: Vec::new(), failed: None }
    }

    /// Limits the stored bytes of each packet to `bytes`.
    #[must_use]
    pub fn keeping(mut self, bytes: usize) -> Self {
        self.kept = bytes;
        self
    }

    /// Returns the captured bytes of a packet that is about to enter the path.
    pub fn copy(&mut self, packet: &[u8]) -> Vec<u8> {
        let mut copy = self.spare.pop().unwrap_or_default();
        copy.clear();
        copy.extend_from_slice(&packet[..packet.len().min(self.kept)]);
        copy
    }

    /// Notes that a packet of `len` bytes of a host entered the path, with its first bytes.
    pub fn entered(&mut self, at: Time, host: usize, bytes: Vec<u8>, len: usize) {
        self.sent(at, host, bytes, len);
    }

    /// Notes that a host sent a packet of `len` bytes, with its first bytes. Returns its number.
    pub(crate) fn sent(&mut self, at: Time, host: usize, bytes: Vec<u8>, len: usize) -> u64 {
        self.sent += 1;
        let number = self.sent;
        self.see(host, Seen { number, at, direction: Direction::Out, bytes, len, fate: None });
        number
    }

    /// Notes that a packet of `len` bytes arrived at a host, with its first bytes.
    pub(crate) fn arrived(&mut self, at: Time, host: usize, bytes: Vec<u8>, len: usize) {
        let fate = Some(String::new());
        self.see(host, Seen { number: 0, at, direction: Direction::In, bytes, len, fate });
        self.write(host, false);
    }

    /// Notes that a packet left the path at a host.
    pub fn left(&mut self, from: usize, host: usize, packet: Delivered) {
        let len = packet.bytes.len();
        self.settle(from, packet.entered, len, String::new());
        self.arrived(packet.at, host, packet.bytes.into(), len);
    }

    /// Notes that a packet of a host was lost.
    pub fn lost(&mut self, host: usize, packet: &Lost) {
        self.settle(host, packet.entered, packet.bytes.len(), loss(packet.cause, &packet.place, packet.at));
    }

    /// Notes that a packet of a host ended at a middlebox.
    pub fn taken(&mut self, host: usize, packet: &Taken) {
        self.settle(host, packet.entered, packet.size as usize, format!("taken by a proxy at {}", packet.place));
    }

    /// Writes the waiting packets. Returns the number of packets that the captures miss because the writer was too
    /// slow.
    ///
    /// # Errors
    /// The first error.
    pub fn finish(&mut self) -> io::Result<u64> {
        (0..self.hosts.len()).for_each(|host| self.write(host, true));
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.hosts.iter_mut().map(|(capture, _)| capture.finish(self.last)).sum(),
        }
    }

    /// Inserts a packet. Arrivals are due a little before they are seen, and may precede packets sent in the meantime.
    fn see(&mut self, host: usize, seen: Seen) {
        let waiting = &mut self.hosts[host].1;
        let later = waiting.iter().rev().take_while(|other| other.at > seen.at).count();
        waiting.insert(waiting.len() - later, seen);
    }

    /// Sets the fate of the packet that was sent at `at`. A mark on the path may have changed its bytes, not its
    /// length.
    fn settle(&mut self, host: usize, at: Time, len: usize, fate: String) {
        self.settle_first(host, fate, |seen| seen.fate.is_none() && seen.at == at && seen.len == len);
    }

    /// Sets the fate of the packet with this number.
    pub(crate) fn settle_number(&mut self, host: usize, number: u64, fate: String) {
        self.settle_first(host, fate, |seen| seen.number == number);
    }

    fn settle_first(&mut self, host: usize, fate: String, is_it: impl Fn(&Seen) -> bool) {
        if let Some(seen) = self.hosts[host].1.iter_mut().find(|seen| is_it(seen)) {
            seen.fate = Some(fate);
        }
        self.write(host, false);
    }

    /// Writes the next packets with a known fate. With `all`, also those in progress.
    fn write(&mut self, host: usize, all: bool) {
        let (capture, waiting) = &mut self.hosts[host];
        while waiting.front().is_some_and(|seen| all || seen.fate.is_some()) {
            let Some(seen) = waiting.pop_front() else { return };
            let fate = seen.fate.unwrap_or_else(|| "on its way at the end of the run".into());
            let comment = (!fate.is_empty()).then_some(&*fate);
            self.last = self.last.max(seen.at);
            let bytes = &seen.bytes[..seen.bytes.len().min(self.kept)];
            if let Err(error) = capture.beginning(seen.at, seen.direction, bytes, seen.len, comment) {
                self.failed.get_or_insert(error);
            }
            if seen.direction == Direction::Out && self.spare.len() < SPARE_MAX {
                self.spare.push(seen.bytes);
            }
        }
    }
}

/// Returns the comment of a lost packet.
pub(crate) fn loss(cause: Cause, place: &str, at: Time) -> String {
    format!("lost: {} at {place}, {:.9} s", cause.name(), at.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_units::Duration;

    /// Reads the blocks of a capture by the draft: kind and content. Independent of the writer.
    fn blocks(mut bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let mut found = Vec::new();
        while !bytes.is_empty() {
            let len = word(bytes, 4) as usize;
            assert!(len % 4 == 0 && word(bytes, len - 4) as usize == len);
            found.push((word(bytes, 0), bytes[8..len - 4].to_vec()));
            bytes = &bytes[len..];
        }
        found
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_micros(us)
    }

    /// Accepts this number of chunks, then blocks.
    struct Slow(usize, Vec<u8>);

    impl Write for Slow {
        fn write(&mut self, chunk: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(1).ok_or(io::ErrorKind::WouldBlock)?;
            self.1.write(chunk)
        }

        fn flush(&mut self) -> io::Result<()> {
            self.0 = 1;
            Ok(())
        }
    }

    #[test]
    fn what_a_slow_writer_misses_is_counted_and_the_rest_is_whole() {
        let mut captures = Captures::new(vec![Capture::new(Slow(1, Vec::new()), "bentpipe", "a", "a path")]);
        for _ in 0..500 {
            captures.arrived(at(1), 0, vec![0; 1500], 1500);
        }
        let missed = captures.finish().unwrap();
        let found = blocks(&captures.hosts[0].0.to.1);
        let packets = found.iter().filter(|block| block.0 == 6).count();
        assert!(missed > 0 && packets as u64 + missed == 500, "{missed} {packets}");
        let statistics = found.last().unwrap();
        assert_eq!((statistics.0, &statistics.1[12..16]), (5, &[5, 0, 8, 0][..]));
        assert_eq!(statistics.1[16..24], missed.to_le_bytes());
    }

    #[test]
    fn lost_packets_have_a_comment_and_packets_are_in_order_of_time() {
        let capture = || Capture::new(Vec::new(), "bentpipe", "a", "a path");
        let mut captures = Captures::new(vec![capture(), capture()]);
        captures.entered(at(10), 0, b"first".to_vec(), b"first".len());
        captures.entered(at(30), 0, b"second".to_vec(), b"second".len());
        captures.entered(at(40), 0, b"third".to_vec(), b"third".len());
        let network = crate::tests::lossy();
        let (delivered, lost) = network;
        captures.left(
            1,
            0,
            Delivered { at: at(20), entered: at(5), bytes: b"answer".as_slice().into(), ..delivered.clone() },
        );
        captures.lost(0, &Lost { entered: at(30), bytes: b"second".as_slice().into(), ..lost });
        captures.left(0, 1, Delivered { at: at(60), entered: at(10), bytes: b"first".as_slice().into(), ..delivered });
        captures.finish().unwrap();
        let found = blocks(&captures.hosts[0].0.to);
        assert_eq!(found.iter().map(|block| block.0).collect::<Vec<_>>(), [0x0A0D_0D0A, 1, 6, 6, 6, 6]);
        // The second and third word are the time, the fourth is the length. The bytes follow.
        let time = |block: &(u32, Vec<u8>)| u32::from_le_bytes(block.1[8..12].try_into().unwrap()) / 1000;
        let start = (EPOCH_S * 1_000_000_000) as u32 / 1000;
        let times: Vec<_> = found[2..].iter().map(|block| time(block) - start).collect();
        assert!(times.iter().zip([10, 20, 30, 40]).all(|(&time, expected)| time.abs_diff(expected) <= 1), "{times:?}");
        let says = |block: usize, text: &str| found[block].1.windows(text.len()).any(|part| part == text.as_bytes());
        assert!(says(2, "first") && !says(2, "lost") && says(3, "answer"));
        assert!(says(4, "lost: bit-error at b, "), "{:?}", found[4]);
        assert!(says(5, "on its way at the end of the run"));
    }
}
