//! Mean elements of catalogues: two-line elements and orbit mean-elements messages (OMM) in JSON, CSV, XML and KVN.

mod omm;
mod tle;

use super::epoch::Epoch;
use super::error::SkyError;
use std::borrow::Cow;
use std::ops::Range;

/// Mean elements of one satellite, the input of SGP4.
#[derive(Clone, Debug, PartialEq)]
pub struct ElementSet {
    /// Name. Empty if the file has none.
    pub name: String,
    /// Number in the catalogue of the US Space Force. Two-line elements write numbers above 99 999 as "alpha-5".
    pub catalogue_number: u64,
    /// Epoch of the elements.
    pub epoch: Epoch,
    /// Inclination, degrees.
    pub inclination_deg: f64,
    /// Right ascension of the ascending node, degrees.
    pub raan_deg: f64,
    /// Eccentricity.
    pub eccentricity: f64,
    /// Argument of the perigee, degrees.
    pub perigee_deg: f64,
    /// Mean anomaly, degrees.
    pub mean_anomaly_deg: f64,
    /// Mean motion, revolutions per day (Kozai's).
    pub revs_per_day: f64,
    /// Drag term B*, per Earth radius.
    pub bstar: f64,
}

/// Years that two digits can express in two-line elements. No satellite is older.
const YEARS: Range<i32> = 1957..2057;

impl ElementSet {
    pub(crate) fn check(&self) -> Result<(), SkyError> {
        SkyError::within("inclination", self.inclination_deg, 0.0, 180.0)?;
        SkyError::within("right ascension of the node", self.raan_deg, -360.0, 360.0)?;
        SkyError::within("eccentricity", self.eccentricity, 0.0, 0.999_999_9)?;
        SkyError::within("argument of the perigee", self.perigee_deg, -360.0, 360.0)?;
        SkyError::within("mean anomaly", self.mean_anomaly_deg, -360.0, 360.0)?;
        SkyError::within("mean motion", self.revs_per_day, 1e-3, 20.0)?;
        SkyError::within("B*", self.bstar, -10.0, 10.0)?;
        Ok(())
    }
}

/// Format of a file of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementFormat {
    /// Detected from the first characters of the file.
    Auto,
    /// Two lines per satellite, with or without a line of its name before them.
    Tle,
    /// OMM as a JSON object or array of them.
    Json,
    /// OMM as values separated by commas, semicolons or tabs, with a line of names.
    Csv,
    /// OMM as XML, one or many in an `ndm`.
    Xml,
    /// OMM as lines `KEYWORD = value`.
    Kvn,
}

/// Treatment of invalid records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadRecords {
    /// Reject the file and name the first.
    Refuse,
    /// Skip and list them.
    Skip,
}

/// Invalid record.
#[derive(Clone, Debug, PartialEq)]
pub struct BadRecord {
    /// Line of the file where it begins, from 1.
    pub line: usize,
    /// Fault of the record.
    pub what: String,
}

/// Content of a file of elements.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ElementFile {
    /// Valid records, in the order of the file.
    pub sets: Vec<ElementSet>,
    /// Lines where they begin, from 1.
    pub lines: Vec<usize>,
    /// Skipped records.
    pub skipped: Vec<BadRecord>,
}

/// Returns the text of a file of elements, with line ends of any system.
///
/// # Errors
///
/// The first byte that is invalid in UTF-8, by line.
pub fn element_text(content: &[u8]) -> Result<Cow<'_, str>, SkyError> {
    if content.starts_with(&[0xff, 0xfe]) || content.starts_with(&[0xfe, 0xff]) {
        return Err(SkyError::new("elements", "the file is UTF-16; expected a text file in ASCII or UTF-8"));
    }
    let text = std::str::from_utf8(content).map_err(|error| {
        let at = error.valid_up_to();
        let line = 1 + content[..at].iter().filter(|byte| **byte == b'\n').count();
        let byte = content[at];
        let what = format!("byte 0x{byte:02x} in line {line} is not UTF-8; expected a text file in ASCII or UTF-8");
        SkyError::new("elements", what)
    })?;
    Ok(if text.contains('\n') { text.into() } else { text.replace('\r', "\n").into() })
}

/// Reads a file of elements, given as text.
///
/// # Errors
/// By line, a bad record under [`BadRecords::Refuse`]. A file without any usable record, or text of another format.
pub fn read_elements(text: &str, format: ElementFormat, bad: BadRecords) -> Result<ElementFile, SkyError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let records = match format {
        ElementFormat::Auto => return read_elements(text, guess(text), bad),
        ElementFormat::Tle => tle::records(text),
        ElementFormat::Json => omm::json(text)?,
        ElementFormat::Csv => omm::csv(text)?,
        ElementFormat::Xml => omm::xml(text)?,
        ElementFormat::Kvn => omm::kvn(text),
    };
    let mut file = ElementFile::default();
    for (line, record) in records {
        match record.and_then(checked) {
            Ok(set) => {
                file.sets.push(set);
                file.lines.push(line);
            }
            Err(what) if bad == BadRecords::Refuse => return Err(SkyError::new(format!("line {line}"), what)),
            Err(what) => file.skipped.push(BadRecord { line, what }),
        }
    }
    if file.sets.is_empty() {
        let what = match file.skipped.first() {
            Some(first) => format!("no usable record; line {}: {}", first.line, first.what),
            None => "no record of a satellite; expected two-line elements or OMM in JSON, CSV, XML or KVN".to_owned(),
        };
        return Err(SkyError::new("elements", what));
    }
    Ok(file)
}

/// Rejects values that no satellite has.
fn checked(set: ElementSet) -> Result<ElementSet, String> {
    set.check().map_err(|error| error.to_string())?;
    if !YEARS.contains(&set.epoch.year()) {
        return Err(format!(
            "the epoch is {}; expected one from 1957 to 2056, as two-line elements can have",
            set.epoch
        ));
    }
    Ok(set)
}

/// Rejects elements of other theories than SGP4: its numbers are 0 (distributed sets), 2 (SGP4) and 3 (SDP4). Number 4
/// is SGP4-XP, whose elements look the same.
fn check_theory(ephemeris_type: &str) -> Result<(), String> {
    match ephemeris_type.trim() {
        "" | "0" | "2" | "3" => Ok(()),
        "4" => Err("ephemeris type 4 is SGP4-XP; expected elements for SGP4 (0, 2 or 3)".to_owned()),
        other => Err(format!("ephemeris type {other:?} is not SGP4; expected 0, 2 or 3")),
    }
}

/// A record and the line where it begins, or its fault.
type Record = (usize, Result<ElementSet, String>);

fn guess(text: &str) -> ElementFormat {
    let start = text.trim_start();
    let first = start.lines().next().unwrap_or("");
    if start.starts_with(['{', '[']) {
        ElementFormat::Json
    } else if start.starts_with('<') {
        ElementFormat::Xml
    } else if omm::separator(first).is_some() {
        ElementFormat::Csv
    } else if has_keyword(first, "CCSDS_OMM_VERS") || text.lines().any(|line| has_keyword(line, "MEAN_MOTION")) {
        ElementFormat::Kvn
    } else {
        ElementFormat::Tle
    }
}

/// Whether a line begins with a keyword, in upper or lower case.
fn has_keyword(line: &str, keyword: &str) -> bool {
    line.trim_start().get(..keyword.len()).is_some_and(|start| start.eq_ignore_ascii_case(keyword))
}

#[cfg(test)]
mod tests;
