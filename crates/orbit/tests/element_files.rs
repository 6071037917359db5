//! Files of elements of catalogues and users. The files are not part of bentpipe: without them, these tests print that
//! they are skipped.

use bentpipe_orbit::sky::catalogue::{read_sky, Census, Request, AGE_MAX_S};
use bentpipe_orbit::sky::distance;
use bentpipe_orbit::sky::elements::{read_elements, BadRecords, ElementFormat};
use bentpipe_orbit::sky::epoch::Epoch;
use bentpipe_orbit::sky::scene::Sky;
use bentpipe_orbit::sky::SkyError;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::Command;

const DAY_S: f64 = 86_400.0;

/// Returns a test file, decompressed. Prints that the test is skipped if the file is missing.
fn shared(name: &str) -> Option<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(name);
    let content = if name.ends_with(".xz") {
        let output = Command::new("xz").arg("-dc").arg(&path).output();
        output.ok().filter(|output| output.status.success()).map(|output| output.stdout)
    } else {
        std::fs::read(&path).ok()
    };
    if content.is_none() {
        // Written past the harness, which hides the output of passing tests.
        let _ = writeln!(std::io::stderr(), "skipped: no {} (or no xz to read it with)", path.display());
    }
    content
}

fn read(content: &[u8], epoch: Option<Epoch>, age_max_s: f64) -> Result<(Sky, Census), SkyError> {
    read_sky(content, &Request { epoch, begin_s: 0.0, duration_s: 7200.0, age_max_s, bad: BadRecords::Refuse })
}

/// Expected result of a file: satellites, the first name and the start of its notes, or parts of its refusal.
enum Gives {
    Satellites(usize, &'static str, &'static str),
    Refusal(&'static str, &'static str),
}

/// Files of the first ten satellites of Starlink, each in another form or with another fault.
#[test]
fn files_are_read_or_refused_with_a_reason() {
    use Gives::{Refusal, Satellites};
    const TEN: Gives = Satellites(10, "STARLINK-1008", "");
    const COPY: &str = "1 copy of an element set is counted once";
    const OTHER: &str = "1 element set is not used";
    const GROUND: &str = "1 element set is left out: the perigee is below the ground";
    let files = [
        ("00-plain.tle", TEN),
        ("01-crlf.tle", TEN),
        ("02-trailing-spaces.tle", TEN),
        ("03-lowercase-names.tle", Satellites(10, "starlink-1008", "")),
        ("04-3le-0-prefix.tle", TEN),
        ("05-alpha5.tle", TEN),
        ("06-no-names.tle", Satellites(10, "44714", "")),
        ("07-blank-lines.tle", TEN),
        ("08-duplicate.tle", Satellites(10, "STARLINK-1008", COPY)),
        ("08b-duplicate-two-epochs.tle", Satellites(10, "STARLINK-1008", OTHER)),
        ("09-old-5y.tle", TEN),
        (
            "09b-one-old-5y.tle",
            Refusal("line 29", "STARLINK-1008 are of 2020-09-20T04:31:34.992Z, 1827 days from the run"),
        ),
        ("10-ecc0.9.tle", Satellites(10, "STARLINK-1008", GROUND)),
        ("11-drag.tle", Satellites(10, "STARLINK-1008", OTHER)),
        ("11b-mm17.tle", Satellites(10, "STARLINK-1008", GROUND)),
        ("12-badchecksum.tle", Refusal("line 2", "checksum")),
        ("13-swapped-lines.tle", Refusal("line 2", "a second line without its first line")),
        ("14-mismatch-number.tle", Refusal("line 2", "mismatch")),
        ("15-truncated.tle", Refusal("line 29", "a first line without its second line")),
        ("16-empty.tle", Refusal("elements", "no record of a satellite")),
        ("17-bom.tle", TEN),
        ("18-latin1.tle", Refusal("elements", "byte 0xe9 in line 1 is not UTF-8")),
        ("19-utf16.tle", Refusal("elements", "UTF-16")),
        ("20-comments.tle", TEN),
        ("21-short-no-checksum.tle", Refusal("line 2", "69")),
        ("22-html.tle", Refusal("elements", "no record of a satellite; expected two-line elements or OMM")),
        ("23-celestrak-nodata.tle", Refusal("line 1", "No GP data found")),
        ("24-single-line-name-spaces.tle", Satellites(10, "STARLINK-1008 (V1.0) [+]", "")),
        ("25-leading-spaces.tle", Refusal("line 1", "has no elements after it")),
        ("26-lowercase-u-classified.tle", TEN),
        ("27-six-digit-number.tle", Refusal("line 2", "characters 8 and 9")),
        ("28-quoted-mac-cr.tle", TEN),
        ("29-tabs.tle", Refusal("line 1", "has no elements after it")),
        ("30-0-prefix-nospace.tle", TEN),
        ("40-omm.json", TEN),
        ("41-omm-spacetrack-strings.json", TEN),
        ("42-omm-single-object.json", Satellites(1, "STARLINK-1008", "")),
        ("43-omm-pretty-lower.json", TEN),
        ("44-omm-6digit.json", TEN),
        ("45-omm-z.json", TEN),
        ("46-omm-no-bstar.json", Refusal("line 1", "BSTAR is missing")),
        ("47-omm-null-name.json", Satellites(10, "44714", "")),
        ("48-omm-dict-wrapped.json", TEN),
        ("50-omm.csv", TEN),
        ("51-omm-crlf-quoted.csv", TEN),
        ("52-omm-semicolon.csv", TEN),
        ("53-omm.xml", TEN),
        ("54-omm.kvn", TEN),
        ("55-omm-units-comment.kvn", TEN),
        // Scenarios instead of elements.
        ("drag.toml", Refusal("line 1", "has no elements after it")),
        ("dup.toml", Refusal("line 1", "has no elements after it")),
    ];
    let mut plain: Option<Sky> = None;
    for (name, gives) in files {
        let Some(content) = shared(&format!("review/cases/sky/tle/{name}")) else { return };
        match (read(&content, None, AGE_MAX_S), gives) {
            (Ok((sky, census)), Satellites(count, first, note)) => {
                assert_eq!((sky.satellites(), census.satellites), (count, count), "{name}");
                assert_eq!(sky.constellation.satellites[0].name, first, "{name}");
                let notes = census.notes().join("\n");
                assert!(notes.starts_with(note) && notes.is_empty() == note.is_empty(), "{name}: {notes}");
                if name.starts_with("09-") {
                    continue;
                }
                // The same satellites at the same places: OMM has the epoch to the microsecond, 8 mm.
                let plain = plain.get_or_insert(sky.clone());
                let off = (0..count as u32).map(|k| {
                    let of = |sky: &Sky, t| sky.position(k, t).unwrap();
                    let t = plain.constellation.epoch.since(sky.constellation.epoch);
                    distance(of(plain, 600.0), of(&sky, 600.0 + t))
                });
                let off = off.fold(0.0, f64::max);
                assert!(off < 1e-5, "{name}: {off} km");
            }
            (Err(error), Refusal(at, what)) => {
                assert!(error.at == at && error.what.contains(what), "{name}: {error}");
            }
            (Ok((_, census)), Refusal(..)) => panic!("{name} is read: {census:?}"),
            (Err(error), Satellites(..)) => panic!("{name} is refused: {error}"),
        }
    }
}

/// Elements that users have reported.
#[test]
fn reported_files_are_read() {
    for (name, satellites, first, note) in [
        ("blow.tle", 1, "TESTSAT", ""),
        ("geo.tle", 1, "GEOSAT", ""),
        ("ghost.tle", 1, "GEOSAT", "1 satellite is left out: SGP4 gives a position far above the apogee"),
        ("noexpsign.tle", 1, "TESTSAT", ""),
        ("o_low.csv", 1, "TESTSAT", ""),
        ("o_ndm.json", 1, "TESTSAT", ""),
        ("o_noname.csv", 1, "900001", ""),
    ] {
        let Some(content) = shared(&format!("review/cases/reports/tle/{name}")) else { return };
        let (sky, census) = read(&content, None, AGE_MAX_S).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((sky.satellites(), sky.constellation.satellites[0].name.as_str()), (satellites, first), "{name}");
        let notes = census.notes().join("\n");
        assert!(notes.starts_with(note) && notes.is_empty() == note.is_empty(), "{name}: {notes}");
    }
}

/// The whole catalogue of 2026-06-14 over time: each satellite has positions, or is counted as left out.
#[test]
fn what_cannot_be_believed_is_left_out_of_the_catalogue() {
    let Some(content) = shared("data/tle/active-2026-06-14.tle.xz") else { return };
    let epoch = read(&content, None, AGE_MAX_S).unwrap().0.constellation.epoch;
    for days in [0.0, 7.0, 30.0, 91.0, 1300.0, -91.0] {
        let start = epoch.after(days * DAY_S);
        let (sky, census) = read(&content, Some(start), 1e12).unwrap();
        let objects = census.satellites + census.impossible.count;
        let gone = census.failed.count + census.too_low.count + census.too_high.count;
        assert_eq!((census.records, objects + gone), (15_699, 15_699), "{days}");
        for t in [0.0, 3600.0, 7200.0] {
            let all = sky.positions(t);
            let lost = (0..all.len()).filter(|k| all.x[*k].is_nan()).count();
            assert_eq!(lost, 0, "{days} {t}");
        }
    }
    let error = read(&content, Some(epoch.after(120.0 * DAY_S)), AGE_MAX_S).unwrap_err();
    assert!(error.what.contains("elements_age_max"), "{error}");
}

/// Returns the sorted distances in km of equal satellites at the later date, from elements of two dates.
fn errors(old: &str, new: &str, at: &str, height_km: std::ops::Range<f64>) -> Option<Vec<f64>> {
    let (old, new) = (shared(old)?, shared(new)?);
    let at = Epoch::parse(at).unwrap();
    let positions = |content: &[u8]| {
        let (sky, _) = read(content, Some(at), 1e12).unwrap();
        let text = String::from_utf8(content.to_vec()).unwrap();
        let sets = read_elements(&text, ElementFormat::Auto, BadRecords::Refuse).unwrap().sets;
        let numbers: BTreeMap<String, u64> = sets.into_iter().map(|set| (set.name, set.catalogue_number)).collect();
        let all = sky.positions(0.0);
        let names = sky.constellation.satellites.iter().enumerate();
        names.map(|(k, satellite)| (numbers[&satellite.name], all.get(k))).collect::<BTreeMap<_, _>>()
    };
    let (old, new) = (positions(&old), positions(&new));
    let pairs = new.iter().filter_map(|(number, there)| Some((there, old.get(number)?)));
    let in_band = pairs.filter(|(there, _)| height_km.contains(&(distance(**there, [0.0; 3]) - 6378.137)));
    let mut off: Vec<f64> = in_band.map(|(a, b)| distance(*a, *b)).collect();
    off.sort_by(f64::total_cmp);
    Some(off)
}

/// The errors that notes on old elements state.
#[test]
fn old_elements_are_off_as_notes_say() {
    const STARLINK: [&str; 2] = ["data/tle/starlink-2025-05-29.tle.xz", "data/tle/starlink-2025-09-20.tle.xz"];
    const LATER: &str = "data/tle/active-2026-06-14.tle.xz";
    for (old, new, at, heights, count, median) in [
        (STARLINK[0], STARLINK[1], "2025-09-20", 300.0..600.0, 6500, 3700.0..3900.0),
        (STARLINK[1], LATER, "2026-06-13T18:00", 300.0..600.0, 6000, 9000.0..10_500.0),
        ("data/tle/oneweb-2026-05-30.tle.xz", LATER, "2026-06-13T18:00", 1150.0..1300.0, 640, 11.0..13.0),
        ("data/tle/geo-2026-05-30.tle.xz", LATER, "2026-06-13T18:00", 35_000.0..37_000.0, 550, 55.0..65.0),
    ] {
        let Some(off) = errors(old, new, at, heights) else { return };
        let found = off[off.len() / 2];
        assert!(off.len() > count && median.contains(&found), "{old}: {found} km for {}", off.len());
    }
}
