//! Reads a recorded page from an HTTP Archive (HAR 1.2), as browsers save it.

use super::report::Report;
use super::trace::{self, Fault};
use bentpipe_model::spec::PageObject;
use bentpipe_units::Duration;
use serde_json::Value;
use std::collections::BTreeMap;

/// Bytes of a request that the record does not count: that of the models.
const REQUEST: u64 = 350;
/// Largest number of objects of a page.
const OBJECTS_MAX: usize = 10_000;

/// Page of a record.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Har {
    pub(super) objects: Vec<PageObject>,
    /// Whether responses came over HTTP/2 or HTTP/3.
    pub(super) is_multiplexed: bool,
    /// Whether the main object was encrypted.
    pub(super) is_secured: bool,
}

/// Reads the first page of the record in `file` for the key `path`. Reports its faults and then returns `None`.
pub(super) fn page(file: &str, report: &mut Report<'_>, path: &[String]) -> Option<Har> {
    trace::read(file, report, path, |text| parse(text).map(|har| vec![har])).pop()
}

/// Request of a record.
struct Entry<'a> {
    url: &'a str,
    /// Names of the objects that caused it, the most likely first.
    causes: Vec<&'a str>,
    /// Whether markup caused it.
    is_early: bool,
    start_ms: f64,
    end_ms: f64,
    wait_ms: f64,
    connect_ms: Option<f64>,
    request: u64,
    bytes: u64,
}

fn parse(text: &str) -> Result<Har, Fault> {
    let wrong = |message: String| Fault::new(0, message, "expected a HAR file as a browser saves it");
    let record: Value = serde_json::from_str(text).map_err(|error| wrong(format!("is not JSON: {error}")))?;
    let listed = record["log"]["entries"].as_array().ok_or_else(|| wrong("has no list log.entries".into()))?;
    let page = listed.iter().find_map(|entry| entry["pageref"].as_str());
    let of_page = |entry: &&Value| page.is_none_or(|page| entry["pageref"].as_str() == Some(page));
    let mut entries = Vec::new();
    let mut is_multiplexed = false;
    for (n, entry) in listed.iter().enumerate().filter(|(_, entry)| of_page(entry)) {
        let url = entry["request"]["url"].as_str().ok_or_else(|| wrong(format!("has no URL in entry {n}")))?;
        let Some(bytes) = bytes_of(&entry["response"]).filter(|_| url.starts_with("http")) else { continue };
        let started = entry["startedDateTime"].as_str().and_then(instant_ms);
        let start_ms = started.ok_or_else(|| wrong(format!("has no startedDateTime in entry {n}")))?;
        let version = entry["response"]["httpVersion"].as_str().unwrap_or_default().to_ascii_lowercase();
        is_multiplexed |= ["h2", "h3", "http/2", "http/3"].iter().any(|name| version.starts_with(name));
        let timing = |name: &str| entry["timings"][name].as_f64().filter(|time| *time >= 0.0);
        entries.push(Entry {
            url,
            causes: causes_of(&entry["_initiator"]),
            is_early: entry["_initiator"]["type"].as_str() == Some("parser"),
            start_ms,
            end_ms: start_ms + entry["time"].as_f64().unwrap_or(0.0).max(0.0),
            wait_ms: timing("wait").unwrap_or(0.0),
            connect_ms: timing("connect")
                .map(|connect| connect - timing("ssl").unwrap_or(0.0))
                .filter(|time| *time > 0.0),
            request: size(&entry["request"], "headersSize")
                .map_or(REQUEST, |head| head + size(&entry["request"], "bodySize").unwrap_or(0)),
            bytes,
        });
    }
    if entries.is_empty() || entries.len() > OBJECTS_MAX {
        let message = format!("has {} responses with bytes", entries.len());
        return Err(Fault::new(0, message, format!("expected 1 to {OBJECTS_MAX}")));
    }
    entries.sort_by(|a, b| a.start_ms.total_cmp(&b.start_ms));
    let is_secured = entries[0].url.starts_with("https");
    Ok(Har { objects: objects(&entries), is_multiplexed, is_secured })
}

/// Finds the object that names each one, and the times of the page without those of the recorded network.
fn objects(entries: &[Entry<'_>]) -> Vec<PageObject> {
    let mut hosts: BTreeMap<&str, (u32, f64)> = BTreeMap::new();
    for entry in entries {
        let next = hosts.len() as u32;
        let host = hosts.entry(host_of(entry.url)).or_insert((next, f64::INFINITY));
        // A connection opens in a round trip of the recorded network.
        host.1 = host.1.min(entry.connect_ms.unwrap_or(f64::INFINITY));
    }
    let object = |(n, entry): (usize, &Entry<'_>)| {
        let known = |cause: &&str| entries[..n].iter().rposition(|other| other.url == *cause);
        let after = entry.causes.iter().find_map(known).unwrap_or(0);
        let (host, rtt_ms) = hosts[host_of(entry.url)];
        let rtt_ms = if rtt_ms.is_finite() { rtt_ms } else { 0.0 };
        let delay_ms = if n == 0 { 0.0 } else { entry.start_ms - entries[after].end_ms };
        PageObject {
            bytes: entry.bytes,
            host,
            after: after as u32,
            is_early: n > 0 && entry.is_early,
            delay: millis(delay_ms),
            wait: millis(entry.wait_ms - rtt_ms),
            request: entry.request.max(1),
        }
    };
    entries.iter().enumerate().map(object).collect()
}

/// Returns a time of at least zero, to the microsecond.
fn millis(time_ms: f64) -> Duration {
    Duration::from_micros((time_ms * 1e3).clamp(0.0, 1e12) as u64)
}

/// Returns the bytes that a response had on the wire, unless it came from a cache.
fn bytes_of(response: &Value) -> Option<u64> {
    let on_wire = size(response, "_transferSize");
    let counted = size(response, "bodySize").map(|body| body + size(response, "headersSize").unwrap_or(0));
    on_wire.or(counted).filter(|bytes| *bytes > 0)
}

/// Returns a number of bytes, if the record has one: -1 means unknown.
fn size(of: &Value, key: &str) -> Option<u64> {
    of[key].as_f64().filter(|bytes| *bytes >= 0.0).map(|bytes| bytes as u64)
}

/// Returns the names of the objects that caused a request: that of its markup, then those of its scripts.
fn causes_of(initiator: &Value) -> Vec<&str> {
    let mut causes: Vec<&str> = initiator["url"].as_str().into_iter().collect();
    let mut stack = &initiator["stack"];
    while stack.is_object() {
        let frames = stack["callFrames"].as_array();
        causes.extend(frames.into_iter().flatten().filter_map(|frame| frame["url"].as_str()));
        stack = &stack["parent"];
    }
    causes
}

/// Returns the scheme, host and port of an address.
fn host_of(url: &str) -> &str {
    let start = url.find("://").map_or(0, |at| at + 3);
    url[start..].find(['/', '?', '#']).map_or(url, |end| &url[..start + end])
}

/// Returns an instant of ISO 8601 in milliseconds of its epoch.
fn instant_ms(text: &str) -> Option<f64> {
    let (date, time) = text.split_once('T')?;
    let date: Vec<i64> = date.split('-').map(str::parse).collect::<Result<_, _>>().ok()?;
    let end = time.find(['Z', '+', '-']).unwrap_or(time.len());
    let clock: Vec<f64> = time[..end].split(':').map(str::parse).collect::<Result<_, _>>().ok()?;
    let (&[year, month, day], &[hour, minute, second]) = (date.as_slice(), clock.as_slice()) else { return None };
    let zone = match time[end..].trim_start_matches('Z') {
        "" => 0.0,
        zone => {
            let sign = if zone.starts_with('-') { -1.0 } else { 1.0 };
            let parts = zone[1..].split(':').map(str::parse).collect::<Result<Vec<f64>, _>>().ok()?;
            sign * (parts.first()? * 60.0 + parts.get(1).unwrap_or(&0.0))
        }
    };
    // Days of the Gregorian calendar from March (Hinnant, "chrono-compatible low-level date algorithms", 2014).
    let year = year.checked_sub(i64::from(month <= 2)).filter(|year| (0..10_000).contains(year))?;
    let months = (month + 9) % 12;
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (153 * months + 2) / 5 + day;
    Some(days as f64 * 86_400e3 + hour * 3600e3 + (minute - zone) * 60e3 + second * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HAR: &str = r#"{"log": {"entries": [
        {"pageref": "1", "startedDateTime": "2026-02-28T23:59:59.900Z", "time": 100, "request": {"url": "https://a.org/",
         "headersSize": 400, "bodySize": 0}, "response": {"httpVersion": "h2", "_transferSize": 22000},
         "timings": {"connect": 30, "ssl": 20, "wait": 60}},
        {"pageref": "1", "startedDateTime": "2026-03-01T01:00:00.250+01:00", "time": 40, "_initiator": {"type": "script",
         "stack": {"callFrames": [], "parent": {"callFrames": [{"url": "https://b.org/app.js"}]}}},
         "request": {"url": "https://b.org/data", "headersSize": -1}, "response": {"bodySize": 900, "headersSize": 100}},
        {"pageref": "1", "startedDateTime": "2026-03-01T00:00:00.020Z", "time": 200, "_initiator": {"type": "parser",
         "url": "https://a.org/"}, "request": {"url": "https://b.org/app.js"}, "response": {"_transferSize": 5000}},
        {"pageref": "1", "startedDateTime": "2026-03-01T00:00:00.020Z", "request": {"url": "data:,x"}, "response":
         {"_transferSize": 5}},
        {"pageref": "1", "startedDateTime": "2026-03-01T00:00:00.020Z", "request": {"url": "https://a.org/old"},
         "response": {"_transferSize": 0}},
        {"pageref": "2", "startedDateTime": "2026-03-01T00:00:00.020Z", "request": {"url": "https://c.org/"}, "response":
         {"_transferSize": 50}}
    ]}}"#;

    #[test]
    fn objects_have_hosts_causes_and_the_times_of_the_page() {
        let har = parse(HAR).unwrap_or_else(|fault| panic!("{}", fault.said()));
        assert!(har.is_multiplexed && har.is_secured);
        let ms = Duration::from_millis;
        let object = |bytes, host, after, delay, wait, request| PageObject {
            bytes,
            host,
            after,
            delay: ms(delay),
            wait: ms(wait),
            request,
            is_early: host == 1 && after == 0,
        };
        // The script was requested 20 ms after the page, the data 30 ms after the script. A round trip took 10 ms.
        let expected =
            [object(22_000, 0, 0, 0, 50, 400), object(5000, 1, 0, 20, 0, 350), object(1000, 1, 1, 30, 0, 350)];
        assert_eq!(har.objects, expected);
    }

    #[test]
    fn faults_name_what_is_missing() {
        for (text, said) in [
            ("{", "is not JSON"),
            ("{}", "has no list log.entries"),
            (r#"{"log": {"entries": []}}"#, "has 0 responses with bytes"),
            (r#"{"log": {"entries": [{}]}}"#, "has no URL in entry 0"),
            (
                r#"{"log": {"entries": [{"request": {"url": "http://a/"}, "response": {"bodySize": 1},
                 "startedDateTime": "noon"}]}}"#,
                "has no startedDateTime in entry 0",
            ),
        ] {
            let fault = parse(text).expect_err("it is wrong");
            assert!(fault.said().contains(said), "{}", fault.said());
        }
    }
}
