//! What one connection leaves for the next to the same place (RFC 9040): round-trip time, ssthresh, window, and what
//! Fast Open needs. How old and new values merge is Linux's way, which RFC 9040 leaves open.

use crate::config::SharedCwnd;
use crate::conn::{Connection, State};
use bentpipe_units::{Duration, Time};

/// RFC 7413 §4.1.3.1: after a SYN with data got lost, plain SYNs for this long.
const AVOID_FAST_OPEN: Duration = Duration::from_secs(3600);

/// What is known of the path to one host. See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathCache {
    path: Option<Path>,
    /// Fast Open: the server's cookie and the MSS that it announced.
    cookie: Option<([u8; 8], u16)>,
    /// When a SYN with data went unanswered.
    fast_open_failed: Option<Time>,
}

/// What was learnt of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Path {
    ssthresh: Option<u64>,
    cwnd: u64,
    rtt: Option<(Duration, Duration)>,
    at: Time,
}

/// What a connection begins with instead of the standard's values.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Learnt {
    pub(crate) ssthresh: Option<u64>,
    pub(crate) cwnd: Option<u64>,
}

/// How a connection left its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    SlowStart,
    CongestionAvoidance,
    Recovery,
}

impl PathCache {
    /// The path is another one now: what was learnt of it is forgotten; what the host said of itself is kept.
    pub fn forget_path(&mut self) {
        self.path = None;
    }

    fn merge(&mut self, now: Time, ended: Ended, cwnd: u64, ssthresh: u64, rtt: Option<(Duration, Duration)>) {
        let Some(old) = self.path else {
            let known = match ended {
                Ended::SlowStart => None,
                Ended::CongestionAvoidance => Some(ssthresh.max(cwnd / 2)),
                Ended::Recovery => Some(ssthresh),
            };
            let cwnd = if ended == Ended::Recovery { ssthresh.min(cwnd) } else { cwnd };
            self.path = Some(Path { ssthresh: known, cwnd, rtt, at: now });
            return;
        };
        let (cwnd, ssthresh) = match ended {
            Ended::SlowStart => (old.cwnd.max(cwnd), old.ssthresh.map(|known| known.max(cwnd / 2))),
            Ended::CongestionAvoidance => ((old.cwnd + cwnd) / 2, Some(ssthresh.max(cwnd / 2))),
            Ended::Recovery => ((old.cwnd + ssthresh) / 2, old.ssthresh.map(|known| known.max(ssthresh))),
        };
        let rtt = match (old.rtt, rtt) {
            (Some(old), Some(new)) => Some((merged(old.0, new.0, 8), merged(old.1, new.1, 4))),
            (old, new) => new.or(old),
        };
        self.path = Some(Path { ssthresh, cwnd, rtt, at: now });
    }
}

/// Rises at once, falls by a share.
fn merged(old: Duration, new: Duration, share: u64) -> Duration {
    if new >= old {
        new
    } else {
        old.saturating_sub(old.abs_diff(new) / share)
    }
}

impl Connection {
    /// Begin with what `cache` knows, as far as [`Config::sharing`](crate::Config::sharing) and Fast Open ask for it.
    /// To be called before [`open`](Self::open).
    pub fn seed(&mut self, cache: &PathCache, now: Time) {
        if self.state() != State::Closed {
            return;
        }
        self.seed_opening(cache.cookie, cache.fast_open_failed.is_some_and(|at| now < at + AVOID_FAST_OPEN));
        let (Some(sharing), Some(path)) = (self.config().sharing, cache.path) else { return };
        if now.saturating_since(path.at) > sharing.age_max {
            return;
        }
        let smss = u64::from(self.config().smss);
        let initial = self.config().initial_window.bytes(self.config().smss);
        let learnt = Learnt {
            ssthresh: path.ssthresh.filter(|_| sharing.ssthresh).map(|bytes| bytes.max(2 * smss)),
            cwnd: match sharing.cwnd {
                SharedCwnd::Ignore => None,
                SharedCwnd::Cautious => Some(path.cwnd.min(initial).max(smss)),
                SharedCwnd::Full => Some(path.cwnd.max(smss)),
            },
        };
        self.seed_path(learnt, path.rtt.filter(|_| sharing.rtt));
    }

    /// Leave in `cache` what this connection learnt. To be called when it ends, or before a long pause; a connection that
    /// moved less than an initial window has learnt nothing of the path.
    pub fn contribute(&self, cache: &mut PathCache, now: Time) {
        let (cookie, has_failed) = self.opening_learnt();
        cache.cookie = cookie.or(cache.cookie);
        if has_failed {
            cache.fast_open_failed = Some(now);
        }
        let initial = self.config().initial_window.bytes(self.config().smss);
        if self.config().sharing.is_none() || self.acked_bytes() < initial {
            return;
        }
        let (cwnd, ssthresh) = (self.cwnd(), self.ssthresh().unwrap_or(u64::MAX));
        let ended = match (self.is_repairing(), cwnd < ssthresh) {
            (true, _) => Ended::Recovery,
            (false, true) => Ended::SlowStart,
            (false, false) => Ended::CongestionAvoidance,
        };
        // A path that was not refreshed for long is not merged with.
        if let (Some(sharing), Some(path)) = (self.config().sharing, cache.path) {
            if now.saturating_since(path.at) > sharing.age_max {
                cache.path = None;
            }
        }
        cache.merge(now, ended, cwnd, ssthresh.min(crate::cc::Cwnd::MAX), self.round_trip());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMSS: u64 = 1000;

    fn ms(tenths: u64) -> Duration {
        Duration::from_micros(100 * tenths)
    }

    fn known(cache: &PathCache) -> (u64, Option<u64>) {
        let path = cache.path.unwrap();
        (path.cwnd / SMSS, path.ssthresh.map(|ssthresh| ssthresh / SMSS))
    }

    /// `specs/tcb-sharing.md`, tests 1 and 2.
    #[test]
    fn rfc9040_5_windows_merge() {
        let mut cache = PathCache::default();
        cache.merge(Time::ZERO, Ended::CongestionAvoidance, 100 * SMSS, 60 * SMSS, None);
        assert_eq!(known(&cache), (100, Some(60)));
        cache.merge(Time::ZERO, Ended::CongestionAvoidance, 40 * SMSS, 20 * SMSS, None);
        assert_eq!(known(&cache), (70, Some(20)));
        // In slow start half the window is a lower bound for ssthresh, if there is one.
        cache.merge(Time::ZERO, Ended::SlowStart, 60 * SMSS, u64::MAX, None);
        assert_eq!(known(&cache), (70, Some(30)));
        cache.merge(Time::ZERO, Ended::Recovery, 5 * SMSS, 10 * SMSS, None);
        assert_eq!(known(&cache), (40, Some(30)));
    }

    /// Test 3: round-trip times fall slowly and rise at once.
    #[test]
    fn rfc9040_5_round_trips_merge() {
        assert_eq!(merged(ms(6000), ms(5000), 8), ms(5875));
        assert_eq!(merged(ms(6000), ms(7000), 8), ms(7000));
        assert_eq!(merged(ms(1000), ms(600), 4), ms(900));
    }
}
