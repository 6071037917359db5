//! Paths over satellites: satellites, places, rules, and the links between them.

use super::instant::{Age, Instant};
use super::radio::{Clouds, Radio, Rain, Recommendation, Scintillation};
use super::way::WayPoint;
use super::{Direction, LinkKeys, RateProfile};
use bentpipe_model::middlebox::MiddleboxConfig;
use bentpipe_model::spec::{InFlight, NodeKind, Waiting};
use bentpipe_units::settings::{Angle, Overrides};
use bentpipe_units::{either, settings, words, Duration, Time};
use std::collections::BTreeMap;

settings! {
    /// Satellites over the scenario. Nodes with the name of a place are on the ground at that place, and flows between
    /// places go over the satellites in view. Before the run, the sky becomes links whose delays follow the geometry,
    /// and routes that change in `[[at]]`. The resolved scenario shows these.
    #[derive(Clone, Debug)]
    pub(crate) struct Sky {
        /// Satellites: the name of a constellation (`bentpipe list constellations`), a slot over the equator, a file of
        /// elements, shells, or a list of constellations. Each flow uses the first of a list that has a path.
        over: Over;
        /// Constellations of a list in `over`, by name. A name without a table is that of a known constellation
        /// (`bentpipe list constellations`).
        constellation: BTreeMap<String, Constellation> = BTreeMap::new();
        /// Time for which an earlier constellation of the list must have a path before a flow returns to it.
        back_after: Duration = Duration::ZERO;
        /// Start of the run in UTC: `2026-06-14T12:00:00Z` or a TOML date. Default: 2000-01-01 for a constellation; for
        /// elements, the median of their epochs (of each object the newest). Replications start at other instants
        /// (`day`).
        start: Option<Instant>;
        /// Largest age of elements of a file: elements farther from any instant of the run are rejected. After 90 days,
        /// Starlink is thousands of km off its elements.
        elements_age_max: Age = Age(90 * 86_400);
        /// Interval between computations of the paths. Every change is at a multiple of it.
        step: Duration = Duration::from_secs_f64(1.0);
        /// Rule for the satellite that a place uses. A single word applies to all places except gateways, which use any
        /// satellite.
        selection: Selections = Selections::One(Selection::Any);
        /// Criterion for the best of several paths.
        metric: Metric = Metric::Delay;
        /// Condition for a change to another path.
        change: PathChange = PathChange::Better;
        /// Least elevation of satellites in use. Default: that of the constellation; 25 deg for elements, 5 deg for a
        /// slot.
        elevation_min: Option<Angle>;
        /// Largest distance of satellites in use in km, in place of an elevation.
        range_max_km: Option<f64>, [1.0, 1_000_000.0];
        /// Motion of the satellites of a constellation by name. Default: that of its source.
        motion: Option<Motion>;
        /// Mean motion of a constellation by name with one shell in revolutions per day, in place of its altitude.
        mean_motion: Option<f64>, [0.1, 17.0];
        /// Phase of every other plane of a constellation by name with one shell in degrees, in place of its phasing.
        odd_planes: Option<f64>, [-360.0, 360.0];
        /// Links between satellites. Default: those of the constellation.
        between_satellites: Option<BetweenSatellites>;
        /// Gateways, by name of their place. Paths may leave the satellites there and continue over fibre to other
        /// gateways. Satellites with links between them still use these links. Satellites without such links are bent
        /// pipes if there are gateways: all packets go down to a gateway. A gateway at the end of a flow uses any
        /// satellite in view.
        gateway: Vec<String> = Vec::new();
        /// Route of packets from gateway to gateway.
        relay: Relay = Relay::Fibre;
        /// Length of a fibre between gateways, relative to the great circle. Light takes 4.9 us per km of fibre.
        stretch: f64 = 1.5, [1.0, 10.0];
        /// Seed of the random choices of `selection = "starlink"` and of the rain. Another seed is another day.
        /// Replications have their own seeds (`day`).
        seed: u64 = 1;
        /// Day of the sky. Day 0 has `start` and `seed`. Day k starts at a random instant in the 24 hours after `start`
        /// and has `seed` + k. Measured rain, failures and moving places are the same on all days. Default: day 0 for a
        /// run, day k for replication k of an experiment. With the key, all replications share the day.
        day: Option<u64>;
        /// Rain on links with a `radio`.
        rain: Rain = Rain::Off;
        /// Edition of ITU-R P.618, which defines the gases and clouds that come with rare rain.
        recommendation: Recommendation = Recommendation::P618_14;
        /// Clouds on links with a `radio`: attenuation that is exceeded in a share of an average year (ITU-R P.840-8).
        /// Default: none.
        clouds: Option<Clouds>;
        /// Scintillation on links with a `radio`: fade that is exceeded in a share of an average year (ITU-R P.618).
        /// Default: none.
        scintillation: Option<Scintillation>;
        /// Delay that each satellite and gateway adds to a path when paths are compared.
        hop_delay: Duration = Duration::ZERO;
        /// Time for which a place keeps the link to the old satellite during a handover.
        make_before_break: Option<Duration>;
        /// Interruption of a place during a handover between satellites. With `waiting = "kept"` or `"moved"`, packets
        /// wait for the new satellite, unless the place leaves it before the end of the interruption. Otherwise, there
        /// is no route during this time. Without this key and `make_before_break`, old and new link change at the same
        /// instant.
        break_before_make: Option<Duration>;
        /// Satellites, gateways, terminals and links out of use, with their times. Paths avoid them from that instant
        /// on. Packets on their links or in their queues are lost with cause `handover`.
        failure: Vec<SkyFailure> = Vec::new();
        /// Disjoint paths at the same time. Default: a single path, the best.
        disjoint: Option<Disjoint>;
        /// Treatment of packets that wait for a satellite's link to a place when the place changes to another
        /// satellite. Default: they are lost at satellites with links between them. With `kept` or `rerouted`, these
        /// satellites forward the packets to the new satellite, also packets that arrive later. Bent pipes have no
        /// queue, so their packets wait at the sender on the ground. Default for bent pipes: `moved`, as `kept`; packets
        /// that wait for the link up are rerouted.
        waiting: Option<Waiting>;
        /// Treatment of packets on the way over that link.
        in_flight: InFlight = InFlight::Lost;
        /// Whether the places of a satellite share its rate, up and down. Otherwise, each place has its own link.
        shared: bool = false;
        /// Places besides the known cities (`bentpipe list places`), by name.
        place: BTreeMap<String, Position> = BTreeMap::new();
        /// Links between places and satellites. The forward direction is up. Default rates: 20 Mbit/s up, 100 Mbit/s
        /// down. In a medium, each of several satellites has its own copy.
        user: Hop = Hop::default();
        /// Links between gateways and satellites. The forward direction is up. Default rate: 1 Gbit/s.
        feeder: Hop = Hop::default();
        /// Links between satellites. Default rate: 10 Gbit/s.
        inter_satellite: Hop = Hop::default();
        /// Links between gateways. Default rate: 10 Gbit/s.
        fibre: Hop = Hop::default();
        /// Treatment of the signal by satellites, for links with a radio.
        payload: Payload = Payload::Regenerative;
        /// Treatment of corrupted packets by satellites.
        on_board: NodeKind = NodeKind::Router;
        /// Middleboxes at every satellite, in order. Each sees every packet that passes through.
        "middlebox" middleboxes: Vec<MiddleboxConfig> = Vec::new();
    }
}

either! {
    /// Satellites of a sky.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) enum Over {
        /// Constellation by name.
        Named(String);
        /// Slot over the equator.
        Slot(Slot);
        /// File of elements.
        File(Elements);
        /// Custom constellation.
        Shells(OwnShells);
        /// Several constellations, in the order in which flows use them.
        Several(Vec<String>);
    }
}

settings! {
    /// One of several constellations. Its keys override those of `[sky]`.
    #[derive(Clone, Debug)]
    pub(crate) struct Constellation {
        /// Satellites, as in `[sky]` but not a list. Default: the constellation with the name of the table.
        over: Option<Over>;
        /// Rule of a place for its satellite.
        selection: Option<Selections>;
        /// Least elevation of satellites in use.
        elevation_min: Option<Angle>;
        /// Largest distance of satellites in use in km, in place of an elevation.
        range_max_km: Option<f64>, [1.0, 1_000_000.0];
        /// Motion of the satellites of a constellation by name.
        motion: Option<Motion>;
        /// Revolutions per day of a constellation by name with one shell.
        mean_motion: Option<f64>, [0.1, 17.0];
        /// Phase of every other plane of a constellation by name with one shell, degrees.
        odd_planes: Option<f64>, [-360.0, 360.0];
        /// Links between satellites.
        between_satellites: Option<BetweenSatellites>;
        /// Gateways of this constellation. Fibre joins them with each other, not with gateways of other constellations.
        gateway: Option<Vec<String>>;
        /// Route of packets from gateway to gateway.
        relay: Option<Relay>;
        /// Overlap at a handover between its satellites.
        make_before_break: Option<Duration>;
        /// Interruption at a handover between its satellites.
        break_before_make: Option<Duration>;
        /// Satellites, gateways, terminals and links out of use, with their times.
        failure: Option<Vec<SkyFailure>>;
        /// Treatment of packets that wait for a satellite's link to a place when the place changes to another
        /// satellite.
        waiting: Option<Waiting>;
        /// Treatment of packets on the way over that link.
        in_flight: Option<InFlight>;
        /// Whether the places of a satellite share its rate.
        shared: Option<bool>;
        /// Links between places and its satellites.
        user: Option<Hop>;
        /// Links between gateways and its satellites.
        feeder: Option<Hop>;
        /// Links between its satellites.
        inter_satellite: Option<Hop>;
        /// Links between its gateways.
        fibre: Option<Hop>;
        /// Treatment of the signal by its satellites, for links with a radio.
        payload: Option<Payload>;
        /// Treatment of corrupted packets by its satellites.
        on_board: Option<NodeKind>;
        /// Middleboxes at its satellites, in order. Each sees every packet that passes through.
        "middlebox" middleboxes: Option<Vec<MiddleboxConfig>>;
    }
}

settings! {
    /// Custom constellation.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct OwnShells {
        /// Shells. Defaults for their satellites: an elevation of 25 deg or more, and links by `between_satellites =
        /// "grid"`.
        shells: Vec<OwnShell>, [1];
    }
}

settings! {
    /// Shell: planes of equal orbits. In Walker's notation i: T/P/F, P is `planes`, T / P is `per_plane` and F is
    /// `phasing`.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct OwnShell {
        /// Number of planes.
        planes: u32, [1, 1000];
        /// Satellites per plane.
        per_plane: u32, [1, 10_000];
        /// Altitude of the semi-major axis above a sphere of 6378.137 km, in km. For circular orbits, the altitude of
        /// the orbit. Required without `mean_motion`.
        altitude_km: Option<f64>, [100.0, 400_000.0];
        /// Mean motion in revolutions per day, in place of the altitude.
        mean_motion: Option<f64>, [0.1, 17.0];
        /// Inclination in degrees.
        inclination: f64, [0.0, 180.0];
        /// Spread of the planes around the equator.
        pattern: OwnPattern = OwnPattern::Delta;
        /// Walker's F: each plane is F 360 deg / T ahead of the plane before it.
        phasing: u32 = 0;
        /// Phase of every other plane in degrees, in place of `phasing`.
        odd_planes: Option<f64>, [-360.0, 360.0];
        /// Distance between planes in degrees. Default: evenly spread.
        spacing: Option<f64>, [0.0, 360.0];
        /// Right ascension of the ascending node of the first plane at the start, in degrees.
        node: f64 = 0.0, [-360.0, 360.0];
        /// Mean anomaly of the first satellite at the start, in degrees.
        anomaly: f64 = 0.0, [-360.0, 360.0];
        /// Eccentricity; 0 for circular orbits.
        eccentricity: f64 = 0.0, [0.0, 0.9];
        /// Argument of the perigee in degrees.
        perigee: f64 = 0.0, [-360.0, 360.0];
        /// Motion of the satellites.
        motion: Motion = Motion::J2;
    }
}

words! {
    /// Spread of the planes around the equator.
    pub(crate) enum OwnPattern {
        /// Full circle: inclined orbits.
        "delta" => Delta,
        /// Half circle: polar orbits, with a seam.
        "star" => Star,
    }
}

words! {
    /// Motion of satellites.
    pub(crate) enum Motion {
        /// Orbits that drift by the secular terms of J2.
        "j2" => J2,
        /// Constant orbits.
        "kepler" => Kepler,
        /// SGP4 without drag.
        "sgp4" => Sgp4,
    }
}

settings! {
    /// Geostationary satellite.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Slot {
        /// Longitude in degrees east. West is negative.
        geo: f64, [-180.0, 360.0];
        /// Inclination of the orbit in degrees. An inclined satellite moves in a figure of eight once a day.
        inclination: f64 = 0.0, [0.0, 90.0];
    }
}

settings! {
    /// Satellites of a catalogue, with SGP4.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Elements {
        /// File of two-line elements or OMM (JSON, CSV, XML, KVN) beside the scenario or in a folder there.
        elements: String;
        /// Treatment of invalid records, and of elements older than `elements_age_max`.
        bad: Bad = Bad::Refuse;
    }
}

words! {
    /// Treatment of invalid records.
    pub(crate) enum Bad {
        /// The file is rejected, with the line.
        "refuse" => Refuse,
        /// They are skipped.
        "skip" => Skip,
    }
}

either! {
    /// Rules for the satellites that places use.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) enum Selections {
        /// One rule for all places except gateways.
        One(Selection);
        /// A rule for each kind of place, or for single places.
        Each(SelectionOf);
    }
}

settings! {
    /// Rules for the satellite that a place uses, by kind of place. A rule chooses among the satellites that reach most
    /// of the other ends of the place's flows.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct SelectionOf {
        /// Places other than gateways.
        user: Selection = Selection::Any;
        /// Gateways. A gateway with a rule has one antenna.
        gateway: Selection = Selection::Any;
        /// Single places, by name.
        place: BTreeMap<String, Selection> = BTreeMap::new();
    }
}

impl Selections {
    /// Returns the rule of a place.
    pub(crate) fn of(&self, place: &str, is_gateway: bool) -> Selection {
        match self {
            Self::One(_) if is_gateway => Selection::Any,
            Self::One(all) => *all,
            Self::Each(each) => {
                let kind = if is_gateway { each.gateway } else { each.user };
                each.place.get(place).copied().unwrap_or(kind)
            }
        }
    }
}

words! {
    /// Rule for the satellite that a place uses.
    pub(crate) enum Selection {
        /// Any satellite in view: the path decides.
        "any" => Any,
        /// The highest satellite at any time.
        "highest" => Highest,
        /// The nearest satellite at any time.
        "nearest" => Nearest,
        /// One satellite until it is out of view; then the satellite that stays in view longest.
        "longest" => Longest,
        /// One satellite until a check finds it out of view; then the highest. Checks are about 10 s apart, as in ns-2.
        "periodic" => Periodic,
        /// A random satellite, at seconds 12, 27, 42 and 57 of every minute, as measured for Starlink in 2024.
        "starlink" => Starlink,
    }
}

words! {
    /// Criterion for the best path.
    pub(crate) enum Metric {
        /// Shortest delay.
        "delay" => Delay,
        /// Fewest hops. Ties go to the shortest delay.
        "hops" => Hops,
    }
}

words! {
    /// Condition for a change to another path.
    pub(crate) enum PathChange {
        /// Another path is better.
        "better" => Better,
        /// The path in use is broken.
        "broken" => Broken,
    }
}

either! {
    /// Links between satellites.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) enum BetweenSatellites {
        /// Pattern by name.
        Kind(Between);
        /// Pattern in detail.
        Own(OwnLinks);
    }
}

settings! {
    /// Links between satellites in detail.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct OwnLinks {
        /// Linked pairs of satellites, by name. Other satellites have no links. Default: +Grid.
        pairs: Vec<(String, String)> = Vec::new();
        /// Offset of links between planes: each leads this many places ahead of the satellite with the same place in
        /// the next plane.
        offset: u32 = 0, [0, 10_000];
        /// Whether links cross the seam of a star.
        seam: bool = false;
        /// Latitude in degrees beyond which links between planes are off. 90: always on. Default: that of the
        /// constellation.
        polar_cutoff: Option<f64>, [0.0, 90.0];
        /// Largest length of a link in km. Default: limited only by the Earth.
        max_km: Option<f64>, [1.0, 1_000_000.0];
        /// Least altitude of the line of sight in km. 80 km clears most of the atmosphere; ns-2 has 150 km.
        above_km: f64 = 80.0, [0.0, 10_000.0];
    }
}

words! {
    /// Links between satellites.
    pub(crate) enum Between {
        /// No links.
        "none" => Off,
        /// Links to the satellites ahead and behind, and to the neighbours in the next planes, except where planes move
        /// against each other.
        "grid" => Grid,
        /// Links of `grid`, and across the seam of a star.
        "grid-and-seam" => Seam,
    }
}

words! {
    /// Route of packets from gateway to gateway.
    pub(crate) enum Relay {
        /// Fibre between all gateways.
        "fibre" => Fibre,
        /// Satellites: a gateway relays packets up to any satellite in view. There is no fibre. Links between
        /// satellites remain.
        "ground" => Ground,
    }
}

words! {
    /// Treatment of the signal by a satellite.
    pub(crate) enum Payload {
        /// The satellite decodes the signal and transmits it again. Each link has its own noise and errors.
        "regenerative" => Regenerative,
        /// The satellite amplifies the signal with its noise: 1 / (C/N) = 1 / (C/N up) + 1 / (C/N down). Errors and
        /// coding belong to the link between place and satellite and follow from its own modem. The radio of the other
        /// link only contributes its noise. Between two places other than gateways, errors and coding belong to the
        /// link up.
        "transparent" => Transparent,
    }
}

settings! {
    /// Failure of a satellite, gateway or terminal with all its links, or of the link between two nodes.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct SkyFailure {
        /// Name of the satellite, as in `bentpipe sky` or the links of the resolved scenario.
        satellite: Option<String>;
        /// Name of the gateway.
        gateway: Option<String>;
        /// Place whose terminal fails, with all its links to satellites. Other constellations have other terminals.
        terminal: Option<String>;
        /// Two nodes whose link fails: satellites or places.
        link: Vec<String> = Vec::new();
        /// Start of the failure.
        from: Time = Time::ZERO;
        /// End of the failure. Default: the end of the run.
        to: Option<Time>;
    }
}

settings! {
    /// Disjoint paths between the same two places with the least sum of delays (Suurballe 1974). With `change =
    /// "broken"`, all of them stay until one breaks.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Disjoint {
        /// Number of paths.
        paths: u32, [2, 16];
        /// Elements that the paths do not share.
        apart: Apart = Apart::Satellites;
        /// Path of a flow, by name of the flow: 1 is the shortest path at that instant. Default: the first path.
        flow: BTreeMap<String, u32> = BTreeMap::new();
    }
}

words! {
    /// Elements that disjoint paths do not share.
    pub(crate) enum Apart {
        /// Satellites and gateways.
        "satellites" => Satellites,
        /// Links only.
        "links" => Links,
    }
}

settings! {
    /// Position of a place: coordinates, or a way.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Position {
        /// Latitude in degrees north.
        latitude: Option<f64>, [-90.0, 90.0];
        /// Longitude in degrees east.
        longitude: Option<f64>, [-180.0, 360.0];
        /// Height above the ellipsoid in km.
        height_km: f64 = 0.0, [-0.5, 100.0];
        /// City that provides air and rain. Default: those of the place. Those of a moving place change with each
        /// hundredth of a degree.
        climate: Option<String>;
        /// Constellations of `sky.over` that the place uses. Default: all. A city needs no coordinates besides.
        over: Vec<String> = Vec::new();
        /// Way of a moving place: points with their times. The place moves along great circles at constant speed and
        /// waits at both ends.
        way: Vec<WayPoint> = Vec::new();
    }
}

settings! {
    /// Common keys of a group of sky links: those of a link, except its ends and its delay. Outages are in addition to
    /// those that follow from geometry.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Hop {
        /// Bit rate, constant or variable.
        rate: Option<RateProfile> = None;
        /// Other keys.
        keys: LinkKeys as Overrides = LinkKeys::default();
        /// Radio of the link up, or of the direction to the second name of a link. Errors and coding follow from
        /// distance, air and rain.
        up: Option<Radio> = None;
        /// Radio of the link down, or of the direction to the first name of a link.
        down: Option<Radio> = None;
        /// Keys of the link up, or of the direction to the second name of a link.
        forward: Direction = Direction::default();
        /// Keys of the link down, or of the direction to the first name of a link.
        reverse: Direction = Direction::default();
    }
}
