//! Worked cases of the couplings, by hand from their formulas.

use super::*;
use bentpipe_cc::CcKind;

fn member(window: f64, rtt: f64, between: f64) -> Member {
    Member { window, rtt, between }
}

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6, "{found} instead of {expected}");
}

/// GEO with 100 segments and 0.6 s, LEO with 50 and 0.04 s.
fn geo_and_leo() -> [Member; 2] {
    [member(100.0, 0.6, 40_000.0), member(50.0, 0.04, 20_000.0)]
}

fn increases(coupling: Coupling, members: &[Member]) -> Vec<f64> {
    (0..members.len()).map(|r| coupling.share(r, members).unwrap().increase).collect()
}

/// Equal round trips: a = ΣW max W / (ΣW)², so each grows by max W / (ΣW)².
#[test]
fn rfc6356_3_lia() {
    let equal = increases(Coupling::Lia, &[member(20.0, 0.1, 0.0); 2]);
    assert!(equal.iter().all(|increase| (increase - 0.0125).abs() < 1e-12), "{equal:?}: together one Reno of 40");
    let unequal = increases(Coupling::Lia, &[member(10.0, 0.1, 0.0), member(40.0, 0.1, 0.0)]);
    unequal.iter().for_each(|increase| near(*increase, 0.016));
    let mixed = increases(Coupling::Lia, &geo_and_leo());
    // LEO alone gives max W / R² = 50 / 0.0016 = 31,250; Σ W / R = 166.67 + 1250. GEO is capped by its own Reno.
    near(mixed[0], 0.01);
    near(mixed[1], 0.015_571);
}

#[test]
fn khalili_2012_olia() {
    // l / R² is greatest on the first, the window on the second: 1 / (2 · 1) moves from the second to the first.
    let moved = increases(Coupling::Olia, &[member(10.0, 0.1, 3000.0), member(40.0, 0.1, 1000.0)]);
    near(moved[0], 10.0 / 2500.0 + 0.05);
    near(moved[1], 40.0 / 2500.0 - 0.0125);
    let mixed = increases(Coupling::Olia, &geo_and_leo());
    near(mixed[0], -0.004_862);
    near(mixed[1], 0.025_571);
}

#[test]
fn peng_2016_balia() {
    let mixed = geo_and_leo();
    let increases = increases(Coupling::Balia, &mixed);
    near(increases[0], 0.001_353);
    near(increases[1], 0.015_571);
    let decreases = [0, 1].map(|r| Coupling::Balia.share(r, &mixed).unwrap().decrease);
    assert_eq!(decreases, [0.75, 0.5], "75 and 25 segments");
    let equal = Coupling::Balia.share(0, &[member(20.0, 0.1, 0.0); 2]).unwrap();
    near(equal.increase, 0.0125);
    near(equal.decrease * 20.0, 10.0);
}

/// With one subflow left, each is Reno: 1 / W per segment, half of it per loss.
#[test]
fn a_subflow_alone_is_reno() {
    for coupling in [Coupling::Lia, Coupling::Olia, Coupling::Balia] {
        let alone = coupling.share(0, &[member(25.0, 0.6, 900.0)]).unwrap();
        near(alone.increase, 0.04);
        near(alone.decrease, 0.5);
    }
}

#[test]
fn only_windows_of_reno_are_coupled() {
    let of = |kind: CcKind| Config { cc: kind.into(), ..Config::default() };
    let (reno, cubic) = (of(CcKind::NewReno), of(CcKind::Cubic));
    assert_eq!(Coupling::Auto.settle(&[&reno, &reno]), Ok(Coupling::Lia));
    assert_eq!(Coupling::Auto.settle(&[&reno, &cubic]), Ok(Coupling::None));
    assert_eq!(Coupling::None.settle(&[&cubic, &cubic]), Ok(Coupling::None));
    let refused = Coupling::Olia.settle(&[&reno, &cubic]).unwrap_err();
    assert_eq!((refused.subflow, refused.cc.as_str()), (1, "cubic"));
    assert_eq!(refused.to_string(), "coupling olia changes the increase of Reno's window, which cubic does not have");
}

/// Khalili et al. 2012, §4: l is the larger of the bytes since the last loss and those between the last two.
#[test]
fn bytes_between_losses_are_the_larger_of_two_spans() {
    let mut subflow = crate::multi::subflows::Subflow::new(crate::multi::Plan::default());
    let mut found = Vec::new();
    for (loss, acked) in [(100, 150), (400, 450), (500, 900)] {
        subflow.note_loss(loss);
        found.push(subflow.between_losses(acked));
    }
    assert_eq!(found, [100, 300, 400]);
}
