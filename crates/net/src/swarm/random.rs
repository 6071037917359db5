//! Random scenarios in which rare events are common: ties, tiny queues, one-segment windows, outages shorter than a
//! round trip, corruption that a bent pipe forwards.

use super::draw::{Dice, DELAYS_US, PROCESSING_US, RATES};
use super::{forward, shared_cell, slotted, slotted_media};
use bentpipe_cc::CcKind;
use bentpipe_model::dictionary::{HAPPENINGS, SERIES};
use bentpipe_model::ids::{FlowId, LaneId, LinkId, NodeId};
use bentpipe_model::middlebox::{CodeRole, CompressConfig, ErasureConfig, MiddleboxConfig, PackRole};
use bentpipe_model::spec::{
    App, Arq, Arrivals, Buffers, Bulk, Carousel, Catalogue, Coded, Coding, Combining, Content, Datagrams, Downtimes,
    Effect, ErrorModel, ErrorUnit, Flow, Framing, Gaps, Interleave, Jitter, Lane, Like, Link, Losses, Modcod, Mtu,
    Node, NodeKind, Order, Outage, Oversize, Page, PageModel, ProbeTimes, Probing, Profile, Queue, QueueLimit, Reader,
    Record, RequestResponse, Scenario, Signal, Size, Spread, Start, Stay, Transport, Wait, WrittenRecords, MILLIONTHS,
};
use bentpipe_tcp::{BufferGrowth, Config, Feedback, SsthreshRounding};
use bentpipe_units::settings::{Chance, Fields, Level, Settings};
use bentpipe_units::{Duration, Rate, Stream, Time};
use std::sync::Arc;

/// Numbers that a scenario is drawn from. They are few, so that a failure shrinks to a small network with few features.
#[derive(Clone, Debug)]
pub(crate) struct Sketch {
    pub(crate) seed: u64,
    /// Number of flows, 1 to 8.
    pub(crate) flows: usize,
    pub(crate) seconds: u64,
    /// Features that may occur: an OR of the constants below.
    pub(crate) features: u32,
}

pub(crate) const ERRORS: u32 = 1;
pub(crate) const OUTAGES: u32 = 2;
pub(crate) const PROFILES: u32 = 4;
pub(crate) const BENT_PIPES: u32 = 8;
pub(crate) const IMPAIR: u32 = 16;
pub(crate) const SETTINGS: u32 = 32;
pub(crate) const SERIES_KEPT: u32 = 64;
pub(crate) const UNEQUAL: u32 = 128;
pub(crate) const ENDS: u32 = 256;
pub(crate) const TRAFFIC: u32 = 512;
pub(crate) const CHANGES: u32 = 1024;
pub(crate) const PORTS: u32 = 2048;
/// Middleboxes with any behaviour. Transfers need not complete.
pub(crate) const PROBES: u32 = 4096;
pub(crate) const FRAMING: u32 = 8192;
/// An encoder or a compressor at the start of a flow, and its partner at the end.
pub(crate) const PAIRS: u32 = 16_384;
/// A medium that some links share.
pub(crate) const MEDIA: u32 = 32_768;
/// Policers and shapers before links.
pub(crate) const BUCKETS: u32 = 65_536;
pub(crate) const ALL: u32 = 131_071;

impl Sketch {
    pub(crate) fn scenario(&self) -> Scenario {
        let mut dice = Dice::new(Stream::new(self.seed, "scenario", "sketch"));
        let (nodes, edges, paths) = topology(self.flows, &mut dice);
        let base = dice.base();
        let mut links = Vec::new();
        for (index, &(from, to)) in edges.iter().enumerate() {
            let [from, to] = [from, to].map(NodeId::new);
            links.push(self.link(format!("l{index}.forward"), from, to, &base, &mut dice));
            links.push(self.link(format!("l{index}.reverse"), to, from, &base, &mut dice));
        }
        let mut media =
            if self.has(MEDIA, &mut dice) { slotted_media::share(&mut links, &mut dice) } else { Vec::new() };
        shared_cell::divide(&mut links, &mut media, &mut dice);
        if self.has(MEDIA, &mut dice) {
            forward::carry(&mut links, &mut media, &mut dice);
        }
        let settings = Arc::new(self.tcp(&mut dice));
        let flow = |(index, path)| self.flow(index, path, &links, &settings, &mut dice);
        let (flows, lanes): (Vec<Flow>, Vec<Lane>) = (0..self.flows).zip(paths).map(flow).unzip();
        let timeline = self.timeline(&flows, &links, &mut dice);
        let mut series: Vec<String> = SERIES.iter().map(|series| series.column.name.to_owned()).collect();
        series.extend(HAPPENINGS.iter().map(|(name, _)| (*name).to_owned()));
        series.retain(|_| self.has(SERIES_KEPT, &mut dice));
        let mut all: Vec<Node> = (0..nodes).map(|index| self.node(index, &mut dice)).collect();
        let interval = Duration::from_millis(*dice.pick(&[10, 97, 500]));
        if self.has(PAIRS, &mut dice) {
            let ends = [flows[0].from, flows[0].to];
            for (node, role) in ends.into_iter().zip([CodeRole::Encoder, CodeRole::Decoder]) {
                let drawn = dice.value::<ErasureConfig>("middlebox");
                all[node].middleboxes.push(MiddleboxConfig::Erasure(ErasureConfig { role, ..drawn }));
            }
        }
        if self.has(PAIRS, &mut dice) {
            let ends = [flows[0].from, flows[0].to];
            let drawn = dice.value::<CompressConfig>("middlebox");
            for (node, role) in ends.into_iter().zip([PackRole::Compressor, PackRole::Decompressor]) {
                all[node].middleboxes.push(MiddleboxConfig::Compress(CompressConfig { role, ..drawn }));
            }
        }
        Scenario {
            title: format!("{self:?}"),
            duration: Duration::from_secs(self.seconds),
            seed: self.seed,
            nodes: all,
            flows,
            lanes,
            links,
            media,
            timeline,
            record: Record { series, interval, rows_max: 1_000_000, transfers_max: 1_000_000 },
            notes: Vec::new(),
        }
    }

    /// Whether a feature occurs: every other time, if it may occur.
    pub(super) fn has(&self, feature: u32, dice: &mut Dice) -> bool {
        dice.coin() && self.features & feature != 0
    }

    fn node(&self, index: usize, dice: &mut Dice) -> Node {
        let repeats = *dice.pick(&[NodeKind::BentPipe, NodeKind::Processing]);
        let kind = if self.has(BENT_PIPES, dice) { repeats } else { NodeKind::Router };
        let mut middleboxes = Vec::new();
        while middleboxes.len() < 2 && dice.coin() && self.has(IMPAIR, dice) {
            middleboxes.push(dice.value::<MiddleboxConfig>("middlebox"));
        }
        Node { name: format!("n{index}"), kind, middleboxes }
    }

    pub(super) fn link(&self, name: String, from: NodeId, to: NodeId, base: &Base, dice: &mut Dice) -> Link {
        let differs = self.has(UNEQUAL, dice);
        let rate = Rate::from_bps(if differs { *dice.pick(&RATES) } else { base.rate });
        let delay = Duration::from_micros(if differs { *dice.pick(&DELAYS_US) } else { base.delay });
        let error = if self.has(ERRORS, dice) { dice.error() } else { ErrorModel::None };
        let outage = self.has(OUTAGES, dice).then(|| Box::new(dice.outage()));
        let is_up = outage.is_none();
        let can_interleave = error.is_of_packets().is_none();
        let made = Link {
            name,
            from,
            to,
            rate: if self.has(PROFILES, dice) { dice.rates(rate) } else { Profile::Constant(rate) },
            delay: if self.has(PROFILES, dice) { dice.delays(delay) } else { Profile::Constant(delay) },
            jitter: self.has(PROFILES, dice).then(|| dice.jitter()).filter(|all| !all.is_empty()).map(Arc::new),
            slots: None,
            outage,
            policer: self.has(BUCKETS, dice).then(|| Box::new(dice.value("bucket"))),
            shaper: self.has(BUCKETS, dice).then(|| Box::new(dice.value("bucket"))),
            queue: if differs { dice.queue() } else { base.queue.clone() },
            error,
            effect: *dice.pick(&[Effect::Corrupt, Effect::Corrupt, Effect::Lose]),
            interleave: (self.has(ERRORS, dice) && can_interleave).then(|| {
                Box::new(Interleave {
                    span: dice.ms(&[0, 1, 30]),
                    codeword: *dice.pick(&[20, 255]),
                    corrects: *dice.pick(&[0, 1, 9]),
                })
            }),
            coded: None,
            terminal: None,
            arq: (is_up && self.has(ERRORS, dice)).then(|| Arq {
                retransmissions: 1 + dice.below(3) as u32,
                order: if dice.below(2) == 0 { Order::InOrder } else { Order::Free },
                combining: Combining::None,
            }),
            framing: if self.has(FRAMING, dice) { dice.value("framing") } else { Framing::None },
            mtu: self.has(FRAMING, dice).then(|| Mtu {
                size: *dice.pick(&[400, 1000]),
                // Dropped packets may never arrive: senders may ignore reports, or no reverse route may pass the node.
                oversize: Oversize::Fragment,
            }),
        };
        let made = Self::coded(made, dice);
        Link { slots: self.has(PROFILES, dice).then(|| slotted::slots(dice, &made)).flatten(), ..made }
    }

    /// Adds a code whose copies are combined to a link with ARQ.
    fn coded(link: Link, dice: &mut Dice) -> Link {
        let Some(arq) = link.arq.filter(|_| link.interleave.is_none() && dice.coin()) else { return link };
        let es_n0 = Signal::Constant(Level(*dice.pick(&[4.0, 5.0, 6.7])));
        let (modcod, acm, implementation_loss, losses) = (Some(Modcod::Psk8x2of3), None, Level(0.0), Losses::Slope);
        let (coding, error, how) = match dice.below(4) {
            0 => (
                Coding::DvbS2 { es_n0, modcod, acm, implementation_loss, losses },
                ErrorModel::None,
                Combining::Incremental,
            ),
            1 => {
                (Coding::DvbS2 { es_n0, modcod, acm, implementation_loss, losses }, ErrorModel::None, Combining::Chase)
            }
            2 => {
                let (eb_n0, threshold) = (es_n0, Level(5.2));
                let coding = Coding::Ldpc { eb_n0, code_rate: 0.75, threshold, steepness: 1.0 };
                (coding, ErrorModel::None, Combining::Chase)
            }
            _ => {
                let stay = Stay::Time { good: dice.ms(&[20, 300]), bad: dice.ms(&[20, 300]) };
                let error = ErrorModel::GilbertElliott { unit: ErrorUnit::Bit, stay, rate_good: 0.01, rate_bad: 0.12 };
                (Coding::Convolutional { eb_n0: None, burst: 5 }, error, Combining::Chase)
            }
        };
        let coded = Coded { coding, rate: link.rate.clone(), delay: link.delay.clone(), error };
        let Ok(meets) = coded.meets(false, Duration::from_secs(1)) else { return link };
        let (arq, coded) = (Some(Arq { combining: how, ..arq }), Some(Box::new(coded)));
        Link { rate: meets.rate, delay: meets.delay, error: meets.error, arq, coded, ..link }
    }

    fn flow(&self, index: usize, path: Path, links: &[Link], settings: &Arc<Config>, dice: &mut Dice) -> (Flow, Lane) {
        let app = match (self.has(TRAFFIC, dice), dice.coin()) {
            _ if self.has(PORTS, dice) => App::Port,
            (true, _) => dice.app(),
            (_, true) => App::Greedy,
            _ => App::File { size: *dice.pick(&[0, 1, 1460, 20_000, 150_000]) },
        };
        let every = dice.ms(&[7, 50, 900]);
        let reader = self.has(TRAFFIC, dice).then(|| Reader { rate: Rate::from_bps(*dice.pick(&RATES)), every });
        let start = match dice.below(3) {
            0 => Start::At(Time::ZERO + Duration::from_millis(dice.below(1000))),
            1 => Start::Uniform { from: Time::ZERO, to: Time::ZERO + Duration::from_secs(1) },
            _ => Start::At(Time::ZERO),
        };
        let [from, to] = [path.out[0], path.back[0]].map(|link| links[link].from);
        let reader = reader.filter(|_| dice.coin());
        let class = dice.below(4) as u8;
        let tcp = if dice.coin() { Arc::new(self.tcp(dice)) } else { Arc::clone(settings) };
        let flow = Flow {
            name: format!("f{index}"),
            from,
            to,
            lane: LaneId::new(index),
            app: Arc::new(app),
            reader,
            start,
            copy_of: None,
            // Also of datagrams, which some tests replace by files.
            transport: Transport::Tcp(tcp),
            like: Like::Rfc,
            buffers: Buffers::Stock,
            processing: *dice.pick(&PROCESSING_US.map(|(a, b)| (Duration::from_micros(a), Duration::from_micros(b)))),
        };
        (
            flow,
            Lane {
                flow: FlowId::new(index),
                name: String::new(),
                route: path.out.into(),
                reverse_route: path.back.into(),
                class,
            },
        )
    }

    pub(super) fn tcp(&self, dice: &mut Dice) -> Config {
        let cc = *dice.pick(CcKind::ALL);
        let plain = Config { cc: cc.into(), recovery: cc.recovery(), ecn: cc.ecn(), ..Config::default() };
        let (settings, ends) = (self.has(SETTINGS, dice), self.has(ENDS, dice));
        let mut table = Fields::default();
        Settings::write(&plain, &mut table);
        for key in Config::keys().into_iter().filter(|key| key.name != "cc") {
            if if OF_ENDS.contains(&key.name) { ends } else { settings } {
                table.put(key.name, dice.key("tcp", &key));
            }
        }
        let mut config = <Config as Settings>::read(&table).unwrap_or_else(|why| panic!("{why}"));
        config.growth.whole_segments = config.ssthresh_rounding == SsthreshRounding::Window;
        config.fast_open = config.fast_open.filter(|_| config.handshake);
        let has_room = config.handshake && config.fast_open.is_none() && !config.ack.congestion_control;
        config.transactions = config.transactions.filter(|_| has_room);
        // Skipped data count as acknowledged, but are never delivered. No other connection does this.
        config.best_effort = None;
        config.receive_buffer = config.receive_buffer.max(config.smss.into());
        if config.feedback != Feedback::Off {
            // The sender uses the whole advertised window: up to a gigabyte in one burst if no node advertises less.
            config.receive_buffer = config.receive_buffer.min(1 << 20);
        }
        // At least the unit of the window, which depends on the limit.
        let start = u64::from(config.smss).max(1 << 14).min(config.receive_buffer);
        config.auto_buffer = (ends && dice.coin()).then_some(start);
        config.buffer_growth = *dice.pick(&[BufferGrowth::Twice, BufferGrowth::Linux]);
        config
    }
}

/// Keys that belong to another feature.
const OF_ENDS: [&str; 6] = ["ecn", "pacing", "fast_open", "transactions", "sharing", "nagle"];

/// Common properties of the links of a network, unless they differ.
pub(super) struct Base {
    rate: u64,
    delay: u64,
    queue: Queue,
}

/// Links of a flow: forward and reverse.
struct Path {
    out: Vec<LinkId>,
    back: Vec<LinkId>,
}

impl Path {
    /// Returns the path along these edges, each from its first end to its second or the other way. The reverse path
    /// uses the same edges.
    fn along(edges: &[(usize, bool)]) -> Self {
        let out = edges.iter().map(|&(edge, is_forward)| link_along(edge, is_forward));
        let back = edges.iter().rev().map(|&(edge, is_forward)| link_along(edge, !is_forward));
        Self { out: out.collect(), back: back.collect() }
    }
}

/// Returns the link along an edge: from its first end to its second, or the other way.
fn link_along(edge: usize, is_forward: bool) -> LinkId {
    LinkId::new(2 * edge + usize::from(!is_forward))
}

/// Returns the number of nodes, the edges between them, and the path of each flow.
fn topology(flows: usize, dice: &mut Dice) -> (usize, Vec<(usize, usize)>, Vec<Path>) {
    match dice.below(5) {
        // Dumbbell: senders, node 0, node 1, receivers.
        0 => {
            let access = (0..2 * flows).map(|i| if i % 2 == 0 { (i + 2, 0) } else { (1, i + 2) });
            let paths = (0..flows).map(|i| Path::along(&[(2 * i + 1, true), (0, true), (2 * i + 2, true)]));
            (2 * flows + 2, [(0, 1)].into_iter().chain(access).collect(), paths.collect())
        }
        // Chain of four links. Flows lead from any node to any other, in both directions.
        1 => {
            let path = |_| {
                let first = dice.below(4) as usize;
                let edges: Vec<usize> = (first..=first + dice.below(4 - first as u64) as usize).collect();
                if dice.coin() {
                    Path::along(&edges.iter().map(|&edge| (edge, true)).collect::<Vec<_>>())
                } else {
                    Path::along(&edges.iter().rev().map(|&edge| (edge, false)).collect::<Vec<_>>())
                }
            };
            (5, (0..4).map(|i| (i, i + 1)).collect(), (0..flows).map(path).collect())
        }
        // Star: flows lead from each leaf to the next, through node 0.
        2 => {
            let leaves = flows + 1;
            let paths = (0..flows).map(|i| Path::along(&[(i, false), ((i + 1) % leaves, true)]));
            (leaves + 1, (0..leaves).map(|i| (0, i + 1)).collect(), paths.collect())
        }
        // Ring of six with a chord: flows lead from any node to any other, in either direction.
        3 => {
            let edges: Vec<(usize, usize)> = (0..6).map(|i| (i, (i + 1) % 6)).chain([(0, 3)]).collect();
            let links: Vec<(usize, usize)> = edges.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect();
            let paths = (0..flows).map(|_| {
                let from = dice.below(6) as usize;
                let to = (from + 1 + dice.below(5) as usize) % 6;
                Path { out: dice.way(&links, from, to), back: dice.way(&links, to, from) }
            });
            let paths = paths.collect();
            (6, edges, paths)
        }
        // Three parallel links: one for the forward direction, any for the reverse direction.
        _ => {
            let path = |i: usize| Path {
                out: vec![link_along(i % 3, true)],
                back: vec![link_along(dice.below(3) as usize, false)],
            };
            (2, vec![(0, 1); 3], (0..flows).map(path).collect())
        }
    }
}

impl Dice {
    pub(super) fn base(&mut self) -> Base {
        Base { rate: *self.pick(&RATES), delay: *self.pick(&DELAYS_US), queue: self.queue() }
    }

    fn queue(&mut self) -> Queue {
        if self.coin() {
            return self.value("queue");
        }
        // Includes queues without room for a packet: a packet that finds the link idle needs none.
        let limit = match self.below(8) {
            0 => QueueLimit::Unlimited,
            1..5 => QueueLimit::Packets(*self.pick(&[1, 2, 5, 20, 50])),
            _ => QueueLimit::Bytes(*self.pick(&[1500, 3000, 10_000, 64_000])),
        };
        Queue::DropTail { limit }
    }

    /// Everything is frequent and small, so that connections come and go.
    fn app(&mut self) -> App {
        let count = self.coin().then(|| 1 + self.below(4));
        match self.below(9) {
            8 => {
                let times = match self.coin() {
                    true => ProbeTimes::Every(self.ms(&[3, 100])),
                    false => ProbeTimes::Listed([0, 1, 40, 41, 900].map(Duration::from_millis).into()),
                };
                App::Probe(Probing { size: *self.pick(&[1, 56, 1472]), times, count })
            }
            6 => {
                let interval = Wait::Exponential { mean: self.ms(&[5, 100, 700]) };
                App::Records(WrittenRecords { size: self.size(), interval, count })
            }
            0 => App::Bulk(Bulk { size: self.size(), pause: self.wait(), count, reconnect: self.coin() }),
            1 => {
                let interval = self.ms(&[20, 100, 700]);
                App::Arrivals(Arrivals { size: self.size(), interval, count, overload: true })
            }
            2 => App::RequestResponse(RequestResponse {
                request: self.size(),
                response: self.size(),
                wait: self.wait(),
                think: self.wait(),
                count,
                reconnect: self.coin(),
                catalogue: self.catalogue(),
            }),
            3 => App::Page(Page {
                model: *self.pick(&[PageModel::Web2025, PageModel::Cellular]),
                recorded: None,
                main: self.coin().then(|| self.size()),
                object: self.coin().then(|| self.size()),
                objects: self.coin().then(|| self.below(100)),
                connections: 1 + self.below(6) as u32,
                multiplexed: self.coin().then(|| self.coin()),
                scale: *self.pick(&[0.01, 0.3]),
                request: *self.pick(&[1, 350, 2000]),
                tls_rtts: Some(self.below(3) as u32),
                parse: self.wait(),
                reading: self.wait(),
                catalogue: None,
                count,
            }),
            4 => App::Page(Page {
                model: *self.pick(&[PageModel::Web2025, PageModel::Cellular]),
                recorded: None,
                main: Some(self.size()),
                object: Some(self.size()),
                objects: Some(self.below(8)),
                connections: 1 + self.below(3) as u32,
                multiplexed: None,
                scale: 1.0,
                request: *self.pick(&[1, 350, 2000]),
                tls_rtts: None,
                parse: self.wait(),
                reading: self.wait(),
                catalogue: self.catalogue(),
                count,
            }),
            _ => {
                let rate = Rate::from_bps(*self.pick(&[20_000, 500_000]));
                let gaps = match self.below(3) {
                    0 => Gaps::Constant { rate, jitter: self.ms(&[0, 1]) },
                    1 => Gaps::Poisson { rate },
                    _ => {
                        Gaps::OnOff { peak: rate, on: Wait::Exponential { mean: self.ms(&[5, 300]) }, off: self.wait() }
                    }
                };
                let content = self.content(matches!(gaps, Gaps::Constant { jitter: Duration::ZERO, .. }));
                App::Datagrams(Datagrams { size: *self.pick(&[160, 1200, 1460]), gaps, content })
            }
        }
    }

    /// The content of datagrams: a file only at equal distances.
    pub(super) fn content(&mut self, are_regular: bool) -> Content {
        match self.coin().then(|| self.ms(&[0, 50])) {
            Some(playout) => Content::Media { playout },
            None if are_regular => Content::File(Carousel { bytes: 100_000, block: 20, repair: 4, rounds: None }),
            None => Content::Bytes,
        }
    }

    /// Few objects, so that they are requested again.
    fn catalogue(&mut self) -> Option<Catalogue> {
        let (objects, first) = (*self.pick(&[1, 2, 5]), *self.pick(&[1, 2]));
        let zipf = self.coin().then(|| *self.pick(&[0.0, 0.8]));
        self.coin().then_some(Catalogue { objects, zipf, first })
    }

    fn size(&mut self) -> Size {
        match self.below(4) {
            0 => Size::Fixed(*self.pick(&[1, 1000, 30_000])),
            1 => Size::Exponential { mean: 3000 },
            2 => Size::BoundedPareto { shape: 1.2, min: 100, max: 50_000 },
            _ => Size::Lognormal { mean: 2000, sd: 5000 },
        }
    }

    fn wait(&mut self) -> Wait {
        match self.below(3) {
            0 => Wait::Constant(self.ms(&[0, 3, 400, 1500])),
            1 => Wait::Exponential { mean: self.ms(&[1, 30, 600]) },
            _ => Wait::Pareto { shape: 1.5, mean: self.ms(&[1, 100]) },
        }
    }

    fn rates(&mut self, rate: Rate) -> Profile<Rate> {
        let values = [rate, Rate::from_bps(rate.as_bps() / 2), Rate::from_bps(0), rate];
        let first = self.below(2) as usize;
        let points = values[first..].iter().enumerate().map(|(i, &value)| (at_ms(300 * i as u64), value)).collect();
        // The period is a prime, like that of outages, and divides no timeout.
        Profile::Points { points, linear: false, period: self.coin().then_some(Duration::from_millis(1307)) }
    }

    fn delays(&mut self, delay: Duration) -> Profile<Duration> {
        let steps = [delay, delay + Duration::from_millis(40), delay / 2, delay + Duration::from_micros(7)];
        let points = steps.iter().enumerate().map(|(i, &value)| (at_ms(250 * i as u64), value)).collect();
        Profile::Points { points, linear: self.coin(), period: self.coin().then_some(Duration::from_secs(1)) }
    }

    fn jitter(&mut self) -> Vec<Jitter> {
        let delay = match self.below(3) {
            0 => Spread::Uniform { from: Duration::ZERO, to: self.ms(&[1, 80]) },
            1 => Spread::Exponential { mean: self.ms(&[1, 20]) },
            _ => Spread::Quantiles { points: vec![(Chance(0.2), Duration::ZERO), (Chance(0.9), self.ms(&[2, 60]))] },
        };
        let (every, correlation) = (self.ms(&[1, 7, 500]), self.ms(&[0, 0, 20]));
        let one = Jitter { delay, every, offset: self.ms(&[0, 120]), correlation, both_ways: self.coin() };
        vec![one; self.below(3) as usize]
    }

    fn outage(&mut self) -> Outage {
        let (start, length) = (self.below(1000), *self.pick(&[1, 20, 400, 900]));
        // The period is a prime. A divisor of a timeout, of ticks or of the longest timeout, could make the timer meet
        // the outage for ever.
        let period = self.coin().then_some(Duration::from_millis(2309));
        let when = match self.below(3) {
            0 => Downtimes::Random { mean_up: self.ms(&[50, 700]), mean_down: self.ms(&[5, 100]) },
            _ => Downtimes::Spans { spans: vec![(at_ms(start), at_ms(start + length))], period },
        };
        Outage { when, flush: self.coin() }
    }

    fn error(&mut self) -> ErrorModel {
        let unit = *self.pick(&[ErrorUnit::Bit, ErrorUnit::Byte, ErrorUnit::Packet]);
        let scale = match unit {
            ErrorUnit::Bit => 1e-4,
            ErrorUnit::Byte => 1e-3,
            ErrorUnit::Packet => 1.0,
        };
        match self.below(6) {
            0 => ErrorModel::Arrivals {
                list: (0..20).map(|i| i * i).collect(),
                period: self.coin().then_some(*self.pick(&[362, 500])),
            },
            1 | 2 => ErrorModel::GilbertElliott {
                unit,
                stay: if self.coin() {
                    Stay::Time { good: self.ms(&[50, 1000]), bad: self.ms(&[5, 50]) }
                } else {
                    Stay::Packets {
                        good: *self.pick(&[MILLIONTHS, 30_500_000]),
                        bad: *self.pick(&[1_000_001, 3_000_000]),
                    }
                },
                rate_good: *self.pick(&[0.0, 0.01]) * scale,
                rate_bad: *self.pick(&[0.1, 0.5]) * scale,
            },
            3 => ErrorModel::Profile {
                unit,
                rates: Profile::Points {
                    points: vec![(at_ms(0), 0.0), (at_ms(400), 0.3 * scale), (at_ms(450), 0.01 * scale)],
                    linear: false,
                    period: self.coin().then_some(Duration::from_millis(1500)),
                },
            },
            _ => ErrorModel::Independent { unit, rate: *self.pick(&[1e-3, 1e-2, 0.1]) * scale },
        }
    }
}

fn at_ms(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}
