//! Reads traces: measured values from files.
//!
//! The common format is CSV with a header line. Names end in their unit (`time_s`, `rate_mbps`, `rtt_ms`). The first
//! column is the time, and the first row is the start of the run. Empty lines and lines that begin with `#` are
//! ignored. Numbers are rounded to the resolution of the scenario.

use super::report::{below, Report};
use bentpipe_units::quantity::{self, Why};
use bentpipe_units::{Duration, Rate, Time};

/// Largest number of points in all traces of a scenario. They become part of the resolved scenario, which is a text.
const POINTS_MAX: usize = 300_000;

/// Suffixes of names, with the size of the unit in the resolution.
type Units = &'static [(&'static str, u64)];

const TIMES: Units = &[("_ms", 1_000_000_000), ("_us", 1_000_000), ("_ns", 1_000), ("_s", 1_000_000_000_000)];
const RATES: Units = &[("_kbps", 1_000), ("_mbps", 1_000_000), ("_gbps", 1_000_000_000), ("_bps", 1)];

/// Fault of a trace.
pub(super) struct Fault {
    /// Line from 1. 0: the file as a whole.
    line: usize,
    message: String,
    pub(super) expected: String,
}

impl Fault {
    /// Returns the message that follows the file's name.
    pub(super) fn said(&self) -> String {
        match self.line {
            0 => self.message.clone(),
            line => format!("is not such a trace: line {line}: {}", self.message),
        }
    }
}

impl Fault {
    pub(super) fn new(line: usize, message: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { line, message: message.into(), expected: expected.into() }
    }
}

/// Reads rates over time.
pub(super) fn rates(file: &str, column: Option<&str>, report: &mut Report<'_>, path: &[String]) -> Vec<(Time, Rate)> {
    series(file, column, report, path, |name| {
        let size = unit_of(name, RATES).ok_or("_bps, _kbps, _mbps or _gbps")?;
        Ok(move |text: &str| whole(text, size, "a bit rate").map(Rate::from_bps))
    })
}

/// Reads delays over time.
pub(super) fn delays(
    file: &str,
    column: Option<&str>,
    report: &mut Report<'_>,
    path: &[String],
) -> Vec<(Time, Duration)> {
    series(file, column, report, path, |name| {
        let size = unit_of(name, TIMES).ok_or("_s, _ms, _us or _ns")?;
        Ok(move |text: &str| whole(text, size, "a delay").map(Duration::from_ps))
    })
}

/// Reads probabilities over time: from 0 to 1, or per cent in a column whose name ends in `_pct`.
pub(super) fn chances(file: &str, column: Option<&str>, report: &mut Report<'_>, path: &[String]) -> Vec<(Time, f64)> {
    series(file, column, report, path, |name| {
        let percent = name.ends_with("_pct");
        Ok(move |text: &str| {
            let text = if percent { format!("{text} %") } else { text.to_owned() };
            quantity::probability(&text).map_err(|error| error.to_string())
        })
    })
}

/// Reads whole numbers over time.
pub(super) fn counts(file: &str, column: Option<&str>, report: &mut Report<'_>, path: &[String]) -> Vec<(Time, u32)> {
    series(file, column, report, path, |_| {
        Ok(|text: &str| text.parse().map_err(|_| "is not a whole number of users".to_owned()))
    })
}

/// Reads the instants of a column, by default the first, as times since the first of them. They increase.
pub(super) fn instants(file: &str, column: Option<&str>, report: &mut Report<'_>, path: &[String]) -> Vec<Duration> {
    read(file, report, path, |text| {
        let table = Table::of(text)?;
        let chosen = column.map_or(Some(0), |column| table.names.iter().position(|name| *name == column));
        let Some(chosen) = chosen else {
            let message = format!("has no column \"{}\"", column.unwrap_or_default());
            let expected = format!("expected column to be one of: {}", table.names.join(", "));
            return Err(Fault::new(table.line, message, expected));
        };
        let name = table.names[chosen];
        let mut clock = Clock::of(name).ok_or_else(|| unnamed(table.line, name, "_s, _ms, _us or _ns"))?;
        let mut times: Vec<Duration> = Vec::new();
        for (line, cells) in table.rows() {
            let cell = cells?[chosen];
            let time = clock.read(line, cell)? - Time::ZERO;
            if times.last().is_some_and(|last| *last == time) {
                let message = format!("\"{}\" is the instant of the previous line", shown(cell));
                return Err(Fault::new(line, message, "expected instants that increase"));
            }
            times.push(time);
            if times.len() > POINTS_MAX {
                return Err(too_many(line));
            }
        }
        Ok(times)
    })
}

/// Reads starts and ends from the first two columns. Their times are those of the run.
pub(super) fn spans(file: &str, report: &mut Report<'_>, path: &[String]) -> Vec<(Time, Time)> {
    read(file, report, path, |text| {
        let table = Table::of(text)?;
        let expected = "expected columns such as start_s,end_s";
        let &[from, to, ..] = table.names.as_slice() else {
            return Err(Fault::new(table.line, "has one column", expected));
        };
        let unit = |name| unit_of(name, TIMES).ok_or_else(|| unnamed(table.line, name, "_s, _ms, _us or _ns"));
        let (from, to) = (unit(from)?, unit(to)?);
        let mut spans = Vec::new();
        for (line, cells) in table.rows() {
            let cells = cells?;
            let at = |cell: usize, size| {
                let at = whole(cells[cell], size, "an instant");
                at.map(Time::from_ps).map_err(|why| wrong(line, cells[cell], &why))
            };
            spans.push((at(0, from)?, at(1, to)?));
        }
        Ok(spans)
    })
}

/// Reads the fates of packets, one character each: `0` delivered, `1` corrupted. Returns the indices of the corrupted
/// packets, and the number of all packets.
pub(super) fn outcomes(file: &str, report: &mut Report<'_>, path: &[String]) -> (Vec<u64>, u64) {
    let mut count = 0;
    let list = read(file, report, path, |text| {
        let mut hits = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            for c in text.chars().filter(|c| !c.is_whitespace()) {
                match c {
                    '0' => {}
                    '1' => hits.push(count),
                    _ => {
                        return Err(Fault::new(
                            line,
                            format!("{c:?} is not an outcome"),
                            "expected 0 or 1 for each packet",
                        ))
                    }
                }
                count += 1;
            }
        }
        Ok(hits)
    });
    (list, count)
}

/// Reads the fates of packets as lengths of runs: packets delivered, packets corrupted, and so on in turn.
pub(super) fn runs(file: &str, report: &mut Report<'_>, path: &[String]) -> (Vec<u64>, u64) {
    let mut count = 0u64;
    let list = read(file, report, path, |text| {
        let mut hits = Vec::new();
        let mut is_hit = false;
        for (line, text) in (1..).zip(text.lines()) {
            for word in text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty()) {
                let run: u64 = word.parse().map_err(|_| {
                    Fault::new(line, format!("\"{word}\" is not a number of packets"), "expected whole numbers")
                })?;
                let end = count.saturating_add(run);
                if is_hit && run.saturating_add(hits.len() as u64) > POINTS_MAX as u64 {
                    return Err(too_many(line));
                }
                if is_hit {
                    hits.extend(count..end);
                }
                (count, is_hit) = (end, !is_hit);
            }
        }
        Ok(hits)
    });
    (list, count)
}

/// Reads Mahimahi's packet-delivery trace: each line is a millisecond in which 1500 bytes may leave, and the trace
/// repeats after the last line. The rate spreads an opportunity evenly over the millisecond before it, so a full packet
/// leaves at the same time as in Mahimahi. Returns the rates and the period.
pub(super) fn mahimahi(file: &str, report: &mut Report<'_>, path: &[String]) -> (Vec<(Time, Rate)>, Option<Duration>) {
    let mut period = 0;
    let points = read(file, report, path, |text| {
        let mut counts: Vec<(u64, u64)> = Vec::new();
        for (line, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()) {
            let ms: u64 = text.trim().parse().map_err(|_| {
                Fault::new(line, format!("\"{}\" is not an instant", shown(text)), "expected whole milliseconds")
            })?;
            match counts.last_mut() {
                Some((last, _)) if ms < *last => {
                    return Err(Fault::new(line, format!("{ms} comes before {last}"), "expected instants in order"))
                }
                Some((last, count)) if *last == ms => *count += 1,
                _ => counts.push((ms, 1)),
            }
            if counts.len() > POINTS_MAX {
                return Err(too_many(line));
            }
        }
        period = counts.last().map_or(0, |last| last.0);
        if period == 0 || period > LATEST_MS {
            let expected = format!("expected a last line of 1 to {LATEST_MS} ms");
            return Err(Fault::new(0, "does not end after 0, so it cannot repeat", expected));
        }
        // An opportunity at 0 comes with the last one of the round before.
        if let Some(&(0, first)) = counts.first() {
            counts.remove(0);
            if let Some(last) = counts.last_mut() {
                last.1 += first;
            }
        }
        let mut points: Vec<(Time, Rate)> = vec![(Time::ZERO, Rate::from_bps(0))];
        for (ms, count) in counts {
            let at = |ms: u64| Time::ZERO + Duration::from_millis(ms);
            put(&mut points, at(ms - 1), Rate::from_bps(count * 1500 * 8 * 1000));
            if ms < period {
                put(&mut points, at(ms), Rate::from_bps(0));
            }
        }
        points.dedup_by_key(|point| point.1);
        Ok(points)
    });
    (points, Some(Duration::from_millis(period.min(LATEST_MS))))
}

/// 200 days.
const LATEST_MS: u64 = 200 * 86_400_000;

/// Reads a time series of two columns.
fn series<T, R: Fn(&str) -> Result<T, String>>(
    file: &str,
    column: Option<&str>,
    report: &mut Report<'_>,
    path: &[String],
    reader: impl FnOnce(&str) -> Result<R, &'static str>,
) -> Vec<(Time, T)> {
    read(file, report, path, |text| columns(text, column, reader))
}

/// Reads the time column and another column of a table.
fn columns<T, R: Fn(&str) -> Result<T, String>>(
    text: &str,
    column: Option<&str>,
    reader: impl FnOnce(&str) -> Result<R, &'static str>,
) -> Result<Vec<(Time, T)>, Fault> {
    let table = Table::of(text)?;
    let mut clock =
        Clock::of(table.names[0]).ok_or_else(|| unnamed(table.line, table.names[0], "_s, _ms, _us or _ns"))?;
    let chosen = match column {
        Some(column) => table.names.iter().position(|name| *name == column).filter(|&at| at > 0),
        None => Some(1).filter(|_| table.names.len() == 2),
    };
    let Some(chosen) = chosen else {
        let message = match column {
            Some(column) => format!("has no column \"{column}\" of values"),
            None => format!("has {} columns", table.names.len()),
        };
        let columns = table.names[1..].join(", ");
        return Err(Fault::new(table.line, message, format!("expected column to be one of: {columns}")));
    };
    let name = table.names[chosen];
    let value = reader(name).map_err(|units| unnamed(table.line, name, units))?;
    let mut points: Vec<(Time, T)> = Vec::new();
    for (line, cells) in table.rows() {
        let cells = cells?;
        let at = clock.read(line, cells[0])?;
        put(&mut points, at, value(cells[chosen]).map_err(|why| wrong(line, cells[chosen], &why))?);
        if points.len() > POINTS_MAX {
            return Err(too_many(line));
        }
    }
    Ok(points)
}

/// A column of instants. They count from the first.
struct Clock {
    tick: u64,
    first: Option<u128>,
    last: Time,
}

impl Clock {
    /// The column `name`, if its name ends in a unit of time.
    fn of(name: &str) -> Option<Self> {
        Some(Self { tick: unit_of(name, TIMES)?, first: None, last: Time::ZERO })
    }

    /// Returns the instant of the next row.
    fn read(&mut self, line: usize, cell: &str) -> Result<Time, Fault> {
        let ticks = quantity::nearest(cell, self.tick).map_err(|why| wrong(line, cell, &is_not("an instant", why)))?;
        let since = ticks.checked_sub(*self.first.get_or_insert(ticks)).and_then(|since| u64::try_from(since).ok());
        let Some(at) = since.map(Time::from_ps).filter(|at| *at >= self.last) else {
            let message = format!("\"{}\" is before the previous line, or centuries after it", shown(cell));
            return Err(Fault::new(line, message, "expected instants in order"));
        };
        self.last = at;
        Ok(at)
    }
}

/// Rain as a gauge or a beacon measures it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Wet {
    /// Rain rate in mm/h.
    Rate(f64),
    /// Attenuation of a link in dB.
    Attenuation(f64),
}

/// Reads rain over time: mm/h in a column whose name ends in `_mm_h`, attenuation in a column whose name ends in `_db`.
///
/// # Errors
///
/// The fault, with its line.
pub(super) fn rain(content: &[u8], column: Option<&str>) -> Result<Vec<(Time, Wet)>, Fault> {
    let found = columns(text(content)?, column, |name| {
        let name = name.to_ascii_lowercase();
        let (is_rate, largest) = match name.as_str() {
            name if name.ends_with("_mm_h") => (true, RAIN_MAX_MM_H),
            name if name.ends_with("_db") => (false, FADE_MAX_DB),
            _ => return Err("_mm_h or _db"),
        };
        Ok(move |cell: &str| match cell.parse::<f64>() {
            Ok(value) if (0.0..=largest).contains(&value) => {
                Ok(if is_rate { Wet::Rate(value) } else { Wet::Attenuation(value) })
            }
            Ok(value) if value.is_finite() => Err(format!("is not between 0 and {largest}")),
            _ => Err("is not a number".to_owned()),
        })
    })?;
    if found.is_empty() {
        return Err(Fault::new(0, "is empty", "expected a trace"));
    }
    Ok(found)
}

/// Limit of ITU-R's method. The largest measured rain of a minute was 1900 mm/h.
const RAIN_MAX_MM_H: f64 = 1000.0;
const FADE_MAX_DB: f64 = 300.0;

/// Adds a value. Of values at one instant, the last replaces the others: clocks of measurements are often coarser than
/// their samples.
fn put<T>(points: &mut Vec<(Time, T)>, at: Time, value: T) {
    match points.last_mut() {
        Some(last) if last.0 == at => last.1 = value,
        _ => points.push((at, value)),
    }
}

/// Reads the trace in `file` for the key `path`. Reports its faults and then returns nothing.
pub(super) fn read<T>(
    file: &str,
    report: &mut Report<'_>,
    path: &[String],
    parse: impl FnOnce(&str) -> Result<Vec<T>, Fault>,
) -> Vec<T> {
    let key = below(path, "file");
    let content = match report.files.read(file) {
        Ok(content) => content,
        Err((message, expected)) => {
            report.value(&key, &message, &expected);
            return Vec::new();
        }
    };
    match text(&content).and_then(parse) {
        Ok(entries) if entries.is_empty() => report.value(&key, "is empty", "expected a trace"),
        Ok(entries) if report.traced + entries.len() > POINTS_MAX => {
            let Fault { message, expected, .. } = too_many(0);
            report.value(&key, &message, &expected);
        }
        Ok(entries) => {
            report.traced += entries.len();
            return entries;
        }
        Err(fault) => report.value(&key, &fault.said(), &fault.expected),
    }
    Vec::new()
}

fn text(content: &[u8]) -> Result<&str, Fault> {
    match std::str::from_utf8(content) {
        Ok(text) => Ok(text.trim_start_matches('\u{feff}')),
        Err(error) => {
            let line = 1 + content[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
            Err(Fault::new(line, "is not text in UTF-8", "expected a trace"))
        }
    }
}

/// Table of comma-separated values.
struct Table<'a> {
    names: Vec<&'a str>,
    /// Line of the names.
    line: usize,
    text: &'a str,
}

impl<'a> Table<'a> {
    fn of(text: &'a str) -> Result<Self, Fault> {
        let Some((line, head)) = lines(text).next() else {
            return Err(Fault::new(0, "is empty", "expected a trace"));
        };
        let names: Vec<&str> = cells(head).collect();
        if quantity::nearest(names[0], 1).is_ok() {
            let expected = "expected a first line with the columns' names and units, like time_s,rate_mbps";
            return Err(Fault::new(line, "has numbers in the place of names", expected));
        }
        Ok(Self { names, line, text })
    }

    /// Returns the rows below the names, with their lines. A row with another number of cells is an error.
    fn rows(&self) -> impl Iterator<Item = (usize, Result<Vec<&'a str>, Fault>)> + '_ {
        lines(self.text).skip(1).map(|(line, text)| {
            let row: Vec<&str> = cells(text).collect();
            if row.len() == self.names.len() {
                return (line, Ok(row));
            }
            let expected = format!("expected {}: {}", self.names.len(), self.names.join(","));
            (line, Err(Fault::new(line, format!("has {} columns", row.len()), expected)))
        })
    }
}

fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
}

/// Returns the cells of a line, without the quotes that some programs add (RFC 4180).
fn cells(line: &str) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    let ends = move |c: char| {
        is_quoted ^= c == '"';
        c == ',' && !is_quoted
    };
    line.split(ends).map(|cell| {
        let cell = cell.trim();
        cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"')).map_or(cell, str::trim)
    })
}

fn unit_of(name: &str, units: Units) -> Option<u64> {
    let name = name.to_ascii_lowercase();
    units.iter().find(|(ending, _)| name.ends_with(ending)).map(|unit| unit.1)
}

fn unnamed(line: usize, name: &str, units: &str) -> Fault {
    let message = format!("the name of column \"{}\" does not end in a unit", shown(name));
    Fault::new(line, message, format!("expected {units} at its end"))
}

fn whole(text: &str, size: u64, what: &str) -> Result<u64, String> {
    let value = quantity::nearest(text, size).map_err(|why| is_not(what, why))?;
    u64::try_from(value).map_err(|_| is_not(what, Why::TooLarge))
}

fn is_not(what: &str, why: Why) -> String {
    match why {
        Why::Negative => format!("is not {what}: it is negative"),
        Why::TooLarge => format!("is not {what}: it is too large"),
        _ => format!("is not {what}"),
    }
}

fn wrong(line: usize, cell: &str, why: &str) -> Fault {
    Fault::new(line, format!("\"{}\" {why}", shown(cell)), "expected a plain number in the unit of its column")
}

fn too_many(line: usize) -> Fault {
    Fault::new(
        line,
        "has too many points",
        format!("expected at most {POINTS_MAX} over all traces; make its steps longer"),
    )
}

/// Returns the beginning of a cell, for messages.
fn shown(cell: &str) -> String {
    cell.trim().chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use crate::{from_toml, from_toml_with, ErrorModel, Files, Folder, Profile, Resolved, Scenario};
    use bentpipe_units::{Duration, Rate, Time};
    use std::collections::BTreeMap;

    /// Files in memory.
    struct Given(BTreeMap<&'static str, Vec<u8>>);

    impl Files for Given {
        fn read(&self, name: &str) -> Result<Vec<u8>, (String, String)> {
            self.0.get(name).cloned().ok_or_else(|| ("is not there".into(), "expected a file".into()))
        }
    }

    /// Reads a link with these keys and a file `t`.
    fn read(link: &str, content: &[u8]) -> Result<Resolved, String> {
        let text = format!(
            "duration = \"10 s\"\n[link.l]\nfrom = \"a\"\nto = \"b\"\n{link}\n[flow.f]\nfrom = \"a\"\nto = \"b\"\n"
        );
        let files = Given([("t", content.to_vec())].into());
        from_toml_with(&text, "s.toml", &[], &files).map_err(|problems| problems.to_string())
    }

    fn scenario(link: &str, content: &str) -> std::sync::Arc<Scenario> {
        let resolved = read(link, content.as_bytes()).unwrap_or_else(|problems| panic!("{problems}"));
        // An expanded scenario needs no file.
        let again = from_toml(&resolved.to_toml(), "again", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(again.scenario, resolved.scenario);
        assert_eq!(again.digest(), resolved.digest());
        resolved.scenario
    }

    fn ms(n: u64) -> Time {
        Time::ZERO + Duration::from_millis(n)
    }

    #[test]
    fn a_csv_file_becomes_points_that_begin_with_the_run() {
        let csv = "\u{feff}# from a terminal\nt_utc_s,latency_ms,downlink_bps\r\n\n1748560813.333,78.5297,1373919.8\n\
                   1748560814.535,74.7,2e6\n1748560814.535, \"70.1\" ,3000000\n";
        let rate = "rate = { file = \"t\", column = \"downlink_bps\" }\ndelay = \"1 ms\"";
        let points = vec![(ms(0), Rate::from_bps(1_373_920)), (ms(1202), Rate::from_bps(3_000_000))];
        assert_eq!(scenario(rate, csv).links[0].rate, Profile::Points { points, linear: false, period: None });
        let delay = "rate = \"1 Mbit/s\"\n\
                     delay = { file = \"t\", column = \"latency_ms\", interpolate = \"linear\", every = \"2 s\" }";
        let points = vec![
            (ms(0), Duration::from_micros(78_529) + Duration::from_ps(700_000)),
            (ms(1202), Duration::from_micros(70_100)),
        ];
        let period = Some(Duration::from_secs(2));
        assert_eq!(scenario(delay, csv).links[0].delay, Profile::Points { points, linear: true, period });
    }

    #[test]
    fn recorded_losses_become_errors() {
        let link = |error: &str| format!("rate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nerror = {error}");
        let error = |error: &str, content| scenario(&link(error), content).links[0].error.clone();
        let ErrorModel::Profile { rates, .. } =
            error("{ kind = \"trace\", file = \"t\", every = \"1 s\" }", "time_ms,loss_pct\n0,0.5\n100,50\n")
        else {
            panic!("a profile");
        };
        let (points, period) = (vec![(ms(0), 0.005), (ms(100), 0.5)], Some(Duration::from_secs(1)));
        assert_eq!(rates, Profile::Points { points, linear: false, period });
        let arrivals = |list: &[u64], period| ErrorModel::Arrivals { list: list.to_vec(), period };
        assert_eq!(error("{ kind = \"packet-trace\", file = \"t\" }", "0010 1\n1\n"), arrivals(&[2, 4, 5], None));
        let runs = "{ kind = \"packet-trace\", file = \"t\", format = \"runs\", repeat = true, effect = \"lose\" }";
        assert_eq!(error(runs, "2, 1\n1 2 4"), arrivals(&[2, 4, 5], Some(10)));
        // A run of delivered packets takes no time to read, however long it is.
        assert_eq!(error(runs, "2 1 18446744073709551615 2"), arrivals(&[2], Some(u64::MAX)));
    }

    #[test]
    fn recorded_outages_become_spans() {
        let link =
            "rate = \"1 Mbit/s\"\ndelay = \"1 ms\"\noutage = { file = \"t\", every = \"60 s\", queue = \"flush\" }";
        let written = "rate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
                       outage = { spans = [[\"1 s\", \"1.25 s\"], [\"3 s\", \"4 s\"]], every = \"60 s\", queue = \"flush\" }";
        assert_eq!(scenario(link, "start_s,end_s,why\n1,1.25,rain\n3,4,sun\n"), scenario(written, ""));
    }

    /// Two opportunities in the second millisecond, one in the fourth. The opportunity at 0 comes with the end of each
    /// round.
    #[test]
    fn mahimahi_traces_carry_their_bytes_in_their_milliseconds() {
        let link = "rate = { file = \"t\", format = \"mahimahi\" }\ndelay = \"1 ms\"";
        let rate = |n: u64| Rate::from_bps(n * 12_000_000);
        let points = vec![(ms(0), rate(0)), (ms(1), rate(2)), (ms(2), rate(0)), (ms(3), rate(2))];
        let period = Some(Duration::from_millis(4));
        assert_eq!(scenario(link, "0\n2\n2\n4\n").links[0].rate, Profile::Points { points, linear: false, period });
        let steady: String = (1..=100).map(|ms| format!("{ms}\n")).collect();
        let points = vec![(ms(0), rate(1))];
        let period = Some(Duration::from_millis(100));
        assert_eq!(scenario(link, &steady).links[0].rate, Profile::Points { points, linear: false, period });
    }

    #[test]
    fn what_is_wrong_with_a_trace_is_said_with_file_and_line() {
        let rate = "rate = { file = \"t\" }\ndelay = \"1 ms\"";
        let error = |kind: &str| format!("rate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nerror = {{ {kind}, file = \"t\" }}");
        let (trace, packets) = (error("kind = \"trace\""), error("kind = \"packet-trace\""));
        let runs = error("kind = \"packet-trace\", format = \"runs\"");
        let mahimahi = "rate = { file = \"t\", format = \"mahimahi\" }\ndelay = \"1 ms\"";
        let outage = "rate = \"1 Mbit/s\"\ndelay = \"1 ms\"\noutage = { file = \"t\" }";
        let long: Vec<u8> = (0..300_001).flat_map(|n| format!("{n}\n").into_bytes()).collect();
        for (link, content, said) in [
            (
                rate,
                &b"time_s,rate_bps\n0,5\n1,x\n"[..],
                "link.l.rate.file = \"t\" is not such a trace: line 3: \"x\" is not a bit rate",
            ),
            (rate, b"time_s,rate_bps\n0,-5\n", "line 2: \"-5\" is not a bit rate: it is negative"),
            (rate, b"time_s,rate_bps\n1,5\n0,5\n", "line 3: \"0\" is before the previous line"),
            (rate, b"time_s,rate_bps\n\"1,5\n", "line 2: has 1 columns"),
            (rate, b"time_s,rate_bps\n1,5,6\n", "line 2: has 3 columns"),
            (rate, b"time_s,rate_bps,rtt_ms\n1,5,6\n", "expected column to be one of: rate_bps, rtt_ms"),
            (rate, b"time_s,rate\n1,5\n", "the name of column \"rate\" does not end in a unit"),
            (rate, b"time,rate_bps\n1,5\n", "expected _s, _ms, _us or _ns at its end"),
            (rate, b"0,5\n1,6\n", "line 1: has numbers in the place of names"),
            (rate, b"time_s\n0\n", "line 1: has 1 columns"),
            (rate, b"time_s,rate_bps\n", "link.l.rate.file = \"t\" is empty"),
            (rate, b"", "is empty"),
            (rate, b"time_s,rate_bps\n0,\xff\n", "line 2: is not text in UTF-8"),
            (rate, b"time_s,rate_bps\n0,0\n", "never above 0"),
            ("rate = { file = \"u\" }\ndelay = \"1 ms\"", b"", "link.l.rate.file = \"u\" is not there"),
            (
                "rate = { file = \"t\", column = \"x\" }\ndelay = \"1 ms\"",
                b"time_s,rate_bps\n0,1\n",
                "has no column \"x\" of values",
            ),
            (
                "rate = { file = \"t\", every = \"1 s\" }\ndelay = \"1 ms\"",
                b"time_s,rate_bps\n0,1\n1,2\n",
                "is too short",
            ),
            (
                "rate = { file = \"t\", format = \"mahimahi\", every = \"1 s\" }\ndelay = \"1 ms\"",
                b"1\n",
                "has no effect on a Mahimahi trace",
            ),
            (mahimahi, b"5\n4\n", "line 2: 4 comes before 5"),
            (mahimahi, b"5\n4.5\n", "line 2: \"4.5\" is not an instant"),
            (mahimahi, b"0\n0\n", "does not end after 0"),
            (mahimahi, b"99999999999999\n", "expected a last line of 1 to"),
            (mahimahi, &long, "has too many points; expected at most 300000"),
            (&trace, b"time_s,loss\n0,1.5\n", "line 2: \"1.5\" is not a probability"),
            (&trace, b"time_s,loss_pct\n0,101\n", "line 2: \"101\" is not a probability"),
            (&packets, b"01\n02\n", "line 2: '2' is not an outcome"),
            (&runs, b"1 1 1\n18446744073709551615\n", "line 2: has too many points"),
            (outage, b"start_s,end_s\n1,2\n2,3\n", "overlaps or is not in order"),
            (outage, b"start_s\n1\n", "has one column"),
            (outage, b"start_s,end_s\n1,2\n3,4 s\n", "line 3: \"4 s\" is not an instant"),
        ] {
            let problems = read(link, content).map(drop).unwrap_err();
            let said_all = said.split("; ").all(|said| problems.contains(said));
            assert!(said_all && problems.contains("s.toml:"), "{said}\n{problems}");
        }
    }

    #[test]
    fn only_files_below_the_scenario_are_read() {
        let folder = std::env::temp_dir().join(format!("bentpipe-trace-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("in")).unwrap();
        std::fs::write(folder.join("in/t"), "x").unwrap();
        std::fs::write(folder.join("secret"), "x").unwrap();
        #[cfg(unix)]
        for (target, name) in [("../secret", "in/out"), ("t", "in/u")] {
            drop(std::fs::remove_file(folder.join(name)));
            std::os::unix::fs::symlink(target, folder.join(name)).unwrap();
        }
        #[cfg(unix)]
        {
            let inner = Folder(folder.join("in"));
            assert!(inner.read("out").unwrap_err().0.contains("leads out of the scenario's folder"));
            assert_eq!(inner.read("u").unwrap(), b"x");
        }
        let files = Folder(folder.clone());
        assert_eq!(files.read("in/t").unwrap(), b"x");
        assert_eq!(files.read("./in/t").unwrap(), b"x");
        let absolute = folder.join("in/t");
        for (name, said) in [
            ("../t", "is not beside the scenario"),
            ("in/../in/t", "is not beside the scenario"),
            ("", "is not beside the scenario"),
            (absolute.to_str().unwrap(), "is not beside the scenario"),
            ("in", "is not a file"),
            ("out", "cannot be read"),
        ] {
            assert!(files.read(name).unwrap_err().0.contains(said), "{name}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
