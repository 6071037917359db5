//! The radio link against the validation tables of ITU-R's study group 3 (`data/README.md`).

#![allow(clippy::print_stdout)]

use bentpipe_orbit::budget::climate::climate as climate_of;
use bentpipe_orbit::budget::clouds::{cloud_db, water_between, CloudWater};
use bentpipe_orbit::budget::fades::Fades;
use bentpipe_orbit::budget::gases::{gas_path_db, gas_specific_db_km, vapour_zenith_db, Air};
use bentpipe_orbit::budget::rain::{rain_coefficients, rain_height_km, rain_specific_db_km, RainClimate};
use bentpipe_orbit::budget::scintillation::{scintillation_db, Aperture};
use bentpipe_orbit::budget::{total_db, Edition, Ray};
use std::path::Path;

/// Allowed relative error.
const WITHIN: f64 = 1e-6;

/// Table by names of columns.
struct Table {
    names: Vec<String>,
    rows: Vec<Vec<f64>>,
    /// Half of the last printed digit of each value.
    rounding: Vec<Vec<f64>>,
}

/// Returns half of the last digit of a number's text: 5e-8 of `5.09E-05`.
fn rounding(text: &str) -> f64 {
    let (digits, exponent) = text.split_once(['E', 'e']).unwrap_or((text, "0"));
    let places = digits.split_once('.').map_or(0, |(_, places)| places.len() as i32);
    0.5 * 10f64.powi(exponent.parse::<i32>().unwrap() - places)
}

impl Table {
    fn read(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/itu").join(name);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let cells = |line: &str| line.split(',').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
        let names = cells(text.lines().next().unwrap());
        // The second line has the units.
        let each = |of: &dyn Fn(&String) -> f64| -> Vec<Vec<f64>> {
            text.lines().skip(2).map(|line| cells(line).iter().map(of).collect()).collect()
        };
        let (rows, rounding) = (each(&|cell| cell.parse().unwrap()), each(&|cell| rounding(cell)));
        assert!(!rows.is_empty() && rows.iter().all(|row| row.len() == names.len()), "{name}");
        Self { names, rows, rounding }
    }

    /// Compares a column with the values computed from the others, in every row: allowed are the relative error and the
    /// rounding of the printed digits.
    fn check(&self, column: &str, of: impl Fn(&dyn Fn(&str) -> f64) -> f64) {
        let index = |name: &str| self.names.iter().position(|known| known == name).unwrap_or_else(|| panic!("{name}"));
        let (mut worst, mut rounded): (f64, u32) = (0.0, 0);
        for (n, row) in self.rows.iter().enumerate() {
            let (value, expected) = (of(&|name| row[index(name)]), row[index(column)]);
            let off = (value - expected).abs();
            if off <= WITHIN * expected.abs() {
                worst = worst.max(off / expected.abs().max(f64::MIN_POSITIVE));
            } else {
                assert!(off <= self.rounding[n][index(column)], "row {n} {row:?}: {column} is {value}");
                rounded += 1;
            }
        }
        let rows = self.rows.len();
        println!("{column}: {rows} rows, largest relative error {worst:.1e}; {rounded} agree in all printed digits");
    }
}

fn ray(row: &dyn Fn(&str) -> f64) -> Ray {
    Ray { frequency_ghz: row("f"), elevation_deg: row("el"), tilt_deg: row("tau") }
}

/// P.838-3: k, alpha and dB/km of all rows.
#[test]
fn rain_per_km_is_the_tables() {
    let table = Table::read("ITURP838-3_rain_specific_attenuation.csv");
    table.check("k", |row| rain_coefficients(&ray(row)).unwrap().0);
    table.check("alpha", |row| rain_coefficients(&ray(row)).unwrap().1);
    table.check("gamma_r", |row| rain_specific_db_km(&ray(row), row("R")).unwrap());
}

/// P.839-4, from the isotherm's height.
#[test]
fn the_height_of_rain_is_the_tables() {
    let table = Table::read("ITURP839-4_rain_height.csv");
    table.check("hr", |row| rain_height_km(row("h0")));
}

/// Stations of the table of P.618, with the height of rain from the table of P.839. One place is missing there, whose
/// height follows from the length of its path.
fn climate(heights: &Table, row: &dyn Fn(&str) -> f64) -> RainClimate {
    let there = heights.rows.iter().find(|at| at[..2] == [row("lat"), row("lon")]);
    RainClimate {
        latitude_deg: row("lat"),
        station_km: row("hs"),
        rain_height_km: there.map_or(row("hs") + row("Ls") * row("el").to_radians().sin(), |at| at[3]),
        rate_001_mm_h: row("R001"),
    }
}

/// P.618-13 and -14 §2.2.1 and §2.4: all rows. Scintillation at 29 GHz is that of 20 GHz.
#[test]
fn rain_on_a_path_is_the_tables() {
    let heights = Table::read("ITURP839-4_rain_height.csv");
    let climate = |row: &dyn Fn(&str) -> f64| climate(&heights, row);
    for edition in ["13", "14"] {
        let table = Table::read(&format!("ITURP618-{edition}_A_rain.csv"));
        table.check("A_rain", |row| climate(row).attenuation_db(&ray(row), row("p")).unwrap());
        table.check("Ls", |row| climate(row).path_km(row("el")).unwrap());
        table.check("A_scin", |row| scintillation(row, row("N_wet")));
        assert!(table.rows.iter().any(|row| row[3] > 20.0));
    }
}

/// Fade of a row for an antenna of its diameter.
fn scintillation(row: &dyn Fn(&str) -> f64, wet_refractivity: f64) -> f64 {
    let aperture = Aperture { diameter_m: row("D"), efficiency: row("eta") };
    let ray = Ray { frequency_ghz: row("f"), elevation_deg: row("el"), tilt_deg: 0.0 };
    scintillation_db(&ray, &aperture, wet_refractivity, row("p")).unwrap()
}

/// P.676, annex 1: every frequency of both editions.
#[test]
fn gases_per_km_are_the_tables() {
    for name in ["ITURP676-12_gamma.csv", "ITURP676-13_gamma.csv"] {
        let table = Table::read(name);
        let of = |row: &dyn Fn(&str) -> f64| {
            let air = Air { pressure_hpa: row("P"), temperature_k: row("T"), vapour_g_m3: row("rho") };
            gas_specific_db_km(row("f"), &air).unwrap()
        };
        table.check("gamma0", |row| of(row).0);
        table.check("gammaw", |row| of(row).1);
        table.check("gamma", |row| of(row).0 + of(row).1);
    }
}

/// P.676-12, annex 2: the zenith's water vapour and whole paths.
#[test]
fn gases_on_a_path_are_the_tables() {
    let zenith = Table::read("ITURP676-12_zenith_attenuation.csv");
    zenith.check("Aw", |row| vapour_zenith_db(row("f"), row("V_t"), row("h")).unwrap());
    let table = Table::read("ITURP676-12_A_gas.csv");
    table.check("A_gas", |row| {
        let ray = Ray { frequency_ghz: row("f"), elevation_deg: row("el"), tilt_deg: 0.0 };
        let air = Air { pressure_hpa: row("P"), temperature_k: row("T"), vapour_g_m3: row("rho") };
        gas_path_db(&ray, &air, Some((row("V_t"), row("h")))).unwrap()
    });
}

/// P.840-8 and -9: rows whose water another table has.
#[test]
fn clouds_are_the_tables() {
    for (edition, reduced, rows) in [(8, true, 64), (9, false, 17)] {
        let mut table = Table::read(&format!("ITURP840-{edition}_cloud_attenuation.csv"));
        let contents = Table::read(&format!("ITURP840-{edition}_columnar_content_reduced_liquid.csv"));
        let content = |row: &[f64]| contents.rows.iter().find(|at| at[..3] == [row[0], row[1], row[4]]).map(|at| at[3]);
        let known: Vec<bool> = table.rows.iter().map(|row| content(row).is_some()).collect();
        let mut keep = known.iter();
        table.rows.retain(|_| *keep.next().unwrap());
        let mut keep = known.iter();
        table.rounding.retain(|_| *keep.next().unwrap());
        assert_eq!(table.rows.len(), rows, "{edition}");
        table.check("Ac", |row| {
            let ray = Ray { frequency_ghz: row("f"), elevation_deg: row("el"), tilt_deg: 0.0 };
            let water = content(&[row("lat"), row("lon"), 0.0, 0.0, row("p")]).unwrap();
            cloud_db(&ray, if reduced { CloudWater::Reduced(water) } else { CloudWater::Integrated(water) }).unwrap()
        });
    }
}

/// P.840-8: rows between two percentages of the maps, from the rows at these percentages.
#[test]
fn water_between_two_percentages_is_the_tables() {
    let table = Table::read("ITURP840-8_columnar_content_reduced_liquid.csv");
    let maps = [0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0];
    let mut checked = 0;
    for row in table.rows.iter().filter(|row| !maps.contains(&row[2])) {
        let of = |percent: f64| table.rows.iter().find(|at| at[..3] == [row[0], row[1], percent]).map(|at| at[3]);
        let above = maps.iter().position(|map| *map > row[2]).unwrap();
        let (low, high) = (maps[above - 1], maps[above]);
        let (Some(rare), Some(usual)) = (of(low), of(high)) else { continue };
        let water = water_between(row[2], (low, rare), (high, usual));
        assert!((water / row[3] - 1.0).abs() < WITHIN, "{row:?}: {water}");
        checked += 1;
    }
    assert!(checked > 0);
}

/// P.618-13 §2.4: all rows.
#[test]
fn scintillation_is_the_tables() {
    let table = Table::read("ITURP618-13_A_sci.csv");
    table.check("A_scin", |row| scintillation(row, row("N_wet")));
}

/// P.618-13 §2.5: all rows, from their parts.
#[test]
fn the_total_is_the_tables() {
    let table = Table::read("ITURP618-13_A_total.csv");
    table.check("A_total", |row| total_db(row("A_gas_1"), row("A_clouds_1"), row("A_rain"), row("A_scin")));
}

/// Places of P.618-14's table of totals that are cities.
const CITIES: [(f64, &str); 6] = [
    (51.5, "London"),
    (41.9, "Rome"),
    (25.78, "Miami"),
    (28.717, "New Delhi"),
    (3.133, "Kuala Lumpur"),
    (9.05, "Addis Ababa"),
];

/// A row of P.618-14's totals in parts: percentage, total, rain, scintillation, and the gases and clouds of our
/// climates.
struct Parts {
    place: (u64, u64),
    percent: f64,
    total: f64,
    rain: f64,
    scintillation: f64,
    gases: Vec<f64>,
    clouds: Vec<f64>,
}

/// All rows of the table at our cities; rain and scintillation are those of the table of rain.
fn parts_of_totals() -> Vec<Parts> {
    let (totals, rains) = (Table::read("ITURP618-14_A_total.csv"), Table::read("ITURP618-14_A_rain.csv"));
    let heights = Table::read("ITURP839-4_rain_height.csv");
    let value = |table: &Table, row: &[f64], name: &str| row[table.names.iter().position(|n| n == name).unwrap()];
    let parts = totals.rows.iter().filter_map(|row| {
        let of = |name: &str| value(&totals, row, name);
        let city = CITIES.iter().find(|city| city.0 == of("lat"))?.1;
        let known = rains.rows.iter().find(|rain| rain[0] == of("lat")).expect("a row of rain");
        let wet = value(&rains, known, "N_wet");
        let rain = climate(&heights, &|name: &str| value(&rains, known, name));
        let ray = ray(&of);
        let own = climate_of(city).unwrap();
        let gases = |percent| gas_path_db(&ray, &own.air, Some(own.vapour.at(percent).unwrap())).unwrap();
        let clouds = |percent| cloud_db(&ray, own.clouds.water(percent).unwrap()).unwrap();
        Some(Parts {
            place: (of("lat").to_bits(), of("f").to_bits()),
            percent: of("p"),
            total: of("A_total"),
            rain: rain.attenuation_db(&ray, of("p")).unwrap(),
            scintillation: scintillation(&of, wet),
            gases: [1.0, 5.0].map(gases).to_vec(),
            clouds: [1.0, 5.0].map(clouds).to_vec(),
        })
    });
    parts.collect()
}

/// P.618-14 §2.5: the table has totals without their parts. With the gases of 5 % of the year, one value of clouds at
/// each place and frequency explains the totals at all percentages. With those of 1 % (P.618-13), rain and gases alone
/// exceed the totals.
#[test]
fn gases_beside_rare_rain_are_those_of_5_percent_in_the_newer_edition() {
    let parts = parts_of_totals();
    assert_eq!(parts.len(), 36);
    let clouds = |row: &Parts| {
        let together = (row.total - row.gases[1]).powi(2) - row.scintillation.powi(2);
        together.sqrt() - row.rain
    };
    let mut exceeding = 0;
    for row in &parts {
        let same = parts.iter().filter(|other| other.place == row.place);
        let (least, most) = same.map(clouds).fold((f64::MAX, f64::MIN), |(a, b), x| (a.min(x), b.max(x)));
        assert!(least > -0.002 && most - least < 0.006, "{} %: {least} to {most} dB", row.percent);
        exceeding += usize::from(total_db(row.gases[0], 0.0, row.rain, row.scintillation) > row.total + 0.01);
    }
    assert!(exceeding >= 6, "{exceeding}");
}

/// Our climates have the clouds of P.840-8. The table has those of P.840-9, with less water, so our totals are above it
/// if rain takes little.
#[test]
fn totals_of_the_newer_edition_are_near_its_table() {
    let parts = parts_of_totals();
    let off = |number: usize| {
        let mut off: Vec<f64> = parts
            .iter()
            .map(|row| total_db(row.gases[number], row.clouds[number], row.rain, row.scintillation) / row.total - 1.0)
            .collect();
        off.sort_by(f64::total_cmp);
        (off[0], off[off.len() / 2], off[off.len() - 1])
    };
    let (old, new) = (off(0), off(1));
    println!("relative error of totals, least, median, largest: P.618-13 {old:.3?}, P.618-14 {new:.3?}");
    assert!(new.0 > -0.001 && new.1 < 0.04 && new.2 < 0.3, "{new:?}");
    assert!(old.1 > new.1 + 0.02 && old.2 > new.2 + 0.1, "{old:?}");
    assert_eq!([Edition::P618_13, Edition::P618_14].map(|edition| edition.beside_rain(0.1)), [1.0, 5.0]);
}

/// P.618-13: the gases of 1 % of the year in our climates agree with the table.
#[test]
fn gases_of_the_climates_are_the_tables() {
    let table = Table::read("ITURP618-13_A_total.csv");
    let value = |row: &[f64], name: &str| row[table.names.iter().position(|n| n == name).unwrap()];
    let mut rows = 0;
    for row in &table.rows {
        let Some((_, city)) = CITIES.iter().find(|city| city.0 == value(row, "lat")) else { continue };
        let ray = Ray { frequency_ghz: value(row, "f"), elevation_deg: value(row, "el"), tilt_deg: 0.0 };
        let climate = climate_of(city).unwrap();
        let ours = gas_path_db(&ray, &climate.air, Some(climate.vapour.at(1.0).unwrap())).unwrap();
        let off = ours / value(row, "A_gas_1") - 1.0;
        assert!(off.abs() < 0.1, "{city} {} GHz: {ours} {off}", value(row, "f"));
        rows += 1;
    }
    assert!(rows >= 30, "{rows}");
}

/// P.1623-1 §2.2: duration and number of fades, all rows of both tables.
#[test]
fn fades_last_as_long_as_the_tables_say() {
    let fades = |row: &dyn Fn(&str) -> f64| {
        let ray = Ray { frequency_ghz: row("f"), elevation_deg: row("el"), tilt_deg: 0.0 };
        Fades::deeper_than(row("A"), &ray).unwrap()
    };
    let number = |row: &dyn Fn(&str) -> f64| fades(row).number(row("T_tot")) * fades(row).longer(row("D")).unwrap();
    let table = Table::read("ITURP1623-1_fade_duration_params.csv");
    table.check("P", |row| fades(row).longer(row("D")).unwrap());
    table.check("F", |row| fades(row).time_in_longer(row("D")).unwrap());
    table.check("N", number);
    table.check("T", |row| row("T_tot") * fades(row).time_in_longer(row("D")).unwrap());
    let table = Table::read("ITURP1623-1_number_of_fades.csv");
    table.check("N", number);
}
