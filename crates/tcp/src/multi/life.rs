//! Opening and closing of a multipath connection, joining and leaving of its subflows, and fallback to TCP.

use super::coupling::has_reno_window;
use super::receiver::DataReceiver;
use super::subflows::{Repeated, Stage, Subflow};
use super::{Coupling, Meta, MultiEvent, ReinjectOn, Subflows};
use crate::conn::agreed::window_shift;
use crate::{Backlog, State};
use crate::{Dss, Flags, Multipath, ResetReason, Role, Segment, SubflowReset};
use bentpipe_units::{Duration, Time};

/// Phase of a multipath connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MultiPhase {
    Closed,
    Opening,
    Open,
    /// Plain TCP over the first subflow.
    Plain,
    Ended,
}

/// The subflow is no longer available.
const GONE: SubflowReset = SubflowReset::permanent(ResetReason::Unspecified);

/// Time until a connection without open subflows ends (Linux, `mptcp.close_timeout`).
const LONELY: Duration = Duration::from_secs(60);

/// The application and the path manager.
impl Meta {
    /// Start: the active end opens the first subflow, and the others at their time; the passive end waits for all of them.
    pub fn open<S: Subflows + ?Sized>(&mut self, now: Time, subflows: &mut S) {
        if self.phase != MultiPhase::Closed || self.subflows.is_empty() {
            return;
        }
        self.phase = MultiPhase::Opening;
        let n = self.subflows.len();
        let are_reno = (0..n).all(|i| has_reno_window(subflows.connection(i).report().config()));
        self.coupling = self.config.coupling.among(are_reno);
        self.shift = window_shift(self.config.receive_buffer);
        let reads_at_once = self.receiver.reads_at_once();
        self.receiver = DataReceiver::new(&self.config, subflows.connection(0).report().smss() as u32);
        self.receiver.set_reads_at_once(reads_at_once);
        for i in 0..n {
            self.prepare(i, subflows);
            match self.role {
                Role::Active if i > 0 => self.subflows[i].plan(now),
                _ => self.begin(now, i, subflows),
            }
        }
    }

    /// Opens subflow `i`. If its connection was used, another one is needed first ([`MultiEvent::Rejoins`]). A subflow that is open is
    /// left alone. The passive end waits for the peer, and offers it the address (ADD_ADDR).
    pub fn join<S: Subflows + ?Sized>(&mut self, now: Time, i: usize, subflows: &mut S) {
        let is_early = match self.phase {
            MultiPhase::Closed | MultiPhase::Opening => true,
            MultiPhase::Open => !self.is_confirmed,
            MultiPhase::Plain | MultiPhase::Ended => false,
        };
        if is_early && self.role == Role::Active && i > 0 {
            self.subflows[i].stage = Stage::Planned(now);
        } else if !is_early && self.await_join(now, i, subflows) {
            if self.role == Role::Passive {
                self.subflows[i].offer = Some(Repeated::new(now));
                self.repeat_due(now, subflows);
            }
        } else if self.role == Role::Active && self.is_wanted() && self.subflows[i].is_away() {
            self.outbox.report(MultiEvent::Rejoins(i));
        }
    }

    /// Opens subflow `i` over its new connection, as [`join`](Self::join) does, but the passive end offers no address: the peer
    /// joins already. Returns false if the connection was used, or the subflow may not join.
    pub fn await_join<S: Subflows + ?Sized>(&mut self, now: Time, i: usize, subflows: &mut S) -> bool {
        let may_join = self.phase == MultiPhase::Open && super::is_fresh(subflows.connection(i));
        if may_join {
            self.prepare(i, subflows);
            self.begin(now, i, subflows);
        }
        may_join
    }

    /// Gives up what is left of subflow `i` at this end: the peer joins over another connection in its place. It may still have a
    /// reset to send.
    pub fn make_way<S: Subflows + ?Sized>(&mut self, now: Time, i: usize, subflows: &mut S) {
        if !self.subflows[i].is_away() {
            self.drop_subflow(now, i, SubflowReset::SILENT, subflows);
        }
    }

    /// Whether the peer may join with another subflow: there are data, or may be.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        self.phase == MultiPhase::Open && !(self.sender.is_finished() && self.receiver.is_finished())
    }

    /// Takes subflow `i` out of use; other subflows carry later data. If its path works, a FIN follows the data that it was given
    /// (RFC 8684 §3.4.2). If this end has lost its address (`is_lost`), others carry those data, too. Then the peer hears of it over
    /// another subflow (REMOVE_ADDR), and by a reset, if that arrives.
    pub fn withdraw<S: Subflows + ?Sized>(&mut self, now: Time, i: usize, is_lost: bool, subflows: &mut S) {
        match self.subflows[i].stage {
            Stage::Planned(_) => self.subflows[i].stage = Stage::Planned(Time::NEVER),
            Stage::Opening | Stage::Open if self.phase != MultiPhase::Plain && is_lost => {
                self.tell_by_other(i, Multipath::RemoveAddress(i as u8), subflows);
                self.drop_subflow(now, i, GONE, subflows);
            }
            Stage::Opening | Stage::Open if self.phase != MultiPhase::Plain => {
                self.subflows[i].is_leaving = true;
                self.finish(i, subflows);
            }
            _ => {}
        }
    }

    /// Makes subflow `i` a backup or a regular subflow. A backup is used only if no other subflow is usable. MP_PRIO
    /// requests the same from the peer.
    pub fn set_backup<S: Subflows + ?Sized>(&mut self, i: usize, is_backup: bool, subflows: &mut S) {
        if std::mem::replace(&mut self.subflows[i].facts.is_backup, is_backup) != is_backup {
            subflows.connection(i).tell(Multipath::Priority { is_backup });
            self.outbox.touch(i);
        }
    }

    /// Handles a notice that the route of subflow `i` is interrupted. The notice has an effect only with
    /// [`ReinjectOn::Told`].
    pub fn on_path_down<S: Subflows + ?Sized>(&mut self, now: Time, i: usize, subflows: &mut S) {
        if self.config.reinject.on != ReinjectOn::Told {
            return;
        }
        self.fail(i, subflows);
        self.subflows[i].is_down = true;
        let is_joined = self.phase == MultiPhase::Open && self.subflows[i].stage == Stage::Open;
        if self.config.rejoin.withdraw && self.role == Role::Active && self.is_confirmed && is_joined {
            self.withdraw(now, i, true, subflows);
            // The peer may not join again. This end may.
            self.subflows[i].is_barred = false;
        }
    }

    /// Handles a notice that the route of subflow `i` is usable again. If its connection has ended meanwhile, it joins again at once.
    pub fn on_path_up<S: Subflows + ?Sized>(&mut self, now: Time, i: usize, subflows: &mut S) {
        let subflow = &mut self.subflows[i];
        let was_down = std::mem::take(&mut subflow.is_down);
        let was_failed = was_down && std::mem::take(&mut subflow.facts.is_failed);
        match subflow.stage {
            Stage::Open if was_failed => self.outbox.report(MultiEvent::Restored(i)),
            // The next SYN may be far away.
            Stage::Opening
                if was_down && self.role == Role::Active && subflow.facts.joins > 0 && !subflow.is_invited =>
            {
                self.drop_subflow(now, i, SubflowReset::SILENT, subflows);
                self.subflows[i].await_return(now, self.role);
            }
            _ if was_down && subflow.is_away() && subflow.facts.joins > 0 => subflow.await_return(now, self.role),
            _ => {}
        }
        self.outbox.touch(i);
    }

    /// Gives up the connection and its unacknowledged data (MP_FASTCLOSE).
    pub fn abort<S: Subflows + ?Sized>(&mut self, subflows: &mut S) {
        if matches!(self.phase, MultiPhase::Closed | MultiPhase::Ended) {
            return;
        }
        for i in 0..self.subflows.len() {
            if !self.subflows[i].is_away() {
                subflows.connection(i).tell(Multipath::FastClose);
                subflows.connection(i).abort();
                self.subflows[i].stage = Stage::Closed;
                self.outbox.touch(i);
            }
        }
        self.end();
    }
}

/// Subflows open.
impl Meta {
    /// The connection of subflow `i` learns that it is one.
    fn prepare<S: Subflows + ?Sized>(&mut self, i: usize, subflows: &mut S) {
        let is_backup = self.subflows[i].facts.is_backup;
        let is_first = i == 0 && self.phase == MultiPhase::Opening;
        let opening = if is_first { Multipath::Capable } else { Multipath::Join { id: i as u8, is_backup } };
        self.shared = self.receiver.shared(self.shift, self.sender.fin());
        let conn = subflows.connection(i);
        conn.begin_subflow(opening, self.coupling != Coupling::None);
        conn.share_window(self.shared);
        conn.set_backlog(self.backlog);
    }

    fn begin<S: Subflows + ?Sized>(&mut self, now: Time, i: usize, subflows: &mut S) {
        self.subflows[i].restart();
        subflows.connection(i).open(now);
        self.outbox.touch(i);
    }

    /// Subflow `i` is open.
    pub(super) fn on_established<S: Subflows + ?Sized>(&mut self, now: Time, i: usize, subflows: &mut S) {
        let is_agreed = subflows.connection(i).report().is_subflow();
        let is_first = i == 0 && self.phase == MultiPhase::Opening;
        if !(is_first || is_agreed && self.phase == MultiPhase::Open) {
            // RFC 8684 §3.2: without the option it is another connection.
            return self.drop_subflow(now, i, SubflowReset::permanent(ResetReason::Signals), subflows);
        }
        self.subflows[i].stage = Stage::Open;
        (self.subflows[i].offer, self.subflows[i].is_invited) = (None, false);
        self.timers.lonely = Time::NEVER;
        self.subflows[i].facts.joins += 1;
        self.outbox.touch(i);
        if !is_first {
            self.outbox.report(MultiEvent::Joined(i));
            // All data may have been acknowledged meanwhile.
            return self.advance_close(now, subflows);
        }
        self.phase = MultiPhase::Open;
        self.outbox.report(MultiEvent::Established);
        if !is_agreed {
            return self.fall_back(now, subflows);
        }
        if !subflows.connection(i).report().config().handshake {
            self.sender.on_window(0, self.shared.window);
            self.is_confirmed = true;
            self.join_due(now, subflows);
        }
    }

    /// Opens the subflows whose time has come.
    pub(super) fn join_due<S: Subflows + ?Sized>(&mut self, now: Time, subflows: &mut S) {
        if !self.is_confirmed {
            return;
        }
        for i in 0..self.subflows.len() {
            if matches!(self.subflows[i].stage, Stage::Planned(at) if at <= now) {
                self.subflows[i].stage = Stage::Planned(Time::NEVER);
                self.join(now, i, subflows);
            }
        }
    }
}

/// Subflows and the connection end.
impl Meta {
    /// Goes on to close what can be closed.
    pub(super) fn advance_close<S: Subflows + ?Sized>(&mut self, now: Time, subflows: &mut S) {
        let is_given = self.sender.is_closing && self.sender.unsent() == 0;
        if !is_given {
            return;
        }
        let is_alone = self.phase == MultiPhase::Plain || self.subflows.len() == 1;
        if self.sender.is_finished() || is_alone {
            // RFC 8684 §3.3.3: the subflows have served; one alone cannot be helped by another and closes with the last data.
            self.timers.fin = Time::NEVER;
            return (0..self.subflows.len()).for_each(|i| self.finish(i, subflows));
        }
        if self.phase == MultiPhase::Open && !self.sender.fin_is_mapped && self.timers.fin == Time::NEVER {
            self.tell_fin(now, subflows);
        }
    }

    /// Closes subflow `i`.
    fn finish<S: Subflows + ?Sized>(&mut self, i: usize, subflows: &mut S) {
        if matches!(self.subflows[i].stage, Stage::Open | Stage::Opening) {
            subflows.connection(i).close();
            self.outbox.touch(i);
        }
    }

    /// The DATA_FIN leaves without data, again until it is acknowledged.
    pub(super) fn tell_fin<S: Subflows + ?Sized>(&mut self, now: Time, subflows: &mut S) {
        self.timers.fin = Time::NEVER;
        if self.phase != MultiPhase::Open || self.sender.is_finished() {
            return;
        }
        let Some(i) = self.messenger(subflows) else { return };
        let fin = Dss {
            data_ack: Dss::number(self.shared.data_ack),
            dsn: Dss::number(self.sender.offered),
            len: 0,
            is_fin: true,
        };
        let conn = subflows.connection(i);
        conn.tell(Multipath::Dss(fin));
        self.timers.fin = now + conn.report().probe_delay(self.timers.fin_backoff);
        self.timers.fin_backoff = (self.timers.fin_backoff * 2).min(1024);
        self.outbox.touch(i);
    }

    /// The peer closed subflow `i`.
    pub(super) fn on_subflow_finished<S: Subflows + ?Sized>(&mut self, now: Time, i: usize, subflows: &mut S) {
        if self.phase == MultiPhase::Plain {
            self.outbox.report(MultiEvent::PeerFinished);
        } else if !self.receiver.is_finished() && self.subflows.len() > 1 {
            // It leaves before the data end: it will carry nothing more in either direction.
            self.strand(i, subflows);
            self.subflows[i].is_leaving = true;
            self.finish(i, subflows);
        }
        self.advance_close(now, subflows);
    }

    /// The connection of subflow `i` is over.
    pub(super) fn on_subflow_closed<S: Subflows + ?Sized>(&mut self, now: Time, i: usize, subflows: &mut S) {
        if self.subflows[i].is_away() {
            return;
        }
        self.strand(i, subflows);
        self.subflows[i].close();
        self.outbox.report(MultiEvent::Left(i));
        if self.subflows.iter().any(|subflow| subflow.stage == Stage::Open) {
            return;
        }
        let is_over = self.sender.is_finished() && self.receiver.is_finished();
        let may_others = self.phase == MultiPhase::Open && self.is_confirmed;
        let is_all = self.subflows.len() == 1 || (!may_others && i == 0);
        if is_over || is_all {
            self.end();
        } else if self.timers.lonely == Time::NEVER {
            self.timers.lonely = now + LONELY;
        }
    }

    /// The connection of subflow `i` timed out or was reset. It may join again.
    pub(super) fn retry(&mut self, now: Time, i: usize) {
        if self.subflows[i].stage == Stage::Closed && self.config.rejoin.retry && self.is_wanted() && self.is_confirmed
        {
            self.subflows[i].await_return(now + self.config.rejoin.after, self.role);
        }
    }

    /// Gives up subflow `i`. The peer gets a reset with its reason.
    pub(super) fn drop_subflow<S: Subflows + ?Sized>(
        &mut self,
        now: Time,
        i: usize,
        reset: SubflowReset,
        subflows: &mut S,
    ) {
        let conn = subflows.connection(i);
        let is_open = conn.state().is_synchronised();
        conn.tell(Multipath::Reset(reset));
        conn.abort();
        if is_open {
            self.outbox.report(MultiEvent::Reset(i, reset));
        }
        self.outbox.touch(i);
        self.subflows[i].is_barred |= !reset.is_transient;
        self.on_subflow_closed(now, i, subflows);
        self.retry(now, i);
    }

    /// Ends the connection: stops its timers and reports the result.
    pub(super) fn end(&mut self) {
        if self.phase == MultiPhase::Ended {
            return;
        }
        let una = self.sender.acked();
        let is_whole = self.sender.is_finished() || (self.sender.is_closing && una == self.sender.offered);
        self.phase = MultiPhase::Ended;
        self.timers = super::MetaTimers::STOPPED;
        self.outbox.report(if is_whole { MultiEvent::Closed } else { MultiEvent::Aborted(una) });
    }

    /// Subflow `i` got a reset: with MP_FASTCLOSE the peer gave up all of them.
    pub(super) fn on_reset<S: Subflows + ?Sized>(
        &mut self,
        now: Time,
        i: usize,
        multi: Option<Multipath>,
        subflows: &mut S,
    ) {
        if multi == Some(Multipath::FastClose) {
            for i in 0..self.subflows.len() {
                if !self.subflows[i].is_away() {
                    self.drop_subflow(now, i, GONE, subflows);
                }
            }
            return;
        }
        if self.subflows[i].is_away() || subflows.connection(i).state() != State::Closed {
            return;
        }
        let is_open = self.subflows[i].stage == Stage::Open;
        self.subflows[i].was_reset |= is_open;
        if let Some(Multipath::Reset(reset)) = multi {
            self.subflows[i].is_barred |= !reset.is_transient;
            if is_open {
                self.outbox.report(MultiEvent::Reset(i, reset));
            }
        }
    }

    /// Repeats what is due: ADD_ADDR, until the peer answers or joins (RFC 8684 §3.4.1), and keepalives over paths whose address the
    /// peer has removed. A subflow without an answer ends (RFC 8684 §3.4.2).
    pub(super) fn repeat_due<S: Subflows + ?Sized>(&mut self, now: Time, subflows: &mut S) {
        for i in 0..self.subflows.len() {
            if let Some(mut offer) = self.subflows[i].offer.filter(|offer| offer.next <= now) {
                self.subflows[i].offer = None;
                if offer.times < Repeated::TIMES_MAX {
                    let told = Multipath::AddAddress { id: i as u8, is_echo: false };
                    let by = self.tell_by_other(i, told, subflows).unwrap_or(i);
                    offer.note_sent(now, subflows.connection(by).report().rto());
                    self.subflows[i].offer = Some(offer);
                }
            }
            let Some(mut keepalive) = self.subflows[i].doubt.filter(|keepalive| keepalive.next <= now) else {
                continue;
            };
            if keepalive.times == Repeated::TIMES_MAX {
                self.drop_subflow(now, i, SubflowReset::SILENT, subflows);
                continue;
            }
            let conn = subflows.connection(i);
            keepalive.note_sent(now, conn.report().rto());
            conn.probe_window();
            self.subflows[i].doubt = Some(keepalive);
            self.outbox.touch(i);
        }
    }

    /// Another subflow than `i` carries an option. Returns this subflow.
    fn tell_by_other<S: Subflows + ?Sized>(&mut self, i: usize, told: Multipath, subflows: &mut S) -> Option<usize> {
        let is_other = |other: &usize| *other != i && self.subflows[*other].is_alive();
        let other = (0..self.subflows.len()).find(is_other)?;
        subflows.connection(other).tell(told);
        self.outbox.touch(other);
        Some(other)
    }
}

/// Options, or none.
impl Meta {
    /// Reads the option of a segment of subflow `i`, or notes that there is none; it brought data or did not.
    pub(super) fn note_signal<S: Subflows + ?Sized>(
        &mut self,
        now: Time,
        i: usize,
        segment: &Segment,
        has_data: bool,
        subflows: &mut S,
    ) {
        if segment.flags.has(Flags::SYN) || self.subflows[i].is_away() {
            return;
        }
        match segment.multi {
            None => return self.on_stripped(now, i, has_data, subflows),
            Some(Multipath::Infinite(_)) => return self.on_stripped(now, i, true, subflows),
            Some(Multipath::Dss(_)) if !self.is_confirmed => {
                self.is_confirmed = true;
                self.join_due(now, subflows);
            }
            Some(Multipath::Priority { is_backup }) => self.subflows[i].facts.is_backup = is_backup,
            // Others carry its data meanwhile. A path that answers stays (RFC 8684 §3.4.2).
            Some(Multipath::RemoveAddress(id)) => match self.subflows.get_mut(usize::from(id)) {
                Some(Subflow { stage: Stage::Opening, .. }) => self.drop_subflow(now, id.into(), GONE, subflows),
                Some(Subflow { stage: Stage::Open, doubt: doubt @ None, is_barred, .. }) => {
                    (*doubt, *is_barred) = (Some(Repeated::new(now)), true);
                    self.fail(id.into(), subflows);
                    self.repeat_due(now, subflows);
                }
                _ => {}
            },
            Some(Multipath::AddAddress { id, is_echo: true }) => {
                if let Some(subflow) = self.subflows.get_mut(usize::from(id)) {
                    subflow.offer = None;
                }
            }
            Some(Multipath::AddAddress { id, is_echo: false }) => {
                subflows.connection(i).tell(Multipath::AddAddress { id, is_echo: true });
                self.outbox.touch(i);
                self.on_address(now, usize::from(id), subflows);
            }
            Some(Multipath::Join { is_backup, .. }) if self.role == Role::Passive => {
                self.subflows[i].facts.is_backup = is_backup;
            }
            Some(_) => {}
        }
        self.subflows[i].has_signalled = true;
    }

    /// The peer can be reached at the address of subflow `i`.
    fn on_address<S: Subflows + ?Sized>(&mut self, now: Time, i: usize, subflows: &mut S) {
        if i >= self.subflows.len() || self.role == Role::Passive {
            return;
        }
        match &mut self.subflows[i] {
            // The peer may have given up its connection. A connection that works answers.
            Subflow { stage: Stage::Open, doubt: doubt @ None, .. } => {
                *doubt = Some(Repeated::new(now));
                self.repeat_due(now, subflows);
            }
            Subflow { stage: Stage::Open | Stage::Opening, .. } => {}
            subflow => {
                (subflow.is_barred, subflow.is_invited) = (false, true);
                self.join(now, i, subflows);
            }
        }
    }

    /// A segment of an open subflow has no option, or its data are the last that have one: someone on the path takes options away
    /// (RFC 8684 §3.7).
    fn on_stripped<S: Subflows + ?Sized>(&mut self, now: Time, i: usize, has_data: bool, subflows: &mut S) {
        if self.phase != MultiPhase::Open || !subflows.connection(i).report().is_subflow() {
            return;
        }
        let was_used =
            |subflow: &Subflow| matches!(subflow.stage, Stage::Open | Stage::Closed) || subflow.facts.joins > 0;
        let is_first = i == 0 && self.subflows[0].facts.joins == 1;
        let is_alone = is_first && self.subflows.iter().skip(1).all(|subflow| !was_used(subflow));
        if is_alone {
            self.fall_back(now, subflows);
        } else if has_data || !self.subflows[i].has_signalled {
            self.drop_subflow(now, i, SubflowReset::permanent(ResetReason::Middlebox), subflows);
        }
    }

    /// Falls back to plain TCP over the first subflow, whose offsets are the offsets of the data.
    fn fall_back<S: Subflows + ?Sized>(&mut self, now: Time, subflows: &mut S) {
        self.phase = MultiPhase::Plain;
        self.timers = super::MetaTimers::STOPPED;
        self.sender.reinject.clear();
        for i in 1..self.subflows.len() {
            if self.subflows[i].stage == Stage::Opening {
                let conn = subflows.connection(i);
                conn.tell(Multipath::Reset(SubflowReset::permanent(ResetReason::Middlebox)));
                conn.abort();
                self.outbox.touch(i);
            }
            self.subflows[i].stage = Stage::Closed;
        }
        let window = self.sender.edge.saturating_sub(subflows.connection(0).acked_bytes());
        let buffer = self.shared.window;
        // The passive end that never got an option after the SYN sends none, either (RFC 8684 §3.1).
        let tells_peer = self.role == Role::Active || self.subflows[0].has_signalled;
        let conn = subflows.connection(0);
        conn.end_signals(buffer, window, tells_peer);
        conn.set_reads_at_once(self.receiver.reads_at_once());
        conn.set_backlog(Backlog::None);
        self.outbox.report(MultiEvent::FellBack);
        self.mirror(now, subflows);
        self.advance_close(now, subflows);
    }

    /// After fallback: the connection's facts are those of the data.
    pub(super) fn mirror<S: Subflows + ?Sized>(&mut self, now: Time, subflows: &mut S) {
        let conn = subflows.connection(0);
        let (acked, delivered) = (conn.acked_bytes(), conn.counters().delivered_bytes);
        self.sender.on_ack(acked);
        let nxt = self.receiver.nxt();
        if delivered > nxt {
            self.receiver.on_data(now, nxt, delivered - nxt, false, None, &mut self.counters);
            self.subflows[0].facts.delivered_bytes += delivered - nxt;
        }
    }
}
