//! Randomness of a scenario: kinds of keys that the seed decides.

use bentpipe_cc::CustomCc;
use bentpipe_sim::scenario::from_toml;
use bentpipe_sim::spec::Randomness;
use bentpipe_sim::spec::{ErrorModel, ErrorUnit};

fn is_random(tcp: &str, link: &str, flow: &str, more: &str) -> bool {
    let text = format!(
        "duration = '1 s'\n[tcp]\nlike = 'rfc'\n{tcp}\n[link.l]\nfrom = 'a'\nto = 'b'\nrate = '1 Mbit/s'\ndelay = '1 ms'\n{link}\n\
         [flow.f]\nfrom = 'a'\nto = 'b'\n{flow}\n{more}"
    );
    from_toml(&text, "f", &[]).unwrap_or_else(|problems| panic!("{text}\n{problems}")).scenario.is_random()
}

#[test]
fn the_timing_of_hosts_alone_is_not_random() {
    for (tcp, link, flow) in [
        ("", "", ""),
        ("cc = 'cubic'", "", "app = { kind = 'file', size = '1 MB' }"),
        ("", "error = { kind = 'packet', rate = 0 }", ""),
        ("", "outage = { spans = [['100 ms', '200 ms']] }", ""),
        ("", "queue = { kind = 'codel', limit = '20 packets' }", ""),
        ("", "", "app = { kind = 'bulk', size = '10 kB', pause = '1 s' }"),
    ] {
        assert!(!is_random(tcp, link, flow, ""), "{tcp} {link} {flow}");
    }
}

#[test]
fn errors_loads_queues_starts_senders_and_middleboxes_are() {
    for (tcp, link, flow, more) in [
        ("", "error = { kind = 'packet', rate = 1e-3 }", "", ""),
        ("", "jitter = { delay = { kind = 'exponential', mean = '1 ms' }, every = '10 ms' }", "", ""),
        ("", "queue = { kind = 'red', limit = '20 packets' }", "", ""),
        ("", "", "start = { uniform = ['0 s', '1 s'] }", ""),
        ("", "", "app = { kind = 'bulk', size = { kind = 'exponential', mean = '10 kB' }, pause = '1 s' }", ""),
        ("", "", "app = { kind = 'poisson', rate = '100 kbit/s', size = '100 B' }", ""),
        ("cc = 'bbr3'", "", "", ""),
        ("", "", "", "[node.b]\nmiddlebox = ['impair']\n"),
    ] {
        assert!(is_random(tcp, link, flow, more), "{tcp} {link} {flow} {more}");
    }
}

#[test]
fn draws_of_custom_classes_are_unknown() {
    let text = "duration = '1 s'\n[link.l]\nfrom = 'a'\nto = 'b'\nrate = '1 Mbit/s'\ndelay = '1 ms'\n[flow.f]\nfrom = 'a'\nto = 'b'\n";
    let mut scenario = (*from_toml(text, "f", &[]).unwrap().scenario).clone();
    assert_eq!(scenario.randomness(), Randomness::Timing);
    let tcp = scenario.flows[0].transport.tcp_mut().unwrap();
    tcp.own_cc = Some(CustomCc::new(|_| unreachable!("no connection")));
    assert_eq!(scenario.randomness(), Randomness::Custom);
    scenario.links[0].error = ErrorModel::Independent { unit: ErrorUnit::Packet, rate: 0.1 };
    assert_eq!(scenario.randomness(), Randomness::Drawn);
}

#[test]
fn media_with_draws_are() {
    let is = |medium: &str, access: &str| {
        let text = format!(
            "duration = '1 s'\n[tcp]\nlike = 'rfc'\n[medium.m]\ncontroller = 'b'\n{medium}\n\
             [link.l]\nfrom = 'a'\nto = 'b'\ndelay = '1 ms'\nreverse.rate = '1 Mbit/s'\nforward.medium = 'm'\n{access}\n\
             [flow.f]\nfrom = 'a'\nto = 'b'\n"
        );
        from_toml(&text, "f", &[]).unwrap_or_else(|problems| panic!("{text}\n{problems}")).scenario.is_random()
    };
    let cell = "kind = 'leo-cell'\nrate = '30 Mbit/s'\nothers =";
    assert!(is(&format!("{cell} {{ active = 4, holding = '2 s' }}"), ""));
    assert!(!is(&format!("{cell} {{ points = [['0 s', 4]] }}"), ""));
    let slots = "kind = 'mf-tdma'\nsymbol_rate = '1 Mbaud'\ncarriers = 2";
    let terminal = "forward.es_n0 = '9 dB'\nforward.access = { volume_based = true }";
    assert!(is(&format!("{slots}\nrandom = {{ carriers = 1 }}"), terminal));
    assert!(is(&format!("{slots}\nlosses = 'waterfall'"), terminal));
    assert!(!is(slots, terminal));
}

#[test]
fn transports_of_proxies_are() {
    let is = |gateway: &str, cc: &str| {
        let gateway = gateway.replace("CC", cc);
        let more = format!(
            "[link.m]\nfrom = 'b'\nto = 'c'\nrate = '1 Mbit/s'\ndelay = '1 ms'\n\
             [flow.g]\nfrom = 'a'\nto = 'c'\n[node]\na.middlebox = [{gateway}]\nb.middlebox = [{gateway}]\n"
        );
        is_random("", "", "", &more)
    };
    for gateway in [
        "{ kind = 'split', opener = { cc = 'CC' } }",
        "{ kind = 'split', listener = { cc = 'CC' } }",
        "{ kind = 'satpep', rate = '1 Mbit/s', terrestrial = { cc = 'CC' } }",
    ] {
        assert!(is(gateway, "bbr3") && !is(gateway, "cubic"), "{gateway}");
    }
}
