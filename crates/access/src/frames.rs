//! Frames of DVB-S2 (ETSI EN 302 307-1) and parts of packets in them (GSE, ETSI TS 102 606-1).

use crate::modcods::{Modcod, MODCODS};
use bentpipe_units::Duration;

/// Uncoded BCH bits of a normal and of a short frame, for each code (tables 5a and 5b). The code 9/10 has no short frame.
const UNCODED_BITS: [(u32, Option<u32>); 11] = [
    (16_008, Some(3072)),
    (21_408, Some(5232)),
    (25_728, Some(6312)),
    (32_208, Some(7032)),
    (38_688, Some(9552)),
    (43_040, Some(10_632)),
    (48_408, Some(11_712)),
    (51_648, Some(12_432)),
    (53_840, Some(13_152)),
    (57_472, Some(14_232)),
    (58_192, None),
];
/// Bits of the base-band header.
const HEADER_BITS: u32 = 80;
/// Symbols of a slot, which is also the length of the header.
const SLOT_SYMBOLS: u32 = 90;
/// Symbols of a block of pilots, one after each 16 slots but the last.
const PILOT_SYMBOLS: u32 = 36;
const SLOTS_BETWEEN_PILOTS: u32 = 16;

/// Headers of GSE without the label, bytes: whole packet, first part, further part, last part with its check sequence.
const WHOLE: u32 = 4;
const FIRST_PART: u32 = 7;
const FURTHER_PART: u32 = 3;
const LAST_PART: u32 = 7;
/// Bytes of a part that leaves more of its packet for later, at least.
const PART_MIN: u32 = 16;

/// Length of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// 64,800 coded bits.
    Normal,
    /// 16,200 coded bits: a quarter of the symbols of a normal frame, and slightly less than a quarter of its bytes.
    Short,
}

impl Length {
    fn coded_bits(self) -> u32 {
        match self {
            Self::Normal => 64_800,
            Self::Short => 16_200,
        }
    }

    /// Returns the loss of a frame of this length against the threshold of a normal frame, dB. EN 302 307-1, 6.1, has 0.2 dB
    /// to 0.3 dB for short frames.
    pub fn loss_db(self) -> f64 {
        match self {
            Self::Normal => 0.0,
            Self::Short => 0.3,
        }
    }
}

/// Frames of a carrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frames {
    /// Symbols per second.
    pub symbol_rate: u64,
    /// Whether frames have pilots.
    pub pilots: bool,
    /// Bytes of the label in the header of a packet.
    pub label: u32,
}

/// Part of a packet in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Bytes of the packet.
    pub bytes: u32,
    /// Bytes of the header before it, and of the check sequence after the last part.
    pub header: u32,
}

impl Frames {
    /// Returns the symbols of a frame of this modulation and code.
    pub fn symbols(&self, modcod: Modcod, length: Length) -> u32 {
        let slots = length.coded_bits() / modcod.modulation_bits() as u32 / SLOT_SYMBOLS;
        let pilots = if self.pilots { (slots - 1) / SLOTS_BETWEEN_PILOTS } else { 0 };
        SLOT_SYMBOLS * (1 + slots) + PILOT_SYMBOLS * pilots
    }

    /// Returns the transmission time of a frame.
    pub fn duration(&self, modcod: Modcod, length: Length) -> Duration {
        let ps = u128::from(self.symbols(modcod, length)) * 1_000_000_000_000 / u128::from(self.symbol_rate.max(1));
        Duration::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
    }

    /// Returns the bytes of a normal frame. Pilots do not change them.
    pub fn payload(modcod: Modcod) -> u32 {
        let symbols = Self { symbol_rate: 1, pilots: false, label: 0 }.symbols(modcod, Length::Normal);
        // The table's bits per symbol are rounded to six digits.
        (modcod.efficiency() * f64::from(symbols) / 8.0).round() as u32
    }

    /// Returns the bytes of a short frame. `None` if the code has no short frame.
    pub fn short_payload(modcod: Modcod) -> Option<u32> {
        let normal = Self::payload(modcod) * 8 + HEADER_BITS;
        let row = UNCODED_BITS.iter().find(|row| row.0 == normal)?;
        row.1.map(|bits| (bits - HEADER_BITS) / 8)
    }

    /// Returns the bytes of the header of a whole packet.
    pub(crate) fn header(&self) -> u32 {
        WHOLE + self.label
    }

    /// Returns the next part of a packet whose last `rest` bytes wait, in a frame with `room` bytes.
    pub(crate) fn part(&self, rest: u32, has_begun: bool, room: u32) -> Option<Part> {
        let whole = if has_begun { LAST_PART } else { WHOLE + self.label };
        if rest.saturating_add(whole) <= room {
            return Some(Part { bytes: rest, header: whole });
        }
        let header = if has_begun { FURTHER_PART } else { FIRST_PART + self.label };
        // The last part has at least a byte.
        let bytes = room.checked_sub(header)?.min(rest.saturating_sub(1));
        (bytes >= PART_MIN).then_some(Part { bytes, header })
    }
}

/// Returns the most efficient modulation and code.
pub(crate) fn most_efficient() -> Modcod {
    MODCODS[MODCODS.len() - 1].0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(pilots: bool) -> Frames {
        Frames { symbol_rate: 45_000_000, pilots, label: 3 }
    }

    /// EN 302 307-1, table 11: slots by modulation, with pilots after each 16 slots.
    #[test]
    fn frames_have_the_symbols_of_the_standard() {
        let modcods = [Modcod::Qpsk1of2, Modcod::Psk8x3of4, Modcod::Apsk16x3of4, Modcod::Apsk32x3of4];
        assert_eq!(
            modcods.map(|modcod| frames(true).symbols(modcod, Length::Normal)),
            [33_282, 22_194, 16_686, 13_338]
        );
        assert_eq!(
            modcods.map(|modcod| frames(false).symbols(modcod, Length::Normal)),
            [32_490, 21_690, 16_290, 13_050]
        );
        assert_eq!(modcods.map(|modcod| frames(true).symbols(modcod, Length::Short)), [8370, 5598, 4212, 3402]);
        // 33,282 symbols at 45 Mbaud.
        assert_eq!(frames(true).duration(Modcod::Qpsk1of2, Length::Normal), Duration::from_micros(739_600) / 1000);
    }

    /// EN 302 307-1, tables 5a and 5b: a frame has the uncoded BCH block less the base-band header, for each code.
    #[test]
    fn frames_have_the_bytes_of_the_standard() {
        let codes = ["1/4", "1/3", "2/5", "1/2", "3/5", "2/3", "3/4", "4/5", "5/6", "8/9", "9/10"];
        for (modcod, ..) in MODCODS {
            let code = modcod.as_str().split(' ').nth(1).unwrap();
            let (normal, short) = UNCODED_BITS[codes.iter().position(|name| *name == code).unwrap()];
            assert_eq!(Frames::payload(modcod), (normal - 80) / 8, "{}", modcod.as_str());
            assert_eq!(Frames::short_payload(modcod), short.map(|bits| (bits - 80) / 8), "{}", modcod.as_str());
        }
    }

    #[test]
    fn parts_have_the_headers_of_gse() {
        let part =
            |rest, has_begun, room| frames(true).part(rest, has_begun, room).map(|part| (part.bytes, part.header));
        assert_eq!(part(100, false, 107), Some((100, 7)));
        // 106 B of room: a first part of 96 B, its header of 10 B.
        assert_eq!(part(100, false, 106), Some((96, 10)));
        assert_eq!(part(100, false, 25), None);
        assert_eq!(part(100, false, 26), Some((16, 10)));
        assert_eq!(part(1000, true, 50), Some((47, 3)));
        assert_eq!(part(43, true, 50), Some((43, 7)));
        // 44 B would fit without the check sequence, so one byte is left for the last part.
        assert_eq!(part(44, true, 50), Some((43, 3)));
        assert_eq!(part(4, true, 10), None);
    }
}
