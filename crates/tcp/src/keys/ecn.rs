//! Keys of ECN marks.

use bentpipe_units::settings::{Fields, Maybe, Settings, Shape, Table, Thousandths, Title, Typed, Unfit, Value};
use bentpipe_units::{settings, words, Word};

/// ECN marks (RFC 3168). A feedback is a kind, and all kinds except `off` have the same keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EcnConfig {
    /// Feedback that this endpoint requests and gives.
    pub feedback: EcnFeedback,
    /// Thousandths of the window after a mark (RFC 8511); `None`: as after a loss.
    pub beta: Option<u32>,
}

words! {
    /// Reports of marks from the receiver to the sender.
    pub enum EcnFeedback {
        /// No marks: queues drop.
        "off" => Off,
        /// The receiver echoes a mark until the sender confirms that it has reduced its window (RFC 3168).
        "classic" => Classic,
        /// The receiver reports for each segment whether it was marked (RFC 8257 §3.2). It is negotiated like the
        /// classic feedback.
        "per-segment" => PerSegment,
        /// The receiver counts marks in three header bits (RFC 9768, without its option).
        "accurate" => Accurate,
    }
}

impl Default for EcnConfig {
    fn default() -> Self {
        Self { feedback: EcnFeedback::Off, beta: None }
    }
}

settings! {
    /// Reaction to a mark.
    pub struct MarkResponse {
        /// Share of the window after a mark, 0.1 to 0.99. RFC 8511 recommends 0.8 for the window of RFC 5681. Default:
        /// the share after a loss.
        beta: Option<u32> as Maybe<Thousandths> = None, [0.1, 0.99];
    }
}

impl Typed for EcnConfig {
    fn shape() -> Shape {
        let keys = |feedback| if feedback == EcnFeedback::Off { Vec::new() } else { MarkResponse::keys() };
        let table = |f: &EcnFeedback| Table { name: f.name(), about: f.summary(), keys: Some(keys(*f)) };
        let title = Title { name: "Ecn", noun: "a kind of ECN feedback" };
        Shape::Kinds(title, EcnFeedback::ALL.iter().map(table).collect())
    }
    fn read(value: &Value) -> Result<Self, Unfit> {
        let table = value.table()?;
        let feedback = EcnFeedback::read(&table.kind()?.into())?;
        Ok(Self { feedback, beta: <MarkResponse as Settings>::read(table)?.beta })
    }
    fn write(&self) -> Value {
        let mut table = Fields::of_kind(self.feedback.name());
        if self.feedback != EcnFeedback::Off {
            Settings::write(&MarkResponse { beta: self.beta }, &mut table);
        }
        Value::Table(table)
    }
}
