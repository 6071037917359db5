use super::*;

const TLE: &str = "ISS (ZARYA)
1 25544U 98067A   20194.88612269 -.00002218  00000-0 -31515-4 0  9992
2 25544  51.6461 221.2784 0001413  89.1723 280.4612 15.49507896236008
";

const FIELDS: [(&str, &str); 13] = [
    ("OBJECT_NAME", "ISS (ZARYA)"),
    ("OBJECT_ID", "1998-067A"),
    ("EPOCH", "2020-07-12T21:16:01.000416"),
    ("MEAN_MOTION", "15.49507896"),
    ("ECCENTRICITY", "0.0001413"),
    ("INCLINATION", "51.6461"),
    ("RA_OF_ASC_NODE", "221.2784"),
    ("ARG_OF_PERICENTER", "89.1723"),
    ("MEAN_ANOMALY", "280.4612"),
    ("EPHEMERIS_TYPE", "0"),
    ("NORAD_CAT_ID", "25544"),
    ("BSTAR", "-.31515E-4"),
    ("MEAN_MOTION_DOT", "-.2218E-4"),
];

fn read(text: &str) -> Result<ElementFile, SkyError> {
    read_elements(text, ElementFormat::Auto, BadRecords::Refuse)
}

/// The same elements in each format, twice in a file.
fn files() -> Vec<(&'static str, String)> {
    let object = |number: bool| {
        let quote = |value: &str| {
            if number && value.parse::<f64>().is_ok() {
                value.parse::<f64>().unwrap().to_string()
            } else {
                format!("\"{value}\"")
            }
        };
        let all: Vec<String> = FIELDS.iter().map(|(key, value)| format!("\"{key}\":{}", quote(value))).collect();
        format!("{{{}}}", all.join(","))
    };
    let names: Vec<&str> = FIELDS.iter().map(|(key, _)| *key).collect();
    let values: Vec<&str> = FIELDS.iter().map(|(_, value)| *value).collect();
    let kvn: Vec<String> = FIELDS.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    let tags: Vec<String> = FIELDS.iter().map(|(key, value)| format!("<{key}>{value}</{key}>")).collect();
    let omm =
        format!("<omm id=\"CCSDS_OMM_VERS\" version=\"2.0\"><body><segment>{}</segment></body></omm>", tags.concat());
    let kvn = format!("CCSDS_OMM_VERS = 2.0\nREF_FRAME = TEME\n{}\n", kvn.join("\n"));
    vec![
        ("tle", TLE.repeat(2)),
        ("json", format!("[{},\n {}]", object(true), object(false))),
        ("csv", format!("{}\r\n{v}\r\n{v}\r\n", names.join(","), v = values.join(","))),
        ("xml", format!("<?xml version=\"1.0\"?>\n<ndm>\n{omm}\n{omm}\n</ndm>")),
        ("kvn", kvn.repeat(2)),
    ]
}

#[test]
fn every_format_gives_the_same_elements() {
    let expected = &read(TLE).unwrap().sets[0];
    assert_eq!((expected.name.as_str(), expected.catalogue_number), ("ISS (ZARYA)", 25_544));
    // The reader's power of ten is one unit in the last place off.
    assert!((expected.bstar + 0.31515e-4).abs() < 1e-19);
    assert_eq!(expected.eccentricity, 0.000_141_3);
    for (name, text) in files() {
        let file = read(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(file.sets.len(), 2, "{name}");
        for set in file.sets {
            assert!(set.epoch.since(expected.epoch).abs() < 1e-6, "{name}: {}", set.epoch);
            let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
            assert!(close(set.bstar, expected.bstar), "{name}");
            assert_eq!(ElementSet { epoch: expected.epoch, bstar: expected.bstar, ..set }, *expected, "{name}");
        }
    }
}

#[test]
fn bad_records_are_named_by_line_and_skipped_or_refused() {
    for (format, text) in files() {
        let broken = match format {
            "tle" => text.replacen("51.6461", "51.6462", 1),
            "json" => text.replacen("\"INCLINATION\":51.6461", "\"INCLINATION\":\"flat\"", 1),
            "csv" => text.replacen("51.6461", "251.6461", 1),
            "xml" => text.replacen("<MEAN_ANOMALY>280.4612", "<MEAN_ANOMALY>", 1),
            _ => text.replacen("TEME", "GCRF", 1),
        };
        let first_line = match format {
            "tle" | "csv" => 2,
            "xml" => 3,
            _ => 1,
        };
        let error = read(&broken).unwrap_err();
        assert_eq!(error.at, format!("line {first_line}"), "{format}: {error}");
        let file = read_elements(&broken, ElementFormat::Auto, BadRecords::Skip).unwrap();
        assert_eq!((file.sets.len(), file.skipped.len()), (1, 1), "{format}");
        assert_eq!(file.skipped[0].line, first_line, "{format}");
    }
}

#[test]
fn numbers_above_99_999_are_alpha_5() {
    // The checksum does not count letters: Z9999 has the digits' sum 36.
    let text = "1 Z9999U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  292X
2 Z9999  51.6416 247.4627 0006703 130.5360 325.0288 15.7212539156353X
";
    let sum = |line: &str| {
        let digits = line.bytes().map(|b| match b {
            b'0'..=b'9' => u32::from(b - b'0'),
            b'-' => 1,
            _ => 0,
        });
        (digits.sum::<u32>() % 10).to_string()
    };
    let lines: Vec<String> = text.lines().map(|line| line.replace('X', &sum(line.trim_end_matches('X')))).collect();
    assert_eq!(read(&lines.join("\n")).unwrap().sets[0].catalogue_number, 339_999);
}

#[test]
fn lines_that_do_not_belong_together_are_named() {
    let lines: Vec<&str> = TLE.lines().collect();
    for (text, line) in [
        (format!("{}\n{}\n{}", lines[0], lines[1], TLE), 2),
        (format!("{}\n{TLE}", lines[2]), 1),
        (format!("LOST\n{TLE}"), 1),
        (format!("{TLE}LOST"), 4),
        (format!("{TLE}{}\n{}", lines[0], lines[1]), 5),
        (TLE.replace("0  9992", "0  999é"), 2),
        (TLE.replace("0  9992", "0  999"), 2),
    ] {
        let file = read_elements(&text, ElementFormat::Auto, BadRecords::Skip);
        let skipped = match &file {
            Ok(file) => file.skipped[0].line,
            Err(error) => error.what.split("line ").nth(1).unwrap()[..1].parse().unwrap(),
        };
        assert_eq!(skipped, line, "{text}: {file:?}");
    }
}

#[test]
fn a_file_without_elements_is_refused() {
    for text in ["", "\n\n", "[]", "{}", "<ndm></ndm>", "<ndm>", "[{\"A\":", "OBJECT_NAME,EPOCH\n", "}", "hello"] {
        assert!(read(text).is_err(), "{text:?}");
        assert!(read_elements(text, ElementFormat::Auto, BadRecords::Skip).is_err(), "{text:?}");
    }
}

/// Two satellites as lines with names.
fn two(names: [&str; 2]) -> String {
    let lines: Vec<&str> = TLE.lines().skip(1).collect();
    names.map(|name| format!("{name}\n{}\n{}\n", lines[0], lines[1])).concat()
}

fn names(text: &str) -> Vec<String> {
    read(text).unwrap().sets.into_iter().map(|set| set.name).collect()
}

#[test]
fn a_zero_before_names_is_no_part_of_them() {
    assert_eq!(names(&two(["0 ISS", "0 NOAA 15"])), ["ISS", "NOAA 15"]);
    assert_eq!(names(&two(["0ISS", "0NOAA 15"])), ["ISS", "NOAA 15"]);
    // One name of several may begin with it.
    assert_eq!(names(&two(["0ISS", "NOAA 15"])), ["0ISS", "NOAA 15"]);
    assert_eq!(names(&two(["0 ISS", "NOAA 15"])), ["ISS", "NOAA 15"]);
}

#[test]
fn tle_files_may_be_written_in_many_ways() {
    let expected = read(TLE).unwrap().sets;
    let ways: [(&str, String); 8] = [
        ("carriage returns", TLE.replace('\n', "\r\n")),
        ("trailing blanks", TLE.replace('\n', "   \n")),
        ("byte order mark", format!("\u{feff}{TLE}")),
        ("empty lines", TLE.replace('\n', "\n\n")),
        ("comments", format!("# from a catalogue\n{TLE}")),
        ("numbers of orbits and satellites", format!("1 1\n{TLE}")),
        ("classified", TLE.replace("25544U", "25544C")),
        ("type of SGP4", TLE.replace("-4 0  9992", "-4 2  9994")),
    ];
    for (way, text) in ways {
        assert_eq!(read(&text).unwrap_or_else(|e| panic!("{way}: {e}")).sets, expected, "{way}");
    }
}

/// B* of a geostationary satellite in catalogues: `00000 0`.
#[test]
fn an_exponent_without_sign_is_positive() {
    let zero = TLE.replace(" 00000-0 -31515-4 0  9992", " 00000 0  00000 0 0  9977");
    let sum = |line: &str| {
        line.bytes()
            .map(|b| if b == b'-' { 1 } else { u32::from(b.saturating_sub(b'0')) * u32::from(b.is_ascii_digit()) })
            .sum::<u32>()
    };
    let lines: Vec<String> = zero.lines().map(str::to_owned).collect();
    let one = format!("{}{}", &lines[1][..68], sum(&lines[1][..68]) % 10);
    let set = &read(&format!("{one}\n{}", lines[2])).unwrap().sets[0];
    assert_eq!((set.bstar, set.catalogue_number), (0.0, 25_544));
    let one = one.replace("00000 0 0 ", "12345 1 0 ");
    let one = format!("{}{}", &one[..68], sum(&one[..68]) % 10);
    let bstar = read(&format!("{one}\n{}", lines[2])).unwrap().sets[0].bstar;
    assert!((bstar - 1.2345).abs() < 1e-12, "{bstar}");
}

#[test]
fn elements_of_another_theory_are_refused() {
    let error = read(&TLE.replace("-4 0  9992", "-4 4  9996")).unwrap_err();
    assert!(error.what.contains("SGP4-XP"), "{error}");
    for (_, text) in files().into_iter().skip(1) {
        let text = text
            .replace("\"EPHEMERIS_TYPE\":0", "\"EPHEMERIS_TYPE\":4")
            .replace("\"EPHEMERIS_TYPE\":\"0\"", "\"EPHEMERIS_TYPE\":4");
        let text = text
            .replace(",0,25544", ",4,25544")
            .replace("EPHEMERIS_TYPE>0", "EPHEMERIS_TYPE>4")
            .replace("TYPE = 0", "TYPE = 4");
        let error = read(&text).unwrap_err();
        assert!(error.what.contains("SGP4-XP"), "{text}: {error}");
    }
}

#[test]
fn messages_may_be_written_in_many_ways() {
    let expected = &read(&files()[1].1).unwrap().sets;
    for (format, text) in files().into_iter().skip(1) {
        let lower = FIELDS.iter().fold(text.clone(), |text, (key, _)| text.replace(key, &key.to_lowercase()));
        let mut ways = vec![("lower case", lower)];
        match format {
            "json" => ways.extend([
                ("wrapped", format!("{{\"ndm\": {{\"omm\": {text}}}}}")),
                ("data", format!("{{\"data\": {text}, \"total\": 2}}")),
                ("sections", text.replace("\"EPOCH\"", "\"data\": {\"EPOCH\"").replace('}', "}}")),
            ]),
            "csv" => ways.extend([
                ("semicolons", text.replace(',', ";")),
                ("tabs", text.replace(',', "\t")),
                (
                    "quotes",
                    text.replace(',', "\",\"").replace("\r\n", "\"\r\n\"").replacen("OBJECT_NAME", "\"OBJECT_NAME", 1),
                ),
            ]),
            _ => {}
        }
        for (way, text) in ways {
            let text = text.strip_suffix('"').unwrap_or(&text);
            let read = read(text).unwrap_or_else(|e| panic!("{format}, {way}: {e}\n{text}"));
            assert_eq!(read.sets.len(), 2, "{format}, {way}");
            for set in read.sets {
                assert!((set.revs_per_day - expected[0].revs_per_day).abs() < 1e-12, "{format}, {way}");
                assert_eq!((set.name.as_str(), set.catalogue_number), ("ISS (ZARYA)", 25_544), "{format}, {way}");
            }
        }
    }
}

/// A table without names of satellites is still a table of messages.
#[test]
fn a_table_without_names_is_read() {
    let csv = &files()[2].1;
    let without: Vec<&str> = csv.lines().map(|line| line.split_once(',').unwrap().1).collect();
    let set = &read(&without.join("\n")).unwrap().sets[0];
    assert_eq!((set.name.as_str(), set.catalogue_number), ("", 25_544));
}

#[test]
fn unmatched_brackets_are_named_by_line() {
    for (text, line) in [("[{\"A\": 1}\n", 1), ("{\"A\": [1}\n]", 1), ("\n]", 2), ("{\"A\": \"x\n", 1)] {
        let error = read_elements(text, ElementFormat::Json, BadRecords::Skip).unwrap_err();
        assert_eq!(error.at, format!("line {line}"), "{text:?}: {error}");
    }
}

/// Threads of some systems have little stack. The parser of XML takes some of it for each level.
#[test]
fn deep_nesting_is_refused_with_little_stack() {
    let read_in_thread = |text: String| {
        let thread = std::thread::Builder::new().stack_size(256 << 10);
        thread.spawn(move || read_elements(&text, ElementFormat::Auto, BadRecords::Skip)).unwrap().join().unwrap()
    };
    let deep = |levels: usize, open: &str, close: &str| open.repeat(levels) + &close.repeat(levels);
    for (open, close) in
        [("<a>", "</a>"), ("<a>\n", ""), ("<a b=\"/>\">", "</a>"), ("<a><!--</a>-->", ""), ("<a><b/>", "")]
    {
        let error = read_in_thread(format!("<?xml version=\"1.0\"?>\n{}", deep(20_000, open, close))).unwrap_err();
        assert!(error.to_string().contains("deeper than 64 levels"), "{open}: {error}");
        assert!(error.to_string().contains("line "), "{open}: {error}");
    }
    for text in [deep(20_000, "[", "]"), deep(20_000, "{\"a\":", "}"), deep(20_000, "[{\"a\":", "}]")] {
        assert!(read_in_thread(text).is_err());
    }
}

proptest::proptest! {
    /// Reading ends with a result for any content of a file, including damaged lines of elements.
    #[test]
    fn no_text_makes_the_reader_panic(
        letters in proptest::collection::vec(proptest::char::any(), 0..60),
        at in 0usize..138,
        with in proptest::char::any(),
    ) {
        let text: String = letters.into_iter().collect();
        let mut damaged: String = TLE.chars().take(at).collect();
        damaged.push(with);
        damaged.extend(TLE.chars().skip(at + 1));
        for text in [text.as_str(), damaged.as_str()] {
            use ElementFormat::{Auto, Csv, Json, Kvn, Tle, Xml};
            for format in [Auto, Tle, Json, Csv, Xml, Kvn] {
                let _ = read_elements(text, format, BadRecords::Skip);
            }
        }
    }
}
