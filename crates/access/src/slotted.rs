//! A medium of slots as a component in time: one wake-up per superframe.
//!
//! A request that leaves in superframe i is read at i + u, u = 1 + ceil(P / T). The plan made at k governs superframe
//! k + v, v = ceil((c + P') / T). A request therefore takes R = (u + v) T to its grant.

use crate::adaptation::{Adaptation, Choice};
use crate::contention::Contention;
use crate::grid::{Grid, Window, REQUEST};
use crate::leo_cell::{LeoCell, Others};
use crate::mf_tdma::{Free, MfTdma};
use crate::opened::{Heard, Opened};
use crate::plan::{Controller, Left, Plan};
use crate::random::RandomUse;
use crate::requests::{Asking, Request, Rules, Volume, Way};
use crate::terminal::{Access, Asked, Demand, MediumCounters, Terminal};
use crate::waveforms::{BurstLength, Waveform};
use bentpipe_units::{Duration, Rate, Time};

/// Time without a burst after which a terminal is measured, on a medium without control slots.
const SILENCE: Duration = Duration::from_secs(1);

/// Bytes in a burst of each terminal.
#[derive(Clone, Debug)]
enum Bursts {
    /// Payload of a waveform: one for all, or adapted to each signal.
    Waveforms { length: BurstLength, fixed: Option<Waveform>, acm: Adaptation },
    /// Equal payloads.
    Fixed(u32),
}

impl Bursts {
    fn waveform(&self, choice: Option<usize>) -> Option<Waveform> {
        match self {
            Self::Waveforms { length, .. } => Waveform::all(*length).nth(choice?),
            Self::Fixed(_) => None,
        }
    }

    fn payload(&self, choice: Option<usize>) -> u32 {
        match self {
            Self::Waveforms { .. } => self.waveform(choice).map_or(0, Waveform::payload),
            Self::Fixed(bytes) => *bytes,
        }
    }

    /// Whether a burst of this choice arrives with this signal.
    fn arrives(&self, choice: Option<usize>, es_n0_db: f64) -> bool {
        self.waveform(choice).is_none_or(|waveform| waveform.threshold_db() <= es_n0_db)
    }
}

/// Way of requests to the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asks {
    /// In bursts, control slots and random bursts.
    InBursts,
    /// In separate room in each superframe.
    Always,
    /// No requests: the controller sees the queues.
    Never,
}

/// Report of a terminal to the controller in a superframe.
#[derive(Clone, Copy, Debug)]
struct Message {
    terminal: u32,
    es_n0_db: f64,
    request: Option<Request>,
}

/// A terminal and its controller's choice of waveforms.
#[derive(Clone, Debug)]
struct Member {
    asking: Asking,
    choice: Choice,
    was_up: bool,
    /// Its open requests when it went down, with the superframe when the medium saw that.
    left: Option<(u64, Asked)>,
    random: RandomUse,
    opened: Opened,
    /// Superframe of the last burst that the controller measured.
    heard: u64,
}

/// A medium of slots: a return link ([`MfTdma`]), or a direction of a cell of satellites in low orbit ([`LeoCell`]).
#[derive(Clone, Debug)]
pub struct SlottedMedium {
    grid: Grid,
    bursts: Bursts,
    asks: Asks,
    rules: Rules,
    members: Vec<Member>,
    controller: Controller,
    contention: Option<Contention>,
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
    opened: Vec<u32>,
    counters: MediumCounters,
}

impl SlottedMedium {
    /// Returns a return link at the start of a run. Constant and free capacity and control slots are granted from the
    /// first superframe on. `seed` and the names of the terminals address the random numbers.
    pub fn mf_tdma(medium: &MfTdma, terminals: &[Terminal], seed: u64) -> Self {
        let grid = Grid::of_carriers(medium.superframe, medium.symbol_rate, medium.bursts);
        let bursts = Bursts::Waveforms { length: medium.bursts, fixed: medium.waveform, acm: medium.acm };
        let to_plan = 1 + grid.superframes_in(medium.to_controller);
        let to_grant = grid.superframes_in(medium.control_delay + medium.to_terminal);
        let rules = Rules::new(medium, to_plan + to_grant);
        let left = match medium.free {
            Free::None => Left::Unused,
            Free::Asking => Left::ToAsking,
            Free::All => Left::ToAll,
        };
        let random = medium.random.map_or(0, |random| random.carriers);
        let controller = Controller::new(
            terminals.iter().map(|terminal| (terminal.access.constant.as_bps(), terminal.access.weight)),
            grid.slots(),
            medium.carriers.saturating_sub(random),
            medium.superframe.as_ps(),
            medium.control_interval.map(|interval| grid.superframes_in(interval).max(1)),
            grid.superframes_in(medium.persistence).max(1),
            left,
        );
        let names = terminals.iter().map(|terminal| terminal.name.as_str());
        let contention = medium.random.map(|random| Contention::new(random, &grid, to_grant, names, seed));
        let asks = Asks::InBursts;
        let base = Self::new(grid, bursts, asks, rules, controller, to_plan, to_grant, terminals);
        let silence = grid.superframes_in(medium.control_interval.unwrap_or(SILENCE)).max(1);
        Self { contention, silence, ..base }
    }

    /// Returns a direction of a cell at the start of a run. Upwards, `terminals` ask for volumes. Downwards, the
    /// controller sees their queues. `name` and `seed` address the stays of other terminals.
    pub fn leo_cell(cell: &LeoCell, terminals: &[Terminal], is_up: bool, name: &str, seed: u64) -> Self {
        let grid = Grid::of_frames(cell.frame, cell.slots);
        let (to_plan, to_grant, asks) = match is_up {
            true => (
                1 + grid.superframes_in(cell.to_controller),
                grid.superframes_in(cell.control_delay + cell.to_terminal),
                Asks::Always,
            ),
            false => (1, 0, Asks::Never),
        };
        let persistence = cell.persistence;
        let rules = MfTdma { superframe: cell.frame, overhead: cell.overhead, persistence, ..MfTdma::default() };
        let rules = Rules::new(&rules, to_plan + to_grant);
        let controller = Controller::new(
            terminals.iter().map(|terminal| (0, terminal.access.weight)),
            grid.slots(),
            1,
            cell.frame.as_ps(),
            None,
            grid.superframes_in(persistence).max(1),
            Left::Unused,
        );
        let volumes: Vec<Terminal> = terminals
            .iter()
            .map(|terminal| {
                let access = Access { volume_based: true, weight: terminal.access.weight, ..Access::default() };
                Terminal { name: terminal.name.clone(), access }
            })
            .collect();
        let bursts = Bursts::Fixed(cell.payload());
        let base = Self::new(grid, bursts, asks, rules, controller, to_plan, to_grant, &volumes);
        Self { others: cell.others.as_ref().map(|others| Others::new(others, name, seed)), ..base }
    }

    #[allow(clippy::too_many_arguments, reason = "parts of a medium, for two constructors")]
    fn new(
        grid: Grid,
        bursts: Bursts,
        asks: Asks,
        rules: Rules,
        controller: Controller,
        to_plan: u64,
        to_grant: u64,
        terminals: &[Terminal],
    ) -> Self {
        let closed = Opened::none(&grid);
        let members = terminals.iter().map(|terminal| {
            let Access { constant, rate_based, volume_based, random, .. } = terminal.access;
            let asking = Asking::new(&rules, constant, rate_based, volume_based);
            Member {
                asking,
                choice: Choice::default(),
                was_up: true,
                left: None,
                random,
                opened: closed.clone(),
                heard: 0,
            }
        });
        Self {
            members: members.collect(),
            grid,
            bursts,
            asks,
            rules,
            controller,
            contention: None,
            others: None,
            superframe: 0,
            wakes: 0,
            to_plan,
            to_grant,
            silence: grid.superframes_in(SILENCE),
            messages: vec![Vec::new(); to_plan as usize],
            plans: vec![Plan::default(); to_grant as usize + 1],
            last_plan: 0,
            opened: Vec::new(),
            counters: MediumCounters::default(),
        }
    }

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

    /// Opens the next superframe. `demands` has the state of each terminal at its start.
    pub fn advance(&mut self, demands: &[Demand]) {
        debug_assert!(demands.len() == self.members.len());
        self.superframe = self.wakes;
        if self.superframe == 0 {
            self.begin(demands);
        }
        let superframe = self.superframe;
        self.follow_outages(superframe, demands);
        self.read(superframe);
        if self.asks == Asks::Never {
            for (n, demand) in demands.iter().enumerate() {
                self.controller.see(superframe, n, self.rules.with_overhead(demand.backlog));
            }
        }
        self.plan(superframe, superframe + self.to_grant);
        self.open(superframe, demands);
        self.superframe = superframe + 1;
        self.wakes = self.superframe;
    }

    /// Chooses waveforms, and plans the superframes that no plan of the run reaches.
    fn begin(&mut self, demands: &[Demand]) {
        for (n, demand) in demands.iter().enumerate() {
            let Some(member) = self.members.get_mut(n) else { break };
            if let Bursts::Waveforms { length, fixed, acm } = &self.bursts {
                let best = |level: f64| index_of(Waveform::best(*length, level));
                member.choice = match fixed {
                    Some(_) => Choice::fixed(index_of(*fixed)),
                    None => Choice::first(acm, demand.es_n0_db, best),
                };
            }
            let choice = member.choice.chosen();
            let account = &mut self.controller.accounts[n];
            (account.choice, account.payload) = (choice, self.bursts.payload(choice));
        }
        for superframe in 0..self.to_grant {
            self.plan(superframe, superframe);
        }
    }

    /// A terminal that goes down loses its windows and requests. A terminal that comes up may have requests from another
    /// medium.
    fn follow_outages(&mut self, superframe: u64, demands: &[Demand]) {
        for (n, demand) in demands.iter().enumerate() {
            if demand.is_up == self.members[n].was_up {
                continue;
            }
            if !demand.is_up {
                self.members[n].left = Some((superframe, self.open_requests(n)));
            }
            let member = &mut self.members[n];
            member.was_up = demand.is_up;
            member.asking.reset();
            self.controller.forget(n);
            if let Some(open) = demand.handed.filter(|_| demand.is_up) {
                member.asking.go_on(superframe, open);
                self.controller.read(superframe, n, member.asking.asked().into());
            }
            let choice = if demand.is_up { member.choice.chosen() } else { None };
            let account = &mut self.controller.accounts[n];
            account.choice = choice;
            account.payload = if demand.is_up { self.bursts.payload(choice) } else { 0 };
        }
    }

    /// Returns the rate that a terminal asks for, and the volumes that it asked for and that no window has answered: on their
    /// way to the controller, there, and in plans.
    fn open_requests(&self, n: usize) -> Asked {
        let mut volume = self.controller.accounts[n].volume_at(self.superframe);
        for superframe in self.superframe..self.superframe + self.to_plan {
            let messages = &self.messages[(superframe % self.to_plan) as usize];
            for message in messages.iter().filter(|message| message.terminal as usize == n) {
                if let Some(Volume { bytes, is_absolute }) = message.request.and_then(|request| request.volume) {
                    volume = if is_absolute { 0 } else { volume } + u64::from(bytes);
                }
            }
        }
        for superframe in self.superframe..self.superframe + self.to_grant {
            let grants = &self.plans[(superframe % (self.to_grant + 1)) as usize].grants;
            let own = grants.iter().filter(|grant| grant.terminal as usize == n);
            volume += own.map(|grant| grant.volume).sum::<u64>();
        }
        Asked { rate: self.members[n].asking.rate(), volume }
    }

    /// Reads what left u superframes ago.
    fn read(&mut self, superframe: u64) {
        let at = (superframe % self.to_plan) as usize;
        let messages = core::mem::take(&mut self.messages[at]);
        for message in &messages {
            let n = message.terminal as usize;
            let member = &mut self.members[n];
            if !member.was_up {
                continue;
            }
            if let Bursts::Waveforms { length, fixed: None, acm } = &self.bursts {
                let threshold = |index: usize| Waveform::all(*length).nth(index).map_or(0.0, Waveform::threshold_db);
                let best = |level: f64| index_of(Waveform::best(*length, level));
                member.choice.choose(acm, message.es_n0_db, threshold, best);
                let choice = member.choice.chosen();
                let account = &mut self.controller.accounts[n];
                (account.choice, account.payload) = (choice, self.bursts.payload(choice));
            }
            if let Some(request) = message.request {
                self.controller.read(superframe, n, request);
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
        if self.contention.is_some() {
            self.controller.note_choices(plan);
        }
        self.counters.plan_bytes += self.plan_bytes();
    }

    /// Opens the windows of a superframe, and takes the requests that leave in it.
    fn open(&mut self, superframe: u64, demands: &[Demand]) {
        for n in self.opened.drain(..) {
            self.members[n as usize].opened.close();
        }
        let at = (superframe % (self.to_grant + 1)) as usize;
        let plan = core::mem::take(&mut self.plans[at]);
        let starts = self.grid.start(superframe);
        for grant in &plan.grants {
            let member = &mut self.members[grant.terminal as usize];
            if !member.was_up {
                continue;
            }
            let waveform = self.bursts.waveform(grant.choice);
            member.opened.grant(&self.grid, starts, grant, waveform);
            self.opened.push(grant.terminal);
            self.counters.control_slots += u64::from(grant.control);
            self.counters.granted_slots += u64::from(grant.slots);
            self.counters.granted_bytes += member.opened.granted;
        }
        if let Some(contention) = &mut self.contention {
            contention.begin(superframe, starts);
        }
        for (n, demand) in demands.iter().enumerate() {
            self.members[n].opened.heard = None;
            if demand.is_up {
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
            Asks::Always => Some(Way::Control),
            Asks::InBursts => self.members[n].opened.way(),
        };
        let request = self.request(superframe, n, demand, choice, way).filter(|_| way.is_some());
        let is_silent = superframe >= self.members[n].heard + self.silence;
        let is_measured = matches!(self.bursts, Bursts::Waveforms { .. }) && (way.is_some() || is_silent);
        if is_measured || request.is_some() {
            let member = &mut self.members[n];
            member.heard = superframe;
            // The controller measures a burst that is lost, too.
            let arrives = self.bursts.arrives(member.opened.choice, demand.es_n0_db);
            self.counters.requests_lost += u64::from(request.is_some() && !arrives);
            let request = request.filter(|_| arrives);
            let first = member.opened.first().filter(|_| arrives);
            member.opened.heard = first.map(|(begin, end)| Heard { begin, end, has_request: request.is_some() });
            let message = Message { terminal: n as u32, es_n0_db: demand.es_n0_db, request };
            self.messages[(superframe % self.to_plan) as usize].push(message);
        }
        let Member { asking, opened, .. } = &mut self.members[n];
        if opened.count > 0 {
            asking.granted(core::mem::take(&mut opened.volume));
        }
    }

    /// Takes the request of a terminal, in `way` or by random access, and its packets for random access. Returns it if
    /// it leaves.
    fn request(
        &mut self,
        superframe: u64,
        n: usize,
        demand: &Demand,
        choice: Option<usize>,
        way: Option<Way>,
    ) -> Option<Request> {
        let member = &mut self.members[n];
        let payload = self.bursts.payload(choice);
        let uses = if way.is_none() && payload > 0 { member.random } else { RandomUse::None };
        let mut backlog = demand.backlog;
        let mut has_data = false;
        if let (RandomUse::Data, Some(contention), 1..) = (uses, &mut self.contention, backlog) {
            let bytes = self.rules.with_overhead(backlog) + u64::from(REQUEST);
            let bursts = bytes.div_ceil(u64::from(payload)).min(64) as u32;
            let bursts = contention.send_data(n, bursts, choice);
            has_data = bursts > 0;
            // Bytes that leave now need no grant.
            backlog = backlog.saturating_sub(u64::from(bursts) * u64::from(payload));
        }
        let request = member.asking.due(&self.rules, superframe, backlog, demand.arrived, way)?;
        // A request by random access waits for its grant, or R + 2 T, before the next one.
        let is_random = way.is_none() && uses != RandomUse::None && !member.asking.awaits_grant();
        let way = match (way, &mut self.contention) {
            (Some(way), _) => way,
            (None, Some(contention)) if is_random => {
                let lost = member.asking.lost();
                contention.send_request(n, request, choice, has_data, lost).then_some(Way::Random)?
            }
            (None, _) => return None,
        };
        member.asking.sent(superframe, request, way);
        *match way {
            Way::Burst => &mut self.counters.requests_in_bursts,
            Way::Control => &mut self.counters.requests_in_control,
            Way::Random => &mut self.counters.requests_in_random,
        } += 1;
        Some(request)
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
            let arrives = self.bursts.arrives(entry.choice, demand.es_n0_db);
            let is_request_read = arrives && entry.lost & 1 == 0;
            self.counters.requests_lost += u64::from(entry.request.is_some() && !is_request_read);
            if u64::from(entry.lost.count_ones()) < u64::from(entry.bursts) {
                let request = entry.request.filter(|_| is_request_read);
                let message = Message { terminal: entry.terminal, es_n0_db: demand.es_n0_db, request };
                self.members[n].heard = superframe;
                let (begin, end, has_request) = (starts, starts + self.grid.superframe(), request.is_some());
                self.members[n].opened.heard = arrives.then_some(Heard { begin, end, has_request });
                self.messages[(superframe % self.to_plan) as usize].push(message);
            }
            if entry.is_data {
                let (payload, waveform) = (self.bursts.payload(entry.choice), self.bursts.waveform(entry.choice));
                let window = Window::random(&self.grid, starts, entry.bursts, payload, entry.lost).with(waveform);
                self.members[n].opened.random(window);
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

    /// Returns the size of the plan that was made last: 11 B and 3 B per slot. While no terminal is up, no plan is sent.
    pub fn plan_bytes(&self) -> u64 {
        let is_sent = self.members.iter().any(|member| member.was_up);
        if is_sent {
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
        self.members[terminal].opened.heard
    }

    /// Returns the waveform that the controller plans for a terminal. `None` if no waveform fits its signal, or the
    /// medium has no waveforms.
    pub fn waveform(&self, terminal: usize) -> Option<Waveform> {
        self.bursts.waveform(self.members[terminal].choice.chosen())
    }

    /// Returns the rate that a terminal asks for, beyond the constant one.
    pub fn requested(&self, terminal: usize) -> Rate {
        self.members[terminal].asking.rate()
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

    /// Returns the counts since the start.
    pub fn counters(&self) -> MediumCounters {
        self.counters
    }
}

fn index_of(waveform: Option<Waveform>) -> Option<usize> {
    waveform.map(Waveform::index)
}
