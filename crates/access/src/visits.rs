//! The terminals that a medium visits in a superframe. The others sleep: they have no backlog and no open request, and
//! their link stays up or down, so a visit would change nothing. The bursts of a constant rate go on while a terminal sleeps.

use crate::set::Set;
use core::cmp::Reverse;
use core::ops::Range;
use std::collections::BinaryHeap;

/// Terminals awake, and those that wake up later.
#[derive(Clone, Debug)]
pub(crate) struct Visits {
    terminals: usize,
    awake: Set,
    /// Superframes in which terminals wake up.
    alarms: BinaryHeap<Reverse<(u64, u32)>>,
    /// Terminals of the superframe that is about to open, or was opened last, rising.
    visited: Vec<u32>,
    /// Terminals that are visited asleep, too.
    due: Range<u32>,
    /// Whether the list is that of the superframe about to open.
    is_chosen: bool,
}

impl Visits {
    /// All terminals are awake.
    pub(crate) fn all(terminals: usize) -> Self {
        let awake = Set::all(terminals);
        Self { terminals, awake, alarms: BinaryHeap::new(), visited: Vec::new(), due: 0..0, is_chosen: false }
    }

    /// Chooses the terminals to visit in a superframe: those awake and those of `due`.
    pub(crate) fn choose(&mut self, superframe: u64, due: Range<u32>) {
        while let Some(&Reverse((_, terminal))) = self.alarms.peek().filter(|alarm| alarm.0 .0 <= superframe) {
            self.alarms.pop();
            self.wake(terminal as usize);
        }
        self.awake.list(due.clone(), &mut self.visited);
        (self.due, self.is_chosen) = (due, true);
    }

    /// Visits all terminals if none were chosen. The next superframe chooses again.
    pub(crate) fn begin(&mut self) {
        if !core::mem::take(&mut self.is_chosen) {
            self.awake.insert_all(self.terminals);
            self.alarms.clear();
            self.visited.clear();
            self.visited.extend(0..self.terminals as u32);
        }
    }

    /// Returns the terminals of the superframe, rising.
    pub(crate) fn list(&self) -> &[u32] {
        &self.visited
    }

    /// Takes the list, to be put back.
    pub(crate) fn take(&mut self) -> Vec<u32> {
        core::mem::take(&mut self.visited)
    }

    pub(crate) fn put_back(&mut self, visited: Vec<u32>) {
        self.visited = visited;
    }

    /// Wakes a terminal up.
    pub(crate) fn wake(&mut self, terminal: usize) {
        self.awake.insert(terminal);
    }

    /// Lets a terminal sleep until `alarm`.
    pub(crate) fn sleep(&mut self, terminal: usize, alarm: Option<u64>) {
        self.awake.remove(terminal);
        self.alarms.extend(alarm.map(|at| Reverse((at, terminal as u32))));
    }

    /// Whether a terminal is visited in the superframe that opens.
    pub(crate) fn has(&self, terminal: u32) -> bool {
        self.due.contains(&terminal) || self.awake.contains(terminal as usize)
    }

    pub(crate) fn is_awake(&self, terminal: usize) -> bool {
        self.awake.contains(terminal)
    }
}
