//! Flows over several paths: checks of their keys, and conversion to their paths.

use super::{product, Flow, TransportKeys};
use crate::report::{below, path, Report};
use bentpipe_model::spec::App;
use bentpipe_tcp::multi::{Coupling, MultiConfig, ReinjectOn, Uncoupled};
use bentpipe_tcp::{AutoBuffer, Config, ReceiveBuffer};
use bentpipe_units::settings::Typed;
use bentpipe_units::{Duration, Rate};

/// Least and greatest number of subflows.
const SUBFLOWS: [usize; 2] = [2, 16];

/// Values of a flow over several paths. A buffer in bdp stays open until the routes are known.
#[derive(Clone)]
pub(crate) struct MultipathKeys {
    config: MultiConfig,
    /// Receive buffer in millionths of a bandwidth-delay product.
    receive_buffer_bdp: Option<u64>,
}

impl MultipathKeys {
    /// Returns the configuration over paths with these rates and round-trip times. A bdp is the sum of the rates times the
    /// longest round trip (RFC 6182 §5.3).
    pub(crate) fn over(&self, name: &str, paths: &[(Rate, Duration)], report: &mut Report<'_>) -> MultiConfig {
        let mut config = self.config.clone();
        if let Some(bdp) = self.receive_buffer_bdp {
            let rate = paths.iter().fold(0_u64, |sum, (rate, _)| sum.saturating_add(rate.as_bps()));
            let longest = paths.iter().map(|(_, rtt)| *rtt).max().unwrap_or(Duration::ZERO);
            let least = 2 * u64::from(Config::SMSS_MAX);
            let bytes = product(Rate::from_bps(rate), longest, bdp);
            config.receive_buffer = bytes.clamp(least, Config::RECEIVE_BUFFER_MAX);
            if bytes < least {
                let raised = format!("flow \"{name}\": its receive_buffer would be {bytes} B, and is {least} B, the least over several paths");
                note(raised, report);
            }
        }
        config
    }
}

/// Checks the tables of subflows, and that they fit the other keys of the flow.
pub(crate) fn check_subflows(name: &str, flow: &Flow, report: &mut Report<'_>) {
    let key = |key: &str| path(["flow", name, key]);
    let count = flow.subflow.len();
    match (&flow.multipath, count) {
        (None, 0) => return,
        (None, _) => {
            let expected = "expected multipath = {} beside it, or one path in route";
            return report.key(&key("subflow"), "has no effect without multipath", expected);
        }
        (Some(_), 0) => {
            let expected = "expected 2 to 16 subflows, like [flow.NAME.subflow.geo] and [flow.NAME.subflow.leo], each with its route";
            return report.key(&key("multipath"), "has no subflows", expected);
        }
        (Some(_), _) if !(SUBFLOWS[0]..=SUBFLOWS[1]).contains(&count) => {
            let message = format!("has {count} subflow{}", if count == 1 { "" } else { "s" });
            report.key(&key("subflow"), &message, "expected 2 to 16; a flow over one path has no multipath");
        }
        _ => {}
    }
    for (at, is_there) in [("route", flow.route.is_some()), ("reverse_route", flow.reverse_route.is_some())] {
        if is_there {
            let expected = format!("expected {at} in each subflow instead");
            report.key(&key(at), "contradicts subflow: each subflow has its own route", &expected);
        }
    }
    if flow.quic.is_some() {
        report.key(&key("multipath"), "contradicts quic: a flow has one transport", "expected one of the two");
    }
    if flow.reader.is_some() {
        let expected = "expected no reader: a flow over several paths reads data when it arrives in order";
        report.key(&key("reader"), "has no effect with multipath", expected);
    }
    for (subflow, own) in &flow.subflow {
        let key = path(["flow", name, "subflow", subflow]);
        if ["forward", "reverse"].contains(&subflow.as_str()) || subflow.contains('.') {
            let message = "could be mistaken for a direction of the flow, or for another name";
            report.key(&key, message, "expected another name, without a dot");
        }
        if own.tcp.is_some() && is_written(&path(["flow", name, "subflow", subflow, "tcp", "receive_buffer"]), report) {
            let expected = format!("expected flow.{name}.multipath.receive_buffer");
            let message = "has no effect: the subflows share one receive buffer";
            report.value(&path(["flow", name, "subflow", subflow, "tcp", "receive_buffer"]), message, &expected);
        }
    }
    if flow.subflow.values().all(|subflow| subflow.backup) {
        report.key(&key("subflow"), "has only backups", "expected at least one subflow with backup = false");
    }
    if flow.subflow.values().all(|subflow| subflow.start > Duration::ZERO) {
        let expected = "expected start = \"0 s\" of one subflow; start of the flow delays all";
        report.key(&key("subflow"), "has no subflow that opens the connection", expected);
    }
    let both = [&["tcp", "receive_buffer"][..], &["multipath", "receive_buffer"]];
    let both = both.map(|keys| keys.iter().fold(path(["flow", name]), |path, key| below(&path, key)));
    if flow.tcp.is_some() && both.iter().all(|path| is_written(path, report)) {
        let expected = "expected one of the two: the subflows share one receive buffer";
        report.value(&both[0], "contradicts multipath.receive_buffer", expected);
    }
}

/// Whether the file has this key at this place.
fn is_written(path: &[String], report: &Report<'_>) -> bool {
    let found = path.iter().try_fold(report.tree, |tree, key| tree.get(key));
    found.is_some_and(|tree| !tree.inherited) && !report.is_default(path)
}

/// Checks the transport of a subflow, whose keys are at `key`.
pub(crate) fn check_subflow_tcp(config: &Config, key: &[String], report: &mut Report<'_>) {
    for (at, is_set, why) in [
        ("handshake", !config.handshake, "the handshake carries the keys of the connection (RFC 8684 §3.1)"),
        ("fast_open", config.fast_open.is_some(), "data of the connection needs its mapping (RFC 8684 §3.3)"),
        ("transactions", config.transactions.is_some(), "data of the connection needs its mapping (RFC 8684 §3.3)"),
        ("best_effort", config.best_effort.is_some(), "no byte of the connection may be skipped"),
        ("sharing", config.sharing.is_some(), "paths of one connection are not the same path"),
        ("careful_resume", config.careful_resume.is_some(), "paths of one connection are not the same path"),
    ] {
        if is_set {
            report.value(
                &below(key, at),
                &format!("contradicts multipath: {why}"),
                "expected another value, or one path",
            );
        }
    }
}

/// Returns the values of a flow over several paths with this TCP.
pub(crate) fn settle_multipath(
    name: &str,
    config: &MultiConfig,
    tcp: &TransportKeys,
    report: &mut Report<'_>,
) -> MultipathKeys {
    if config.rejoin.withdraw && config.reinject.on != ReinjectOn::Told {
        let key = path(["flow", name, "multipath", "rejoin", "withdraw"]);
        let message = "has no effect: the end does not hear that a route is interrupted";
        report.value(&key, message, "expected multipath.reinject.on = \"told\" beside it");
    }
    let key = path(["flow", name, "multipath", "receive_buffer"]);
    let mut config = config.clone();
    config.own_scheduler = report.tree.at(["flow", name, "multipath", "scheduler"]).own_scheduler().cloned();
    if !is_written(&key, report) {
        config.receive_buffer = tcp.config.receive_buffer;
        (config.auto_buffer, config.buffer_growth) = (tcp.config.auto_buffer, tcp.config.buffer_growth);
        return MultipathKeys { config, receive_buffer_bdp: tcp.receive_buffer_bdp() };
    }
    let raw = report.tree.at(key.iter().map(String::as_str)).to_value();
    let mut receive_buffer_bdp = None;
    config.receive_buffer = match ReceiveBuffer::read(&raw).unwrap_or(ReceiveBuffer::Unlimited) {
        ReceiveBuffer::Auto => {
            let AutoBuffer { start, limit, growth } = AutoBuffer::default();
            (config.auto_buffer, config.buffer_growth) = (Some(start), growth);
            limit
        }
        ReceiveBuffer::Unlimited => Config::RECEIVE_BUFFER_MAX,
        ReceiveBuffer::Bytes(bytes) => bytes,
        ReceiveBuffer::Segments(count) => count.saturating_mul(tcp.config.smss.into()),
        ReceiveBuffer::Bdp(bdp) => {
            receive_buffer_bdp = Some(bdp);
            Config::RECEIVE_BUFFER_MAX
        }
    };
    if !(u64::from(tcp.config.smss)..=Config::RECEIVE_BUFFER_MAX).contains(&config.receive_buffer) {
        let expected = format!("expected at least one segment, at most {} B", Config::RECEIVE_BUFFER_MAX);
        report.value(&key, "is out of range", &expected);
    }
    MultipathKeys { config, receive_buffer_bdp }
}

/// Checks the coupling of the congestion controls of the subflows, and notes that they are not coupled unless the file asks for that.
pub(crate) fn check_coupling(name: &str, config: &MultiConfig, subflows: &[(&str, &Config)], report: &mut Report<'_>) {
    let tcp: Vec<&Config> = subflows.iter().map(|(_, config)| *config).collect();
    match config.coupling.settle(&tcp) {
        Err(Uncoupled { subflow, cc, .. }) => {
            let message = format!("couples windows of Reno, and subflow \"{}\" has cc \"{cc}\"", subflows[subflow].0);
            let expected = "expected \"auto\" or \"none\", or cc = \"sack\", \"newreno\" or \"reno\" of each subflow";
            report.value(&path(["flow", name, "multipath", "coupling"]), &message, expected);
        }
        Ok(Coupling::None) if config.coupling == Coupling::Auto => note(
            format!(
                "flow \"{name}\": its subflows are not coupled, so where they share a bottleneck they take more than one \
                 connection does (RFC 6356 §1). cc = \"sack\" with multipath.coupling = \"lia\" takes as much"
            ),
            report,
        ),
        Ok(_) => {}
    }
}

/// Adds a note about an entry, once for all its flows.
fn note(note: String, report: &mut Report<'_>) {
    if !report.findings.notes.contains(&note) {
        report.findings.notes.push(note);
    }
}

/// Returns the reason why an application cannot use several paths; `None`: it can.
pub(crate) fn refuses_multipath(app: &App) -> Option<&'static str> {
    match app {
        App::Records(_) => Some("records may be skipped, and no byte of the connection may"),
        app if !app.has_transport() => Some("it has no transport"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::{from_json, from_toml, Resolved};
    use bentpipe_model::spec::Transport;
    use bentpipe_tcp::multi::Coupling;

    const LINKS: &str = "duration = \"10 s\"
[link.leo]
from = \"server\"
to = \"ship\"
rate = \"100 Mbit/s\"
delay = \"20 ms\"
[link.up]
from = \"server\"
to = \"hub\"
rate = \"1 Gbit/s\"
delay = \"10 ms\"
[link.geo]
from = \"hub\"
to = \"ship\"
rate = \"20 Mbit/s\"
delay = \"290 ms\"
";
    const FLOW: &str = "[flow.f]\nfrom = \"server\"\nto = \"ship\"\n";
    const MULTI: &str = "multipath = {}\n";
    const LEO: &str = "[flow.f.subflow.leo]\nroute = [\"server\", \"ship\"]\nreverse_route = [\"ship\", \"server\"]\n";
    const GEO: &str =
        "[flow.f.subflow.geo]\nroute = [\"server\", \"hub\", \"ship\"]\nreverse_route = [\"ship\", \"hub\", \"server\"]\n";

    fn read(parts: &[&str]) -> Result<Resolved, String> {
        from_toml(&format!("{LINKS}{}", parts.concat()), "paths", &[]).map_err(|problems| problems.to_string())
    }

    #[test]
    fn contradictions_are_refused_with_their_reason() {
        let same = "[flow.f.subflow.twin]\nroute = [\"server\", \"ship\"]\n";
        let start = |geo: &str| format!("{GEO}{geo}");
        for (parts, reason) in [
            (vec![FLOW, MULTI], "flow.f.multipath has no subflows; expected 2 to 16 subflows"),
            (vec![FLOW, LEO, GEO], "flow.f.subflow has no effect without multipath; expected multipath = {} beside it"),
            (vec![FLOW, MULTI, LEO], "flow.f.subflow has 1 subflow; expected 2 to 16"),
            (vec![FLOW, MULTI, "route = [\"server\", \"ship\"]\n", LEO, GEO], "flow.f.route contradicts subflow"),
            (vec![FLOW, MULTI, "quic = {}\n", LEO, GEO], "flow.f.multipath contradicts quic"),
            (vec![FLOW, MULTI, LEO, same], "has the addresses of subflow \"leo\": the routes of both begin with"),
            (
                vec![FLOW, "multipath = { coupling = \"lia\" }\n", LEO, GEO],
                "flow.f.multipath.coupling = \"lia\" couples windows of Reno, and subflow \"geo\" has cc \"cubic\"",
            ),
            (
                vec![FLOW, "multipath = { rejoin = { withdraw = true } }\n", LEO, GEO],
                "flow.f.multipath.rejoin.withdraw = true has no effect: the end does not hear that a route is interrupted; expected multipath.reinject.on",
            ),
            (
                vec![FLOW, MULTI, "app = { kind = \"cbr\", rate = \"1 Mbit/s\", size = \"100 B\" }\n", LEO, GEO],
                "cannot carry this application: it has no transport",
            ),
            (
                vec![FLOW, MULTI, "reader = { rate = \"1 Mbit/s\", every = \"1 s\" }\n", LEO, GEO],
                "flow.f.reader has no effect with multipath",
            ),
            (vec![FLOW, MULTI, "tcp = { handshake = false }\n", LEO, GEO], "contradicts multipath: the handshake"),
            (
                vec![FLOW, MULTI, LEO, "tcp = { receive_buffer = \"1 MB\" }\n", GEO],
                "flow.f.subflow.leo.tcp.receive_buffer = \"1 MB\" has no effect: the subflows share",
            ),
            (
                vec![
                    FLOW,
                    "multipath = { receive_buffer = \"1 MB\" }\ntcp = { receive_buffer = \"2 MB\" }\n",
                    LEO,
                    GEO,
                ],
                "flow.f.tcp.receive_buffer = \"2 MB\" contradicts multipath.receive_buffer",
            ),
            (vec![FLOW, MULTI, LEO, "backup = true\n", GEO, "backup = true\n"], "flow.f.subflow has only backups"),
            (
                vec![FLOW, MULTI, LEO, "start = \"1 s\"\n", &start("start = \"2 s\"\n")],
                "flow.f.subflow has no subflow that opens the connection",
            ),
            (
                vec![FLOW, MULTI, LEO, GEO, "[flow.\"f.leo\"]\nfrom = \"server\"\nto = \"ship\"\n"],
                "flow.f.subflow.leo is called \"f.leo\", as a flow; expected another name",
            ),
            (vec![FLOW, MULTI, &LEO.replace("leo]", "reverse]"), GEO], "could be mistaken for a direction of the flow"),
            (
                vec![FLOW, MULTI, LEO, GEO, "[node.hub]\nmiddlebox = [\"split\"]\n"],
                "passes \"split\" at \"hub\", which knows one path only",
            ),
            (
                vec![
                    FLOW,
                    MULTI,
                    LEO,
                    GEO,
                    "[[at]]\ntime = \"1 s\"\ninstall = [{ flow = \"f\", route = [\"server\", \"ship\"] }]\n",
                ],
                "has subflows, each with its own route; expected one of them, such as \"f.",
            ),
            (
                vec![FLOW, MULTI, LEO, GEO, "[[at]]\ntime = \"1 s\"\nwithdraw = [\"f.lio\"]\n"],
                "is not a flow; expected the name of a flow, of an entry, or of a subflow as FLOW.SUBFLOW",
            ),
        ] {
            let problems = read(&parts).map(|_| ()).unwrap_err();
            // The place is between the message and what was expected.
            assert!(reason.split("; ").all(|part| problems.contains(part)), "{parts:?}: {problems}");
        }
    }

    #[test]
    fn subflows_have_their_own_lanes_and_transports() {
        let own = "tcp = { cc = \"hybla\" }\nstart = \"2 s\"\nclass = 3\n";
        let read = read(&[FLOW, MULTI, "tcp = { cc = \"sack\", receive_buffer = \"3 MB\" }\n", LEO, GEO, own]).unwrap();
        let scenario = &read.scenario;
        let names: Vec<&str> = scenario.lanes.iter().map(|lane| lane.name.as_str()).collect();
        // The one that starts first opens the connection.
        assert_eq!((names, scenario.lanes[1].class), (vec!["f.leo", "f.geo"], 3));
        let Transport::Multi(multi) = &scenario.flows[0].transport else { panic!("a flow over several paths") };
        let kinds: Vec<_> = multi.subflows.iter().map(|subflow| subflow.tcp.cc.kind().name()).collect();
        assert_eq!((kinds, multi.config.receive_buffer), (vec!["sack", "hybla"], 3_000_000));
        assert_eq!(multi.config.coupling, Coupling::Auto);
        // 1460 B less timestamps of 12 B and the option of 20 B.
        assert_eq!(scenario.flows[0].transport.payload(), 1428);
    }

    #[test]
    fn subflows_that_are_not_coupled_are_noted_unless_that_was_asked_for() {
        let notes = |multipath: &str| {
            let read = read(&[FLOW, multipath, LEO, GEO]).unwrap();
            read.scenario.notes.iter().filter(|note| note.contains("not coupled")).count()
        };
        let many = "count = 3\nmultipath = {}\n";
        assert_eq!([MULTI, "multipath = { coupling = \"none\" }\n", many].map(notes), [1, 0, 1]);
    }

    /// A bdp is the sum of the rates times the longest round trip: 120 Mbit/s for 600 ms.
    #[test]
    fn a_buffer_in_bdp_is_that_of_all_paths() {
        let read = read(&[FLOW, "multipath = { receive_buffer = \"1 bdp\" }\n", LEO, GEO]).unwrap();
        let multi = read.scenario.flows[0].transport.multi().unwrap().clone();
        assert_eq!(multi.config.receive_buffer, 9_000_000);
        let said = |read: &Resolved| read.scenario.notes.iter().filter(|note| note.contains("receive_buffer")).count();
        assert_eq!(said(&read), 0);
        // 9 kB are less than two of the largest segments.
        let small = self::read(&[FLOW, "multipath = { receive_buffer = \"0.001 bdp\" }\n", LEO, GEO]).unwrap();
        assert_eq!(said(&small), 1, "{:?}", small.scenario.notes);
    }

    #[test]
    fn a_resolved_scenario_reads_back() {
        let at = "[[at]]\ntime = \"3 s\"\nwithdraw = [\"f.leo\"]\ndown = [\"leo\"]\n[[at]]\ntime = \"5 s\"\nup = [\"leo\"]\n\
                  install = [{ flow = \"f.leo\", route = [\"server\", \"ship\"], reverse_route = [\"ship\", \"server\"] }]\n";
        let own = "tcp = { cc = \"hybla\", rto = { min = \"300 ms\" } }\nstart = \"2 s\"\nbackup = true\n";
        let read = read(&[FLOW, "multipath = { receive_buffer = \"2 bdp\" }\n", LEO, GEO, own, at]).unwrap();
        let again =
            from_json(&read.to_json().to_string(), "again", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!((again.to_json(), again.digest()), (read.to_json(), read.digest()));
        assert_eq!(again.scenario, read.scenario);
        let written = from_toml(&read.to_toml(), "again", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(written.scenario, read.scenario);
    }
}
