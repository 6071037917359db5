//! The name of one end of a connection.

/// One of the two ends of a slot of the pool of connections. The ends of a slot stand side by side in whatever is kept by
/// endpoint: that of slot `n` which opens the connection has index 2 n, the other 2 n + 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EndpointId(u32);

impl EndpointId {
    /// The end that opens the connection of a slot.
    #[inline]
    pub(crate) const fn opener(slot: usize) -> Self {
        Self(2 * slot as u32)
    }

    /// The end that listens.
    #[inline]
    pub(crate) const fn listener(slot: usize) -> Self {
        Self(2 * slot as u32 + 1)
    }

    /// Both ends of a slot, by their side.
    pub(crate) const fn both(slot: usize) -> [Self; 2] {
        [Self::opener(slot), Self::listener(slot)]
    }

    #[inline]
    pub(crate) const fn from_index(index: usize) -> Self {
        Self(index as u32)
    }

    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }

    #[inline]
    pub(crate) const fn slot(self) -> usize {
        (self.0 / 2) as usize
    }

    /// 0: it opens; 1: it listens. What both ends have is kept in arrays by side.
    #[inline]
    pub(crate) const fn side(self) -> usize {
        (self.0 % 2) as usize
    }

    #[inline]
    pub(crate) const fn is_opener(self) -> bool {
        self.0 % 2 == 0
    }

    /// The other end.
    #[inline]
    pub(crate) const fn peer(self) -> Self {
        Self(self.0 ^ 1)
    }
}
