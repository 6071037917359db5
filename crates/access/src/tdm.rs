//! The forward link of DVB-S2 as a component in time: one carrier, one wake-up per frame, none when nothing waits.
//!
//! A frame has one modulation and code. Packets of a modulation and code wait for others until they fill a frame, or until
//! their time is up ([`Tdm::hold`]): they are ripe then. Plans whose time is up come first. Otherwise the first
//! terminal in order of the turns whose choice is ripe gives its choice to the frame. Terminals with this choice come
//! first, then other terminals that receive the frame complete it: by deficit round robin (M. Shreedhar, G. Varghese,
//! "Efficient fair queueing using deficit round robin", SIGCOMM 1995).

use crate::adaptation::Adaptation;
use crate::frames::{most_efficient, Frames, Length, Part};
use crate::modcods::{Modcod, MODCODS};
use crate::reports::Reported;
use bentpipe_units::{words, Duration, Time};
use std::collections::VecDeque;

words! {
    /// Unit of the turns of terminals.
    pub enum Share {
        /// Turns by bytes: terminals get equal rates.
        "bits" => Bits,
        /// Turns by symbols: terminals get equal times, so a weak signal costs only its own terminal.
        "time" => Time,
    }
}

/// A forward link.
#[derive(Clone, Debug, PartialEq)]
pub struct Tdm {
    /// Frames of the carrier.
    pub frames: Frames,
    /// Unit of turns.
    pub share: Share,
    /// Longest time that packets wait for others of their modulation and code to fill a frame, while the carrier has other
    /// frames to send. Zero: each turn opens a frame, and all terminals that receive it fill it in turns.
    pub hold: Duration,
    /// Whether frames may be short. A short frame needs [`Length::loss_db`] more, beyond the margin.
    pub short_frames: bool,
    /// Constant modulation and code. `None`: adaptive.
    pub modcod: Option<Modcod>,
    /// Adaptation of modulation and code.
    pub acm: Adaptation,
}

/// Queues of the terminals, as the carrier sees them.
pub trait Queues {
    /// Whether the link to a terminal is up at `now`. Packets of a link that is down wait, and its turn passes.
    fn is_up(&mut self, terminal: usize, now: Time) -> bool;
    /// Returns the bytes of the packet that a terminal gets next, at `now`. `None` if no packet waits.
    fn next(&mut self, terminal: usize, now: Time) -> Option<u32>;
    /// Returns the packets that wait for a terminal, with the packet that has left in part.
    fn backlog(&mut self, terminal: usize) -> Backlog;
    /// Takes this packet out of its queue: its first part is in a frame.
    fn take(&mut self, terminal: usize);
    /// Puts a part of the packet that was taken into a frame. Returns whether the terminal loses the frame.
    fn put(&mut self, terminal: usize, frame: &Frame, part: Part) -> bool;
    /// The last part of the packet that was taken leaves with a frame that ends at `at`.
    fn sent(&mut self, terminal: usize, at: Time, is_lost: bool);
}

/// Packets that wait for a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets.
    pub packets: u64,
    /// Bytes of these packets that have not left.
    pub bytes: u64,
}

/// A frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its modulation and code.
    pub modcod: Modcod,
    /// Its length.
    pub length: Length,
    /// Start of its transmission.
    pub starts: Time,
    /// End of its transmission.
    pub ends: Time,
}

impl Frame {
    /// Returns the Es/N0 in dB that it needs, ideally.
    pub fn threshold_db(&self) -> f64 {
        self.modcod.threshold_db() + self.length.loss_db()
    }
}

/// Frames of a modulation and code since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FramesOf {
    /// Normal frames.
    pub normal: u64,
    /// Short frames.
    pub short: u64,
}

/// Counts of a forward link since the start, in frames and bytes. Padding is `bytes` - `carried` - `headers` - `plans`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameCounters {
    /// Frames.
    pub frames: u64,
    /// Bytes of these frames.
    pub bytes: u64,
    /// Bytes of packets.
    pub carried: u64,
    /// Bytes of headers.
    pub headers: u64,
    /// Bytes of plans.
    pub plans: u64,
}

/// Bytes of a turn, for each unit of weight.
const QUANTUM_BYTES: f64 = 1500.0;

/// A terminal at the gateway.
#[derive(Clone, Debug)]
struct Receiver {
    reported: Reported,
    weight: f64,
    /// Rest of its turn, in bytes or symbols.
    deficit: f64,
    is_waiting: bool,
    /// Start of the wait of its packets: arrival of the first one, or the last frame in which a packet of it ended.
    since: Time,
    /// Whether its turn has begun.
    in_turn: bool,
    /// Rest of the packet that was taken, and whether a part of it was lost.
    rest: u32,
    is_lost: bool,
    /// Terminals that receive its packets, if it stands for several: with the choice of the weakest that can be served.
    members: Vec<u32>,
}

impl Receiver {
    fn new(reported: Reported, weight: u32, members: Vec<u32>) -> Self {
        Self {
            reported,
            weight: f64::from(weight.max(1)),
            deficit: 0.0,
            is_waiting: false,
            since: Time::ZERO,
            in_turn: false,
            rest: 0,
            is_lost: false,
            members,
        }
    }
}

/// A plan that waits.
#[derive(Clone, Copy, Debug)]
struct Announced {
    bytes: u64,
    modcod: Modcod,
    since: Time,
    /// Whether its terminals receive a short frame with the margin.
    may_be_short: bool,
}

/// Waiting packets of a modulation and code.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// Bytes, headers included.
    bytes: u64,
    /// Start of the longest wait.
    since: Time,
    /// Whether its terminals receive a short frame with the margin.
    may_be_short: bool,
}

impl Open {
    const EMPTY: Self = Self { bytes: 0, since: Time::NEVER, may_be_short: true };

    fn add(&mut self, bytes: u64, since: Time, may_be_short: bool) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.since = self.since.min(since);
        self.may_be_short &= may_be_short;
    }
}

/// A forward link that runs.
#[derive(Clone, Debug)]
pub struct TdmMedium {
    settings: Tdm,
    receivers: Vec<Receiver>,
    /// Terminals with packets, in order of their turns.
    turns: VecDeque<u32>,
    plans: VecDeque<Announced>,
    /// Open frames at the start of the last frame, and frames since the start: in the order of the table.
    open: [Open; MODCODS.len()],
    by_modcod: [FramesOf; MODCODS.len()],
    quantum: f64,
    counters: FrameCounters,
}

impl TdmMedium {
    /// Returns the link at the start of a run. `terminals` has the weight and the signal in dB of each.
    pub fn new(settings: &Tdm, terminals: impl Iterator<Item = (u32, f64)>) -> Self {
        let receiver = |(weight, es_n0_db): (u32, f64)| {
            let reported = match settings.modcod {
                Some(modcod) => Reported::constant(modcod),
                None => Reported::new(&settings.acm, es_n0_db),
            };
            Receiver::new(reported, weight, Vec::new())
        };
        let receivers: Vec<Receiver> = terminals.map(receiver).collect();
        Self {
            quantum: match settings.share {
                Share::Bits => QUANTUM_BYTES,
                Share::Time => QUANTUM_BYTES * symbols_per_byte(most_efficient()),
            },
            settings: settings.clone(),
            turns: VecDeque::with_capacity(receivers.len()),
            receivers,
            plans: VecDeque::new(),
            open: [Open::EMPTY; MODCODS.len()],
            by_modcod: [FramesOf::default(); MODCODS.len()],
            counters: FrameCounters::default(),
        }
    }

    /// Adds a queue whose packets are for several terminals. It has turns like a terminal, with this weight, and the
    /// number after the last terminal. Its modulation and code is that of the weakest terminal that can be served.
    pub fn add_broadcast(&mut self, weight: u32, members: Vec<u32>) {
        let reported = Reported::new(&self.settings.acm, f64::NEG_INFINITY);
        self.receivers.push(Receiver::new(reported, weight, members));
        self.turns.reserve(self.receivers.len());
    }

    /// Notes at `now` that packets wait for a terminal.
    pub fn arrived(&mut self, now: Time, terminal: usize) {
        let receiver = &mut self.receivers[terminal];
        if !receiver.is_waiting {
            (receiver.is_waiting, receiver.since) = (true, now);
            self.turns.push_back(terminal as u32);
        }
    }

    /// Notes at `now` a report of a terminal's signal that is in use from `from` on: after its way back and the control
    /// delay.
    pub fn report(&mut self, terminal: usize, now: Time, from: Time, es_n0_db: f64) {
        if self.settings.modcod.is_none() {
            let Receiver { reported, .. } = &mut self.receivers[terminal];
            // Reports in use leave the list, also while the choice has no reader.
            reported.at(&self.settings.acm, now);
            reported.report(from, es_n0_db);
        }
    }

    /// Announces a plan of a return link to these terminals, at `now`: in the modulation of the weakest of them that
    /// can be served.
    pub fn announce(&mut self, now: Time, bytes: u64, terminals: impl Iterator<Item = u32>) {
        let (mut weakest, mut level_db): (Option<Modcod>, f64) = (None, f64::INFINITY);
        for n in terminals.map(|n| n as usize) {
            if let Some(modcod) = self.choice(n, now) {
                weakest = Some(weakest.filter(|weakest| weakest.index() <= modcod.index()).unwrap_or(modcod));
                level_db = level_db.min(self.receivers[n].reported.level_db());
            }
        }
        if let Some(modcod) = weakest {
            let may_be_short = self.bears_short(modcod, level_db);
            self.plans.push_back(Announced { bytes, modcod, since: now, may_be_short });
        }
    }

    /// Returns the modulation and code of a terminal. `None` if its signal is too weak for all.
    pub fn choice(&mut self, terminal: usize, now: Time) -> Option<Modcod> {
        if self.receivers[terminal].members.is_empty() {
            return self.receivers[terminal].reported.at(&self.settings.acm, now);
        }
        let members = core::mem::take(&mut self.receivers[terminal].members);
        let choices = members.iter().filter_map(|&n| self.receivers[n as usize].reported.at(&self.settings.acm, now));
        let weakest = choices.min_by_key(|modcod| modcod.index());
        self.receivers[terminal].members = members;
        weakest
    }

    /// Returns the signal of a terminal at the last call of [`choice`](Self::choice), dB. Of several, that of the weakest that
    /// can be served.
    fn level_db(&self, terminal: usize) -> f64 {
        let Receiver { reported, members, .. } = &self.receivers[terminal];
        if members.is_empty() {
            return reported.level_db();
        }
        let members = members.iter().map(|&n| &self.receivers[n as usize].reported).filter(|of| of.is_served());
        members.map(Reported::level_db).fold(f64::INFINITY, f64::min)
    }

    /// Whether plans wait.
    pub fn has_plans(&self) -> bool {
        !self.plans.is_empty()
    }

    /// Whether packets or plans wait.
    pub fn is_waiting(&self) -> bool {
        !self.turns.is_empty() || !self.plans.is_empty()
    }

    /// Returns the terminals for which packets wait.
    pub fn waiting_terminals(&self) -> impl Iterator<Item = usize> + '_ {
        self.turns.iter().map(|&n| n as usize)
    }

    /// Returns the start of the use of the next report of a terminal, if one is under way.
    pub fn next_report(&self, terminal: usize) -> Option<Time> {
        self.receivers[terminal].reported.next()
    }

    /// Returns the terminals that receive the packets of a terminal: itself, or several.
    pub fn members(&self, terminal: usize) -> impl Iterator<Item = usize> + '_ {
        let members = &self.receivers[terminal].members;
        let itself = members.is_empty().then_some(terminal);
        itself.into_iter().chain(members.iter().map(|&n| n as usize))
    }

    /// Returns the counts since the start.
    pub fn counters(&self) -> FrameCounters {
        self.counters
    }

    /// Returns the number of frames by modulation and code, in the order of [`MODCODS`](crate::MODCODS).
    pub fn frames_by_modcod(&self) -> &[FramesOf] {
        &self.by_modcod
    }

    /// Fills the frame that starts at `now`. Returns `None` if no frame can be filled. After a frame, the next one
    /// starts at its end; without one, at the next arrival or report.
    pub fn next_frame(&mut self, now: Time, queues: &mut impl Queues) -> Option<Frame> {
        if self.holds() || self.settings.short_frames {
            self.look_at_queues(now, queues);
        }
        let plan = self.plans.front().map(|plan| plan.modcod);
        let due = self.plans.front().filter(|plan| self.has_waited(plan.since, now)).map(|plan| plan.modcod);
        // The frame of a plan has the length for the plan: a terminal whose packets complete it has its own turns.
        let (modcod, own) = match due {
            Some(modcod) => (modcod, None),
            // The carrier works while something waits.
            None => match (self.owner(now, queues, true), plan) {
                (None, Some(modcod)) => (modcod, None),
                (ripe, _) => {
                    let modcod = ripe.or_else(|| self.owner(now, queues, false))?;
                    (modcod, Some(self.open[modcod.index()]))
                }
            },
        };
        let (length, payload) = self.size(modcod, own);
        let frame = Frame { modcod, length, starts: now, ends: now + self.settings.frames.duration(modcod, length) };
        let mut room = payload;
        self.take_plans(modcod, &mut room);
        if !self.holds() || self.take_packets(&frame, true, &mut room, queues) {
            self.take_packets(&frame, false, &mut room, queues);
        }
        self.counters.frames += 1;
        self.counters.bytes += u64::from(payload);
        let count = &mut self.by_modcod[modcod.index()];
        match length {
            Length::Normal => count.normal += 1,
            Length::Short => count.short += 1,
        }
        Some(frame)
    }

    /// Whether a terminal with this reported signal receives a short frame with the margin of a normal one.
    fn bears_short(&self, modcod: Modcod, level_db: f64) -> bool {
        level_db - self.settings.acm.margin_db >= modcod.threshold_db() + Length::Short.loss_db()
    }

    fn holds(&self) -> bool {
        self.settings.hold > Duration::ZERO
    }

    /// Notes the waiting packets of each modulation and code.
    fn look_at_queues(&mut self, now: Time, queues: &mut impl Queues) {
        self.open = [Open::EMPTY; MODCODS.len()];
        for place in 0..self.turns.len() {
            let n = self.turns[place] as usize;
            let Some(modcod) = self.choice(n, now).filter(|_| queues.is_up(n, now)) else { continue };
            let Backlog { packets, bytes } = queues.backlog(n);
            if packets > 0 {
                let headers = packets * u64::from(self.settings.frames.header());
                let may_be_short = self.bears_short(modcod, self.level_db(n));
                self.open[modcod.index()].add(bytes + headers, self.receivers[n].since, may_be_short);
            }
        }
    }

    /// Whether packets of this modulation and code fill a frame, or have waited long enough.
    fn is_ripe(&self, modcod: Modcod, now: Time) -> bool {
        let Open { bytes, since, .. } = self.open[modcod.index()];
        bytes >= u64::from(Frames::payload(modcod)) || self.has_waited(since, now)
    }

    /// Whether the time of packets or of a plan is up.
    fn has_waited(&self, since: Time, now: Time) -> bool {
        !self.holds() || since <= now && now - since >= self.settings.hold
    }

    /// Returns the length and the bytes of the next frame, for its own packets and the oldest plan. The frame is short if short
    /// frames carry these bytes in less time than a normal frame, and all their terminals have the margin for it.
    fn size(&self, modcod: Modcod, own: Option<Open>) -> (Length, u32) {
        let plan = self.plans.front().filter(|plan| plan.modcod.index() >= modcod.index());
        let bytes = own.map_or(0, |own| own.bytes) + plan.map_or(0, |plan| plan.bytes);
        let is_borne = |plan: &Announced| plan.may_be_short || plan.modcod.index() > modcod.index();
        let may_be_short = own.is_none_or(|own| own.may_be_short) && plan.is_none_or(is_borne);
        let short = Frames::short_payload(modcod).filter(|_| self.settings.short_frames && may_be_short);
        let takes_less = |&payload: &u32| {
            let [short, normal] =
                [Length::Short, Length::Normal].map(|length| self.settings.frames.symbols(modcod, length).into());
            bytes.div_ceil(u64::from(payload)).saturating_mul(short) < normal
        };
        match short.filter(takes_less) {
            Some(payload) => (Length::Short, payload),
            None => (Length::Normal, Frames::payload(modcod)),
        }
    }

    /// Returns the modulation and code of the terminal whose turn it is. `is_ripe`: terminals with another choice keep their
    /// place. Turns in which the first packet costs too much pass.
    fn owner(&mut self, now: Time, queues: &mut impl Queues, is_ripe: bool) -> Option<Modcod> {
        let (mut place, mut mute) = (0, 0);
        while place + mute < self.turns.len() {
            let n = self.turns[place] as usize;
            let Some(modcod) = self.choice(n, now).filter(|_| queues.is_up(n, now)) else {
                // It cannot be reached. Its packets wait, and its turn passes.
                mute += 1;
                self.pass(place);
                continue;
            };
            if is_ripe && !self.is_ripe(modcod, now) {
                place += 1;
                continue;
            }
            let Some(bytes) = self.waiting(n, now, queues) else {
                self.stop(place);
                continue;
            };
            self.begin_turn(n);
            if self.cost(bytes, modcod) <= self.receivers[n].deficit {
                return Some(modcod);
            }
            mute = 0;
            self.pass(place);
        }
        None
    }

    fn take_plans(&mut self, modcod: Modcod, room: &mut u32) {
        while let Some(plan) = self.plans.front_mut().filter(|plan| plan.modcod.index() >= modcod.index()) {
            let bytes = plan.bytes.min(u64::from(*room));
            plan.bytes -= bytes;
            *room -= bytes as u32;
            self.counters.plans += bytes;
            if plan.bytes > 0 {
                return;
            }
            self.plans.pop_front();
        }
    }

    /// Takes packets in turns until the frame is full: until a terminal finds no room for another part. Returns whether
    /// there is room left. `own`: only packets of terminals whose choice the frame has. If a waiting terminal takes no
    /// part, further turns of the others are on credit: they pay with later turns.
    fn take_packets(&mut self, frame: &Frame, own: bool, room: &mut u32, queues: &mut impl Queues) -> bool {
        let (mut credit, mut is_shared_by_all) = (0.0, true);
        loop {
            let mut may_go_on = false;
            let mut place = 0;
            for _ in 0..self.turns.len() {
                let Some(&n) = self.turns.get(place) else { break };
                let n = n as usize;
                let choice = self.choice(n, frame.starts).map(Modcod::index);
                let level_db = self.level_db(n);
                let receives = choice
                    .is_some_and(|choice| choice == frame.modcod.index() || !own && choice > frame.modcod.index())
                    && (frame.length == Length::Normal || self.bears_short(frame.modcod, level_db))
                    && queues.is_up(n, frame.starts);
                is_shared_by_all &= receives;
                if !receives {
                    place += 1;
                    continue;
                }
                if credit == 0.0 {
                    self.begin_turn(n);
                }
                may_go_on = true;
                match self.serve(n, credit, frame, room, queues) {
                    Turn::Idle => self.stop(place),
                    Turn::Over => self.pass(place),
                    Turn::Full => return false,
                }
            }
            if !may_go_on {
                return true;
            }
            if !is_shared_by_all {
                credit += self.quantum;
            }
        }
    }

    /// Sends packets of a terminal for as long as its turn, with this credit per weight, and the frame have room.
    fn serve(&mut self, n: usize, credit: f64, frame: &Frame, room: &mut u32, queues: &mut impl Queues) -> Turn {
        loop {
            let Some(bytes) = self.waiting(n, frame.starts, queues) else { return Turn::Idle };
            if self.cost(bytes, frame.modcod) > self.receivers[n].deficit + credit * self.receivers[n].weight {
                return Turn::Over;
            }
            let has_begun = self.receivers[n].rest > 0;
            let Some(part) = self.settings.frames.part(bytes, has_begun, *room) else { return Turn::Full };
            if !has_begun {
                queues.take(n);
            }
            let cost = self.cost(part.bytes, frame.modcod);
            let is_lost = queues.put(n, frame, part);
            let receiver = &mut self.receivers[n];
            receiver.deficit -= cost;
            receiver.rest = bytes - part.bytes;
            receiver.is_lost |= is_lost;
            *room -= part.bytes + part.header;
            self.counters.carried += u64::from(part.bytes);
            self.counters.headers += u64::from(part.header);
            if receiver.rest > 0 {
                return Turn::Full;
            }
            receiver.since = frame.starts;
            queues.sent(n, frame.ends, core::mem::take(&mut receiver.is_lost));
        }
    }

    /// Returns the bytes that a terminal sends next: the rest of a packet comes first.
    fn waiting(&self, n: usize, now: Time, queues: &mut impl Queues) -> Option<u32> {
        match self.receivers[n].rest {
            0 => queues.next(n, now),
            rest => Some(rest),
        }
    }

    /// Returns the cost of bytes in a frame, in bytes or symbols.
    fn cost(&self, bytes: u32, modcod: Modcod) -> f64 {
        match self.settings.share {
            Share::Bits => f64::from(bytes),
            Share::Time => f64::from(bytes) * symbols_per_byte(modcod),
        }
    }

    fn begin_turn(&mut self, n: usize) {
        let receiver = &mut self.receivers[n];
        if !core::mem::replace(&mut receiver.in_turn, true) {
            receiver.deficit += self.quantum * receiver.weight;
        }
    }

    /// Ends the turn of a terminal.
    fn pass(&mut self, place: usize) {
        if let Some(n) = self.turns.remove(place) {
            self.receivers[n as usize].in_turn = false;
            self.turns.push_back(n);
        }
    }

    /// Takes a terminal without packets out of the turns.
    fn stop(&mut self, place: usize) {
        if let Some(n) = self.turns.remove(place) {
            let receiver = &mut self.receivers[n as usize];
            (receiver.is_waiting, receiver.in_turn, receiver.deficit) = (false, false, 0.0);
        }
    }
}

/// End of a turn.
enum Turn {
    /// No packet waits.
    Idle,
    /// The next packet costs more than is left of the turn.
    Over,
    /// The frame has no room for the next packet. The turn goes on in a later frame.
    Full,
}

fn symbols_per_byte(modcod: Modcod) -> f64 {
    8.0 / modcod.efficiency()
}
