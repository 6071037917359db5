//! Counters of a link.

/// Counters of a link, up to the instant of its last `advance`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkCounters {
    pub(crate) offered: u64,
    pub(crate) carried: u64,
    pub(crate) carried_bytes: u64,
    pub(crate) busy_ps: u64,
    pub(crate) corrupted: u64,
    pub(crate) dropped: u64,
    pub(crate) backlog_bytes_max: u64,
}

/// Packets of a link at the end of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkAtEnd {
    /// Packets on the link or waiting for it.
    pub(crate) packets: usize,
    /// Packets whose transmission has not begun.
    pub(crate) waiting: usize,
    /// Whether the link is there and has no outage.
    pub(crate) is_up: bool,
}
