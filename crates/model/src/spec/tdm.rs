//! The forward carrier of DVB-S2 (ETSI EN 302 307-1): keys, and the rate that a terminal could have alone.

use super::{Losses, NeededSignal, Profile};
use bentpipe_access::{Adaptation, Frames, Length, Modcod, Share, MODCODS};
use bentpipe_units::settings::{Baud, Bytes, Level};
use bentpipe_units::settings::{Fields, Settings, Typed};
use bentpipe_units::{settings, Duration, Rate};

settings! {
    /// Forward carrier of DVB-S2: frames of one modulation and code each, which terminals share.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Tdm {
        /// Symbol rate of the carrier.
        symbol_rate: Baud;
        /// Whether frames have pilots: 36 symbols after each 16 slots of 90 symbols.
        pilots: bool = true, "SNS3";
        /// Label in the header of a packet or of its first part (GSE, ETSI TS 102 606-1): 0 B, 3 B or 6 B.
        label: u32 as Bytes = 3, "SNS3";
        /// Unit of the turns of terminals.
        share: Share = Share::Bits;
        /// Longest time that packets wait for others of their modulation and code to fill a frame, while the carrier has
        /// other frames to send. With 0 s each turn opens a frame, and packets of stronger terminals fill it.
        hold: Duration = Duration::from_millis(15), "SNS3";
        /// Whether little data leaves in short frames of 16,200 coded bits. They need 0.3 dB more (ETSI EN 302 307-1), so a
        /// terminal receives them if its report has the margin and 0.3 dB. With a constant `modcod`, all frames are normal.
        short_frames: bool = true;
        /// Choice of modulation and code by the reports of the terminals.
        acm: ReportedChoice = ReportedChoice::default();
        /// Constant modulation and code instead. Default: adaptive (`acm`).
        modcod: Option<Modcod>;
        /// Losses of frames as a function of the signal.
        losses: Losses = Losses::Step;
    }
}

settings! {
    /// Choice of modulation and code by reports of the signal: down immediately, up when the signal has been strong enough
    /// for some time.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ReportedChoice {
        /// Time between two measurements of a terminal. A report leaves with the next burst or control slot, and with each
        /// request.
        every: Duration = Duration::from_millis(1100), "SNS3";
        /// Margin of the reported signal above a threshold.
        margin: Level = Level(1.0);
        /// Further margin to go up.
        hysteresis: Level = Level(0.3);
        /// Consecutive reports with that margin.
        hold: u32 = 3, [1, 1000];
    }
}

impl Tdm {
    /// Returns a carrier of this symbol rate with default keys.
    pub fn of_baud(symbol_rate: Baud) -> Self {
        let mut keys = Fields::default();
        keys.put("symbol_rate", Typed::write(&symbol_rate));
        <Self as Settings>::read(&keys).unwrap_or_else(|why| panic!("{why}"))
    }

    /// Returns its frames.
    pub fn frames(&self) -> Frames {
        Frames { symbol_rate: self.symbol_rate.0 as u64, pilots: self.pilots, label: self.label }
    }

    /// Returns the parameters of the carrier for the component of the access crate.
    pub fn parameters(&self) -> bentpipe_access::Tdm {
        let ReportedChoice { margin, hysteresis, hold, .. } = self.acm;
        bentpipe_access::Tdm {
            frames: self.frames(),
            share: self.share,
            hold: self.hold,
            short_frames: self.short_frames && self.modcod.is_none(),
            modcod: self.modcod,
            acm: Adaptation { margin_db: margin.0, hysteresis_db: hysteresis.0, hold },
        }
    }

    /// Returns the modulation and code that a signal permits, with the margin.
    pub fn modcod_for(&self, es_n0_db: f64) -> Option<Modcod> {
        self.modcod.or_else(|| Modcod::best(es_n0_db - self.acm.margin.0).map(|(modcod, ..)| modcod))
    }

    /// Returns the signal that a terminal needs to be reached. A constant modulation and code is sent with any signal.
    pub fn needed_signal(&self) -> NeededSignal {
        let least = || MODCODS.iter().map(|row| row.1).fold(f64::INFINITY, f64::min);
        match self.modcod {
            Some(_) => NeededSignal::NONE,
            None => NeededSignal { threshold_db: least(), margin_db: self.acm.margin.0 },
        }
    }

    /// Returns the rate of the carrier in frames of one modulation and code, headers included, rounded down.
    pub(crate) fn carrier_rate(&self, modcod: Modcod) -> Rate {
        let symbols = u64::from(self.frames().symbols(modcod, Length::Normal));
        Rate::from_bps(8 * u64::from(Frames::payload(modcod)) * (self.symbol_rate.0 as u64) / symbols)
    }

    /// Returns the largest rate that a terminal could have alone, with this signal at its best.
    pub fn rate_alone(&self, es_n0: &Profile<f64>) -> Rate {
        let best = es_n0.values().fold(f64::NEG_INFINITY, f64::max);
        self.modcod_for(best).map_or(Rate::from_bps(0), |modcod| self.carrier_rate(modcod))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// EN 302 307-1: 16APSK 5/6 has 53,840 - 80 bits in 16,686 symbols with pilots.
    #[test]
    fn a_carrier_has_the_rate_of_its_frames() {
        let tdm = Tdm::of_baud(Baud(45e6));
        let expected = (53_760.0 * 45e6 / 16_686.0) as u64;
        assert_eq!(tdm.rate_alone(&Profile::Constant(13.0)), Rate::from_bps(expected));
        assert_eq!(tdm.rate_alone(&Profile::Constant(-2.0)), Rate::from_bps(0));
    }
}
