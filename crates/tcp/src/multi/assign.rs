//! Which data a subflow is given, and when: reinjected ones first, then new ones, or copies; and the timers for that.

use super::life::MultiPhase;
use super::subflows::Stage;
use super::{Choice, Meta, MultiEvent, PathView, ReinjectOn, Subflows};
use crate::Backlog;
use bentpipe_units::{Duration, Time};

/// A carrier of data that block the receive window is slower by this factor, or has a window of so few segments, if another
/// subflow carries them too.
const SLOWER: u64 = 4;
const FEW: u64 = 4;

/// Data timers that expire until a subflow counts as failed (Linux, `stale_loss_cnt`).
const SILENT_MAX: u32 = 4;
/// The data timer, if no subflow has a timeout (Linux, `TCP_RTO_MIN`).
const INTERVAL_MIN: Duration = Duration::from_millis(200);

impl Meta {
    /// Gives a segment to a subflow, if one can send it now. Returns the subflow.
    pub(super) fn assign<S: Subflows + ?Sized>(&mut self, now: Time, subflows: &mut S) -> Option<usize> {
        match self.phase {
            MultiPhase::Open => {}
            MultiPhase::Plain => return self.assign_plain(now, subflows),
            _ => return None,
        }
        let has_new = self.sender.unsent() > 0;
        self.tell_backlog(subflows);
        let repeats = self.scheduler.repeats() && self.sender.una < self.sender.nxt;
        if !has_new && !repeats && self.sender.reinject.is_empty() {
            return None;
        }
        self.look(now, repeats, subflows);
        if let Some(given) = self.assign_reinjected(subflows) {
            return Some(given);
        }
        let len = self.largest_new();
        if len == 0 && has_new {
            self.await_window(now, subflows);
        } else if has_new {
            self.note_limited(now, subflows);
        }
        if len > 0 || repeats {
            return self.assign_chosen(now, subflows);
        }
        if has_new && self.config.reinject.opportunistic {
            return self.assign_blocking(now, subflows);
        }
        None
    }

    /// After fallback, the first subflow gets everything at once.
    fn assign_plain<S: Subflows + ?Sized>(&mut self, now: Time, subflows: &mut S) -> Option<usize> {
        let unsent = self.sender.unsent();
        if unsent == 0 {
            return None;
        }
        self.sender.take_new(unsent);
        subflows.connection(0).offer(unsent);
        self.advance_close(now, subflows);
        Some(0)
    }

    /// The subflows hear whether more data wait above than they were given. Where none come any more, they may retransmit instead.
    fn tell_backlog<S: Subflows + ?Sized>(&mut self, subflows: &mut S) {
        let waits = self.sender.unsent() > 0;
        let is_open = self.view.paths.is_empty() || self.largest_new() > 0;
        let comes = !self.sender.reinject.is_empty() || (waits && is_open);
        let backlog = match (comes, waits) {
            (true, _) => Backlog::Comes,
            (false, true) => Backlog::Held,
            (false, false) => Backlog::None,
        };
        let before = std::mem::replace(&mut self.backlog, backlog);
        for i in (0..self.subflows.len()).filter(|_| before != backlog) {
            subflows.connection(i).set_backlog(backlog);
            if before == Backlog::Comes {
                self.outbox.touch(i);
            }
        }
    }

    /// Bytes of new data that the largest segment of any subflow takes now.
    fn largest_new(&self) -> u64 {
        let smss = self.view.paths.iter().map(|path| path.smss).max().unwrap_or(0);
        self.sender.next_len(smss)
    }

    /// Looks at all subflows.
    fn look<S: Subflows + ?Sized>(&mut self, now: Time, repeats: bool, subflows: &mut S) {
        let has_regular = self.subflows.iter().any(|subflow| subflow.is_alive() && !subflow.facts.is_backup);
        self.view.now = now;
        self.view.window = self.sender.edge.saturating_sub(self.sender.una);
        self.view.room = self.sender.usable();
        self.view.unsent = self.sender.unsent();
        self.view.opportunistic = self.counters.opportunistic;
        self.view.paths.resize(self.subflows.len(), PathView::default());
        let fills = self.scheduler.fills_buffers();
        for (i, subflow) in self.subflows.iter().enumerate() {
            let conn = subflows.connection(i);
            let is_regular = !subflow.facts.is_backup || !has_regular;
            let is_usable = subflow.is_alive() && is_regular && conn.report().takes_data();
            let smss = conn.report().next_segment();
            let needed = if self.view.unsent > 0 { smss.min(self.view.unsent) } else { smss };
            let has_room = is_usable && conn.room(now) >= needed;
            let srtt = conn.report().srtt().unwrap_or(Duration::ZERO);
            let may_repeat = repeats && (has_room || fills);
            self.view.paths[i] = PathView {
                is_usable,
                has_room,
                can_repeat: false,
                srtt,
                rttvar: conn.report().rttvar(),
                srtt_min: subflow.srtt_min.min(srtt),
                srtt_max: subflow.srtt_max.max(srtt),
                cwnd: conn.cwnd(),
                flight: conn.flight_size(),
                queued: conn.report().unsent_bytes(),
                buffer: conn.report().buffer_room(),
                smss,
                pacing_rate: conn.report().pacing_rate(),
                is_starting: subflow.losses[1] == 0 && conn.ssthresh().is_none_or(|ssthresh| conn.cwnd() < ssthresh),
            };
            if may_repeat {
                self.view.paths[i].can_repeat = self.first_lacking(i, subflows).is_some();
            }
        }
    }

    /// New data wait: congestion windows without room for them are a limit.
    fn note_limited<S: Subflows + ?Sized>(&mut self, now: Time, subflows: &mut S) {
        for (i, path) in self.view.paths.iter().enumerate().filter(|(_, path)| path.is_usable && !path.has_room) {
            subflows.connection(i).note_limited(now, path.smss.min(self.view.unsent));
        }
    }

    /// The first data outstanding that subflow `i` does not carry, at most a segment.
    pub(super) fn first_lacking<S: Subflows + ?Sized>(&self, i: usize, subflows: &mut S) -> Option<(u64, u64)> {
        let conn = subflows.connection(i);
        let (start, next) = conn.report().mapped()?.lacks(self.sender.una);
        let end = self.sender.nxt.min(start + conn.report().smss()).min(next);
        (start < end).then_some((start, end))
    }

    /// Gives the first range that waits for reinjection to the fastest subflow that does not carry it.
    fn assign_reinjected<S: Subflows + ?Sized>(&mut self, subflows: &mut S) -> Option<usize> {
        for at in 0..self.sender.reinject.len() {
            let (start, end) = self.sender.reinject[at];
            let mut best: Option<usize> = None;
            for (i, path) in self.view.paths.iter().enumerate().filter(|(_, path)| path.is_ready()) {
                let is_faster = best.is_none_or(|best| path.srtt < self.view.paths[best].srtt);
                if is_faster && !subflows.connection(i).report().carries(start, end.min(start + path.smss)) {
                    best = Some(i);
                }
            }
            if let Some(i) = best {
                let end = end.min(start + self.view.paths[i].smss);
                self.sender.take_reinjected(at, end);
                self.give_again(i, start, end, subflows);
                return Some(i);
            }
        }
        None
    }

    /// Gives data to the subflow that the scheduler chooses, and returns this subflow.
    fn assign_chosen<S: Subflows + ?Sized>(&mut self, now: Time, subflows: &mut S) -> Option<usize> {
        match self.scheduler.choose(&self.view) {
            Choice::Wait => None,
            Choice::Repeat(i) => {
                self.view.paths.get(i).filter(|path| path.is_usable)?;
                let (start, end) = self.first_lacking(i, subflows)?;
                self.give_again(i, start, end, subflows);
                Some(i)
            }
            Choice::Send(i) => {
                let path = self.view.paths.get(i).filter(|path| path.is_usable)?;
                let len = self.sender.next_len(path.smss);
                if len == 0 {
                    return None;
                }
                let dsn = self.sender.take_new(len);
                let conn = subflows.connection(i);
                // MP_CAPABLE in place of the signal has no DATA_FIN (RFC 8684 §3.1).
                self.sender.fin_is_mapped &= !(dsn == 0 && conn.report().repeats_keys());
                conn.offer_mapped(dsn, len);
                self.last = i;
                if self.timers.data == Time::NEVER {
                    self.restart_data_timer(now, subflows);
                }
                if self.sender.unsent() == 0 {
                    self.tell_backlog(subflows);
                    self.advance_close(now, subflows);
                }
                Some(i)
            }
        }
    }

    /// Gives the data that block the full receive window to the fastest subflow with room, if the subflow that carries
    /// them is much slower. The window of the slower subflow is halved (C. Raiciu et al. 2012, §4.2).
    fn assign_blocking<S: Subflows + ?Sized>(&mut self, now: Time, subflows: &mut S) -> Option<usize> {
        let i = self.view.fastest(PathView::is_ready)?;
        let (start, end, carrier) = self.awaited(subflows)?;
        let (mine, theirs) = (self.view.paths[i], self.view.paths[carrier]);
        let is_slower =
            theirs.srtt > mine.srtt && (theirs.cwnd <= FEW * theirs.smss || theirs.srtt > mine.srtt * SLOWER);
        let end = end.min(start + mine.smss);
        if i == carrier || !is_slower || subflows.connection(i).report().carries(start, end) {
            return None;
        }
        self.counters.opportunistic += 1;
        self.give_again(i, start, end, subflows);
        let rest = |since: Time| now.saturating_since(since) >= mine.srtt;
        let is_due = self.subflows[carrier].penalised.is_none_or(rest);
        if self.config.reinject.penalise && is_due && subflows.connection(carrier).penalise() {
            self.subflows[carrier].penalised = Some(now);
            self.counters.penalties += 1;
            self.outbox.report(MultiEvent::Penalised(carrier));
        }
        Some(i)
    }

    /// Subflow `i` carries the data [start, end), too.
    fn give_again<S: Subflows + ?Sized>(&mut self, i: usize, start: u64, end: u64, subflows: &mut S) {
        let from = (0..self.subflows.len())
            .find(|&other| other != i && subflows.connection(other).report().carries(start, end));
        let len = end - start;
        subflows.connection(i).offer_mapped(start, len);
        self.counters.reinjected_bytes += len;
        self.subflows[i].facts.reinjected_bytes += len;
        self.last = i;
        self.outbox.report(MultiEvent::Reinjected { dsn: start, len, from, to: i });
    }

    /// Subflow `i` does not deliver: the data that it carries go to others, in order, once. It gets no more until it answers.
    pub(super) fn fail<S: Subflows + ?Sized>(&mut self, i: usize, subflows: &mut S) {
        if self.phase != MultiPhase::Open || self.subflows[i].stage != Stage::Open {
            return;
        }
        if !std::mem::replace(&mut self.subflows[i].facts.is_failed, true) {
            self.subflows[i].facts.failures += 1;
            self.outbox.report(MultiEvent::Failed(i));
        }
        self.strand(i, subflows);
    }

    /// The data of subflow `i` are to be carried by others.
    pub(super) fn strand<S: Subflows + ?Sized>(&mut self, i: usize, subflows: &mut S) {
        let mut stranded = std::mem::take(&mut self.stranded);
        subflows.connection(i).take_stranded(self.sender.una, &mut stranded);
        stranded.drain(..).for_each(|(start, end)| self.sender.push(start, end));
        self.stranded = stranded;
    }
}

/// Timers.
impl Meta {
    /// The receive window allows nothing. If nothing is outstanding that would bring news of it, it is probed.
    fn await_window<S: Subflows + ?Sized>(&mut self, now: Time, subflows: &mut S) {
        let is_idle = self.sender.una == self.sender.nxt;
        if is_idle && self.timers.probe == Time::NEVER {
            let delay = subflows.connection(self.last).report().probe_delay(self.timers.probe_backoff);
            self.timers.probe = now + delay;
        }
    }

    /// The subflow that was used last asks for the window (RFC 9293 §3.8.6.1); if it does not deliver, the next one.
    pub(super) fn probe<S: Subflows + ?Sized>(&mut self, now: Time, subflows: &mut S) {
        self.timers.probe = Time::NEVER;
        if self.phase != MultiPhase::Open || self.sender.unsent() == 0 {
            return;
        }
        if self.sender.usable() > 0 {
            self.sender.may_be_small = true;
            return;
        }
        if let Some(i) = self.messenger(subflows) {
            self.counters.window_probes += 1;
            self.last = i;
            subflows.connection(i).probe_window();
            self.outbox.touch(i);
        }
        self.timers.probe_backoff = (self.timers.probe_backoff * 2).min(1024);
        self.timers.probe = now + subflows.connection(self.last).report().probe_delay(self.timers.probe_backoff);
    }

    /// The subflow for a segment without data: the one used last, or another if that does not deliver.
    pub(super) fn messenger<S: Subflows + ?Sized>(&self, subflows: &mut S) -> Option<usize> {
        let is_open = |i: &usize| self.subflows[*i].stage == Stage::Open;
        let is_alive =
            |i: &usize, subflows: &mut S| self.subflows[*i].is_alive() && subflows.connection(*i).report().is_subflow();
        let n = self.subflows.len();
        let all = || std::iter::once(self.last).chain(0..n);
        all().find(|i| is_alive(i, subflows)).or_else(|| all().find(is_open))
    }

    /// The interval is the longest timeout of the subflows that carry something and have answered since the last one, as in Linux.
    pub(super) fn restart_data_timer<S: Subflows + ?Sized>(&mut self, now: Time, subflows: &mut S) {
        if self.config.reinject.on != ReinjectOn::DataTimer {
            return;
        }
        let mut interval = INTERVAL_MIN;
        for (i, subflow) in self.subflows.iter().enumerate() {
            let conn = subflows.connection(i);
            let carries = conn.flight_size() + conn.report().unsent_bytes() > 0;
            if subflow.stage == Stage::Open && carries && subflow.silent == 0 {
                interval = interval.max(conn.report().rto());
            }
        }
        let is_outstanding = self.sender.una < self.sender.nxt;
        self.timers.data = if is_outstanding { now + interval } else { Time::NEVER };
    }

    /// Nothing of the data was acknowledged for an interval (Linux, `__mptcp_retrans` and `mptcp_pm_subflow_chk_stale`).
    pub(super) fn on_data_timer<S: Subflows + ?Sized>(&mut self, now: Time, subflows: &mut S) {
        self.timers.data = Time::NEVER;
        for i in 0..self.subflows.len() {
            if self.subflows[i].is_alive() && subflows.connection(i).flight_size() > 0 {
                self.subflows[i].silent += 1;
                let has_other = (0..self.subflows.len()).any(|other| other != i && self.subflows[other].is_alive());
                if self.subflows[i].silent >= SILENT_MAX && has_other {
                    self.fail(i, subflows);
                }
            }
        }
        let idle = (0..self.subflows.len()).find(|&i| {
            self.subflows[i].is_alive()
                && subflows.connection(i).report().takes_data()
                && subflows.connection(i).flight_size() == 0
        });
        if let Some((start, end, _)) = self.awaited(subflows).filter(|_| idle.is_some()) {
            let smss = idle.map_or(0, |i| subflows.connection(i).report().smss());
            self.sender.push(start, end.min(start + smss));
        }
        self.restart_data_timer(now, subflows);
    }
}
