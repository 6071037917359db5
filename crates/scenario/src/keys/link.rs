//! Tables of links and of their directions.

use super::{DelayProfile, Errors, Jitters, OutageKeys, RateProfile};
use bentpipe_model::spec::{
    Arq, Coding, Framing, Interleave, LimitOrKind, Mtu, Queue, QueueLimit, Signal, Slots, TerminalAccess, TokenBucket,
};
use bentpipe_units::settings;
use bentpipe_units::settings::{Include, Overrides};

settings! {
    /// Link between two nodes. The forward direction leads from `from` to `to`, the reverse direction back.
    #[derive(Clone, Debug)]
    pub(crate) struct Link {
        /// Node at one end. May contain `{n}` if `count` is set.
        from: String;
        /// Node at the other end. May contain `{n}` if `count` is set.
        to: String;
        /// Number of links that the entry creates, with 1, 2, ... for `{n}` in `from`, `to` and the name. Names without
        /// `{n}` get the number as a suffix. Default: one link without a number.
        count: Option<u32>, [1, 1_000_000];
        /// Bit rate, constant or variable. Required here or in both directions, except in a
        /// medium.
        rate: Option<RateProfile>;
        /// Propagation delay of one direction, constant or variable. Required here or in both directions.
        delay: Option<DelayProfile>;
        /// Keys that a direction may override.
        keys: LinkKeys as Include = LinkKeys::default();
        /// Keys of the direction from `from` to `to`.
        forward: Direction = Direction::default();
        /// Keys of the direction from `to` to `from`.
        reverse: Direction = Direction::default();
    }
}

settings! {
    /// One direction of a link. Its keys override those of the link.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Direction {
        /// Bit rate of this direction.
        rate: Option<RateProfile> = None;
        /// Propagation delay of this direction.
        delay: Option<DelayProfile> = None;
        /// Other keys.
        keys: LinkKeys as Overrides = LinkKeys::default();
    }
}

settings! {
    /// Keys of a link, of its directions and of the links of a sky.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct LinkKeys {
        /// Medium that the link shares. It replaces `rate`. Default: none; the link has its own rate.
        medium: Option<String> = None;
        /// Capacity of the link in its medium. In a `leo-cell`: only `weight`.
        access: Option<TerminalAccess> = None;
        /// Energy per symbol over noise density in a medium of kind `mf-tdma` or `tdm`.
        es_n0: Option<Signal> = None;
        /// Variable delays besides the propagation delay. Several of them add up. Default: none.
        jitter: Option<Jitters> = None;
        /// Slots with their own delays, losses and rate, drawn from measured ones. Default: none.
        slots: Option<Slots> = None;
        /// Token bucket that drops arriving packets beyond its rate (`policed`). Default: none.
        policer: Option<TokenBucket> = None;
        /// Token bucket that delays packets beyond its rate. They wait in the queue. Default: none.
        shaper: Option<TokenBucket> = None;
        /// Queue before the link. A packet in transmission does not count against its limit. A bdp is the most that the
        /// link or its shaper carries in full packets, without framing, during the largest propagation round trip of the
        /// flows over the link. It is at least one full packet.
        queue: Queue as LimitOrKind = Queue::DropTail { limit: QueueLimit::ONE_BDP }, "rule of thumb, Villamizar and Song 1994";
        /// Error model, which corrupts packets.
        error: Errors = Errors::None;
        /// Interleaving, which spreads errors over time and corrects some. Default: none.
        interleave: Option<Interleave> = None;
        /// Forward error correction, which protects bits and takes a part of the rate. Default: none.
        coding: Option<Coding> = None;
        /// Link-layer retransmission of damaged packets. Default: none.
        arq: Option<Arq> = None;
        /// Bytes on the link besides the packet: headers, trailers, padding, cells. `coding` protects them, too.
        framing: Framing = Framing::None;
        /// Largest packet that the link carries. Default: no limit.
        mtu: Option<Mtu> = None;
        /// Times when the link is down. Default: none.
        outage: Option<OutageKeys> = None;
    }
}
