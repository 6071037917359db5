//! Rapid start of a connection of the stack: gives the [part](Convergence) of the product the counts of each ACK and loss.

use bentpipe_cc::keys::RapidStart;
use bentpipe_cc::{Convergence, Custom};

/// Rapid start of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Rapid {
    settings: RapidStart,
    part: Option<Convergence>,
    is_over: bool,
    /// Whether a packet that left after the loss has arrived.
    is_repaired: bool,
}

impl Rapid {
    pub(crate) fn new(settings: RapidStart) -> Self {
        Self { settings, part: None, is_over: false, is_repaired: false }
    }

    /// Whether the window converges, so that ACKs do not grow it.
    pub(crate) fn is_converging(&self) -> bool {
        self.part.is_some()
    }

    /// The window was reduced. `before` is its size if that ended the first slow start, in which `in_flight` bytes were
    /// in the network, lost ones included. `least` is the smallest window.
    pub(crate) fn on_reduction(&mut self, own: &mut dyn Custom, before: Option<u64>, in_flight: u64, least: u64) {
        let before = before.filter(|_| !self.is_over);
        (self.is_over, self.is_repaired) = (true, false);
        self.part = before.map(|before| Convergence::new(self.settings, [before, own.cwnd()], [in_flight; 2], least));
    }

    /// Takes bytes of packets sent before the reduction. `is_repaired`: a packet that was sent after it has arrived.
    pub(crate) fn pass(&mut self, own: &mut dyn Custom, acked: u64, lost: u64, is_repaired: bool) {
        let Some(part) = &mut self.part else { return };
        // Losses that the first such packet shows are reported after its ACK.
        let is_over = self.is_repaired && acked > 0;
        self.is_repaired |= is_repaired;
        if !is_over {
            part.pass(acked, lost);
            own.set_window(part.window(), part.window());
        }
        if is_over || part.is_over() {
            self.part = None;
        }
    }
}
