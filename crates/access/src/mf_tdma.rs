//! Settings of a return link of DVB-RCS2: carriers, superframes, requests.

use crate::adaptation::Adaptation;
use crate::log_on::LogOn;
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
    /// Largest share of the slots that a plan gives.
    pub load_limit: f64,
    /// Log-on of terminals. `None`: all are on.
    pub log_on: Option<LogOn>,
    /// Random access.
    pub random: Option<RandomAccess>,
    /// Longest propagation from a terminal to the controller, P.
    pub to_controller: Duration,
    /// Longest propagation from the controller to a terminal, P'.
    pub to_terminal: Duration,
}

impl MfTdma {
    /// Returns the slots of a superframe that a plan may give, of carriers with this many slots.
    pub fn planned_slots(&self, slots: u32) -> u32 {
        let random = self.random.map_or(0, |random| random.carriers);
        let all = u64::from(slots) * u64::from(self.carriers.saturating_sub(random));
        let most = (all as f64 * self.load_limit).floor().min(f64::from(u32::MAX)) as u32;
        most.saturating_sub(self.log_on.as_ref().map_or(0, |log_on| log_on.slots))
    }
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
            load_limit: 1.0,
            log_on: None,
            random: None,
            to_controller: Duration::ZERO,
            to_terminal: Duration::ZERO,
        }
    }
}
