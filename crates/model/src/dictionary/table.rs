//! Tables by columns.

/// A missing whole number.
pub const MISSING: i64 = i64::MIN;

/// The values of a column.
#[derive(Clone, Debug)]
pub enum Values {
    /// Text.
    Text(Vec<String>),
    /// Real numbers; NaN: missing.
    Real(Vec<f64>),
    /// Whole numbers; [`MISSING`]: missing.
    Whole(Vec<i64>),
}

/// Columns of equal length, named as in the dictionary.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// (name, values), in order.
    pub columns: Vec<(&'static str, Values)>,
}

impl Table {
    /// Returns the values of a column of real numbers; empty if no such column exists.
    pub fn real(&self, name: &str) -> &[f64] {
        match self.column(name) {
            Some(Values::Real(values)) => values,
            _ => &[],
        }
    }

    /// Returns the values of a column of whole numbers; empty if no such column exists.
    pub fn whole(&self, name: &str) -> &[i64] {
        match self.column(name) {
            Some(Values::Whole(values)) => values,
            _ => &[],
        }
    }

    /// Returns the values of a column of text; empty if no such column exists.
    pub fn text(&self, name: &str) -> &[String] {
        match self.column(name) {
            Some(Values::Text(values)) => values,
            _ => &[],
        }
    }

    /// Adds the columns of another table with as many rows.
    pub fn beside(mut self, other: Self) -> Self {
        self.columns.extend(other.columns);
        self
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, |(_, values)| match values {
            Values::Text(v) => v.len(),
            Values::Real(v) => v.len(),
            Values::Whole(v) => v.len(),
        })
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn column(&self, name: &str) -> Option<&Values> {
        self.columns.iter().find(|(column, _)| *column == name).map(|(_, values)| values)
    }
}

/// Compares bit for bit: NaN equals NaN.
impl PartialEq for Values {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Whole(a), Self::Whole(b)) => a == b,
            (Self::Real(a), Self::Real(b)) => a.iter().map(|x| x.to_bits()).eq(b.iter().map(|x| x.to_bits())),
            _ => false,
        }
    }
}
