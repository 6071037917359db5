//! Amounts that may be given in several measures, or as a word.

use crate::quantity::{self, Why};
use crate::Duration;

/// Measure of an amount.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// A word.
    Word(&'static str),
    /// A number of units, counted in this many parts.
    Count(&'static str, u64),
    /// A number of bytes.
    Size,
    /// A time.
    Span,
}

/// Type of a measure's count.
pub trait Count: Sized {
    /// Converts from the count.
    fn of(count: u64) -> Self;
    /// Converts to the count.
    fn count(&self) -> u64;
}

impl Count for u64 {
    fn of(count: u64) -> Self {
        count
    }
    fn count(&self) -> u64 {
        *self
    }
}

impl Count for u32 {
    fn of(count: u64) -> Self {
        Self::try_from(count).unwrap_or(Self::MAX)
    }
    fn count(&self) -> u64 {
        (*self).into()
    }
}

impl Count for Duration {
    fn of(count: u64) -> Self {
        Self::from_ps(count)
    }
    fn count(&self) -> u64 {
        self.as_ps()
    }
}

/// Returns the form of a text, and its count.
///
/// # Errors
/// The reason why it is not `what`, to follow the text.
pub fn read_amount(text: &str, what: &str, forms: &[Form]) -> Result<(usize, u64), String> {
    let text = text.trim();
    if let Some(index) = forms.iter().position(|form| matches!(form, Form::Word(word) if *word == text)) {
        return Ok((index, 0));
    }
    let mut best = Why::NotANumber;
    for (index, form) in forms.iter().enumerate() {
        let Form::Count(name, parts) = *form else { continue };
        // "1 packet" is English; "1 packets" need not be.
        match quantity::count(text, &[(name, parts), (name.trim_end_matches('s'), parts)]) {
            Ok(count) => return Ok((index, count)),
            Err(Why::UnknownUnit | Why::NoUnit | Why::NotANumber) => {}
            Err(why) => best = why,
        }
    }
    for (index, form) in forms.iter().enumerate() {
        let kind = match form {
            Form::Size => &quantity::SIZE,
            Form::Span => &quantity::DURATION,
            _ => continue,
        };
        match kind.parse(text) {
            Ok(count) => return Ok((index, count)),
            Err(error) if !matches!(error.why, Why::UnknownUnit | Why::NotANumber) => best = error.why,
            Err(_) => {}
        }
    }
    Err(match best {
        Why::NoUnit => format!("is not {what}: the unit is missing"),
        Why::Negative => format!("is not {what}: it is negative"),
        Why::TooLarge => format!("is not {what}: it is too large"),
        Why::TooFine => format!("is not {what}: it is not a whole number"),
        Why::NotANumber | Why::UnknownUnit => format!("is not {what}"),
    })
}

/// Returns the amount as a text.
#[must_use]
pub fn write_amount(form: Form, count: u64) -> String {
    match form {
        Form::Word(word) => word.to_owned(),
        Form::Count(name, 1) => format!("{count} {name}"),
        Form::Count(name, parts) => {
            let digits = parts.ilog10() as usize;
            let fraction = format!(".{:0digits$}", count % parts);
            format!("{}{} {name}", count / parts, fraction.trim_end_matches('0').trim_end_matches('.'))
        }
        Form::Size => format!("{count} B"),
        Form::Span => Duration::from_ps(count).to_string(),
    }
}

/// Declares an amount: an enum with a variant for each measure and each word, so that code must handle each. The name
/// is followed by the format's name, the name of the amount, its expected form, and an example.
///
/// A word that the code does not handle does not compile:
///
/// ```compile_fail
/// bentpipe_units::amounts! {
///     /// How much.
///     pub enum Much("much", "an amount", "\"all\" or \"nothing\"", "all") {
///         /// All.
///         word("all") => All;
///         /// Nothing.
///         word("nothing") => Nothing;
///     }
/// }
///
/// fn bytes(much: Much) -> u64 {
///     match much {
///         Much::All => u64::MAX,
///         // Much::Nothing => 0,
///     }
/// }
/// ```
#[macro_export]
macro_rules! amounts {
    (
        $(#[doc = $about:literal])+ $vis:vis enum $name:ident($format:literal, $what:literal, $expected:literal, $example:literal) {
            $($(#[doc = $doc:literal])+ $form:ident $(($word:literal $(, $parts:expr)?))? => $variant:ident $(($type:ty))?;)+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name { $($(#[doc = $doc])+ $variant $(($type))?,)+ }

        impl $name {
            const FORMS: &'static [$crate::settings::Form] =
                &[$($crate::amounts!(@form $form $(($word $(, $parts)?))?),)+];

            /// Written form.
            $vis const FORMAT: &'static $crate::settings::Format = &$crate::settings::Format {
                name: $format,
                expected: $expected,
                example: $example,
                check: |text| Self::parse(text).map(drop),
                is_number_too: false,
            };

            /// Reads a text.
            ///
            /// # Errors
            /// The reason why the text is not valid, to follow it.
            $vis fn parse(text: &str) -> Result<Self, String> {
                let (found, count) = $crate::settings::read_amount(text, $what, Self::FORMS)?;
                let mut index = 0..;
                $(
                    if index.next() == Some(found) {
                        let _ = count;
                        return Ok(Self::$variant $((<$type as $crate::settings::Count>::of(count)))?);
                    }
                )+
                Err(format!("is not {}", $what))
            }
        }

        impl $crate::settings::Typed for $name {
            fn shape() -> $crate::settings::Shape {
                $crate::settings::Shape::Quantity(Self::FORMAT)
            }

            fn read(value: &$crate::settings::Value) -> Result<Self, $crate::settings::Unfit> {
                Self::parse(value.text()?).map_err($crate::settings::Unfit)
            }

            fn write(&self) -> $crate::settings::Value {
                match self {
                    $(Self::$variant $(($crate::settings!(@bind count $type)))? => {
                        #[allow(unused_mut, unused_assignments)]
                        let mut parts = 0;
                        $(parts = <$type as $crate::settings::Count>::count(count);)?
                        let form = $crate::amounts!(@form $form $(($word $(, $parts)?))?);
                        $crate::settings::Value::Text($crate::settings::write_amount(form, parts))
                    })+
                }
            }
        }
    };
    (@form word($word:literal)) => { $crate::settings::Form::Word($word) };
    (@form count($word:literal)) => { $crate::settings::Form::Count($word, 1) };
    (@form count($word:literal, $parts:expr)) => { $crate::settings::Form::Count($word, $parts) };
    (@form size) => { $crate::settings::Form::Size };
    (@form span) => { $crate::settings::Form::Span };
}
