//! Whether another seed gives another run, or the same run with other timing of hosts.

use super::{Downtimes, Flow, Link, Losses, MediumKind, Others, Queue, Scenario, Start};
use crate::middlebox::MiddleboxConfig;

/// Reach of the seed in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Randomness {
    /// Only the timing of hosts: processing times and the phases of clocks.
    Timing,
    /// The timing of hosts, and draws that custom classes may make.
    Custom,
    /// Errors, delays, queues, loads, starts, or a congestion control. Packets from outside may be random, too.
    Drawn,
}

impl Randomness {
    /// Name in Python.
    pub fn name(self) -> &'static str {
        match self {
            Self::Timing => "timing",
            Self::Custom => "custom",
            Self::Drawn => "drawn",
        }
    }
}

impl Scenario {
    /// Returns what the seed decides in a run of this scenario.
    pub fn randomness(&self) -> Randomness {
        if self.is_random() {
            return Randomness::Drawn;
        }
        let is_own = |middlebox: &MiddleboxConfig| matches!(middlebox, MiddleboxConfig::Own(_));
        let has_custom = self.flows.iter().any(|flow| flow.transport.is_own())
            || self.nodes.iter().flat_map(|node| &node.middleboxes).any(is_own);
        if has_custom {
            Randomness::Custom
        } else {
            Randomness::Timing
        }
    }

    fn is_random(&self) -> bool {
        let has_connections = |flow: &&Flow| flow.has_connections();
        let mut transports: Vec<_> = self.flows.iter().filter(has_connections).map(|flow| &flow.transport).collect();
        transports.dedup_by(|a, b| a.is_shared(b));
        self.links.iter().any(is_random_link)
            || self.media.iter().any(|medium| is_random_medium(&medium.kind))
            || self.flows.iter().any(|flow| matches!(flow.start, Start::Uniform { .. }) || flow.app.is_random())
            || self.nodes.iter().flat_map(|node| &node.middleboxes).any(is_random_middlebox)
            || transports.iter().any(|transport| transport.is_random())
    }
}

fn is_random_link(link: &Link) -> bool {
    let is_down = link.outage.as_ref().is_some_and(|outage| matches!(outage.when, Downtimes::Random { .. }));
    let draws = matches!(link.queue, Queue::Red(_) | Queue::FqCodel(_) | Queue::Pie(_) | Queue::DualPi2(_));
    link.jitter.is_some() || link.slots.is_some() || is_down || draws || link.error.is_random()
}

fn is_random_medium(kind: &MediumKind) -> bool {
    match kind {
        MediumKind::MfTdma(keys) => keys.random.is_some() || keys.losses != Losses::Step,
        MediumKind::Tdm(keys) => keys.losses != Losses::Step,
        MediumKind::LeoCell(keys) => matches!(keys.others, Some(Others::Coming(_))),
    }
}

fn is_random_middlebox(middlebox: &MiddleboxConfig) -> bool {
    match middlebox {
        MiddleboxConfig::Impair(_) | MiddleboxConfig::Erasure(_) => true,
        MiddleboxConfig::Split(split) => split.opener.is_random() || split.listener.is_random(),
        MiddleboxConfig::SatPep(pep) => pep.terrestrial.is_random(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::Randomness;
    use crate::scenario::from_toml;
    use crate::spec::{ErrorModel, ErrorUnit};
    use bentpipe_cc::CustomCc;

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
}
