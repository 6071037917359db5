//! The size of packets on a link: frames and fragments.

use super::journal::{Journal, Service};
use bentpipe_model::packet::Packet;
use bentpipe_model::spec::{Frames, Link as Spec, Mtu, Oversize};
use bentpipe_units::Time;

/// Bytes of a packet on the link.
#[derive(Clone, Debug)]
pub(super) struct Wire(pub(super) Option<Box<Apart>>);

/// Parts that few links have.
#[derive(Clone, Debug, Default)]
pub(super) struct Apart {
    frames: Option<Frames>,
    mtu: Option<Mtu>,
    /// Services since the last call, if the link has a journal.
    pub(super) journal: Option<Journal>,
}

impl Wire {
    pub(super) fn of(spec: &Spec) -> Self {
        let (frames, cuts) = (spec.framing.frames(), spec.mtu.filter(|mtu| mtu.oversize == Oversize::Fragment));
        let apart = Apart { frames, mtu: cuts, journal: None };
        Self((frames.is_some() || cuts.is_some()).then(|| Box::new(apart)))
    }

    /// Whether the link has a journal.
    pub(super) fn has_journal(&self) -> bool {
        self.0.as_ref().is_some_and(|apart| apart.journal.is_some())
    }

    /// Adds a service in a medium to the journal, if the link has one.
    pub(super) fn note(&mut self, packet: Packet, [opened, start, begin, finish, arrival]: [Time; 5]) {
        if let Some(journal) = self.0.as_mut().and_then(|apart| apart.journal.as_mut()) {
            let is_granted = true;
            journal.0.push(Service { packet, is_granted, opened, start, up: start, begin, finish, arrival });
        }
    }

    #[inline(always)]
    pub(super) fn size(&self, size: u64) -> u64 {
        match &self.0 {
            None => size,
            Some(apart) => Self::framed(apart.frames, apart.mtu, size),
        }
    }

    #[inline(never)]
    fn framed(frames: Option<Frames>, cuts: Option<Mtu>, size: u64) -> u64 {
        let framed = |size| frames.map_or(size, |frames| frames.wire_size(size));
        let (full, largest, last) = cuts.map_or((0, 0, size), |mtu| mtu.fragments(size));
        full * framed(largest) + framed(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_units::{Duration, Rate};

    /// Fragments of 400 B have 376 B of data, a multiple of 8. A rest of 380 B with its header fits into 400 B.
    #[test]
    fn rfc791_3_2_the_last_fragment_may_be_as_large_as_the_mtu() {
        let mtu = Some(Mtu { size: 400, oversize: Oversize::Fragment });
        let wire = Wire::of(&Spec { mtu, ..Spec::plain(Rate::from_bps(1), Duration::ZERO) });
        assert_eq!([400, 401, 776, 777].map(|size| wire.size(size) - size), [0, 20, 20, 40]);
    }
}
