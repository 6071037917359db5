//! Detects spurious retransmissions, when data was late rather than lost, and undoes the reaction.
//!
//! Three methods detect them: the ACKs after a timeout (F-RTO, RFC 5682), the timestamp that an ACK echoes (Eifel,
//! RFC 3522), and duplicates that the receiver reports (DSACK, RFC 3708).

use super::ack::{Ack, AckFacts};
use super::episode::Episode;
use super::rtt::Rtt;
use super::scoreboard::Scoreboard;
use super::space::SendSpace;
use crate::config::{Config, SpuriousDetection, SpuriousResponse};
use bentpipe_cc::{Cc, CongestionControl, PathState};
use bentpipe_units::Duration;

/// State that may have to be restored.
#[derive(Clone, Debug)]
pub(crate) struct Undo {
    saved: Option<Saved>,
    frto: Frto,
    first_sample: Option<FirstSample>,
}

/// RFC 4015 §3.3: the first sample from data beyond `from` counts in full; before the timeout these were SRTT and RTTVAR.
#[derive(Clone, Copy, Debug)]
struct FirstSample {
    from: u64,
    srtt: Duration,
    rttvar: Duration,
}

/// RFC 5682: how many ACKs since the timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frto {
    Off,
    /// The first segment was retransmitted; nothing else is, until an ACK decides.
    FirstAck,
    /// New data were sent.
    SecondAck,
}

/// State before an episode.
#[derive(Clone, Debug)]
pub(crate) struct Saved {
    cc: Cc,
    /// Its phase: a timer may expire in fast recovery.
    episode: Episode,
    /// RFC 4015: pipe_prev.
    flight: u64,
    srtt: Option<Duration>,
    rttvar: Duration,
    by_timeout: bool,
    /// SND.UNA and SND.NXT when the episode began.
    una: u64,
    nxt: u64,
    /// Timestamp of the first retransmission, until an ACK answers it.
    stamp: Option<u32>,
    /// Retransmissions that no duplicate was reported for; none: one cannot know any more.
    unproven: Option<u32>,
    /// A duplicate was reported.
    has_duplicates: bool,
    /// When this is acknowledged, the episode is too long ago.
    until: Option<u64>,
}

/// Saved state.
pub(crate) struct Snapshot<'a> {
    pub(crate) cc: &'a Cc,
    pub(crate) episode: &'a Episode,
    pub(crate) flight: u64,
    pub(crate) srtt: Option<Duration>,
    pub(crate) rttvar: Duration,
    /// Retransmissions of an earlier episode are outstanding.
    pub(crate) has_retransmitted: bool,
}

/// An ACK's judgement of the last episode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Judgement {
    /// F-RTO: the loss was real, and the rest is retransmitted.
    pub(crate) is_real: bool,
    /// It was spurious, and is to be undone.
    pub(crate) is_spurious: bool,
    /// A partial ACK in fast recovery: the data that it acknowledges were late, not lost.
    pub(crate) is_late: bool,
}

impl Undo {
    pub(crate) fn new() -> Self {
        Self { saved: None, frto: Frto::Off, first_sample: None }
    }

    /// Whether there is state to restore: without it, no ACK is judged.
    #[inline]
    pub(crate) fn has_saved(&self) -> bool {
        self.saved.is_some()
    }

    /// Whether there is state from before the episode that is going on.
    pub(crate) fn is_current(&self) -> bool {
        self.saved.as_ref().is_some_and(|saved| saved.until.is_none())
    }

    /// The segment size changed: it stays changed if the window goes back.
    pub(crate) fn on_smss(&mut self, smss: u64) {
        if let Some(saved) = &mut self.saved {
            saved.cc.on_smss(smss);
        }
    }

    /// Loss recovery begins or the timer expired; nothing is changed yet.
    pub(crate) fn save(&mut self, by_timeout: bool, now: Snapshot<'_>, path: &PathState, config: &Config) {
        let Snapshot { cc, episode, flight, srtt, rttvar, has_retransmitted } = now;
        let is_repeated = by_timeout && episode.rto_at == Some(path.snd_una);
        let uses_frto = config.spurious_detection.uses(SpuriousDetection::Frto);
        // RFC 5682 §2.1 step 1: not if the slow start after an earlier timeout is still on.
        let is_new = episode.phase != super::episode::Phase::Loss || is_repeated;
        self.frto = if by_timeout && uses_frto && is_new { Frto::FirstAck } else { Frto::Off };
        if is_repeated && self.saved.is_some() {
            // The window before the first timeout is the one to go back to.
            return;
        }
        self.saved = Some(Saved {
            cc: cc.clone(),
            episode: episode.clone(),
            flight,
            srtt,
            rttvar,
            by_timeout,
            una: path.snd_una,
            nxt: path.snd_nxt,
            stamp: None,
            // RFC 3522 §3.2 and RFC 3708 §3 compare with retransmissions of this episode. Those of an earlier episode
            // would mislead: they have older timestamps, and duplicates outside this episode.
            unproven: (by_timeout || !has_retransmitted).then_some(0),
            has_duplicates: false,
            until: None,
        });
    }

    /// A segment is retransmitted, with this timestamp; `times` counts this one.
    pub(crate) fn on_retransmit(&mut self, stamp: Option<u32>, times: u16) {
        let Some(saved) = &mut self.saved else { return };
        if saved.unproven == Some(0) && times == 1 {
            saved.stamp = stamp;
        }
        saved.unproven = if times > 1 { None } else { saved.unproven.map(|n| n + 1) };
    }

    /// Copies of a segment leave that was reported as corrupted.
    pub(crate) fn on_copies(&mut self) {
        if let Some(saved) = &mut self.saved {
            saved.unproven = None;
        }
    }

    /// The episode is over: reports of duplicates may still come for a round trip, until `nxt` is acknowledged.
    pub(crate) fn on_exit(&mut self, nxt: u64) {
        if let Some(saved) = &mut self.saved {
            saved.until = Some(nxt);
        }
    }

    /// Whether F-RTO holds back what the timeout declared lost.
    #[inline]
    pub(crate) fn holds_back(&self) -> bool {
        self.frto != Frto::Off
    }

    /// Everything below `una` is acknowledged and about to be sampled.
    pub(crate) fn before_sample(&mut self, una: u64, rtt: &mut Rtt) {
        if let Some(first) = self.first_sample.take_if(|first| una > first.from) {
            rtt.restart_from(first.srtt, first.rttvar);
        }
    }

    /// Returns the judgement of an entered ACK about the last episode.
    pub(crate) fn judge(
        &mut self,
        ack: &Ack<'_>,
        facts: &AckFacts,
        space: &SendSpace,
        board: &Scoreboard,
        config: &Config,
        has_sack: bool,
    ) -> Judgement {
        let detection = config.spurious_detection;
        let by_frto = self.judge_by_frto(facts, space, board, config.rto.whole_ack_undoes, has_sack);
        let Some(saved) = &mut self.saved else { return by_frto };
        if saved.until.is_some_and(|until| space.una > until) {
            self.saved = None;
            return Judgement { is_spurious: false, ..by_frto };
        }
        // One late segment does not show that the others were late, too: while any may be missing nothing is undone. (Linux looks at
        // retransmissions only.) A timeout takes all for lost at once, so the first answer decides.
        let is_in_doubt = !saved.by_timeout && (board.has_retransmitted() || board.has_unrepaired());
        let (mut by_timestamp, mut is_late) = (false, false);
        if let (Some(stamp), Some(timestamps), true) = (saved.stamp, ack.timestamps, facts.newly_acked > 0) {
            let is_older = (timestamps.echo.wrapping_sub(stamp) as i32) < 0;
            by_timestamp = is_older && !is_in_doubt;
            is_late = is_older && !saved.by_timeout && space.una < saved.nxt;
            saved.stamp = saved.stamp.filter(|_| is_older && is_in_doubt);
        }
        if let Some((left, _)) = facts.dsack {
            saved.unproven = match saved.unproven {
                Some(n) if n > 0 && left >= saved.una => Some(n - 1),
                _ => None,
            };
            saved.has_duplicates = true;
        }
        let by_duplicates = saved.has_duplicates && saved.unproven == Some(0) && !is_in_doubt;
        let by_eifel = detection.uses(SpuriousDetection::Eifel);
        let is_spurious = by_frto.is_spurious
            || (by_timestamp && by_eifel)
            || (by_duplicates && detection.uses(SpuriousDetection::Dsack));
        Judgement { is_spurious, is_late: is_late && by_eifel, ..by_frto }
    }

    /// RFC 5682 §2.1, and §3.1 where SACK is in use.
    ///
    /// DEVIATION: RFC 5682 §3.1 waits for the ACK of the first segment before it reads SACK blocks. Here, as in Linux,
    /// the first report of something that was never retransmitted decides, even if it comes before. And where the timer
    /// expires in fast recovery §3.1 does without F-RTO, as SACKs of retransmissions would mislead it; which segments
    /// were never retransmitted is known here, so it is used, and waits for the ACK of the first segment.
    fn judge_by_frto(
        &mut self,
        facts: &AckFacts,
        space: &SendSpace,
        board: &Scoreboard,
        whole_ack_undoes: bool,
        has_sack: bool,
    ) -> Judgement {
        let nothing = Judgement::default();
        let Self { frto, saved: Some(saved), .. } = self else { return nothing };
        if *frto == Frto::Off {
            return nothing;
        }
        let is_second = *frto == Frto::SecondAck;
        let was_recovering = saved.episode.phase.is_recovery();
        let delivery = board.delivery();
        let shows_original = delivery.original_start < saved.nxt && (is_second || !was_recovering);
        if space.una >= saved.nxt {
            // Everything is acknowledged. If the first ACK does this, the first segment alone may have been lost.
            *frto = Frto::Off;
            let is_spurious = if has_sack { shows_original && (is_second || whole_ack_undoes) } else { is_second };
            return Judgement { is_spurious, ..nothing };
        }
        if has_sack && shows_original {
            return Judgement { is_spurious: true, ..nothing };
        }
        if facts.newly_acked == 0 {
            // Duplicates: the loss was real.
            let only_news_below = has_sack && delivery.bytes == 0;
            if !is_second && (only_news_below || has_sack && was_recovering) {
                // A window update or an old ACK decides nothing, and SACKs decide nothing before the first segment is
                // acknowledged.
                return nothing;
            }
            *frto = Frto::Off;
            return Judgement { is_real: is_second, ..nothing };
        }
        if is_second && !has_sack {
            return Judgement { is_spurious: true, ..nothing };
        }
        *frto = if space.can_send_new() { Frto::SecondAck } else { Frto::Off };
        nothing
    }

    /// The timeout was spurious: F-RTO is over. Returns the saved state.
    pub(crate) fn take(&mut self) -> Option<Saved> {
        self.frto = Frto::Off;
        self.saved.take()
    }

    /// RFC 4015 §3.3, after a spurious timeout.
    fn expect_sample(&mut self, from: u64, srtt: Duration, rttvar: Duration) {
        self.first_sample = Some(FirstSample { from, srtt, rttvar });
    }
}

impl Saved {
    pub(crate) fn is_by_timeout(&self) -> bool {
        self.by_timeout
    }

    /// Go back to it, as far as the response allows; with that of RFC 4015 `room` bytes may follow what is outstanding. A recovery
    /// that the timer interrupted goes on.
    pub(crate) fn restore(
        self,
        response: SpuriousResponse,
        room: u64,
        board: &mut Scoreboard,
        cc: &mut Cc,
        undo: &mut Undo,
        config: &Config,
    ) -> Episode {
        board.unmark_lost();
        let (cwnd, ssthresh) = (cc.cwnd(), cc.ssthresh());
        match response {
            SpuriousResponse::Restore => {
                cc.undo(self.cc);
                let before = (cc.cwnd(), cc.ssthresh());
                if cwnd > before.0 {
                    cc.set_window(cwnd, ssthresh.max(before.1));
                }
            }
            SpuriousResponse::Rfc4015 => {
                cc.undo(self.cc);
                cc.set_window(board.flight_size() + room, self.flight);
                if let (true, Some(srtt)) = (self.by_timeout, self.srtt) {
                    undo.expect_sample(self.nxt, srtt + config.rto.granularity * 2, self.rttvar);
                }
            }
            // Its window is not a share of a threshold.
            SpuriousResponse::Conservative if cc.is_model_based() => {}
            SpuriousResponse::Conservative => cc.set_window(ssthresh.min(self.cc.cwnd()), ssthresh),
        }
        self.episode.resumed()
    }
}
