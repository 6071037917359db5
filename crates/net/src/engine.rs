//! Schedule of sources: decides which source acts next.
//!
//! There is one entry per *source* (a link, a node, an endpoint), not per packet: packets wait in their link's ring,
//! and only its head is scheduled. Timers are lazy: a deadline that moves later is checked when the old deadline
//! expires.
//!
//! # Order of events
//!
//! Events are ordered by (time, rank, tie-breaker, index). Ranks: links deliver before nodes wake up, nodes before
//! flows and endpoints, and these before the sampler runs. Media wake up among the nodes. Events of one source are first come, first served.
//!
//! The *tie-breaker* is a hash of the source's name and the instant. Ties are frequent, because equal links pace all
//! senders of a bottleneck to the same slots. Any fixed order would always give the same sender the last place in a
//! full queue: ordered by index, the first of the ten flows of the REFWA Plus topology takes two thirds of the
//! bottleneck.
//!
//! There is no insertion counter, so neither the order of construction nor an unrelated flow can reorder ties. The
//! index only decides between equal tie-breakers. Ends of connections that open during the run have tie-breakers from
//! the flow's name and the connection's ordinal, not from their slot.

use bentpipe_model::ids::{EndpointId, FlowId, LinkId, MediumId, NodeId};
use bentpipe_units::{Stream, Time};

/// Source of events, in order of rank. Flows and endpoints share a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The head of a link's ring reaches the far end.
    Link(LinkId),
    /// A node's middleboxes wake up.
    Node(NodeId),
    /// A superframe of a medium starts. Media share the rank of nodes.
    Medium(MediumId),
    /// A flow's application wakes up.
    Flow(FlowId),
    /// An end of a connection wakes up.
    Endpoint(EndpointId),
    /// The recorder takes its samples, after all other events of the instant.
    Sampler,
}

/// Two winner trees: one of links, which act most often, and one of all other sources.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    links: Tree,
    others: Tree,
    leaves: Vec<Leaf>,
    /// Leaf of each node, or [`NONE`] if nothing can wake up there.
    nodes: Vec<u32>,
    /// Leaf of each flow, or [`NONE`].
    flows: Vec<u32>,
    /// Leaf of each medium.
    media: Vec<u32>,
    sampler: usize,
    /// First leaf behind those of links.
    first_other: usize,
    first_endpoint: usize,
}

/// Winner tree. Each source is a leaf with the instant of its next event, each inner node repeats the earlier of its
/// two children, and the root is the next event. The root is at 1, the children of `i` are at `2i` and `2i + 1`, the
/// leaves are in the second half.
#[derive(Clone, Debug)]
struct Tree(Vec<Key>);

/// Placeholder for the number of a leaf.
const NONE: u32 = u32::MAX;

/// Order of an event as a number that is never negative: instant (64 bits), rank (2), tie-breaker (30), leaf (31).
type Key = i128;

const TIE_BITS: u32 = 63;
const BREAKER_BITS: u32 = 30;
const LEAF_BITS: u32 = 31;

#[derive(Clone, Copy, Debug)]
struct Leaf {
    source: Source,
    /// Hashed with the instant for the source's tie-breakers.
    salt: u32,
    /// Rank and leaf at their places in the key.
    tie: u64,
}

impl Leaf {
    fn new(source: Source, leaf: usize, salt: u32) -> Self {
        let rank: u64 = match source {
            Source::Link(_) => 0,
            Source::Node(_) | Source::Medium(_) => 1,
            Source::Flow(_) | Source::Endpoint(_) => 2,
            Source::Sampler => 3,
        };
        Self { source, salt, tie: rank << (BREAKER_BITS + LEAF_BITS) | leaf as u64 }
    }
}

impl Leaf {
    #[inline]
    fn key(&self, at: Time) -> Key {
        // Two rounds of SplitMix64's finaliser: after one, the order of two sources would be correlated over time.
        let breaker = (at.as_ps() ^ u64::from(self.salt) << 16).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let breaker = (breaker ^ breaker >> 29).wrapping_mul(0x94d0_49bb_1331_11eb) >> (64 - BREAKER_BITS);
        Key::from(at.as_ps()) << TIE_BITS | Key::from(self.tie | breaker << LEAF_BITS)
    }
}

fn salt_of(name: &str, purpose: &str) -> u32 {
    Stream::new(0, name, purpose).key()[0] as u32
}

impl Schedule {
    /// Returns an empty schedule for sources with these names. Nodes and flows come with a flag whether they can wake
    /// up. Endpoints come later, in pairs, with room for those of `sessions`.
    pub(crate) fn new<'a>(
        links: impl Iterator<Item = &'a str>,
        nodes: impl Iterator<Item = (&'a str, bool)>,
        flows: impl Iterator<Item = (&'a str, bool)>,
        media: impl Iterator<Item = &'a str>,
        sessions: usize,
    ) -> Self {
        let mut leaves = Vec::new();
        let mut add = |source, name: &str, purpose: &str| {
            leaves.push(Leaf::new(source, leaves.len(), salt_of(name, purpose)));
            leaves.len() as u32 - 1
        };
        let mut first_other = 0;
        for (link, name) in (0..).map(LinkId::new).zip(links) {
            add(Source::Link(link), name, "link");
            first_other += 1;
        }
        let nodes = (0..).map(NodeId::new).zip(nodes);
        let nodes = nodes.map(|(node, (name, wakes))| if wakes { add(Source::Node(node), name, "node") } else { NONE });
        let nodes = nodes.collect();
        let flows = (0..).map(FlowId::new).zip(flows);
        let flows = flows.map(|(flow, (name, wakes))| if wakes { add(Source::Flow(flow), name, "flow") } else { NONE });
        let flows = flows.collect();
        let media = (0..).map(MediumId::new).zip(media);
        let media = media.map(|(medium, name)| add(Source::Medium(medium), name, "medium")).collect();
        let sampler = add(Source::Sampler, "", "sampler") as usize;
        let first_endpoint = leaves.len();
        let [links, others] = [&leaves[..first_other], &leaves[first_other..]].map(Tree::of);
        let mut schedule = Self { links, others, leaves, nodes, flows, media, sampler, first_other, first_endpoint };
        schedule.grow(schedule.leaves.len() + 2 * sessions);
        schedule
    }

    /// Begins a session in `slot`, with these salts at its ends and without events.
    pub(crate) fn begin(&mut self, slot: usize, salts: [u32; 2]) {
        let count = self.first_endpoint + EndpointId::listener(slot).index() + 1;
        if count > self.leaves.len() {
            self.grow(count.max(2 * self.leaves.len()));
        }
        for (end, salt) in EndpointId::both(slot).into_iter().zip(salts) {
            self.leaves[self.first_endpoint + end.index()].salt = salt;
            self.set(Source::Endpoint(end), Time::NEVER);
        }
    }

    /// Makes room for `count` leaves. The order of events only depends on the keys.
    #[cold]
    fn grow(&mut self, count: usize) {
        let added = self.leaves.len()..count;
        for leaf in added.clone() {
            self.leaves.push(Leaf::new(Source::Endpoint(EndpointId::new(leaf - self.first_endpoint)), leaf, 0));
        }
        self.others.grow(&self.leaves[added]);
    }

    /// Sets the next event of `source` to `at` and replaces an earlier plan ([`Time::NEVER`]: nothing).
    #[inline]
    pub(crate) fn set(&mut self, source: Source, at: Time) {
        let leaf = self.leaf(source);
        let key = self.leaves[leaf].key(at);
        match source {
            Source::Link(_) => self.links.set(leaf, key),
            _ => self.others.set(leaf - self.first_other, key),
        }
    }

    /// Sets the next event of a link, which is often the same as before.
    pub(crate) fn update(&mut self, link: LinkId, at: Time) {
        let key = self.leaves[link.index()].key(at);
        if !self.links.has(link.index(), key) {
            self.links.set(link.index(), key);
        }
    }

    /// Sets the next event of `link` to `at`, in the place of `seat`, a link without its own events.
    #[inline]
    pub(crate) fn seat(&mut self, seat: LinkId, link: LinkId, at: Time) {
        self.links.set(seat.index(), self.leaves[link.index()].key(at));
    }

    /// Sets the next event of the link whose event is the next one to `at`, which is not before now.
    #[inline]
    pub(crate) fn set_next(&mut self, at: Time) {
        let leaf = leaf_of(self.links.first());
        self.links.replay(leaf, self.leaves[leaf].key(at));
    }

    /// Returns the next event ([`Time::NEVER`]: none).
    #[inline]
    pub(crate) fn next(&self) -> (Time, Source) {
        let key = self.links.first().min(self.others.first());
        (Time::from_ps((key >> TIE_BITS) as u64), self.leaves[leaf_of(key)].source)
    }

    /// Returns the order of links that act at this instant: the smallest is first.
    pub(crate) fn tie(&self, link: LinkId, at: Time) -> u64 {
        self.leaves[link.index()].key(at) as u64
    }

    #[inline]
    fn leaf(&self, source: Source) -> usize {
        match source {
            Source::Link(link) => link.index(),
            Source::Node(node) => self.nodes[node] as usize,
            Source::Medium(medium) => self.media[medium] as usize,
            Source::Flow(flow) => self.flows[flow] as usize,
            Source::Endpoint(end) => self.first_endpoint + end.index(),
            Source::Sampler => self.sampler,
        }
    }
}

impl Tree {
    /// Returns a tree of leaves without events. Without leaves, it has a leaf that never acts.
    fn of(leaves: &[Leaf]) -> Self {
        let mut tree = Self(vec![Key::MAX; 2]);
        if !leaves.is_empty() {
            tree.0.clear();
            tree.grow(leaves);
        }
        tree
    }

    /// Adds leaves behind the present ones. The order of events only depends on the keys.
    fn grow(&mut self, more: &[Leaf]) {
        let old = std::mem::take(&mut self.0);
        let count = old.len() / 2 + more.len();
        self.0 = Vec::with_capacity(2 * count);
        self.0.resize(count, Key::MAX);
        self.0.extend(&old[old.len() / 2..]);
        self.0.extend(more.iter().map(|leaf| leaf.key(Time::NEVER)));
        for node in (1..count).rev() {
            self.0[node] = self.0[2 * node].min(self.0[2 * node + 1]);
        }
    }

    fn leaves(&self) -> usize {
        self.0.len() / 2
    }

    #[inline]
    fn first(&self) -> Key {
        self.0[1]
    }

    #[inline]
    fn set(&mut self, leaf: usize, key: Key) {
        if key < self.0[self.leaves() + leaf] {
            self.raise(leaf, key);
        } else {
            self.replay(leaf, key);
        }
    }

    /// Whether this is the event of a leaf.
    #[inline]
    fn has(&self, leaf: usize, key: Key) -> bool {
        self.0[self.leaves() + leaf] == key
    }

    /// Makes a leaf earlier: it wins up to the first node with an earlier event.
    #[inline]
    fn raise(&mut self, leaf: usize, key: Key) {
        let mut node = self.leaves() + leaf;
        while node > 0 && key < self.0[node] {
            self.0[node] = key;
            node /= 2;
        }
    }

    /// Makes a leaf later: repeats all its comparisons. No early exit, because a link that delivers had won all of
    /// them. The winner is unpredictable, and a mispredicted branch costs more than the arithmetic that replaces it.
    #[inline]
    fn replay(&mut self, leaf: usize, key: Key) {
        let mut node = self.leaves() + leaf;
        let tree = self.0.as_mut_slice();
        let mut winner = key;
        loop {
            tree[node] = winner;
            if node <= 1 {
                return;
            }
            let lead = tree[node ^ 1] - winner;
            // The lead if it is negative, else zero.
            winner += lead & (lead >> (Key::BITS - 1));
            node /= 2;
        }
    }
}

#[inline]
fn leaf_of(key: Key) -> usize {
    (key as u32 & ((1 << LEAF_BITS) - 1)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(index: usize) -> Source {
        Source::Link(LinkId::new(index))
    }

    fn order(names: &[&'static str], entries: &[(u64, Source)]) -> Vec<Source> {
        let mut schedule =
            Schedule::new(names.iter().copied(), [("n", true)].into_iter(), std::iter::empty(), std::iter::empty(), 1);
        schedule.begin(0, [1, 2]);
        entries.iter().for_each(|&(ps, source)| schedule.set(source, Time::from_ps(ps)));
        std::iter::from_fn(|| {
            let (at, source) = schedule.next();
            schedule.set(source, Time::NEVER);
            (at != Time::NEVER).then_some(source)
        })
        .collect()
    }

    #[test]
    fn events_come_in_order_of_time_then_rank() {
        use Source::Sampler;
        let node = Source::Node(NodeId::new(0));
        let [opener, listener] = EndpointId::both(0).map(Source::Endpoint);
        let entries = [(5, Sampler), (5, listener), (4, opener), (5, link(0)), (5, node), (6, link(1))];
        let expected = [opener, link(0), node, listener, Sampler, link(1)];
        assert_eq!(order(&["a", "b"], &entries), expected);
    }

    #[test]
    fn setting_again_replaces() {
        let entries = [(5, link(0)), (3, link(1)), (9, link(1)), (2, link(0))];
        assert_eq!(order(&["a", "b"], &entries), [link(0), link(1)]);
    }

    /// Growth keeps all plans, and later sources find their places.
    #[test]
    fn the_schedule_grows_while_it_runs() {
        let mut schedule = Schedule::new(
            ["a"].into_iter(),
            [("n", false)].into_iter(),
            [("f", true)].into_iter(),
            std::iter::empty(),
            1,
        );
        schedule.set(link(0), Time::from_ps(50));
        for slot in 0..40 {
            schedule.begin(slot, [1, 2]);
            schedule.set(Source::Endpoint(EndpointId::opener(slot)), Time::from_ps(100 - slot as u64));
        }
        let mut order = Vec::new();
        while schedule.next().0 != Time::NEVER {
            order.push(schedule.next());
            schedule.set(order[order.len() - 1].1, Time::NEVER);
        }
        assert_eq!(order.len(), 41);
        assert!(order[0] == (Time::from_ps(50), link(0)) && order[1].1 == Source::Endpoint(EndpointId::opener(39)));
        assert!(order.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    /// Each of two links is first about half the time. A third link between them in the index changes nothing.
    #[test]
    fn ties_between_links_favour_nobody() {
        let n = 10_000;
        let mut first = 0;
        for ps in 0..n {
            let two = order(&["a", "b"], &[(ps, link(0)), (ps, link(1))]);
            let three = order(&["a", "aa", "b"], &[(ps, link(0)), (ps, link(2))]);
            assert_eq!(two[0] == link(0), three[0] == link(0));
            first += u64::from(two[0] == link(0));
        }
        assert!((4500..5500).contains(&first), "{first}");
    }
}
