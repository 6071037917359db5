//! What a network is made of, by index: a type for each kind of thing, so that one is never taken for another. A list in
//! order of the index is indexed with its own type.

use std::ops::{Index, IndexMut};

macro_rules! ids {
    ($($(#[doc = $doc:literal])+ $name:ident;)+) => {$(
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// That at this place in its list.
            #[inline]
            pub const fn new(index: usize) -> Self {
                Self(index as u32)
            }

            /// Its place in its list.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// Those of a list of this length, in order.
            pub fn all(count: usize) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator {
                (0..count).map(Self::new)
            }
        }

        impl<T> Index<$name> for Vec<T> {
            type Output = T;

            #[inline]
            fn index(&self, id: $name) -> &T {
                &self.as_slice()[id.index()]
            }
        }

        impl<T> IndexMut<$name> for Vec<T> {
            #[inline]
            fn index_mut(&mut self, id: $name) -> &mut T {
                &mut self.as_mut_slice()[id.index()]
            }
        }

        impl<T> Index<$name> for [T] {
            type Output = T;

            #[inline]
            fn index(&self, id: $name) -> &T {
                &self[id.index()]
            }
        }

        impl<T> IndexMut<$name> for [T] {
            #[inline]
            fn index_mut(&mut self, id: $name) -> &mut T {
                &mut self[id.index()]
            }
        }
    )+};
}

ids! {
    /// A node.
    NodeId;
    /// One direction of a link.
    LinkId;
    /// A flow.
    FlowId;
    /// One direction of a flow, in which its packets follow one route: that of flow `n` from its sender has index 2 n, the one
    /// back 2 n + 1.
    PathId;
    /// One of the two ends of a slot of the pool of connections. That of slot `n` which opens the connection has index 2 n, the
    /// other 2 n + 1.
    EndpointId;
}

impl PathId {
    /// From a flow's sender to its receiver.
    #[inline]
    pub const fn there(flow: FlowId) -> Self {
        Self(2 * flow.0)
    }

    /// From a flow's receiver to its sender.
    #[inline]
    pub const fn back(flow: FlowId) -> Self {
        Self(2 * flow.0 + 1)
    }

    /// Both of a flow.
    pub const fn both(flow: FlowId) -> [Self; 2] {
        [Self::there(flow), Self::back(flow)]
    }

    /// Whose it is.
    #[inline]
    pub const fn flow(self) -> FlowId {
        FlowId(self.0 / 2)
    }

    /// Whether it leads to the flow's sender.
    #[inline]
    pub const fn is_back(self) -> bool {
        self.0 % 2 == 1
    }

    /// The other direction of its flow.
    #[inline]
    pub const fn reverse(self) -> Self {
        Self(self.0 ^ 1)
    }
}

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
