//! Day of the sky. A run has the day of `start` and `seed`; each replication of an experiment has its own day.

use crate::keys::Sky as Keys;
use crate::tree::Tree;
use bentpipe_units::Stream;

/// Key that fixes the day.
pub(crate) const KEY: &str = "sky.day";
/// Length of the range of random starts in s.
const SPAN_S: u64 = 86_400;

/// Whether a scenario has a sky and does not fix its day.
pub(crate) fn is_open(tree: &Tree) -> bool {
    tree.get("sky").is_some_and(|sky| sky.table().is_some() && sky.get("day").is_none())
}

/// Returns the start of the run after `start` in whole seconds. It depends only on the number of the day.
pub(super) fn later_s(keys: &Keys) -> f64 {
    match keys.day.unwrap_or(0) {
        0 => 0.0,
        day => Stream::new(keys.seed, "sky", "start").below(day, SPAN_S) as f64,
    }
}

/// Returns the seed of random satellites and of the rain.
pub(super) fn seed(keys: &Keys) -> u64 {
    keys.seed.wrapping_add(keys.day.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use crate::{from_toml, NoFiles, Resolved};
    use std::collections::BTreeSet;

    fn read(sky: &str) -> Resolved {
        let flow = "[flow.bulk]\nfrom = 'London'\nto = 'New York'\n";
        let text = format!("duration = '60 s'\n[sky]\nover = 'starlink-shell-1'\n{sky}\n{flow}");
        from_toml(&text, "f", &[]).unwrap_or_else(|problems| panic!("{problems}"))
    }

    fn on(resolved: &Resolved, day: u64) -> String {
        let found = resolved.on_day(day, &NoFiles).expect("the day is open");
        found.unwrap_or_else(|problems| panic!("{problems}")).digest()
    }

    #[test]
    fn day_0_is_that_of_the_start_and_others_have_other_geometry() {
        let open = read("");
        let digests: BTreeSet<String> = (0..4).map(|day| on(&open, day)).collect();
        assert_eq!(digests.len(), 4);
        assert_eq!(on(&open, 0), open.digest());
        assert_eq!(read("day = 3").digest(), on(&open, 3));
        // Another seed draws other instants.
        assert_ne!(on(&read("seed = 2"), 3), on(&open, 3));
    }

    #[test]
    fn a_day_has_its_own_lots_and_rain() {
        // A slot over the equator is the same at any instant. Only the rain differs.
        let rainy = |more: &str| {
            let radio =
                "frequency_ghz = 20\neirp_dbw = 55\ng_over_t_db_k = 10\nsymbol_rate = '20 Mbaud'\nmodem = 'dvb-s2'\n";
            let sky = format!("over = {{ geo = -30 }}\n{more}[sky.user.down]\n{radio}");
            let text = format!("duration = '60 s'\n[sky]\n{sky}[flow.a]\nfrom = 'London'\nto = 'New York'\n");
            from_toml(&text, "f", &[]).unwrap_or_else(|problems| panic!("{problems}"))
        };
        let days = |resolved: &Resolved| (0..60).map(|day| on(resolved, day)).collect::<BTreeSet<String>>().len();
        assert_eq!(days(&rainy("")), 1);
        assert!(days(&rainy("rain = 'series'\n")) > 1);
        let text =
            "duration = '60 s'\n[sky]\nover = { geo = -30 }\nday = 3\n[flow.a]\nfrom = 'London'\nto = 'New York'\n";
        assert!(!from_toml(text, "f", &[]).unwrap().has_days());
    }

    #[test]
    fn a_day_that_is_written_or_no_sky_leaves_nothing_open() {
        assert!(read("").has_days());
        let fixed = read("day = 0");
        assert!(!fixed.has_days() && fixed.on_day(1, &NoFiles).is_none());
        assert_eq!(fixed.digest(), read("").digest());
        // A resolved scenario has links in place of the sky.
        assert!(!from_toml(&read("").to_toml(), "f", &[]).unwrap().has_days());
    }

    #[test]
    fn cases_and_points_have_days_too() {
        let text = "duration = '60 s'\n[sky]\nover = 'starlink-shell-1'\n[flow.a]\nfrom = 'London'\nto = 'New York'\n\
                    [case.same.sky]\nday = 0\n[case.other.tcp]\ncc = 'cubic'\n[sweep.vary]\n\"tcp.cc\" = ['reno', 'cubic']\n";
        let whole = from_toml(text, "f", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let open: Vec<bool> = whole.cases.iter().map(|(_, case)| case.has_days()).collect();
        assert_eq!(open, [false, true]);
        let point = whole.sweep.as_ref().unwrap().point(&[1], &NoFiles).unwrap();
        assert_ne!(on(&point, 1), point.digest());
        assert_eq!(on(&point, 1), on(&whole.cases[1].1, 1));
    }
}
