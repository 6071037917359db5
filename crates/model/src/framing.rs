//! Framing: the bytes of a packet on a link, headers, trailers, padding and cells included.
//!
//! All kinds use the same arithmetic. A packet of n bytes becomes m = max(n, `minimum`) + `overhead` bytes. Byte
//! stuffing makes them m + ceil(m `stuffed` / 256). They are cut into pieces of `payload` bytes, the last one padded,
//! and each piece takes `cell` bytes on the wire. AAL5 (ITU-T I.363.5) with the header of RFC 2684 §5: 53 ceil((n + 8 +
//! 8) / 48).

use bentpipe_units::settings::Bytes;
use bentpipe_units::{kinds, settings, Rate};

kinds! {
    /// Framing of packets on a link: bytes of the link besides the packet's. They take time, and errors per bit or byte
    /// may hit them. Queues and counters of bytes exclude them.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Framing as "Framing", "a framing" {
        /// A packet takes its own bytes only.
        "none" => None;
        /// ATM with AAL5: header, packet and a trailer of 8 B, padded to whole cells, which carry 48 B in 53 B (ITU-T I.363.5).
        "aal5" => Aal5 {
            /// LLC and SNAP in front of the packet; 0 B if a circuit carries IP only.
            header: u64 as Bytes = 8, "RFC 2684 §5";
        };
        /// Ethernet: preamble 8 B, header 14 B, at least 46 B, check sequence 4 B, and a gap of 12 B (IEEE 802.3).
        "ethernet" => Ethernet;
        /// GSE of DVB-S2: each packet whole behind a header of 4 B and its label (ETSI TS 102 606).
        "gse" => Gse {
            /// Destination label: 6 B, 3 B, or 0 B if the packet is for all, or for the destination of the one before.
            label: u64 as Bytes = 6, "ETSI TS 102 606";
        };
        /// Multiprotocol encapsulation: sections with a header of 12 B and a check sequence of 4 B. Each starts in a
        /// separate packet of the transport stream, 184 B in 188 B (ETSI EN 301 192).
        "mpe" => Mpe;
        /// PPP in frames like those of HDLC: flag, address, control, protocol 2 B, check sequence 2 B; 2 of 256 bytes are escaped, as in random data (RFC 1662).
        "hdlc" => Hdlc;
        /// Other framing, by its numbers.
        "frames" => Frames(Frames);
    }
}

settings! {
    /// Framing by its numbers.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Frames {
        /// Headers and trailers of a packet.
        overhead: u64 as Bytes = 0;
        /// Size to which shorter packets are padded, without overhead.
        minimum: u64 as Bytes = 0;
        /// Number of the 256 byte values that are sent as two bytes. Data counts as random: m bytes take m times this /
        /// 256 more, rounded up.
        stuffed: u32 = 0, [0, 256];
        /// Payload of a cell: packet and overhead are padded to whole cells.
        payload: u64 as Bytes = 1;
        /// Size of a cell on the link, at least its payload.
        cell: u64 as Bytes = 1;
    }
}

impl Framing {
    /// Returns its numbers; `None`: a packet takes its own bytes.
    pub fn frames(&self) -> Option<Frames> {
        let plain = Frames::default();
        let cells = |overhead, payload, cell| Frames { overhead, payload, cell, ..plain };
        match *self {
            Self::None => None,
            Self::Aal5 { header } => Some(cells(header.saturating_add(8), 48, 53)),
            Self::Ethernet => Some(Frames { overhead: 8 + 14 + 4 + 12, minimum: 46, ..plain }),
            Self::Gse { label } => Some(Frames { overhead: label.saturating_add(4), ..plain }),
            // The first byte contains the start of the section.
            Self::Mpe => Some(cells(1 + 12 + 4, 184, 188)),
            Self::Hdlc => Some(Frames { overhead: 1 + 1 + 1 + 2 + 2, stuffed: 2, ..plain }),
            Self::Frames(frames) => Some(frames),
        }
    }

    /// Returns the bytes on the link for `packets` packets with `bytes` bytes in total, as if all had the same size.
    #[inline]
    pub fn wire_bytes(&self, bytes: f64, packets: f64) -> f64 {
        match self.frames() {
            Some(frames) if packets > 0.0 => packets * frames.wire_size((bytes / packets).round() as u64) as f64,
            _ => bytes,
        }
    }

    /// Returns the rate for packets of this size, in bytes of packets.
    pub(crate) fn rate_of_packets(&self, rate: Rate, size: u64) -> Rate {
        let Some(frames) = self.frames() else { return rate };
        let size = size.max(1);
        let bps = u128::from(rate.as_bps()) * u128::from(size) / u128::from(frames.wire_size(size).max(1));
        Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX))
    }

    /// Returns the largest rate for packets of at most this size, in bytes of packets: without padding.
    pub fn most_of_rate(&self, rate: Rate, size: u64) -> Rate {
        let Some(frames) = self.frames() else { return rate };
        Rate::from_bps((rate.as_bps() as f64 / frames.least_expansion(size)).ceil() as u64)
    }
}

impl Frames {
    /// Returns the bytes of a packet of `size` bytes on the link.
    #[inline]
    pub fn wire_size(&self, size: u64) -> u64 {
        let framed = size.max(self.minimum).saturating_add(self.overhead);
        let stuffed = framed.saturating_add(framed.saturating_mul(self.stuffed.into()).div_ceil(256));
        stuffed.div_ceil(self.payload.max(1)).saturating_mul(self.cell)
    }

    /// Returns the smallest number of bytes on the link per byte of packets of at most `size` bytes: without padding.
    fn least_expansion(&self, size: u64) -> f64 {
        let overhead = 1.0 + self.overhead as f64 / size.max(1) as f64;
        overhead * (1.0 + f64::from(self.stuffed) / 256.0) * self.cell as f64 / self.payload.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes<const N: usize>(framing: Framing, packets: [u64; N]) -> [u64; N] {
        let frames = framing.frames().expect("it frames");
        packets.map(|size| frames.wire_size(size))
    }

    /// 40 + 16 = 56 B: 2 cells. 1500 + 16 = 1516 B: 32 cells. 9180 B, the MTU of RFC 2225: 9196 B, 192 cells.
    #[test]
    fn aal5_fills_whole_cells() {
        let aal5 = Framing::Aal5 { header: 8 };
        assert_eq!(sizes(aal5, [32, 33, 40, 1500, 9180]), [53, 106, 106, 1696, 10_176]);
        // An ACK without options and without LLC is one cell.
        assert_eq!(sizes(Framing::Aal5 { header: 0 }, [40, 41]), [53, 106]);
    }

    #[test]
    fn ethernet_has_a_least_payload() {
        assert_eq!(sizes(Framing::Ethernet, [40, 46, 47, 1500]), [84, 84, 85, 1538]);
    }

    #[test]
    fn gse_adds_a_header_and_a_label() {
        assert_eq!(sizes(Framing::Gse { label: 6 }, [40, 1500]), [50, 1510]);
        assert_eq!(sizes(Framing::Gse { label: 0 }, [1500]), [1504]);
    }

    /// 1 + 12 + 4 = 17 B beside the packet: one of 167 B fills a packet of the transport stream; 1517 B take 9.
    #[test]
    fn mpe_fills_whole_packets_of_the_transport_stream() {
        assert_eq!(sizes(Framing::Mpe, [40, 167, 168, 1500]), [188, 188, 376, 9 * 188]);
    }

    /// 1507 B of which 2/256 are escaped: 11.8 more.
    #[test]
    fn hdlc_escapes_two_bytes_of_256() {
        assert_eq!(sizes(Framing::Hdlc, [40, 249, 250, 1500]), [48, 258, 260, 1519]);
    }

    #[test]
    fn any_framing_has_the_same_arithmetic() {
        let atm = Frames { overhead: 16, payload: 48, cell: 53, ..Frames::default() };
        for size in 1..10_000 {
            let aal5 = Framing::Aal5 { header: 8 }.frames();
            assert_eq!(Some(atm.wire_size(size)), aal5.map(|frames| frames.wire_size(size)));
        }
        assert_eq!(sizes(Framing::Frames(Frames::default()), [1, 1500]), [1, 1500]);
        assert_eq!(Framing::None.frames(), None);
    }

    /// 10 Mbit/s x 1500 / 1696; no packet of up to 1500 B finds more than what is left without padding.
    #[test]
    fn packets_find_less_than_the_rate() {
        let rate = Rate::from_bps(10_000_000);
        assert_eq!(Framing::Aal5 { header: 8 }.rate_of_packets(rate, 1500), Rate::from_bps(8_844_339));
        assert_eq!(Framing::None.rate_of_packets(rate, 1500), rate);
        for framing in [Framing::Aal5 { header: 8 }, Framing::Ethernet, Framing::Mpe, Framing::Hdlc] {
            let frames = framing.frames().expect("it frames");
            for size in 1..=1500 {
                let expansion = frames.wire_size(size) as f64 / size as f64;
                assert!(expansion >= frames.least_expansion(1500), "{framing:?} {size}");
            }
        }
    }
}
