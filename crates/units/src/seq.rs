//! TCP sequence numbers.

use std::fmt;

/// Sequence number of a TCP header: 32 bits, modular (RFC 9293 §3.4).
///
/// Inside a connection positions are 64-bit *offsets* from the initial sequence number, which never wrap.
/// [`Seq::offset_near`] converts a header field to an offset.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Seq(u32);

impl Seq {
    /// The sequence number with this header value.
    pub const fn new(value: u32) -> Self {
        Self(value)
    }

    /// The value in the header.
    pub const fn value(self) -> u32 {
        self.0
    }

    /// The sequence number `offset` bytes after `self`.
    pub const fn at(self, offset: u64) -> Self {
        Self(self.0.wrapping_add(offset as u32))
    }

    /// Returns the offset from `initial` of this number, given that it lies within 2^31 of `near`. Numbers before the
    /// initial one give 0.
    pub const fn offset_near(self, initial: Self, near: u64) -> u64 {
        let expected = initial.at(near);
        let distance = self.0.wrapping_sub(expected.0) as i32 as i64;
        let offset = near as i64 + distance;
        if offset < 0 {
            0
        } else {
            offset as u64
        }
    }
}

impl fmt::Debug for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_survive_the_wrap() {
        let iss = Seq::new(u32::MAX - 10);
        for offset in [0u64, 5, 11, 12, 1 << 31, (1 << 32) + 7, 5 << 32] {
            for error in [-1000i64, 0, 1000] {
                let near = (offset as i64 + error).max(0) as u64;
                assert_eq!(iss.at(offset).offset_near(iss, near), offset);
            }
        }
    }

    #[test]
    fn numbers_before_the_first_are_clamped() {
        assert_eq!(Seq::new(5).offset_near(Seq::new(10), 0), 0);
    }
}
