//! A path over satellites: over what, from where, and what its links bear.

use super::instant::{Age, Instant};
use super::radio::{Clouds, Radio, Rain, Recommendation, Scintillation};
use super::{Direction, Errors, Jitters, OutageKeys, RateProfile};
use crate::middlebox::MiddleboxConfig;
use crate::spec::{Arq, Coding, Framing, InFlight, Interleave, LimitOrKind, Mtu, NodeKind, Queue, Waiting};
use bentpipe_units::settings::{Angle, Maybe};
use bentpipe_units::{either, settings, words, Duration, Time};
use std::collections::BTreeMap;

settings! {
    /// The sky over the scenario: nodes that have the name of a place are on the ground there, and what flows between places goes over the satellites that are in view. Before the run it becomes links whose delays follow the geometry, and routes that change in `[[at]]`; that is what the resolved scenario shows.
    #[derive(Clone, Debug)]
    pub(crate) struct Sky {
        /// The satellites: a constellation by name (`bentpipe list constellations`), a slot over the equator, a file of elements, or a list of constellations. Each flow uses the first of a list that has a path.
        over: Over;
        /// Constellations of a list in `over`, by name. A name without a table is that of a constellation (`bentpipe list constellations`).
        constellation: BTreeMap<String, Constellation> = BTreeMap::new();
        /// Time for which an earlier constellation of the list must have a path before a flow goes back to it.
        back_after: Duration = Duration::ZERO;
        /// When the run begins, in UTC, as `2026-06-14T12:00:00Z`; a date of TOML will do, too. Without it, a constellation begins at 2000-01-01, elements at the median of their epochs (of each object the newest). Replications begin at other instants (`day`).
        start: Option<Instant>;
        /// Elements of a file are refused if they are farther than this from any instant of the run. Starlink is thousands of km off its elements after 90 days.
        elements_age_max: Age = Age(90 * 86_400);
        /// How often paths are looked at. Every change stands at a multiple of it.
        step: Duration = Duration::from_secs_f64(1.0);
        /// Which satellite a place uses. One word is for all places but gateways, which use any.
        selection: Selections = Selections::One(Selection::Any);
        /// Which of several paths is taken.
        metric: Metric = Metric::Delay;
        /// When another path is taken.
        change: PathChange = PathChange::Better;
        /// Satellites are used above this elevation. Without it, that of the constellation; 25 deg for elements, 5 deg for a slot.
        elevation_min: Option<Angle>;
        /// Satellites are used up to this distance in km instead, whatever their elevation.
        range_max_km: Option<f64>, [1.0, 1_000_000.0];
        /// Motion of the satellites of a constellation by name. Without it, that of its source.
        motion: Option<Motion>;
        /// Revolutions per day of a constellation by name with one shell, in place of its height.
        mean_motion: Option<f64>, [0.1, 17.0];
        /// Phase of every other plane of a constellation by name with one shell, degrees, in place of its phasing.
        odd_planes: Option<f64>, [-360.0, 360.0];
        /// Links between satellites. Without it, those of the constellation.
        between_satellites: Option<BetweenSatellites>;
        /// Gateways, by name of place: where a path may leave the sky, on by fibre to the other gateways. Satellites with links between them go on using these. Satellites without such links are bent pipes if there are gateways: all packets go down to a gateway. A gateway at the end of a flow uses any satellite in view.
        gateway: Vec<String> = Vec::new();
        /// The way of packets from gateway to gateway.
        relay: Relay = Relay::Fibre;
        /// How much longer a fibre between gateways is than the great circle; light takes 4.9 us per km in it.
        stretch: f64 = 1.5, [1.0, 10.0];
        /// Chooses the lots of `selection = "starlink"` and the rain: another seed is another day. Replications have other seeds (`day`).
        seed: u64 = 1;
        /// The day of the sky. Day 0 is that of `start` and `seed`; day k begins at an instant drawn from the 24 hours after `start`, and has `seed` + k. Without this key, a run has day 0 and replication k of an experiment has day k; with it, all replications share the day. Measured rain, failures and moving places are the same on all days.
        day: Option<u64>;
        /// Rain on links that have a `radio`.
        rain: Rain = Rain::Off;
        /// Edition of ITU-R P.618, which decides the gases and clouds that come with rare rain.
        recommendation: Recommendation = Recommendation::P618_14;
        /// Clouds on links that have a `radio`, as they are exceeded in a share of an average year (ITU-R P.840-8). Without it, there are none.
        clouds: Option<Clouds>;
        /// Scintillation on links that have a `radio`, as a fade that is exceeded in a share of an average year (ITU-R P.618). Without it, there is none.
        scintillation: Option<Scintillation>;
        /// What each satellite and gateway on the way adds to a delay when paths are chosen.
        hop_delay: Duration = Duration::ZERO;
        /// How long a place keeps the link to a satellite that it leaves for another.
        make_before_break: Option<Duration>;
        /// How long a place has no satellite when it leaves one for another: with `waiting = "kept"` packets wait for the next one, otherwise there is no route in between. With neither key, both happen at once.
        break_before_make: Option<Duration>;
        /// What is out of use, and when. Paths avoid it from that instant on; what is on its links or waits for them is lost with cause `handover`.
        failure: Vec<SkyFailure> = Vec::new();
        /// Several paths at once that share nothing. Without it, there is one, the best.
        disjoint: Option<Disjoint>;
        /// What becomes of packets that wait for a satellite's link to a place when that goes to another satellite. Without it, they are lost at satellites that have links to each other. Bent pipes have no queue: the packets really wait at the sender on the ground. For these the default is `moved`, and packets that wait for the link up are rerouted.
        waiting: Option<Waiting>;
        /// What becomes of packets on that link.
        in_flight: InFlight = InFlight::Lost;
        /// Whether the places that a satellite serves share its rate, up and down, or have a link each.
        shared: bool = false;
        /// Places besides cities (`bentpipe list places`), by name.
        place: BTreeMap<String, Position> = BTreeMap::new();
        /// Links between places and satellites; forward is up. Without a rate, 20 Mbit/s up and 100 Mbit/s down.
        user: Hop = Hop::default();
        /// Links between gateways and satellites; forward is up. Without a rate, 1 Gbit/s.
        feeder: Hop = Hop::default();
        /// Links between satellites. Without a rate, 10 Gbit/s.
        inter_satellite: Hop = Hop::default();
        /// Links between gateways. Without a rate, 10 Gbit/s.
        fibre: Hop = Hop::default();
        /// What satellites do with the signal of links that have a radio.
        payload: Payload = Payload::Regenerative;
        /// What happens to corrupted packets at a satellite.
        on_board: NodeKind = NodeKind::Router;
        /// Functions at every satellite that see each packet passing through, in order.
        "middlebox" middleboxes: Vec<MiddleboxConfig> = Vec::new();
    }
}

either! {
    /// Satellites.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) enum Over {
        /// A constellation by name.
        Named(String);
        /// Over the equator.
        Slot(Slot);
        /// From a file.
        File(Elements);
        /// Of one's own.
        Shells(OwnShells);
        /// Several, in the order in which flows use them.
        Several(Vec<String>);
    }
}

settings! {
    /// One of several constellations. Its keys replace those of `[sky]`.
    #[derive(Clone, Debug)]
    pub(crate) struct Constellation {
        /// The satellites, as in `[sky]`, but no list. Without it, the constellation that has the name of the table.
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
        /// Gateways of this constellation. Fibres join them with each other, not with those of other constellations.
        gateway: Option<Vec<String>>;
        /// The way of packets from gateway to gateway.
        relay: Option<Relay>;
        /// Overlap at a handover between its satellites.
        make_before_break: Option<Duration>;
        /// Interruption at a handover between its satellites.
        break_before_make: Option<Duration>;
        /// Satellites, gateways, terminals and links out of use, with their times.
        failure: Option<Vec<SkyFailure>>;
        /// Rule for packets that wait for a satellite's link to a place when that goes to another satellite.
        waiting: Option<Waiting>;
        /// Rule for packets on that link.
        in_flight: Option<InFlight>;
        /// Whether the places that a satellite serves share its rate.
        shared: Option<bool>;
        /// Links between places and its satellites.
        user: Option<Hop>;
        /// Links between gateways and its satellites.
        feeder: Option<Hop>;
        /// Links between its satellites.
        inter_satellite: Option<Hop>;
        /// Links between its gateways.
        fibre: Option<Hop>;
        /// Treatment of the signal by its satellites, for links that have a radio.
        payload: Option<Payload>;
        /// Treatment of corrupted packets by its satellites.
        on_board: Option<NodeKind>;
        /// Functions at its satellites that see each packet passing through, in order.
        "middlebox" middleboxes: Option<Vec<MiddleboxConfig>>;
    }
}

settings! {
    /// A constellation of one's own.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct OwnShells {
        /// Its shells. Their satellites are used from 25 deg of elevation on and linked by `between_satellites = "grid"` unless other keys say otherwise.
        shells: Vec<OwnShell>, [1];
    }
}

settings! {
    /// Planes of equal orbits: Walker's i: T/P/F has P `planes`, T / P satellites `per_plane` and F as `phasing`.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct OwnShell {
        /// Number of planes.
        planes: u32, [1, 1000];
        /// Satellites in each.
        per_plane: u32, [1, 10_000];
        /// Height of circular orbits above a sphere of 6378.137 km; of the semi-major axis where they are ellipses. Needed without `mean_motion`.
        altitude_km: Option<f64>, [100.0, 400_000.0];
        /// Revolutions per day, in place of the height.
        mean_motion: Option<f64>, [0.1, 17.0];
        /// Inclination, degrees.
        inclination: f64, [0.0, 180.0];
        /// How far the planes spread.
        pattern: OwnPattern = OwnPattern::Delta;
        /// Walker's F: each plane is ahead of the one before it by F 360 deg / T.
        phasing: u32 = 0;
        /// Degrees by which every other plane is ahead, instead of `phasing`.
        odd_planes: Option<f64>, [-360.0, 360.0];
        /// Degrees between planes. Without it, they are evenly spread.
        spacing: Option<f64>, [0.0, 360.0];
        /// Right ascension of the first plane's node at the start, degrees.
        node: f64 = 0.0, [-360.0, 360.0];
        /// Mean anomaly of the first satellite at the start, degrees.
        anomaly: f64 = 0.0, [-360.0, 360.0];
        /// 0 for circles.
        eccentricity: f64 = 0.0, [0.0, 0.9];
        /// Argument of the perigee, degrees.
        perigee: f64 = 0.0, [-360.0, 360.0];
        /// How orbits change.
        motion: Motion = Motion::J2;
    }
}

words! {
    /// How far the planes of a shell spread.
    pub(crate) enum OwnPattern {
        /// All around the equator: inclined orbits.
        "delta" => Delta,
        /// Over half of it: polar orbits, with a seam.
        "star" => Star,
    }
}

words! {
    /// How orbits change.
    pub(crate) enum Motion {
        /// They drift by the secular terms of J2.
        "j2" => J2,
        /// Not at all.
        "kepler" => Kepler,
        /// By SGP4 without drag.
        "sgp4" => Sgp4,
    }
}

settings! {
    /// A geostationary satellite.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Slot {
        /// Degrees east; west is negative.
        geo: f64, [-180.0, 360.0];
        /// Of the orbit, degrees; with one, the satellite moves in a figure of eight once a day.
        inclination: f64 = 0.0, [0.0, 90.0];
    }
}

settings! {
    /// Satellites that a catalogue has, followed by SGP4.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Elements {
        /// A file of two-line elements or OMM (JSON, CSV, XML, KVN) beside the scenario or in a folder there.
        elements: String;
        /// Treatment of records that cannot be used, and of elements that are older than `elements_age_max`.
        bad: Bad = Bad::Refuse;
    }
}

words! {
    /// What to do with records that cannot be used.
    pub(crate) enum Bad {
        /// The file is refused, with the line.
        "refuse" => Refuse,
        /// They are left out.
        "skip" => Skip,
    }
}

either! {
    /// Which satellites places use.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) enum Selections {
        /// All places but gateways by the same rule.
        One(Selection);
        /// A rule for each kind of place, or for single places.
        Each(SelectionOf);
    }
}

settings! {
    /// Which satellite a place uses, by kind of place. A rule chooses among the satellites that reach most of the other ends of the place's flows.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct SelectionOf {
        /// Places other than gateways.
        user: Selection = Selection::Any;
        /// Gateways. With a rule a gateway has one antenna.
        gateway: Selection = Selection::Any;
        /// Single places, by name.
        place: BTreeMap<String, Selection> = BTreeMap::new();
    }
}

impl Selections {
    /// The rule of a place.
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
    /// Which satellite a place uses.
    pub(crate) enum Selection {
        /// Any in view: the path decides.
        "any" => Any,
        /// Always the highest.
        "highest" => Highest,
        /// Always the nearest.
        "nearest" => Nearest,
        /// One satellite until it is out of view; then the satellite that stays in view longest.
        "longest" => Longest,
        /// At checks about every 10 s: the highest, if the satellite in use has set, as in ns-2.
        "periodic" => Periodic,
        /// By lot, at seconds 12, 27, 42 and 57 of every minute, as Starlink was measured in 2024.
        "starlink" => Starlink,
    }
}

words! {
    /// Which of several paths is taken.
    pub(crate) enum Metric {
        /// That of the shortest delay.
        "delay" => Delay,
        /// That of the fewest hops; of these the one of the shortest delay.
        "hops" => Hops,
    }
}

words! {
    /// When another path is taken.
    pub(crate) enum PathChange {
        /// As soon as it is better.
        "better" => Better,
        /// When the one in use is broken.
        "broken" => Broken,
    }
}

either! {
    /// Links between satellites.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) enum BetweenSatellites {
        /// By a word.
        Kind(Between);
        /// In detail.
        Own(OwnLinks);
    }
}

settings! {
    /// Links between satellites in detail.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct OwnLinks {
        /// The pairs that are linked, by name, and no others. Without any, +Grid.
        pairs: Vec<(String, String)> = Vec::new();
        /// By how many places the neighbour in the next plane is ahead of the one with the same place.
        offset: u32 = 0, [0, 10_000];
        /// Whether links cross the seam of a star.
        seam: bool = false;
        /// Degrees of latitude beyond which links between planes are off; 90: nowhere. Without it, as the constellation has it.
        polar_cutoff: Option<f64>, [0.0, 90.0];
        /// The longest link. Without it, only the Earth limits them.
        max_km: Option<f64>, [1.0, 1_000_000.0];
        /// How high above the surface the line of sight must stay: 80 km clear most of the atmosphere; ns-2 has 150 km.
        above_km: f64 = 80.0, [0.0, 10_000.0];
    }
}

words! {
    /// Links between satellites.
    pub(crate) enum Between {
        /// None.
        "none" => Off,
        /// To the one ahead, the one behind, and the neighbours in the next planes; not where planes fly against each other.
        "grid" => Grid,
        /// The same, and across the seam of a star.
        "grid-and-seam" => Seam,
    }
}

words! {
    /// The way of packets from gateway to gateway.
    pub(crate) enum Relay {
        /// Fibre between all gateways.
        "fibre" => Fibre,
        /// Satellites: a gateway passes packets up again to any satellite in view. There are no fibres. Links between satellites remain.
        "ground" => Ground,
    }
}

words! {
    /// What a satellite does with the signal.
    pub(crate) enum Payload {
        /// Decodes it and sends it again: each link has noise and errors of its own.
        "regenerative" => Regenerative,
        /// Amplifies it with its noise: 1 / (C/N) = 1 / (C/N up) + 1 / (C/N down). Errors and coding are on the link between place and satellite, by its own modem (upwards, where the satellite stands between two places that are no gateways); the radio of the other way gives its noise alone.
        "transparent" => Transparent,
    }
}

settings! {
    /// A satellite, gateway or terminal that is out of use with all its links, or the link between two nodes.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct SkyFailure {
        /// The satellite, as `bentpipe sky` or the links of the resolved scenario name it.
        satellite: Option<String>;
        /// The gateway.
        gateway: Option<String>;
        /// The place whose terminal fails: all its links to satellites. Other constellations have other terminals.
        terminal: Option<String>;
        /// The two nodes whose link it is: satellites or places.
        link: Vec<String> = Vec::new();
        /// From when on.
        from: Time = Time::ZERO;
        /// Until when. Without it, for the rest of the run.
        to: Option<Time>;
    }
}

settings! {
    /// Several paths between the same two places that share nothing and whose delays have the least sum (Suurballe 1974). With `change = "broken"` all of them stay until one breaks.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Disjoint {
        /// How many.
        paths: u32, [2, 16];
        /// What they do not share.
        apart: Apart = Apart::Satellites;
        /// Which of them a flow takes, by the name of the flow: 1 is the shortest at that instant. All other flows take the first.
        flow: BTreeMap<String, u32> = BTreeMap::new();
    }
}

words! {
    /// What disjoint paths do not share.
    pub(crate) enum Apart {
        /// Satellites and gateways.
        "satellites" => Satellites,
        /// Links only.
        "links" => Links,
    }
}

settings! {
    /// Where a place is: at coordinates, or on its way.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Position {
        /// Degrees north.
        latitude: Option<f64>, [-90.0, 90.0];
        /// Degrees east.
        longitude: Option<f64>, [-180.0, 360.0];
        /// Above the ellipsoid, km.
        height_km: f64 = 0.0, [-0.5, 100.0];
        /// The city whose air and rain it has. A place that is a city has its own.
        climate: Option<String>;
        /// The constellations that the place uses, of the list in `sky.over`. Without it, all. A city needs no coordinates beside it.
        over: Vec<String> = Vec::new();
        /// For what moves: where it is when. It goes along great circles at constant speed, and waits at both ends.
        way: Vec<WayPoint> = Vec::new();
    }
}

settings! {
    /// A point that a ship, aircraft or vehicle passes.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct WayPoint {
        /// When, counted from the start of the run.
        time: Time;
        /// Degrees north.
        latitude: f64, [-90.0, 90.0];
        /// Degrees east.
        longitude: f64, [-180.0, 360.0];
        /// Above the ellipsoid, km.
        height_km: f64 = 0.0, [-0.5, 100.0];
    }
}

settings! {
    /// What links of a kind have in common: all keys of a link but its ends, its delay and its outages by geometry.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Hop {
        /// Bit rate, constant or over time.
        rate: Option<RateProfile> = None;
        /// Delays that vary, beside the propagation delay; several add up.
        jitter: Option<Jitters> = None;
        /// The queue in front of the link.
        queue: Option<Queue> as Maybe<LimitOrKind> = None;
        /// What corrupts packets.
        error: Option<Errors> = None;
        /// What spreads errors.
        interleave: Option<Interleave> = None;
        /// What protects bits.
        coding: Option<Coding> = None;
        /// What sends damaged packets again.
        arq: Option<Arq> = None;
        /// What a packet occupies beside its own bytes.
        framing: Option<Framing> = None;
        /// The largest packet that the links take.
        mtu: Option<Mtu> = None;
        /// When the link carries nothing, besides.
        outage: Option<OutageKeys> = None;
        /// The radio link upwards, or towards the second name of a link: with it, errors and coding follow from distance, air and rain.
        up: Option<Radio> = None;
        /// The radio link downwards, or towards the first name of a link.
        down: Option<Radio> = None;
        /// What differs upwards, or towards the second name of a link.
        forward: Direction = Direction::default();
        /// What differs downwards, or towards the first name of a link.
        reverse: Direction = Direction::default();
    }
}
