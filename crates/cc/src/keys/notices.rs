//! Keys of the reaction to error notices, which middleboxes send.

use bentpipe_units::settings::Bytes;
use bentpipe_units::{kinds, words};

words! {
    /// Reaction to a report of a corrupted segment.
    pub enum ErrorReports {
        /// Ignores the report.
        "ignore" => Ignore,
        /// Retransmits the segment immediately for any window, and keeps the window. Duplicate ACKs that ask for it do
        /// not reduce the window.
        "resend" => Resend,
    }
}

words! {
    /// Retransmission of a reported segment if segments have become smaller since it left.
    pub enum ReportResend {
        /// All its data leaves immediately in segments of the present size, even above the window.
        "whole" => Whole,
        /// One segment of the present size leaves immediately, even above the window. The rest of the data leaves before new data, as the window permits.
        "packet" => Packet,
    }
}

words! {
    /// Reaction to a report that a segment is too large for a link.
    pub enum PathMtu {
        /// Later segments fit the link, and the segment is retransmitted immediately. This does not count as congestion
        /// (RFC 1191).
        "discover" => Discover,
        /// Ignores the report, as behind a firewall that drops ICMP.
        "ignore" => Ignore,
    }
}

words! {
    /// Unit of the window where the segment size changes.
    pub enum CwndUnit {
        /// Bytes: a smaller segment size means more segments.
        "bytes" => Bytes,
        /// Packets of any size. The receiver's window counts packets, too (ns-2).
        "packets" => Packets,
    }
}

kinds! {
    /// Size of segments.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum PacketSize as "PacketSize", "a choice of packet sizes" {
        /// Always `smss`.
        "fixed" => Fixed;
        /// Size with the best information efficiency at the error rate that the network reports. `smss` before a
        /// report, and at a reported rate of 0.
        "optimum" => Optimum {
            /// Formula of the size.
            formula: SizeFormula = SizeFormula::Probabilistic, "exact for independent errors; BEEN has the other";
            /// Result of the formula.
            gives: SizeGiven = SizeGiven::Packet, "the formula counts the header in; the results of BEEN need the payload";
            /// Unit of the reported rate: per byte or per bit. It should match the estimate of the network.
            unit: SizeUnit = SizeUnit::Byte, "ns-2 counts bytes";
            /// Error density n: errors per corrupted packet. Both formulas divide the rate by it.
            density: f64 = 1.0, [1.0, 1_000_000.0], "BEEN: one error is the worst case";
            /// Header H of the formula. The headers on the wire do not follow it.
            header: u32 as Bytes = 40, "BEEN: IP and TCP without options";
            /// Smallest packet, with IP and TCP headers and the options that every segment has.
            min: u32 as Bytes = 80, "BEEN: twice the header";
            /// Largest packet, with IP and TCP headers and the options that every segment has (timestamps: 12 B).
            /// `smss` limits the payload as well.
            max: u32 as Bytes = 65535, "no bound but smss";
        };
    }
}

words! {
    /// Formula of the best size at an error rate (D. A. Carek 2005).
    pub enum SizeFormula {
        /// Errors are spread evenly, n per corrupted packet: sqrt(H n / P).
        "deterministic" => Deterministic,
        /// Groups of n errors are independent: H / 2 + sqrt(H^2 / 4 - H / ln(1 - P / n)).
        "probabilistic" => Probabilistic,
    }
}

words! {
    /// Meaning of the size of a formula.
    pub enum SizeGiven {
        /// The packet.
        "packet" => Packet,
        /// Its payload.
        "payload" => Payload,
    }
}

words! {
    /// Unit of header and rate in the formula.
    pub enum SizeUnit {
        /// Bits. The result is divided by 8.
        "bit" => Bit,
        /// Bytes.
        "byte" => Byte,
    }
}

impl PacketSize {
    /// Returns the payload of a segment at an error rate, bytes; `None` if the size does not follow the rate. Full
    /// segments have `smss`, and each segment has a header of `header_len`.
    pub fn payload(self, rate: f32, smss: u32, header_len: u32) -> Option<u32> {
        let Self::Optimum { formula, gives, unit, density, header, min, max } = self else { return None };
        let beside = if gives == SizeGiven::Payload { header_len } else { 0 };
        // At most 2^20 B, so that the sum does not overflow.
        let size = formula.bytes(f64::from(rate) / density, header, unit).min(1_048_576.0) as u32 + beside;
        let max = max.min(smss + header_len);
        Some(size.clamp(min.min(max), max).saturating_sub(header_len).max(1))
    }
}

impl SizeFormula {
    /// Returns the size at this rate of corrupting errors, bytes.
    fn bytes(self, rate: f64, header: u32, unit: SizeUnit) -> f64 {
        let per_byte = if unit == SizeUnit::Bit { 8.0 } else { 1.0 };
        let header = f64::from(header) * per_byte;
        let size = match self {
            _ if rate <= 0.0 => return f64::INFINITY,
            Self::Deterministic => (header / rate).sqrt(),
            Self::Probabilistic if rate >= 1.0 => header,
            Self::Probabilistic => header / 2.0 + (header * header / 4.0 - header / libm::log1p(-rate)).sqrt(),
        };
        size / per_byte
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `docs/specs/optimum-packet-size.md`: the table, H = 40 B.
    #[test]
    fn sizes_are_those_of_the_table() {
        let rates = [1e-2, 1e-3, 1e-4, 1e-5, 1e-6];
        let sizes =
            |formula: SizeFormula, unit| rates.map(|rate| (formula.bytes(rate, 40, unit) * 10.0).round() / 10.0);
        let (bit, byte) = (SizeUnit::Bit, SizeUnit::Byte);
        assert_eq!(sizes(SizeFormula::Deterministic, bit), [22.4, 70.7, 223.6, 707.1, 2236.1]);
        assert_eq!(sizes(SizeFormula::Probabilistic, bit), [50.0, 93.5, 244.5, 727.4, 2256.2]);
        assert_eq!(sizes(SizeFormula::Deterministic, byte)[..3], [63.2, 200.0, 632.5]);
        assert_eq!(sizes(SizeFormula::Probabilistic, byte)[..3], [86.2, 220.9, 652.8]);
    }

    const HEADER: u32 = 40;

    /// The size of packets with 40 B of headers.
    fn packet(size: PacketSize, rate: f32, smss: u32) -> u32 {
        size.payload(rate, smss, HEADER).unwrap() + HEADER
    }

    fn optimum(change: impl FnOnce(&mut f64, &mut u32, &mut u32, &mut SizeGiven)) -> PacketSize {
        let (mut density, mut header, mut max, mut gives) = (1.0, HEADER, 65_535, SizeGiven::Packet);
        change(&mut density, &mut header, &mut max, &mut gives);
        let (formula, unit) = (SizeFormula::Deterministic, SizeUnit::Bit);
        PacketSize::Optimum { formula, gives, unit, density, header, min: 80, max }
    }

    /// `docs/specs/optimum-packet-size.md`, clamping, and `docs/specs/been.md`, test 2: packets of 80, 110 and 264 B as
    /// payload.
    #[test]
    fn sizes_stay_within_bounds_and_are_payload_or_packet() {
        let of = |given, rate, smss| packet(optimum(|_, _, _, gives| *gives = given), rate, smss);
        assert_eq!([1e-2, 1e-3, 1e-4].map(|rate| of(SizeGiven::Payload, rate, 1500)), [80, 110, 263]);
        assert_eq!([1e-2, 1e-3, 1e-4].map(|rate| of(SizeGiven::Packet, rate, 1500)), [80, 80, 223]);
        assert_eq!([1e-6, 0.0].map(|rate| of(SizeGiven::Packet, rate, 1500)), [1540, 1540]);
        assert_eq!(of(SizeGiven::Payload, 1e-3, 50), 90, "the largest is smaller than what the rate asks for");
        assert_eq!([1.725e-3, 8.627e-3].map(|rate| of(SizeGiven::Payload, rate, 1500)), [93, 80]);
        assert_eq!([1.725e-3, 8.627e-3].map(|rate| of(SizeGiven::Packet, rate, 1500)), [80, 80]);
        assert_eq!(PacketSize::Fixed.payload(1e-2, 1500, HEADER), None);
    }

    /// BEEN, equation 1: sqrt(320 n / P) bits.
    #[test]
    fn the_optimum_grows_with_the_root_of_density_and_header() {
        let with =
            |n: f64, bytes: u32| packet(optimum(|density, header, _, _| (*density, *header) = (n, bytes)), 1e-4, 1500);
        assert_eq!(
            [(1.0, 40), (4.0, 40), (9.0, 40), (1.0, 160)].map(|(n, header)| with(n, header)),
            [223, 447, 670, 447]
        );
        // Independent errors: the rate of groups of n is the rate divided by n.
        let sizes = [1e-3, 1e-3 / 4.0].map(|rate| SizeFormula::Probabilistic.bytes(rate, 40, SizeUnit::Byte));
        let probabilistic = |density, rate| {
            let (formula, gives, unit) = (SizeFormula::Probabilistic, SizeGiven::Packet, SizeUnit::Byte);
            packet(PacketSize::Optimum { formula, gives, unit, density, header: 40, min: 80, max: 65_535 }, rate, 1500)
        };
        assert_eq!([1.0, 4.0].map(|density| probabilistic(density, 1e-3)), sizes.map(|size| size as u32));
    }

    /// With timestamps a header has 52 B.
    #[test]
    fn bounds_are_those_of_the_packet_with_its_options() {
        let of = |size: PacketSize, rate| size.payload(rate, 1500, 52).unwrap() + 52;
        let bound = |given, most| optimum(|_, _, max, gives| (*max, *gives) = (most, given));
        assert_eq!([1e-9, 1e-2].map(|rate| of(bound(SizeGiven::Packet, 600), rate)), [600, 80]);
        assert_eq!(of(bound(SizeGiven::Packet, 65_535), 1e-4), 223, "a packet of the size of the formula");
        assert_eq!(of(bound(SizeGiven::Payload, 65_535), 1e-4), 223 + 52);
        assert_eq!(of(bound(SizeGiven::Payload, 65_535), 1e-9), 1552, "smss bounds the payload");
    }
}
