//! Notes on shared media that need no run: signals below every waveform, grants after the end of the run, and queues that
//! drop packets while they wait for a grant.

use super::{
    ControlInterval, Downtimes, Link, Losses, Medium, MediumKind, MfTdma, NeededSignal, Outage, Profile, Queue,
    Scenario, Tdm, Terminal,
};
use bentpipe_access::{Free, Modcod, RandomUse};
use bentpipe_units::{Duration, Rate, Time};
use std::collections::BTreeMap;

/// Signal that a link needs to send, and the choice that needs it.
struct Needed {
    /// Name of the choices, and the constant one.
    unit: &'static str,
    constant: Option<String>,
    signal: NeededSignal,
}

/// Time in which the signal of a link is below the signal that it needs.
struct Weak {
    seconds: f64,
    /// Its start, and the signal then, in dB.
    first: Time,
    db: f64,
    is_always: bool,
}

/// A request that comes too late.
struct Late {
    asks: Duration,
    grant: Duration,
}

impl Medium {
    /// Returns the time after which a terminal repeats an unanswered request, R + 2 T. `None` for a carrier without requests.
    pub fn patience(&self) -> Option<Duration> {
        let superframe = match &self.kind {
            MediumKind::MfTdma(keys) => keys.superframe,
            MediumKind::LeoCell(keys) => keys.frame,
            MediumKind::Tdm(_) => return None,
        };
        self.request_to_grant().map(|round| round + superframe.saturating_mul(2))
    }

    /// Returns the longest wait for a control slot. Zero without control slots.
    pub fn control_wait(&self) -> Duration {
        match &self.kind {
            MediumKind::MfTdma(MfTdma { control_interval: ControlInterval::Every(every), .. }) => *every,
            _ => Duration::ZERO,
        }
    }

    /// Returns the longest time from a request to its grant. `None` for a carrier without requests.
    pub(crate) fn request_to_grant(&self) -> Option<Duration> {
        let (superframe, control) = match &self.kind {
            MediumKind::MfTdma(keys) => (keys.superframe, keys.control_delay),
            MediumKind::LeoCell(keys) => (keys.frame, keys.control_delay),
            MediumKind::Tdm(_) => return None,
        };
        let superframes = |span: Duration| span.as_ps().div_ceil(superframe.as_ps().max(1));
        let round = 1 + superframes(self.there) + superframes(control + self.back);
        Some(superframe.saturating_mul(round))
    }
}

impl Scenario {
    /// Returns the notes on media, each with its key.
    pub(super) fn notes_on_media(&self) -> Vec<(String, String)> {
        let weak = self.notes_on_signals();
        let others = [self.note_on_grants(), self.note_on_evaluation(), self.note_on_targets()];
        weak.into_iter().chain(others.into_iter().flatten()).collect()
    }

    /// Returns the links in media, with the place of each in its medium and the number of links there.
    fn in_media(&self) -> impl Iterator<Item = (&Link, &Terminal, &Medium, [u64; 2])> {
        let mut all = vec![0_u64; self.media.len()];
        let terminals = || self.links.iter().filter_map(|link| Some((link, link.terminal.as_ref()?)));
        terminals().for_each(|(_, terminal)| all[terminal.medium.index()] += 1);
        let mut places = vec![0_u64; self.media.len()];
        terminals().map(move |(link, terminal)| {
            let medium = terminal.medium.index();
            let place = places[medium];
            places[medium] += 1;
            (link, &**terminal, &self.media[terminal.medium], [place, all[medium]])
        })
    }

    /// Returns a note for each choice that needs more than the signals of its links. It has the link with the most time.
    fn notes_on_signals(&self) -> Vec<(String, String)> {
        let mut found: BTreeMap<String, Vec<(Weak, Needed, &Link, &Medium)>> = BTreeMap::new();
        for (link, terminal, medium, _) in self.in_media() {
            let (needed, losses) = match &medium.kind {
                MediumKind::MfTdma(keys) => (keys.needed(), keys.losses),
                MediumKind::Tdm(keys) => (keys.needed(), keys.losses),
                MediumKind::LeoCell(_) => continue,
            };
            if let Some(weak) =
                weak(terminal.signal(), link.outage.as_deref(), self.duration, |db| needed.exceeds(db, losses))
            {
                found
                    .entry(format!("{} {:?} {:?}", needed.unit, needed.constant, needed.signal))
                    .or_default()
                    .push((weak, needed, link, medium));
            }
        }
        found.into_values().filter_map(|links| note_on_signals(&links)).collect()
    }

    /// Returns a note on the links whose first request is granted after the end of the run.
    fn note_on_grants(&self) -> Option<(String, String)> {
        let mut late = self.in_media().filter_map(|(link, terminal, medium, place)| {
            let late = first_grant(terminal, medium, place).filter(|late| late.asks + late.grant >= self.duration)?;
            Some((link, medium, late))
        });
        let (link, medium, Late { asks, grant }) = late.next()?;
        let note = format!(
            "no request of \"{}\"{} is granted in the run, which ends at {}: the first leaves at {asks}, and its grant takes {grant}",
            link.name,
            more(late.count()),
            self.duration
        );
        Some((format!("medium.{}", medium.name), note))
    }

    /// Returns a note on the medium whose rate requests divide by a longer time than that of the run.
    fn note_on_evaluation(&self) -> Option<(String, String)> {
        let (medium, evaluation) = self.in_media().find_map(|(_, terminal, medium, _)| match &medium.kind {
            MediumKind::MfTdma(keys)
                if terminal.access.request_classes().iter().any(|of| of.rate_based > of.constant) =>
            {
                Some((medium, keys.evaluation)).filter(|(_, evaluation)| *evaluation > self.duration)
            }
            _ => None,
        })?;
        let key = format!("medium.{}.evaluation", medium.name);
        let note = format!(
            "{key} = {evaluation} is longer than the run, {}: rate requests are for a small part of the arriving traffic",
            self.duration
        );
        Some((key, note))
    }

    /// Returns a note on the links whose queue drops packets that wait for a grant.
    fn note_on_targets(&self) -> Option<(String, String)> {
        let mut found = self.in_media().filter_map(|(link, terminal, medium, _)| {
            let (name, target) = match &link.queue {
                Queue::Codel(queue) => ("codel", queue.target),
                Queue::FqCodel(queue) => ("fq-codel", queue.target),
                Queue::Pie(queue) => ("pie", queue.target),
                _ => return None,
            };
            let asks = terminal.access.asks();
            let wait = medium.request_to_grant().filter(|_| asks && link.from != medium.controller)?;
            (target < wait).then_some((link, name, target, wait))
        });
        let (link, name, target, wait) = found.next()?;
        let note = format!(
            "target {target} of {name} at \"{}\"{} is below the wait for a grant, {wait}: set it above, and interval above the \
             round trip",
            link.name,
            more(found.count())
        );
        let entry = link.name.rsplit_once('.').map_or(&*link.name, |(entry, _)| entry);
        Some((format!("link.{entry}"), note))
    }
}

impl Needed {
    /// Whether a signal is too weak. With a constant choice, that is half of all losses or more.
    fn exceeds(&self, db: f64, losses: Losses) -> bool {
        match self.constant {
            None => !self.signal.is_met(db),
            Some(_) => losses.probability(db - self.signal.threshold_db) >= 0.5,
        }
    }

    /// Returns the start of a note on these links of a medium.
    fn fault(&self, medium: &str, links: &str) -> String {
        match &self.constant {
            None => format!("no {} of medium \"{medium}\" fits the signal of {links}", self.unit),
            Some(constant) => format!("{} {constant} of medium \"{medium}\" is above the signal of {links}", self.unit),
        }
    }
}

impl MfTdma {
    fn needed(&self) -> Needed {
        Needed { unit: "waveform", constant: self.waveform.map(|id| id.to_string()), signal: self.needed_signal() }
    }
}

impl Tdm {
    fn needed(&self) -> Needed {
        let constant = self.modcod.map(|modcod| modcod.as_str().to_owned());
        let of = |modcod: Modcod| NeededSignal { threshold_db: modcod.threshold_db(), margin_db: 0.0 };
        Needed { unit: "MODCOD", constant, signal: self.modcod.map_or_else(|| self.needed_signal(), of) }
    }
}

/// Returns the note on links that need the same signal.
fn note_on_signals(links: &[(Weak, Needed, &Link, &Medium)]) -> Option<(String, String)> {
    let longest = links.iter().reduce(|most, next| if next.0.seconds > most.0.seconds { next } else { most });
    let (Weak { seconds, first, db, is_always }, needed, link, medium) = longest?;
    let span = if *is_always { String::new() } else { format!(" for {seconds:.3} s") };
    let margin = match needed.signal.margin_db {
        none if none <= 0.0 => String::new(),
        margin => format!(" with the margin of {margin} dB"),
    };
    let of_links = format!("\"{}\"{}", link.name, more(links.len() - 1));
    let note = format!(
        "{}{span}: it needs {} dB{margin}, and has {} dB from {} s on",
        needed.fault(&medium.name, &of_links),
        rounded(needed.signal.threshold_db + needed.signal.margin_db),
        rounded(*db),
        first.saturating_since(Time::ZERO).as_secs_f64()
    );
    Some((format!("medium.{}", medium.name), note))
}

/// Returns a level without the noise of its sum, in dB.
fn rounded(db: f64) -> f64 {
    (db * 1000.0).round() / 1000.0
}

fn more(count: usize) -> String {
    match count {
        0 => String::new(),
        count => format!(" (and {count} more)"),
    }
}

/// Returns the time in a run in which a signal is too weak, without fixed outages of the link. A signal that repeats counts
/// outages, too.
fn weak(signal: &Profile<f64>, outage: Option<&Outage>, run: Duration, is_weak: impl Fn(f64) -> bool) -> Option<Weak> {
    let (run, period) = (run.as_ps(), signal.period().map(Duration::as_ps).filter(|period| *period > 0));
    let down: &[(Time, Time)] = match outage {
        Some(Outage { when: Downtimes::Spans { spans, period: None }, .. }) if period.is_none() => spans,
        _ => &[],
    };
    let span = period.unwrap_or(run);
    let ps = |at: Time| at.saturating_since(Time::ZERO).as_ps();
    let up_in = |from: u64, to: u64| {
        let before = down.partition_point(|span| ps(span.1) <= from);
        let overlap = |&(begin, end): &(Time, Time)| ps(end).min(to).saturating_sub(ps(begin).max(from));
        let within = down[before..].iter().take_while(|span| ps(span.0) < to);
        to.saturating_sub(from).saturating_sub(within.map(overlap).sum())
    };
    let in_run = |from: u64, to: u64| up_in(from, to) * (run / span) + up_in(from, to.min(run % span));
    let starts = signal.points().map(|(at, _)| ps(at));
    let ends = starts.skip(1).chain([u64::MAX]).map(|end| end.min(span));
    let pieces = signal.points().map(|(at, db)| (ps(at), db)).zip(ends);
    let mut found: Option<Weak> = None;
    let (mut weak_ps, mut all_ps) = (0, 0);
    for ((from, db), to) in pieces.filter(|((from, _), to)| from < to) {
        let time = in_run(from, to);
        all_ps += time;
        if time > 0 && is_weak(db) {
            weak_ps += time;
            let first = Time::ZERO + Duration::from_ps(from);
            found = found.or(Some(Weak { seconds: 0.0, first, db, is_always: false }));
        }
    }
    let seconds = Duration::from_ps(weak_ps).as_secs_f64();
    found.map(|found| Weak { seconds, is_always: weak_ps == all_ps, ..found })
}

/// Returns the first request that can have something to ask for, and the time to its grant. `None` for a terminal that
/// has slots without it.
fn first_grant(terminal: &Terminal, medium: &Medium, [place, all]: [u64; 2]) -> Option<Late> {
    let grant = medium.request_to_grant()?;
    let superframe = match &medium.kind {
        MediumKind::LeoCell(keys) => keys.frame,
        MediumKind::Tdm(_) => return None,
        MediumKind::MfTdma(keys) => {
            let access = &terminal.access;
            let random = access.random.unwrap_or(RandomUse::None);
            if access.sum(|class| class.constant) > Rate::from_bps(0)
                || keys.free == Free::All
                || random == RandomUse::Data
            {
                return None;
            }
            if random == RandomUse::None {
                // The slots of terminals are spread over the interval. At the start of the run nothing waits.
                let every = keys.grid().superframes_in(keys.control_interval.every()?).max(1);
                let after = every - place * every / all.max(1) % every;
                return Some(Late { asks: keys.superframe.saturating_mul(after), grant });
            }
            keys.superframe
        }
    };
    Some(Late { asks: superframe, grant })
}
