//! Ways of moving places and rain cells.

use bentpipe_units::{settings, Time};

settings! {
    /// Point on the way of a ship, aircraft, vehicle or rain cell.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct WayPoint {
        /// Time from the start of the run.
        time: Time;
        /// Latitude in degrees north.
        latitude: f64, [-90.0, 90.0];
        /// Longitude in degrees east.
        longitude: f64, [-180.0, 360.0];
        /// Height above the ellipsoid in km.
        height_km: f64 = 0.0, [-0.5, 100.0];
    }
}
