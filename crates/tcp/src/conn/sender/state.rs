//! The parts of a sender, and their creation: at the start, after the SYNs, and when data transfer begins.

use super::ack_ratio::AckRatio;
use super::detect::Detector;
use super::episode::Episode;
use super::extras::Extras;
use super::feedback::WindowFeedback;
use super::losses::Losses;
use super::pacing::paces_acks;
use super::polls::Polls;
use super::probe_segments::Probes;
use super::rapid::Rapid;
use super::rate::Rates;
use super::records::Records;
use super::reported::Notified;
use super::resume::Resume;
use super::rtt::Rtt;
use super::scoreboard::Scoreboard;
use super::space::SendSpace;
use super::usage::Used;
use super::window::Window;
use crate::cache::Learnt;
use crate::config::{Config, InitialSsthresh, Pacing, Reduction, SlowStartAcks};
use crate::conn::context::Context;
use bentpipe_cc::{Cc, CcConfig, CcKind, CongestionControl, Coupled, Custom, Init};
use bentpipe_units::Time;
use std::num::NonZeroU32;
use std::sync::Arc;

/// One end's sending.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    pub(crate) space: SendSpace,
    pub(crate) board: Scoreboard,
    pub(crate) rtt: Rtt,
    pub(crate) window: Window,
    pub(crate) losses: Losses,
    /// RACK, PRR, undo or rate samples are on.
    pub(crate) is_detailed: bool,
    pub(crate) rates: Option<Box<Rates>>,
    /// Parts of few connections.
    pub(crate) extras: Extras,
}

impl Sender {
    pub(crate) fn new(cx: &Context) -> Self {
        let config = &*cx.config;
        let losses = Losses::new(cx);
        let has_mark_counts = config.ecn.feedback.counts_marks();
        let init = Init { smss: u64::from(config.smss), has_mark_counts, ..Init::default() };
        let cc = initial_cc(config, &Learnt::default(), init, u64::MAX, false);
        let rates: Option<Box<Rates>> = cc.takes_deliveries().then(Box::default);
        let (feedback, notified) = (WindowFeedback::of(config), Notified::of(config));
        let is_noticed = feedback.is_some() || notified.is_some();
        let counts = rates.is_some() || cc.takes_marks();
        let is_detailed = counts || losses.undo.is_some() || is_noticed || config.reduction != Reduction::AtOnce;
        let mut board = Scoreboard::default();
        if is_detailed {
            board.set_detail(false);
        }
        if cc.takes_deliveries() {
            board.keep_lost();
        }
        let mut sender = Self {
            space: SendSpace::new(config),
            board,
            rtt: Rtt::new(Arc::clone(&cx.config)),
            window: Window::new(cc, config),
            losses,
            is_detailed,
            rates,
            extras: Extras::default(),
        };
        sender.extras.settle(feedback, |extras| &mut extras.feedback);
        sender.extras.settle(notified, |extras| &mut extras.notified);
        sender.extras.settle(config.best_effort.map(|_| Records::default()), |extras| &mut extras.records);
        if config.ack.slow_start == SlowStartAcks::Every {
            sender.extras.for_part().signals_slow_start = true;
        }
        sender
    }

    /// Settlement of the SYNs: the detector, whether the peer `knows_probes`, and the `count` of the connection.
    pub(crate) fn on_agreed(&mut self, knows_probes: bool, count: Option<u32>, cx: &Context) {
        self.losses.detector = Detector::of(&cx.config, &cx.agreed);
        if let Some(in_order_of_time) = self.losses.detector.needs_detail() {
            self.is_detailed = true;
            self.board.set_detail(in_order_of_time);
        }
        let polls = self.window.cc.polls().filter(|_| cx.agreed.is_polled);
        self.rtt.polls = polls.and_then(NonZeroU32::new);
        let agreed = self.window.cc.probe_segments().filter(|probes| knows_probes && probes.answers());
        let of_cc = agreed.map(|probes| Probes::new(probes.inflates(), probes.repairs()));
        let of_verdict = self.window.reducer.copies_every().filter(|_| knows_probes).map(Probes::copies);
        let records = self.extras.get_mut().and_then(|extras| extras.records.take()).unwrap_or_default();
        self.extras
            .settle(cx.agreed.ack_ratio.then(|| AckRatio::new(cx.config.ack.every)), |extras| &mut extras.ack_ratio);
        self.extras.settle(polls.map(Polls::new), |extras| &mut extras.polls);
        self.extras.settle(of_cc.or(of_verdict), |extras| &mut extras.probes);
        self.extras.settle(cx.agreed.best_effort.then_some(records), |extras| &mut extras.records);
        self.extras.settle(count.filter(|_| cx.agreed.counts), |extras| &mut extras.count);
    }

    /// Data transfer begins; `seed` is for random choices of the congestion control.
    pub(crate) fn begin(&mut self, now: Time, learnt: &Learnt, seed: u64, cx: &Context) {
        self.window.usage.last_sent = now;
        if let Some(rate) = self.extras.notified().and_then(|notified| notified.rate) {
            self.on_error_rate(rate, cx);
        }
        let init = Init {
            now,
            rtt: self.rtt.srtt(),
            seed,
            smss: self.space.smss(),
            has_probe_segments: self.extras.has_probes(),
            has_mark_counts: self.extras.ecn_mut().is_some_and(|ecn| ecn.counts_marks()),
            ..Init::default()
        };
        let is_coupled = self.extras.mapped().is_some_and(|mapped| mapped.is_agreed && mapped.is_coupled);
        self.window.cc = initial_cc(&cx.config, learnt, init, self.space.rwnd, is_coupled);
        let takes_marks = self.window.cc.takes_marks();
        if let Some(ecn) = self.extras.ecn_mut() {
            ecn.begin(takes_marks, &cx.config.ecn);
        }
        self.window.is_paced = cx.config.pacing != Pacing::Off || self.window.cc.paces();
        let resume = Resume::of(now, learnt, self.rtt.srtt(), &self.space, &self.window.cc, &cx.config);
        if resume.is_some() {
            self.extras.for_part().resume = resume.map(Box::new);
        }
        let rapid = Rapid::of(&cx.config, &self.window.cc, self.board.lost_ever());
        if rapid.is_some() {
            self.extras.for_part().rapid = rapid.map(Box::new);
        }
        if paces_acks(&self.window.cc) {
            self.extras.for_part().paces_acks = true;
        }
    }

    /// The handshake is complete; `syn_window`: no initial window is larger. `syn_was_lost`: RFC 5681 §3.1 wants one segment
    /// then, RFC 6298 §5.7 three seconds.
    pub(crate) fn on_established(&mut self, now: Time, syn_window: u64, syns_lost: u32, cx: &mut Context) {
        self.window.cc.limit_cwnd(syn_window);
        self.window.usage.in_slow_start = self.window.cc.cwnd() < self.window.cc.ssthresh();
        if self.board.flight_size() > 0 {
            // Early data that were sent before.
            self.rtt.arm(now, &mut cx.timers);
        }
        if syns_lost > 0 {
            self.rtt.after_lost_syn();
        }
        if syns_lost >= cx.config.rto.syn_reduction_after {
            self.window.cc.limit_cwnd(self.space.smss());
        }
    }

    /// Uses segments of `smss` payload bytes from now on, also for retransmissions.
    pub(crate) fn set_smss(&mut self, smss: u32) {
        self.space.smss = smss.clamp(1, Config::SMSS_MAX);
        self.space.next_max = self.space.smss;
        self.board.resegment(self.space.smss);
        if let (Some(rates), Some(first)) = (&mut self.rates, self.board.sent.first()) {
            rates.forget(first);
        }
        let smss = self.space.smss();
        if let Some(undo) = &mut self.losses.undo {
            undo.on_smss(smss);
        }
        self.window.cc.on_smss(smss);
    }

    pub(crate) fn measure_rates(&mut self) {
        self.rates.get_or_insert_with(Box::default);
        self.is_detailed = true;
        self.board.set_detail(self.losses.detector.needs_detail() == Some(true));
    }
}

/// Returns the inputs of the window's validation.
#[inline]
pub(super) fn used<'a>(
    now: Time,
    space: &'a SendSpace,
    board: &Scoreboard,
    episode: &Episode,
    rtt: &'a Rtt,
    cx: &'a Context,
) -> Used<'a> {
    Used {
        now,
        space,
        flight_size: board.flight_size(),
        in_recovery: episode.phase.is_recovery(),
        rtt,
        config: &cx.config,
        retransmitted: cx.counters.retransmitted_bytes,
    }
}

/// The congestion control at the start of data transfer; `is_coupled`: its increase is that of its siblings.
fn initial_cc(config: &Config, learnt: &Learnt, begin: Init, rwnd: u64, is_coupled: bool) -> Cc {
    let ssthresh = learnt.ssthresh.map_or(config.initial_ssthresh, InitialSsthresh::Bytes);
    let init = Init {
        cwnd: learnt.cwnd.unwrap_or(config.initial_window.bytes(begin.smss as u32)),
        ssthresh: match ssthresh {
            InitialSsthresh::Unlimited | InitialSsthresh::Bdp(_) => u64::MAX,
            InitialSsthresh::Bytes(bytes) => bytes,
            InitialSsthresh::Segments(n) => n.saturating_mul(begin.smss),
            InitialSsthresh::PeerWindow => rwnd.max(2 * begin.smss),
        },
        growth: config.growth,
        ..begin
    };
    if let Some(explicit) = bentpipe_cc::explicit::instead(config.feedback, init) {
        return explicit.into();
    }
    if is_coupled {
        return Cc::from(Box::new(Coupled::new(init)) as Box<dyn Custom>);
    }
    match &config.own_cc {
        Some(own) => own.build(init, config.cc).into(),
        // RFC 9331 §4.3: without counts of marks the flow has to behave as a classic flow.
        None if config.cc.kind().takes().marks && !init.has_mark_counts => CcConfig::from(CcKind::NewReno).build(init),
        None => config.cc.build(init),
    }
}
