//! The types of all middleboxes together, made from the list in `mod.rs`.

/// Declares all middleboxes: description, name in scenario files, variant with its type and settings, file, effects on
/// connections, needs by the settings, and check of the settings, if any.
macro_rules! registry {
    (@check) => { |_| Vec::new() };
    (@check $check:expr) => { $check };
    ($(
        $(#[doc = $doc:literal])+ $name:literal => $kind:ident($type:ident, $config:ident) in $file:literal,
        $effects:expr, $needs:expr $(, $check:expr)?;
    )+) => {
        use crate::ids::{LinkId, NodeId, PathId};
        use crate::packet::Packet;
        use bentpipe_units::settings::{Fields, Settings, Shape, Table, Title, Typed, Unfit, Value};
        use bentpipe_units::{module_doc, Time};

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
            pub fn needs(&self) -> Vec<Need> {
                match self {
                    $(Self::$kind(config) => {
                        let needs: fn(&$config) -> Vec<Need> = $needs;
                        needs(config)
                    })+
                }
            }

            /// Returns the keys with values that it cannot work with.
            pub fn unsuitable(&self) -> Vec<Unsuitable> {
                match self {
                    $(Self::$kind(config) => {
                        let check: fn(&$config) -> Vec<Unsuitable> = registry!(@check $($check)?);
                        check(config)
                    })+
                }
            }

            /// Whether it is this part of BEEN.
            pub(crate) fn is_been(&self, part: Role) -> bool {
                matches!(self, Self::Been(been) if been.role == part)
            }

            /// Returns its effects on connections.
            const fn effects(&self) -> &'static [Effect] {
                match self { $(Self::$kind(_) => &$effects,)+ }
            }

            /// Whether it acknowledges data that the receiver does not have yet.
            pub fn acknowledges(&self) -> bool {
                self.effects().contains(&Acknowledges)
            }

            /// Whether it keeps state of connections over one path, and knows nothing of the options of several.
            pub fn needs_one_path(&self) -> bool {
                self.effects().contains(&KnowsOnePath)
            }

            /// Whether it may reset a connection.
            pub fn resets(&self) -> bool {
                self.effects().contains(&Resets)
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
            pub fn build(&self, seed: u64, node: &str, position: usize) -> AnyMiddlebox {
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
        pub enum AnyMiddlebox {
            $(#[doc = concat!("`", $name, "`.")] $kind($type),)+
        }

        impl AnyMiddlebox {
            /// The name in scenario files.
            pub const fn name(&self) -> &'static str {
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
            fn meet(&mut self, node: NodeId, satellites: &[NodeId]) {
                self.inner_mut().meet(node, satellites);
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
            pub fn serve(&mut self, path: PathId, stream: u32) {
                match self {
                    Self::Erasure(encoder) => encoder.serve(path, stream),
                    Self::Compress(compressor) => compressor.serve(path, stream),
                    _ => {}
                }
            }
            /// Declares that packets of this stream come from its partner.
            pub fn expect(&mut self, stream: u32) {
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
