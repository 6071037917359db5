//! A cell of satellites in low orbit: a medium with short frames and a fixed rate.
//!
//! Measurements of Starlink show its frames (T. Humphreys et al. 2023). Its requests and grants are not published: the
//! slots, the controller and a request in each frame are a reading.

use bentpipe_units::{either, settings, Duration, Rate, Time};

/// Default of `control_delay`.
pub const CONTROL_DELAY: Duration = Duration::from_micros(500);

settings! {
    /// One direction of a cell of satellites in low orbit: each frame has equal slots, which the users take in turn. If the
    /// links start at the controller, it sees their queues. Otherwise they ask for the bytes that wait.
    #[derive(Clone, Debug, PartialEq)]
    pub struct LeoCell {
        /// Bit rate of the cell.
        rate: Rate;
        /// Length of a frame, the time between two plans, 0.1 ms or more.
        frame: Duration = Duration::from_ps(1_333_333_333), "Starlink: 750 frames a second, T. Humphreys et al. 2023";
        /// Slots of a frame.
        slots: u32 = 12, [1, 10_000], "reading: not published";
        /// Frames from one turn of a user to its next. With 1, a user may have slots in each frame.
        turn: u32 = 1, [1, 1000], "reading: not published";
        /// Frames from one request of a terminal to its next. Only for links that ask.
        requests: u32 = 1, [1, 1000], "reading: not published";
        /// Node that makes the plans: the satellite, or the gateway. In `[sky]`, `{satellite}` is that of
        /// the medium.
        controller: String;
        /// Time from a plan to the moment when it is sent. Only for links that ask.
        control_delay: Duration = CONTROL_DELAY, "reading: not published";
        /// Whether a terminal whose node was in another such medium before keeps its requests. Otherwise it starts
        /// without requests. Only for links that ask.
        hands_over: bool = false;
        /// Further users, which always have data. Default: none.
        others: Option<Others>;
    }
}

either! {
    /// Number of further users over time.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Others {
        /// Users that come and go at random.
        Coming(ComingUsers);
        /// Number by points.
        Points(UserPoints);
        /// Number from a file.
        Trace(UserTrace);
    }
}

settings! {
    /// Users that come at random instants (Poisson) and stay for exponential times.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ComingUsers {
        /// Mean number of users.
        active: f64, [0.0, 1000.0];
        /// Mean stay, 1 ms or more.
        holding: Duration;
    }
}

settings! {
    /// Number of users that changes in steps.
    #[derive(Clone, Debug, PartialEq)]
    pub struct UserPoints {
        /// Pairs of instant and number, increasing in time, the first at 0 s. Each number holds until the next instant.
        points: Vec<(Time, u32)>, [1];
        /// Period after which the points repeat. Default: no repetition; the last point holds.
        every: Option<Duration>;
    }
}

settings! {
    /// Measured number of users.
    #[derive(Clone, Debug, PartialEq)]
    pub struct UserTrace {
        /// CSV file beside the scenario or in a folder there. The resolved scenario contains its content as points.
        file: String;
        /// Name of the column with the number. Default: the only column beside the time.
        column: Option<String>;
        /// Period after which the values repeat. Default: no repetition; the last value holds.
        every: Option<Duration>;
    }
}

impl LeoCell {
    /// Returns the cell for the component of the access crate.
    pub fn parameters(&self, there: Duration, back: Duration) -> bentpipe_access::LeoCell {
        bentpipe_access::LeoCell {
            rate: self.rate,
            frame: self.frame,
            slots: self.slots,
            turn: self.turn,
            requests: self.requests,
            control_delay: self.control_delay,
            to_controller: there,
            to_terminal: back,
            others: self.others.as_ref().and_then(Others::users),
            ..bentpipe_access::LeoCell::default()
        }
    }

    /// Returns the bytes of a slot.
    pub fn payload(&self) -> u32 {
        self.parameters(Duration::ZERO, Duration::ZERO).payload()
    }

    /// Returns the rate that one user has alone, that of all slots in its turns, rounded down.
    pub fn rate_alone(&self) -> Rate {
        let bits = 8 * u128::from(self.slots) * u128::from(self.payload());
        let turn = u128::from(self.frame.as_ps().max(1)) * u128::from(self.turn.max(1));
        let rate = bits * 1_000_000_000_000 / turn;
        Rate::from_bps(u64::try_from(rate).unwrap_or(u64::MAX))
    }
}

impl Others {
    /// Returns the users for the component of the access crate. A file is read before: its content is in points.
    fn users(&self) -> Option<bentpipe_access::OtherUsers> {
        match self {
            &Self::Coming(ComingUsers { active, holding }) => {
                Some(bentpipe_access::OtherUsers::Coming { active, holding })
            }
            Self::Points(UserPoints { points, every }) => {
                Some(bentpipe_access::OtherUsers::Points { points: points.clone(), every: *every })
            }
            Self::Trace(_) => None,
        }
    }
}
