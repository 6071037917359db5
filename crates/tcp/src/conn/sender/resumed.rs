//! Careful resume (RFC 9959) of a connection: gives the [part](CarefulResume) its facts, and sets the window that it
//! returns. Positions are offsets, so that retransmissions do not count as data of the jump.

use super::episode::Phase;
use super::reduce::{Cause, ReduceOutcome};
use super::resume::Resume;
use super::state::Sender;
use crate::cache::Learnt;
use crate::config::Pacing;
use crate::conn::context::Context;
use crate::conn::Event;
use bentpipe_cc::{
    CarefulResume, CongestionControl, Pace, PathLesson, PathObserver, ResumeFacts, ResumePhase, ResumeReason, Resumed,
    SavedPath,
};
use bentpipe_units::{Duration, Rate, Time};

impl Sender {
    /// Data transfer begins.
    pub(super) fn begin_resume(&mut self, now: Time, learnt: &Learnt, cx: &Context) {
        let Some(settings) = cx.config.careful_resume.filter(|_| !self.cc.is_model_based()) else { return };
        let smss = self.space.smss();
        let saved = CarefulResume::given(settings, smss, now).or(learnt.saved);
        let initial_window = cx.config.initial_window.bytes(self.space.smss);
        let resume = Resume {
            part: saved.map(|saved| CarefulResume::new(settings, saved, initial_window, smss)),
            observer: PathObserver::default(),
            rtt_min: self.rtt.srtt(),
            has_retreated: false,
            settled: 0,
            delivered: 0,
        };
        self.extras_mut().resume = Some(Box::new(resume));
    }

    fn resume_mut(&mut self) -> Option<&mut Resume> {
        self.extras.as_mut()?.resume.as_deref_mut()
    }

    fn resuming(&self) -> Option<&CarefulResume> {
        self.extras.as_ref()?.resume.as_ref()?.part.as_ref()
    }

    /// Whether the window stays as it is, because it is not proven yet or was too large.
    pub(super) fn is_window_held(&self) -> bool {
        self.resuming().is_some_and(|part| !part.may_grow())
    }

    /// The pace of an unproven window, headers included.
    pub(super) fn resumed_pace(&self, cx: &Context) -> Option<Pace> {
        let (window, rtt) = (self.resuming()?.paced_window()?, self.rtt.expected()?);
        let packet = u128::from(self.space.smss() + cx.agreed.header_len());
        let bits = 8 * u128::from(window) * packet * u128::from(Duration::from_secs(1).as_ps());
        let bps = bits / (u128::from(self.space.smss()) * u128::from(rtt.as_ps().max(1)));
        Some(Pace::at(Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX).max(1))))
    }

    fn resume_facts(&self, now: Time, resume: &Resume) -> ResumeFacts {
        let space = &self.space;
        let first = resume.part.as_ref().map_or(u64::MAX, CarefulResume::first);
        let validated = if first >= space.nxt {
            0
        } else if first <= space.una {
            space.una - first + self.board.sacked_bytes()
        } else {
            space.nxt - first - self.board.unsacked_in((first, space.nxt))
        };
        ResumeFacts {
            now,
            cwnd: self.cc.cwnd(),
            flight: self.board.pipe(),
            waiting: space.data_end().saturating_sub(space.nxt),
            next: space.nxt,
            settled: self.board.unsettled_from(resume.settled).map_or(space.nxt, |(_, offset)| offset),
            delivered: space.una + self.board.sacked_bytes(),
            validated,
            smss: space.smss(),
            srtt: self.rtt.srtt(),
            rtt_min: resume.rtt_min,
        }
    }

    /// An ACK was handled.
    #[cold]
    pub(super) fn on_resume_ack(&mut self, now: Time, cx: &mut Context) {
        let (last, is_limited) = (self.rtt.last, self.usage.is_window_used(&self.cc));
        let (una, nxt, delivered) = (self.space.una, self.space.nxt, self.space.una + self.board.sacked_bytes());
        let Some(resume) = self.extras.as_ref().and_then(|extras| extras.resume.as_deref()) else { return };
        let settled = self.board.unsettled_from(resume.settled).map_or(self.board.next_index(), |(index, _)| index);
        let Some(resume) = self.resume_mut() else { return };
        resume.rtt_min = resume.rtt_min.into_iter().chain(last).min();
        resume.observer.on_ack(una, nxt, delivered, is_limited);
        resume.settled = settled;
        let arrived = delivered.saturating_sub(std::mem::replace(&mut resume.delivered, delivered));
        let is_over = resume.has_retreated && resume.part.as_ref().is_none_or(CarefulResume::may_grow);
        if is_over && self.episode.phase == Phase::Selective {
            self.grow_in_recovery(arrived);
        }
        self.with_part(now, cx, |part, facts| part.on_ack(facts));
    }

    /// After a retreat, the capacity of the path is known while its losses are still repaired. The window grows as in slow start,
    /// up to its threshold: that is the window with which another recovery would have begun.
    fn grow_in_recovery(&mut self, arrived: u64) {
        let (cwnd, ssthresh) = (self.cc.cwnd(), self.cc.ssthresh());
        if cwnd < ssthresh {
            self.cc.set_window((cwnd + arrived).min(ssthresh), ssthresh);
        }
    }

    /// Data left that pacing counts.
    #[cold]
    pub(super) fn on_resume_sent(&mut self, now: Time, cx: &mut Context) {
        self.with_part(now, cx, |part, facts| part.on_sent(facts));
    }

    /// The window was reduced, or a link was to blame.
    #[cold]
    pub(super) fn on_resume_reduction(&mut self, now: Time, cause: Cause, outcome: ReduceOutcome, cx: &mut Context) {
        match cause {
            Cause::Timeout => self.with_part(now, cx, |part, _| part.on_timeout()),
            _ if !matches!(outcome, ReduceOutcome::Reduced | ReduceOutcome::MustWait) => {}
            Cause::Mark => self.on_resume_congestion(now, ResumeReason::EcnCe, cx),
            _ => self.on_resume_congestion(now, ResumeReason::PacketLoss, cx),
        }
    }

    /// A loss or a mark was taken for congestion, or the path changed.
    pub(super) fn on_resume_congestion(&mut self, now: Time, reason: ResumeReason, cx: &mut Context) {
        self.with_part(now, cx, |part, facts| part.on_congestion(reason, facts));
    }

    /// The last loss was none.
    #[cold]
    pub(super) fn on_resume_undo(&mut self, now: Time, cx: &mut Context) {
        self.with_part(now, cx, |part, _| part.on_undo());
    }

    /// Passes an event to the part, and applies its answer.
    fn with_part(
        &mut self,
        now: Time,
        cx: &mut Context,
        tell: impl FnOnce(&mut CarefulResume, &ResumeFacts) -> Option<Resumed>,
    ) {
        let Some(resume) = self.extras.as_ref().and_then(|extras| extras.resume.as_deref()) else { return };
        if resume.part.as_ref().is_none_or(|part| part.phase() == ResumePhase::Normal) {
            return;
        }
        let facts = self.resume_facts(now, resume);
        let Some(resume) = self.resume_mut() else { return };
        let Some(change) = resume.part.as_mut().and_then(|part| tell(part, &facts)) else { return };
        resume.has_retreated |= change.phase == ResumePhase::Retreat;
        if change.cwnd.is_some() || change.ssthresh.is_some() {
            let cwnd = change.cwnd.unwrap_or(self.cc.cwnd());
            self.cc.set_window(cwnd, change.ssthresh.unwrap_or(self.cc.ssthresh()));
        }
        // RFC 9959 §3.3: the jump is paced in any case.
        let is_jump = change.phase == ResumePhase::Unvalidated;
        self.is_paced = is_jump || cx.config.pacing != Pacing::Off || self.cc.paces();
        cx.report(Event::Resumed(change.phase, self.cc.cwnd()));
    }

    /// Returns the facts for later connections over the same path.
    pub(crate) fn path_lesson(&self, now: Time, initial_window: u64) -> PathLesson {
        let Some(resume) = self.extras.as_ref().and_then(|extras| extras.resume.as_deref()) else {
            return PathLesson::default();
        };
        let in_slow_start = self.cc.cwnd() < self.cc.ssthresh();
        let window = in_slow_start.then(|| self.cc.cwnd() / 2);
        let delivered = self.space.una;
        let saved = resume.observer.saved(initial_window, delivered, window).zip(resume.rtt_min);
        let saved = saved.map(|(window, rtt)| SavedPath { window, rtt, at: now });
        PathLesson { saved, is_deleted: resume.has_retreated }
    }
}
