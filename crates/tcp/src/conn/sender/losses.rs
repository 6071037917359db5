//! Losses: their detection, the episode that repairs them, and its undo. Decides which data may leave during an
//! episode; the sender passes the facts of the other parts.

use super::ack::{AckFacts, SackRanges};
use super::detect::{Detector, Finding, Repair, View};
use super::episode::{Episode, Phase};
use super::prr::{Prr, PrrAck};
use super::rtt::Rtt;
use super::scoreboard::Scoreboard;
use super::space::SendSpace;
use super::undo::Undo;
use crate::config::{Config, GiveUp, Recovery, Reduction, SackOnRto, SpuriousDetection};
use crate::conn::context::Context;
use crate::conn::timers::{Timer, Timers};
use bentpipe_cc::{Cc, CongestionControl};
use bentpipe_units::Time;

/// Known losses and their repair.
#[derive(Clone, Debug)]
pub(crate) struct Losses {
    pub(super) episode: Episode,
    pub(super) detector: Detector,
    pub(super) undo: Option<Box<Undo>>,
    /// When the oldest data outstanding were first retransmitted.
    first_retransmit: Time,
}

impl Losses {
    /// Before the SYNs.
    pub(super) fn new(cx: &Context) -> Self {
        let config = &*cx.config;
        let may_undo = config.spurious_detection != SpuriousDetection::Off || config.heeds_notices();
        Self {
            episode: Episode::default(),
            detector: Detector::of(config, &cx.agreed),
            undo: may_undo.then(|| Box::new(Undo::new())),
            first_retransmit: Time::NEVER,
        }
    }

    /// Returns a detector's view, and the timers that it may set.
    #[inline]
    pub(super) fn view<'a>(
        episode: &'a Episode,
        now: Time,
        space: &'a SendSpace,
        rtt: &'a Rtt,
        cx: &'a mut Context,
    ) -> (View<'a>, &'a mut Timers) {
        (View { now, space, episode, rtt, config: &cx.config }, &mut cx.timers)
    }

    /// Passes an ACK to the detector.
    #[inline]
    pub(super) fn find(
        &mut self,
        now: Time,
        facts: &AckFacts,
        space: &SendSpace,
        rtt: &Rtt,
        board: &mut Scoreboard,
        cx: &mut Context,
    ) -> Finding {
        if !self.episode.phase.is_recovery() && self.detector.is_duplicate(facts) {
            self.episode.dupacks = self.episode.dupacks.saturating_add(1);
        }
        let (view, timers) = Self::view(&self.episode, now, space, rtt, cx);
        let finding = self.detector.find(&view, facts, board, timers);
        cx.counters.reorderings += u32::from(finding.is_reordered);
        finding
    }

    /// Whether a finding may begin recovery, unless the detector is against it.
    #[inline]
    pub(super) fn may_begin(&self, finding: &Finding) -> bool {
        finding.is_proven && !self.episode.phase.is_recovery() && !self.is_held_by_frto()
    }

    /// The connection is over.
    pub(crate) fn stop(&mut self, timers: &mut Timers) {
        self.detector.stop(timers);
    }

    /// Whether losses are being repaired.
    pub(crate) fn is_repairing(&self) -> bool {
        self.episode.phase != Phase::Open
    }

    /// When the retransmission timer was started, or the last partial ACK came, before it expired.
    pub(crate) fn stalled_since(&self) -> Option<Time> {
        self.episode.stalled_since
    }

    /// The window that is `cwnd`, or falls in proportion.
    #[inline]
    pub(crate) fn falling(&self, cwnd: u64) -> u64 {
        self.episode.prr.as_ref().map_or(cwnd, |prr| prr.window())
    }

    /// Whether there is an episode that ACKs may show to be spurious.
    #[inline]
    pub(super) fn can_undo(&self) -> bool {
        self.undo.as_ref().is_some_and(|undo| undo.has_saved())
    }

    /// Whether F-RTO holds back what the timeout declared lost.
    #[inline]
    pub(super) fn is_held_by_frto(&self) -> bool {
        self.undo.as_ref().is_some_and(|undo| undo.holds_back())
    }

    /// New segments that fast recovery may send in answer to one ACK.
    pub(super) fn burst(&self) -> u32 {
        self.detector.newreno().map_or(u32::MAX, |options| options.burst())
    }

    /// Returns the reports of the ACK that follows; none after a timeout, if the configuration ignores them then.
    #[inline]
    pub(crate) fn read_reports(&mut self, sacked: SackRanges, config: &Config) -> Option<SackRanges> {
        let ignores = matches!(config.recovery, Recovery::Sack { on_rto: SackOnRto::Ignore, .. });
        if ignores && self.episode.phase == Phase::Loss {
            self.detector.ignore(sacked.as_slice());
            return None;
        }
        Some(sacked)
    }

    /// An ACK was entered, and advances with `newly_acked` bytes or not: a window that falls in proportion moves.
    #[inline]
    pub(super) fn end_ack(&mut self, newly_acked: u64, is_further: bool, smss: u64, board: &Scoreboard) {
        if let Some(prr) = &mut self.episode.prr {
            prr.on_ack(&PrrAck {
                delivered: board.delivery().bytes,
                pipe: board.pipe(),
                is_safe: newly_acked > 0 && !is_further,
                smss,
            });
        }
    }

    /// The cumulative ACK advanced: whether no losses are being repaired.
    #[inline]
    pub(super) fn begin_advance(&mut self) -> bool {
        self.episode.dupacks = 0;
        self.episode.limited_bytes = 0;
        self.episode.phase == Phase::Open
    }

    /// New data were acknowledged.
    #[inline(always)]
    pub(super) fn on_new_ack(&mut self, una: u64, rtt: &mut Rtt) {
        self.first_retransmit = Time::NEVER;
        if let Some(undo) = &mut self.undo {
            undo.before_sample(una, rtt);
        }
    }

    /// Data are retransmitted.
    pub(super) fn note_retransmission(&mut self, now: Time) {
        self.first_retransmit = self.first_retransmit.min(now);
    }

    /// The window falls as data are delivered, not at once (RFC 9937), from `flight` on, of which `sacked` has arrived.
    pub(super) fn reduce_in_proportion(
        &mut self,
        [flight, sacked]: [u64; 2],
        smss: u64,
        board: &Scoreboard,
        cc: &Cc,
        config: &Config,
    ) {
        if config.reduction == Reduction::AtOnce || !self.episode.is_reduced || cc.is_model_based() {
            return;
        }
        let arrived = [sacked, board.delivery().bytes];
        let mut prr = Prr::new(config.reduction, cc.ssthresh(), flight, arrived, smss);
        prr.allow(board.pipe() + smss);
        self.episode.prr = Some(Box::new(prr));
    }

    /// The retransmission timer expired: whether the connection is to be given up.
    pub(super) fn must_give_up(&self, now: Time, board: &Scoreboard, give_up: GiveUp) -> bool {
        match give_up {
            GiveUp::Never => false,
            GiveUp::AfterRetransmissions(most) => board.sent.first_retransmits() >= most,
            GiveUp::AfterTime(longest) => now.saturating_since(self.first_retransmit) >= longest,
        }
    }

    /// Returns an instant before which [`must_give_up`](Self::must_give_up) stays false. Nothing is due before `now`.
    pub(crate) fn gives_up_from(&self, now: Time, has_feedback: bool, rtt: &Rtt, cx: &Context) -> Time {
        match cx.config.give_up {
            GiveUp::Never => Time::NEVER,
            GiveUp::AfterTime(longest) => self.first_retransmit.min(now) + longest,
            // Feedback of the network may set any timeout.
            GiveUp::AfterRetransmissions(_) if has_feedback => now,
            GiveUp::AfterRetransmissions(_) => cx.timers.get(Timer::Retransmit).min(rtt.least_expiry(now)),
        }
    }
}

/// Room in the windows, while losses are repaired or not.
impl Losses {
    /// Returns the window in the slow start after a timeout, with the addition of limited transmit.
    pub(super) fn window_in_loss(&self, cwnd: u64, smss: u64, config: &Config) -> u64 {
        let dupacks = self.episode.dupacks;
        // Later ones add nothing to the third.
        let adds = config.limited_retransmit && config.limited_transmit && dupacks <= 2;
        let adding = if adds { dupacks.saturating_sub(u32::from(self.episode.dupacks_before)) } else { 0 };
        cwnd + u64::from(adding) * smss
    }

    /// Whether `len` new bytes fit the congestion window.
    #[inline(always)]
    pub(super) fn fits(&mut self, len: u64, cwnd: u64, smss: u64, board: &Scoreboard, cx: &Context) -> bool {
        if self.episode.phase == Phase::Open && self.episode.dupacks == 0 {
            return board.pipe() + len <= cwnd;
        }
        self.fits_in_episode(len, cwnd, smss, board, cx)
    }

    /// The same after duplicate ACKs and while losses are repaired.
    #[inline(never)]
    fn fits_in_episode(&mut self, len: u64, cwnd: u64, smss: u64, board: &Scoreboard, cx: &Context) -> bool {
        if self.episode.phase == Phase::Open {
            let (flight, allowance) = self.limited_transmit(smss, board, cx);
            let fits = flight + len <= cwnd + allowance;
            if fits && board.flight_size() + len > cwnd {
                self.episode.limited_bytes += len;
            }
            return fits;
        }
        let episode = &mut self.episode;
        match episode.phase {
            // Compared by the caller, or above.
            Phase::Selective | Phase::Snack | Phase::Open => true,
            Phase::Fast => {
                let window = cwnd.saturating_add_signed(episode.inflation).max(smss);
                let fits = episode.burst_left > 0 && board.flight_size() + len <= window;
                episode.burst_left -= u32::from(fits);
                fits
            }
            Phase::Loss => board.pipe() + len <= self.window_in_loss(cwnd, smss, &cx.config),
        }
    }

    /// Returns the data in flight after duplicate ACKs, and the bytes that limited transmit adds to the window.
    /// RFC 3042: one new segment for each of the first two duplicate ACKs. With SACK, reported data have left the pipe,
    /// which gives the same, unless ACKs are counted.
    fn limited_transmit(&self, smss: u64, board: &Scoreboard, cx: &Context) -> (u64, u64) {
        let dupacks = u64::from(self.episode.dupacks);
        let counts_data = cx.agreed.sack && !self.detector.counts_acks();
        match (cx.config.limited_transmit, counts_data) {
            (true, true) => (board.pipe(), 0),
            (true, false) => (board.flight_size(), if dupacks <= 2 { dupacks * smss } else { 0 }),
            (false, _) => (board.flight_size(), 0),
        }
    }

    /// Whether recovery by SACK has room for a segment of `smss` bytes.
    pub(super) fn has_room(&self, cwnd: u64, smss: u64, board: &Scoreboard) -> bool {
        let pipe = self.detector.pipe(board);
        match &self.episode.prr {
            // In whole segments, rounded up.
            Some(prr) => pipe < prr.window(),
            None => pipe + smss <= cwnd,
        }
    }

    /// Returns what the congestion window `cwnd` leaves for new data.
    pub(super) fn window_for_new(&self, cwnd: u64, smss: u64, board: &Scoreboard, cx: &Context) -> u64 {
        let episode = &self.episode;
        // Retransmissions leave before.
        let first = if episode.retransmits_first { smss } else { 0 };
        let before = board.unrepaired_bytes().max(first);
        if self.detector.repair() == Repair::AtOnce {
            return cwnd.saturating_sub(self.in_flight(board));
        }
        match episode.phase {
            Phase::Selective => {
                let pipe = self.detector.pipe(board) + before;
                match &episode.prr {
                    Some(prr) if pipe < prr.window() => (prr.window() - pipe).max(smss),
                    Some(_) => 0,
                    // RFC 6675 §5, step C: a full segment has to fit, even if the next one is smaller.
                    None if pipe + smss > cwnd => 0,
                    None => cwnd - pipe,
                }
            }
            Phase::Fast if episode.burst_left == 0 => 0,
            Phase::Fast => {
                cwnd.saturating_add_signed(episode.inflation).max(smss).saturating_sub(board.flight_size() + first)
            }
            Phase::Loss => self.window_in_loss(cwnd, smss, &cx.config).saturating_sub(board.pipe() + before),
            Phase::Open if episode.dupacks > 0 => {
                let (flight, allowance) = self.limited_transmit(smss, board, cx);
                (cwnd + allowance).saturating_sub(flight)
            }
            Phase::Open | Phase::Snack => cwnd.saturating_sub(board.pipe() + before),
        }
    }

    /// FlightSize as RFC 5681 eq. (4) means it, without the data that limited transmit added (RFC 3042 §2).
    ///
    /// DEVIATION: RFC 5681 §2 counts all data not yet cumulatively acknowledged. In fast recovery most of that has left
    /// the network, as each duplicate or selective ACK shows, and new data has taken its place. A timeout would set
    /// ssthresh to a multiple of the path, and slow start would overshoot again without end. So it counts at most as
    /// the window that recovery allows in the network.
    #[inline]
    pub(super) fn flight_to_halve(&self, flight_size: u64, cwnd: u64, has_snack: bool) -> u64 {
        let flight_size = flight_size.saturating_sub(self.episode.limited_bytes);
        if self.episode.phase.is_recovery() || has_snack {
            flight_size.min(cwnd)
        } else {
            flight_size
        }
    }

    /// Bytes in the network, for controllers and rate samples: pipe, without the data that duplicate ACKs without SACK show to have
    /// arrived.
    #[inline]
    pub(crate) fn in_flight(&self, board: &Scoreboard) -> u64 {
        let beyond = match self.detector.delivered_beyond() {
            Some(delivered) => delivered,
            // The inflation of the window is that data.
            None if self.episode.phase == Phase::Fast => self.episode.inflation.max(0) as u64,
            None => 0,
        };
        board.pipe().saturating_sub(beyond)
    }

    /// FlightSize.
    ///
    /// DEVIATION: RFC 5681 §2 counts all data not yet cumulatively acknowledged. After a timeout what was not retransmitted yet
    /// does not count here: it is taken for lost, as if SND.NXT had gone back to it.
    #[inline]
    pub(super) fn outstanding(&self, board: &Scoreboard) -> u64 {
        if self.episode.phase == Phase::Loss {
            board.pipe()
        } else {
            board.flight_size()
        }
    }
}
