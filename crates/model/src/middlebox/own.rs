//! Custom middleboxes, which are not in the registry and may be written in another language. A scenario names one, and
//! the program that runs the scenario provides it. They cost an indirect call per packet.

use super::{Context, Middlebox, QueueView};
use crate::ids::{LinkId, NodeId};
use crate::packet::Packet;
use bentpipe_units::{settings, Stream, Time};
use std::fmt;
use std::sync::Arc;

settings! {
    /// A custom middlebox, by name.
    #[derive(Clone, Debug, PartialEq)]
    pub struct OwnConfig {
        /// Name of the middlebox. The program that runs the scenario registers it: a scenario contains no code.
        name: String;
        /// Hash that distinguishes it from others of this name in a resolved scenario. Written values are ignored.
        code: String = String::new();
    } with {
        /// Its factory; `None` until the program registers it.
        make: Option<Maker> = None;
    }
}

/// Creates a middlebox for a node and a run. The seed is for its random choices.
#[derive(Clone)]
pub struct Maker(Arc<dyn Fn(u64) -> Box<dyn Middlebox + Send + Sync> + Send + Sync>);

impl Maker {
    /// Creates a factory. Equal seeds must give middleboxes with equal behaviour.
    pub fn new(make: impl Fn(u64) -> Box<dyn Middlebox + Send + Sync> + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }
}

/// Name and code distinguish middleboxes.
impl PartialEq for Maker {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Maker")
    }
}

/// A custom middlebox at a node.
#[derive(Debug)]
pub struct Own(pub Box<dyn Middlebox + Send + Sync>);

impl Own {
    pub(crate) fn new(config: &OwnConfig, seed: u64, component: &str) -> Self {
        let make = config.make.as_ref().expect("a named middlebox is registered");
        Self((make.0)(Stream::new(seed, component, "own").at(0)))
    }
}

impl Middlebox for Own {
    fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        self.0.on_packet(packet, cx);
    }
    fn meet(&mut self, node: NodeId, satellites: &[NodeId]) {
        self.0.meet(node, satellites);
    }
    fn on_corrupted(&mut self, packet: &Packet, cx: &mut Context<'_>) {
        self.0.on_corrupted(packet, cx);
    }
    fn on_message(&mut self, words: [u64; 2], packet: &Packet, cx: &mut Context<'_>) -> bool {
        self.0.on_message(words, packet, cx)
    }
    fn on_departure(&mut self, link: LinkId, queue: QueueView, cx: &mut Context<'_>) {
        self.0.on_departure(link, queue, cx);
    }
    fn watches_queues(&self) -> bool {
        self.0.watches_queues()
    }
    fn on_wakeup(&mut self, cx: &mut Context<'_>) {
        self.0.on_wakeup(cx);
    }
    fn next_wakeup(&self) -> Time {
        self.0.next_wakeup()
    }
    fn held(&self) -> usize {
        self.0.held()
    }
    fn flows(&self) -> usize {
        self.0.flows()
    }
    fn lost_bytes(&self) -> u64 {
        self.0.lost_bytes()
    }
    fn note(&self) -> Option<String> {
        self.0.note()
    }
    fn stands_for(&self) -> Option<&'static str> {
        self.0.stands_for()
    }
}
