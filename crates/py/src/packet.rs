//! Packets as custom middleboxes in Python see them, and the arguments of their notices.

use bentpipe_sim::spec::Scenario;
use bentpipe_sim::Packet;
use bentpipe_tcp::{Ecn, Flags, Options, Segment};
use bentpipe_units::Seq;
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::sync::Arc;

/// Name of the flow of each lane of a run.
#[derive(Clone, Debug)]
pub(crate) struct Flows(Arc<[Py<PyString>]>);

impl Flows {
    pub(crate) fn of(py: Python<'_>, scenario: &Scenario) -> Self {
        let names: Vec<_> = scenario.flows.iter().map(|flow| PyString::new(py, &flow.name).unbind()).collect();
        Self(scenario.lanes.iter().map(|lane| names[lane.flow.index()].clone_ref(py)).collect())
    }
}

/// Packet of a middlebox.
#[pyclass(name = "Packet", module = "bentpipe._core")]
pub(crate) struct View {
    pub(crate) packet: Packet,
    /// Segment of the packet. None in a datagram.
    pub(crate) segment: Option<Segment>,
    /// Whether the middlebox changed the segment.
    pub(crate) is_rewritten: bool,
    /// Whether the node drops the packet, so that nothing can be changed.
    pub(crate) is_corrupted: bool,
    pub(crate) flows: Flows,
}

impl View {
    fn has(&self, flag: Flags) -> bool {
        self.segment.is_some_and(|segment| segment.flags.has(flag))
    }

    fn check_intact(&self, what: &str) -> PyResult<()> {
        if self.is_corrupted {
            let message =
                format!("{what} of a corrupted packet cannot be changed: the node drops it; expected an intact packet");
            return Err(PyRuntimeError::new_err(message));
        }
        Ok(())
    }
}

/// End of a connection that sent a packet, to be kept and notified later.
#[pyclass(frozen, name = "PacketSender", module = "bentpipe._core")]
pub(crate) struct PacketSender {
    /// Header of a packet from it.
    header: Packet,
    flows: Flows,
}

#[pymethods]
impl PacketSender {
    #[getter]
    fn flow<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        self.flows.0[self.header.lane().index()].bind(py).clone()
    }
    #[getter]
    fn connection(&self) -> u64 {
        self.header.conversation() >> 1
    }
    fn __eq__(&self, other: &Self) -> bool {
        self.header.conversation() == other.header.conversation()
    }
    fn __hash__(&self) -> u64 {
        self.header.conversation()
    }
    fn __repr__(&self, py: Python<'_>) -> String {
        format!("PacketSender({:?}, connection={})", self.flow(py).to_string(), self.connection())
    }
}

#[pymethods]
impl View {
    #[getter]
    fn flow<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        self.flows.0[self.packet.lane().index()].bind(py).clone()
    }
    #[getter]
    fn connection(&self) -> u64 {
        // The lowest bit is the direction.
        self.packet.conversation() >> 1
    }
    #[getter]
    fn is_to_sender(&self) -> bool {
        self.packet.is_to_sender()
    }
    #[getter]
    fn is_to_receiver(&self) -> bool {
        !self.packet.is_to_sender()
    }
    #[getter]
    fn is_datagram(&self) -> bool {
        self.segment.is_none()
    }
    #[getter]
    fn size(&self) -> u64 {
        self.packet.size()
    }
    #[getter]
    fn payload(&self) -> u16 {
        self.packet.len
    }
    #[getter]
    fn seq(&self) -> Option<u32> {
        Some(self.segment?.seq.value())
    }
    #[getter]
    fn data_range(&self) -> Option<(u32, u32)> {
        let first = self.segment?.seq;
        Some((first.value(), first.at(self.packet.len.into()).value()))
    }
    #[getter]
    fn sender(&self) -> Option<PacketSender> {
        self.segment.map(|_| PacketSender { header: self.packet.header(), flows: self.flows.clone() })
    }
    #[getter]
    fn ack(&self) -> Option<u32> {
        self.has(Flags::ACK).then(|| self.packet.ack_no().value())
    }
    #[getter]
    fn sack(&self) -> Vec<(u32, u32)> {
        match &self.segment {
            Some(Segment { options: Options::Sack(blocks), .. }) => {
                blocks.as_slice().iter().map(|(left, right)| (left.value(), right.value())).collect()
            }
            _ => Vec::new(),
        }
    }
    #[getter]
    fn window(&self) -> Option<u16> {
        Some(self.segment?.window)
    }
    #[setter(window)]
    fn put_window(&mut self, window: u16) -> PyResult<()> {
        self.check_intact("window")?;
        let segment = self
            .segment
            .as_mut()
            .ok_or_else(|| PyValueError::new_err("a datagram has no window; expected a packet of a connection"))?;
        segment.window = window;
        self.is_rewritten = true;
        Ok(())
    }
    #[getter]
    fn is_bare_ack(&self) -> bool {
        self.segment.is_some() && self.packet.is_bare_ack()
    }
    #[getter]
    fn is_syn(&self) -> bool {
        self.has(Flags::SYN)
    }
    #[getter]
    fn is_fin(&self) -> bool {
        self.has(Flags::FIN)
    }
    #[getter]
    fn is_rst(&self) -> bool {
        self.has(Flags::RST)
    }
    #[getter]
    fn is_ect(&self) -> bool {
        self.packet.ecn() != Ecn::NotEct
    }
    #[getter]
    fn is_ce(&self) -> bool {
        self.packet.ecn() == Ecn::Ce
    }
    fn mark_ce(&mut self) -> PyResult<bool> {
        self.check_intact("the mark")?;
        let is_marked = self.packet.mark_ce();
        if let Some(segment) = &mut self.segment {
            segment.ecn = self.packet.ecn();
        }
        Ok(is_marked)
    }
}

/// Returns the header of a packet whose sender is to be notified.
pub(crate) fn notified(sender: &Bound<'_, PyAny>) -> PyResult<Packet> {
    if let Ok(sender) = sender.cast::<PacketSender>() {
        return Ok(sender.get().header);
    }
    let Ok(packet) = sender.cast::<View>() else {
        let found = if sender.is_none() { "None".to_owned() } else { sender.get_type().name()?.to_string() };
        let hint = if sender.is_none() { "; a datagram has no such sender" } else { "" };
        return Err(PyTypeError::new_err(format!("notify of {found}: expected packet.sender or a packet{hint}")));
    };
    let packet = packet.try_borrow()?;
    if packet.segment.is_none() {
        let message = "notify of a datagram, whose sender reads no reports: expected a packet of a connection";
        return Err(PyValueError::new_err(message));
    }
    Ok(packet.packet.header())
}

/// Converts ranges of sequence numbers from Python, each as its first number and its length.
pub(crate) fn sequence_ranges(ranges: &Bound<'_, PyAny>) -> PyResult<Vec<(Seq, u16)>> {
    const EXPECTED: &str = "expected pairs of sequence numbers, first and last plus one, such as [packet.data_range]";
    let Ok(pairs) = ranges.try_iter() else {
        return Err(PyTypeError::new_err(format!("notify of the ranges {}: {EXPECTED}", ranges.repr()?)));
    };
    pairs
        .map(|pair| {
            let pair = pair?;
            let Ok((first, end)) = pair.extract::<(u32, u32)>() else {
                return Err(PyTypeError::new_err(format!("notify of the range {}: {EXPECTED}", pair.repr()?)));
            };
            let len = end.wrapping_sub(first).try_into().map_err(|_| {
                let message =
                    format!("notify of the range ({first}, {end}): expected at most 65535 bytes, as a packet has");
                PyValueError::new_err(message)
            })?;
            Ok((Seq::new(first), len))
        })
        .collect()
}
