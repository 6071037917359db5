//! Opening and closing (RFC 9293 §3.5, §3.6): the state, the handshake, and measurements of earlier connections.

mod challenge;
mod close;
mod fast_open;
mod idle;
mod open;
mod state;
mod transactions;

pub use state::State;

use super::agreed::{self, Agreed};
use crate::cache::{Learnt, PathCache};
use crate::config::{CarefulResume, Config, EcnFeedback, Recovery, SavedWindow, SnackForm};
use crate::conn::receiver::EcnReceiver;
use crate::conn::tcb::Tcb;
use crate::scps::ScpsCapabilities;
use crate::segment::{FastOpenOption, Flags, Options, Segment, SynOptions};
use bentpipe_units::{Duration, Time};
use challenge::Challenges;
use fast_open::FastOpenState;
use transactions::Counts;

/// Which end opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Sends the SYN.
    Active,
    /// Waits for it.
    Passive,
}

/// Twice the maximum segment lifetime of RFC 9293 §3.4.2.
const TIME_WAIT: Duration = Duration::from_secs(240);

/// State of a connection, and data for its opening.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    pub(crate) state: State,
    pub(crate) role: Role,
    /// SYNs or SYN-ACKs that got no answer.
    pub(crate) syn_retransmits: u32,
    /// Timestamp of the first retransmission among them.
    pub(crate) syn_resent: Option<u32>,
    pub(crate) fast_open: Box<FastOpenState>,
    /// T/TCP: the connection counts.
    pub(crate) counts: Option<Box<Counts>>,
    /// Measurements of earlier connections to the same peer.
    pub(crate) learnt: Option<Box<Learnt>>,
    /// Challenge ACKs that left lately; none did so far.
    challenges: Option<Box<Challenges>>,
    /// Seed of the congestion control's random choices.
    pub(crate) random_seed: u64,
}

impl Life {
    pub(crate) fn new(role: Role, config: &Config) -> Self {
        Self {
            state: State::Closed,
            role,
            syn_retransmits: 0,
            syn_resent: None,
            fast_open: Box::new(FastOpenState::new(config.fast_open)),
            counts: config.transactions.map(|transactions| Box::new(Counts::new(transactions.is_known))),
            learnt: None,
            challenges: None,
            random_seed: 0,
        }
    }

    /// Begins with the measurements in `cache`. Returns SRTT and RTTVAR.
    pub(crate) fn prime(&mut self, cache: &PathCache, now: Time, config: &Config) -> Option<(Duration, Duration)> {
        let opening = &mut self.fast_open;
        if let Some((cookie, mss)) = cache.cookie() {
            (opening.cookie, opening.mss) = (Some(cookie), Some(mss));
        }
        opening.is_avoided = cache.avoids_fast_open(now);
        if let (Some(counts), Some(known)) = (&mut self.counts, cache.counts()) {
            counts.known = known;
        }
        let (learnt, rtt) = cache.recall(now, config)?;
        self.learnt = Some(Box::new(learnt));
        rtt
    }

    /// Begins with the saved path of an earlier connection, if `cache` has a free one.
    pub(crate) fn take_path(&mut self, cache: &mut PathCache, now: Time, settings: Option<CarefulResume>) {
        let Some(settings) = settings.filter(|settings| settings.saved == SavedWindow::Cache) else { return };
        if self.state != State::Closed {
            return;
        }
        if let Some(saved) = cache.take_saved(now, settings.lifetime) {
            self.learnt.get_or_insert_with(Box::default).saved = Some(saved);
        }
    }

    /// Leaves in `cache` what the connection of `tcb` learnt.
    pub(crate) fn contribute(&self, tcb: &Tcb, cache: &mut PathCache, now: Time) {
        let opening = &self.fast_open;
        cache.learn_opening(now, opening.granted.zip(opening.mss), opening.has_failed);
        if let Some(counts) = &self.counts {
            cache.learn_counts(counts.known());
        }
        let config = &tcb.cx.config;
        let acked = tcb.sender.space.una.min(tcb.sender.space.offered);
        cache.learn(now, config, acked, tcb.lesson());
        if config.careful_resume.is_some() {
            let lesson = tcb.path_lesson(now);
            let used = self.learnt.as_ref().is_some_and(|learnt| learnt.saved.is_some());
            cache.return_saved(used, lesson);
        }
    }

    /// Whether a server took data whose sender has not yet completed the handshake.
    pub(crate) fn has_early_data(&self) -> bool {
        self.fast_open.is_accepted && self.state == State::SynReceived
    }

    /// Whether data may leave in this state.
    #[inline]
    pub(crate) fn sends_data(&self) -> bool {
        if !self.state.is_synchronised() {
            // RFC 7413 §4.2.1: a server that took the SYN's data may answer at once.
            return self.has_early_data();
        }
        !matches!(self.state, State::FinWait2 | State::TimeWait)
    }

    /// The options of the SYN or SYN-ACK that is sent next; `polls`: this end wants to poll, and to be polled. `signal_len`: bytes
    /// of multipath options in segments with data.
    pub(crate) fn syn_options(&self, config: &Config, polls: bool, signal_len: u32, agreed: &Agreed) -> SynOptions {
        let answers = self.state == State::SynReceived;
        let option_bytes = if config.timestamps { 12 } else { 0 } + signal_len;
        let (count, count_echo) = self.counts.as_ref().map_or_else(Default::default, |counts| counts.options(answers));
        SynOptions {
            mss: (config.smss + option_bytes).min(65_535) as u16,
            window_scale: (config.window_scaling && (!answers || agreed.scales))
                .then(|| agreed::window_shift(config.receive_buffer)),
            sack_permitted: config.recovery.uses_sack() && (!answers || agreed.sack),
            fast_open: self.fast_open_option(config, answers),
            scps: scps_capabilities(config, !answers || agreed.snack.is_some()),
            ack_ratio: config.ack.congestion_control && (!answers || agreed.ack_ratio),
            is_polled: polls && (!answers || agreed.is_polled),
            count,
            count_echo,
        }
    }

    pub(crate) fn fast_open_option(&self, config: &Config, answers: bool) -> FastOpenOption {
        if answers {
            return self.fast_open.answer(config.fast_open);
        }
        let is_first = self.syn_retransmits == 0 && self.role == Role::Active;
        self.fast_open.request(config.fast_open, is_first)
    }
}

fn scps_capabilities(config: &Config, offers: bool) -> Option<ScpsCapabilities> {
    let Recovery::Snack(settings) = config.recovery else { return None };
    let long = if settings.form == SnackForm::Long { ScpsCapabilities::SNACK_LONG } else { 0 };
    let best_effort = if config.best_effort.is_some() { ScpsCapabilities::BETS } else { 0 };
    let features = ScpsCapabilities::SNACK_SHORT | long | best_effort;
    offers.then_some(ScpsCapabilities { features, connection: 0 })
}

/// Returns the flags of a SYN that asks for ECN, or of a SYN-ACK that agrees to it.
fn ecn_setup(wanted: EcnFeedback, answers: bool, agreed: Option<&EcnReceiver>) -> Flags {
    match agreed {
        _ if !answers => agreed::ecn_request(wanted),
        None => Flags::default(),
        // RFC 9768 §3.1.2, table 2.
        Some(ecn) if ecn.feedback == EcnFeedback::Accurate => {
            Flags::default().with_ace(agreed::handshake_code(ecn.syn))
        }
        Some(_) => Flags::ECE,
    }
}

/// Returns the settlement of a SYN or SYN-ACK, ECN last. This end wants `smss` and the options `ours`. Without a `syn`,
/// and so without a handshake, both ends want the same and get it.
fn settle(config: &Config, smss: u32, ours: SynOptions, syn: Option<&Segment>) -> (Agreed, EcnFeedback) {
    let peer = match syn.map(|segment| segment.options) {
        None => ours,
        Some(Options::Syn(options)) => options,
        Some(_) => SynOptions { mss: agreed::MSS_ASSUMED, ..SynOptions::default() },
    };
    let agreed =
        Agreed::new(config, smss, ours.is_polled, &peer, syn.is_none_or(|segment| segment.timestamps.is_some()));
    let wanted = config.ecn.feedback;
    (agreed, syn.map_or(wanted, |segment| agreed::agreed_feedback(wanted, segment)))
}
