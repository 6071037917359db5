//! Air and rain at the bundled cities.

use super::clouds::CloudClimate;
use super::gases::{Air, VapourClimate};
use super::rain::RainClimate;
use crate::sky::places::city;
use crate::sky::SkyError;

/// Values of ITU-R's maps P.837-7, P.839-4, P.1511, P.1510-1, P.836-6, P.453-14 and P.840-8, by `tools/climates.py`.
const CLIMATES: &str = include_str!("climates.csv");

/// Climate of a radio link through the air over a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Climate {
    /// Air at the ground: mean temperature of the year, median of the vapour.
    pub air: Air,
    /// Water vapour over the place.
    pub vapour: VapourClimate,
    /// Statistics of the rain.
    pub rain: RainClimate,
    /// Water in the clouds.
    pub clouds: CloudClimate,
    /// Wet term of the refractivity at the ground, median of the year, N units.
    pub wet_refractivity: f64,
}

/// Returns the climate of a city.
///
/// # Errors
/// An unknown name, with similar names.
pub fn climate(name: &str) -> Result<Climate, SkyError> {
    let at = city(name)?;
    let plain = |name: &str| name.to_lowercase();
    let row =
        CLIMATES.lines().skip(1).find(|line| line.split(',').next().is_some_and(|city| plain(city) == plain(name)));
    let numbers: Vec<f64> = row.into_iter().flat_map(|row| row.split(',').skip(1)).flat_map(str::parse).collect();
    let [station_km, rain_height_km, rate_001_mm_h, temperature_k, vapour_g_m3, wet_refractivity, ref water @ ..] =
        numbers[..]
    else {
        return Err(SkyError::new(
            format!("city {name:?}"),
            "its climate is not known; expected a city of bentpipe list places",
        ));
    };
    let (vapour, water) = water.split_at(water.len().min(8));
    let (Ok(vapour), Ok(kg_m2)) = (vapour.try_into(), water.try_into()) else {
        return Err(SkyError::new(
            format!("city {name:?}"),
            "its climate is not known; expected a city of bentpipe list places",
        ));
    };
    Ok(Climate {
        air: Air { pressure_hpa: pressure_hpa(station_km), temperature_k, vapour_g_m3 },
        vapour: VapourClimate { kg_m2: vapour, height_km: station_km },
        rain: RainClimate { latitude_deg: at.latitude_deg, station_km, rain_height_km, rate_001_mm_h },
        clouds: CloudClimate { kg_m2 },
        wet_refractivity,
    })
}

/// Returns the pressure at a height above sea level: the barometric formula of the standard atmosphere (P.835). The
/// maps have no pressure. Above 11 km the temperature is constant.
pub(super) fn pressure_hpa(height_km: f64) -> f64 {
    let warm = |height_km: f64| 1013.25 * libm::pow(1.0 - 0.0065 * height_km * 1e3 / 288.15, 5.2559);
    // R T / g of air at 216.65 K.
    const FALLS_KM: f64 = 6.3416;
    if height_km <= 11.0 {
        warm(height_km)
    } else {
        warm(11.0) * libm::exp((11.0 - height_km) / FALLS_KM)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sky::places::cities;

    #[test]
    fn every_city_has_a_climate() {
        for (name, at) in cities() {
            let found = climate(name).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(found.rain.latitude_deg, at.latitude_deg);
            assert!((0.0..200.0).contains(&found.rain.rate_001_mm_h), "{name}");
            assert!((230.0..310.0).contains(&found.air.temperature_k), "{name}");
            assert!((500.0..1014.0).contains(&found.air.pressure_hpa), "{name}");
            assert!((1.0..150.0).contains(&found.wet_refractivity), "{name}");
            let vapour = found.vapour.kg_m2;
            let falls = vapour.windows(2).all(|pair| pair[0] >= pair[1]);
            assert!(falls && (1.0..90.0).contains(&vapour[7]) && vapour[0] < 100.0, "{name}: {vapour:?}");
            let water = found.clouds.kg_m2;
            assert!(water.windows(2).all(|pair| pair[0] >= pair[1]) && (0.0..6.0).contains(&water[0]), "{name}");
        }
        assert!(climate("Atlantis").is_err());
    }
}
