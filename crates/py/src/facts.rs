//! Facts for a congestion control in Python: one object of each kind per connection, updated in place.
//!
//! Bytes and times have the meaning of the core, as Python numbers: bytes, seconds, bits per second.

use crate::values::{self, threshold};
use bentpipe_tcp::cc::{AckSample, CcConfig, Congestion, Delivery as Delivered, Init as Begin, PathState};
use bentpipe_units::{Duration, Time};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

fn seconds(span: Option<Duration>) -> Option<f64> {
    span.map(Duration::as_secs_f64)
}

/// Start values of a congestion control.
#[pyclass(frozen, module = "bentpipe._core")]
#[derive(Default)]
pub(crate) struct Init {
    pub(crate) begin: Begin,
    /// Registered congestion control that the class replaces, with its settings.
    pub(crate) cc: Option<CcConfig>,
}

#[pymethods]
impl Init {
    #[getter]
    fn now_s(&self) -> f64 {
        self.begin.now.as_secs_f64()
    }
    #[getter]
    fn rtt_s(&self) -> Option<f64> {
        seconds(self.begin.rtt)
    }
    #[getter]
    fn seed(&self) -> u64 {
        self.begin.seed
    }
    #[getter]
    fn smss(&self) -> u64 {
        self.begin.smss
    }
    #[getter]
    fn cwnd(&self) -> u64 {
        self.begin.cwnd
    }
    #[getter]
    fn ssthresh(&self) -> f64 {
        threshold(self.begin.ssthresh)
    }
}

/// Facts from one ACK of new data.
#[pyclass(name = "AckSample", module = "bentpipe._core")]
pub(crate) struct Ack(pub(crate) AckSample);

impl Default for Ack {
    fn default() -> Self {
        Self(AckSample { newly_acked: 0, is_cwnd_limited: false, rtt: None })
    }
}

#[pymethods]
impl Ack {
    #[getter]
    fn newly_acked(&self) -> u64 {
        self.0.newly_acked
    }
    #[getter]
    fn is_cwnd_limited(&self) -> bool {
        self.0.is_cwnd_limited
    }
    #[getter]
    fn rtt_s(&self) -> Option<f64> {
        seconds(self.0.rtt)
    }
}

/// The sender's view of the path.
#[pyclass(name = "PathState", module = "bentpipe._core")]
pub(crate) struct Path(pub(crate) PathState);

impl Default for Path {
    fn default() -> Self {
        Self(PathState {
            now: Time::ZERO,
            smss: 1,
            header_len: 0,
            snd_una: 0,
            flight_size: 0,
            ssthresh_base: 0,
            ssthresh_unit: 1,
            snd_nxt: 0,
            srtt: None,
            rwnd: 0,
        })
    }
}

#[pymethods]
impl Path {
    #[getter]
    fn now_s(&self) -> f64 {
        self.0.now.as_secs_f64()
    }
    #[getter]
    fn smss(&self) -> u64 {
        self.0.smss
    }
    #[getter]
    fn snd_una(&self) -> u64 {
        self.0.snd_una
    }
    #[getter]
    fn snd_nxt(&self) -> u64 {
        self.0.snd_nxt
    }
    #[getter]
    fn flight_size(&self) -> u64 {
        self.0.flight_size
    }
    #[getter]
    fn ssthresh_base(&self) -> u64 {
        self.0.ssthresh_base
    }
    #[getter]
    fn ssthresh_unit(&self) -> u64 {
        self.0.ssthresh_unit
    }
    #[getter]
    fn srtt_s(&self) -> Option<f64> {
        seconds(self.0.srtt)
    }
    #[getter]
    fn rwnd(&self) -> u64 {
        self.0.rwnd
    }
    #[getter]
    fn header_len(&self) -> u64 {
        self.0.header_len
    }

    fn half(&self) -> u64 {
        self.0.half()
    }
    fn half_as_ssthresh(&self) -> u64 {
        self.0.half_as_ssthresh()
    }
    fn share(&self, part: f64) -> PyResult<f64> {
        if !(0.0..=1.0).contains(&part) {
            return Err(PyValueError::new_err(format!("a share of {part}: expected 0 to 1")));
        }
        Ok((self.0.ssthresh_base as f64 * part).max(2.0 * self.0.smss as f64))
    }
    fn as_ssthresh(&self, bytes: &Bound<'_, PyAny>) -> PyResult<u64> {
        Ok(self.0.as_ssthresh(values::bytes("ssthresh", bytes)? as u64))
    }
}

/// Reason of a window reduction.
#[pyclass(name = "Congestion", module = "bentpipe._core")]
pub(crate) struct Why(pub(crate) Congestion);

impl Default for Why {
    fn default() -> Self {
        Self(Congestion::FastRetransmit)
    }
}

#[pymethods]
impl Why {
    #[getter]
    fn is_ecn(&self) -> bool {
        matches!(self.0, Congestion::Ecn { .. })
    }
    #[getter]
    fn beta(&self) -> Option<f64> {
        match self.0 {
            Congestion::Ecn { beta } => beta.map(|beta| f64::from(beta) / 1000.0),
            Congestion::FastRetransmit => None,
        }
    }
    #[pyo3(signature = (after_loss=0.5))]
    fn left(&self, after_loss: f64) -> f64 {
        self.beta().unwrap_or(after_loss)
    }
}

/// Facts from one ACK on delivery and loss.
#[pyclass(module = "bentpipe._core")]
pub(crate) struct Delivery(pub(crate) Delivered);

impl Default for Delivery {
    fn default() -> Self {
        Self(Delivered {
            newly_delivered: 0,
            delivered: 0,
            newly_lost: 0,
            lost: 0,
            in_flight: 0,
            is_cwnd_limited: false,
            is_repairing: false,
            rate: None,
            one_way_delay: None,
            receiver_clock: None,
            echoed_rtt: None,
        })
    }
}

#[pymethods]
impl Delivery {
    #[getter]
    fn newly_delivered(&self) -> u64 {
        self.0.newly_delivered
    }
    #[getter]
    fn delivered(&self) -> u64 {
        self.0.delivered
    }
    #[getter]
    fn newly_lost(&self) -> u64 {
        self.0.newly_lost
    }
    #[getter]
    fn lost(&self) -> u64 {
        self.0.lost
    }
    #[getter]
    fn in_flight(&self) -> u64 {
        self.0.in_flight
    }
    #[getter]
    fn is_cwnd_limited(&self) -> bool {
        self.0.is_cwnd_limited
    }
    #[getter]
    fn is_repairing(&self) -> bool {
        self.0.is_repairing
    }
    #[getter]
    fn one_way_delay_s(&self) -> Option<f64> {
        seconds(self.0.one_way_delay)
    }
    #[getter]
    fn receiver_clock_ms(&self) -> Option<u32> {
        self.0.receiver_clock
    }
    #[getter]
    fn rate_bps(&self) -> Option<u64> {
        Some(self.0.rate?.rate()?.as_bps())
    }
    #[getter]
    fn interval_s(&self) -> Option<f64> {
        Some(self.0.rate?.interval.as_secs_f64())
    }
    #[getter]
    fn rtt_s(&self) -> Option<f64> {
        seconds(self.0.rate?.rtt)
    }
    #[getter]
    fn is_app_limited(&self) -> bool {
        self.0.rate.is_some_and(|rate| rate.is_app_limited)
    }
    #[getter]
    fn flight_before(&self) -> Option<u64> {
        Some(self.0.rate?.flight_before)
    }
    #[getter]
    fn prior_delivered(&self) -> Option<u64> {
        Some(self.0.rate?.prior_delivered)
    }
}
