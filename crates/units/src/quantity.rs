//! Quantities as written by users: `20 ms`, `1.5 Mbit/s`, `64 kB`, `0.1 %`.
//!
//! Decimal text becomes an integer count of the resolution (picoseconds, bit/s, bytes) without a float in between, so
//! nothing is rounded. More digits than the resolution are an error, like a negative value.

use crate::{Duration, Rate};
use std::fmt;

/// Kind of quantity: its units, and their explanation.
#[derive(Debug)]
pub struct Kind {
    /// Name with its article: "a duration".
    pub name: &'static str,
    /// Form of a valid text.
    pub expected: &'static str,
    /// A valid text.
    pub example: &'static str,
    /// Resolution of the value, for the message about too many digits.
    resolution: &'static str,
    /// Units, with their sizes in the resolution.
    units: &'static [(&'static str, u64)],
}

/// Error of a text as a quantity.
#[derive(Clone, Copy, Debug)]
pub struct QuantityError {
    /// Expected kind.
    pub kind: &'static Kind,
    /// Fault of the text.
    pub why: Why,
}

/// Fault of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It does not begin with a decimal number.
    NotANumber,
    /// A number without a unit.
    NoUnit,
    /// The unit does not belong to this kind.
    UnknownUnit,
    /// Quantities have no sign.
    Negative,
    /// More than 64 bits.
    TooLarge,
    /// More digits than the resolution.
    TooFine,
}

/// A span of time.
pub static DURATION: Kind = Kind {
    name: "a duration",
    expected: "a number with ps, ns, us, ms, s, min, h or d",
    example: "20 ms",
    resolution: "picosecond",
    units: &[
        ("ps", 1),
        ("ns", 1_000),
        ("us", 1_000_000),
        ("µs", 1_000_000),
        ("ms", 1_000_000_000),
        ("s", 1_000_000_000_000),
        ("min", 60_000_000_000_000),
        ("h", 3_600_000_000_000_000),
        ("d", 86_400_000_000_000_000),
        ("day", 86_400_000_000_000_000),
        ("days", 86_400_000_000_000_000),
    ],
};

/// Span of time that may be years.
pub static AGE: Kind = Kind {
    name: "an age",
    expected: "a number with d, h, min or s",
    example: "90 d",
    resolution: "second",
    units: &[("s", 1), ("min", 60), ("h", 3_600), ("d", 86_400), ("day", 86_400), ("days", 86_400)],
};

/// A bit rate.
pub static RATE: Kind = Kind {
    name: "a bit rate",
    expected: "a number with bit/s, kbit/s, Mbit/s, Gbit/s or Tbit/s",
    example: "10 Mbit/s",
    resolution: "bit/s",
    units: &[
        ("bit/s", 1),
        ("b/s", 1),
        ("bps", 1),
        ("kbit/s", 1_000),
        ("kb/s", 1_000),
        ("kbps", 1_000),
        ("Mbit/s", 1_000_000),
        ("Mb/s", 1_000_000),
        ("Mbps", 1_000_000),
        ("Gbit/s", 1_000_000_000),
        ("Gb/s", 1_000_000_000),
        ("Gbps", 1_000_000_000),
        ("Tbit/s", 1_000_000_000_000),
        ("Tb/s", 1_000_000_000_000),
        ("Tbps", 1_000_000_000_000),
    ],
};

/// A number of bytes.
pub static SIZE: Kind = Kind {
    name: "a size",
    expected: "a number with B, kB, MB, GB, KiB, MiB or GiB",
    example: "64 kB",
    resolution: "byte",
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ],
};

/// A length in space.
pub static DISTANCE: Kind = Kind {
    name: "a distance",
    expected: "a number with m or km",
    example: "1350 km",
    resolution: "millimetre",
    units: &[("m", 1_000), ("km", 1_000_000)],
};

/// A plane angle.
pub static ANGLE: Kind = Kind {
    name: "an angle",
    expected: "a number with deg",
    example: "20 deg",
    resolution: "microdegree",
    units: &[("deg", 1_000_000)],
};

/// A symbol rate.
pub static BAUD: Kind = Kind {
    name: "a symbol rate",
    expected: "a number with baud, kbaud, Mbaud or Gbaud",
    example: "25 Mbaud",
    resolution: "baud",
    units: &[("baud", 1), ("Bd", 1), ("kbaud", 1_000), ("Mbaud", 1_000_000), ("Gbaud", 1_000_000_000)],
};

/// A probability.
pub static PROBABILITY: Kind = Kind {
    name: "a probability",
    expected: "a number from 0 to 1, or 0 % to 100 %",
    example: "0.1 %",
    resolution: "probability",
    units: &[("", 0), ("%", 0)],
};

impl Kind {
    /// Converts `text` to a count of the resolution.
    ///
    /// # Errors
    /// If it is not exactly a quantity of this kind.
    pub fn parse(&'static self, text: &str) -> Result<u64, QuantityError> {
        count(text, self.units).map_err(|why| QuantityError { kind: self, why })
    }
}

/// Reads a duration.
///
/// # Errors
/// If it is not a duration, or finer than a picosecond.
pub fn duration(text: &str) -> Result<Duration, QuantityError> {
    DURATION.parse(text).map(Duration::from_ps)
}

/// Reads a bit rate.
///
/// # Errors
/// If it is not a rate, or finer than 1 bit/s.
pub fn rate(text: &str) -> Result<Rate, QuantityError> {
    RATE.parse(text).map(Rate::from_bps)
}

/// Reads a number of bytes.
///
/// # Errors
/// If it is not a size, or not whole.
pub fn size(text: &str) -> Result<u64, QuantityError> {
    SIZE.parse(text)
}

/// Reads a probability: the float nearest to the decimal text.
///
/// # Errors
/// If it is not a number from 0 to 1 or a percentage from 0 to 100.
pub fn probability(text: &str) -> Result<f64, QuantityError> {
    let error = |why| QuantityError { kind: &PROBABILITY, why };
    let decimal = Decimal::read(text).map_err(error)?;
    let exponent = match decimal.unit {
        "" => decimal.exponent,
        "%" => decimal.exponent - 2,
        _ => return Err(error(Why::UnknownUnit)),
    };
    // One conversion from decimal, so that "0.1 %" and 0.001 are the same number.
    let value: f64 = format!("{}e{exponent}", decimal.digits).parse().map_err(|_| error(Why::NotANumber))?;
    if value > 1.0 {
        return Err(error(Why::TooLarge));
    }
    Ok(value)
}

/// Kinds with units, and the unit of a plain number of each.
static KINDS: [(&Kind, &str); 6] =
    [(&DURATION, "s"), (&RATE, "bit/s"), (&SIZE, "B"), (&DISTANCE, "m"), (&ANGLE, "deg"), (&BAUD, "baud")];

/// Reads a number with a unit of any kind: the nearest number in `s`, `bit/s`, `B`, `m`, `deg`, `baud` or `1` (a share,
/// `50 %` being 0.5). Numbers of other units, such as `bdp` or `packets`, are returned unchanged. Returns `None` for
/// other text.
///
/// ```
/// # use bentpipe_units::quantity::any;
/// assert_eq!(any("20 ms"), Some((0.02, "s".to_owned())));
/// assert_eq!(any("1 packet"), Some((1.0, "packets".to_owned())));
/// assert_eq!(any("-3e2"), Some((-300.0, "1".to_owned())));
/// assert_eq!(any("fast"), None);
/// ```
pub fn any(text: &str) -> Option<(f64, String)> {
    let text = text.trim();
    let (sign, text) = text.strip_prefix('-').map_or((1.0, text), |rest| (-1.0, rest));
    let Decimal { digits, exponent, unit } = Decimal::read(text).ok()?;
    let number = |exponent| format!("{digits}e{exponent}").parse::<f64>().ok().map(|number| sign * number);
    for (kind, base) in KINDS {
        let size =
            |of: &str| kind.units.iter().find(|(unit, _)| *unit == of || of == greek(unit)).map(|(_, size)| *size);
        if let (Some(size), Some(one)) = (size(unit), size(base)) {
            return Some((number(exponent)? * size as f64 / one as f64, base.to_owned()));
        }
    }
    match unit {
        "" => Some((number(exponent)?, "1".to_owned())),
        "%" => Some((number(exponent - 2)?, "1".to_owned())),
        "packet" | "segment" => Some((number(exponent)?, format!("{unit}s"))),
        _ if unit.chars().all(char::is_alphabetic) => Some((number(exponent)?, unit.to_owned())),
        _ => None,
    }
}

/// Reads `NUMBER UNIT` for units given with their sizes. The product must be whole.
///
/// # Errors
/// If it is something else.
pub fn count(text: &str, units: &[(&str, u64)]) -> Result<u64, Why> {
    let decimal = Decimal::read(text)?;
    let Some(&(_, size)) = units.iter().find(|(unit, _)| *unit == decimal.unit || decimal.unit == greek(unit)) else {
        return Err(if decimal.unit.is_empty() { Why::NoUnit } else { Why::UnknownUnit });
    };
    if decimal.digits == 0 {
        return Ok(0);
    }
    let (mut digits, mut exponent) = (decimal.digits, decimal.exponent);
    while exponent < 0 && digits % 10 == 0 {
        digits /= 10;
        exponent += 1;
    }
    let product = digits.checked_mul(u128::from(size)).ok_or(Why::TooLarge)?;
    let power = 10u128.checked_pow(exponent.unsigned_abs());
    let value = match (exponent < 0, power) {
        (false, Some(power)) => product.checked_mul(power).ok_or(Why::TooLarge)?,
        (false, None) => return Err(Why::TooLarge),
        (true, Some(power)) if product % power == 0 => product / power,
        (true, _) => return Err(Why::TooFine),
    };
    u64::try_from(value).map_err(|_| Why::TooLarge)
}

/// Returns the whole number nearest to the plain number `text` times `size`, for measured data with more digits than
/// are meaningful.
///
/// # Errors
/// If it is not a decimal number, or is negative.
pub fn nearest(text: &str, size: u64) -> Result<u128, Why> {
    let decimal = Decimal::read(text)?;
    if !decimal.unit.is_empty() {
        return Err(Why::NotANumber);
    }
    let product = decimal.digits.checked_mul(u128::from(size)).ok_or(Why::TooLarge)?;
    match (decimal.exponent < 0, 10u128.checked_pow(decimal.exponent.unsigned_abs())) {
        (false, Some(power)) => product.checked_mul(power).ok_or(Why::TooLarge),
        (false, None) => {
            if product == 0 {
                Ok(0)
            } else {
                Err(Why::TooLarge)
            }
        }
        (true, Some(power)) => Ok(product / power + u128::from(product % power >= power.div_ceil(2))),
        (true, None) => Ok(0),
    }
}

/// Replaces the micro sign by its twin in the Greek alphabet, which looks the same on a screen.
fn greek(unit: &str) -> &str {
    if unit == "µs" {
        "μs"
    } else {
        unit
    }
}

/// `digits * 10^exponent unit`.
struct Decimal<'a> {
    digits: u128,
    exponent: i32,
    unit: &'a str,
}

impl<'a> Decimal<'a> {
    fn read(text: &'a str) -> Result<Self, Why> {
        let text = text.trim();
        if let Some(rest) = text.strip_prefix('-') {
            return Err(Self::read(rest).map_or(Why::NotANumber, |_| Why::Negative));
        }
        let text = text.strip_prefix('+').unwrap_or(text);
        let (whole, rest) = split_digits(text);
        let (fraction, mut rest) = rest.strip_prefix('.').map_or(("", rest), split_digits);
        if whole.is_empty() || (fraction.is_empty() && text[whole.len()..].starts_with('.')) {
            return Err(Why::NotANumber);
        }
        let mut exponent = 0i32;
        if let Some(after) = rest.strip_prefix(['e', 'E']) {
            let (sign, after) = match after.strip_prefix('-') {
                Some(after) => (-1, after),
                None => (1, after.strip_prefix('+').unwrap_or(after)),
            };
            let (power, after) = split_digits(after);
            if !power.is_empty() {
                // More than four digits make no difference: the value is zero, too large or too fine.
                exponent = sign * power.parse::<i32>().unwrap_or(9999).min(9999);
                rest = after;
            }
        }
        let mut digits = 0u128;
        for digit in whole.bytes().chain(fraction.trim_end_matches('0').bytes()) {
            let digit = u128::from(digit - b'0');
            digits = digits.checked_mul(10).and_then(|d| d.checked_add(digit)).ok_or(Why::TooLarge)?;
        }
        exponent -= i32::try_from(fraction.trim_end_matches('0').len()).map_err(|_| Why::TooFine)?;
        Ok(Self { digits, exponent, unit: rest.trim() })
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

impl fmt::Display for QuantityError {
    /// Follows the faulty text: `... is not a duration: the unit is missing`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "is not {}", self.kind.name)?;
        match self.why {
            Why::NoUnit => f.write_str(": the unit is missing"),
            Why::Negative => f.write_str(": it is negative"),
            Why::TooLarge if std::ptr::eq(self.kind, &PROBABILITY) => Ok(()),
            Why::TooLarge => f.write_str(": it is too large"),
            Why::TooFine => write!(f, ": it is not a whole number of times one {}", self.kind.resolution),
            Why::NotANumber | Why::UnknownUnit => Ok(()),
        }
    }
}

impl std::error::Error for QuantityError {}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop, Strategy};

    use super::*;

    #[test]
    fn numbers_of_any_kind_are_in_one_unit() {
        for (text, number, unit) in [
            ("250 ms", 0.25, "s"),
            ("500 kbit/s", 500_000.0, "bit/s"),
            ("2 Mbps", 2e6, "bit/s"),
            ("64 KiB", 65_536.0, "B"),
            ("1.2 km", 1200.0, "m"),
            ("50 %", 0.5, "1"),
            ("0.25 bdp", 0.25, "bdp"),
            ("10 packets", 10.0, "packets"),
            ("1 μs", 1e-6, "s"),
        ] {
            assert_eq!(any(text), Some((number, unit.to_owned())), "{text}");
        }
        assert!(["", "ms", "1 2", "1..2", "5 a/b", "--1"].iter().all(|text| any(text).is_none()));
    }

    #[test]
    fn units_are_exact() {
        let ps = |text| duration(text).unwrap().as_ps();
        assert_eq!(ps("20 ms"), 20_000_000_000);
        assert_eq!(ps("1.5s"), 1_500_000_000_000);
        assert_eq!(ps("0.1 ns"), 100);
        assert_eq!([ps("1 µs"), ps("1 μs"), ps("1e-6 s")], [1_000_000; 3]);
        assert_eq!(ps("2 h"), 7_200_000_000_000_000);
        assert_eq!(ps("0 min"), 0);
        assert_eq!([ps("200 days"), ps("200 d")], [ps("4800 h"); 2]);
        assert_eq!(rate("1 Tbit/s").unwrap(), rate("1000 Gbit/s").unwrap());
        assert_eq!(rate("2.048 Mbit/s").unwrap(), Rate::from_bps(2_048_000));
        assert_eq!(rate("64 kbps").unwrap(), rate("64 kb/s").unwrap());
        assert_eq!(size("64 KiB").unwrap(), 65_536);
        assert_eq!(size("1.5 kB").unwrap(), 1500);
        assert_eq!(DISTANCE.parse("1350 km").unwrap(), 1_350_000_000);
        assert_eq!(ANGLE.parse("8.2 deg").unwrap(), 8_200_000);
    }

    /// The first spelling of each factor is in the message.
    #[test]
    fn messages_list_each_unit() {
        for kind in [&DURATION, &AGE, &RATE, &SIZE] {
            let mut factors = Vec::new();
            for (unit, factor) in kind.units {
                if !factors.contains(factor) {
                    factors.push(*factor);
                    let mut listed = kind.expected.split([' ', ',']);
                    assert!(listed.any(|word| word == *unit), "{}: {unit}", kind.expected);
                }
            }
        }
    }

    #[test]
    fn probabilities_are_the_nearest_float() {
        assert_eq!(probability("0.1 %").unwrap(), 0.001);
        assert_eq!(probability("1e-3").unwrap(), 0.001);
        assert_eq!(probability("100 %").unwrap(), 1.0);
        assert_eq!(probability("2.0e-5").unwrap(), 2e-5);
        assert!(probability("112 %").is_err() && probability("1.1").is_err() && probability("-1 %").is_err());
    }

    #[test]
    fn what_is_wrong_is_said() {
        let why = |text| duration(text).unwrap_err().why;
        assert_eq!(why("20"), Why::NoUnit);
        assert_eq!(why("20 mss"), Why::UnknownUnit);
        assert_eq!(why("20 Mbit/s"), Why::UnknownUnit);
        assert_eq!(why("-20 ms"), Why::Negative);
        assert_eq!(why("1e30 s"), Why::TooLarge);
        assert_eq!(why("99999999999999999999999999999999999999999 s"), Why::TooLarge);
        assert_eq!(why("1 e9999999999 s"), Why::UnknownUnit);
        assert_eq!(why("1e9999999999 s"), Why::TooLarge);
        assert_eq!(why("0.5 ps"), Why::TooFine);
        assert_eq!(why("1e-9999 s"), Why::TooFine);
        assert_eq!(size("0.0001 kB").unwrap_err().why, Why::TooFine);
        for text in ["", " ", "ms", "nan s", "NaN", "inf s", "- s", ".5 s", "5. s", "--5 s"] {
            assert_eq!(why(text), Why::NotANumber, "{text}");
        }
        assert_eq!(rate("5").unwrap_err().to_string(), "is not a bit rate: the unit is missing");
    }

    #[test]
    fn measured_numbers_are_rounded() {
        let scaled = |text, size| nearest(text, size).unwrap();
        assert_eq!(scaled("1373919.8", 1), 1_373_920);
        assert_eq!(scaled("1748560813.333", 1_000_000_000_000), 1_748_560_813_333_000_000_000);
        assert_eq!([scaled("0.5", 1), scaled("0.4999", 1), scaled("1.2e1", 1), scaled("0e99999", 9)], [1, 0, 12, 0]);
        assert_eq!(scaled("1e-99", 1_000), 0);
        assert_eq!(nearest("-1", 1).unwrap_err(), Why::Negative);
        assert_eq!(nearest("1 s", 1).unwrap_err(), Why::NotANumber);
        assert_eq!(nearest("1e99", 1).unwrap_err(), Why::TooLarge);
    }

    fn text_of(letters: impl Strategy<Value = char>) -> impl Strategy<Value = String> {
        prop::collection::vec(letters, 0..30).prop_map(|letters| letters.into_iter().collect())
    }

    proptest::proptest! {
        #[test]
        fn what_is_written_is_read_back(n in proptest::prelude::any::<u64>(), shift in 0u32..64) {
            let n = n >> shift;
            assert_eq!(duration(&Duration::from_ps(n).to_string()).unwrap(), Duration::from_ps(n));
            assert_eq!(rate(&Rate::from_bps(n).to_string()).unwrap(), Rate::from_bps(n));
        }

        #[test]
        fn no_text_panics(
            text in text_of(proptest::char::any()),
            number in text_of(prop::sample::select("-+.eE0123456789".chars().collect::<Vec<_>>())),
            unit in prop::sample::select(vec!["", "ms", "%", " s", "B", "µs", "é"]),
        ) {
            for text in [text.clone(), format!("{number}{unit}"), format!("{number}{text}")] {
                let _ = (duration(&text), rate(&text), size(&text), probability(&text));
            }
        }
    }
}
