//! Transport of a flow, and the facts about it that do not need its kind.

use super::{Multi, Quic};
use bentpipe_cc::{CustomCc, Unbounded};
use bentpipe_tcp::Config;
use std::sync::Arc;

/// Bytes of the IPv4 and TCP header.
const HEADERS: u32 = 40;
/// Bytes of the timestamps of RFC 7323.
const TIMESTAMPS: u32 = 12;
/// Packets without a transport: Ethernet packets of IPv4 and UDP, bytes of payload and headers.
const DATAGRAM: (u32, u32) = (1472, 28);

/// Transport at both ends of a flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Transport {
    /// Datagrams, without connections.
    #[default]
    None,
    /// TCP. Flows with equal values share them.
    Tcp(Arc<Config>),
    /// TCP over several paths. Flows with equal values share them.
    Multi(Arc<Multi>),
    /// QUIC. Flows with equal values share them.
    Quic(Arc<Quic>),
}

impl Multi {
    /// Returns the name of the congestion control of a subflow.
    pub fn cc_of(&self, subflow: usize) -> &str {
        cc_name(&self.subflows[subflow].tcp)
    }
}

impl Transport {
    /// Returns the values of TCP, if it is TCP.
    pub fn tcp(&self) -> Option<&Arc<Config>> {
        match self {
            Self::Tcp(config) => Some(config),
            Self::None | Self::Multi(_) | Self::Quic(_) => None,
        }
    }

    /// Returns the values of TCP over several paths, if it is that.
    pub fn multi(&self) -> Option<&Arc<Multi>> {
        match self {
            Self::Multi(multi) => Some(multi),
            Self::None | Self::Tcp(_) | Self::Quic(_) => None,
        }
    }

    /// Returns the values of QUIC, if it is QUIC.
    pub fn quic(&self) -> Option<&Arc<Quic>> {
        match self {
            Self::Quic(quic) => Some(quic),
            Self::None | Self::Tcp(_) | Self::Multi(_) => None,
        }
    }

    /// Returns the values of TCP for changes in one flow, if it is TCP.
    pub fn tcp_mut(&mut self) -> Option<&mut Config> {
        match self {
            Self::Tcp(config) => Some(Arc::make_mut(config)),
            Self::None | Self::Multi(_) | Self::Quic(_) => None,
        }
    }

    /// Returns the values of TCP over several paths to change, if it is that.
    pub fn multi_mut(&mut self) -> Option<&mut Multi> {
        match self {
            Self::Multi(multi) => Some(Arc::make_mut(multi)),
            Self::None | Self::Tcp(_) | Self::Quic(_) => None,
        }
    }

    /// Whether two flows share their values.
    pub(crate) fn is_shared(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::None, Self::None) => true,
            (Self::Tcp(config), Self::Tcp(other)) => Arc::ptr_eq(config, other),
            (Self::Multi(multi), Self::Multi(other)) => Arc::ptr_eq(multi, other),
            (Self::Quic(quic), Self::Quic(other)) => Arc::ptr_eq(quic, other),
            _ => false,
        }
    }

    /// Returns the payload of a full packet, bytes.
    pub fn payload(&self) -> u32 {
        match self {
            Self::None => DATAGRAM.0,
            Self::Tcp(config) => config.smss,
            Self::Multi(multi) => multi.first().smss - Multi::OPTION,
            Self::Quic(quic) => quic.mtu,
        }
    }

    /// Returns the headers of a packet with data, bytes.
    pub fn headers(&self) -> u32 {
        match self {
            Self::None => DATAGRAM.1,
            Self::Tcp(config) => headers(config),
            Self::Multi(multi) => headers(multi.first()) + Multi::OPTION,
            Self::Quic(_) => Quic::HEADERS.into(),
        }
    }

    /// Returns the size of a full packet, bytes.
    pub fn full_packet(&self) -> u64 {
        u64::from(self.payload() + self.headers())
    }

    /// Returns the largest window of the receiver, bytes.
    pub fn window_max(&self) -> u64 {
        match self {
            Self::None => u64::MAX,
            Self::Tcp(config) => config.receive_buffer,
            Self::Multi(multi) => multi.config.receive_buffer,
            Self::Quic(quic) => quic.windows()[1],
        }
    }

    /// Returns the round trips before the first data of a new connection, at least.
    pub fn opening_rtts(&self) -> u32 {
        match self {
            Self::None => 0,
            Self::Tcp(config) => {
                let waits = config.handshake && config.fast_open.is_none() && config.transactions.is_none();
                waits.into()
            }
            Self::Multi(_) | Self::Quic(_) => 1,
        }
    }

    /// Whether connections of a flow to a node share what they learn with later ones.
    pub fn remembers(&self) -> bool {
        self.quic().is_some_and(|quic| quic.saves_for().is_some())
            || self.tcp().is_some_and(|config| {
                let resumes = config.careful_resume.is_some();
                config.sharing.is_some() || config.fast_open.is_some() || config.transactions.is_some() || resumes
            })
    }

    /// Returns its name in tables.
    pub fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Tcp(_) => "tcp",
            Self::Multi(_) => "multipath",
            Self::Quic(_) => "quic",
        }
    }

    /// Returns the name of its congestion control; "none" without one.
    pub fn cc_name(&self) -> &str {
        match self {
            Self::None => "none",
            Self::Tcp(config) => cc_name(config),
            Self::Multi(multi) => {
                let first = cc_name(multi.first());
                let are_same = multi.subflows.iter().all(|subflow| cc_name(&subflow.tcp) == first);
                if are_same {
                    first
                } else {
                    "mixed"
                }
            }
            Self::Quic(quic) => quic.cc.name(),
        }
    }

    /// Returns its custom congestion control.
    pub fn own_cc(&self) -> Option<&CustomCc> {
        match self {
            Self::Multi(multi) => multi.subflows.iter().find_map(|subflow| subflow.tcp.own_cc.as_ref()),
            _ => self.tcp()?.own_cc.as_ref(),
        }
    }

    /// Whether a custom class is part of it: a congestion control, or a scheduler of several paths.
    pub fn is_own(&self) -> bool {
        self.own_cc().is_some() || self.multi().is_some_and(|multi| multi.config.own_scheduler.is_some())
    }

    /// Whether its congestion control, or its stack, draws random numbers.
    pub(crate) fn is_random(&self) -> bool {
        match self {
            Self::None => false,
            Self::Tcp(config) => config.is_random(),
            Self::Multi(multi) => multi.subflows.iter().any(|subflow| subflow.tcp.is_random()),
            // QUIC skips packet numbers at random.
            Self::Quic(_) => true,
        }
    }

    /// Returns the reason why nothing bounds its window, if nothing does.
    pub(crate) fn unbounded(&self) -> Option<Unbounded> {
        self.tcp()?.unbounded()
    }
}

/// Returns the name of the congestion control of a connection.
fn cc_name(config: &Config) -> &str {
    config.own_cc.as_ref().map_or(config.cc.kind().name(), |own| own.name())
}

fn headers(config: &Config) -> u32 {
    HEADERS + if config.timestamps { TIMESTAMPS } else { 0 }
}

/// Returns the size of a full segment of TCP with these values, bytes.
pub fn full_segment(config: &Config) -> u64 {
    u64::from(config.smss + headers(config))
}
