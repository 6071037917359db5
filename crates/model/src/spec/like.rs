//! Hosts that flows behave like.

use bentpipe_units::words;

words! {
    /// Hosts whose transport a flow can have.
    pub enum Like {
        /// The RFCs, and the reproduced papers where RFCs say nothing.
        "rfc" => Rfc,
        /// Linux 6 with a socket without pacing, measured against a kernel.
        "linux-6" => Linux6,
        /// Linux 6 with paced sockets, as with the queueing discipline fq.
        "linux-6-paced" => Linux6Paced,
        /// The senders of ns-2.35.
        "ns-2" => Ns2,
        /// Windows 11, as far as Microsoft documents it.
        "windows-11" => Windows11,
        /// FreeBSD 14, by its release notes, manual and source.
        "freebsd-14" => FreeBsd14,
    }
}

words! {
    /// Limits of buffers that a host tunes itself.
    pub enum Buffers {
        /// Limits of the system as installed. Linux 6: 6 MiB to receive, 4 MiB to send.
        "stock" => Stock,
        /// 64 MiB to receive and to send, as an operator sets them for long paths.
        "raised" => Raised,
    }
}

impl Like {
    /// Host of a scenario that names none.
    pub const TODAYS: Self = Self::Linux6;

    /// Returns its usual name.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Rfc => "RFC defaults",
            Self::Linux6 => "Linux 6",
            Self::Linux6Paced => "Linux 6 with pacing",
            Self::Ns2 => "ns-2",
            Self::Windows11 => "Windows 11",
            Self::FreeBsd14 => "FreeBSD 14",
        }
    }
}
