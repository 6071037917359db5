//! Values that a connection leaves for the next one between the same hosts (RFC 9040): round-trip time, ssthresh,
//! window, and the state of Fast Open and T/TCP. Old and new values merge as in Linux, because RFC 9040 leaves that
//! open.

use crate::config::{Config, SharedCwnd};
use bentpipe_cc::{PathLesson, SavedPath};
use bentpipe_units::{Duration, Time};

/// Time of plain SYNs after a SYN with data was lost (RFC 7413 §4.1.3.1).
const AVOID_FAST_OPEN: Duration = Duration::from_secs(3600);

/// Knowledge of one host, and of the path to it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathCache {
    path: Option<KnownPath>,
    /// Fast Open: the server's cookie and the MSS that it announced.
    cookie: Option<([u8; 8], u16)>,
    /// Time when a SYN with data was not answered.
    fast_open_failed: Option<Time>,
    /// T/TCP: the connection counts of the latest connections; `None` before the first.
    counts: Option<KnownCounts>,
    /// Careful resume: the path as the last connection saved it, and whether a connection uses it.
    saved: Option<SavedPath>,
    is_in_use: bool,
    /// Error rate that middleboxes last reported on the path to it.
    pub error_rate: Option<f32>,
}

/// Knowledge of a T/TCP host about another (RFC 1644 §3.1, the per-host cache).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KnownCounts {
    /// Largest valid count that arrived on a SYN: `cache.CC`.
    pub(crate) received: Option<u32>,
    /// Count of the latest SYN to a host that knows T/TCP: `cache.CCsent`.
    pub(crate) sent: Option<u32>,
}

/// Measurements of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct KnownPath {
    ssthresh: Option<u64>,
    cwnd: u64,
    rtt: Option<(Duration, Duration)>,
    at: Time,
}

/// Initial values of a connection that replace the standard's.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Learnt {
    pub(crate) ssthresh: Option<u64>,
    pub(crate) cwnd: Option<u64>,
    /// For careful resume.
    pub(crate) saved: Option<SavedPath>,
}

/// State of a connection's window at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    SlowStart,
    CongestionAvoidance,
    Recovery,
}

/// Measurements of the path by a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lesson {
    pub(crate) ended: Ended,
    pub(crate) cwnd: u64,
    /// Slow start threshold; `u64::MAX`: no threshold.
    pub(crate) ssthresh: u64,
    /// SRTT and RTTVAR, once measured.
    pub(crate) rtt: Option<(Duration, Duration)>,
}

impl PathCache {
    /// Returns the server's cookie and MSS for Fast Open.
    pub(crate) fn cookie(&self) -> Option<([u8; 8], u16)> {
        self.cookie
    }

    /// Returns the counts of earlier connections for T/TCP.
    pub(crate) fn counts(&self) -> Option<KnownCounts> {
        self.counts
    }

    /// Stores the counts of a T/TCP connection.
    pub(crate) fn learn_counts(&mut self, counts: KnownCounts) {
        self.counts = Some(counts);
    }

    /// Whether SYNs go without data for a while.
    pub(crate) fn avoids_fast_open(&self, now: Time) -> bool {
        self.fast_open_failed.is_some_and(|at| now < at + AVOID_FAST_OPEN)
    }

    /// Returns the initial values of a connection, as far as [`Config::sharing`] asks for them: window and threshold,
    /// SRTT and RTTVAR.
    pub(crate) fn recall(&self, now: Time, config: &Config) -> Option<(Learnt, Option<(Duration, Duration)>)> {
        let (sharing, path) = (config.sharing?, self.path?);
        if now.saturating_since(path.at) > sharing.age_max {
            return None;
        }
        let smss = u64::from(config.smss);
        let initial = config.initial_window.bytes(config.smss);
        let learnt = Learnt {
            ssthresh: path.ssthresh.filter(|_| sharing.ssthresh).map(|bytes| bytes.max(2 * smss)),
            cwnd: match sharing.cwnd {
                SharedCwnd::Ignore => None,
                SharedCwnd::Cautious => Some(path.cwnd.min(initial).max(smss)),
                SharedCwnd::Full => Some(path.cwnd.max(smss)),
            },
            saved: None,
        };
        Some((learnt, path.rtt.filter(|_| sharing.rtt)))
    }

    /// Gives the saved path to a connection, if no other one uses it and it is young (RFC 9959 §3.2, §4.3.1).
    pub fn take_saved(&mut self, now: Time, lifetime: Duration) -> Option<SavedPath> {
        let saved = self.saved.filter(|saved| !self.is_in_use && now.saturating_since(saved.at) <= lifetime)?;
        self.is_in_use = true;
        Some(saved)
    }

    /// A connection that `used` the saved path, or did not, has ended.
    pub fn return_saved(&mut self, used: bool, lesson: PathLesson) {
        if lesson.is_deleted {
            self.saved = None;
        }
        self.saved = lesson.saved.or(self.saved);
        self.is_in_use &= !used;
    }

    /// Stores the results of a handshake: the server's cookie and MSS, and whether a SYN with data was lost.
    pub(crate) fn learn_opening(&mut self, now: Time, cookie: Option<([u8; 8], u16)>, has_failed: bool) {
        self.cookie = cookie.or(self.cookie);
        if has_failed {
            self.fast_open_failed = Some(now);
        }
    }

    /// Stores the measurements of a connection that moved `acked` bytes.
    pub(crate) fn learn(&mut self, now: Time, config: &Config, acked: u64, lesson: Lesson) {
        let Some(sharing) = config.sharing else { return };
        if acked < config.initial_window.bytes(config.smss) {
            return;
        }
        // An outdated path is replaced, not merged.
        if self.path.is_some_and(|path| now.saturating_since(path.at) > sharing.age_max) {
            self.path = None;
        }
        let Lesson { ended, cwnd, ssthresh, rtt } = lesson;
        self.merge(now, ended, cwnd, ssthresh.min(bentpipe_cc::Cwnd::MAX), rtt);
    }

    fn merge(&mut self, now: Time, ended: Ended, cwnd: u64, ssthresh: u64, rtt: Option<(Duration, Duration)>) {
        let Some(old) = self.path else {
            let known = match ended {
                Ended::SlowStart => None,
                Ended::CongestionAvoidance => Some(ssthresh.max(cwnd / 2)),
                Ended::Recovery => Some(ssthresh),
            };
            let cwnd = if ended == Ended::Recovery { ssthresh.min(cwnd) } else { cwnd };
            self.path = Some(KnownPath { ssthresh: known, cwnd, rtt, at: now });
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
        self.path = Some(KnownPath { ssthresh, cwnd, rtt, at: now });
    }
}

/// Rises immediately, falls by a share.
fn merged(old: Duration, new: Duration, share: u64) -> Duration {
    if new >= old {
        new
    } else {
        old.saturating_sub(old.abs_diff(new) / share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Sharing;

    const SMSS: u64 = 1000;

    fn ms(tenths: u64) -> Duration {
        Duration::from_micros(100 * tenths)
    }

    fn known(cache: &PathCache) -> (u64, Option<u64>) {
        let path = cache.path.unwrap();
        (path.cwnd / SMSS, path.ssthresh.map(|ssthresh| ssthresh / SMSS))
    }

    /// `docs/specs/tcb-sharing.md`, tests 1 and 2.
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

    #[test]
    fn rfc9040_5_an_outdated_path_is_replaced() {
        let config = Config { sharing: Some(Sharing::default()), ..Config::default() };
        let lesson = |segments: u64| {
            let (ended, cwnd) = (Ended::CongestionAvoidance, segments * SMSS);
            Lesson { ended, cwnd, ssthresh: cwnd, rtt: None }
        };
        let after = |age| {
            let mut cache = PathCache::default();
            cache.learn(Time::ZERO, &config, u64::MAX, lesson(100));
            cache.learn(Time::ZERO + age, &config, u64::MAX, lesson(40));
            known(&cache).0
        };
        let age_max = Sharing::default().age_max;
        assert_eq!([after(age_max), after(age_max + ms(1))], [70, 40]);
    }
}
