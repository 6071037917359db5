//! The controller: divides the slots of a superframe among terminals, and places them.
//!
//! Phases share what the phases before them leave: control slots, constant rates, guaranteed parts of rates asked for,
//! these rates, volumes, free capacity. Each phase of requests serves one class after the other. No terminal gets more slots than one carrier has, so no terminal sends twice at a time.
//!
//! Only [`Candidates`] take part in a plan: terminals with a control slot, an open request, or the credit of a constant rate
//! for a burst. So an idle terminal costs little in most superframes, and nothing without such a rate.

mod account;
mod filling;
#[cfg(test)]
mod tests;

use crate::requests::Request;
use crate::set::Set;
use crate::terminal::{Access, CLASSES};
use account::{affordable, paid, Account, BIT};
use core::ops::Range;
use filling::fill;

/// Bytes of a plan, and of each slot in it (TBTP2 with identifiers of 24 bits).
const PLAN_BYTES: u64 = 11;
const SLOT_BYTES: u64 = 3;

/// Use of capacity that is left over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    Unused,
    ToAsking,
    ToAll,
}

/// Slots of a terminal in a superframe: consecutive positions, carrier after carrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) terminal: u32,
    /// First position: its carrier is the quotient by the slots of a carrier, its slot the remainder.
    pub(crate) first: u32,
    /// Control slots at the start of it, 0 or 1.
    pub(crate) control: u32,
    /// Slots for data after them.
    pub(crate) slots: u32,
    /// Slots of them that answer a request for a volume, by class.
    pub(crate) volume: [u32; CLASSES],
    pub(crate) payload: u32,
    pub(crate) choice: Option<usize>,
}

/// Plan of a superframe.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) grants: Vec<Grant>,
    /// By terminal, the waveform of its random bursts.
    pub(crate) choices: Vec<Option<usize>>,
    /// Number of the state of all choices that was written last.
    version: u64,
}

impl Plan {
    /// Returns its size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        PLAN_BYTES + SLOT_BYTES * self.grants.iter().map(|grant| u64::from(grant.control + grant.slots)).sum::<u64>()
    }
}

/// Terminals that may get slots in the superframe of a plan.
#[derive(Clone, Debug)]
struct Candidates {
    /// Terminals with open requests, with the credit of a constant rate for a burst, or with free slots.
    ready: Set,
    /// These and those with control slots, rising. Other users follow.
    list: Vec<u32>,
    /// Count without other users.
    known: usize,
    /// Places of terminals with open requests.
    asking: Vec<u32>,
}

/// The controller of a medium.
#[derive(Clone, Debug)]
pub(crate) struct Controller {
    /// By terminal, the waveform of its bursts, as the caller counts them.
    choices: Vec<Option<usize>>,
    weights: Vec<u32>,
    /// By terminal, the accounts of its classes.
    accounts: Vec<Account>,
    /// Accounts of a terminal: the most classes that one has.
    classes: usize,
    /// Slots of a carrier, and of all carriers for plans.
    slots: u32,
    capacity: u32,
    /// Superframe in picoseconds.
    superframe_ps: u64,
    /// Superframes between two control slots of a terminal, and superframes that a request is valid.
    control_every: Option<u64>,
    persistence: u64,
    /// Superframes from one turn of a terminal to its next.
    turn: u32,
    left: Left,
    /// Terminals that get slots without a request.
    standing: Set,
    /// Terminals with open requests.
    open: Set,
    candidates: Candidates,
    /// For each candidate: its weight, the slots that it wants and gets in a phase, control slots, and all slots.
    turns: Vec<u32>,
    wants: Vec<u32>,
    given: Vec<u32>,
    control: Vec<u32>,
    total: Vec<u32>,
    /// Slots for a volume, by candidate and class.
    volume: Vec<u32>,
    /// Whether terminals have constant rates or free slots, have asked for rates, and have guaranteed parts of them.
    has_standing: bool,
    has_rates: bool,
    has_guarantees: bool,
    /// Number of the present state of all choices.
    version: u64,
}

impl Controller {
    /// Returns the controller of terminals with this access.
    pub(crate) fn new(
        terminals: &[Access],
        slots: u32,
        capacity: u32,
        superframe_ps: u64,
        control_every: Option<u64>,
        persistence: u64,
        left: Left,
    ) -> Self {
        let classes = terminals.iter().map(|access| access.classes().count()).max().unwrap_or(1);
        let mut accounts = Vec::with_capacity(terminals.len() * classes);
        for access in terminals {
            accounts.extend(access.classes().map(|capacity| Account::new(capacity, superframe_ps)));
            accounts.resize(accounts.len().next_multiple_of(classes), Account::default());
        }
        let has_constant = |terminal: &[Account]| terminal.iter().any(|account| account.constant > 0);
        let stands = |terminal: &[Account]| left == Left::ToAll || has_constant(terminal);
        let mut standing = Set::of(terminals.len());
        for (n, _) in accounts.chunks(classes).enumerate().filter(|(_, terminal)| stands(terminal)) {
            standing.insert(n);
        }
        Self {
            has_standing: !standing.is_empty(),
            has_rates: false,
            standing,
            has_guarantees: accounts.iter().any(|account| account.guaranteed > 0),
            accounts,
            classes,
            choices: vec![None; terminals.len()],
            weights: terminals.iter().map(|access| access.weight.max(1)).collect(),
            slots,
            capacity,
            superframe_ps,
            control_every,
            persistence,
            turn: 1,
            left,
            open: Set::of(terminals.len()),
            candidates: Candidates { ready: Set::of(terminals.len()), list: Vec::new(), known: 0, asking: Vec::new() },
            turns: Vec::new(),
            wants: Vec::new(),
            given: Vec::new(),
            control: Vec::new(),
            total: Vec::new(),
            volume: Vec::new(),
            version: 1,
        }
    }

    /// Returns the controller whose terminals have slots in one of `turn` superframes. Terminal n has its turn in superframe k
    /// if `turn` divides n + k.
    pub(crate) fn with_turn(self, turn: u32) -> Self {
        Self { turn: turn.max(1), ..self }
    }

    /// Leaves the candidates that have their turn in a superframe.
    fn take_turns(&mut self, governed: u64) {
        let turn = u64::from(self.turn);
        if turn > 1 {
            self.candidates.list.retain(|&n| (u64::from(n) + governed) % turn == 0);
        }
    }

    fn accounts_of(&mut self, terminal: usize) -> &mut [Account] {
        &mut self.accounts[terminal * self.classes..][..self.classes]
    }

    /// Returns the bytes that a class of a terminal asked for and that are not granted, without lapsed requests.
    pub(crate) fn volume_at(&self, superframe: u64, terminal: usize) -> u64 {
        self.accounts[terminal * self.classes].volume_at(superframe)
    }

    /// Whether capacity comes to a terminal without a new request: a constant rate, a rate asked for, or free slots.
    pub(crate) fn is_promised(&self, terminal: usize) -> bool {
        let accounts = &self.accounts[terminal * self.classes..][..self.classes];
        self.left == Left::ToAll || accounts.iter().any(|account| account.constant > 0 || account.rate > 0)
    }

    /// Whether a terminal gets slots without a request.
    pub(crate) fn is_standing(&self, terminal: usize) -> bool {
        self.standing.contains(terminal)
    }

    /// Whether a terminal may get slots of a later plan for its earlier requests.
    pub(crate) fn is_open(&self, terminal: usize) -> bool {
        self.open.contains(terminal)
    }

    /// Sets the waveform of a terminal's bursts, and their bytes.
    pub(crate) fn choose(&mut self, terminal: usize, choice: Option<usize>, payload: u32) {
        let before = &mut self.choices[terminal];
        self.version += u64::from(*before != choice);
        *before = choice;
        self.accounts_of(terminal).iter_mut().for_each(|account| {
            (account.payload, account.cost) = (payload, u64::from(payload).saturating_mul(8 * BIT));
        });
    }

    /// Reads the request of a class of a terminal.
    pub(crate) fn read(&mut self, superframe: u64, (terminal, class): (usize, usize), request: Request) {
        let account = &mut self.accounts[terminal * self.classes + class];
        account.lapse(superframe);
        if let Some(rate) = request.rate {
            let rate = account::growth(rate.as_bps(), self.superframe_ps);
            account.is_new = rate > 0 && (account.is_new || account.rate == 0);
            if rate == 0 {
                (account.rate_credit, account.guaranteed_credit) = (0, 0);
            }
            (account.rate, account.rate_until) = (rate, superframe + self.persistence);
            self.has_rates |= rate > 0;
        }
        if let Some(volume) = request.volume {
            let before = if volume.is_absolute { 0 } else { account.volume };
            account.volume = before + u64::from(volume.bytes);
            account.volume_until = superframe + self.persistence;
        }
        if account.is_open(superframe, self.left) {
            self.open.insert(terminal);
        }
    }

    /// Sets the bytes that a terminal wants, as the controller of its queue sees them.
    pub(crate) fn see(&mut self, superframe: u64, terminal: usize, bytes: u64) {
        let account = &mut self.accounts_of(terminal)[0];
        (account.volume, account.volume_until) = (bytes, superframe + 1);
        if bytes > 0 {
            self.open.insert(terminal);
        }
    }

    /// Forgets the requests of a terminal.
    pub(crate) fn forget(&mut self, terminal: usize) {
        for account in self.accounts_of(terminal) {
            let Account { payload, cost, constant, guaranteed, .. } = *account;
            let Account { rate_until, volume_until, is_new, .. } = *account;
            let fixed = Account { payload, cost, constant, guaranteed, ..Account::default() };
            *account = Account { rate_until, volume_until, is_new, ..fixed };
        }
    }

    /// Returns the terminals whose control slots are due in a superframe. The slots are spread evenly: that of terminal n
    /// comes where n x `control_every` / count, rounded down, completes a multiple of `control_every`.
    pub(crate) fn due(&self, superframe: u64) -> Range<u32> {
        let count = self.choices.len() as u64;
        let Some(every) = self.control_every else { return 0..0 };
        let part = (every - superframe % every) % every;
        let first = |part: u64| (part * count).div_ceil(every).min(count) as u32;
        first(part)..first(part + 1)
    }

    /// Plans superframe `governed` at superframe `now`. `others` further terminals always have data.
    pub(crate) fn plan(&mut self, now: u64, governed: u64, others: u32, plan: &mut Plan) {
        let Self { accounts, classes, open, left, .. } = self;
        open.retain(|n| {
            let mut is_open = false;
            for account in &mut accounts[n * *classes..][..*classes] {
                account.lapse(now);
                is_open |= account.is_open(now, *left);
            }
            is_open
        });
        self.grow_constant_rates();
        self.candidates.ready.list(self.due(governed), &mut self.candidates.list);
        self.take_turns(governed);
        plan.grants.clear();
        if self.candidates.list.is_empty() {
            return;
        }
        self.candidates.known = self.candidates.list.len();
        let asking = self.places_of_open();
        let all = self.choices.len() as u32 + others;
        self.turns.clear();
        self.turns.extend(self.candidates.list.iter().map(|&n| self.weights[n as usize]));
        self.candidates.list.extend(self.choices.len() as u32..all);
        self.take_turns(governed);
        let count = self.candidates.list.len();
        self.turns.resize(count, 1);
        for slots in [&mut self.wants, &mut self.given, &mut self.control, &mut self.total] {
            slots.clear();
            slots.resize(count, 0);
        }
        self.volume.clear();
        self.volume.resize(count * self.classes, 0);
        // One terminal later in each superframe.
        let first = (governed % u64::from(all)) as u32;
        let start = self.candidates.list.partition_point(|&n| n < first) % count;
        let mut left = self.capacity;
        if self.control_every.is_some() {
            left = self.control_phase(governed, start, left);
        }
        if self.has_standing {
            left = (0..self.classes).fold(left, |left, class| self.constant_phase(class, start, left));
        }
        // Without open requests, no candidate and no other terminal wants anything in the next phases.
        if self.open.is_empty() && self.left != Left::ToAll && others == 0 {
            self.candidates.asking = asking;
            return self.place(start, plan);
        }
        if self.has_guarantees {
            self.grow_rates(&asking);
            left = (0..self.classes).fold(left, |left, class| self.rate_phase(&asking, class, true, start, left));
        }
        if self.has_rates {
            left = (0..self.classes).fold(left, |left, class| self.rate_phase(&asking, class, false, start, left));
        }
        left = (0..self.classes).fold(left, |left, class| self.volume_phase(&asking, class, start, left));
        self.candidates.asking = asking;
        if self.left != Left::Unused && left > 0 {
            self.free_phase(now, start, left);
        }
        self.place(start, plan);
    }

    /// Writes the waveforms of random bursts to a plan.
    pub(crate) fn note_choices(&self, plan: &mut Plan) {
        if plan.version != self.version {
            plan.version = self.version;
            plan.choices.clear();
            plan.choices.extend_from_slice(&self.choices);
        }
    }

    /// Returns the places of the candidates with open requests. The accounts of others have no rate, no credit of a rate and no
    /// volume.
    fn places_of_open(&mut self) -> Vec<u32> {
        let mut places = core::mem::take(&mut self.candidates.asking);
        places.clear();
        let mut at = 0;
        for n in self.open.iter() {
            while self.candidates.list.get(at).is_some_and(|before| *before < n as u32) {
                at += 1;
            }
            // Others wait for their turn.
            if self.candidates.list.get(at) == Some(&(n as u32)) {
                places.push(at as u32);
            }
        }
        places
    }

    fn control_phase(&mut self, governed: u64, start: usize, left: u32) -> u32 {
        let due = self.due(governed);
        let from = self.candidates.list.partition_point(|n| *n < due.start);
        for (want, n) in self.wants[from..].iter_mut().zip(&self.candidates.list[from..]) {
            if !due.contains(n) {
                break;
            }
            *want = u32::from(self.accounts[*n as usize * self.classes].payload > 0);
        }
        let left = self.share(start, left);
        self.control.copy_from_slice(&self.given);
        left
    }

    /// Sets the slots that the candidates at these places want for a class in a phase. The others want none. `of` has the slots
    /// that the terminal may still get.
    fn want(
        &mut self,
        places: impl Iterator<Item = usize>,
        class: usize,
        mut of: impl FnMut(&mut Account, u32) -> u32,
    ) {
        let Self { candidates: Candidates { list, .. }, accounts, classes, slots, total, wants, .. } = self;
        wants.fill(0);
        for at in places {
            let account = &mut accounts[list[at] as usize * *classes + class];
            if account.payload > 0 {
                wants[at] = of(account, *slots - total[at]);
            }
        }
    }

    /// Gives the candidates at these places their slots for a class in a phase.
    fn settle(&mut self, places: impl Iterator<Item = usize>, class: usize, mut of: impl FnMut(&mut Account, u32)) {
        let Self { candidates: Candidates { list, .. }, accounts, classes, given, .. } = self;
        for at in places {
            of(&mut accounts[list[at] as usize * *classes + class], given[at]);
        }
    }

    /// Adds a superframe to the credits of constant rates. Terminals whose credit pays a burst are ready for the plan, and all
    /// that get free slots.
    fn grow_constant_rates(&mut self) {
        let Self { accounts, classes, open, candidates: Candidates { ready, .. }, has_standing, left, .. } = self;
        ready.become_copy(open);
        if !*has_standing {
            return;
        }
        for (n, accounts) in accounts.chunks_exact_mut(*classes).enumerate() {
            let mut is_ready = *left == Left::ToAll;
            for account in accounts {
                is_ready |= account.grow_constant();
            }
            if is_ready {
                ready.insert(n);
            }
        }
    }

    fn constant_phase(&mut self, class: usize, start: usize, left: u32) -> u32 {
        self.want(0..self.candidates.known, class, |account, room| {
            affordable(account.constant_credit, account.cost, room)
        });
        let (left, most) = (self.share(start, left), self.slots);
        self.settle(0..self.candidates.known, class, |account, slots| {
            account.constant_credit = paid(account.constant_credit, account.cost, slots, most);
        });
        left
    }

    /// Adds a superframe to the credits of rates asked for.
    fn grow_rates(&mut self, asking: &[u32]) {
        for class in 0..self.classes {
            self.want(each(asking), class, |account, _| {
                account.grow_rate();
                0
            });
        }
    }

    /// Gives slots for rates asked for. Their credits have grown, or grow now.
    fn rate_phase(&mut self, asking: &[u32], class: usize, is_guaranteed: bool, start: usize, left: u32) -> u32 {
        let grows = !self.has_guarantees;
        self.want(each(asking), class, |account, room| {
            if grows {
                account.grow_rate();
            }
            let most = if is_guaranteed { account.guaranteed_credit } else { u64::MAX };
            affordable(account.rate_credit.min(most), account.cost, room)
        });
        let (left, most) = (self.share(start, left), self.slots);
        let has_guarantees = self.has_guarantees;
        self.settle(each(asking), class, |account, slots| {
            account.rate_credit = paid(account.rate_credit, account.cost, slots, most);
            if has_guarantees {
                account.guaranteed_credit = paid(account.guaranteed_credit, account.cost, slots, most);
            }
        });
        left
    }

    fn volume_phase(&mut self, asking: &[u32], class: usize, start: usize, left: u32) -> u32 {
        self.want(each(asking), class, |account, room| match account.volume {
            0 => 0,
            volume => volume.div_ceil(u64::from(account.payload)).min(u64::from(room)) as u32,
        });
        if class == 0 {
            self.wants[self.candidates.known..].fill(self.slots);
        }
        let left = self.share(start, left);
        for at in each(asking) {
            self.volume[at * self.classes + class] = self.given[at];
        }
        self.settle(each(asking), class, |account, slots| {
            if slots > 0 {
                account.volume = account.volume.saturating_sub(u64::from(account.payload) * u64::from(slots));
            }
        });
        left
    }

    fn free_phase(&mut self, now: u64, start: usize, left: u32) {
        self.wants.fill(0);
        for at in 0..self.candidates.known {
            let accounts = &self.accounts[self.candidates.list[at] as usize * self.classes..][..self.classes];
            let is_asking = |account: &Account| account.rate > 0 || now < account.volume_until;
            if accounts[0].payload > 0 && (self.left == Left::ToAll || accounts.iter().any(is_asking)) {
                self.wants[at] = self.slots - self.total[at];
            }
        }
        self.share(start, left);
    }

    /// Shares `left` slots among those that want some, and returns the slots that are left.
    fn share(&mut self, start: usize, left: u32) -> u32 {
        let left = fill(&self.wants, &self.turns, start, left, &mut self.given);
        for (total, slots) in self.total.iter_mut().zip(&self.given) {
            *total += slots;
        }
        left
    }

    /// Places slots one after the other, from the candidate at `start` on.
    fn place(&self, start: usize, plan: &mut Plan) {
        let mut first = 0;
        for places in [start..self.total.len(), 0..start] {
            for at in places {
                let total = self.total[at];
                if total > 0 && at < self.candidates.known {
                    let (terminal, control) = (self.candidates.list[at], self.control[at]);
                    let payload = self.accounts[terminal as usize * self.classes].payload;
                    let (choice, slots) = (self.choices[terminal as usize], total - control);
                    // One class is frequent.
                    let mut volume = [0; CLASSES];
                    match &self.volume[at * self.classes..][..self.classes] {
                        [only] => volume[0] = *only,
                        all => volume[..all.len()].copy_from_slice(all),
                    }
                    plan.grants.push(Grant { terminal, first, control, slots, volume, payload, choice });
                }
                first += total;
            }
        }
    }
}

/// Returns places as indices.
fn each(places: &[u32]) -> impl Iterator<Item = usize> + '_ {
    places.iter().map(|at| *at as usize)
}
