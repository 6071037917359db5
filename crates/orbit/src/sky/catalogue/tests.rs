use super::*;

const HEAD: &str = "OBJECT_NAME,NORAD_CAT_ID,EPOCH,MEAN_MOTION,ECCENTRICITY,INCLINATION,RA_OF_ASC_NODE,ARG_OF_PERICENTER,MEAN_ANOMALY,BSTAR";

/// Record of a table: name, number, epoch, revolutions per day, eccentricity, B*.
fn row(name: &str, number: u64, epoch: &str, (motion, eccentricity, bstar): (f64, f64, f64)) -> String {
    format!("{name},{number},{epoch},{motion},{eccentricity},53,10,90,270,{bstar}")
}

/// An orbit of 550 km.
const LOW: (f64, f64, f64) = (15.06, 0.0001, 0.0001);

fn file(rows: &[String]) -> String {
    format!("{HEAD}\n{}\n", rows.join("\n"))
}

fn request(epoch: &str) -> Request {
    let epoch = (!epoch.is_empty()).then(|| Epoch::parse(epoch).unwrap());
    Request { epoch, begin_s: 0.0, duration_s: 600.0, age_max_s: AGE_MAX_S, bad: BadRecords::Refuse }
}

fn read(rows: &[String], epoch: &str) -> (Sky, Census) {
    read_sky(file(rows).as_bytes(), &request(epoch)).unwrap_or_else(|error| panic!("{error}"))
}

fn names(sky: &Sky) -> Vec<&str> {
    sky.constellation.satellites.iter().map(|satellite| satellite.name.as_str()).collect()
}

/// Row whose elements the only satellite has, found by its position after ten minutes.
fn elements_of(sky: &Sky, rows: &[String]) -> usize {
    let position = |orbit: &Orbit| orbit.inertial(&Earth::WGS84, sky.constellation.epoch, 600.0);
    let found = position(&sky.constellation.satellites[0].orbit);
    let each = read_elements(&file(rows), ElementFormat::Auto, BadRecords::Refuse).unwrap().sets;
    each.iter().position(|set| position(&Orbit::elements(set).unwrap()) == found).unwrap()
}

#[test]
fn of_several_epochs_the_last_before_the_run_counts() {
    let days = ["2026-06-03", "2026-06-01", "2026-06-02", "2026-06-04"];
    let rows = days.map(|day| row("A", 9, day, LOW));
    for (epoch, expected) in [
        ("2026-05-31", 1),
        ("2026-06-01", 1),
        ("2026-06-01T23:00:00", 1),
        ("2026-06-02", 2),
        ("2026-06-03T12:00:00", 0),
        ("2026-06-09", 3),
    ] {
        let (sky, census) = read(&rows, epoch);
        assert_eq!(names(&sky), ["A"], "{epoch}");
        assert_eq!(elements_of(&sky, &rows), expected, "{epoch}");
        assert_eq!((census.records, census.satellites, census.superseded), (4, 1, 3), "{epoch}");
        assert!(census.notes()[0].starts_with("3 element sets are not used"), "{:?}", census.notes());
    }
    // The run decides, not t = 0.
    let later = Request { begin_s: 86_400.0, ..request("2026-06-02") };
    let (sky, _) = read_sky(file(&rows).as_bytes(), &later).unwrap();
    assert_eq!(elements_of(&sky, &rows), 0);
}

#[test]
fn copies_count_once() {
    let a = row("A", 9, "2026-06-01", LOW);
    let renamed = row("A [+]", 9, "2026-06-01", LOW);
    let (sky, census) = read(&[a.clone(), row("B", 8, "2026-06-01", LOW), a.clone(), renamed], "");
    assert_eq!(names(&sky), ["A", "B"]);
    assert_eq!((census.records, census.copies, census.superseded), (4, 2, 0));
    assert_eq!(census.notes(), ["2 copies of element sets are counted once"]);
    assert_eq!(read(&[a], "").1.notes(), [""; 0]);
}

/// A new name does not make another object of the same number. Several names at one epoch are several objects.
#[test]
fn objects_are_known_by_number_and_by_name_where_they_share_one() {
    let other = (15.06, 0.0002, 0.0001);
    let renamed = [row("OBJECT A", 9, "2026-06-01", LOW), row("STAR-1", 9, "2026-06-02", LOW)];
    assert_eq!(names(&read(&renamed, "2026-06-03").0), ["STAR-1"]);
    let shared = [
        row("A", 99_999, "2026-06-01", LOW),
        row("B", 99_999, "2026-06-01", other),
        row("B", 99_999, "2026-06-02", other),
    ];
    let (sky, census) = read(&shared, "2026-06-03");
    assert_eq!((names(&sky), census.superseded), (vec!["A", "B"], 1));
    let unnumbered = [row("A", 0, "2026-06-01", LOW), row("B", 0, "2026-06-02", LOW), row("A", 0, "2026-06-02", LOW)];
    assert_eq!(names(&read(&unnumbered, "2026-06-03").0), ["B", "A"]);
    let unnamed = [row("", 0, "2026-06-01", LOW), row("", 0, "2026-06-02", LOW)];
    assert_eq!(names(&read(&unnamed, "2026-06-03").0), ["0", "0"]);
}

#[test]
fn of_several_sets_for_one_epoch_the_last_that_can_be_believed_counts() {
    let sets = [LOW, (15.06, 0.0002, 0.0001), (15.06, 0.0001, 9.9), (15.06, 0.9, 0.0001), (17.5, 0.0001, 0.0001)];
    let rows = sets.map(|set| row("A", 9, "2026-06-01", set));
    let two_hours = Request { duration_s: 7200.0, ..request("2026-06-01") };
    let (sky, census) = read_sky(file(&rows).as_bytes(), &two_hours).unwrap();
    assert_eq!((names(&sky), elements_of(&sky, &rows)), (vec!["A"], 1));
    assert_eq!((census.impossible.count, census.superseded), (2, 2));
    assert_eq!(census.impossible.first, "line 5: A");
}

/// B* of an object in its last days: six days later, SGP4 puts it 600 000 km away without an error.
#[test]
fn objects_that_decay_or_run_away_are_left_out() {
    let decaying = row("FALLS", 1, "2026-02-27T02:58:40", (15.921_461_94, 0.001_444_9, 0.044_853));
    let stays = row("STAYS", 2, "2026-03-04", LOW);
    let (sky, census) = read(&[decaying.clone(), stays.clone()], "2026-03-05");
    assert_eq!(names(&sky), ["STAYS"]);
    assert_eq!(census.failed.count + census.too_low.count + census.too_high.count, 1, "{census:?}");
    assert!(census.notes()[0].contains("line 2: FALLS"), "{:?}", census.notes());
    // At its epoch it exists, for a while.
    assert_eq!(names(&read(&[decaying.clone(), stays.clone()], "2026-02-27T02:58:40").0), ["FALLS", "STAYS"]);
    let long = Request { duration_s: 6.0 * DAY_S, ..request("2026-02-27T02:58:40") };
    assert_eq!(names(&read_sky(file(&[decaying.clone(), stays]).as_bytes(), &long).unwrap().0), ["STAYS"]);
    let error = read_sky(file(&[decaying]).as_bytes(), &request("2026-03-05")).unwrap_err();
    assert!(error.what.contains("no satellite is left: 1 satellite is left out"), "{error}");
}

#[test]
fn elements_of_seven_days_are_mentioned_with_their_error() {
    let rows = [row("A", 1, "2026-06-01", LOW), row("B", 2, "2026-06-02", LOW)];
    assert!(read(&rows, "2026-06-07T23:00:00").1.notes().is_empty());
    let note = |rows: &[String], epoch| read(rows, epoch).1.notes().join("\n");
    let said = note(&rows, "2026-06-08T12:00:00");
    assert!(
        said.starts_with(
            "1 satellite has elements 7 days or more from the run, 7.5 days in the median and 7.5 days at most"
        ),
        "{said}"
    );
    assert!(said.contains("off by about 76 km"), "{said}");
    // Ages before and after the epoch count alike, up to the most distant instant.
    assert!(note(&rows, "2026-05-20").starts_with("2 satellites have elements 7 days or more"));
    let long = Request { duration_s: 8.0 * DAY_S, ..request("2026-06-01") };
    assert_eq!(read_sky(file(&rows).as_bytes(), &long).unwrap().1.aged, 2);
    for (motion, words) in [(13.16, "OneWeb"), (1.0027, "geostationary"), (5.0, "has not been measured")] {
        let rows = [row("A", 1, "2026-06-01", (motion, 0.0001, 0.0))];
        assert!(note(&rows, "2026-07-01").contains(words), "{motion}");
    }
}

#[test]
fn elements_of_90_days_are_refused_unless_more_are_allowed() {
    let (old, new) = (row("OLD", 1, "2020-09-20", LOW), row("NEW", 2, "2026-06-01", LOW));
    let both = file(&[old.clone(), new.clone()]);
    let read = |text: &str, request| read_sky(text.as_bytes(), &request);
    let error = read(&both, request("2026-06-01")).unwrap_err();
    assert_eq!(error.at, "line 2");
    for part in ["OLD", "2020-09-20", "2080 days", "at most 90 days", "elements_age_max"] {
        assert!(error.what.contains(part), "{part}: {error}");
    }
    let (sky, census) = read(&both, Request { bad: BadRecords::Skip, ..request("2026-06-01") }).unwrap();
    assert_eq!((names(&sky), census.too_old.count), (vec!["NEW"], 1));
    let (sky, census) = read(&both, Request { age_max_s: 3000.0 * DAY_S, ..request("2026-06-01") }).unwrap();
    assert_eq!((names(&sky), census.aged), (vec!["OLD", "NEW"], 1));
    for bad in [BadRecords::Refuse, BadRecords::Skip] {
        let error = read(&both, Request { bad, ..request("2030-01-01") }).unwrap_err();
        assert!(error.what.contains("all 2 satellites") && error.what.contains("elements_age_max"), "{error}");
    }
    // The limit itself is allowed.
    let day = |days: f64| Request {
        epoch: Some(Epoch::parse("2026-06-01").unwrap().after(days * DAY_S)),
        duration_s: 0.0,
        ..request("")
    };
    assert!(read(&file(std::slice::from_ref(&new)), day(90.0)).is_ok());
    assert!(read(&file(&[new]), day(90.001)).is_err());
}

#[test]
fn bad_records_that_are_skipped_are_said() {
    let rows = [row("A", 1, "2026-06-01", LOW), row("B", 2, "2026-02-30", LOW), row("C", 3, "2150-01-01", LOW)];
    let error = read_sky(file(&rows).as_bytes(), &request("")).unwrap_err();
    assert_eq!(error.at, "line 3");
    assert!(error.what.contains("no day 30 in 2026-02"), "{error}");
    let (sky, census) = read_sky(file(&rows).as_bytes(), &Request { bad: BadRecords::Skip, ..request("") }).unwrap();
    assert_eq!((names(&sky), census.bad.len()), (vec!["A"], 2));
    assert!(census.notes()[0].starts_with("2 bad records are left out; line 3: "), "{:?}", census.notes());
    assert!(census.bad[1].what.contains("1957 to 2056"), "{:?}", census.bad);
}
