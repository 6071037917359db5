//! The return link of DVB-RCS2 as a component in time: one wake-up per superframe.
//!
//! A request that leaves in superframe i is read at i + u, u = 1 + ceil(P / T). The plan made at k governs superframe
//! k + v, v = ceil((c + P') / T). A request therefore takes R = (u + v) T to its grant.

use crate::adaptation::Adaptation;
use crate::grid::{Grid, Window};
use crate::random::{RandomAccess, RandomUse};
use crate::waveforms::{BurstLength, Waveform};
use bentpipe_units::{words, Duration, Rate, Time};

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

/// What a terminal may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Constant rate (CRA).
    pub constant: Rate,
    /// Limit of the constant rate and the rate asked for (RBDC).
    pub rate_based: Rate,
    /// Whether it asks for volumes (VBDC).
    pub volume_based: bool,
    /// Use of random access.
    pub random: RandomUse,
    /// Slots in a turn.
    pub weight: u32,
}

impl Default for Access {
    fn default() -> Self {
        let none = Rate::from_bps(0);
        Self { constant: none, rate_based: none, volume_based: false, random: RandomUse::None, weight: 1 }
    }
}

/// A terminal: the name of its link, and its access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// Name of the link, which addresses its random numbers.
    pub name: String,
    /// What it may ask for.
    pub access: Access,
}

/// State of a terminal at the start of a superframe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// Bytes that wait, with the rest of a packet of which a part has left.
    pub backlog: u64,
    /// Bytes that came since the last superframe.
    pub arrived: u64,
    /// Signal with which bursts of this superframe reach the controller, dB.
    pub es_n0_db: f64,
    /// Whether the link is up.
    pub is_up: bool,
}

/// Counts of a return link since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReturnCounters {
    /// Slots for data that were granted.
    pub granted_slots: u64,
    /// Bytes of these slots.
    pub granted_bytes: u64,
    /// Control slots.
    pub control_slots: u64,
    /// Bytes of plans.
    pub plan_bytes: u64,
    /// Requests in bursts of windows.
    pub requests_in_bursts: u64,
    /// Requests in control slots.
    pub requests_in_control: u64,
    /// Requests in random bursts.
    pub requests_in_random: u64,
    /// Requests that were lost.
    pub requests_lost: u64,
    /// Bursts of random access.
    pub random_bursts: u64,
    /// Bursts of random access that were lost.
    pub random_lost: u64,
}

/// A return link.
#[derive(Clone, Debug)]
pub struct ReturnLink {
    grid: Grid,
    superframe: u64,
    opened: Vec<u32>,
    windows: Vec<[Option<Window>; 2]>,
    counters: ReturnCounters,
}

impl ReturnLink {
    /// Returns the link at the start of a run. Constant and free capacity and control slots are granted from the first
    /// superframe on. `name` and `seed` address the random numbers of the medium.
    pub fn new(_medium: &MfTdma, _terminals: &[Terminal], _name: &str, _seed: u64) -> Self {
        unreachable!("replaced in the next commit")
    }

    /// Returns superframes and slots.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Returns the start of the next superframe: the time of the next [`ReturnLink::advance`].
    pub fn next_wakeup(&self) -> Time {
        self.grid.start(self.superframe)
    }

    /// Opens the next superframe. `demands` has the state of each terminal at its start.
    pub fn advance(&mut self, _demands: &[Demand]) {}

    /// Returns the terminals with windows in the superframe that was opened last.
    pub fn opened(&self) -> &[u32] {
        &self.opened
    }

    /// Returns the windows of a terminal in the superframe that was opened last, in order of time: for
    /// [`Packer::open`](crate::Packer::open).
    pub fn windows(&self, _terminal: usize) -> &[Window] {
        &[]
    }

    /// Returns the time from a request to its grant, R.
    pub fn request_to_grant(&self) -> Duration {
        self.grid.superframe()
    }

    /// Returns the size of the plan that was made last: 11 B and 3 B per slot.
    pub fn plan_bytes(&self) -> u64 {
        0
    }

    /// Returns the terminals with slots in the plan that was made last.
    pub fn planned(&self) -> impl Iterator<Item = u32> + '_ {
        std::iter::empty()
    }

    /// Returns the waveform that the controller plans for a terminal. `None` if no waveform fits its signal.
    pub fn waveform(&self, _terminal: usize) -> Option<Waveform> {
        None
    }

    /// Returns the rate that a terminal asks for, beyond the constant one.
    pub fn requested(&self, _terminal: usize) -> Rate {
        Rate::from_bps(0)
    }

    /// Returns the bytes that are granted to a terminal in the superframe that was opened last.
    pub fn granted(&self, _terminal: usize) -> u64 {
        0
    }

    /// Returns the counts since the start.
    pub fn counters(&self) -> ReturnCounters {
        self.counters
    }
}
