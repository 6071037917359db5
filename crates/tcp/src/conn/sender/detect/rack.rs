//! RACK-TLP (RFC 8985): a segment is lost if a later transmission arrived and a little time has passed since. If
//! nothing arrives at all, a probe asks for an ACK before the retransmission timer expires (`tlp`).

use super::tlp::Tlp;
use super::{
    AckFacts, Agreed, Config, Detect, Evidence, Finding, InOrderOfTime, Recovery, Repair, Scoreboard, Timers, View,
};
use crate::config::Rack;
use crate::conn::sender::episode::Phase;
use crate::conn::sender::scoreboard::{Delivered, Transmitted, DUP_THRESH};
use crate::conn::timers::Timer;
use bentpipe_units::{Duration, Time};

/// RFC 8985 §6.2 step 4: recoveries for which a window that reordering widened is kept.
const REO_WND_PERSIST: u32 = 16;

/// RACK: looks at when a segment was sent.
#[derive(Clone, Debug)]
pub(crate) struct ByTime {
    /// The transmission that was made last of those that arrived: RACK.xmit_ts, RACK.end_seq.
    last: Option<Transmitted>,
    /// RACK.rtt: its round-trip time.
    rtt: Duration,
    /// RACK.min_RTT.
    min_rtt: WindowedMin,
    /// RACK.fack: the highest sequence that arrived.
    fack: u64,
    /// RACK.reordering_seen.
    reordering_seen: bool,
    /// RACK.reo_wnd_mult: RACK.reo_wnd is this many quarters of the smallest round-trip time.
    reo_wnd_mult: u64,
    /// RACK.reo_wnd_persist.
    reo_wnd_persist: u32,
    /// RACK.dsack_round: a report of a duplicate counts once until this is acknowledged.
    dsack_round: Option<u64>,
    /// Repaired losses that are outstanding prove one.
    reenters: bool,
    /// Late data show reordering also where they were retransmitted.
    learns_from_undo: bool,
    /// The echo of an ACK also dates the data that it SACKs.
    has_sack_echo: bool,
    tlp: Tlp,
}

impl ByTime {
    pub(super) fn new(config: &Config, _: &Agreed) -> Self {
        let settings = if let Recovery::Rack(settings) = config.recovery { settings } else { Rack::default() };
        Self {
            last: None,
            rtt: Duration::ZERO,
            min_rtt: WindowedMin::new(settings.min_rtt_window),
            fack: 0,
            reordering_seen: false,
            reo_wnd_mult: 1,
            reo_wnd_persist: REO_WND_PERSIST,
            dsack_round: None,
            reenters: settings.reenter,
            learns_from_undo: settings.undo_shows_reordering,
            has_sack_echo: settings.sack_echo,
            tlp: Tlp::new(settings),
        }
    }

    /// RFC 8985 §6.2 step 4, RACK.rtt + RACK.reo_wnd: time from the departure of a segment until it is lost, if a later
    /// transmission arrived.
    fn timeout(&self, srtt: Option<Duration>, in_recovery: bool, sacked_segments: u64) -> Duration {
        if !self.reordering_seen && (in_recovery || sacked_segments >= DUP_THRESH) {
            return self.rtt;
        }
        let reo_wnd = self.min_rtt() * self.reo_wnd_mult / 4;
        self.rtt + reo_wnd.min(srtt.unwrap_or(reo_wnd))
    }

    /// Step 4: duplicates widen the window, one quarter a round trip; sixteen recoveries without narrow it.
    fn on_round(&mut self, una: u64, nxt: u64, has_dsack: bool, ends_recovery: bool) {
        if self.dsack_round.is_some_and(|round| una >= round) {
            self.dsack_round = None;
        }
        if self.dsack_round.is_none() && has_dsack {
            self.dsack_round = Some(nxt);
            self.reo_wnd_mult += 1;
            self.reo_wnd_persist = REO_WND_PERSIST;
        } else if ends_recovery {
            self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
            if self.reo_wnd_persist == 0 {
                self.reo_wnd_mult = 1;
            }
        }
    }

    /// Whether a probe is to be sent.
    #[inline]
    pub(super) fn has_probe(&self) -> bool {
        self.tlp.is_due()
    }

    /// New data left.
    #[inline]
    pub(super) fn after_new(&mut self, view: &View<'_>, board: &Scoreboard, timers: &mut Timers) {
        if !self.tlp.is_scheduled(view, board, timers) {
            self.tlp.schedule(view, board, timers);
        }
    }

    /// RFC 8985 §6.2 step 5.
    #[inline]
    fn detect_loss(&mut self, view: &View<'_>, board: &mut Scoreboard, timers: &mut Timers) -> Finding {
        timers.stop(Timer::Reorder);
        let is_further = self.last.filter(|&last| !board.all_left_after(last)).is_some_and(|last| {
            let in_recovery = view.episode.phase != Phase::Open;
            let timeout = self.timeout(view.rtt.srtt(), in_recovery, board.sacked_segments());
            let marked = board.mark(Evidence::SentBefore { now: view.now, last, timeout });
            timers.set(Timer::Reorder, marked.look_again);
            marked.bytes > 0
        });
        let is_proven = if self.reenters { board.has_lost() } else { board.has_unrepaired() };
        Finding { is_further, is_proven, ..Finding::default() }
    }
}

impl Detect for ByTime {
    fn find(&mut self, view: &View<'_>, facts: &AckFacts, board: &mut Scoreboard, timers: &mut Timers) -> Finding {
        let Delivered { newest, proven, original_end, end, .. } = *board.delivery();
        if let Some(newest) = newest.filter(|newest| !newest.is_retrans) {
            self.min_rtt.update(view.now, view.now - newest.xmit_ts);
            self.tlp.on_sample();
        }
        if let Some(proven) = proven {
            self.rtt = view.now - proven.xmit_ts;
            self.tlp.on_sample();
            if self.last.is_none_or(|last| proven.is_later(last.xmit_ts, last.end)) {
                self.last = Some(proven);
            }
        }
        // Step 3: data arrived after data that left later.
        let is_reordered = original_end < self.fack;
        self.reordering_seen |= is_reordered;
        self.fack = self.fack.max(end);
        self.on_round(view.space.una, view.space.nxt, facts.dsack.is_some(), facts.ends_recovery);
        Finding { is_reordered, ..self.detect_loss(view, board, timers) }
    }

    fn repair(&self) -> Repair {
        Repair::Selective
    }

    fn on_reorder_timer(&mut self, view: &View<'_>, board: &mut Scoreboard, timers: &mut Timers) -> Finding {
        let found = self.detect_loss(view, board, timers);
        Finding { is_proven: found.is_further && found.is_proven, ..found }
    }

    fn on_report(&mut self, end: u64) {
        self.tlp.on_report(end);
    }

    /// RFC 8985 §6.3: the first segment, and all overdue ones.
    fn on_timeout(&mut self, view: &View<'_>, forget_sacks: bool, board: &mut Scoreboard, timers: &mut Timers) {
        self.stop(timers);
        if forget_sacks {
            board.mark(Evidence::Everything { forget_sacks });
            return;
        }
        let timeout = self.timeout(view.rtt.srtt(), true, board.sacked_segments());
        // Before the first sample nothing is known of the flight.
        let timeout = if self.last.is_none() { Duration::ZERO } else { timeout };
        board.mark(Evidence::SentAgo { now: view.now, timeout });
    }

    /// Step 3 counts data that were never retransmitted. Linux (`tcp_try_undo_partial`) also counts the data of a partial ACK that
    /// came before their retransmission could; an undo by the last ACK, by duplicates or after a timeout does not count.
    fn on_late(&mut self) -> bool {
        self.reordering_seen |= self.learns_from_undo;
        self.learns_from_undo
    }

    fn on_recovery(&mut self, _: &mut Scoreboard, timers: &mut Timers) {
        self.tlp.stop(timers);
    }

    fn stop(&mut self, timers: &mut Timers) {
        timers.stop(Timer::Reorder);
        self.tlp.stop(timers);
    }

    fn first(&self, board: &mut Scoreboard) -> Option<u64> {
        board.next_lost()
    }

    fn needs_detail(&self) -> Option<InOrderOfTime> {
        Some(true)
    }

    fn min_rtt(&self) -> Duration {
        self.min_rtt.get().unwrap_or(Duration::ZERO)
    }

    fn has_sack_echo(&self) -> bool {
        self.has_sack_echo
    }

    fn after_ack(&mut self, view: &View<'_>, facts: &AckFacts, board: &Scoreboard, timers: &mut Timers) -> Option<u64> {
        let repaired = self.tlp.resolve(view.space.una, facts);
        if facts.newly_acked > 0 || board.delivery().bytes > 0 {
            self.tlp.schedule(view, board, timers);
        }
        repaired
    }

    fn on_probe_timer(&mut self) {
        self.tlp.on_timer();
    }

    fn take_probe(&mut self) -> bool {
        self.tlp.take_due()
    }

    fn on_probe_sent(&mut self, end: u64, is_retrans: bool, timers: &mut Timers) {
        self.tlp.on_sent(end, is_retrans, timers);
    }
}

/// The smallest value of a span of time, from three candidates: exact while the minimum lasts, at most half a span late
/// in forgetting it.
#[derive(Clone, Debug)]
pub(super) struct WindowedMin {
    span: Duration,
    /// The smallest, and the smallest since then, and since that; in order of time.
    best: [Option<(Time, Duration)>; 3],
}

impl WindowedMin {
    pub(super) fn new(span: Duration) -> Self {
        Self { span, best: [None; 3] }
    }

    pub(super) fn get(&self) -> Option<Duration> {
        self.best[0].map(|(_, value)| value)
    }

    pub(super) fn update(&mut self, now: Time, value: Duration) {
        let new = Some((now, value));
        let is_below = |candidate: Option<(Time, Duration)>| candidate.is_none_or(|(_, least)| value <= least);
        let is_old = |candidate: Option<(Time, Duration)>, span: Duration| {
            candidate.is_none_or(|(at, _)| now.saturating_since(at) > span)
        };
        if is_below(self.best[0]) || is_old(self.best[2], self.span) {
            self.best = [new; 3];
            return;
        }
        if is_below(self.best[1]) {
            (self.best[1], self.best[2]) = (new, new);
        } else if is_below(self.best[2]) {
            self.best[2] = new;
        }
        if is_old(self.best[0], self.span) {
            self.best = [self.best[1], self.best[2], new];
        } else if self.best[1].map(|b| b.0) == self.best[0].map(|b| b.0) && is_old(self.best[1], self.span / 4) {
            (self.best[1], self.best[2]) = (new, new);
        } else if self.best[2].map(|b| b.0) == self.best[1].map(|b| b.0) && is_old(self.best[2], self.span / 2) {
            self.best[2] = new;
        }
    }
}
