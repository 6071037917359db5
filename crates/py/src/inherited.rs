//! Hooks that a Python class does not override: those of the registered congestion control that it extends, or of
//! Reno's window.

use crate::facts::Init;
use bentpipe_cc::{
    AckSample, CcKind, Congestion, Custom, Cwnd, Delivery, Init as Begin, Insides, Pace, PathState, ProbeSegments,
    Window, HALF,
};
use pyo3::exceptions::PyTypeError;
use pyo3::PyResult;

/// Hooks that are not overridden.
#[derive(Clone, Debug)]
pub(crate) enum Inherited {
    /// Reno's window.
    Reno(Window),
    /// Registered congestion control.
    BuiltIn(BuiltIn),
}

/// Registered congestion control.
#[derive(Clone, Debug)]
pub(crate) struct BuiltIn {
    cc: Box<dyn Custom>,
    name: &'static str,
    smss: u64,
}

impl Inherited {
    /// Makes the hooks of a class that extends this congestion control, at the start of a connection.
    ///
    /// # Errors
    ///
    /// The congestion control does not exist.
    pub(crate) fn new(extends: Option<&str>, init: Option<&Init>) -> Result<Self, String> {
        let begin = init.map_or_else(Begin::default, |init| init.begin);
        let Some(name) = extends else { return Ok(Self::Reno(Window::new(begin))) };
        let kind = CcKind::ALL.iter().find(|kind| kind.name() == name);
        let kind = *kind.ok_or_else(|| format!("no congestion control {name:?}: expected one of bentpipe list cc"))?;
        // Uses the settings of the scenario, except outside a connection.
        let config = init.and_then(|init| init.cc).filter(|config| config.kind() == kind).unwrap_or(kind.into());
        Ok(Self::BuiltIn(BuiltIn { cc: config.custom(begin), name: kind.name(), smss: begin.smss }))
    }

    pub(crate) fn cwnd(&self) -> u64 {
        match self {
            Self::Reno(window) => window.cwnd(),
            Self::BuiltIn(built_in) => built_in.cc.cwnd(),
        }
    }

    pub(crate) fn exact_cwnd(&self) -> f64 {
        match self {
            Self::Reno(window) => window.exact(),
            Self::BuiltIn(built_in) => built_in.cc.cwnd() as f64,
        }
    }

    pub(crate) fn ssthresh(&self) -> u64 {
        match self {
            Self::Reno(window) => window.ssthresh(),
            Self::BuiltIn(built_in) => built_in.cc.ssthresh(),
        }
    }

    /// Sets the window.
    ///
    /// # Errors
    ///
    /// The congestion control keeps another window.
    pub(crate) fn set_cwnd(&mut self, bytes: f64) -> Result<(), String> {
        match self {
            Self::Reno(window) => window.set_cwnd(bytes),
            Self::BuiltIn(BuiltIn { cc, name, smss }) => {
                let asked = (bytes as u64).clamp(*smss, Cwnd::MAX);
                let ssthresh = cc.ssthresh();
                cc.set_window(asked, ssthresh);
                if cc.cwnd() != asked {
                    let kept = cc.cwnd();
                    return Err(format!(
                        "cwnd = {bytes}: {name} keeps a window of {kept} bytes; override a hook instead"
                    ));
                }
            }
        }
        Ok(())
    }

    pub(crate) fn set_ssthresh(&mut self, ssthresh: u64) {
        match self {
            Self::Reno(window) => window.set_ssthresh(ssthresh),
            Self::BuiltIn(BuiltIn { cc, .. }) => {
                let cwnd = cc.cwnd();
                cc.set_window(cwnd, ssthresh);
            }
        }
    }

    /// Sets window and threshold.
    pub(crate) fn put_window(&mut self, cwnd: f64, ssthresh: u64) {
        match self {
            Self::Reno(window) => {
                window.set_cwnd(cwnd);
                window.set_ssthresh(ssthresh);
            }
            Self::BuiltIn(BuiltIn { cc, smss, .. }) => cc.set_window((cwnd as u64).max(*smss), ssthresh),
        }
    }

    /// Returns Reno's window, for `part` of it.
    ///
    /// # Errors
    ///
    /// There is none: `hook` of the congestion control does its work.
    pub(crate) fn window(&mut self, part: &str, hook: &str) -> PyResult<&mut Window> {
        match self {
            Self::Reno(window) => Ok(window),
            Self::BuiltIn(BuiltIn { name, .. }) => {
                let message =
                    format!("{part} is a part of Reno's window, and {name} has its own: expected super().{hook}(...)");
                Err(PyTypeError::new_err(message))
            }
        }
    }

    pub(crate) fn on_ack(&mut self, ack: &AckSample, path: &PathState) {
        match self {
            Self::Reno(window) => {
                let left = window.slow_start(ack, path);
                if left > 0 {
                    window.increase(left, path);
                }
            }
            Self::BuiltIn(built_in) => built_in.cc.on_ack(ack, path),
        }
    }

    pub(crate) fn on_congestion(&mut self, why: Congestion, path: &PathState) {
        match self {
            Self::Reno(window) => {
                let left = path.share(why.left(HALF));
                window.reduce(path.as_ssthresh(left), left);
            }
            Self::BuiltIn(built_in) => built_in.cc.on_congestion(why, path),
        }
    }

    pub(crate) fn on_rto(&mut self, first: bool, path: &PathState) {
        match self {
            Self::Reno(window) => window.restart(first.then(|| path.half_as_ssthresh())),
            Self::BuiltIn(built_in) => built_in.cc.on_rto(first, path),
        }
    }

    pub(crate) fn limit_cwnd(&mut self, max: u64) {
        match self {
            Self::Reno(window) => window.limit(max),
            Self::BuiltIn(built_in) => built_in.cc.limit_cwnd(max),
        }
    }

    pub(crate) fn set_window(&mut self, cwnd: u64, ssthresh: u64) {
        match self {
            Self::Reno(window) => window.set(cwnd, ssthresh),
            Self::BuiltIn(built_in) => built_in.cc.set_window(cwnd, ssthresh),
        }
    }

    pub(crate) fn on_smss(&mut self, smss: u64) {
        match self {
            Self::Reno(window) => window.on_smss(smss),
            Self::BuiltIn(built_in) => {
                built_in.smss = smss;
                built_in.cc.on_smss(smss);
            }
        }
    }

    /// Passes the segment size on if the hook did not: no window is below a segment.
    pub(crate) fn settle_smss(&mut self, smss: u64) {
        match self {
            Self::BuiltIn(built_in) if built_in.smss == smss => {}
            base => base.on_smss(smss),
        }
    }

    pub(crate) fn undo(&mut self, before: Self) {
        match (self, before) {
            (Self::BuiltIn(built_in), Self::BuiltIn(before)) => built_in.cc.undo_custom(before.cc),
            (base, before) => *base = before,
        }
    }

    pub(crate) fn on_delivery(&mut self, delivery: &Delivery, path: &PathState) {
        if let Some(cc) = self.built_in() {
            cc.on_delivery(delivery, path);
        }
    }

    pub(crate) fn on_recovery_exit(&mut self, path: &PathState) {
        if let Some(cc) = self.built_in() {
            cc.on_recovery_exit(path);
        }
    }

    pub(crate) fn on_resume(&mut self, path: &PathState) {
        if let Some(cc) = self.built_in() {
            cc.on_resume(path);
        }
    }

    pub(crate) fn on_error_report(&mut self, range: Option<(u64, u64)>, error_rate: Option<f32>, path: &PathState) {
        if let Some(cc) = self.built_in() {
            cc.on_error_report(range, error_rate, path);
        }
    }

    pub(crate) fn inside(&self, insides: &mut Insides<'_>) {
        if let Self::BuiltIn(built_in) = self {
            built_in.cc.inside(insides);
        }
    }

    pub(crate) fn pacing(&self) -> Option<Pace> {
        match self {
            Self::Reno(_) => None,
            Self::BuiltIn(built_in) => built_in.cc.pacing(),
        }
    }

    /// Returns the registered congestion control, if it extends one.
    pub(crate) fn built_in(&mut self) -> Option<&mut dyn Custom> {
        match self {
            Self::Reno(_) => None,
            Self::BuiltIn(built_in) => Some(&mut *built_in.cc),
        }
    }

    pub(crate) fn probe_segments(&mut self) -> Option<&mut dyn ProbeSegments> {
        self.built_in()?.probe_segments()
    }
}

/// Constant answers of a congestion control.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traits {
    pub(crate) takes_deliveries: bool,
    pub(crate) takes_marks: bool,
    pub(crate) is_model_based: bool,
    pub(crate) paces: bool,
    pub(crate) polls: Option<u32>,
    pub(crate) has_probes: bool,
}

impl Traits {
    pub(crate) fn of(base: &mut Inherited) -> Self {
        let has_probes = base.probe_segments().is_some();
        base.built_in().map_or_else(Self::default, |cc| Self {
            takes_deliveries: cc.takes_deliveries(),
            takes_marks: cc.takes_marks(),
            is_model_based: cc.is_model_based(),
            paces: cc.paces(),
            polls: cc.polls(),
            has_probes,
        })
    }
}
