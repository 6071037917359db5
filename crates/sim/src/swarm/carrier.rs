//! A forward carrier of the naive engine, frame by frame from the rules in `docs/concepts/shared-access.md`. Frames have the
//! sizes of ETSI EN 302 307-1, tables 5a and 11, and headers those of ETSI TS 102 606-1.

use super::link::NaiveLink;
use crate::ids::{LinkId, MediumId};
use crate::link::Losses;
use crate::network::{on_forward, FramesSent, MediumGrants, OnForward};
use crate::spec::{MediumKind, Scenario, Tdm};
use bentpipe_access::{Frame, FrameCounters, Heard, Modcod, Part, Share, MODCODS};
use bentpipe_units::{Duration, Time};
use std::collections::BTreeMap;

/// Uncoded BCH bits of a normal frame by code rate, table 5a.
const UNCODED: [(&str, u32); 11] = [
    ("1/4", 16_008),
    ("1/3", 21_408),
    ("2/5", 25_728),
    ("1/2", 32_208),
    ("3/5", 38_688),
    ("2/3", 43_040),
    ("3/4", 48_408),
    ("4/5", 51_648),
    ("5/6", 53_840),
    ("8/9", 57_472),
    ("9/10", 58_192),
];

#[derive(Debug)]
pub(super) struct NaiveCarrier {
    tdm: Tdm,
    pub(super) terminals: Vec<NaiveTerminal>,
    /// Terminals with packets, in order of their turns.
    turns: Vec<usize>,
    /// Bytes and modulation of the plans that wait.
    plans: Vec<(u64, Modcod)>,
    free_at: Time,
    counts: FrameCounters,
    frames: BTreeMap<usize, u64>,
}

#[derive(Debug)]
pub(super) struct NaiveTerminal {
    of: OnForward,
    deficit: f64,
    has_turn: bool,
    chosen: Option<Modcod>,
    better: u32,
    /// Use and signal of each report.
    reports: Vec<(Time, f64)>,
    used: usize,
    /// The next measurement to report in bursts.
    next: u64,
}

/// A frame that was filled.
#[derive(Debug, Default)]
pub(super) struct Filled {
    pub(super) ends: Option<Time>,
    pub(super) arrivals: Vec<(LinkId, Time)>,
    pub(super) losses: Vec<(LinkId, Losses)>,
    /// Links that are down come back up.
    pub(super) retries: Vec<Time>,
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

    fn report(&mut self, from: Time, level: f64) {
        let last = self.reports.last().map_or(from, |last| last.0);
        self.reports.push((from.max(last), level));
    }
}

fn best(level: f64) -> Option<Modcod> {
    let all = MODCODS.iter().filter(|row| row.1 <= level);
    all.max_by(|a, b| a.2.total_cmp(&b.2)).map(|row| row.0)
}

fn payload(modcod: Modcod) -> u32 {
    let code = modcod.as_str().split(' ').nth(1).expect("a code");
    (UNCODED.iter().find(|(name, _)| *name == code).expect("a code of the standard").1 - 80) / 8
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
            let mut terminal =
                NaiveTerminal { of, deficit: 0.0, has_turn: false, chosen, better: 0, reports, used: 0, next: 0 };
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
        let carrier = Self {
            terminals: terminals.collect(),
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
        }
        self.free_at.max(now)
    }

    /// A plan waits. Returns when the carrier may take it.
    pub(super) fn announce(&mut self, now: Time, bytes: u64, served: &[u32]) -> Time {
        let Self { terminals, tdm, plans, .. } = self;
        let choices = served.iter().filter_map(|&n| terminals[n as usize].choice(tdm, now));
        let weakest = choices.min_by(|a, b| a.efficiency().total_cmp(&b.efficiency()));
        plans.extend(weakest.map(|modcod| (bytes, modcod)));
        self.free_at.max(now)
    }

    /// A controller hears a terminal. Returns when its report comes into use.
    pub(super) fn hear(&mut self, n: usize, heard: Heard, links: &mut [NaiveLink]) -> Option<Time> {
        let count = self.terminals.len();
        let terminal = &mut self.terminals[n];
        let (way, Some(control)) = terminal.of.back? else { return None };
        if self.tdm.modcod.is_some() {
            return None;
        }
        let done = (0..).take_while(|&number| measured(&self.tdm, count, n, number) <= heard.begin).last();
        let newest = done.filter(|&number| number >= terminal.next);
        let at = match (heard.has_request, newest) {
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
        let choice = self.terminals[n].choice(&self.tdm, now)?;
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
        filled.losses.push((id, lost));
        next
    }

    /// The modulation of the terminal whose turn it is.
    fn owner(&mut self, now: Time, links: &mut [NaiveLink], filled: &mut Filled) -> Option<Modcod> {
        let mut unreached = 0;
        loop {
            let &n = self.turns.first()?;
            if unreached == self.turns.len() {
                return None;
            }
            let Some(modcod) = self.reach(n, now, links, filled) else {
                unreached += 1;
                self.end_turn(n);
                continue;
            };
            let Some((bytes, _)) = self.waiting(n, now, links, filled) else {
                self.leave(n);
                continue;
            };
            self.begin_turn(n);
            if self.cost(bytes, modcod) <= self.terminals[n].deficit {
                return Some(modcod);
            }
            unreached = 0;
            self.end_turn(n);
        }
    }

    /// Fills the frame that starts at `now`, if there is one.
    pub(super) fn fill(&mut self, now: Time, links: &mut [NaiveLink]) -> Filled {
        let mut filled = Filled::default();
        if now < self.free_at {
            return filled;
        }
        let plan = self.plans.first().map(|plan| plan.1);
        let Some(modcod) = plan.or_else(|| self.owner(now, links, &mut filled)) else { return filled };
        let slots = 64_800 / modcod.modulation_bits() as u64 / 90;
        let pilots = if self.tdm.pilots { 36 * ((slots - 1) / 16) } else { 0 };
        let ps = u128::from(90 * (1 + slots) + pilots) * 1_000_000_000_000 / self.tdm.symbol_rate.0 as u128;
        let frame = Frame { modcod, starts: now, ends: now + Duration::from_ps(ps as u64) };
        let mut room = payload(modcod);
        self.counts.bytes += u64::from(room);
        while let Some(&(bytes, of)) = self.plans.first() {
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
        self.fill_in_turns(&frame, room, links, &mut filled);
        self.counts.frames += 1;
        *self.frames.entry(modcod.index()).or_default() += 1;
        self.free_at = frame.ends;
        filled.ends = Some(frame.ends);
        filled
    }

    fn fill_in_turns(&mut self, frame: &Frame, mut room: u32, links: &mut [NaiveLink], filled: &mut Filled) {
        let (mut credit, mut is_shared_by_all) = (0.0, true);
        loop {
            let mut has_taken_part = false;
            for n in self.turns.clone() {
                let choice = self.reach_in(n, frame, links, filled);
                if !choice {
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
                    let Some(part) = part(self.tdm.label, bytes, has_begun, room) else { return };
                    self.terminals[n].deficit -= self.cost(part.bytes, frame.modcod);
                    room -= part.bytes + part.header;
                    self.counts.carried += u64::from(part.bytes);
                    self.counts.headers += u64::from(part.header);
                    let id = self.terminals[n].of.link;
                    let arrival = links[id].frame_put(frame, self.counts.frames, part);
                    let is_over = arrival.is_some();
                    filled.arrivals.extend(arrival.map(|at| (id, at)));
                    if !is_over {
                        return;
                    }
                }
            }
            if !has_taken_part {
                return;
            }
            if !is_shared_by_all {
                credit += self.quantum();
            }
        }
    }

    /// Whether a terminal receives a frame.
    fn reach_in(&mut self, n: usize, frame: &Frame, links: &mut [NaiveLink], filled: &mut Filled) -> bool {
        let choice = self.terminals[n].choice(&self.tdm, frame.starts);
        choice.is_some_and(|choice| choice.efficiency() >= frame.modcod.efficiency())
            && self.reach(n, frame.starts, links, filled).is_some()
    }

    /// Whether something waits.
    pub(super) fn is_waiting(&self) -> bool {
        !self.turns.is_empty() || !self.plans.is_empty()
    }

    pub(super) fn note_modcods(&mut self, now: Time, links: &mut [NaiveLink]) {
        let Self { terminals, tdm, .. } = self;
        for terminal in terminals {
            let choice = terminal.choice(tdm, now);
            links[terminal.of.link].note_modcod(choice.map(Modcod::id));
        }
    }

    pub(super) fn grants(&self, links: &[NaiveLink]) -> MediumGrants {
        let of = self.terminals.iter().map(|terminal| terminal.of.link);
        let of_links = of.filter_map(|link| Some((link, links[link].grants()?))).collect();
        let by_modcod = self.frames.iter().map(|(&index, &frames)| (MODCODS[index].0, frames)).collect();
        let frames = Some(FramesSent { counters: self.counts, by_modcod });
        MediumGrants { frames, ..MediumGrants::of(of_links) }
    }
}

/// The instant of a measurement: phases are spread evenly over the terminals.
fn measured(tdm: &Tdm, terminals: usize, n: usize, number: u64) -> Time {
    let phase = u128::from(tdm.acm.every.as_ps()) * n as u128 / terminals as u128;
    Time::ZERO + Duration::from_ps(phase as u64) + tdm.acm.every.saturating_mul(number)
}
