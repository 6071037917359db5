//! A small simulation: queues of packets at terminals, without the propagation of packets.

use bentpipe_access::{
    Access, BurstLength, Capacity, Demand, MfTdma, Packed, Packer, RandomUse, SlottedMedium, Terminal,
};
use bentpipe_units::{Duration, Rate, Stream, Time};
use std::collections::VecDeque;

/// A packet that left its terminal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left {
    pub(crate) terminal: usize,
    /// Number of the packet at its terminal.
    pub(crate) number: usize,
    pub(crate) bytes: u32,
    pub(crate) wait: f64,
    pub(crate) at: Time,
    pub(crate) is_lost: bool,
}

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    number: usize,
    bytes: u32,
    came: Time,
}

#[derive(Default)]
struct Queue {
    packer: Packer,
    waiting: VecDeque<Waiting>,
    bytes: u64,
    arrived: u64,
    in_service: bool,
    count: usize,
}

pub(crate) struct Lab {
    pub(crate) medium: SlottedMedium,
    queues: Vec<Queue>,
    demands: Vec<Demand>,
    now: Time,
    pub(crate) left: Vec<Left>,
    /// An outage of all links: from, to.
    pub(crate) down: Option<(Time, Time)>,
}

impl Lab {
    pub(crate) fn new(medium: SlottedMedium, terminals: usize, es_n0_db: f64) -> Self {
        let demand = Demand::of(0, 0, es_n0_db);
        let queues = (0..terminals).map(|_| Queue::default()).collect();
        Self { medium, queues, demands: vec![demand; terminals], now: Time::ZERO, left: Vec::new(), down: None }
    }

    /// Serves a queue at `now`.
    fn serve(&mut self, n: usize, now: Time) {
        let queue = &mut self.queues[n];
        while let Some(&packet) = queue.waiting.front() {
            let packed = match queue.in_service {
                true => queue.packer.resume(now, |_, _| None),
                false => queue.packer.offer(now.max(packet.came), packet.bytes, |_, _| None),
            };
            match packed {
                Packed::Sent { at, lost } => {
                    queue.waiting.pop_front();
                    queue.in_service = false;
                    queue.bytes -= u64::from(packet.bytes);
                    let wait = (at - packet.came).as_secs_f64();
                    let Waiting { number, bytes, .. } = packet;
                    self.left.push(Left { terminal: n, number, bytes, wait, at, is_lost: lost.is_some() });
                }
                Packed::Waits { .. } => {
                    queue.in_service = true;
                    return;
                }
            }
        }
    }

    /// Runs until `end`. `next` returns the next packet of a terminal: its instant and bytes, in order of time.
    pub(crate) fn run(&mut self, end: Time, mut next: impl FnMut(usize) -> Option<(Time, u32)>) {
        let mut coming: Vec<Option<(Time, u32)>> = (0..self.queues.len()).map(&mut next).collect();
        while self.medium.next_wakeup() < end {
            self.now = self.medium.next_wakeup();
            self.open(|_| 0);
            let ends = self.medium.next_wakeup();
            for (n, coming) in coming.iter_mut().enumerate() {
                while let Some((came, bytes)) = coming.filter(|(came, _)| *came < ends) {
                    self.push(n, came, bytes);
                    self.serve(n, came);
                    *coming = next(n);
                }
            }
        }
    }

    fn push(&mut self, n: usize, came: Time, bytes: u32) {
        let queue = &mut self.queues[n];
        queue.waiting.push_back(Waiting { number: queue.count, bytes, came });
        queue.count += 1;
        queue.bytes += u64::from(bytes);
        queue.arrived += u64::from(bytes);
    }

    /// Opens a superframe. `fill` returns packets of 1500 B to add to each queue before, which do not count as arrivals.
    fn open(&mut self, mut fill: impl FnMut(u64) -> u32) {
        let now = self.now;
        for n in 0..self.queues.len() {
            for _ in 0..fill(self.queues[n].bytes) {
                self.push(n, now, 1500);
                self.queues[n].arrived -= 1500;
            }
            let queue = &mut self.queues[n];
            let sent =
                queue.waiting.front().filter(|_| queue.in_service).map_or(0, |head| head.bytes - queue.packer.rest());
            let demand = &mut self.demands[n];
            demand.waiting[0].backlog = queue.bytes - u64::from(sent);
            demand.waiting[0].arrived = core::mem::take(&mut queue.arrived);
            demand.is_up = self.down.is_none_or(|(from, to)| now < from || now >= to);
        }
        self.medium.advance(&self.demands);
        for at in 0..self.medium.opened().len() {
            let n = self.medium.opened()[at] as usize;
            self.queues[n].packer.open(self.medium.windows(n));
            self.serve(n, now);
        }
    }

    /// Runs until `end` with `bytes` always waiting at each terminal, in packets of 1500 B.
    pub(crate) fn run_greedy(&mut self, end: Time, bytes: u64) {
        while self.medium.next_wakeup() < end {
            self.now = self.medium.next_wakeup();
            self.open(|waiting| ((bytes.saturating_sub(waiting)) / 1500) as u32);
        }
    }

    pub(crate) fn used_bytes(&self) -> u64 {
        self.queues.iter().map(|queue| queue.packer.counts().used).sum()
    }
}

/// The medium of the worked cases: 12 carriers of 1 Mbaud, 250 ms each way, waveform 7.
pub(crate) fn medium() -> MfTdma {
    let quarter = Duration::from_millis(250);
    MfTdma {
        carriers: 12,
        bursts: BurstLength::Short,
        to_controller: quarter,
        to_terminal: quarter,
        ..MfTdma::default()
    }
}

/// The signal that gives waveform 7.
pub(crate) const ES_N0: f64 = 9.0;

pub(crate) fn terminals(count: usize, access: Access) -> Vec<Terminal> {
    (0..count).map(|n| Terminal { name: format!("link/user{n}"), access }).collect()
}

pub(crate) fn kbps(rate: u64) -> Rate {
    Rate::from_bps(rate * 1000)
}

/// The access with changes of its class.
pub(crate) fn with(mut access: Access, of: impl FnOnce(&mut Capacity)) -> Access {
    of(&mut access.first);
    access
}

pub(crate) fn constant(rate: u64) -> Access {
    with(Access::default(), |first| (first.constant, first.rate_based) = (kbps(rate), kbps(rate)))
}

pub(crate) fn rate_based(rate: u64, random: RandomUse) -> Access {
    with(Access { random, ..Access::default() }, |first| first.rate_based = kbps(rate))
}

pub(crate) fn volume_based(random: RandomUse) -> Access {
    with(Access { random, ..Access::default() }, |first| first.volume_based = true)
}

pub(crate) fn seconds(seconds: f64) -> Time {
    Time::ZERO + Duration::from_secs_f64(seconds)
}

/// Draws exponential times of mean 1.
pub(crate) struct Exponential {
    stream: Stream,
    next: u64,
}

impl Exponential {
    pub(crate) fn new(seed: u64, name: &str) -> Self {
        Self { stream: Stream::new(seed, name, "traffic"), next: 0 }
    }

    pub(crate) fn draw(&mut self) -> f64 {
        self.next += 1;
        -self.stream.uniform_positive(self.next).ln()
    }
}

/// Mean and quantiles of waits, in ms.
pub(crate) struct Waits(Vec<f64>);

impl Waits {
    pub(crate) fn of(waits: impl Iterator<Item = f64>) -> Self {
        let mut all: Vec<f64> = waits.map(|wait| wait * 1e3).collect();
        all.sort_by(f64::total_cmp);
        assert!(!all.is_empty());
        Self(all)
    }

    pub(crate) fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    pub(crate) fn quantile(&self, share: f64) -> f64 {
        self.0[((self.0.len() - 1) as f64 * share).round() as usize]
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }
}
