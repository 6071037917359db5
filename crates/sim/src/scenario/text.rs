//! The kinds of text that stand for values in a scenario file. Each has a name, which is the `format` of the schema,
//! and reads itself; [`FORMATS`] lets the walker check a text knowing only that name.

use super::MILLIONTHS;
use bentpipe_units::quantity::{self, Kind, QuantityError, Why};
use bentpipe_units::{Duration, Rate};
use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;

/// A value written as text.
pub(super) trait Text: Sized {
    const FORMAT: Format;
    /// The error follows the offending text: `is not a duration`.
    fn read(text: &str) -> Result<Self, String>;
}

/// How a kind of text is named and explained.
#[derive(Clone, Copy)]
pub(super) struct Format {
    pub(super) name: &'static str,
    pub(super) expected: &'static str,
    pub(super) example: &'static str,
    pub(super) check: fn(&str) -> Result<(), String>,
}

/// All kinds of text.
pub(super) const FORMATS: &[Format] = &[
    Span::FORMAT,
    BitRate::FORMAT,
    Bytes::FORMAT,
    Distance::FORMAT,
    Angle::FORMAT,
    Chance::FORMAT,
    Stay::FORMAT,
    Share::FORMAT,
    Phase::FORMAT,
    GiveUp::FORMAT,
    QueueLimit::FORMAT,
    InitialWindow::FORMAT,
    InitialSsthresh::FORMAT,
    ReceiveBuffer::FORMAT,
    SendBuffer::FORMAT,
    WindowSize::FORMAT,
];

/// A value that may be given in several measures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Amount {
    Word(&'static str),
    Bytes(u64),
    Segments(u64),
    Packets(u64),
    /// Of a packet: for means.
    Millionths(u64),
    Retransmissions(u64),
    Span(Duration),
    /// In millionths of a bandwidth-delay product.
    Bdp(u64),
}

macro_rules! texts {
    ($($name:ident($type:ty) $format:literal, $expected:expr, $example:expr, $read:expr;)+) => {$(
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(super) struct $name(pub(super) $type);

        impl Text for $name {
            const FORMAT: Format = Format {
                name: $format,
                expected: $expected,
                example: $example,
                check: |text| Self::read(text).map(drop),
            };

            fn read(text: &str) -> Result<Self, String> {
                #[allow(clippy::redundant_closure_call)]
                ($read)(text).map(Self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = match serde_json::Value::deserialize(deserializer)? {
                    serde_json::Value::String(text) => text,
                    other => other.to_string(),
                };
                Self::read(&text).map_err(serde::de::Error::custom)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                $format.into()
            }
            fn inline_schema() -> bool {
                true
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                if $format == "probability" {
                    return json_schema!({
                        "type": ["string", "number"], "format": $format, "minimum": 0, "maximum": 1,
                        "examples": [$example]
                    });
                }
                json_schema!({ "type": "string", "format": $format, "examples": [$example] })
            }
        }
    )+};
}

texts! {
    Span(Duration) "duration", quantity::DURATION.expected, "20 ms", |text| quantity::duration(text).map_err(said);
    BitRate(Rate) "rate", quantity::RATE.expected, "10 Mbit/s", |text| quantity::rate(text).map_err(said);
    Bytes(u64) "size", quantity::SIZE.expected, "64 kB", |text| quantity::size(text).map_err(said);
    Distance(f64) "distance", quantity::DISTANCE.expected, "1350 km",
        |text| quantity::DISTANCE.parse(text).map(|mm| mm as f64 / 1e3).map_err(said);
    Angle(f64) "angle", quantity::ANGLE.expected, "20 deg",
        |text| quantity::ANGLE.parse(text).map(|udeg| udeg as f64 / 1e6).map_err(said);
    Chance(f64) "probability", quantity::PROBABILITY.expected, "0.1 %",
        |text| quantity::probability(text).map_err(said);
    Stay(Amount) "stay", "a duration, or a number of packets", "20 ms", stay;
    Share(u64) "share", "a percentage", "60 %",
        |text| quantity::count(text, &[("%", SHARE / 100)]).map_err(|why| share_error(text, why));
    Phase(Amount) "phase", "\"random\" or a duration below the granularity", "3 ms",
        |text| amount(text, "a phase", &["random"], &[], Some(&quantity::DURATION));
    GiveUp(Amount) "give-up", "\"never\", a number of retransmissions, or a duration", "6 retransmissions",
        |text| amount(text, "a rule for giving up", &["never"], &["retransmissions"], Some(&quantity::DURATION));
    QueueLimit(Amount) "queue-limit", "\"unlimited\", a number of packets, a size, or a multiple of bdp", "1 bdp",
        |text| amount(text, "a queue limit", &["unlimited"], &["packets", "bdp"], Some(&quantity::SIZE));
    InitialWindow(Amount) "initial-window",
        "\"rfc6928\", \"rfc3390\", \"rfc5681\", a number of segments, or a size", "4 segments",
        |text| amount(text, "an initial window", &["rfc6928", "rfc3390", "rfc5681"], &["segments"], Some(&quantity::SIZE));
    InitialSsthresh(Amount) "initial-ssthresh",
        "\"unlimited\", \"peer-window\", a size, a number of segments, or a multiple of bdp", "64 kB",
        |text| amount(text, "a threshold", &["unlimited", "peer-window"], &["segments", "bdp"], Some(&quantity::SIZE));
    ReceiveBuffer(Amount) "receive-buffer",
        "\"auto\", \"unlimited\", a size, a number of segments, or a multiple of bdp", "64 kB",
        |text| amount(text, "a receive buffer", &["auto", "unlimited"], &["segments", "bdp"], Some(&quantity::SIZE));
    SendBuffer(Amount) "send-buffer",
        "\"auto\", \"unlimited\", a size, a number of segments, or a multiple of bdp", "64 kB",
        |text| amount(text, "a send buffer", &["auto", "unlimited"], &["segments", "bdp"], Some(&quantity::SIZE));
    WindowSize(Amount) "window-size", "a number of segments, or a size", "100 segments",
        |text| amount(text, "a window", &[], &["segments"], Some(&quantity::SIZE));
}

fn stay(text: &str) -> Result<Amount, String> {
    match quantity::count(text, &[("packets", MILLIONTHS), ("packet", MILLIONTHS)]) {
        Ok(count) => Ok(Amount::Millionths(count)),
        Err(_) => amount(text, "a mean duration", &[], &[], Some(&quantity::DURATION)),
    }
}

fn said(error: QuantityError) -> String {
    error.to_string()
}

/// Parts of a share in a whole.
pub(super) const SHARE: u64 = 100_000_000;

fn share_error(text: &str, why: Why) -> String {
    match why {
        Why::NoUnit => format!("is not a percentage: the unit is missing, as in {} %", text.trim()),
        _ => "is not a percentage".into(),
    }
}

/// Millionths of a bandwidth-delay product in one.
pub(super) const BDP: u64 = 1_000_000;

fn amount(
    text: &str,
    what: &str,
    words: &[&'static str],
    counts: &[&str],
    kind: Option<&'static Kind>,
) -> Result<Amount, String> {
    let text = text.trim();
    if let Some(word) = words.iter().find(|word| **word == text) {
        return Ok(Amount::Word(word));
    }
    let mut best = Why::NotANumber;
    for &name in counts {
        // "1 packet" is English; "1 packets" need not be.
        let (size, make): (u64, fn(u64) -> Amount) = match name {
            "bdp" => (BDP, Amount::Bdp),
            "packets" => (1, Amount::Packets),
            "segments" => (1, Amount::Segments),
            _ => (1, Amount::Retransmissions),
        };
        match quantity::count(text, &[(name, size), (name.trim_end_matches('s'), size)]) {
            Ok(count) => return Ok(make(count)),
            Err(Why::UnknownUnit | Why::NoUnit | Why::NotANumber) => {}
            Err(why) => best = why,
        }
    }
    if let Some(kind) = kind {
        match kind.parse(text) {
            Ok(count) if std::ptr::eq(kind, &quantity::SIZE) => return Ok(Amount::Bytes(count)),
            Ok(count) => return Ok(Amount::Span(Duration::from_ps(count))),
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

/// A buffer as scenario files write it; `unlimited` is the size of one without limit.
pub(super) fn buffer_text(bytes: u64, unlimited: u64) -> String {
    if bytes == unlimited {
        "unlimited".into()
    } else {
        format!("{bytes} B")
    }
}
