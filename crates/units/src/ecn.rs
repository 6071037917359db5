/// The ECN field of the IP header (RFC 3168 §5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Ecn {
    /// The sender does not understand marks: queues drop the packet instead.
    #[default]
    NotEct,
    /// The sender understands marks; also the experiments of RFC 8311.
    Ect1,
    /// The sender understands marks.
    Ect0,
    /// Congestion experienced: a queue marked it.
    Ce,
}

impl Ecn {
    /// Returns the two bits of the header.
    pub const fn bits(self) -> u8 {
        self as u8
    }

    /// Returns the codepoint with these bits, ignoring others.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }
}
