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

    /// Whether the seed decides more than the timing of hosts and the draws of custom classes.
    pub fn is_random(&self) -> bool {
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
