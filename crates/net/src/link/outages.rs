//! Outages of a link, and its absences by the timeline. Looked up in order of time.

use super::profile::Pieces;
use super::states::TimedStates;
use bentpipe_model::dictionary::Cause;
use bentpipe_model::spec::{Absence, Downtimes, InFlight, Link, Waiting};
use bentpipe_units::{Duration, Stream, Time};

/// The times when a link is down.
#[derive(Clone, Debug)]
pub(super) struct Outages {
    /// The link's own outages; whether they flush the queue.
    own: Option<(DownAt, bool)>,
    /// Absences in order of time.
    absences: Vec<Absence>,
}

#[derive(Clone, Debug)]
enum DownAt {
    /// true: down from this instant; then the time up at the start of each repetition.
    Listed(Pieces<bool>, Duration),
    Random(TimedStates),
}

impl Outages {
    /// Outages of a link, if it has any. None is computed after `end`.
    pub(super) fn of(link: &Link, absences: &[Absence], seed: u64, end: Time) -> Option<Self> {
        let own = link.outage.as_ref().map(|outage| {
            let times = match &outage.when {
                Downtimes::Spans { spans, period } => listed(spans, *period),
                Downtimes::Random { mean_up, mean_down } => {
                    let draws = Stream::new(seed, &format!("link/{}", link.name), "outage");
                    DownAt::Random(TimedStates::new(*mean_up, *mean_down, draws, end))
                }
            };
            (times, outage.flush)
        });
        (own.is_some() || !absences.is_empty()).then(|| Self { own, absences: absences.to_vec() })
    }

    /// The cause of loss of packets offered at `at`, if the link is closed.
    pub(super) fn closed(&mut self, at: Time) -> Option<Cause> {
        if self.absence(at).is_some_and(|absence| absence.waiting != Waiting::Kept) {
            return Some(Cause::Handover);
        }
        self.flushes(at).then_some(Cause::Outage)
    }

    /// Whether an outage flushes the queue at `at`.
    pub(super) fn flushes(&mut self, at: Time) -> bool {
        self.own.as_mut().is_some_and(|(times, loses)| *loses && times.is_down(at))
    }

    /// Whether the queue is not served at `at`, because its packets will be lost or sent elsewhere.
    pub(super) fn rests(&self, at: Time) -> bool {
        self.absence(at).is_some_and(|absence| absence.waiting != Waiting::Kept)
    }

    /// Whether the link is absent at `at`.
    pub(super) fn is_away(&self, at: Time) -> bool {
        self.absence(at).is_some()
    }

    /// The first instant from `at` when the link is up.
    pub(super) fn up_at(&self, at: Time) -> Time {
        // A copy of the cursor: the link itself asks again for this time.
        let own = |at| self.own.as_ref().map_or(at, |(times, _)| times.clone().uptime(at).0);
        let mut up = own(at);
        while let Some(absence) = self.absence(up) {
            up = own(absence.to);
        }
        up
    }

    /// The first instant after `at` at which the link goes away or down, or comes back.
    pub(super) fn changes_at(&self, at: Time) -> Time {
        let own = self.own.as_ref().map_or(Time::NEVER, |(times, _)| match times.clone().uptime(at) {
            (up, _) if up > at => up,
            (_, down) => down,
        });
        let next = self.absences.get(self.absences.partition_point(|absence| absence.to <= at));
        own.min(next.map_or(Time::NEVER, |absence| if absence.from > at { absence.from } else { absence.to }))
    }

    /// Whether an absence begins while a packet sent at `sent` is on the link until `arrival`.
    pub(super) fn cuts(&self, sent: Time, arrival: Time) -> bool {
        let first = self.absences.partition_point(|absence| absence.from < sent);
        let begun = self.absences[first..].iter().take_while(|absence| absence.from <= arrival);
        begun.into_iter().any(|absence| absence.in_flight == InFlight::Lost)
    }

    /// The first instant from `at` when the link is up, and the next when it goes down.
    pub(super) fn uptime(&mut self, at: Time) -> (Time, Time) {
        let (mut up, mut down) = self.own_uptime(at);
        // Outages and absences may follow each other.
        while let Some(absence) = self.absence(up) {
            (up, down) = self.own_uptime(absence.to);
        }
        let next = self.absences.partition_point(|absence| absence.from <= up);
        (up, self.absences.get(next).map_or(down, |absence| down.min(absence.from)))
    }

    fn own_uptime(&mut self, at: Time) -> (Time, Time) {
        match &mut self.own {
            Some((times, _)) if self.absences.is_empty() => times.uptime(at),
            // A copy of the cursor: the link asks again for this time.
            Some((times, _)) => times.clone().uptime(at),
            None => (at, Time::NEVER),
        }
    }

    fn absence(&self, at: Time) -> Option<&Absence> {
        let place = self.absences.partition_point(|absence| absence.to <= at);
        self.absences.get(place).filter(|absence| absence.from <= at)
    }
}

impl DownAt {
    fn is_down(&mut self, at: Time) -> bool {
        match self {
            Self::Listed(pieces, _) => {
                pieces.seek(at);
                pieces.value()
            }
            Self::Random(states) => states.is_bad_at(at),
        }
    }

    /// The first instant from `at` when the profile is up, and the next when it goes down.
    fn uptime(&mut self, at: Time) -> (Time, Time) {
        let is_down = self.is_down(at);
        match self {
            Self::Listed(pieces, up_at_start) => {
                let begin = if is_down { pieces.end() } else { at };
                pieces.seek(begin);
                // Time up may continue into the next repetition.
                let more = if pieces.is_last() { *up_at_start } else { Duration::ZERO };
                (begin, pieces.end() + more)
            }
            Self::Random(states) => match (is_down, states.ends_from(at)) {
                (false, (end, _)) => (at, end),
                (true, ends) => ends,
            },
        }
    }
}

fn listed(spans: &[(Time, Time)], period: Option<Duration>) -> DownAt {
    let mut points = vec![(Time::ZERO, false)];
    for &(start, end) in spans {
        points.push((start, true));
        points.push((end, false));
    }
    // A span that starts at zero replaces the first point.
    if points.get(1).is_some_and(|second| second.0 == Time::ZERO) {
        points.remove(0);
    }
    let up_at_start = if points[0].1 { Duration::ZERO } else { points[1].0 - Time::ZERO };
    DownAt::Listed(Pieces::new(&points, period), up_at_start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn outages_repeat() {
        let times = listed(&[(s(2), s(3))], Some(Duration::from_secs(15)));
        let mut outages = times;
        assert_eq!([0, 2, 3, 17, 18].map(|at| outages.is_down(s(at))), [false, true, false, true, false]);
        assert_eq!(outages.uptime(s(17)), (s(18), s(32)));
        assert_eq!(outages.uptime(s(18)), (s(18), s(32)));
        assert_eq!(outages.uptime(s(31)), (s(31), s(32)));
    }

    /// Every repetition truncated the packet in transmission when it began.
    #[test]
    fn the_start_of_a_repetition_is_no_outage() {
        for (spans, up_until) in [([(s(2), s(3))], s(17)), ([(s(14), s(15))], s(14)), ([(s(0), s(3))], s(15))] {
            let mut outages = listed(&spans, Some(Duration::from_secs(15)));
            assert_eq!(outages.uptime(s(5)), (s(5), up_until));
        }
    }

    /// Down for 0.5 s in 10 s; a mean of n exponential times varies by 1/n of its square.
    #[test]
    fn random_outages_are_as_frequent_and_as_long_as_asked_for() {
        let ms = Duration::from_millis;
        let states = TimedStates::new(ms(9500), ms(500), Stream::new(1, "link/l.forward", "outage"), Time::NEVER);
        let mut outages = DownAt::Random(states);
        let (mut at, mut up, mut count) = (Time::ZERO, 0.0, 0.0);
        while count < 100_000.0 {
            let (begin, end) = outages.uptime(at);
            assert!(!outages.is_down(begin) && outages.is_down(end) && begin < end);
            (at, up, count) = (end, up + (end - begin).as_secs_f64(), count + 1.0);
        }
        let down = at.as_secs_f64() - up;
        assert!((up / count / 9.5 - 1.0).abs() < 0.013 && (down / count / 0.5 - 1.0).abs() < 0.013, "{up} {down}");
    }

    #[test]
    fn a_link_is_up_when_it_is_there_and_has_no_outage() {
        let absence = |from, to, waiting, in_flight| Absence { from: s(from), to: s(to), waiting, in_flight };
        let absences =
            vec![absence(10, 20, Waiting::Lost, InFlight::Lost), absence(30, 40, Waiting::Kept, InFlight::Delivered)];
        let own = Some((listed(&[(s(18), s(22)), (s(25), s(26))], None), true));
        let mut outages = Outages { own, absences };
        assert_eq!(outages.uptime(s(0)), (s(0), s(10)));
        assert_eq!(outages.uptime(s(12)), (s(22), s(25)));
        assert_eq!(outages.uptime(s(26)), (s(26), s(30)));
        assert_eq!(outages.uptime(s(35)), (s(40), Time::NEVER));
        let closed = [9, 10, 19, 21, 25, 35].map(|at| outages.closed(s(at)));
        assert_eq!(
            closed,
            [None, Some(Cause::Handover), Some(Cause::Handover), Some(Cause::Outage), Some(Cause::Outage), None]
        );
        assert!(outages.rests(s(10)) && !outages.rests(s(20)) && !outages.rests(s(35)) && outages.is_away(s(35)));
        assert!(outages.cuts(s(9), s(10)) && outages.cuts(s(10), s(11)) && !outages.cuts(s(8), s(9)));
        assert!(!outages.cuts(s(29), s(41)), "what is in flight then is delivered");
    }
}
