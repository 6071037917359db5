//! Transfers over links that ask for capacity, against closed forms and the order of published results.

use super::media::{geo, run, Sets, BURST, PROPAGATION, R, T};
use std::fmt::Write;

const RANDOM: (&str, &str) = ("medium.up.random", "{ carriers = 1 }");

/// The mean time of small transfers after idle phases, on one connection.
fn after_idle_phases(access: &str, medium: Sets<'_>) -> f64 {
    let bulk = "{ kind = 'bulk', size = '20 B', pause = '5.0071 s', count = 300 }";
    let text = geo(access, bulk).replace("'60 s'", "'2000 s'");
    let result = run(&text, &[&[("tcp.like", "'linux-6'")], medium].concat());
    // Until the data has arrived: its ACK is delayed.
    let times = result.transfers.real("duration_rx_s");
    assert_eq!(times.len(), 300);
    // The first has the handshake.
    times[1..].iter().sum::<f64>() / 299.0
}

/// One burst carries the segment. A constant rate has one in each superframe. With requests, R passes before it.
#[test]
fn over_an_idle_phase_rates_and_volumes_cost_a_request_more_than_a_constant_rate() {
    let constant = after_idle_phases("{ constant = '64 kbit/s' }", &[RANDOM]);
    // The pauses keep the phase to the superframe, so its wait cancels out of the differences.
    assert!((PROPAGATION..PROPAGATION + T + 2.0 * BURST).contains(&constant), "{constant}");
    for access in ["{ rate_based = '1 Mbit/s' }", "{ volume_based = true }"] {
        let mean = after_idle_phases(access, &[RANDOM]);
        assert!((mean - constant - R).abs() < 0.002, "{access}: {mean}, not {R} more than {constant}");
    }
}

/// Delays of ten datagrams at once from an idle terminal, mean, and the share that is lost.
fn ten_datagrams(access: &str) -> [f64; 2] {
    let mut times = String::new();
    for n in 0..100 {
        for k in 0..10 {
            let at = 5.0 + 7.0 * f64::from(n) + (f64::from(n) * 0.618_033_988_7).fract();
            write!(times, "'{:.9} s', ", at + f64::from(k) * 1e-8).unwrap();
        }
    }
    let text = geo(access, &format!("{{ kind = 'probe', size = '12 B', times = [{times}] }}"));
    let result = run(&text.replace("'60 s'", "'720 s'"), &[RANDOM]);
    let delays = result.probes.real("forward_s");
    let arrived: Vec<f64> = delays.iter().copied().filter(|delay| delay.is_finite()).collect();
    let mean = arrived.iter().sum::<f64>() / arrived.len() as f64;
    [mean, 1.0 - arrived.len() as f64 / delays.len() as f64]
}

/// N. Kuhn et al. 2013: the first ten datagrams arrive about 500 ms earlier by random than by dedicated access.
#[test]
fn at_low_load_ten_datagrams_are_half_a_second_earlier_by_random_access() {
    let [random, lost] = ten_datagrams("{ volume_based = true, random = 'data' }");
    let [dedicated, _] = ten_datagrams("{ volume_based = true }");
    assert_eq!(lost, 0.0, "nobody else sends");
    // Five bursts take two blocks, because a block has three of a terminal at most.
    assert!((0.45..0.56).contains(&(dedicated - random)), "{random} {dedicated}");
}

/// N. Kuhn et al. 2013: overloaded, random access loses packets, and dedicated access delays them.
#[test]
fn overloaded_random_access_is_less_reliable_than_dedicated_access() {
    let lost = |access: &str| {
        let text = geo(access, "{ kind = 'poisson', rate = '1 kbit/s', size = '12 B' }").replace("'60 s'", "'20 s'");
        let text =
            text.replace("count = 1", "count = 300").replace("from = 'terminal1'", "from = 'terminal{n}'\ncount = 300");
        // Ten packets a second and terminal, without back-off: 1.6 bursts per slot.
        let idle = "{ carriers = 1, rest = 0, back_off = { probability = 0, time = '1 ms' }, \
                    high_load = { load = 10.0, probability = 0, time = '1 ms' } }";
        let result = run(&text, &[("medium.up.random", idle)]);
        let of = |name: &str| result.datagrams.whole(name).iter().sum::<i64>() as f64;
        of("lost_packets") / of("sent_packets")
    };
    let [random, dedicated] = ["{ volume_based = true, random = 'data' }", "{ volume_based = true }"].map(lost);
    assert!(random > 0.2 && dedicated == 0.0, "{random} {dedicated}");
}
