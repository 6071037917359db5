//! Adapter: a congestion control of the product controls a connection of the stack.
//!
//! The stack reports each packet acknowledged, then the end of the ACK, then the losses that it shows. The contract of the
//! product has losses first. A congestion control that compares both, such as BBR, therefore sees a loss one ACK late.
//! The stack names no packet in its reports: notes of sent packets are found by instant and size, the oldest first.
//!
//! The window grows outside recovery only, and by all bytes acknowledged. A loss of a packet that was sent before the last
//! reduction reduces nothing (RFC 9002 §7.3.1). A probe timeout moves no window; persistent congestion is a timeout.

use crate::clock::Clock;
use crate::rapid::Rapid;
use crate::resume::{Flight, Resume};
use crate::tap::Shared;
use bentpipe_cc::keys::{Growth, RapidStart, SlowStart};
use bentpipe_cc::RateSample;
use bentpipe_cc::{
    AckSample, CarefulResume, CcConfig, Congestion, Custom, Delivery, Init, LostSegment, Marks, PathState,
    ResumeReason, SavedPath,
};
use bentpipe_model::spec::Quic;
use bentpipe_units::{Duration, Time};
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use quinn_proto::RttEstimator;
use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// Smallest part of a datagram that is one of its packets. Less is left of coalesced packets of the handshake only.
const LEAST_PACKET: u64 = 20;
/// Datagrams in the smallest window (RFC 9002 §7.2).
const LEAST_WINDOW: u64 = 2;
/// Smallest packet that counts as a packet with data while the stack reports nothing about it.
const LEAST_DATA: u64 = 100;

/// Makes adapters for one connection.
#[derive(Debug)]
pub(crate) struct HouseFactory {
    pub(crate) cc: CcConfig,
    pub(crate) growth: Growth,
    pub(crate) initial_window: u64,
    /// Careful resume, and the path that an earlier connection saved.
    pub(crate) resume: Option<(bentpipe_cc::keys::CarefulResume, Option<SavedPath>)>,
    pub(crate) seed: u64,
    pub(crate) clock: Clock,
    pub(crate) facts: Shared,
}

impl ControllerFactory for HouseFactory {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        let own = self.cc.custom(Init {
            now: self.clock.time(now),
            seed: self.seed,
            smss: mtu.into(),
            cwnd: self.initial_window,
            growth: self.growth,
            ..Init::default()
        });
        // A saved path is that of the first address.
        let is_first = self.facts.lock().number == 0;
        let resume = self.resume.filter(|_| is_first).map(|(settings, saved)| {
            let part = |saved| CarefulResume::new(settings, saved, self.initial_window, mtu.into());
            Resume::new(saved.map(part), self.initial_window)
        });
        Box::new(House {
            own,
            resume,
            rapid: match self.growth.slow_start {
                SlowStart::Rapid(settings) => Some(Rapid::new(settings)),
                _ => None,
            },
            factory: Arc::clone(&self),
            smss: mtu.into(),
            notes: VecDeque::new(),
            sent: 0,
            in_flight: 0,
            delivered: 0,
            lost: 0,
            delivered_at: Time::ZERO,
            first_sent_at: Time::ZERO,
            app_limited: None,
            least_rtt: None,
            srtt: None,
            reduced_at: None,
            is_repairing: false,
            ack: Ack::default(),
        })
    }
}

/// A congestion control of the product on a connection of the stack.
struct House {
    own: Box<dyn Custom>,
    /// Careful resume, if it is on.
    resume: Option<Resume>,
    /// Rapid start, if it is on.
    rapid: Option<Rapid>,
    factory: Arc<HouseFactory>,
    /// Payload of UDP in a full datagram.
    smss: u64,
    /// Packets sent, neither acknowledged nor declared lost, the oldest first.
    notes: VecDeque<Note>,
    /// Bytes sent so far: the offset of the next packet.
    sent: u64,
    in_flight: u64,
    delivered: u64,
    lost: u64,
    delivered_at: Time,
    /// When the packet that was acknowledged last was sent.
    first_sent_at: Time,
    /// Rate samples are bounded by the application until more than this is delivered.
    app_limited: Option<u64>,
    least_rtt: Option<Duration>,
    srtt: Option<Duration>,
    /// Time of the last reduction: earlier packets neither reduce the window nor grow it.
    reduced_at: Option<Time>,
    /// Whether no packet sent since has been acknowledged.
    is_repairing: bool,
    ack: Ack,
}

/// State when a packet left.
#[derive(Clone, Copy, Debug)]
struct Note {
    sent_at: Time,
    start: u64,
    /// Bytes that no report has named yet; 0: acknowledged.
    left: u64,
    len: u64,
    delivered: u64,
    delivered_at: Time,
    first_sent_at: Time,
    is_app_limited: bool,
    flight: u64,
    lost: u64,
}

/// Results of the present ACK.
#[derive(Clone, Copy, Debug, Default)]
struct Ack {
    bytes: u64,
    /// Bytes of packets sent after the last reduction.
    grows: u64,
    newest: Option<Note>,
}

impl House {
    fn time(&self, instant: Instant) -> Time {
        self.factory.clock.time(instant)
    }

    fn path(&self, now: Time) -> PathState {
        PathState {
            now,
            smss: self.smss,
            header_len: Quic::HEADERS.into(),
            snd_una: self.notes.front().map_or(self.sent, |note| note.start),
            flight_size: self.in_flight,
            // RFC 9002 §7.3.2: a share of the congestion window.
            ssthresh_base: self.own.cwnd(),
            ssthresh_unit: 1,
            snd_nxt: self.sent,
            srtt: self.srtt,
            rwnd: u64::MAX / 2,
        }
    }

    /// Leaves the pace for the connection.
    fn report(&self) {
        let resumed = self.resume.as_ref().and_then(|resume| resume.pace(self.srtt));
        self.factory.facts.lock().pace = resumed.or(self.own.pacing());
    }

    /// Gives careful resume an event, if it is on.
    fn with_resume(&mut self, now: Time, tell: impl FnOnce(&mut Resume, &mut dyn Custom, &Flight)) {
        let Some(resume) = &mut self.resume else { return };
        let waits = self.notes.iter().find(|note| note.left > 0 && note.len >= LEAST_DATA);
        let flight = Flight {
            now,
            smss: self.smss,
            in_flight: self.in_flight,
            next: self.sent,
            settled: waits.map_or(self.sent, |note| note.start),
            delivered: self.delivered,
            srtt: self.srtt,
            least_rtt: self.least_rtt,
            is_app_limited: self.app_limited.is_some(),
        };
        tell(resume, &mut *self.own, &flight);
        resume.teach(&*self.own, &flight, &self.factory.facts);
    }

    fn rate(&self, note: &Note, now: Time, rtt: Duration) -> RateSample {
        let sending = note.sent_at.saturating_since(note.first_sent_at);
        let interval = sending.max(now.saturating_since(note.delivered_at));
        RateSample {
            delivered: self.delivered - note.delivered,
            interval,
            rtt: Some(rtt),
            is_app_limited: note.is_app_limited,
            flight_before: note.flight,
            lost: self.lost - note.lost,
            prior_delivered: note.delivered,
            is_too_short: self.least_rtt.is_some_and(|least| interval < least),
        }
    }

    fn pop_acked(&mut self) {
        while self.notes.front().is_some_and(|note| note.left == 0) {
            self.notes.pop_front();
        }
    }

    fn is_after_reduction(&self, sent_at: Time) -> bool {
        self.reduced_at.is_none_or(|reduced| sent_at > reduced)
    }

    /// Reports the bytes of an ACK that may grow the window.
    fn grow(&mut self, now: Time, bytes: u64, rtt: Option<Duration>, is_cwnd_limited: bool) {
        let is_held = self.rapid.as_ref().is_some_and(Rapid::is_converging);
        if bytes > 0 && !is_held && self.resume.as_ref().is_none_or(Resume::may_grow) {
            let path = self.path(now);
            let sample = AckSample { newly_acked: bytes, is_cwnd_limited, rtt, marks: Marks::default() };
            self.own.on_ack(&sample, &path);
        }
        self.with_resume(now, |resume, own, flight| resume.on_ack(own, flight));
        self.report();
    }

    /// Gives rapid start the bytes of packets sent before the last reduction.
    fn converge(&mut self, acked: u64, lost: u64, is_repaired: bool) {
        if let Some(rapid) = &mut self.rapid {
            rapid.pass(&mut *self.own, acked, lost, is_repaired);
        }
    }

    /// Forgets packets that only acknowledge: the stack reports that they leave, and never their end.
    fn forget_acks(&mut self, now: Time) {
        let patience = self.srtt.map_or(Duration::from_secs(3), |srtt| srtt.saturating_mul(3));
        while self.notes.front().is_some_and(|note| note.len < LEAST_DATA && note.sent_at + patience < now) {
            self.notes.pop_front();
        }
    }

    /// Takes the notes of lost packets, and reports them. The last of them was sent at `sent_at`.
    fn lose(&mut self, now: Time, sent_at: Time, bytes: u64) {
        let mut left = bytes;
        let takes_deliveries = self.own.takes_deliveries();
        let end = self.notes.partition_point(|note| note.sent_at <= sent_at);
        for index in 0..end {
            let note = self.notes[index];
            if note.left == 0 || left == 0 {
                continue;
            }
            left = left.saturating_sub(note.len);
            self.lost += note.len;
            self.notes[index].left = 0;
            if takes_deliveries {
                let lost = LostSegment {
                    start: note.start,
                    len: note.len,
                    flight_before: note.flight,
                    lost: self.lost - note.lost,
                    is_app_limited: note.is_app_limited,
                    prior_delivered: note.delivered,
                    delivered: self.delivered,
                    has_sack: true,
                };
                let path = self.path(now);
                self.own.on_lost(&lost, &path);
            }
        }
        self.pop_acked();
    }
}

impl Controller for House {
    fn on_sent(&mut self, now: Instant, bytes: u64, _: u64) {
        let now = self.time(now);
        if self.in_flight == 0 {
            self.first_sent_at = now;
            self.delivered_at = now;
            let path = self.path(now);
            self.own.on_resume(&path);
        }
        self.forget_acks(now);
        self.in_flight += bytes;
        self.notes.push_back(Note {
            sent_at: now,
            start: self.sent,
            left: bytes,
            len: bytes,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            is_app_limited: self.app_limited.is_some(),
            flight: self.in_flight,
            lost: self.lost,
        });
        self.sent += bytes;
        self.with_resume(now, |resume, own, flight| resume.on_sent(own, flight));
        self.report();
    }

    fn on_ack(&mut self, _: Instant, sent: Instant, bytes: u64, _: bool, rtt: &RttEstimator) {
        let sent_at = self.time(sent);
        let first = self.notes.partition_point(|note| note.sent_at < sent_at);
        let same = self.notes.iter_mut().skip(first).take_while(|note| note.sent_at == sent_at);
        let mut found = None;
        for note in same {
            if note.left >= bytes {
                note.left -= bytes;
                if note.left < LEAST_PACKET {
                    note.left = 0;
                }
                found = Some(*note);
                break;
            }
        }
        self.pop_acked();
        self.delivered += bytes;
        if let (Some(resume), Some(note)) = (&mut self.resume, found) {
            resume.on_delivered(note.start, bytes);
        }
        self.ack.bytes += bytes;
        if self.is_after_reduction(sent_at) {
            self.ack.grows += bytes;
        }
        if self.ack.newest.is_none_or(|newest| found.is_some_and(|note| note.start > newest.start)) {
            self.ack.newest = found.or(self.ack.newest);
        }
        // Before the first sample the estimator has the configured value.
        self.srtt = self.srtt.map(|_| self.factory.clock.span(rtt.get()));
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _: Option<u64>) {
        self.in_flight = in_flight;
        let now = self.time(now);
        let Ack { bytes, grows, newest } = std::mem::take(&mut self.ack);
        if bytes == 0 {
            return;
        }
        self.converge(bytes - grows, 0, grows > 0);
        let Some(newest) = newest else { return self.grow(now, grows, None, !app_limited) };
        let rtt = now.saturating_since(newest.sent_at);
        self.least_rtt = Some(self.least_rtt.map_or(rtt, |least| least.min(rtt)));
        self.srtt.get_or_insert(rtt);
        self.delivered_at = now;
        let rate = self.rate(&newest, now, rtt);
        self.first_sent_at = newest.sent_at;
        if self.app_limited.is_some_and(|until| self.delivered > until) {
            self.app_limited = None;
        }
        if app_limited {
            self.app_limited = Some((self.delivered + in_flight).max(1));
        }
        let path = self.path(now);
        if self.is_repairing && self.is_after_reduction(newest.sent_at) {
            self.is_repairing = false;
            self.own.on_recovery_exit(&path);
        }
        if self.own.takes_deliveries() {
            let delivery = Delivery {
                newly_delivered: bytes,
                delivered: self.delivered,
                newly_lost: 0,
                lost: self.lost,
                in_flight,
                is_cwnd_limited: !app_limited,
                is_repairing: self.is_repairing,
                rate: Some(rate),
                one_way_delay: None,
                receiver_clock: None,
                echoed_rtt: None,
                // The stack reports that marks came, without their number.
                marks: Marks::default(),
            };
            self.own.on_delivery(&delivery, &path);
        }
        self.grow(now, grows, Some(rtt), !app_limited);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost_bytes: u64) {
        let (now, sent_at) = (self.time(now), self.time(sent));
        self.in_flight = self.in_flight.saturating_sub(lost_bytes);
        if lost_bytes > 0 {
            self.lose(now, sent_at, lost_bytes);
        }
        let path = self.path(now);
        if self.is_after_reduction(sent_at) {
            self.reduced_at = Some(now);
            let (congestion, reason) = if lost_bytes > 0 {
                self.is_repairing = true;
                (Congestion::FastRetransmit, ResumeReason::PacketLoss)
            } else {
                (Congestion::Ecn { beta: None }, ResumeReason::EcnCe)
            };
            let before = self.own.cwnd();
            let ends_start = before < self.own.ssthresh();
            let is_resumed = self.resume.as_ref().is_some_and(|resume| !resume.may_grow());
            let is_long = self.least_rtt.is_some_and(|rtt| rtt >= RapidStart::LEAST_RTT);
            self.own.on_congestion(congestion, &path);
            self.with_resume(now, |resume, own, flight| resume.on_congestion(own, flight, reason));
            let before = (ends_start && is_long && !is_resumed).then_some(before.min(path.ssthresh_base));
            if let Some(rapid) = &mut self.rapid {
                rapid.on_reduction(&mut *self.own, before, self.in_flight + lost_bytes, LEAST_WINDOW * self.smss);
            }
        }
        self.converge(0, lost_bytes, false);
        if is_persistent {
            // RFC 9002 §7.6.2 leaves the threshold to the loss: it is not cut twice.
            self.own.on_rto(false, &path);
            let least = LEAST_WINDOW * self.smss;
            if self.own.cwnd() < least {
                self.own.set_window(least, self.own.ssthresh());
            }
            self.with_resume(now, |resume, own, flight| resume.on_timeout(own, flight));
            if let Some(rapid) = &mut self.rapid {
                rapid.on_reduction(&mut *self.own, None, 0, 0);
            }
            self.reduced_at = None;
            self.is_repairing = false;
        }
        self.report();
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.smss = new_mtu.into();
        self.own.on_smss(new_mtu.into());
    }

    fn window(&self) -> u64 {
        self.own.cwnd().max(LEAST_WINDOW * self.smss)
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window();
        metrics.ssthresh = Some(self.own.ssthresh());
        metrics.pacing_rate = self.own.pacing().map(|pace| pace.rate.as_bps());
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self {
            own: self.own.copy(),
            resume: self.resume.clone(),
            rapid: self.rapid.clone(),
            factory: Arc::clone(&self.factory),
            notes: self.notes.clone(),
            ..*self
        })
    }

    fn initial_window(&self) -> u64 {
        self.factory.initial_window
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
