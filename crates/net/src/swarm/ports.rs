//! Packets that enter a random network by its ports and leave it there.

use super::draw::Dice;
use super::random::Sketch;
use crate::network::{Failure, Network, PortId};
use crate::record::RunResult;
use crate::traffic::send_times_of;
use bentpipe_model::ids::{FlowId, NodeId, PathId};
use bentpipe_model::middlebox::Middlebox;
use bentpipe_model::spec::{App, Datagrams, Scenario};
use bentpipe_units::{Stream, Time};
use std::sync::Arc;

/// Entering packet: instant, path, bytes with headers.
pub(super) type Entering = (Time, PathId, u64);

/// Packet that leaves by a port: instant, path, bytes on the wire.
pub(crate) type Left = (Time, PathId, u64);

/// Header bytes of packets that enter.
pub(super) const HEADER_LEN: u8 = 28;

impl Sketch {
    /// Returns the packets that enter by the ports, in order of time.
    pub(super) fn entering(&self, scenario: &Scenario) -> Vec<Entering> {
        let mut dice = Dice::new(Stream::new(self.seed, "entering", "sketch"));
        let mut all = Vec::new();
        for flow in FlowId::all(scenario.flows.len()).filter(|&flow| *scenario.flows[flow].app == App::Port) {
            for path in PathId::both(scenario.flows[flow].lane) {
                for _ in 0..dice.below(60) {
                    let at = Time::ZERO + dice.ms(&[1, 10, 100]) * dice.below(1 + 20 * self.seconds);
                    all.push((at, path, u64::from(HEADER_LEN) + *dice.pick(&[0, 12, 160, 1200])));
                }
            }
        }
        all.retain(|entering| entering.0 <= Time::ZERO + scenario.duration);
        all.sort_by_key(|entering| entering.0);
        all
    }
}

/// Returns the instants when the datagrams of a flow are sent, in order.
pub(super) fn recorded(scenario: &Scenario, flow: FlowId, spec: Datagrams) -> Vec<Entering> {
    let size = u64::from(HEADER_LEN) + u64::from(spec.size);
    let times = send_times_of(&scenario.flows[flow], spec, scenario.seed);
    let end = Time::ZERO + scenario.duration;
    times.take_while(|&at| at <= end).map(|at| (at, PathId::there(scenario.flows[flow].lane), size)).collect()
}

/// Runs an open network. Its clock advances in steps, and some packets enter while it runs. Fails if middleboxes answer each
/// other without end.
pub(super) fn run(
    scenario: &Scenario,
    own: Vec<(NodeId, Box<dyn Middlebox + Send + Sync>)>,
    entering: &[Entering],
) -> Result<(RunResult, Vec<Left>), Failure> {
    let mut network = Network::build_with(&Arc::new(scenario.clone()), scenario.seed, own);
    let given_in_time = scenario.seed % 2 == 0;
    let mut left = Vec::new();
    for (index, &(at, path, size)) in entering.iter().enumerate() {
        if given_in_time && at > Time::ZERO {
            network.run_until(Time::from_ps(at.as_ps() - 1));
        }
        let bytes = vec![index as u8; size as usize].into_boxed_slice();
        if let Err(refused) = network.inject(at, PortId::of(path), size, HEADER_LEN, bytes) {
            return Err(network.finish().err().unwrap_or_else(|| panic!("{refused}")));
        }
    }
    while network.next_wakeup() != Time::NEVER {
        network.run_until(network.next_wakeup());
        left.extend(network.drain().into_iter().map(|packet| (packet.at, packet.port.path().reverse(), packet.size)));
    }
    network.run_until(Time::NEVER);
    network.finish().map(|result| (result, left))
}
