//! A radio link line by line: what is sent, what the way takes, what is left over noise.

use super::climate::Climate;
use super::gases::gas_path_db;
use super::geometry::free_space_loss_db;
use super::Ray;
use crate::sky::SkyError;
use libm::log10;

/// Boltzmann's constant, dBW/K/Hz.
pub const BOLTZMANN_DB: f64 = -228.599_167;

/// A transmitter and a receiver, one way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Radio {
    /// 1 to 350 GHz.
    pub frequency_ghz: f64,
    /// Effective isotropic radiated power, dBW.
    pub eirp_dbw: f64,
    /// Gain of the receiver over its noise temperature, dB/K.
    pub g_over_t_db_k: f64,
    /// Everything that is not on another line: pointing, polarisation, feeder; dB.
    pub losses_db: f64,
    /// Symbols in a second.
    pub symbols_per_s: f64,
    /// Tilt of the polarisation to the horizontal, degrees: 45 is circular.
    pub tilt_deg: f64,
}

/// What the atmosphere takes, dB.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Attenuation {
    /// Oxygen and water vapour.
    pub gases_db: f64,
    /// Rain.
    pub rain_db: f64,
}

/// A line of a link budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// What it is.
    pub what: &'static str,
    /// How much; what the way takes is negative.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
}

/// The methods for gases hold from here on; a lower path is taken for one at this elevation, degrees.
const LOWEST_DEG: f64 = 5.0;

impl Radio {
    /// What the atmosphere over a place takes: gases of its mean year, and rain as it is exceeded in `percent` % of the year
    /// (0.001 to 5; without, it is dry).
    ///
    /// # Errors
    /// A value outside its range.
    pub fn attenuation(
        &self,
        climate: &Climate,
        elevation_deg: f64,
        percent: Option<f64>,
    ) -> Result<Attenuation, SkyError> {
        let ray = self.ray(elevation_deg);
        Ok(Attenuation {
            gases_db: gas_path_db(&ray, &climate.air, None)?,
            rain_db: percent.map_or(Ok(0.0), |percent| climate.rain.attenuation_db(&ray, percent))?,
        })
    }

    /// Its ray at this elevation.
    pub fn ray(&self, elevation_deg: f64) -> Ray {
        let elevation_deg = elevation_deg.clamp(LOWEST_DEG, 90.0);
        Ray { frequency_ghz: self.frequency_ghz, elevation_deg, tilt_deg: self.tilt_deg }
    }

    /// Energy of a symbol over noise density at this distance, dB.
    ///
    /// # Errors
    /// A frequency, distance or symbol rate outside its range.
    pub fn es_n0_db(&self, range_km: f64, attenuation: Attenuation) -> Result<f64, SkyError> {
        let symbols = SkyError::within("symbols_per_s", self.symbols_per_s, 1.0, 1e12)?;
        let loss = free_space_loss_db(self.frequency_ghz, range_km)? + attenuation.gases_db + attenuation.rain_db;
        Ok(self.eirp_dbw - loss - self.losses_db + self.g_over_t_db_k - BOLTZMANN_DB - 10.0 * log10(symbols))
    }

    /// The same line by line: each adds to the one before, down to C/N0 and Es/N0.
    ///
    /// # Errors
    /// As [`Radio::es_n0_db`].
    pub fn lines(&self, range_km: f64, attenuation: Attenuation) -> Result<Vec<Line>, SkyError> {
        let es_n0 = self.es_n0_db(range_km, attenuation)?;
        let line = |what, value, unit| Line { what, value, unit };
        Ok(vec![
            line("EIRP", self.eirp_dbw, "dBW"),
            line("free space", -free_space_loss_db(self.frequency_ghz, range_km)?, "dB"),
            line("gases", -attenuation.gases_db, "dB"),
            line("rain", -attenuation.rain_db, "dB"),
            line("other losses", -self.losses_db, "dB"),
            line("G/T", self.g_over_t_db_k, "dB/K"),
            line("1/k", -BOLTZMANN_DB, "dBW/K/Hz"),
            line("C/N0", es_n0 + 10.0 * log10(self.symbols_per_s), "dBHz"),
            line("symbol rate", -10.0 * log10(self.symbols_per_s), "dBHz"),
            line("Es/N0", es_n0, "dB"),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::climate::climate;
    use crate::budget::geometry::slant_range_km;

    const RADIO: Radio = Radio {
        frequency_ghz: 20.0,
        eirp_dbw: 40.0,
        g_over_t_db_k: 10.0,
        losses_db: 1.0,
        symbols_per_s: 1e7,
        tilt_deg: 45.0,
    };

    #[test]
    fn the_lines_add_up() {
        let air = RADIO.attenuation(&climate("London").unwrap(), 30.0, Some(0.1)).unwrap();
        assert!(air.gases_db > 0.0 && air.rain_db > air.gases_db);
        let lines = RADIO.lines(1000.0, air).unwrap();
        let value = |what: &str| lines.iter().find(|line| line.what == what).unwrap().value;
        let sum: f64 = lines[..7].iter().map(|line| line.value).sum();
        assert!((sum - value("C/N0")).abs() < 1e-9);
        assert!((value("C/N0") + value("symbol rate") - value("Es/N0")).abs() < 1e-9);
        assert!((value("Es/N0") - RADIO.es_n0_db(1000.0, air).unwrap()).abs() < 1e-12);
    }

    /// `specs/link-budget.md`: over a pass at 1350 km the way takes 6.012 dB more at 20 degrees and 8.009 dB more at 10 than
    /// overhead, where nothing but free space is in it.
    #[test]
    fn a_low_satellite_is_weaker_by_the_distance() {
        let at = |elevation| {
            let range = slant_range_km(elevation, 1350.0).unwrap();
            RADIO.es_n0_db(range, Attenuation::default()).unwrap()
        };
        assert!((at(90.0) - at(20.0) - 6.012).abs() < 5e-4);
        assert!((at(90.0) - at(10.0) - 8.009).abs() < 5e-4);
    }

    #[test]
    fn what_is_out_of_range_is_refused() {
        assert!(RADIO.es_n0_db(-1.0, Attenuation::default()).is_err());
        assert!(Radio { frequency_ghz: f64::NAN, ..RADIO }.es_n0_db(1e3, Attenuation::default()).is_err());
        assert!(Radio { symbols_per_s: 0.0, ..RADIO }.lines(1e3, Attenuation::default()).is_err());
        let london = climate("London").unwrap();
        assert!(Radio { frequency_ghz: 900.0, ..RADIO }.attenuation(&london, 30.0, None).is_err());
        assert!(RADIO.attenuation(&london, 30.0, Some(50.0)).is_err());
    }
}
