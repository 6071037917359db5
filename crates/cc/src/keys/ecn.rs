//! Keys of ECN marks.

use bentpipe_units::settings::{Fields, Maybe, Plain, Settings, Shape, Table, Thousandths, Title, Typed, Unfit, Value};
use bentpipe_units::{settings, words, Word};

/// ECN marks (RFC 3168). A feedback is a kind. All kinds except `off` have a response, and `accurate` has more keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EcnConfig {
    /// Feedback that this endpoint requests and gives.
    pub feedback: EcnFeedback,
    /// Thousandths of the window after a mark (RFC 8511); `None`: as after a loss.
    pub beta: Option<u32>,
    /// Codepoint of data, ECT(0) or ECT(1); `None`: the congestion control decides. Only with feedback `accurate`.
    pub ect: Option<u32>,
    /// Interpretation of the counter. Only with feedback `accurate`.
    pub wrap: AceWrap,
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

words! {
    /// Marks that an ACK of more than seven packets reports: its counter of three bits may have wrapped.
    pub enum AceWrap {
        /// The largest number that fits (RFC 9768 A.2, without its option).
        "most" => Most,
        /// The smallest number that fits.
        "least" => Least,
    }
}

impl EcnFeedback {
    /// Whether it reports how many packets were marked.
    pub const fn counts_marks(self) -> bool {
        matches!(self, Self::PerSegment | Self::Accurate)
    }
}

impl EcnConfig {
    /// No marks.
    pub const OFF: Self = Self { feedback: EcnFeedback::Off, beta: None, ect: None, wrap: AceWrap::Most };
    /// Accurate feedback, and data that ask for the low latency of L4S (RFC 9331 §4).
    pub const L4S: Self = Self { feedback: EcnFeedback::Accurate, ect: Some(1), ..Self::OFF };
    /// Marks of single segments, as in data centres (RFC 8257).
    pub const PER_SEGMENT: Self = Self { feedback: EcnFeedback::PerSegment, ..Self::OFF };

    /// Whether data ask for the low latency of L4S.
    pub fn is_l4s(&self) -> bool {
        self.feedback == EcnFeedback::Accurate && self.ect == Some(1)
    }
}

impl Default for EcnConfig {
    fn default() -> Self {
        Self::OFF
    }
}

settings! {
    /// Reaction to a mark.
    pub struct MarkResponse {
        /// Share of the window after a mark, 0.1 to 0.99. RFC 8511 recommends 0.8 for the window of RFC 5681. Default:
        /// the share after a loss. A congestion control that counts marks has its own reaction.
        beta: Option<u32> as Maybe<Thousandths> = None, [0.1, 0.99];
    }
}

settings! {
    /// Counted marks.
    pub struct CountedMarks {
        /// Codepoint of data: 0 is ECT(0), 1 is ECT(1), which asks for the low latency of L4S (RFC 9331). 1 needs a
        /// congestion control that counts marks, such as `prague`. Default: 1 for `prague`, otherwise 0.
        ect: Option<u32> as Maybe<Plain> = None, [0, 1];
        /// Marks that an ACK of more than seven packets reports, for a congestion control that counts them.
        wrap: AceWrap = AceWrap::Most, "RFC 9768 A.2";
    }
}

impl Typed for EcnConfig {
    fn shape() -> Shape {
        let keys = |feedback| match feedback {
            EcnFeedback::Off => Vec::new(),
            EcnFeedback::Accurate => MarkResponse::keys().into_iter().chain(CountedMarks::keys()).collect(),
            EcnFeedback::Classic | EcnFeedback::PerSegment => MarkResponse::keys(),
        };
        let table = |f: &EcnFeedback| Table { name: f.name(), about: f.summary(), keys: Some(keys(*f)) };
        let title = Title { name: "Ecn", noun: "a kind of ECN feedback" };
        Shape::Kinds(title, EcnFeedback::ALL.iter().map(table).collect())
    }
    fn read(value: &Value) -> Result<Self, Unfit> {
        let table = value.table()?;
        let feedback = EcnFeedback::read(&table.kind()?.into())?;
        let beta = <MarkResponse as Settings>::read(table)?.beta;
        let CountedMarks { ect, wrap } = match feedback {
            EcnFeedback::Accurate => <CountedMarks as Settings>::read(table)?,
            _ => CountedMarks::default(),
        };
        Ok(Self { feedback, beta, ect, wrap })
    }
    fn write(&self) -> Value {
        let mut table = Fields::of_kind(self.feedback.name());
        if self.feedback != EcnFeedback::Off {
            Settings::write(&MarkResponse { beta: self.beta }, &mut table);
        }
        if self.feedback == EcnFeedback::Accurate {
            Settings::write(&CountedMarks { ect: self.ect, wrap: self.wrap }, &mut table);
        }
        Value::Table(table)
    }
}
