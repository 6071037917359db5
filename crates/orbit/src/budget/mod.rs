//! Link budget of a radio link: free space, gases, clouds, rain, noise, modulation and coding.

pub mod climate;
pub mod clouds;
pub mod fades;
pub mod fading;
pub mod gases;
pub mod geometry;
mod lines;
pub mod maps;
pub mod modulation;
pub mod normal;
pub mod radio;
pub mod rain;
pub mod scintillation;

use crate::sky::SkyError;

/// A ray through the atmosphere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ray {
    /// Frequency, 1 to 1000 GHz. Recommendations for paths have narrower ranges.
    pub frequency_ghz: f64,
    /// Elevation above the horizon, 0 to 90.
    pub elevation_deg: f64,
    /// Tilt of the polarisation to the horizontal, 0 to 90: 0 is horizontal, 90 vertical, 45 circular.
    pub tilt_deg: f64,
}

impl Ray {
    /// Returns the ray if it is valid.
    ///
    /// # Errors
    ///
    /// A value outside its range.
    pub fn checked(self) -> Result<Self, SkyError> {
        SkyError::within("frequency_ghz", self.frequency_ghz, 1.0, 1000.0)?;
        SkyError::within("elevation_deg", self.elevation_deg, 0.0, 90.0)?;
        SkyError::within("tilt_deg", self.tilt_deg, -90.0, 90.0)?;
        Ok(self)
    }
}

/// Edition of ITU-R P.618. Both have the same rain, scintillation and sum. They differ in the gases and clouds that
/// come with rare rain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edition {
    /// Edition of December 2017.
    P618_13,
    /// Edition of August 2023.
    #[default]
    P618_14,
}

impl Edition {
    /// Returns the percentage of the year for gases and clouds that come with rain of `rain` % (§2.5): the same, but at
    /// least 1 % (P.618-13) or 5 % (P.618-14).
    pub fn beside_rain(self, rain: f64) -> f64 {
        rain.max(match self {
            Self::P618_13 => 1.0,
            Self::P618_14 => 5.0,
        })
    }
}

/// Returns the attenuation by all parts of the atmosphere, dB: gases + sqrt((rain + clouds)² + scintillation²). Each is
/// exceeded in the same percentage of an average year, gases and clouds in that of [`Edition::beside_rain`] (P.618-13
/// and -14 §2.5).
pub fn total_db(gases: f64, clouds: f64, rain: f64, scintillation: f64) -> f64 {
    gases + libm::hypot(rain + clouds, scintillation)
}
