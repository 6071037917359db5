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
        /// 3236 symbols of BPSK, waveforms 42 and 43: for weak signals.
        "robust" => Robust,
        /// 266 symbols, waveforms 44 to 49: for little data with a strong signal.
        "tiny" => Tiny,
    }
}

impl BurstLength {
    /// Returns the symbols of a burst, with its preamble and guard.
    pub const fn symbols(self) -> u64 {
        match self {
            Self::Short => 536,
            Self::Long => 1616,
            Self::Robust => 3236,
            Self::Tiny => 266,
        }
    }

    /// Returns the places of its waveforms in the table.
    const fn places(self) -> core::ops::Range<u8> {
        match self {
            Self::Short => 0..10,
            Self::Long => 10..20,
            Self::Robust => 20..22,
            Self::Tiny => 22..28,
        }
    }
}

/// Waveform of a burst: its modulation, code, payload and threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Waveform(u8);

/// Number, name, payload in bytes, Es/N0 in dB.
///
/// The payloads of 42 to 49 are derived, not read in the standard: from the efficiencies that OpenSAND configures, which
/// are 8 payload / (symbols + 4), to two digits. The rule gives those of 3 to 22, too, and leaves one whole number for 44
/// to 49. 42 and 43 have the code blocks of 13 and 14.
const TABLE: [(u8, &str, u32, f64); 28] = [
    (3, "QPSK 1/3", 38, 0.22),
    (4, "QPSK 1/2", 59, 2.34),
    (5, "QPSK 2/3", 85, 4.29),
    (6, "QPSK 3/4", 96, 5.36),
    (7, "QPSK 5/6", 108, 6.68),
    (8, "8PSK 2/3", 115, 8.08),
    (9, "8PSK 3/4", 130, 9.31),
    (10, "8PSK 5/6", 144, 10.82),
    (11, "16QAM 3/4", 175, 11.17),
    (12, "16QAM 5/6", 194, 12.56),
    (13, "QPSK 1/3", 123, -0.51),
    (14, "QPSK 1/2", 188, 1.71),
    (15, "QPSK 2/3", 264, 3.69),
    (16, "QPSK 3/4", 298, 4.73),
    (17, "QPSK 5/6", 333, 5.94),
    (18, "8PSK 2/3", 355, 7.49),
    (19, "8PSK 3/4", 400, 8.77),
    (20, "8PSK 5/6", 444, 10.23),
    (21, "16QAM 3/4", 539, 10.72),
    (22, "16QAM 5/6", 599, 12.04),
    (42, "BPSK 1/3", 123, -3.52),
    (43, "BPSK 1/2", 188, -1.3),
    (44, "QPSK 5/6", 51, 7.3),
    (45, "8PSK 2/3", 55, 8.71),
    (46, "8PSK 3/4", 62, 10.04),
    (47, "8PSK 5/6", 69, 11.59),
    (48, "16QAM 3/4", 84, 11.73),
    (49, "16QAM 5/6", 93, 13.18),
];

impl Waveform {
    /// Returns the waveform of this number: 3 to 22, and 42 to 49.
    pub fn numbered(id: u32) -> Option<Self> {
        let index = TABLE.iter().position(|row| u32::from(row.0) == id)?;
        u8::try_from(index).ok().map(Self)
    }

    /// Returns the waveforms of a burst length, with rising payload and threshold.
    pub fn all(length: BurstLength) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator {
        length.places().map(Self)
    }

    /// Returns the waveform at this place among those of a length.
    pub(crate) fn at(length: BurstLength, index: usize) -> Option<Self> {
        let places = length.places();
        (index < places.len()).then(|| Self(places.start + index as u8))
    }

    /// Returns the waveform with the largest payload that this Es/N0 permits.
    pub fn best(length: BurstLength, es_n0_db: f64) -> Option<Self> {
        Self::all(length).rev().find(|waveform| waveform.threshold_db() <= es_n0_db)
    }

    /// Returns its number in EN 301 545-2.
    pub fn id(self) -> u32 {
        self.row().0.into()
    }

    /// Returns its place among the waveforms of its length ([`Waveform::all`]).
    pub const fn index(self) -> usize {
        (self.0 - self.length().places().start) as usize
    }

    /// Returns its burst length.
    pub const fn length(self) -> BurstLength {
        match self.0 {
            0..10 => BurstLength::Short,
            10..20 => BurstLength::Long,
            20..22 => BurstLength::Robust,
            _ => BurstLength::Tiny,
        }
    }

    /// Returns modulation and code, like `QPSK 5/6`.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Returns the bytes in a burst.
    pub fn payload(self) -> u32 {
        self.row().2
    }

    /// Returns the Es/N0 in dB at which one burst in 100,000 is lost.
    pub fn threshold_db(self) -> f64 {
        self.row().3
    }

    fn row(self) -> (u8, &'static str, u32, f64) {
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
        for id in (3..=22).chain(42..=49) {
            let waveform = Waveform::numbered(id).unwrap();
            assert_eq!(waveform.id(), id);
            let (modulation, code) = waveform.name().split_once(' ').unwrap();
            let bits = [("BPSK", 1.0), ("QPSK", 2.0), ("8PSK", 3.0), ("16QAM", 4.0)];
            let bits = bits.iter().find(|row| row.0 == modulation).unwrap().1;
            let (over, under) = code.split_once('/').unwrap();
            let rate = over.parse::<f64>().unwrap() / under.parse::<f64>().unwrap();
            let share = f64::from(waveform.payload()) * 8.0 / (waveform.length().symbols() as f64 * bits * rate);
            assert!((0.8..1.0).contains(&share), "{id}: {share}");
        }
        assert_eq!([2, 23, 41, 50, u32::MAX].map(Waveform::numbered), [None; 5]);
    }

    /// Efficiencies of OpenSAND's configuration, in bits per symbol: payload over the symbols and 4 more, to two digits.
    #[test]
    fn payloads_have_the_published_efficiencies() {
        let published = [
            (3, 0.56),
            (4, 0.87),
            (5, 1.26),
            (6, 1.42),
            (7, 1.60),
            (8, 1.70),
            (9, 1.93),
            (10, 2.13),
            (11, 2.59),
            (12, 2.87),
            (13, 0.61),
            (14, 0.93),
            (15, 1.30),
            (16, 1.47),
            (17, 1.64),
            (18, 1.75),
            (19, 1.98),
            (20, 2.19),
            (21, 2.66),
            (22, 2.96),
            (42, 0.30),
            (43, 0.46),
            (44, 1.51),
            (45, 1.63),
            (46, 1.84),
            (47, 2.04),
            (48, 2.49),
            (49, 2.76),
        ];
        for (id, efficiency) in published {
            let waveform = Waveform::numbered(id).unwrap();
            let found = 8.0 * f64::from(waveform.payload()) / (waveform.length().symbols() + 4) as f64;
            assert!((found - efficiency).abs() <= 0.0051, "{id}: {found}");
        }
    }

    /// SNS3's link results (test `sat-link-results-test`, September 2023): Eb/N0 in dB at which one burst in 100,000 is
    /// lost, between its points. Id 21 has no point below. `docs/validation/sns3.md` has the table.
    #[test]
    fn thresholds_are_those_of_sns3s_link_results() {
        let published = [
            (3, 2.055),
            (4, 2.382),
            (5, 3.115),
            (6, 3.659),
            (7, 4.463),
            (8, 5.166),
            (9, 5.933),
            (10, 6.884),
            (11, 6.425),
            (12, 7.353),
            (13, 1.313),
            (14, 1.726),
            (15, 2.476),
            (16, 3.019),
            (17, 3.748),
            (18, 4.610),
            (19, 5.331),
            (20, 6.260),
            (22, 6.837),
        ];
        for (id, eb_n0_db) in published {
            let waveform = Waveform::numbered(id).unwrap();
            let (modulation, code) = waveform.name().split_once(' ').unwrap();
            let bits = [("QPSK", 2.0), ("8PSK", 3.0), ("16QAM", 4.0)].iter().find(|row| row.0 == modulation).unwrap().1;
            let (over, under) = code.split_once('/').unwrap();
            let rate = over.parse::<f64>().unwrap() / under.parse::<f64>().unwrap();
            let off = eb_n0_db + 10.0 * libm::log10(bits * rate) - waveform.threshold_db();
            assert!((-0.01..0.15).contains(&off), "{id}: {off:.3} dB");
        }
    }

    /// SNS3's test `sat-waveform-conf-test`: short bursts at 250 kbaud with a C/N0 of 60 to 70 dBHz, in steps of 0.5.
    #[test]
    fn waveforms_are_chosen_as_sns3_chooses_them() {
        let chosen = [6, 6, 7, 7, 7, 8, 8, 9, 9, 9, 10, 11, 11, 11, 12, 12, 12, 12, 12, 12, 12];
        for (step, id) in chosen.into_iter().enumerate() {
            let es_n0_db = 60.0 + 0.5 * step as f64 - 10.0 * libm::log10(250_000.0);
            assert_eq!(Waveform::best(BurstLength::Short, es_n0_db).map(Waveform::id), Some(id), "{es_n0_db}");
        }
    }

    #[test]
    fn payloads_rise_with_thresholds() {
        for length in [BurstLength::Short, BurstLength::Long, BurstLength::Robust, BurstLength::Tiny] {
            let all: Vec<Waveform> = Waveform::all(length).collect();
            assert!(all.iter().enumerate().all(|(n, waveform)| waveform.index() == n && waveform.length() == length));
            let rises = |pair: &[Waveform]| {
                pair[0].payload() < pair[1].payload() && pair[0].threshold_db() < pair[1].threshold_db()
            };
            assert!(all.windows(2).all(rises));
        }
    }
}
