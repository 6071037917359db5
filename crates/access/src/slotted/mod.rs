//! A medium of slots as a component in time: one wake-up per superframe.
//!
//! A request that leaves in superframe i is read at i + u, u = 1 + ceil(P / T). The plan made at k governs superframe
//! k + v, v = ceil((c + P') / T). A request therefore takes R = (u + v) T to its grant.

mod building;
mod joining;
mod members;

use crate::adaptation::Choice;
use crate::contention::Contention;
use crate::grid::{Grid, Window, REQUEST};
use crate::leo_cell::Others;
use crate::log_on::Joining;
use crate::opened::{Heard, Report};
use crate::plan::{Controller, Grant, Plan};
use crate::random::RandomUse;
use crate::requests::{Asking, Request, Rules, Volume, Way};
use crate::terminal::{Asked, Demand, MediumCounters, Waiting};
use crate::visits::Visits;
use crate::waveforms::Waveform;
use bentpipe_units::{Duration, Rate, Time};
use members::{arrives, Asks, Bursts, Member, Message};

/// A medium of slots: a return link ([`MfTdma`]), or a direction of a cell of satellites in low orbit ([`LeoCell`]).
#[derive(Clone, Debug)]
pub struct SlottedMedium {
    grid: Grid,
    bursts: Bursts,
    asks: Asks,
    rules: Rules,
    members: Vec<Member>,
    visits: Visits,
    controller: Controller,
    contention: Option<Contention>,
    joining: Option<Joining>,
    others: Option<Others>,
    /// The superframe after the last opened superframe, and the next to open. Superframes between them pass at rest.
    superframe: u64,
    wakes: u64,
    /// Superframes from a request to its plan, u, and from a plan to its superframe, v.
    to_plan: u64,
    to_grant: u64,
    /// Superframes without a burst after which the controller measures a terminal.
    silence: u64,
    /// Messages that left in each superframe, modulo u.
    messages: Vec<Vec<Message>>,
    /// Plan of each superframe, modulo v + 1.
    plans: Vec<Plan>,
    last_plan: usize,
    /// Terminals with windows or control slots in the superframe that was opened last, and those with reports in it.
    opened: Vec<u32>,
    heard: Vec<u32>,
    /// Requests of the terminal that asks, with their classes.
    requests: Vec<(usize, Request)>,
    counters: MediumCounters,
    /// Bursts for data since the start, by waveform.
    granted_bursts: Vec<u64>,
}

impl SlottedMedium {
    /// Returns superframes and slots.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Returns the start of the next superframe that opens: the time of the next [`SlottedMedium::advance`].
    pub fn next_wakeup(&self) -> Time {
        self.grid.start(self.wakes)
    }

    /// Lets superframes pass up to `until`, before which no terminal comes up and no bytes wait. Does nothing if a terminal is
    /// up, or something of the time before is under way.
    pub fn rest(&mut self, until: Time) {
        let is_down = self.members.iter().all(|member| !member.was_up);
        let is_over = self.messages.iter().all(Vec::is_empty) && self.plans.iter().all(|plan| plan.grants.is_empty());
        if is_down && is_over && self.contention.is_none() {
            self.wakes = self.superframe.max(self.grid.superframes_in(until - Time::ZERO));
        }
    }

    /// Wakes a terminal up, since packets come for it. If it slept through the start of windows of the superframe that was
    /// opened last, opens them, and returns the start of the superframe.
    pub fn wake(&mut self, terminal: usize) -> Option<Time> {
        let slept = self.superframe > 0 && !self.visits.has(terminal as u32) && self.members[terminal].was_up;
        self.visits.wake(terminal);
        if !slept || self.members[terminal].opened.count > 0 {
            return None;
        }
        let superframe = self.superframe - 1;
        let grants = &self.plans[(superframe % (self.to_grant + 1)) as usize].grants;
        let grant = grants.iter().find(|grant| grant.terminal as usize == terminal)?;
        let starts = self.grid.start(superframe);
        self.members[terminal].opened.grant(starts, grant, self.bursts.waveform(grant.choice));
        self.opened.push(grant.terminal);
        Some(starts)
    }

    /// Chooses the terminals whose demands the next superframe reads, and returns them. The others sleep: nothing waits for
    /// them since the last [`SlottedMedium::wake`], no request is open, and their links stay up or down. A terminal with a
    /// constant rate also has the signal that the controller knows.
    pub fn visits(&mut self) -> &[u32] {
        self.wake_for_reset();
        self.visits.choose(self.wakes, self.controller.due(self.wakes));
        self.visits.list()
    }

    /// Returns the terminals that the last superframe visited.
    pub fn visited(&self) -> &[u32] {
        self.visits.list()
    }

    /// Opens the next superframe. `demands` has the state of each terminal at its start, as far as
    /// [`SlottedMedium::visits`] has named it. If that has not been called since the last superframe, all terminals are
    /// visited.
    pub fn advance(&mut self, demands: &[Demand]) {
        debug_assert!(demands.len() == self.members.len());
        self.visits.begin();
        self.superframe = self.wakes;
        if self.superframe == 0 {
            self.begin(demands);
        }
        let superframe = self.superframe;
        let visited = self.visits.take();
        self.reset(superframe);
        self.follow_outages(superframe, &visited, demands);
        self.join(superframe, &visited, demands);
        self.read(superframe);
        if self.asks == Asks::Never {
            for &n in &visited {
                let backlog = demands[n as usize].backlog();
                self.controller.see(superframe, n as usize, self.rules.with_overhead(backlog));
            }
        }
        self.plan(superframe, superframe + self.to_grant);
        self.open(superframe, &visited, demands);
        for &n in &visited {
            self.go_to_sleep(superframe, n as usize, &demands[n as usize]);
        }
        self.visits.put_back(visited);
        self.superframe = superframe + 1;
        self.wakes = self.superframe;
    }

    /// Lets a terminal sleep if nothing changes before its next alarm, control slot or packet. It sleeps through windows that
    /// it gets without a request.
    fn go_to_sleep(&mut self, superframe: u64, n: usize, demand: &Demand) {
        let (member, stands) = (&self.members[n], self.controller.is_standing(n));
        let is_served = superframe <= member.busy_until || (member.opened.count > 0 && !stands);
        if is_served || demand.is_busy() || !self.visits.is_awake(n) {
            return;
        }
        let is_done = !self.controller.is_open(n) && member.asking.iter().all(|class| class.is_idle(&self.rules));
        let is_settled = !demand.is_up || self.joining.as_ref().is_none_or(|joining| joining.is_settled(n));
        if !is_done || !is_settled || (stands && !self.is_steady(superframe, n, demand)) {
            return;
        }
        // A terminal with a constant rate stays on.
        let may_leave = demand.is_up && !stands;
        let logs_off = self.joining.as_mut().filter(|_| may_leave).and_then(|of| of.be_quiet(superframe, n));
        let member = &self.members[n];
        let until = if stands { demand.until.min(demand.steady) } else { demand.until };
        let changes = (until < Time::NEVER).then(|| self.grid.superframes_in(until - Time::ZERO));
        // Without a control slot at that time, the controller measures it then.
        let silence = member.heard + self.silence;
        let is_due = self.controller.due(silence).contains(&(n as u32));
        let is_measured = matches!(self.bursts, Bursts::Waveforms { fixed: None, .. }) && demand.is_up && self.is_on(n);
        let silent = Some(silence).filter(|_| is_measured && !is_due);
        let alarm = changes.into_iter().chain(silent).chain(logs_off).min().map(|at| at.max(superframe + 1));
        self.visits.sleep(n, alarm);
    }

    /// Whether the bursts of a terminal tell the controller nothing new in the next superframe.
    fn is_steady(&self, superframe: u64, n: usize, demand: &Demand) -> bool {
        let is_known = match &self.bursts {
            Bursts::Waveforms { fixed: None, .. } => self.members[n].choice.keeps(demand.es_n0_db),
            Bursts::Waveforms { .. } | Bursts::Fixed(_) => true,
        };
        !demand.is_up || (is_known && demand.steady > self.grid.start(superframe + 1))
    }

    /// Chooses waveforms, and plans the superframes that no plan of the run reaches.
    fn begin(&mut self, demands: &[Demand]) {
        for (n, demand) in demands.iter().enumerate() {
            self.choose_first(n, demand.es_n0_db);
        }
        for superframe in 0..self.to_grant {
            self.plan(superframe, superframe);
        }
    }

    /// Chooses the waveform of a terminal by a signal, without its earlier signals.
    fn choose_first(&mut self, n: usize, es_n0_db: f64) {
        if let Bursts::Waveforms { length, fixed, acm } = &self.bursts {
            let best = |level: f64| index_of(Waveform::best(*length, level));
            self.members[n].choice = match fixed {
                Some(_) => Choice::fixed(index_of(*fixed)),
                None => Choice::first(acm, es_n0_db, best),
            };
        }
        self.set_bursts(n, true);
    }

    /// Gives the controller the waveform of a terminal. Without `is_up` or before its log-on, it has no slots.
    fn set_bursts(&mut self, n: usize, is_up: bool) {
        let choice = self.members[n].choice.chosen();
        let payload = if is_up && self.is_on(n) { self.bursts.payload(choice) } else { 0 };
        self.controller.choose(n, if is_up { choice } else { None }, payload);
    }

    /// A terminal that goes down loses its windows and requests. A terminal that comes up may have requests from another
    /// medium.
    fn follow_outages(&mut self, superframe: u64, visited: &[u32], demands: &[Demand]) {
        for n in visited.iter().map(|&n| n as usize) {
            let demand = &demands[n];
            if demand.is_up == self.members[n].was_up {
                continue;
            }
            if !demand.is_up {
                self.members[n].left = Some((superframe, self.open_requests(n)));
            }
            let member = &mut self.members[n];
            member.was_up = demand.is_up;
            member.asking.iter_mut().for_each(Asking::reset);
            self.controller.forget(n);
            if let Some(open) = demand.handed.filter(|_| demand.is_up) {
                // Terminals that hand requests over have one class.
                member.asking[0].go_on(superframe, open);
                self.controller.read(superframe, (n, 0), member.asking[0].asked().into());
            }
            if let Some(joining) = &mut self.joining {
                joining.follow(superframe, n, demand.is_up);
            }
            self.set_bursts(n, demand.is_up);
        }
    }

    /// Returns the rate that a terminal asks for, and the volumes that it asked for and that no window has answered: on their
    /// way to the controller, there, and in plans.
    fn open_requests(&self, n: usize) -> Asked {
        let mut volume = self.controller.volume_at(self.superframe, n);
        for superframe in self.superframe..self.superframe + self.to_plan {
            let messages = &self.messages[(superframe % self.to_plan) as usize];
            for message in messages.iter().filter(|message| message.terminal as usize == n && message.class == 0) {
                if let Some(Volume { bytes, is_absolute }) = message.request.and_then(|request| request.volume) {
                    volume = if is_absolute { 0 } else { volume } + u64::from(bytes);
                }
            }
        }
        for superframe in self.superframe..self.superframe + self.to_grant {
            let grants = &self.plans[(superframe % (self.to_grant + 1)) as usize].grants;
            let own = grants.iter().filter(|grant| grant.terminal as usize == n);
            volume += own.map(|grant| u64::from(grant.volume[0]) * u64::from(grant.payload)).sum::<u64>();
        }
        Asked { rate: self.members[n].asking[0].rate(), volume }
    }

    /// Reads what left u superframes ago.
    fn read(&mut self, superframe: u64) {
        let at = (superframe % self.to_plan) as usize;
        let messages = core::mem::take(&mut self.messages[at]);
        for message in &messages {
            let n = message.terminal as usize;
            let member = &mut self.members[n];
            if !member.was_up || self.joining.as_ref().is_some_and(|joining| !joining.is_on(n)) {
                continue;
            }
            if let (Bursts::Waveforms { length, fixed: None, acm }, Some(es_n0_db)) = (&self.bursts, message.es_n0_db) {
                let threshold = |index: usize| Waveform::at(*length, index).map_or(0.0, Waveform::threshold_db);
                let best = |level: f64| index_of(Waveform::best(*length, level));
                if member.choice.choose(acm, es_n0_db, threshold, best) {
                    self.set_bursts(n, true);
                }
            }
            if let Some(request) = message.request {
                self.controller.read(superframe, (n, message.class as usize), request);
            }
        }
        self.messages[at] = messages;
        self.messages[at].clear();
    }

    fn plan(&mut self, now: u64, governed: u64) {
        let others = self.others.as_mut().map_or(0, |others| others.active(self.grid.start(governed)));
        self.last_plan = (governed % (self.to_grant + 1)) as usize;
        let plan = &mut self.plans[self.last_plan];
        self.controller.plan(now, governed, others, plan);
        let controller = &self.controller;
        let of_requests = |grant: &&Grant| grant.slots > 0 && !controller.is_standing(grant.terminal as usize);
        for grant in plan.grants.iter().filter(of_requests) {
            let member = &mut self.members[grant.terminal as usize];
            // A request under way may be read later.
            member.busy_until = member.busy_until.max(governed);
        }
        if self.contention.is_some() {
            self.controller.note_choices(plan);
        }
        self.counters.plan_bytes += self.plan_bytes();
    }

    /// Opens the windows of a superframe, and takes the requests that leave in it.
    fn open(&mut self, superframe: u64, visited: &[u32], demands: &[Demand]) {
        for n in self.opened.drain(..) {
            self.members[n as usize].opened.close();
        }
        for n in self.heard.drain(..) {
            self.members[n as usize].opened.report = None;
        }
        let at = (superframe % (self.to_grant + 1)) as usize;
        let plan = core::mem::take(&mut self.plans[at]);
        let starts = self.grid.start(superframe);
        for grant in &plan.grants {
            let member = &mut self.members[grant.terminal as usize];
            if !member.was_up {
                continue;
            }
            let (slots, bytes) = (u64::from(grant.slots), u64::from(grant.slots) * u64::from(grant.payload));
            member.granted += bytes;
            self.counters.control_slots += u64::from(grant.control);
            self.counters.granted_slots += slots;
            self.counters.granted_bytes += bytes;
            if let Some(choice) = grant.choice {
                self.granted_bursts[choice] += slots;
            }
            if self.visits.has(grant.terminal) {
                member.opened.grant(starts, grant, self.bursts.waveform(grant.choice));
                self.opened.push(grant.terminal);
            } else {
                // The controller hears that a terminal asleep has nothing to ask for, and its signal as before.
                member.heard = superframe;
            }
        }
        if let Some(contention) = &mut self.contention {
            contention.begin(superframe, starts);
        }
        for n in visited.iter().map(|&n| n as usize) {
            let (demand, member) = (&demands[n], &mut self.members[n]);
            if member.level_db != demand.es_n0_db && self.controller.is_standing(n) {
                // Reports of the signal before are under way.
                member.level_db = demand.es_n0_db;
                member.busy_until = member.busy_until.max(superframe + self.to_plan);
            }
            if demand.is_up && self.is_on(n) {
                self.ask(superframe, n, demand, plan.choices.get(n).copied().flatten());
            }
        }
        self.plans[at] = plan;
        self.end_block(superframe, starts, demands);
    }

    /// Takes what a terminal sends to the controller. `choice` is the waveform of its random bursts.
    fn ask(&mut self, superframe: u64, n: usize, demand: &Demand, choice: Option<usize>) {
        let way = match self.asks {
            Asks::Never => return,
            Asks::Each(frames) => ((superframe + n as u64) % frames == 0).then_some(Way::Control),
            Asks::InBursts => self.members[n].opened.way(),
        };
        self.request(superframe, n, demand, choice, way);
        let is_silent = superframe >= self.members[n].heard + self.silence;
        let is_measured = matches!(self.bursts, Bursts::Waveforms { .. }) && (way.is_some() || is_silent);
        if is_measured || !self.requests.is_empty() {
            let member = &mut self.members[n];
            member.heard = superframe;
            // The controller measures a burst that is lost, too.
            if arrives(member.opened.waveform, demand.es_n0_db) {
                member.opened.report = Some(Report { has_request: !self.requests.is_empty(), is_random: false });
                self.heard.push(n as u32);
            } else {
                self.counters.requests_lost += self.requests.len() as u64;
                self.requests.clear();
            }
            let messages = &mut self.messages[(superframe % self.to_plan) as usize];
            Message::send(messages, n as u32, demand.es_n0_db, &self.requests);
        }
        let Member { asking, opened, .. } = &mut self.members[n];
        if opened.count > 0 {
            asking.iter_mut().zip(opened.volumes()).for_each(|(class, volume)| class.granted(volume));
        }
    }

    /// Takes the requests of a terminal that leave in `way`. Without one, it sends them and its packets by random access.
    fn request(&mut self, superframe: u64, n: usize, demand: &Demand, choice: Option<usize>, way: Option<Way>) {
        let Member { asking, random, .. } = &mut self.members[n];
        let mut leaving = 0;
        let is_random = way.is_none() && *random != RandomUse::None && self.bursts.payload(choice) > 0;
        if let (true, RandomUse::Data, Some(contention), backlog @ 1..) =
            (is_random, *random, &mut self.contention, demand.backlog())
        {
            let payload = u64::from(self.bursts.payload(choice));
            let bytes = self.rules.with_overhead(backlog) + u64::from(REQUEST) * asking.len() as u64;
            let bursts = bytes.div_ceil(payload).min(64) as u32;
            // Bytes that leave now need no grant.
            leaving = u64::from(contention.send_data(n, bursts, choice)) * payload;
        }
        let has_data = leaving > 0;
        let requests = &mut self.requests;
        requests.clear();
        for (class, own) in asking.iter_mut().enumerate() {
            let Waiting { backlog, arrived } = demand.waiting[class];
            let rest = backlog.saturating_sub(leaving);
            leaving -= backlog - rest;
            if let Some(request) = own.due(&self.rules, superframe, rest, arrived, way) {
                requests.push((class, request));
            }
        }
        if requests.is_empty() {
            return;
        }
        let leaves = match (way, &mut self.contention) {
            (Some(way), _) => Some(way),
            // A request by random access waits for its grant, or R + 2 T, before the next one.
            (None, Some(contention)) if is_random && !asking.iter().any(Asking::awaits_grant) => {
                let lost = asking.iter().map(Asking::lost).max().unwrap_or(0);
                contention.send_request(n, requests, choice, has_data, lost).then_some(Way::Random)
            }
            (None, _) => None,
        };
        if let Some(way) = leaves {
            for &(class, request) in requests.iter() {
                asking[class].sent(superframe, request, way);
            }
            let member = &mut self.members[n];
            member.busy_until = member.busy_until.max(superframe + self.to_plan);
            *match way {
                Way::Burst => &mut self.counters.requests_in_bursts,
                Way::Control => &mut self.counters.requests_in_control,
                Way::Random => &mut self.counters.requests_in_random,
            } += requests.len() as u64;
        }
        if way.is_none() {
            requests.clear();
        }
    }

    /// Reads the block of random access. Its outcome is known now, since its contents are.
    fn end_block(&mut self, superframe: u64, starts: Time, demands: &[Demand]) {
        let Some(contention) = &mut self.contention else { return };
        contention.resolve();
        for entry in contention.entries() {
            let n = entry.terminal as usize;
            let demand = &demands[n];
            self.counters.random_bursts += u64::from(entry.bursts);
            self.counters.random_lost += u64::from(entry.lost.count_ones());
            let arrives = arrives(self.bursts.waveform(entry.choice), demand.es_n0_db);
            let is_request_read = arrives && entry.lost & 1 == 0;
            let requests = contention.requests(entry);
            self.counters.requests_lost += if is_request_read { 0 } else { requests.len() as u64 };
            if u64::from(entry.lost.count_ones()) < u64::from(entry.bursts) {
                let requests = if is_request_read { requests } else { &[] };
                self.members[n].heard = superframe;
                let report = Report { has_request: !requests.is_empty(), is_random: true };
                self.members[n].opened.report = Some(report).filter(|_| arrives);
                self.heard.push(entry.terminal);
                let messages = &mut self.messages[(superframe % self.to_plan) as usize];
                Message::send(messages, entry.terminal, demand.es_n0_db, requests);
            }
            if entry.is_data {
                let (payload, waveform) = (self.bursts.payload(entry.choice), self.bursts.waveform(entry.choice));
                self.members[n].opened.random(starts, entry.bursts, payload, entry.lost, waveform);
                self.members[n].granted += u64::from(entry.bursts) * u64::from(payload);
                if let Some(choice) = entry.choice {
                    self.granted_bursts[choice] += u64::from(entry.bursts);
                }
                self.opened.push(entry.terminal);
            }
        }
    }

    /// Returns the terminals with windows or control slots in the superframe that was opened last.
    pub fn opened(&self) -> &[u32] {
        &self.opened
    }

    /// Returns the windows of a terminal in the superframe that was opened last, in order of time: for
    /// [`Packer::open`](crate::Packer::open).
    pub fn windows(&self, terminal: usize) -> &[Window] {
        let opened = &self.members[terminal].opened;
        &opened.windows[..opened.count]
    }

    /// Returns the time from a request to its grant, R.
    pub fn request_to_grant(&self) -> Duration {
        self.grid.superframe().saturating_mul(self.rules.round)
    }

    /// Returns the size of the plan that was made last: 11 B and 3 B per slot. While no terminal is up, no plan is sent. No
    /// carrier has the plans of a cell: they have no size.
    pub fn plan_bytes(&self) -> u64 {
        let is_sent = self.members.iter().any(|member| member.was_up);
        if is_sent && matches!(self.bursts, Bursts::Waveforms { .. }) {
            self.plans[self.last_plan].bytes()
        } else {
            0
        }
    }

    /// Returns the terminals with slots in the plan that was made last. Without a way to the terminals from now on (v =
    /// 0) it is also the plan of the superframe that was opened last.
    pub fn planned(&self) -> impl Iterator<Item = u32> + '_ {
        self.plans[self.last_plan].grants.iter().map(|grant| grant.terminal)
    }

    /// Returns what the controller hears of a terminal in the superframe that was opened last.
    pub fn heard(&self, terminal: usize) -> Option<Heard> {
        self.members[terminal].opened.heard(self.grid.start(self.superframe.saturating_sub(1)))
    }

    /// Returns the waveform that the controller plans for a terminal. `None` if no waveform fits its signal, or the
    /// medium has no waveforms.
    pub fn waveform(&self, terminal: usize) -> Option<Waveform> {
        self.bursts.waveform(self.members[terminal].choice.chosen())
    }

    /// Returns the rate that a terminal asks for, beyond the constant one.
    pub fn requested(&self, terminal: usize) -> Rate {
        let rates = self.members[terminal].asking.iter().map(|class| class.rate().as_bps());
        Rate::from_bps(rates.sum())
    }

    /// Whether capacity comes to a terminal without a new request: a constant rate, a rate asked for, or free slots.
    pub fn is_promised(&self, terminal: usize) -> bool {
        self.controller.is_promised(terminal)
    }

    /// Returns whether a terminal was up in the superframe that was opened last. Before the first, all are.
    pub fn was_up(&self, terminal: usize) -> bool {
        self.members[terminal].was_up
    }

    /// Returns the open requests of a terminal that is down at `now`, and the time when it went down as far as the medium
    /// knows. `None` if it was never up, or its requests have lapsed.
    pub fn left(&self, now: Time, terminal: usize) -> Option<(Time, Asked)> {
        let member = &self.members[terminal];
        if member.was_up {
            return Some((now, self.open_requests(terminal)));
        }
        let (superframe, asked) = member.left?;
        let lapses = self.grid.start(superframe + self.rules.persistence);
        (now < lapses).then_some((self.grid.start(superframe), asked))
    }

    /// Returns the bytes that are granted to a terminal in the superframe that was opened last.
    pub fn granted(&self, terminal: usize) -> u64 {
        self.members[terminal].opened.granted
    }

    /// Returns the bytes that were granted to a terminal since the start, those of its random bursts included.
    pub fn granted_bytes(&self, terminal: usize) -> u64 {
        self.members[terminal].granted
    }

    /// Returns the bursts that were granted since the start, by waveform.
    pub fn granted_bursts(&self) -> impl Iterator<Item = (Waveform, u64)> + '_ {
        let counts = self.granted_bursts.iter().enumerate().filter(|(_, bursts)| **bursts > 0);
        counts.filter_map(|(choice, bursts)| Some((self.bursts.waveform(Some(choice))?, *bursts)))
    }

    /// Returns the counts since the start.
    pub fn counters(&self) -> MediumCounters {
        self.counters
    }
}

fn index_of(waveform: Option<Waveform>) -> Option<usize> {
    waveform.map(Waveform::index)
}
