//! Paths in slots: delay, losses and rate that change together at fixed instants.

use super::{Bursts, ErrorModel, ErrorUnit, Link, Profile};
use bentpipe_units::settings::Chance;
use bentpipe_units::{settings, words, Duration, Rate, Stream, Time};
use std::sync::OnceLock;

settings! {
    /// Path in slots, as of a satellite network that assigns satellites and capacity at fixed instants. Each slot is a
    /// measured one, drawn with replacement, so its base, waits, losses and rate belong together. Both directions
    /// of a link have the same slots and waits. Packets never overtake.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Slots {
        /// Bundled table of measured slots, in place of `rows`.
        table: Option<SlotTable>;
        /// Measured slots.
        rows: Vec<Slot> = Vec::new();
        /// Length of a slot.
        every: Duration;
        /// Instant when a slot ends, from the start of the run.
        offset: Duration = Duration::ZERO;
        /// Number of measured slots that keep their order: the next ones are drawn together. Neighbours are alike.
        neighbours: u32 = 4, [1, 10_000];
        /// Time for which a wait holds. Default: fifteen frames of 4/3 ms.
        hold: Duration = Duration::from_millis(20), "frames of Starlink";
        /// Time after which the correlation of the process behind slow waits has fallen to 1/e.
        correlation: Duration = Duration::from_millis(250), "fitted to pings over Starlink, 2024";
        /// Mean time of a loss: all packets that leave in it are lost. 0 s: each packet is lost by itself.
        burst: Duration = Duration::from_millis(2), "losses of an upload over Starlink, 2023";
        /// Whether the base of each slot counts. Otherwise slots have their waits only, as where the length of the path
        /// follows from a sky.
        base: bool = true;
    }
}

settings! {
    /// Measured slot. Its delays are those of one direction, in addition to the delay of the link.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Slot {
        /// Least delay.
        base: Duration = Duration::ZERO;
        /// Waits above the base that are not exceeded in 0, 1, 5, 25, 50, 75, 95, 99, 99.9 and 100 % of the time.
        wait: Vec<Duration>;
        /// Share of the time with slow waits. They are the longest of the slot, and follow each other.
        slow: f64 as Chance = 0.0;
        /// Probability that a packet is lost: the share of the time with losses.
        loss: f64 as Chance = 0.0;
        /// Rate, as a share of that of the link.
        rate: f64 as Chance = 1.0;
    }
}

words! {
    /// Bundled table of measured slots.
    pub enum SlotTable {
        /// 108 slots of 15 s of pings from Victoria to Seattle over Starlink, December 2024 (Z. Zhao and J. Pan, LEO
        /// live streaming). They lose 0.2 % of the packets of a direction, as TCP did in 2023, in the shares of pings of
        /// that year (J. Zhao and J. Pan, MMSys 2024) by rank of the wait.
        "starlink-2024" => Starlink2024,
    }
}

/// Shares of the time in which the waits of a slot are not exceeded.
pub const SHARES: [f64; 10] = [0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999, 1.0];

/// Share of the variance of ordinary waits that follows the process behind the slow ones.
pub const COMMON: f64 = 0.1;

impl SlotTable {
    /// Returns the slots of the table, in order of measurement.
    fn rows(self) -> &'static [Slot] {
        static STARLINK_2024: OnceLock<Vec<Slot>> = OnceLock::new();
        match self {
            Self::Starlink2024 => STARLINK_2024.get_or_init(|| parsed(include_str!("slots/starlink-2024.csv"))),
        }
    }
}

/// Returns the slots of a bundled table: base, waits, share of slow waits, loss.
fn parsed(text: &str) -> Vec<Slot> {
    let lines = text.lines().filter(|line| !line.starts_with(['#', 'b']));
    let slot = |line: &str| {
        let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().expect("a bundled table has numbers")).collect();
        let ms = |value: &f64| Duration::from_secs_f64(value / 1e3);
        let wait = cells[1..=SHARES.len()].iter().map(ms).collect();
        Slot { base: ms(&cells[0]), wait, slow: cells[SHARES.len() + 1], loss: cells[SHARES.len() + 2], rate: 1.0 }
    };
    lines.map(slot).collect()
}

impl Slots {
    /// Returns the measured slots.
    pub(crate) fn slots(&self) -> &[Slot] {
        match self.table {
            Some(table) => table.rows(),
            None => &self.rows,
        }
    }

    /// Whether some slots lose packets, and whether some have a lower rate.
    pub fn changes(&self) -> (bool, bool) {
        let slots = self.slots();
        (slots.iter().any(|slot| slot.loss > 0.0), slots.iter().any(|slot| slot.rate < 1.0))
    }

    /// Returns the number of the slot at an instant, from 0, and its begin and end.
    pub fn number(&self, at: Time) -> (u64, Time, Time) {
        let first = Time::ZERO + Duration::from_ps(self.offset.as_ps() % self.every.as_ps().max(1));
        if at < first {
            return (0, Time::ZERO, first);
        }
        let whole = at.saturating_since(first).as_ps() / self.every.as_ps().max(1);
        (whole + 1, first + self.every * whole, first + self.every * (whole + 1))
    }
}

impl Slot {
    /// Returns the delay that is not exceeded in this share of the time, 0 to 1.
    pub fn delay(&self, share: f64, has_base: bool) -> Duration {
        let above = SHARES.partition_point(|known| *known < share).clamp(1, SHARES.len() - 1);
        let part = (share - SHARES[above - 1]) / (SHARES[above] - SHARES[above - 1]);
        let (from, to) = (self.wait[above - 1], self.wait[above]);
        let wait = from + Duration::from_ps((to.saturating_sub(from).as_ps() as f64 * part) as u64);
        if has_base {
            self.base + wait
        } else {
            wait
        }
    }
}

/// Draws of the slots of a link.
#[derive(Clone, Debug)]
pub struct SlotDraws(Stream);

impl SlotDraws {
    /// Returns the draws of a link, equal for both of its directions.
    pub fn new(link: &str, seed: u64) -> Self {
        Self(Stream::new(seed, &format!("link/{}", of_both(link)), "slots"))
    }

    /// Returns the slot of this number.
    pub fn slot<'a>(&mut self, slots: &'a Slots, number: u64) -> &'a Slot {
        let (all, neighbours) = (slots.slots(), u64::from(slots.neighbours).max(1));
        let first = self.0.below(number / neighbours, all.len() as u64);
        &all[((first + number % neighbours) % all.len() as u64) as usize]
    }
}

/// Returns the name of a link without its direction.
pub fn of_both(link: &str) -> &str {
    link.rsplit_once('.').map_or(link, |(both, _)| both)
}

impl Link {
    /// Returns the link with the losses and the rate of its slots in a run that ends at `end`.
    pub fn in_slots(&self, seed: u64, end: Time) -> Self {
        let mut drawn = self.clone();
        let Some(slots) = &self.slots else { return drawn };
        let (loses, slows) = slots.changes();
        let mut draws = SlotDraws::new(&self.name, seed);
        let mut shares: Vec<(Time, f64, f64)> = Vec::new();
        let mut at = Time::ZERO;
        while at <= end && (loses || slows) {
            let (number, _, to) = slots.number(at);
            let slot = draws.slot(slots, number);
            shares.push((at, slot.loss, slot.rate));
            at = to;
        }
        if loses {
            let points = shares.iter().map(|(at, loss, _)| (*at, *loss)).collect();
            let rates = Profile::Points { points, linear: false, period: None };
            drawn.error = match slots.burst {
                Duration::ZERO => ErrorModel::Profile { unit: ErrorUnit::Packet, rates },
                mean => {
                    let most = slots.slots().iter().map(|slot| slot.loss).fold(0.0, f64::max);
                    ErrorModel::Bursts(Bursts { mean, most, rates })
                }
            };
        }
        if slows {
            drawn.rate = slowed(&self.rate, &shares, end);
        }
        drawn
    }
}

/// Returns a rate times a share that changes at these instants.
fn slowed(rate: &Profile<Rate>, shares: &[(Time, f64, f64)], end: Time) -> Profile<Rate> {
    let mut own: Vec<(Time, Rate)> = Vec::new();
    let mut round = Time::ZERO;
    while round <= end {
        own.extend(rate.points().map(|(at, value)| (round + (at - Time::ZERO), value)));
        match rate.period() {
            Some(period) => round += period,
            None => break,
        }
    }
    let mut instants: Vec<Time> = own.iter().map(|point| point.0).chain(shares.iter().map(|share| share.0)).collect();
    instants.sort_unstable();
    instants.dedup();
    let value = |at: Time| {
        let rate = own[own.partition_point(|point| point.0 <= at) - 1].1;
        let share = shares[shares.partition_point(|share| share.0 <= at) - 1].2;
        Rate::from_bps((rate.as_bps() as f64 * share) as u64)
    };
    let points = instants.into_iter().map(|at| (at, value(at))).collect();
    Profile::Points { points, linear: false, period: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    fn starlink() -> Slots {
        Slots {
            table: Some(SlotTable::Starlink2024),
            rows: Vec::new(),
            every: Duration::from_secs(15),
            offset: Duration::from_secs(27),
            neighbours: 4,
            hold: Duration::from_millis(20),
            correlation: Duration::from_millis(250),
            burst: Duration::from_millis(3),
            base: true,
        }
    }

    #[test]
    fn the_bundled_table_has_measured_slots() {
        let slots = SlotTable::Starlink2024.rows();
        assert!(slots.len() > 100);
        for slot in slots {
            assert!(slot.wait.len() == SHARES.len() && slot.wait.is_sorted(), "{slot:?}");
            assert!((0.0..0.2).contains(&slot.slow) && (0.0..0.1).contains(&slot.loss), "{slot:?}");
        }
        assert!(slots.iter().any(|slot| slot.base == Duration::ZERO));
    }

    /// The slots of a short run may lose less than those that follow. Its bursts are those of the longer run.
    #[test]
    fn a_longer_run_begins_with_the_same_bursts() {
        let plain = Link::plain(Rate::from_bps(1_000_000), Duration::ZERO);
        let link = Link { slots: Some(std::sync::Arc::new(starlink())), ..plain };
        let [short, long] = [20, 3600].map(|end| match link.in_slots(1, s(end)).error {
            ErrorModel::Bursts(bursts) => bursts,
            other => panic!("{other:?}"),
        });
        let largest = |bursts: &Bursts| bursts.rates.values().fold(0.0, f64::max);
        assert!(largest(&short) < largest(&long));
        assert_eq!((short.stays(), short.most), (long.stays(), long.most));
    }

    #[test]
    fn a_rate_times_shares_changes_at_the_points_of_both() {
        let mbit = |value: u64| Rate::from_bps(value * 1_000_000);
        let rate = Profile::Points {
            points: vec![(s(0), mbit(10)), (s(6), mbit(20))],
            linear: false,
            period: Some(Duration::from_secs(10)),
        };
        let Profile::Points { points, .. } = slowed(&rate, &[(s(0), 0.0, 1.0), (s(4), 0.0, 0.5)], s(12)) else {
            panic!()
        };
        let expected = [(0, 10), (4, 5), (6, 10), (10, 5), (16, 10)].map(|(at, value)| (s(at), mbit(value)));
        assert_eq!(points, expected);
    }

    /// Steps of the lower quartile between slots have the measured size, as three of four neighbours are those of the trace.
    #[test]
    fn most_neighbours_are_those_of_the_measurement() {
        let level = |slot: &Slot| (slot.base + slot.wait[3]).as_secs_f64() * 1e3;
        let step = |levels: &[f64]| {
            let mut steps: Vec<f64> = levels.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
            steps.sort_by(f64::total_cmp);
            steps[steps.len() / 2]
        };
        let measured = step(&SlotTable::Starlink2024.rows().iter().map(level).collect::<Vec<_>>());
        let drawn = |neighbours: u32| {
            let slots = Slots { neighbours, ..starlink() };
            let mut draws = SlotDraws::new("l.forward", 1);
            step(&(0..20_000).map(|k| level(draws.slot(&slots, k))).collect::<Vec<_>>())
        };
        assert!((drawn(4) / measured - 1.0).abs() < 0.25, "{} {measured}", drawn(4));
        assert!(drawn(1) > 1.5 * measured, "{} {measured}", drawn(1));
    }

    #[test]
    fn slots_begin_at_their_offset() {
        let slots = starlink();
        let found = [0, 11, 12, 26, 27].map(|at| slots.number(s(at)));
        let expected = [(0, 0, 12), (0, 0, 12), (1, 12, 27), (1, 12, 27), (2, 27, 42)];
        assert_eq!(found, expected.map(|(number, from, to)| (number, s(from), s(to))));
    }
}
