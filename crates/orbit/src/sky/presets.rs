//! Constellations by name, from published parameters. Where a source is silent, the preset states its choice.

use super::constellation::{Constellation, Pattern, Phasing, Propagation, Shell, Size};
use super::earth::Earth;
use super::epoch::Epoch;
use super::error::SkyError;
use super::links::{GridLinks, SatelliteLinks, Topology};
use super::orbit::Orbit;
use super::places::Access;
use super::scene::Sky;

/// A constellation by name.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// Description in one line.
    pub about: &'static str,
    /// Source of its figures, and the choices where the source is silent.
    pub source: &'static str,
    kind: Kind,
    /// Condition of a link between a place and a satellite.
    access: Access,
    /// Links between satellites: none, or the latitude above which links between planes are off.
    links: Option<Option<f64>>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Shells(&'static [Plan]),
    /// Shell of Hypatia: SGP4, revolutions per day, eccentricity 1e-7.
    Hypatia(&'static [Plan; 1], f64),
    /// Slots over the equator: name and longitude.
    Geo(&'static [(&'static str, f64)]),
}

/// Pattern, planes, satellites per plane, altitude in km, inclination in degrees, phasing, spacing of planes in
/// degrees.
type Plan = (Pattern, u32, u32, f64, f64, Phase, Option<f64>);

/// Shift of a preset's planes.
#[derive(Clone, Copy, Debug)]
enum Phase {
    F(u32),
    /// Odd planes by half the spacing in a plane.
    Half,
}

use Pattern::{Delta, Star};
use Phase::{Half, F};

const STARLINK: &str = "FCC 21-48 (April 2021): planes, satellites, altitudes, inclinations, elevation 25 \
    degrees. The filing gives no phasing: F = 39 for the first shell as in published analyses, half the spacing \
    on odd planes for the others";
const STARLINK_SHELLS: [Plan; 5] = [
    (Delta, 72, 22, 550.0, 53.0, F(39), None),
    (Delta, 72, 22, 540.0, 53.2, Half, None),
    (Delta, 36, 20, 570.0, 70.0, Half, None),
    (Delta, 6, 58, 560.0, 97.6, Half, None),
    (Delta, 4, 43, 560.0, 97.6, Half, None),
];
const KUIPER: &str =
    "FCC 20-102 (July 2020): planes, satellites, altitudes, inclinations, elevation 35 degrees. Phasing is \
    not given: half the spacing on odd planes, as Hypatia (IMC 2020) has it";
const KUIPER_SHELLS: [Plan; 3] = [
    (Delta, 34, 34, 630.0, 51.9, Half, None),
    (Delta, 36, 36, 610.0, 42.0, Half, None),
    (Delta, 28, 28, 590.0, 33.0, Half, None),
];
const TELESAT: &str =
    "Telesat's FCC application of May 2020 (first phase): planes, satellites, altitudes, inclinations, \
    elevation 10 degrees. Phasing is not given: half the spacing on odd planes";
const TELESAT_SHELLS: [Plan; 2] =
    [(Star, 27, 13, 1015.0, 98.98, Half, None), (Delta, 40, 33, 1325.0, 50.88, Half, None)];

const fn shells(
    name: &'static str,
    about: &'static str,
    source: &'static str,
    plans: &'static [Plan],
    min_elevation_deg: f64,
    links: Option<Option<f64>>,
) -> Preset {
    let access = Access::MinElevation(min_elevation_deg);
    Preset { name, about, source, kind: Kind::Shells(plans), access, links }
}

const HYPATIA: &str =
    "Hypatia (S. Kassing et al., IMC 2020), paper/satellite_networks_state: planes around the equator, satellites, \
     inclination, revolutions per day, longest link to the ground; SGP4, eccentricity 1e-7, odd planes half a place \
     ahead, +Grid";

const fn hypatia(
    name: &'static str,
    about: &'static str,
    plan: &'static [Plan; 1],
    revs_per_day: f64,
    range_max_km: f64,
) -> Preset {
    let kind = Kind::Hypatia(plan, revs_per_day);
    Preset { name, about, source: HYPATIA, kind, access: Access::MaxRange(range_max_km), links: Some(None) }
}

/// All presets.
pub const PRESETS: &[Preset] = &[
    shells(
        "iridium",
        "66 satellites, 6 polar planes at 780 km, links between satellites",
        "ns-2's example and S. Pratt et al., IEEE Communications Surveys 1999: 86.4 degrees, planes 31.6 \
         degrees apart, 22 at the seam, odd planes half a place ahead, elevation 8.2 degrees; links between \
         planes off above 60 degrees as in ns-2's example. Eccentricity 0.002 is left out as there",
        &[(Star, 6, 11, 780.0, 86.4, Half, Some(31.6))],
        8.2,
        Some(Some(60.0)),
    ),
    shells(
        "teledesic",
        "288 satellites, 12 polar planes at 1375 km, links between satellites",
        "Teledesic's design of 1998 as listed by L. Wood: 12 planes of 24, 1375 km, 84.7 degrees, elevation 40 \
         degrees. Planes evenly spread over half the equator and odd planes half a place ahead are taken",
        &[(Star, 12, 24, 1375.0, 84.7, Half, None)],
        40.0,
        Some(None),
    ),
    shells(
        "m-star",
        "72 satellites, 12 inclined planes at 1350 km: the orbit of ATM-Sat and of the timer study",
        "Motorola's FCC filing of 1996 as listed by L. Wood: 12 planes of 6, 1350 km, 47 degrees; elevation 20 \
         degrees from the timer study. Phasing is not given: F = 5 is taken",
        &[(Delta, 12, 6, 1350.0, 47.0, F(5), None)],
        20.0,
        Some(None),
    ),
    shells(
        "starlink",
        "Starlink's first generation, five shells, 4408 satellites",
        STARLINK,
        &STARLINK_SHELLS,
        25.0,
        Some(None),
    ),
    shells(
        "starlink-shell-1",
        "72 x 22 at 550 km, 53 degrees",
        STARLINK,
        STARLINK_SHELLS.split_at(1).0,
        25.0,
        Some(None),
    ),
    shells(
        "starlink-shell-2",
        "72 x 22 at 540 km, 53.2 degrees",
        STARLINK,
        STARLINK_SHELLS.split_at(1).1.split_at(1).0,
        25.0,
        Some(None),
    ),
    shells(
        "starlink-shell-3",
        "36 x 20 at 570 km, 70 degrees",
        STARLINK,
        STARLINK_SHELLS.split_at(2).1.split_at(1).0,
        25.0,
        Some(None),
    ),
    shells(
        "starlink-shell-4",
        "6 x 58 at 560 km, 97.6 degrees",
        STARLINK,
        STARLINK_SHELLS.split_at(3).1.split_at(1).0,
        25.0,
        Some(None),
    ),
    shells(
        "starlink-shell-5",
        "4 x 43 at 560 km, 97.6 degrees",
        STARLINK,
        STARLINK_SHELLS.split_at(4).1,
        25.0,
        Some(None),
    ),
    shells(
        "oneweb",
        "588 satellites, 12 polar planes at 1200 km, bent pipes",
        "OneWeb's first generation as launched: 12 planes of 49, 1200 km, 87.9 degrees (element sets agree). \
         User terminals at 25 degrees and odd planes half a place ahead are taken",
        &[(Star, 12, 49, 1200.0, 87.9, Half, None)],
        25.0,
        None,
    ),
    shells("kuiper", "Kuiper's three shells, 3236 satellites", KUIPER, &KUIPER_SHELLS, 35.0, Some(None)),
    shells("kuiper-630", "34 x 34 at 630 km, 51.9 degrees", KUIPER, KUIPER_SHELLS.split_at(1).0, 35.0, Some(None)),
    shells(
        "kuiper-610",
        "36 x 36 at 610 km, 42 degrees",
        KUIPER,
        KUIPER_SHELLS.split_at(1).1.split_at(1).0,
        35.0,
        Some(None),
    ),
    shells("kuiper-590", "28 x 28 at 590 km, 33 degrees", KUIPER, KUIPER_SHELLS.split_at(2).1, 35.0, Some(None)),
    shells(
        "telesat",
        "Telesat Lightspeed's polar and inclined shells, 1671 satellites",
        TELESAT,
        &TELESAT_SHELLS,
        10.0,
        Some(None),
    ),
    shells(
        "telesat-1015",
        "27 x 13 at 1015 km, 98.98 degrees",
        TELESAT,
        TELESAT_SHELLS.split_at(1).0,
        10.0,
        Some(None),
    ),
    shells(
        "telesat-1325",
        "40 x 33 at 1325 km, 50.88 degrees",
        TELESAT,
        TELESAT_SHELLS.split_at(1).1,
        10.0,
        Some(None),
    ),
    shells(
        "o3b",
        "20 satellites over the equator at 8062 km, bent pipes",
        "SES: 20 satellites of the first generation, 8062 km, equatorial. They are taken to be evenly spread; \
         elevation 5 degrees",
        &[(Delta, 1, 20, 8062.0, 0.0, F(0), None)],
        5.0,
        None,
    ),
    Preset {
        name: "geo",
        about: "some slots over the equator, bent pipes",
        source: "longitudes of May 2026's element sets (SES-9, Astra 19.2 E, Intelsat 37e, Jupiter 3), rounded \
                 to 0.1 degrees; elevation 5 degrees is taken",
        kind: Kind::Geo(&[("ses-9", 108.3), ("astra-19.2e", 19.2), ("intelsat-37e", -18.0), ("jupiter-3", -95.2)]),
        access: Access::MinElevation(5.0),
        links: None,
    },
    hypatia(
        "kuiper-630-hypatia",
        "34 x 34 by SGP4, ground links up to 1260 km, as Hypatia has it",
        &[(Delta, 34, 34, 630.0, 51.9, Half, None)],
        14.8,
        1260.0,
    ),
    hypatia(
        "starlink-550-hypatia",
        "72 x 22 by SGP4, ground links up to 1089.686 km, as Hypatia has it",
        &[(Delta, 72, 22, 550.0, 53.0, Half, None)],
        15.19,
        1089.686,
    ),
    hypatia(
        "telesat-1015-hypatia",
        "27 x 13 by SGP4, ground links up to 5845.152 km, as Hypatia has it",
        &[(Delta, 27, 13, 1015.0, 98.98, Half, None)],
        13.66,
        5845.152,
    ),
];

/// Orbital parameters that replace those of a constellation's source.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Orbits {
    /// Propagation of the satellites.
    pub motion: Option<Propagation>,
    /// Revolutions per day, in place of the height.
    pub revs_per_day: Option<f64>,
    /// Phase of every other plane, degrees.
    pub odd_planes_deg: Option<f64>,
}

impl Orbits {
    /// Whether any parameter is given.
    pub fn are_given(&self) -> bool {
        *self != Self::default()
    }

    /// Returns these shells with such orbits.
    ///
    /// # Errors
    ///
    /// No shells; several, if a number is for one.
    pub fn of(&self, shells: Vec<Shell>) -> Result<Vec<Shell>, SkyError> {
        if self.are_given() && shells.is_empty() {
            let what = "are for shells: geostationary satellites and elements have orbits already";
            return Err(SkyError::new("motion, mean_motion and odd_planes", what));
        }
        if (self.revs_per_day.is_some() || self.odd_planes_deg.is_some()) && shells.len() > 1 {
            let what = format!("{} shells: expected a constellation of one, such as {}", shells.len(), ONE_SHELL);
            return Err(SkyError::new("mean_motion and odd_planes", what));
        }
        let changed = |shell: Shell| Shell {
            propagation: self.motion.unwrap_or(shell.propagation),
            size: self.revs_per_day.map_or(shell.size, Size::RevsPerDay),
            phasing: self.odd_planes_deg.map_or(shell.phasing, Phasing::OddPlanes),
            ..shell
        };
        Ok(shells.into_iter().map(changed).collect())
    }
}

/// Orbits for tests over an Earth at rest.
#[cfg(test)]
pub(crate) const KEPLER: Orbits =
    Orbits { motion: Some(Propagation::Kepler), revs_per_day: None, odd_planes_deg: None };

/// Preset of one shell, for messages.
const ONE_SHELL: &str = "kuiper-630";

/// Returns a preset by name.
///
/// # Errors
///
/// An unknown name, with the known ones.
pub fn preset(name: &str) -> Result<&'static Preset, SkyError> {
    PRESETS.iter().find(|preset| preset.name == name).ok_or_else(|| {
        let known: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        SkyError::new(format!("constellation {name:?}"), format!("expected one of {}", known.join(", ")))
    })
}

/// Returns the sky with these shells and without places, over a turning Earth (WGS-84): +Grid, least elevation 25
/// degrees.
///
/// # Errors
///
/// Parameters out of range, by field; more satellites than a sky may have.
pub fn of_shells(shells: &[Shell], epoch: Epoch) -> Result<Sky, SkyError> {
    let mut constellation = Constellation::new(epoch);
    for shell in shells {
        constellation.add_shell(shell)?;
    }
    let mut sky = Sky::new(constellation, Earth::WGS84, Access::MinElevation(25.0));
    sky.links = SatelliteLinks::GRID;
    Ok(sky)
}

impl Preset {
    /// Returns its shells. None for slots over the equator.
    pub fn shells(&self) -> Vec<Shell> {
        let plans = match self.kind {
            Kind::Shells(plans) => plans,
            Kind::Hypatia(plan, _) => plan.as_slice(),
            Kind::Geo(_) => &[],
        };
        let shell = |(number, plan): (usize, &Plan)| {
            let (pattern, planes, per_plane, altitude_km, inclination_deg, phase, raan_spacing_deg) = *plan;
            let name = if plans.len() > 1 { format!("{}-{}", self.name, number + 1) } else { self.name.to_owned() };
            let phasing = match phase {
                Phase::F(f) => Phasing::Walker(f),
                Phase::Half => Phasing::OddPlanes(180.0 / f64::from(per_plane)),
            };
            let plain = Shell::walker(&name, pattern, planes, per_plane, altitude_km, inclination_deg);
            let shell = Shell { phasing, raan_spacing_deg, ..plain };
            match self.kind {
                Kind::Hypatia(_, revs_per_day) => Shell {
                    size: Size::RevsPerDay(revs_per_day),
                    eccentricity: 1e-7,
                    propagation: Propagation::Sgp4,
                    ..shell
                },
                _ => shell,
            }
        };
        plans.iter().enumerate().map(shell).collect()
    }

    /// Returns the sky with this constellation and without places, over a turning Earth (WGS-84).
    ///
    /// # Errors
    ///
    /// As [`sky_with`](Self::sky_with).
    pub fn sky(&self, epoch: Epoch) -> Result<Sky, SkyError> {
        self.sky_with(epoch, &Orbits::default(), Earth::WGS84)
    }

    /// Returns the sky with other orbits, or over another Earth.
    ///
    /// # Errors
    ///
    /// Orbits that the constellation cannot have.
    pub fn sky_with(&self, epoch: Epoch, orbits: &Orbits, earth: Earth) -> Result<Sky, SkyError> {
        let mut constellation = Constellation::new(epoch);
        for shell in orbits.of(self.shells())? {
            constellation.add_shell(&shell)?;
        }
        if let Kind::Geo(slots) = self.kind {
            for (name, longitude_deg) in slots {
                constellation.add(name, Orbit::geo(*longitude_deg, 0.0, 0.0)?)?;
            }
        }
        let mut sky = Sky::new(constellation, earth, self.access);
        if let Some(polar_cutoff_deg) = self.links {
            let topology = Topology::Grid(GridLinks { offset: 0, seam: false, polar_cutoff_deg });
            sky.links = SatelliteLinks { topology, ..SatelliteLinks::GRID };
        }
        Ok(sky)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sky::vector::norm;

    #[test]
    fn presets_have_the_satellites_of_their_sources() {
        for (name, satellites) in [
            ("iridium", 66),
            ("teledesic", 288),
            ("m-star", 72),
            ("starlink", 4408),
            ("starlink-shell-1", 1584),
            ("starlink-shell-2", 1584),
            ("starlink-shell-3", 720),
            ("starlink-shell-4", 348),
            ("starlink-shell-5", 172),
            ("oneweb", 588),
            ("kuiper", 3236),
            ("kuiper-630", 1156),
            ("kuiper-610", 1296),
            ("kuiper-590", 784),
            ("telesat", 1671),
            ("telesat-1015", 351),
            ("telesat-1325", 1320),
            ("o3b", 20),
            ("geo", 4),
            ("kuiper-630-hypatia", 1156),
            ("starlink-550-hypatia", 1584),
            ("telesat-1015-hypatia", 351),
        ] {
            let sky = preset(name).unwrap().sky(Epoch::Y2000).unwrap();
            assert_eq!(sky.satellites(), satellites, "{name}");
            sky.check().unwrap();
        }
        assert_eq!(PRESETS.len(), 22);
        let error = preset("irridium").unwrap_err();
        assert!(error.what.contains("iridium"));
    }

    /// Every satellite of a preset is at its altitude, and its links clear the atmosphere.
    #[test]
    fn presets_fly_where_they_say() {
        for preset in PRESETS.iter().filter(|preset| preset.name.contains('-') && preset.name != "m-star") {
            let shell = &preset.shells()[0];
            // With SGP4, the altitude is not constant.
            let Size::AltitudeKm(h) = shell.size else { continue };
            let sky = preset.sky(Epoch::Y2000).unwrap();
            let positions = sky.positions(4000.0);
            for k in 0..positions.len() {
                assert!((norm(positions.get(k)) - 6378.137 - h).abs() < 1e-6, "{}", preset.name);
            }
            let links = sky.satellite_links(4000.0).unwrap().len();
            let (planes, per_plane) = (shell.planes as usize, shell.per_plane as usize);
            let seam = if shell.pattern == Star { per_plane } else { 0 };
            // The sparse polar shells' planes are too far apart over the equator.
            if planes > 6 {
                assert_eq!(links, 2 * planes * per_plane - seam, "{}", preset.name);
            }
        }
    }
    /// A preset with other orbits is the shell with these orbits. Hypatia's networks only differ from the filings in
    /// their orbits.
    #[test]
    fn orbits_can_be_others_than_those_of_the_source() {
        let orbits = Orbits { motion: Some(Propagation::Sgp4), revs_per_day: Some(14.8), odd_planes_deg: None };
        let kuiper = orbits.of(preset("kuiper-630").unwrap().shells()).unwrap();
        let hypatia = &preset("kuiper-630-hypatia").unwrap().shells()[0];
        assert_eq!(Shell { name: hypatia.name.clone(), eccentricity: 1e-7, ..kuiper[0].clone() }, *hypatia);
        let turned = Orbits { odd_planes_deg: Some(3.0), ..Orbits::default() };
        assert_eq!(turned.of(kuiper).unwrap()[0].phasing, Phasing::OddPlanes(3.0));
        for (name, orbits, said) in
            [("starlink", orbits, "5 shells"), ("starlink", turned, "kuiper-630"), ("geo", turned, "are for shells")]
        {
            let error = preset(name).unwrap().sky_with(Epoch::Y2000, &orbits, Earth::WGS84).unwrap_err();
            assert!(error.to_string().contains(said), "{error}");
        }
        let moved = Orbits { motion: Some(Propagation::Kepler), ..Orbits::default() };
        assert!(moved
            .of(preset("starlink").unwrap().shells())
            .unwrap()
            .iter()
            .all(|s| s.propagation == Propagation::Kepler));
        assert!(moved.of(Vec::new()).is_err() && Orbits::default().of(Vec::new()).unwrap().is_empty());
    }
}
