//! Measures the time of a superframe per terminal: `cargo run --release -p bentpipe-access --example cost`.

use bentpipe_access::{Access, Capacity, Demand, Free, MfTdma, RandomAccess, RandomUse, SlottedMedium, Terminal};
use bentpipe_units::{Duration, Rate};
use std::io::Write;

const TERMINALS: usize = 1000;
const SUPERFRAMES: u64 = 2000;

fn main() {
    let mut out = std::io::stdout();
    let quarter = Duration::from_millis(250);
    let medium = MfTdma {
        carriers: 30,
        random: Some(RandomAccess::default()),
        to_controller: quarter,
        to_terminal: quarter,
        ..MfTdma::default()
    };
    let first = Capacity { volume_based: true, ..Capacity::default() };
    let volume = Access { first, random: RandomUse::Requests, ..Access::default() };
    let first = Capacity { rate_based: Rate::from_bps(1_000_000), ..first };
    let rate = Access { first, ..volume };
    let first = Capacity { constant: Rate::from_bps(8_000), ..first };
    let all = Access { first, ..rate };
    let data = Access { random: RandomUse::Data, ..all };
    let free = MfTdma { free: Free::All, ..medium.clone() };
    for (name, medium, access, backlog) in [
        ("idle, volume", &medium, volume, 0),
        ("idle, constant, rate and volume", &medium, all, 0),
        ("busy, volume", &medium, volume, 20_000),
        ("busy, rate and volume", &medium, rate, 20_000),
        ("busy, constant, rate and volume", &medium, all, 20_000),
        ("busy, all and random data", &medium, data, 20_000),
        ("busy, all and free capacity", &free, data, 20_000),
    ] {
        let terminals: Vec<Terminal> =
            (0..TERMINALS).map(|n| Terminal { name: format!("link/user{n}"), access }).collect();
        let mut link = SlottedMedium::mf_tdma(medium, &terminals, 1);
        let mut demands = vec![Demand::of(backlog, 0, 9.0); TERMINALS];
        let mut best = f64::INFINITY;
        for _ in 0..5 {
            #[allow(clippy::disallowed_methods, reason = "a measurement of time")]
            let start = std::time::Instant::now();
            for k in 0..SUPERFRAMES {
                // As a network does: terminals that sleep are not looked at.
                for &n in link.visits() {
                    let arrived = if backlog > 0 { (k * 31 + u64::from(n) * 17) % 2000 } else { 0 };
                    demands[n as usize].waiting[0].arrived = arrived;
                }
                link.advance(&demands);
            }
            best = best.min(start.elapsed().as_secs_f64());
        }
        let cost = best * 1e9 / SUPERFRAMES as f64 / TERMINALS as f64;
        let _ = writeln!(out, "{name}: {cost:.0} ns per terminal and superframe");
    }
}
