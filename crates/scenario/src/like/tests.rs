use super::*;
use crate::{from_json, from_toml, Flow, Problems, Resolved};
use bentpipe_cc::CcConfig;
use bentpipe_tcp::{
    Config, CwndValidation, NewReno, NewRenoDeflate, NewRenoExit, Rack, Reduction, RtoArithmetic, RtoDuplicates,
    RttSampling, SackCounting, SackEvidence, SackOnRto,
};
use bentpipe_units::Duration;

/// Linux's.
const RACK: Recovery = Recovery::Rack(Rack {
    tlp: true,
    max_ack_delay: Duration::from_millis(200),
    reenter: true,
    min_rtt_window: Duration::from_secs(300),
    undo_shows_reordering: true,
    sack_echo: false,
});

/// Two flows. `f` may have its own transport.
fn read(tcp: &str, of_f: &str) -> Result<Resolved, Problems> {
    let text = format!(
        "duration = \"10 s\"\n[link.up]\nfrom = \"a\"\nto = \"b\"\nrate = \"10 Mbit/s\"\ndelay = \"250 ms\"\n\
         [tcp]\n{tcp}\n[flow.f]\nfrom = \"a\"\nto = \"b\"\n{of_f}\n[flow.g]\nfrom = \"a\"\nto = \"b\"\n"
    );
    from_toml(&text, "host.toml", &[])
}

fn resolved(tcp: &str) -> Resolved {
    read(tcp, "").unwrap_or_else(|problems| panic!("{tcp}: {problems}"))
}

fn config(tcp: &str) -> Config {
    resolved(tcp).scenario.flows[0].tcp().clone()
}

/// Key and origin of a line of the resolved scenario.
fn origin(toml: &str, line: &str) -> String {
    let found = toml.lines().find(|found| found.starts_with(line));
    let found = found.unwrap_or_else(|| panic!("no {line} in\n{toml}"));
    found.split_once("  # ").map_or(String::new(), |(_, origin)| origin.to_owned())
}

#[test]
fn a_file_that_decides_about_idle_times_replaces_the_validation_of_linux() {
    for idle_restart in [false, true] {
        let config = config(&format!("like = 'linux-6'\nidle_restart = {idle_restart}"));
        assert_eq!((config.cwnd_validation, config.idle_restart), (CwndValidation::IfUsed, idle_restart));
    }
    assert_eq!(config("like = 'linux-6'").cwnd_validation, CwndValidation::Linux);
}

#[test]
fn a_preset_fills_what_the_file_leaves_open_and_says_so() {
    let linux = resolved("like = \"linux-6\"");
    let tcp = linux.scenario.flows[0].tcp();
    assert_eq!((tcp.smss, tcp.timestamps, tcp.dsack, tcp.cc.kind()), (1448, true, true, CcKind::Cubic));
    assert_eq!((tcp.recovery, tcp.reduction), (RACK, Reduction::Prr));
    let [min, floor, delay] = [tcp.rto.min, tcp.rto.variance_min, tcp.ack.delay];
    assert_eq!([min, floor, delay].map(|span| span.as_ps() / 1_000_000_000), [200, 200, 40]);
    assert_eq!((tcp.ack.quick, tcp.ack.every, tcp.auto_send_buffer), (16, 2, Some(128_000)));
    assert_eq!(linux.scenario.flows[0].like, Like::Linux6);
    let toml = linux.to_toml();
    for (line, said) in [
        ("timestamps = true", "linux-6: tcp_timestamps = 1"),
        ("dsack = true", "linux-6: tcp_dsack = 1"),
        ("variance_min = ", "linux-6: the floor is on the variance term"),
        ("quick = 16", "linux-6: TCP_MAX_QUICKACKS"),
        ("cc = ", "linux-6: Linux since 2.6.19"),
    ] {
        let origin = origin(&toml, line);
        assert!(origin.contains(said), "{line}: {origin}\n{toml}");
    }
    assert!(origin(&toml, "nagle = ").starts_with("default") && !origin(&toml, "nagle = ").contains("linux"), "{toml}");
}

/// The special values of a paced host precede those of any host.
#[test]
fn a_paced_host_differs_in_pacing_only() {
    let (paced, plain) = (config("like = \"linux-6-paced\""), config("like = \"linux-6\""));
    // Its HyStart, too, with the congestion control of the host as with one of the file.
    assert_ne!(paced.pacing, plain.pacing);
    assert_ne!(paced.growth.slow_start, plain.growth.slow_start);
    assert_eq!(config("like = \"linux-6-paced\"\ncc = \"cubic\""), paced);
    assert_eq!(Config { pacing: plain.pacing, growth: plain.growth, ..paced }, plain);
}

#[test]
fn what_the_file_says_goes_before_the_preset_also_within_tables() {
    let tcp = config(
        "like = \"linux-6\"\nsmss = \"1000 B\"\nrto = { min = \"300 ms\" }\nack = { every = 1 }\nsend_buffer = \"50 kB\"\n\
         auto_buffer = { start = \"64 kB\" }\ncc = { kind = \"cubic\", first_growth = 0.1 }",
    );
    let ms = |span: Duration| span.as_ps() / 1_000_000_000;
    assert_eq!((tcp.smss, ms(tcp.rto.min), tcp.ack.every), (1000, 300, 1));
    assert_eq!((tcp.send_buffer, tcp.auto_send_buffer, tcp.auto_buffer), (50_000, None, Some(64_000)));
    // The other keys of the tables are the preset's.
    assert_eq!((ms(tcp.rto.variance_min), ms(tcp.rto.max), ms(tcp.ack.delay), tcp.ack.quick), (200, 120_000, 40, 16));
    assert_eq!(tcp.receive_buffer, 6_291_456);
    let toml = resolved("like = \"linux-6\"\ncc = { kind = \"cubic\", first_growth = 0.1 }").to_toml();
    assert!(toml.contains("first_growth = 0.1") && toml.contains("after_rto = \"reset\""), "{toml}");
}

/// Both notations: a word and a table.
#[test]
fn settings_of_a_congestion_control_are_for_that_one() {
    for cubic in ["cc = \"cubic\"", "cc = { kind = \"cubic\" }", ""] {
        let toml = resolved(&format!("like = \"linux-6\"\n{cubic}")).to_toml();
        assert!(toml.contains("first_growth = 0.05") && toml.contains("after_rto = \"reset\""), "{cubic}\n{toml}");
    }
    let reno = resolved("like = \"linux-6\"\ncc = \"reno\"");
    assert!(!reno.to_toml().contains("first_growth"));
    let tcp = reno.scenario.flows[0].tcp();
    assert_eq!((tcp.cc.kind(), tcp.growth.slow_start), (CcKind::Reno, Config::default().growth.slow_start));
    assert_eq!((tcp.recovery, tcp.smss), (RACK, 1448));
}

#[test]
fn buffers_of_linux_are_stock_unless_they_are_raised() {
    let sets = [("link.up.rate".to_owned(), "100 Mbit/s".to_owned())];
    // The path holds 6.25 MB.
    let stock = "duration = \"1 s\"\n[link.up]\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbit/s\"\ndelay = \"250 ms\"\n\
                 [flow.f]\nfrom = \"a\"\nto = \"b\"\n[tcp]\nlike = \"linux-6\"\n";
    let raised = format!("{stock}buffers = \"raised\"\n");
    for (text, receive, send, host) in
        [(stock, 6 << 20, 4 << 20, "Linux 6"), (&raised, 64 << 20, 64 << 20, "Linux 6 (raised buffers)")]
    {
        let read = from_toml(text, "", &sets).unwrap_or_else(|problems| panic!("{problems}"));
        let tcp = read.scenario.flows[0].tcp();
        assert_eq!((tcp.receive_buffer, tcp.send_buffer), (receive, send));
        assert_eq!((tcp.auto_buffer, tcp.auto_send_buffer), (Some(131_072), Some(128_000)));
        assert_eq!(read.scenario.hosts(), [(host.to_owned(), vec!["cubic"])]);
    }
    // A limit of the file has precedence; a host without such buffers has nothing to raise.
    assert_eq!(config("buffers = \"raised\"\nauto_buffer.limit = \"8 MB\"").receive_buffer, 8_000_000);
    let rfc = resolved("like = \"rfc\"\nbuffers = \"raised\"");
    assert_eq!(rfc.scenario.hosts(), [("RFC defaults".to_owned(), vec!["newreno"])]);
    assert_eq!(*rfc.scenario.flows[0].tcp(), Config::default());
}

/// RFC 6691 §2: the payload makes room for options, so that full packets have 1500 B.
#[test]
fn timestamps_leave_less_room_for_data() {
    for host in ["rfc", "ns-2", "windows-11", "linux-6", "freebsd-14"] {
        for (timestamps, smss) in [("true", 1448), ("false", 1460)] {
            assert_eq!(config(&format!("like = \"{host}\"\ntimestamps = {timestamps}")).smss, smss, "{host}");
        }
        let given = config(&format!("like = \"{host}\"\ntimestamps = true\nsmss = \"1000 B\""));
        assert_eq!(given.smss, 1000, "{host}");
    }
    let flows = read("like = \"rfc\"", "tcp.timestamps = true").unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(flows.scenario.flows.iter().map(|flow| flow.tcp().smss).collect::<Vec<_>>(), [1448, 1460]);
}

#[test]
fn a_flow_may_be_like_another_host() {
    let both = |tcp: &str, of_f: &str| {
        let flows = read(tcp, of_f).unwrap_or_else(|problems| panic!("{problems}")).scenario.flows.clone();
        <[Flow; 2]>::try_from(flows).unwrap_or_else(|_| panic!("two flows"))
    };
    let [f, g] = both("like = \"linux-6\"\ncc = \"newreno\"", "tcp.like = \"ns-2\"");
    assert_eq!((f.like, f.tcp().rto.sampling, f.processing.1), (Like::Ns2, RttSampling::PerWindow, Duration::ZERO));
    assert_eq!((g.like, g.tcp().rto.sampling, g.tcp().smss), (Like::Linux6, RttSampling::PerAck, 1448));
    assert!(g.processing.1 > Duration::ZERO && !f.tcp().timestamps);
    // Keys of `[tcp]` apply to all flows.
    let [f, g] = both("like = \"linux-6\"\nrto.min = \"500 ms\"", "tcp.like = \"freebsd-14\"");
    assert_eq!([f.tcp().rto.min, g.tcp().rto.min], [Duration::from_millis(500); 2]);
    assert_eq!((f.tcp().rto.max, g.tcp().rto.max), (Duration::from_secs(64), Duration::from_secs(120)));
    let [f, g] = both("like = \"rfc\"", "tcp.like = \"linux-6\"");
    assert_eq!((f.like, g.like, g.tcp()), (Like::Linux6, Like::Rfc, &Config::default()));
}

#[test]
fn ns_2_takes_no_time_and_times_one_packet() {
    let ns2 = |more: &str| resolved(&format!("like = \"ns-2\"\n{more}")).scenario.flows[0].clone();
    let flow = ns2("");
    assert_eq!((flow.processing, flow.tcp().rto.sampling), ((Duration::ZERO, Duration::ZERO), RttSampling::PerWindow));
    assert_eq!((flow.tcp().rto.forget_after, flow.tcp().rto.reduce_again, flow.tcp().rto.backoff_max), (4, true, 512));
    assert!(flow.tcp().limited_retransmit && flow.tcp().grow_on_exit);
    let newreno =
        NewReno { exit: NewRenoExit::Ssthresh, deflate: NewRenoDeflate::Window, burst: 2, ..NewReno::default() };
    assert_eq!(flow.tcp().recovery, Recovery::NewReno(newreno));
    let sack = ns2("cc = \"sack\"").tcp().clone();
    let (on_rto, evidence) = (SackOnRto::Ignore, SackEvidence::Hole);
    let sack1 = Recovery::Sack { on_rto, evidence, counting: SackCounting::Acks, rescue: false };
    assert_eq!((sack.recovery, sack.grow_on_exit, sack.rto.duplicates), (sack1, false, RtoDuplicates::Ignore));
    let tahoe = ns2("cc = \"tahoe\"").tcp().clone();
    assert_eq!((tahoe.recovery, tahoe.rto.duplicates), (Recovery::FastRetransmit, RtoDuplicates::Continue));
    assert_eq!((flow.tcp().rto.arithmetic, flow.tcp().rto.expires_on_tick), (RtoArithmetic::Ticks, false));
}

/// These congestion controls have their own loss detection.
#[test]
fn senders_with_a_recovery_of_their_own_keep_it() {
    for cc in [CcKind::Tahoe, CcKind::TcpMin, CcKind::Scps, CcKind::Peach, CcKind::Swift, CcKind::Stp] {
        for like in Like::ALL {
            let tcp = config(&format!("like = \"{}\"\ncc = \"{}\"", like.name(), cc.name()));
            assert_eq!(tcp.recovery, cc.recovery(), "{} {}", like.name(), cc.name());
            assert_eq!((tcp.dsack, tcp.reduction), (false, Reduction::AtOnce), "{} {}", like.name(), cc.name());
        }
    }
    // RACK sets DSACK, with or without a host. Another value in the file stays.
    for (tcp, dsack) in [
        ("like = \"rfc\"\nrecovery = \"rack\"", true),
        ("like = \"rfc\"\nrecovery = \"rack\"\ndsack = false", false),
        ("like = \"rfc\"\nrecovery = \"sack\"", false),
        ("like = \"rfc\"\ncc = \"bbr3\"", true),
        ("like = \"rfc\"\ncc = \"bbr3\"\nrecovery = \"sack\"", false),
        ("like = \"windows-11\"", true),
        ("like = \"linux-6\"\ncc = \"hybla\"", true),
    ] {
        assert_eq!(config(tcp).dsack, dsack, "{tcp}");
    }
    for (tcp, learns) in [
        ("recovery = \"rack\"", true),
        ("recovery = { kind = \"rack\", tlp = false }", true),
        ("recovery = { kind = \"rack\", undo_shows_reordering = false }", false),
        ("cc = \"bbr3\"", true),
        ("like = \"rfc\"\nrecovery = \"rack\"", false),
    ] {
        let recovery = config(tcp).recovery;
        assert!(
            matches!(recovery, Recovery::Rack(rack) if rack.undo_shows_reordering == learns),
            "{tcp}: {recovery:?}"
        );
    }
    let hybla = |tcp: &str| match config(tcp).cc {
        CcConfig::Hybla(settings) => settings.needs_ssthresh,
        _ => unreachable!(),
    };
    assert_eq!(["like = \"rfc\"\ncc = \"hybla\"", "like = \"linux-6\"\ncc = \"hybla\""].map(hybla), [true, false]);
    // A file that names one has it, too.
    let tcp = config("like = \"linux-6\"\nrecovery = \"newreno\"");
    assert_eq!((tcp.recovery, tcp.dsack), (Recovery::NewReno(NewReno::default()), false));
    assert_eq!(tcp.reduction, Reduction::AtOnce);
}

#[test]
fn every_preset_fits_every_congestion_control_and_reads_back() {
    for like in Like::ALL {
        for cc in CcKind::ALL {
            let first = resolved(&format!("like = \"{}\"\ncc = \"{}\"", like.name(), cc.name()));
            let toml = first.to_toml();
            let again = from_toml(&toml, "again", &[]).unwrap_or_else(|problems| panic!("{problems}\n{toml}"));
            assert_eq!(again.scenario, first.scenario, "{} {}", like.name(), cc.name());
            assert_eq!(again.digest(), first.digest());
            let json = first.to_json().to_string();
            let again = from_json(&json, "", &[]).unwrap_or_else(|problems| panic!("{problems}\n{json}"));
            assert_eq!(again.scenario, first.scenario, "{} {}", like.name(), cc.name());
        }
        // Without one, the preset's own.
        resolved(&format!("like = \"{}\"", like.name()));
    }
}

#[test]
fn a_file_without_a_preset_has_hosts_of_today() {
    let (without, with) = (resolved(""), resolved("like = \"linux-6\""));
    assert_eq!(without.scenario, with.scenario);
    assert_eq!(without.digest(), with.digest());
    assert_eq!(without.scenario.hosts(), [("Linux 6".to_owned(), vec!["cubic"])]);
    assert!(origin(&without.to_toml(), "timestamps = true").contains("linux-6: tcp_timestamps = 1"));
    // Linux's Reno, not that of RFC 5681.
    assert_eq!(config("cc = \"reno\"").recovery, RACK);
    let both = read("", "tcp = { like = \"rfc\", cc = \"reno\" }").unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(
        both.scenario.hosts(),
        [("RFC defaults".to_owned(), vec!["reno"]), ("Linux 6".to_owned(), vec!["cubic"])]
    );
}

#[test]
fn rfc_is_the_defaults_of_the_keys() {
    assert_eq!(config("like = \"rfc\""), Config::default());
}

#[test]
fn a_name_that_is_none_is_refused_with_the_list() {
    let problems = read("like = \"linux\"", "").map(drop).unwrap_err().to_string();
    for said in ["tcp.like = \"linux\"", "freebsd-14", "linux-6", "linux-6-paced", "ns-2", "rfc", "windows-11"] {
        assert!(problems.contains(said), "{said}: {problems}");
    }
    assert!(read("", "tcp.like = \"ns2\"").map(drop).unwrap_err().to_string().contains("did you mean \"ns-2\"?"));
}

/// Each key of a preset is in the schema and has a valid value. Otherwise, it would be dropped silently or be an error
/// of the program.
#[test]
fn rows_name_keys_that_there_are() {
    for like in Like::ALL {
        for row in rows(*like).into_iter().flatten() {
            let cc = row.only.first().map_or(String::new(), |cc| format!("cc = \"{cc}\"\n"));
            let written = resolved(&format!("{cc}like = \"{}\"", like.name())).to_json();
            let place = row.key.split('.').fold(&written["tcp"], |table, key| &table[key]);
            assert!(!place.is_null(), "{}: {}", like.name(), row.key);
        }
    }
}

#[test]
fn a_scenario_without_connections_has_no_hosts() {
    let datagrams = "app = { kind = \"cbr\", rate = \"1 Mbit/s\", size = \"500 B\" }";
    let text = format!(
        "duration = \"1 s\"\n[link.up]\nfrom = \"a\"\nto = \"b\"\nrate = \"10 Mbit/s\"\ndelay = \"1 ms\"\n\
         [flow.f]\nfrom = \"a\"\nto = \"b\"\n{datagrams}\n"
    );
    let found = from_toml(&text, "", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(found.scenario.hosts().is_empty());
    let toml = found.to_toml();
    assert!(origin(&toml, "cc = ").starts_with("default, and no flow has connections"), "{toml}");
    assert!(toml.contains("like = \"rfc\""), "{toml}");
}
