//! A cell of satellites in low orbit in the most obvious form: requests in a list, plans slot by slot, all other users of
//! the run in another list. It shares no code with the component that the simulator uses.

use super::link::NaiveWindow;
use bentpipe_access::{Asked, Demand, MediumCounters};
use bentpipe_model::ids::{LinkId, MediumId, NodeId};
use bentpipe_model::spec::{ComingUsers, LeoCell, Medium, Others, Scenario};
use bentpipe_units::{Duration, Rate, Stream, Time};
use std::collections::BTreeMap;

/// Life of a request at the controller.
const LIFE: Duration = Duration::from_millis(1100);

/// A direction of a cell.
#[derive(Debug)]
pub(super) struct NaiveCell {
    cell: LeoCell,
    payload: u64,
    /// Frames from a request to the plan, and from the plan to its frame. `None`: the controller sees the queues.
    way: Option<[u64; 2]>,
    users: Vec<User>,
    others: Box<[Stay]>,
    frame: u64,
    /// Requests on their way: the frame in which each is read, its user, bytes, and whether it replaces earlier ones.
    requests: Vec<(u64, usize, u64, bool)>,
    /// Slots of each planned frame with their users. `None`: empty, or of another user.
    plans: BTreeMap<u64, Vec<Option<usize>>>,
    pub(super) counters: MediumCounters,
}

/// A link in the cell, as it and the controller know it.
#[derive(Debug)]
struct User {
    weight: u32,
    is_up: bool,
    /// The frame when it was seen to be down, and the bytes that it had asked for then.
    left: Option<(u64, u64)>,
    /// Bytes asked for and not granted, the frame of the last request, and whether the next one asks for all that waits.
    asked: u64,
    asked_at: u64,
    is_absolute: bool,
    /// Bytes that the controller has to grant, until a frame.
    wanted: u64,
    until: u64,
    /// Its slots in this frame.
    slots: Vec<usize>,
}

/// The stay of another user, in seconds, and the number of users that it stands for.
#[derive(Debug)]
struct Stay {
    from: f64,
    to: f64,
    count: usize,
}

impl NaiveCell {
    /// Returns a cell and its links.
    pub(super) fn of(scenario: &Scenario, (id, cell): (MediumId, &LeoCell), seed: u64) -> (Self, Vec<LinkId>) {
        let Medium { name, controller, there, back, .. } = &scenario.media[id];
        let frames = |span: Duration| span.as_ps().div_ceil(cell.frame.as_ps());
        let all = LinkId::all(scenario.links.len()).zip(&scenario.links);
        let (mut links, mut users, mut asks) = (Vec::new(), Vec::new(), false);
        for (link, spec) in all {
            let Some(terminal) = spec.terminal.as_ref().filter(|of| of.medium == id) else { continue };
            let from: NodeId = spec.from;
            asks |= from != *controller;
            links.push(link);
            users.push(User {
                weight: terminal.access.weight,
                is_up: true,
                left: None,
                asked: 0,
                asked_at: 0,
                is_absolute: false,
                wanted: 0,
                until: 0,
                slots: Vec::new(),
            });
        }
        let bits = u128::from(cell.rate.as_bps()) * u128::from(cell.frame.as_ps() + 1) / 1_000_000_000_000;
        let end = scenario.duration.as_secs_f64();
        let cell = Self {
            payload: bits as u64 / 8 / u64::from(cell.slots),
            way: asks.then(|| [1 + frames(*there), frames(cell.control_delay + *back)]),
            users,
            others: stays(cell.others.as_ref(), &format!("medium/{name}"), seed, end).into(),
            cell: cell.clone(),
            frame: 0,
            requests: Vec::new(),
            plans: BTreeMap::new(),
            counters: MediumCounters::default(),
        };
        (cell, links)
    }

    fn start(&self, frame: u64) -> Time {
        Time::from_ps(self.cell.frame.as_ps() * frame)
    }

    /// Begins the next frame. Returns the start of the frame after it.
    pub(super) fn advance(&mut self, demands: &[Demand]) -> Time {
        let [to_plan, to_grant] = self.way.unwrap_or([1, 0]);
        let frame = self.frame;
        if frame == 0 {
            (0..to_grant).for_each(|early| self.plan(early, early));
        }
        for (number, demand) in demands.iter().enumerate() {
            if demand.is_up != self.users[number].is_up {
                if !demand.is_up {
                    self.users[number].left = Some((frame, self.open_bytes(number)));
                }
                let user = &mut self.users[number];
                (user.is_up, user.asked, user.is_absolute, user.wanted) = (demand.is_up, 0, true, 0);
                if let (Some(handed), Some(_)) = (demand.handed, self.way) {
                    (user.asked, user.asked_at, user.is_absolute) = (handed.volume, frame, false);
                    (user.wanted, user.until) = (handed.volume, frame + LIFE.as_ps().div_ceil(self.cell.frame.as_ps()));
                }
            }
        }
        self.read(frame);
        if self.way.is_none() {
            for (user, demand) in self.users.iter_mut().zip(demands) {
                (user.wanted, user.until) = (with_overhead(demand.backlog()), frame + 1);
            }
        }
        self.plan(frame, frame + to_grant);
        self.open(frame);
        if self.way.is_some() {
            let requests = u64::from(self.cell.requests);
            for (user, demand) in demands.iter().enumerate().filter(|(_, demand)| demand.is_up) {
                self.forget_old(frame, to_plan + to_grant, user);
                if (user as u64 + frame) % requests == 0 {
                    self.ask(frame, frame + to_plan, user, demand.backlog());
                }
            }
        }
        for user in &mut self.users {
            user.asked = user.asked.saturating_sub(self.payload * user.slots.len() as u64);
        }
        self.frame += 1;
        self.start(self.frame)
    }

    /// Whether a user was up in the last frame.
    pub(super) fn was_up(&self, user: usize) -> bool {
        self.users[user].is_up
    }

    /// The open request of a user that is down at `now`, and the time when it went down.
    pub(super) fn left(&self, now: Time, user: usize) -> Option<(Time, Asked)> {
        let none = Rate::from_bps(0);
        if self.users[user].is_up {
            return Some((now, Asked { rate: none, volume: self.open_bytes(user) }));
        }
        let (frame, volume) = self.users[user].left?;
        let lapses = self.start(frame + LIFE.as_ps().div_ceil(self.cell.frame.as_ps()));
        (now < lapses).then(|| (self.start(frame), Asked { rate: none, volume }))
    }

    /// Bytes that a user asked for: known to the controller, on their way to it, and in slots of frames to come.
    fn open_bytes(&self, user: usize) -> u64 {
        let User { wanted, until, .. } = self.users[user];
        let mut bytes = if self.frame < until { wanted } else { 0 };
        for &(_, _, more, is_absolute) in self.requests.iter().filter(|request| request.1 == user) {
            bytes = if is_absolute { more } else { bytes + more };
        }
        let slots = self.plans.range(self.frame..).flat_map(|(_, slots)| slots);
        bytes + self.payload * slots.filter(|slot| **slot == Some(user)).count() as u64
    }

    /// Reads the requests that arrive in this frame.
    fn read(&mut self, frame: u64) {
        for &(at, user, bytes, is_absolute) in &self.requests {
            let user = &mut self.users[user];
            if at != frame || !user.is_up {
                continue;
            }
            if is_absolute || frame >= user.until {
                user.wanted = 0;
            }
            user.wanted += bytes;
            user.until = frame + LIFE.as_ps().div_ceil(self.cell.frame.as_ps());
        }
        self.requests.retain(|request| request.0 > frame);
    }

    /// Gives the slots of a frame in turn.
    fn plan(&mut self, now: u64, governed: u64) {
        let at = self.start(governed).as_secs_f64();
        let others: usize = self.others.iter().filter(|stay| stay.from <= at && at < stay.to).map(|of| of.count).sum();
        let count = self.users.len() + others;
        let mut wants = vec![u64::MAX; count];
        let mut given = vec![0_u64; count];
        for (number, (user, want)) in self.users.iter_mut().zip(&mut wants).enumerate() {
            if now >= user.until {
                user.wanted = 0;
            }
            let has_turn = (number as u64 + governed) % u64::from(self.cell.turn) == 0;
            *want =
                if user.is_up && has_turn { user.wanted.div_ceil(self.payload).min(self.cell.slots.into()) } else { 0 };
        }
        for (other, want) in wants.iter_mut().enumerate().take(count).skip(self.users.len()) {
            if (other as u64 + governed) % u64::from(self.cell.turn) > 0 {
                *want = 0;
            }
        }
        let first = governed as usize % count.max(1);
        let mut left = self.cell.slots;
        while left > 0 && given.iter().zip(&wants).any(|(given, want)| given < want) {
            for user in (first..count).chain(0..first) {
                for _ in 0..self.users.get(user).map_or(1, |user| user.weight) {
                    if left > 0 && given[user] < wants[user] {
                        (given[user], left) = (given[user] + 1, left - 1);
                    }
                }
            }
        }
        let mut slots = Vec::new();
        for user in (first..count).chain(0..first) {
            let known = Some(user).filter(|user| *user < self.users.len());
            slots.extend((0..given[user]).map(|_| known));
        }
        for (user, given) in self.users.iter_mut().zip(given) {
            user.wanted = user.wanted.saturating_sub(self.payload * given);
        }
        self.plans.insert(governed, slots);
    }

    /// Opens the slots of a frame for users whose link is up.
    fn open(&mut self, frame: u64) {
        let plan = self.plans.remove(&frame).expect("each frame has a plan");
        for (number, user) in self.users.iter_mut().enumerate() {
            let is_of = |slot: &usize| user.is_up && plan[*slot] == Some(number);
            user.slots = (0..plan.len()).filter(is_of).collect();
            self.counters.granted_slots += user.slots.len() as u64;
            self.counters.granted_bytes += self.payload * user.slots.len() as u64;
        }
    }

    /// Forgets what a user asked for long ago, so that it asks for all that waits.
    fn forget_old(&mut self, frame: u64, round: u64, number: usize) {
        let user = &mut self.users[number];
        if user.asked > 0 && frame > user.asked_at + round + u64::from(self.cell.turn) {
            (user.asked, user.is_absolute) = (0, true);
        }
    }

    /// Sends the request of a user for its waiting bytes, without those asked for before.
    fn ask(&mut self, frame: u64, read: u64, number: usize, backlog: u64) {
        let user = &mut self.users[number];
        let missing = if backlog == 0 { 0 } else { with_overhead(backlog).saturating_sub(user.asked) };
        if missing == 0 {
            return;
        }
        // 256 units of 1 B, 8 B, 64 B or 512 B.
        let unit = [1, 8, 64].into_iter().find(|unit| missing <= 256 * unit).unwrap_or(512);
        let bytes = (missing.div_ceil(unit) * unit).min(131_072);
        self.requests.push((read, number, bytes, user.is_absolute));
        (user.asked, user.asked_at, user.is_absolute) = (user.asked + bytes, frame, false);
        self.counters.requests_in_control += 1;
    }

    /// Returns the window of a link in the frame that began last.
    pub(super) fn windows(&self, user: usize) -> Vec<NaiveWindow> {
        let slots = &self.users[user].slots;
        if slots.is_empty() {
            return Vec::new();
        }
        let start = self.start(self.frame - 1);
        let (frame, count) = (u128::from(self.cell.frame.as_ps()), u128::from(self.cell.slots));
        let edge = |slot: usize| start + Duration::from_ps((frame * slot as u128 / count) as u64);
        let bursts = slots.iter().map(|&slot| (edge(slot), edge(slot + 1), false)).collect();
        vec![NaiveWindow { bursts, payload: self.payload, reserved: 0, waveform: None }]
    }
}

/// Returns the bytes that carry these: a tenth more.
fn with_overhead(bytes: u64) -> u64 {
    (bytes * 11).div_ceil(10)
}

/// Returns all stays of other users in a run that ends at `end`, in seconds.
fn stays(others: Option<&Others>, name: &str, seed: u64, end: f64) -> Vec<Stay> {
    match others {
        None | Some(Others::Trace(_)) => Vec::new(),
        Some(Others::Points(points)) => {
            let round = points.every.unwrap_or(Duration::MAX);
            let (mut stays, mut begins) = (Vec::new(), Duration::ZERO);
            while begins.as_secs_f64() < end + 1.0 {
                let from = |&(at, _): &(Time, u32)| (at + begins).as_secs_f64();
                let next = begins + round;
                let ends = points.points[1..].iter().map(from).chain([next.as_secs_f64()]);
                let each = points.points.iter().zip(ends);
                stays.extend(each.map(|(point, to)| Stay { from: from(point), to, count: point.1 as usize }));
                begins = next;
            }
            stays
        }
        Some(&Others::Coming(ComingUsers { active, holding })) => {
            let (mut stream, holding) = (Stream::new(seed, name, "others"), holding.as_secs_f64());
            let mut exponential = |draw: u64| -libm::log(stream.uniform_positive(draw)) * holding;
            let (mut stays, mut from) = (Vec::new(), -30.0 * holding);
            for user in 0.. {
                from += exponential(2 * user) / active;
                // Plans are made a second ahead at most.
                if active == 0.0 || from > end + 1.0 {
                    break;
                }
                stays.push(Stay { from, to: from + exponential(2 * user + 1), count: 1 });
            }
            stays
        }
    }
}
