//! Several constellations in one sky.

use super::said;
use crate::{from_toml, Resolved};
use bentpipe_model::ids::LinkId;
use bentpipe_model::spec::{Change, Waiting};
use bentpipe_units::{Duration, Time};

const FLOW: &str = "[flow.a]\nfrom = 'London'\nto = 'Paris'\n";

/// London and Paris over Iridium and over a satellite above the equator. London has no Iridium from 10 s to 20 s.
fn backup(more: &str, below: &str) -> String {
    format!(
        "duration = '40 s'\n[sky]\nover = ['leo', 'geo']\n{more}\n\
         [sky.constellation.leo]\nover = 'iridium'\nfailure = [{{ terminal = 'London', from = '10 s', to = '20 s' }}]\n\
         [sky.constellation.geo]\nover = {{ geo = 0 }}\nuser.rate = '5 Mbit/s'\n{below}\n{FLOW}"
    )
}

fn read(text: &str) -> Resolved {
    from_toml(text, "f.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"))
}

fn names(resolved: &Resolved, links: &[LinkId]) -> Vec<String> {
    links.iter().map(|link| resolved.scenario.links[*link].name.clone()).collect()
}

/// The constellations of the flow's forward route: start, and name from its links.
fn ways(resolved: &Resolved) -> Vec<(f64, &'static str)> {
    let kind = |links: &[LinkId]| match names(resolved, links) {
        links if links.iter().all(|link| link.contains("leo-")) => "leo",
        links if links.iter().all(|link| link.contains("~geo.")) => "geo",
        links => panic!("mixed: {links:?}"),
    };
    let mut ways = vec![(0.0, kind(&resolved.scenario.lanes[0].route))];
    for (time, change) in &resolved.scenario.timeline.changes {
        match change {
            Change::Install { path, route } if !path.is_back() => {
                let next = kind(route);
                if ways.last().unwrap().1 != next {
                    ways.push(((*time - Time::ZERO).as_secs_f64(), next));
                }
            }
            Change::Withdraw(_) => panic!("withdrawn at {time}"),
            _ => {}
        }
    }
    ways
}

#[test]
fn a_flow_takes_the_first_constellation_with_a_path_and_goes_back_to_it() {
    assert_eq!(ways(&read(&backup("", ""))), [(0.0, "leo"), (10.0, "geo"), (20.0, "leo")]);
    assert_eq!(ways(&read(&backup("back_after = '5 s'", ""))), [(0.0, "leo"), (10.0, "geo"), (25.0, "leo")]);
    assert_eq!(ways(&read(&backup("back_after = '1 min'", ""))), [(0.0, "leo"), (10.0, "geo")]);
    let turned = backup("", "").replace("['leo', 'geo']", "['geo', 'leo']");
    assert_eq!(ways(&read(&turned)), [(0.0, "geo")]);
}

#[test]
fn places_choose_among_the_constellations() {
    let only = backup("", "[sky.place.London]\nover = ['geo']\n");
    assert_eq!(ways(&read(&only)), [(0.0, "geo")]);
    let apart = backup("", "[sky.place.London]\nover = ['geo']\n[sky.place.Paris]\nover = ['leo']\n");
    let message = said(&apart);
    assert!(message.contains("sky.over has no path from London to Paris"), "{message}");
    assert!(message.contains("London does not use leo; Paris does not use geo"), "{message}");
}

#[test]
fn each_constellation_has_its_own_links() {
    let resolved = read(&backup("user.rate = '50 Mbit/s'", ""));
    for link in resolved.scenario.links.iter() {
        let rate = format!("{:?}", link.rate);
        let expected = if link.name.contains("~geo.") { "5000000" } else { "50000000" };
        if link.name.starts_with("London~") || link.name.starts_with("Paris~") {
            assert!(rate.contains(expected), "{}: {rate}", link.name);
        }
    }
    // The failed terminal loses the packets that wait for it. The other terminal keeps its link all the time.
    let at = |t: f64| Time::ZERO + Duration::from_secs_f64(t);
    let mut failed = 0;
    for (time, change) in &resolved.scenario.timeline.changes {
        if let Change::Down { link, waiting, .. } = change {
            let name = names(&resolved, &[*link]).remove(0);
            assert!(!name.contains("~geo."), "{name} at {time}");
            if *time == at(10.0) && name.starts_with("London~") {
                assert_eq!(*waiting, Waiting::Lost, "{name}");
                failed += 1;
            }
        }
    }
    assert_eq!(failed, 2);
    assert_eq!(resolved.digest(), read(&resolved.to_toml()).digest());
}

#[test]
fn a_list_of_one_is_that_constellation() {
    let one = format!("duration = '60 s'\n[sky]\nover = ['iridium']\n{FLOW}");
    let alone = one.replace("['iridium']", "'iridium'");
    let [one, alone] = [read(&one), read(&alone)];
    assert_eq!(one.scenario.timeline.changes.len(), alone.scenario.timeline.changes.len());
    let name = |resolved: &Resolved| -> Vec<String> {
        resolved.scenario.links.iter().map(|link| link.name.replace("iridium-", "")).collect()
    };
    assert_eq!(name(&one), name(&alone));
}

/// Two constellations that are joined by fibre. Fibres and gateways of different operators are not joined.
#[test]
fn fibres_are_those_of_a_constellation() {
    let text = "duration = '20 s'\n[sky]\nover = ['a', 'b']\ngateway = ['Madrid', 'Rome']\n\
                [sky.constellation.a]\nover = { geo = 0 }\nfailure = [{ gateway = 'Rome', from = '5 s' }, \
                { terminal = 'London', from = '10 s' }]\n\
                [sky.constellation.b]\nover = { geo = 20 }\nstretch = 1\n[flow.a]\nfrom = 'London'\nto = 'Rome'\n";
    // `stretch` is a key of the whole sky.
    assert!(said(text).contains("stretch"), "{}", said(text));
    let resolved = read(&text.replace("stretch = 1\n", ""));
    assert_eq!(names(&resolved, &resolved.scenario.lanes[0].route), ["London~a.forward", "Rome~a.reverse"]);
    let last = resolved.scenario.timeline.changes.iter().rev().find_map(|(_, change)| match change {
        Change::Install { path, route } if !path.is_back() => Some(route.clone()),
        _ => None,
    });
    assert_eq!(names(&resolved, &last.unwrap()), ["London~b.forward", "Rome~b.reverse"]);
}

#[test]
fn notes_say_which_constellation_is_in_use() {
    let resolved = read(&backup("back_after = '5 s'", ""));
    let notes = &resolved.scenario.notes;
    let note =
        notes.iter().find(|note| note.starts_with("sky: London to Paris")).unwrap_or_else(|| panic!("{notes:?}"));
    assert!(note.contains("over leo 62.5 % of the time, over geo 37.5 %"), "{note}");
    assert!(note.contains("to geo at 10 s, to leo at 25 s"), "{note}");
    assert!(note.contains("leo 25.0 % without a path: London is out of use"), "{note}");
}

#[test]
fn what_is_wrong_with_several_constellations_is_said_at_its_key() {
    let head = "duration = '10 s'\n[sky]\n";
    for (sky, message) in [
        ("over = []", "sky.over has no constellation"),
        ("over = 'iridium'\nelements_age_max = '1 d'", "sky.elements_age_max is for elements of a file"),
        ("over = ['iridium']\nelements_age_max = '1 d'", "sky.elements_age_max is for elements of a file"),
        ("over = ['iridum']", "sky.over[0] = \"iridum\" is not a constellation"),
        ("over = ['iridium', 'iridium']", "sky.over[1] = \"iridium\" is in the list twice"),
        ("over = 'iridium'\nback_after = '1 s'", "sky.back_after is for several constellations"),
        ("over = 'iridium'\nplace.London.over = ['iridium']", "sky.place.London.over is for several"),
        ("over = 'iridium'\nconstellation.iridium.shared = true", "sky.constellation is for several"),
        ("over = ['iridium']\nplace.London.over = ['geo']", "sky.place.London.over: \"geo\" is not in sky.over"),
        ("over = ['iridium']\nconstellation.geo.shared = true", "sky.constellation.geo: \"geo\" is not in sky.over"),
        ("over = ['a']\nconstellation.a.over = ['iridium']", "sky.constellation.a.over is a list"),
        ("over = ['iridium']\nfailure = [{ terminal = 'London' }]", "sky.failure is for one constellation"),
        ("over = ['iridium']\ndisjoint.paths = 2", "sky.disjoint is for one constellation"),
        (
            "over = ['iridium']\nconstellation.iridium.failure = [{ satellite = '99-1' }]",
            "sky.constellation.iridium.failure.0.satellite = \"99-1\" is not a satellite",
        ),
        (
            "over = ['iridium']\nconstellation.iridium.gateway = ['Atlantis']",
            "sky.constellation.iridium.gateway: \"Atlantis\" is not a known place",
        ),
        ("over = ['g']\n[sky.constellation.g]\nover = { geo = 180 }", "g: no satellite is in view of"),
    ] {
        let text = format!("{head}{sky}\n{FLOW}");
        let found = said(&text);
        assert!(found.contains(message), "{sky}: {found}");
    }
    let empty = said(&format!("{head}over = []\nconstellation.geo.shared = true\n{FLOW}"));
    assert!(empty.contains("expected one or more names") && !empty.contains("expected one of"), "{empty}");
}

/// After a failure, the terminal changes to satellites whose links failed with it. Packets wait for these links as for
/// others.
#[test]
fn a_terminal_that_is_back_hands_over_as_before() {
    let text = "duration = '60 s'\n[sky]\nover = ['leo', 'geo']\nbreak_before_make = '60 ms'\nwaiting = 'WAITING'\n\
                [sky.constellation.leo]\nover = 'starlink-shell-1'\nselection = 'starlink'\n\
                failure = [{ terminal = 'London', from = '5 s', to = '13 s' }, { terminal = 'London', from = '27 s', to = '30 s' }]\n\
                [sky.constellation.geo]\nover = { geo = 0 }\n[flow.a]\nfrom = 'London'\nto = 'Paris'\n";
    for waiting in ["kept", "moved", "lost", "rerouted"] {
        let resolved = read(&text.replace("WAITING", waiting));
        assert_eq!(resolved.digest(), read(&resolved.to_toml()).digest(), "{waiting}");
    }
}
