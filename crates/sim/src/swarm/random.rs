//! Random scenarios in which rare things are common: ties, tiny queues, one-segment windows, outages shorter than a
//! round trip, corruption that a bent pipe passes on.

use crate::middlebox::{ImpairConfig, MiddleboxConfig, Way};
use crate::record::dictionary::SERIES;
use crate::scenario::{
    App, Arrivals, Bulk, Codel, Datagrams, Downtimes, Effect, ErrorModel, ErrorUnit, Flow, FqCodel, Gaps, Interleave,
    Like, Link, Node, NodeKind, Outage, Page, Pie, Profile, Queue, QueueLimit, Reader, Record, Red, RequestResponse,
    Scenario, Share, Size, Start, Stay, Wait, MILLIONTHS,
};
use bentpipe_tcp::cc::CcKind;
use bentpipe_tcp::verdict::VerdictKind;
use bentpipe_tcp::{
    AckPolicy, Burst, ByteCounting, Config, CwndValidation, DelayTimer, EcnConfig, EcnFeedback, FastOpen, GiveUp,
    Growth, Hoe, HyStart, HyStartBaseline, HyStartDetect, HyStartPlusPlus, Increase, InitialSsthresh, InitialWindow,
    NewReno, NewRenoDeflate, NewRenoExit, NewRenoTimer, Pacing, Rack, Recovery, Reduction, RtoConfig, RttSampling,
    SackEvidence, SackOnRto, SlowStart, SlowStartAcks, Snack, SnackForm, SpuriousDetection, SpuriousResponse,
    SsthreshBase, TickRounding,
};
use bentpipe_units::{Duration, Rate, Stream, Time, Word};

/// What a scenario is drawn from: few numbers, so that a failure shrinks to a small network with few features.
#[derive(Clone, Debug)]
pub(crate) struct Sketch {
    pub(crate) seed: u64,
    /// 1 to 8.
    pub(crate) flows: usize,
    pub(crate) seconds: u64,
    /// Which features may occur: an OR of the constants below.
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
pub(crate) const ALL: u32 = 1023;

impl Sketch {
    pub(crate) fn scenario(&self) -> Scenario {
        let mut dice = Dice { stream: Stream::new(self.seed, "scenario", "sketch"), drawn: 0 };
        let (nodes, edges, paths) = topology(self.flows, &mut dice);
        let base = Base { rate: *dice.pick(&RATES), delay: *dice.pick(&DELAYS_MS), queue: dice.queue() };
        let mut links = Vec::new();
        for (index, &(from, to)) in edges.iter().enumerate() {
            links.push(self.link(format!("l{index}.forward"), from, to, &base, &mut dice));
            links.push(self.link(format!("l{index}.reverse"), to, from, &base, &mut dice));
        }
        let settings = self.tcp(&mut dice);
        let flow = |(index, path)| self.flow(index, path, &links, &settings, &mut dice);
        let flows = (0..self.flows).zip(paths).map(flow).collect();
        let mut series: Vec<String> = SERIES.iter().map(|series| series.column.name.to_owned()).collect();
        series.push("events".to_owned());
        series.retain(|_| self.has(SERIES_KEPT, &mut dice));
        Scenario {
            title: format!("{self:?}"),
            duration: Duration::from_secs(self.seconds),
            seed: self.seed,
            nodes: (0..nodes).map(|index| self.node(index, &mut dice)).collect(),
            flows,
            links,
            record: Record {
                series,
                interval: Duration::from_millis(*dice.pick(&[10, 97, 500])),
                rows_max: 1_000_000,
                transfers_max: 1_000_000,
            },
        }
    }

    /// A feature that may occur does so every other time.
    fn has(&self, feature: u32, dice: &mut Dice) -> bool {
        dice.coin() && self.features & feature != 0
    }

    fn node(&self, index: usize, dice: &mut Dice) -> Node {
        let kind = if self.has(BENT_PIPES, dice) { NodeKind::BentPipe } else { NodeKind::Router };
        let mut middleboxes = Vec::new();
        let ms = Duration::from_millis;
        while middleboxes.len() < 2 && dice.coin() && self.has(IMPAIR, dice) {
            middleboxes.push(MiddleboxConfig::Impair(ImpairConfig {
                duplicate: *dice.pick(&[0.0, 0.01, 0.2]),
                reorder: *dice.pick(&[0.0, 0.01, 0.2]),
                hold: *dice.pick(&[(0, 0), (1, 1), (30, 30), (0, 40)].map(|(a, b)| (ms(a), ms(b)))),
                direction: *dice.pick(Way::ALL),
            }));
        }
        Node { name: format!("n{index}"), kind, middleboxes }
    }

    fn link(&self, name: String, from: usize, to: usize, base: &Base, dice: &mut Dice) -> Link {
        let differs = self.has(UNEQUAL, dice);
        let rate = Rate::from_bps(if differs { *dice.pick(&RATES) } else { base.rate });
        let delay = Duration::from_millis(if differs { *dice.pick(&DELAYS_MS) } else { base.delay });
        let error = if self.has(ERRORS, dice) { dice.error() } else { ErrorModel::None };
        let can_interleave = error.is_of_packets().is_none();
        Link {
            name,
            from,
            to,
            rate: if self.has(PROFILES, dice) { dice.rates(rate) } else { Profile::Constant(rate) },
            delay: if self.has(PROFILES, dice) { dice.delays(delay) } else { Profile::Constant(delay) },
            outage: self.has(OUTAGES, dice).then(|| dice.outage()),
            queue: if differs { dice.queue() } else { base.queue.clone() },
            error,
            effect: *dice.pick(&[Effect::Corrupt, Effect::Corrupt, Effect::Lose]),
            interleave: (self.has(ERRORS, dice) && can_interleave).then(|| Interleave {
                span: dice.ms(&[0, 1, 30]),
                codeword: *dice.pick(&[20, 255]),
                corrects: *dice.pick(&[0, 1, 9]),
            }),
        }
    }

    fn flow(&self, index: usize, path: Path, links: &[Link], settings: &Config, dice: &mut Dice) -> Flow {
        let app = match (self.has(TRAFFIC, dice), dice.coin()) {
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
        Flow {
            name: format!("f{index}"),
            from: links[path.out[0]].from,
            to: links[path.back[0]].from,
            app,
            reader: reader.filter(|_| dice.coin()),
            start,
            class: dice.below(4) as u8,
            route: path.out,
            reverse_route: path.back,
            tcp: if dice.coin() { self.tcp(dice) } else { settings.clone() },
            phase_drawn: dice.coin(),
            like: Like::Rfc,
            processing: *dice.pick(&PROCESSING_US.map(|(a, b)| (Duration::from_micros(a), Duration::from_micros(b)))),
        }
    }

    fn tcp(&self, dice: &mut Dice) -> Config {
        let cc = *dice.pick(CcKind::ALL);
        let plain = Config { cc: cc.into(), recovery: cc.recovery(), ..Config::default() };
        let config = if self.has(SETTINGS, dice) { dice.tcp(plain) } else { plain };
        if self.has(ENDS, dice) {
            dice.ends(config)
        } else {
            config
        }
    }
}

const RATES: [u64; 5] = [64_000, 256_000, 1_000_000, 2_000_000, 8_000_000];
const PROCESSING_US: [(u64, u64); 4] = [(0, 0), (0, 100), (50, 50), (0, 20_000)];
const DELAYS_MS: [u64; 5] = [0, 1, 5, 20, 250];

/// What the links of a network have in common, unless they differ.
struct Base {
    rate: u64,
    delay: u64,
    queue: Queue,
}

/// A flow's links: those there, those back.
struct Path {
    out: Vec<usize>,
    back: Vec<usize>,
}

impl Path {
    /// Along these edges, each from its first end to its second or the other way; the same way back.
    fn along(edges: &[(usize, bool)]) -> Self {
        let link = |&(edge, is_forward): &(usize, bool)| 2 * edge + usize::from(!is_forward);
        Self { out: edges.iter().map(link).collect(), back: edges.iter().rev().map(|edge| link(edge) ^ 1).collect() }
    }
}

/// Number of nodes, the edges between them, the path of each flow.
fn topology(flows: usize, dice: &mut Dice) -> (usize, Vec<(usize, usize)>, Vec<Path>) {
    match dice.below(4) {
        // A dumbbell: senders, node 0, node 1, receivers.
        0 => {
            let access = (0..2 * flows).map(|i| if i % 2 == 0 { (i + 2, 0) } else { (1, i + 2) });
            let paths = (0..flows).map(|i| Path::along(&[(2 * i + 1, true), (0, true), (2 * i + 2, true)]));
            (2 * flows + 2, [(0, 1)].into_iter().chain(access).collect(), paths.collect())
        }
        // A chain of four links; flows from anywhere to anywhere, in both directions.
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
        // A star: from each leaf to the next, through node 0.
        2 => {
            let leaves = flows + 1;
            let paths = (0..flows).map(|i| Path::along(&[(i, false), ((i + 1) % leaves, true)]));
            (leaves + 1, (0..leaves).map(|i| (0, i + 1)).collect(), paths.collect())
        }
        // Three links side by side; there by one, back by any.
        _ => {
            let path = |i: usize| Path { out: vec![2 * (i % 3)], back: vec![2 * dice.below(3) as usize + 1] };
            (2, vec![(0, 1); 3], (0..flows).map(path).collect())
        }
    }
}

struct Dice {
    stream: Stream,
    drawn: u64,
}

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.drawn += 1;
        self.stream.below(self.drawn - 1, n)
    }

    fn coin(&mut self) -> bool {
        self.below(2) == 0
    }

    fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len() as u64) as usize]
    }

    fn ms(&mut self, choices: &[u64]) -> Duration {
        Duration::from_millis(*self.pick(choices))
    }

    fn queue(&mut self) -> Queue {
        let ecn = self.coin();
        let target = self.ms(&[1, 5, 15]);
        let interval = self.ms(&[20, 100, 600]);
        match self.below(12) {
            0 => Queue::Red(Red {
                limit: self.room(),
                min_th: *self.pick(&[1, 2, 5]),
                max_th: *self.pick(&[6, 15]),
                max_p: *self.pick(&[0.02, 0.1, 1.0]),
                weight: *self.pick(&[0.002, 0.1, 1.0]),
                gentle: self.coin(),
                adaptive: self.coin(),
                wait: self.coin(),
                byte_mode: self.coin(),
                mean_packet: 500,
                ecn,
            }),
            1 => Queue::Codel(Codel { limit: self.room(), target, interval, ecn }),
            2 => Queue::FqCodel(FqCodel {
                limit: self.room(),
                queues: *self.pick(&[1, 4, 64]),
                quantum: *self.pick(&[100, 1514]),
                target,
                interval,
                ecn,
            }),
            3 => Queue::Pie(Pie {
                limit: self.room(),
                target,
                update: self.ms(&[15, 40]),
                burst: self.ms(&[0, 50, 150]),
                derandomise: self.coin(),
                mean_packet: 500,
                ecn,
            }),
            4 => Queue::Priority { limits: vec![self.room(), self.room()], push_out: self.coin() },
            5 => Queue::Wrr(vec![self.share(), self.share(), self.share()]),
            6 => Queue::Drr { quantum: *self.pick(&[100, 1500]), classes: vec![self.share(), self.share()] },
            _ => Queue::DropTail(match self.below(8) {
                0 => QueueLimit::Unlimited,
                1..5 => QueueLimit::Packets(*self.pick(&[1, 2, 5, 20, 50])),
                _ => QueueLimit::Bytes(*self.pick(&[1500, 3000, 10_000, 64_000])),
            }),
        }
    }

    /// A limit that leaves room for any packet.
    fn room(&mut self) -> QueueLimit {
        match self.below(3) {
            0 => QueueLimit::Unlimited,
            1 => QueueLimit::Packets(*self.pick(&[1, 5, 20, 50])),
            _ => QueueLimit::Bytes(*self.pick(&[2000, 10_000, 64_000])),
        }
    }

    fn share(&mut self) -> Share {
        Share { weight: *self.pick(&[1, 2, 5]), limit: self.room() }
    }

    /// Everything often and small, so that connections come and go.
    fn app(&mut self) -> App {
        let count = self.coin().then(|| 1 + self.below(4));
        match self.below(6) {
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
            }),
            3 => App::Page(Page {
                connections: 1 + self.below(6) as u32,
                multiplexed: self.coin(),
                scale: *self.pick(&[0.01, 0.3]),
                request: *self.pick(&[1, 350, 2000]),
                tls_rtts: self.below(3) as u32,
                parse: self.wait(),
                reading: self.wait(),
                count,
            }),
            _ => {
                let rate = Rate::from_bps(*self.pick(&[20_000, 500_000]));
                let gaps = match self.below(3) {
                    0 => Gaps::Constant { rate, jitter: self.ms(&[0, 1]) },
                    1 => Gaps::Poisson { rate },
                    _ => Gaps::OnOff { peak: rate, on: Wait::Exponential(self.ms(&[5, 300])), off: self.wait() },
                };
                App::Datagrams(Datagrams { size: *self.pick(&[160, 1200, 1472]), gaps })
            }
        }
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
            1 => Wait::Exponential(self.ms(&[1, 30, 600])),
            _ => Wait::Pareto { shape: 1.5, mean: self.ms(&[1, 100]) },
        }
    }

    fn rates(&mut self, rate: Rate) -> Profile<Rate> {
        let values = [rate, Rate::from_bps(rate.as_bps() / 2), Rate::from_bps(0), rate];
        let first = self.below(2) as usize;
        let points = values[first..].iter().enumerate().map(|(i, &value)| (at_ms(300 * i as u64), value)).collect();
        // Like the period of outages: a prime, not a divisor of any timeout.
        Profile::Points { points, linear: false, period: self.coin().then_some(Duration::from_millis(1307)) }
    }

    fn delays(&mut self, delay: Duration) -> Profile<Duration> {
        let steps = [delay, delay + Duration::from_millis(40), delay / 2, delay + Duration::from_micros(7)];
        let points = steps.iter().enumerate().map(|(i, &value)| (at_ms(250 * i as u64), value)).collect();
        Profile::Points { points, linear: self.coin(), period: self.coin().then_some(Duration::from_secs(1)) }
    }

    fn outage(&mut self) -> Outage {
        let (start, length) = (self.below(1000), *self.pick(&[1, 20, 400, 900]));
        // A prime: as a divisor of a timeout, of ticks or the longest, it could let the timer meet the outage for ever.
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

    fn tcp(&mut self, plain: Config) -> Config {
        let smss = *self.pick(&[100, 536, 1000, 1460]);
        let recovery = match self.below(9) {
            0 => Recovery::TimeoutOnly,
            1 => Recovery::FastRetransmit,
            2 => Recovery::Reno,
            3 | 4 => Recovery::Sack { on_rto: *self.pick(SackOnRto::ALL), evidence: *self.pick(SackEvidence::ALL) },
            5 => Recovery::Rack(Rack { tlp: self.coin(), ..Rack::default() }),
            6 => Recovery::Snack(Snack {
                form: *self.pick(SnackForm::ALL),
                resnacks: *self.pick(&[1, 3]),
                grows: self.coin(),
                corruption_experienced: self.coin(),
            }),
            _ => Recovery::NewReno(NewReno {
                timer: *self.pick(NewRenoTimer::ALL),
                exit: *self.pick(NewRenoExit::ALL),
                deflate: *self.pick(NewRenoDeflate::ALL),
                first_loss: self.coin(),
                burst: *self.pick(&[0, 2]),
            }),
        };
        let free_running = DelayTimer::FreeRunning { phase: Duration::ZERO };
        Config {
            smss,
            recovery,
            verdict: *self.pick(VerdictKind::ALL),
            limited_transmit: self.coin(),
            limited_retransmit: self.coin(),
            early_retransmit: self.coin(),
            reduction: *self.pick(Reduction::ALL),
            dsack: self.coin(),
            spurious_detection: *self.pick(SpuriousDetection::ALL),
            spurious_response: *self.pick(SpuriousResponse::ALL),
            initial_window: *self.pick(&[InitialWindow::Segments(1), InitialWindow::Rfc3390, InitialWindow::Rfc6928]),
            initial_ssthresh: *self.pick(&[
                InitialSsthresh::Unlimited,
                InitialSsthresh::PeerWindow,
                InitialSsthresh::Bytes(8000),
            ]),
            growth: self.growth(smss),
            cwnd_validation: *self.pick(CwndValidation::ALL),
            idle_restart: self.coin(),
            ssthresh_base: *self.pick(SsthreshBase::ALL),
            rto: RtoConfig {
                initial: self.ms(&[1000, 3000]),
                min: self.ms(&[200, 1000]),
                granularity: self.ms(&[0, 1, 10, 500]),
                guard: self.coin(),
                rounding: *self.pick(&[TickRounding::Floor, TickRounding::PlusOne]),
                min_ticks: *self.pick(&[1, 2]),
                sampling: *self.pick(&[RttSampling::PerWindow, RttSampling::PerAck]),
                variance_min: self.ms(&[0, 200]),
                karn: self.coin(),
                forget_after: *self.pick(&[0, 1, 4]),
                reduce_again: self.coin(),
                restart_on_fast_retransmit: self.coin(),
                ..RtoConfig::default()
            },
            give_up: *self.pick(&[
                GiveUp::Never,
                GiveUp::AfterRetransmissions(3),
                GiveUp::AfterTime(Duration::from_secs(3)),
            ]),
            timestamps: self.coin(),
            window_scaling: self.coin(),
            receive_buffer: *self.pick(&[u64::from(smss), 4000, 64_000, Config::RECEIVE_BUFFER_MAX]),
            ack: AckPolicy {
                every: *self.pick(&[1, 2, 3]),
                delay: self.ms(&[40, 200]),
                timer: *self.pick(&[DelayTimer::PerSegment, free_running]),
                quick: *self.pick(&[0, 5]),
                slow_start: *self.pick(SlowStartAcks::ALL),
            },
            handshake: self.coin(),
            ..plain
        }
    }

    /// Marks, pacing, data in the SYN, a tuned buffer.
    fn ends(&mut self, config: Config) -> Config {
        let feedback =
            *self.pick(&[EcnFeedback::Off, EcnFeedback::Classic, EcnFeedback::PerSegment, EcnFeedback::Accurate]);
        let burst = *self.pick(&[Burst::Segments(2), Burst::Bytes(1), Burst::Bytes(10_000)]);
        let cookie = self.below(3);
        Config {
            ecn: EcnConfig { feedback, beta: *self.pick(&[None, Some(800)]) },
            pacing: match self.below(3) {
                0 => Pacing::Off,
                1 => Pacing::Window { gain_slow_start: 2000, gain: 1200, burst },
                _ => Pacing::Rate { rate: Rate::from_bps(*self.pick(&RATES)), burst },
            },
            fast_open: (config.handshake && cookie > 0).then_some(FastOpen { is_known: cookie > 1, cookie: [7; 8] }),
            // At least the unit of the window, which the limit decides.
            auto_buffer: self.coin().then(|| u64::from(config.smss).max(1 << 14).min(config.receive_buffer)),
            nagle: self.coin(),
            ..config
        }
    }
}

impl Dice {
    fn growth(&mut self, smss: u32) -> Growth {
        let segments = |n: u64| n * u64::from(smss);
        let hystart = HyStart {
            low_window: segments(*self.pick(&[2, 16])),
            detect: *self.pick(HyStartDetect::ALL),
            baseline: *self.pick(HyStartBaseline::ALL),
            samples: *self.pick(&[2, 8]),
            ..HyStart::new(smss)
        };
        let plus_plus = HyStartPlusPlus { rtt_samples: *self.pick(&[2, 8]), ..HyStartPlusPlus::default() };
        Growth {
            byte_counting: *self.pick(&[
                ByteCounting::Rfc5681,
                ByteCounting::PerAck,
                ByteCounting::Abc { limit: 1 },
                ByteCounting::Abc { limit: 2 },
                ByteCounting::Lbc,
                ByteCounting::Ubc,
                ByteCounting::UbcPure,
            ]),
            slow_start: *self.pick(&[
                SlowStart::Standard,
                SlowStart::Limited { max_ssthresh: segments(8) },
                SlowStart::Hoe(Hoe { pairs: 1, ..Hoe::default() }),
                SlowStart::Hoe(Hoe::default()),
                SlowStart::HyStart(hystart),
                SlowStart::HyStartPlusPlus(plus_plus),
            ]),
            increase: *self.pick(&[
                Increase::Standard,
                Increase::ConstantRate { reference_rtt: Duration::from_millis(100) },
                Increase::ByK { k: 4, above_rtt: Duration::from_millis(300) },
            ]),
            slow_start_at_ssthresh: self.coin(),
            whole_segments: self.coin(),
        }
    }
}

fn at_ms(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}
