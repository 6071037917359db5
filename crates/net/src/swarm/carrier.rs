//! A forward carrier of the naive engine, frame by frame from the rules in `docs/concepts/shared-access.md`. Frames have the
//! sizes of ETSI EN 302 307-1, tables 5 and 11, and headers those of ETSI TS 102 606-1.

use super::link::NaiveLink;
use super::receivers;
use super::routes::NaiveRoutes;
use crate::link::Losses;
use crate::network::{on_forward, FramesSent, MediumGrants, OnForward};
use bentpipe_access::{Frame, FrameCounters, FramesOf, Heard, Length, Loss, Modcod, Part, Share, MODCODS};
use bentpipe_model::ids::{FlowId, LaneId, LinkId, MediumId};
use bentpipe_model::spec::{MediumKind, Scenario, Tdm};
use bentpipe_units::{Duration, Time};
use std::collections::BTreeMap;

/// Uncoded BCH bits of normal and short frames by code rate, tables 5a and 5b.
const UNCODED: [(&str, u32, u32); 11] = [
    ("1/4", 16_008, 3072),
    ("1/3", 21_408, 5232),
    ("2/5", 25_728, 6312),
    ("1/2", 32_208, 7032),
    ("3/5", 38_688, 9552),
    ("2/3", 43_040, 10_632),
    ("3/4", 48_408, 11_712),
    ("4/5", 51_648, 12_432),
    ("5/6", 53_840, 13_152),
    ("8/9", 57_472, 14_232),
    ("9/10", 58_192, 0),
];

#[derive(Debug)]
pub(super) struct NaiveCarrier {
    tdm: Tdm,
    pub(super) terminals: Vec<NaiveTerminal>,
    /// Queues for several links: each has a terminal behind those of the links.
    broadcasts: Vec<Broadcasting>,
    /// Terminals with packets, in order of their turns.
    turns: Vec<usize>,
    /// Bytes, modulation and announcement of the plans that wait, and the weakest signal of their terminals.
    plans: Vec<(u64, Modcod, Time, f64)>,
    free_at: Time,
    counts: FrameCounters,
    frames: BTreeMap<usize, FramesOf>,
}

#[derive(Debug)]
pub(super) struct NaiveTerminal {
    of: OnForward,
    deficit: f64,
    has_turn: bool,
    /// Start of the wait of its packets.
    since: Time,
    chosen: Option<Modcod>,
    better: u32,
    /// Use and signal of each report.
    reports: Vec<(Time, f64)>,
    used: usize,
    /// The next measurement to report in bursts.
    next: u64,
}

/// A queue for several links.
#[derive(Debug)]
struct Broadcasting {
    /// Terminal of the queue, and terminals that receive its packets.
    terminal: usize,
    members: Vec<usize>,
    /// Lane and number of links before this one, for each member.
    lanes: Vec<(LaneId, usize)>,
    lost: Vec<Option<Loss>>,
}

/// Bytes that wait for a modulation, the start of their wait, and the weakest signal of their terminals.
type Collected = BTreeMap<usize, (u64, Time, f64)>;

/// A frame that was filled.
#[derive(Debug, Default)]
pub(super) struct Filled {
    pub(super) ends: Option<Time>,
    pub(super) arrivals: Vec<(LinkId, Time)>,
    pub(super) losses: Vec<(LinkId, Losses)>,
    /// Links that are down come back up.
    pub(super) retries: Vec<Time>,
    /// Copies of packets for several links.
    pub(super) copied: u64,
}

impl NaiveTerminal {
    /// Applies the reports in use at `now`, and returns the choice.
    fn choice(&mut self, tdm: &Tdm, now: Time) -> Option<Modcod> {
        while let Some(&(_, level)) = self.reports.get(self.used).filter(|(from, _)| *from <= now) {
            self.used += 1;
            let level = level - tdm.acm.margin.0;
            let higher = best(level - tdm.acm.hysteresis.0);
            let efficiency = |choice: Option<Modcod>| choice.map_or(0.0, Modcod::efficiency);
            if self.chosen.is_some_and(|chosen| chosen.threshold_db() > level) {
                (self.chosen, self.better) = (best(level), 0);
            } else if efficiency(higher) <= efficiency(self.chosen) {
                self.better = 0;
            } else if self.better + 1 < tdm.acm.hold {
                self.better += 1;
            } else {
                (self.chosen, self.better) = (higher, 0);
            }
        }
        self.chosen
    }

    /// The signal of the report in use.
    fn level(&self) -> f64 {
        self.used.checked_sub(1).map_or(self.of.es_n0_db, |used| self.reports[used].1)
    }

    fn report(&mut self, from: Time, level: f64) {
        let last = self.reports.last().map_or(from, |last| last.0);
        self.reports.push((from.max(last), level));
    }
}

fn best(level: f64) -> Option<Modcod> {
    let all = MODCODS.iter().filter(|row| row.1 <= level);
    all.max_by(|a, b| a.2.total_cmp(&b.2)).map(|row| row.0)
}

/// Bytes and symbols of a frame, if there is one.
fn sizes(tdm: &Tdm, modcod: Modcod, length: Length) -> Option<(u32, u64)> {
    let code = modcod.as_str().split(' ').nth(1).expect("a code");
    let row = UNCODED.iter().find(|row| row.0 == code).expect("a code of the standard");
    let (uncoded, coded) = if length == Length::Short { (row.2, 16_200) } else { (row.1, 64_800) };
    let slots = coded / modcod.modulation_bits() as u64 / 90;
    let pilots = if tdm.pilots { 36 * ((slots - 1) / 16) } else { 0 };
    Some((uncoded.checked_sub(80)? / 8, 90 * (1 + slots) + pilots))
}

/// The next part of a packet with `rest` bytes to send, in `room` bytes.
fn part(label: u32, rest: u32, has_begun: bool, room: u32) -> Option<Part> {
    let (all, some) = if has_begun { (7, 3) } else { (4 + label, 7 + label) };
    if rest + all <= room {
        return Some(Part { bytes: rest, header: all });
    }
    // The rest is not empty.
    let bytes = room.saturating_sub(some).min(rest - 1);
    (bytes >= 16).then_some(Part { bytes, header: some })
}

impl NaiveCarrier {
    /// Returns the carrier, and the times when its reports over links with a rate come into use.
    pub(super) fn of(scenario: &Scenario, id: MediumId, links: &mut [NaiveLink]) -> (Self, Vec<Time>) {
        let MediumKind::Tdm(tdm) = &scenario.media[id].kind else { panic!("a forward carrier") };
        let (end, all) = (Time::ZERO + scenario.duration, on_forward(scenario, id));
        let mut uses = Vec::new();
        let count = all.len();
        let terminals = all.into_iter().enumerate().map(|(n, of)| {
            let chosen = tdm.modcod.or_else(|| best(of.es_n0_db - tdm.acm.margin.0));
            let (reports, link) = (Vec::new(), of.link);
            let (way, control) = of.back.unwrap_or((link, None));
            let (deficit, has_turn, since) = (0.0, false, Time::ZERO);
            let mut terminal =
                NaiveTerminal { of, deficit, has_turn, since, chosen, better: 0, reports, used: 0, next: 0 };
            for number in 0.. {
                let at = measured(tdm, count, n, number);
                if at > end || control.is_some() || tdm.modcod.is_some() {
                    break;
                }
                terminal.report(at + links[way].delay_at(at), links[link].signal_at(at));
            }
            uses.extend(terminal.reports.iter().map(|report| report.0));
            terminal
        });
        let mut terminals: Vec<NaiveTerminal> = terminals.collect();
        let mut broadcasts = Vec::new();
        for (place, (broadcast, _)) in receivers::broadcasts(scenario).into_iter().enumerate() {
            if broadcast.medium != id {
                continue;
            }
            let find =
                |link: LinkId| terminals.iter().position(|of| of.of.link == link).expect("a link of the carrier");
            let members: Vec<usize> = broadcast.receivers.iter().map(|of| find(of.1)).collect();
            let weight = members.iter().map(|&n| terminals[n].of.weight.max(1)).sum();
            let link = LinkId::new(scenario.links.len() + place);
            let of = OnForward { link, weight, es_n0_db: f64::NEG_INFINITY, back: None };
            let lane = |flow: FlowId| scenario.flows[flow].lane;
            let lanes = broadcast.receivers.iter().map(|of| (lane(of.0), of.2)).collect();
            let lost = vec![None; members.len()];
            broadcasts.push(Broadcasting { terminal: terminals.len(), members, lanes, lost });
            let (deficit, has_turn, since, chosen) = (0.0, false, Time::ZERO, None);
            let reports = Vec::new();
            terminals.push(NaiveTerminal {
                of,
                deficit,
                has_turn,
                since,
                chosen,
                better: 0,
                reports,
                used: 0,
                next: 0,
            });
        }
        let carrier = Self {
            terminals,
            broadcasts,
            tdm: tdm.clone(),
            turns: Vec::new(),
            plans: Vec::new(),
            free_at: Time::ZERO,
            counts: FrameCounters::default(),
            frames: BTreeMap::new(),
        };
        (carrier, uses)
    }

    fn place(&self, link: LinkId) -> usize {
        self.terminals.iter().position(|terminal| terminal.of.link == link).expect("a link of the carrier")
    }

    /// Packets wait on a link. Returns when the carrier may take them.
    pub(super) fn arrived(&mut self, now: Time, link: LinkId) -> Time {
        let n = self.place(link);
        if !self.turns.contains(&n) {
            self.turns.push(n);
            self.terminals[n].since = now;
        }
        self.free_at.max(now)
    }

    /// The choice of a terminal, or that of the weakest of several.
    fn choice(&mut self, n: usize, now: Time) -> Option<Modcod> {
        let Self { terminals, broadcasts, tdm, .. } = self;
        match broadcasts.iter().find(|of| of.terminal == n) {
            None => terminals[n].choice(tdm, now),
            Some(of) => {
                let choices = of.members.iter().filter_map(|&n| terminals[n].choice(tdm, now));
                choices.min_by(|a, b| a.efficiency().total_cmp(&b.efficiency()))
            }
        }
    }

    /// The signal of a terminal, or that of the weakest of several that can be served.
    fn level(&self, n: usize) -> f64 {
        match self.broadcasts.iter().find(|of| of.terminal == n) {
            None => self.terminals[n].level(),
            Some(of) => {
                let members = of.members.iter().map(|&n| &self.terminals[n]).filter(|of| of.chosen.is_some());
                members.map(NaiveTerminal::level).fold(f64::INFINITY, f64::min)
            }
        }
    }

    /// The link that counts the losses of a queue.
    fn counts_for(&self, n: usize) -> LinkId {
        let first = self.broadcasts.iter().find(|of| of.terminal == n).map(|of| of.members[0]);
        self.terminals[first.unwrap_or(n)].of.link
    }

    /// A plan waits. Returns when the carrier may take it.
    pub(super) fn announce(&mut self, now: Time, bytes: u64, served: &[u32]) -> Time {
        let Self { terminals, tdm, plans, .. } = self;
        let mut reached = Vec::new();
        for &n in served {
            let terminal = &mut terminals[n as usize];
            reached.extend(terminal.choice(tdm, now).map(|modcod| (modcod, terminal.level())));
        }
        let level = reached.iter().map(|of| of.1).fold(f64::INFINITY, f64::min);
        let weakest = reached.iter().map(|of| of.0).min_by(|a, b| a.efficiency().total_cmp(&b.efficiency()));
        plans.extend(weakest.map(|modcod| (bytes, modcod, now, level)));
        self.free_at.max(now)
    }

    /// A controller hears a terminal. Returns when its report comes into use.
    pub(super) fn hear(&mut self, n: usize, heard: Heard, links: &mut [NaiveLink]) -> Option<Time> {
        let count = self.terminals.len() - self.broadcasts.len();
        let terminal = &mut self.terminals[n];
        let (way, Some(control)) = terminal.of.back? else { return None };
        if self.tdm.modcod.is_some() {
            return None;
        }
        let done = (0..).take_while(|&number| measured(&self.tdm, count, n, number) <= heard.begin).last();
        let newest = done.filter(|&number| number >= terminal.next);
        let at = match (heard.has_request || heard.has_control, newest) {
            (true, _) => heard.begin,
            (false, Some(number)) => measured(&self.tdm, count, n, number),
            (false, None) => return None,
        };
        terminal.next = done.map_or(terminal.next, |number| number + 1);
        let from = heard.end + links[way].delay_at(heard.end) + control;
        terminal.report(from, links[terminal.of.link].signal_at(at));
        terminal.reports.last().map(|report| self.free_at.max(report.0))
    }

    fn cost(&self, bytes: u32, modcod: Modcod) -> f64 {
        match self.tdm.share {
            Share::Bits => f64::from(bytes),
            Share::Time => f64::from(bytes) * (8.0 / modcod.efficiency()),
        }
    }

    fn quantum(&self) -> f64 {
        self.cost(1500, Modcod::Apsk32x9of10)
    }

    fn begin_turn(&mut self, n: usize) {
        let more = self.quantum() * f64::from(self.terminals[n].of.weight);
        let terminal = &mut self.terminals[n];
        if !terminal.has_turn {
            terminal.has_turn = true;
            terminal.deficit += more;
        }
    }

    fn leave(&mut self, n: usize) {
        self.turns.retain(|&other| other != n);
        (self.terminals[n].deficit, self.terminals[n].has_turn) = (0.0, false);
    }

    fn end_turn(&mut self, n: usize) {
        self.turns.retain(|&other| other != n);
        self.turns.push(n);
        self.terminals[n].has_turn = false;
    }

    /// The choice of a terminal that can be reached.
    fn reach(&mut self, n: usize, now: Time, links: &mut [NaiveLink], filled: &mut Filled) -> Option<Modcod> {
        let choice = self.choice(n, now)?;
        let (id, mut lost) = (self.terminals[n].of.link, Losses::new());
        let up = links[id].frame_up_at(now, &mut lost);
        filled.losses.push((id, lost));
        if up > now {
            filled.retries.push(links[id].changes_at(now));
            return None;
        }
        Some(choice)
    }

    fn waiting(&mut self, n: usize, now: Time, links: &mut [NaiveLink], filled: &mut Filled) -> Option<(u32, bool)> {
        let (id, mut lost) = (self.terminals[n].of.link, Losses::new());
        let next = links[id].frame_next(now, &mut lost);
        let counts = self.counts_for(n);
        if counts != id {
            links[counts].count_refused(lost.len());
        }
        filled.losses.push((counts, lost));
        next
    }

    /// Bytes that wait for each modulation, with their headers, and the start of the longest wait.
    fn collect(&mut self, now: Time, links: &mut [NaiveLink], filled: &mut Filled) -> Collected {
        let mut waiting = Collected::new();
        if self.tdm.hold == Duration::ZERO && !self.may_be_short() {
            return waiting;
        }
        let mut add = |modcod: Modcod, bytes, since, level: f64| {
            let of = waiting.entry(modcod.index()).or_insert((0, since, level));
            *of = (of.0 + bytes, since.min(of.1), level.min(of.2));
        };
        for n in self.turns.clone() {
            let Some(modcod) = self.reach(n, now, links, filled) else { continue };
            let (packets, bytes) = links[self.terminals[n].of.link].frame_backlog();
            if packets > 0 {
                let NaiveTerminal { since, .. } = self.terminals[n];
                add(modcod, bytes + packets * u64::from(4 + self.tdm.label), since, self.level(n));
            }
        }
        waiting
    }

    fn is_ripe(&self, modcod: Modcod, waiting: &Collected, now: Time) -> bool {
        let (normal, _) = sizes(&self.tdm, modcod, Length::Normal).expect("a normal frame");
        let is_ripe = |of: &(u64, Time, f64)| of.0 >= normal.into() || of.1 + self.tdm.hold <= now;
        self.tdm.hold == Duration::ZERO || waiting.get(&modcod.index()).is_some_and(is_ripe)
    }

    /// The modulation of the terminal whose turn it is. `waiting`: only a ripe modulation.
    fn owner(
        &mut self,
        now: Time,
        waiting: Option<&Collected>,
        links: &mut [NaiveLink],
        filled: &mut Filled,
    ) -> Option<Modcod> {
        loop {
            let mut has_passed = false;
            for n in self.turns.clone() {
                let Some(modcod) = self.reach(n, now, links, filled) else {
                    self.end_turn(n);
                    continue;
                };
                if waiting.is_some_and(|waiting| !self.is_ripe(modcod, waiting, now)) {
                    continue;
                }
                let Some((bytes, _)) = self.waiting(n, now, links, filled) else {
                    self.leave(n);
                    continue;
                };
                self.begin_turn(n);
                if self.cost(bytes, modcod) <= self.terminals[n].deficit {
                    return Some(modcod);
                }
                has_passed = true;
                self.end_turn(n);
            }
            if !has_passed {
                return None;
            }
        }
    }

    fn may_be_short(&self) -> bool {
        self.tdm.short_frames && self.tdm.modcod.is_none()
    }

    /// Whether a terminal with this signal receives a short frame: 0.3 dB above the threshold and the margin.
    fn bears_short(&self, modcod: Modcod, level: f64) -> bool {
        level - self.tdm.acm.margin.0 >= modcod.threshold_db() + 0.3
    }

    /// The length of the next frame, for packets of these bytes and the weakest signal, and for a plan.
    fn length(&self, modcod: Modcod, own: Option<(u64, f64)>) -> Length {
        let plan = self.plans.first().filter(|plan| plan.1.efficiency() >= modcod.efficiency());
        let bytes = own.map_or(0, |own| own.0) + plan.map_or(0, |plan| plan.0);
        // Terminals of a more efficient plan receive the frame with more than that, or as others.
        let of_plan = plan.filter(|plan| plan.1 == modcod).map(|plan| plan.3);
        if [own.map(|own| own.1), of_plan].into_iter().flatten().any(|level| !self.bears_short(modcod, level)) {
            return Length::Normal;
        }
        let (_, normal) = sizes(&self.tdm, modcod, Length::Normal).expect("a normal frame");
        let is_faster = |(payload, symbols): (u32, u64)| bytes.div_ceil(payload.into()) * symbols < normal;
        match sizes(&self.tdm, modcod, Length::Short).filter(|_| self.may_be_short()).is_some_and(is_faster) {
            true => Length::Short,
            false => Length::Normal,
        }
    }

    /// Fills the frame that starts at `now`, if there is one.
    pub(super) fn fill(&mut self, now: Time, links: &mut [NaiveLink]) -> Filled {
        let mut filled = Filled::default();
        if now < self.free_at {
            return filled;
        }
        let waiting = self.collect(now, links, &mut filled);
        let plan = self.plans.first().map(|plan| plan.1);
        let due = self.plans.first().filter(|plan| plan.2 + self.tdm.hold <= now).map(|plan| plan.1);
        let ripe = if due.is_none() { self.owner(now, Some(&waiting), links, &mut filled) } else { None };
        let for_plan = due.or(plan.filter(|_| ripe.is_none()));
        let modcod = for_plan.or(ripe).or_else(|| self.owner(now, None, links, &mut filled));
        let Some(modcod) = modcod else { return filled };
        let own = waiting.get(&modcod.index()).map(|of| (of.0, of.2));
        let length = self.length(modcod, own.filter(|_| for_plan.is_none()));
        let (mut room, symbols) = sizes(&self.tdm, modcod, length).expect("a frame");
        let ps = u128::from(symbols) * 1_000_000_000_000 / self.tdm.symbol_rate.0 as u128;
        let frame = Frame { modcod, length, starts: now, ends: now + Duration::from_ps(ps as u64) };
        self.counts.bytes += u64::from(room);
        while let Some(&(bytes, of, ..)) = self.plans.first() {
            let fits = bytes.min(room.into());
            if of.efficiency() < modcod.efficiency() {
                break;
            }
            room -= fits as u32;
            self.counts.plans += fits;
            self.plans[0].0 -= fits;
            if bytes > fits {
                break;
            }
            self.plans.remove(0);
        }
        let margin = self.tdm.acm.margin.0;
        let has_margin = |level: f64| length == Length::Normal || level - margin >= modcod.threshold_db() + 0.3;
        let own = |choice: Modcod, level: f64| choice == modcod && has_margin(level);
        let all = |choice: Modcod, level: f64| choice.efficiency() >= modcod.efficiency() && has_margin(level);
        if self.tdm.hold == Duration::ZERO || self.fill_in_turns(&frame, own, &mut room, links, &mut filled) {
            self.fill_in_turns(&frame, all, &mut room, links, &mut filled);
        }
        self.counts.frames += 1;
        let of = self.frames.entry(modcod.index()).or_default();
        *(if length == Length::Short { &mut of.short } else { &mut of.normal }) += 1;
        self.free_at = frame.ends;
        filled.ends = Some(frame.ends);
        filled
    }

    /// Fills a frame with packets of terminals with these choices and signals. Returns whether there is room left.
    fn fill_in_turns(
        &mut self,
        frame: &Frame,
        takes: impl Fn(Modcod, f64) -> bool,
        room: &mut u32,
        links: &mut [NaiveLink],
        filled: &mut Filled,
    ) -> bool {
        let (mut credit, mut is_shared_by_all) = (0.0, true);
        loop {
            let mut has_taken_part = false;
            for n in self.turns.clone() {
                let choice = self.choice(n, frame.starts);
                let level = self.level(n);
                if !choice.is_some_and(|choice| takes(choice, level))
                    || self.reach(n, frame.starts, links, filled).is_none()
                {
                    is_shared_by_all = false;
                    continue;
                }
                has_taken_part = true;
                if credit == 0.0 {
                    self.begin_turn(n);
                }
                loop {
                    let Some((bytes, has_begun)) = self.waiting(n, frame.starts, links, filled) else {
                        self.leave(n);
                        break;
                    };
                    let limit = self.terminals[n].deficit + credit * f64::from(self.terminals[n].of.weight);
                    if self.cost(bytes, frame.modcod) > limit {
                        self.end_turn(n);
                        break;
                    }
                    let Some(part) = part(self.tdm.label, bytes, has_begun, *room) else { return false };
                    self.terminals[n].deficit -= self.cost(part.bytes, frame.modcod);
                    *room -= part.bytes + part.header;
                    self.counts.carried += u64::from(part.bytes);
                    self.counts.headers += u64::from(part.header);
                    if !self.put(n, frame, part, links, filled) {
                        return false;
                    }
                    self.terminals[n].since = frame.starts;
                }
            }
            if !has_taken_part {
                return true;
            }
            if !is_shared_by_all {
                credit += self.quantum();
            }
        }
    }

    /// Puts a part of a packet into a frame. Returns whether it was the last part.
    fn put(&mut self, n: usize, frame: &Frame, part: Part, links: &mut [NaiveLink], filled: &mut Filled) -> bool {
        let (id, number) = (self.terminals[n].of.link, self.counts.frames);
        let Self { terminals, broadcasts, .. } = self;
        let Some(of) = broadcasts.iter_mut().find(|of| of.terminal == n) else {
            let arrival = links[id].frame_put(frame, number, part);
            filled.arrivals.extend(arrival.map(|at| (id, at)));
            return arrival.is_some();
        };
        let sent = links[id].frame_fill_for_all(frame, part);
        for (place, &member) in of.members.iter().enumerate() {
            let lost = links[terminals[member].of.link].frame_hear(frame, number);
            of.lost[place] = of.lost[place].or(lost);
        }
        let Some(sent) = sent else { return false };
        for (place, &member) in of.members.iter().enumerate() {
            let (link, (lane, before)) = (terminals[member].of.link, of.lanes[place]);
            let mut copy = sent.packet.on_lane(lane);
            copy.next = NaiveRoutes::place(lane, before);
            let arrival = links[link].frame_receive(&sent.copied(copy), frame.ends, of.lost[place].take());
            filled.arrivals.push((link, arrival));
        }
        filled.copied += of.members.len() as u64 - 1;
        true
    }

    /// Whether something waits.
    pub(super) fn is_waiting(&self) -> bool {
        !self.turns.is_empty() || !self.plans.is_empty()
    }

    pub(super) fn note_modcods(&mut self, now: Time, links: &mut [NaiveLink]) {
        let Self { terminals, tdm, .. } = self;
        let of_links = terminals.len() - self.broadcasts.len();
        for terminal in &mut terminals[..of_links] {
            let choice = terminal.choice(tdm, now);
            links[terminal.of.link].note_modcod(choice.map(Modcod::id));
        }
    }

    pub(super) fn grants(&self, links: &[NaiveLink], now: Time) -> MediumGrants {
        let of = self.terminals.iter().map(|terminal| terminal.of.link);
        let of_all = of.filter_map(|link| Some((link, links[link].grants(now)?))).collect::<Vec<_>>();
        let (of_links, of_broadcasts) = of_all.split_at(self.terminals.len() - self.broadcasts.len());
        let broadcasts = of_broadcasts.iter().map(|of| of.1.clone()).collect();
        let by_modcod = self.frames.iter().map(|(&index, &frames)| (MODCODS[index].0, frames)).collect();
        let frames = Some(FramesSent { counters: self.counts, by_modcod });
        MediumGrants { frames, broadcasts, ..MediumGrants::of(of_links.to_vec()) }
    }
}

/// The instant of a measurement: phases are spread evenly over the terminals.
fn measured(tdm: &Tdm, terminals: usize, n: usize, number: u64) -> Time {
    let phase = u128::from(tdm.acm.every.as_ps()) * n as u128 / terminals as u128;
    Time::ZERO + Duration::from_ps(phase as u64) + tdm.acm.every.saturating_mul(number)
}
