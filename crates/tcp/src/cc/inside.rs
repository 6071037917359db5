//! Values inside a congestion control, for records: its state, gains, estimates and bounds.
//!
//! A congestion control reports them only when asked, so a run without such records pays nothing. Reporting reads the
//! state and changes nothing.

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
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Inside<'a> {
    /// Name of the state.
    State(&'a str),
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

    /// Reports the name of the state, in kebab case.
    pub fn state(&mut self, name: &str) -> &mut Self {
        self.report(Inside::State(name))
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
