//! Hints on a scenario: settings without effect, and settings that decide a result without being meant to. One line each.
//!
//! Hints that need results of runs are in the face, in `experiment/hints.py`.

use super::{App, Change, DualPi2, Flow, Lane, Queue, QueueLimit, Quic, Scenario};
use crate::ids::{FlowId, LinkId, PathId};
use crate::middlebox::MiddleboxConfig;
use bentpipe_tcp::{Config, EcnFeedback, Recovery, SavedWindow, SlowStart};
use bentpipe_units::Duration;

/// Names that a hint gives before it counts.
const NAMED: usize = 3;
/// Headers of a segment, bytes.
const HEADERS: u64 = 40;
/// Largest usual queue, in bdp. Below its inverse a queue is small; n flows together need a queue smaller by the square root of n.
const FAR: f64 = 4.0;
/// Least window of QUIC's flow control, in bdp.
const WINDOW: f64 = 2.0;
/// Packets below which a bdp does not decide the size of a queue.
const FEW_PACKETS: u64 = 20;

impl Scenario {
    /// The hints, in the order: marks, small queues, large queues, small probed windows, controllers of queues, pages
    /// without TLS, windows of QUIC, timers of QUIC, starts.
    pub fn hints(&self) -> Vec<String> {
        self.hints_at_keys().map(|(_, hint)| hint).collect()
    }

    /// The hints with the keys that they are about.
    pub(super) fn hints_at_keys(&self) -> impl Iterator<Item = (String, String)> {
        let [small, large] = self.queues_far_from_bdp();
        let others = [
            self.probes_below_bdp(),
            self.controllers_of_shorter_paths(),
            self.pages_without_tls(),
            self.windows_below_two_bdp(),
            self.timers_below_the_round_trip(),
            self.starts_of_models(),
            self.jumps_that_nobody_saved(),
            self.retreats_with_slow_repairs(),
        ];
        [self.marks_that_no_queue_makes(), small, large].into_iter().chain(others).flatten()
    }

    /// Flows whose congestion control probes, at the start, for a window that is far smaller than the bandwidth-delay
    /// product of their path, because the receiver's first window is. Their window then grows slowly.
    fn probes_below_bdp(&self) -> Option<(String, String)> {
        let mut found = self.flows.iter().filter(|flow| flow.app.has_transport()).filter_map(|flow| {
            let tcp = flow.transport.tcp()?;
            let probed = tcp.probed_window()?;
            let lane = &self.lanes[flow.lane];
            let links = || lane.route.iter().chain(&lane.reverse_route).map(|&link| &self.links[link]);
            let rtt = links().fold(Duration::ZERO, |sum, link| sum + link.delay.largest());
            let slowest = lane.route.iter().map(|&link| self.links[link].rate.largest_over(rtt)).min()?;
            let packet = u64::from(tcp.smss) + HEADERS;
            let held = (slowest.as_bps() as f64 / 8.0 * rtt.as_secs_f64() / packet as f64) as u64;
            (held as f64 > FAR * probed as f64).then_some((flow, tcp, probed, held))
        });
        let (flow, tcp, probed, held) = found.next()?;
        let (name, cc) = (&flow.name, tcp.cc.kind().name());
        let more = match found.count() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let hint = format!(
            "{cc} starts with a window of {probed} segments, the first window of the receiver, and the path holds {held} \
             (flow \"{name}\"{more}); a window for it: tcp.receive_buffer = \"2 bdp\""
        );
        Some(("tcp.receive_buffer".to_owned(), hint))
    }

    /// DualPI2 queues whose controller is not stable for the round trip of a flow.
    fn controllers_of_shorter_paths(&self) -> Option<(String, String)> {
        let mut rtts = vec![Duration::ZERO; self.links.len()];
        for flow in self.flows.iter().filter(|flow| flow.app.has_transport()) {
            let lane = &self.lanes[flow.lane];
            let links = || lane.route.iter().chain(&lane.reverse_route).copied();
            let rtt = links().fold(Duration::ZERO, |sum, link| sum + self.links[link].delay.largest());
            links().for_each(|link| rtts[link.index()] = rtts[link.index()].max(rtt));
        }
        let mut queues = self.links.iter().zip(rtts).filter_map(|(link, rtt)| match &link.queue {
            Queue::DualPi2(dual) => Some((link, rtt, dual.max_rtt().unwrap_or(DualPi2::MAX_RTT))),
            _ => None,
        });
        let (link, rtt, most) = queues.find(|(_, rtt, most)| rtt > most)?;
        let key = queue_key(&link.name);
        let hint = format!(
            "the queue of \"{}\" is stable up to a round trip of {most}, and that of its flows is {rtt}; a queue for it: \
             {key}.max_rtt = \"{rtt}\"",
            link.name
        );
        Some((key, hint))
    }

    /// The flows over TCP.
    fn over_tcp(&self) -> impl Iterator<Item = (&Flow, &Config)> {
        let flows = self.flows.iter().filter(|flow| flow.app.has_transport());
        flows.filter_map(|flow| Some((flow, &**flow.transport.tcp()?)))
    }

    /// A slow start beside a congestion control that has its own start.
    fn starts_of_models(&self) -> Option<(String, String)> {
        let (flow, tcp) = self.over_tcp().find(|(_, tcp)| {
            let is_own = tcp.own_cc.is_some() || tcp.cc.kind().takes().slow_start;
            tcp.growth.slow_start != SlowStart::Standard && !is_own
        })?;
        let (slow_start, cc) = (tcp.growth.slow_start.name(), tcp.cc.kind().name());
        let hint = format!(
            "tcp.slow_start = \"{slow_start}\" has no effect (flow \"{}\"): {cc} has its own start; a congestion control with it: \
             cubic",
            flow.name
        );
        Some(("tcp.slow_start".to_owned(), hint))
    }

    /// The only connection that would resume: none has ended before.
    fn jumps_that_nobody_saved(&self) -> Option<(String, String)> {
        let mut resuming = self.over_tcp().filter_map(|(flow, tcp)| Some((flow, tcp.careful_resume?)));
        let (Some((flow, resume)), None) = (resuming.next(), resuming.next()) else { return None };
        let is_alone = matches!(*flow.app, App::Greedy | App::File { .. });
        (is_alone && resume.saved == SavedWindow::Cache).then(|| {
            let hint = format!(
                "tcp.careful_resume has no effect (flow \"{}\"): no earlier connection saves a window; one for the first: \
                 careful_resume = {{ kind = \"on\", saved = \"1 bdp\" }}",
                flow.name
            );
            ("tcp.careful_resume".to_owned(), hint)
        })
    }

    /// Careful resume beside a recovery that repairs one segment per round trip. A jump that is too far loses many.
    fn retreats_with_slow_repairs(&self) -> Option<(String, String)> {
        let is_slow =
            |recovery: &Recovery| !matches!(recovery, Recovery::Sack { .. } | Recovery::Rack(_) | Recovery::Snack(_));
        let (flow, tcp) = self.over_tcp().find(|(_, tcp)| tcp.careful_resume.is_some() && is_slow(&tcp.recovery))?;
        let hint = format!(
            "recovery \"{}\" repairs at most one segment per round trip, and a jump that is too far loses many (flow \"{}\"); \
             a recovery for careful resume: tcp.recovery = \"rack\"",
            tcp.recovery.name(),
            flow.name
        );
        Some(("tcp.recovery".to_owned(), hint))
    }

    /// Pages over TCP without round trips for TLS beside flows over QUIC, whose handshake has them.
    fn pages_without_tls(&self) -> Option<(String, String)> {
        let has_quic = self.flows.iter().any(|flow| flow.transport.quic().is_some());
        let is_open = |flow: &&Flow| matches!(&*flow.app, App::Page(page) if flow.transport.tcp().is_some() && page.secured_after() == 0);
        let flow = self.flows.iter().find(is_open).filter(|_| has_quic)?;
        let key = format!("flow.{}.app.tls_rtts", flow.name);
        let hint = format!(
            "pages of flow \"{}\" over TCP have no round trip for TLS, and the handshake of QUIC has it; an equal \
             comparison: app.tls_rtts = 1",
            flow.name
        );
        Some((key, hint))
    }

    /// The flows over QUIC, with the propagation round trip of their path.
    fn over_quic(&self) -> impl Iterator<Item = (&Flow, &Quic, Duration)> {
        self.flows.iter().filter(|flow| flow.app.has_transport()).filter_map(|flow| {
            let lane = &self.lanes[flow.lane];
            let links = lane.route.iter().chain(&lane.reverse_route);
            let rtt = links.fold(Duration::ZERO, |sum, &link| sum + self.links[link].delay.largest());
            flow.transport.quic().map(|quic| (flow, &**quic, rtt))
        })
    }

    /// Flow control of QUIC below two bandwidth-delay products of its path. One is in flight, and another waits behind a loss.
    fn windows_below_two_bdp(&self) -> Option<(String, String)> {
        let mut found = self.over_quic().filter_map(|(flow, quic, rtt)| {
            let lane = &self.lanes[flow.lane];
            let route = if flow.app.is_two_way() { &lane.reverse_route } else { &lane.route };
            let packet = u64::from(quic.mtu + u32::from(Quic::HEADERS));
            let slowest = route.iter().map(|&link| self.links[link].largest_over(rtt, packet)).min()?;
            let bdp = slowest.as_bps() as f64 / 8.0 * rtt.as_secs_f64();
            let names = ["stream_window", "connection_window", "send_window"];
            let mut windows = names.into_iter().zip(quic.windows());
            let (key, window) = windows.find(|(_, window)| (*window as f64) < WINDOW * bdp)?;
            let is_used = !matches!(*flow.app, App::File { size } if size <= window);
            is_used.then_some((flow, key, window as f64 / bdp, WINDOW * bdp))
        });
        let (Flow { name, .. }, key, held, enough) = found.next()?;
        let more = match found.count() {
            0 => String::new(),
            more => format!(" (and of {more} more)"),
        };
        let hint = format!(
            "{key} of flow \"{name}\"{more} holds {} bdp of its path, and sending on during a repair takes {WINDOW}; \
             {key} = \"{WINDOW} bdp\", {} MB",
            short(held),
            short(enough / 1e6)
        );
        Some((format!("flow.{name}.quic.{key}"), hint))
    }

    /// Timers of QUIC that expire before the first answer can come, as in deep space. The first probe timeout is three times
    /// the initial round trip (RFC 9002 §6.2.2), and an idle timeout is at least three probe timeouts (RFC 9000 §10.1).
    fn timers_below_the_round_trip(&self) -> Option<(String, String)> {
        let (Flow { name, .. }, quic, rtt) =
            self.over_quic().find(|(_, quic, rtt)| quic.initial_rtt.saturating_mul(3) < *rtt)?;
        let idle = quic.idle_timeout.max(quic.initial_rtt.saturating_mul(9));
        let (key, effect) = match idle < rtt {
            true => ("idle_timeout", format!("ends after {idle}, and never opens")),
            false => ("initial_rtt", format!("repeats its first packet after {}", quic.initial_rtt.saturating_mul(3))),
        };
        let hint = format!(
            "the connection of flow \"{name}\" {effect}: the first answer takes {rtt}; timers for it: initial_rtt = \"{rtt}\", \
             and idle_timeout above {rtt} and the longest outage"
        );
        Some((format!("flow.{name}.quic.{key}"), hint))
    }

    /// Flows that ask for congestion marks where no queue on their paths marks. Custom middleboxes may mark.
    fn marks_that_no_queue_makes(&self) -> Option<(String, String)> {
        let asks = |flow: &Flow| {
            let tcp = flow.transport.tcp().filter(|_| flow.app.has_transport());
            tcp.is_some_and(|tcp| tcp.ecn.feedback != EcnFeedback::Off)
        };
        let is_own = |middlebox: &MiddleboxConfig| matches!(middlebox, MiddleboxConfig::Own(_));
        if !self.flows.iter().any(asks) || self.nodes.iter().flat_map(|node| &node.middleboxes).any(is_own) {
            return None;
        }
        let marks = |route: &[LinkId]| route.iter().any(|&link| self.links[link].queue.marks());
        let mut are_marked: Vec<bool> = FlowId::all(self.flows.len())
            .map(|flow| self.lanes_of(flow).flat_map(PathId::both).any(|path| marks(self.first_route(path))))
            .collect();
        for (_, change) in &self.timeline.changes {
            if let Change::Install { path, route } = change {
                are_marked[self.lanes[path.lane()].flow] |= marks(route);
            }
        }
        let flows = self.flows.iter().zip(are_marked).filter(|(flow, is_marked)| asks(flow) && !is_marked);
        let flows: Vec<&str> = flows.map(|(flow, _)| flow.name.as_str()).collect();
        let plural = if flows.len() > 1 { "s" } else { "" };
        (!flows.is_empty()).then(|| {
            let hint = format!(
                "tcp.ecn has no effect (flow{plural} {}): no queue on the path marks packets; a queue that does: \
                 queue = {{ kind = \"codel\", ecn = true }}",
                listed(&flows)
            );
            ("tcp.ecn".to_owned(), hint)
        })
    }

    /// Queues of drop-tail bottlenecks that are far smaller, and far larger, than the bandwidth-delay product of their flows.
    fn queues_far_from_bdp(&self) -> [Option<(String, String)>; 2] {
        let mut small: Vec<(f64, &str)> = Vec::new();
        let mut large = Vec::new();
        for (link, bottleneck) in self.links.iter().zip(self.bottlenecks()) {
            let (Some(Bottleneck { flows, rtt, packet }), Queue::DropTail { limit }) = (bottleneck, &link.queue) else {
                continue;
            };
            let bdp = link.largest_over(rtt, packet).as_bps() as f64 / 8.0 * rtt.as_secs_f64();
            let held = match *limit {
                QueueLimit::Unlimited => f64::INFINITY,
                QueueLimit::Packets(packets) => (packets * packet) as f64,
                QueueLimit::Bytes(bytes) => bytes as f64,
                QueueLimit::Bdp(_) => continue,
            };
            let least = (FEW_PACKETS * packet) as f64;
            if held > FAR * bdp.max(least) {
                large.push((held / bdp.max(least), link.name.as_str()));
            } else if held < bdp / FAR / (flows as f64).sqrt() && bdp > least {
                small.push((held / bdp, link.name.as_str()));
            }
        }
        let said = |found: Vec<(f64, &str)>, does: &str| {
            let (first, name) = found.first()?;
            let more = match found.len() - 1 {
                0 => String::new(),
                more => format!(" (and of {more} more)"),
            };
            let holds = match first.is_finite() {
                true => format!("holds {} bdp of its path", short(*first)),
                false => "has no limit".to_owned(),
            };
            let hint = format!("the queue of \"{name}\"{more} {holds}: {does}; a usual size: queue = \"1 bdp\"");
            Some((queue_key(name), hint))
        };
        [said(small, "it drops before the path is full"), said(large, "packets may wait for many round trips")]
    }

    /// Of each link, the flows that have it as the slowest link of their route.
    fn bottlenecks(&self) -> Vec<Option<Bottleneck>> {
        let mut found: Vec<Option<Bottleneck>> = self.links.iter().map(|_| None).collect();
        for flow in self.flows.iter().filter(|flow| flow.app.has_transport()) {
            let Lane { route, reverse_route, .. } = &self.lanes[flow.lane];
            for (route, back, is_used) in [(route, reverse_route, true), (reverse_route, route, flow.app.is_two_way())]
            {
                let rate = |link: &&LinkId| self.links[**link].sustained();
                let Some(&slowest) = route.iter().min_by_key(rate).filter(|_| is_used) else { continue };
                let rtt =
                    route.iter().chain(back).fold(Duration::ZERO, |sum, &link| sum + self.links[link].delay.largest());
                let packet = u64::from(flow.transport.payload()) + HEADERS;
                let before = found[slowest].take().unwrap_or(Bottleneck { flows: 0, rtt, packet });
                found[slowest] = Some(Bottleneck {
                    flows: before.flows + 1,
                    rtt: rtt.max(before.rtt),
                    packet: packet.max(before.packet),
                });
            }
        }
        found
    }
}

/// The flows of a bottleneck, as far as its queue depends on them.
struct Bottleneck {
    flows: u64,
    /// The longest propagation round trip.
    rtt: Duration,
    /// The largest packet, bytes.
    packet: u64,
}

/// The key of the queue of a direction, such as `sat.forward`. Names with points are in quotes.
fn queue_key(direction: &str) -> String {
    let (link, side) = direction.rsplit_once('.').unwrap_or((direction, "forward"));
    let link = if link.contains('.') { format!("\"{link}\"") } else { link.to_owned() };
    format!("link.{link}.{side}.queue")
}

/// The first names, in quotes, and the number of the others.
fn listed(names: &[&str]) -> String {
    let first = names.iter().take(NAMED).map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// Two significant digits.
fn short(value: f64) -> String {
    match value {
        value if value >= 10.0 => format!("{value:.0}"),
        value if value >= 1.0 => format!("{value:.1}"),
        value if value >= 0.1 => format!("{value:.2}"),
        value => format!("{value:.3}"),
    }
}
