//! Linear-modulation waveforms of DVB-RCS2 (ETSI EN 301 545-2, annex A), with the Es/N0 at which one burst in 100,000
//! is lost.

use bentpipe_units::words;

words! {
    /// Length of the bursts of a return link.
    pub enum BurstLength {
        /// 536 symbols, waveforms 3 to 12.
        "short" => Short,
        /// 1616 symbols, waveforms 13 to 22.
        "long" => Long,
    }
}

impl BurstLength {
    /// Returns the symbols of a burst, with its preamble and guard.
    pub const fn symbols(self) -> u64 {
        match self {
            Self::Short => 536,
            Self::Long => 1616,
        }
    }
}

/// Waveform of a burst: its modulation, code, payload and threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Waveform(u8);

/// Name, payload in bytes, Es/N0 in dB. The first row is waveform 3.
const TABLE: [(&str, u32, f64); 20] = [
    ("QPSK 1/3", 38, 0.22),
    ("QPSK 1/2", 59, 2.34),
    ("QPSK 2/3", 85, 4.29),
    ("QPSK 3/4", 96, 5.36),
    ("QPSK 5/6", 108, 6.68),
    ("8PSK 2/3", 115, 8.08),
    ("8PSK 3/4", 130, 9.31),
    ("8PSK 5/6", 144, 10.82),
    ("16QAM 3/4", 175, 11.17),
    ("16QAM 5/6", 194, 12.56),
    ("QPSK 1/3", 123, -0.51),
    ("QPSK 1/2", 188, 1.71),
    ("QPSK 2/3", 264, 3.69),
    ("QPSK 3/4", 298, 4.73),
    ("QPSK 5/6", 333, 5.94),
    ("8PSK 2/3", 355, 7.49),
    ("8PSK 3/4", 400, 8.77),
    ("8PSK 5/6", 444, 10.23),
    ("16QAM 3/4", 539, 10.72),
    ("16QAM 5/6", 599, 12.04),
];

/// Number of the first waveform in the table.
const FIRST: u8 = 3;

impl Waveform {
    /// Returns the waveform of this number, 3 to 22.
    pub fn numbered(id: u32) -> Option<Self> {
        let index = u8::try_from(id).ok()?.checked_sub(FIRST)?;
        (usize::from(index) < TABLE.len()).then_some(Self(index))
    }

    /// Returns the waveforms of a burst length, with rising payload and threshold.
    pub fn all(length: BurstLength) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator {
        let first = match length {
            BurstLength::Short => 0,
            BurstLength::Long => 10,
        };
        (first..first + 10).map(Self)
    }

    /// Returns the waveform with the largest payload that this Es/N0 permits.
    pub fn best(length: BurstLength, es_n0_db: f64) -> Option<Self> {
        Self::all(length).rev().find(|waveform| waveform.threshold_db() <= es_n0_db)
    }

    /// Returns its number in EN 301 545-2.
    pub const fn id(self) -> u32 {
        (self.0 + FIRST) as u32
    }

    /// Returns its place among the waveforms of its length ([`Waveform::all`]).
    pub const fn index(self) -> usize {
        (self.0 % 10) as usize
    }

    /// Returns its burst length.
    pub const fn length(self) -> BurstLength {
        if self.0 < 10 {
            BurstLength::Short
        } else {
            BurstLength::Long
        }
    }

    /// Returns modulation and code, like `QPSK 5/6`.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// Returns the bytes in a burst.
    pub fn payload(self) -> u32 {
        self.row().1
    }

    /// Returns the Es/N0 in dB at which one burst in 100,000 is lost.
    pub fn threshold_db(self) -> f64 {
        self.row().2
    }

    fn row(self) -> (&'static str, u32, f64) {
        TABLE[usize::from(self.0) % TABLE.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 9 dB less a margin of 1 dB is waveform 7: 8PSK 2/3 needs 8.08 dB.
    #[test]
    fn the_waveform_with_the_largest_payload_is_chosen() {
        let short = |db| Waveform::best(BurstLength::Short, db).map(Waveform::id);
        assert_eq!([0.21, 0.22, 8.0, 8.08, 30.0].map(short), [None, Some(3), Some(7), Some(8), Some(12)]);
        assert_eq!(Waveform::best(BurstLength::Long, 8.0).map(Waveform::id), Some(18));
    }

    /// EN 301 545-2, table A-1: bits per symbol and code rate bound the payload of the symbols.
    #[test]
    fn payloads_fit_their_symbols() {
        for id in 3..=22 {
            let waveform = Waveform::numbered(id).unwrap();
            assert_eq!(waveform.id(), id);
            let (modulation, code) = waveform.name().split_once(' ').unwrap();
            let bits = [("QPSK", 2.0), ("8PSK", 3.0), ("16QAM", 4.0)].iter().find(|row| row.0 == modulation).unwrap().1;
            let (over, under) = code.split_once('/').unwrap();
            let rate = over.parse::<f64>().unwrap() / under.parse::<f64>().unwrap();
            let share = f64::from(waveform.payload()) * 8.0 / (waveform.length().symbols() as f64 * bits * rate);
            assert!((0.8..1.0).contains(&share), "{id}: {share}");
        }
        assert_eq!((Waveform::numbered(2), Waveform::numbered(23), Waveform::numbered(u32::MAX)), (None, None, None));
    }

    #[test]
    fn payloads_rise_with_thresholds() {
        for length in [BurstLength::Short, BurstLength::Long] {
            let all: Vec<Waveform> = Waveform::all(length).collect();
            assert!(all.iter().enumerate().all(|(n, waveform)| waveform.index() == n && waveform.length() == length));
            let rises = |pair: &[Waveform]| {
                pair[0].payload() < pair[1].payload() && pair[0].threshold_db() < pair[1].threshold_db()
            };
            assert!(all.windows(2).all(rises));
        }
    }
}
