//! A path over satellites: over what, from where, and what its links bear.

use super::instant::{Age, Instant};
use super::{Direction, Errors, OutageKeys, RateProfile};
use crate::middlebox::MiddleboxConfig;
use crate::spec::{
    Acm, Arq, Coding, Framing, InFlight, Interleave, LimitOrKind, Losses, Modcod, Mtu, NodeKind, Queue, Waiting,
};
use bentpipe_units::settings::{Angle, Level, Maybe};
use bentpipe_units::{either, kinds, settings, words, Duration, Time};
use std::collections::BTreeMap;

settings! {
    /// The sky over the scenario: nodes that have the name of a place are on the ground there, and what flows between places goes over the satellites that are in view. Before the run it becomes links whose delays follow the geometry, and routes that change in `[[at]]`; that is what the resolved scenario shows.
    #[derive(Clone, Debug)]
    pub(crate) struct Sky {
        /// The satellites: a constellation by name (`bentpipe list constellations`), a slot over the equator, or a file of elements.
        over: Over;
        /// When the run begins, in UTC, as `2026-06-14T12:00:00Z`; a date of TOML will do, too. Without it, a constellation begins at 2000-01-01, elements at the median of their epochs (of each object the newest).
        start: Option<Instant>;
        /// Elements of a file are refused if they are farther than this from any instant of the run. Starlink is thousands of km off its elements after 90 days.
        elements_age_max: Age = Age(90 * 86_400);
        /// How often paths are looked at. Every change stands at a multiple of it.
        step: Duration = Duration::from_secs_f64(1.0);
        /// Which satellite a place uses.
        selection: Selection = Selection::Any;
        /// Which of several paths is taken.
        metric: Metric = Metric::Delay;
        /// When another path is taken.
        change: PathChange = PathChange::Better;
        /// Satellites are used above this elevation. Without it, that of the constellation; 25 deg for elements, 5 deg for a slot.
        elevation_min: Option<Angle>;
        /// Satellites are used up to this distance in km instead, whatever their elevation.
        range_max_km: Option<f64>, [1.0, 1_000_000.0];
        /// Links between satellites. Without it, those of the constellation.
        between_satellites: Option<BetweenSatellites>;
        /// Gateways, by name of place. With any, satellites are bent pipes: all goes down to a gateway, on by fibre to the next, and up again.
        gateway: Vec<String> = Vec::new();
        /// How much longer a fibre between gateways is than the great circle; light takes 4.9 us per km in it.
        stretch: f64 = 1.5, [1.0, 10.0];
        /// Chooses the lots of `selection = "starlink"` and the rain: another seed is another day. Replications of a scenario share it.
        seed: u64 = 1;
        /// Rain on links that have a `radio`.
        rain: Rain = Rain::Off;
        /// Clouds on links that have a `radio`, as they are exceeded in a share of an average year (ITU-R P.840-8). Without it, there are none.
        clouds: Option<Clouds>;
        /// Scintillation on links that have a `radio`, as a fade that is exceeded in a share of an average year (ITU-R P.618-13). Without it, there is none.
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
        /// What becomes of packets that wait for a satellite's link to a place when that goes to another satellite.
        waiting: Waiting = Waiting::Lost;
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
        /// Height of circular orbits above a sphere of 6378.137 km; of the semi-major axis where they are ellipses.
        altitude_km: f64, [100.0, 400_000.0];
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
        /// What to do with records that cannot be used, and with elements that are older than `elements_age_max`.
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
        /// At checks about every 10 s: the highest, if the one in use has set. So does ns-2.
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
    /// What a satellite does with the signal.
    pub(crate) enum Payload {
        /// Decodes it and sends it again: each link has noise and errors of its own.
        "regenerative" => Regenerative,
        /// Amplifies it with its noise: 1 / (C/N) = 1 / (C/N up) + 1 / (C/N down). Errors and coding are on the link between place and satellite, by its own modem (upwards, where the satellite stands between two places that are no gateways); the radio of the other way gives its noise alone.
        "transparent" => Transparent,
    }
}

settings! {
    /// A satellite or gateway that is out of use with all its links, or the link between two nodes.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct SkyFailure {
        /// The satellite, as `bentpipe sky` or the links of the resolved scenario name it.
        satellite: Option<String>;
        /// The gateway.
        gateway: Option<String>;
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
        /// Above the ellipsoid, m.
        height: f64 = 0.0, [-500.0, 100_000.0];
        /// The city whose air and rain it has. A place that is a city has its own.
        climate: Option<String>;
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

settings! {
    /// Clouds over all places.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Clouds {
        /// Of the year, per cent. Beside rain that is exceeded in less than 1 %, 1 % (P.618-13 §2.5).
        percent: f64 = 1.0, [1.0, 50.0];
    }
}

settings! {
    /// Scintillation over all places. With rain and clouds it adds up as sqrt((rain + clouds)² + scintillation²).
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Scintillation {
        /// Of the year, per cent.
        percent: f64 = 1.0, [0.001, 50.0];
    }
}

settings! {
    /// A transmitter, a receiver, and how bits are sent. The link's rate is constant.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Radio {
        /// Carrier, GHz.
        frequency_ghz: f64, [1.0, 350.0];
        /// Effective isotropic radiated power, dBW.
        eirp_dbw: f64, [-100.0, 200.0];
        /// Gain of the receiver over its noise temperature, dB/K.
        g_over_t_db_k: f64, [-100.0, 200.0];
        /// Everything else that the signal loses: pointing, polarisation, feeders.
        losses: Level = Level(0.0);
        /// Carrier over interference (other satellites and beams, the other polarisation), in the bandwidth of the symbols (those of QPSK with `convolutional` and `ldpc`). Without it, there is none.
        c_over_i: Option<Level>;
        /// Diameter of the antenna on the ground, which averages scintillation, m; its efficiency is 0.5.
        antenna_m: f64 = 0.6, [0.0, 100.0];
        /// How bits are sent.
        modem: Modem;
    }
}

kinds! {
    /// How bits are sent.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) enum Modem as "Modem" {
        /// Without coding: bits are hit with the probability that the modulation has.
        "uncoded" => Uncoded {
            /// How bits become symbols.
            modulation: Modulation = Modulation::Qpsk;
        };
        /// By the convolutional code of rate 1/2. Packets have half of the link's rate.
        "convolutional" => Convolutional;
        /// By a low-density parity-check code with blocks of 1024 bits. Packets have `code_rate` of the link's rate.
        "ldpc" => Ldpc {
            /// Bits of packets in a bit that is sent.
            code_rate: f64 = 0.5, [0.05, 1.0];
            /// The Eb/N0 at which half of the blocks are lost.
            threshold: Level = Level(2.2), "reading: for code_rate 0.5, not compared with the curves of CCSDS";
            /// How steep losses are around it, a in erfc(a (Eb/N0 - threshold)) / 2, per dB.
            steepness: f64 = 3.0, [0.1, 100.0], "reading: not compared with the curves of CCSDS";
        };
        /// By DVB-S2. The link's rate counts symbols.
        "dvb-s2" => DvbS2 {
            /// Modulation and code, always the same. Without it they adapt.
            modcod: Option<Modcod>;
            /// How they adapt. Without it and without `modcod`, with reports that are 40 ms old over a low orbit and 500 ms over a geostationary one.
            acm: Option<Acm>;
            /// What a real receiver needs beyond the ideal thresholds.
            implementation_loss: Level = Level(1.0), "ETSI TR 102 376-1";
            /// How losses depend on the signal.
            losses: Losses = Losses::Step;
        };
    }
}

words! {
    /// How bits become symbols, Gray-coded.
    pub(crate) enum Modulation {
        /// One bit in a symbol.
        "bpsk" => Bpsk,
        /// Two bits.
        "qpsk" => Qpsk,
        /// Three bits.
        "8psk" => Psk8,
        /// Four bits, on two rings.
        "16apsk" => Apsk16,
    }
}

kinds! {
    /// Rain on radio links, by ITU-R P.618-13.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) enum Rain as "Rain" {
        /// None.
        "none" => Off;
        /// As heavy as it is exceeded in a share of an average year: what a link of that availability has to bear.
        "exceeded" => Exceeded {
            /// Of the year, per cent.
            percent: f64 = 0.1, [0.001, 5.0];
        };
        /// As it comes and goes over each place: log-normal, changing by 2e-4 per second (Maseng and Bakken 1981).
        "series" => Series {
            /// Per cent of the year in which it rains.
            rainy_percent: f64 = 5.0, [0.01, 99.0], "reading: P.837 has it by place";
        };
        /// As it was measured, from files.
        "file" => Files {
            /// The series of each place, by its name. Over other places it does not rain.
            place: BTreeMap<String, Gauge>;
        };
    }
}

settings! {
    /// Rain over a place: a CSV file whose first column is the time and whose first row is the start of the run. A row holds until the next one; the last one stays.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Gauge {
        /// The file, beside the scenario or in a folder there.
        file: String;
        /// The column, where there are several: a rate of rain if its name ends in `_mm_h`, an attenuation if it ends in `_db`. A rate becomes attenuation by P.838-3 over the effective path of P.618-13 at that rate.
        column: Option<String>;
        /// How far into the series the run begins.
        begin: Duration = Duration::ZERO;
        /// The series starts again every so often.
        every: Option<Duration>;
        /// The carrier at which an attenuation was measured, GHz; links with another one have it scaled (P.618-13 §2.2.1.3.1, 7 to 55 GHz). Without it, all links of the place have it as it is.
        frequency_ghz: Option<f64>, [7.0, 55.0];
    }
}
