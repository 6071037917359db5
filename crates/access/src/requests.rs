//! What a terminal asks for: rates (RBDC) and volumes (VBDC) of DVB-RCS2, in the units of ETSI EN 301 545-2.

use bentpipe_units::Rate;

/// Way of a request to the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// In the first burst of a window.
    Burst,
    /// In a control slot.
    Control,
    /// In a random burst.
    Random,
}

/// Volume asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Bytes.
    pub bytes: u32,
    /// Whether it replaces the backlog at the controller (AVBDC) instead of adding to it.
    pub is_absolute: bool,
}

/// Request of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Rate beyond the constant one. `None` leaves the earlier one valid.
    pub rate: Option<Rate>,
    /// Volume.
    pub volume: Option<Volume>,
}
