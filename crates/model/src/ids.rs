//! Indices of the parts of a network.
//!
//! Each kind of part has its own type, so that indices cannot be confused. A list in order of the index is indexed with
//! its own type.

use std::ops::{Index, IndexMut};

macro_rules! ids {
    ($($(#[doc = $doc:literal])+ $name:ident;)+) => {$(
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// Returns the index of this place in the list.
            #[inline]
            pub const fn new(index: usize) -> Self {
                Self(index as u32)
            }

            /// Returns the place in the list.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// Returns the indices of a list of this length, in order.
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
    /// Node.
    NodeId;
    /// One direction of a link.
    LinkId;
    /// Medium that links share.
    MediumId;
    /// Flow.
    FlowId;
    /// One way of a flow there and back. A flow has one or several, which follow each other.
    LaneId;
    /// One direction of a lane, whose packets follow one route. Lane `n` has index 2 n from its flow's sender and
    /// 2 n + 1 back.
    PathId;
    /// One of the two ends of a slot in the pool of connections. In slot `n`, the end that opens the connection has
    /// index 2 n, the other 2 n + 1.
    EndpointId;
}

impl PathId {
    /// Returns the path of a lane from its flow's sender to the receiver.
    #[inline]
    pub const fn there(lane: LaneId) -> Self {
        Self(2 * lane.0)
    }

    /// Returns the path of a lane from its flow's receiver to the sender.
    #[inline]
    pub const fn back(lane: LaneId) -> Self {
        Self(2 * lane.0 + 1)
    }

    /// Returns both paths of a lane.
    pub const fn both(lane: LaneId) -> [Self; 2] {
        [Self::there(lane), Self::back(lane)]
    }

    /// Returns the lane.
    #[inline]
    pub const fn lane(self) -> LaneId {
        LaneId(self.0 / 2)
    }

    /// Whether the path leads to the flow's sender.
    #[inline]
    pub const fn is_back(self) -> bool {
        self.0 % 2 == 1
    }

    /// Returns the other direction of the lane.
    #[inline]
    pub const fn reverse(self) -> Self {
        Self(self.0 ^ 1)
    }
}

impl EndpointId {
    /// Returns the end that opens the connection of a slot.
    #[inline]
    pub const fn opener(slot: usize) -> Self {
        Self(2 * slot as u32)
    }

    /// Returns the end that listens.
    #[inline]
    pub const fn listener(slot: usize) -> Self {
        Self(2 * slot as u32 + 1)
    }

    /// Returns both ends of a slot, by their side.
    pub const fn both(slot: usize) -> [Self; 2] {
        [Self::opener(slot), Self::listener(slot)]
    }

    /// Returns its slot in the pool.
    #[inline]
    pub const fn slot(self) -> usize {
        (self.0 / 2) as usize
    }

    /// Returns the side: 0 opens, 1 listens. Arrays by side hold the values of both ends.
    #[inline]
    pub const fn side(self) -> usize {
        (self.0 % 2) as usize
    }

    /// Whether it opens the connection.
    #[inline]
    pub const fn is_opener(self) -> bool {
        self.0 % 2 == 0
    }

    /// Returns the other end.
    #[inline]
    pub const fn peer(self) -> Self {
        Self(self.0 ^ 1)
    }
}
