//! Scenarios with a sky.

mod media;
mod several;

use crate::{from_toml, Resolved};
use bentpipe_model::spec::{Change, Profile};
use bentpipe_orbit::sky::epoch::Epoch;
use bentpipe_orbit::sky::places::Place;
use bentpipe_orbit::sky::presets::preset;
use bentpipe_orbit::sky::route::{routes, servings_while, Over, Routing};
use bentpipe_orbit::sky::selection::{Rule, Slots};
use bentpipe_orbit::sky::span::Span;
use bentpipe_units::{Duration, Time};

fn read(sky: &str) -> Resolved {
    let text = format!(
        "duration = '60 s'\n[sky]\nover = 'starlink-shell-1'\n{sky}\n[flow.bulk]\nfrom = 'London'\nto = 'New York'\n"
    );
    from_toml(&text, "f", &[]).unwrap_or_else(|problems| panic!("{problems}"))
}

fn said(text: &str) -> String {
    from_toml(text, "f.toml", &[]).expect_err("it is wrong").to_string()
}

/// The delay along the links of a route at an instant, s.
fn delay(resolved: &Resolved, route: &[bentpipe_model::ids::LinkId], t: f64) -> f64 {
    let link = |link: &bentpipe_model::ids::LinkId| match &resolved.scenario.links[*link].delay {
        Profile::Constant(delay) => delay.as_secs_f64(),
        Profile::Points { points, .. } => {
            let points: Vec<(f64, f64)> =
                points.iter().map(|(at, delay)| ((*at - Time::ZERO).as_secs_f64(), delay.as_secs_f64())).collect();
            let next = points.partition_point(|point| point.0 <= t).clamp(1, points.len() - 1);
            let [a, b] = [points[next - 1], points[next]];
            a.1 + (b.1 - a.1) * ((t - a.0) / (b.0 - a.0)).clamp(0.0, 1.0)
        }
    };
    route.iter().map(link).sum()
}

#[test]
fn the_links_of_a_route_are_as_long_as_the_path_over_the_sky() {
    let resolved = read("");
    let mut sky = preset("starlink-shell-1").unwrap().sky(Epoch::Y2000).unwrap();
    sky.places = vec![Place::city("London").unwrap(), Place::city("New York").unwrap()];
    let span = Span::new(0.0, 60.0, 1.0).unwrap();
    let path = &routes(&sky, &[(0, 1)], &Routing::default(), span, None).unwrap()[0];
    let lane = &resolved.scenario.lanes[0];
    let mut now = [lane.route.to_vec(), lane.reverse_route.to_vec()];
    let mut changes = resolved.scenario.timeline.changes.iter().peekable();
    let mut installed = 0;
    for (t, expected) in span.times().zip(&path.delays_s) {
        while let Some((_, change)) = changes.next_if(|(at, _)| *at <= Time::ZERO + Duration::from_secs_f64(t)) {
            if let Change::Install { path, route } = change {
                now[usize::from(path.is_back())].clone_from(route);
                installed += 1;
            }
        }
        for way in &now {
            let found = delay(&resolved, way, t);
            // Linear interpolation is off by up to 0.7 us on each of about ten links.
            assert!((found - expected).abs() < 5e-6, "{t}: {found} {expected}");
        }
    }
    assert_eq!(installed, 2 * (path.changes.len() - 1));
    assert!(path.changes.len() > 2);
}

#[test]
fn what_is_resolved_means_the_same_without_the_sky() {
    for handover in ["break_before_make = '200 ms'", "make_before_break = '50 ms'", "make_before_break = '70 s'"] {
        let resolved = read(&format!("{handover}\nwaiting = 'kept'\nin_flight = 'delivered'\nshared = true"));
        let again = from_toml(&resolved.to_toml(), "f", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(resolved.digest(), again.digest(), "{handover}");
        assert!(resolved.to_json().get("sky").is_none());
    }
}

#[test]
fn satellites_that_are_left_are_taken_away_and_come_back() {
    // With Iridium's cross-links, a place sees the same satellites again after one orbit.
    let text = "duration = '7000 s'\n[sky]\nover = 'iridium'\nstep = '10 s'\nselection = 'longest'\n\
                [flow.a]\nfrom = 'London'\nto = 'Nairobi'\n";
    let resolved = from_toml(text, "f", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let mut down = std::collections::BTreeSet::new();
    let (mut downs, mut ups) = (0, 0);
    for (_, change) in &resolved.scenario.timeline.changes {
        match change {
            Change::Down { link, .. } => {
                assert!(down.insert(*link));
                downs += 1;
            }
            Change::Up(link) => {
                assert!(down.remove(link));
                ups += 1;
            }
            Change::Install { route, .. } => assert!(route.iter().all(|link| !down.contains(link))),
            Change::Withdraw(_) => {}
        }
    }
    assert!(downs > 20 && ups > 0, "{downs} {ups}");
}

#[test]
fn gateways_are_joined_by_fibre_and_satellites_are_bent_pipes() {
    let resolved = read("between_satellites = 'none'\ngateway = ['Madrid', 'Boston']\nfibre.rate = '1 Gbit/s'");
    let names: Vec<&str> = resolved.scenario.links.iter().map(|link| link.name.as_str()).collect();
    assert!(names.contains(&"Madrid~Boston.forward"), "{names:?}");
    let is_between =
        |name: &&&str| !["London", "New York", "Madrid", "Boston"].iter().any(|place| name.starts_with(place));
    assert_eq!(names.iter().filter(is_between).count(), 0);
}

#[test]
fn hosts_behind_a_place_reach_it_by_their_own_links() {
    let text = "duration = '10 s'\n[sky]\nover = 'starlink-shell-1'\n\
                [link.lan]\nfrom = 'host{n}'\nto = 'London'\ncount = 2\nrate = '1 Gbit/s'\ndelay = '1 ms'\n\
                [flow.a]\nfrom = 'host{n}'\nto = 'Paris'\ncount = 2\n";
    let resolved = from_toml(text, "f", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    for lane in &resolved.scenario.lanes {
        assert!(resolved.scenario.links[lane.route[0]].name.starts_with("lan"));
        assert!(resolved.scenario.links[lane.route[1]].name.starts_with("London~"));
    }
}

/// A flow without a count may name one of the nodes of a counted link, as without a sky. The other nodes are idle.
#[test]
fn a_flow_ends_at_one_node_of_a_counted_link() {
    let flows = |ends: &str| {
        let text = format!(
            "duration = '10 s'\n[sky]\nover = {{ geo = -30 }}\ngateway = ['Madrid']\n\
             [link.lan]\nfrom = 'crew{{n}}'\nto = 'switch{{n}}'\ncount = 2\nrate = '1 Gbit/s'\ndelay = '1 ms'\n\
             [link.up]\nfrom = 'switch{{n}}'\nto = 'Lisbon'\ncount = 2\nrate = '1 Gbit/s'\ndelay = '1 ms'\n\
             [flow.download]\n{ends}\n"
        );
        from_toml(&text, "f.toml", &[])
    };
    let routes = |ends: &str| {
        let resolved = flows(ends).unwrap_or_else(|problems| panic!("{problems}"));
        let routes: Vec<_> = resolved.scenario.lanes.iter().map(|lane| named(&resolved, &lane.route)).collect();
        routes
    };
    let one = routes("from = 'Madrid'\nto = 'crew2'");
    assert_eq!(one[0][2..], ["up2", "lan2"]);
    assert_eq!(one[0], routes("from = 'Madrid'\nto = 'crew{n}'\ncount = 2")[1]);
    let absent = flows("from = 'Madrid'\nto = 'crew3'").expect_err("it is wrong").to_string();
    assert!(absent.contains("flow.download.to = \"crew3\" is neither a known place nor the end of a link"), "{absent}");
}

#[test]
fn a_slot_over_the_equator_is_a_geostationary_path() {
    let text = "duration = '10 s'\n[sky]\nover = { geo = 0 }\nuser.rate = '10 Mbit/s'\n\
                [sky.place.A]\nlatitude = 0\nlongitude = 0\n[sky.place.B]\nlatitude = 0\nlongitude = 0.001\n\
                [flow.a]\nfrom = 'A'\nto = 'B'\n";
    let resolved = from_toml(text, "f", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let route = &resolved.scenario.lanes[0].route;
    // Twice 35 786 km at the speed of light.
    assert!((delay(&resolved, route, 5.0) - 0.238_74).abs() < 1e-4);
}

#[test]
fn what_is_wrong_with_a_sky_is_said_at_its_key() {
    let flow = "[flow.a]\nfrom = 'London'\nto = 'Paris'\n";
    for (sky, message, place) in [
        ("over = 'irridium'", "sky.over = \"irridium\" is not a constellation", 3),
        ("over = 'iridium'\nstart = 'noon'", "sky.start ", 4),
        ("over = 'iridium'\nstep = '0 s'", "sky.step ", 4),
        ("over = 'iridium'\ngateway = ['Atlantis']", "sky.gateway: \"Atlantis\" is not a known place", 4),
        ("over = 'iridium'\nstepp = '1 s'", "sky.stepp", 4),
        ("over = { elements = 'none.tle' }", "sky.over is of no use: none.tle: cannot be found", 3),
        (
            "over = 'oneweb'\nelevation_min = '89.9 deg'",
            "sky.over has no path from London to Paris at any time of the run: no satellite is in view of London",
            3,
        ),
        (
            "over = 'iridium'\nbetween_satellites = 'none'\n[sky.place.Paris]\nlatitude = -40\nlongitude = 170",
            "at any time of the run: no satellite is in view of both London and Paris: they are 18,",
            3,
        ),
        ("over = { geo = 0 }\nbetween_satellites = 'grid'", "sky.between_satellites needs neighbours in planes", 4),
        (
            "over = 'iridium'\nselection = { user = 'any', place.Rome = 'any' }",
            "sky.selection.place.Rome is not a place",
            4,
        ),
        ("over = 'iridium'\nselection = { users = 'any' }", "sky.selection.users", 4),
        ("over = 'iridium'\npayload = 'transparent'\ngateway = ['Paris']", "sky.payload = \"transparent\"", 4),
        ("over = 'iridium'\nmake_before_break = '1 s'\nbreak_before_make = '1 s'", "sky.break_before_make excludes", 5),
        ("over = 'iridium'\nuser.queue = 'reed'", "sky.user.queue", 4),
    ] {
        let text = said(&format!("duration = '10 s'\n[sky]\n{sky}\n{flow}"));
        assert!(text.contains(message) && text.contains(&format!("f.toml:{place}:")), "{sky}: {text}");
    }
    let text = said("duration = '10 s'\n[sky]\nover = 'iridium'\n[flow.a]\nfrom = 'Lodnon'\nto = 'Paris'\n");
    assert!(text.contains("flow.a.from = \"Lodnon\" is neither a known place nor the end of a link"), "{text}");
    assert!(text.contains("London") && text.contains("[sky.place.Lodnon] with latitude and longitude"), "{text}");
    let text = said("duration = '10 s'\n[sky]\nover = 'iridium'\n[flow.a]\nfrom = 'x y'\nto = 'Paris'\n");
    assert!(text.contains("[sky.place.\"x y\"] with latitude") && !text.contains("did you mean"), "{text}");
}

/// The delays between two places every second for a minute, with a gateway, and a rule for the other places.
fn over_the_sky(over: &str, ends: [&str; 2], gateway: &str, rule: Option<Rule>) -> Vec<f64> {
    let mut sky = preset(over).unwrap().sky(Epoch::Y2000).unwrap();
    // The scenario lists its gateways first.
    sky.places = vec![Place::city(gateway).unwrap().gateway()];
    sky.places.extend(ends.iter().filter(|end| **end != gateway).map(|end| Place::city(end).unwrap()));
    let number = |end: &str| sky.places.iter().position(|place| place.name == end).unwrap();
    let pairs = [(number(ends[0]), number(ends[1]))];
    let span = Span::new(0.0, 60.0, 1.0).unwrap();
    let rules: Vec<(usize, Rule)> = (1..sky.places.len()).filter_map(|place| Some((place, rule?))).collect();
    let over = Over::of(&sky);
    let serving = servings_while(&sky, over, &pairs, &rules, span, &mut |_| true).unwrap();
    let routing = Routing { over, serving, ..Routing::default() };
    routes(&sky, &pairs, &routing, span, None).unwrap().remove(0).delays_s
}

/// Gateways: paths may leave the satellites there. Links between satellites stay in use, as on the command line. A
/// gateway at the end of a flow uses any satellite.
#[test]
fn gateways_leave_links_between_satellites_in_use() {
    let lots = Rule::Slots(Slots::starlink(1));
    for (over, ends, gateway, selection, rule) in [
        ("starlink", ["Victoria", "Lagos"], "Lagos", "selection = 'starlink'", Some(lots)),
        (
            "starlink",
            ["Victoria", "Lagos"],
            "Lagos",
            "selection = { place.Victoria = 'starlink', place.Lagos = 'any', gateway = 'highest' }",
            Some(lots),
        ),
        ("starlink-shell-1", ["London", "Singapore"], "Madrid", "", None),
    ] {
        let expected = over_the_sky(over, ends, gateway, rule);
        assert!(expected.iter().all(|delay| delay.is_finite()), "{over}: {expected:?}");
        let text = format!(
            "duration = '60 s'\n[sky]\nover = '{over}'\ngateway = ['{gateway}']\n{selection}\n[flow.a]\nfrom = '{}'\nto = '{}'\n",
            ends[0], ends[1]
        );
        let resolved = from_toml(&text, "f", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(resolved.scenario.notes().len(), 0);
        let mut now = resolved.scenario.lanes[0].route.to_vec();
        let mut changes = resolved.scenario.timeline.changes.iter().peekable();
        for (t, expected) in expected.iter().enumerate() {
            let t = t as f64;
            while let Some((_, change)) = changes.next_if(|(at, _)| *at <= Time::ZERO + Duration::from_secs_f64(t)) {
                match change {
                    Change::Install { path, route } if !path.is_back() => now.clone_from(route),
                    _ => {}
                }
            }
            let found = delay(&resolved, &now, t);
            assert!((found - expected).abs() < 20e-6, "{over} {t}: {found} {expected}");
        }
    }
}

/// A path that sometimes exists has a note with the share of the time, the reason and the help.
#[test]
fn a_path_that_is_not_always_there_is_noted() {
    let text = "duration = '3600 s'\n[sky]\nover = 'oneweb'\nstep = '10 s'\nelevation_min = '60 deg'\n\
                [flow.a]\nfrom = 'London'\nto = 'Paris'\n";
    let resolved = from_toml(text, "f", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let notes = resolved.scenario.notes();
    let [note] = &notes[..] else { panic!("{notes:?}") };
    assert!(note.starts_with("sky: there is a path from London to Paris 72.5 % of the time. "), "{note}");
    assert!(note.contains("% without: no satellite is in view of "), "{note}");
    assert!(note.contains("; remedy: "), "{note}");
    // The resolved scenario has no sky, so it has no note.
    assert!(from_toml(&resolved.to_toml(), "f", &[]).unwrap().scenario.notes().is_empty());
}

const RADIO: &str = "frequency_ghz = 20\neirp_dbw = 30\ng_over_t_db_k = 10\n";

/// A link of 10 Mbit/s vertically up to a slot over the equator. By hand: 30 + 10 + 228.599 - 209.541 (free space over
/// 35 786 km) - 70 - gases = -10.94 dB less gases. 22 dB more power leave an Eb/N0 of 11.06 dB less gases.
#[test]
fn errors_follow_from_the_link_budget() {
    let text = format!(
        "duration = '10 s'\n[sky]\nover = {{ geo = 0 }}\nuser.rate = '10 Mbit/s'\n\
         [sky.user.up]\n{}modem = 'uncoded'\n\
         [sky.place.A]\nlatitude = 0\nlongitude = 0\nclimate = 'Libreville'\n\
         [sky.place.B]\nlatitude = 0\nlongitude = 0.001\nclimate = 'Libreville'\n\
         [flow.a]\nfrom = 'A'\nto = 'B'\n",
        RADIO.replace("eirp_dbw = 30", "eirp_dbw = 52")
    );
    let resolved = from_toml(&text, "f", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let json = resolved.to_json();
    let rate = json["link"]["A~geo"]["forward"]["error"]["points"][0][1].as_f64().expect("a rate");
    let back = bentpipe_orbit::budget::modulation::Modulation::Qpsk.eb_n0_db(rate).unwrap();
    let gases = 11.06 - back;
    // Tropical air, vertically at 20 GHz: half a decibel, mostly water vapour.
    assert!((0.2..1.0).contains(&gases), "{gases}");
    assert_eq!(json["link"]["A~geo"]["reverse"]["error"]["kind"], "none");
}

/// Any place has rain: that of the maps where it is. A ship has that of each point of its way, from the doldrums (much)
/// to the trades off Africa (hardly any).
#[test]
fn rain_is_that_of_the_place_and_of_each_point_of_a_way() {
    let points = |place: &str| {
        let text = format!(
            "duration = '1000 s'\n[sky]\nover = {{ geo = -25 }}\nrain = {{ kind = 'exceeded', percent = 0.01 }}\n\
             user.rate = '10 Mbit/s'\n[sky.user.up]\n{RADIO}modem = 'convolutional'\n[sky.place.A]\n{place}\n\
             [sky.place.B]\nlatitude = 0\nlongitude = -25\n[flow.a]\nfrom = 'A'\nto = 'B'\n"
        );
        let resolved = from_toml(&text, "f", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let json = resolved.to_json();
        let db = |value: &serde_json::Value| value.as_str().unwrap().split_once(' ').unwrap().0.parse::<f64>().unwrap();
        let signal = &json["link"]["A~geo"]["forward"]["coding"]["eb_n0"]["points"];
        signal.as_array().unwrap().iter().map(|point| db(&point[1])).collect::<Vec<f64>>()
    };
    let (wet, dry) = ("latitude = 5\nlongitude = -25", "latitude = 20\nlongitude = -25");
    let (in_wet, in_dry) = (points(wet)[0], points(dry)[0]);
    assert!(in_dry > in_wet + 10.0, "{in_wet} {in_dry}");
    let way =
        "way = [{ time = '0 s', latitude = 5, longitude = -25 }, { time = '1000 s', latitude = 20, longitude = -25 }]";
    let sailing = points(way);
    assert!(sailing.len() > 50 && (sailing[0] - in_wet).abs() < 0.11, "{sailing:?}");
    assert!((sailing[sailing.len() - 1] - in_dry).abs() < 0.3, "{sailing:?}");
    // A named city counts instead, on the whole way.
    let lagos = points(&format!("{way}\nclimate = 'Lagos'"));
    assert!((lagos[0] - points(&format!("{wet}\nclimate = 'Lagos'"))[0]).abs() < 0.01);
    assert!(lagos[lagos.len() - 1] < in_dry - 10.0);
}

#[test]
fn rain_takes_what_is_exceeded_or_comes_and_goes() {
    let with = |rain: &str| {
        let sky = format!("{rain}\n[sky.user.down]\n{RADIO}symbol_rate = '20 Mbaud'\nmodem = 'dvb-s2'\n");
        let resolved = read(&sky);
        assert_eq!(resolved.digest(), from_toml(&resolved.to_toml(), "f", &[]).unwrap().digest(), "{rain}");
        let link = resolved.scenario.links.iter().find(|link| link.name.starts_with("London~")).unwrap().name.clone();
        let json = resolved.to_json();
        let down = &json["link"][link.rsplit_once('.').unwrap().0]["reverse"];
        format!("{} {}", down["coding"], down["error"])
    };
    let (dry, wet) = (with("rain = 'none'"), with("rain = { kind = 'exceeded', percent = 1 }"));
    assert!(dry.contains("dvb-s2") && dry.contains("acm") && dry != wet);
    // About 40 dB: the link loses everything.
    let storm = with("rain = { kind = 'exceeded', percent = 0.001 }");
    assert!(!storm.contains("dvb-s2") && storm.contains("\"rate\":1.0"), "{storm}");
    let days: std::collections::BTreeSet<String> =
        (1..9).map(|seed| with(&format!("rain = 'series'\nseed = {seed}"))).collect();
    // It rains in one of twenty hours.
    assert!((1..8).contains(&days.len()), "{}", days.len());
}

#[test]
fn a_radio_link_that_cannot_be_is_refused_at_its_key() {
    let flow = "[flow.a]\nfrom = 'London'\nto = 'Paris'\n";
    for (sky, message) in [
        (format!("[sky.fibre.up]\n{RADIO}modem = 'uncoded'\n"), ""),
        (
            format!("user.rate = {{ points = [['0 s', '1 Mbit/s']] }}\n[sky.user.up]\n{RADIO}modem = 'uncoded'\n"),
            "sky.user.up needs a constant rate",
        ),
        (format!("shared = true\n[sky.user.up]\n{RADIO}modem = 'uncoded'\n"), "sky.user.up excludes sky.shared"),
        (
            format!("[sky.user.forward]\nerror = {{ kind = 'bit', rate = 1e-6 }}\n[sky.user.up]\n{RADIO}modem = 'uncoded'\n"),
            "sky.user.up excludes coding and error",
        ),
        (
            format!("user.rate = '1 Mbit/s'\n[sky.user.up]\n{RADIO}modem = 'dvb-s2'\n"),
            "sky.user.up has modem = \"dvb-s2\" and a rate",
        ),
        (
            format!("user.forward.rate = '1 Mbit/s'\n[sky.user.up]\n{RADIO}symbol_rate = '1 Mbaud'\nmodem = 'dvb-s2'\n"),
            "expected symbol_rate, such as \"25 Mbaud\", instead of rate",
        ),
        (format!("[sky.user.up]\n{RADIO}modem = 'dvb-s2'\n"), "sky.user.up has modem = \"dvb-s2\" and no symbol_rate"),
        (format!("[sky.user.up]\n{RADIO}symbol_rate = '1 Mbaud'\nmodem = 'uncoded'\n"), "modem has no symbols"),
        (format!("[sky.user.up]\n{RADIO}symbol_rate = '1 Mbit/s'\nmodem = 'dvb-s2'\n"), "sky.user.up.symbol_rate"),
        (format!("[sky.user.up]\n{RADIO}polarisation = 'diagonal'\nmodem = 'uncoded'\n"), "sky.user.up.polarisation"),
        (format!("[sky.user.up]\n{RADIO}polarisation = '100 deg'\nmodem = 'uncoded'\n"), "tilt_deg: 100"),
        (
            format!("[sky.user.up]\n{RADIO}modem = 'uncoded'\n[sky.place.London]\nlatitude = 51.5\nlongitude = 0\nclimate = 'Atlantis'\n"),
            "climate of London: unknown",
        ),
    ] {
        let text = format!("duration = '10 s'\n[sky]\nover = 'iridium'\n{sky}\n{flow}");
        if message.is_empty() {
            // Without gateways there is no fibre, and unused keys are not checked.
            assert!(from_toml(&text, "f.toml", &[]).is_ok());
            continue;
        }
        let said = said(&text);
        assert!(said.contains(message), "{sky}: {said}");
    }
}

/// P.618: rain attenuates horizontal waves most, and circular waves like those of 45 degrees. A warm sky affects a
/// receiver with low noise most.
#[test]
fn rain_takes_more_by_polarisation_and_by_the_noise_of_the_receiver() {
    let of = |sky: &str, radio: &str| {
        let text = format!(
            "duration = '2 s'\n[sky]\nover = {{ geo = 0 }}\n{sky}\n[sky.user]\nrate = '20 Mbit/s'\n\
             [sky.user.down]\n{RADIO}{radio}modem = 'convolutional'\n[flow.a]\nfrom = 'Madrid'\nto = 'London'\n"
        );
        signal(&from_toml(&text, "f", &[]).unwrap_or_else(|problems| panic!("{problems}")), "London")[0].1
    };
    let rain = "rain = { kind = 'exceeded', percent = 0.1 }";
    let polarised = |kind: &str| of(rain, &format!("polarisation = '{kind}'\n"));
    let [horizontal, circular, vertical] = ["horizontal", "circular", "vertical"].map(polarised);
    assert!(horizontal + 0.1 < circular && circular + 0.1 < vertical, "{horizontal} {circular} {vertical}");
    assert_eq!([polarised("45 deg"), of(rain, ""), polarised("90 deg")], [circular, circular, vertical]);
    let noisy = |kelvin: u32| of(rain, &format!("noise_k = {kelvin}\n"));
    // At most (275 + 100) / 100 times the noise, and no rise for a noisy receiver.
    let rise = noisy(100_000) - noisy(100);
    assert!(rise > 2.0 && rise < 5.75, "{rise}");
    assert_eq!(of("", "noise_k = 100\n"), of("", ""));
    let edition = |name: &str| of(&format!("{rain}\nclouds = {{}}\nrecommendation = '{name}'"), "");
    assert!(edition("P.618-14") > edition("P.618-13") + 0.2);
    assert_eq!(edition("P.618-14"), of(&format!("{rain}\nclouds = {{ percent = 5 }}"), ""));
}

/// A bent pipe has no queue: packets for the link down move to the next link, packets for the link up wait at their
/// sender.
#[test]
fn what_waits_for_a_bent_pipe_moves_to_the_next() {
    let of = |sky: &str| {
        let flow = "[flow.a]\nfrom = 'Madrid'\nto = 'London'\n";
        let resolved = from_toml(&format!("duration = '600 s'\n[sky]\n{sky}\n{flow}"), "f", &[]);
        let resolved = resolved.unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(resolved.digest(), from_toml(&resolved.to_toml(), "f", &[]).unwrap().digest());
        let at = resolved.to_json()["at"].as_array().expect("changes").clone();
        let downs = at.into_iter().filter(|table| table.get("down").is_some());
        downs.map(|table| (table["down"][0].as_str().unwrap().to_owned(), table["waiting"].clone())).collect::<Vec<_>>()
    };
    let bent = of("over = 'oneweb'\ngateway = ['Madrid']\nin_flight = 'delivered'");
    assert!(bent.len() >= 4, "{bent:?}");
    for (link, waiting) in bent {
        assert_eq!(waiting, if link.ends_with(".forward") { "rerouted" } else { "moved" }, "{link}");
    }
    // Satellites with links have queues, even if the paths of this run do not use the links.
    for linked in ["over = 'iridium'", "over = 'starlink-shell-1'\ngateway = ['Madrid']"] {
        let lost = of(&format!("{linked}\nin_flight = 'delivered'"));
        assert!(!lost.is_empty() && lost.iter().all(|(_, waiting)| waiting == "lost"), "{linked}: {lost:?}");
        // A link that a place leaves does not come back soon, so nothing waits for it.
        let kept = of(&format!("{linked}\nwaiting = 'kept'"));
        assert!(!kept.is_empty() && kept.iter().all(|(_, waiting)| waiting == "rerouted"), "{linked}: {kept:?}");
    }
    let bent = of("over = 'oneweb'\ngateway = ['Madrid']\nwaiting = 'kept'");
    assert!(bent.len() >= 4 && bent.iter().all(|(_, waiting)| waiting != "kept"), "{bent:?}");
    let kept = of("over = 'oneweb'\ngateway = ['Madrid']\nbreak_before_make = '100 ms'");
    assert!(["kept", "rerouted", "moved"].iter().all(|word| kept.iter().any(|(_, waiting)| waiting == word)));
    assert!(of("over = 'oneweb'\ngateway = ['Madrid']\nwaiting = 'lost'").iter().all(|(_, word)| word == "lost"));
    // A satellite may be chosen again. Its link is down and loses packets until then.
    let text = "duration = '1200 s'\n[sky]\nover = 'starlink-shell-1'\nselection = 'starlink'\ngateway = ['Seattle']\n\
                break_before_make = '65 ms'\n[flow.a]\nfrom = 'Seattle'\nto = 'Vancouver'\n";
    let resolved = from_toml(text, "f", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(resolved.digest(), from_toml(&resolved.to_toml(), "f", &[]).unwrap().digest());
}

/// A place over the equator and its links over a slot. The radios have these keys.
fn piped(keys: &str, radios: &[(&str, &str)]) -> String {
    let radio =
        |(name, own): &(&str, &str)| format!("[sky.{name}]\nfrequency_ghz = 20\n{own}\nmodem = 'convolutional'\n");
    format!(
        "duration = '10 s'\n[sky]\nover = {{ geo = 0 }}\n{keys}\nuser.rate = '10 Mbit/s'\nfeeder.rate = '10 Mbit/s'\n{}\
         [sky.place.A]\nlatitude = 10\nlongitude = 0\nclimate = 'Libreville'\n\
         [sky.place.B]\nlatitude = 0\nlongitude = 9\nclimate = 'Libreville'\n[flow.a]\nfrom = 'A'\nto = 'B'\n",
        radios.iter().map(radio).collect::<String>()
    )
}

/// 1 / (C/N) = 1 / (C/N up) + 1 / (C/N down), only on the link of the place.
#[test]
fn the_noise_of_both_ways_reaches_the_receiver_of_a_transparent_satellite() {
    let (strong, weak) = ("eirp_dbw = 55\ng_over_t_db_k = 10", "eirp_dbw = 42\ng_over_t_db_k = 20");
    let coding = |resolved: &Resolved, link: &str, side: &str| {
        let db = |text: &str| text.split_once(' ').unwrap().0.parse::<f64>().unwrap();
        let json = resolved.to_json();
        // Equal keys of both directions are keys of the link.
        let (link, own) = (&json["link"][link], &json["link"][link][side]["coding"]);
        let level = if own.is_null() { &link["coding"]["eb_n0"] } else { &own["eb_n0"] };
        level.as_str().or(level["points"][0][1].as_str()).map(db)
    };
    let read = |text: &str| from_toml(text, "f", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let star = [("user.up", strong), ("feeder.down", weak), ("feeder.up", strong), ("user.down", weak)];
    let mesh = [("user.up", strong), ("user.down", weak)];
    for (gateway, radios, back) in [("gateway = ['B']", &star[..], true), ("", &mesh[..], false)] {
        let both = |payload| read(&piped(&format!("{gateway}\npayload = '{payload}'"), radios));
        let (own, pipe) = (both("regenerative"), both("transparent"));
        let (up, down) = (coding(&own, "A~geo", "forward").unwrap(), coding(&own, "B~geo", "reverse").unwrap());
        let together = -10.0 * (10f64.powf(-up / 10.0) + 10f64.powf(-down / 10.0)).log10();
        let found = coding(&pipe, "A~geo", "forward").unwrap();
        // Each value is written with two decimals.
        assert!((found - together).abs() < 0.0151 && found < down.min(up) - 0.2, "{up} {down}: {found} {together}");
        assert_eq!(coding(&pipe, "B~geo", "reverse"), None);
        assert_eq!(coding(&pipe, "A~geo", "reverse").is_some(), back);
        assert_eq!(coding(&pipe, "B~geo", "forward").is_some(), !back);
        assert_eq!(pipe.digest(), read(&pipe.to_toml()).digest());
    }
    // Interference is a third term.
    let jammed = piped("", &[("user.up", &format!("{strong}\nc_over_i = '12 dB'"))]);
    let alone = coding(&read(&piped("", &[("user.up", strong)])), "A~geo", "forward").unwrap();
    let together = -10.0 * (10f64.powf(-alone / 10.0) + 10f64.powf(-1.2)).log10();
    assert!((coding(&read(&jammed), "A~geo", "forward").unwrap() - together).abs() < 0.0101);
}

#[test]
fn a_transparent_satellite_needs_the_radio_of_both_ways() {
    let way = "eirp_dbw = 50\ng_over_t_db_k = 10";
    let transparent = "payload = 'transparent'";
    let star = format!("{transparent}\ngateway = ['B']");
    for (keys, radios, message, expected) in [
        (&star[..], &["user.up"][..], "sky.user.up has the noise of one direction only", "sky.feeder.down"),
        (&star, &["user.down"], "sky.user.down has the noise of one direction only", "sky.feeder.up"),
        (&star, &["feeder.down"], "sky.feeder.down has noise without a link", "sky.user.up"),
        (transparent, &["user.up"], "sky.user.up has the noise of one direction only", "sky.user.down"),
    ] {
        let radios: Vec<(&str, &str)> = radios.iter().map(|name| (*name, way)).collect();
        let said = said(&piped(keys, &radios));
        assert!(said.contains(message) && said.contains(expected), "{said}");
    }
    let text = "duration = '1 s'\n[sky]\nover = 'iridium'\npayload = 'transparent'\n\
                [flow.a]\nfrom = 'Madrid'\nto = 'London'\n";
    assert!(said(text).contains("sky.payload = \"transparent\" has satellites that forward packets"), "{}", said(text));
}

#[test]
fn satellites_have_the_functions_and_the_kind_that_the_sky_gives_them() {
    let resolved = read("on_board = 'processing'\nmiddlebox = [{ kind = 'been', role = 'satellite' }]");
    let json = resolved.to_json();
    let nodes = json["node"].as_object().expect("nodes");
    let satellites =
        resolved.scenario.nodes.iter().filter(|node| !["London", "New York"].contains(&node.name.as_str()));
    let names: Vec<&str> = satellites.map(|node| node.name.as_str()).collect();
    assert!(names.len() > 3);
    for name in names {
        assert_eq!(
            (&nodes[name]["kind"], &nodes[name]["middlebox"][0]["kind"]),
            (&"processing".into(), &"been".into())
        );
    }
}

fn named(resolved: &Resolved, links: &[bentpipe_model::ids::LinkId]) -> Vec<String> {
    let name = |link: &bentpipe_model::ids::LinkId| resolved.scenario.links[*link].name.clone();
    links.iter().map(name).map(|name| name.rsplit_once('.').unwrap().0.to_owned()).collect()
}

/// The second link of the first route, which joins two satellites, and the satellite next to London.
fn first_link(resolved: &Resolved) -> (String, String) {
    let route = &resolved.scenario.lanes[0].route;
    let names = named(resolved, route);
    (names[1].clone(), names[0].strip_prefix("London~").unwrap().to_owned())
}

/// Links go down and paths avoid them at the instant of the failure, between two steps. Afterwards all paths are as
/// before.
#[test]
fn what_fails_is_avoided_from_its_instant_on() {
    let whole = read("");
    let (link, satellite) = first_link(&whole);
    let [a, b] = [link.split('~').next().unwrap(), link.split('~').nth(1).unwrap()];
    for (what, out) in [
        (format!("satellite = '{satellite}'"), format!("~{satellite}")),
        (format!("satellite = 'starlink-shell-1-{satellite}'"), format!("~{satellite}")),
        (format!("link = ['{b}', '{a}']"), link.clone()),
        (format!("link = ['{satellite}', 'London']"), format!("London~{satellite}")),
    ] {
        let failing = read(&format!("failure = [{{ {what}, from = '10.25 s', to = '20.5 s' }}]"));
        assert_eq!(failing.digest(), from_toml(&failing.to_toml(), "f", &[]).unwrap().digest(), "{what}");
        let at = |t: f64| Time::ZERO + Duration::from_secs_f64(t);
        let is_out = |id: bentpipe_model::ids::LinkId| named(&failing, &[id])[0].contains(&out);
        let (mut downs, mut ups, mut away) = (0, 0, 0);
        for (time, change) in &failing.scenario.timeline.changes {
            match change {
                Change::Down { link, .. } if is_out(*link) && *time == at(10.25) => downs += 1,
                Change::Up(link) if is_out(*link) && *time == at(20.5) => ups += 1,
                Change::Install { route, .. } if *time >= at(10.25) && *time < at(20.5) => {
                    assert!(!route.iter().any(|link| is_out(*link)), "{what}");
                    away += usize::from(*time == at(10.25));
                }
                _ => {}
            }
        }
        // Both directions of at least one link. Links to places come up again when they are used again.
        assert!(downs >= 2 && away == 2, "{what}: {downs} {away}");
        assert!(ups >= 2, "{what}: {ups}");
    }
    // A satellite that fails for the whole run is never used, so no link is removed.
    let without = read(&format!("failure = [{{ satellite = '{satellite}' }}]"));
    assert!(without.scenario.links.iter().all(|link| !link.name.contains(&format!("~{satellite}."))));
}

#[test]
fn failures_and_handovers_take_no_link_away_twice() {
    let text = "duration = '7000 s'\n[sky]\nover = 'iridium'\nstep = '10 s'\nselection = 'longest'\nHOW\n\
                failure = [{ satellite = 'NAME', from = '55 s', to = '5000.5 s' }, { satellite = 'NAME', to = '63 s' }, \
                { satellite = 'NAME', from = '5555 s' }]\n[flow.a]\nfrom = 'London'\nto = 'Nairobi'\n";
    let whole = from_toml(&text.replace("satellite = 'NAME'", "satellite = '2-3'").replace("HOW", ""), "f", &[]);
    let names = match whole {
        Ok(resolved) => resolved.scenario.links.iter().map(|link| link.name.clone()).collect::<Vec<_>>(),
        Err(problems) => panic!("{problems}"),
    };
    let used: std::collections::BTreeSet<&str> =
        names.iter().filter_map(|name| name.strip_prefix("London~")?.strip_suffix(".forward")).take(4).collect();
    for how in [
        "",
        "shared = true",
        "make_before_break = '15 s'",
        "break_before_make = '15 s'",
        "break_before_make = '20 s'\nwaiting = 'rerouted'",
        "break_before_make = '15 s'\nwaiting = 'kept'",
    ] {
        for name in &used {
            let text = text.replace("NAME", name).replace("HOW", how);
            let resolved = from_toml(&text, "f", &[]).unwrap_or_else(|problems| panic!("{problems}"));
            let mut down = std::collections::BTreeSet::new();
            for (_, change) in &resolved.scenario.timeline.changes {
                match change {
                    Change::Down { link, .. } => assert!(down.insert(*link), "{how}"),
                    Change::Up(link) => assert!(down.remove(link), "{how}"),
                    Change::Install { .. } | Change::Withdraw(_) => {}
                }
            }
        }
    }
}

/// A failure of a link that does not exist at that time is a mistake: a link between planes near the pole, a satellite
/// below the horizon.
#[test]
fn a_link_that_is_not_there_while_it_fails_is_refused() {
    let text = |over: &str, link: &str, span: &str| {
        format!(
            "duration = '60 s'\n[sky]\nover = '{over}'\nfailure = [{{ link = [{link}]{span} }}]\n\
             [flow.a]\nfrom = 'London'\nto = 'Paris'\n"
        )
    };
    // Iridium's places in a plane are 32.7 degrees apart: the fourth is near the pole, where links between planes are
    // off.
    let refused = "sky.failure.0.link joins two that are not linked at any time of the failure";
    let polar = said(&text("iridium", "'0-3', '1-3'", ""));
    assert!(polar.contains(refused) && polar.contains("f.toml:4:"), "{polar}");
    assert!(from_toml(&text("iridium", "'0-0', '1-0'", ""), "f", &[]).is_ok());
    // Failures after the run are ignored.
    assert!(from_toml(&text("iridium", "'0-3', '1-3'", ", from = '70 s'"), "f", &[]).is_ok());
    let first = read("");
    let satellite = first_link(&first).1;
    let linked = format!("'London', '{satellite}'");
    assert!(from_toml(&text("starlink-shell-1", &linked, ", to = '5 s'"), "f", &[]).is_ok());
    let (plane, place) = satellite.split_once('-').unwrap();
    let opposite = format!("'London', '{}-{place}'", (plane.parse::<u32>().unwrap() + 36) % 72);
    let below = said(&text("starlink-shell-1", &opposite, ""));
    assert!(below.contains(refused), "{below}");
}

/// Walker's parameters and links in detail give the same paths as a constellation by name with these values.
#[test]
fn a_constellation_of_ones_own_is_the_same_as_by_name() {
    let with = |over: &str| {
        let text = format!("duration = '30 s'\n[sky]\nover = {over}\n[flow.a]\nfrom = 'London'\nto = 'Singapore'\n");
        from_toml(&text, "f", &[])
    };
    for (name, own) in [
        (
            "'iridium'",
            "{ shells = [{ pattern = 'star', planes = 6, per_plane = 11, altitude_km = 780, inclination = 86.4, \
             spacing = 31.6, odd_planes = 16.363636363636363 }] }\nelevation_min = '8.2 deg'\n\
             between_satellites = { polar_cutoff = 60 }",
        ),
        (
            "'starlink-shell-1'",
            "{ shells = [{ planes = 72, per_plane = 22, altitude_km = 550, inclination = 53, phasing = 39 }] }",
        ),
        (
            "'kuiper-630-hypatia'",
            "{ shells = [{ planes = 34, per_plane = 34, mean_motion = 14.8, inclination = 51.9, eccentricity = 1e-7, \
             odd_planes = 5.294117647058823, motion = 'sgp4' }] }\nrange_max_km = 1260",
        ),
        (
            "'kuiper-630'\nmotion = 'sgp4'\nmean_motion = 14.8\nodd_planes = 5\nrange_max_km = 1260",
            "{ shells = [{ planes = 34, per_plane = 34, mean_motion = 14.8, inclination = 51.9, odd_planes = 5, \
             motion = 'sgp4' }] }\nrange_max_km = 1260",
        ),
    ] {
        let [name, own] = [name, own].map(|over| with(over).unwrap_or_else(|problems| panic!("{problems}")));
        assert_eq!(name.digest(), own.digest());
    }
    let two = "{ shells = [{ planes = 72, per_plane = 22, altitude_km = 550, inclination = 53 }, \
               { planes = 1, per_plane = 2, altitude_km = 8062, inclination = 0, motion = 'kepler', eccentricity = 0.1 }] }";
    let names: Vec<String> = with(two).unwrap().scenario.nodes.iter().map(|node| node.name.clone()).collect();
    assert!(names.iter().any(|name| name.starts_with("1-") && name.matches('-').count() == 2), "{names:?}");
    for (own, message) in [
        ("{ shells = [] }", "sky.over"),
        ("{ shells = [{ planes = 0, per_plane = 2, altitude_km = 550, inclination = 53 }] }", "planes"),
        ("{ shells = [{ planes = 2, per_plane = 2, altitude_km = 550 }] }", "inclination"),
        (
            "{ shells = [{ planes = 2, per_plane = 2, inclination = 53 }] }",
            "expected either altitude_km or mean_motion",
        ),
        ("'iridium'\nelevation_min = '8 deg'\nrange_max_km = 3000", "sky.range_max_km excludes"),
        ("'starlink'\nmean_motion = 15", "expected a constellation of one, such as kuiper-630"),
        ("{ geo = 19.2 }\nmotion = 'sgp4'", "sky.over has satellites with their own orbits"),
        ("'kuiper-630'\nrange_max = 1260", "range_max_km = ... (in km, not m)"),
    ] {
        let said = with(own).map(drop).unwrap_err().to_string();
        assert!(said.contains(message), "{said}");
    }
}

/// Without links between satellites, packets go down to a gateway and up again: every other node is on the ground.
#[test]
fn gateways_may_be_relays_on_the_ground() {
    let text = |keys: &str| {
        format!(
            "duration = '10 s'\n[sky]\nover = 'oneweb'\nelevation_min = '40 deg'\ngateway = ['Paris', 'Vienna', 'Bucharest', 'Ankara']\n{keys}\n\
             [flow.a]\nfrom = 'London'\nto = 'Baghdad'\n"
        )
    };
    let read = |keys: &str| from_toml(&text(keys), "f", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let links = |resolved: &Resolved| named(resolved, &resolved.scenario.lanes[0].route);
    let zigzag = links(&read("relay = 'ground'"));
    assert!(zigzag.len() >= 6 && zigzag.len() % 2 == 0, "{zigzag:?}");
    assert!(zigzag.iter().all(|link| link.split('~').filter(|end| end.contains('-')).count() == 1), "{zigzag:?}");
    let fibre = links(&read("relay = 'fibre'"));
    assert!(fibre.iter().any(|link| !link.contains('-')), "{fibre:?}");
    assert!(said(&text("relay = 'ground'\npayload = 'transparent'")).contains("sky.payload = \"transparent\" adds up"));
    let none = text("relay = 'ground'").replace("gateway = [", "disjoint = { paths = 2 } # ");
    assert!(said(&none).contains("sky.relay = \"ground\" is for gateways"), "{}", said(&none));
}

#[test]
fn links_between_satellites_may_be_listed() {
    let text = |pairs: &str| {
        format!(
            "duration = '1 s'\n[sky]\nover = 'iridium'\nbetween_satellites = {{ {pairs} }}\n\
             [flow.a]\nfrom = 'London'\nto = 'New York'\n"
        )
    };
    let whole = from_toml(&text(""), "f", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let route = |resolved: &Resolved| named(resolved, &resolved.scenario.lanes[0].route);
    let links = route(&whole);
    let inner = &links[1..links.len() - 1];
    assert!(!inner.is_empty(), "{links:?}");
    let listed: Vec<String> = inner.iter().map(|link| format!("['{}']", link.replace('~', "', '"))).collect();
    let all = from_toml(&text(&format!("pairs = [{}]", listed.join(", "))), "f", &[]).unwrap();
    assert_eq!(route(&all), links);
    // Without one of them, and with a line of sight that must stay too high, there is no path.
    for less in ["pairs = [['5-0', '5-1']]".to_owned(), format!("pairs = [{}], above_km = 700", listed.join(", "))] {
        assert!(said(&text(&less)).contains("sky.over has no path"), "{less}");
    }
    for (wrong, message) in [
        (
            "pairs = [['0-0', 'sat']]",
            "sky.between_satellites.pairs.0 has \"0-0\" and \"sat\", which are not two satellites",
        ),
        ("pairs = [['0-0', '0-1']], seam = true", "sky.between_satellites.pairs excludes"),
        ("polar_cutoff = 91", "polar_cutoff"),
    ] {
        assert!(said(&text(wrong)).contains(message), "{}", said(&text(wrong)));
    }
}

#[test]
fn flows_take_disjoint_paths() {
    let text = "duration = '60 s'\n[sky]\nover = 'starlink-shell-1'\nHOW\n\
                [sky.disjoint]\npaths = 3\nflow = { b = 2, c = 3 }\n\
                [flow.a]\nfrom = 'London'\nto = 'New York'\n[flow.b]\nfrom = 'New York'\nto = 'London'\n\
                [flow.c]\nfrom = 'London'\nto = 'New York'\n";
    for how in ["", "change = 'broken'"] {
        let resolved = from_toml(&text.replace("HOW", how), "f", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(resolved.digest(), from_toml(&resolved.to_toml(), "f", &[]).unwrap().digest());
        let lanes = &resolved.scenario.lanes;
        let mut now: Vec<Vec<String>> = lanes.iter().map(|lane| named(&resolved, &lane.route)).collect();
        let apart = |now: &[Vec<String>]| {
            let all: Vec<&str> = now.iter().flatten().flat_map(|link| link.split('~')).collect();
            let passes =
                |name: &str| now.iter().filter(|way| way.iter().any(|l| l.split('~').any(|n| n == name))).count();
            all.iter().filter(|name| !["London", "New York"].contains(name)).all(|name| passes(name) == 1)
        };
        assert!(apart(&now), "{how} {now:?}");
        let mut changes = resolved.scenario.timeline.changes.iter().peekable();
        let mut count = 0;
        while let Some((time, change)) = changes.next() {
            if let Change::Install { path, route } = change {
                if !path.is_back() {
                    now[path.lane().index()] = named(&resolved, route);
                    count += 1;
                }
            }
            if changes.peek().is_none_or(|(next, _)| next > time) {
                assert!(apart(&now), "{how} {time:?} {now:?}");
            }
        }
        assert!(count > 3, "{how}");
        // The first path is the shortest at the start.
        let delays: Vec<f64> = lanes.iter().map(|lane| delay(&resolved, &lane.route, 0.0)).collect();
        assert!(delays[0] < delays[1] && delays[1] < delays[2], "{delays:?}");
    }
}

#[test]
fn failures_and_disjoint_paths_that_cannot_be_are_refused_at_their_keys() {
    let flow = "[flow.a]\nfrom = 'London'\nto = 'Paris'\n";
    for (sky, message, place) in [
        ("failure = [{ from = '1 s' }]", "sky.failure.0 has no node or link", 4),
        ("failure = [{ satellite = '1-1', gateway = 'Madrid' }]", "sky.failure.0 has no node or link", 4),
        (
            "failure = [{ satellite = '1-1' },\n{ satellite = '99-1' }]",
            "sky.failure.1.satellite = \"99-1\" is not a satellite",
            5,
        ),
        ("failure = [{ gateway = 'Madrid' }]", "sky.failure.0.gateway = \"Madrid\" is not a gateway", 4),
        ("failure = [{ terminal = 'Madrid' }]", "sky.failure.0.terminal = \"Madrid\" is not a place of a flow", 4),
        ("failure = [{ link = ['1-1'] }]", "sky.failure.0.link does not name two nodes", 4),
        ("failure = [{ link = ['1-1', '1-1'] }]", "sky.failure.0.link joins a node with itself", 4),
        ("failure = [{ link = ['London', 'Paris'] }]", "sky.failure.0.link joins places that no fibre joins", 4),
        ("failure = [{ link = ['1-1', 'Rome'] }]", "sky.failure.0.link.1 = \"Rome\" is neither a satellite nor", 4),
        (
            "between_satellites = 'none'\nfailure = [{ link = ['1-1', '1-2'] }]",
            "sky.failure.0.link joins satellites that have no links",
            5,
        ),
        ("failure = [{ link = ['1-1', '3-9'] }]", "sky.failure.0.link joins satellites that are never linked", 4),
        ("failure = [{ satellite = '1-1', from = '3 s', to = '3 s' }]", "sky.failure.0.to is not after from", 4),
        ("disjoint = { paths = 1 }", "sky.disjoint.paths", 4),
        ("disjoint = { paths = 2, flow = { b = 1 } }", "sky.disjoint.flow.b is not a flow", 4),
        ("disjoint = { paths = 2, flow = { a = 3 } }", "sky.disjoint.flow.a = 3 is not one of the 2 paths", 4),
        ("selection = 'highest'\ndisjoint = { paths = 2 }", "sky.disjoint needs several satellites", 5),
        (
            "between_satellites = 'none'\ngateway = ['Madrid']\ndisjoint = { paths = 2 }",
            "sky.disjoint is for paths over links",
            6,
        ),
        ("selection = { place.Paris = 'longest' }\ndisjoint = { paths = 2 }", "sky.disjoint needs several", 5),
        (
            "disjoint = { paths = 9, flow = { a = 9 } }",
            "sky.disjoint.paths = 9 paths never exist from London to Paris",
            4,
        ),
    ] {
        let text = said(&format!("duration = '10 s'\n[sky]\nover = 'iridium'\n{sky}\n{flow}"));
        assert!(text.contains(message) && text.contains(&format!("f.toml:{place}:")), "{sky}: {text}");
    }
}

/// Files in memory.
struct Given(std::collections::BTreeMap<&'static str, &'static [u8]>);

impl crate::Files for Given {
    fn read(&self, name: &str) -> Result<Vec<u8>, (String, String)> {
        let found = self.0.get(name).map(|content| content.to_vec());
        found.ok_or_else(|| ("is not there".into(), "expected a file".into()))
    }
}

/// The same carrier has 10 log10(0.75 / 0.5) dB less per bit if three of four bits are the packets', not one of two.
#[test]
fn energy_per_bit_follows_the_code_rate() {
    let of = |modem: &str| {
        let text = format!(
            "duration = '30 s'\n[sky]\nover = {{ geo = 0 }}\n[sky.user]\nrate = '20 Mbit/s'\n[sky.user.down]\n{RADIO}\
             modem = {modem}\n[flow.a]\nfrom = 'Madrid'\nto = 'London'\n"
        );
        signal(&from_toml(&text, "f.toml", &[]).unwrap_or_else(|problems| panic!("{problems}")), "London")[0].1
    };
    let [half, ldpc, more] =
        ["'convolutional'", "{ kind = 'ldpc' }", "{ kind = 'ldpc', code_rate = 0.75, threshold = '4 dB' }"].map(of);
    assert!((half - ldpc).abs() < 1e-9 && (half - more - 1.761).abs() < 0.011, "{half} {ldpc} {more}");
}

/// A geostationary path from London with a radio on the link down there, and rain from a file `t`.
fn rained(keys: &str, content: &'static [u8]) -> Result<Resolved, String> {
    let text = format!(
        "duration = '30 s'\n[sky]\nover = {{ geo = 0 }}\nrain = {{ kind = 'file', place.London = {{ file = 't'{keys} }} }}\n\
         [sky.user]\nrate = '20 Mbit/s'\n[sky.user.down]\n{RADIO}noise_k = 1e5\nmodem = 'convolutional'\n\
         [flow.a]\nfrom = 'Madrid'\nto = 'London'\n"
    );
    let files = Given([("t", content)].into());
    crate::from_toml_with(&text, "f.toml", &[], &files).map_err(|problems| problems.to_string())
}

/// Signal on the link down to a place over time, dB.
fn signal(resolved: &Resolved, place: &str) -> Vec<(f64, f64)> {
    let json = resolved.to_json();
    let number = |text: &serde_json::Value| -> f64 {
        let text = text.as_str().unwrap();
        let (number, unit) = text.split_once(' ').unwrap();
        number.parse::<f64>().unwrap() * if unit == "ms" { 1e-3 } else { 1.0 }
    };
    let points = &json["link"][format!("{place}~geo")]["reverse"]["coding"]["eb_n0"];
    match points.as_str() {
        Some(_) => vec![(0.0, number(points))],
        None => points["points"].as_array().unwrap().iter().map(|p| (number(&p[0]), number(&p[1]))).collect(),
    }
}

#[test]
fn rain_from_a_file_takes_what_it_says_when_it_says_it() {
    let dry = signal(&rained("", b"time_s,fade_db\n0,0\n").unwrap(), "London")[0].1;
    let csv = b"# a beacon\nt_s,fade_db,rain_mm_h\n100,0,0\n110,3.5,10\n120,1,50\n";
    let of = |keys: &str| signal(&rained(&format!(", column = 'fade_db'{keys}"), csv).unwrap(), "London");
    let lost = |found: &[(f64, f64)]| -> Vec<(f64, f64)> {
        found.iter().map(|(t, db)| (*t, ((dry - db) * 10.0).round() / 10.0)).collect()
    };
    assert_eq!(lost(&of("")), [(0.0, 0.0), (10.0, 3.5), (20.0, 1.0)]);
    assert_eq!(lost(&of(", begin = '10 s'")), [(0.0, 3.5), (10.0, 1.0)]);
    assert_eq!(lost(&of(", every = '22 s'")), [(0.0, 0.0), (10.0, 3.5), (20.0, 1.0), (22.0, 0.0)]);
    // The radio is at 20 GHz.
    let scaled = bentpipe_orbit::budget::rain::scaled_db(3.5, 12.0, 20.0).unwrap();
    assert!((lost(&of(", frequency_ghz = 12"))[1].1 - scaled).abs() < 0.06 && scaled > 8.0);
    // A rain rate, by P.618 with it in place of the rate of 0.01 % of the year.
    let rate = lost(&signal(&rained(", column = 'rain_mm_h'", csv).unwrap(), "London"));
    let london = bentpipe_orbit::budget::climate::climate("London").unwrap().rain;
    let place = bentpipe_orbit::sky::places::city("London").unwrap();
    let mut sky = preset("iridium").unwrap().sky(Epoch::Y2000).unwrap();
    sky.constellation = bentpipe_orbit::sky::constellation::Constellation::new(Epoch::Y2000);
    sky.constellation.add("geo", bentpipe_orbit::sky::orbit::Orbit::geo(0.0, 0.0, 0.0).unwrap()).unwrap();
    sky.places = vec![Place::fixed("London", place)];
    let elevation_deg = sky.sighting(0, 0, 0.0).unwrap().elevation_deg();
    let ray = bentpipe_orbit::budget::Ray { frequency_ghz: 20.0, elevation_deg, tilt_deg: 45.0 };
    for ((_, found), rate_001_mm_h) in rate.iter().zip([0.0, 10.0, 50.0]) {
        let climate = bentpipe_orbit::budget::rain::RainClimate { rate_001_mm_h, ..london };
        assert!((found - climate.attenuation_001_db(&ray).unwrap()).abs() < 0.06, "{rate_001_mm_h} mm/h: {found} dB");
    }
    assert!(rate[2].1 > 10.0);
    // An expanded scenario needs no file, and Madrid has no rain.
    let resolved = rained("", b"time_s,fade_db\n0,5\n").unwrap();
    assert_eq!(resolved.digest(), from_toml(&resolved.to_toml(), "f", &[]).unwrap().digest());
    let madrid = signal(&resolved, "Madrid");
    assert_eq!(madrid, signal(&rained("", b"time_s,fade_db\n0,0\n").unwrap(), "Madrid"));
}

#[test]
fn what_is_wrong_with_a_file_of_rain_is_said_with_its_line() {
    for (keys, content, said) in [
        (
            "",
            &b"time_s,rain_mm_h\n0,1\n1,x\n"[..],
            "sky.rain.place.London.file = \"t\" is not such a trace: line 3: \"x\" is not a number",
        ),
        ("", b"time_s,rain_mm_h\n0,1\n\n1,-1\n", "line 4: \"-1\" is not between 0 and 1000"),
        ("", b"time_s,fade_db\n0,301\n", "line 2: \"301\" is not between 0 and 300"),
        ("", b"time_s,rain_mm_h\n1,1\n0,1\n", "line 3: \"0\" is before the previous line"),
        ("", b"time_s,rain_mm_h\n0,1,2\n", "line 2: has 3 columns"),
        (
            "",
            b"time_s,rain\n0,1\n",
            "the name of column \"rain\" does not end in a unit; expected _mm_h or _db at its end",
        ),
        ("", b"time_s,a_db,b_db\n0,1,1\n", "expected column to be one of: a_db, b_db"),
        ("", b"0,1\n", "line 1: has numbers in the place of names"),
        ("", b"time_s,a_db\n", "is empty"),
        ("", b"time_s,a_db\n0,\xff\n", "line 2: is not text in UTF-8"),
        (", column = 'c_db'", b"time_s,a_db\n0,1\n", "has no column \"c_db\" of values"),
        (", every = '1 s'", b"time_s,a_db\n0,1\n1,2\n", "sky.rain.place.London.every is too short for the series"),
        (", frequency_ghz = 3", b"time_s,a_db\n0,1\n", "sky.rain.place.London.frequency_ghz"),
    ] {
        let problems = rained(keys, content).map(drop).unwrap_err().replace("\n  expected", "; expected");
        let said_all = said.split("; ").all(|said| problems.contains(said));
        assert!(said_all && problems.contains("f.toml:4:"), "{said}\n{problems}");
    }
    let text = "duration = '1 s'\n[sky]\nover = 'iridium'\nrain = { kind = 'file', place.Lodnon = { file = 't' } }\n\
                [flow.a]\nfrom = 'Madrid'\nto = 'London'\n";
    let problems = said(text);
    assert!(
        problems.contains("sky.rain.place.Lodnon is not a place of a flow") && problems.contains("London"),
        "{problems}"
    );
}

#[test]
fn clouds_and_scintillation_take_what_the_recommendations_say_where_a_key_asks_for_them() {
    use bentpipe_orbit::budget::{clouds::cloud_db, scintillation::*, total_db, Ray};
    let of = |keys: &str, radio: &str| {
        let text = format!(
            "duration = '2 s'\n[sky]\nover = {{ geo = 0 }}\n{keys}\n[sky.user]\nrate = '20 Mbit/s'\n\
             [sky.user.down]\n{RADIO}{radio}noise_k = 1e5\nmodem = 'convolutional'\n[flow.a]\nfrom = 'Madrid'\nto = 'London'\n"
        );
        signal(&from_toml(&text, "f", &[]).unwrap_or_else(|problems| panic!("{problems}")), "London")[0].1
    };
    let clear = of("", "");
    assert_eq!(clear, of("", "antenna_m = 5\n"));
    let climate = bentpipe_orbit::budget::climate::climate("London").unwrap();
    let mut sky = preset("iridium").unwrap().sky(Epoch::Y2000).unwrap();
    sky.constellation = bentpipe_orbit::sky::constellation::Constellation::new(Epoch::Y2000);
    sky.constellation.add("geo", bentpipe_orbit::sky::orbit::Orbit::geo(0.0, 0.0, 0.0).unwrap()).unwrap();
    sky.places = vec![Place::city("London").unwrap()];
    let elevation_deg = sky.sighting(0, 0, 0.0).unwrap().elevation_deg();
    let ray = Ray { frequency_ghz: 20.0, elevation_deg, tilt_deg: 45.0 };
    let clouds = |percent| cloud_db(&ray, climate.clouds.water(percent).unwrap()).unwrap();
    let fade = |diameter_m| {
        let aperture = Aperture { diameter_m, efficiency: 0.5 };
        scintillation_db(&ray, &aperture, climate.wet_refractivity, 0.1).unwrap()
    };
    // Rain comes with the gases of 5 % of the year. The receiver's noise hardly rises.
    let gases = |percent| {
        bentpipe_orbit::budget::gases::gas_path_db(&ray, &climate.air, Some(climate.vapour.at(percent).unwrap()))
            .unwrap()
    };
    let rain = climate.rain.attenuation_db(&ray, 1.0).unwrap();
    for (keys, radio, expected) in [
        ("clouds = { percent = 1 }", "", clouds(1.0)),
        ("clouds = { percent = 20 }", "", clouds(20.0)),
        ("scintillation = { percent = 0.1 }", "", fade(0.6)),
        ("scintillation = { percent = 0.1 }", "antenna_m = 3\n", fade(3.0)),
        (
            "rain = { kind = 'exceeded', percent = 1 }\nclouds = { percent = 1 }\nscintillation = { percent = 0.1 }",
            "",
            total_db(gases(5.0) - gases(50.0), clouds(1.0), rain, fade(0.6)),
        ),
    ] {
        // The signal is written with two decimals.
        assert!((clear - of(keys, radio) - expected).abs() < 0.0101, "{keys}: {} {expected}", clear - of(keys, radio));
    }
    assert!(clouds(1.0) > 2.0 * clouds(20.0) && clouds(20.0) > 0.0 && fade(0.6) > fade(3.0) && fade(3.0) > 0.1);
    let text = "duration = '1 s'\n[sky]\nover = 'iridium'\nclouds = { percent = 0.5 }\n\
                [flow.a]\nfrom = 'Madrid'\nto = 'London'\n";
    assert!(said(text).contains("sky.clouds.percent"));
}

/// During the interruption there is no route, unless packets wait for the next satellite, as in `[[at]]`.
#[test]
fn a_place_without_a_satellite_has_no_route_or_packets_wait() {
    for waiting in ["lost", "rerouted", "kept"] {
        for gap in ["200 ms", "1 s", "3 s"] {
            let resolved = read(&format!("break_before_make = '{gap}'\nwaiting = '{waiting}'"));
            let gap = Duration::from_secs_f64(if gap == "200 ms" { 0.2 } else { gap[..1].parse().unwrap() });
            assert_eq!(resolved.digest(), from_toml(&resolved.to_toml(), "f", &[]).unwrap().digest());
            let changes = &resolved.scenario.timeline.changes;
            let gone: Vec<Time> =
                changes.iter().filter(|(_, change)| matches!(change, Change::Withdraw(_))).map(|(at, _)| *at).collect();
            assert_eq!(gone.is_empty(), waiting == "kept", "{waiting}");
            let is_install = |change: &Change| matches!(change, Change::Install { .. });
            for at in gone {
                // The route may stay withdrawn longer if another handover follows.
                let next = changes.iter().find(|(time, change)| *time > at && is_install(change));
                assert!(next.is_none_or(|(time, _)| *time >= at + gap), "{waiting} {at:?}");
                assert!(next.is_some() || at + gap > Time::ZERO + Duration::from_secs(60));
            }
        }
    }
}

/// Paths that other scenarios left behind are not used where any input of the search differs.
#[test]
fn kept_paths_are_those_that_would_be_found() {
    let variants = [
        "",
        "day = 3",
        "elevation_min = '40 deg'",
        "hop_delay = '30 ms'",
        "metric = 'hops'",
        "step = '3 s'",
        "change = 'broken'",
        "selection = 'highest'",
        "between_satellites = { max_km = 3000 }",
        "start = '2026-06-14T10:00:00Z'",
        "disjoint = { paths = 2, flow = { bulk = 2 } }",
    ];
    let digest = |keys: &str| {
        let text = format!(
            "duration = '30 s'\n[sky]\nover = 'starlink-shell-1'\n{keys}\n\
             [flow.bulk]\nfrom = 'London'\nto = 'Singapore'\n"
        );
        from_toml(&text, "f", &[]).unwrap_or_else(|problems| panic!("{problems}")).digest()
    };
    let all = variants.map(digest);
    assert_eq!(all, variants.map(digest), "all are kept");
    for (keys, found) in variants.iter().zip(&all) {
        super::kept::forget();
        assert_eq!(*found, digest(keys), "{keys}");
    }
    // A longer hop and fewer hops do not change the best path here.
    assert!(all.iter().collect::<std::collections::BTreeSet<_>>().len() > 7, "{all:?}");
}

/// A satellite that a place leaves learns a route over links between satellites to the next one.
#[test]
fn packets_at_the_old_satellite_have_a_way_to_the_new_one() {
    for how in ["break_before_make = '60 ms'\nwaiting = 'kept'", "make_before_break = '2 s'\nwaiting = 'rerouted'"] {
        let text = format!(
            "duration = '3 min'\n[sky]\nover = 'starlink-shell-1'\nselection = 'starlink'\n{how}\n\
             [link.lan]\nfrom = 'host'\nto = 'London'\nrate = '1 Gbit/s'\ndelay = '1 ms'\n\
             [flow.a]\nfrom = 'host'\nto = 'New York'\n"
        );
        let resolved = from_toml(&text, "f", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let scenario = &resolved.scenario;
        let mut left = 0;
        for (at, change) in &scenario.timeline.changes {
            let Change::Down { link, waiting, .. } = change else { continue };
            let link = &scenario.links[*link];
            // Down to a place, and not for the time of the interruption.
            let place = &scenario.nodes[link.to].name;
            if *waiting != bentpipe_model::spec::Waiting::Rerouted || !["London", "New York"].contains(&place.as_str())
            {
                continue;
            }
            left += 1;
            let is_back = place == "London";
            let route = scenario.timeline.installs().find(|(time, path, route)| {
                time == at && path.is_back() == is_back && scenario.links[route[0]].from == link.from
            });
            let (.., route) = route.unwrap_or_else(|| panic!("{how}: {at} {}", link.name));
            let ends: Vec<_> =
                route.iter().map(|link| (scenario.links[*link].from, scenario.links[*link].to)).collect();
            assert!(ends.windows(2).all(|pair| pair[0].1 == pair[1].0), "{how}: {ends:?}");
            assert!(!route.iter().any(|hop| scenario.links[*hop].name == link.name), "{how}: {at}");
            let last = ends.last().unwrap().1;
            assert_eq!(scenario.nodes[last].name, if is_back { "host" } else { "New York" });
        }
        assert!(left > 10, "{how}: {left}");
        assert_eq!(resolved.digest(), from_toml(&resolved.to_toml(), "f", &[]).unwrap().digest());
    }
}

/// A place that leaves a satellite before the end of the interruption never uses it: packets do not wait there.
#[test]
fn a_satellite_that_is_left_within_the_interruption_keeps_no_packets() {
    for over in
        ["over = 'starlink-shell-1'", "over = 'starlink-shell-1'\nbetween_satellites = 'none'\ngateway = ['Madrid']"]
    {
        let text = format!(
            "duration = '2 min'\n[sky]\n{over}\nselection = 'starlink'\nbreak_before_make = '20 s'\nwaiting = 'kept'\n\
             [flow.a]\nfrom = 'London'\nto = 'Madrid'\n"
        );
        let resolved = from_toml(&text, "f", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let changes = &resolved.scenario.timeline.changes;
        let end = Time::ZERO + Duration::from_secs(120);
        for (link, absences) in resolved.scenario.timeline.absences() {
            let kept = absences.iter().filter(|absence| absence.waiting == bentpipe_model::spec::Waiting::Kept);
            for absence in kept.filter(|absence| absence.to > absence.from + Duration::from_secs(20)) {
                assert!(absence.from + Duration::from_secs(20) > end, "{over}: {link:?} {absence:?}");
            }
        }
        assert!(changes.iter().any(|(_, change)| matches!(change, Change::Withdraw(_))), "{over}");
    }
}
