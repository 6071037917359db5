//! ITU-R's maps of the world, at their own grids: the climate of any place.
//!
//! The file of the maps has 9.4 MB. It is not in a build for web pages, where only cities have a climate.

use super::climate::{climate, pressure_hpa, Climate};
use super::clouds::{CloudClimate, CLOUDY};
use super::gases::{Air, VapourClimate};
use super::rain::{rain_height_km, RainClimate};
use crate::sky::earth::Geodetic;
use crate::sky::SkyError;
use libm::{exp, fabs, floor};
use std::collections::BTreeMap;

/// Maps in the form that `tools/climates.py` writes.
#[cfg(not(target_arch = "wasm32"))]
const MAPS: &[u8] = include_bytes!("maps.bin");
#[cfg(target_arch = "wasm32")]
const MAPS: &[u8] = &[];
/// Rows and columns of a tile.
const TILE: usize = 64;
/// Number of maps.
const NUMBER: usize = 7 + 3 * CLOUDY.len();
/// Fall of the temperature above the ground, K/km, and the least temperature (P.835-6, up to 20 km).
const LAPSE_K_KM: f64 = 6.5;
const COLDEST_K: f64 = 216.65;

/// Map, in the order of the file. Those with a number are for this one of [`CLOUDY`].
#[derive(Clone, Copy)]
enum Map {
    /// P.837-7: rain rate exceeded in 0.01 % of the year, mm/h.
    Rain,
    /// P.839-4: mean height of 0 °C, km.
    Isotherm,
    /// P.1510-1: mean temperature of the year at the ground, K.
    Temperature,
    /// P.453-14: median of the wet term of the refractivity at the ground, N units.
    Refractivity,
    /// P.1511-2: height of the ground above sea level, km.
    Ground,
    /// Height of the ground to which the maps of P.836-6 refer, at their points, km.
    VapourGround,
    /// P.836-6: median of the vapour at the ground, g/m³.
    Density,
    /// P.836-6: vapour in the column over the ground, kg/m².
    Vapour(usize),
    /// P.836-6: height in which the vapour falls to 1/e, km.
    ScaleHeight(usize),
    /// P.840-8: water in clouds, reduced to 0 °C, kg/m².
    Cloud(usize),
}

/// Points of a map, from north to south and from west to east.
struct Grid {
    rows: usize,
    columns: usize,
    north_deg: f64,
    west_deg: f64,
    per_degree: f64,
}

impl Map {
    fn number(self) -> usize {
        match self {
            Self::Rain => 0,
            Self::Isotherm => 1,
            Self::Temperature => 2,
            Self::Refractivity => 3,
            Self::Ground => 4,
            Self::VapourGround => 5,
            Self::Density => 6,
            Self::Vapour(which) => 7 + which,
            Self::ScaleHeight(which) => 7 + CLOUDY.len() + which,
            Self::Cloud(which) => 7 + 2 * CLOUDY.len() + which,
        }
    }

    /// Returns the value of one unit of the file.
    fn unit(self) -> f64 {
        match self {
            Self::Rain | Self::Isotherm | Self::Temperature | Self::Refractivity | Self::Ground => 1e-3,
            Self::Vapour(_) => 2e-7,
            Self::VapourGround | Self::Density | Self::ScaleHeight(_) | Self::Cloud(_) => 1e-6,
        }
    }

    fn grid(self) -> Grid {
        let grid = |rows, columns, west_deg, per_degree| Grid { rows, columns, north_deg: 90.0, west_deg, per_degree };
        match self {
            Self::Rain => grid(1441, 2881, -180.0, 8.0),
            Self::Isotherm => grid(121, 241, 0.0, 1.0 / 1.5),
            Self::Temperature | Self::Refractivity => grid(241, 481, -180.0, 1.0 / 0.75),
            // Twelve points a degree, and two more at each edge for the interpolation.
            Self::Ground => Grid { north_deg: 90.125, ..grid(2164, 4324, -180.125, 12.0) },
            _ => grid(161, 321, 0.0, 1.0 / 1.125),
        }
    }
}

/// Rows or columns from the first point to a coordinate: the last whole number that has `beyond` more behind it, and
/// the rest.
fn cell(steps: f64, points: usize, beyond: usize) -> (usize, f64) {
    let last = points - 1 - beyond;
    let whole = (floor(steps).max(0.0) as usize).min(last);
    (whole, steps - whole as f64)
}

/// The maps, with the tiles that have been read so far.
#[derive(Default)]
pub struct Maps {
    /// Start of each tile in the file, by map.
    tiles: Vec<Vec<(usize, usize)>>,
    read: BTreeMap<(usize, usize), Vec<i32>>,
}

impl Maps {
    /// Returns the climate of a place. `at.height_km` counts as height above sea level. A place below the ground counts
    /// as one on the ground.
    ///
    /// Above the ground, the temperature falls by 6.5 K/km. Above the rain there are neither clouds nor wet air.
    ///
    /// # Errors
    /// A build without maps (for a web page).
    pub fn climate(&mut self, at: Geodetic) -> Result<Climate, SkyError> {
        let ground_km = self.bicubic(Map::Ground, at)?.max(0.0);
        let station_km = at.height_km.max(ground_km);
        let rain_height_km = rain_height_km(self.bilinear(Map::Isotherm, at)?);
        let is_above = station_km > ground_km.max(rain_height_km);
        let mut vapour = [0.0; CLOUDY.len()];
        let mut clouds = [0.0; CLOUDY.len()];
        for (which, (vapour, cloud)) in vapour.iter_mut().zip(&mut clouds).enumerate() {
            *vapour = self.falling(Map::Vapour(which), Map::ScaleHeight(which), at, station_km)?;
            *cloud = if is_above { 0.0 } else { self.bilinear(Map::Cloud(which), at)? };
        }
        let surface_k = self.bilinear(Map::Temperature, at)?;
        let temperature_k = (surface_k - LAPSE_K_KM * (station_km - ground_km)).max(COLDEST_K.min(surface_k));
        // Median, as P.618 asks for.
        let median = CLOUDY.len() - 1;
        let vapour_g_m3 = self.falling(Map::Density, Map::ScaleHeight(median), at, station_km)?;
        // Methods for stations end at 9 km. No rain is higher.
        let station = station_km.min(9.0);
        Ok(Climate {
            air: Air { pressure_hpa: pressure_hpa(station_km), temperature_k, vapour_g_m3 },
            vapour: VapourClimate { kg_m2: vapour, height_km: station },
            rain: RainClimate {
                latitude_deg: at.latitude_deg,
                station_km: station,
                rain_height_km,
                rate_001_mm_h: self.bilinear(Map::Rain, at)?,
            },
            clouds: CloudClimate { kg_m2: clouds },
            wet_refractivity: if is_above { 0.0 } else { self.bilinear(Map::Refractivity, at)? },
        })
    }

    /// Returns the weighted mean of the four points around a place (P.1144-10, annex 1 §1).
    fn bilinear(&mut self, map: Map, at: Geodetic) -> Result<f64, SkyError> {
        let mut sum = 0.0;
        for (row, column, weight) in around(&map.grid(), at) {
            sum += weight * self.value(map, row, column)?;
        }
        Ok(sum)
    }

    /// Returns the weighted mean of the four points around a place, each brought from its ground to `height_km`
    /// (P.836-6, annexes 1 and 2).
    fn falling(&mut self, map: Map, scale: Map, at: Geodetic, height_km: f64) -> Result<f64, SkyError> {
        let mut sum = 0.0;
        for (row, column, weight) in around(&map.grid(), at) {
            let above = height_km - self.value(Map::VapourGround, row, column)?;
            sum += weight * self.value(map, row, column)? * exp(-above / self.value(scale, row, column)?);
        }
        Ok(sum)
    }

    /// Returns the bicubic interpolation between 16 points around a place (P.1144-10, annex 1 §2).
    fn bicubic(&mut self, map: Map, at: Geodetic) -> Result<f64, SkyError> {
        let grid = map.grid();
        let (row, south) = cell((grid.north_deg - at.latitude_deg) * grid.per_degree, grid.rows, 2);
        let (column, east) = cell((at.longitude_deg - grid.west_deg) * grid.per_degree, grid.columns, 2);
        let mut sum = 0.0;
        for down in 0..4 {
            for right in 0..4 {
                let weight = cubic(south + 1.0 - down as f64) * cubic(east + 1.0 - right as f64);
                sum += weight * self.value(map, row + down - 1, column + right - 1)?;
            }
        }
        Ok(sum)
    }

    fn value(&mut self, map: Map, row: usize, column: usize) -> Result<f64, SkyError> {
        let grid = map.grid();
        let tiles_across = grid.columns.div_ceil(TILE);
        let number = row / TILE * tiles_across + column / TILE;
        let width = (grid.columns - column / TILE * TILE).min(TILE);
        let height = (grid.rows - row / TILE * TILE).min(TILE);
        let key = (map.number(), number);
        if !self.read.contains_key(&key) {
            let values = self.unpacked(key, height, width).ok_or_else(missing)?;
            self.read.insert(key, values);
        }
        Ok(f64::from(self.read[&key][row % TILE * width + column % TILE]) * map.unit())
    }
}

/// Returns the climate of a place: that of the city if its name is one, otherwise that of the maps where it is.
///
/// # Errors
/// As [`Maps::climate`].
pub fn climate_at(name: &str, at: Geodetic, maps: &mut Maps) -> Result<Climate, SkyError> {
    climate(name).or_else(|_| maps.climate(at))
}

/// Rows, columns and weights of the four points around a place.
fn around(grid: &Grid, at: Geodetic) -> [(usize, usize, f64); 4] {
    let west = (at.longitude_deg - grid.west_deg).rem_euclid(360.0);
    let (row, south) = cell((grid.north_deg - at.latitude_deg) * grid.per_degree, grid.rows, 1);
    let (column, east) = cell(west * grid.per_degree, grid.columns, 1);
    [
        (row, column, (1.0 - south) * (1.0 - east)),
        (row, column + 1, (1.0 - south) * east),
        (row + 1, column, south * (1.0 - east)),
        (row + 1, column + 1, south * east),
    ]
}

/// Weight of a point at a distance in points (P.1144-10, annex 1 §2, equation of K with a = -0.5).
fn cubic(distance: f64) -> f64 {
    let d = fabs(distance);
    if d <= 1.0 {
        (1.5 * d - 2.5) * d * d + 1.0
    } else if d <= 2.0 {
        ((-0.5 * d + 2.5) * d - 4.0) * d + 2.0
    } else {
        0.0
    }
}

fn missing() -> SkyError {
    let what = "the maps of the world are not in this build; expected a city, such as climate = \"Lagos\"";
    SkyError::new("climate", what)
}

impl Maps {
    /// Returns the values of a tile by rows, or `None` if the file is damaged or missing.
    fn unpacked(&mut self, (map, tile): (usize, usize), rows: usize, columns: usize) -> Option<Vec<i32>> {
        // Without this line, a build without maps would have the code that unpacks them.
        if MAPS.is_empty() {
            return None;
        }
        if self.tiles.is_empty() {
            self.tiles = every_tile()?;
        }
        let (start, length) = *self.tiles.get(map)?.get(tile)?;
        let number = rows * columns;
        let packed = MAPS.get(start..start + length)?;
        let planes = miniz_oxide::inflate::decompress_to_vec_with_limit(packed, 4 * number).ok()?;
        let byte = |plane: usize, at: usize| planes.get(plane * number + at).copied();
        let mut values: Vec<i32> = Vec::with_capacity(number);
        for at in 0..number {
            let off = u32::from_le_bytes([byte(0, at)?, byte(1, at)?, byte(2, at)?, byte(3, at)?]);
            // The sign is in the lowest bit.
            let off = (off >> 1) as i32 ^ -((off & 1) as i32);
            let guess = match (at / columns, at % columns) {
                (0, 0) => 0,
                (0, _) => values[at - 1],
                (_, 0) => values[at - columns],
                _ => {
                    let (west, north, corner) = (values[at - 1], values[at - columns], values[at - columns - 1]);
                    west.wrapping_add(north).wrapping_sub(corner).clamp(west.min(north), west.max(north))
                }
            };
            values.push(guess.wrapping_add(off));
        }
        Some(values)
    }
}

/// Returns start and length of each tile, by map.
fn every_tile() -> Option<Vec<Vec<(usize, usize)>>> {
    let word = |at: usize| Some(u32::from_le_bytes(MAPS.get(at..at + 4)?.try_into().ok()?) as usize);
    let waters = |of: fn(usize) -> Map| (0..CLOUDY.len()).map(of);
    let maps = [Map::Rain, Map::Isotherm, Map::Temperature, Map::Refractivity, Map::Ground];
    let maps = maps.into_iter().chain([Map::VapourGround, Map::Density]);
    let maps = maps.chain(waters(Map::Vapour)).chain(waters(Map::ScaleHeight)).chain(waters(Map::Cloud));
    let mut found = Vec::with_capacity(NUMBER);
    let mut at = 0;
    for map in maps {
        let grid = map.grid();
        let tiles = grid.rows.div_ceil(TILE) * grid.columns.div_ceil(TILE);
        let mut start = at + 4 * tiles;
        let mut of_map = Vec::with_capacity(tiles);
        for tile in 0..tiles {
            let length = word(at + 4 * tile)?;
            of_map.push((start, length));
            start += length;
        }
        at = start;
        found.push(of_map);
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sky::places::cities;

    fn at(latitude_deg: f64, longitude_deg: f64, height_km: f64) -> Geodetic {
        Geodetic::new(latitude_deg, longitude_deg, height_km).unwrap()
    }

    /// All tiles fill their maps, and the file ends with the last.
    #[test]
    fn the_file_is_whole() {
        let tiles = every_tile().unwrap();
        assert_eq!(tiles.len(), NUMBER);
        let (start, length) = *tiles[NUMBER - 1].last().unwrap();
        assert_eq!(start + length, MAPS.len());
    }

    /// The table of the cities is that of the maps, to its last digit and to the 0.2 m of height of its package, which
    /// takes the points of the ground as 0.08333333 degrees apart. Its vapour at the ground is that of the ground of
    /// the grid.
    #[test]
    fn cities_have_the_climate_of_the_maps() {
        let mut maps = Maps::default();
        for (name, place) in cities() {
            let (known, found) = (climate(name).unwrap(), maps.climate(place).unwrap());
            let near = |what: &str, a: f64, b: f64, digit: f64| {
                assert!((a - b).abs() <= 0.5 * digit + 1e-4 * b.abs() + 1e-6, "{name}: {what} {a} is not {b}");
            };
            near("height", found.rain.station_km, known.rain.station_km, 1.4e-3);
            near("rain height", found.rain.rain_height_km, known.rain.rain_height_km, 1e-3);
            near("rain", found.rain.rate_001_mm_h, known.rain.rate_001_mm_h, 1e-2);
            near("temperature", found.air.temperature_k, known.air.temperature_k, 1e-2);
            near("refractivity", found.wet_refractivity, known.wet_refractivity, 1e-2);
            for which in 0..CLOUDY.len() {
                near("vapour", found.vapour.kg_m2[which], known.vapour.kg_m2[which], 1e-2);
                near("clouds", found.clouds.kg_m2[which], known.clouds.kg_m2[which], 1e-4);
            }
        }
    }

    /// Poles, the date line and Greenwich, and the same meridian by two names.
    #[test]
    fn the_edges_of_the_maps_are_places_as_others() {
        let mut maps = Maps::default();
        for latitude in [-90.0, -89.99, 0.0, 89.0, 89.99, 90.0] {
            let (west, east) = (maps.climate(at(latitude, -180.0, 0.0)), maps.climate(at(latitude, 180.0, 0.0)));
            assert_eq!(west.unwrap(), east.unwrap());
            for longitude in [-179.9999, -0.0001, 0.0, 0.0001, 179.9999] {
                let found = maps.climate(at(latitude, longitude, 0.0)).unwrap();
                assert!(found.vapour.kg_m2.iter().chain(&found.clouds.kg_m2).all(|water| water.is_finite()));
            }
        }
        let near = |a: f64, b: f64| (a - b).abs() < 1e-3 * b;
        let (a, b) = (maps.climate(at(6.0, -1e-7, 0.0)).unwrap(), maps.climate(at(6.0, 1e-7, 0.0)).unwrap());
        assert!(near(a.vapour.kg_m2[0], b.vapour.kg_m2[0]) && near(a.rain.rate_001_mm_h, b.rain.rate_001_mm_h));
    }

    /// An aircraft is above rain and clouds, in cold and dry air.
    #[test]
    fn aircraft_fly_above_the_weather() {
        let mut maps = Maps::default();
        let (sea, high) = (maps.climate(at(0.0, -30.0, 0.0)).unwrap(), maps.climate(at(0.0, -30.0, 11.0)).unwrap());
        assert_eq!(high.clouds.kg_m2, [0.0; 8]);
        assert_eq!(high.rain.path_km(30.0).unwrap(), 0.0);
        assert!(high.vapour.kg_m2[0] < 0.1 * sea.vapour.kg_m2[0] && sea.clouds.kg_m2[0] > 0.0);
        // P.835-6: 226.32 hPa at 11 km, and 71.5 K colder than at sea level.
        assert!((high.air.pressure_hpa - 226.32).abs() < 0.1, "{}", high.air.pressure_hpa);
        assert!((sea.air.temperature_k - high.air.temperature_k - 71.5).abs() < 1e-9);
        assert!(maps.climate(at(0.0, -30.0, 100.0)).unwrap().air.pressure_hpa > 0.0);
    }
}
