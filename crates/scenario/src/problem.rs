//! Problems of a scenario, in the form that helps to correct them.

use std::fmt;

/// Problem of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// `file:line:column`, `--set key`, or empty without a text (Python values).
    pub place: String,
    /// Key of the problem: `link.feeder.error.rate`. Empty for the text as a whole.
    pub path: String,
    /// Start and end in the text, if the problem has a place there.
    pub span: Option<Span>,
    /// Value of the key. None without a value, or for a table.
    pub value: Option<serde_json::Value>,
    /// The fault, with the key and its value.
    pub message: String,
    /// Expected value.
    pub expected: Expected,
    /// Name, value or line that was probably meant. May be empty.
    pub suggestion: String,
}

/// Stretch of the text, from its first character to the character behind the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// Line and column, from 1.
    pub start: (usize, usize),
    /// Line and column, from 1.
    pub end: (usize, usize),
}

/// Expected value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// In words, mostly after "expected". May be empty.
    Words(String),
    /// One of these names.
    OneOf(Vec<String>),
}

impl Expected {
    /// Returns the expectation of one of these names, in alphabetical order.
    pub(super) fn one_of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        names.sort_unstable();
        Self::OneOf(names)
    }
}

impl From<String> for Expected {
    fn from(words: String) -> Self {
        Self::Words(words)
    }
}

impl From<&str> for Expected {
    fn from(words: &str) -> Self {
        words.to_owned().into()
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words(words) => f.write_str(words),
            Self::OneOf(names) if names.is_empty() => f.write_str("known: none"),
            Self::OneOf(names) => write!(f, "known: {}", names.join(", ")),
        }
    }
}

/// All problems of a scenario, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems {
    /// The problems, at least one.
    pub problems: Vec<Problem>,
}

impl Problems {
    /// Returns a single problem of the text as a whole.
    pub(super) fn alone(place: String, message: String, expected: &str) -> Self {
        Self { problems: vec![Problem::new(place, "", message, expected)] }
    }
}

impl Problem {
    /// Returns a problem without further details.
    pub(super) fn new(place: String, path: &str, message: String, expected: impl Into<Expected>) -> Self {
        let (path, expected) = (path.to_owned(), expected.into());
        Self { place, path, span: None, value: None, message, expected, suggestion: String::new() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = format!("error: {}", self.message);
        if self.place.is_empty() {
            write!(f, "{line}")?;
        } else {
            write!(f, "{line:<72}  {}", self.place)?;
        }
        let meant = match self.suggestion.as_str() {
            "" => String::new(),
            line if line.contains(" = ") => format!("did you mean {line}?"),
            name => format!("did you mean \"{name}\"?"),
        };
        let more: Vec<String> =
            [self.expected.to_string(), meant].into_iter().filter(|text| !text.is_empty()).collect();
        if more.is_empty() {
            return Ok(());
        }
        write!(f, "\n  {}", more.join("; "))
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in self.problems.iter().take(SHOWN) {
            writeln!(f, "{problem}")?;
        }
        let count = self.problems.len();
        if count > SHOWN {
            writeln!(f, "... and {} more", count - SHOWN)?;
        }
        write!(f, "{count} problem{}; nothing was run", if count == 1 { "" } else { "s" })
    }
}

impl std::error::Error for Problems {}

/// Number of printed problems. The rest are counted.
pub(super) const SHOWN: usize = 50;

/// Returns the name among `names` that is closest to `given`, if it is close enough.
pub(super) fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = given.chars().count();
    if length > LONGEST_NAME {
        return None;
    }
    let near = names.into_iter().filter(|name| name.len() <= LONGEST_NAME);
    // Other tools write congestion controls in capitals: CUBIC, BBRv3.
    let given = given.to_lowercase();
    let best = near.map(|name| (distance(&given, &name.to_lowercase()), name)).min()?;
    // A part of the name must match: any two names of one letter differ by one mistake.
    (best.0 <= (length / 3).max(1) && best.0 < length).then_some(best.1)
}

/// Returns the name that was probably meant, or an empty string.
pub(super) fn suggestion<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(given, names).unwrap_or_default().to_owned()
}

/// Returns the Levenshtein distance, with an exchange of two neighbours as one mistake.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let change = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = change.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

const LONGEST_NAME: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspellings_are_recognised() {
        let names = ["newreno", "reno", "sack", "tahoe"];
        assert_eq!(nearest("newrno", names), Some("newreno"));
        assert_eq!(nearest("rneo", names), Some("reno"));
        assert_eq!(nearest("SACK", names), Some("sack"));
        assert_eq!(nearest("quic", names), None);
        assert_eq!(nearest("", names), None);
        assert_eq!(nearest("x", []), None);
        assert_eq!(nearest("x", ["a"]), None);
    }
}
