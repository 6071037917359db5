//! Choices with names in scenario files: an enum, its words and their meanings, written once.

/// A choice by name. Made by [`words!`](crate::words).
pub trait Word: Copy + Eq + 'static {
    /// All choices, in the order of the declaration.
    const ALL: &'static [Self];
    /// The name of the type.
    const TYPE: &'static str;
    /// The name in scenario files.
    fn name(self) -> &'static str;
    /// One line for lists and the reference.
    fn summary(self) -> &'static str;
}

/// An enum without fields whose variants have names for scenario files; implements [`Word`](crate::Word).
#[macro_export]
macro_rules! words {
    ($(#[doc = $about:literal])+ $vis:vis enum $type:ident {
        $($(#[doc = $doc:literal])+ $name:literal => $variant:ident,)+
    }) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $type { $($(#[doc = $doc])+ $variant,)+ }

        #[allow(dead_code, reason = "not every choice is a setting of a congestion control")]
        impl $type {
            /// Names and meanings, in the order of the declaration.
            pub const NAMES: &'static [(&'static str, &'static str)] =
                &[$(($name, concat!($($doc),+).trim_ascii()),)+];

            /// The name in scenario files.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }
        }

        impl $crate::settings::Typed for $type {
            fn shape() -> $crate::settings::Shape {
                let title = $crate::settings::Title { name: stringify!($type), noun: "" };
                $crate::settings::Shape::Word(title, Self::NAMES.to_vec())
            }
            fn read(value: &$crate::settings::Value) -> Result<Self, $crate::settings::Unfit> {
                let name = value.text()?;
                let found = <Self as $crate::Word>::ALL.iter().find(|word| word.as_str() == name);
                found.copied().ok_or_else(|| value.unfit(stringify!($type)))
            }
            fn write(&self) -> $crate::settings::Value {
                self.as_str().into()
            }
        }

        impl $crate::Word for $type {
            const ALL: &'static [Self] = &[$(Self::$variant,)+];
            const TYPE: &'static str = stringify!($type);
            fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }
            fn summary(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc),+).trim_ascii(),)+ }
            }
        }
    };
}
