//! Data in the SYN (RFC 7413). The client shows a cookie that the server gave it earlier and sends data along; the server
//! takes them and may answer before the handshake is complete. One round trip is saved, as T/TCP (RFC 1644) wanted.

use super::state::State;
use super::{Connection, Role};
use crate::config::FastOpen;
use crate::segment::{FastOpenOption, Options, Segment, SynOptions};
use bentpipe_units::{Seq, Time};

/// What Fast Open knows of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Opening {
    /// Client: what to show. None: ask for one.
    pub(super) cookie: Option<[u8; 8]>,
    /// Client: the server's MSS option, from an earlier connection.
    pub(super) mss: Option<u16>,
    /// Client: a SYN with data was lost lately, perhaps because of the data.
    pub(super) is_avoided: bool,
    /// Client: payload bytes that the SYN carried.
    pub(super) sent: u64,
    /// Client: the SYN with data got no answer in time.
    pub(super) has_failed: bool,
    /// Client: the cookie that the SYN-ACK brought.
    pub(super) granted: Option<[u8; 8]>,
    /// Server: the cookie was right.
    pub(super) is_accepted: bool,
    /// Server: what the SYN asked for.
    asked: FastOpenOption,
    /// Server: its driver has too many of these already.
    refuses: bool,
}

impl Opening {
    pub(super) fn new(config: Option<FastOpen>) -> Self {
        let cookie = config.filter(|fast_open| fast_open.is_known).map(|fast_open| fast_open.cookie);
        Self { cookie, ..Self::default() }
    }
}

impl Connection {
    /// Whether a SYN's data may be taken (the default). A server that has as many half-open connections with early data
    /// as it wants says no (RFC 7413 §5.1).
    pub fn set_takes_early_data(&mut self, takes: bool) {
        self.opening.refuses = !takes;
    }

    /// Whether a server took data whose sender has not yet completed the handshake.
    pub fn has_early_data(&self) -> bool {
        self.opening.is_accepted && self.state == State::SynReceived
    }

    /// What earlier connections learnt: cookie and MSS of the server, and whether SYNs with data are lost.
    pub(crate) fn seed_opening(&mut self, known: Option<([u8; 8], u16)>, is_avoided: bool) {
        if let Some((cookie, mss)) = known {
            (self.opening.cookie, self.opening.mss) = (Some(cookie), Some(mss));
        }
        self.opening.is_avoided = is_avoided;
    }

    /// What this one learnt.
    pub(crate) fn opening_learnt(&self) -> (Option<([u8; 8], u16)>, bool) {
        (self.opening.granted.zip(self.opening.mss), self.opening.has_failed)
    }

    /// Whether what begins at `seq` was in the SYN.
    pub(super) fn is_early(&self, seq: Seq) -> bool {
        seq.offset_near(self.iss.at(1), self.snd_una) < self.opening.sent
    }

    /// The Fast Open option of the SYN or SYN-ACK that is sent next.
    pub(super) fn fast_open_option(&self, is_answer: bool) -> FastOpenOption {
        let Some(config) = self.config.fast_open else { return FastOpenOption::None };
        match (is_answer, self.opening.asked) {
            (true, FastOpenOption::None) => FastOpenOption::None,
            (true, FastOpenOption::Cookie(cookie)) if cookie == config.cookie => FastOpenOption::None,
            (true, _) => FastOpenOption::Cookie(config.cookie),
            // RFC 7413 §4.1.3.1: a SYN that got no answer is sent again without.
            (false, _) if self.syn_resends > 0 || self.opening.is_avoided || self.role == Role::Passive => {
                FastOpenOption::None
            }
            (false, _) => self.opening.cookie.map_or(FastOpenOption::Request, FastOpenOption::Cookie),
        }
    }

    /// A first SYN with a cookie takes as much along as fits a packet of the server's MSS.
    pub(super) fn add_early_data(&mut self, now: Time, syn: &mut Segment) {
        let Options::Syn(SynOptions { mss, fast_open: FastOpenOption::Cookie(_), .. }) = syn.options else { return };
        if self.state != State::SynSent {
            return;
        }
        let packet = 40 + u64::from(self.opening.mss.map_or(mss, |known| known.min(mss)));
        self.opening.sent = self.offered.min(packet.saturating_sub(syn.header_len().into()));
        syn.len = self.opening.sent as u16;
        self.counters.sent_bytes += self.opening.sent;
        self.last_sent = now;
    }

    /// Client: a SYN-ACK arrived. What it acknowledges beyond the SYN has arrived; the rest is sent again at once, and
    /// that is no loss (RFC 7413 §4.2.2). False: it acknowledges what was never sent.
    pub(super) fn accept_syn_ack(&mut self, segment: &Segment) -> bool {
        let first = self.iss.at(1);
        let acked = segment.ack.offset_near(first, 0);
        if first.at(acked) != segment.ack || acked > self.opening.sent {
            return false;
        }
        self.snd_una = acked;
        self.snd_nxt = acked;
        if let Options::Syn(SynOptions { mss, fast_open, .. }) = segment.options {
            self.opening.mss = Some(mss);
            if let FastOpenOption::Cookie(cookie) = fast_open {
                self.opening.granted = Some(cookie);
            }
        }
        true
    }

    /// Server: a SYN arrived. With the right cookie its data are taken and sending may begin.
    pub(super) fn open_fast(&mut self, now: Time, syn: &Segment) {
        let (Some(config), Options::Syn(options)) = (self.config.fast_open, syn.options) else { return };
        self.opening.asked = options.fast_open;
        if options.fast_open != FastOpenOption::Cookie(config.cookie) || self.opening.refuses {
            return;
        }
        self.opening.is_accepted = true;
        let arrival = self.receiver.on_data(now, 0, u64::from(syn.len), false);
        self.counters.arrived_bytes += u64::from(syn.len);
        self.counters.delivered_bytes += arrival.delivered;
        self.begin_sending(now);
    }
}
