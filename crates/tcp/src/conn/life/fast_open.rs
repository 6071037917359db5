//! Data in the SYN (RFC 7413). The client sends data with a cookie that it got from the server earlier. The server
//! accepts the data and may answer before the handshake is complete, which saves a round trip. T/TCP's early data are
//! kept here, too.

use crate::config::FastOpen;
use crate::segment::{CountOption, FastOpenOption, Flags, Options, Segment, SynOptions};

/// Fast Open on a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FastOpenState {
    /// Client: the cookie to show. None: ask for one.
    pub(crate) cookie: Option<[u8; 8]>,
    /// Client: the server's MSS option, from an earlier connection or this one.
    pub(crate) mss: Option<u16>,
    /// Client: a SYN with data was lost lately, perhaps because of the data.
    pub(crate) is_avoided: bool,
    /// Client: payload bytes that the SYN carried, and one for a FIN.
    pub(crate) sent: u64,
    /// Client: the SYN with data got no answer in time.
    pub(crate) has_failed: bool,
    /// Client: the cookie that the SYN-ACK brought.
    pub(crate) granted: Option<[u8; 8]>,
    /// Server: the cookie was right, or the connection count was new.
    pub(crate) is_accepted: bool,
    /// Server: the option of the SYN.
    asked: FastOpenOption,
}

impl FastOpenState {
    pub(super) fn new(config: Option<FastOpen>) -> Self {
        let cookie = config.filter(|fast_open| fast_open.is_known).map(|fast_open| fast_open.cookie);
        Self { cookie, ..Self::default() }
    }

    /// The option of the SYN-ACK that is sent next.
    pub(super) fn answer(&self, config: Option<FastOpen>) -> FastOpenOption {
        match (config, self.asked) {
            (None, _) | (_, FastOpenOption::None) => FastOpenOption::None,
            (Some(config), FastOpenOption::Cookie(cookie)) if cookie == config.cookie => FastOpenOption::None,
            (Some(config), _) => FastOpenOption::Cookie(config.cookie),
        }
    }

    /// The option of the SYN that is sent next; none on a SYN that got no answer before (RFC 7413 §4.1.3.1).
    pub(super) fn request(&self, config: Option<FastOpen>, is_first: bool) -> FastOpenOption {
        if config.is_none() || !is_first || self.is_avoided {
            return FastOpenOption::None;
        }
        self.cookie.map_or(FastOpenOption::Request, FastOpenOption::Cookie)
    }

    /// Adds data to a first SYN with a cookie, or with a count that proves that it is new: as many of the `offered`
    /// bytes as fit a packet of the server's MSS. With a count it also adds the FIN, if `closes` and all data fits.
    /// Returns whether the SYN has early data.
    pub(super) fn add_early_data(&mut self, offered: u64, closes: bool, syn: &mut Segment) -> bool {
        let has_count = match syn.options {
            Options::Syn(SynOptions { fast_open: FastOpenOption::Cookie(_), .. }) => false,
            Options::Syn(SynOptions { count: CountOption::Count(_), .. }) => true,
            _ => return false,
        };
        self.sent = offered.min(self.room(syn));
        syn.len = self.sent as u16;
        if has_count && closes && self.sent == offered {
            self.sent += 1;
            syn.flags = syn.flags.with(Flags::FIN);
        }
        true
    }

    /// Payload that a packet of the peer's MSS has room for beside the header of this SYN.
    pub(super) fn room(&self, syn: &Segment) -> u64 {
        let Options::Syn(SynOptions { mss, .. }) = syn.options else { return 0 };
        let packet = 40 + u64::from(self.mss.map_or(mss, |known| known.min(mss)));
        packet.saturating_sub(syn.header_len().into())
    }

    /// Client: a SYN-ACK arrived.
    pub(crate) fn on_syn_ack(&mut self, options: Options) {
        if let Options::Syn(SynOptions { mss, fast_open, .. }) = options {
            self.mss = Some(mss);
            if let FastOpenOption::Cookie(cookie) = fast_open {
                self.granted = Some(cookie);
            }
        }
    }

    /// Server: a SYN arrived. True: with the right cookie, so that its data are taken and sending may begin.
    pub(crate) fn on_syn(&mut self, config: Option<FastOpen>, syn: &Segment) -> bool {
        let (Some(config), Options::Syn(options)) = (config, syn.options) else { return false };
        self.asked = options.fast_open;
        self.is_accepted = options.fast_open == FastOpenOption::Cookie(config.cookie);
        self.is_accepted
    }
}
