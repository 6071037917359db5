//! blest: waits for the fastest subflow if a segment on a slower one would block the receive window (S. Ferlin et al., "BLEST:
//! Blocking Estimation-based MPTCP Scheduler for Heterogeneous Networks", IFIP Networking 2016).
//!
//! A segment on the slow subflow s stays unacknowledged for about a round trip of s. In that time the fast subflow f
//! would send X segments. If these segments and the data on s do not fit the receive window together, a segment on s
//! would stop f. The scheduler then waits. A factor λ on X follows mistakes: it rises after a segment blocked the
//! window nevertheless, and falls slowly.
//!
//! The number of round trips of f is rounded up, and λ begins with 1.2, as in the implementation of the authors; the
//! paper does not round and begins with 1.0.

use super::{BlestSettings, Choice, PathView, Scheduler, SchedulerView};
use bentpipe_units::{Duration, Time};

const LAMBDA_MIN: u32 = 1000;
const LAMBDA_MAX: u32 = 1300;
const RISE: u32 = 40;
const FALL: u32 = 10;
/// Round trips of slow start that are looked ahead; in more a window doubles beyond any receive window.
const ROUNDS_MAX: u64 = 16;

/// The factor, and when it was judged last.
#[derive(Clone, Copy, Debug)]
pub struct Blest {
    /// Thousandths.
    lambda: u32,
    judged: Option<(Time, u64)>,
}

impl Blest {
    pub(super) fn new(settings: BlestSettings) -> Self {
        Self { lambda: settings.lambda, judged: None }
    }

    /// Once in the least round trip of the slower subflow: did a segment block the window since?
    fn adapt(&mut self, view: &SchedulerView, slow: &PathView) {
        let Some((since, before)) = self.judged else {
            self.judged = Some((view.now, view.opportunistic));
            return;
        };
        if view.now.saturating_since(since) < slow.srtt_min {
            return;
        }
        self.judged = Some((view.now, view.opportunistic));
        let lambda = if view.opportunistic > before { self.lambda + RISE } else { self.lambda.saturating_sub(FALL) };
        self.lambda = lambda.clamp(LAMBDA_MIN, LAMBDA_MAX);
    }
}

impl Scheduler for Blest {
    fn choose(&mut self, view: &SchedulerView) -> Choice {
        let Some(slow) = view.fastest(PathView::is_ready) else { return Choice::Wait };
        let fast = view.fastest(|path| path.is_usable).unwrap_or(slow);
        if fast == slow {
            return Choice::Send(slow);
        }
        let (i, fast, slow) = (slow, &view.paths[fast], &view.paths[slow]);
        self.adapt(view, slow);
        let needed = slow.flight_segments() + 1.0;
        let spare = view.window as f64 / slow.smss.max(1) as f64 - needed;
        let would_send = sent_meanwhile(fast, slow) * f64::from(self.lambda) / 1000.0;
        if would_send > spare {
            Choice::Wait
        } else {
            Choice::Send(i)
        }
    }

    fn copy(&self) -> Box<dyn Scheduler> {
        Box::new(*self)
    }
}

/// Returns the segments that `fast` sends until a segment on `slow` is acknowledged.
fn sent_meanwhile(fast: &PathView, slow: &PathView) -> f64 {
    let (round, time) = (mean(fast.srtt_min, fast.srtt_max, fast.srtt), stay(slow));
    let rounds = time.as_ps() / round.as_ps().max(1) + 1;
    let (cwnd, n) = (fast.cwnd_segments(), rounds as f64);
    if fast.is_starting {
        cwnd * ((1u64 << rounds.min(ROUNDS_MAX)) - 1) as f64
    } else {
        (cwnd + (n - 1.0) / 2.0) * n
    }
}

/// Returns the time until a segment on `slow` is acknowledged: its round trip grows with the share of the window that is used.
fn stay(slow: &PathView) -> Duration {
    let (least, most) = (slow.srtt_min.min(slow.srtt), slow.srtt_max.max(slow.srtt));
    let used = (slow.flight + slow.queued + slow.smss).min(slow.cwnd.max(1));
    let grown = u128::from(most.as_ps() - least.as_ps()) * u128::from(used) / u128::from(slow.cwnd.max(1));
    slow.srtt.max(least + Duration::from_ps(grown as u64))
}

fn mean(least: Duration, most: Duration, present: Duration) -> Duration {
    Duration::from_ps((least.min(present).as_ps() + most.max(present).as_ps()) / 2)
}
