//! Facts for a congestion control in Python. Each call of a hook gets new objects, which never change: a class may keep them.
//!
//! Bytes and times have the meaning of the core, as Python numbers: bytes, seconds, bits per second.

use crate::values::{self, threshold};
use bentpipe_cc::RateSample;
use bentpipe_cc::{AckSample, CcConfig, Congestion, Delivery as Delivered, Init as Begin, Marks, PathState};
use bentpipe_units::{Duration, Time};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyType;
use pyo3::PyTypeInfo;

/// Result of `__reduce__`: a callable, and its argument.
type Reduced<'py, T> = (Bound<'py, PyAny>, (T,));

/// Returns what `pickle` calls to make an object of `T` again: its class method `_from` with the raw numbers.
fn reduced<'py, T: PyTypeInfo, R>(py: Python<'py>, raw: R) -> PyResult<Reduced<'py, R>> {
    Ok((PyType::new::<T>(py).getattr("_from")?, (raw,)))
}

fn ps(span: Option<Duration>) -> Option<u64> {
    span.map(Duration::as_ps)
}

fn span(ps: Option<u64>) -> Option<Duration> {
    ps.map(Duration::from_ps)
}

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

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }
    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }
}

/// Facts from one ACK of new data.
#[pyclass(frozen, name = "AckSample", module = "bentpipe._core")]
pub(crate) struct Ack(pub(crate) AckSample);

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
    #[getter]
    fn ce_packets(&self) -> u32 {
        self.0.marks.ce_packets
    }
    #[getter]
    fn delivered_packets(&self) -> u32 {
        self.0.marks.delivered_packets
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }
    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py, RawAck>> {
        let AckSample { newly_acked, is_cwnd_limited, rtt, marks } = self.0;
        reduced::<Self, _>(py, (newly_acked, is_cwnd_limited, ps(rtt), raw_marks(marks)))
    }
    #[staticmethod]
    fn _from(raw: RawAck) -> Self {
        let (newly_acked, is_cwnd_limited, rtt, marks) = raw;
        Self(AckSample { newly_acked, is_cwnd_limited, rtt: span(rtt), marks: marks_from(marks) })
    }
}

type RawAck = (u64, bool, Option<u64>, RawMarks);
type RawMarks = (u32, u32);

fn raw_marks(marks: Marks) -> RawMarks {
    (marks.ce_packets, marks.delivered_packets)
}

fn marks_from((ce_packets, delivered_packets): RawMarks) -> Marks {
    Marks { ce_packets, delivered_packets }
}

/// The sender's view of the path.
#[pyclass(frozen, name = "PathState", module = "bentpipe._core")]
pub(crate) struct Path(pub(crate) PathState);

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

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }
    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py, RawPath>> {
        let path = self.0;
        let raw = (
            path.now.as_ps(),
            path.smss,
            path.header_len,
            path.snd_una,
            path.flight_size,
            path.ssthresh_base,
            path.ssthresh_unit,
            path.snd_nxt,
            ps(path.srtt),
            path.rwnd,
        );
        reduced::<Self, _>(py, raw)
    }
    #[staticmethod]
    fn _from(raw: RawPath) -> Self {
        let (now, smss, header_len, snd_una, flight_size, ssthresh_base, ssthresh_unit, snd_nxt, srtt, rwnd) = raw;
        let (now, srtt) = (Time::from_ps(now), span(srtt));
        Self(PathState {
            now,
            smss,
            header_len,
            snd_una,
            flight_size,
            ssthresh_base,
            ssthresh_unit,
            snd_nxt,
            srtt,
            rwnd,
        })
    }
}

type RawPath = (u64, u64, u64, u64, u64, u64, u64, u64, Option<u64>, u64);

/// Reason of a window reduction.
#[pyclass(frozen, name = "Congestion", module = "bentpipe._core")]
pub(crate) struct Why(pub(crate) Congestion);

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

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }
    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py, RawWhy>> {
        let raw = match self.0 {
            Congestion::FastRetransmit => (false, None),
            Congestion::Ecn { beta } => (true, beta),
        };
        reduced::<Self, _>(py, raw)
    }
    #[staticmethod]
    fn _from(raw: RawWhy) -> Self {
        let (is_ecn, beta) = raw;
        Self(if is_ecn { Congestion::Ecn { beta } } else { Congestion::FastRetransmit })
    }
}

type RawWhy = (bool, Option<u32>);

/// Facts from one ACK on delivery and loss.
#[pyclass(frozen, module = "bentpipe._core")]
pub(crate) struct Delivery(pub(crate) Delivered);

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
    #[getter]
    fn ce_packets(&self) -> u32 {
        self.0.marks.ce_packets
    }
    #[getter]
    fn delivered_packets(&self) -> u32 {
        self.0.marks.delivered_packets
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }
    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py, RawDelivery>> {
        let of = self.0;
        let rate = of.rate.map(|rate| {
            let RateSample {
                delivered,
                interval,
                rtt,
                is_app_limited,
                flight_before,
                lost,
                prior_delivered,
                is_too_short,
            } = rate;
            (delivered, interval.as_ps(), ps(rtt), is_app_limited, flight_before, lost, prior_delivered, is_too_short)
        });
        let raw = (
            of.newly_delivered,
            of.delivered,
            of.newly_lost,
            of.lost,
            of.in_flight,
            of.is_cwnd_limited,
            of.is_repairing,
            rate,
            ps(of.one_way_delay),
            of.receiver_clock,
            ps(of.echoed_rtt),
            raw_marks(of.marks),
        );
        reduced::<Self, _>(py, raw)
    }
    #[staticmethod]
    fn _from(raw: RawDelivery) -> Self {
        let (newly_delivered, delivered, newly_lost, lost, in_flight, is_cwnd_limited, is_repairing, rate, ..) = raw;
        let (.., one_way_delay, receiver_clock, echoed_rtt, marks) = raw;
        let rate = rate.map(
            |(delivered, interval, rtt, is_app_limited, flight_before, lost, prior_delivered, is_too_short)| {
                RateSample {
                    delivered,
                    interval: Duration::from_ps(interval),
                    rtt: span(rtt),
                    is_app_limited,
                    flight_before,
                    lost,
                    prior_delivered,
                    is_too_short,
                }
            },
        );
        Self(Delivered {
            newly_delivered,
            delivered,
            newly_lost,
            lost,
            in_flight,
            is_cwnd_limited,
            is_repairing,
            rate,
            one_way_delay: span(one_way_delay),
            receiver_clock,
            echoed_rtt: span(echoed_rtt),
            marks: marks_from(marks),
        })
    }
}

type RawRate = (u64, u64, Option<u64>, bool, u64, u64, u64, bool);
type RawDelivery =
    (u64, u64, u64, u64, u64, bool, bool, Option<RawRate>, Option<u64>, Option<u32>, Option<u64>, RawMarks);
