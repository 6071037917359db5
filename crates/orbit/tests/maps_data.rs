//! The maps of the world against the validation tables of ITU-R's study group 3 and against the package `itur`
//! (`data/README.md`).

use bentpipe_orbit::budget::climate::Climate;
use bentpipe_orbit::budget::clouds::{CloudWater, CLOUDY};
use bentpipe_orbit::budget::maps::Maps;
use bentpipe_orbit::sky::earth::Geodetic;
use std::path::Path;

/// Rows of a table by names of columns, without its first lines.
fn rows(name: &str, heads: usize) -> Vec<Vec<(String, f64)>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let names: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let row = |line: &str| {
        let cells: Vec<f64> = line.split(',').map(|cell| cell.trim().parse().unwrap()).collect();
        names.iter().map(|name| name.trim().to_owned()).zip(cells).collect()
    };
    text.lines().skip(heads).map(row).collect()
}

fn of(row: &[(String, f64)], name: &str) -> f64 {
    row.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("{name}")).1
}

/// Compares a column of one of ITU's tables with the climate at its places, and returns the number of rows. The tables
/// have at least seven digits.
fn check(table: &str, column: &str, value: impl Fn(&Climate, &[(String, f64)]) -> Option<f64>) -> usize {
    let mut maps = Maps::default();
    let mut compared = 0;
    for row in rows(&format!("itu/{table}.csv"), 2) {
        let at = Geodetic::new(of(&row, "lat"), of(&row, "lon"), 0.0).unwrap();
        let Some(found) = value(&maps.climate(at).unwrap(), &row) else { continue };
        let expected = of(&row, column);
        assert!((found - expected).abs() <= 1e-6 * expected.abs() + 1e-6, "{table} {row:?}: {found}");
        compared += 1;
    }
    compared
}

#[test]
fn the_maps_are_those_of_the_validation_tables() {
    assert!(check("ITURP837-7_rainfall_rate_R001", "Rp", |climate, _| Some(climate.rain.rate_001_mm_h)) >= 5);
    assert!(check("ITURP839-4_rain_height", "hr", |climate, _| Some(climate.rain.rain_height_km)) >= 5);
    assert!(check("ITURP1510-1_temperature", "T", |climate, _| Some(climate.air.temperature_k)) >= 5);
    assert!(check("ITURP1511-2_topographic_altitude", "hs", |climate, _| Some(climate.rain.station_km)) >= 5);
    let median = |value: f64, row: &[(String, f64)]| (of(row, "p") == 50.0).then_some(value);
    assert!(check("ITURP453-14_Nwet", "Nwet", |climate, row| median(climate.wet_refractivity, row)) >= 5);
    let known = |row: &[(String, f64)]| (CLOUDY[0]..=CLOUDY[7]).contains(&of(row, "p"));
    let clouds = |climate: &Climate, row: &[(String, f64)]| {
        known(row).then(|| match climate.clouds.water(of(row, "p")).unwrap() {
            CloudWater::Reduced(water) | CloudWater::Integrated(water) => water,
        })
    };
    assert!(check("ITURP840-8_columnar_content_reduced_liquid", "Lred", clouds) >= 5);
}

/// At 200 points all over the world. The package takes the grid of the ground as 0.08333333 degrees wide, which moves
/// its points by as much as 1e-4 of a cell: up to 0.2 m of height.
#[test]
fn the_maps_are_those_of_the_package() {
    let mut maps = Maps::default();
    for row in rows("itu_points.csv", 1) {
        let value = |name: &str| of(&row, name);
        let at = Geodetic::new(value("latitude_deg"), value("longitude_deg"), 0.0).unwrap();
        let found = maps.climate(at).unwrap();
        assert!((found.rain.station_km - value("altitude_km")).abs() < 2e-4, "{row:?}: {}", found.rain.station_km);
        let mut pairs = vec![
            (found.rain.rain_height_km, value("rain_height_km"), 1e-6),
            (found.rain.rate_001_mm_h, value("rain_001_mm_h"), 1e-6),
            (found.air.temperature_k, value("temperature_k"), 1e-6),
            (found.wet_refractivity, value("wet_n"), 1e-6),
            // 0.2 m is at most 2e-4 of a height in which vapour falls to 1/e.
            (found.air.vapour_g_m3, value("vapour_g_m3"), 2e-4),
        ];
        for (which, percent) in CLOUDY.iter().enumerate() {
            pairs.push((found.vapour.kg_m2[which], value(&format!("vapour_{percent}_kg_m2")), 2e-4));
            pairs.push((found.clouds.kg_m2[which], value(&format!("cloud_{percent}_kg_m2")), 1e-6));
        }
        for (found, expected, share) in pairs {
            assert!((found - expected).abs() <= share * expected.abs() + 1e-6, "{row:?}: {found} is not {expected}");
        }
    }
}
