//! Error models: select the packets of a link that have errors.
//!
//! Draws are addressed by the packet's number on the link (or by time, for states that last for times), so all cases of a
//! comparison meet the same channel.

use super::interleave::InterleavedErrors;
use super::profile::Pieces;
use super::states::{SteppedStates, TimedStates};
use bentpipe_model::spec::{loss_in_blocks, Bursts, ErrorModel as Spec, ErrorUnit, Link, Stay};
use bentpipe_units::{Stream, Time};

/// The error process of a link, for any model.
#[derive(Clone, Debug)]
pub(super) enum ErrorProcess {
    None,
    Independent(Box<IndependentErrors>),
    GilbertElliott(Box<GilbertElliottErrors>),
    Varying(Box<VaryingErrors>),
    Bursts(Box<BurstErrors>),
    Blocks(Box<BlockErrors>),
    Listed(Box<ListedErrors>),
    Interleaved(Box<InterleavedErrors>),
}

impl ErrorProcess {
    /// Nothing is computed after `end`, the end of the run.
    pub(super) fn new(link: &Link, seed: u64, end: Time) -> Self {
        Self::of_round(0, link, seed, end)
    }

    /// Errors of the `round`th retransmissions by the link's ARQ: same channel, separate draws. A list of packets applies to
    /// first transmissions only.
    pub(super) fn of_round(round: u32, link: &Link, seed: u64, end: Time) -> Self {
        let name = format!("link/{}", link.name);
        let draws = |name: &str| match round {
            0 => Stream::new(seed, name, "error"),
            _ => Stream::new(seed, name, &format!("error/{round}")),
        };
        if let Some(interleave) = link.interleave.as_deref().filter(|interleave| interleave.does_something()) {
            if let Some(model) = InterleavedErrors::new(interleave, &link.error, (seed, draws(&name)), &name, end) {
                return Self::Interleaved(Box::new(model));
            }
        }
        match &link.error {
            Spec::None => Self::None,
            Spec::Independent { rate, .. } if *rate <= 0.0 => Self::None,
            Spec::Independent { unit, rate } => {
                Self::Independent(Box::new(IndependentErrors::new(*unit, *rate, draws(&name))))
            }
            Spec::GilbertElliott { unit, stay, rate_good, rate_bad } => {
                let states = States::new(stay, seed, &name, end);
                let losses = draws(&name);
                Self::GilbertElliott(Box::new(GilbertElliottErrors {
                    unit: *unit,
                    log_survival: [*rate_good, *rate_bad].map(log_survival),
                    states,
                    losses,
                    end,
                }))
            }
            Spec::Profile { unit, rates } => {
                Self::Varying(Box::new(VaryingErrors { unit: *unit, rates: Pieces::of(rates), losses: draws(&name) }))
            }
            Spec::Bursts(bursts) => Self::Bursts(Box::new(BurstErrors::new(
                bursts,
                draws(&name),
                Stream::new(seed, &name, "error/state"),
                end,
            ))),
            Spec::Blocks { rates } => {
                Self::Blocks(Box::new(BlockErrors { rates: Pieces::of(rates), losses: draws(&name) }))
            }
            Spec::Arrivals { .. } if round > 0 => Self::None,
            Spec::Arrivals { list, period } => {
                Self::Listed(Box::new(ListedErrors { list: list.clone(), period: *period, next: 0, origin: 0 }))
            }
        }
    }

    #[inline]
    pub(super) fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// Whether packet number `index` of this link, with `size` bytes and its last bit at `at`, has an error. Numbers increase
    /// by one; times do not decrease.
    pub(super) fn has_error(&mut self, at: Time, index: u64, size: u64) -> bool {
        match self {
            Self::None => false,
            Self::Independent(model) => model.has_error(size),
            Self::GilbertElliott(model) => model.has_error(at, index, size),
            Self::Varying(model) => model.has_error(at, index, size),
            Self::Bursts(model) => model.has_error(at),
            Self::Blocks(model) => model.has_error(at, index, size),
            Self::Listed(model) => model.has_error(index),
            Self::Interleaved(model) => model.has_error(at, index, size),
        }
    }
}

/// ln(1 - rate).
fn log_survival(rate: f64) -> f64 {
    libm::log1p(-rate.min(1.0))
}

fn units_of(unit: ErrorUnit, size: u64) -> u64 {
    match unit {
        ErrorUnit::Bit => 8 * size,
        ErrorUnit::Byte => size,
        ErrorUnit::Packet => 1,
    }
}

/// Independent errors. The distance to the next error is geometric: one draw per corrupted packet.
#[derive(Clone, Debug)]
pub(super) struct IndependentErrors {
    unit: ErrorUnit,
    /// ln(1 - rate).
    log_survival: f64,
    gaps: Stream,
    drawn: u64,
    /// Units until the next error.
    left: u64,
}

impl IndependentErrors {
    fn new(unit: ErrorUnit, rate: f64, gaps: Stream) -> Self {
        let mut model = Self { unit, log_survival: log_survival(rate), gaps, drawn: 0, left: 0 };
        model.left = model.gap();
        model
    }

    #[inline]
    fn has_error(&mut self, size: u64) -> bool {
        let units = units_of(self.unit, size);
        if self.left >= units {
            self.left -= units;
            return false;
        }
        // Errors have no memory: the next distance counts from the end of this packet.
        self.left = self.gap();
        true
    }

    /// Units without error before the next error: floor(ln u / ln(1 - rate)).
    fn gap(&mut self) -> u64 {
        let u = self.gaps.uniform_positive(self.drawn);
        self.drawn += 1;
        let gap = libm::log(u) / self.log_survival;
        // Saturates; rate = 1 gives -x / -inf = 0.
        gap as u64
    }
}

/// Independent errors with a rate for each of two states.
#[derive(Clone, Debug)]
pub(super) struct GilbertElliottErrors {
    unit: ErrorUnit,
    log_survival: [f64; 2],
    states: States,
    losses: Stream,
    end: Time,
}

#[derive(Clone, Debug)]
enum States {
    Timed(TimedStates),
    Stepped(SteppedStates),
}

impl States {
    fn new(stay: &Stay, seed: u64, link: &str, end: Time) -> Self {
        let draws = Stream::new(seed, link, "error/state");
        match *stay {
            Stay::Time { good, bad } => Self::Timed(TimedStates::new(good, bad, draws, end)),
            Stay::Packets { good, bad } => Self::Stepped(SteppedStates::new(good, bad, draws)),
        }
    }
}

impl GilbertElliottErrors {
    fn has_error(&mut self, at: Time, index: u64, size: u64) -> bool {
        if at > self.end || at == Time::NEVER {
            // After the end of the run.
            return false;
        }
        let is_bad = match &mut self.states {
            States::Timed(states) => states.is_bad_at(at),
            States::Stepped(states) => states.is_bad_at(index),
        };
        draws_error(self.log_survival[usize::from(is_bad)], self.unit, size, &mut self.losses, index)
    }
}

/// Independent errors at a rate that changes in steps.
#[derive(Clone, Debug)]
pub(super) struct VaryingErrors {
    unit: ErrorUnit,
    rates: Pieces<f64>,
    losses: Stream,
}

impl VaryingErrors {
    fn has_error(&mut self, at: Time, index: u64, size: u64) -> bool {
        self.rates.seek(at);
        let rate = self.rates.value();
        rate > 0.0 && draws_error(log_survival(rate), self.unit, size, &mut self.losses, index)
    }
}

/// Losses in bursts.
#[derive(Clone, Debug)]
pub(super) struct BurstErrors {
    states: TimedStates,
    rates: Pieces<f64>,
    most: f64,
    /// Decides whether a burst is left out.
    kept: Stream,
}

impl BurstErrors {
    fn new(bursts: &Bursts, kept: Stream, states: Stream, end: Time) -> Self {
        let [between, burst] = bursts.stays();
        let states = TimedStates::new(between, burst, states, end);
        Self { states, rates: Pieces::of(&bursts.rates), most: bursts.most, kept }
    }

    fn has_error(&mut self, at: Time) -> bool {
        self.rates.seek(at);
        self.states.is_bad_at(at) && self.kept.uniform(self.states.number()) * self.most < self.rates.value()
    }
}

/// Losses of the blocks of a code.
#[derive(Clone, Debug)]
pub(super) struct BlockErrors {
    rates: Pieces<f64>,
    losses: Stream,
}

impl BlockErrors {
    fn has_error(&mut self, at: Time, index: u64, size: u64) -> bool {
        self.rates.seek(at);
        let lost = loss_in_blocks(self.rates.value(), size);
        lost > 0.0 && self.losses.uniform(index) >= 1.0 - lost
    }
}

/// Whether draw number `index` is an error in a packet of `size` bytes.
fn draws_error(log_survival: f64, unit: ErrorUnit, size: u64, losses: &mut Stream, index: u64) -> bool {
    // No draw if the result is certain.
    log_survival != 0.0 && losses.uniform(index) >= libm::exp(log_survival * units_of(unit, size) as f64)
}

/// Listed packets.
#[derive(Clone, Debug)]
pub(super) struct ListedErrors {
    list: Vec<u64>,
    period: Option<u64>,
    next: usize,
    /// Number of the first packet of the current repetition.
    origin: u64,
}

impl ListedErrors {
    fn has_error(&mut self, index: u64) -> bool {
        if let Some(period) = self.period {
            if index - self.origin >= period {
                self.origin = index - index % period;
                self.next = 0;
            }
        }
        let is_listed = self.list.get(self.next) == Some(&(index - self.origin));
        self.next += usize::from(is_listed);
        is_listed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_model::spec::{Interleave, Profile, MILLIONTHS};
    use bentpipe_units::{Duration, Rate};

    /// A link with these errors.
    fn link(error: Spec) -> Link {
        Link { error, ..Link::plain(Rate::from_bps(1), Duration::ZERO) }
    }

    /// The numbers of the packets with errors, among `packets` packets of `size` bytes, `gap` apart.
    fn fates(link: &Link, size: u64, packets: u64, gap: Duration) -> Vec<bool> {
        let mut model = ErrorProcess::new(link, 1, Time::NEVER);
        (0..packets).map(|i| model.has_error(Time::ZERO + gap * i, i, size)).collect()
    }

    fn loss_of(link: &Link, size: u64, packets: u64, gap: Duration) -> f64 {
        fates(link, size, packets, gap).into_iter().filter(|has_error| *has_error).count() as f64 / packets as f64
    }

    fn loss(spec: &Spec, size: u64, packets: u64, gap: Duration) -> f64 {
        loss_of(&link(spec.clone()), size, packets, gap)
    }

    /// Mean length of the runs of errors.
    fn mean_burst(fates: &[bool]) -> f64 {
        let errors = fates.iter().filter(|has_error| **has_error).count();
        let ends = fates.windows(2).filter(|pair| pair[0] && !pair[1]).count();
        errors as f64 / ends as f64
    }

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// The share that is lost is that of the rates, each in its time. Runs have the length of exponential times that are
    /// sampled: 1 / (1 - exp(-gap / mean)), and a little more for those that touch.
    #[test]
    fn bursts_take_their_share_of_the_time_and_last_as_long_as_asked() {
        let half = 1_000_000;
        let points = vec![(Time::ZERO, 0.02), (Time::ZERO + ms(half), 0.005)];
        let rates = Profile::Points { points, linear: false, period: None };
        let fates = fates(&link(Spec::Bursts(Bursts { mean: ms(3), most: 0.02, rates })), 1500, 2 * half, ms(1));
        for (part, share) in fates.chunks(half as usize).zip([0.02, 0.005]) {
            let lost = part.iter().filter(|is_lost| **is_lost).count() as f64 / half as f64;
            assert!((lost / share - 1.0).abs() < 0.05, "{lost} {share}");
            let expected = 1.0 / (1.0 - libm::exp(-1.0 / 3.0));
            assert!((mean_burst(part) / expected - 1.0).abs() < 0.05, "{}", mean_burst(part));
        }
    }

    /// `docs/specs/error-models.md`: the three units, within four standard deviations.
    #[test]
    fn the_unit_decides_what_a_rate_means() {
        for (unit, rate, size, expected) in [
            (ErrorUnit::Bit, 1e-4, 1540, 0.7083),
            (ErrorUnit::Byte, 1e-4, 1540, 0.1427),
            (ErrorUnit::Packet, 1e-2, 1540, 1e-2),
            (ErrorUnit::Bit, 2e-5, 1500, 0.213374),
            (ErrorUnit::Bit, 2e-5, 40, 6.38e-3),
            (ErrorUnit::Packet, 1.0, 40, 1.0),
        ] {
            let n = 200_000;
            let measured = loss(&Spec::Independent { unit, rate }, size, n, Duration::from_millis(1));
            let deviation = (expected * (1.0 - expected) / n as f64).sqrt();
            assert!((measured - expected).abs() <= 4.0 * deviation + 5e-5, "{unit:?} {rate}: {measured} {expected}");
        }
    }

    /// pi_B = 10 / (90 + 10) = 0.1, half of it lost, for any spacing of packets.
    #[test]
    fn gilbert_elliott_is_stationary_in_time() {
        let spec = Spec::GilbertElliott {
            unit: ErrorUnit::Packet,
            stay: Stay::Time { good: ms(90), bad: ms(10) },
            rate_good: 0.0,
            rate_bad: 0.5,
        };
        for gap_ms in [1, 3] {
            let measured = loss(&spec, 1000, 2_000_000, Duration::from_millis(gap_ms));
            assert!((measured - 0.05).abs() < 0.002, "{measured}");
        }
    }

    /// `docs/specs/error-models.md`, p 0.01, r 0.1, e_B 0.5: loss 0.0455; with e_B 1, bad runs of 10 packets.
    #[test]
    fn stepped_states_lose_as_much_as_their_chain_says_however_often_packets_come() {
        let stay = Stay::Packets { good: 100 * MILLIONTHS, bad: 10 * MILLIONTHS };
        let spec = |rate_bad| Spec::GilbertElliott { unit: ErrorUnit::Packet, stay, rate_good: 0.0, rate_bad };
        for gap in [Duration::ZERO, ms(7)] {
            let measured = loss(&spec(0.5), 1000, 2_000_000, gap);
            assert!((measured - 0.04545).abs() < 0.001, "{measured}");
        }
        let all = fates(&link(spec(1.0)), 1000, 2_000_000, ms(1));
        assert!((mean_burst(&all) - 10.0).abs() < 0.3, "{}", mean_burst(&all));
    }

    /// The same chain in continuous time, a step of 1 ms: 10.594 /s and 105.94 /s, and P(B after 10 ms | G) = 0.06256.
    #[test]
    fn timed_states_follow_the_exponential_law_between_packets() {
        let stay =
            Stay::Time { good: Duration::from_secs_f64(1.0 / 10.594), bad: Duration::from_secs_f64(1.0 / 105.94) };
        let spec = Spec::GilbertElliott { unit: ErrorUnit::Packet, stay, rate_good: 0.0, rate_bad: 1.0 };
        let all = fates(&link(spec), 1000, 2_000_000, ms(10));
        let (good, turned) = all
            .windows(2)
            .filter(|pair| !pair[0])
            .fold((0, 0), |(n, turned), pair| (n + 1, turned + u32::from(pair[1])));
        let measured = f64::from(turned) / f64::from(good);
        let deviation = (0.06256f64 * 0.93744 / f64::from(good)).sqrt();
        assert!((measured - 0.06256).abs() < 4.0 * deviation + 1e-5, "{measured}");
    }

    /// `docs/specs/error-models.md`: q 0.05, b 4 is p 0.013158, r 0.25, which is a good state of 76 packets; in time, 4
    /// ms in 80.
    #[test]
    fn fitted_bursts_are_as_frequent_and_as_long_as_asked_for() {
        for (burst, loss, length) in [("4 packets", 0.05, 4.0), ("8 packets", 0.01, 8.0), ("4 ms", 0.05, 4.55)] {
            let error = format!("{{ kind = \"bursts\", mean_loss = {loss}, mean_burst = \"{burst}\" }}");
            let text = format!(
                "duration = \"1 s\"\n[link.l]\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
                 error = {error}\n[flow.f]\nfrom = \"a\"\nto = \"b\"\n"
            );
            let link = &bentpipe_scenario::from_toml(&text, "test", &[]).unwrap().scenario.links[0];
            let Spec::GilbertElliott { stay, .. } = link.error else { panic!("{:?}", link.error) };
            if burst == "4 packets" {
                assert_eq!(stay, Stay::Packets { good: 76 * MILLIONTHS, bad: 4 * MILLIONTHS });
            }
            let all = fates(link, 1000, 4_000_000, ms(1));
            let hit = all.iter().filter(|has_error| **has_error).count() as f64 / 4e6;
            assert!((hit / loss - 1.0).abs() < 0.03, "{burst}: {hit}");
            // Of 4 ms, looked at every ms: 1 / (1 - P(B after 1 ms | B)), P = 0.05 + 0.95 exp(-(1/4 + 1/76)).
            assert!((mean_burst(&all) / length - 1.0).abs() < 0.02, "{burst}: {}", mean_burst(&all));
        }
    }

    #[test]
    fn rates_that_change_hit_in_their_time_only() {
        let points = vec![(Time::ZERO, 0.0), (Time::ZERO + ms(12), 1.0), (Time::ZERO + ms(14), 0.0)];
        let rates = Profile::Points { points, linear: false, period: Some(ms(20)) };
        let all = fates(&link(Spec::Profile { unit: ErrorUnit::Packet, rates }), 40, 60, ms(1));
        let hit: Vec<usize> = (0..60).filter(|&i| all[i]).collect();
        assert_eq!(hit, [12, 13, 32, 33, 52, 53]);
    }

    /// Bad for 2 ms in every 40: a mean byte error rate of 0.05 · 0.4 + 0.95 · 0.001.
    fn bursty() -> Link {
        let stay = Stay::Time { good: ms(38), bad: ms(2) };
        link(Spec::GilbertElliott { unit: ErrorUnit::Byte, stay, rate_good: 1e-3, rate_bad: 0.4 })
    }

    /// With F(n) the sum of binomial terms up to t at e = 0.02095 (in exact arithmetic, Python): 1000 B in words of
    /// (255, 239) with t = 8 are lost with 1 - F(255)^4 F(60) = 0.315820, 300 B in words of (255, 247) with t = 4 with
    /// 1 - F(255) F(61) = 0.623146.
    #[test]
    fn long_blocks_make_a_bursty_channel_one_of_independent_errors() {
        let steady = link(Spec::Independent { unit: ErrorUnit::Byte, rate: 0.02095 });
        for (corrects, size, expected) in [(8, 1000, 0.315_820), (4, 300, 0.623_146)] {
            let with = |link: &Link, span, packets| {
                let interleave = Some(Box::new(Interleave { span, codeword: 255, corrects }));
                loss_of(&Link { interleave, ..link.clone() }, size, packets, ms(1))
            };
            let independent = with(&steady, Duration::ZERO, 400_000);
            assert!((independent - expected).abs() < 0.004, "{corrects}: {independent}");
            // Ten thousand bursts in each of three blocks.
            let spread = with(&bursty(), Duration::from_secs(400), 1_200_000);
            assert!((spread - expected).abs() < 0.03, "{corrects}: {spread}");
            // One packet in twenty meets the bad state, and is lost.
            let short = with(&bursty(), Duration::ZERO, 400_000);
            assert!((short - 0.05).abs() < 0.01, "{corrects}: {short}");
        }
    }

    /// A code that corrects 16 of 255 bytes. Bursts average 12.75 bytes in 255 if interleaved, 255 if not.
    #[test]
    fn the_longer_the_block_the_fewer_the_losses_of_a_channel_that_the_code_is_made_for() {
        let stay = Stay::Time { good: ms(19), bad: ms(1) };
        let bursts = link(Spec::GilbertElliott { unit: ErrorUnit::Byte, stay, rate_good: 0.0, rate_bad: 0.4 });
        let losses = [0, 5, 50, 500].map(|span| {
            let interleave = Some(Box::new(Interleave { span: ms(span), codeword: 255, corrects: 16 }));
            loss_of(&Link { interleave, ..bursts.clone() }, 223, 200_000, ms(1))
        });
        assert!((losses[0] - 0.05).abs() < 0.005 && losses[3] < 1e-3, "{losses:?}");
        assert!(losses[1] > losses[2] && losses[2] > losses[3], "{losses:?}");
    }

    /// (1 - e)^L with the mean e: interleaving without a code damages all packets.
    #[test]
    fn spreading_without_correcting_damages_many_packets_instead_of_few() {
        let interleave = Some(Box::new(Interleave { span: Duration::from_secs(20), codeword: 255, corrects: 0 }));
        let spread = loss_of(&Link { interleave, ..bursty() }, 100, 400_000, Duration::from_micros(100));
        let expected = 1.0 - (1.0f64 - 0.02095).powi(100);
        assert!((spread - expected).abs() < 0.02, "{spread} {expected}");
        let alone = loss_of(&bursty(), 100, 400_000, Duration::from_micros(100));
        assert!(alone < 0.2, "{alone}");
    }

    #[test]
    fn blocks_of_no_time_that_correct_nothing_change_nothing() {
        let interleave = Some(Box::new(Interleave { span: Duration::ZERO, codeword: 255, corrects: 0 }));
        let gap = Duration::from_micros(100);
        assert_eq!(fates(&bursty(), 100, 10_000, gap), fates(&Link { interleave, ..bursty() }, 100, 10_000, gap));
    }

    #[test]
    fn listed_arrivals_are_hit_and_no_others() {
        let hit = |period| {
            let all = fates(&link(Spec::Arrivals { list: vec![0, 3], period }), 40, 10, ms(1));
            (0..10).filter(|&i| all[i]).collect::<Vec<_>>()
        };
        assert_eq!(hit(None), [0, 3]);
        assert_eq!(hit(Some(4)), [0, 3, 4, 7, 8]);
        assert_eq!(hit(Some(5)), [0, 3, 5, 8]);
    }
}
