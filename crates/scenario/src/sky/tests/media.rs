//! Links between places and satellites in media.

use super::said;
use crate::{from_toml, Resolved};
use bentpipe_model::spec::{Change, Link, Profile};
use bentpipe_orbit::budget::climate::climate;
use bentpipe_orbit::budget::radio::{Conditions, Radio};
use bentpipe_orbit::budget::rain::RainClimate;
use bentpipe_orbit::budget::Ray;
use bentpipe_units::{Duration, Time};

/// Two places on the equator: A below the satellite, and B 10 degrees (1113 km) east of it.
const GEO: &str = "\
duration = '60 s'
[sky]
over = { geo = 0 }
gateway = ['Madrid']
[sky.place.A]
latitude = 0
longitude = 0
climate = 'Libreville'
[sky.place.B]
latitude = 0
longitude = 10
climate = 'Libreville'
[sky.user.forward]
medium = 'up'
access = { volume_based = true }
[sky.user.up]
frequency_ghz = 20
eirp_dbw = 52
g_over_t_db_k = 10
[sky.user.reverse]
medium = 'down'
es_n0 = '13 dB'
[medium.up]
kind = 'mf-tdma'
symbol_rate = '1 Mbaud'
carriers = 2
controller = 'Madrid'
[medium.down]
kind = 'tdm'
symbol_rate = '20 Mbaud'
[flow.a]
from = 'A'
to = 'Madrid'
[flow.b]
from = 'Madrid'
to = 'B'
";

/// Places over many satellites. Each satellite has its own cell.
const LEO: &str = "\
duration = '60 s'
[sky]
over = 'starlink-shell-1'
gateway = ['Madrid']
between_satellites = 'none'
selection = 'starlink'
[sky.user]
forward.medium = 'up'
reverse.medium = 'down'
[medium.up]
kind = 'leo-cell'
rate = '30 Mbit/s'
controller = '{satellite}'
[medium.down]
kind = 'leo-cell'
rate = '300 Mbit/s'
controller = '{satellite}'
[flow.a]
from = 'Lisbon'
to = 'Madrid'
[flow.b]
from = 'Madrid'
to = 'Paris'
";

fn with(text: &str, sets: &[(&str, &str)]) -> Result<Resolved, String> {
    let sets: Vec<_> = sets.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    from_toml(text, "f.toml", &sets).map_err(|problems| problems.to_string())
}

fn link<'a>(resolved: &'a Resolved, name: &str) -> &'a Link {
    resolved.scenario.links.iter().find(|link| link.name == name).unwrap_or_else(|| panic!("{name}"))
}

/// Es/N0 of a link at an instant, in dB.
fn es_n0(resolved: &Resolved, name: &str, t: u64) -> f64 {
    match link(resolved, name).terminal.as_ref().unwrap().es_n0.as_ref().unwrap() {
        Profile::Constant(level) => *level,
        Profile::Points { points, .. } => {
            let next = points.partition_point(|point| point.0 <= Time::ZERO + Duration::from_secs(t));
            points[next - 1].1
        }
    }
}

/// 20 GHz vertically up to a slot over the equator, with 1 Mbaud. By hand: 52 + 10 + 228.599 - 209.541 (free space over
/// 35 786 km) - 60 = 21.06 dB, less gases.
#[test]
fn the_radio_gives_the_signal_in_a_medium() {
    let resolved = with(GEO, &[]).unwrap();
    let air = climate("Libreville").unwrap();
    let radio = Radio {
        frequency_ghz: 20.0,
        eirp_dbw: 52.0,
        g_over_t_db_k: 10.0,
        noise_k: f64::INFINITY,
        losses_db: 0.0,
        c_over_i_db: f64::INFINITY,
        symbols_per_s: 1e6,
        tilt_deg: 45.0,
    };
    let gases = radio.attenuation(&air, 90.0, Conditions::default()).unwrap().gases_db;
    assert!((0.2..1.0).contains(&gases), "{gases}");
    let found = es_n0(&resolved, "A~geo.forward", 0);
    assert!((found - (21.06 - gases)).abs() < 0.01, "{found}");
    assert!((es_n0(&resolved, "A~geo.reverse", 0) - 13.0).abs() < 1e-9);
    // Twice the symbols have half of the energy.
    let faster = with(GEO, &[("medium.up.symbol_rate", "'2 Mbaud'")]).unwrap();
    assert!((found - es_n0(&faster, "A~geo.forward", 0) - 3.01).abs() < 0.011);
    assert_eq!(resolved.digest(), from_toml(&resolved.to_toml(), "again", &[]).unwrap().digest());
}

/// A cell of 40 mm/h moves along the equator from 20 km west of A to 20 km east of it, at 1 km/s. B stays dry.
#[test]
fn a_rain_cell_passes_over_one_place() {
    let degrees = 20.0 / (6378.137 * std::f64::consts::PI / 180.0);
    let way = format!(
        "[{{ time = '5 s', latitude = 0, longitude = -{degrees:.9} }}, \
         {{ time = '45 s', latitude = 0, longitude = {degrees:.9} }}]"
    );
    let cell = format!("{{ kind = 'cell', rate_mm_h = 40, radius_km = 5, way = {way} }}");
    let [dry, wet] = [0.0, 40.0].map(|rate: f64| {
        let rate = format!("{rate}");
        with(GEO, &[("sky.rain", &cell), ("sky.rain.rate_mm_h", &rate)]).unwrap()
    });
    let rain = climate("Libreville").unwrap().rain;
    let ray = Ray { frequency_ghz: 20.0, elevation_deg: 90.0, tilt_deg: 45.0 };
    let mut most: f64 = 0.0;
    for t in 0..60 {
        let km = (t.clamp(5, 45) as f64 - 25.0).abs();
        let rate_001_mm_h = 40.0 * (-km / 5.0).exp();
        let expected = RainClimate { rate_001_mm_h, ..rain }.attenuation_001_db(&ray).unwrap();
        let found = es_n0(&dry, "A~geo.forward", t) - es_n0(&wet, "A~geo.forward", t);
        assert!((found - expected).abs() < 0.11, "{t}: {found} {expected}");
        most = most.max(found);
        assert!((es_n0(&dry, "B~geo.forward", t) - es_n0(&wet, "B~geo.forward", t)).abs() < 1e-9);
    }
    assert!(most > 6.0, "{most}");
    // The number of the waveform falls for A alone. 0: the signal permits none.
    let bentpipe_model::spec::MediumKind::MfTdma(up) = &wet.scenario.media[1].kind else {
        panic!("{:?}", wet.scenario.media)
    };
    let waveform =
        |place: &str, t: u64| up.waveform_for(es_n0(&wet, &format!("{place}~geo.forward"), t)).map_or(0, |of| of.id());
    assert!(waveform("A", 25) + 2 < waveform("A", 0), "{} {}", waveform("A", 25), waveform("A", 0));
    assert_eq!(waveform("B", 25), waveform("B", 0));
}

/// The carrier of B is as strong as the weaker of both hops permits.
#[test]
fn a_transparent_satellite_adds_the_noise_of_the_feeder() {
    let radio = |eirp: f64| format!("{{ frequency_ghz = 12, eirp_dbw = {eirp}, g_over_t_db_k = 20 }}");
    let of = |eirp: f64| {
        let sets = [("sky.payload", "'transparent'"), ("sky.feeder.down", &radio(eirp))];
        es_n0(&with(GEO, &sets).unwrap(), "A~geo.forward", 0)
    };
    let alone = es_n0(&with(GEO, &[]).unwrap(), "A~geo.forward", 0);
    let [strong, weak, weaker] = [90.0, 20.0, 10.0].map(of);
    assert!((strong - alone).abs() < 0.02, "{strong} {alone}");
    // 10 dB less, of a sum of two: less than 10 dB.
    assert!(weak < alone && weak - weaker > 7.0 && weak - weaker < 10.0, "{alone} {weak} {weaker}");
}

#[test]
fn each_satellite_has_its_own_media() {
    let resolved = with(LEO, &[]).unwrap();
    let scenario = &resolved.scenario;
    let users = scenario.links.iter().filter(|link| link.terminal.is_some());
    let mut satellites = std::collections::BTreeSet::new();
    for link in users {
        let (entry, side) = link.name.rsplit_once('.').unwrap();
        let satellite = entry.rsplit_once('~').unwrap().1;
        satellites.insert(satellite.to_owned());
        let medium = &scenario.media[link.terminal.as_ref().unwrap().medium];
        let way = if side == "forward" { "up" } else { "down" };
        assert_eq!(medium.name, format!("{way} {satellite}"));
        assert_eq!(scenario.nodes[medium.controller].name, satellite);
        assert!(!entry.starts_with("Madrid"), "{entry}");
    }
    assert!(satellites.len() > 3);
    assert_eq!(scenario.media.len(), 2 * satellites.len());
    assert_eq!(resolved.digest(), from_toml(&resolved.to_toml(), "again", &[]).unwrap().digest());
    // One satellite alone keeps the names.
    let names: Vec<String> = with(GEO, &[]).unwrap().scenario.media.iter().map(|of| of.name.clone()).collect();
    assert_eq!(names, ["down", "up"]);
}

/// A terminal is up in the media of the satellites that its place uses, and in no others.
#[test]
fn a_place_is_in_the_media_of_its_satellite_alone() {
    let resolved = with(LEO, &[]).unwrap();
    let scenario = &resolved.scenario;
    let mut up: std::collections::BTreeSet<&str> =
        scenario.links.iter().filter(|link| link.terminal.is_some()).map(|link| link.name.as_str()).collect();
    let mut changes = scenario.timeline.changes.iter().peekable();
    while let Some(at) = changes.peek().map(|next| next.0) {
        while let Some((_, change)) = changes.next_if(|next| next.0 == at) {
            match change {
                Change::Up(link) => up.insert(&scenario.links[*link].name),
                Change::Down { link, .. } => up.remove(scenario.links[*link].name.as_str()),
                _ => continue,
            };
        }
        for place in ["Lisbon~", "Paris~"] {
            let of: Vec<_> = up.iter().filter(|name| name.starts_with(place)).collect();
            assert_eq!(of.len(), 2, "{at}: {of:?}");
        }
    }
}

#[test]
fn what_contradicts_a_medium_is_refused_at_its_key() {
    let radio = "{ frequency_ghz = 12, eirp_dbw = 50, g_over_t_db_k = 14 }";
    for (text, key, value, message, expected) in [
        (GEO, "sky.user.up.modem", "'dvb-s2'", "sky.user.up.modem excludes medium", "without modem"),
        (GEO, "sky.user.up.symbol_rate", "'2 Mbaud'", "sky.user.up.symbol_rate excludes medium", "without symbol_rate"),
        (GEO, "sky.user.forward.es_n0", "'9 dB'", "sky.user.up excludes es_n0", "the radio provides the signal"),
        (GEO, "sky.user.forward.rate", "'1 Mbit/s'", "sky.user.forward.rate excludes medium", "not both"),
        (GEO, "sky.user.forward.coding", "{ kind = 'convolutional' }", "forward.coding excludes medium", "not both"),
        (GEO, "sky.user.forward.medium", "'upp'", "= \"upp\" is not a medium of this scenario", "did you mean \"up\""),
        (GEO, "sky.user.forward.access", "{ weight = 2 }", "sky.user.forward.access brings no slot", "volume_based"),
        (GEO, "sky.user.reverse.access", "{ weight = 2 }", "belongs to a return link", "or no access"),
        (GEO, "sky.feeder.medium", "'up'", "sky.feeder.medium is not between places and satellites", "sky.user"),
        (GEO, "sky.fibre.forward.medium", "'up'", "sky.fibre.forward.medium is not between places", "sky.user"),
        (GEO, "sky.shared", "true", "sky.shared excludes medium", "places share its capacity"),
        (GEO, "medium.up.controller", "'Madri'", "medium.up.controller = \"Madri\" is not a node", "\"Madrid\""),
        (GEO, "medium.up.carriers", "0", "medium.up.carriers = 0 is out of range", "1 to 10000"),
        (GEO, "medium.up.superframe", "'1 us'", "is shorter than one burst", "536 us"),
        (LEO, "sky.user.reverse.medium", "'up'", "sky.user has medium \"up\" in both directions", "one medium per"),
        (LEO, "sky.user.up", radio, "sky.user.up has no effect in a cell", "medium without a radio"),
        (LEO, "sky.user.forward.es_n0", "'9 dB'", "sky.user.forward.es_n0 has no effect in a cell", "without es_n0"),
        (LEO, "medium.up.controller", "'{satellites}'", "is not a node", "did you mean \"{satellite}\""),
        (LEO, "medium.up.rate", "'1 Mbit/s'", "medium.up.rate = \"1 Mbit/s\" gives a slot 13 B", "at least 16 B"),
    ] {
        let said = with(text, &[(key, value)]).expect_err(message);
        assert!(said.contains(message) && said.contains(expected), "{key} = {value}: {said}");
        // Each problem is one of the file, not one of each link or satellite.
        assert_eq!(said.matches("expected").count(), 1, "{said}");
    }
    // Counted places may be controllers, so that this is found for each satellite only.
    let crew = "[link.lan]\nfrom = 'crew{n}'\nto = 'Madrid'\ncount = 2\nrate = '1 Gbit/s'\ndelay = '1 ms'\n\
                [flow.crew]\nfrom = 'crew{n}'\nto = 'Lisbon'\ncount = 2\n[flow.a]";
    let late = with(&LEO.replace("[flow.a]", crew), &[("medium.up.controller", "'nowhere'")]).unwrap_err();
    assert!(late.contains("error: medium.up.controller = \"nowhere\" is not a node"), "{late}");
    assert_eq!(late.matches("expected").count(), 1, "{late}");
    let said = said(&GEO.replace("es_n0 = '13 dB'\n", ""));
    assert!(said.contains("sky.user.reverse.medium needs the signal") && said.contains("sky.user.down, or"), "{said}");
    let said = with(&GEO.replace("medium = 'up'\naccess = { volume_based = true }\n", ""), &[]).unwrap_err();
    assert!(said.contains("sky.user.up has neither a modem nor a medium"), "{said}");
}

/// The link up of a transparent satellite without gateways has the noise of both links.
#[test]
fn a_link_that_only_forwards_symbols_has_no_medium() {
    let radio = "{ frequency_ghz = 12, eirp_dbw = 50, g_over_t_db_k = 14 }";
    let text = GEO.replace("gateway = ['Madrid']", "payload = 'transparent'").replace("es_n0 = '13 dB'\n", "");
    let said = with(&text, &[("sky.user.down", radio)]).unwrap_err();
    assert!(said.contains("sky.user.down forwards the symbols of the other direction"), "{said}");
}
