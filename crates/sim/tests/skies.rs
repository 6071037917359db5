//! Places of a sky in media under rain and at handovers.

use bentpipe_sim::record::RunResult;
use bentpipe_sim::scenario::from_toml;
use bentpipe_sim::Network;
use std::fmt::Write;

fn run(text: &str) -> RunResult {
    let read = from_toml(text, "sky", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let mut network = Network::build(&read.scenario, read.scenario.seed);
    assert!(network.run(u64::MAX));
    network.finish().unwrap()
}

/// A forward carrier and a return link of two places. A rain cell is over Lagos from 30 s to 60 s.
#[test]
fn rain_lowers_the_modcod_of_the_place_below_it_alone() {
    let radio = |eirp: f64, gt: f64| format!("{{ frequency_ghz = 20, eirp_dbw = {eirp}, g_over_t_db_k = {gt} }}");
    let (up, down) = (radio(42.0, 10.0), radio(57.5, 14.0));
    let result = run(&format!(
        "duration = '90 s'\nrecord.series = ['modcod']\n\
         [sky]\nover = {{ geo = 9 }}\ngateway = ['Madrid']\nuser.up = {up}\nuser.down = {down}\n\
         [sky.rain]\nkind = 'cell'\nrate_mm_h = 8\nradius_km = 5\nway = [\
         {{ time = '29 s', latitude = 6.45, longitude = 2.4 }}, {{ time = '30 s', latitude = 6.45, longitude = 3.4 }},\
         {{ time = '60 s', latitude = 6.45, longitude = 3.4 }}, {{ time = '61 s', latitude = 6.45, longitude = 2.4 }}]\n\
         [sky.user.forward]\nmedium = 'up'\naccess = {{ constant = '64 kbit/s' }}\n\
         [sky.user.reverse]\nmedium = 'down'\n\
         [medium.up]\nkind = 'mf-tdma'\nsymbol_rate = '1 Mbaud'\ncarriers = 2\ncontroller = 'Madrid'\n\
         [medium.down]\nkind = 'tdm'\nsymbol_rate = '20 Mbaud'\n\
         [flow.lagos]\nfrom = 'Madrid'\nto = 'Lagos'\napp = {{ kind = 'cbr', rate = '200 kbit/s' }}\n\
         [flow.nairobi]\nfrom = 'Madrid'\nto = 'Nairobi'\napp = {{ kind = 'cbr', rate = '200 kbit/s' }}\n"
    ));
    let series = &result.series.iter().find(|(name, _)| name == "modcod").unwrap().1;
    let at = |link: &str, from: f64, to: f64| -> Vec<f64> {
        let rows = series.text("link").iter().zip(series.real("time_s")).zip(series.real("modcod"));
        let rows = rows.filter(|((name, time), _)| name.as_str() == link && (from..to).contains(*time));
        let found: Vec<f64> = rows.map(|(_, number)| *number).collect();
        assert!(found.len() > 10, "{link}");
        found
    };
    for way in ["forward", "reverse"] {
        let nairobi = at(&format!("Nairobi~geo.{way}"), 5.0, 90.0);
        assert!(nairobi.iter().all(|number| *number == nairobi[0]), "{nairobi:?}");
        let lagos = format!("Lagos~geo.{way}");
        let [dry, wet, after] = [(5.0, 29.0), (35.0, 60.0), (75.0, 90.0)].map(|(from, to)| at(&lagos, from, to));
        assert!(wet.iter().all(|number| *number < dry[0]), "{dry:?} {wet:?}");
        assert!(after.iter().all(|number| *number == dry[0]), "{dry:?} {after:?}");
    }
    // The measurements are 1.1 s apart, and their reports take more than three of the four links of a round trip.
    assert!(result.drops.text("cause").iter().all(|cause| cause == "acm-outage"));
}

/// Packets each 2 ms from a place over LEO, whose satellite changes at 12 s. Their waits for grants are the delays less
/// those over links without a medium. Open requests are granted only if the cells hand them over.
#[test]
fn requests_start_again_after_a_handover_or_are_handed_over() {
    let mut times = String::new();
    for n in 0..1000 {
        write!(times, "'{:.4} s', ", 11.0 + 0.002 * f64::from(n)).unwrap();
    }
    let of = |user: &str| {
        let result = run(&format!(
            "duration = '15 s'\n[sky]\nover = 'starlink-shell-1'\ngateway = ['Madrid']\nbetween_satellites = 'none'\n\
             selection = 'starlink'\n{user}\n\
             [flow.f]\nfrom = 'Lisbon'\nto = 'Madrid'\napp = {{ kind = 'probe', size = '1200 B', times = [{times}] }}\n"
        ));
        result.probes.real("forward_s").to_vec()
    };
    let cell =
        "user.forward.medium = 'up'\n[medium.up]\nkind = 'leo-cell'\nrate = '36 Mbit/s'\ncontroller = '{satellite}'";
    let plain = of("user.rate = '100 Gbit/s'");
    let waits_of =
        |user: &str| -> Vec<f64> { of(user).iter().zip(&plain).map(|(shared, plain)| shared - plain).collect() };
    let (waits, handed) = (waits_of(cell), waits_of(&format!("{cell}\nhands_over = true")));
    // Both satellites are 2 ms to 4 ms away: R is 6 to 7 frames of 4/3 ms.
    let (frame, before) = (4.0 / 3000.0, &waits[300..490]);
    let mean = before.iter().sum::<f64>() / before.len() as f64;
    assert!(mean < 4.0 * frame, "{mean}");
    let first = |waits: &[f64]| *waits[500..].iter().find(|wait| wait.is_finite() && **wait > 0.0).unwrap();
    assert!((6.0 * frame..9.0 * frame).contains(&first(&waits)), "{:?}", &waits[495..505]);
    // Without the way of the request and its frame: v is 2 to 4 frames.
    assert!((2.0 * frame..5.0 * frame).contains(&first(&handed)), "{:?}", &handed[495..505]);
    assert_eq!(waits[..490], handed[..490]);
}
