//! Settings of a return link of DVB-RCS2: carriers, superframes, requests.

use crate::adaptation::Adaptation;
use crate::random::RandomAccess;
use crate::waveforms::{BurstLength, Waveform};
use bentpipe_units::{words, Duration};

words! {
    /// Use of capacity that is left over.
    pub enum Free {
        /// Slots stay empty.
        "none" => None,
        /// Slots go to terminals whose request is valid.
        "asking" => Asking,
        /// Slots go to all terminals.
        "all" => All,
    }
}

/// A return link: carriers, superframes, requests.
#[derive(Clone, Debug, PartialEq)]
pub struct MfTdma {
    /// Symbols per second of one carrier.
    pub symbol_rate: u64,
    /// Carriers, with those of random access.
    pub carriers: u32,
    /// Length of a superframe, T.
    pub superframe: Duration,
    /// Length of bursts.
    pub bursts: BurstLength,
    /// Waveform of all bursts. `None`: adaptive.
    pub waveform: Option<Waveform>,
    /// Adaptation of waveforms.
    pub acm: Adaptation,
    /// Time from reading requests to sending the plan, c.
    pub control_delay: Duration,
    /// Time between control slots of a terminal. `None`: no control slots.
    pub control_interval: Option<Duration>,
    /// Window of the arrival rate.
    pub evaluation: Duration,
    /// Factor on the arrival rate in rate requests.
    pub margin: f64,
    /// Time for which promised rates count as capacity to come in a request for a volume.
    pub ahead: Duration,
    /// Time in which a rate request wants to empty the backlog.
    pub drain: Duration,
    /// Factor on bytes asked for.
    pub overhead: f64,
    /// Life of a request at the controller.
    pub persistence: Duration,
    /// Use of capacity that is left over.
    pub free: Free,
    /// Random access.
    pub random: Option<RandomAccess>,
    /// Longest propagation from a terminal to the controller, P.
    pub to_controller: Duration,
    /// Longest propagation from the controller to a terminal, P'.
    pub to_terminal: Duration,
}

impl Default for MfTdma {
    fn default() -> Self {
        Self {
            symbol_rate: 1_000_000,
            carriers: 1,
            superframe: Duration::from_micros(26_500),
            bursts: BurstLength::Short,
            waveform: None,
            acm: Adaptation::default(),
            control_delay: Duration::from_millis(10),
            control_interval: Some(Duration::from_secs(1)),
            evaluation: Duration::from_millis(100),
            margin: 1.1,
            ahead: Duration::from_millis(100),
            drain: Duration::from_millis(100),
            overhead: 1.1,
            persistence: Duration::from_millis(1100),
            free: Free::None,
            random: None,
            to_controller: Duration::ZERO,
            to_terminal: Duration::ZERO,
        }
    }
}
