//! Needless retransmissions: finding out that what looked lost was late, and taking back what was done about it.
//!
//! Three ways to find out: the ACKs after a timeout (F-RTO, RFC 5682), the timestamp that an ACK echoes (Eifel,
//! RFC 3522), duplicates that the receiver reports (DSACK, RFC 3708).

use super::recovery::{Episode, Phase};
use super::{Connection, Event};
use crate::cc::{Cc, CongestionControl};
use crate::config::{SpuriousDetection, SpuriousResponse};
use crate::segment::Segment;
use bentpipe_units::{Duration, Time};

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Spurious {
    saved: Option<Saved>,
    pub(super) frto: Frto,
    patience: Option<Patience>,
}

/// RFC 4015 §3.3: the first sample from data beyond `from` counts in full; before the timeout these were SRTT and RTTVAR.
#[derive(Clone, Copy, Debug)]
struct Patience {
    from: u64,
    srtt: Duration,
    rttvar: Duration,
}

/// RFC 5682: how many ACKs since the timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frto {
    Off,
    /// The first segment was resent; nothing else is, until an ACK tells.
    FirstAck,
    /// New data were sent.
    SecondAck,
}

/// What was before an episode.
#[derive(Clone, Debug)]
struct Saved {
    cc: Cc,
    /// Where it stood: a timer may expire in fast recovery.
    episode: Episode,
    /// RFC 4015: pipe_prev.
    flight: u64,
    srtt: Option<Duration>,
    rttvar: Duration,
    by_timeout: bool,
    /// SND.UNA and SND.NXT when the episode began.
    marker: u64,
    recover: u64,
    /// Timestamp of the first retransmission, until an ACK answers it.
    stamp: Option<u32>,
    /// Retransmissions that no duplicate was reported for; none: one cannot tell any more.
    unproven: Option<u32>,
    /// When this is acknowledged, the episode is too long ago.
    until: Option<u64>,
}

impl Spurious {
    pub(super) fn new() -> Self {
        Self { saved: None, frto: Frto::Off, patience: None }
    }

    /// The segment size changed: it stays changed if the window goes back.
    pub(super) fn on_smss(&mut self, smss: u64) {
        if let Some(saved) = &mut self.saved {
            saved.cc.on_smss(smss);
        }
    }
}

impl Connection {
    /// Loss recovery begins or the timer expired; nothing is changed yet.
    pub(super) fn save_before_episode(&mut self, by_timeout: bool) {
        let is_repeated = by_timeout && self.episode.rto_at == Some(self.snd_una);
        let Some(spurious) = &mut self.spurious else { return };
        let uses_frto = self.config.spurious_detection.uses(SpuriousDetection::Frto);
        // RFC 5682 §2.1 step 1: not if the slow start after an earlier timeout is still on.
        let may_frto = by_timeout && uses_frto && (!self.episode.after_rto || is_repeated);
        spurious.frto = if may_frto { Frto::FirstAck } else { Frto::Off };
        if is_repeated && spurious.saved.is_some() {
            // The window before the first timeout is the one to go back to.
            return;
        }
        let ssthresh = self.cc.ssthresh();
        spurious.saved = Some(Saved {
            cc: self.cc.clone(),
            episode: self.episode,
            flight: self.board.flight_size().max(ssthresh),
            srtt: self.rtt.srtt(),
            rttvar: self.rtt.rttvar(),
            by_timeout,
            marker: self.snd_una,
            recover: self.snd_nxt,
            stamp: None,
            unproven: Some(0),
            until: None,
        });
    }

    /// A segment is sent again; `times` counts this one.
    pub(super) fn note_resend(&mut self, now: Time, times: u16) {
        let stamp = self.has_timestamps.then(|| self.timestamps(now).value);
        let Some(saved) = self.spurious.as_mut().and_then(|spurious| spurious.saved.as_mut()) else { return };
        if saved.unproven == Some(0) && times == 1 {
            saved.stamp = stamp;
        }
        saved.unproven = if times > 1 { None } else { saved.unproven.map(|n| n + 1) };
    }

    /// The episode is over: reports of duplicates may still come for a round trip.
    pub(super) fn note_exit(&mut self) {
        let next = self.snd_nxt;
        if let Some(saved) = self.spurious.as_mut().and_then(|spurious| spurious.saved.as_mut()) {
            saved.until = Some(next);
        }
    }

    /// What an ACK that acknowledged `newly` bytes says about the last episode. True: it was spurious, and is undone.
    pub(super) fn detect_spurious(&mut self, now: Time, segment: &Segment, newly: u64) -> bool {
        if !self.is_spurious(segment, newly) {
            return false;
        }
        self.undo(now, newly);
        true
    }

    fn is_spurious(&mut self, segment: &Segment, newly: u64) -> bool {
        let detection = self.config.spurious_detection;
        let by_frto = self.is_spurious_by_frto(newly);
        let Some(spurious) = &mut self.spurious else { return false };
        let Some(saved) = &mut spurious.saved else { return false };
        if saved.until.is_some_and(|until| self.snd_una > until) {
            spurious.saved = None;
            return false;
        }
        let mut by_timestamp = false;
        if newly > 0 {
            if let (Some(stamp), Some(timestamps)) = (saved.stamp.take(), segment.timestamps) {
                by_timestamp = (timestamps.echo.wrapping_sub(stamp) as i32) < 0;
            }
        }
        let mut by_duplicates = false;
        if let Some((left, _)) = self.dsack {
            saved.unproven = match saved.unproven {
                Some(n) if n > 0 && left >= saved.marker => Some(n - 1),
                _ => None,
            };
            by_duplicates = saved.unproven == Some(0);
        }
        by_frto
            || (by_timestamp && detection.uses(SpuriousDetection::Eifel))
            || (by_duplicates && detection.uses(SpuriousDetection::Dsack))
    }

    /// RFC 5682 §2.1, and §3.1 where SACK is in use.
    ///
    /// DEVIATION: RFC 5682 §3.1 waits for the ACK of the first segment before it looks at what was SACKed. Here, as in
    /// Linux, the first report of something that was never sent again decides, even if it comes before. And where the timer
    /// expires in fast recovery §3.1 does without F-RTO, as SACKs of retransmissions would mislead it; which segments were
    /// never sent again is known here, so it is used, and waits for the ACK of the first segment.
    fn is_spurious_by_frto(&mut self, newly: u64) -> bool {
        let has_new_data = self.can_send_new();
        let Some(Spurious { frto, saved: Some(saved), .. }) = self.spurious.as_deref_mut() else { return false };
        if *frto == Frto::Off {
            return false;
        }
        if self.snd_una >= saved.recover {
            // Everything is acknowledged; whether the first was late cannot be told.
            *frto = Frto::Off;
            return false;
        }
        let delivery = self.board.delivery();
        let is_second = *frto == Frto::SecondAck;
        let was_recovering = saved.episode.phase != Phase::Open;
        if self.has_sack && delivery.original_start < saved.recover && (is_second || !was_recovering) {
            return true;
        }
        if newly == 0 {
            // Duplicates: the loss was real. Resend the rest.
            let only_news_below = self.has_sack && delivery.bytes == 0;
            if is_second {
                self.cc.limit_cwnd(3 * u64::from(self.smss));
                self.episode.resend_first = true;
                if !self.has_sack {
                    // The duplicates do not say which of the new segments arrived: go back to the hole.
                    self.board.mark_all_lost(false);
                }
            } else if only_news_below || self.has_sack && was_recovering {
                // A window update or an old ACK says nothing; nor do SACKs, before the first segment is acknowledged.
                return false;
            }
            *frto = Frto::Off;
            return false;
        }
        if is_second && !self.has_sack {
            return true;
        }
        *frto = if has_new_data { Frto::SecondAck } else { Frto::Off };
        false
    }

    /// Whether F-RTO holds back what the timeout declared lost.
    #[inline]
    pub(super) fn is_waiting_for_frto(&self) -> bool {
        self.spurious.as_ref().is_some_and(|spurious| spurious.frto != Frto::Off)
    }

    /// An ACK of new data is about to be sampled.
    pub(super) fn become_patient(&mut self) {
        let Some(spurious) = &mut self.spurious else { return };
        if let Some(patience) = spurious.patience.take_if(|patience| self.snd_una > patience.from) {
            self.rtt.be_patient(patience.srtt, patience.rttvar);
        }
    }

    fn undo(&mut self, now: Time, newly: u64) {
        let Some(saved) = self.spurious.as_mut().and_then(|spurious| {
            spurious.frto = Frto::Off;
            spurious.saved.take()
        }) else {
            return;
        };
        self.counters.undone += 1;
        self.events.push_back(Event::Undone(self.snd_una));
        self.board.unmark_lost();
        // A recovery that the timer interrupted goes on.
        self.episode = saved.episode.resumed();
        let (cwnd, ssthresh) = (self.cc.cwnd(), self.cc.ssthresh());
        let response = match self.config.spurious_response {
            // RFC 4015 §3.2 step 4: an ACK that tells of marks keeps the reduction.
            _ if self.is_echoed() => SpuriousResponse::Conservative,
            response => response,
        };
        match response {
            SpuriousResponse::Restore => {
                self.cc.undo(saved.cc);
                let before = (self.cc.cwnd(), self.cc.ssthresh());
                if cwnd > before.0 {
                    self.cc.set_window(cwnd, ssthresh.max(before.1));
                }
            }
            SpuriousResponse::Rfc4015 => {
                let flight = self.board.flight_size();
                let room = newly.min(self.config.initial_window.bytes(self.smss));
                self.cc.undo(saved.cc);
                self.cc.set_window(flight + room, saved.flight);
            }
            // Its window is not a share of a threshold.
            SpuriousResponse::Conservative if self.cc.is_model_based() => {}
            SpuriousResponse::Conservative => self.cc.set_window(ssthresh.min(saved.cc.cwnd()), ssthresh),
        }
        if saved.by_timeout && response == SpuriousResponse::Rfc4015 {
            if let (Some(srtt), Some(spurious)) = (saved.srtt, &mut self.spurious) {
                let srtt = srtt + self.config.rto.granularity * 2;
                spurious.patience = Some(Patience { from: saved.recover, srtt, rttvar: saved.rttvar });
            }
        }
        if self.board.flight_size() > 0 {
            self.arm_rto(now);
        }
    }
}
