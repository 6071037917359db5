//! Notes on media.

use bentpipe_sim::scenario::from_toml;

const TEXT: &str = r#"
duration = "20 s"
[medium.up]
kind = "mf-tdma"
symbol_rate = "1 Mbaud"
carriers = 12
controller = "gateway"
[medium.down]
kind = "tdm"
symbol_rate = "10 Mbaud"
[link.user]
from = "gateway"
to = "terminal{n}"
count = 2
delay = "250 ms"
forward = { medium = "down", es_n0 = "13 dB" }
reverse = { medium = "up", es_n0 = "9 dB", access = { volume_based = true } }
[flow.f]
from = "terminal{n}"
to = "gateway"
count = 2
"#;

/// Overrides: key and value.
type Sets<'a> = &'a [(&'a str, &'a str)];

fn notes(sets: Sets<'_>) -> Vec<String> {
    let sets: Vec<_> = sets.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let resolved = from_toml(TEXT, "m.toml", &sets).unwrap_or_else(|problems| panic!("{problems}"));
    resolved.scenario.notes()
}

const UP: &str = "link.user.reverse.es_n0";
const DOWN: &str = "link.user.forward.es_n0";

/// EN 301 545-2: waveform 3 needs 0.22 dB, waveform 12 12.56 dB. EN 302 307-1: QPSK 1/4 needs -2.35 dB, 32APSK 9/10 16.05 dB.
#[test]
fn a_signal_below_every_waveform_is_noted() {
    assert_eq!(notes(&[]), [""; 0]);
    let up = "no waveform of medium \"up\" fits the signal of \"user1.reverse\" (and 1 more)";
    let down = "no MODCOD of medium \"down\" fits the signal of \"user1.forward\" (and 1 more)";
    let fades = "{ points = [['0 s', '9 dB'], ['5 s', '1 dB'], ['8 s', '1.3 dB'], ['19 s', '-3 dB']] }";
    let repeats = "{ points = [['0 s', '9 dB'], ['1 s', '0 dB']], every = '3 s' }";
    let cases: &[(Sets<'_>, String)] = &[
        (&[(UP, "'1 dB'")], format!("{up}: it needs 1.22 dB with the margin of 1 dB, and has 1 dB from 0 s on")),
        (
            &[(UP, "'1 dB'"), ("medium.up.bursts", "'long'"), ("medium.up.acm", "{ margin = '2 dB' }")],
            format!("{up}: it needs 1.49 dB with the margin of 2 dB, and has 1 dB from 0 s on"),
        ),
        (
            &[("medium.up.acm", "{ margin = '40 dB' }")],
            format!("{up}: it needs 40.22 dB with the margin of 40 dB, and has 9 dB from 0 s on"),
        ),
        (
            &[(DOWN, "'-1.4 dB'")],
            format!("{down}: it needs -1.35 dB with the margin of 1 dB, and has -1.4 dB from 0 s on"),
        ),
        (
            &[(UP, fades)],
            format!("{up} for 4.000 s: it needs 1.22 dB with the margin of 1 dB, and has 1 dB from 5 s on"),
        ),
        (
            &[(UP, fades), ("link.user.outage", "{ spans = [['6 s', '7 s'], ['19.5 s', '30 s']] }")],
            format!("{up} for 2.500 s: it needs 1.22 dB with the margin of 1 dB, and has 1 dB from 5 s on"),
        ),
        (
            // Six periods of 3 s with 2 s each, and 1 s of the seventh.
            &[(UP, repeats)],
            format!("{up} for 13.000 s: it needs 1.22 dB with the margin of 1 dB, and has 0 dB from 1 s on"),
        ),
    ];
    for (sets, expected) in cases {
        assert_eq!(notes(sets), std::slice::from_ref(expected), "{sets:?}");
    }
}

#[test]
fn a_constant_waveform_above_the_signal_is_noted() {
    let up = "waveform 12 of medium \"up\" is above the signal of \"user1.reverse\" (and 1 more)";
    let down = "MODCOD 32APSK 9/10 of medium \"down\" is above the signal of \"user1.forward\" (and 1 more)";
    let cases: &[(Sets<'_>, String)] = &[
        (&[("medium.up.waveform", "12")], format!("{up}: it needs 12.56 dB, and has 9 dB from 0 s on")),
        (&[("medium.down.modcod", "'32APSK 9/10'")], format!("{down}: it needs 16.05 dB, and has 13 dB from 0 s on")),
    ];
    for (sets, expected) in cases {
        assert_eq!(notes(sets), std::slice::from_ref(expected), "{sets:?}");
    }
    assert_eq!(notes(&[("medium.up.waveform", "12"), (UP, "'12.56 dB'")]), [""; 0]);
    // Half of the bursts are lost 0.2 dB below the threshold.
    let slope = |signal| notes(&[("medium.up.waveform", "12"), ("medium.up.losses", "'slope'"), (UP, signal)]).len();
    assert_eq!([slope("'12.37 dB'"), slope("'12.35 dB'")], [0, 1]);
}

/// R = 21 superframes of 26.5 ms: 1 + 10 for 250 ms, and 10 for 10 ms and 250 ms. With 100 s for 10 ms: 11 + 3784. Control
/// slots are 38 superframes apart, or 3774.
#[test]
fn grants_after_the_end_are_noted() {
    let late = "no request of \"user1.reverse\" (and 1 more) is granted in the run, which ends at 20 s";

    let cases: &[(Sets<'_>, String)] = &[
        (
            &[("medium.up.control_interval", "'100 s'")],
            format!("{late}: the first leaves at 100.011 s, and its grant takes 556.5 ms"),
        ),
        (
            &[("medium.up.control_delay", "'100 s'")],
            format!("{late}: the first leaves at 1.007 s, and its grant takes 100.5675 s"),
        ),
        (&[("medium.up.superframe", "'10 s'")], format!("{late}: the first leaves at 10 s, and its grant takes 30 s")),
    ];
    for (sets, expected) in cases {
        assert_eq!(notes(sets), std::slice::from_ref(expected), "{sets:?}");
    }
    let constant = ("link.user.reverse.access", "{ constant = '16 kbit/s', volume_based = true }");
    assert_eq!(notes(&[cases[0].0[0], constant]), [""; 0]);
    assert_eq!(notes(&[cases[0].0[0], ("medium.up.random", "{}")]), [""; 0]);
}

#[test]
fn a_target_below_the_wait_for_a_grant_is_noted() {
    let queue = "link.user.reverse.queue";
    for (name, target) in [("codel", "5 ms"), ("fq-codel", "5 ms"), ("pie", "15 ms")] {
        let expected = format!(
            "target {target} of {name} at \"user1.reverse\" (and 1 more) is below the wait for a grant, 556.5 ms: set it \
             above, and interval above the round trip"
        );
        assert_eq!(notes(&[(queue, &format!("{{ kind = '{name}', target = '{target}' }}"))]), [expected]);
        // The default follows the medium.
        assert_eq!(notes(&[(queue, &format!("'{name}'"))]), [""; 0]);
    }
    assert_eq!(notes(&[(queue, "{ kind = 'fq-codel', target = '600 ms', interval = '2 s' }")]), [""; 0]);
    assert_eq!(notes(&[("link.user.forward.queue", "'fq-codel'")]), [""; 0]);
    assert_eq!(notes(&[(queue, "'fq-codel'"), ("link.user.reverse.access", "{ constant = '16 kbit/s' }")]), [""; 0]);
}

#[test]
fn an_evaluation_beyond_the_run_is_noted() {
    let access = ("link.user.reverse.access", "{ rate_based = '500 kbit/s' }");
    let found = notes(&[access, ("medium.up.evaluation", "'30 s'")]);
    let expected =
        "medium.up.evaluation = 30 s is longer than the run, 20 s: rate requests are for a small part of the \
                    arriving traffic";
    assert_eq!(found, [expected]);
}
