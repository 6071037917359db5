use crate::{from_toml, Resolved};

const TEXT: &str = r#"
duration = "10 s"
[tcp]
like = "rfc"
[node.mid]
middlebox = [{ kind = "impair", reorder = 0.01, hold = "6 ms" }]
[link.up]
from = "a"
to = "mid"
rate = "1 Mbit/s"
delay = "1 ms"
forward.queue = "9 packets"
[link.down]
from = "mid"
to = "b"
delay = "1 ms"
forward.rate = "1 Mbit/s"
reverse = { rate = "2 Mbit/s", queue = "9 packets" }
[flow.f]
from = "a"
to = "b"
tcp = { cc = "cubic", rto.min = "300 ms" }
[flow.g]
from = "a"
to = "b"
tcp = { cc = "sack", smss = "536 B", rto = { min = "400 ms", max = "30 s" } }
[flow.voice]
from = "a"
to = "b"
app = { kind = "cbr", rate = "64 kbit/s" }
"#;

fn read(more: &str, sets: &[(&str, &str)]) -> Result<Resolved, String> {
    let sets: Vec<_> = sets.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    from_toml(&format!("{TEXT}{more}"), "f.toml", &sets).map_err(|problems| problems.to_string())
}

/// The kinds at `mid`, and the notes.
fn kinds(resolved: &Resolved) -> (Vec<&'static str>, Vec<String>) {
    let node = resolved.scenario.nodes.iter().find(|node| node.name == "mid").unwrap();
    (node.middleboxes.iter().map(|each| each.name()).collect(), resolved.scenario.notes.clone())
}

#[test]
fn an_override_that_others_act_for_is_refused_with_their_keys() {
    for (key, value, said, acting) in [
        ("link.down.rate", "5 Mbit/s", "each direction", "link.down.forward.rate or link.down.reverse.rate"),
        ("tcp.cc", "reno", "each flow", "flow.f.tcp.cc or flow.g.tcp.cc"),
        ("tcp.cc", "{ kind = \"cubic\", beta = 0.8 }", "each flow", "flow.f.tcp.cc or flow.g.tcp.cc"),
        ("tcp.rto.min", "1 s", "each flow", "flow.f.tcp.rto.min or flow.g.tcp.rto.min"),
        ("tcp.rto", "{ min = \"1 s\" }", "each flow", "flow.f.tcp.rto.min or flow.g.tcp.rto.min"),
        ("tcp", "{ cc = \"reno\" }", "each flow", "flow.f.tcp.cc or flow.g.tcp.cc"),
    ] {
        let problems = read("", &[(key, value)]).map(drop).unwrap_err();
        for said in ["has no effect", said, acting, &format!("--set {key}"), "1 problem;"] {
            assert!(problems.contains(said), "{key}: {problems}");
        }
    }
}

#[test]
fn an_override_that_anything_takes_is_none_of_them() {
    for (key, value) in [
        ("link.down.delay", "2 ms"),
        ("link.down.queue", "5 packets"),
        ("link.up.rate", "5 Mbit/s"),
        ("link.up.queue", "5 packets"),
        ("tcp.smss", "1000 B"),
        ("tcp.rto.max", "20 s"),
        ("tcp.rto.initial", "2 s"),
        ("flow.f.tcp.cc", "reno"),
        ("title", "x"),
        // A value equal to the present one has an effect, too.
        ("link.up.rate", "1 Mbit/s"),
    ] {
        read("", &[(key, value)]).unwrap_or_else(|problems| panic!("{key}: {problems}"));
    }
    // A proxy takes keys that flows do not take.
    read("", &[("node.mid.middlebox.append", "split"), ("tcp.cc", "reno")]).unwrap();
}

#[test]
fn datagrams_have_no_transport() {
    let text = TEXT.replace("tcp = { cc", "app = { kind = \"poisson\", rate = \"1 kbit/s\" }\n#");
    let problems = from_toml(&text, "f.toml", &[("tcp.cc".into(), "cubic".into())]).map(drop).unwrap_err().to_string();
    assert!(problems.contains("tcp.cc has no effect: no flow sends by TCP"), "{problems}");
    from_toml(&text, "f.toml", &[]).unwrap();
}

#[test]
fn cases_and_points_are_overrides() {
    let problems = read("[case.slow]\nlink.down.rate = \"5 Mbit/s\"\n", &[]).map(drop).unwrap_err();
    assert!(problems.contains("link.down.rate has no effect") && problems.contains("f.toml:32:"), "{problems}");
    let resolved = read("", &[("sweep.vary.link.down.rate", "[\"1 Mbit/s\", \"2 Mbit/s\"]")]).unwrap();
    let point = resolved.sweep.unwrap().point(&[1], &crate::NoFiles).map(drop).unwrap_err().to_string();
    assert!(point.contains("link.down.rate has no effect") && point.contains("--vary link.down.rate"), "{point}");
}

#[test]
fn keys_without_an_effect_are_known_beforehand() {
    let resolved = read("", &[]).unwrap();
    assert_eq!(resolved.acting("tcp.cc"), ["flow.f.tcp.cc", "flow.g.tcp.cc"]);
    assert_eq!(resolved.acting("link.down.rate"), ["link.down.forward.rate", "link.down.reverse.rate"]);
    for key in ["link.up.rate", "tcp.smss", "flow.f.tcp.cc", "duration", ""] {
        assert_eq!(resolved.acting(key), [""; 0], "{key}");
    }
}

#[test]
fn keys_of_a_sky_are_replaced_by_those_of_its_constellations_and_directions() {
    let sky = |over: &str, more: &str| {
        format!(
            "duration = \"10 s\"\n[sky]\nover = {over}\n{more}\n[flow.f]\nfrom = \"London\"\nto = \"Paris\"\n\
             [sky.user]\nforward.rate = \"1 Mbit/s\"\nreverse.rate = \"1 Mbit/s\"\n"
        )
    };
    let said = |text: &str, key: &str| {
        let sets = [(key.to_owned(), "5".to_owned())];
        from_toml(text, "f.toml", &sets).map(drop).unwrap_err().to_string()
    };
    let one = sky("\"iridium\"", "");
    assert!(said(&one, "sky.user.rate").contains("expected sky.user.forward.rate or sky.user.reverse.rate"));
    let two = sky(
        "[\"iridium\", \"kuiper\"]",
        "constellation.iridium.elevation_min = 9\nconstellation.kuiper.elevation_min = \"40 deg\"",
    );
    let expected = "expected sky.constellation.iridium.elevation_min or sky.constellation.kuiper.elevation_min";
    assert!(said(&two, "sky.elevation_min").contains(expected), "{}", said(&two, "sky.elevation_min"));
}

#[test]
fn words_change_the_middleboxes_of_a_node() {
    for (sets, expected) in [
        (&[("append", "ack-filter")][..], &["impair", "ack-filter"][..]),
        (&[("append", "[\"ack-filter\", \"ewa\"]")], &["impair", "ack-filter", "ewa"]),
        (&[("append", "ewa"), ("append", "ack-filter")], &["impair", "ewa", "ack-filter"]),
        (&[("prepend", "ack-filter")], &["ack-filter", "impair"]),
        (&[("remove", "impair")], &[]),
        (&[("remove", "impair"), ("append", "ewa")], &["ewa"]),
        (&[("replace", "[\"ack-filter\"]")], &["ack-filter"]),
    ] {
        let sets: Vec<_> = sets.iter().map(|(word, value)| (format!("node.mid.middlebox.{word}"), *value)).collect();
        let sets: Vec<_> = sets.iter().map(|(key, value)| (key.as_str(), *value)).collect();
        let resolved = read("", &sets).unwrap_or_else(|problems| panic!("{sets:?}: {problems}"));
        assert_eq!(kinds(&resolved), (expected.to_vec(), Vec::new()), "{sets:?}");
    }
    // Without a list, any value is the whole list.
    for (key, value) in [("node.a.middlebox", "[\"ack-filter\"]"), ("node.a.middlebox.append", "ack-filter")] {
        assert_eq!(read("", &[(key, value)]).unwrap().scenario.nodes[0].middleboxes.len(), 1, "{key}");
    }
}

#[test]
fn a_middlebox_is_not_removed_by_accident() {
    for value in ["ack-filter", "[\"ack-filter\"]", "[\"impair\", \"ack-filter\"]", "{ kind = \"ewa\" }"] {
        let problems = read("", &[("node.mid.middlebox", value)]).map(drop).unwrap_err();
        for said in ["would remove impair", "node.mid.middlebox.append (or +=)", "--set node.mid.middlebox"] {
            assert!(problems.contains(said), "{value}: {problems}");
        }
    }
    let problems = read("", &[("node.mid.middlebox.remove", "eln")]).map(drop).unwrap_err();
    assert!(
        problems.contains("mid has no middlebox eln to remove") && problems.contains("known: impair"),
        "{problems}"
    );
}

#[test]
fn a_whole_list_says_what_it_removes() {
    let note = |key: &str| vec![format!("{key} removes impair from mid")];
    for (key, value, expected, notes) in [
        ("node.mid.middlebox", "[{ kind = \"ewa\" }]", &["ewa"][..], note("node.mid.middlebox")),
        ("node.mid.middlebox", "[]", &[], note("node.mid.middlebox")),
        ("node.mid.middlebox", "[{ kind = \"impair\" }, { kind = \"ewa\" }]", &["impair", "ewa"], Vec::new()),
        ("node.mid", "{ }", &[], note("node.mid")),
    ] {
        let resolved = read("", &[(key, value)]).unwrap_or_else(|problems| panic!("{value}: {problems}"));
        assert_eq!(kinds(&resolved), (expected.to_vec(), notes), "{key} = {value}");
    }
}

#[test]
fn cases_change_middleboxes_by_the_same_words() {
    let of = |case: &str| {
        let resolved = read(&format!("[case.x]\nnode.mid.{case}\n"), &[])?;
        let (kinds, notes) = kinds(&resolved.cases[0].1);
        Ok::<_, String>((kinds.join(" "), notes))
    };
    let kept = |kinds: &str| (kinds.to_owned(), Vec::new());
    assert_eq!(of("middlebox.append = [\"ewa\"]").unwrap(), kept("impair ewa"));
    assert_eq!(of("middlebox = { remove = \"impair\", append = \"ewa\" }").unwrap(), kept("ewa"));
    assert_eq!(of("kind = \"processing\"").unwrap(), kept("impair"));
    let removed = vec!["node.mid.middlebox removes impair from mid".to_owned()];
    assert_eq!(of("middlebox = [{ kind = \"ewa\" }]").unwrap(), ("ewa".to_owned(), removed));
    let problems = of("middlebox = [\"ewa\"]").unwrap_err();
    assert!(problems.contains("would remove impair") && problems.contains("f.toml:32:"), "{problems}");
    let set = [("case.y.node.mid.middlebox.append", "ewa"), ("case.y.node.mid.middlebox.remove", "impair")];
    assert_eq!(kinds(&read("", &set).unwrap().cases[0].1), (vec!["ewa"], Vec::new()));
}
