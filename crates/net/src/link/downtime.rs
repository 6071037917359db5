//! Downtime of a path: the times when any of its links, in either direction, is down.

use super::outages::Outages;
use bentpipe_model::spec::{Absence, Link};
use bentpipe_units::{Duration, Time};

/// Asked in order of time. `None` for a path that is never down, as most are.
#[derive(Clone, Debug)]
pub(crate) struct Downtime(Option<Box<Path>>);

#[derive(Clone, Debug)]
struct Path {
    /// Links of the path, by the start of each stage; the first stage begins at zero.
    stages: Vec<(Time, Stage)>,
    stage: usize,
    links: Stage,
    at: Time,
    total: Duration,
}

/// The links of a path that are ever down. `None`: there is no path.
type Stage = Option<Vec<Outages>>;

impl Downtime {
    /// Downtime of a path over the links of each stage, with their absences. A stage without links is no path. Nothing is
    /// computed after `end`.
    pub(crate) fn of<'a>(
        stages: impl IntoIterator<Item = (Time, Option<Vec<(&'a Link, &'a [Absence])>>)>,
        seed: u64,
        end: Time,
    ) -> Self {
        let outages = |(link, absences): (&Link, &[Absence])| Outages::of(link, absences, seed, end);
        let stage = |links: Vec<_>| links.into_iter().filter_map(outages).collect();
        Self::begin(stages.into_iter().map(|(from, links)| (from, links.map(stage))).collect())
    }

    /// Downtime of a path that is never down.
    pub(crate) const fn never() -> Self {
        Self(None)
    }

    fn begin(stages: Vec<(Time, Stage)>) -> Self {
        let links = stages.first().map_or(Some(Vec::new()), |first| first.1.clone());
        let is_ever_down = stages.len() > 1 || links.as_ref().is_none_or(|links| !links.is_empty());
        let path = Path { links, stages, stage: 0, at: Time::ZERO, total: Duration::ZERO };
        Self(is_ever_down.then(|| Box::new(path)))
    }

    /// The downtime from zero to `now`.
    #[inline]
    pub(crate) fn until(&mut self, now: Time) -> Duration {
        self.0.as_mut().map_or(Duration::ZERO, |path| path.until(now))
    }

    /// The downtime up to any instant: slow.
    pub(crate) fn look_back(&self, at: Time) -> Duration {
        self.0.as_ref().map_or(Duration::ZERO, |path| Self::begin(path.stages.clone()).until(at))
    }
}

impl Path {
    fn until(&mut self, now: Time) -> Duration {
        while self.at < now {
            let next_stage = self.stages.get(self.stage + 1);
            if let Some((_, links)) = next_stage.filter(|next| next.0 <= self.at) {
                self.links = links.clone();
                self.stage += 1;
                continue;
            }
            let until = next_stage.map_or(now, |next| next.0.min(now));
            let (up, down) = match &mut self.links {
                None => (until, Time::NEVER),
                Some(links) => links.iter_mut().fold((self.at, Time::NEVER), |(up, down), link| {
                    let (link_up, link_down) = link.uptime(self.at);
                    (up.max(link_up), down.min(link_down))
                }),
            };
            let next = if up > self.at { up } else { down }.min(until);
            if up > self.at {
                self.total += next - self.at;
            }
            // A link without further changes keeps its state.
            self.at = if next > self.at { next } else { until };
        }
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_scenario::from_toml;

    fn downtime(outages: [&str; 2]) -> Downtime {
        let text = format!(
            r#"
            duration = "100 s"
            [link.up]
            from = "a"
            to = "b"
            rate = "1 Mbit/s"
            delay = "10 ms"
            outage = {}
            [link.down]
            from = "b"
            to = "c"
            rate = "1 Mbit/s"
            delay = "10 ms"
            outage = {}
            [flow.f]
            from = "a"
            to = "c"
            "#,
            outages[0], outages[1]
        );
        let scenario = from_toml(&text, "test", &[]).unwrap_or_else(|problems| panic!("{problems}")).scenario;
        let forward = scenario.links.iter().filter(|link| link.name.ends_with("forward"));
        let links = forward.map(|link| (link, &[][..])).collect();
        Downtime::of([(Time::ZERO, Some(links))], 1, Time::ZERO + Duration::from_secs(100))
    }

    fn s(tenths: u64) -> Time {
        Time::ZERO + Duration::from_millis(100 * tenths)
    }

    #[test]
    fn links_that_are_down_together_count_once() {
        let spans = r#"{ spans = [["10 s", "12 s"], ["30 s", "31 s"]] }"#;
        let mut path = downtime([spans, r#"{ spans = [["1 s", "1.5 s"]], every = "10 s" }"#]);
        assert_eq!(path.until(s(9)), Duration::ZERO);
        assert_eq!(path.until(s(12)), Duration::from_millis(200));
        assert_eq!(path.until(s(100)), Duration::from_millis(500));
        assert_eq!(path.until(s(115)), Duration::from_millis(2000));
        assert_eq!(path.until(s(290)), Duration::from_millis(3000));
        // 30 s to 31 s, and 31 s to 31.5 s.
        assert_eq!(path.until(s(400)), Duration::from_millis(4500));
        assert_eq!(path.look_back(s(115)), Duration::from_millis(2000));
    }

    #[test]
    fn random_outages_have_their_share() {
        let random = r#"{ mean_up = "900 ms", mean_down = "100 ms" }"#;
        let mut path = downtime([random, random]);
        let steps: Vec<Duration> = (0..=1000).map(|tenth| path.until(s(tenth))).collect();
        let whole = path.look_back(s(1000));
        assert_eq!(*steps.last().unwrap(), whole, "in steps or at once");
        // 1 - 0.9², with about 200 outages: ± 3 standard deviations.
        assert!((0.12..0.26).contains(&(whole.as_secs_f64() / 100.0)), "{whole:?}");
    }
}
