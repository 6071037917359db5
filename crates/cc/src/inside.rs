//! Values inside a congestion control, for records: its state, gains, estimates and bounds.
//!
//! A congestion control reports them only when asked, so a run without such records pays nothing. Reporting reads the
//! state and changes nothing.

use std::fmt;

/// A rate in a reason, bit/s.
pub(crate) struct Bps(pub(crate) f64);

impl fmt::Display for Bps {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            bps if bps >= 1e9 => (bps / 1e9, "Gbit/s"),
            bps if bps >= 1e6 => (bps / 1e6, "Mbit/s"),
            bps => (bps / 1e3, "kbit/s"),
        };
        let digits = if value >= 99.5 { 0 } else { 1 + usize::from(value < 9.95) };
        write!(out, "{value:.digits$} {unit}")
    }
}

/// A duration in a reason.
pub(crate) struct Span(pub(crate) bentpipe_units::Duration);

impl fmt::Display for Span {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.0.as_secs_f64();
        match s >= 1.0 {
            true => write!(out, "{s:.1} s"),
            false => write!(out, "{:.1} ms", 1e3 * s),
        }
    }
}

/// Values that several congestion controls have. Each is a recordable series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Factor of the pacing rate over the bandwidth.
    PacingGain,
    /// Factor of the window over bandwidth times least round-trip time.
    CwndGain,
    /// Estimate of the bandwidth, payload bit/s.
    Bandwidth,
    /// Estimate of the round-trip time without queues, s.
    MinRtt,
    /// Bound of the data in flight that holds until the next probe, bytes.
    InflightLongterm,
    /// Bound of the data in flight since recent losses, bytes.
    InflightShortterm,
    /// Bound of the bandwidth since recent losses, payload bit/s.
    BandwidthShortterm,
    /// Data that ACKs delivered beyond the bandwidth, bytes.
    ExtraAcked,
    /// 1 once the pipe was found full, 0 before.
    FullBandwidth,
}

/// A value inside a congestion control.
#[derive(Clone, Copy, Debug)]
pub enum Inside<'a> {
    /// Name of the state, and why it is in it.
    State(&'a str, fmt::Arguments<'a>),
    /// A value that several congestion controls have; NaN: it has none now, such as a bound that was lifted.
    Shared(Quantity, f64),
    /// Any other value, with a name whose suffix is the unit.
    Own(&'a str, f64),
}

/// Receives the values inside a congestion control.
pub struct Insides<'a>(&'a mut dyn FnMut(Inside<'_>));

impl<'a> Insides<'a> {
    /// Passes each value to `receive`.
    pub fn new(receive: &'a mut dyn FnMut(Inside<'_>)) -> Self {
        Self(receive)
    }

    /// Reports the name of the state, in kebab case, and the reason for it. The reason is a clause whose subject is the
    /// congestion control, such as `it empties the queue of its start`. Its text is made only when the state changes.
    pub fn state(&mut self, name: &str, why: fmt::Arguments<'_>) -> &mut Self {
        self.report(Inside::State(name, why))
    }

    /// Reports a value that several congestion controls have. A value that is not finite means that it has none now.
    pub fn value(&mut self, quantity: Quantity, value: f64) -> &mut Self {
        self.report(Inside::Shared(quantity, if value.is_finite() { value } else { f64::NAN }))
    }

    /// Reports any other value, such as `queued_segments`.
    pub fn own(&mut self, name: &str, value: f64) -> &mut Self {
        self.report(Inside::Own(name, if value.is_finite() { value } else { f64::NAN }))
    }

    /// Reports the least round-trip time, once it is known.
    pub(crate) fn min_rtt(&mut self, min_rtt: Option<bentpipe_units::Duration>) -> &mut Self {
        if let Some(min_rtt) = min_rtt {
            self.value(Quantity::MinRtt, min_rtt.as_secs_f64());
        }
        self
    }

    fn report(&mut self, value: Inside<'_>) -> &mut Self {
        (self.0)(value);
        self
    }
}
