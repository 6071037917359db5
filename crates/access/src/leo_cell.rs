//! A cell of satellites in low orbit: short frames, a fixed rate, and other users that come and go.

use bentpipe_units::{Duration, Rate, Stream, Time};

/// One direction of a cell. How such a cell is scheduled has not been published: slots, delay and requests are readings.
#[derive(Clone, Debug, PartialEq)]
pub struct LeoCell {
    /// Rate of the cell.
    pub rate: Rate,
    /// Length of a frame, T.
    pub frame: Duration,
    /// Slots of a frame.
    pub slots: u32,
    /// Frames from one turn of a user to its next.
    pub turn: u32,
    /// Frames from one request of a terminal to its next.
    pub requests: u32,
    /// Time from reading requests to sending the plan, c.
    pub control_delay: Duration,
    /// Factor on bytes asked for.
    pub overhead: f64,
    /// Life of a request at the controller.
    pub persistence: Duration,
    /// Longest propagation from a terminal to the controller, P.
    pub to_controller: Duration,
    /// Longest propagation from the controller to a terminal, P'.
    pub to_terminal: Duration,
    /// Other users. `None`: the terminals have the cell for themselves.
    pub others: Option<OtherUsers>,
}

impl Default for LeoCell {
    fn default() -> Self {
        Self {
            rate: Rate::from_bps(300_000_000),
            frame: Duration::from_ps(1_333_333_333),
            slots: 12,
            turn: 1,
            requests: 1,
            control_delay: Duration::from_micros(500),
            overhead: 1.1,
            persistence: Duration::from_millis(1100),
            to_controller: Duration::ZERO,
            to_terminal: Duration::ZERO,
            others: None,
        }
    }
}

impl LeoCell {
    /// Returns the bytes of a slot. The frame of 4/3 ms is short of a third of a picosecond, which must not cost a byte.
    pub fn payload(&self) -> u32 {
        let bytes = self.rate.bytes_in(self.frame + Duration::from_ps(1)) / u64::from(self.slots.max(1));
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }
}

/// Further terminals, which always have data.
#[derive(Clone, Debug, PartialEq)]
pub enum OtherUsers {
    /// They come at random (Poisson) and stay for exponential times.
    Coming {
        /// Mean number of them.
        active: f64,
        /// Mean stay.
        holding: Duration,
    },
    /// Their number over time.
    Points {
        /// Number from each instant on, in order of time.
        points: Vec<(Time, u32)>,
        /// Period after which the points repeat.
        every: Option<Duration>,
    },
}

/// Stays of other users.
#[derive(Clone, Debug)]
pub(crate) struct Others {
    users: OtherUsers,
    stream: Stream,
    /// Users that came so far, and the next arrival, in seconds.
    came: u64,
    arrives: f64,
    leaves: Vec<f64>,
}

/// Stays before the start of a run that are drawn, in mean stays: of a thousand users, 1e-10 would have stayed longer.
const PAST_STAYS: f64 = 30.0;

impl Others {
    pub(crate) fn new(users: &OtherUsers, name: &str, seed: u64) -> Self {
        let mut others = Self {
            users: users.clone(),
            stream: Stream::new(seed, name, "others"),
            came: 0,
            arrives: f64::INFINITY,
            leaves: Vec::new(),
        };
        if let OtherUsers::Coming { active, holding } = users {
            if *active > 0.0 && *holding > Duration::ZERO {
                // The run starts in the steady state: the users of the past have come, too.
                others.arrives = -PAST_STAYS * holding.as_secs_f64() + others.gap(*active, *holding);
            }
        }
        others
    }

    /// Draws the time to the next arrival, seconds.
    fn gap(&mut self, active: f64, holding: Duration) -> f64 {
        -libm::log(self.stream.uniform_positive(2 * self.came)) * holding.as_secs_f64() / active
    }

    /// Returns the users that are active at this instant. Instants must not decrease.
    pub(crate) fn active(&mut self, at: Time) -> u32 {
        let now = at.as_secs_f64();
        match &self.users {
            OtherUsers::Points { points, every } => {
                let every = every.map_or(u64::MAX, |every| every.as_ps().max(1));
                let in_round = Time::from_ps(at.as_ps() % every);
                let next = points.partition_point(|(from, _)| *from <= in_round);
                next.checked_sub(1).map_or(0, |point| points[point].1)
            }
            &OtherUsers::Coming { active, holding } => {
                while self.arrives <= now {
                    let stay = -libm::log(self.stream.uniform_positive(2 * self.came + 1)) * holding.as_secs_f64();
                    if self.arrives + stay > now {
                        self.leaves.push(self.arrives + stay);
                    }
                    self.came += 1;
                    self.arrives += self.gap(active, holding);
                }
                self.leaves.retain(|leaves| *leaves > now);
                self.leaves.len() as u32
            }
        }
    }
}
