//! Files of elements and instants in scenarios.

use bentpipe_sim::scenario::{from_json_with, from_toml, from_toml_with, Files, Resolved};
use bentpipe_sim::Network;

const HEAD: &str = "OBJECT_NAME,NORAD_CAT_ID,EPOCH,MEAN_MOTION,ECCENTRICITY,INCLINATION,RA_OF_ASC_NODE,ARG_OF_PERICENTER,MEAN_ANOMALY,BSTAR";

/// Three geostationary satellites. One is always above Europe.
fn three() -> String {
    let row = |number: u32| format!("SAT {number},{number},2026-06-01,1.0027,0.0001,0.1,0,0,{},0\n", 120 * number);
    format!("{HEAD}\n{}", (1..=3).map(row).collect::<String>())
}

/// One file, `sats.csv`.
struct One(Vec<u8>);

impl Files for One {
    fn read(&self, name: &str) -> Result<Vec<u8>, (String, String)> {
        assert_eq!(name, "sats.csv");
        Ok(self.0.clone())
    }
}

fn text(sky: &str, over: &str) -> String {
    format!(
        "duration = '10 s'\n[sky]\nover = {{ elements = 'sats.csv'{over} }}\nelevation_min = '5 deg'\n{sky}\n\
         [flow.bulk]\nfrom = 'London'\nto = 'Paris'\n"
    )
}

fn read(sky: &str, over: &str, content: &str) -> Result<Resolved, String> {
    let files = One(content.as_bytes().to_vec());
    from_toml_with(&text(sky, over), "f.toml", &[], &files).map_err(|problems| problems.to_string())
}

fn over_iridium(start: &str) -> Result<Resolved, String> {
    let text =
        format!("duration = '10 s'\n[sky]\nover = 'iridium'\n{start}\n[flow.bulk]\nfrom = 'London'\nto = 'New York'\n");
    from_toml(&text, "f.toml", &[]).map_err(|problems| problems.to_string())
}

#[test]
fn an_instant_may_be_a_date_of_toml() {
    let digest = |start: &str| over_iridium(start).unwrap_or_else(|error| panic!("{start}: {error}")).digest();
    let noon = digest("start = '2026-06-14T12:00:00Z'");
    for start in [
        "2026-06-14T12:00:00Z",
        "2026-06-14T12:00:00",
        "2026-06-14 12:00:00Z",
        "2026-06-14T14:00:00+02:00",
        "2026-06-14T06:30:00.000-05:30",
        "'2026-06-14T14:00:00+02:00'",
    ] {
        assert_eq!(digest(&format!("start = {start}")), noon, "{start}");
    }
    let midnight = digest("start = 2026-06-14");
    assert_eq!(midnight, digest("start = '2026-06-14'"));
    assert_ne!(midnight, noon);
    let set = [("sky.start".to_owned(), "2026-06-14T12:00:00Z".to_owned())];
    let text = "duration = '10 s'\n[sky]\nover = 'iridium'\n[flow.bulk]\nfrom = 'London'\nto = 'New York'\n";
    assert_eq!(from_toml(text, "f", &set).unwrap().digest(), noon);
}

#[test]
fn an_impossible_instant_is_refused_at_its_place() {
    for (start, message) in [
        ("'2026-02-30'", "sky.start = \"2026-02-30\" is not an instant: there is no day 30 in 2026-02"),
        ("'2026-13-01'", "is not an instant: there is no month 13"),
        ("'1600-01-01'", "is not an instant: the year 1600 is out of range; expected 1900 to 2199"),
        ("'2026-06-14T25:00:00'", "is not an instant: expected a time before 24:00:00"),
        ("'noon'", "sky.start = \"noon\" is not an instant"),
        ("12:30:00", "sky.start = 12:30:00 is not an instant"),
        ("1812-06-24", "sky.start = 1812-06-24 is not an instant: the year 1812"),
        ("20260614", "sky.start = 20260614 is a bare number"),
    ] {
        let said = over_iridium(&format!("start = {start}")).unwrap_err();
        assert!(said.contains(message) && said.contains("f.toml:4:"), "{start}: {said}");
        assert!(said.contains("expected an instant of UTC, like \"2026-06-14T12:00:00Z\""), "{start}: {said}");
    }
    // TOML itself checks the days of months.
    assert!(over_iridium("start = 2026-02-30").unwrap_err().contains("not TOML"));
}

#[test]
fn a_date_is_no_other_text() {
    let said = over_iridium("selection = 2026-06-14").unwrap_err();
    assert!(said.contains("sky.selection = 2026-06-14 is a date"), "{said}");
}

#[test]
fn notes_have_what_is_left_out_of_a_file() {
    assert_eq!(read("", "", &three()).unwrap().scenario.notes(), [""; 0]);
    let decays = "FALLS,9,2026-06-01,15.92146194,0.0014449,98.6,111,269,91,0.044853\n";
    let copy = three().lines().nth(1).unwrap().to_owned();
    let content = three() + decays + &copy;
    let resolved = read("start = 2026-06-09", "", &content).unwrap();
    let notes = resolved.scenario.notes();
    assert_eq!(notes.len(), 3, "{notes:?}");
    assert_eq!(notes[0], "sats.csv: 1 copy of an element set is counted once");
    assert!(notes[1].starts_with("sats.csv: 1 satellite is left out: ") && notes[1].ends_with("line 5: FALLS"));
    assert!(
        notes[2].starts_with("sats.csv: 3 satellites have elements 7 days or more from the run, 8 days in the median")
    );
    // The results contain them, too. The digest is that of the links.
    let mut network = Network::build(&resolved.scenario, 1);
    while !network.run(1_000_000) {}
    let result = network.finish().unwrap();
    assert_eq!(result.notes[..3], notes[..]);
    assert_eq!(resolved.digest(), read("start = 2026-06-09", "", &three()).unwrap().digest());
}

#[test]
fn old_elements_are_refused_unless_more_is_allowed() {
    let said = read("start = 2027-06-01", "", &three()).unwrap_err();
    for part in ["f.toml:3:", "sky.over is of no use: sats.csv: ", "all 3 satellites", "365 days", "elements_age_max"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    for age in ["366 d", "366 days", "8784 h"] {
        let resolved = read(&format!("start = 2027-06-01\nelements_age_max = '{age}'"), "", &three()).unwrap();
        assert!(resolved.scenario.notes()[0].contains("365 days at most"), "{:?}", resolved.scenario.notes());
    }
    assert!(read("start = 2026-06-03\nelements_age_max = '1 d'", "", &three())
        .unwrap_err()
        .contains("more than 1 day from the run"));
    let said = read("elements_age_max = '1 year'", "", &three()).unwrap_err();
    assert!(said.contains("f.toml:5:") && said.contains("expected a number with d, h, min or s"), "{said}");
    let old = three().replacen("2026-06-01", "2020-06-01", 1);
    let said = read("", "", &old).unwrap_err();
    for part in ["sats.csv: line 2: the elements of SAT 1", "2191 days", "bad = \"skip\""] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let notes = read("", ", bad = 'skip'", &old).unwrap().scenario.notes();
    assert!(notes[0].starts_with("sats.csv: 1 satellite is left out: elements that are too old"), "{notes:?}");
}

#[test]
fn unreadable_files_are_refused_with_place_and_reason() {
    for (content, what) in [
        (b"\xff\xfe1\0".to_vec(), "sats.csv: elements: the file is UTF-16"),
        (b"SAT\n\xe9".to_vec(), "sats.csv: elements: byte 0xe9 in line 2 is not UTF-8"),
        (Vec::new(), "no record of a satellite; expected two-line elements or OMM"),
        (three().replace("2026-06-01", "2026-02-30").into_bytes(), "sats.csv: line 2: EPOCH: date: there is no day 30"),
        (three().replace("2026-06-01", "2158-06-01").into_bytes(), "line 2: the epoch is 2158-06-01"),
        (three().replace("1.0027", "17.9").into_bytes(), "no satellite is left: 3 element sets are left out"),
    ] {
        let said = from_toml_with(&text("", ""), "f.toml", &[], &One(content)).unwrap_err().to_string();
        assert!(said.contains("f.toml:3:") && said.contains(what), "{what}: {said}");
    }
}

#[test]
fn a_scenario_in_json_has_instants_as_text() {
    let json = r#"{"duration": "10 s", "sky": {"over": "iridium", "start": "2026-06-14"},
        "flow": {"bulk": {"from": "London", "to": "New York"}}}"#;
    let files = One(Vec::new());
    assert_eq!(
        from_json_with(json, "f", &[], &files).unwrap().digest(),
        over_iridium("start = 2026-06-14").unwrap().digest()
    );
}
