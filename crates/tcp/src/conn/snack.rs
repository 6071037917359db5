//! SNACK, the selective negative acknowledgement of SCPS-TP (CCSDS 714.0-B): the receiver says what is missing, and the
//! sender sends that again at once.
//!
//! Receiver: when a gap opens or is filled, the holes are reported in ascending order, one with each ACK (in the long form
//! all that a bit vector can tell): the first, at the acknowledged byte, up to three times, the others once.
//!
//! Sender: what is reported leaves again before anything new, whatever the window, which is raised to the hole if it is
//! smaller. What was sent again is under embargo for a smoothed round-trip time. The first report of an epoch is judged as
//! any loss is; until all is acknowledged that had been sent then, further reports only repair, and what was reported
//! before begins no other epoch. The third duplicate ACK counts as a report of the first segment.
//!
//! Readings. The standard leaves open what is in the network: here it is what was sent, less what is lost and not sent
//! again, less a segment for each duplicate ACK; new data leave while that is below the window. ACKs of new data grow the
//! window in an epoch too, unless a setting says otherwise. Corruption is told on as many ACKs as the first hole. The bits
//! of the vector only tell of holes; there is no bit for data that end between two units.
//!
//! A timeout goes back to the first hole and sends all again in slow start, as it does without SACK.

use super::recovery::{Advance, Phase};
use super::scoreboard::DUP_THRESH;
use super::{Connection, Receiver};
use crate::cc::CongestionControl;
use crate::config::{self, Recovery, SnackForm};
use crate::scps::{BitVector, ScpsCapabilities, ScpsOptions, SnackOption};
use crate::segment::{Options, Segment, SynOptions};
use crate::verdict::LossVerdict;
use bentpipe_units::{Duration, Time};

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Holes {
    settings: config::Snack,
    /// Bytes of a segment as agreed on: holes are told in these.
    unit: u64,
    has_vector: bool,

    reports: Reports,
    /// So many ACKs more tell of corruption.
    corrupted: u32,

    /// Where the highest hole that was reported ends.
    highest_hole: u64,
    /// Bytes beyond SND.UNA that duplicate ACKs showed to have arrived.
    delivered: u64,
}

/// Which hole is reported next.
#[derive(Clone, Copy, Debug, Default)]
struct Reports {
    is_due: bool,
    /// Reports of this course.
    count: u32,
    /// Where the last hole that was reported ends.
    next: u64,
}

impl Reports {
    fn next_hole(&mut self, receiver: &mut Receiver, resnacks: u32) -> Option<(u64, u64)> {
        if receiver.take_gap_news() && !self.is_due {
            *self = Self { is_due: true, ..Self::default() };
        }
        if !self.is_due {
            return None;
        }
        let from = if self.count < resnacks { receiver.nxt() } else { self.next.max(receiver.nxt()) };
        let hole = receiver.hole_after(from);
        self.is_due = hole.is_some();
        self.count = self.count.saturating_add(1);
        self.next = hole?.1;
        hole
    }
}

impl Holes {
    fn new(settings: config::Snack, smss: u32, has_vector: bool) -> Self {
        Self {
            settings,
            unit: u64::from(smss),
            has_vector,
            reports: Reports::default(),
            corrupted: 0,
            highest_hole: 0,
            delivered: 0,
        }
    }

    /// The next report, with up to so many bytes of bit vector.
    fn report(&mut self, receiver: &mut Receiver, vector_max: usize) -> Option<SnackOption> {
        let (start, end) = self.reports.next_hole(receiver, self.settings.resnacks)?;
        let (acked, unit) = (receiver.nxt(), self.unit);
        let offset = (start - acked) / unit;
        // Beyond what 16 bits can say nothing is reported.
        let offset = u16::try_from(offset).ok()?;
        let size = (end - start).div_ceil(unit).min(u64::from(u16::MAX)) as u16;
        let mut beyond = BitVector::default();
        if self.has_vector {
            let first = acked + (u64::from(offset) + u64::from(size)) * unit;
            for at in 0..8 * vector_max {
                let start = first + at as u64 * unit;
                if receiver.holds(start, start + unit) {
                    beyond.set(at);
                    self.reports.next = self.reports.next.max(start);
                }
            }
        }
        Some(SnackOption { offset, size, beyond })
    }

    /// All that was sent is taken for lost.
    pub(super) fn on_timeout(&mut self) {
        self.delivered = 0;
    }
}

/// Holes that an ACK of `una` reports, in bytes.
fn holes(option: &SnackOption, una: u64, unit: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
    let start = una + u64::from(option.offset) * unit;
    let end = start + u64::from(option.size) * unit;
    let missing = (0..option.beyond.units()).filter(|at| !option.beyond.has(*at)).map(move |at| {
        let start = end + at as u64 * unit;
        (start, start + unit)
    });
    std::iter::once((start, end)).chain(missing)
}

/// What both ends do.
impl Connection {
    /// Those of a SYN or SYN-ACK.
    pub(super) fn scps_capabilities(&self, is_answer: bool) -> Option<ScpsCapabilities> {
        let Recovery::Snack(settings) = self.config.recovery else { return None };
        let long = if settings.form == SnackForm::Long { ScpsCapabilities::SNACK_LONG } else { 0 };
        let offered = ScpsCapabilities { features: ScpsCapabilities::SNACK_SHORT | long, connection: 0 };
        (!is_answer || self.snack.is_some()).then_some(offered)
    }

    /// A SYN or SYN-ACK arrived: a feature is on if both ends offer it.
    pub(super) fn agree_on_snack(&mut self, peer: &SynOptions) {
        self.snack = None;
        let (Recovery::Snack(settings), Some(offered)) = (self.config.recovery, peer.scps) else { return };
        if offered.has(ScpsCapabilities::SNACK_SHORT) {
            let has_vector = settings.form == SnackForm::Long && offered.has(ScpsCapabilities::SNACK_LONG);
            self.snack = Some(Box::new(Holes::new(settings, self.smss, has_vector)));
        }
    }
}

/// The receiver.
impl Connection {
    /// A packet of the peer arrived corrupted, and is not to be looked at; the IP or link layer says so. It is told with the
    /// next ACKs, if that was agreed on.
    pub fn handle_corrupted(&mut self) {
        if let Some(snack) = self.snack.as_mut().filter(|snack| snack.settings.corruption_experienced) {
            snack.corrupted = snack.settings.resnacks;
        }
    }

    #[inline(never)]
    pub(super) fn snack_options(&mut self) -> Options {
        let Some(snack) = &mut self.snack else { return Options::None };
        // 40 bytes of options, of which timestamps take 12.
        let vector_max = if self.has_timestamps { 20 } else { BitVector::BYTES_MAX };
        let corruption_experienced = snack.corrupted > 0;
        snack.corrupted = snack.corrupted.saturating_sub(1);
        let options = ScpsOptions { snack: snack.report(&mut self.receiver, vector_max), corruption_experienced };
        if options == ScpsOptions::default() {
            Options::None
        } else {
            Options::Scps(options)
        }
    }
}

/// The sender.
impl Connection {
    /// Does an ACK tell of corruption?
    pub(super) fn read_corruption(&mut self, now: Time, segment: &Segment) {
        if let (Options::Scps(ScpsOptions { corruption_experienced: true, .. }), Some(_)) =
            (segment.options, &self.snack)
        {
            let path = self.path(now);
            self.verdict.on_corruption(&path);
        }
    }

    /// An ACK that acknowledges nothing new.
    pub(super) fn on_snack_ack(&mut self, now: Time, segment: &Segment, is_duplicate: bool) {
        if self.detect_spurious(now, segment, 0) {
            return;
        }
        let smss = u64::from(self.smss);
        if is_duplicate {
            if let Some(rates) = &mut self.rates {
                rates.on_duplicate(now, smss);
            }
            if let Some(snack) = &mut self.snack {
                snack.delivered = (snack.delivered + smss).min(self.board.flight_size());
            }
            self.episode.dupacks = self.episode.dupacks.saturating_add(1);
        }
        self.read_snack(now, segment);
        if is_duplicate && u64::from(self.episode.dupacks) == DUP_THRESH {
            self.add_hole(now, self.snd_una, self.snd_una + smss);
        }
        self.tell_delivery(now, segment);
    }

    /// The cumulative ACK advanced by `newly` bytes.
    pub(super) fn advance_by_snack(&mut self, now: Time, segment: &Segment, newly: u64, advance: &mut Advance) {
        let smss = u64::from(self.smss);
        let Some(snack) = &mut self.snack else { return };
        // What lay beyond the hole was counted when it arrived; the segment that filled it comes now.
        let counted = newly.saturating_sub(smss);
        snack.delivered = if self.snd_una >= snack.highest_hole { 0 } else { snack.delivered.saturating_sub(counted) };
        advance.in_recovery &= !snack.settings.grows;
        self.read_snack(now, segment);
    }

    /// What an ACK, which was entered, says is missing.
    fn read_snack(&mut self, now: Time, segment: &Segment) {
        let Options::Scps(ScpsOptions { snack: Some(option), .. }) = segment.options else { return };
        let Some(unit) = self.snack.as_ref().map(|snack| snack.unit) else { return };
        for (start, end) in holes(&option, self.snd_una, unit) {
            self.add_hole(now, start, end);
        }
    }

    /// [start, end) is missing.
    fn add_hole(&mut self, now: Time, start: u64, end: u64) {
        let end = end.min(self.snd_nxt);
        if start >= end {
            return;
        }
        // Reading: CCSDS 714.0-B fixes the embargo when a hole is sent; here it lasts as long as a round trip takes now.
        let embargo: Duration = self.rtt.srtt().unwrap_or(self.config.rto.initial);
        let news = self.board.report_hole(now, start, end, embargo);
        let Some(snack) = &mut self.snack else { return };
        let is_older = start < snack.highest_hole;
        snack.highest_hole = snack.highest_hole.max(end);
        if news == 0 {
            return;
        }
        let is_epoch_over = self.is_calm() && self.episode.recover.is_none_or(|recover| self.snd_una >= recover);
        if is_epoch_over && !is_older {
            self.begin_episode(now);
            self.episode.phase = Phase::Snack;
        }
        if self.cc.cwnd() < end - start {
            self.cc.set_window(end - start, self.cc.ssthresh());
        }
    }

    /// Holes first, then new data while the window has room for them.
    #[inline(never)]
    pub(super) fn next_by_snack(&mut self, now: Time) -> Option<Segment> {
        if let Some(lost) = self.board.next_lost() {
            return Some(self.resend(now, lost, true));
        }
        let len = self.data_end().saturating_sub(self.snd_nxt).min(u64::from(self.smss));
        let delivered = self.snack.as_ref().map_or(0, |snack| snack.delivered);
        if self.board.pipe().saturating_sub(delivered) + len > self.cc.cwnd() {
            self.usage.limited |= len > 0;
            return None;
        }
        self.episode.may_exceed = true;
        let segment = self.next_new(now);
        self.episode.may_exceed = false;
        segment
    }
}
