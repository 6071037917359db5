//! The forward link with packets that always wait, or wait once.

use bentpipe_access::{Adaptation, Backlog, Frame, Frames, Length, Modcod, Part, Queues, Share, Tdm, TdmMedium};
use bentpipe_units::{Duration, Time};

/// Queues of packets of one size. `left` counts down, and `sent` has the packets, with the ends of their frames.
struct Sizes {
    bytes: u32,
    left: Vec<u64>,
    signals: Vec<f64>,
    sent: Vec<Vec<(Time, bool)>>,
    /// Whether a packet of the terminal is in the hands of the link.
    is_taken: Vec<bool>,
}

impl Sizes {
    fn new(bytes: u32, left: &[u64], signals: &[f64]) -> Self {
        let (sent, is_taken) = (vec![Vec::new(); left.len()], vec![false; left.len()]);
        Self { bytes, left: left.to_vec(), signals: signals.to_vec(), sent, is_taken }
    }
}

impl Queues for Sizes {
    fn is_up(&mut self, _terminal: usize, _now: Time) -> bool {
        true
    }

    fn next(&mut self, terminal: usize, _now: Time) -> Option<u32> {
        assert!(!self.is_taken[terminal]);
        (self.left[terminal] > 0).then_some(self.bytes)
    }

    fn backlog(&mut self, terminal: usize) -> Backlog {
        let packets = self.left[terminal].min(1000);
        Backlog { packets, bytes: packets.saturating_mul(self.bytes.into()) }
    }

    fn take(&mut self, terminal: usize) {
        assert!(!core::mem::replace(&mut self.is_taken[terminal], true));
        self.left[terminal] -= 1;
    }

    fn put(&mut self, terminal: usize, frame: &Frame, _part: Part) -> bool {
        frame.threshold_db() > self.signals[terminal]
    }

    fn sent(&mut self, terminal: usize, at: Time, is_lost: bool) {
        assert!(core::mem::take(&mut self.is_taken[terminal]));
        self.sent[terminal].push((at, is_lost));
    }
}

fn settings(share: Share) -> Tdm {
    let frames = Frames { symbol_rate: 45_000_000, pilots: true, label: 3 };
    Tdm { frames, share, hold: Duration::ZERO, short_frames: false, modcod: None, acm: Adaptation::default() }
}

/// Runs frames one after the other until `end`, or until no frame is filled.
fn run(medium: &mut TdmMedium, queues: &mut Sizes, end: f64) -> Time {
    let mut now = Time::ZERO;
    for terminal in 0..queues.left.len() {
        medium.arrived(now, terminal);
    }
    while now.as_secs_f64() < end {
        let Some(frame) = medium.next_frame(now, queues) else { break };
        now = frame.ends;
    }
    let counts = medium.counters();
    assert!(counts.carried + counts.headers + counts.plans <= counts.bytes);
    now
}

fn goodputs(share: Share, signals: &[f64], weights: &[u32]) -> Vec<f64> {
    let end = 5.0;
    let terminals = weights.iter().copied().zip(signals.iter().copied());
    let mut medium = TdmMedium::new(&settings(share), terminals);
    let mut queues = Sizes::new(1500, &vec![u64::MAX; signals.len()], signals);
    run(&mut medium, &mut queues, end);
    queues.sent.iter().map(|sent| sent.len() as f64 * 1500.0 * 8.0 / end / 1e6).collect()
}

/// At 13 dB less 1 dB: 16APSK 5/6, 6,720 B in 16,686 symbols. Each packet has a header of 7 B, and one in 4.5 is in two
/// parts, with 17 B.
#[test]
fn one_terminal_fills_the_carrier() {
    let found = goodputs(Share::Bits, &[13.0], &[1])[0];
    let packets = f64::from(Frames::payload(Modcod::Apsk16x5of6)) / 1500.0;
    let per_frame = f64::from(Frames::payload(Modcod::Apsk16x5of6)) - (packets - 1.0) * 7.0 - 17.0;
    let expected = per_frame * 8.0 / (16_686.0 / 45.0);
    assert!((found / expected - 1.0).abs() < 0.003, "{found} for {expected}");
}

#[test]
fn turns_by_bytes_give_equal_rates() {
    let [clear, rain] = goodputs(Share::Bits, &[13.0, 3.0], &[1, 1])[..] else { panic!() };
    assert!((clear / rain - 1.0).abs() < 0.01, "{clear} {rain}");
    let [heavy, light] = goodputs(Share::Bits, &[13.0, 13.0], &[3, 1])[..] else { panic!() };
    assert!((heavy / light - 3.0).abs() < 0.05, "{heavy} {light}");
}

/// Both get half of the symbols. A terminal in clear sky that fills a frame of the other one pays for its symbols, too.
#[test]
fn turns_by_symbols_charge_the_weak_signal() {
    let [clear, rain] = goodputs(Share::Time, &[13.0, 3.0], &[1, 1])[..] else { panic!() };
    let [alone, weak] = [13.0, 3.0].map(|signal| goodputs(Share::Time, &[signal], &[1])[0]);
    assert!((rain / (weak / 2.0) - 1.0).abs() < 0.05, "{rain} for {}", weak / 2.0);
    assert!(clear > 1.5 * rain && clear < alone / 2.0 * 1.05, "{clear} {rain} {alone}");
}

/// A frame has packets of terminals that receive it: those of the stronger signal, not of the weaker one.
#[test]
fn a_frame_is_shared_by_those_who_receive_it() {
    let mut medium = TdmMedium::new(&settings(Share::Bits), [(1, 3.0), (1, 13.0), (1, 0.0)].into_iter());
    let mut queues = Sizes::new(400, &[1, 1, 1], &[3.0, 13.0, 0.0]);
    let end = run(&mut medium, &mut queues, 1.0);
    // QPSK 1/2 (1.00 <= 2) takes the first two, QPSK 1/3 (-1.24 <= -1) the third.
    let first = settings(Share::Bits).frames.duration(Modcod::Qpsk1of2, Length::Normal);
    assert_eq!(queues.sent[0], queues.sent[1]);
    assert_eq!(queues.sent[0], [(Time::ZERO + first, false)]);
    assert_eq!(queues.sent[2], [(end, false)]);
    assert_eq!(medium.counters().frames, 2);
}

/// A plan goes before packets, in the modulation of the weakest terminal in it, and packets fill its frame.
#[test]
fn plans_come_first() {
    let mut medium = TdmMedium::new(&settings(Share::Bits), [(1, 13.0), (1, 3.0)].into_iter());
    medium.announce(Time::ZERO, 1775, [0, 1].into_iter());
    let mut queues = Sizes::new(1500, &[1, 0], &[13.0, 3.0]);
    medium.arrived(Time::ZERO, 0);
    let frame = medium.next_frame(Time::ZERO, &mut queues).unwrap();
    assert_eq!(frame.modcod, Modcod::Qpsk1of2);
    assert_eq!(queues.sent[0], [(frame.ends, false)]);
    let counts = medium.counters();
    assert_eq!((counts.plans, counts.carried, counts.headers, counts.bytes), (1775, 1500, 7, 4016));
    assert!(medium.next_frame(frame.ends, &mut queues).is_none());
}

/// Below the weakest modulation, packets wait for a better report. A frame above the signal is lost.
#[test]
fn a_terminal_waits_below_the_weakest_modulation() {
    let mut medium = TdmMedium::new(&settings(Share::Bits), [(1, -5.0)].into_iter());
    let mut queues = Sizes::new(1500, &[2], &[-5.0]);
    assert_eq!(run(&mut medium, &mut queues, 1.0), Time::ZERO);
    // Up after three reports, as with `coding`.
    for _ in 0..3 {
        medium.report(0, Time::ZERO, Time::from_ps(10), 13.0);
    }
    assert!(medium.next_frame(Time::ZERO, &mut queues).is_none());
    let frame = medium.next_frame(Time::from_ps(10), &mut queues).unwrap();
    assert_eq!(frame.modcod, Modcod::Apsk16x5of6);
    assert_eq!(queues.sent[0], [(frame.ends, true); 2]);
}

/// A packet larger than a frame goes in parts; the last one ends it.
#[test]
fn a_large_packet_takes_several_frames() {
    let mut medium = TdmMedium::new(&settings(Share::Bits), [(1, 3.0)].into_iter());
    let mut queues = Sizes::new(9000, &[1], &[3.0]);
    let end = run(&mut medium, &mut queues, 1.0);
    // 4,016 B less 10 B, 4,016 B less 3 B, and the rest.
    assert_eq!(medium.counters().frames, 3);
    assert_eq!(medium.counters().headers, 10 + 3 + 7);
    assert_eq!(queues.sent[0], [(end, false)]);
}

/// Terminals that get packets of one size at a constant rate, and their delays until the end of the last frame.
struct Streams {
    bytes: u32,
    /// Time between two packets, and packets so far, by terminal.
    gaps: Vec<f64>,
    came: Vec<u64>,
    sizes: Sizes,
}

impl Streams {
    fn new(bytes: u32, rates: &[f64], signals: &[f64]) -> Self {
        let gaps = rates.iter().map(|rate| f64::from(bytes) * 8.0 / rate).collect();
        Self { bytes, gaps, came: vec![0; rates.len()], sizes: Sizes::new(bytes, &vec![0; rates.len()], signals) }
    }

    fn comes(&self, n: usize, number: u64) -> Time {
        Time::from_ps((number as f64 * self.gaps[n] * 1e12) as u64)
    }

    /// Runs the carrier for `end` seconds, and returns the bit/s of each terminal.
    fn run(&mut self, settings: &Tdm, end: f64) -> Vec<f64> {
        let signals = self.sizes.signals.clone();
        let mut medium = TdmMedium::new(settings, signals.iter().map(|&signal| (1, signal)));
        let mut now = Time::ZERO;
        while now.as_secs_f64() < end {
            for n in 0..signals.len() {
                while self.comes(n, self.came[n]) <= now {
                    medium.arrived(self.comes(n, self.came[n]), n);
                    // A greedy terminal keeps a full queue only.
                    self.sizes.left[n] = (self.sizes.left[n] + 1).min(100);
                    self.came[n] += 1;
                }
            }
            let next = (0..signals.len()).map(|n| self.comes(n, self.came[n])).min().unwrap();
            now = medium.next_frame(now, &mut self.sizes).map_or(next, |frame| frame.ends);
        }
        let bits = |sent: &Vec<(Time, bool)>| sent.len() as f64 * f64::from(self.bytes) * 8.0 / end;
        self.sizes.sent.iter().map(bits).collect()
    }

    /// The longest delay of a terminal that loses no packet.
    fn longest_delay(&self, n: usize) -> f64 {
        let delay = |(number, sent): (usize, &(Time, bool))| (sent.0 - self.comes(n, number as u64)).as_secs_f64();
        self.sizes.sent[n].iter().enumerate().map(delay).fold(0.0, f64::max)
    }
}

/// A carrier of 10 Mbaud that holds packets.
fn holds(hold_ms: u64, short_frames: bool) -> Tdm {
    let frames = Frames { symbol_rate: 10_000_000, pilots: true, label: 3 };
    Tdm { frames, hold: Duration::from_millis(hold_ms), short_frames, ..settings(Share::Bits) }
}

/// Rate of packets of 400 B in normal frames, without the parts of packets at their ends.
fn alone(modcod: Modcod) -> f64 {
    let frames = holds(0, false).frames;
    f64::from(Frames::payload(modcod)) * 8.0 * 400.0 / 407.0 / frames.duration(modcod, Length::Normal).as_secs_f64()
}

/// Weak streams leave a strong terminal (1 - weak / weak's rate) of the rate that it has alone, less 5 %.
#[test]
fn weak_streams_cost_the_time_of_their_own_bits() {
    let (fast, slow) = (alone(Modcod::Apsk16x5of6), alone(Modcod::Qpsk1of2));
    for share in [Share::Bits, Share::Time] {
        for weak in [50e3, 200e3, 500e3, 1e6, 2e6, 4e6] {
            // Frames of QPSK 1/2 take 3.3 ms.
            let mut streams = Streams::new(400, &[60e6, weak / 2.0, weak / 2.0], &[13.0, 3.0, 3.0]);
            let found = streams.run(&Tdm { share, ..holds(15, true) }, 5.0);
            let expected = (1.0 - weak / slow) * fast;
            assert!(found[0] > 0.95 * expected && found[0] < 1.02 * expected, "{share:?} {weak}: {found:?} {expected}");
            assert!(((found[1] + found[2]) / weak - 1.0).abs() < 0.02, "{share:?} {weak}: {found:?}");
            // The former rule is far from this, already with one packet of 400 B in each 8 ms.
            let mut streams = Streams::new(400, &[60e6, weak / 2.0, weak / 2.0], &[13.0, 3.0, 3.0]);
            let former = streams.run(&Tdm { share, ..holds(0, false) }, 5.0)[0];
            assert!(weak < 400e3 || former < 0.85 * expected, "{share:?} {weak}: {former} {expected}");
        }
    }
}

/// A packet waits for `hold`, for the frame under way and for two weak frames. An idle carrier holds no packet.
#[test]
fn a_packet_is_held_for_its_time_at_most() {
    for (hold, short_frames) in [(0, false), (5, true), (15, true), (15, false), (40, true)] {
        let settings = holds(hold, short_frames);
        let [strong, weak] = [Modcod::Apsk16x5of6, Modcod::Qpsk1of2]
            .map(|modcod| settings.frames.duration(modcod, Length::Normal).as_secs_f64());
        let mut streams = Streams::new(160, &[60e6, 32e3, 31e3, 30e3], &[13.0, 3.0, 3.0, 3.0]);
        streams.run(&settings, 5.0);
        for n in 1..4 {
            let (delay, limit) = (streams.longest_delay(n), hold as f64 / 1e3 + strong + 2.0 * weak);
            assert!(delay <= limit, "{hold} ms: {delay}, {limit}");
            assert!(delay > hold as f64 / 1e3, "{hold} ms: {delay}");
        }
        let mut idle = Streams::new(160, &[32e3], &[3.0]);
        idle.run(&settings, 1.0);
        let length = if short_frames { Length::Short } else { Length::Normal };
        let frame = settings.frames.duration(Modcod::Qpsk1of2, length).as_secs_f64();
        assert!((idle.longest_delay(0) - frame).abs() < 1e-9, "{hold} ms: {}", idle.longest_delay(0));
    }
}

/// Little data leaves in short frames, as long as these take less time than a normal one. The code 9/10 has normal frames.
#[test]
fn little_data_leaves_in_short_frames() {
    // 874 B - 5 B of QPSK 1/2: two packets of 400 B and their headers of 7 B. Three short frames take less than a normal one.
    let lengths = |packets: u64, signal: f64| {
        let mut medium = TdmMedium::new(&holds(15, true), [(1, signal)].into_iter());
        let mut queues = Sizes::new(400, &[packets], &[signal]);
        medium.arrived(Time::ZERO, 0);
        medium.next_frame(Time::ZERO, &mut queues).unwrap().length
    };
    assert_eq!(
        [1, 2, 6, 7, 20].map(|packets| lengths(packets, 3.0)),
        [Length::Short, Length::Short, Length::Short, Length::Normal, Length::Normal]
    );
    // With a margin of 1 dB and 0.3 dB, 32APSK 8/9 needs 16.99 dB.
    assert_eq!([18.0, 17.0, 16.9].map(|signal| lengths(1, signal)), [Length::Normal, Length::Short, Length::Normal]);
    // 0.3 dB above the threshold of the normal frame.
    let frame = |length| Frame { modcod: Modcod::Qpsk1of2, length, starts: Time::ZERO, ends: Time::ZERO };
    assert_eq!([Length::Normal, Length::Short].map(|length| frame(length).threshold_db()), [1.0, 1.3]);
}

/// With full queues, frames have packets of one strength only. Equal rates are then half of the harmonic mean of the rates
/// alone, equal times give each half of its rate. Parts of packets at the ends of frames cost 1 %.
#[test]
fn packets_of_others_only_complete_a_frame() {
    let [fast, slow] = [Modcod::Apsk16x5of6, Modcod::Qpsk1of2].map(alone);
    let equal = 1.0 / (1.0 / fast + 1.0 / slow);
    for (share, expected) in [(Share::Bits, [equal, equal]), (Share::Time, [fast / 2.0, slow / 2.0])] {
        let mut streams = Streams::new(400, &[60e6, 60e6], &[13.0, 3.0]);
        let found = streams.run(&Tdm { share, ..holds(15, true) }, 5.0);
        for (found, expected) in found.iter().zip(expected) {
            assert!((found / expected - 1.0).abs() < 0.02, "{share:?}: {found} {expected}");
        }
    }
}

/// A plan waits for packets of its modulation and code, and leaves in a short frame.
#[test]
fn a_plan_leaves_when_its_time_is_up() {
    let mut medium = TdmMedium::new(&holds(15, true), [(1, 13.0), (1, 3.0)].into_iter());
    let mut queues = Sizes::new(400, &[1000, 0], &[13.0, 3.0]);
    medium.arrived(Time::ZERO, 0);
    medium.announce(Time::ZERO, 100, [0, 1].into_iter());
    let (mut now, mut plan) = (Time::ZERO, None);
    while queues.left[0] > 100 {
        let frame = medium.next_frame(now, &mut queues).unwrap();
        if frame.modcod == Modcod::Qpsk1of2 {
            assert!(plan.replace(frame).is_none());
        }
        now = frame.ends;
    }
    let plan = plan.unwrap();
    let waited = (plan.starts - Time::ZERO).as_secs_f64();
    assert!(plan.length == Length::Short && (0.015..0.0167).contains(&waited), "{plan:?}");
    assert_eq!(medium.counters().plans, 100);
}
