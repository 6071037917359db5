//! The size of packets on a link: frames and fragments.

use super::journal::Journal;
use crate::spec::{Frames, Link as Spec, Mtu, Oversize};

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
