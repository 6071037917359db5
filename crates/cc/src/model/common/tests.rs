use super::policer::{Policer, Totals};
use super::*;

fn sample(rate: f64, is_app_limited: bool) -> Sample {
    Sample { rate, is_app_limited, ..Sample::default() }
}

/// `docs/specs/bbr.md`, test 7.
#[test]
fn three_rounds_without_a_quarter_more_fill_the_pipe() {
    let mut pipe = FullPipe::default();
    let seen = [1.0, 2.0, 4.0, 4.9, 4.9, 4.9].map(|rate| {
        pipe.on_round(rate);
        (pipe.rounds, pipe.is_now)
    });
    assert_eq!(seen, [(0, false), (0, false), (0, false), (1, false), (2, false), (3, true)]);
    assert!(pipe.has_been);
    pipe.restart(4.9);
    pipe.on_round(6.2);
    assert_eq!((pipe.rounds, pipe.is_now, pipe.has_been), (0, false, true));
}

/// `docs/specs/bbr.md`, test 2, and with headers.
#[test]
fn the_pace_in_startup() {
    let init = Init { rtt: Some(Duration::from_millis(500)), ..Init::default() };
    let mbps = |gain: f64, header_len| {
        let mut pace = BbrPace { header_len, ..BbrPace::new(&init, gain) };
        pace.set(gain, 1_250_000.0, true);
        pace.as_rate().as_bps() as f64 / 1e6
    };
    assert!((mbps(4.0 * std::f64::consts::LN_2, 0) - 27.449).abs() < 0.001);
    assert!((mbps(2.885, 0) - 28.56).abs() < 0.005);
    assert!((mbps(1.0, 40) - 9.9 * 1500.0 / 1460.0).abs() < 0.001);
}

/// Ten segments in the round-trip time, or in a millisecond if none is known until one is.
#[test]
fn the_first_pace_is_the_initial_window_in_a_round_trip() {
    let view = PathState { srtt: Some(Duration::from_millis(100)), ..crate::testbench::path(0) };
    let informed = BbrPace::new(&Init { rtt: view.srtt, ..Init::default() }, 2.0);
    assert_eq!(informed.rate, 2.0 * 146_000.0);
    let mut pace = BbrPace::new(&Init::default(), 2.0);
    assert_eq!(pace.rate, 2.0 * 14_600_000.0);
    pace.learn(&view, 2.0, 14_600);
    assert_eq!(pace.rate, informed.rate);
    pace.set(1.0, 100_000.0, true);
    assert_eq!(pace.rate, informed.rate, "it only rises before the pipe is full");
    pace.set(1.0, 100_000.0, false);
    assert_eq!(pace.rate, 99_000.0);
}

#[test]
fn bounded_samples_only_raise_the_bandwidth() {
    let fit = [(10.0, true), (9.0, true), (9.0, false), (0.0, false)];
    assert_eq!(fit.map(|(rate, limited)| sample(rate, limited).is_fit_for(10.0)), [true, false, true, false]);
}

/// 1000 bytes a second; then five segments at once, of which the time explains one.
#[test]
fn aggregated_acks_are_measured() {
    let mut aggregation = Aggregation::default();
    for second in 1..=5 {
        aggregation.on_ack(Time::ZERO + Duration::from_secs(second), 0, 1000.0, 1000, 1 << 20);
    }
    assert_eq!(aggregation.excess(10), 1000.0);
    aggregation.on_ack(Time::ZERO + Duration::from_secs(6), 1, 1000.0, 5000, 1 << 20);
    assert_eq!([aggregation.excess(1), aggregation.excess(10)], [5000.0, 5000.0]);
    aggregation.on_ack(Time::ZERO + Duration::from_secs(7), 2, 1000.0, 50_000, 20_000);
    assert_eq!(aggregation.excess(10), 20_000.0, "a window is the most");
}

/// 30 % lost at a steady rate, twice; 10 % lost is no policer.
#[test]
fn policers_are_found() {
    let rate_after = |rounds: u64, lost_of_ten: u64| {
        let mut policer = Policer::default();
        let (mut delivered, mut lost) = (0, 0);
        for round in 0..rounds {
            delivered += 10_000 - 1000 * lost_of_ten;
            lost += 1000 * lost_of_ten;
            let now = Time::ZERO + Duration::from_millis(100 * (round + 1));
            let totals =
                Totals { now, is_round_start: true, is_app_limited: false, has_loss: lost_of_ten > 0, delivered, lost };
            policer.on_ack(&totals, true);
        }
        policer.rate()
    };
    // The first interval begins at the first ACK, each has four round trips.
    assert_eq!([rate_after(3, 3), rate_after(7, 3)], [None; 2]);
    assert_eq!(rate_after(12, 3), Some(70_000.0));
    assert_eq!(rate_after(60, 3), None, "after 48 round trips it looks again");
    assert_eq!(rate_after(40, 1), None);
}

#[test]
fn reallocations_come_once_a_period() {
    let ms = |ms| Time::ZERO + Duration::from_millis(ms);
    let mut known = KnownReallocations::new(true, Duration::from_secs(15), Duration::from_secs(12), ms(0));
    known.look(ms(11_999), 2);
    assert!(!known.excuses(ms(11_999)) && !known.is_first_rtt(ms(11_999), Duration::ZERO) && !known.holds());
    known.look(ms(12_100), 2);
    assert!(known.excuses(ms(12_100)) && known.excuses(ms(12_499)) && !known.excuses(ms(12_500)));
    // Data sent before the reallocation gives no information about the new path.
    let rtt = Duration::from_millis(60);
    assert_eq!([12_059, 12_060, 12_061].map(|at| known.is_first_rtt(ms(at), rtt)), [false, true, false]);
    assert_eq!([known.holds(), known.holds(), known.holds()], [true, true, false]);
    known.look(ms(27_000), 2);
    assert!(known.excuses(ms(27_000)) && known.holds());
    for period in [Duration::ZERO, Duration::MAX, Duration::from_ps(1)] {
        let mut other = KnownReallocations::new(true, period, Duration::MAX, ms(0));
        other.look(ms(1), 1);
        assert!(!other.excuses(ms(1)));
    }
}

#[test]
fn quanta_are_segments_or_what_a_millisecond_sends() {
    let mut pace = BbrPace::new(&Init { smss: 1000, ..Init::default() }, 2.0);
    let mut quanta = |bytes_per_s| {
        pace.set(1.0, bytes_per_s / MARGIN, false);
        [BbrQuantum::Segment, BbrQuantum::Offload].map(|quantum| pace.quantum(quantum))
    };
    assert_eq!(quanta(1e5), [1000, 2000]);
    assert_eq!(quanta(1e7 + 1.0), [1000, 10_000]);
    assert_eq!(quanta(1e9), [1000, 65_536]);
}
