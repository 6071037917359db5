//! Errors.

use super::text;
use crate::scenario::ErrorModel;
use bentpipe_units::Word;
use serde_json::{json, Value as Json};

pub(super) fn error(error: &ErrorModel) -> Json {
    match error {
        ErrorModel::None => json!({ "kind": "none" }),
        ErrorModel::Independent { unit, rate } => json!({ "kind": unit.name(), "rate": rate }),
        ErrorModel::GilbertElliott { unit, mean_good, mean_bad, rate_good, rate_bad } => json!({
            "kind": "gilbert-elliott", "unit": unit.name(), "mean_good": text(mean_good), "mean_bad": text(mean_bad),
            "rate_good": rate_good, "rate_bad": rate_bad,
        }),
        ErrorModel::Arrivals(list) => json!({ "kind": "arrivals", "list": list }),
    }
}
