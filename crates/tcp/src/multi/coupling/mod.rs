//! Coupled congestion control: in congestion avoidance, the growth of a subflow's window depends on its siblings. All
//! subflows together then take no more from a shared bottleneck than one flow (RFC 6356 §2).
//!
//! Slow start, the detection of losses and ECN belong to each subflow. Windows are in segments, times in seconds.

mod balia;
mod lia;
mod olia;

use crate::Config;
use bentpipe_cc::{CcKind, Siblings};
use bentpipe_units::words;
use std::fmt;

words! {
    /// Coupling of the windows in congestion avoidance.
    pub enum Coupling {
        /// `lia` if the congestion controls of all subflows have Reno's window, otherwise `none`.
        "auto" => Auto,
        /// Each subflow has its own congestion control. Several over one bottleneck take as much as several flows.
        "none" => None,
        /// Linked increases (RFC 6356).
        "lia" => Lia,
        /// Opportunistic linked increases (R. Khalili et al. 2012).
        "olia" => Olia,
        /// Balanced linked adaptation (Q. Peng et al. 2016).
        "balia" => Balia,
    }
}

/// A coupling that these congestion controls do not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncoupled {
    /// The coupling.
    pub coupling: Coupling,
    /// The subflow, by its number.
    pub subflow: usize,
    /// Its congestion control.
    pub cc: String,
}

impl fmt::Display for Uncoupled {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { coupling, cc, .. } = self;
        write!(f, "coupling {} changes the increase of Reno's window, which {cc} does not have", coupling.as_str())
    }
}

/// A subflow, as a coupling sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Member {
    /// Congestion window, segments; in recovery the slow start threshold.
    pub(crate) window: f64,
    /// Smoothed round-trip time, seconds.
    pub(crate) rtt: f64,
    /// Bytes acknowledged since the last loss, or between the last two if that is more.
    pub(crate) between: f64,
}

impl Coupling {
    /// Returns the coupling of subflows with these configurations. `auto` becomes `lia` or `none`.
    ///
    /// # Errors
    ///
    /// The first subflow whose congestion control does not have Reno's window, if the coupling needs that (RFC 6356 §3).
    pub fn settle(self, subflows: &[&Config]) -> Result<Self, Uncoupled> {
        let other = subflows.iter().enumerate().find(|(_, config)| !has_reno_window(config));
        match (self, other) {
            (Self::None, _) | (Self::Auto, Some(_)) => Ok(Self::None),
            (Self::Auto, None) => Ok(Self::Lia),
            (_, None) => Ok(self),
            (_, Some((subflow, config))) => {
                let cc = config.own_cc.as_ref().map_or(config.cc.kind().name(), |own| own.name()).into();
                Err(Uncoupled { coupling: self, subflow, cc })
            }
        }
    }

    /// As [`settle`](Self::settle), where all congestion controls have Reno's window or one does not: then they are not coupled.
    pub(crate) fn among(self, are_reno: bool) -> Self {
        match self {
            _ if !are_reno => Self::None,
            Self::Auto => Self::Lia,
            coupling => coupling,
        }
    }

    /// Returns what the others leave to member `r`; `None`: not coupled.
    pub(crate) fn share(self, r: usize, members: &[Member]) -> Option<Siblings> {
        match self {
            Self::Auto | Self::None => None,
            Self::Lia => Some(lia::share(r, members)),
            Self::Olia => Some(olia::share(r, members)),
            Self::Balia => Some(balia::share(r, members)),
        }
    }
}

/// Whether the window of a connection grows and falls as Reno's.
pub(super) fn has_reno_window(config: &Config) -> bool {
    config.own_cc.is_none() && matches!(config.cc.kind(), CcKind::Reno | CcKind::NewReno | CcKind::Sack)
}

/// Returns the sum of `f` over all members.
fn sum(members: &[Member], f: impl Fn(&Member) -> f64) -> f64 {
    members.iter().map(f).sum()
}

#[cfg(test)]
mod tests;
