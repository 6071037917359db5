//! Declares the [`dictionary`](super::dictionary): a line for each column, series, event and cause.

use super::table::{Values, MISSING};

/// Declares a table: its columns, and the type of its rows with a field for each. A line is `field: type, unit,
/// meaning;` or `field as name: ...`. The type is `text`, `real`, `whole`, or `maybe` for whole numbers that may be
/// missing. The field has the column's name, unless that is not an identifier. A row with a missing column or a wrong type does not compile.
/// The order of fields does not matter.
macro_rules! table {
    ($(#[doc = $about:literal])+ $list:ident, $row:ident {
        $($field:ident $(as $name:literal)?: $kind:ident, $unit:literal, $meaning:literal;)+
    }) => {
        $(#[doc = $about])+
        pub const $list: &[Column] = &[$(Column {
            name: $crate::dictionary::declare::column_name!($field $($name)?),
            unit: $unit,
            meaning: $meaning,
        },)+];

        #[doc = concat!("A row of [`", stringify!($list), "`].")]
        #[derive(Clone, Copy, Debug)]
        pub struct $row<'a> {
            $(#[doc = $meaning] pub $field: $crate::dictionary::declare::cell!($kind 'a),)+
        }

        impl<'a> $row<'a> {
            /// Builds the table of these rows.
            pub fn table(rows: impl IntoIterator<Item = $row<'a>>) -> $crate::dictionary::Table {
                use $crate::dictionary::declare::Cell;
                $(let mut $field = Vec::new();)+
                for row in rows {
                    $($field.push(row.$field.stored());)+
                }
                $crate::dictionary::Table { columns: vec![
                    $(($crate::dictionary::declare::column_name!($field $($name)?), $field.into()),)+
                ] }
            }
        }
    };
}

/// Declares an enum whose variants have names in tables, with the list of their meanings. A line is `Variant "name",
/// unit, meaning;`.
macro_rules! names {
    ($(#[doc = $about:literal])+ $list:ident, $vis:vis $type:ident {
        $($variant:ident $name:literal, $unit:literal, $meaning:literal;)+
    }) => {
        $(#[doc = $about])+
        pub const $list: &[Column] = &[$(Column { name: $name, unit: $unit, meaning: $meaning },)+];

        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        $vis enum $type { $(#[doc = $meaning] $variant,)+ }

        impl $type {
            /// Returns the name in tables.
            $vis const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }
        }
    };
}

/// Declares the time series: an enum for each source, which matches on it, and the list of all. Lines as in [`names!`],
/// with a [`Kind`](super::Kind) in parentheses; without one, it is a level.
macro_rules! series {
    ($($(#[doc = $about:literal])+ $type:ident ($entity:expr, sampled: $sampled:literal) {
        $($variant:ident $(($kind:ident))? $name:literal, $unit:literal, $meaning:literal;)+
    })+) => {
        $(
            $(#[doc = $about])+
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub enum $type { $(#[doc = $meaning] $variant,)+ }

            impl $type {
                /// Returns the series named in `asked`, in the order of the dictionary.
                pub fn asked_for(asked: &[String]) -> Vec<Self> {
                    let all = [$(Self::$variant,)+].into_iter();
                    all.filter(|series| asked.iter().any(|name| name == series.name())).collect()
                }

                /// Returns the name in scenarios and tables.
                pub const fn name(self) -> &'static str {
                    match self { $(Self::$variant => $name,)+ }
                }

                /// Returns the meaning of a row.
                pub const fn kind(self) -> Kind {
                    match self { $(Self::$variant => kind!($($kind)?),)+ }
                }
            }
        )+

        /// All time series.
        pub const SERIES: &[Series] = &[$($(Series {
            column: Column { name: $name, unit: $unit, meaning: $meaning },
            entity: $entity,
            sampled: $sampled,
            kind: kind!($($kind)?),
        },)+)+];
    };
}

/// The kind of a series, if its line has one.
macro_rules! kind {
    () => {
        Kind::Level
    };
    ($kind:ident) => {
        Kind::$kind
    };
}

/// Names a column by its `as` name, or by its field.
macro_rules! column_name {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $name:literal) => {
        $name
    };
}

/// Type of a column's values in a row.
macro_rules! cell {
    (text $a:lifetime) => { &$a str };
    (real $a:lifetime) => { f64 };
    (whole $a:lifetime) => { u64 };
    (maybe $a:lifetime) => { Option<u64> };
}

pub(in crate::dictionary) use {cell, column_name};
pub(super) use {kind, names, series, table};

/// Value of a column in a row, and its form in the table.
pub(super) trait Cell {
    type Stored;
    fn stored(self) -> Self::Stored;
}

impl Cell for &str {
    type Stored = String;
    fn stored(self) -> String {
        self.to_owned()
    }
}

impl Cell for f64 {
    type Stored = f64;
    fn stored(self) -> f64 {
        self
    }
}

impl Cell for u64 {
    type Stored = i64;
    fn stored(self) -> i64 {
        i64::try_from(self).unwrap_or(i64::MAX)
    }
}

impl Cell for Option<u64> {
    type Stored = i64;
    fn stored(self) -> i64 {
        self.map_or(MISSING, Cell::stored)
    }
}

impl From<Vec<String>> for Values {
    fn from(values: Vec<String>) -> Self {
        Self::Text(values)
    }
}

impl From<Vec<f64>> for Values {
    fn from(values: Vec<f64>) -> Self {
        Self::Real(values)
    }
}

impl From<Vec<i64>> for Values {
    fn from(values: Vec<i64>) -> Self {
        Self::Whole(values)
    }
}
