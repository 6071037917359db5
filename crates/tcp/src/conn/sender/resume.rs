//! Careful resume (RFC 9959) of a connection: gives the [part](CarefulResume) its facts. Positions are offsets, so that
//! retransmissions do not count as data of the jump.

use super::scoreboard::Scoreboard;
use super::space::SendSpace;
use crate::cache::Learnt;
use crate::config::Config;
use bentpipe_cc::{
    CarefulResume, Cc, CongestionControl, Pace, PathLesson, PathObserver, ResumeFacts, ResumePhase, Resumed, SavedPath,
};
use bentpipe_units::{Duration, Rate, Time};

/// Careful resume of a connection, and its observation of the path.
#[derive(Clone, Debug)]
pub(crate) struct Resume {
    /// The part; absent without a saved path.
    part: Option<CarefulResume>,
    observer: PathObserver,
    rtt_min: Option<Duration>,
    /// Whether a saved path was wrong, so that it must be forgotten.
    has_retreated: bool,
    /// Segments below this one have arrived or are declared lost.
    settled: u64,
    /// Bytes that had arrived at the last ACK.
    delivered: u64,
}

impl Resume {
    /// Data transfer begins, after a handshake of `rtt`. `None`: careful resume is off, or `cc` is a model.
    pub(super) fn of(
        now: Time,
        learnt: &Learnt,
        rtt: Option<Duration>,
        space: &SendSpace,
        cc: &Cc,
        config: &Config,
    ) -> Option<Self> {
        let settings = config.careful_resume.filter(|_| !cc.is_model_based())?;
        let saved = CarefulResume::given(settings, space.smss(), now).or(learnt.saved);
        let initial_window = config.initial_window.bytes(space.smss);
        Some(Self {
            part: saved.map(|saved| CarefulResume::new(settings, saved, initial_window, space.smss())),
            observer: PathObserver::default(),
            rtt_min: rtt,
            has_retreated: false,
            settled: 0,
            delivered: 0,
        })
    }

    /// Whether the window may grow: it is proven, or was not too large.
    pub(super) fn may_grow(&self) -> bool {
        self.part.as_ref().is_none_or(CarefulResume::may_grow)
    }

    /// Whether a retreat has ended, so that the capacity of the path is known.
    pub(super) fn knows_capacity(&self) -> bool {
        self.has_retreated && self.may_grow()
    }

    /// The pace of an unproven window over a path of `rtt`, in packets of `packet_len` bytes with `smss` of payload.
    pub(super) fn pace(&self, smss: u64, packet_len: u64, rtt: Option<Duration>) -> Option<Pace> {
        let (window, rtt) = (self.part.as_ref()?.paced_window()?, rtt?);
        let bits = 8 * u128::from(window) * u128::from(packet_len) * u128::from(Duration::from_secs(1).as_ps());
        let bps = bits / (u128::from(smss) * u128::from(rtt.as_ps().max(1)));
        Some(Pace::at(Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX).max(1))))
    }

    /// An ACK was handled: observes the path, with a sample of `rtt` if there is one. Returns the bytes that arrived.
    pub(super) fn on_ack(
        &mut self,
        rtt: Option<Duration>,
        is_limited: bool,
        space: &SendSpace,
        board: &Scoreboard,
    ) -> u64 {
        let delivered = space.una + board.sacked_bytes();
        self.rtt_min = self.rtt_min.into_iter().chain(rtt).min();
        self.observer.on_ack(space.una, space.nxt, delivered, is_limited);
        self.settled = board.sent.unsettled_from(self.settled).map_or(board.sent.next_index(), |(index, _)| index);
        delivered.saturating_sub(std::mem::replace(&mut self.delivered, delivered))
    }

    /// Passes an event to the part, unless all is as usual. Returns its answer.
    pub(super) fn tell(
        &mut self,
        now: Time,
        space: &SendSpace,
        board: &Scoreboard,
        cc: &Cc,
        srtt: Option<Duration>,
        event: impl FnOnce(&mut CarefulResume, &ResumeFacts) -> Option<Resumed>,
    ) -> Option<Resumed> {
        let part = self.part.as_ref().filter(|part| part.phase() != ResumePhase::Normal)?;
        let first = part.first();
        let validated = if first >= space.nxt {
            0
        } else if first <= space.una {
            space.una - first + board.sacked_bytes()
        } else {
            space.nxt - first - board.sent.unsacked_in((first, space.nxt))
        };
        let facts = ResumeFacts {
            now,
            cwnd: cc.cwnd(),
            flight: board.pipe(),
            waiting: space.data_end().saturating_sub(space.nxt),
            next: space.nxt,
            settled: board.sent.unsettled_from(self.settled).map_or(space.nxt, |(_, offset)| offset),
            delivered: space.una + board.sacked_bytes(),
            validated,
            smss: space.smss(),
            srtt,
            rtt_min: self.rtt_min,
        };
        let change = event(self.part.as_mut()?, &facts)?;
        self.has_retreated |= change.phase == ResumePhase::Retreat;
        Some(change)
    }

    /// Returns the facts for later connections over the same path, of which `delivered` bytes were acknowledged.
    pub(crate) fn lesson(&self, now: Time, initial_window: u64, delivered: u64, cc: &Cc) -> PathLesson {
        let in_slow_start = cc.cwnd() < cc.ssthresh();
        let window = in_slow_start.then(|| cc.cwnd() / 2);
        let saved = self.observer.saved(initial_window, delivered, window).zip(self.rtt_min);
        let saved = saved.map(|(window, rtt)| SavedPath { window, rtt, at: now });
        PathLesson { saved, is_deleted: self.has_retreated }
    }
}
