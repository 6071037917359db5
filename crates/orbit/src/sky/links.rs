//! Links between satellites, and their availability.

use super::constellation::{Constellation, Grid, Pattern};
use super::earth::{Earth, RAD};
use super::error::SkyError;
use super::motion::Positions;
use super::vector::{cross, distance, dot, sub, Vector};
use libm::sin;

/// Pattern of links between satellites.
#[derive(Clone, Debug, PartialEq)]
pub enum Topology {
    /// No links: bent pipes.
    None,
    /// In every shell: links to the satellites ahead and behind in the plane, and to one in each neighbouring plane.
    Grid(GridLinks),
    /// Listed pairs, by number of satellite.
    List(Vec<(u32, u32)>),
}

/// Links between planes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GridLinks {
    /// Lead of the neighbour in the next plane over the satellite with the same place, in places.
    pub offset: i32,
    /// Whether the satellites of a star's last plane have links to the nearest of the first plane, which move in the
    /// other direction.
    pub seam: bool,
    /// Latitude of either satellite above which links between planes are off, degrees.
    pub polar_cutoff_deg: Option<f64>,
}

/// Links between satellites and their conditions.
#[derive(Clone, Debug, PartialEq)]
pub struct SatelliteLinks {
    /// Pattern of links.
    pub topology: Topology,
    /// Largest length of a link, km. Infinite: only the Earth limits it.
    pub max_km: f64,
    /// Smallest height of the line of sight above the surface, km: 80 clears most of the atmosphere, ns-2 has 150.
    pub grazing_km: f64,
}

impl SatelliteLinks {
    /// No links between satellites.
    pub const NONE: Self = Self { topology: Topology::None, max_km: f64::INFINITY, grazing_km: 80.0 };
    /// +Grid with same-numbered neighbours, 80 km above the surface, always on.
    pub const GRID: Self = Self {
        topology: Topology::Grid(GridLinks { offset: 0, seam: false, polar_cutoff_deg: None }),
        max_km: f64::INFINITY,
        grazing_km: 80.0,
    };

    /// Returns +Grid, off beyond the same latitude as these links, with or without links across the seam of a star.
    pub fn as_grid(&self, seam: bool) -> Self {
        let polar_cutoff_deg = match &self.topology {
            Topology::Grid(grid) => grid.polar_cutoff_deg,
            _ => None,
        };
        Self { topology: Topology::Grid(GridLinks { offset: 0, seam, polar_cutoff_deg }), ..Self::GRID }
    }
}

/// Usable link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// One end, by number of node.
    pub a: u32,
    /// The other end.
    pub b: u32,
    /// Its length, km.
    pub km: f64,
}

/// Link that may be usable at some time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Candidate {
    a: u32,
    b: u32,
    between_planes: bool,
}

/// Candidates of a constellation, made once.
#[derive(Clone, Debug)]
pub(crate) struct LinkPlan {
    candidates: Vec<Candidate>,
    seams: Vec<Grid>,
    max_km: f64,
    /// Square of the least distance of a line from the Earth's centre.
    clear: f64,
    /// Square of the sine of the latitude where links between planes go off.
    cutoff: f64,
}

impl LinkPlan {
    pub(crate) fn new(links: &SatelliteLinks, sky: &Constellation, earth: &Earth) -> Result<Self, SkyError> {
        SkyError::within("grazing_km", links.grazing_km, -6000.0, 1e5)?;
        SkyError::within("maximum length of a link (km)", links.max_km, 0.0, f64::INFINITY)?;
        let mut plan = Self {
            candidates: Vec::new(),
            seams: Vec::new(),
            max_km: links.max_km,
            clear: (earth.radius_km() + links.grazing_km) * (earth.radius_km() + links.grazing_km),
            cutoff: 1.0,
        };
        match &links.topology {
            Topology::None => {}
            Topology::Grid(grid) => {
                if let Some(deg) = grid.polar_cutoff_deg {
                    let s = sin(SkyError::within("polar_cutoff_deg", deg, 0.0, 90.0)? * RAD);
                    plan.cutoff = s * s;
                }
                for shell in &sky.grids {
                    plan.candidates.extend(grid_links(shell, grid.offset));
                    if grid.seam && shell.pattern == Pattern::Star && shell.planes > 2 {
                        plan.seams.push(*shell);
                    }
                }
            }
            Topology::List(pairs) => {
                for &(a, b) in pairs {
                    if a == b || a.max(b) as usize >= sky.satellites.len() {
                        let what = format!("{a} to {b}: expected two satellites below {}", sky.satellites.len());
                        return Err(SkyError::new("links between satellites", what));
                    }
                    plan.candidates.push(Candidate { a, b, between_planes: false });
                }
            }
        }
        plan.candidates.sort_unstable_by_key(|c| (c.a.min(c.b), c.a.max(c.b)));
        plan.candidates.dedup_by_key(|c| (c.a.min(c.b), c.a.max(c.b)));
        Ok(plan)
    }

    /// Whether two satellites are linked at some time, if they come into sight of each other.
    pub(crate) fn may_link(&self, a: u32, b: u32) -> bool {
        let (low, high) = (a.min(b), a.max(b));
        let found = self.candidates.binary_search_by_key(&(low, high), |c| (c.a.min(c.b), c.a.max(c.b)));
        let is_seam = |shell: &Grid| {
            let last = shell.first + (shell.planes - 1) * shell.per_plane;
            (shell.first..shell.first + shell.per_plane).contains(&low)
                && (last..last + shell.per_plane).contains(&high)
        };
        found.is_ok() || self.seams.iter().any(is_seam)
    }

    /// Returns the mesh of each satellite: the lowest number among the satellites that links join with it, directly or
    /// over others. Satellites of two meshes never exchange packets.
    pub(crate) fn meshes(&self, satellites: usize) -> Vec<u32> {
        let mut mesh: Vec<u32> = (0..satellites as u32).collect();
        fn lowest(mesh: &mut [u32], mut node: u32) -> u32 {
            while mesh[node as usize] != node {
                mesh[node as usize] = mesh[mesh[node as usize] as usize];
                node = mesh[node as usize];
            }
            node
        }
        let seams = self.seams.iter().map(|shell| (shell.first, shell.first + (shell.planes - 1) * shell.per_plane));
        for (a, b) in self.candidates.iter().map(|candidate| (candidate.a, candidate.b)).chain(seams) {
            let (a, b) = (lowest(&mut mesh, a), lowest(&mut mesh, b));
            mesh[a.max(b) as usize] = a.min(b);
        }
        for node in 0..satellites as u32 {
            mesh[node as usize] = lowest(&mut mesh, node);
        }
        mesh
    }

    /// Adds the links that are usable with satellites at `positions`.
    pub(crate) fn usable(&self, positions: &Positions, links: &mut Vec<Link>) {
        for candidate in &self.candidates {
            links.extend(self.link(candidate, positions));
        }
        for shell in &self.seams {
            let last = shell.first + (shell.planes - 1) * shell.per_plane;
            for a in last..last + shell.per_plane {
                let near = |b: &u32| distance(positions.get(a as usize), positions.get(*b as usize));
                let nearest = (shell.first..shell.first + shell.per_plane).min_by(|b, c| near(b).total_cmp(&near(c)));
                let candidate = nearest.map(|b| Candidate { a, b, between_planes: true });
                links.extend(candidate.and_then(|candidate| self.link(&candidate, positions)));
            }
        }
    }

    fn link(&self, candidate: &Candidate, positions: &Positions) -> Option<Link> {
        let (a, b) = (positions.get(candidate.a as usize), positions.get(candidate.b as usize));
        if candidate.between_planes && self.cutoff < 1.0 {
            let polar = |p: Vector| p[2] * p[2] > self.cutoff * dot(p, p);
            if polar(a) || polar(b) {
                return None;
            }
        }
        let km = distance(a, b);
        // The comparison is false for a satellite without position, so it has no link.
        (km <= self.max_km && self.is_clear(a, b, km)).then_some(Link { a: candidate.a, b: candidate.b, km })
    }

    /// Whether the line between two points, `km` apart, stays above the height of the plan. Computed without roots.
    fn is_clear(&self, a: Vector, b: Vector, km: f64) -> bool {
        let along = sub(b, a);
        if dot(a, along) < 0.0 && dot(b, along) > 0.0 {
            let moment = cross(a, along);
            dot(moment, moment) >= self.clear * km * km
        } else {
            dot(a, a).min(dot(b, b)) >= self.clear
        }
    }
}

fn grid_links(shell: &Grid, offset: i32) -> Vec<Candidate> {
    let size = i64::from(shell.per_plane);
    let number = |plane: u32, slot: i64| shell.first + plane * shell.per_plane + slot.rem_euclid(size) as u32;
    let mut found = Vec::new();
    for plane in 0..shell.planes {
        for slot in 0..size {
            let a = number(plane, slot);
            if size > 1 {
                found.push(Candidate { a, b: number(plane, slot + 1), between_planes: false });
            }
            let ahead = slot + i64::from(offset);
            if plane + 1 < shell.planes {
                found.push(Candidate { a, b: number(plane + 1, ahead), between_planes: true });
            } else if shell.pattern == Pattern::Delta && shell.planes > 2 {
                found.push(Candidate { a, b: number(0, ahead + i64::from(shell.wrap)), between_planes: true });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sky::constellation::{Phasing, Propagation, Shell};
    use crate::sky::epoch::Epoch;
    use crate::sky::motion::positions;

    fn iridium() -> Constellation {
        let mut sky = Constellation::new(Epoch::Y2000);
        let shell = Shell {
            raan_spacing_deg: Some(31.6),
            phasing: Phasing::OddPlanes(360.0 / 22.0),
            propagation: Propagation::Kepler,
            ..Shell::walker("iridium", Pattern::Star, 6, 11, 780.0, 86.4)
        };
        sky.add_shell(&shell).unwrap();
        sky
    }

    fn usable(sky: &Constellation, links: &SatelliteLinks, t: f64) -> Vec<Link> {
        let plan = LinkPlan::new(links, sky, &Earth::AT_REST).unwrap();
        let mut found = Vec::new();
        plan.usable(&positions(sky, &Earth::AT_REST, t), &mut found);
        found
    }

    fn grid(seam: bool, polar_cutoff_deg: Option<f64>) -> SatelliteLinks {
        let topology = Topology::Grid(GridLinks { offset: 0, seam, polar_cutoff_deg });
        SatelliteLinks { topology, ..SatelliteLinks::GRID }
    }

    /// `docs/specs/constellation.md`, tests 3 and 4: chord 4033.4 km, grazing height 490.0 km.
    #[test]
    fn the_chord_in_a_plane_clears_the_earth() {
        let sky = iridium();
        let p = positions(&sky, &Earth::AT_REST, 77.0);
        let chord = [p.get(0), p.get(1)];
        assert!((distance(chord[0], chord[1]) - 4033.4).abs() < 0.05);
        // The lowest point of a short line that rises is its lower end, at 621.863 km.
        let rising = [[7000.0, 0.0, 0.0], [8000.0, 1.0, 0.0]];
        for ([a, b], grazing_km, is_clear) in
            [(chord, 489.95, true), (chord, 490.05, false), (rising, 621.86, true), (rising, 621.87, false)]
        {
            let links = SatelliteLinks { grazing_km, ..SatelliteLinks::GRID };
            let plan = LinkPlan::new(&links, &sky, &Earth::AT_REST).unwrap();
            assert_eq!(plan.is_clear(a, b, distance(a, b)), is_clear, "{grazing_km} km");
        }
    }

    /// 6 planes: 66 links within planes; 5·11 between neighbours, none across the seam.
    #[test]
    fn a_star_has_a_seam() {
        let sky = iridium();
        let links = usable(&sky, &grid(false, None), 500.0);
        assert_eq!(links.len(), 66 + 55);
        assert!(links.iter().all(|l| !(l.a < 11 && l.b >= 55)));
        let seam = usable(&sky, &grid(true, None), 500.0);
        let across: Vec<_> = seam.iter().filter(|l| l.a >= 55 && l.b < 11).collect();
        assert_eq!(across.len(), 11);
        // The nearest of an 11-satellite plane is never farther than the chord of 22° and half of 360°/11.
        assert!(across.iter().all(|l| l.km < 2.0 * 7158.137 * sin(0.5 * 28.0 * RAD)), "{across:?}");
        let plan = LinkPlan::new(&grid(true, None), &sky, &Earth::AT_REST).unwrap();
        assert!(seam.iter().all(|l| plan.may_link(l.b, l.a)));
        assert!(!plan.may_link(0, 2) && !plan.may_link(0, 22));
    }

    #[test]
    fn links_between_planes_are_off_near_the_poles() {
        let sky = iridium();
        for t in [0.0, 700.0, 2000.0] {
            let p = positions(&sky, &Earth::AT_REST, t);
            let lat = |k: u32| Earth::AT_REST.geodetic(p.get(k as usize)).latitude_deg.abs();
            let all = usable(&sky, &grid(false, None), t);
            let cut = usable(&sky, &grid(false, Some(60.0)), t);
            let expected: Vec<Link> =
                all.into_iter().filter(|l| l.a / 11 == l.b / 11 || (lat(l.a) <= 60.0 && lat(l.b) <= 60.0)).collect();
            assert!(cut == expected && cut.len() < 121 && cut.len() > 66, "{t}");
        }
    }

    /// A delta wraps around, shifted so that every link between planes is equally long at the equator: with Walker's F
    /// the last plane's neighbour is F places ahead.
    #[test]
    fn a_delta_wraps_around() {
        let mut sky = Constellation::new(Epoch::Y2000);
        let shell = Shell { phasing: Phasing::Walker(11), ..Shell::walker("d", Pattern::Delta, 24, 16, 1000.0, 60.0) };
        sky.add_shell(&shell).unwrap();
        let links = usable(&sky, &SatelliteLinks::GRID, 0.0);
        assert_eq!(links.len(), 2 * 24 * 16);
        let longest = links.iter().map(|l| l.km).fold(0.0, f64::max);
        let wrap = links.iter().filter(|l| l.a.abs_diff(l.b) > 22 * 16).map(|l| l.km).fold(0.0, f64::max);
        assert!(wrap <= longest && wrap > 0.0 && longest < 5000.0, "{wrap} {longest}");
        for satellite in 0..24 * 16 {
            assert_eq!(links.iter().filter(|l| l.a == satellite || l.b == satellite).count(), 4);
        }
    }

    #[test]
    fn the_earth_and_the_longest_length_limit_lists() {
        let sky = iridium();
        let list = |pairs: &[(u32, u32)], max_km, grazing_km| SatelliteLinks {
            topology: Topology::List(pairs.to_vec()),
            max_km,
            grazing_km,
        };
        let count = |links: SatelliteLinks| usable(&sky, &links, 0.0).len();
        // Two places apart: chord grazes at 7158.137 cos(32.7°) - 6378 = -355 km, below the surface.
        assert_eq!(count(list(&[(0, 1), (0, 2), (1, 0)], f64::INFINITY, 80.0)), 1);
        assert_eq!(count(list(&[(0, 1), (0, 2)], f64::INFINITY, -400.0)), 2);
        assert_eq!(count(list(&[(0, 1)], 4000.0, 80.0)), 0);
        assert_eq!(count(list(&[(0, 1)], f64::INFINITY, 491.0)), 0);
        for pairs in [[(0, 0)], [(0, 66)]] {
            assert!(LinkPlan::new(&list(&pairs, 1.0, 80.0), &sky, &Earth::AT_REST).is_err());
        }
    }
}
