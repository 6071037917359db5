//! Orbit mean-elements messages (CCSDS 502.0-B) as CelesTrak and Space-Track give them.

use super::{ElementSet, Epoch, Record, SkyError};
use serde_json::Value;

/// The keywords that SGP4 needs, in the order of `Fields`.
const NUMBERS: [&str; 7] =
    ["INCLINATION", "RA_OF_ASC_NODE", "ECCENTRICITY", "ARG_OF_PERICENTER", "MEAN_ANOMALY", "MEAN_MOTION", "BSTAR"];

/// What a message says of other systems than those that SGP4 works in.
const SYSTEMS: [(&str, &[&str]); 4] = [
    ("CENTER_NAME", &["EARTH"]),
    ("REF_FRAME", &["TEME"]),
    ("TIME_SYSTEM", &["UTC"]),
    ("MEAN_ELEMENT_THEORY", &["SGP4", "SGP/SGP4"]),
];

/// A message from a look-up of its keywords.
fn element_set<'a>(field: impl Fn(&str) -> Option<&'a str>) -> Result<ElementSet, String> {
    let field = |key: &str| field(key).map(str::trim).filter(|value| !value.is_empty());
    for (key, known) in SYSTEMS {
        if let Some(value) = field(key).filter(|value| !known.contains(value)) {
            return Err(format!("{key} is {value:?}; only {} can be used", known.join(" or ")));
        }
    }
    let mut numbers = [0.0; 7];
    for (number, key) in numbers.iter_mut().zip(NUMBERS) {
        let value = field(key).ok_or_else(|| format!("{key} is missing"))?;
        *number = value.parse().map_err(|_| format!("{key} is {value:?}, not a number"))?;
    }
    let [inclination_deg, raan_deg, eccentricity, perigee_deg, mean_anomaly_deg, revs_per_day, bstar] = numbers;
    let number = field("NORAD_CAT_ID").ok_or("NORAD_CAT_ID is missing")?;
    let epoch = Epoch::parse(field("EPOCH").ok_or("EPOCH is missing")?).map_err(|e| format!("EPOCH: {e}"))?;
    Ok(ElementSet {
        name: field("OBJECT_NAME").unwrap_or("").to_owned(),
        catalogue_number: number.parse().map_err(|_| format!("NORAD_CAT_ID is {number:?}, not a whole number"))?,
        epoch,
        inclination_deg,
        raan_deg,
        eccentricity,
        perigee_deg,
        mean_anomaly_deg,
        revs_per_day,
        bstar,
    })
}

fn find<'a>(fields: &'a [(String, String)], key: &str) -> Option<&'a str> {
    fields.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
}

pub(super) fn json(text: &str) -> Result<Vec<Record>, SkyError> {
    Ok(objects(text)?.into_iter().map(|(line, object)| (line, json_object(object))).collect())
}

fn json_object(text: &str) -> Result<ElementSet, String> {
    let value: Value = serde_json::from_str(text).map_err(|e| format!("no JSON: {e}"))?;
    let object = value.as_object().ok_or("expected an object")?;
    let fields: Vec<(String, String)> = object
        .iter()
        .filter_map(|(key, value)| match value {
            Value::String(text) => Some((key.clone(), text.clone())),
            Value::Number(number) => Some((key.clone(), number.to_string())),
            _ => None,
        })
        .collect();
    element_set(|key| find(&fields, key))
}

/// The outermost objects of a JSON text and the lines where they begin, so that a bad one spoils no other.
fn objects(text: &str) -> Result<Vec<(usize, &str)>, SkyError> {
    let mut found = Vec::new();
    let (mut depth, mut begin, mut line, mut first_line) = (0usize, 0, 1, 1);
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        if byte == b'\n' {
            line += 1;
        }
        if quoted {
            (quoted, escaped) = (escaped || byte != b'"', !escaped && byte == b'\\');
            continue;
        }
        match byte {
            b'"' => quoted = true,
            b'{' => {
                if depth == 0 {
                    (begin, first_line) = (at, line);
                }
                depth += 1;
            }
            b'}' if depth == 0 => return Err(SkyError::new(format!("line {line}"), "a } without its {")),
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    found.push((first_line, &text[begin..=at]));
                }
            }
            _ => {}
        }
    }
    if depth > 0 || quoted {
        return Err(SkyError::new(format!("line {first_line}"), "the JSON object that begins here does not end"));
    }
    Ok(found)
}

pub(super) fn csv(text: &str) -> Result<Vec<Record>, SkyError> {
    // The reader counts a line that ends in CR LF to the record after it.
    let text = text.replace("\r\n", "\n");
    let mut reader = csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(text.as_bytes());
    let names = reader.headers().map_err(|e| SkyError::new("line 1", e.to_string()))?.clone();
    let mut records = Vec::new();
    for row in reader.records() {
        match row {
            Ok(row) => {
                let line = row.position().map_or(0, |position| position.line() as usize);
                let set =
                    element_set(|key| names.iter().position(|name| name == key).and_then(|column| row.get(column)));
                records.push((line, set));
            }
            Err(e) => {
                let line = e.position().map_or(0, |position| position.line() as usize);
                records.push((line, Err(e.to_string())));
            }
        }
    }
    Ok(records)
}

pub(super) fn xml(text: &str) -> Result<Vec<Record>, SkyError> {
    let document = roxmltree::Document::parse(text).map_err(|e| SkyError::new("XML", e.to_string()))?;
    let messages = document.descendants().filter(|node| node.has_tag_name("omm"));
    Ok(messages
        .map(|message| {
            let line = document.text_pos_at(message.range().start).row as usize;
            let field =
                |key: &str| message.descendants().find(|node| node.has_tag_name(key)).and_then(|node| node.text());
            (line, element_set(field))
        })
        .collect())
}

pub(super) fn kvn(text: &str) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    let mut fields: Vec<(String, String)> = Vec::new();
    let mut begin = 1;
    let mut close = |begin: usize, fields: &mut Vec<(String, String)>| {
        if find(fields, "MEAN_MOTION").is_some() || find(fields, "OBJECT_NAME").is_some() {
            records.push((begin, element_set(|key| find(fields, key))));
        }
        fields.clear();
    };
    for (index, line) in text.lines().enumerate() {
        let Some((key, value)) = line.split_once('=') else { continue };
        let (key, value) = (key.trim(), value.trim());
        if find(&fields, key).is_some() {
            // A keyword that comes back begins the next message.
            close(begin, &mut fields);
        }
        if fields.is_empty() {
            begin = index + 1;
        }
        // A unit may follow a number in brackets.
        let value = value.split_once('[').map_or(value, |(number, _)| number.trim());
        fields.push((key.to_owned(), value.to_owned()));
    }
    close(begin, &mut fields);
    records
}
