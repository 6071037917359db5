//! Shared access: media, and the part of each link in its medium.
//!
//! A medium is capacity that several links share. Its links have no rate: in each superframe, the medium opens the
//! windows in which each may send. Sources: ETSI EN 301 545-2 (DVB-RCS2), with most defaults as SNS3 and OpenSAND configure them.

use super::{LeoCell, Losses, Profile, Tdm};
use crate::ids::{MediumId, NodeId};
use bentpipe_access::{Access, Adaptation, BurstLength, Capacity, Free, Grid, RandomUse, Waveform, CLASSES};
use bentpipe_units::settings::{Baud, Chance, Level};
use bentpipe_units::settings::{Fields, Settings, Typed};
use bentpipe_units::{amounts, kinds, settings, Duration, Rate, Time};

/// A medium of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Medium {
    /// Name in the file.
    pub name: String,
    /// Its kind, with the keys.
    pub kind: MediumKind,
    /// The node that reads requests and makes plans. On a forward carrier: the node that sends.
    pub controller: NodeId,
    /// Longest propagation from a terminal to the controller in the run.
    pub there: Duration,
    /// Longest propagation from the controller to a terminal in the run.
    pub back: Duration,
    /// Longest propagation from the end of a link to the controller and back to this end in the run.
    pub beyond: Duration,
}

/// The part of a link in its medium.
#[derive(Clone, Debug, PartialEq)]
pub struct Terminal {
    /// The medium.
    pub medium: MediumId,
    /// Energy per symbol over noise density, in dB. `None` in a medium without waveforms.
    pub es_n0: Option<Profile<f64>>,
    /// Capacity that the terminal has or may ask for.
    pub access: TerminalAccess,
}

impl Terminal {
    /// The signal. Without waveforms any will do.
    pub fn signal(&self) -> &Profile<f64> {
        const ANY: &Profile<f64> = &Profile::Constant(0.0);
        self.es_n0.as_ref().unwrap_or(ANY)
    }
}

/// Signal that a link in a medium needs so that it can send with any waveform.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NeededSignal {
    /// Threshold of the most robust waveform, or of the constant one, in dB.
    pub(crate) threshold_db: f64,
    /// Margin above it, in dB.
    pub(crate) margin_db: f64,
}

impl NeededSignal {
    /// The need of a link that sends with any signal.
    pub(crate) const NONE: Self = Self { threshold_db: f64::NEG_INFINITY, margin_db: 0.0 };

    /// Whether a signal in dB is enough, as the controller computes it.
    pub fn is_met(&self, es_n0_db: f64) -> bool {
        es_n0_db - self.margin_db >= self.threshold_db
    }
}

kinds! {
    /// Capacity that several links share.
    #[derive(Clone, Debug, PartialEq)]
    pub enum MediumKind as "Medium", "a medium" {
        /// Time slots on several carriers, granted by a plan per superframe: the return link of DVB-RCS2.
        "mf-tdma" => MfTdma(MfTdma);
        /// Frames of one carrier, which terminals share in turns: the forward carrier of DVB-S2.
        "tdm" => Tdm(Tdm);
        /// Short frames of equal slots, which the users of a satellite in low orbit take in turn. One medium per direction.
        "leo-cell" => LeoCell(LeoCell);
    }
}

settings! {
    /// Return link of DVB-RCS2: time slots on several carriers, which a controller grants in a plan per superframe.
    #[derive(Clone, Debug, PartialEq)]
    pub struct MfTdma {
        /// Symbol rate of one carrier.
        symbol_rate: Baud;
        /// Number of carriers. A terminal sends on one at a time.
        carriers: u32, [1, 10_000];
        /// Node that reads the requests and makes the plans. In `[sky]`, `{satellite}` is that of the medium.
        controller: String;
        /// Forward carrier (medium of kind `tdm`) that carries the plans. Default: plans take no capacity.
        plan_over: Option<String>;
        /// Superframe: time between two plans.
        superframe: Duration = Duration::from_micros(26_500), "OpenSAND";
        /// Length of all bursts.
        bursts: BurstLength = BurstLength::Short, "OpenSAND";
        /// Time from a plan to the moment when it is sent.
        control_delay: Duration = Duration::from_millis(10), "reading: hubs do not publish it";
        /// Time between the slots in which each terminal may send a request, rounded up to superframes.
        control_interval: ControlInterval = ControlInterval::Every(Duration::from_secs(1)), "SNS3";
        /// Window over which a terminal measures the rate of its arrivals.
        evaluation: Duration = Duration::from_millis(100), "SNS3";
        /// Factor on this rate in a request. Above 1, the queue of the first round trip gets empty.
        margin: f64 = 1.1, [1.0, 10.0], "SNS3";
        /// Time for which promised rates count as capacity to come when a terminal asks for a volume.
        ahead: Duration = Duration::from_millis(100), "SNS3";
        /// Time in which a request for a rate wants to empty the backlog.
        drain: Duration = Duration::from_millis(100), "SNS3";
        /// Factor on the bytes asked for, since encapsulation adds to them.
        overhead: f64 = 1.1, [1.0, 10.0], "SNS3";
        /// Life of a request at the controller.
        persistence: Duration = Duration::from_millis(1100), "OpenSAND: one control interval and a superframe";
        /// Whether a terminal whose node was in another such medium before keeps its requests. Otherwise it starts without requests.
        hands_over: bool = false;
        /// Owners of slots that no request covers.
        free: Free = Free::None;
        /// Largest share of the slots that a plan gives. The rest stays empty. SNS3 plans 0.9.
        load_limit: f64 = 1.0, [0.01, 1.0];
        /// Choice of the waveform by the signal.
        acm: WaveformChoice = WaveformChoice::default();
        /// Constant waveform instead: its number, 3 to 12 for short bursts, 13 to 22 for long ones, 42 and 43 for robust ones
        /// and 44 to 49 for tiny ones. Default: adaptive (`acm`).
        waveform: Option<u32>, [3, 49];
        /// Losses of bursts as a function of the signal.
        losses: Losses = Losses::Step;
        /// Random access on some of the carriers. Default: none.
        random: Option<RandomAccess>;
        /// Log-on of the terminals. Default: all are logged on.
        log_on: Option<LogOn>;
    }
}

settings! {
    /// Log-on of terminals: a burst in a slot of slotted ALOHA, which the controller answers. Before, a terminal has no slots.
    #[derive(Clone, Debug, PartialEq)]
    pub struct LogOn {
        /// Slots of each superframe for log-on bursts. Plans have the others.
        slots: u32 = 4, [1, 10_000], "reading: hubs set it";
        /// Whether all terminals are off at the start of the run.
        at_start: bool = true;
        /// Random wait before each burst.
        repeat: Repeat = Repeat { first: 16, most: 512 }, "reading: OpenSAND's exponential back-off";
        /// Outage of its link after which a terminal is off.
        after: Duration = Duration::from_secs(10), "reading: synchronization is lost";
        /// Time without traffic after which a terminal logs off. Default: it stays on.
        idle: Option<Duration>;
        /// Instants at which the hub resets and loses all terminals, rising.
        resets: Vec<Time> = Vec::new();
    }
}

impl LogOn {
    /// Returns the log-on for the component of the access crate.
    fn parameters(&self) -> bentpipe_access::LogOn {
        bentpipe_access::LogOn {
            slots: self.slots,
            at_start: self.at_start,
            repeat: (self.repeat.first, self.repeat.most),
            after: self.after,
            idle: self.idle,
            resets: self.resets.clone(),
        }
    }
}

amounts! {
    /// Time between the control slots of a terminal.
    pub enum ControlInterval("control-interval", "a control interval", "\"none\" or a duration", "1 s") {
        /// No control slots.
        word("none") => None;
        /// A slot in each of these times.
        span => Every(Duration);
    }
}

settings! {
    /// Choice of the waveform by the signal: down immediately, up when the signal has been strong enough for some time.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct WaveformChoice {
        /// Margin of the measured signal above a threshold.
        margin: Level = Level(1.0);
        /// Further margin to go up.
        hysteresis: Level = Level(0.3);
        /// Consecutive measurements with that margin.
        hold: u32 = 3, [1, 1000];
    }
}

settings! {
    /// Random access in contention slots (CRDSA): a burst is sent in several slots of a block, and the receiver removes the
    /// copies of each burst that it reads.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct RandomAccess {
        /// Number of carriers with contention slots.
        carriers: u32 = 1, [1, 10_000], "SNS3";
        /// Copies of each burst. 1: slotted ALOHA.
        copies: u32 = 3, [1, 8], "SNS3";
        /// Rounds in which the receiver removes copies.
        iterations: u32 = 16, [1, 1000], "SNS3";
        /// Bursts of a terminal in a block, at most.
        per_block: u32 = 3, [1, 100], "SNS3";
        /// Blocks that a terminal may use one after the other.
        in_a_row: u32 = 4, [1, 1000], "SNS3";
        /// Blocks that it then leaves out.
        rest: u32 = 2, [0, 1000], "SNS3";
        /// Back-off before a block.
        back_off: BackOff = BackOff { probability: 0.15, time: Duration::from_millis(250) }, "SNS3";
        /// Back-off under high load.
        high_load: HighLoad = HighLoad { load: 0.5, probability: 0.46, time: Duration::from_millis(500) }, "SNS3";
        /// Random wait before a request is repeated.
        repeat: Repeat = Repeat { first: 16, most: 512 }, "reading: OpenSAND's exponential back-off";
    }
}

settings! {
    /// Random back-off: with this probability a terminal waits before it sends.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct BackOff {
        /// Probability that it waits.
        probability: f64 as Chance;
        /// Time that it waits.
        time: Duration;
    }
}

settings! {
    /// Back-off while the offered load of the last second exceeds a limit.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct HighLoad {
        /// Offered load, in bursts per slot.
        load: f64, [0.0, 10.0];
        /// Probability that a terminal waits.
        probability: f64 as Chance;
        /// Time that it waits.
        time: Duration;
    }
}

settings! {
    /// Wait before a request by random access is repeated, or before a log-on: a random number of blocks below a limit, which doubles with each
    /// loss.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Repeat {
        /// Limit after the first loss. 1: no wait, so that requests that were lost together are lost again.
        first: u32, [1, 1_000_000];
        /// Largest limit.
        most: u32, [1, 1_000_000];
    }
}

settings! {
    /// Capacity of a terminal in its medium.
    #[derive(Clone, Debug, PartialEq)]
    pub struct TerminalAccess as "Access" {
        /// Rate that the terminal has without asking (CRA).
        constant: Rate = Rate::from_bps(0);
        /// Limit of the rate that it has and may ask for together (CRA and RBDC).
        rate_based: Rate = Rate::from_bps(0);
        /// Part of the rate asked for that a plan serves before all other requests (least RBDC).
        guaranteed: Rate = Rate::from_bps(0);
        /// Whether it asks for the bytes that wait (VBDC).
        volume_based: bool = false;
        /// Request classes: number 0, 1, ... Each class asks for its own packets, and a plan serves class 0 first. The queue has
        /// as many classes and decides which packet leaves. Default: one class with the keys above.
        "class" classes: Vec<ClassAccess> = Vec::new(), [0, 4];
        /// Share in a phase of the plan that is short of slots, and in the turns on the forward carrier to the same
        /// terminal.
        weight: u32 = 1, [1, 1000];
        /// Use of random access. Default: `"requests"` if the medium has random access, else `"none"`.
        random: Option<RandomUse>;
    }
}

settings! {
    /// Capacity of a request class.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ClassAccess {
        /// Rate that the class has without asking (CRA).
        constant: Rate = Rate::from_bps(0);
        /// Limit of the rate that it has and may ask for together (CRA and RBDC).
        rate_based: Rate = Rate::from_bps(0);
        /// Part of the rate asked for that a plan serves before all other requests (least RBDC).
        guaranteed: Rate = Rate::from_bps(0);
        /// Whether it asks for the bytes that wait (VBDC).
        volume_based: bool = false;
    }
}

impl ClassAccess {
    /// Whether it asks for capacity.
    pub(crate) fn asks(&self) -> bool {
        self.volume_based || self.rate_based > self.constant
    }

    /// Returns the capacity for the component of the access crate.
    fn capacity(&self) -> Capacity {
        let Self { constant, rate_based, guaranteed, volume_based } = *self;
        Capacity { constant, rate_based, guaranteed, volume_based }
    }
}

impl TerminalAccess {
    /// Returns its request classes.
    pub fn request_classes(&self) -> Vec<ClassAccess> {
        let &Self { constant, rate_based, guaranteed, volume_based, .. } = self;
        match self.classes.is_empty() {
            true => vec![ClassAccess { constant, rate_based, guaranteed, volume_based }],
            false => self.classes.clone(),
        }
    }

    /// Whether one of its classes asks for capacity.
    pub fn asks(&self) -> bool {
        self.request_classes().iter().any(ClassAccess::asks)
    }

    /// Returns the sum of a rate over its classes.
    pub fn sum(&self, of: impl Fn(&ClassAccess) -> Rate) -> Rate {
        Rate::from_bps(self.request_classes().iter().map(|class| of(class).as_bps()).sum())
    }

    /// Returns the access for the component of the access crate.
    pub fn parameters(&self) -> Access {
        let classes = self.request_classes();
        let mut further = [None; CLASSES - 1];
        for (of, class) in further.iter_mut().zip(&classes[1..]) {
            *of = Some(class.capacity());
        }
        let random = self.random.unwrap_or(RandomUse::None);
        Access { first: classes[0].capacity(), further, random, weight: self.weight }
    }
}

impl MediumKind {
    /// Returns the name of the node that makes the plans.
    pub fn controller(&self) -> Option<&str> {
        match self {
            Self::MfTdma(keys) => Some(&keys.controller),
            Self::LeoCell(keys) => Some(&keys.controller),
            Self::Tdm(_) => None,
        }
    }

    /// Whether it hands requests over to other media, and takes over theirs.
    pub fn hands_over(&self) -> bool {
        match self {
            Self::MfTdma(keys) => keys.hands_over,
            Self::LeoCell(keys) => keys.hands_over,
            Self::Tdm(_) => false,
        }
    }

    /// Returns the symbol rate of a carrier. A cell has none.
    pub fn symbol_rate(&self) -> Option<Baud> {
        match self {
            Self::MfTdma(keys) => Some(keys.symbol_rate),
            Self::Tdm(keys) => Some(keys.symbol_rate),
            Self::LeoCell(_) => None,
        }
    }

    /// Returns the signal that its links need to send.
    pub fn needed_signal(&self) -> NeededSignal {
        match self {
            Self::MfTdma(keys) => keys.needed_signal(),
            Self::Tdm(keys) => keys.needed_signal(),
            Self::LeoCell(_) => NeededSignal::NONE,
        }
    }

    /// Returns the losses of bursts as a function of the signal.
    pub fn losses(&self) -> Losses {
        match self {
            Self::MfTdma(keys) => keys.losses,
            Self::Tdm(keys) => keys.losses,
            Self::LeoCell(_) => Losses::Step,
        }
    }
}

impl Default for TerminalAccess {
    fn default() -> Self {
        let none = Rate::from_bps(0);
        Self {
            constant: none,
            rate_based: none,
            guaranteed: none,
            volume_based: false,
            classes: Vec::new(),
            weight: 1,
            random: None,
        }
    }
}

impl MediumKind {
    /// Whether its links have `access`.
    pub fn has_access(&self) -> bool {
        !matches!(self, Self::Tdm(_))
    }
}

impl ControlInterval {
    /// Returns the time between two control slots, if there are any.
    pub fn every(self) -> Option<Duration> {
        match self {
            Self::None => None,
            Self::Every(every) => Some(every),
        }
    }
}

impl MfTdma {
    /// Returns a medium of one carrier of 1 Mbaud with default keys and the controller at this node.
    pub fn named(controller: &str) -> Self {
        let mut keys = Fields::default();
        keys.put("symbol_rate", Typed::write(&Baud(1e6)));
        keys.put("carriers", 1_u32.write());
        keys.put("controller", controller.to_owned().write());
        <Self as Settings>::read(&keys).unwrap_or_else(|why| panic!("{why}"))
    }

    /// Returns its superframes and slots.
    pub fn grid(&self) -> Grid {
        Grid::of_carriers(self.superframe, self.symbol_rate.0 as u64, self.bursts)
    }

    /// Returns the rate of one carrier in a waveform, rounded down.
    pub fn carrier_rate(&self, waveform: Waveform) -> Rate {
        let bits = 8 * u128::from(self.grid().slots()) * u128::from(waveform.payload());
        let rate = bits * 1_000_000_000_000 / u128::from(self.superframe.as_ps().max(1));
        Rate::from_bps(u64::try_from(rate).unwrap_or(u64::MAX))
    }

    /// Returns the waveform that a signal permits, with the margin.
    pub fn waveform_for(&self, es_n0_db: f64) -> Option<Waveform> {
        match self.waveform {
            Some(id) => Waveform::numbered(id),
            None => Waveform::best(self.bursts, es_n0_db - self.acm.margin.0),
        }
    }

    /// Returns the signal that a terminal needs to send. With a weaker one, its requests are lost, too.
    pub(crate) fn needed_signal(&self) -> NeededSignal {
        let least = || Waveform::all(self.bursts).map(Waveform::threshold_db).fold(f64::INFINITY, f64::min);
        match self.waveform.and_then(Waveform::numbered) {
            Some(waveform) => NeededSignal { threshold_db: waveform.threshold_db(), margin_db: 0.0 },
            None => NeededSignal { threshold_db: least(), margin_db: self.acm.margin.0 },
        }
    }

    /// Returns the slots for data of a superframe, on all carriers.
    pub fn data_slots(&self) -> u64 {
        let parameters = self.parameters(Duration::ZERO, Duration::ZERO);
        parameters.planned_slots(self.grid().slots()).into()
    }

    /// Returns the parameters of the medium for the component of the access crate.
    pub fn parameters(&self, there: Duration, back: Duration) -> bentpipe_access::MfTdma {
        bentpipe_access::MfTdma {
            symbol_rate: self.symbol_rate.0 as u64,
            carriers: self.carriers,
            superframe: self.superframe,
            bursts: self.bursts,
            waveform: self.waveform.and_then(Waveform::numbered),
            acm: Adaptation { margin_db: self.acm.margin.0, hysteresis_db: self.acm.hysteresis.0, hold: self.acm.hold },
            control_delay: self.control_delay,
            control_interval: self.control_interval.every(),
            evaluation: self.evaluation,
            margin: self.margin,
            ahead: self.ahead,
            drain: self.drain,
            overhead: self.overhead,
            persistence: self.persistence,
            free: self.free,
            load_limit: self.load_limit,
            log_on: self.log_on.as_ref().map(LogOn::parameters),
            random: self.random.map(|random| bentpipe_access::RandomAccess {
                carriers: random.carriers,
                copies: random.copies,
                iterations: random.iterations,
                per_block: random.per_block,
                in_a_row: random.in_a_row,
                rest: random.rest,
                back_off: (random.back_off.probability, random.back_off.time),
                high_load: (random.high_load.load, random.high_load.probability, random.high_load.time),
                repeat: (random.repeat.first, random.repeat.most),
            }),
            to_controller: there,
            to_terminal: back,
        }
    }

    /// Returns the largest rate that a terminal could have alone, with this signal at its best.
    pub fn rate_alone(&self, es_n0: &Profile<f64>, access: &TerminalAccess) -> Rate {
        let best = es_n0.values().fold(f64::NEG_INFINITY, f64::max);
        let carrier = self.waveform_for(best).map_or(Rate::from_bps(0), |waveform| self.carrier_rate(waveform));
        let takes_data_slots = access.random == Some(RandomUse::Data);
        let classes = access.request_classes();
        match classes.iter().any(|class| class.volume_based) || self.free != Free::None || takes_data_slots {
            true => carrier,
            false => carrier.min(access.sum(|class| class.constant.max(class.rate_based))),
        }
    }
}
