//! Macros of the declarations.

/// Declares a table of keys: a struct with public fields, its description, its reading and writing, and its defaults if
/// every key has one.
///
/// A key is `name: TYPE = DEFAULT, [LEAST, GREATEST], "source";`. All parts after the type are optional. A key without
/// default is required, or absent if its type is an `Option`. A range is that of a number or of the length of a list.
/// `as WAY` behind the type names another [way to write it](crate::settings::Written). A text before the name is the
/// name in scenario files if it differs. Fields behind `with` are not keys.
#[macro_export]
macro_rules! settings {
    ($(#[doc = $about:literal])+ #[derive($($trait:ident),+)] $vis:vis struct $($rest:tt)+) => {
        $crate::settings! { @struct [$($trait),+] [$($about)+] $vis $($rest)+ }
    };
    ($(#[doc = $about:literal])+ $vis:vis struct $($rest:tt)+) => {
        $crate::settings! { @struct [Clone, Copy, Debug, PartialEq] [$($about)+] $vis $($rest)+ }
    };
    // Every key has a default, and so has the whole.
    (@struct $traits:tt [$($about:literal)+] $vis:vis $name:ident $(as $title:literal)? {
        $(
            $(#[doc = $doc:literal])+ $($key:literal)? $field:ident: $(enum)? $type:ty $(as $way:ty)? = $default:expr
            $(, [$min:expr $(, $max:expr)?])? $(, $origin:literal)?;
        )*
    } $(with {
        $($(#[doc = $with_doc:literal])+ $with:ident: $with_type:ty = $with_default:expr;)+
    })?) => {
        $crate::settings! { @plain $traits [$($about)+] $vis $name $(as $title)? {
            $(
                $(#[doc = $doc])+ $($key)? $field: $type $(as $way)? = $default $(, [$min $(, $max)?])? $(, $origin)?;
            )*
        } $(with { $($(#[doc = $with_doc])+ $with: $with_type = $with_default;)+ })? }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* $($($with: $with_default,)+)? }
            }
        }
    };
    (@struct $($rest:tt)+) => { $crate::settings! { @plain $($rest)+ } };
    (@plain [$($trait:ident),+] [$($about:literal)+] $vis:vis $name:ident $(as $title:literal)? {
        $(
            $(#[doc = $doc:literal])+ $($key:literal)? $field:ident: $(enum)? $type:ty $(as $way:ty)? $(= $default:expr)?
            $(, [$min:expr $(, $max:expr)?])? $(, $origin:literal)?;
        )*
    } $(with {
        $($(#[doc = $with_doc:literal])+ $with:ident: $with_type:ty = $with_default:expr;)+
    })?) => {
        $(#[doc = $about])+
        #[derive($($trait),+)]
        $vis struct $name {
            $($(#[doc = $doc])+ pub $field: $type,)*
            $($($(#[doc = $with_doc])+ pub $with: $with_type,)+)?
        }

        impl $crate::settings::Settings for $name {
            const NAME: &'static str = $crate::settings!(@or stringify!($name) $(, $title)?);
            const ABOUT: &'static str = concat!($($about),+).trim_ascii();

            fn keys() -> Vec<$crate::settings::Key> {
                let mut keys = Vec::new();
                $(keys.extend($crate::settings! { @describe
                    [$($doc)+] [$crate::settings!(@or stringify!($field) $(, $key)?)] [$type] [$($way)?] [$($default)?]
                    [$($min $(, $max)?)?] [$($origin)?]
                });)*
                keys
            }

            fn read(table: &$crate::settings::Fields) -> Result<Self, $crate::settings::Unfit> {
                let _ = table;
                Ok(Self {
                    $($field: $crate::settings! { @take
                        table, $crate::settings!(@or stringify!($field) $(, $key)?), [$type] [$($way)?] [$($default)?]
                    },)*
                    $($($with: $with_default,)+)?
                })
            }

            fn write(&self, table: &mut $crate::settings::Fields) {
                let _ = table;
                $(<$crate::settings!(@way $($way)?) as $crate::settings::Written<$type>>::put(
                    &self.$field,
                    $crate::settings!(@or stringify!($field) $(, $key)?),
                    table,
                );)*
            }
        }
    };
    // The keys of a field.
    (@describe [$($doc:literal)+] [$key:expr] [$type:ty] [$($way:ty)?] [$($default:expr)?] [$($min:expr $(, $max:expr)?)?] [$($origin:literal)?]) => {{
        #[allow(unused_mut)]
        let mut keys = <$crate::settings!(@way $($way)?) as $crate::settings::Written<$type>>::keys($crate::settings::Key {
            name: $key,
            meaning: concat!($($doc),+).trim_ascii(),
            shape: $crate::settings::Shape::Flag,
            default: match <$crate::settings!(@way $($way)?) as $crate::settings::Written<$type>>::is_open() {
                true => $crate::settings::Absent::Open,
                false => $crate::settings!(@absent [$crate::settings!(@way $($way)?)] [$type] [$($default)?]),
            },
            origin: $crate::settings!(@or "" $(, $origin)?),
            hosts: Vec::new(),
        });
        $(
            let limit = $crate::settings!(@most $($max)?);
            keys.iter_mut().for_each(|key| key.shape = key.shape.clone().within($min, limit));
        )?
        keys
    }};
    (@take $table:ident, $key:expr, [$type:ty] [$($way:ty)?] [$($default:expr)?]) => {
        <$crate::settings!(@way $($way)?) as $crate::settings::Written<$type>>::take(
            $table, $key, $crate::settings!(@make $($default)?),
        )?
    };
    (@absent [$way:ty] [$type:ty] []) => { $crate::settings::Absent::Required };
    (@absent [$way:ty] [$type:ty] [$default:expr]) => {
        $crate::settings::Absent::Default(<$way as $crate::settings::Written<$type>>::write(&$default))
    };
    (@make) => { None };
    (@make $default:expr) => { Some(|| $default) };
    (@most) => { None };
    (@most $max:expr) => { Some($max) };
    (@way) => { $crate::settings::Plain };
    (@way $way:ty) => { $way };
    (@or $other:expr) => { $other };
    (@or $other:expr, $said:expr) => { $said };
    (@bind $name:ident $type:ty) => { $name };
}

/// Declares a choice between tables by their `kind`: an enum, its description, its reading and writing. The enum is
/// followed by its name in the schema and its noun in messages. A kind is
/// `"kind" => Variant;`, with the keys of a type, `Variant(Type);`, or with separate keys, declared as in
/// [`settings!`](crate::settings): `Variant { keys };`. A kind that needs no key may be written as its name only. With
/// `else "meaning" Variant(Type);` in front, a value that is not a table has that type.
#[macro_export]
macro_rules! kinds {
    (
        $(#[doc = $about:literal])+ #[derive($($trait:ident),+)] $vis:vis enum $name:ident as $title:literal, $noun:literal {
            $(else $else_doc:literal $else:ident($else_type:ty $(as $else_way:ty)?);)?
            $(
                $(#[doc = $doc:literal])+ $kind:literal => $variant:ident $(($inner:ty))? $({$(
                    $(#[doc = $key_doc:literal])+ $($key:literal)? $field:ident: $(enum)? $type:ty $(as $way:ty)?
                    $(= $default:expr)? $(, [$min:expr $(, $max:expr)?])? $(, $origin:literal)?;
                )+})?;
            )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive($($trait),+)]
        $vis enum $name {
            $(#[doc = $else_doc] $else($else_type),)?
            $($(#[doc = $doc])+ $variant $(($inner))? $({ $($(#[doc = $key_doc])+ $field: $type,)+ })?,)+
        }

        #[allow(dead_code, reason = "not every choice uses its name")]
        impl $name {
            /// The name in scenario files.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$else(_) => "",)?
                    $(Self::$variant { .. } => $kind,)+
                }
            }
        }

        impl $crate::settings::Typed for $name {
            fn shape() -> $crate::settings::Shape {
                #[allow(unused_mut)]
                let kinds = vec![$({
                    let mut keys: Vec<$crate::settings::Key> = Vec::new();
                    $(keys.extend(<$inner as $crate::settings::Settings>::keys());)?
                    $($(keys.extend($crate::settings! { @describe
                        [$($key_doc)+] [$crate::settings!(@or stringify!($field) $(, $key)?)] [$type] [$($way)?]
                        [$($default)?] [$($min $(, $max)?)?] [$($origin)?]
                    });)+)?
                    $crate::settings::Table { name: $kind, about: concat!($($doc),+).trim_ascii(), keys: Some(keys) }
                },)+];
                let kinds = $crate::settings::Shape::Kinds($crate::settings::Title { name: $title, noun: $noun }, kinds);
                $(
                    let other = <$crate::settings!(@way $($else_way)?) as $crate::settings::Written<$else_type>>::shape();
                    let kinds = $crate::settings::Shape::Either(vec![other, kinds]);
                )?
                kinds
            }

            fn read(value: &$crate::settings::Value) -> Result<Self, $crate::settings::Unfit> {
                $(
                    if value.table().is_err() {
                        return <$crate::settings!(@way $($else_way)?) as $crate::settings::Written<$else_type>>::read(value)
                            .map(Self::$else);
                    }
                )?
                let table = value.table()?;
                match table.kind()? {
                    $($kind => Ok(Self::$variant $((<$inner as $crate::settings::Settings>::read(table)?))? $({
                        $($field: $crate::settings! { @take
                            table, $crate::settings!(@or stringify!($field) $(, $key)?), [$type] [$($way)?] [$($default)?]
                        },)+
                    })?),)+
                    _ => Err(value.unfit(concat!("a kind of ", stringify!($name)))),
                }
            }

            fn write(&self) -> $crate::settings::Value {
                #[allow(unused_mut)]
                let mut table = $crate::settings::Fields::of_kind(self.name());
                match self {
                    $(Self::$else(other) => {
                        return <$crate::settings!(@way $($else_way)?) as $crate::settings::Written<$else_type>>::write(other);
                    })?
                    $(Self::$variant $(($crate::settings!(@bind inner $inner)))? $({ $($field,)+ })? => {
                        $(<$inner as $crate::settings::Settings>::write(inner, &mut table);)?
                        $($(<$crate::settings!(@way $($way)?) as $crate::settings::Written<$type>>::put(
                            $field,
                            $crate::settings!(@or stringify!($field) $(, $key)?),
                            &mut table,
                        );)+)?
                    })+
                }
                $crate::settings::Value::Table(table)
            }
        }
    };
}

/// Declares a choice between shapes that differ in type or keys: an enum, its description, its reading and writing.
#[macro_export]
macro_rules! either {
    (
        $(#[doc = $about:literal])+ #[derive($($trait:ident),+)] $vis:vis enum $name:ident {
            $($(#[doc = $doc:literal])+ $variant:ident($type:ty);)+
        }
    ) => {
        $(#[doc = $about])+
        #[derive($($trait),+)]
        $vis enum $name { $($(#[doc = $doc])+ $variant($type),)+ }

        impl $crate::settings::Typed for $name {
            fn shape() -> $crate::settings::Shape {
                $crate::settings::Shape::Either(vec![$(<$type as $crate::settings::Typed>::shape(),)+])
            }
            fn read(value: &$crate::settings::Value) -> Result<Self, $crate::settings::Unfit> {
                $(
                    if value.may_be(&<$type as $crate::settings::Typed>::shape()) {
                        if let Ok(found) = <$type as $crate::settings::Typed>::read(value) {
                            return Ok(Self::$variant(found));
                        }
                    }
                )+
                Err(value.unfit(stringify!($name)))
            }
            fn write(&self) -> $crate::settings::Value {
                match self { $(Self::$variant(inner) => $crate::settings::Typed::write(inner),)+ }
            }
        }
    };
}
