//! Middleboxes of all nodes, and the packets between them. They receive the links, routes and hosts that they read or
//! change as arguments. The network carries out their actions.

use super::routes::Routes;
use super::trouble::{Failure, Trouble};
use crate::engine::{Schedule, Source};
use crate::link::{LazyLink, Losses};
use crate::traffic::Traffic;
use bentpipe_model::ids::{LinkId, NodeId, PathId};
use bentpipe_model::middlebox::{
    Action, AnyMiddlebox, Context, LinkView, Middlebox, Outbox, Outlook, QueueView, HELD_MAX,
};
use bentpipe_model::packet::{Bodies, Packet, Request, UNROUTED};
use bentpipe_model::spec::Scenario;
use bentpipe_units::{Duration, Time};
use std::collections::VecDeque;

/// Limit of wake-ups of a node at one instant. Above it, the middlebox fails.
const WAKE_UPS_MAX: u32 = 1_000_000;
/// Limit of rounds of steps at one instant, each caused by the round before. Above it, the middlebox fails.
const FOLLOWING_MAX: u32 = 100_000;
/// Limit of waiting steps at one instant. Above it, the middlebox fails. A sender may have a window of a gigabyte, and a
/// middlebox may double it.
const WAITING_MAX: usize = 4_000_000;

/// The state of a node.
#[derive(Debug, Default)]
struct NodeState {
    /// In order along a flow.
    boxes: Vec<AnyMiddlebox>,
    /// Links whose queues the middleboxes watch.
    watches: Vec<Watch>,
    /// The instant of its schedule entry.
    armed: Time,
    /// The instant of the last wake-up; wake-ups at this instant before it.
    woken: (Time, u32),
}

/// A packet before one of its node's middleboxes, by position. Behind the last, it leaves the node.
pub(super) type BoxStep = (NodeId, usize, Packet);

/// Packets between middleboxes at this instant. A round is the steps that the round before it caused.
#[derive(Debug, Default)]
struct Turns {
    waiting: VecDeque<BoxStep>,
    /// Whether steps are taken now: new steps wait their turn.
    are_taken: bool,
    /// The last middlebox that made or turned a packet since the steps began.
    maker: Option<(NodeId, usize)>,
    rounds: u32,
    left_in_round: usize,
}

impl Turns {
    /// Begins the first round, of the steps that wait.
    fn begin(&mut self) {
        (self.are_taken, self.maker) = (true, None);
        (self.rounds, self.left_in_round) = (0, self.waiting.len());
    }
}

/// A link whose departures middleboxes watch.
#[derive(Clone, Copy, Debug)]
struct Watch {
    link: LinkId,
    /// End of the current transmission, or [`Time::NEVER`].
    due: Time,
}

impl NodeState {
    /// A node with these middleboxes, which watch the queues of its outgoing links `out`.
    fn new(boxes: Vec<AnyMiddlebox>, out: Vec<LinkId>) -> Self {
        let watches = out.into_iter().map(|link| Watch { link, due: Time::NEVER }).collect();
        Self { boxes, watches, armed: Time::NEVER, woken: (Time::ZERO, 0) }
    }
}

/// Gives middleboxes their node and the satellites beside it. Of two paired middleboxes, the first gets the path and stream of the second,
/// and the second the stream.
pub(crate) fn introduce(scenario: &Scenario, boxes: &mut [Vec<AnyMiddlebox>]) {
    for node in NodeId::all(boxes.len()).filter(|&node| !scenario.nodes[node].middleboxes.is_empty()) {
        let satellites = scenario.satellites_beside(node);
        boxes[node].iter_mut().for_each(|middlebox| middlebox.meet(node, &satellites));
    }
    for pair in scenario.function_pairs() {
        boxes[pair.first.0][pair.first.1].serve(pair.path, pair.stream);
        boxes[pair.second.0][pair.second.1].expect(pair.stream);
    }
}

/// The outgoing links of a node, as its middleboxes see them.
pub(super) struct NodeOutlook<'a> {
    pub(super) now: Time,
    pub(super) node: NodeId,
    pub(super) links: &'a mut [LazyLink],
    pub(super) routes: &'a Routes,
    pub(super) scenario: &'a Scenario,
    pub(super) traffic: &'a Traffic,
    /// Losses of the links while they were read.
    pub(super) lost: Vec<(LinkId, Losses)>,
}

impl NodeOutlook<'_> {
    fn link_for(&mut self, packet: &Packet) -> Option<&mut LazyLink> {
        let id = self.link_of(packet)?;
        Some(self.advanced(id))
    }

    fn advanced(&mut self, id: LinkId) -> &mut LazyLink {
        let link = &mut self.links[id];
        let mut losses = Losses::new();
        link.advance(self.now, &mut losses);
        if !losses.is_empty() {
            self.lost.push((id, losses));
        }
        link
    }
}

impl Outlook for NodeOutlook<'_> {
    fn queue(&mut self, packet: &Packet) -> Option<QueueView> {
        let now = self.now;
        Some(self.link_for(packet)?.queue_view(now))
    }

    fn link_of(&mut self, packet: &Packet) -> Option<LinkId> {
        self.routes.link(packet.path(), self.node, packet.next)
    }

    fn link(&mut self, link: LinkId) -> LinkView {
        let (now, spec) = (self.now, &self.scenario.links[link]);
        let link = self.advanced(link);
        let (framing, room) = (spec.framing, spec.queue.room());
        LinkView { rate: link.rate_at(now), framing, room, queue: link.queue_view(now), up_at: link.gate.up_at(now) }
    }

    fn round_trip(&mut self, packet: &Packet) -> Option<Duration> {
        let mut sum = Duration::ZERO;
        for path in PathId::both(packet.lane()) {
            let [mut node, end] = self.scenario.ends(path);
            // A changing route may form a loop for some time.
            for _ in 0..self.scenario.nodes.len() {
                let Some(link) = self.routes.link(path, node, UNROUTED) else { break };
                sum += self.links[link].delay.at(self.now);
                node = self.scenario.links[link].to;
            }
            if node != end {
                return None;
            }
        }
        Some(sum)
    }

    fn next_node(&self, packet: &Packet) -> Option<NodeId> {
        self.routes.link(packet.path(), self.node, packet.next).map(|link| self.routes.far_end(link))
    }

    fn request(&self, packet: &Packet) -> Option<Request> {
        self.traffic.request_of(packet)
    }

    fn extract(&mut self, packet: &Packet, is_meant: &mut dyn FnMut(&mut Packet) -> bool, left: &mut Vec<Packet>) {
        if let Some(link) = self.link_for(packet) {
            link.extract(is_meant, left);
        }
    }
}

/// The middleboxes of all nodes, with their packets and actions.
#[derive(Debug)]
pub(super) struct Boxes {
    nodes: Vec<NodeState>,
    outbox: Outbox,
    turns: Turns,
    trouble: Option<Failure>,
}

impl Boxes {
    /// The middleboxes of each node, at the start of a run.
    pub(super) fn of(scenario: &Scenario, boxes: Vec<Vec<AnyMiddlebox>>) -> Self {
        let mut out = vec![Vec::new(); scenario.nodes.len()];
        for (id, link) in LinkId::all(scenario.links.len()).zip(&scenario.links) {
            // A link in a medium has no departures one by one.
            if link.terminal.is_none() && boxes[link.from].iter().any(Middlebox::watches_queues) {
                out[link.from].push(id);
            }
        }
        Self {
            nodes: boxes.into_iter().zip(out).map(|(boxes, out)| NodeState::new(boxes, out)).collect(),
            outbox: Outbox::default(),
            turns: Turns::default(),
            trouble: None,
        }
    }

    /// The middleboxes of each node.
    pub(super) fn all(&self) -> impl Iterator<Item = &[AnyMiddlebox]> {
        self.nodes.iter().map(|node| &node.boxes[..])
    }

    /// The middleboxes of a node, count.
    pub(super) fn count(&self, node: NodeId) -> usize {
        self.nodes[node].boxes.len()
    }

    /// Packets that middleboxes hold.
    pub(super) fn held(&self) -> usize {
        self.all().flatten().map(Middlebox::held).sum()
    }

    /// The first failure of a middlebox.
    pub(super) fn trouble(&self) -> Option<&Failure> {
        self.trouble.as_ref()
    }

    /// Whether packets take their steps now.
    pub(super) fn are_taking_steps(&self) -> bool {
        self.turns.are_taken
    }

    /// Returns the first step of a packet that enters a node, in its direction, and begins to take steps. `None`: steps are
    /// taken already, and this one waits its turn.
    pub(super) fn enter(&mut self, node: NodeId, packet: Packet) -> Option<BoxStep> {
        let first = if packet.is_to_sender() { self.count(node).wrapping_sub(1) } else { 0 };
        if self.turns.are_taken {
            self.turns.waiting.push_back((node, first, packet));
            return None;
        }
        self.turns.begin();
        Some((node, first, packet))
    }

    /// Puts a packet before the next middlebox of its node, or behind the last.
    pub(super) fn pass_on(&mut self, node: NodeId, position: usize, packet: Packet) {
        // In the direction of the packet; below zero wraps to "past the last".
        let next = if packet.is_to_sender() { position.wrapping_sub(1) } else { position + 1 };
        self.turns.waiting.push_back((node, next, packet));
    }

    /// Begins to take the steps that wait, and returns the first. `None`: there is none, or steps are taken already.
    pub(super) fn begin_steps(&mut self) -> Option<BoxStep> {
        if self.turns.are_taken {
            return None;
        }
        let first = self.turns.waiting.pop_front()?;
        self.turns.begin();
        Some(first)
    }

    /// Returns the next step. Without one, no more steps are taken. After a failure, all that wait are gone. Steps that cause
    /// each other without end are one.
    #[inline]
    pub(super) fn next_step(&mut self, scenario: &Scenario, now: Time) -> Option<BoxStep> {
        let turns = &mut self.turns;
        let next = turns.waiting.pop_front();
        turns.are_taken = next.is_some();
        if next.is_none() || turns.left_in_round > 0 {
            turns.left_in_round = turns.left_in_round.saturating_sub(1);
            return next;
        }
        turns.left_in_round = turns.waiting.len();
        turns.rounds += 1;
        let is_endless = turns.rounds > FOLLOWING_MAX || turns.left_in_round > WAITING_MAX;
        if let (true, Some((node, position))) = (is_endless, turns.maker) {
            self.fail(scenario, (node, position), now, Trouble::Endless);
        }
        next
    }

    /// Forgets all packets that wait for a step.
    pub(super) fn clear(&mut self) {
        self.turns.waiting.clear();
    }

    /// Calls a middlebox with `given` packets. `None`: it has failed, or another. Its actions wait for
    /// [`take_actions`](Self::take_actions).
    pub(super) fn call<T>(
        &mut self,
        position: usize,
        given: usize,
        outlook: &mut NodeOutlook<'_>,
        bodies: &mut Bodies,
        act: impl FnOnce(&mut AnyMiddlebox, &mut Context<'_>) -> T,
    ) -> Option<T> {
        if self.trouble.is_some() {
            return None;
        }
        let (now, node, scenario) = (outlook.now, outlook.node, outlook.scenario);
        let middlebox = &mut self.nodes[node].boxes[position];
        let owed = (given + middlebox.held()) as i64;
        self.outbox.returned = 0;
        let answer = act(middlebox, &mut Context::new(now, bodies, outlook, &mut self.outbox));
        let held = middlebox.held();
        let accounted = held as i64 + self.outbox.returned;
        if accounted != owed {
            self.fail(scenario, (node, position), now, Trouble::Forgot { owed, accounted });
        } else if held > HELD_MAX {
            self.fail(scenario, (node, position), now, Trouble::Hoards);
        }
        Some(answer)
    }

    /// Notes a failure; the first counts.
    #[cold]
    pub(super) fn fail(&mut self, scenario: &Scenario, (node, position): (NodeId, usize), at: Time, what: Trouble) {
        let failure = Failure {
            node: scenario.nodes[node].name.clone(),
            middlebox: self.nodes[node].boxes[position].name(),
            position,
            at,
            what,
        };
        self.trouble.get_or_insert(failure);
    }

    /// Takes the actions of a middlebox that was called.
    pub(super) fn take_actions(&mut self) -> Vec<Action> {
        self.outbox.take()
    }

    /// Notes that a middlebox has made or turned a packet.
    pub(super) fn note_maker(&mut self, node: NodeId, position: usize) {
        self.turns.maker = Some((node, position));
    }

    /// Returns an emptied list of actions, to reuse its memory.
    pub(super) fn give_back(&mut self, actions: Vec<Action>) {
        self.outbox.give_back(actions);
    }

    /// Begins the wake-up of a node. Returns whether its middleboxes wake up without end at this instant.
    pub(super) fn begin_wakeup(&mut self, node: NodeId, now: Time, schedule: &mut Schedule) -> bool {
        // The schedule still has the instant of this wake-up: `rearm` must replace it.
        schedule.set(Source::Node(node), Time::NEVER);
        let state = &mut self.nodes[node];
        state.armed = Time::NEVER;
        state.woken = (now, if state.woken.0 == now { state.woken.1 + 1 } else { 0 });
        state.woken.1 > WAKE_UPS_MAX
    }

    /// Whether a middlebox wakes up by `now`.
    pub(super) fn is_due(&self, node: NodeId, position: usize, now: Time) -> bool {
        self.nodes[node].boxes[position].next_wakeup() <= now
    }

    /// Whether a middlebox watches the queues of its node.
    pub(super) fn watches_queues(&self, node: NodeId, position: usize) -> bool {
        self.nodes[node].boxes[position].watches_queues()
    }

    /// Links of a node whose queues its middleboxes watch, count.
    pub(super) fn watches(&self, node: NodeId) -> usize {
        self.nodes[node].watches.len()
    }

    /// The link of a watch, if the departure of its packet is due.
    pub(super) fn departed(&self, node: NodeId, watch: usize, now: Time) -> Option<LinkId> {
        let Watch { link, due } = self.nodes[node].watches[watch];
        (due <= now).then_some(link)
    }

    /// Sets the next departure from the link of a watch, which is free at `free_at`.
    pub(super) fn watch_next(&mut self, node: NodeId, watch: usize, now: Time, free_at: Time) {
        self.nodes[node].watches[watch].due = if free_at > now { free_at } else { Time::NEVER };
    }

    /// Schedules the next wake-up of a node.
    pub(super) fn rearm(&mut self, node: NodeId, now: Time, links: &[LazyLink], schedule: &mut Schedule) {
        let state = &mut self.nodes[node];
        for watch in &mut state.watches {
            let free_at = links[watch.link].free_at();
            if watch.due == Time::NEVER && free_at > now {
                watch.due = free_at;
            }
        }
        if state.boxes.is_empty() {
            return;
        }
        let departure = state.watches.iter().map(|watch| watch.due).min().unwrap_or(Time::NEVER);
        let due = state.boxes.iter().map(Middlebox::next_wakeup).min().unwrap_or(Time::NEVER);
        let due = due.min(departure).max(now);
        if due != state.armed {
            state.armed = due;
            schedule.set(Source::Node(node), due);
        }
    }
}
