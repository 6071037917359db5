//! Reads orbit mean-elements messages (CCSDS 502.0-B) of CelesTrak and Space-Track. Keywords may be in upper or lower
//! case.

use super::{check_theory, ElementSet, Epoch, Record, SkyError};
use serde_json::Value;

/// Keywords that SGP4 needs, in the order of `Fields`.
const NUMBERS: [&str; 7] =
    ["INCLINATION", "RA_OF_ASC_NODE", "ECCENTRICITY", "ARG_OF_PERICENTER", "MEAN_ANOMALY", "MEAN_MOTION", "BSTAR"];

/// Reference systems in messages for SGP4.
const SYSTEMS: [(&str, &[&str]); 4] = [
    ("CENTER_NAME", &["EARTH"]),
    ("REF_FRAME", &["TEME"]),
    ("TIME_SYSTEM", &["UTC"]),
    ("MEAN_ELEMENT_THEORY", &["SGP4", "SGP/SGP4"]),
];

/// Reads a message by looking up its keywords.
fn element_set<'a>(field: impl Fn(&str) -> Option<&'a str>) -> Result<ElementSet, String> {
    let field = |key: &str| field(key).map(str::trim).filter(|value| !value.is_empty());
    for (key, known) in SYSTEMS {
        if let Some(value) = field(key).filter(|value| !known.contains(value)) {
            return Err(format!("{key} is {value:?}; expected {}", known.join(" or ")));
        }
    }
    check_theory(field("EPHEMERIS_TYPE").unwrap_or(""))?;
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
    fields.iter().find(|(name, _)| name.eq_ignore_ascii_case(key)).map(|(_, value)| value.as_str())
}

pub(super) fn json(text: &str) -> Result<Vec<Record>, SkyError> {
    Ok(objects(text)?.into_iter().map(|(line, object)| (line, json_object(object))).collect())
}

fn json_object(text: &str) -> Result<ElementSet, String> {
    let value: Value = serde_json::from_str(text).map_err(|e| format!("not valid JSON: {e}"))?;
    let mut fields = Vec::new();
    flatten("", &value, &mut fields);
    element_set(|key| find(&fields, key))
}

/// Collects the texts and numbers of a message and of its sections.
fn flatten(key: &str, value: &Value, fields: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) => fields.push((key.to_owned(), text.clone())),
        Value::Number(number) => fields.push((key.to_owned(), number.to_string())),
        Value::Object(section) => section.iter().for_each(|(key, value)| flatten(key, value, fields)),
        _ => {}
    }
}

/// Open bracket of a JSON text.
struct Open {
    is_object: bool,
    at: usize,
    line: usize,
    /// Whether it contains a message.
    wraps: bool,
}

/// Returns the messages of a JSON text with the lines where they begin: objects in an array, and a single object
/// without such an array. An invalid message does not affect the others.
fn objects(text: &str) -> Result<Vec<(usize, &str)>, SkyError> {
    let mut found = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    let mut line = 1;
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
            b'{' | b'[' => open.push(Open { is_object: byte == b'{', at, line, wraps: false }),
            b'}' | b']' => {
                let closed = open.pop().filter(|closed| closed.is_object == (byte == b'}'));
                let Some(closed) = closed else {
                    return Err(SkyError::new(
                        format!("line {line}"),
                        format!("unmatched {}; expected valid JSON", char::from(byte)),
                    ));
                };
                let may_be = closed.is_object && !closed.wraps;
                let is_message = may_be && open.last().is_none_or(|outer| !outer.is_object);
                if is_message {
                    found.push((closed.line, &text[closed.at..=at]));
                }
                if let Some(outer) = open.last_mut() {
                    outer.wraps |= closed.wraps || is_message;
                }
            }
            _ => {}
        }
    }
    if let Some(first) = open.first() {
        return Err(SkyError::new(
            format!("line {}", first.line),
            "the JSON that begins here does not end; expected a closing bracket",
        ));
    }
    if quoted {
        return Err(SkyError::new(format!("line {line}"), "a text without closing quote; expected \""));
    }
    Ok(found)
}

/// Returns the separator of the names in a table of messages, or none if the line is not its head.
pub(super) fn separator(head: &str) -> Option<u8> {
    [b',', b';', b'\t'].into_iter().find(|separator| {
        let mut names = head.split(char::from(*separator)).map(|name| name.trim().trim_matches('"'));
        names.clone().count() > 1 && names.any(|name| name.eq_ignore_ascii_case("MEAN_MOTION"))
    })
}

pub(super) fn csv(text: &str) -> Result<Vec<Record>, SkyError> {
    // The reader counts a line that ends in CR LF to the record after it.
    let text = text.replace("\r\n", "\n");
    let separator = separator(text.lines().next().unwrap_or("")).unwrap_or(b',');
    let mut builder = csv::ReaderBuilder::new();
    let mut reader = builder.delimiter(separator).flexible(true).trim(csv::Trim::All).from_reader(text.as_bytes());
    let names = reader.headers().map_err(|e| SkyError::new("line 1", e.to_string()))?.clone();
    let mut records = Vec::new();
    for row in reader.records() {
        match row {
            Ok(row) => {
                let line = row.position().map_or(0, |position| position.line() as usize);
                let set = element_set(|key| {
                    names.iter().position(|name| name.eq_ignore_ascii_case(key)).and_then(|column| row.get(column))
                });
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

/// Largest depth of elements in XML, count. A message of CCSDS 505.0-B has 7 levels. The parser takes stack for each.
const LEVELS_MAX: usize = 64;

/// Rejects XML with more than [`LEVELS_MAX`] levels, before the parser reads it. Text that is not well-formed is left to
/// the parser, which reads no further than its first fault and rejects document types.
fn check_depth(text: &str) -> Result<(), SkyError> {
    let (mut levels, mut at) = (0, 0);
    while let Some(found) = text[at..].find('<') {
        let begin = at + found;
        let rest = &text[begin..];
        let passed = |end: &str| rest.find(end).map_or(text.len(), |found| begin + found + end.len());
        at = if rest.starts_with("<!--") {
            passed("-->")
        } else if rest.starts_with("<![CDATA[") {
            passed("]]>")
        } else if rest.starts_with("<?") {
            passed("?>")
        } else if rest.starts_with("</") {
            levels = usize::saturating_sub(levels, 1);
            passed(">")
        } else {
            levels += 1;
            if levels > LEVELS_MAX {
                let line = text[..begin].matches('\n').count() + 1;
                let message = format!(
                    "line {line} is nested deeper than {LEVELS_MAX} levels; expected a message of CCSDS 505.0-B"
                );
                return Err(SkyError::new("XML", message));
            }
            let end = begin + end_of_tag(rest);
            if text[..end].ends_with("/>") {
                levels -= 1;
            }
            end
        };
    }
    Ok(())
}

/// Returns the bytes of a tag up to its `>`, which may also be in quotes.
fn end_of_tag(tag: &str) -> usize {
    let mut quote = None;
    let end = tag.bytes().position(|byte| {
        match (byte, quote) {
            (b'"' | b'\'', None) => quote = Some(byte),
            (_, Some(open)) if byte == open => quote = None,
            _ => {}
        }
        byte == b'>' && quote.is_none()
    });
    end.map_or(tag.len(), |end| end + 1)
}

pub(super) fn xml(text: &str) -> Result<Vec<Record>, SkyError> {
    check_depth(text)?;
    let document = roxmltree::Document::parse(text).map_err(|e| SkyError::new("XML", e.to_string()))?;
    let messages = document.descendants().filter(|node| node.tag_name().name().eq_ignore_ascii_case("omm"));
    Ok(messages
        .map(|message| {
            let line = document.text_pos_at(message.range().start).row as usize;
            let field = |key: &str| {
                message
                    .descendants()
                    .find(|node| node.tag_name().name().eq_ignore_ascii_case(key))
                    .and_then(|node| node.text())
            };
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
            // A repeated keyword begins the next message.
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
