//! Settings, and the constants in which versions and profiles differ.

use crate::model::common::BbrQuantum;
use crate::settings::settings;
use bentpipe_units::Duration;

bentpipe_units::words! {
    /// Edition of BBR v3.
    pub enum Bbr3Profile {
        /// The working group's draft.
        "draft" => Draft,
        /// The released code: Drain's pace is 0.347, Down's 0.91, Startup ends after 6 ACKs that show losses, and Drain
        /// has no limit.
        "code" => Code,
    }
}

bentpipe_units::words! {
    /// End of Up without losses.
    pub enum Bbr2Up {
        /// Up ends when it has lasted a least round-trip time and 1.25 times bandwidth · min_rtt is in flight.
        "queue" => Queue,
        /// Up ends when the delivery rate has not grown by a quarter for three round trips, as in v3.
        "plateau" => Plateau,
    }
}

settings! {
    /// Settings of BBR v3.
    pub struct Bbr3Settings {
        /// Edition of BBR v3.
        profile: enum Bbr3Profile = Bbr3Profile::Draft, "draft-ietf-ccwg-bbr";
        /// Share of the data in flight whose loss sets a bound.
        loss_threshold: f64 = 0.02, [0.0, 0.9], "draft-ietf-ccwg-bbr";
        /// Smallest share of a bound that a loss leaves.
        beta: f64 = 0.7, [0.1, 0.99], "draft-ietf-ccwg-bbr";
        /// Share of the long-term bound that is left free between probes.
        headroom: f64 = 0.15, [0.0, 0.9], "draft-ietf-ccwg-bbr";
        /// Data that is handed down in one quantum.
        quantum: enum BbrQuantum = BbrQuantum::Segment, "reading: the simulator sends segments one by one; the draft: offload";
        /// Whether samples at the limit of the receiver's window can only raise the bandwidth.
        rwnd_limited_is_app_limited: bool = false, "draft-ietf-ccwg-bbr";
        /// Whether the sender is notified of path reconfigurations. Losses then do not count for half a second, the
        /// least round-trip time is measured again, and the bandwidth is kept two cycles longer.
        leo: bool = false, "reading: no published BBR has this";
        /// Time between reconfigurations; 0: no reconfigurations.
        period: Duration = Duration::from_secs(15), "Starlink's scheduling period";
        /// Time of the first reconfiguration in the simulation.
        offset: Duration = Duration::ZERO, "reading";
    }
}

settings! {
    /// Settings of BBR v2.
    pub struct Bbr2Settings {
        /// Share of the data in flight whose loss sets a bound.
        loss_threshold: f64 = 0.02, [0.0, 0.9], "alpha release of 2019";
        /// Smallest share of a bound that a loss leaves.
        beta: f64 = 0.7, [0.1, 0.99], "alpha release of 2019";
        /// Share of the long-term bound that is left free between probes.
        headroom: f64 = 0.15, [0.0, 0.9], "alpha release of 2019";
        /// End of Up without losses.
        up_ends: enum Bbr2Up = Bbr2Up::Queue, "alpha release of 2019";
        /// Data that is handed down in one quantum.
        quantum: enum BbrQuantum = BbrQuantum::Segment, "reading: the simulator sends segments one by one; Linux: offload";
        /// Whether samples at the limit of the receiver's window can only raise the bandwidth.
        rwnd_limited_is_app_limited: bool = false, "alpha release of 2019";
        /// Whether the sender is notified of path reconfigurations. Losses then do not count for half a second, the
        /// least round-trip time is measured again, and the bandwidth is kept two cycles longer.
        leo: bool = false, "reading: no published BBR has this";
        /// Time between reconfigurations; 0: no reconfigurations.
        period: Duration = Duration::from_secs(15), "Starlink's scheduling period";
        /// Time of the first reconfiguration in the simulation.
        offset: Duration = Duration::ZERO, "reading";
    }
}

/// Constants in which versions and profiles differ.
#[derive(Clone, Copy, Debug)]
pub struct Version {
    pub(super) settings: Bbr3Settings,
    pub(super) startup_pacing: f64,
    pub(super) startup_window: f64,
    pub(super) drain_pacing: f64,
    pub(super) down_pacing: f64,
    pub(super) up_window: f64,
    /// Losses of a round trip that end Startup, and their unit: ranges or ACKs.
    pub(super) startup_losses: u32,
    pub(super) counts_ranges: bool,
    pub(super) has_drain_limit: bool,
    /// Whether Up ends after a round trip with a queue of a quarter.
    pub(super) up_ends_with_queue: bool,
    /// Whether the clock of aggregation ticks every 5 round trips, and two ticks count.
    pub(super) has_coarse_excess: bool,
}

impl From<Bbr3Settings> for Version {
    fn from(settings: Bbr3Settings) -> Self {
        let is_draft = settings.profile == Bbr3Profile::Draft;
        Self {
            settings,
            startup_pacing: 4.0 * std::f64::consts::LN_2,
            startup_window: 2.0,
            drain_pacing: if is_draft { 0.5 } else { 1.0 / 2.885 },
            down_pacing: if is_draft { 0.9 } else { 0.91 },
            up_window: 2.25,
            startup_losses: 6,
            counts_ranges: is_draft,
            has_drain_limit: is_draft,
            up_ends_with_queue: false,
            has_coarse_excess: !is_draft,
        }
    }
}

impl From<Bbr2Settings> for Version {
    fn from(v2: Bbr2Settings) -> Self {
        let Bbr2Settings {
            loss_threshold,
            beta,
            headroom,
            up_ends,
            quantum,
            rwnd_limited_is_app_limited,
            leo,
            period,
            offset,
        } = v2;
        let profile = Bbr3Profile::Code;
        let settings = Bbr3Settings {
            profile,
            loss_threshold,
            beta,
            headroom,
            quantum,
            rwnd_limited_is_app_limited,
            leo,
            period,
            offset,
        };
        Self {
            startup_pacing: 2.885,
            startup_window: 2.885,
            down_pacing: 0.75,
            up_window: 2.0,
            startup_losses: 8,
            up_ends_with_queue: up_ends == Bbr2Up::Queue,
            ..Self::from(settings)
        }
    }
}
