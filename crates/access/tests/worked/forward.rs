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
