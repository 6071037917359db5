//! Alternatives of a shape. A value of a scenario has one of them.

use bentpipe_units::settings::{Format, Key, Shape, Table};

/// Alternative of a shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Alternative<'s> {
    /// A word and its meaning.
    Word(&'s str, &'s str),
    /// A table whose `kind` is the name of the table.
    Kind(&'s Table),
    /// A table without a kind.
    Table(&'s Table),
    /// Any other shape.
    Plain(&'s Shape),
}

/// Returns the alternatives of a shape, in the order of the declaration.
pub(super) fn alternatives(shape: &Shape) -> Vec<Alternative<'_>> {
    match shape {
        Shape::Word(_, words) => words.iter().map(|(word, meaning)| Alternative::Word(word, meaning)).collect(),
        Shape::Kinds(_, tables) => {
            // A kind without required keys may be written as its name.
            let bare = tables.iter().filter(|table| !table.keys.iter().flatten().any(Key::is_required));
            let bare = bare.map(|table| Alternative::Word(table.name, table.about));
            tables.iter().map(Alternative::Kind).chain(bare).collect()
        }
        Shape::Either(shapes) => shapes.iter().flat_map(alternatives).collect(),
        Shape::Table(table) => vec![Alternative::Table(table)],
        other => vec![Alternative::Plain(other)],
    }
}

impl<'s> Alternative<'s> {
    pub(super) fn word(self) -> Option<&'s str> {
        match self {
            Self::Word(word, _) => Some(word),
            _ => None,
        }
    }

    pub(super) fn kind(self) -> Option<&'s str> {
        match self {
            Self::Kind(table) => Some(table.name),
            _ => None,
        }
    }

    /// Returns the table, of a kind or not.
    pub(super) fn table(self) -> Option<&'s Table> {
        match self {
            Self::Kind(table) | Self::Table(table) => Some(table),
            _ => None,
        }
    }

    /// Returns the names of the keys of a table, including that of its kind.
    pub(super) fn keys(self) -> impl Iterator<Item = &'s str> {
        let keys = self.table().and_then(|table| table.keys.as_ref()).into_iter().flatten();
        self.kind().map(|_| "kind").into_iter().chain(keys.map(|key| key.name))
    }

    pub(super) fn format(self) -> Option<&'static Format> {
        match self {
            Self::Plain(Shape::Quantity(format)) => Some(format),
            _ => None,
        }
    }

    /// Returns the description.
    pub(super) fn about(self) -> &'s str {
        match self {
            Self::Word(_, about) => about,
            Self::Kind(table) | Self::Table(table) => table.about,
            Self::Plain(_) => "",
        }
    }
}
