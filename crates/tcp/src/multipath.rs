//! The multipath option of a segment (RFC 8684 §3).
//!
//! A connection has no keys, tokens and hashes: the code that writes segments as bytes adds them. Positions in the data
//! of the whole multipath connection are numbers of 32 bits, as usual on the wire. Here the first byte has number 0.

use bentpipe_units::Seq;

/// The multipath option of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Multipath {
    /// MP_CAPABLE: the first subflow opens a multipath connection (RFC 8684 §3.1). Behind the SYN it has the keys of both ends; with
    /// data, it maps them: they are the first.
    Capable,
    /// MP_JOIN: another subflow joins it (RFC 8684 §3.2).
    Join {
        /// Identifier of the address that it joins from: the number of the subflow.
        id: u8,
        /// Whether it is used only if no other subflow is usable.
        is_backup: bool,
    },
    /// DSS: data acknowledgement and mapping (RFC 8684 §3.3).
    Dss(Dss),
    /// DSS with an infinite mapping: from its number on, the data are the bytes of the subflow, without options (RFC 8684 §3.7).
    Infinite(Dss),
    /// ADD_ADDR: the peer may open a subflow to this address (RFC 8684 §3.4.1).
    AddAddress {
        /// Identifier of the address.
        id: u8,
        /// Whether it is the echo of an ADD_ADDR of the peer.
        is_echo: bool,
    },
    /// REMOVE_ADDR: the address is gone. Its subflow ends if its path does not answer (RFC 8684 §3.4.2).
    RemoveAddress(u8),
    /// MP_PRIO: whether the subflow is used only if no other is usable (RFC 8684 §3.3.8).
    Priority {
        /// Whether it is a backup from now on.
        is_backup: bool,
    },
    /// MP_FASTCLOSE: the multipath connection is given up (RFC 8684 §3.5).
    FastClose,
    /// MP_TCPRST: why the subflow is reset (RFC 8684 §3.6).
    Reset(SubflowReset),
}

/// Reason for the reset of a subflow, with its code (RFC 8684 §3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetReason {
    /// The subflow is no longer available.
    Unspecified = 0,
    /// Multipath signals are wrong or missing where they are required.
    Signals = 1,
    /// Someone on the path takes the options away.
    Middlebox = 6,
}

/// The reset of a subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubflowReset {
    /// Why.
    pub reason: ResetReason,
    /// Whether the peer may join again over this path later (flag T).
    pub is_transient: bool,
}

impl SubflowReset {
    /// The path does not answer any more.
    pub const SILENT: Self = Self { reason: ResetReason::Unspecified, is_transient: true };

    /// A reset for this reason, which stays.
    #[must_use]
    pub const fn permanent(reason: ResetReason) -> Self {
        Self { reason, is_transient: false }
    }
}

/// Data sequence signal: the data that arrived, and the data that a segment carries (RFC 8684 §3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Dss {
    /// Everything below has arrived (DATA_ACK). A DATA_FIN counts as a byte.
    pub data_ack: Seq,
    /// Number of the first byte of payload (DSN); with `is_fin` and without payload, that of the DATA_FIN.
    pub dsn: Seq,
    /// Bytes that are mapped: the payload of the segment. 0: no mapping.
    pub len: u16,
    /// Whether the data end behind this mapping (DATA_FIN, RFC 8684 §3.3.3).
    pub is_fin: bool,
}

impl Dss {
    /// The number of the byte at this offset in the data.
    #[must_use]
    pub const fn number(offset: u64) -> Seq {
        Seq::new(0).at(offset)
    }

    /// The offset in the data of the byte with this number, which is near this one.
    #[must_use]
    pub const fn offset(number: Seq, near: u64) -> u64 {
        number.offset_near(Seq::new(0), near)
    }

    /// Bytes of the option with DATA_ACK and mapping, padded to words: numbers of 4 bytes, no checksum.
    pub const LEN: u8 = 20;
    /// Bytes of the option with DATA_ACK only.
    pub const ACK_LEN: u8 = 8;
    /// Bytes of MP_CAPABLE with data, beyond those of this option.
    pub(crate) const FIRST_EXTRA: u8 = 4;
}

impl Multipath {
    /// Returns the data that a segment behind the SYN with `len` bytes of payload carries, if the option maps them.
    pub(crate) fn mapping(self, len: u16) -> Option<Dss> {
        match self {
            Self::Dss(dss) => Some(dss),
            Self::Capable if len > 0 => Some(Dss { len, ..Dss::default() }),
            _ => None,
        }
    }

    /// Returns the bytes of the option in a header, padded to words (RFC 8684, figures 4 to 17). A handshake's option grows with
    /// its steps: `is_syn`, `is_ack` and `has_data` are those of the segment.
    pub(crate) const fn header_len(self, is_syn: bool, is_ack: bool, has_data: bool) -> u8 {
        match (self, is_syn, is_ack) {
            (Self::Capable, true, false) => 4,
            (Self::Capable, true, true) | (Self::Join { .. }, true, false) => 12,
            (Self::Join { .. }, true, true) => 16,
            (Self::Capable, false, _) if has_data => Dss::LEN + Dss::FIRST_EXTRA,
            (Self::Capable, false, _) => 20,
            (Self::Join { .. }, false, _) => 24,
            (Self::Dss(Dss { len: 0, is_fin: false, .. }), ..) => Dss::ACK_LEN,
            (Self::Dss(_) | Self::Infinite(_), ..) => Dss::LEN,
            (Self::AddAddress { is_echo: false, .. }, ..) => 16,
            (Self::AddAddress { is_echo: true, .. }, ..) => 8,
            (Self::RemoveAddress(_) | Self::Priority { .. } | Self::Reset(_), ..) => 4,
            (Self::FastClose, ..) => 12,
        }
    }
}
