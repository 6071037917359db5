//! Records of the objects of pages, each from its request to its last byte.

use super::rows::{Cut, Room};
use bentpipe_model::dictionary::{ObjectRow, Table};
use bentpipe_model::ids::FlowId;
use bentpipe_units::Time;

/// An object of a page that has been received.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadedObject {
    /// Number of the page among those of its flow.
    pub(crate) page: u64,
    /// Number among the objects of the page.
    pub(crate) number: usize,
    /// Object that names it; `None` for the main object.
    pub(crate) after: Option<u32>,
    pub(crate) host: u32,
    pub(crate) bytes: u64,
    /// Instant at which the page needed it.
    pub(crate) due: Time,
    /// Instant at which its request was handed to TCP.
    pub(crate) request: Time,
    pub(crate) first_byte: Time,
    pub(crate) last_byte: Time,
}

/// Objects in the order of their last bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Objects {
    rows: Vec<(FlowId, LoadedObject)>,
    cut: Cut,
}

impl Objects {
    pub(super) fn add(&mut self, room: &mut Room, flow: FlowId, object: LoadedObject) {
        if self.cut.fits(self.rows.len(), room, object.last_byte) {
            self.rows.push((flow, object));
        }
    }

    /// Returns the rows that did not fit.
    pub(super) fn cut(&self) -> Cut {
        self.cut
    }

    pub(super) fn table(&self, flows: &[&str]) -> Table {
        ObjectRow::table(self.rows.iter().map(|(flow, object)| ObjectRow {
            flow: flows[*flow],
            page: object.page,
            object: object.number as u64,
            after: object.after.map_or(f64::NAN, f64::from),
            host: object.host.into(),
            bytes: object.bytes,
            due_s: object.due.as_secs_f64(),
            request_s: object.request.as_secs_f64(),
            first_byte_s: object.first_byte.as_secs_f64(),
            last_byte_s: object.last_byte.as_secs_f64(),
        }))
    }
}
