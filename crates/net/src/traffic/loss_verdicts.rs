//! Compares the decisions of a sender about its losses with the causes, which the network knows.
//!
//! A sender decides once per window of data: it reduces its window, or attributes the losses to link errors. A
//! *decision* covers the data packets sent before it and lost before or after it, unless another decision covers them.
//! A reduction is right if congestion took at least one of these packets. It is spurious if no outstanding data was
//! lost. A lost ACK or a long delay may then be the reason.

use bentpipe_model::dictionary::Cause;
use bentpipe_units::{Duration, Time};
use std::ops::AddAssign;

/// Least value of [`LossVerdicts::enter_at`].
const COMING_MIN: usize = 256;

/// Packets lost, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LossCounts {
    pub(crate) congestion: u64,
    pub(crate) errors: u64,
}

/// Counts of the decisions of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct VerdictCounts {
    pub(crate) losses: LossCounts,
    pub(crate) reductions: u64,
    pub(crate) spurious_reductions: u64,
    pub(crate) error_reductions: u64,
    pub(crate) errors_taken_for_congestion: u64,
    pub(crate) congestion_taken_for_errors: u64,
}

/// The decisions of one sender. A sender that loses nothing and decides nothing has none.
///
/// Links and endpoints may run ahead of time, each separately. Events arrive here in any order, and are entered in
/// order of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct LossVerdicts {
    counts: VerdictCounts,
    /// Events that are not entered yet.
    coming: Vec<(Time, Coming)>,
    /// Number of these events at which past events are entered.
    enter_at: usize,
    /// Instant of the latest event of the sender.
    looked_at: Time,
    /// Time of repairs of link errors.
    repairs: Repairs,
    /// Losses that are entered, without a decision.
    unjudged: LossCounts,
    /// End of the lost data: no byte from this offset on was lost.
    lost_until: u64,
    latest: Option<Decision>,
}

/// Event that is not entered yet. At one instant, losses are last.
#[derive(Clone, Copy, Debug)]
enum Coming {
    /// The sender decides. It has sent all data below `until`. All data below `acked` is acknowledged.
    Decision { is_reduction: bool, until: u64, acked: u64 },
    /// The sender has repaired losses for this time.
    Repair(Repairs),
    /// The network reports to the sender that a packet with data at `offset` was corrupted.
    Report { offset: u64 },
    /// A packet with data at `offset` was lost.
    Loss { offset: u64, is_congestion: bool },
}

impl Coming {
    fn is_loss(&self) -> bool {
        matches!(self, Self::Loss { .. })
    }
}

/// Times of repairs of a sender.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Repairs {
    /// Time in fast recovery.
    pub(super) recovery: Duration,
    /// Time after retransmission timeouts.
    pub(super) timeout: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Decision {
    is_reduction: bool,
    until: u64,
    losses: LossCounts,
    /// Whether all earlier losses of outstanding data were link errors. None: no such losses.
    before: Option<bool>,
}

/// Whether congestion is the cause of a loss.
fn is_congestion(cause: Cause) -> bool {
    match cause {
        Cause::QueueOverflow
        | Cause::EarlyDrop
        | Cause::ForcedDrop
        | Cause::PushOut
        | Cause::Policed
        | Cause::Policy => true,
        Cause::BitError
        | Cause::LinkLoss
        | Cause::AccessCollision
        | Cause::AcmOutage
        | Cause::NoWaveform
        | Cause::Outage
        | Cause::Handover
        | Cause::RouteMissing
        | Cause::TooBig
        | Cause::NoListener => false,
    }
}

impl LossVerdicts {
    /// Notes a lost packet with data at `offset`. All events before `known` have been noted.
    pub(super) fn on_loss(&mut self, at: Time, offset: u64, cause: Cause, known: Time) {
        self.coming.push((at, Coming::Loss { offset, is_congestion: is_congestion(cause) }));
        if self.coming.len() >= self.enter_at.max(COMING_MIN) {
            self.enter_until(known.min(self.looked_at));
            self.enter_at = 2 * self.coming.len();
        }
    }

    /// Notes a decision. The sender has sent all data below `until`. All data below `acked` is acknowledged.
    pub(super) fn on_decision(&mut self, now: Time, is_reduction: bool, until: u64, acked: u64) {
        self.looked_at = now;
        self.coming.push((now, Coming::Decision { is_reduction, until, acked }));
    }

    /// Notes a report to the sender of a corrupted packet with data at `offset`. No later decision covers it.
    pub(super) fn on_report(&mut self, now: Time, offset: u64) {
        self.looked_at = now;
        self.coming.push((now, Coming::Report { offset }));
    }

    /// Notes a new limit of the sender, and the time of repairs since the last change.
    pub(super) fn on_turn(&mut self, now: Time, repairs: Repairs) {
        self.looked_at = now;
        self.coming.push((now, Coming::Repair(repairs)));
    }

    /// Returns the time of repairs of link errors. `lately`: the repairs since the last change of the limit.
    pub(super) fn repairs_of_errors(&self, lately: Repairs) -> Repairs {
        let mut settled = self.clone();
        settled.coming.push((self.looked_at, Coming::Repair(lately)));
        settled.enter_until(self.looked_at);
        settled.repairs
    }

    /// Enters the losses before `now`, and the events of the sender up to `now`.
    fn enter_until(&mut self, now: Time) {
        self.coming.sort_by_key(|(at, what)| (*at, what.is_loss()));
        let due = self.coming.partition_point(|(at, what)| (*at, what.is_loss()) < (now, true));
        let mut coming = std::mem::take(&mut self.coming);
        for (_, what) in coming.drain(..due) {
            match what {
                Coming::Decision { is_reduction, until, acked } => self.decide(is_reduction, until, acked),
                Coming::Repair(repairs) if self.is_of_errors() => self.repairs += repairs,
                Coming::Repair(_) => {}
                Coming::Report { offset } => self.enter_report(offset),
                Coming::Loss { offset, is_congestion } => self.enter(offset, is_congestion),
            }
        }
        self.coming = coming;
    }

    fn decide(&mut self, is_reduction: bool, until: u64, acked: u64) {
        let before = (self.lost_until > acked).then(|| self.is_of_errors());
        let mut losses = std::mem::take(&mut self.unjudged);
        match self.latest {
            // The window began with link errors, and then the sender reduces in it.
            Some(latest) if is_reduction && !latest.is_reduction && acked < latest.until => {
                losses.congestion += latest.losses.congestion;
                losses.errors += latest.losses.errors;
            }
            _ => self.settle(),
        }
        self.latest = Some(Decision { is_reduction, until, losses, before });
    }

    fn enter(&mut self, offset: u64, is_congestion: bool) {
        self.counts.losses.add(is_congestion);
        self.lost_until = self.lost_until.max(offset + 1);
        match &mut self.latest {
            Some(latest) if offset < latest.until => latest.losses.add(is_congestion),
            _ => self.unjudged.add(is_congestion),
        }
    }

    fn enter_report(&mut self, offset: u64) {
        let losses = match &mut self.latest {
            Some(latest) if offset < latest.until => &mut latest.losses,
            _ => &mut self.unjudged,
        };
        losses.errors = losses.errors.saturating_sub(1);
    }

    /// Whether all losses of the latest decision were link errors.
    fn is_of_errors(&self) -> bool {
        self.latest.is_some_and(|latest| latest.is_of_errors())
    }

    /// Returns the counts of all decisions up to `now`.
    pub(super) fn counts(&self, now: Time) -> VerdictCounts {
        let mut settled = self.clone();
        settled.enter_until(now);
        settled.settle();
        settled.counts
    }

    /// Counts the latest decision. Later losses do not belong to it.
    fn settle(&mut self) {
        let Some(Decision { is_reduction, losses, before, .. }) = self.latest.take() else { return };
        let counts = &mut self.counts;
        if !is_reduction {
            counts.congestion_taken_for_errors += losses.congestion;
            return;
        }
        counts.reductions += 1;
        if losses == LossCounts::default() {
            counts.spurious_reductions += u64::from(before.is_none());
            counts.error_reductions += u64::from(before == Some(true));
        } else if losses.congestion == 0 {
            counts.error_reductions += 1;
            counts.errors_taken_for_congestion += losses.errors;
        }
    }
}

impl Decision {
    fn is_of_errors(&self) -> bool {
        match self.losses {
            LossCounts { congestion: 0, errors: 0 } => self.before == Some(true),
            LossCounts { congestion, .. } => congestion == 0,
        }
    }
}

impl LossCounts {
    fn add(&mut self, is_congestion: bool) {
        match is_congestion {
            true => self.congestion += 1,
            false => self.errors += 1,
        }
    }
}

impl AddAssign for Repairs {
    fn add_assign(&mut self, other: Self) {
        self.recovery += other.recovery;
        self.timeout += other.timeout;
    }
}

impl AddAssign for VerdictCounts {
    fn add_assign(&mut self, other: Self) {
        self.losses.congestion += other.losses.congestion;
        self.losses.errors += other.losses.errors;
        self.reductions += other.reductions;
        self.spurious_reductions += other.spurious_reductions;
        self.error_reductions += other.error_reductions;
        self.errors_taken_for_congestion += other.errors_taken_for_congestion;
        self.congestion_taken_for_errors += other.congestion_taken_for_errors;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::from_ps(seconds * 1_000_000_000_000)
    }

    fn verdicts(losses: &[(u64, u64, Cause)]) -> LossVerdicts {
        let mut verdicts = LossVerdicts::default();
        losses.iter().for_each(|&(time, offset, cause)| verdicts.on_loss(at(time), offset, cause, Time::ZERO));
        verdicts
    }

    #[test]
    fn a_reduction_is_right_if_congestion_took_one_of_the_packets() {
        let mut verdicts = verdicts(&[(1, 1000, Cause::BitError), (1, 3000, Cause::QueueOverflow)]);
        verdicts.on_decision(at(2), true, 9000, 1000);
        let counts = verdicts.counts(at(9));
        assert_eq!((counts.reductions, counts.error_reductions, counts.spurious_reductions), (1, 0, 0));
        assert_eq!(counts.losses, LossCounts { congestion: 1, errors: 1 });
        assert_eq!(counts.errors_taken_for_congestion, 0);
    }

    /// A later reduction does not cover an error that was reported.
    #[test]
    fn an_error_that_was_reported_is_not_what_a_later_reduction_answers() {
        for (reports, expected) in [(0, (1, 0, 1)), (1, (0, 1, 0))] {
            let mut verdicts = verdicts(&[(1, 1000, Cause::BitError)]);
            (0..reports).for_each(|_| verdicts.on_report(at(2), 1000));
            verdicts.on_decision(at(3), true, 9000, 2000);
            let counts = verdicts.counts(at(9));
            let found = (counts.error_reductions, counts.spurious_reductions, counts.errors_taken_for_congestion);
            assert_eq!((found, counts.losses.errors), (expected, 1));
        }
    }

    #[test]
    fn errors_that_reduce_are_counted_also_those_lost_after_the_decision() {
        let mut verdicts =
            verdicts(&[(1, 1000, Cause::BitError), (3, 5000, Cause::LinkLoss), (3, 9000, Cause::LinkLoss)]);
        verdicts.on_decision(at(2), true, 9000, 1000);
        // The last packet was sent after the decision. No decision covers it.
        assert_eq!(verdicts.counts(at(9)).errors_taken_for_congestion, 2);
        assert_eq!(verdicts.counts(at(9)).error_reductions, 1);
    }

    #[test]
    fn congestion_that_does_not_reduce_is_counted() {
        let mut verdicts = verdicts(&[(1, 1000, Cause::QueueOverflow), (1, 2000, Cause::QueueOverflow)]);
        verdicts.on_decision(at(2), false, 9000, 1000);
        let counts = verdicts.counts(at(9));
        assert_eq!((counts.congestion_taken_for_errors, counts.reductions), (2, 0));
    }

    /// The first hole of a window is an error, the next one is congestion. The sender decides on each.
    #[test]
    fn a_reduction_in_the_same_window_makes_up_for_congestion_taken_for_errors() {
        let losses = [(1, 1000, Cause::BitError), (1, 2000, Cause::QueueOverflow)];
        let counts = |acked: u64| {
            let mut verdicts = verdicts(&losses);
            verdicts.on_decision(at(2), false, 9000, 1000);
            verdicts.on_decision(at(3), true, 20_000, acked);
            verdicts.counts(at(9))
        };
        let same = counts(1000);
        assert_eq!((same.congestion_taken_for_errors, same.reductions, same.spurious_reductions), (0, 1, 0));
        let next = counts(9000);
        assert_eq!((next.congestion_taken_for_errors, next.spurious_reductions), (1, 1));
    }

    #[test]
    fn a_reduction_is_spurious_only_where_nothing_outstanding_was_lost() {
        let mut verdicts = verdicts(&[(1, 1000, Cause::QueueOverflow)]);
        verdicts.on_decision(at(2), true, 9000, 1000);
        // The timer expires for the same packet.
        verdicts.on_decision(at(3), true, 9000, 1000);
        assert_eq!(verdicts.counts(at(9)).spurious_reductions, 0);
        verdicts.on_decision(at(4), true, 20_000, 9000);
        assert_eq!(verdicts.counts(at(9)).spurious_reductions, 1);
        assert_eq!(verdicts.counts(at(9)).reductions, 3);
    }

    #[test]
    fn losses_that_come_ahead_of_time_do_not_count_before_it() {
        let mut verdicts = verdicts(&[(5, 1000, Cause::BitError)]);
        verdicts.on_decision(at(2), true, 900, 0);
        assert_eq!(verdicts.counts(at(3)).spurious_reductions, 1);
        assert_eq!(verdicts.counts(at(3)).losses, LossCounts::default());
    }

    /// Links and senders may run ahead of each other, and events may be entered at any time.
    #[test]
    fn the_order_in_which_things_are_notified_does_not_matter() {
        let loss = |at, offset, cause| move |v: &mut LossVerdicts, known| v.on_loss(at, offset, cause, known);
        let in_order = |known: Option<Time>, order: &[usize]| {
            let mut verdicts = LossVerdicts::default();
            for &step in order {
                let known = known.unwrap_or(Time::ZERO);
                match step {
                    0 => loss(at(1), 1000, Cause::BitError)(&mut verdicts, known),
                    1 => verdicts.on_decision(at(2), true, 9000, 1000),
                    2 => loss(at(3), 5000, Cause::QueueOverflow)(&mut verdicts, known),
                    3 => verdicts.on_turn(at(4), Repairs { recovery: Duration::from_secs(2), ..Repairs::default() }),
                    4 => verdicts.on_decision(at(5), false, 20_000, 9000),
                    _ => loss(at(6), 12_000, Cause::LinkLoss)(&mut verdicts, known),
                }
                verdicts.enter_until(known);
            }
            let repairs = verdicts.repairs_of_errors(Repairs::default());
            (verdicts.counts(at(9)), repairs.recovery)
        };
        let expected = in_order(None, &[0, 1, 2, 3, 4, 5]);
        assert_eq!(expected.0.losses, LossCounts { congestion: 1, errors: 2 });
        assert_eq!(in_order(None, &[5, 1, 3, 4, 2, 0]), expected);
        assert_eq!(in_order(Some(at(1)), &[0, 5, 1, 3, 4, 2]), expected);
    }
}
