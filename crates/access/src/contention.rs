//! Terminals that share random access: blocks, limits, back-off.

use crate::grid::Grid;
use crate::random::{draw_different, Block, RandomAccess};
use crate::requests::Request;
use bentpipe_units::{Duration, Stream, Time};
use core::ops::Range;

/// Bursts of a terminal in a block.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) terminal: u32,
    pub(crate) bursts: u32,
    /// Whether packets are in its bursts.
    pub(crate) is_data: bool,
    /// Places of its requests in the list of the block.
    pub(crate) requests: Range<usize>,
    pub(crate) choice: Option<usize>,
    /// Bit n is the loss of burst n.
    pub(crate) lost: u64,
}

/// A terminal's limits.
#[derive(Clone, Debug)]
struct Sender {
    stream: Stream,
    /// Draws of repetitions.
    repeats: Stream,
    /// Losses in a row of its request, and the first block for its repetition.
    lost: u32,
    repeats_from: u64,
    /// Consecutive blocks that it has used, and the block after the last of them.
    in_a_row: u32,
    next: u64,
    /// First block after its rest, and the end of its back-off.
    rests_until: u64,
    waits_until: Time,
}

/// Random access of a medium.
#[derive(Clone, Debug)]
pub(crate) struct Contention {
    rules: RandomAccess,
    /// Slots of a carrier. A terminal's copies are in different slots, since it sends on one carrier at a time.
    slots: u32,
    senders: Vec<Sender>,
    block: Block,
    entries: Vec<Entry>,
    /// Requests in the bursts of the block, with their classes.
    requests: Vec<(usize, Request)>,
    chosen: Vec<u32>,
    superframe: u64,
    starts: Time,
    loads: Loads,
    is_loaded: bool,
}

/// Bursts of each block of the last second, known with a delay.
#[derive(Clone, Debug)]
struct Loads {
    /// By superframe modulo its length, the bursts of a block.
    blocks: Vec<u32>,
    /// Blocks of a second, blocks of delay, and the bursts of that second.
    second: usize,
    delay: usize,
    sum: u64,
}

impl Loads {
    fn new(superframe: Duration, delay: u64) -> Self {
        let second = (Duration::from_secs(1).as_ps() / superframe.as_ps().max(1)).max(1) as usize;
        Self { blocks: vec![0; second + delay as usize + 1], second, delay: delay as usize, sum: 0 }
    }

    /// Returns the bursts of the second that is known when block `superframe` starts.
    fn known(&mut self, superframe: u64) -> u64 {
        let length = self.blocks.len() as u64;
        let ago = |blocks: usize| superframe.checked_sub(blocks as u64).map(|block| (block % length) as usize);
        if let Some(newest) = ago(self.delay + 1) {
            self.sum += u64::from(self.blocks[newest]);
        }
        // The ring is full: the place of this block has the oldest one.
        if let Some(oldest) = ago(self.delay + 1 + self.second) {
            self.sum -= u64::from(self.blocks[oldest]);
        }
        self.sum
    }

    fn note(&mut self, superframe: u64, bursts: u32) {
        let length = self.blocks.len() as u64;
        self.blocks[(superframe % length) as usize] = bursts;
    }
}

impl Contention {
    /// Returns the random access of the terminals of these links. Loads are known `delay` superframes late.
    pub(crate) fn new<'a>(
        rules: RandomAccess,
        grid: &Grid,
        delay: u64,
        links: impl Iterator<Item = &'a str>,
        seed: u64,
    ) -> Self {
        let sender = |link: &str| Sender {
            stream: Stream::new(seed, link, "random"),
            repeats: Stream::new(seed, link, "repeat"),
            lost: 0,
            repeats_from: 0,
            in_a_row: 0,
            next: 0,
            rests_until: 0,
            waits_until: Time::ZERO,
        };
        Self {
            rules,
            slots: grid.slots(),
            senders: links.map(sender).collect(),
            block: Block::default(),
            entries: Vec::new(),
            requests: Vec::new(),
            chosen: Vec::new(),
            superframe: 0,
            starts: Time::ZERO,
            loads: Loads::new(grid.superframe(), delay),
            is_loaded: false,
        }
    }

    /// Starts the block of a superframe.
    pub(crate) fn begin(&mut self, superframe: u64, starts: Time) {
        (self.superframe, self.starts) = (superframe, starts);
        self.entries.clear();
        self.requests.clear();
        self.block.clear(self.slots.saturating_mul(self.rules.carriers), self.rules.copies);
        let slots = self.loads.second as u64 * u64::from(self.slots) * u64::from(self.rules.carriers);
        self.is_loaded = self.loads.known(superframe) as f64 > self.rules.high_load.0 * slots as f64;
    }

    /// Draws of a terminal per block: its back-off, and a slot and a carrier for each copy.
    fn draws(&self) -> u64 {
        1 + 2 * u64::from(self.rules.per_block) * u64::from(self.rules.copies)
    }

    /// Whether a terminal may send a request in this block, after its loss `lost` times in a row. Without a random wait,
    /// requests that were lost together would meet again in one block for ever.
    fn may_repeat(&mut self, terminal: usize, lost: u32) -> bool {
        let sender = &mut self.senders[terminal];
        if core::mem::replace(&mut sender.lost, lost) != lost && lost > 0 {
            let (first, most) = self.rules.repeat;
            let window = (u64::from(first) << (lost - 1).min(31)).min(u64::from(most)).max(1);
            sender.repeats_from = self.superframe + sender.repeats.below(self.superframe, window);
        }
        lost == 0 || self.superframe >= sender.repeats_from
    }

    /// Whether a terminal may send in this block. It may begin a back-off instead.
    fn may_send(&mut self, terminal: usize) -> bool {
        let draws = self.draws();
        let sender = &mut self.senders[terminal];
        if self.superframe < sender.rests_until || self.starts < sender.waits_until {
            return false;
        }
        let is_next = sender.in_a_row > 0 && sender.next == self.superframe;
        if is_next && sender.in_a_row >= self.rules.in_a_row {
            sender.rests_until = self.superframe + u64::from(self.rules.rest);
            if sender.rests_until > self.superframe {
                return false;
            }
        }
        let (probability, wait) = match (self.is_loaded, is_next) {
            (true, _) => (self.rules.high_load.1, self.rules.high_load.2),
            (false, true) => self.rules.back_off,
            (false, false) => return true,
        };
        if sender.stream.uniform(self.superframe * draws) < probability {
            sender.waits_until = self.starts + wait;
            return false;
        }
        true
    }

    /// Sends packets of a terminal in at most `bursts` bursts. Returns the number of bursts, 0 if it may not send.
    pub(crate) fn send_data(&mut self, terminal: usize, bursts: u32, choice: Option<usize>) -> u32 {
        if !self.may_send(terminal) {
            return 0;
        }
        let fit = self.slots / self.rules.copies.max(1);
        let bursts = bursts.min(self.rules.per_block).min(fit).min(64);
        self.enter(terminal, bursts, true, &[], choice);
        bursts
    }

    /// Sends requests, after their loss `lost` times in a row: in the bursts with packets of this terminal if there are
    /// some. Returns whether they leave.
    pub(crate) fn send_request(
        &mut self,
        terminal: usize,
        requests: &[(usize, Request)],
        choice: Option<usize>,
        has_data: bool,
        lost: u32,
    ) -> bool {
        if has_data {
            if let Some(entry) = self.entries.last_mut() {
                self.requests.extend_from_slice(requests);
                entry.requests.end = self.requests.len();
            }
            return true;
        }
        let is_sent = self.may_repeat(terminal, lost) && self.may_send(terminal) && self.rules.copies <= self.slots;
        if is_sent {
            self.enter(terminal, 1, false, requests, choice);
        }
        is_sent
    }

    fn enter(
        &mut self,
        terminal: usize,
        bursts: u32,
        is_data: bool,
        requests: &[(usize, Request)],
        choice: Option<usize>,
    ) {
        if bursts == 0 {
            return;
        }
        let first_draw = self.superframe * self.draws() + 1;
        let sender = &mut self.senders[terminal];
        sender.in_a_row = if sender.next == self.superframe { sender.in_a_row + 1 } else { 1 };
        sender.next = self.superframe + 1;
        let copies = (bursts * self.rules.copies) as usize;
        self.chosen.resize(copies, 0);
        draw_different(&mut sender.stream, first_draw, self.slots, &mut self.chosen);
        if self.rules.carriers > 1 {
            for (n, slot) in self.chosen.iter_mut().enumerate() {
                let draw = first_draw + (copies + n) as u64;
                *slot += self.slots * sender.stream.below(draw, u64::from(self.rules.carriers)) as u32;
            }
        }
        for slots in self.chosen.chunks_exact(self.rules.copies.max(1) as usize) {
            self.block.add(slots);
        }
        let first = self.requests.len();
        self.requests.extend_from_slice(requests);
        let requests = first..self.requests.len();
        self.entries.push(Entry { terminal: terminal as u32, bursts, is_data, requests, choice, lost: 0 });
    }

    /// Reads the block.
    pub(crate) fn resolve(&mut self) {
        self.loads.note(self.superframe, self.block.bursts());
        self.block.resolve(self.rules.iterations);
        let mut next = 0;
        for entry in &mut self.entries {
            for burst in 0..entry.bursts {
                entry.lost |= u64::from(!self.block.is_read(next)) << burst;
                next += 1;
            }
        }
    }

    /// Returns the bursts of each terminal in the block.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the requests in the bursts of a terminal, with their classes.
    pub(crate) fn requests(&self, entry: &Entry) -> &[(usize, Request)] {
        &self.requests[entry.requests.clone()]
    }
}
