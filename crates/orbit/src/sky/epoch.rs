//! Instants of UTC, and the Earth's rotation.

use super::error::SkyError;
use std::cmp::Ordering;
use std::f64::consts::PI;
use std::fmt;

const DAY: f64 = 86_400.0;

/// Instant of UTC. A day has 86 400 s: leap seconds are not counted, and UTC replaces UT1 (0.9 s off at most, 0.4 km at
/// the equator), as in element sets and most simulators.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Epoch {
    /// Days since 2000-01-01.
    day: i32,
    /// Seconds of the day, in 0..86 400.
    second: f64,
}

impl Epoch {
    /// 2000-01-01T00:00:00, the default start of synthetic constellations.
    pub const Y2000: Self = Self { day: 0, second: 0.0 };

    /// Returns midnight of a day of the Gregorian calendar; years 1900 to 2199.
    pub fn from_date(year: i32, month: u32, day: u32) -> Result<Self, SkyError> {
        let wrong = |what: String| Err(SkyError::new("date", what));
        if !(1900..2200).contains(&year) {
            return wrong(format!("the year {year} is out of range; expected 1900 to 2199"));
        }
        if !(1..=12).contains(&month) {
            return wrong(format!("there is no month {month}"));
        }
        if day < 1 || day > days_of_month(year, month) {
            return wrong(format!("there is no day {day} in {year:04}-{month:02}"));
        }
        Ok(Self { day: days_since_2000(year, month, day), second: 0.0 })
    }

    /// Reads ISO 8601 as UTC: `2026-06-14`, `2026-06-14T12:30:05.25Z`, or with the day of the year `2026-165T12:00:00`.
    /// A time may have an offset from UTC instead of the Z: `2026-06-14T14:30:05+02:00`.
    ///
    /// # Errors
    ///
    /// Invalid text, and days and times that do not exist.
    pub fn parse(text: &str) -> Result<Self, SkyError> {
        let trimmed = text.trim();
        if let Some((local, ahead_s)) = offset(trimmed) {
            return Self::parse_utc(local, text).map(|epoch| epoch.after(-ahead_s));
        }
        Self::parse_utc(trimmed.strip_suffix(['Z', 'z']).unwrap_or(trimmed), text)
    }

    /// Reads a text without its offset from UTC.
    fn parse_utc(utc: &str, text: &str) -> Result<Self, SkyError> {
        let wrong = || SkyError::new(format!("time {text:?}"), "expected UTC like 2026-06-14T12:30:00Z");
        let (date, time) = match utc.split_once(['T', 't', ' ']) {
            Some((date, time)) => (date, Some(time)),
            None => (utc, None),
        };
        let mut parts = date.split('-');
        let year = whole(parts.next(), 4).ok_or_else(wrong)? as i32;
        let second = parts.next();
        let midnight = match parts.next() {
            Some(day) => {
                Self::from_date(year, whole(second, 2).ok_or_else(wrong)?, whole(Some(day), 2).ok_or_else(wrong)?)?
            }
            None => {
                let first = Self::from_date(year, 1, 1)?;
                let day = whole(second, 3).ok_or_else(wrong)?;
                if day < 1 || day > if leap(year) { 366 } else { 365 } {
                    return Err(SkyError::new(
                        format!("time {text:?}"),
                        format!("there is no day {day} in {year}; expected a day of the calendar"),
                    ));
                }
                Self { day: first.day + day as i32 - 1, second: 0.0 }
            }
        };
        let mut second = 0.0;
        if let Some(time) = time {
            let mut parts = time.split(':');
            let hour = whole(parts.next(), 2).ok_or_else(wrong)?;
            let minute = whole(parts.next(), 2).ok_or_else(wrong)?;
            let rest = parts.next().unwrap_or("0");
            let plain = rest.bytes().all(|b| b.is_ascii_digit() || b == b'.');
            let s: f64 = rest.parse().ok().filter(|_| plain).ok_or_else(wrong)?;
            if hour > 23 || minute > 59 || s >= 60.0 {
                return Err(SkyError::new(format!("time {text:?}"), "expected a time before 24:00:00"));
            }
            second = f64::from(hour * 3600 + minute * 60) + s;
        }
        if parts.next().is_some() || time.is_some_and(|time| time.matches(':').count() > 2) {
            return Err(wrong());
        }
        Ok(Self { day: midnight.day, second })
    }

    /// Returns the epoch of a two-line element set: two digits of the year (57 to 99 are 19xx), then the day of the
    /// year with its fraction, as `26164.75055242`.
    pub fn from_tle(field: &str) -> Result<Self, SkyError> {
        let wrong =
            || SkyError::new(format!("epoch {field:?}"), "expected two digits of the year and the day of the year");
        let (whole_part, fraction) = field.trim().split_once('.').ok_or_else(wrong)?;
        if !whole_part.is_ascii() || whole_part.len() != 5 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
            return Err(wrong());
        }
        let year = whole(Some(&whole_part[..2]), 2).ok_or_else(wrong)? as i32;
        let year = if year < 57 { 2000 + year } else { 1900 + year };
        let day: u32 = whole_part[2..].trim_start().parse().map_err(|_| wrong())?;
        let fraction: f64 = format!("0.{fraction}").parse().map_err(|_| wrong())?;
        if day < 1 || day > if leap(year) { 366 } else { 365 } {
            return Err(SkyError::new(
                format!("epoch {field:?}"),
                format!("there is no day {day} in {year}; expected a day of the calendar"),
            ));
        }
        Ok(Self { day: days_since_2000(year, 1, 1) + day as i32 - 1, second: fraction * DAY }.after(0.0))
    }

    /// Returns the instant `seconds` later.
    #[must_use]
    pub fn after(self, seconds: f64) -> Self {
        let second = self.second + seconds;
        let days = (second / DAY).floor();
        let rest = second - days * DAY;
        // A tiny negative number rounds to a whole day.
        let (days, rest) = if rest >= DAY { (days + 1.0, 0.0) } else { (days, rest) };
        Self { day: self.day.saturating_add(days as i32), second: rest }
    }

    /// Returns the seconds from `other` to this instant, exact to a nanosecond within some years.
    pub fn since(self, other: Self) -> f64 {
        f64::from(self.day - other.day) * DAY + (self.second - other.second)
    }

    /// Compares two instants.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        self.since(*other).total_cmp(&0.0)
    }

    /// Returns the year of the Gregorian calendar.
    pub(crate) fn year(self) -> i32 {
        date(self.day).0
    }

    /// Returns the seconds of the day, 0 to 86 400.
    pub fn second_of_day(self) -> f64 {
        self.second
    }

    /// Returns the Julian date as one number, which rounds it to 40 µs: SGP4's reference has the epochs of elements
    /// like this.
    pub(crate) fn julian_date(self) -> f64 {
        2_451_544.5 + f64::from(self.day) + self.second / DAY
    }

    /// Returns the Julian years of 365.25 days since 2000-01-01T12:00.
    pub(crate) fn years_since_j2000(self) -> f64 {
        (f64::from(self.day) + (self.second / DAY - 0.5)) / 365.25
    }

    /// Returns Greenwich mean sidereal time, radians in 0..2π: the angle of Greenwich from the vernal equinox (IAU
    /// 1982, as in D. Vallado, "Fundamentals of Astrodynamics").
    pub fn gmst(self) -> f64 {
        let centuries = self.years_since_j2000() / 100.0;
        // The fast part, 876 600 h per century, is the time of day; apart from it nothing large is rounded.
        let seconds = 67_310.548_41 - DAY / 2.0
            + self.second
            + centuries * (8_640_184.812_866 + centuries * (0.093_104 - centuries * 6.2e-6));
        let turns = seconds / DAY;
        2.0 * PI * (turns - turns.floor())
    }
}

impl fmt::Display for Epoch {
    /// Prints ISO 8601 with milliseconds, UTC.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounded = self.after(0.0005);
        let (year, month, day) = date(rounded.day);
        let ms = (rounded.second * 1000.0) as u64;
        let (s, ms) = (ms / 1000, ms % 1000);
        write!(f, "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{ms:03}Z", s / 3600, s / 60 % 60, s % 60)
    }
}

/// Splits a time into the text without its offset from UTC, and that offset in seconds, if it has one.
fn offset(text: &str) -> Option<(&str, f64)> {
    let at = text.len().checked_sub("+00:00".len())?;
    let (local, offset) = (text.get(..at)?, text.get(at..)?);
    let sign = if offset.starts_with('+') { 1.0 } else { -1.0 };
    let (hours, minutes) = offset.strip_prefix(['+', '-'])?.split_once(':')?;
    let (hours, minutes) = (whole(Some(hours), 2)?, whole(Some(minutes), 2)?);
    let is_time = local.contains(':') && local.ends_with(|c: char| c.is_ascii_digit());
    (is_time && hours < 24 && minutes < 60).then(|| (local, sign * f64::from(hours * 3600 + minutes * 60)))
}

/// Reads a number of exactly `digits` digits.
fn whole(text: Option<&str>, digits: usize) -> Option<u32> {
    text.filter(|t| t.len() == digits && t.bytes().all(|b| b.is_ascii_digit()))?.parse().ok()
}

fn leap(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of_month(year: i32, month: u32) -> u32 {
    match month {
        2 => 28 + u32::from(leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn days_since_2000(year: i32, month: u32, day: u32) -> i32 {
    // Number of leap days from the year 1 to the end of `y`.
    let leaps = |y: i32| y / 4 - y / 100 + y / 400;
    let years = 365 * (year - 2000) + leaps(year - 1) - leaps(1999);
    years + (1..month).map(|m| days_of_month(year, m) as i32).sum::<i32>() + day as i32 - 1
}

fn date(mut day: i32) -> (i32, u32, u32) {
    let mut year = 2000 + (f64::from(day) / 365.2425).floor() as i32;
    while days_since_2000(year, 1, 1) > day {
        year -= 1;
    }
    while days_since_2000(year + 1, 1, 1) <= day {
        year += 1;
    }
    day -= days_since_2000(year, 1, 1);
    let mut month = 1;
    while day >= days_of_month(year, month) as i32 {
        day -= days_of_month(year, month) as i32;
        month += 1;
    }
    (year, month, day as u32 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iso_8601_is_read_and_written() {
        for (text, written) in [
            ("2026-06-14", "2026-06-14T00:00:00.000Z"),
            ("2026-06-14T12:30:05.25Z", "2026-06-14T12:30:05.250Z"),
            ("2024-02-29 23:59:59.9996", "2024-03-01T00:00:00.000Z"),
            ("2024-366T01:00:00", "2024-12-31T01:00:00.000Z"),
            ("2026-06-14T00:30:00+02:00", "2026-06-13T22:30:00.000Z"),
            ("2026-06-14 23:00-01:30", "2026-06-15T00:30:00.000Z"),
            ("1957-10-04T19:28:34", "1957-10-04T19:28:34.000Z"),
        ] {
            assert_eq!(Epoch::parse(text).unwrap().to_string(), written, "{text}");
        }
    }

    #[test]
    fn times_that_do_not_exist_are_refused() {
        for text in [
            "",
            "2026",
            "2026-13-01",
            "2026-02-29",
            "2025-366",
            "2026-06-14T24:00:00",
            "2026-06-14T12:60",
            "2026-06-14T12:00:60",
            "2026-06-14T12:00:00+24:00",
            "2026-06-14T12:00:00Z+02:00",
            "2026-06-14T12:00:00+02:00+02:00",
            "2026-06-14+02:00",
            "12:00:00",
            "2026-06-14T12:00:00:00",
            "1600-01-01",
            "2026-06-14T1e1:00:00",
            "2026-06-14T12:00:nan",
            "2026-06-14-01",
        ] {
            assert!(Epoch::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn every_day_of_three_centuries_survives_a_round_trip() {
        let mut epoch = Epoch::from_date(1900, 1, 1).unwrap();
        let mut days = 0;
        while epoch < Epoch::from_date(2199, 12, 31).unwrap() {
            assert_eq!(Epoch::parse(&epoch.to_string()).unwrap(), epoch);
            epoch = epoch.after(DAY);
            days += 1;
        }
        assert_eq!(days, 109_572); // 300 years of 365 days, 73 leap days (1900 and 2100 have none), less one day
    }

    #[test]
    fn epochs_of_element_sets() {
        let epoch = Epoch::from_tle("26164.75055242").unwrap();
        assert_eq!(epoch.to_string(), "2026-06-13T18:00:47.729Z");
        assert_eq!(Epoch::from_tle("57001.00000000").unwrap().to_string(), "1957-01-01T00:00:00.000Z");
        for field in ["26366.5", "26000.5", "2616475", "é6164.5", ""] {
            assert!(Epoch::from_tle(field).is_err(), "{field}");
        }
    }

    #[test]
    fn differences_are_exact_to_a_nanosecond() {
        let a = Epoch::parse("2026-06-14T00:00:00").unwrap();
        let b = a.after(-123_456.789);
        assert!((a.since(b) - 123_456.789).abs() < 1e-9);
        assert_eq!(b.after(123_456.0).to_string(), "2026-06-13T23:59:59.211Z");
    }

    /// D. Vallado, "Fundamentals of Astrodynamics", example 3-5: 1992-08-20T12:14 UT1 is 152.578 787 810°; the
    /// Astronomical Almanac's 2000-01-01T12:00 UT1 is 18 h 41 min 50.548 41 s.
    #[test]
    fn sidereal_time_is_that_of_the_textbook() {
        let deg = Epoch::parse("1992-08-20T12:14:00").unwrap().gmst() * 180.0 / PI;
        // The book takes it from a Julian date in one number, which is rounded to 40 µs.
        assert!((deg - 152.578_787_810).abs() < 2e-7, "{deg}");
        let hours = Epoch::parse("2000-01-01T12:00:00").unwrap().gmst() * 12.0 / PI;
        assert!((hours - (18.0 + 41.0 / 60.0 + 50.548_41 / 3600.0)).abs() < 1e-11, "{hours}");
    }

    /// A sidereal day lasts 86 164.0905 s.
    #[test]
    fn the_earth_turns_once_in_a_sidereal_day() {
        let start = Epoch::parse("2026-06-14T03:00:00").unwrap();
        let turned = start.after(86_164.090_5).gmst() - start.gmst();
        assert!(turned.abs() < 1e-7, "{turned}");
    }
}
