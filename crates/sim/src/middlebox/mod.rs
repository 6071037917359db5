//! Functions inside the network, on board or at a gateway; *where* one runs is a property of its node.
//!
//! A middlebox is given each packet that passes its node, in both directions, and answers through an [`Outbox`]. It
//! may forward packets, duplicate them, hold them back, drop them, and wake itself up; it does not read them, and makes
//! none of its own. Nodes run their middleboxes in order: packets of a flow's direction meet them first to last, those of
//! the other direction last to first.
//!
//! A new one is one file here and one line in [`registry!`] below; what it can be set to is declared with the scenario.

mod impair;

pub use impair::{Impair, ImpairConfig, Way};

use crate::dictionary::Cause;
use crate::packet::Packet;
use bentpipe_units::settings::{Fields, Settings, Shape, Table, Typed, Unfit, Value};
use bentpipe_units::Time;

/// From which side of the middlebox a packet comes, or to which it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Where the flow's sender is.
    Sender,
    /// Where the flow's receiver is.
    Receiver,
}

impl Side {
    /// The other side.
    #[must_use]
    pub const fn across(self) -> Self {
        match self {
            Self::Sender => Self::Receiver,
            Self::Receiver => Self::Sender,
        }
    }

    /// From where `packet` comes.
    pub fn origin_of(packet: &Packet) -> Self {
        if packet.is_to_sender() {
            Self::Receiver
        } else {
            Self::Sender
        }
    }
}

/// What a middlebox wants done.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// The packet goes on in its direction.
    Forward(Packet),
    /// A second copy of the packet goes on in its direction.
    Duplicate(Packet),
    /// The packet is lost, for this reason.
    Drop(Packet, Cause),
}

/// Collects what a middlebox wants done; owned and emptied by the network.
#[derive(Debug, Default)]
pub struct Outbox {
    actions: Vec<Action>,
}

impl Outbox {
    /// The packet goes on.
    pub fn forward(&mut self, packet: Packet) {
        self.actions.push(Action::Forward(packet));
    }

    /// A copy of the packet goes on.
    pub fn duplicate(&mut self, packet: &Packet) {
        self.actions.push(Action::Duplicate(*packet));
    }

    /// The packet is lost.
    pub fn drop(&mut self, packet: Packet, cause: Cause) {
        self.actions.push(Action::Drop(packet, cause));
    }

    pub(crate) fn take(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.actions)
    }

    pub(crate) fn give_back(&mut self, mut spent: Vec<Action>) {
        if self.actions.is_empty() {
            spent.clear();
            self.actions = spent;
        }
    }
}

/// The contract of a middlebox. Every packet that it is given must leave through the outbox, now or at a later
/// wake-up, or be counted in [`held`](Self::held).
pub trait Middlebox {
    /// A packet passes.
    fn on_packet(&mut self, now: Time, from: Side, packet: Packet, out: &mut Outbox);
    /// Time has passed, perhaps to [`next_wakeup`](Self::next_wakeup).
    fn on_wakeup(&mut self, _now: Time, _out: &mut Outbox) {}
    /// When it wants to be woken; [`Time::NEVER`] while idle.
    fn next_wakeup(&self) -> Time {
        Time::NEVER
    }
    /// Packets that it holds.
    fn held(&self) -> usize {
        0
    }
}

macro_rules! registry {
    ($($(#[doc = $doc:literal])+ $name:literal => $kind:ident($type:ident, $config:ident);)+) => {
        /// A middlebox with its settings.
        #[derive(Clone, Debug, PartialEq)]
        pub enum MiddleboxConfig { $($(#[doc = $doc])+ $kind($config),)+ }

        impl MiddleboxConfig {
            /// (name in scenario files, one line for lists and the reference), in the order of the registry.
            pub const ALL: &'static [(&'static str, &'static str)] =
                &[$(($name, concat!($($doc),+).trim_ascii()),)+];

            /// The name in scenario files.
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$kind(_) => $name,)+ }
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

        /// A middlebox of any kind, dispatched without a vtable.
        #[derive(Clone, Debug)]
        pub(crate) enum AnyMiddlebox { $($kind($type),)+ }

        impl Middlebox for AnyMiddlebox {
            fn on_packet(&mut self, now: Time, from: Side, packet: Packet, out: &mut Outbox) {
                match self { $(Self::$kind(m) => m.on_packet(now, from, packet, out),)+ }
            }
            fn on_wakeup(&mut self, now: Time, out: &mut Outbox) {
                match self { $(Self::$kind(m) => m.on_wakeup(now, out),)+ }
            }
            fn next_wakeup(&self) -> Time {
                match self { $(Self::$kind(m) => m.next_wakeup(),)+ }
            }
            fn held(&self) -> usize {
                match self { $(Self::$kind(m) => m.held(),)+ }
            }
        }
    };
}

registry! {
    /// Duplicates packets and holds some back at random, so that others overtake them.
    "impair" => Impair(Impair, ImpairConfig);
}
