//! The controller: divides the slots of a superframe among terminals, and places them.
//!
//! Phases share what the phases before them leave: control slots, constant rates, rates asked for, volumes, free
//! capacity. No terminal gets more slots than one carrier has, so no terminal sends twice at a time.

mod filling;
#[cfg(test)]
mod tests;

use crate::requests::Request;
use filling::fill;

/// Credit of one bit: rates times superframes are whole multiples of 1e-9 bit.
const BIT: u64 = 1_000_000_000;

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

/// A terminal at the controller.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Account {
    /// Bytes of a burst. 0 if the terminal cannot send.
    pub(crate) payload: u32,
    /// Waveform of its bursts, as the caller counts them.
    pub(crate) choice: Option<usize>,
    /// Growth of the constant rate's credit per superframe.
    constant: u64,
    constant_credit: u64,
    /// Growth of the requested rate's credit per superframe.
    rate: u64,
    rate_credit: u64,
    rate_until: u64,
    is_new: bool,
    /// Bytes asked for and not granted.
    volume: u64,
    volume_until: u64,
}

impl Account {
    /// The bytes asked for and not granted, without lapsed requests.
    pub(crate) fn volume_at(&self, superframe: u64) -> u64 {
        if superframe < self.volume_until {
            self.volume
        } else {
            0
        }
    }

    /// Drops lapsed requests.
    fn lapse(&mut self, superframe: u64) {
        if superframe >= self.rate_until {
            (self.rate, self.rate_credit, self.is_new) = (0, 0, false);
        }
        if superframe >= self.volume_until {
            self.volume = 0;
        }
    }
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
    /// Bytes that answer a request for a volume.
    pub(crate) volume: u64,
    pub(crate) payload: u32,
    pub(crate) choice: Option<usize>,
}

/// Plan of a superframe.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) grants: Vec<Grant>,
    /// By terminal, the waveform of its random bursts.
    pub(crate) choices: Vec<Option<usize>>,
}

impl Plan {
    /// Returns its size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        PLAN_BYTES + SLOT_BYTES * self.grants.iter().map(|grant| u64::from(grant.control + grant.slots)).sum::<u64>()
    }
}

/// The controller of a medium.
#[derive(Clone, Debug)]
pub(crate) struct Controller {
    pub(crate) accounts: Vec<Account>,
    weights: Vec<u32>,
    /// Slots of a carrier, and of all carriers for plans.
    slots: u32,
    capacity: u32,
    /// Superframe in picoseconds.
    superframe_ps: u64,
    /// Superframes between two control slots of a terminal, and superframes that a request is valid.
    control_every: Option<u64>,
    persistence: u64,
    left: Left,
    has_constant: bool,
    wants: Vec<u32>,
    given: Vec<u32>,
    /// By terminal, control slots, all slots, and slots for a volume.
    control: Vec<u32>,
    total: Vec<u32>,
    volume: Vec<u32>,
}

impl Controller {
    /// Returns the controller of terminals with these constant rates in bit/s and weights.
    pub(crate) fn new(
        terminals: impl Iterator<Item = (u64, u32)>,
        slots: u32,
        carriers: u32,
        superframe_ps: u64,
        control_every: Option<u64>,
        persistence: u64,
        left: Left,
    ) -> Self {
        let (mut accounts, mut weights) = (Vec::new(), Vec::new());
        for (constant, weight) in terminals {
            accounts.push(Account { constant: growth(constant, superframe_ps), ..Account::default() });
            weights.push(weight.max(1));
        }
        let zeros = vec![0; accounts.len()];
        let has_constant = accounts.iter().any(|account| account.constant > 0);
        Self {
            accounts,
            weights,
            slots,
            capacity: slots.saturating_mul(carriers),
            superframe_ps,
            control_every,
            persistence,
            left,
            has_constant,
            wants: zeros.clone(),
            given: zeros.clone(),
            control: zeros.clone(),
            total: zeros.clone(),
            volume: zeros,
        }
    }

    /// Reads the request of a terminal.
    pub(crate) fn read(&mut self, superframe: u64, terminal: usize, request: Request) {
        let account = &mut self.accounts[terminal];
        account.lapse(superframe);
        if let Some(rate) = request.rate {
            let rate = growth(rate.as_bps(), self.superframe_ps);
            account.is_new = rate > 0 && (account.is_new || account.rate == 0);
            if rate == 0 {
                account.rate_credit = 0;
            }
            (account.rate, account.rate_until) = (rate, superframe + self.persistence);
        }
        if let Some(volume) = request.volume {
            let before = if volume.is_absolute { 0 } else { account.volume };
            account.volume = before + u64::from(volume.bytes);
            account.volume_until = superframe + self.persistence;
        }
    }

    /// Sets the bytes that a terminal wants, as the controller of its queue sees them.
    pub(crate) fn see(&mut self, superframe: u64, terminal: usize, bytes: u64) {
        let account = &mut self.accounts[terminal];
        (account.volume, account.volume_until) = (bytes, superframe + 1);
    }

    /// Forgets the requests of a terminal.
    pub(crate) fn forget(&mut self, terminal: usize) {
        let account = &mut self.accounts[terminal];
        (account.rate, account.rate_credit, account.volume, account.constant_credit) = (0, 0, 0, 0);
    }

    /// Whether a control slot of the terminal is due in this superframe. The terminals' slots are spread evenly.
    fn is_control_due(&self, superframe: u64, terminal: usize) -> bool {
        let count = self.accounts.len() as u64;
        self.control_every.is_some_and(|every| (superframe + terminal as u64 * every / count) % every == 0)
    }

    /// Plans superframe `governed` at superframe `now`. `others` further terminals always have data.
    pub(crate) fn plan(&mut self, now: u64, governed: u64, others: u32, plan: &mut Plan) {
        let known = self.accounts.len();
        let all = known + others as usize;
        for (slots, fresh) in [(&mut self.wants, 0), (&mut self.given, 0), (&mut self.total, 0), (&mut self.weights, 1)]
        {
            slots.resize(all, fresh);
        }
        for slots in [&mut self.control, &mut self.total, &mut self.volume] {
            slots.fill(0);
        }
        let start = if all == 0 { 0 } else { (governed % all as u64) as usize };
        let mut left = self.capacity;
        if self.control_every.is_some() {
            left = self.control_phase(governed, start, left);
        }
        if self.has_constant {
            left = self.constant_phase(start, left);
        }
        left = self.rate_phase(now, start, left);
        left = self.volume_phase(start, left);
        if self.left != Left::Unused && left > 0 {
            self.free_phase(now, start, left);
        }
        self.place(start, plan);
    }

    /// Writes the waveforms of random bursts to a plan.
    pub(crate) fn note_choices(&self, plan: &mut Plan) {
        plan.choices.clear();
        plan.choices.extend(self.accounts.iter().map(|account| account.choice));
    }

    fn control_phase(&mut self, governed: u64, start: usize, left: u32) -> u32 {
        self.wants.fill(0);
        for n in 0..self.accounts.len() {
            self.wants[n] = u32::from(self.accounts[n].payload > 0 && self.is_control_due(governed, n));
        }
        let left = self.share(start, left);
        self.control.copy_from_slice(&self.given[..self.accounts.len()]);
        left
    }

    fn constant_phase(&mut self, start: usize, left: u32) -> u32 {
        self.wants.fill(0);
        for (n, account) in self.accounts.iter_mut().enumerate() {
            if account.payload > 0 && account.constant > 0 {
                account.constant_credit = account.constant_credit.saturating_add(account.constant);
                self.wants[n] = affordable(account.constant_credit, account.payload, self.slots - self.total[n]);
            }
        }
        let left = self.share(start, left);
        for (account, slots) in self.accounts.iter_mut().zip(&self.given) {
            account.constant_credit = paid(account.constant_credit, account.payload, *slots, self.slots);
        }
        left
    }

    fn rate_phase(&mut self, now: u64, start: usize, left: u32) -> u32 {
        self.wants.fill(0);
        for (n, account) in self.accounts.iter_mut().enumerate() {
            account.lapse(now);
            if account.rate == 0 || account.payload == 0 {
                continue;
            }
            account.rate_credit = match core::mem::take(&mut account.is_new) {
                true => worth(account.payload, 1),
                false => account.rate_credit.saturating_add(account.rate),
            };
            self.wants[n] = affordable(account.rate_credit, account.payload, self.slots - self.total[n]);
        }
        let left = self.share(start, left);
        for (account, slots) in self.accounts.iter_mut().zip(&self.given) {
            account.rate_credit = paid(account.rate_credit, account.payload, *slots, self.slots);
        }
        left
    }

    fn volume_phase(&mut self, start: usize, left: u32) -> u32 {
        let known = self.accounts.len();
        self.wants.fill(0);
        self.wants[known..].fill(self.slots);
        for (n, account) in self.accounts.iter_mut().enumerate() {
            if account.volume == 0 || account.payload == 0 {
                continue;
            }
            let slots = account.volume.div_ceil(u64::from(account.payload));
            self.wants[n] = slots.min(u64::from(self.slots - self.total[n])) as u32;
        }
        let left = self.share(start, left);
        self.volume.copy_from_slice(&self.given[..known]);
        for (account, slots) in self.accounts.iter_mut().zip(&self.given) {
            account.volume = account.volume.saturating_sub(u64::from(account.payload) * u64::from(*slots));
        }
        left
    }

    fn free_phase(&mut self, now: u64, start: usize, left: u32) {
        self.wants.fill(0);
        for (n, account) in self.accounts.iter().enumerate() {
            let is_asking = account.rate > 0 || now < account.volume_until;
            if account.payload > 0 && (self.left == Left::ToAll || is_asking) {
                self.wants[n] = self.slots - self.total[n];
            }
        }
        self.share(start, left);
    }

    /// Shares `left` slots among those that want some, and returns the slots that are left.
    fn share(&mut self, start: usize, left: u32) -> u32 {
        let left = fill(&self.wants, &self.weights, start, left, &mut self.given);
        for (total, slots) in self.total.iter_mut().zip(&self.given) {
            *total += slots;
        }
        left
    }

    /// Places slots one after the other, from terminal `start` on.
    fn place(&self, start: usize, plan: &mut Plan) {
        plan.grants.clear();
        let known = self.accounts.len();
        let mut first = 0;
        for n in (start..self.total.len()).chain(0..start) {
            let total = self.total[n];
            if total > 0 && n < known {
                let Account { payload, choice, .. } = self.accounts[n];
                let volume = u64::from(self.volume[n]) * u64::from(payload);
                let (terminal, control) = (n as u32, self.control[n]);
                let slots = total - control;
                plan.grants.push(Grant { terminal, first, control, slots, volume, payload, choice });
            }
            first += total;
        }
    }
}

/// Returns the credit of a superframe at a rate in bit/s, in 1e-9 bit.
fn growth(rate: u64, superframe_ps: u64) -> u64 {
    u64::try_from(u128::from(rate) * u128::from(superframe_ps) / 1000).unwrap_or(u64::MAX)
}

/// Returns the credit that `slots` bursts cost.
fn worth(payload: u32, slots: u32) -> u64 {
    (u64::from(payload) * u64::from(slots)).saturating_mul(8 * BIT)
}

/// Returns the bursts that a credit buys, at most `most`.
fn affordable(credit: u64, payload: u32, most: u32) -> u32 {
    (credit / worth(payload, 1).max(1)).min(u64::from(most)) as u32
}

/// Returns what is left of a credit after `slots` bursts, at most the worth of `most` bursts.
fn paid(credit: u64, payload: u32, slots: u32, most: u32) -> u64 {
    if credit == 0 {
        return 0;
    }
    (credit - worth(payload, slots)).min(worth(payload, most))
}
