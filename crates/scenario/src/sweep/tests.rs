use super::*;
use crate::{from_toml, NoFiles};

const SCENARIO: &str = r#"
duration = "1 s"
[link.l]
from = "a"
to = "b"
rate = "1 Mbit/s"
delay = "10 ms"
[flow.f]
from = "a"
to = "b"
[case.calm]
[case.wild]
link.l.error = { kind = "packet", rate = 0.1 }
"#;

fn sweep(text: &str) -> Sweep {
    from_toml(&format!("{SCENARIO}{text}"), "f", &[]).unwrap().sweep.unwrap()
}

fn problem(text: &str) -> String {
    let found = from_toml(&format!("{SCENARIO}{text}"), "f", &[]);
    found.map(|resolved| format!("{:?}", resolved.sweep)).unwrap_err().to_string()
}

fn values(range: &str) -> String {
    let sweep = sweep(&format!("[sweep.vary]\nlink.l.rate = {range}"));
    serde_json::to_string(&sweep.axes[0].values()).unwrap()
}

#[test]
fn every_value_meets_every_value_of_the_other_keys() {
    let sweep = sweep(
        "[sweep.vary]\ntcp.cc = [\"reno\", \"sack\"]\ncase = [\"wild\", \"calm\"]\n\
         [[sweep.together]]\nduration = [\"2 s\", \"3 s\", \"4 s\"]\n\"link.l.delay\" = [\"2 ms\", \"3 ms\", \"4 ms\"]",
    );
    assert_eq!(sweep.points(), 12);
    let keys: Vec<&[String]> = sweep.axes.iter().map(|axis| axis.keys.as_slice()).collect();
    assert_eq!(keys, [&["tcp.cc".to_owned()][..], &["case".into()], &["duration".into(), "link.l.delay".into()]]);
    let point = sweep.point(&[1, 0, 2], &NoFiles).unwrap();
    let by_hand = from_toml(
        SCENARIO,
        "f",
        &[
            ("tcp.cc", "sack"),
            ("link.l.error", "{ kind = \"packet\", rate = 0.1 }"),
            ("duration", "4 s"),
            ("link.l.delay", "4 ms"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned())),
    );
    assert_eq!(point.scenario, by_hand.unwrap().scenario);
    assert!(point.sweep.is_none());
}

#[test]
fn what_is_not_written_has_defaults_and_the_grid_is_no_part_of_the_scenario() {
    let bare = from_toml(SCENARIO, "f", &[]).unwrap();
    let written =
        from_toml(&format!("{SCENARIO}[sweep]\nreplications = 200\nuntil = {{}}\nagainst = \"reno\""), "f", &[])
            .unwrap();
    assert_eq!(bare.digest(), written.digest());
    assert_eq!(bare.to_toml(), written.to_toml());
    let (bare, written) = (bare.sweep.unwrap(), written.sweep.unwrap());
    assert_eq!((bare.replications, bare.replications_max, bare.points()), (10, 100, 1));
    assert_eq!((written.replications, written.replications_max), (200, 200));
    assert_eq!(written.until, Some(("goodput".into(), 0.02)));
    assert_eq!((bare.against, written.against), (None, Some("reno".into())));
}

#[test]
fn ranges_worked_by_hand() {
    assert_eq!(
        values("{ from = \"1 Mbit/s\", to = \"2 Mbit/s\", count = 3 }"),
        r#"[["1 Mbit/s"],["1.5 Mbit/s"],["2 Mbit/s"]]"#
    );
    assert_eq!(values("{ from = 1e-5, to = 1e-3, count = 3, scale = \"log\" }"), "[[0.00001],[0.0001],[0.001]]");
    assert_eq!(values("{ from = 0.1, to = 0.3, step = 0.1 }"), "[[0.1],[0.2],[0.3]]");
    // Whole picoseconds, whole bits per second, whole bytes.
    assert_eq!(values("{ from = \"10 ms\", to = \"400 ms\", count = 8 }").matches("ms").count(), 8);
    assert!(values("{ from = \"10 ms\", to = \"400 ms\", count = 8 }").contains("65.714285714 ms"));
    assert!(values("{ from = \"1 Mbit/s\", to = \"2 Mbit/s\", count = 4 }").contains("1.333333 Mbit/s"));
    assert!(values("{ from = \"1 kB\", to = \"100 kB\", count = 4, scale = \"log\" }").contains("4.642 kB"));
    assert_eq!(values("{ from = 10, to = 1, step = -4 }"), "[[10],[6],[2]]");
    assert_eq!(
        values("{ from = \"1 kB\", to = \"100 kB\", count = 3, scale = \"log\" }"),
        r#"[["1 kB"],["10 kB"],["100 kB"]]"#
    );
}

#[test]
fn a_grid_that_makes_no_sense_is_refused_where_it_stands() {
    for (text, wanted) in [
        ("[sweep.vary]\ntcp.cc = []", "sweep.vary.tcp.cc is empty"),
        ("[sweep.vary]\ntcp.cc = \"reno\"", "sweep.vary.tcp.cc = \"reno\" is a single value"),
        ("[sweep.vary]\ntcp.cc = [\"reno\", \"reno\"]", "sweep.vary.tcp.cc has \"reno\" twice"),
        ("[sweep]\nvary = 3", "sweep.vary = 3 is not a table"),
        ("[sweep]\ntogether = 3", "sweep.together is not a list of tables"),
        ("[sweep]\nreplication = 3", "did you mean \"replications\"?"),
        ("[sweep]\ntables = [\"flow\"]", "did you mean \"flows\"?"),
        ("[sweep.vary]\nseed = [1]\n[[sweep.together]]\nseed = [2]", "the sweep has seed twice"),
        ("[[sweep.together]]\nseed = [2]\ntcp.cc = [\"reno\", \"sack\"]", "seed has 1, tcp.cc has 2"),
        ("[sweep.vary]\nseed = { from = 1, to = \"2 s\", count = 2 }", "the units differ"),
        ("[sweep.vary]\nseed = { from = 1, to = 2 }", "the range has no number of values"),
        ("[sweep.vary]\nseed = { from = 0, to = 2, count = 2, scale = \"log\" }", "not positive"),
        ("[sweep.vary]\nseed = { from = 0, to = 2, step = 0 }", "step = 0"),
        ("[sweep.vary]\nseed = { from = 0, to = 2, step = nan }", "is not a number"),
        ("[sweep.vary]\nseed = { from = inf, to = 2, count = 3 }", "is not a number"),
        ("[sweep.vary]\nseed = { from = 1, to = 2, count = 1 }", "count = 1"),
        ("[sweep.vary]\nseed = { from = 1, to = 2, cuont = 1 }", "has no \"cuont\""),
        (
            "[sweep.vary]\nseed = { from = 1, to = 2000, count = 2000 }\nduration = { from = \"1 s\", to = \"9 s\", count = 2000 }",
            "2000 seed x 2000 duration",
        ),
    ] {
        let said = problem(text);
        assert!(said.contains(wanted), "{text}: {said}");
        assert!(said.contains("f:"), "{text}: {said}");
    }
}

#[test]
fn what_is_wrong_with_a_point_is_said_where_its_value_stands() {
    let sweep = sweep("[sweep.vary]\ntcp.c = [\"reno\"]\ncase = [\"calm\", \"mild\"]\n");
    let said = sweep.point(&[0, 0], &NoFiles).unwrap_err().to_string();
    assert!(said.contains("tcp.c is not a known key") && said.contains("f:15:10"), "{said}");
    let said = sweep.point(&[0, 1], &NoFiles).unwrap_err().to_string();
    assert!(said.contains("\"mild\" is not a case") && said.contains("f:16:17"), "{said}");
}

#[test]
fn a_key_that_varies_does_not_undo_what_a_case_sets() {
    let sweep = sweep("[sweep.vary]\nlink.l.error = [{ kind = \"bit\", rate = 1e-6 }]\ncase = [\"calm\", \"wild\"]\n");
    assert!(sweep.point(&[0, 0], &NoFiles).is_ok());
    let said = sweep.point(&[0, 1], &NoFiles).unwrap_err().to_string();
    assert!(said.contains("case wild sets link.l.error, which varies") && said.contains("f:13:8"), "{said}");
}

#[test]
fn what_follows_from_a_value_follows_from_one_put_over_a_case_too() {
    let sweep = sweep("");
    let own = |cc: &str| [("tcp.cc".to_owned(), cc.to_owned())];
    let case = sweep.case("wild", &own("tcpmin"), &NoFiles).unwrap().scenario;
    let by_hand = [("link.l.error", "{ kind = \"packet\", rate = 0.1 }"), ("tcp.cc", "tcpmin")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(case, from_toml(SCENARIO, "f", &by_hand).unwrap().scenario);
    assert!(sweep.case("mild", &[], &NoFiles).unwrap_err().to_string().contains("known: calm, wild"));
}

#[test]
fn arguments_come_after_the_file_in_their_own_order() {
    let text = format!("{SCENARIO}[sweep.vary]\nseed = [1, 2]\nduration = [\"1 s\"]");
    let sets = [
        ("sweep.vary.tcp.smss", "[\"536 B\"]"),
        ("sweep.vary.link.l.rate", "[\"2 Mbit/s\"]"),
        ("sweep.vary.seed", "[3]"),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()));
    let sweep = from_toml(&text, "f", &sets).unwrap().sweep.unwrap();
    let keys: Vec<&str> = sweep.axes.iter().map(|axis| axis.keys[0].as_str()).collect();
    assert_eq!(keys, ["duration", "tcp.smss", "link.l.rate", "seed"]);
}
