//! Middleboxes: functions inside the network, on board or at a gateway. Their *place* is a property of the node.
//!
//! A middlebox receives each packet that passes its node, in both directions, including packets of the node's hosts. It
//! acts through a [`Context`]. It may read and rewrite headers, forward, hold, drop, consume or return packets, make
//! new packets, look into the queue that it feeds, and schedule its own wakeup. Nodes run their middleboxes in order:
//! packets of a flow's direction meet them first to last, those of the other direction last to first.
//!
//! A new middlebox is one file here, one line in [`registry!`] below and one in `trials.rs`. Its file declares its
//! settings, its line its needs.

mod ack_filter;
mod ack_reconstruct;
mod been;
mod cache;
mod compress;
mod context;
mod copies;
mod dpsm;
mod eln;
mod erasure;
mod eten;
/// The function of the guide, which tests have.
#[cfg(test)]
pub mod every;
mod ewa;
mod flows;
mod freeze;
mod hop;
mod impair;
mod needs;
mod own;
mod rcp;
mod real;
mod refwa;
mod satpep;
mod served;
mod sessions;
mod snoop;
mod splice;
mod split;
mod spoof;
mod xcp;
#[cfg(test)]
#[macro_use]
mod trials;
#[cfg(test)]
mod suite;

pub use ack_filter::{replace_waiting, AckFilter, AckFilterConfig, Place};
pub use ack_reconstruct::{AckReconstruct, AckReconstructConfig};
pub(crate) use been::Been;
pub use been::{BeenConfig, Cold, EwmaStart, MleUnit, Role};
pub use cache::{Cache, CacheConfig};
pub(crate) use compress::Compress;
pub use compress::{CompressConfig, HeaderScheme, PackRole};
#[cfg(test)]
pub(crate) use context::Bench;
pub(crate) use context::{Action, Outbox, Outlook};
pub use context::{Context, LinkView, QueueView, Side};
pub use dpsm::{Dpsm, DpsmConfig};
pub use eln::{Eln, ElnConfig};
pub(crate) use erasure::Erasure;
pub use erasure::{CodeOrder, CodeRole, ErasureCode, ErasureConfig};
pub use eten::{Eten, EtenConfig, EtenRole, NoticeKind};
pub use ewa::{Ewa, EwaConfig};
pub use freeze::{Freeze, FreezeConfig};
pub use impair::{Impair, ImpairConfig};
pub(crate) use needs::{Need, Unsuitable};
pub use own::{Maker, Own, OwnConfig};
pub use rcp::{Rcp, RcpConfig};
pub use real::RealPackets;
pub use refwa::{Counted, Refwa, RefwaConfig, RoundTrips};
pub use satpep::{SatPep, SatPepConfig};
pub use snoop::{Snoop, SnoopConfig};
pub use splice::{Carrier, Splicer, LISTENER, OPENER};
pub use split::{Accept, Split, SplitConfig};
pub use spoof::{Spoof, SpoofConfig};
pub use xcp::{Xcp, XcpConfig};

use crate::ids::{LinkId, NodeId, PathId};
pub use crate::packet::{Label, Records};

use crate::packet::Packet;
use bentpipe_units::module_doc;
use bentpipe_units::settings::{Fields, Settings, Shape, Table, Title, Typed, Unfit, Value};
use bentpipe_units::Time;
use std::fmt::Debug;

bentpipe_units::words! {
    /// Direction of the packets that a middlebox processes.
    pub enum Way {
        /// All of them.
        "both" => Both,
        /// Packets from the flow's sender to its receiver.
        "to-receiver" => ToReceiver,
        /// Packets from the flow's receiver to its sender: acknowledgements.
        "to-sender" => ToSender,
    }
}

impl Way {
    /// Whether it includes packets from this side.
    pub fn is_from(self, side: Side) -> bool {
        match self {
            Self::Both => true,
            Self::ToReceiver => side == Side::Sender,
            Self::ToSender => side == Side::Receiver,
        }
    }
}

/// The contract of a middlebox. Every packet that it is given leaves through the context, now or later, or is counted in
/// [`held`](Self::held); a run in which one does not ends with an error that names the middlebox.
pub trait Middlebox: Debug {
    /// Reports, before the run, its node and the nodes at the far ends of the node's links, in order, with their
    /// middleboxes.
    fn meet(&mut self, _node: NodeId, _neighbours: &[(NodeId, &[MiddleboxConfig])]) {}

    /// Processes a passing packet.
    fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>);

    /// Processes a corrupted packet at a node of kind `processing`, which drops it afterwards. Its header is correct.
    fn on_corrupted(&mut self, _packet: &Packet, _cx: &mut Context<'_>) {}

    /// Processes a message to this node ([`Context::send_message`]). Returns whether it was for this middlebox.
    /// `packet` brought it and ends here.
    fn on_message(&mut self, _words: [u64; 2], _packet: &Packet, _cx: &mut Context<'_>) -> bool {
        false
    }

    /// Reports that a link out of the node has sent a packet, and has begun the next one if any waited. `queue` is the
    /// state after that. Called if [`watches_queues`](Self::watches_queues) returns true.
    fn on_departure(&mut self, _link: LinkId, _queue: QueueView, _cx: &mut Context<'_>) {}

    /// Whether it needs [`on_departure`](Self::on_departure).
    fn watches_queues(&self) -> bool {
        false
    }

    /// Reports the present, possibly that of [`next_wakeup`](Self::next_wakeup).
    fn on_wakeup(&mut self, _cx: &mut Context<'_>) {}

    /// Returns the next wakeup; [`Time::NEVER`] while idle.
    fn next_wakeup(&self) -> Time {
        Time::NEVER
    }

    /// Returns the packets that it holds, at most [`HELD_MAX`].
    fn held(&self) -> usize {
        0
    }

    /// Returns the flows whose state it keeps. State of ended flows is discarded, so that a run may have any number of
    /// flows.
    fn flows(&self) -> usize {
        0
    }

    /// Returns the payload bytes that it acknowledged and that never reached their endpoint.
    fn lost_bytes(&self) -> u64 {
        0
    }

    /// Returns notes on its actions, for readers of the results.
    fn note(&self) -> Option<String> {
        None
    }

    /// Returns the name in scenario files of the middlebox whose work it does for real packets, if any.
    fn stands_for(&self) -> Option<&'static str> {
        None
    }
}

/// Packets that a middlebox may hold: more is taken for a defect, and ends the run.
pub const HELD_MAX: usize = 1_000_000;

/// Declares all middleboxes: description, name in scenario files, variant with its type and settings, file, needs by the
/// settings, and check of the settings, if any.
macro_rules! registry {
    (@check) => { |_| Vec::new() };
    (@check $check:expr) => { $check };
    ($(
        $(#[doc = $doc:literal])+ $name:literal => $kind:ident($type:ident, $config:ident) in $file:literal,
        $needs:expr $(, $check:expr)?;
    )+) => {
        /// A middlebox with its settings.
        #[derive(Clone, Debug, PartialEq)]
        // Few exist, and none is copied while a run is under way.
        #[allow(clippy::large_enum_variant)]
        pub enum MiddleboxConfig { $($(#[doc = $doc])+ $kind($config),)+ }

        impl MiddleboxConfig {
            /// (name in scenario files, one line for lists and the reference), in the order of the registry.
            pub const ALL: &'static [(&'static str, &'static str)] =
                &[$(($name, concat!($($doc),+).trim_ascii()),)+];

            /// The name in scenario files.
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$kind(_) => $name,)+ }
            }

            /// Returns its needs at its node.
            pub(crate) fn needs(&self) -> Vec<Need> {
                match self {
                    $(Self::$kind(config) => {
                        let needs: fn(&$config) -> Vec<Need> = $needs;
                        needs(config)
                    })+
                }
            }

            /// Returns the keys with values that it cannot work with.
            pub(crate) fn unsuitable(&self) -> Vec<Unsuitable> {
                match self {
                    $(Self::$kind(config) => {
                        let check: fn(&$config) -> Vec<Unsuitable> = registry!(@check $($check)?);
                        check(config)
                    })+
                }
            }

            /// Whether it acknowledges data that the receiver does not have yet.
            pub(crate) const fn acknowledges(&self) -> bool {
                matches!(self, Self::Split(_) | Self::SatPep(_) | Self::Cache(_) | Self::Spoof(_))
            }

            /// Returns the module documentation of the middlebox of this name, in Markdown: its source, its position on
            /// the path, and when it helps and hurts.
            pub fn doc(name: &str) -> Option<String> {
                let doc: &[u8] = match name {
                    $($name => {
                        const FILE: &[u8] = include_bytes!($file);
                        const DOC: &[u8] = &module_doc::head::<{ module_doc::length(FILE) }>(FILE);
                        DOC
                    })+
                    _ => return None,
                };
                Some(module_doc::text(doc, |_| false))
            }

            /// `node` names the random streams; `position` is that among the node's middleboxes.
            pub(crate) fn build(&self, seed: u64, node: &str, position: usize) -> AnyMiddlebox {
                let component = format!("node/{node}/{position}");
                match self { $(Self::$kind(config) => AnyMiddlebox::$kind($type::new(config, seed, &component)),)+ }
            }
        }

        impl Typed for MiddleboxConfig {
            fn shape() -> Shape {
                let kinds = vec![
                    $(Table { name: $name, about: concat!($($doc),+).trim_ascii(), ..$config::table() },)+
                ];
                Shape::Kinds(Title { name: "Middlebox", noun: "a middlebox" }, kinds)
            }
            fn read(value: &Value) -> Result<Self, Unfit> {
                let table = value.table()?;
                match table.kind()? {
                    $($name => <$config as Settings>::read(table).map(Self::$kind),)+
                    _ => Err(value.unfit("a middlebox")),
                }
            }
            fn write(&self) -> Value {
                let mut table = Fields::of_kind(self.name());
                match self { $(Self::$kind(config) => Settings::write(config, &mut table),)+ }
                Value::Table(table)
            }
        }

        /// A middlebox of any kind, dispatched without a vtable where it is not one's own.
        // One or two at a node, and never moved.
        #[allow(clippy::large_enum_variant)]
        #[derive(Debug)]
        pub(crate) enum AnyMiddlebox {
            $($kind($type),)+
        }

        impl AnyMiddlebox {
            /// The name in scenario files.
            pub(crate) const fn name(&self) -> &'static str {
                match self { $(Self::$kind(_) => $name,)+ }
            }
        }

        macro_rules! each {
            ($of:expr, $m:ident => $does:expr) => {
                match $of { $(AnyMiddlebox::$kind($m) => $does,)+ }
            };
        }

        impl Middlebox for AnyMiddlebox {
            fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
                each!(self, m => m.on_packet(packet, cx));
            }
            fn meet(&mut self, node: NodeId, neighbours: &[(NodeId, &[MiddleboxConfig])]) {
                self.inner_mut().meet(node, neighbours);
            }
            fn on_corrupted(&mut self, packet: &Packet, cx: &mut Context<'_>) {
                self.inner_mut().on_corrupted(packet, cx);
            }
            fn on_message(&mut self, words: [u64; 2], packet: &Packet, cx: &mut Context<'_>) -> bool {
                self.inner_mut().on_message(words, packet, cx)
            }
            fn on_departure(&mut self, link: LinkId, queue: QueueView, cx: &mut Context<'_>) {
                self.inner_mut().on_departure(link, queue, cx);
            }
            fn watches_queues(&self) -> bool {
                self.inner().watches_queues()
            }
            fn on_wakeup(&mut self, cx: &mut Context<'_>) {
                self.inner_mut().on_wakeup(cx);
            }
            fn next_wakeup(&self) -> Time {
                each!(self, m => m.next_wakeup())
            }
            fn held(&self) -> usize {
                each!(self, m => m.held())
            }
            fn flows(&self) -> usize {
                self.inner().flows()
            }
            fn lost_bytes(&self) -> u64 {
                self.inner().lost_bytes()
            }
            fn note(&self) -> Option<String> {
                self.inner().note()
            }
            fn stands_for(&self) -> Option<&'static str> {
                self.inner().stands_for()
            }
        }

        impl AnyMiddlebox {
            /// Packets of this path are for its partner behind it, which knows them by `stream`.
            pub(crate) fn serve(&mut self, path: PathId, stream: u32) {
                match self {
                    Self::Erasure(encoder) => encoder.serve(path, stream),
                    Self::Compress(compressor) => compressor.serve(path, stream),
                    _ => {}
                }
            }
            /// Declares that packets of this stream come from its partner.
            pub(crate) fn expect(&mut self, stream: u32) {
                if let Self::Erasure(decoder) = self {
                    decoder.expect(stream);
                }
            }
            fn inner(&self) -> &dyn Middlebox {
                each!(self, m => m)
            }
            fn inner_mut(&mut self) -> &mut dyn Middlebox {
                each!(self, m => m)
            }
        }
    };
}

use needs::{positive, Need::*};

registry! {
    /// Duplicates packets and holds some at random, so that others overtake them.
    "impair" => Impair(Impair, ImpairConfig) in "impair.rs", |_| vec![], ImpairConfig::unsuitable;
    /// Removes obsolete acknowledgements from the queue in front of a slow link (RFC 3449 §5.2.1).
    "ack-filter" => AckFilter(AckFilter, AckFilterConfig) in "ack_filter.rs", |filter| vec![Reads, Passes(filter.direction)];
    /// Limits the window in returning acknowledgements to the capacity of link and path, in proportion to round trips (Taleb, Kato and Nemoto 2006).
    "refwa" => Refwa(Refwa, RefwaConfig) in "refwa.rs", |_| vec![Reads, BothWays];
    /// Limits the window in returning acknowledgements by the free room of a queue (Kalampoukas, Varma and Ramakrishnan 2002).
    "ewa" => Ewa(Ewa, EwaConfig) in "ewa.rs", |_| vec![Reads, BothWays];
    /// Replaces an acknowledgement of many segments by several, behind a filter or a slow link (RFC 3449 §5.2.3).
    "ack-reconstruct" => AckReconstruct(AckReconstruct, AckReconstructConfig) in "ack_reconstruct.rs", |acks| vec![Reads, Passes(acks.direction)], |own| positive("idle", own.idle);
    /// Splits connections: two real ones back to back, each with its own transport (RFC 3135 §2.4).
    "split" => Split(Split, SplitConfig) in "split.rs", |_| vec![Reads, BothWays], |own| positive("idle", own.idle);
    /// Stores answers, and serves repeated requests for the same object (a cache, on board or at a gateway).
    "cache" => Cache(Cache, CacheConfig) in "cache.rs", |_| vec![Reads, BothWays, Requests], CacheConfig::unsuitable;
    /// Acknowledges data early, keeps copies, and repairs losses behind it (RFC 3135 §3.1.3).
    "spoof" => Spoof(Spoof, SpoofConfig) in "spoof.rs", |_| vec![Reads, BothWays], |own| positive("idle", own.idle);
    /// One of two gateways that split connections and run a separate protocol between them (Velenis et al. 2002).
    "satpep" => SatPep(SatPep, SatPepConfig) in "satpep.rs", |_| vec![Reads, BothWays], SatPepConfig::unsuitable;
    /// Keeps copies of data in front of a lossy link, and repairs losses that duplicate acknowledgements report (Balakrishnan et al. 1995).
    "snoop" => Snoop(Snoop, SnoopConfig) in "snoop.rs", |_| vec![Reads, BothWays], |own| positive("idle", own.idle);
    /// Holds data and closes senders' windows during an outage of the link, which then does not look like congestion (M-TCP; RFC 3135 §3.2.2).
    "freeze" => Freeze(Freeze, FreezeConfig) in "freeze.rs", |_| vec![Reads, BothWays], |own| positive("idle", own.idle);
    /// Reports packets that the uplink corrupts to their source, and estimates its error rate (BEEN): a satellite or its gateway.
    "been" => Been(Been, BeenConfig) in "been/mod.rs", BeenConfig::needs;
    /// Marks duplicate acknowledgements that ask for corrupted segments (ELN).
    "eln" => Eln(Eln, ElnConfig) in "eln.rs", |_| vec![Corrupted("kind")];
    /// Notifies sources of corrupted packets, backward or forward, or of the probability to survive (ETEN, CETEN).
    "eten" => Eten(Eten, EtenConfig) in "eten.rs", EtenConfig::needs;
    /// Adapts the packet sizes of senders to the corrupted arrivals (DPSM).
    "dpsm" => Dpsm(Dpsm, DpsmConfig) in "dpsm.rs", |_| vec![Corrupted("kind")];
    /// Sets the window change of each sender with XCP (Katabi, Handley and Rohrs 2002).
    "xcp" => Xcp(Xcp, XcpConfig) in "xcp.rs", |_| vec![Reads];
    /// Sets one rate for all senders with RCP (Dukkipati 2007).
    "rcp" => Rcp(Rcp, RcpConfig) in "rcp.rs", |_| vec![Reads];
    /// One of two middleboxes with an erasure code between them: repair packets, k of n or rateless (RFC 5510, RFC 5053).
    "erasure" => Erasure(Erasure, ErasureConfig) in "erasure.rs", |_| vec![Reads], ErasureConfig::unsuitable;
    /// One of two middleboxes that compress TCP headers on the links between them (RFC 1144, RFC 2507, RFC 6846).
    "compress" => Compress(Compress, CompressConfig) in "compress.rs", |_| vec![Reads], CompressConfig::unsuitable;
    /// A custom middlebox, registered by the program that runs the scenario: a class in Python, or a type in Rust.
    "own" => Own(Own, OwnConfig) in "own.rs", |_| vec![];
}
