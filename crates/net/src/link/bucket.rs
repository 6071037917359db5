//! Token buckets before a link (specification of queues, "Token bucket"): the policer drops an arriving packet that finds too
//! few tokens. The shaper delays the transmission of the packet at the head, which has left the queue. Packets behind it wait
//! in the queue of the link, under its limit and discipline.
//!
//! Both decide from their arguments and earlier packets only, so that the link can be served lazily.

use bentpipe_model::dictionary::Cause;
use bentpipe_model::spec::{Link as Spec, TokenBucket as Keys};
use bentpipe_units::{Duration, Rate, Time};

/// The token buckets of a link.
#[derive(Clone, Debug)]
pub(super) struct Buckets {
    policer: Option<TokenBucket>,
    shaper: Option<TokenBucket>,
}

/// Tokens are bits x 10^12: a rate adds its bits per second of them each picosecond, without rounding.
#[derive(Clone, Debug)]
struct TokenBucket {
    rate: Rate,
    depth: u128,
    /// Tokens at an instant.
    tokens: u128,
    at: Time,
    /// Bytes that pass before the bucket limits packets.
    quota: u64,
}

const PER_BYTE: u128 = 8 * 1_000_000_000_000;

impl Buckets {
    pub(super) fn of(spec: &Spec) -> Option<Self> {
        let [policer, shaper] =
            [&spec.policer, &spec.shaper].map(|keys| keys.as_deref().copied().map(TokenBucket::full));
        (policer.is_some() || shaper.is_some()).then_some(Self { policer, shaper })
    }

    /// The cause of loss of a packet that arrives now, if it does not pass. A packet that passes takes the policer's tokens.
    pub(super) fn refusal(&mut self, now: Time, size: u64) -> Option<Cause> {
        // The shaper would never send a larger packet.
        let mut passes = self.shaper.as_ref().is_none_or(|shaper| cost(size) <= shaper.depth);
        if let (true, Some(policer)) = (passes, &mut self.policer) {
            passes = policer.ready(now, size) == now;
            if passes {
                policer.take(size);
            }
        }
        (!passes).then_some(Cause::Policed)
    }

    /// The begin of a transmission that could begin at `at`: later while the shaper lacks tokens, and at most `down_at`, when
    /// the link goes down. A packet that has not begun by then takes no tokens.
    pub(super) fn begin(&mut self, at: Time, down_at: Time, size: u64) -> Time {
        let Some(shaper) = &mut self.shaper else { return at };
        let begin = shaper.ready(at, size);
        if begin >= down_at {
            return down_at;
        }
        shaper.fill(begin);
        shaper.take(size);
        begin
    }

    /// The rate of the shaper, once its quota is used.
    pub(super) fn shaped(&self) -> Option<Rate> {
        self.shaper.as_ref().filter(|shaper| shaper.quota == 0).map(|shaper| shaper.rate)
    }
}

impl TokenBucket {
    fn full(keys: Keys) -> Self {
        let depth = cost(keys.burst);
        Self { rate: keys.rate, depth, tokens: depth, at: Time::ZERO, quota: keys.after }
    }

    fn fill(&mut self, now: Time) {
        let more = u128::from(self.rate.as_bps()) * u128::from(now.saturating_since(self.at).as_ps());
        self.tokens = self.tokens.saturating_add(more).min(self.depth);
        self.at = now;
    }

    /// The first instant from `now` with enough tokens for a packet. Fills the bucket up to `now`.
    fn ready(&mut self, now: Time, size: u64) -> Time {
        self.fill(now);
        if self.quota > 0 {
            return now;
        }
        let missing = cost(size).saturating_sub(self.tokens);
        let wait = missing.div_ceil(self.rate.as_bps().max(1).into());
        now + Duration::from_ps(u64::try_from(wait).unwrap_or(u64::MAX))
    }

    /// Takes the tokens of a packet, or its bytes of the quota.
    fn take(&mut self, size: u64) {
        match self.quota {
            0 => self.tokens = self.tokens.saturating_sub(cost(size)),
            _ => self.quota = self.quota.saturating_sub(size),
        }
    }
}

fn cost(size: u64) -> u128 {
    u128::from(size) * PER_BYTE
}

#[cfg(test)]
mod tests {
    use super::super::tests::{packet, spec};
    use super::super::{LazyLink, Losses};
    use super::*;
    use bentpipe_model::spec::{Profile, QueueLimit};
    use proptest::prelude::*;

    fn keys(rate: u64, burst: u64) -> Option<Keys> {
        Some(Keys { rate: Rate::from_bps(rate), burst, after: 0 })
    }

    /// A link without delay and with an unlimited queue.
    fn link(rate: u64, policer: Option<Keys>, shaper: Option<Keys>) -> LazyLink {
        let (rate, delay) = (Profile::Constant(Rate::from_bps(rate)), Profile::Constant(Duration::ZERO));
        let [policer, shaper] = [policer, shaper].map(|keys| keys.map(Box::new));
        let spec = Spec { rate, delay, policer, shaper, ..spec(QueueLimit::Unlimited) };
        LazyLink::new(&spec, 1, Time::NEVER).with_journal()
    }

    /// Offers packets of these instants and sizes. Returns number, bytes and begin of transmission of those that pass, and the
    /// numbers of those that are lost.
    fn cross(link: &mut LazyLink, offers: &[(Time, u16)]) -> (Vec<(u32, u64, Time)>, Vec<u32>) {
        let mut losses = Losses::new();
        for (id, &(at, size)) in (0..).zip(offers) {
            link.accept(at, &packet(id, size), &mut losses);
        }
        link.advance(Time::NEVER, &mut losses);
        assert!(losses.iter().all(|(_, cause)| *cause == Cause::Policed));
        let sent = link.take_services().into_iter();
        let sent = sent.map(|service| (service.packet.seq.value(), service.packet.size(), service.begin));
        (sent.collect(), losses.iter().map(|(packet, _)| packet.seq.value()).collect())
    }

    fn us(n: u64) -> Time {
        Time::ZERO + Duration::from_micros(n)
    }

    const FAST: u64 = 1_000_000_000_000;

    /// The worked test of the specification: 1 Mbit/s, a full bucket of 3000 B and three packets of 1500 B.
    #[test]
    fn two_packets_pass_and_the_third_waits_12_ms_or_is_dropped() {
        let three = [(Time::ZERO, 1500); 3];
        let (sent, lost) = cross(&mut link(FAST, None, keys(1_000_000, 3000)), &three);
        let ms: Vec<f64> = sent.iter().map(|sent| (sent.2.as_secs_f64() * 1e6).round() / 1e3).collect();
        assert_eq!((ms, lost), (vec![0.0, 0.0, 12.0], vec![]));
        let (sent, lost) = cross(
            &mut link(FAST, keys(1_000_000, 3000), None),
            &[&three[..], &[(us(11_999), 1500)], &[(us(12_000), 1500)]].concat(),
        );
        let passed: Vec<u32> = sent.iter().map(|sent| sent.0).collect();
        assert_eq!((passed, lost), (vec![0, 1, 4], vec![2, 3]));
    }

    #[test]
    fn a_quota_passes_first_and_packets_larger_than_the_bucket_never() {
        for is_shaper in [false, true] {
            let bucket = Some(Keys { rate: Rate::from_bps(1_000_000), burst: 1500, after: 3001 });
            let (policer, shaper) = if is_shaper { (None, bucket) } else { (bucket, None) };
            let (sent, lost) = cross(&mut link(FAST, policer, shaper), &[(Time::ZERO, 1500); 5]);
            let expected: (&[u32], &[u32]) = if is_shaper { (&[0, 1, 2, 3, 4], &[]) } else { (&[0, 1, 2, 3], &[4]) };
            assert_eq!(
                (sent.iter().map(|sent| sent.0).collect::<Vec<_>>(), &lost[..]),
                (expected.0.to_vec(), expected.1)
            );
            assert!(!is_shaper || sent[3].2 < us(1) && sent[4].2 >= us(12_000), "{sent:?}");
        }
        let (sent, lost) = cross(&mut link(FAST, None, keys(1_000_000, 1000)), &[(us(0), 1001), (us(0), 1000)]);
        assert_eq!((sent[0].0, lost), (1, vec![0]));
    }

    /// Offers, bytes and departures in microseconds of `tc qdisc ... tbf rate 2mbit burst 6000` of Linux 6.18 between two
    /// namespaces. Linux counts 14 B of Ethernet with each packet. The measured time includes the way to the other
    /// namespace.
    #[test]
    fn the_shaper_sends_when_linux_does() {
        let measured: &[(u64, u16, u64)] = &[
            (0, 300, 68),
            (7023, 1500, 7070),
            (14392, 1500, 14426),
            (14441, 300, 14447),
            (17949, 700, 17971),
            (24980, 1500, 25015),
            (25030, 1200, 25034),
            (25045, 1500, 25050),
            (25052, 1500, 25056),
            (28468, 100, 28484),
            (30876, 1500, 30892),
            (33963, 100, 33978),
            (33986, 1200, 35885),
            (38637, 700, 38734),
            (44093, 1500, 44802),
            (50944, 300, 50979),
            (56314, 300, 56347),
            (56359, 1500, 56366),
            (64031, 1200, 64069),
            (68584, 1500, 68610),
            (70274, 1500, 70322),
            (74862, 1200, 75182),
            (74907, 1200, 80045),
            (74913, 1500, 86093),
            (82781, 300, 87361),
            (82827, 300, 88604),
            (86064, 1500, 94663),
            (86114, 300, 95913),
            (86119, 1500, 101980),
            (93046, 1200, 106834),
            (93080, 1500, 112892),
            (93405, 100, 113338),
            (96053, 1500, 119406),
            (103898, 100, 119851),
            (111886, 300, 121107),
            (111921, 1500, 127171),
            (111929, 100, 127620),
            (112137, 700, 130481),
            (112141, 100, 130943),
            (112144, 700, 133797),
        ];
        let offers: Vec<(Time, u16)> = measured.iter().map(|&(at, size, _)| (us(at), size + 14)).collect();
        let (sent, _) = cross(&mut link(FAST, None, keys(2_000_000, 6000)), &offers);
        assert_eq!(sent.len(), measured.len());
        let late = sent.iter().zip(measured).map(|(sent, linux)| linux.2 as f64 - sent.2.as_secs_f64() * 1e6);
        let late: Vec<f64> = late.collect();
        assert!(late.iter().all(|late| (0.0..150.0).contains(late)), "{late:?}");
        let waited =
            sent.iter().zip(&offers).filter(|(sent, offer)| sent.2 > offer.0 + Duration::from_millis(5)).count();
        assert!(waited > 10, "{waited}");
    }

    /// Whether a packet may pass at `at` after those: any interval that begins with one of them passes at most its rate and
    /// one bucket.
    fn conforms(before: &[(u32, u64, Time)], (at, size): (Time, u64), keys: Keys) -> bool {
        let mut bytes = size;
        before.iter().rev().all(|&(_, earlier, since)| {
            bytes += earlier;
            let passes = u128::from(keys.rate.as_bps()) * u128::from((at - since).as_ps());
            u128::from(bytes) * PER_BYTE <= u128::from(keys.burst) * PER_BYTE + passes
        })
    }

    proptest! {
        /// The arrival curve r t + b bounds each interval of the output, and no packet waits or is dropped without need.
        #[test]
        fn any_interval_passes_the_rate_and_one_bucket(
            rate in 1_000u64..100_000_000,
            burst in 1500u64..20_000,
            speed in prop::sample::select(vec![5_000_000, FAST]),
            gaps in prop::collection::vec((prop::sample::select(vec![0u64, 1, 900, 70_000]), 40u16..=1500), 1..120),
        ) {
            let mut at = Time::ZERO;
            let offers: Vec<(Time, u16)> = gaps.iter().map(|&(gap, size)| {
                at += Duration::from_micros(gap);
                (at, size)
            }).collect();
            let keys = Keys { rate: Rate::from_bps(rate), burst, after: 0 };

            let (sent, lost) = cross(&mut link(speed, None, Some(keys)), &offers);
            prop_assert!(lost.is_empty() && sent.len() == offers.len());
            let mut free_at = Time::ZERO;
            for (n, &(id, size, begin)) in sent.iter().enumerate() {
                prop_assert_eq!(id as usize, n, "packets keep their order");
                prop_assert!(conforms(&sent[..n], (begin, size), keys));
                let earliest = offers[n].0.max(free_at);
                let before = Time::from_ps(begin.as_ps().saturating_sub(1));
                prop_assert!(begin == earliest || begin > earliest && !conforms(&sent[..n], (before, size), keys));
                free_at = begin + Rate::from_bps(speed).time_to_send(size);
            }

            let (sent, lost) = cross(&mut link(speed, Some(keys), None), &offers);
            prop_assert_eq!(sent.len() + lost.len(), offers.len());
            let mut passed = Vec::new();
            for (id, &(at, size)) in (0..).zip(&offers) {
                let may_pass = conforms(&passed, (at, size.into()), keys);
                prop_assert_eq!(may_pass, !lost.contains(&id), "packet {}", id);
                if may_pass {
                    passed.push((id, size.into(), at));
                }
            }
        }
    }
}
