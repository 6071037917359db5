//! What a sender consists of, and how it comes about: at the start, by what the SYNs settle, when data transfer begins.

use super::ack_ratio::AckRatio;
use super::detect::{Detector, View};
use super::ecn::EcnSender;
use super::episode::Episode;
use super::explicit::Explicit;
use super::feedback::WindowFeedback;
use super::pacing::Pacer;
use super::polls::Polls;
use super::probe_segments::Probes;
use super::rate::Rates;
use super::records::Records;
use super::reduce::Reducer;
use super::reported::Notified;
use super::rtt::Rtt;
use super::scoreboard::Scoreboard;
use super::space::SendSpace;
use super::undo::Undo;
use super::usage::Usage;
use crate::cache::Learnt;
use crate::cc::{Cc, CongestionControl, Init};
use crate::config::{Config, InitialSsthresh, Pacing, Reduction, SpuriousDetection};
use crate::conn::context::Context;
use crate::conn::timers::{Timer, Timers};
use bentpipe_units::Time;
use std::num::NonZeroU32;
use std::sync::Arc;

/// One end's sending.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    pub(crate) space: SendSpace,
    pub(super) board: Scoreboard,
    pub(crate) cc: Cc,
    pub(crate) rtt: Rtt,
    pub(super) episode: Episode,
    pub(super) usage: Usage,
    pub(super) detector: Detector,
    pub(super) reducer: Reducer,
    pub(crate) pacer: Pacer,
    /// RACK, PRR, undo or rate samples are on.
    pub(super) is_detailed: bool,
    /// Data wait for their time.
    pub(crate) is_paced: bool,
    pub(super) undo: Option<Box<Undo>>,
    pub(super) rates: Option<Box<Rates>>,
    /// What the network advertises is looked at.
    pub(super) feedback: Option<Box<WindowFeedback>>,
    /// Headers of XCP or RCP are written.
    pub(super) explicit: Option<Box<Explicit>>,
    /// Agreed on ECN.
    pub(crate) ecn: Option<Box<EcnSender>>,
    /// Agreed on congestion control for ACKs.
    pub(crate) ack_ratio: Option<Box<AckRatio>>,
    /// Agreed on polls.
    pub(super) polls: Option<Box<Polls>>,
    /// Agreed on probe segments.
    pub(crate) probes: Option<Box<Probes>>,
    /// Where records end.
    pub(crate) records: Option<Box<Records>>,
    /// Heeds notices of errors.
    pub(super) notified: Option<Box<Notified>>,
    /// When the oldest data outstanding were first retransmitted.
    pub(super) first_retransmit: Time,
}

impl Sender {
    pub(crate) fn new(cx: &Context) -> Self {
        let config = &*cx.config;
        let undo = (config.spurious_detection != SpuriousDetection::Off).then(|| Box::new(Undo::new()));
        let init = Init { smss: u64::from(config.smss), ..Init::default() };
        let cc = initial_cc(config, &Learnt::default(), init, u64::MAX);
        let rates: Option<Box<Rates>> = cc.takes_deliveries().then(Box::default);
        let (feedback, notified) = (WindowFeedback::of(config), Notified::of(config));
        let is_noticed = feedback.is_some() || notified.is_some();
        let is_detailed = rates.is_some() || undo.is_some() || is_noticed || config.reduction != Reduction::AtOnce;
        let mut board = Scoreboard::default();
        if is_detailed {
            board.set_detail(false);
        }
        if cc.takes_deliveries() {
            board.keep_lost();
        }
        Self {
            space: SendSpace::new(config),
            board,
            cc,
            rtt: Rtt::new(Arc::clone(&cx.config)),
            episode: Episode::default(),
            usage: Usage::new(config.cwnd_validation),
            detector: Detector::of(config, &cx.agreed),
            reducer: Reducer::new(config.verdict.build(config.copies, config.snack())),
            pacer: Pacer::default(),
            is_detailed,
            is_paced: false,
            undo,
            rates,
            feedback,
            explicit: Explicit::of(config),
            ecn: None,
            ack_ratio: None,
            polls: None,
            probes: None,
            records: None,
            notified,
            first_retransmit: Time::NEVER,
        }
    }

    /// What the SYNs settled: which detector can serve, and whether the peer `knows_probes`.
    pub(crate) fn on_agreed(&mut self, knows_probes: bool, cx: &Context) {
        self.detector = Detector::of(&cx.config, &cx.agreed);
        if let Some(in_order_of_time) = self.detector.needs_detail() {
            self.is_detailed = true;
            self.board.set_detail(in_order_of_time);
        }
        self.ack_ratio = cx.agreed.ack_ratio.then(|| Box::new(AckRatio::new(cx.config.ack.every)));
        self.polls = self.cc.polls().filter(|_| cx.agreed.is_polled).map(|per_rtt| Box::new(Polls::new(per_rtt)));
        self.rtt.polls = self.cc.polls().filter(|_| cx.agreed.is_polled).and_then(NonZeroU32::new);
        let agreed = self.cc.probe_segments().filter(|probes| knows_probes && probes.answers());
        let of_cc = agreed.map(|probes| Probes::new(probes.inflates(), probes.repairs()));
        let of_verdict = self.reducer.copies_every().filter(|_| knows_probes).map(Probes::copies);
        self.probes = of_cc.or(of_verdict).map(Box::new);
    }

    /// Whether this end wants probe segments: for its congestion control, or to tell losses apart.
    pub(crate) fn wants_probes(&mut self) -> bool {
        self.cc.probe_segments().is_some() || self.reducer.copies_every().is_some()
    }

    /// Data transfer begins; `seed` is for what the congestion control chooses at random.
    pub(crate) fn begin(&mut self, now: Time, learnt: &Learnt, seed: u64, cx: &Context) {
        self.usage.last_sent = now;
        self.begin_size(cx);
        let init = Init {
            now,
            rtt: self.rtt.srtt(),
            seed,
            smss: self.space.smss(),
            has_probe_segments: self.probes.is_some(),
            ..Init::default()
        };
        self.cc = initial_cc(&cx.config, learnt, init, self.space.rwnd);
        self.is_paced = cx.config.pacing != Pacing::Off || self.cc.paces();
    }

    /// The handshake is complete; `syn_window`: no initial window is larger. `syn_was_lost`: RFC 5681 §3.1 wants one segment
    /// then, RFC 6298 §5.7 three seconds.
    pub(crate) fn on_established(&mut self, now: Time, syn_window: u64, syn_was_lost: bool, cx: &mut Context) {
        self.cc.limit_cwnd(syn_window);
        self.usage.in_slow_start = self.cc.cwnd() < self.cc.ssthresh();
        if self.board.flight_size() > 0 {
            // Early data that were sent before.
            self.rtt.arm(now, &mut cx.timers);
        }
        if syn_was_lost {
            self.cc.limit_cwnd(self.space.smss());
            self.rtt.after_lost_syn();
        }
    }

    /// Use segments of `smss` payload bytes from now on, also for what has to be retransmitted.
    pub(crate) fn set_smss(&mut self, smss: u32) {
        self.space.smss = smss.clamp(1, Config::SMSS_MAX);
        self.board.resegment(self.space.smss);
        if let (Some(rates), Some(first)) = (&mut self.rates, self.board.first()) {
            rates.forget(first);
        }
        let smss = self.space.smss();
        if let Some(undo) = &mut self.undo {
            undo.on_smss(smss);
        }
        self.cc.on_smss(smss);
    }

    pub(crate) fn measure_rates(&mut self) {
        self.rates.get_or_insert_with(Box::default);
        self.is_detailed = true;
        self.board.set_detail(self.detector.needs_detail() == Some(true));
    }

    /// Nothing more is sent.
    pub(crate) fn stop(&mut self, timers: &mut Timers) {
        timers.stop(Timer::Retransmit);
        timers.stop(Timer::Persist);
        self.detector.stop(timers);
    }
}

/// What a detector sees.
#[inline]
pub(super) fn view<'a>(
    now: Time,
    space: &'a SendSpace,
    episode: &'a Episode,
    rtt: &'a Rtt,
    cx: &'a mut Context,
) -> (View<'a>, &'a mut Timers) {
    (View { now, space, episode, rtt, config: &cx.config }, &mut cx.timers)
}

/// The congestion control at the start of data transfer.
fn initial_cc(config: &Config, learnt: &Learnt, begin: Init, rwnd: u64) -> Cc {
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
    if let Some(explicit) = crate::cc::explicit::instead(config.feedback, init) {
        return explicit.into();
    }
    match &config.own_cc {
        Some(own) => own.build(init, config.cc).into(),
        None => config.cc.build(init),
    }
}
