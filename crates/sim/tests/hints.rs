//! Hints on a scenario.

use bentpipe_sim::scenario::from_toml;

/// 20 Mbit/s and a round trip of 520 ms: 1.3 MB.
fn hints(tcp: &str, queue: &str, flow: &str) -> Vec<String> {
    hints_over(["20 Mbit/s", "260 ms", queue], tcp, flow)
}

fn hints_over([rate, delay, queue]: [&str; 3], tcp: &str, flow: &str) -> Vec<String> {
    let text = format!(
        "duration = '1 s'\n[tcp]\nlike = 'rfc'\n{tcp}\n[link.sat]\nfrom = 'a'\nto = 'b'\nrate = '{rate}'\ndelay = '{delay}'\n\
         queue = {queue}\n[flow.f]\nfrom = 'a'\nto = 'b'\n{flow}\n"
    );
    from_toml(&text, "f", &[]).unwrap_or_else(|problems| panic!("{text}\n{problems}")).scenario.hints()
}

#[test]
fn marks_need_a_queue_that_marks() {
    let on = "ecn = 'classic'";
    let found = hints(on, "'1 bdp'", "");
    assert!(found.len() == 1 && found[0].starts_with("tcp.ecn has no effect (flow \"f\"): no queue"), "{found:?}");
    for (tcp, queue, flow) in [
        ("", "'1 bdp'", ""),
        (on, "{ kind = 'codel', ecn = true }", ""),
        (on, "'fq-codel'", ""),
        (on, "'1 bdp'", "app = { kind = 'cbr', rate = '64 kbit/s' }"),
    ] {
        assert!(hints(tcp, queue, flow).is_empty(), "{tcp} {queue} {flow}");
    }
    assert_eq!(hints(on, "{ kind = 'codel' }", "").len(), 1);
}

/// A handshake of TCP and TLS 1.3 takes two round trips, and one of QUIC takes one.
#[test]
fn pages_without_tls_beside_quic_have_a_hint() {
    let beside = |app: &str, quic: &str| {
        let other = format!("app = {{ kind = 'page', {app} }}\n[flow.q]\nfrom = 'a'\nto = 'b'\n{quic}");
        hints("", "'1 bdp'", &other).join("")
    };
    let open = "multiplexed = true, tls_rtts = 0";
    let found = beside(open, "quic = {}");
    assert!(found.starts_with("pages of flow \"f\" over TCP have no round trip for TLS"), "{found}");
    assert_eq!([beside("multiplexed = true", "quic = {}"), beside(open, "")], ["", ""]);
}

#[test]
fn windows_of_quic_below_two_bdp_have_a_hint() {
    for (window, expected) in [
        ("quic = {}", ""),
        ("quic = { stream_window = '2 bdp' }", ""),
        ("quic = { stream_window = '1.9 bdp' }", "stream_window of flow \"f\" holds 1.9 bdp of its path"),
        ("quic = { stream_window = '1.25 MB' }", "stream_window of flow \"f\" holds 0.96 bdp of its path"),
        ("quic = { connection_window = '1 bdp' }", "connection_window of flow \"f\" holds 1.0 bdp"),
        ("quic = { send_window = '1 bdp' }", "send_window of flow \"f\" holds 1.0 bdp"),
        ("app = { kind = 'file', size = '1 MB' }\nquic = { stream_window = '1 MB' }", ""),
    ] {
        let found = hints("", "'1 bdp'", window).join("");
        assert!(found.starts_with(expected) && found.is_empty() == expected.is_empty(), "{window}: {found}");
        assert!(found.is_empty() || found.ends_with("= \"2 bdp\", 2.6 MB"), "{found}");
    }
}

#[test]
fn timers_of_quic_below_the_round_trip_have_a_hint() {
    for (quic, delay, expected) in [
        ("", "498 ms", ""),
        ("initial_rtt = '100 ms'", "260 ms", "repeats its first packet after 300 ms"),
        ("", "4 min", "ends after 30 s, and never opens: the first answer takes 480 s"),
        ("idle_timeout = '10 h'", "4 min", "repeats its first packet after 999 ms"),
        ("initial_rtt = '480 s'", "4 min", ""),
    ] {
        let found = hints_over(["1 Mbit/s", delay, "'1 bdp'"], "", &format!("quic = {{ {quic} }}")).join("");
        assert!(found.contains(expected) && found.is_empty() == expected.is_empty(), "{quic} {delay}: {found}");
    }
}

#[test]
fn controllers_for_shorter_round_trips_have_a_hint() {
    let found = hints("", "'dualpi2'", "").join("");
    let expected =
        "the queue of \"sat.forward\" is stable up to a round trip of 100 ms, and that of its flows is 520 ms";
    assert!(found.starts_with(expected) && found.ends_with("max_rtt = \"520 ms\""), "{found}");
    for queue in ["{ kind = 'dualpi2', max_rtt = '520 ms' }", "{ kind = 'dualpi2', typical_rtt = '100 ms' }"] {
        assert_eq!(hints("", queue, ""), [""; 0]);
    }
}

#[test]
fn slow_starts_of_controllers_with_their_own_start_have_a_hint() {
    for (tcp, expected) in [
        ("cc = 'bbr3'\nslow_start = 'search'", "tcp.slow_start = \"search\" has no effect (flow \"f\"): bbr3 has"),
        ("cc = 'stp'\nrecovery = 'rack'\nslow_start = 'rapid'", "tcp.slow_start = \"rapid\" has no effect"),
        ("cc = 'bbr3'", ""),
        ("cc = 'vegas'\nslow_start = 'search'", ""),
    ] {
        let found = hints(tcp, "'1 bdp'", "").join("");
        assert!(found.starts_with(expected) && found.is_empty() == expected.is_empty(), "{tcp}: {found}");
    }
}

#[test]
fn careful_resume_without_a_saved_window_or_with_slow_repairs_has_a_hint() {
    let given = "careful_resume = { kind = 'on', saved = '1 bdp' }";
    let second = "[flow.g]\nfrom = 'a'\nto = 'b'";
    for (tcp, flow, expected) in [
        ("careful_resume = 'on'", "", "tcp.careful_resume has no effect (flow \"f\"): no earlier connection"),
        ("careful_resume = 'on'", "app = { kind = 'file', size = '1 MB' }", "tcp.careful_resume has no effect"),
        ("careful_resume = 'on'", "app = { kind = 'page' }", ""),
        ("careful_resume = 'on'", second, ""),
        (given, "", ""),
        (&format!("recovery = 'newreno'\n{given}"), "", "recovery \"newreno\" repairs at most one segment per"),
    ] {
        let found = hints(&format!("cc = 'cubic'\n{tcp}"), "'1 bdp'", flow).join("");
        assert!(found.starts_with(expected) && found.is_empty() == expected.is_empty(), "{tcp} {flow}: {found}");
    }
}

#[test]
fn probing_for_a_window_far_below_the_bdp_has_a_hint() {
    // 20 Mbit/s and 520 ms are 866 packets of 1500 B.
    for (tcp, expected) in [
        ("cc = 'peach'\nreceive_buffer = '64 kB'", "peach starts with a window of 43 segments, "),
        ("cc = 'swift'\nreceive_buffer = '29200 B'", "swift starts with a window of 20 segments, "),
        ("cc = 'peach'\nreceive_buffer = '2 bdp'", ""),
        ("cc = { kind = 'peach', receiver_knows = false }\nreceive_buffer = '64 kB'", ""),
        ("cc = 'cubic'\nreceive_buffer = '64 kB'", ""),
    ] {
        let found = hints(tcp, "'1 bdp'", "").join("");
        assert!(found.starts_with(expected) && found.is_empty() == expected.is_empty(), "{tcp}: {found}");
        assert!(found.is_empty() || found.contains("and the path holds 866 (flow \"f\")"), "{found}");
    }
}

#[test]
fn queues_far_from_the_bdp_of_their_path_have_a_hint() {
    for (queue, flow, expected) in [
        ("'1 bdp'", "", ""),
        ("'4 bdp'", "", ""),
        ("'0.3 bdp'", "", ""),
        ("'5 bdp'", "", "the queue of \"sat.forward\" holds 5.0 bdp of its path: packets may wait"),
        ("'unlimited'", "", "the queue of \"sat.forward\" has no limit: packets"),
        ("'50 packets'", "", "the queue of \"sat.forward\" holds 0.058 bdp"),
        // Many flows need less.
        ("'0.15 bdp'", "", "the queue of \"sat.forward\" holds 0.15 bdp"),
        ("'0.15 bdp'", "count = 9", ""),
        ("'50 packets'", "app = { kind = 'cbr', rate = '64 kbit/s' }", ""),
        ("{ kind = 'codel', limit = '50 packets' }", "", ""),
    ] {
        let found = hints("", queue, flow);
        let first = found.first().map_or("", String::as_str);
        assert!(first.starts_with(expected) && first.is_empty() == expected.is_empty(), "{queue} {flow}: {found:?}");
    }
}
