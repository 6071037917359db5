//! Reads two-line elements, with crate `sgp4` for the fields.

use super::{check_theory, ElementSet, Epoch, Record};

/// Columns of a line that belong to the elements. The verification file has more columns behind them.
const WIDTH: usize = 69;
/// Columns with the sign of an exponent in line 1: of the second derivative of the mean motion, and of B*.
const EXPONENT_SIGNS: [usize; 2] = [50, 59];
/// Column of the ephemeris type in line 1.
const TYPE: usize = 62;

pub(super) fn records(text: &str) -> Vec<Record> {
    let mut records = Vec::new();
    let prefix = prefix_of_names(text);
    let mut name: Option<(usize, &str)> = None;
    let mut first: Option<(usize, &str)> = None;
    let lonely = |(line, _): (usize, &str)| (line, Err("a first line without its second line".to_owned()));
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_end();
        let number = index + 1;
        if line.is_empty() || line.starts_with('#') || (index == 0 && is_counts(line)) {
            continue;
        }
        if is_line(line, '1') {
            records.extend(first.replace((number, line)).map(lonely));
        } else if is_line(line, '2') {
            let Some((begin, one)) = first.take() else {
                records.push((number, Err("a second line without its first line".to_owned())));
                continue;
            };
            let name = name.take().map_or("", |(_, name)| name);
            let name = name.strip_prefix(prefix).unwrap_or(name).trim();
            records.push((begin, element_set(name, one, line)));
        } else {
            records.extend(first.take().map(lonely));
            if let Some((line, name)) = name.replace((number, line)) {
                records.push((line, Err(format!("{name:?} has no elements after it"))));
            }
        }
    }
    records.extend(first.map(lonely));
    if let Some((line, name)) = name.filter(|_| first.is_none()) {
        records.push((line, Err(format!("{name:?} has no elements after it"))));
    }
    records
}

/// Mark of lines with a name: `0 ` in most files of three lines per satellite, and `0` if every name begins with it.
fn prefix_of_names(text: &str) -> &'static str {
    let is_name =
        |line: &&str| !line.is_empty() && !line.starts_with('#') && !is_line(line, '1') && !is_line(line, '2');
    let mut names = text.lines().map(str::trim_end).filter(is_name).peekable();
    if names.peek().is_some() && names.all(|name| name.starts_with('0')) {
        "0"
    } else {
        "0 "
    }
}

/// Whether a line is the first one of a file of Hypatia: its number of orbits, and of satellites in each.
fn is_counts(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    let mut is_number = || words.next().is_some_and(|word| word.len() < 6 && word.parse::<u32>().is_ok());
    is_number() && is_number() && words.next().is_none()
}

/// Whether a line looks like line 1 or 2 of elements, not like a name.
fn is_line(line: &str, digit: char) -> bool {
    line.starts_with([digit]) && line.as_bytes().get(1) == Some(&b' ') && line.len() > 40
}

fn element_set(name: &str, one: &str, two: &str) -> Result<ElementSet, String> {
    let mut lines = [one, two];
    for (line, number) in lines.iter_mut().zip(1..) {
        // The reader below expects bytes that these two tests check.
        if !line.is_ascii() || line.len() < WIDTH {
            return Err(format!("line {number} of the elements does not have {WIDTH} plain characters"));
        }
        *line = &line[..WIDTH];
        if !line.ends_with(|c: char| c.is_ascii_digit()) {
            return Err(format!("line {number} of the elements does not end with the digit of its checksum"));
        }
    }
    check_theory(&lines[0][TYPE..=TYPE])?;
    // Some catalogues write a zero without the sign of its exponent. The reader below needs the sign. A plus does not
    // count in the checksum.
    let mut one = lines[0].as_bytes().to_vec();
    for column in EXPONENT_SIGNS {
        if one[column] == b' ' && one[column + 1].is_ascii_digit() {
            one[column] = b'+';
        }
    }
    let read = sgp4::Elements::from_tle(None, &one, lines[1].as_bytes()).map_err(|e| e.to_string())?;
    Ok(ElementSet {
        name: name.to_owned(),
        catalogue_number: read.norad_id,
        epoch: Epoch::from_tle(&lines[0][18..32]).map_err(|e| e.to_string())?,
        inclination_deg: read.inclination,
        raan_deg: read.right_ascension,
        eccentricity: read.eccentricity,
        perigee_deg: read.argument_of_perigee,
        mean_anomaly_deg: read.mean_anomaly,
        revs_per_day: read.mean_motion,
        bstar: read.drag_term,
    })
}
