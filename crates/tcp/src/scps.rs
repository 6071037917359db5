//! Options of SCPS-TP (CCSDS 714.0-B), as values and as bytes.
//!
//! | option | kind | length | where |
//! |---|---|---|---|
//! | SCPS Capabilities | 20 | 4, or longer | SYN |
//! | SNACK | 21 | 6, and the bit vector | ACKs |
//! | Record Boundary | 22 | 2 | data |
//! | Corruption Experienced | 23 | 2 | ACKs |
//!
//! Header compression is not part of this.

const END: u8 = 0;
const NOP: u8 = 1;
const CAPABILITIES: u8 = 20;
const SNACK: u8 = 21;
const RECORD_BOUNDARY: u8 = 22;
const CORRUPTION_EXPERIENCED: u8 = 23;

/// Bytes of a SNACK without its bit vector.
const SNACK_LEN: usize = 6;

/// Capabilities of an end of SCPS-TP. A feature is on if both ends offer it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScpsCapabilities {
    /// Offered features: the constants of this type.
    pub features: u8,
    /// Connection identifier of header compression.
    pub connection: u8,
}

impl ScpsCapabilities {
    /// Data may be given up (best-effort transport service).
    pub const BETS: u8 = 0x80;
    /// SNACKs that report one hole.
    pub const SNACK_SHORT: u8 = 0x40;
    /// SNACKs with a bit vector.
    pub const SNACK_LONG: u8 = 0x20;

    /// Whether all these features are offered.
    pub const fn has(self, features: u8) -> bool {
        self.features & features == features
    }

    /// The option.
    pub const fn encode(self) -> [u8; 4] {
        [CAPABILITIES, 4, self.features, self.connection]
    }

    /// Returns the capabilities in the options of a SYN; `None` if there are none, or the options are malformed.
    /// Extended bindings are skipped.
    pub fn decode(options: &[u8]) -> Option<Self> {
        let mut found = None;
        for option in Walk(options) {
            if let (CAPABILITIES, &[features, connection, ..]) = option? {
                found = Some(Self { features, connection });
            }
        }
        found
    }
}

/// A negative acknowledgement. Offsets and sizes are in units of the segment size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SnackOption {
    /// Units from the acknowledged byte to the hole, rounded down.
    pub offset: u16,
    /// Units of the hole, rounded up.
    pub size: u16,
    /// Units beyond this hole; empty in the short form.
    pub beyond: BitVector,
}

/// Units of data after a hole, in order: whether each has arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BitVector {
    bytes: [u8; Self::BYTES_MAX],
    len: u8,
}

impl BitVector {
    /// The longest one.
    pub const BYTES_MAX: usize = 24;

    /// Unit `at` has arrived; beyond the longest vector nothing happens.
    pub fn set(&mut self, at: usize) {
        // The first unit is the highest bit of the first byte.
        if let Some(byte) = self.bytes.get_mut(at / 8) {
            *byte |= 0x80 >> (at % 8);
            self.len = self.len.max(at as u8 / 8 + 1);
        }
    }

    /// Whether unit `at` has arrived.
    pub fn has(&self, at: usize) -> bool {
        self.bytes.get(at / 8).is_some_and(|byte| byte & 0x80 >> (at % 8) != 0)
    }

    /// The number of units up to the last unit that arrived. The vector does not cover later units.
    pub fn units(&self) -> usize {
        let last = self.as_bytes().iter().rposition(|byte| *byte != 0);
        last.map_or(0, |at| 8 * (at + 1) - self.bytes[at].trailing_zeros() as usize)
    }

    /// Returns the bytes of the option.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        let len = bytes.len().min(Self::BYTES_MAX);
        let mut vector = Self { len: len as u8, ..Self::default() };
        vector.bytes[..len].copy_from_slice(&bytes[..len]);
        vector
    }
}

/// The options of SCPS-TP on an ACK or on data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScpsOptions {
    /// The missing data.
    pub snack: Option<SnackOption>,
    /// Packets of the peer arrived corrupted.
    pub corruption_experienced: bool,
    /// A record ends with the data of this segment.
    pub record_boundary: bool,
}

impl ScpsOptions {
    /// The longest encoding.
    pub const LEN_MAX: usize = (SNACK_LEN + BitVector::BYTES_MAX + 4).next_multiple_of(4);

    /// Bytes in the header, padded to words.
    pub fn header_len(&self) -> u8 {
        let snack = self.snack.map_or(0, |snack| SNACK_LEN + snack.beyond.as_bytes().len());
        let corruption = if self.corruption_experienced { 2 } else { 0 };
        let boundary = if self.record_boundary { 2 } else { 0 };
        (snack + corruption + boundary).next_multiple_of(4) as u8
    }

    /// Drops the end of the SNACK's bit vector, or the SNACK, to fit `room` bytes. Returns whether any option is left.
    pub(crate) fn fit(&mut self, room: usize) -> bool {
        let others = 2 * (usize::from(self.corruption_experienced) + usize::from(self.record_boundary));
        self.snack = self.snack.take().filter(|_| SNACK_LEN + others <= room);
        if let Some(snack) = &mut self.snack {
            let left = snack.beyond.as_bytes().len().min(room - SNACK_LEN - others);
            snack.beyond = BitVector::from_bytes(&snack.beyond.as_bytes()[..left]);
        }
        *self != Self::default()
    }

    /// The options, padded with NOPs; the first [`header_len`](Self::header_len) bytes count.
    pub fn encode(&self) -> [u8; Self::LEN_MAX] {
        let mut bytes = [NOP; Self::LEN_MAX];
        let mut at = 0;
        let mut put = |part: &[u8]| {
            bytes[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        };
        if let Some(snack) = &self.snack {
            let vector = snack.beyond.as_bytes();
            put(&[SNACK, (SNACK_LEN + vector.len()) as u8]);
            put(&snack.offset.to_be_bytes());
            put(&snack.size.to_be_bytes());
            put(vector);
        }
        if self.corruption_experienced {
            put(&[CORRUPTION_EXPERIENCED, 2]);
        }
        if self.record_boundary {
            put(&[RECORD_BOUNDARY, 2]);
        }
        bytes
    }

    /// Returns the content of the options of a header; `None` if they are malformed. Other options are skipped, and of
    /// a longer bit vector what exceeds the longest.
    pub fn decode(options: &[u8]) -> Option<Self> {
        let mut found = Self::default();
        for option in Walk(options) {
            match option? {
                (SNACK, [o1, o0, s1, s0, vector @ ..]) => {
                    found.snack = Some(SnackOption {
                        offset: u16::from_be_bytes([*o1, *o0]),
                        size: u16::from_be_bytes([*s1, *s0]),
                        beyond: BitVector::from_bytes(vector),
                    });
                }
                (SNACK, _) => return None,
                (CORRUPTION_EXPERIENCED, []) => found.corruption_experienced = true,
                (RECORD_BOUNDARY, []) => found.record_boundary = true,
                _ => {}
            }
        }
        Some(found)
    }
}

/// Options with their kinds, without padding; none: the rest makes no sense.
struct Walk<'a>(&'a [u8]);

impl<'a> Iterator for Walk<'a> {
    type Item = Option<(u8, &'a [u8])>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (kind, rest) = match *self.0 {
                [] | [END, ..] => return None,
                [NOP, ref rest @ ..] => {
                    self.0 = rest;
                    continue;
                }
                [kind, ref rest @ ..] => (kind, rest),
            };
            let len = rest.first().map_or(0, |len| usize::from(*len));
            if len < 2 || rest.len() + 1 < len {
                self.0 = &[];
                return Some(None);
            }
            self.0 = &rest[len - 1..];
            return Some(Some((kind, &rest[1..len - 1])));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(options: &ScpsOptions) -> Vec<u8> {
        options.encode()[..usize::from(options.header_len())].to_vec()
    }

    /// `docs/specs/scps-tp.md`, test 1.
    #[test]
    fn a_snack_is_padded_to_eight_bytes() {
        let snack = SnackOption { offset: 0, size: 2, beyond: BitVector::default() };
        let options = ScpsOptions { snack: Some(snack), ..ScpsOptions::default() };
        assert_eq!(written(&options), [0x15, 6, 0, 0, 0, 2, 1, 1]);
        let both = ScpsOptions { corruption_experienced: true, ..options };
        assert_eq!(written(&both), [0x15, 6, 0, 0, 0, 2, 0x17, 2]);
        let alone = ScpsOptions { corruption_experienced: true, ..ScpsOptions::default() };
        assert_eq!(written(&alone), [0x17, 2, 1, 1]);
        assert_eq!(written(&ScpsOptions { record_boundary: true, ..ScpsOptions::default() }), [0x16, 2, 1, 1]);
        let all = ScpsOptions { record_boundary: true, ..both };
        assert_eq!(written(&all), [0x15, 6, 0, 0, 0, 2, 0x17, 2, 0x16, 2, 1, 1]);
        assert_eq!(written(&ScpsOptions::default()), [0u8; 0]);
    }

    #[test]
    fn the_long_form_has_a_bit_for_each_unit_beyond_the_hole() {
        let mut beyond = BitVector::default();
        [0, 1, 9].iter().for_each(|at| beyond.set(*at));
        assert_eq!((beyond.units(), beyond.has(1), beyond.has(2), beyond.has(1000)), (10, true, false, false));
        let options = ScpsOptions {
            snack: Some(SnackOption { offset: 258, size: 3, beyond }),
            corruption_experienced: true,
            record_boundary: false,
        };
        assert_eq!(written(&options), [0x15, 8, 1, 2, 0, 3, 0b1100_0000, 0b0100_0000, 0x17, 2, 1, 1]);
        beyond.set(8 * BitVector::BYTES_MAX);
        assert_eq!(beyond.units(), 10, "there is no such unit");
    }

    #[test]
    fn capabilities_are_found_among_other_options() {
        let offered =
            ScpsCapabilities { features: ScpsCapabilities::SNACK_SHORT | ScpsCapabilities::BETS, connection: 7 };
        assert_eq!(offered.encode(), [0x14, 4, 0xc0, 7]);
        assert!(offered.has(ScpsCapabilities::SNACK_SHORT) && !offered.has(ScpsCapabilities::SNACK_LONG));
        // MSS, NOP, and one with two extended bindings.
        let longer = [2, 4, 5, 0xb4, 1, 0x14, 6, 0xc0, 7, 0x12, 0x34, 0, 9];
        assert_eq!(ScpsCapabilities::decode(&longer), Some(offered));
        assert_eq!(ScpsCapabilities::decode(&[2, 4, 5, 0xb4]), None);
        assert_eq!(ScpsCapabilities::decode(&[0x14, 3, 0xc0]), None);
    }

    #[test]
    fn nonsense_is_no_option() {
        for bytes in [&[0x15][..], &[0x15, 0], &[0x15, 1], &[0x15, 6, 0, 0, 0], &[0x15, 5, 0, 0, 0], &[9, 200]] {
            assert_eq!(ScpsOptions::decode(bytes), None, "{bytes:?}");
        }
        assert_eq!(ScpsOptions::decode(&[0, 0x15]), Some(ScpsOptions::default()), "after the end there is nothing");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            if let Some(options) = ScpsOptions::decode(&bytes) {
                prop_assert_eq!(ScpsOptions::decode(&written(&options)), Some(options));
            }
            let _ = ScpsCapabilities::decode(&bytes);
        }

        #[test]
        fn what_is_written_is_read(
            hole in proptest::option::of((any::<u16>(), any::<u16>())),
            units in proptest::collection::vec(0..200usize, 0..20),
            (corruption_experienced, record_boundary) in any::<(bool, bool)>(),
        ) {
            let mut beyond = BitVector::default();
            units.iter().for_each(|at| beyond.set(*at));
            let snack = hole.map(|(offset, size)| SnackOption { offset, size, beyond });
            let options = ScpsOptions { snack, corruption_experienced, record_boundary };
            prop_assert_eq!(ScpsOptions::decode(&written(&options)), Some(options));
            prop_assert_eq!(options.header_len() % 4, 0);
            for at in 0..200 {
                prop_assert_eq!(beyond.has(at), at < 192 && units.contains(&at));
            }
        }
    }
}
