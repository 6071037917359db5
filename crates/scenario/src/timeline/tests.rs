//! Timelines: their meaning, their short forms, and their faults.

use crate::{from_json, from_toml, Change, Forwarding, InFlight, QueueLimit, Resolved, Scenario, Waiting};
use bentpipe_model::ids::PathId;
use bentpipe_units::{Duration, Time};
use std::sync::Arc;

/// Two satellites, each over two links, and two beams to the second gateway.
const TWO: &str = r#"
duration = "60 s"
[link.ua]
from = "user"
to = "sat-a"
rate = "10 Mbit/s"
delay = "5 ms"
[link.ag]
from = "sat-a"
to = "gateway"
rate = "10 Mbit/s"
delay = "5 ms"
[link.ub]
from = "user"
to = "sat-b"
rate = "10 Mbit/s"
delay = "6 ms"
[link.bg]
from = "sat-b"
to = "gateway"
rate = "10 Mbit/s"
delay = "6 ms"
[link.beam-1]
from = "gateway"
to = "server"
rate = "10 Mbit/s"
delay = "1 ms"
[link.beam-2]
from = "gateway"
to = "server"
rate = "10 Mbit/s"
delay = "1 ms"
[flow."f{n}"]
from = "user"
to = "server"
count = 2
route = ["sat-a", "gateway", "beam-1"]
reverse_route = ["beam-1", "sat-a", "user"]
[flow.near]
from = "user"
to = "gateway"
"#;

fn with(at: &str) -> Result<Resolved, String> {
    from_toml(&format!("{TWO}{at}"), "geo.toml", &[]).map_err(|problems| problems.to_string())
}

fn read(at: &str) -> Arc<Scenario> {
    let resolved = with(at).unwrap_or_else(|problems| panic!("{problems}"));
    // The written form has the same meaning.
    let toml = resolved.to_toml();
    let again = from_toml(&toml, "again", &[]).unwrap_or_else(|problems| panic!("{problems}\n{toml}"));
    assert_eq!(again.scenario, resolved.scenario, "{toml}");
    assert_eq!(again.digest(), resolved.digest());
    assert_eq!(from_json(&resolved.to_json().to_string(), "", &[]).unwrap().scenario, resolved.scenario);
    resolved.scenario
}

/// The changes in words: `30 s: down ua.forward lost lost`.
fn said(scenario: &Scenario) -> Vec<String> {
    let name = |link: &bentpipe_model::ids::LinkId| scenario.links[*link].name.clone();
    let of = |path: &PathId| {
        let side = if path.is_back() { "back" } else { "there" };
        format!("{} {side}", scenario.flows[scenario.lanes[path.lane()].flow].name)
    };
    let said = |change: &Change| match change {
        Change::Up(link) => format!("up {}", name(link)),
        Change::Withdraw(path) => format!("withdraw {}", of(path)),
        Change::Install { path, route } => {
            format!("install {}: {}", of(path), route.iter().map(name).collect::<Vec<_>>().join(" "))
        }
        Change::Down { link, waiting, in_flight } => {
            use bentpipe_units::Word;
            format!("down {} {} {}", name(link), waiting.name(), in_flight.name())
        }
    };
    scenario.timeline.changes.iter().map(|(at, change)| format!("{at}: {}", said(change))).collect()
}

/// The fault of tables with exactly one.
#[track_caller]
fn wrong(at: &str, message: &str) {
    let problems = with(at).map(drop).expect_err(message);
    assert!(problems.contains(message), "{problems}");
    assert!(problems.contains("geo.toml:"), "{problems}");
}

#[test]
fn changes_are_in_order_of_time_and_then_of_their_kind() {
    let scenario = read(
        r#"
forwarding_is_below = 0
"#
        .replace("forwarding_is_below = 0", "")
        .as_str(),
    );
    assert!(scenario.timeline.is_empty());
    let scenario = read(
        r#"
[[at]]
time = "40 s"
up = ["beam-2"]
[[at]]
time = "30 s"
down = ["beam-2", "ua.reverse"]
waiting = "rerouted"
in_flight = "delivered"
withdraw = ["f1"]
install = [
    { flow = "f{n}", reverse_route = ["server", "beam-1", "sat-b", "user"] },
    { flow = "near", route = ["sat-b", "gateway"], reverse_route = ["gateway", "sat-b", "user"] },
]
"#,
    );
    assert_eq!(
        said(&scenario),
        [
            "30 s: withdraw f1 there",
            "30 s: withdraw f1 back",
            "30 s: install f1 back: beam-1.reverse bg.reverse ub.reverse",
            "30 s: install f2 back: beam-1.reverse bg.reverse ub.reverse",
            "30 s: install near there: bg.forward",
            "30 s: install near back: bg.reverse ub.reverse",
            "30 s: down beam-2.forward rerouted delivered",
            "30 s: down beam-2.reverse rerouted delivered",
            "30 s: down ua.reverse rerouted delivered",
            "40 s: up beam-2.forward",
            "40 s: up beam-2.reverse",
        ]
    );
    let near = scenario.flows.iter().position(|flow| flow.name == "near").unwrap();
    let routes: Vec<_> = scenario.routes(PathId::new(2 * near)).map(<[_]>::len).collect();
    assert_eq!(routes, [2, 1]);
}

#[test]
fn forwarding_is_kept_and_scenarios_without_changes_say_nothing_of_it() {
    let text = format!("forwarding = \"source-route\"\n{TWO}");
    let resolved = from_toml(&text, "f", &[]).unwrap();
    assert_eq!(resolved.scenario.timeline.forwarding, Forwarding::SourceRoute);
    assert_eq!(from_toml(&resolved.to_toml(), "f", &[]).unwrap().scenario, resolved.scenario);
    let plain = from_toml(TWO, "f", &[]).unwrap();
    assert!(!plain.to_toml().contains("forwarding") && !plain.to_json().as_object().unwrap().contains_key("at"));
    assert_ne!(plain.digest(), resolved.digest());
}

#[test]
fn links_go_down_in_several_ways_at_one_instant() {
    let scenario = read(
        r#"
[[at]]
time = "0 s"
down = ["beam-2"]
[[at]]
time = "0 s"
down = ["ub"]
waiting = "kept"
[[at]]
time = "100 s"
up = ["beam-2.reverse"]
"#,
    );
    let expected = [
        "0 s: down beam-2.forward lost lost",
        "0 s: down beam-2.reverse lost lost",
        "0 s: down ub.forward kept lost",
        "0 s: down ub.reverse kept lost",
        "100 s: up beam-2.reverse",
    ];
    assert_eq!(said(&scenario), expected);
}

#[test]
fn a_handover_between_satellites_moves_every_route_that_passes() {
    let scenario = read(
        r#"
[[at]]
time = "30 s"
waiting = "rerouted"
handover = [{ from = "sat-a", to = "sat-b", make_before_break = "20 ms" }]
[[at]]
time = "40 s"
handover = [{ from = "sat-b", to = "sat-a" }]
"#,
    );
    let there = |flow: &str, at: &str, x: &str| {
        let last = if flow == "near" { "" } else { " beam-1.forward" };
        format!("{at}: install {flow} there: u{x}.forward {x}g.forward{last}")
    };
    let back = |flow: &str, at: &str, x: &str| {
        let first = if flow == "near" { "" } else { "beam-1.reverse " };
        format!("{at}: install {flow} back: {first}{x}g.reverse u{x}.reverse")
    };
    let installs = |at: &str, x: &str| ["f1", "f2", "near"].map(|f| [there(f, at, x), back(f, at, x)]).concat();
    let links =
        |x: &str| [format!("{x}g.forward"), format!("{x}g.reverse"), format!("u{x}.forward"), format!("u{x}.reverse")];
    let mut expected = installs("30 s", "b");
    expected.extend(links("a").map(|link| format!("30.02 s: down {link} rerouted lost")));
    expected.extend(links("a").map(|link| format!("40 s: up {link}")));
    expected.extend(installs("40 s", "a"));
    expected.extend(links("b").map(|link| format!("40 s: down {link} lost lost")));
    assert_eq!(said(&scenario), expected);
}

#[test]
fn a_handover_between_beams_breaks_before_it_makes() {
    let beams = |waiting: &str| {
        read(&format!(
            "[[at]]\ntime = \"30 s\"\nwaiting = \"{waiting}\"\nin_flight = \"delivered\"\n\
             handover = [{{ from = \"beam-1\", to = \"beam-2\", break_before_make = \"80 ms\" }}]\n"
        ))
    };
    let both = |what: &str, rest: &str| ["forward", "reverse"].map(|side| format!("{what}.{side}{rest}"));
    let installs = |at: &str| {
        ["f1", "f2"].map(|f| {
            [
                format!("{at}: install {f} there: ua.forward ag.forward beam-2.forward"),
                format!("{at}: install {f} back: beam-2.reverse ag.reverse ua.reverse"),
            ]
        })
    };
    let withdrawn = ["f1", "f2"].map(|f| ["there", "back"].map(|side| format!("30 s: withdraw {f} {side}")));
    let lost = [&withdrawn.concat()[..], &both("30 s: down beam-1", " lost delivered"), &installs("30.08 s").concat()];
    assert_eq!(said(&beams("lost")), lost.concat());
    for waiting in ["rerouted", "kept"] {
        let kept = [
            &installs("30 s").concat()[..],
            &both("30 s: down beam-1", &format!(" {waiting} delivered")),
            &both("30 s: down beam-2", " kept delivered"),
            &both("30.08 s: up beam-2", ""),
        ];
        assert_eq!(said(&beams(waiting)), kept.concat());
    }
}

/// The left beam is down and would lose packets. It keeps them until the new link is up.
#[test]
fn a_handover_back_waits_at_links_that_were_left() {
    let scenario = read(
        r#"
[[at]]
time = "10 s"
waiting = "rerouted"
handover = [{ from = "beam-1", to = "beam-2", break_before_make = "80 ms" }]
[[at]]
time = "20 s"
waiting = "rerouted"
handover = [{ from = "beam-2", to = "beam-1", break_before_make = "80 ms" }]
"#,
    );
    let said = said(&scenario);
    for change in ["20 s: up beam-1.forward", "20 s: down beam-1.forward kept lost", "20.08 s: up beam-1.forward"] {
        assert!(said.iter().any(|said| said == change), "{change}\n{said:#?}");
    }
}

#[test]
fn what_a_handover_cannot_do_is_refused() {
    let handover = |keys: &str| format!("[[at]]\ntime = \"30 s\"\nhandover = [{{ {keys} }}]\n");
    for (keys, message) in [
        ("from = \"sat-a\", to = \"sat-c\"", "at.0.handover.0.to = \"sat-c\" is not a node or a link"),
        ("from = \"sat-a\", to = \"sat-c\"", "did you mean \"sat-a\"?"),
        ("from = \"sat-a\", to = \"beam-1\"", "is not what \"sat-a\" is"),
        ("from = \"sat-a\", to = \"sat-a\"", "is the same as from"),
        ("from = \"beam-1\", to = \"ua\"", "does not join the nodes that \"beam-1\" joins"),
        ("from = \"sat-b\", to = \"sat-a\"", "at.0.handover.0.from = \"sat-b\" has no effect: no route passes it"),
        ("from = \"beam-2\", to = \"beam-1\"", "no route passes it"),
        ("from = \"server\", to = \"sat-a\"", "no route passes it"),
        ("from = \"gateway\", to = \"sat-b\"", "at.0.handover.0 has no link from \"sat-a\" to \"sat-b\""),
        ("from = \"sat-a\", to = \"gateway\"", "brings the route of flow \"f1\" through \"gateway\" twice"),
        (
            "from = \"sat-a\", to = \"sat-b\", make_before_break = \"1 s\", break_before_make = \"1 s\"",
            "at.0.handover.0 has two rules",
        ),
        ("from = \"sat-a\", to = \"sat-b\", break_before_make = \"0 s\"", "is too small"),
        ("from = \"sat-a\", to = \"sat-b\", make_before_break = \"4800 h\"", "makes the handover end too late"),
    ] {
        wrong(&handover(keys), message);
    }
    let twice = "[[at]]\ntime = \"30 s\"\nhandover = [{ from = \"sat-a\", to = \"sat-b\" }, { from = \"beam-1\", to = \"beam-2\" }]";
    wrong(twice, "at.0.handover.1 moves the route of flow \"f1\", and another handover does so at the same instant");
    let parallel = "[link.uc]\nfrom = \"user\"\nto = \"sat-b\"\nrate = \"1 Mb/s\"\ndelay = \"1 s\"\n";
    let at = handover("from = \"sat-a\", to = \"sat-b\"");
    wrong(&format!("{parallel}{at}"), "at.0.handover.0 is ambiguous: several links lead from \"user\" to \"sat-b\"");
    // A flow that ends at the satellite does not pass it, so it does not move.
    let stays = format!("[flow.stays]\nfrom = \"user\"\nto = \"sat-a\"\n{at}");
    wrong(&stays, "at.0.handover.0 has \"ua.forward\", which goes down, and the route of flow \"stays\" leads over it");
}

#[test]
fn what_cannot_change_is_refused_at_its_place() {
    for (at, message) in [
        ("up = [\"ub\"]", "at.0.up.0 = \"ub\" comes up while it is up, since the start"),
        ("down = [\"uc\"]", "at.0.down.0 = \"uc\" is not a link"),
        ("down = [\"beam2\"]", "did you mean \"beam-2\"?"),
        ("down = [\"ub\", \"ub.forward\"]", "at.0.down.1 = \"ub.forward\" goes down while it is down, since 10 s"),
        ("down = [\"ub\"]\n[[at]]\ntime = \"20 s\"\ndown = [\"ub\"]", "goes down while it is down, since 10 s"),
        ("up = [\"ub\"]\ndown = [\"ub\"]", "at.0.down.0 = \"ub\" goes down at the same instant at which it comes up"),
        ("up = [\"ub\"]\ndown = [\"ub\"]\nwaiting = \"kept\"", "comes up while it is up"),
        ("down = [\"ub\"]\n[[at]]\ntime = \"20 s\"\nup = [\"ub\"]\ndown = [\"ub\"]", "goes down at the same instant"),
        ("down = [\"ua\"]", "at.0.down.0 = \"ua\" goes down, and the route of flow \"f1\" leads over it"),
        ("down = [\"ua\"]", "expected another route for it at the same instant, its withdrawal, or waiting = \"kept\""),
        ("withdraw = [\"g\"]", "at.0.withdraw.0 = \"g\" is not a flow"),
        ("withdraw = [\"nera\"]", "did you mean \"near\"?"),
        ("install = [{ flow = \"g\", route = [\"server\"] }]", "at.0.install.0.flow = \"g\" is not a flow"),
        ("install = [{ flow = \"f1\" }]", "at.0.install.0 has no route"),
        ("install = [{ flow = \"f1\", route = [] }]", "ends at \"user\", not at \"server\""),
        ("install = [{ flow = \"f1\", route = [\"server\"] }]", "has no link"),
        (
            "install = [{ flow = \"f1\", route = [\"user\", \"sat-b\", \"gateway\"] }]",
            "ends at \"gateway\", not at \"server\"",
        ),
        (
            "install = [{ flow = \"f1\", reverse_route = [\"server\", \"sat-b\"] }]",
            "no link leads from \"server\" to \"sat-b\"",
        ),
        ("install = [{ flow = \"f1\", route = [\"user\", \"sat-x\", \"server\"] }]", "did you mean \"sat-a\"?"),
        ("install = [{ flow = \"f1\", route = [\"user\", \"sat-b\", \"user\"] }]", "comes through \"user\" twice"),
        ("install = [{ flow = \"f1\", route = [\"user\", \"sat-b\", \"gateway\", \"server\"] }]", "is ambiguous"),
        (
            "install = [{ flow = \"near\", route = [\"user\", \"sat{n}\", \"gateway\"] }]",
            "contains {n} without a count",
        ),
        ("install = [{ flow = \"near\", route = [\"user\", \"\"] }]", "at.0.install.0.route.1 = \"\" is empty"),
        (
            "install = [{ flow = \"f1\", route = [\"ua\", \"ag\", \"beam-1\"] }]\n[[at]]\ntime = \"10 s\"\n\
             install = [{ flow = \"f{n}\", route = [\"ub\", \"bg\", \"beam-2\"] }]",
            "at.1.install.0 is a second route of the route of flow \"f1\" at 10 s",
        ),
        (
            "down = [\"ub\"]\n[[at]]\ntime = \"20 s\"\ninstall = [{ flow = \"near\", route = [\"ub\", \"gateway\"] }]",
            "at.1.install.0 leads the route of flow \"near\" over \"ub.forward\", which is down since 10 s",
        ),
        ("", "at.0 has no effect"),
        ("up = [\"ub\"]\nwaiting = \"lost\"", "at.0.waiting = \"lost\" has no effect: no link goes down here"),
        ("down = [\"ub\"]\nwaiting = \"lots\"", "did you mean \"lost\"?"),
        ("down = [\"ub\"]\n[[at]]\ntime = \"4801 h\"\nup = [\"ub\"]", "at most 200 days"),
    ] {
        wrong(&format!("[[at]]\ntime = \"10 s\"\n{at}"), message);
    }
    wrong("[[at]]\nup = [\"ub\"]", "at[0].time is missing");
}

#[test]
fn routes_may_begin_on_the_way_and_links_that_keep_may_go() {
    let scenario = read(
        r#"
[[at]]
time = "10 s"
down = ["ua"]
waiting = "kept"
[[at]]
time = "20 s"
install = [
    { flow = "f1", route = ["gateway", "beam-2"] },
    { flow = "f1", route = ["user", "sat-a", "gateway", "beam-2"] },
]
[[at]]
time = "30 s"
down = ["beam-1.forward"]
withdraw = ["f2.forward"]
"#,
    );
    assert_eq!(scenario.timeline.changes.len(), 6);
    // The route continues from the gateway as installed there: no route uses the other beam.
    wrong(
        "[[at]]\ntime = \"30 s\"\nwithdraw = [\"f2\"]\ndown = [\"beam-1.forward\"]\n",
        "the route of flow \"f1\" leads over it",
    );
    read(
        "[[at]]\ntime = \"30 s\"\nwithdraw = [\"f2\"]\ndown = [\"beam-1.forward\"]\n\
         install = [{ flow = \"f1\", route = [\"gateway\", \"beam-2\"] }]\n",
    );
}

/// A queue in bdp is for the longest round trip of any route of a flow, with the reverse route of that time.
#[test]
fn queues_are_made_for_all_routes() {
    let bytes = |scenario: &Scenario, name: &str| {
        let link = scenario.links.iter().find(|link| link.name == name).unwrap();
        let mut queue = link.queue.clone();
        match *queue.limits_mut()[0] {
            QueueLimit::Bytes(bytes) => bytes,
            limit => panic!("{limit:?}"),
        }
    };
    let at = |written: &str| read(&format!("[[at]]\ntime = \"10 s\"\n{written}"));
    // 10 Mbit/s. The round trip is 22 ms over the first satellite. Each direction over the second satellite takes 2 ms
    // more.
    let per_ms = 1250;
    let first = at("down = [\"beam-2\"]");
    assert_eq!([bytes(&first, "ua.forward"), bytes(&first, "ub.forward")], [22 * per_ms, 12 * per_ms]);
    let there = at("install = [{ flow = \"f1\", route = [\"ub\", \"bg\", \"beam-1\"] }]");
    assert_eq!([bytes(&there, "ua.reverse"), bytes(&there, "ub.forward")], [24 * per_ms, 24 * per_ms]);
    let both = at("install = [{ flow = \"f1\", route = [\"ub\", \"bg\", \"beam-1\"], reverse_route = [\"beam-1\", \"bg\", \"ub\"] }]");
    assert_eq!([bytes(&both, "ua.reverse"), bytes(&both, "ub.forward")], [22 * per_ms, 26 * per_ms]);
}

#[test]
fn classes_and_loads_are_checked_on_all_routes() {
    let prio = "[link.ub.forward]\nqueue = { kind = \"priority\", class = [{ limit = \"10 packets\" }] }\n";
    let install = "[[at]]\ntime = \"10 s\"\ninstall = [{ flow = \"x\", route = [\"ub\", \"gateway\"] }]\n";
    let flow = |keys: &str| {
        format!("{prio}[flow.x]\nfrom = \"user\"\nto = \"gateway\"\nroute = [\"ua\", \"gateway\"]\n{keys}\n{install}")
    };
    wrong(&flow("class = 1"), "is not a class of the queue of \"ub.forward\", on its path");
    let arrivals = flow("app = { kind = \"arrivals\", size = \"10 kB\", load = \"60 %\", link = \"ua\" }");
    assert!(with(&arrivals).is_ok(), "{:?}", with(&arrivals).map(drop));
    let slow = arrivals.replace("[link.ub.forward]\n", "[link.ub.forward]\nrate = \"5 Mbit/s\"\n");
    wrong(&slow, "and the other load on ub.forward make 120.0000 % of its rate");
}

#[test]
fn what_waits_for_a_later_route_is_refused() {
    let text = "[flow.x]\nfrom = \"user\"\nto = \"gateway\"\nroute = [\"ua\", \"gateway\"]\n\
                app = { kind = \"cbr\", rate = \"9 Mbit/s\", size = \"10 B\" }\n[link.ub.forward]\nqueue = \"unlimited\"\nrate = \"1 kbit/s\"\n\
                [[at]]\ntime = \"10 s\"\ninstall = [{ flow = \"x\", route = [\"ub\", \"gateway\"] }]\n";
    let long = format!("{TWO}{text}").replace("\"60 s\"", "\"200 s\"");
    let problems = from_toml(&long, "geo.toml", &[]).map(drop).unwrap_err().to_string();
    assert!(problems.contains("packets wait"), "{problems}");
}

#[test]
fn what_would_not_fit_into_memory_is_refused() {
    // 10,000 flows with three links in each direction, changed five hundred times.
    let installs: String = (0..500)
        .map(|n| format!("[[at]]\ntime = \"{} s\"\ninstall = [{{ flow = \"f{{n}}\", route = [\"ua\", \"ag\", \"beam-1\"], reverse_route = [\"beam-1\", \"ag\", \"ua\"] }}]\n", 1 + n))
        .collect();
    let text = format!("{TWO}{installs}").replace("count = 2", "count = 9999");
    let problems = from_toml(&text, "geo.toml", &[]).map(drop).unwrap_err().to_string();
    assert!(problems.contains("at stands for more than 20000000 changes and steps of routes"), "{problems}");
}

#[test]
fn ports_have_no_transport() {
    let port = |more: &str| {
        with(&format!("[flow.p]\nfrom = \"user\"\nto = \"server\"\nroute = [\"ua\", \"ag\", \"beam-1\"]\nreverse_route = [\"beam-1\", \"ag\", \"ua\"]\napp = \"port\"\nclass = 3\n{more}"))
    };
    let resolved = port("").unwrap();
    let again = from_toml(&resolved.to_toml(), "again", &[]).unwrap();
    assert_eq!(again.scenario, resolved.scenario);
    assert!(port("tcp = { cc = \"reno\" }").unwrap_err().contains("packets from outside bring their transport"));
    assert!(port("reader = { rate = \"1 Mbit/s\" }").unwrap_err().contains("has no effect"));
}

#[test]
fn the_resolved_form_says_where_changes_are_from() {
    let toml = with("[[at]]\ntime = \"10 s\"\ndown = [\"ub\"]\n").unwrap().to_toml();
    let line = TWO.lines().count() + 2;
    for said in [
        format!("{:<40}  # file line {line}", "time = \"10 s\""),
        format!("{:<40}  # file line {}", "down = [\"ub\"]", line + 1),
        format!("{:<40}  # default", "waiting = \"lost\""),
    ] {
        assert!(toml.contains(&said), "{said}\n{toml}");
    }
    let defaults = (Waiting::Lost, InFlight::Lost);
    let scenario = read("[[at]]\ntime = \"10 s\"\ndown = [\"ub.forward\"]\n");
    let (at, Change::Down { waiting, in_flight, .. }) = scenario.timeline.changes[0] else { panic!() };
    assert_eq!((at, (waiting, in_flight)), (Time::ZERO + Duration::from_secs(10), defaults));
}

#[test]
fn the_example_of_the_page_on_links_is_a_scenario() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/concepts/links-and-errors.md");
    let page = std::fs::read_to_string(page).unwrap();
    let section = page.split("## Changes during a run").nth(1).unwrap();
    let example = section.split("```toml").nth(1).unwrap().split("```").next().unwrap();
    let resolved = from_toml(example, "page", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(resolved.scenario.timeline.changes.len(), 2 + 4 + 4 + 2 + 2);
}
