//! Modulations and codes of DVB-S2 (ETSI EN 302 307-1 V1.4.1, table 13: normal frames, without pilots).

use bentpipe_units::words;

words! {
    /// Modulation and code of DVB-S2, with threshold and efficiency (ETSI EN 302 307-1, table 13).
    pub enum Modcod {
        /// QPSK, code of rate 1/4: 0.490243 bits in a symbol, from -2.35 dB on.
        "QPSK 1/4" => Qpsk1of4,
        /// QPSK, code of rate 1/3: 0.656448 bits in a symbol, from -1.24 dB on.
        "QPSK 1/3" => Qpsk1of3,
        /// QPSK, code of rate 2/5: 0.789412 bits in a symbol, from -0.30 dB on.
        "QPSK 2/5" => Qpsk2of5,
        /// QPSK, code of rate 1/2: 0.988858 bits in a symbol, from 1.00 dB on.
        "QPSK 1/2" => Qpsk1of2,
        /// QPSK, code of rate 3/5: 1.188304 bits in a symbol, from 2.23 dB on.
        "QPSK 3/5" => Qpsk3of5,
        /// QPSK, code of rate 2/3: 1.322253 bits in a symbol, from 3.10 dB on.
        "QPSK 2/3" => Qpsk2of3,
        /// QPSK, code of rate 3/4: 1.487473 bits in a symbol, from 4.03 dB on.
        "QPSK 3/4" => Qpsk3of4,
        /// QPSK, code of rate 4/5: 1.587196 bits in a symbol, from 4.68 dB on.
        "QPSK 4/5" => Qpsk4of5,
        /// QPSK, code of rate 5/6: 1.654663 bits in a symbol, from 5.18 dB on.
        "QPSK 5/6" => Qpsk5of6,
        /// QPSK, code of rate 8/9: 1.766451 bits in a symbol, from 6.20 dB on.
        "QPSK 8/9" => Qpsk8of9,
        /// 8PSK, code of rate 3/5: 1.779991 bits in a symbol, from 5.50 dB on.
        "8PSK 3/5" => Psk8x3of5,
        /// QPSK, code of rate 9/10: 1.788612 bits in a symbol, from 6.42 dB on.
        "QPSK 9/10" => Qpsk9of10,
        /// 8PSK, code of rate 2/3: 1.980636 bits in a symbol, from 6.62 dB on.
        "8PSK 2/3" => Psk8x2of3,
        /// 8PSK, code of rate 3/4: 2.228124 bits in a symbol, from 7.91 dB on.
        "8PSK 3/4" => Psk8x3of4,
        /// 8PSK, code of rate 5/6: 2.478562 bits in a symbol, from 9.35 dB on.
        "8PSK 5/6" => Psk8x5of6,
        /// 16APSK, code of rate 2/3: 2.637201 bits in a symbol, from 8.97 dB on.
        "16APSK 2/3" => Apsk16x2of3,
        /// 8PSK, code of rate 8/9: 2.646012 bits in a symbol, from 10.69 dB on.
        "8PSK 8/9" => Psk8x8of9,
        /// 8PSK, code of rate 9/10: 2.679207 bits in a symbol, from 10.98 dB on.
        "8PSK 9/10" => Psk8x9of10,
        /// 16APSK, code of rate 3/4: 2.966728 bits in a symbol, from 10.21 dB on.
        "16APSK 3/4" => Apsk16x3of4,
        /// 16APSK, code of rate 4/5: 3.165623 bits in a symbol, from 11.03 dB on.
        "16APSK 4/5" => Apsk16x4of5,
        /// 16APSK, code of rate 5/6: 3.300184 bits in a symbol, from 11.61 dB on.
        "16APSK 5/6" => Apsk16x5of6,
        /// 16APSK, code of rate 8/9: 3.523143 bits in a symbol, from 12.89 dB on.
        "16APSK 8/9" => Apsk16x8of9,
        /// 16APSK, code of rate 9/10: 3.567342 bits in a symbol, from 13.13 dB on.
        "16APSK 9/10" => Apsk16x9of10,
        /// 32APSK, code of rate 3/4: 3.703295 bits in a symbol, from 12.73 dB on.
        "32APSK 3/4" => Apsk32x3of4,
        /// 32APSK, code of rate 4/5: 3.951571 bits in a symbol, from 13.64 dB on.
        "32APSK 4/5" => Apsk32x4of5,
        /// 32APSK, code of rate 5/6: 4.119540 bits in a symbol, from 14.28 dB on.
        "32APSK 5/6" => Apsk32x5of6,
        /// 32APSK, code of rate 8/9: 4.397854 bits in a symbol, from 15.69 dB on.
        "32APSK 8/9" => Apsk32x8of9,
        /// 32APSK, code of rate 9/10: 4.453027 bits in a symbol, from 16.05 dB on.
        "32APSK 9/10" => Apsk32x9of10,
    }
}

/// Es/N0 in dB, bits per symbol, bits per symbol of the modulation, in order of the bits per symbol.
pub const MODCODS: [(Modcod, f64, f64, f64); 28] = [
    (Modcod::Qpsk1of4, -2.35, 0.490243, 2.0),
    (Modcod::Qpsk1of3, -1.24, 0.656448, 2.0),
    (Modcod::Qpsk2of5, -0.30, 0.789412, 2.0),
    (Modcod::Qpsk1of2, 1.00, 0.988858, 2.0),
    (Modcod::Qpsk3of5, 2.23, 1.188304, 2.0),
    (Modcod::Qpsk2of3, 3.10, 1.322253, 2.0),
    (Modcod::Qpsk3of4, 4.03, 1.487473, 2.0),
    (Modcod::Qpsk4of5, 4.68, 1.587196, 2.0),
    (Modcod::Qpsk5of6, 5.18, 1.654663, 2.0),
    (Modcod::Qpsk8of9, 6.20, 1.766451, 2.0),
    (Modcod::Psk8x3of5, 5.50, 1.779991, 3.0),
    (Modcod::Qpsk9of10, 6.42, 1.788612, 2.0),
    (Modcod::Psk8x2of3, 6.62, 1.980636, 3.0),
    (Modcod::Psk8x3of4, 7.91, 2.228124, 3.0),
    (Modcod::Psk8x5of6, 9.35, 2.478562, 3.0),
    (Modcod::Apsk16x2of3, 8.97, 2.637201, 4.0),
    (Modcod::Psk8x8of9, 10.69, 2.646012, 3.0),
    (Modcod::Psk8x9of10, 10.98, 2.679207, 3.0),
    (Modcod::Apsk16x3of4, 10.21, 2.966728, 4.0),
    (Modcod::Apsk16x4of5, 11.03, 3.165623, 4.0),
    (Modcod::Apsk16x5of6, 11.61, 3.300184, 4.0),
    (Modcod::Apsk16x8of9, 12.89, 3.523143, 4.0),
    (Modcod::Apsk16x9of10, 13.13, 3.567342, 4.0),
    (Modcod::Apsk32x3of4, 12.73, 3.703295, 5.0),
    (Modcod::Apsk32x4of5, 13.64, 3.951571, 5.0),
    (Modcod::Apsk32x5of6, 14.28, 4.119540, 5.0),
    (Modcod::Apsk32x8of9, 15.69, 4.397854, 5.0),
    (Modcod::Apsk32x9of10, 16.05, 4.453027, 5.0),
];

impl Modcod {
    /// Returns the most efficient one at an Es/N0 in dB, ideally, the Es/N0 that it needs, and its bits per symbol;
    /// `None` if the signal is too weak for all.
    pub fn best(es_n0_db: f64) -> Option<(Self, f64, f64)> {
        MODCODS.iter().rev().find(|row| row.1 <= es_n0_db).map(|row| (row.0, row.1, row.2))
    }

    /// Returns the modulations and codes that are the most efficient at some Es/N0, with their threshold in dB and bits
    /// per symbol, rising.
    pub fn useful() -> impl Iterator<Item = (Self, f64, f64)> {
        let is_best = |row: &(Self, f64, f64)| Self::best(row.1).is_some_and(|best| best.0 == row.0);
        MODCODS.into_iter().map(|row| (row.0, row.1, row.2)).filter(is_best)
    }

    /// Returns its place in the table, which is in order of the bits per symbol.
    pub fn index(self) -> usize {
        self as usize
    }

    /// Returns its number (table 12): by modulation, then by code.
    pub fn id(self) -> u32 {
        let (bits, index) = (self.modulation_bits(), self.index());
        let precedes = |other: &&(Self, f64, f64, f64)| other.3 < bits || other.3 == bits && other.0.index() < index;
        1 + MODCODS.iter().filter(precedes).count() as u32
    }

    /// Returns the Es/N0 in dB that it needs, ideally.
    pub fn threshold_db(self) -> f64 {
        MODCODS[self.index()].1
    }

    /// Returns its bits of packets per symbol.
    pub fn efficiency(self) -> f64 {
        MODCODS[self.index()].2
    }

    /// Returns the bits per symbol of its modulation.
    pub fn modulation_bits(self) -> f64 {
        MODCODS[self.index()].3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_the_order_of_the_words() {
        assert!(MODCODS.iter().enumerate().all(|(n, row)| row.0.index() == n));
        assert!(MODCODS.windows(2).all(|pair| pair[0].2 < pair[1].2));
    }

    /// EN 302 307-1, table 12.
    #[test]
    fn numbers_are_those_of_the_standard() {
        let of = [Modcod::Qpsk1of4, Modcod::Qpsk9of10, Modcod::Psk8x3of5, Modcod::Psk8x9of10, Modcod::Apsk16x2of3];
        assert_eq!(of.map(Modcod::id), [1, 11, 12, 17, 18]);
        let of = [Modcod::Apsk16x9of10, Modcod::Apsk32x3of4, Modcod::Apsk32x9of10, Modcod::Qpsk1of2, Modcod::Psk8x5of6];
        assert_eq!(of.map(Modcod::id), [23, 24, 28, 4, 15]);
    }
}
