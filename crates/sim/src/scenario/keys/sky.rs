//! A path over satellites: over what, from where, and what its links bear.

use super::{Direction, Errors, OutageKeys, RateProfile};
use crate::middlebox::MiddleboxConfig;
use crate::spec::{Arq, Coding, InFlight, Interleave, LimitOrKind, Queue, Waiting};
use bentpipe_units::settings::{Angle, Maybe};
use bentpipe_units::{either, settings, words, Duration, Time};
use std::collections::BTreeMap;

settings! {
    /// The sky over the scenario: nodes that have the name of a place are on the ground there, and what flows between places goes over the satellites that are in view. Before the run it becomes links whose delays follow the geometry, and routes that change in `[[at]]`; that is what the resolved scenario shows.
    #[derive(Clone, Debug)]
    pub(crate) struct Sky {
        /// The satellites: a constellation by name (`bentpipe list constellations`), a slot over the equator, or a file of elements.
        over: Over;
        /// When the run begins, in UTC, as `2026-06-14T12:00:00Z`. Without it, a constellation begins at 2000-01-01, elements at the median of their epochs.
        start: Option<String>;
        /// How often paths are looked at. Every change stands at a multiple of it.
        step: Duration = Duration::from_secs_f64(1.0);
        /// Which satellite a place uses.
        selection: Selection = Selection::Any;
        /// Which of several paths is taken.
        metric: Metric = Metric::Delay;
        /// When another path is taken.
        change: PathChange = PathChange::Better;
        /// Satellites are used above this elevation. Without it, that of the constellation, or 5 deg where it has none.
        elevation_min: Option<Angle>;
        /// Links between satellites. Without it, those of the constellation.
        between_satellites: Option<Between>;
        /// Gateways, by name of place. With any, satellites are bent pipes: all goes down to a gateway, on by fibre to the next, and up again.
        gateway: Vec<String> = Vec::new();
        /// How much longer a fibre between gateways is than the great circle; light takes 4.9 us per km in it.
        stretch: f64 = 1.5, [1.0, 10.0];
        /// What each satellite and gateway on the way adds to a delay when paths are chosen.
        hop_delay: Duration = Duration::ZERO;
        /// How long a place keeps the link to a satellite that it leaves for another.
        make_before_break: Option<Duration>;
        /// How long a place has no satellite when it leaves one for another. With neither, both happen at once.
        break_before_make: Option<Duration>;
        /// What becomes of packets that wait for a satellite's link to a place when that goes to another satellite.
        waiting: Waiting = Waiting::Lost;
        /// What becomes of packets on that link.
        in_flight: InFlight = InFlight::Lost;
        /// Whether the places that a satellite serves share its rate, up and down, or have a link each.
        shared: bool = false;
        /// Places besides cities (`bentpipe list cities`), by name.
        place: BTreeMap<String, Position> = BTreeMap::new();
        /// Links between places and satellites; forward is up. Without a rate, 20 Mbit/s up and 100 Mbit/s down.
        user: Hop = Hop::default();
        /// Links between gateways and satellites; forward is up. Without a rate, 1 Gbit/s.
        feeder: Hop = Hop::default();
        /// Links between satellites. Without a rate, 10 Gbit/s.
        inter_satellite: Hop = Hop::default();
        /// Links between gateways. Without a rate, 10 Gbit/s.
        fibre: Hop = Hop::default();
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
        /// What to do with records that cannot be used.
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

words! {
    /// Which satellite a place uses.
    pub(crate) enum Selection {
        /// Any in view: the path decides.
        "any" => Any,
        /// Always the highest.
        "highest" => Highest,
        /// Always the nearest.
        "nearest" => Nearest,
        /// Until it is out of view; then the one that stays in view longest.
        "longest" => Longest,
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

settings! {
    /// Where a place is: at coordinates, or on its way.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Position {
        /// Degrees north.
        latitude: Option<f64>, [-90.0, 90.0];
        /// Degrees east.
        longitude: Option<f64>, [-180.0, 360.0];
        /// Above the ellipsoid, m.
        height: f64 = 0.0, [-500.0, 100_000.0];
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
        /// Above the ellipsoid, m.
        height: f64 = 0.0, [-500.0, 100_000.0];
    }
}

settings! {
    /// What links of a kind have in common: all keys of a link but its ends, its delay and its outages by geometry.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Hop {
        /// Bit rate, constant or over time.
        rate: Option<RateProfile> = None;
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
        /// When the link carries nothing, besides.
        outage: Option<OutageKeys> = None;
        /// What differs upwards, or towards the second name of a link.
        forward: Direction = Direction::default();
        /// What differs downwards, or towards the first name of a link.
        reverse: Direction = Direction::default();
    }
}
