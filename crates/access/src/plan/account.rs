//! Accounts of request classes at the controller: requests, and credits in 1e-9 bit.

use super::Left;
use crate::terminal::Capacity;

/// Credit of one bit: rates times superframes are whole multiples of 1e-9 bit.
pub(super) const BIT: u64 = 1_000_000_000;

/// A request class of a terminal at the controller.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Account {
    /// Bytes of a burst, and the credit that it costs. 0 if the terminal cannot send.
    pub(super) payload: u32,
    pub(super) cost: u64,
    /// Growth of the constant rate's credit per superframe.
    pub(super) constant: u64,
    pub(super) constant_credit: u64,
    /// Growth of the requested rate's credit per superframe.
    pub(super) rate: u64,
    pub(super) rate_credit: u64,
    pub(super) rate_until: u64,
    pub(super) is_new: bool,
    /// Growth of the credit for its guaranteed part.
    pub(super) guaranteed: u64,
    pub(super) guaranteed_credit: u64,
    /// Bytes asked for and not granted.
    pub(super) volume: u64,
    pub(super) volume_until: u64,
}

impl Account {
    pub(super) fn new(capacity: Capacity, superframe_ps: u64) -> Self {
        let [constant, guaranteed] =
            [capacity.constant, capacity.guaranteed].map(|rate| growth(rate.as_bps(), superframe_ps));
        Self { constant, guaranteed, ..Self::default() }
    }

    /// The bytes asked for and not granted, without lapsed requests.
    pub(super) fn volume_at(&self, superframe: u64) -> u64 {
        if superframe < self.volume_until {
            self.volume
        } else {
            0
        }
    }

    /// Whether a request is open, which may bring slots. With `Left::ToAsking`, answered requests count until they lapse.
    pub(super) fn is_open(&self, now: u64, left: Left) -> bool {
        self.rate > 0 || self.volume > 0 || (left == Left::ToAsking && now < self.volume_until)
    }

    /// Adds a superframe to the credit of the constant rate. Returns whether it pays a burst. A terminal that cannot send gets
    /// no credit.
    pub(super) fn grow_constant(&mut self) -> bool {
        if self.payload == 0 {
            return false;
        }
        self.constant_credit = self.constant_credit.saturating_add(self.constant);
        self.constant_credit >= self.cost
    }

    /// Adds a superframe to the credits of the rate asked for. A new rate begins with the credit of one burst.
    pub(super) fn grow_rate(&mut self) {
        if self.rate == 0 {
            return;
        }
        let first = core::mem::take(&mut self.is_new).then_some(self.cost);
        self.rate_credit = first.unwrap_or(self.rate_credit.saturating_add(self.rate));
        let part = self.rate.min(self.guaranteed);
        if part > 0 {
            self.guaranteed_credit = first.unwrap_or(self.guaranteed_credit.saturating_add(part));
        }
    }

    /// Drops lapsed requests.
    pub(super) fn lapse(&mut self, superframe: u64) {
        if superframe >= self.rate_until {
            (self.rate, self.rate_credit, self.guaranteed_credit, self.is_new) = (0, 0, 0, false);
        }
        if superframe >= self.volume_until {
            self.volume = 0;
        }
    }
}

/// Returns the credit of a superframe at a rate in bit/s, in 1e-9 bit.
pub(super) fn growth(rate: u64, superframe_ps: u64) -> u64 {
    u64::try_from(u128::from(rate) * u128::from(superframe_ps) / 1000).unwrap_or(u64::MAX)
}

/// Returns the bursts of this cost that a credit buys, at most `most`.
pub(super) fn affordable(credit: u64, cost: u64, most: u32) -> u32 {
    // The credit of a constant rate is often that of one burst, and a division takes long.
    let bursts = match credit.checked_sub(cost) {
        None => 0,
        Some(rest) if rest < cost => 1,
        Some(_) => credit / cost.max(1),
    };
    bursts.min(u64::from(most)) as u32
}

/// Returns what is left of a credit after `slots` bursts of this cost, at most the cost of `most` bursts.
pub(super) fn paid(credit: u64, cost: u64, slots: u32, most: u32) -> u64 {
    if credit == 0 {
        return 0;
    }
    let left = if slots > 0 { credit.saturating_sub(cost.saturating_mul(slots.into())) } else { credit };
    left.min(cost.saturating_mul(most.into()))
}
