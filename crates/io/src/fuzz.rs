//! Feeds packets of any bytes to all code that reads packets. `BENTPIPE_FUZZ_OPS` sets their number:
//!
//! ```text
//! BENTPIPE_FUZZ_OPS=100000000 cargo test --release -p bentpipe-io fuzz
//! ```

use crate::offload::{self, Header, HEADER};
use crate::speaker::{Service, Speaker};
use crate::{codec, wire};
use bentpipe_tcp::{Flags, Options, Segment, SynOptions, Timestamps};
use bentpipe_units::{Duration, Seq, Time};
use std::net::SocketAddr;

/// Number of packets without `BENTPIPE_FUZZ_OPS`.
const PACKETS: u64 = 200_000;
/// Packets after which another host is attacked.
const ROUND: u64 = 2000;

fn count() -> u64 {
    std::env::var("BENTPIPE_FUZZ_OPS").ok().and_then(|count| count.parse().ok()).unwrap_or(PACKETS)
}

/// Random numbers (Marsaglia 2003, xorshift64). The number of a round repeats it.
struct Dice(u64);

impl Dice {
    fn of(round: u64) -> Self {
        Self(round.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.roll() % limit.max(1) as u64) as usize
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.roll() as u8).collect()
    }
}

/// Client and server, of both kinds of addresses.
fn ends(is_v6: bool) -> [SocketAddr; 2] {
    let ends = if is_v6 { ["[fd77::1]:40000", "[fd77::2]:5001"] } else { ["10.77.0.1:40000", "10.77.0.2:5001"] };
    ends.map(|end| end.parse().unwrap())
}

/// Makes a segment near the server's expectation, by its last segment.
fn segment(dice: &mut Dice, [seq, ack]: [Seq; 2]) -> Segment {
    let near =
        |dice: &mut Dice, from: Seq| Seq::new(from.value().wrapping_add(dice.roll() as i16 as u32 >> dice.below(16)));
    let stamps = Timestamps { value: dice.roll() as u32 >> dice.below(32), echo: dice.roll() as u32 >> dice.below(32) };
    let syn = SynOptions {
        mss: dice.roll() as u16,
        window_scale: Some(dice.below(16) as u8),
        sack_permitted: dice.below(2) == 0,
        ..SynOptions::default()
    };
    let flags =
        [Flags::SYN, Flags::ACK, Flags::FIN.with(Flags::ACK), Flags::RST, Flags::from_bits(dice.roll() as u16 & 0x1ff)];
    let flags = flags[dice.below(flags.len())];
    Segment {
        seq: near(dice, seq),
        ack: near(dice, ack),
        flags,
        window: dice.roll() as u16 >> dice.below(16),
        len: if dice.below(3) == 0 { dice.below(1400) as u16 } else { 0 },
        timestamps: (dice.below(2) == 0).then_some(stamps),
        options: if flags == Flags::SYN { Options::Syn(syn) } else { Options::None },
        ..Segment::default()
    }
}

/// Makes any bytes, a correct packet, or a nearly correct packet.
fn packet(dice: &mut Dice, expected: [Seq; 2]) -> Vec<u8> {
    let is_v6 = dice.below(3) == 0;
    let segment = segment(dice, expected);
    let data = dice.bytes(segment.len.into());
    let [from, to] = ends(is_v6);
    let right = wire::emit(from, to, &segment, &data);
    let mut packet = match dice.below(8) {
        0 => {
            let len = dice.below(120);
            dice.bytes(len)
        }
        1 => codec::datagram(from.ip(), to.ip(), (dice.roll() as u16, 5001), &data).unwrap(),
        _ => right.unwrap_or_default(),
    };
    if dice.below(2) == 0 {
        for _ in 0..=dice.below(4) {
            let at = dice.below(packet.len().min(80));
            let byte = dice.roll() as u8;
            if let Some(place) = packet.get_mut(at) {
                *place = byte;
            }
        }
    }
    if dice.below(8) == 0 {
        packet.truncate(dice.below(packet.len() + 1));
    }
    // A wrong packet with right sums passes more checks.
    if dice.below(2) == 0 {
        repair(&mut packet);
    }
    packet
}

/// Corrects the checksums of a TCP packet over IPv4 without options.
fn repair(packet: &mut [u8]) {
    if packet.len() < 40 || packet[0] != 0x45 || packet[9] != 6 {
        return;
    }
    let len = packet.len();
    packet[2..4].copy_from_slice(&(len as u16).to_be_bytes());
    packet[10..12].fill(0);
    let header = !codec::fold(codec::sum(&packet[..20]));
    packet[10..12].copy_from_slice(&header.to_be_bytes());
    packet[36..38].fill(0);
    let sum = !codec::fold(codec::sum(&packet[12..]) + 6 + (len - 20) as u32);
    packet[36..38].copy_from_slice(&sum.to_be_bytes());
}

/// Runs all code that reads packets from a device.
fn read(dice: &mut Dice, packet: &[u8]) {
    let headers = codec::Headers::of(packet);
    assert!(headers.is_none_or(|headers| usize::from(headers.header_len) <= headers.len && headers.len <= packet.len()));
    codec::checksums_are_right(packet);
    codec::acknowledgement(packet);
    wire::parse(packet);
    let mut header: [u8; HEADER] = dice.bytes(HEADER).try_into().unwrap();
    if dice.below(2) == 0 {
        // Header of a super-packet of TCP over IPv4: action, TCP, a hint, bytes of a segment, position of the checksum.
        header[..2].fill(1);
        for (at, half) in [(4, 1 + dice.below(1500) as u16), (6, 20), (8, 16)] {
            header[at..at + 2].copy_from_slice(&half.to_ne_bytes());
        }
    }
    let header = Header::read(header);
    let mut parts = Vec::new();
    offload::segment(header, packet, |part| parts.push(part));
    let parts: Vec<&[u8]> = parts.iter().map(|part| &part[..]).collect();
    for run in parts.chunk_by(|one, next| offload::is_before(one, next)) {
        offload::join(run);
    }
    if dice.below(4) == 0 {
        codec::mark(&mut packet.to_vec());
    }
}

#[test]
fn no_packet_breaks_what_reads_it_or_a_host_that_is_open() {
    let text =
        "duration = \"1 s\"\n[tcp]\nlike = \"linux-6\"\n[link.l]\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbit/s\"\n\
                delay = \"1 ms\"\n[flow.f]\nfrom = \"a\"\nto = \"b\"\n";
    let config = bentpipe_sim::scenario::from_toml(text, "fuzz.toml", &[]).unwrap().scenario.flows[0]
        .transport
        .tcp()
        .unwrap()
        .clone();
    let wanted = count();
    let mut answers = 0;
    for round in 0..wanted.div_ceil(ROUND) {
        let (mut dice, mut now) = (Dice::of(round), Time::ZERO);
        let service = if dice.below(2) == 0 { Service::Echo } else { Service::Bulk };
        let mut host = Speaker::new(&config, 1500, Some(5001), service, round);
        let mut expected = [Seq::new(1000), Seq::new(0)];
        for _ in 0..ROUND.min(wanted - round * ROUND) {
            let packet = packet(&mut dice, expected);
            read(&mut dice, &packet);
            host.handle(now, &packet);
            now += Duration::from_micros(1 << dice.below(20));
            host.handle_wakeup(now);
            host.transmit(now, |packet| {
                answers += 1;
                assert!(packet.len() <= 1500);
                let said = wire::parse(packet).unwrap().segment;
                expected = [said.ack, said.seq.at(said.len.into())];
            });
        }
        assert!(host.live().count() <= 4096);
    }
    assert!(answers > wanted / 20, "{answers} answers to {wanted} packets: nothing was attacked");
}
