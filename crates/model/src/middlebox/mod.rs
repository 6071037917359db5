//! Middleboxes: functions inside the network, on board or at a gateway. Their *place* is a property of the node.
//!
//! A middlebox receives each packet that passes its node, in both directions, including packets of the node's hosts. It
//! acts through a [`Context`]. It may read and rewrite headers, forward, hold, drop, consume or return packets, make
//! new packets, look into the queue that it feeds, and schedule its own wakeup. Nodes run their middleboxes in order:
//! packets of a flow's direction meet them first to last, those of the other direction last to first.
//!
//! | room | its middleboxes |
//! |---|---|
//! | `proxy` | split connections, or keep copies of data and repair losses |
//! | `window` | set the window or the rate of senders |
//! | `reports` | report corrupted packets to senders |
//! | `coding` | work in pairs: erasure codes and compressed headers |
//! | `acks` | remove and restore acknowledgements |
//!
//! A new middlebox is one file in its room, its lines here and one in `crates/sim/tests/trials.rs`. Its file declares its
//! settings, its line in [`registry!`] its effects on connections and its needs.

#[macro_use]
mod registry;

mod context;
mod contract;
mod impair;
mod needs;
mod own;
mod sessions;

mod proxy {
    pub(super) mod cache;
    mod copies;
    mod copying;
    mod hop;
    pub(super) mod satpep;
    pub(super) mod snoop;
    pub(super) mod splice;
    pub(super) mod split;
    pub(super) mod spoof;
}
mod window {
    pub(super) mod ewa;
    pub(super) mod freeze;
    pub(super) mod rcp;
    pub(super) mod refwa;
    mod seen;
    pub(super) mod xcp;
}
mod reports {
    pub(super) mod been;
    pub(super) mod dpsm;
    pub(super) mod eln;
    pub(super) mod eten;
    mod flows;
}
mod coding {
    pub(super) mod compress;
    pub(super) mod erasure;
    mod served;
}
mod acks {
    pub(super) mod filter;
    pub(super) mod reconstruct;
}

pub use acks::filter::{replace_waiting, AckFilter, AckFilterConfig, Place};
pub use acks::reconstruct::{AckReconstruct, AckReconstructConfig};
pub use coding::compress::Compress;
pub use coding::compress::{CompressConfig, HeaderScheme, PackRole};
pub use coding::erasure::Erasure;
pub use coding::erasure::{CodeOrder, CodeRole, ErasureCode, ErasureConfig};
#[cfg(test)]
pub(crate) use context::Bench;
pub use context::{Action, Outbox, Outlook};
pub use context::{Context, LinkView, QueueView, Side};
pub use contract::{Middlebox, Way, HELD_MAX};
pub use impair::{Impair, ImpairConfig};
pub use needs::{Need, Unsuitable};
pub use own::{Maker, Own, OwnConfig};
pub use proxy::cache::{Cache, CacheConfig};
pub use proxy::satpep::{SatPep, SatPepConfig};
pub use proxy::snoop::{Snoop, SnoopConfig};
pub use proxy::splice::{Accept, Carrier, Splicer, SplitConfig, LISTENER, OPENER};
pub use proxy::split::Split;
pub use proxy::spoof::{Spoof, SpoofConfig};
pub use reports::been::Been;
pub use reports::been::{BeenConfig, Cold, EwmaStart, MleUnit, Role};
pub use reports::dpsm::{Dpsm, DpsmConfig};
pub use reports::eln::{Eln, ElnConfig};
pub use reports::eten::{Eten, EtenConfig, EtenRole, NoticeKind};
pub use window::ewa::{Ewa, EwaConfig};
pub use window::freeze::{Freeze, FreezeConfig};
pub use window::rcp::{Rcp, RcpConfig};
pub use window::refwa::{Counted, Refwa, RefwaConfig, RoundTrips};
pub use window::xcp::{Xcp, XcpConfig};

pub use crate::packet::{Label, Records};
use needs::{positive, Effect, Effect::*, Need::*};

registry! {
    /// Duplicates packets and holds some at random, so that others overtake them.
    "impair" => Impair(Impair, ImpairConfig) in "impair.rs", [], |_| vec![], ImpairConfig::unsuitable;
    /// Removes obsolete acknowledgements from the queue in front of a slow link (RFC 3449 §5.2.1).
    "ack-filter" => AckFilter(AckFilter, AckFilterConfig) in "acks/filter.rs", [], |filter| vec![Reads, Passes(filter.direction)];
    /// Limits the window in returning acknowledgements to the capacity of link and path, in proportion to round trips (Taleb, Kato and Nemoto 2006).
    "refwa" => Refwa(Refwa, RefwaConfig) in "window/refwa.rs", [KnowsOnePath], |_| vec![Reads, BothWays, LinkRate];
    /// Limits the window in returning acknowledgements by the free room of a queue (Kalampoukas, Varma and Ramakrishnan 2002).
    "ewa" => Ewa(Ewa, EwaConfig) in "window/ewa.rs", [KnowsOnePath], |_| vec![Reads, BothWays];
    /// Replaces an acknowledgement of many segments by several, behind a filter or a slow link (RFC 3449 §5.2.3).
    "ack-reconstruct" => AckReconstruct(AckReconstruct, AckReconstructConfig) in "acks/reconstruct.rs", [KnowsOnePath], |acks| vec![Reads, Passes(acks.direction)], |own| positive("idle", own.idle);
    /// Splits connections: two real ones back to back, each with its own transport (RFC 3135 §2.4).
    "split" => Split(Split, SplitConfig) in "proxy/split.rs", [Acknowledges, Resets, KnowsOnePath], |_| vec![Reads, BothWays], |own| positive("idle", own.idle);
    /// Stores answers, and serves repeated requests for the same object (a cache, on board or at a gateway).
    "cache" => Cache(Cache, CacheConfig) in "proxy/cache.rs", [Acknowledges, Resets, KnowsOnePath], |_| vec![Reads, BothWays, Requests], CacheConfig::unsuitable;
    /// Acknowledges data early, keeps copies, and repairs losses behind it (RFC 3135 §3.1.3).
    "spoof" => Spoof(Spoof, SpoofConfig) in "proxy/spoof.rs", [Acknowledges, KnowsOnePath], |_| vec![Reads, BothWays], |own| positive("idle", own.idle);
    /// One of two gateways that split connections and run a separate protocol between them (Velenis et al. 2002).
    "satpep" => SatPep(SatPep, SatPepConfig) in "proxy/satpep.rs", [Acknowledges, Resets, KnowsOnePath], |_| vec![Reads, BothWays], SatPepConfig::unsuitable;
    /// Keeps copies of data in front of a lossy link, and repairs losses that duplicate acknowledgements report (Balakrishnan et al. 1995).
    "snoop" => Snoop(Snoop, SnoopConfig) in "proxy/snoop.rs", [KnowsOnePath], |_| vec![Reads, BothWays], |own| positive("idle", own.idle);
    /// Holds data and closes senders' windows during an outage of the link, which then does not look like congestion (M-TCP; RFC 3135 §3.2.2).
    "freeze" => Freeze(Freeze, FreezeConfig) in "window/freeze.rs", [KnowsOnePath], |_| vec![Reads, BothWays], |own| positive("idle", own.idle);
    /// Reports packets that the uplink corrupts to their source, and estimates its error rate (BEEN): a satellite or its gateway.
    "been" => Been(Been, BeenConfig) in "reports/been/mod.rs", [], BeenConfig::needs;
    /// Marks duplicate acknowledgements that ask for corrupted segments (ELN).
    "eln" => Eln(Eln, ElnConfig) in "reports/eln.rs", [], |_| vec![Corrupted("kind")];
    /// Notifies sources of corrupted packets, backward or forward, or of the probability to survive (ETEN, CETEN).
    "eten" => Eten(Eten, EtenConfig) in "reports/eten.rs", [], EtenConfig::needs;
    /// Adapts the packet sizes of senders to the corrupted arrivals (DPSM).
    "dpsm" => Dpsm(Dpsm, DpsmConfig) in "reports/dpsm.rs", [], |_| vec![Corrupted("kind")];
    /// Sets the window change of each sender with XCP (Katabi, Handley and Rohrs 2002).
    "xcp" => Xcp(Xcp, XcpConfig) in "window/xcp.rs", [KnowsOnePath], |_| vec![Reads, LinkRate];
    /// Sets one rate for all senders with RCP (Dukkipati 2007).
    "rcp" => Rcp(Rcp, RcpConfig) in "window/rcp.rs", [KnowsOnePath], |_| vec![Reads, LinkRate];
    /// One of two middleboxes with an erasure code between them: repair packets, k of n or rateless (RFC 5510, RFC 5053).
    "erasure" => Erasure(Erasure, ErasureConfig) in "coding/erasure.rs", [], |_| vec![Reads], ErasureConfig::unsuitable;
    /// One of two middleboxes that compress TCP headers on the links between them (RFC 1144, RFC 2507, RFC 6846).
    "compress" => Compress(Compress, CompressConfig) in "coding/compress.rs", [KnowsOnePath], |_| vec![Reads], CompressConfig::unsuitable;
    /// A custom middlebox, registered by the program that runs the scenario: a class in Python, or a type in Rust.
    "own" => Own(Own, OwnConfig) in "own.rs", [Resets], |_| vec![];
}
