//! Every contradiction of media is reported at its place, with the expected value.

use crate::from_toml;
use bentpipe_model::spec::QueueLimit;

const TEXT: &str = r#"
duration = "10 s"
[medium.up]
kind = "mf-tdma"
symbol_rate = "1 Mbaud"
carriers = 12
controller = "gateway"
[link.user]
from = "gateway"
to = "terminal{n}"
count = 2
delay = "250 ms"
forward.rate = "20 Mbit/s"
[link.user.reverse]
medium = "up"
es_n0 = "9 dB"
access = { constant = "64 kbit/s", rate_based = "1 Mbit/s" }
[flow.f]
from = "terminal{n}"
to = "gateway"
count = 2
"#;

/// Overrides: key and value.
type Sets<'a> = &'a [(&'a str, &'a str)];

fn with(sets: Sets<'_>, replace: (&str, &str)) -> Result<crate::Resolved, String> {
    let sets: Vec<_> = sets.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    from_toml(&TEXT.replace(replace.0, replace.1), "m.toml", &sets).map_err(|problems| problems.to_string())
}

#[test]
fn what_is_read_is_written_back() {
    let resolved = with(&[("medium.up.random", "{ copies = 2 }")], ("", "")).unwrap();
    let text = resolved.to_toml();
    let again = from_toml(&text, "again", &[]).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    assert_eq!(again.scenario.media, resolved.scenario.media);
    assert_eq!(again.scenario.links, resolved.scenario.links);
    assert_eq!(again.digest(), resolved.digest());
    let medium = &resolved.scenario.media[0];
    assert_eq!([medium.there, medium.back].map(|time| time.to_string()), ["250 ms", "250 ms"]);
}

#[test]
fn contradictions_are_refused_where_they_are() {
    let access = "link.user.reverse.access";
    let cases: &[(Sets<'_>, &str, &str)] = &[
        (&[("link.user.reverse.rate", "'1 Mbit/s'")], "link.user.reverse.rate excludes medium", "rate or medium"),
        (
            &[("link.user.reverse.coding", "{ kind = 'convolutional' }")],
            "link.user.reverse.coding excludes medium",
            "coding or medium",
        ),
        (&[("link.user.reverse.framing", "'gse'")], "link.user.reverse.framing excludes medium", "framing or medium"),
        (
            &[("link.user.reverse.interleave", "{ span = '1 ms' }")],
            "link.user.reverse.interleave excludes medium",
            "interleave or medium",
        ),
        (
            &[("link.user.reverse.arq", "{ retransmissions = 1 }")],
            "link.user.reverse.arq excludes medium",
            "arq or medium",
        ),
        (
            &[("link.user.reverse.shaper", "{ rate = '1 Mbit/s', burst = '9 kB' }")],
            "link.user.reverse.shaper excludes medium",
            "shape the link before it",
        ),
        (&[("link.user.reverse.medium", "'upp'")], "link.user.reverse.medium = \"upp\" is not a medium", "up"),
        (&[("medium.up.controller", "'gatevay'")], "medium.up.controller = \"gatevay\" is not a node", "gateway"),
        (&[("medium.up.superframe", "'500 us'")], "medium.up.superframe = \"500 us\" is shorter", "536 us"),
        (&[("medium.up.random", "{ carriers = 12 }")], "leaves no carrier for grants", "fewer than carriers, 12"),
        (
            &[("medium.up.random", "{ copies = 3 }"), ("medium.up.superframe", "'1.2 ms'")],
            "is above the slots of a block, 2",
            "fewer copies",
        ),
        (&[(access, "{ constant = '2 Mbit/s', rate_based = '1 Mbit/s' }")], "is above rate_based", "1 Mbit/s"),
        (&[(access, "{ constant = '2 Mbit/s' }")], "is above one carrier", "1597.584 kbit/s"),
        (
            &[(access, "{ constant = '900 kbit/s' }"), ("medium.up.carriers", "1")],
            "medium.up grants 55.2 slots a superframe as constant and guaranteed rates, and has 49",
            "lower constant or guaranteed rates",
        ),
        (
            &[(access, "{ rate_based = '1 Mbit/s' }"), ("medium.up.persistence", "'1 s'")],
            "would lapse between two requests",
            "medium.up.persistence above its control_interval, 1 s",
        ),
        (&[(access, "{ weight = 2 }")], "link.user.reverse.access brings no slot", "constant, rate_based"),
        (
            &[(access, "{ volume_based = true }"), ("medium.up.control_interval", "'none'")],
            "has no way for a request",
            "control_interval or random in medium.up",
        ),
        (&[(access, "{ volume_based = true, random = 'data' }")], "uses random access, which the medium", "random in"),
        (&[("medium.up.waveform", "13")], "medium.up.waveform = 13 has bursts of another length", "3, 4, 5"),
        (
            &[("medium.up.waveform", "7"), ("medium.up.acm", "{ margin = '2 dB' }")],
            "medium.up.acm and waveform exclude each other",
            "waveform for a constant one",
        ),
        (
            &[("medium.down", "{ kind = 'mf-tdma', symbol_rate = '1 Mbaud', carriers = 1, controller = 'gateway' }")],
            "medium.down is not used by any link",
            "medium = \"down\"",
        ),
        (&[("medium.up.symbol_rate", "'45 Mbit/s'")], "is not a symbol rate", "45 Mbaud"),
        (
            &[("medium.up.evaluation", "'1 h'")],
            "medium.up.evaluation = \"1 h\" is too long",
            "at most 2650 s, 100000 superframes",
        ),
        (
            &[("medium.up.control_delay", "'1 h'")],
            "makes a grant come 135867 superframes after its request",
            "at most 100000; lengthen the superframe",
        ),
        (&[("medium.up.drain", "'0 s'")], "medium.up.drain = \"0 s\" is too small", "more than 0 s"),
        (
            &[("node.terminal1.middlebox", "['xcp']"), ("flow.f.tcp.feedback", "'xcp'")],
            "needs the rate of \"user1.reverse\", which is in medium \"up\"",
            "links have a rate",
        ),
    ];
    for (sets, message, expected) in cases {
        let said = with(sets, ("", "")).expect_err(message);
        assert!(said.contains(message) && said.contains(expected), "{sets:?}\n{said}");
    }
    for (from, to, message, expected) in [
        ("es_n0 = \"9 dB\"\n", "", "link.user.reverse.medium needs the signal", "es_n0 beside it"),
        ("medium = \"up\"\nes_n0 = \"9 dB\"", "rate = \"1 Mbit/s\"", "access has no effect without a medium", "medium"),
        (
            "controller = \"gateway\"",
            "controller = \"x\"",
            "medium.up.controller = \"x\" is not a node",
            "the node that reads requests",
        ),
    ] {
        let said = with(&[], (from, to)).expect_err(message);
        assert!(said.contains(message) && said.contains(expected), "{to}\n{said}");
    }
}

/// Two islands: the controller of the medium is on the other one.
#[test]
fn a_controller_out_of_reach_is_refused() {
    let island =
        "[link.far]\nfrom = 'x'\nto = 'y'\nrate = '1 Mbit/s'\ndelay = '1 ms'\n[flow.g]\nfrom = 'x'\nto = 'y'\n";
    let said = with(&[("medium.up.controller", "'x'")], ("[flow.f]", &format!("{island}[flow.f]"))).unwrap_err();
    assert!(said.contains("link.user has no way to the controller \"x\" of medium \"up\""), "{said}");
}

#[test]
fn a_rate_above_one_carrier_is_noted() {
    let resolved = with(&[("link.user.reverse.access.rate_based", "'5 Mbit/s'")], ("", "")).unwrap();
    let note = &resolved.scenario.notes[0];
    assert!(note.contains("rate_based = 5 Mbit/s: one carrier has 1597.584 kbit/s"), "{note}");
}

/// A second medium of the same terminals, by another way to the gateway.
const SECOND: &str = r#"
[medium.b]
kind = "mf-tdma"
symbol_rate = "1 Mbaud"
carriers = 12
controller = "gateway"
[link.b]
from = "relay"
to = "terminal{n}"
count = 2
delay = "250 ms"
forward.rate = "20 Mbit/s"
[link.b.reverse]
medium = "b"
es_n0 = "9 dB"
access = { constant = "64 kbit/s" }
[link.c]
from = "relay"
to = "gateway"
rate = "20 Mbit/s"
delay = "1 ms"
"#;

#[test]
fn requests_that_nobody_hands_over_are_noted() {
    let both = format!("{SECOND}[flow.f]");
    let notes = |sets: Sets<'_>| with(sets, ("[flow.f]", &both)).unwrap().scenario.notes.clone();
    let (up, b) = (("medium.up.hands_over", "true"), ("medium.b.hands_over", "true"));
    assert!(notes(&[]).is_empty() && notes(&[up, b]).is_empty());
    for (set, name) in [(up, "up"), (b, "b")] {
        let expected =
            format!("medium.{name}.hands_over has no effect: its nodes have links in no other medium with it");
        assert_eq!(notes(&[set]), [expected]);
    }
    let flow = "[flow.g]\nfrom = \"other{n}\"\nto = \"gateway\"\ncount = 2\n";
    let apart = format!("{flow}{}", both.replace("terminal{n}", "other{n}"));
    let notes = with(&[up, b], ("[flow.f]", &apart)).unwrap().scenario.notes.clone();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].starts_with("medium.b.hands_over (and 1 more) has no effect"), "{notes:?}");
}

/// A queue of 1 bdp has the rate that the terminal could have alone: the limit of its rate, and one carrier by volume.
#[test]
fn a_bdp_is_that_of_the_terminal_alone() {
    for (access, bytes) in [
        ("{ constant = '64 kbit/s' }", 4_000),
        ("{ constant = '64 kbit/s', rate_based = '1 Mbit/s' }", 62_500),
        ("{ volume_based = true }", 99_849),
    ] {
        let resolved = with(&[("link.user.reverse.access", access)], ("", "")).unwrap();
        let link = resolved.scenario.links.iter().find(|link| link.name == "user1.reverse").unwrap();
        let limit = bentpipe_model::spec::QueueLimit::Bytes(bytes);
        assert_eq!(link.queue, bentpipe_model::spec::Queue::DropTail { limit }, "{access}");
    }
}

/// Request classes: their rates and queue, and the keys that they exclude.
#[test]
fn contradictions_of_classes_are_refused() {
    let access = "link.user.reverse.access";
    let queue = ("link.user.reverse.queue", "{ kind = 'priority', class = [{}, {}] }");
    let two = "{ class = [{ rate_based = '64 kbit/s', guaranteed = '32 kbit/s' }, { volume_based = true }] }";
    let with = |sets: Sets<'_>| with(sets, ("", ""));
    assert!(with(&[queue, (access, two)]).is_ok());
    let cases: &[(Sets<'_>, &str, &str)] = &[
        (&[(access, two)], "has 2 classes, and the queue has another number", "class = [{}, {}]"),
        (
            &[queue, (access, "{ constant = '16 kbit/s', class = [{ rate_based = '64 kbit/s' }, {}] }")],
            "excludes capacity of the whole terminal",
            "in each class",
        ),
        (&[queue, (access, two), ("medium.up.hands_over", "true")], "excludes hands_over", "one class"),
        (
            &[queue, (access, "{ class = [{ rate_based = '64 kbit/s', guaranteed = '65 kbit/s' }, {}] }")],
            "class.0.guaranteed = \"65 kbit/s\" is above rate_based",
            "at most 64 kbit/s",
        ),
        (
            &[queue, (access, "{ class = [{ rate_based = '4 Mbit/s', guaranteed = '2 Mbit/s' }, {}] }")],
            "above one carrier",
            "at most 1597.584 kbit/s",
        ),
        (&[(access, "{ class = [{}, {}, {}, {}, {}] }")], "5 entries", "4"),
    ];
    for (sets, message, expected) in cases {
        let found = with(sets).map(|_| ()).unwrap_err();
        assert!(found.contains(message) && found.contains(expected), "{sets:?}: {found}");
    }
    // Admission: constant and guaranteed rates together are at most the medium.
    let sure = (access, "{ rate_based = '1.5 Mbit/s', guaranteed = '1.2 Mbit/s' }");
    let found = with(&[sure, ("medium.up.carriers", "1")]).map(|_| ()).unwrap_err();
    assert!(found.contains("grants 73.6 slots a superframe as constant and guaranteed rates, and has 49"), "{found}");
    let found = with(&[("medium.up.carriers", "1"), ("medium.up.load_limit", "0.05")]).map(|_| ()).unwrap_err();
    assert!(found.contains("and has 2"), "{found}");
}

/// R + 2 T = 23 superframes of 26.5 ms. The interval has 500 ms of propagation and the wait for a control slot, 1 s, too. The
/// limit has the bytes of an interval at the rate of the terminal, 1 Mbit/s.
#[test]
fn targets_follow_the_wait_for_a_grant() {
    let queue = |text: &str| {
        let found = with(&[("link.user.reverse.queue", text)], ("", "")).unwrap().scenario;
        let link = found.links.iter().find(|link| link.name == "user1.reverse").unwrap();
        match &link.queue {
            bentpipe_model::spec::Queue::FqCodel(queue) => [queue.target, queue.interval].map(|time| time.to_string()),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(queue("'fq-codel'"), ["609.5 ms", "2.1095 s"]);
    assert_eq!(queue("{ kind = 'fq-codel', target = '5 ms' }"), ["5 ms", "2.1095 s"]);
    assert_eq!(queue("{ kind = 'fq-codel', interval = '100 ms' }"), ["609.5 ms", "100 ms"]);
    let limit = |text: &str| {
        let found = with(&[("link.user.reverse.queue", text)], ("", "")).unwrap().scenario;
        let mut queue = found.links.iter().find(|link| link.name == "user1.reverse").unwrap().queue.clone();
        *queue.limits_mut()[0]
    };
    assert_eq!(limit("'fq-codel'"), QueueLimit::Bytes(263_687));
    assert_eq!(limit("{ kind = 'fq-codel', limit = '10240 packets' }"), QueueLimit::Packets(10_240));
}
