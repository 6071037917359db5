//! Errors, and what spreads them.

use super::profile::rates;
use super::text;
use crate::scenario::{Effect, ErrorModel, Interleave, Stay, MILLIONTHS};
use bentpipe_units::Word;
use serde_json::{json, Map, Value as Json};

pub(super) fn error(error: &ErrorModel, effect: Effect) -> Json {
    let mut table = match error {
        ErrorModel::None => return json!({ "kind": "none" }),
        ErrorModel::Independent { unit, rate } => json!({ "kind": unit.name(), "rate": rate }),
        ErrorModel::GilbertElliott { unit, stay, rate_good, rate_bad } => {
            let (good, bad) = match stay {
                Stay::Time { good, bad } => (text(good), text(bad)),
                Stay::Packets { good, bad } => (packets(*good), packets(*bad)),
            };
            json!({
                "kind": "gilbert-elliott", "unit": unit.name(), "mean_good": good, "mean_bad": bad,
                "rate_good": rate_good, "rate_bad": rate_bad,
            })
        }
        ErrorModel::Profile { unit, rates: profile } => {
            let mut table =
                Map::from_iter([("kind".to_owned(), Json::from("profile")), ("unit".to_owned(), unit.name().into())]);
            table.extend(rates(profile));
            table.into()
        }
        ErrorModel::Arrivals { list, period: None } => json!({ "kind": "arrivals", "list": list }),
        ErrorModel::Arrivals { list, period } => json!({ "kind": "arrivals", "list": list, "every": period }),
    };
    table["effect"] = effect.name().into();
    table
}

/// A mean number of packets.
fn packets(millionths: u64) -> Json {
    let (whole, rest) = (millionths / MILLIONTHS, millionths % MILLIONTHS);
    let fraction = format!(".{rest:06}");
    format!("{whole}{} packets", fraction.trim_end_matches('0').trim_end_matches('.')).into()
}

pub(super) fn interleave(interleave: &Interleave) -> Json {
    let Interleave { span, codeword, corrects } = interleave;
    json!({ "span": text(span), "codeword": format!("{codeword} B"), "corrects": format!("{corrects} B") })
}
