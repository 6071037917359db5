//! Datagrams at a constant rate, as a Poisson process, or in bursts: alone, without congestion control, or in a connection of
//! QUIC, whose handshake they wait for.

use super::contract::{Application, Draws};
use crate::record::Recorder;
use crate::traffic::goal::{End, Goal};
use crate::traffic::sessions::{FlowSessions, Over};
use bentpipe_model::spec::{Datagrams, Gaps, Wait};
use bentpipe_units::{Duration, Rate, Stream, Time};

/// Bursts without a datagram that one event passes: the run answers between events, however short the bursts are.
const BURSTS_AT_ONCE: u32 = 1000;

/// Progress of the application, with its random streams.
#[derive(Clone, Debug)]
pub(in crate::traffic) struct DatagramsState {
    spec: Datagrams,
    /// Its connection, if it has one.
    session: Option<Over>,
    start: Time,
    index: u64,
    /// Bursts before the present one, count.
    bursts: u64,
    burst_end: Time,
    /// Part of the distance to the next datagram that is left after the bursts of one event.
    left: Option<Duration>,
    gaps: Stream,
    ons: Stream,
    offs: Stream,
}

impl DatagramsState {
    /// Returns the instant of the first datagram.
    fn first_wakeup(&mut self, start: Time) -> Time {
        self.start = start;
        match self.spec.gaps {
            Gaps::Constant { jitter, .. } => start + self.lateness(jitter),
            Gaps::Poisson { rate } => start + self.gap(rate),
            Gaps::OnOff { on, .. } => {
                self.burst_end = start + on.draw(&mut self.ons, 0);
                start
            }
        }
    }

    /// Returns the instant of the datagram after that of `now`, or of the wakeup that goes on looking for it.
    fn next(&mut self, now: Time) -> Time {
        self.index += 1;
        let size = u64::from(self.spec.size);
        match self.spec.gaps {
            Gaps::Constant { rate, jitter } => {
                // From the start, so that rounding does not accumulate.
                self.start + rate.time_to_send(size.saturating_mul(self.index)) + self.lateness(jitter)
            }
            Gaps::Poisson { rate } => now + self.gap(rate),
            Gaps::OnOff { peak, on, off } => self.pass_bursts(now, peak.time_to_send(size), [on, off]),
        }
    }

    /// Returns the instant that is `left` of the time on after `now`. The rest of a distance at the end of a burst passes
    /// in the next burst, which keeps the mean rate. After [`BURSTS_AT_ONCE`], it keeps the rest and returns the start of
    /// the present burst.
    fn pass_bursts(&mut self, now: Time, mut left: Duration, [on, off]: [Wait; 2]) -> Time {
        let mut from = now;
        for _ in 0..BURSTS_AT_ONCE {
            if from + left <= self.burst_end || self.burst_end == Time::NEVER {
                return from + left;
            }
            left = left.saturating_sub(self.burst_end.saturating_since(from));
            from = self.burst_end + off.draw(&mut self.offs, self.bursts);
            self.bursts += 1;
            self.burst_end = from + on.draw(&mut self.ons, self.bursts);
        }
        self.left = Some(left);
        from
    }

    /// Goes on looking for the next datagram. Returns `None` if a datagram is due now.
    fn go_on(&mut self, now: Time) -> Option<Time> {
        let Gaps::OnOff { on, off, .. } = self.spec.gaps else { return None };
        let left = self.left.take()?;
        Some(self.pass_bursts(now, left, [on, off]))
    }

    /// Returns the instant of the datagram after that of `now`, in any number of events.
    #[cfg(test)]
    fn next_datagram(&mut self, now: Time) -> Time {
        let mut at = self.next(now);
        while let Some(later) = self.go_on(at) {
            at = later;
        }
        at
    }

    fn gap(&mut self, rate: Rate) -> Duration {
        Wait::Exponential { mean: rate.time_to_send(self.spec.size.into()) }.draw(&mut self.gaps, self.index)
    }

    /// Draws a delay, uniform from 0 to twice the jitter.
    fn lateness(&mut self, jitter: Duration) -> Duration {
        Duration::from_ps(self.gaps.below(self.index, jitter.as_ps().saturating_mul(2)))
    }
}

impl Application for DatagramsState {
    type Spec = Datagrams;

    fn new(spec: Datagrams, draws: &Draws<'_>) -> Self {
        Self {
            spec,
            session: None,
            start: Time::ZERO,
            index: 0,
            bursts: 0,
            burst_end: Time::ZERO,
            left: None,
            gaps: draws.stream("gap"),
            ons: draws.stream("on"),
            offs: draws.stream("off"),
        }
    }

    fn set_up(&mut self, sessions: &mut FlowSessions<'_>) {
        let start = sessions.flow().start;
        sessions.expect_file(&self.spec);
        sessions.wake_at(if sessions.needs_connection() { start } else { self.first_wakeup(start) });
    }

    /// Sends a datagram. The first wake-up of a flow with a connection opens it.
    fn wake(&mut self, sessions: &mut FlowSessions<'_>) {
        let now = sessions.now;
        if self.session.is_none() && sessions.needs_connection() {
            self.session = Some(sessions.open_for_datagrams());
            return;
        }
        if let Some(later) = self.go_on(now) {
            return sessions.wake_at(later);
        }
        let next = self.next(now);
        sessions.wake_at(if self.spec.last() == Some(self.index) { Time::NEVER } else { next });
        match self.session {
            Some(session) => sessions.send_in(session, self.spec.payload()),
            None => sessions.send(self.spec.payload()),
        }
    }

    /// Begins after the handshake.
    fn on_goal(&mut self, sessions: &mut FlowSessions<'_>, _: (Over, End), _: Goal, _: &mut Recorder) {
        let now = sessions.now;
        sessions.pause(self.first_wakeup(now) - now);
    }

    fn on_abort(&mut self, sessions: &mut FlowSessions<'_>, _: Over) {
        sessions.fail();
        sessions.wake_at(Time::NEVER);
    }
}

/// Returns the instants of the datagrams of a flow, without end.
#[cfg(test)]
pub(crate) fn send_times_of(
    flow: &bentpipe_model::spec::Flow,
    spec: Datagrams,
    seed: u64,
) -> impl Iterator<Item = Time> {
    let mut source = DatagramsState::new(spec, &Draws { seed, component: &format!("flow/{}", flow.name), far: "" });
    let first = source.first_wakeup(flow.start.drawn(&flow.name, seed));
    std::iter::successors(Some(first), move |&at| Some(source.next_datagram(at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(gaps: Gaps, count: usize) -> Vec<f64> {
        let mut source =
            DatagramsState::new(Datagrams::new(1250, gaps), &Draws { seed: 1, component: "flow/x", far: "" });
        let mut at = source.first_wakeup(Time::ZERO);
        let mut times = Vec::new();
        for _ in 0..count {
            times.push(at.as_secs_f64());
            at = source.next_datagram(at);
        }
        times
    }

    #[test]
    fn constant_rates_do_not_drift() {
        let jitter = Duration::ZERO;
        let third = Gaps::Constant { rate: Rate::from_bps(3_000_000), jitter };
        assert!((times(third, 30_001)[30_000] - 100.0).abs() < 1e-11);
    }

    /// Datagrams stay in order, and each is within its bounds.
    #[test]
    fn jitter_is_uniform_and_keeps_the_order() {
        let jitter = Duration::from_millis(5);
        let times = times(Gaps::Constant { rate: Rate::from_bps(1_000_000), jitter }, 10_000);
        assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
        let late: Vec<f64> = (0..).zip(&times).map(|(k, at)| at - 0.01 * f64::from(k)).collect();
        assert!(late.iter().all(|late| (-1e-9..0.010).contains(late)));
        assert!((late.iter().sum::<f64>() / 1e4 - 0.005).abs() < 1e-4);
    }

    /// `docs/specs/traffic.md`, test 5: 1 Mbit/s, on for 0.5 s and off for 1.5 s on average: 250 kbit/s.
    #[test]
    fn on_off_sources_have_their_mean_rate() {
        let [on, off] = [500, 1500].map(|ms| Wait::Exponential { mean: Duration::from_millis(ms) });
        let gaps = Gaps::OnOff { peak: Rate::from_bps(1_000_000), on, off };
        assert!((8.0 * Datagrams::new(1250, gaps).bytes_per_second() - 250_000.0).abs() < 1e-6);
        let times = times(gaps, 100_000);
        let rate = 1e5 * 1250.0 * 8.0 / times[99_999];
        // Cycles of 2 s: 2000 of them, whose length has a standard deviation of 1.58 s.
        assert!((rate / 250_000.0 - 1.0).abs() < 0.08, "{rate}");
    }

    /// A burst of a picosecond carries no datagram, so one datagram needs 12 thousand million bursts. No event passes
    /// more than a bounded number of them, so the run ends at its end and answers before it.
    #[test]
    fn no_event_passes_bursts_without_end() {
        let [on, off] = [Duration::from_ps(1), Duration::from_millis(1)].map(Wait::Constant);
        let gaps = Gaps::OnOff { peak: Rate::from_bps(1_000_000), on, off };
        let draws = Draws { seed: 1, component: "flow/x", far: "" };
        let mut source = DatagramsState::new(Datagrams::new(1500, gaps), &draws);
        let first = source.first_wakeup(Time::ZERO);
        let mut at = source.next(first);
        let mut wakeups = 1;
        while at <= Time::ZERO + Duration::from_secs(10) {
            at = source.go_on(at).expect("no second datagram within the run");
            wakeups += 1;
        }
        assert_eq!((source.index, wakeups), (1, 10));
    }

    /// Test 7: the variance of the number of arrivals in windows is their mean.
    #[test]
    fn poisson_arrivals_have_an_index_of_dispersion_of_one() {
        let times = times(Gaps::Poisson { rate: Rate::from_bps(1_000_000) }, 100_000);
        let windows = 2000;
        let mut counts = vec![0.0; windows];
        let length = times[99_999] / windows as f64;
        times.iter().for_each(|at| counts[((at / length) as usize).min(windows - 1)] += 1.0);
        let mean = counts.iter().sum::<f64>() / windows as f64;
        let variance = counts.iter().map(|n| (n - mean) * (n - mean)).sum::<f64>() / (windows - 1) as f64;
        assert!((variance / mean - 1.0).abs() < 3.0 * (2.0 / windows as f64).sqrt(), "{}", variance / mean);
        assert!((times[99_999] / 1e5 / 0.01 - 1.0).abs() < 3.0 / 1e5f64.sqrt());
    }
}
