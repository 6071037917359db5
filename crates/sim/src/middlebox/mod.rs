//! Functions inside the network, on board or at a gateway; *where* one runs is a property of its node.
//!
//! A middlebox is given each packet that passes its node, in both directions, those of the node's own hosts included, and acts
//! through a [`Context`]: it may read and rewrite headers, forward, hold back, drop, consume or send back what it was given,
//! make packets of its own, look into the queue that it feeds, and wake itself up. Nodes run their middleboxes in order: packets
//! of a flow's direction meet them first to last, those of the other direction last to first.
//!
//! A new one is one file here and one line in [`registry!`] below; what it can be set to is declared in its file.

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
use bentpipe_units::settings::{Fields, Settings, Shape, Table, Typed, Unfit, Value};
use bentpipe_units::Time;
use std::fmt::Debug;

bentpipe_units::words! {
    /// Which packets of a flow a middlebox touches.
    pub enum Way {
        /// All of them.
        "both" => Both,
        /// Those from the flow's sender to its receiver.
        "to-receiver" => ToReceiver,
        /// Those on the way back: acknowledgements.
        "to-sender" => ToSender,
    }
}

impl Way {
    /// Whether it is that of packets that come from this side.
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
    /// Before the run: the node that it is at, and those to which links of its own lead, in order, with their functions.
    fn meet(&mut self, _node: NodeId, _neighbours: &[(NodeId, &[MiddleboxConfig])]) {}

    /// A packet passes.
    fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>);

    /// A corrupted packet has reached a node of kind `processing`, which drops it afterwards. Its header can be trusted.
    fn on_corrupted(&mut self, _packet: &Packet, _cx: &mut Context<'_>) {}

    /// A message to this node ([`Context::send_message`]); returns whether it was for this middlebox. `packet` brought it and has
    /// reached its end.
    fn on_message(&mut self, _words: [u64; 2], _packet: &Packet, _cx: &mut Context<'_>) -> bool {
        false
    }

    /// A link out of the node has sent a packet, and has begun to send the next one if any waited: `queue` is what waits now.
    /// Called where [`watches_queues`](Self::watches_queues) says so.
    fn on_departure(&mut self, _link: LinkId, _queue: QueueView, _cx: &mut Context<'_>) {}

    /// Whether it is to be notified of departures.
    fn watches_queues(&self) -> bool {
        false
    }

    /// Time has passed, perhaps to [`next_wakeup`](Self::next_wakeup).
    fn on_wakeup(&mut self, _cx: &mut Context<'_>) {}

    /// When it wants to be woken; [`Time::NEVER`] while idle.
    fn next_wakeup(&self) -> Time {
        Time::NEVER
    }

    /// Packets that it holds; at most [`HELD_MAX`].
    fn held(&self) -> usize {
        0
    }

    /// Flows of which it keeps something. What has ended is forgotten, so that a run may have any number of flows.
    fn flows(&self) -> usize {
        0
    }

    /// Payload bytes that it acknowledged, and that the end for which they were never got.
    fn lost_bytes(&self) -> u64 {
        0
    }

    /// What whoever reads the results should know of what it did.
    fn note(&self) -> Option<String> {
        None
    }

    /// The name in scenario files of the function that it is for real packets, if it is one.
    fn stands_for(&self) -> Option<&'static str> {
        None
    }
}

/// Packets that a middlebox may hold: more is taken for a defect, and ends the run.
pub const HELD_MAX: usize = 1_000_000;

macro_rules! registry {
    ($($(#[doc = $doc:literal])+ $name:literal => $kind:ident($type:ident, $config:ident) in $file:literal;)+) => {
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

            /// Whether it acknowledges data that the receiver does not have yet.
            pub(crate) const fn acknowledges(&self) -> bool {
                matches!(self, Self::Split(_) | Self::SatPep(_) | Self::Cache(_) | Self::Spoof(_))
            }

            /// What is said at the head of the file of the one with this name, in Markdown: its source, where it may stand, what it
            /// helps and harms.
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
                Shape::Kinds("Middlebox", kinds)
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

        impl Middlebox for AnyMiddlebox {
            fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
                match self { $(Self::$kind(m) => m.on_packet(packet, cx),)+ }
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
                match self { $(Self::$kind(m) => m.next_wakeup(),)+ }
            }
            fn held(&self) -> usize {
                match self { $(Self::$kind(m) => m.held(),)+ }
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
            /// What comes to it of this stream is from its partner.
            pub(crate) fn expect(&mut self, stream: u32) {
                if let Self::Erasure(decoder) = self {
                    decoder.expect(stream);
                }
            }
            fn inner(&self) -> &dyn Middlebox {
                match self { $(Self::$kind(m) => m,)+ }
            }
            fn inner_mut(&mut self) -> &mut dyn Middlebox {
                match self { $(Self::$kind(m) => m,)+ }
            }
        }
    };
}

registry! {
    /// Duplicates packets and holds some back at random, so that others overtake them.
    "impair" => Impair(Impair, ImpairConfig) in "impair.rs";
    /// Takes acknowledgements that a later one replaces out of the queue in front of a slow link (RFC 3449 §5.2.1).
    "ack-filter" => AckFilter(AckFilter, AckFilterConfig) in "ack_filter.rs";
    /// Tells senders by the window of returning acknowledgements how much fits link and path, in proportion to their round trips (Taleb, Kato and Nemoto 2006).
    "refwa" => Refwa(Refwa, RefwaConfig) in "refwa.rs";
    /// Tells senders by the window of returning acknowledgements how much the free room of a queue admits (Kalampoukas, Varma and Ramakrishnan 2002).
    "ewa" => Ewa(Ewa, EwaConfig) in "ewa.rs";
    /// Replaces an acknowledgement of many segments by several, behind a filter or a slow link (RFC 3449 §5.2.3).
    "ack-reconstruct" => AckReconstruct(AckReconstruct, AckReconstructConfig) in "ack_reconstruct.rs";
    /// Splits connections: two real ones back to back, each with its own transport (RFC 3135 §2.4).
    "split" => Split(Split, SplitConfig) in "split.rs";
    /// Keeps answers, and gives them itself to those who ask for the same object again (a cache, on board or at a gateway).
    "cache" => Cache(Cache, CacheConfig) in "cache.rs";
    /// Acknowledges data early, keeps copies, and repairs what is lost behind it (RFC 3135 §3.1.3).
    "spoof" => Spoof(Spoof, SpoofConfig) in "spoof.rs";
    /// One of two gateways that split connections and run a protocol of their own between them (Velenis et al. 2002).
    "satpep" => SatPep(SatPep, SatPepConfig) in "satpep.rs";
    /// Keeps copies of data in front of a link that loses, and repairs what duplicate acknowledgements report (Balakrishnan et al. 1995).
    "snoop" => Snoop(Snoop, SnoopConfig) in "snoop.rs";
    /// Holds data and closes senders' windows while the link behind it is down, so that they take that for no congestion (M-TCP; RFC 3135 §3.2.2).
    "freeze" => Freeze(Freeze, FreezeConfig) in "freeze.rs";
    /// Reports packets that the uplink corrupts to their source, and estimates its error rate (BEEN): a satellite or its gateway.
    "been" => Been(Been, BeenConfig) in "been/mod.rs";
    /// Marks duplicate acknowledgements that ask for what was corrupted (ELN).
    "eln" => Eln(Eln, ElnConfig) in "eln.rs";
    /// Notifies the source of corrupted packets, backward or forward, or all of the chance to survive (ETEN, CETEN).
    "eten" => Eten(Eten, EtenConfig) in "eten.rs";
    /// Lets senders make packets smaller or larger by what arrives corrupted (DPSM).
    "dpsm" => Dpsm(Dpsm, DpsmConfig) in "dpsm.rs";
    /// Tells each sender with XCP by how much to change its window (Katabi, Handley and Rohrs 2002).
    "xcp" => Xcp(Xcp, XcpConfig) in "xcp.rs";
    /// Tells all senders with RCP the one rate at which each may send (Dukkipati 2007).
    "rcp" => Rcp(Rcp, RcpConfig) in "rcp.rs";
    /// One of two functions that protect what passes between them by repair packets: an erasure code, k of n or rateless (RFC 5510, RFC 5053).
    "erasure" => Erasure(Erasure, ErasureConfig) in "erasure.rs";
    /// One of two functions that make the headers of TCP short on the links between them (RFC 1144, RFC 2507, RFC 6846).
    "compress" => Compress(Compress, CompressConfig) in "compress.rs";
    /// A function of one's own, which whoever runs the scenario gives: a class in Python, or a type in Rust.
    "own" => Own(Own, OwnConfig) in "own.rs";
}
