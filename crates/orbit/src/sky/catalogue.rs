//! Chooses the satellites of a sky from the records of a file of elements, for a run.
//!
//! Records of one object are one satellite. A [`Census`] counts the records and satellites that are left out, by reason, and has
//! notes for users: SGP4 has no believable position, or the elements are old.

use super::constellation::{median, Constellation};
use super::earth::Earth;
use super::elements::{element_text, read_elements, BadRecord, BadRecords, ElementFormat, ElementSet};
use super::epoch::Epoch;
use super::error::SkyError;
use super::orbit::{Absence, Orbit};
use super::places::Access;
use super::scene::Sky;
use std::collections::{BTreeMap, BTreeSet};

const DAY_S: f64 = 86_400.0;
/// Default of the largest age of elements, s.
pub const AGE_MAX_S: f64 = 90.0 * DAY_S;
/// Age of elements that gets a note, s.
const AGE_NOTED_S: f64 = 7.0 * DAY_S;
/// Least elevation of the satellites of a file, degrees.
const ELEVATION_MIN_DEG: f64 = 25.0;
/// Instants of a revolution at which a satellite must have a position. Even a circle needs several: near decay, SGP4
/// turns it into an ellipse.
const INSTANTS: u32 = 8;

/// Run of a sky, and the limits of its elements.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Instant of t = 0. None: the median epoch of the elements, of each object the newest.
    pub epoch: Option<Epoch>,
    /// Start of the run after t = 0, s.
    pub begin_s: f64,
    /// Duration of the run, s.
    pub duration_s: f64,
    /// Largest time between the epoch of elements and any instant of the run, s.
    pub age_max_s: f64,
    /// The fate of unusable records and of elements that are too old.
    pub bad: BadRecords,
}

/// Number of records or objects, with the first of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Count.
    pub count: usize,
    /// Line and name of the first.
    pub first: String,
}

impl Tally {
    fn add(&mut self, record: &Record) {
        if self.count == 0 {
            self.first = record.shown();
        }
        self.count += 1;
    }
}

/// Numbers of records and satellites of a file, and of those that are left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Census {
    /// Valid element sets.
    pub records: usize,
    /// Satellites of the sky.
    pub satellites: usize,
    /// Invalid records.
    pub bad: Vec<BadRecord>,
    /// Repeated element sets.
    pub copies: usize,
    /// Element sets of satellites with another, better one: the one nearest before the run, or the last one of that
    /// epoch.
    pub superseded: usize,
    /// Impossible element sets: the perigee is below the ground, or SGP4 rejects them.
    pub impossible: Tally,
    /// Objects whose elements are too old.
    pub too_old: Tally,
    /// Objects for which SGP4 reports an error during the run.
    pub failed: Tally,
    /// Objects that are below the ground or far below their perigee during the run.
    pub too_low: Tally,
    /// Objects that are far above their apogee during the run.
    pub too_high: Tally,
    /// The largest age of the elements of a satellite, s.
    pub age_s: f64,
    /// Satellites whose elements are 7 days old or more.
    pub aged: usize,
    /// Median age of the elements of these satellites, s.
    aged_median_s: f64,
    /// Median mean motion of these satellites, revolutions per day.
    aged_revs_per_day: f64,
}

/// Reads a file of elements as a sky of its satellites.
///
/// # Errors
///
/// An invalid file. A bad record or elements that are too old, unless they are skipped, by line. A file without usable
/// satellites.
pub fn read_sky(content: &[u8], request: &Request) -> Result<(Sky, Census), SkyError> {
    let mut census = Census::default();
    let objects = objects(records(content, request.bad, &mut census)?);
    let newest = objects.iter().filter_map(|object| object.iter().map(|record| record.set.epoch).max_by(Epoch::order));
    let epoch = request.epoch.or_else(|| median(newest.collect())).unwrap_or(Epoch::Y2000);
    let run = Run { epoch, begin_s: request.begin_s, end_s: request.begin_s + request.duration_s };
    let mut satellites: Vec<Record> = Vec::new();
    for object in objects {
        let sets = object.len();
        let record = nearest(object, run);
        census.superseded += sets - 1;
        satellites.push(record);
    }
    satellites.sort_by_key(|record| record.line);
    let satellites = young(satellites, run, request, &mut census)?;
    let satellites = present(satellites, run, &mut census);
    if satellites.is_empty() {
        return Err(SkyError::new("elements", format!("no satellite is left: {}", census.notes().join("; "))));
    }
    census.satellites = satellites.len();
    census.note_ages(&satellites, run);
    let mut constellation = Constellation::new(epoch);
    for record in satellites {
        constellation.add(&record.name(), record.orbit)?;
    }
    Ok((Sky::new(constellation, Earth::WGS84, Access::MinElevation(ELEVATION_MIN_DEG)), census))
}

/// Time for which satellites must exist.
#[derive(Clone, Copy)]
struct Run {
    epoch: Epoch,
    begin_s: f64,
    end_s: f64,
}

impl Run {
    /// Returns the seconds from the epoch of elements to the start and the end.
    fn since(self, elements: Epoch) -> [f64; 2] {
        [self.begin_s, self.end_s].map(|t| self.epoch.since(elements) + t)
    }

    /// Returns the time between the epoch of elements and the most distant instant of the run, s.
    fn age_s(self, elements: Epoch) -> f64 {
        let [begin, end] = self.since(elements);
        begin.abs().max(end.abs())
    }
}

/// Usable record of the file.
struct Record {
    line: usize,
    set: ElementSet,
    orbit: Orbit,
}

impl Record {
    fn name(&self) -> String {
        if self.set.name.is_empty() {
            self.set.catalogue_number.to_string()
        } else {
            self.set.name.clone()
        }
    }

    fn shown(&self) -> String {
        format!("line {}: {}", self.line, self.name())
    }

    /// Returns the reason why the satellite does not exist during the whole run, or none. Drag changes an orbit most at
    /// the instant farthest from the epoch of the elements, so a whole revolution is checked there.
    fn absence(&self, run: Run) -> Option<Absence> {
        let [begin, end] = run.since(self.set.epoch);
        let (far_s, near_s) =
            if end.abs() >= begin.abs() { (run.end_s, run.begin_s) } else { (run.begin_s, run.end_s) };
        let revolution_s = (DAY_S / self.set.revs_per_day).min(run.end_s - run.begin_s);
        let towards = (near_s - far_s).signum() * revolution_s / f64::from(INSTANTS);
        let looks = (0..INSTANTS).map(|k| far_s + f64::from(k) * towards).chain([near_s]);
        looks.into_iter().find_map(|t| self.orbit.absence(run.epoch, t))
    }
}

/// Returns the records of a file that describe an orbit, each once.
fn records(content: &[u8], bad: BadRecords, census: &mut Census) -> Result<Vec<Record>, SkyError> {
    let file = read_elements(&element_text(content)?, ElementFormat::Auto, bad)?;
    census.records = file.sets.len();
    census.bad = file.skipped;
    let mut known = BTreeSet::new();
    let mut records = Vec::new();
    for (set, line) in file.sets.into_iter().zip(file.lines) {
        if !known.insert(content_of(&set)) {
            census.copies += 1;
            continue;
        }
        match Orbit::elements(&set) {
            Ok(orbit) => {
                let is_possible = orbit.perigee_height_km().is_none_or(|height| height > 0.0);
                let record = Record { line, set, orbit };
                if is_possible {
                    records.push(record);
                } else {
                    census.impossible.add(&record);
                }
            }
            Err(error) => {
                if census.impossible.count == 0 {
                    census.impossible.first = format!("line {line}: {error}");
                }
                census.impossible.count += 1;
            }
        }
    }
    Ok(records)
}

/// Content of an element set that is equal for copies, which may have another name.
fn content_of(set: &ElementSet) -> ([u64; 9], String) {
    let reals = [
        set.epoch.since(Epoch::Y2000),
        set.inclination_deg,
        set.raan_deg,
        set.eccentricity,
        set.perigee_deg,
        set.mean_anomaly_deg,
        set.revs_per_day,
        set.bstar,
    ]
    .map(f64::to_bits);
    let [epoch, inclination, raan, eccentricity, perigee, anomaly, motion, bstar] = reals;
    let numbers = [set.catalogue_number, epoch, inclination, raan, eccentricity, perigee, anomaly, motion, bstar];
    (numbers, if set.catalogue_number == 0 { set.name.clone() } else { String::new() })
}

/// Returns the records of each object. Its number in the catalogue identifies an object. Several objects with one
/// number, as in files whose satellites have no numbers yet, are identified by their names.
fn objects(records: Vec<Record>) -> Vec<Vec<Record>> {
    let mut by_number: BTreeMap<u64, Vec<Record>> = BTreeMap::new();
    for record in records {
        by_number.entry(record.set.catalogue_number).or_default().push(record);
    }
    let mut objects = Vec::new();
    for (number, records) in by_number {
        if number > 0 && !is_shared(&records) {
            objects.push(records);
            continue;
        }
        let mut by_name: BTreeMap<String, Vec<Record>> = BTreeMap::new();
        for record in records {
            if record.set.name.is_empty() {
                objects.push(vec![record]);
            } else {
                by_name.entry(record.set.name.clone()).or_default().push(record);
            }
        }
        objects.extend(by_name.into_values());
    }
    objects
}

/// Whether records with one number describe several objects: at one epoch they have different names.
fn is_shared(records: &[Record]) -> bool {
    let mut names: BTreeMap<u64, &str> = BTreeMap::new();
    records.iter().any(|record| {
        let name = *names.entry(record.set.epoch.since(Epoch::Y2000).to_bits()).or_insert(&record.set.name);
        name != record.set.name
    })
}

/// Returns the record of an object for a run: of the last epoch before it, or of the first epoch if all are later. Of
/// several records for that epoch, the last in the file with a position during the run.
fn nearest(mut object: Vec<Record>, run: Run) -> Record {
    let since = |record: &Record| run.since(record.set.epoch)[0];
    let before = object.iter().map(since).filter(|since| *since >= 0.0).fold(f64::INFINITY, f64::min);
    let chosen = if before.is_finite() { before } else { object.iter().map(since).fold(f64::NEG_INFINITY, f64::max) };
    object.retain(|record| since(record) == chosen);
    let at = object.iter().rposition(|record| object.len() == 1 || record.absence(run).is_none());
    object.swap_remove(at.unwrap_or(object.len() - 1))
}

/// Returns the satellites whose elements are young enough.
fn young(records: Vec<Record>, run: Run, request: &Request, census: &mut Census) -> Result<Vec<Record>, SkyError> {
    let all = records.len();
    let (young, old): (Vec<Record>, Vec<Record>) =
        records.into_iter().partition(|record| run.age_s(record.set.epoch) <= request.age_max_s);
    let Some(first) = old.first() else { return Ok(young) };
    let least = old.iter().map(|record| run.age_s(record.set.epoch)).fold(f64::INFINITY, f64::min);
    let limit = days(request.age_max_s);
    if young.is_empty() {
        let what = format!(
            "all {all} satellites have elements more than {limit} from the run (nearest: {}); expected an instant near \
             {}, newer elements, or a larger elements_age_max",
            days(least),
            first.set.epoch,
        );
        return Err(SkyError::new("elements", what));
    }
    if request.bad == BadRecords::Refuse {
        let others = if old.len() > 1 { format!(" (and those of {} others)", old.len() - 1) } else { String::new() };
        let what = format!(
            "the elements of {} are of {}, {} from the run{others}; expected at most {limit}, or a larger elements_age_max",
            first.name(),
            first.set.epoch,
            days(run.age_s(first.set.epoch)),
        );
        return Err(SkyError::new(format!("line {}", first.line), what));
    }
    old.iter().for_each(|record| census.too_old.add(record));
    Ok(young)
}

/// Returns the satellites with a position during the whole run.
fn present(records: Vec<Record>, run: Run, census: &mut Census) -> Vec<Record> {
    let mut present = Vec::new();
    for record in records {
        match record.absence(run) {
            None => present.push(record),
            Some(Absence::Error) => census.failed.add(&record),
            Some(Absence::TooLow) => census.too_low.add(&record),
            Some(Absence::TooHigh) => census.too_high.add(&record),
        }
    }
    present
}

impl Census {
    /// Returns each count with its name.
    pub fn counts(&self) -> [(&'static str, usize); 11] {
        [
            ("records", self.records),
            ("satellites", self.satellites),
            ("bad", self.bad.len()),
            ("copies", self.copies),
            ("superseded", self.superseded),
            ("impossible", self.impossible.count),
            ("too_old", self.too_old.count),
            ("sgp4_errors", self.failed.count),
            ("too_low", self.too_low.count),
            ("too_high", self.too_high.count),
            ("aged", self.aged),
        ]
    }

    /// Returns a note for each kind of skipped records or objects, and for elements of 7 days or more.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(first) = self.bad.first() {
            let of = counted(self.bad.len(), "bad record is", "bad records are");
            notes.push(format!("{of} left out; line {}: {}", first.line, first.what));
        }
        if self.copies > 0 {
            notes.push(format!(
                "{} counted once",
                counted(self.copies, "copy of an element set is", "copies of element sets are")
            ));
        }
        if self.superseded > 0 {
            let of = counted(self.superseded, "element set is", "element sets are");
            notes.push(format!(
                "{of} not used: another set of the satellite is nearer before the start, or later in the file"
            ));
        }
        let impossible =
            ("element set is", "element sets are", "the perigee is below the ground, or SGP4 cannot start");
        notes.extend(left_out(&self.impossible, impossible));
        notes.extend(left_out(
            &self.too_old,
            ("satellite is", "satellites are", "elements that are too old for the run"),
        ));
        let failed = ("satellite is", "satellites are", "SGP4 reports an error during the run, such as decay");
        notes.extend(left_out(&self.failed, failed));
        let too_low = (
            "satellite is",
            "satellites are",
            "SGP4 gives a position far below the perigee during the run, as at decay",
        );
        notes.extend(left_out(&self.too_low, too_low));
        let too_high = ("satellite is", "satellites are", "SGP4 gives a position far above the apogee during the run");
        notes.extend(left_out(&self.too_high, too_high));
        if self.aged > 0 {
            let of = counted(self.aged, "satellite has", "satellites have");
            let (median, most) = (days(self.aged_median_s), days(self.age_s));
            let error = expected_error(self.aged_revs_per_day, self.aged_median_s);
            notes.push(format!(
                "{of} elements 7 days or more from the run, {median} in the median and {most} at most: {error}"
            ));
        }
        notes
    }

    fn note_ages(&mut self, satellites: &[Record], run: Run) {
        let ages = || satellites.iter().map(|record| (run.age_s(record.set.epoch), record.set.revs_per_day));
        self.age_s = ages().map(|(age_s, _)| age_s).fold(0.0, f64::max);
        let (mut aged, mut motions): (Vec<f64>, Vec<f64>) = ages().filter(|(age_s, _)| *age_s >= AGE_NOTED_S).unzip();
        aged.sort_by(f64::total_cmp);
        motions.sort_by(f64::total_cmp);
        self.aged = aged.len();
        self.aged_median_s = aged.get(aged.len() / 2).copied().unwrap_or_default();
        self.aged_revs_per_day = motions.get(motions.len() / 2).copied().unwrap_or_default();
    }
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn left_out(tally: &Tally, (one, many, why): (&str, &str, &str)) -> Option<String> {
    let first = if tally.count == 1 { tally.first.clone() } else { format!("the first is {}", tally.first) };
    (tally.count > 0).then(|| format!("{} left out: {why}; {first}", counted(tally.count, one, many)))
}

fn days(seconds: f64) -> String {
    let tenths = (seconds / DAY_S * 10.0).round();
    let digits = usize::from(tenths < 100.0 && tenths % 10.0 > 0.0);
    format!("{:.digits$} day{}", tenths / 10.0, if tenths == 10.0 { "" } else { "s" })
}

/// Returns the error of SGP4's positions after a time, in words. The numbers are medians between catalogues of two
/// dates.
fn expected_error(revs_per_day: f64, age_s: f64) -> String {
    let days = age_s / DAY_S;
    match revs_per_day {
        // Starlink: 3.7 km after 1 day, 3800 km after 114 days; after 267 days satellites are anywhere on their orbits.
        14.5.. if days > 200.0 => "satellites may be anywhere on their orbits".to_owned(),
        14.5.. => format!(
            "positions are off by about {:.0} km (the median of Starlink is 3.7 km after 1 day, 3800 km after 114)",
            rounded(3.7 * libm::pow(days, 1.5))
        ),
        12.5..14.0 => "positions are off: the median of OneWeb is 12 km after 15 days".to_owned(),
        0.9..1.1 => "positions are off: the median of geostationary satellites is 60 km after 15 days".to_owned(),
        _ => "the error of positions has not been measured for such orbits".to_owned(),
    }
}

/// The result has two significant digits at most.
fn rounded(km: f64) -> f64 {
    let unit = libm::pow(10.0, libm::floor(libm::log10(km)) - 1.0).max(1.0);
    (km / unit).round() * unit
}

#[cfg(test)]
mod tests;
