//! Tests a congestion control behind a bottleneck with a queue, without a connection. Each segment is acknowledged, and
//! an ACK immediately reports missing segments before it. Nothing is retransmitted.

use crate::facts::RateSample;
use crate::testbench::{path, DELIVERY, RATE_SAMPLE};
use crate::{Congestion, CongestionControl, Delivery, LostSegment, PathState};
use bentpipe_units::{Duration, Time};
use std::collections::VecDeque;

pub(crate) const SMSS: u64 = 1000;

pub(crate) struct Bottleneck<C> {
    pub(crate) cc: C,
    pub(crate) now: Time,
    /// Bytes per second.
    pub(crate) rate: f64,
    /// Round-trip time with an empty queue.
    pub(crate) rtt: Duration,
    /// Segments that may wait.
    pub(crate) buffer: f64,
    /// Loses every n-th segment on the way; 0: no losses.
    pub(crate) loss_every: u64,
    pub(crate) delivered: u64,
    pub(crate) lost: u64,
    /// Segments at the bottleneck when the last one arrived.
    pub(crate) waiting: f64,
    free_at: Time,
    send_at: Time,
    sent: u64,
    in_flight: u64,
    flight: VecDeque<Sent>,
    delivered_at: Time,
    first_sent_at: Time,
    app_limited: Option<u64>,
    /// Recovery: the data sent at its start, and the latest time when such data was found lost.
    recover: Option<(u64, u64)>,
    is_limited: [bool; 2],
    round_end: u64,
}

#[derive(Clone, Copy)]
struct Sent {
    number: u64,
    at: Time,
    ack_at: Option<Time>,
    delivered: u64,
    delivered_at: Time,
    first_sent_at: Time,
    is_app_limited: bool,
    flight: u64,
    lost: u64,
}

impl<C: CongestionControl> Bottleneck<C> {
    /// Creates a path of `mbps` of payload and `rtt_ms`.
    pub(crate) fn new(cc: C, mbps: f64, rtt_ms: u64, buffer: f64) -> Self {
        Self {
            cc,
            now: Time::ZERO,
            rate: mbps * 125_000.0,
            rtt: Duration::from_millis(rtt_ms),
            buffer,
            loss_every: 0,
            delivered: 0,
            lost: 0,
            waiting: 0.0,
            free_at: Time::ZERO,
            send_at: Time::ZERO,
            sent: 0,
            in_flight: 0,
            flight: VecDeque::new(),
            delivered_at: Time::ZERO,
            first_sent_at: Time::ZERO,
            app_limited: None,
            recover: None,
            is_limited: [false; 2],
            round_end: 0,
        }
    }

    /// Returns the bandwidth-delay product, bytes.
    pub(crate) fn bdp(&self) -> f64 {
        self.rate * self.rtt.as_secs_f64()
    }

    fn view(&self) -> PathState {
        PathState { now: self.now, smss: SMSS, header_len: 0, srtt: Some(self.rtt), ..path(self.in_flight) }
    }

    /// Runs for `seconds`, or until `stop` returns true after an ACK.
    pub(crate) fn run(&mut self, seconds: f64, mut stop: impl FnMut(&Self) -> bool) {
        let end = self.now + Duration::from_secs_f64(seconds);
        while self.now < end {
            let fits = self.in_flight + SMSS <= self.cc.cwnd();
            self.is_limited[0] |= !fits;
            let arrival = self.flight.iter().find_map(|sent| sent.ack_at);
            let sending = fits.then(|| self.send_at.max(self.now));
            match (sending, arrival) {
                (Some(at), arrival) if arrival.is_none_or(|arrival| at <= arrival) => {
                    self.now = at;
                    self.send();
                }
                (_, Some(at)) => {
                    self.now = at;
                    self.ack();
                    if stop(self) {
                        return;
                    }
                }
                _ => {
                    // All data in flight is lost.
                    self.now += self.rtt * 2;
                    let view = self.view();
                    self.cc.on_rto(true, &view);
                    self.recover = Some((self.sent, self.sent));
                    while let Some(sent) = self.flight.pop_front() {
                        self.lose(sent);
                    }
                }
            }
        }
    }

    fn send(&mut self) {
        if self.in_flight == 0 {
            let view = self.view();
            self.cc.on_resume(&view);
            (self.first_sent_at, self.delivered_at) = (self.now, self.now);
        }
        let gap = self.cc.pacing().unwrap().rate.time_to_send(SMSS);
        self.send_at = self.send_at.max(self.now) + gap;
        self.waiting = self.free_at.saturating_since(self.now).as_secs_f64() * self.rate / SMSS as f64;
        self.sent += 1;
        self.in_flight += SMSS;
        let is_dropped = self.waiting > self.buffer || self.loss_every > 0 && self.sent % self.loss_every == 0;
        if self.waiting <= self.buffer {
            self.free_at = self.free_at.max(self.now) + Duration::from_secs_f64(SMSS as f64 / self.rate);
        }
        self.flight.push_back(Sent {
            number: self.sent,
            at: self.now,
            ack_at: (!is_dropped).then(|| self.free_at + self.rtt),
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            is_app_limited: self.app_limited.is_some(),
            flight: self.in_flight,
            lost: self.lost,
        });
    }

    fn lose(&mut self, sent: Sent) {
        self.lost += SMSS;
        self.in_flight -= SMSS;
        let lost = LostSegment {
            start: sent.number * SMSS,
            len: SMSS,
            flight_before: sent.flight,
            lost: self.lost - sent.lost,
            is_app_limited: sent.is_app_limited,
            prior_delivered: sent.delivered,
            delivered: self.delivered,
            has_sack: true,
        };
        let view = self.view();
        self.cc.on_lost(&lost, &view);
    }

    fn ack(&mut self) {
        let gap = self.flight.iter().take_while(|sent| sent.ack_at.is_none()).count();
        let acked = self.flight[gap];
        let lost_before = self.lost;
        if self.recover.take_if(|(_, until)| acked.number > *until).is_some() {
            let view = self.view();
            self.cc.on_recovery_exit(&view);
        }
        if gap > 0 && self.recover.is_none() {
            self.recover = Some((self.sent, self.sent));
            let view = self.view();
            self.cc.on_congestion(Congestion::FastRetransmit, &view);
        }
        self.delivered += SMSS;
        for _ in 0..gap {
            let sent = self.flight.pop_front().unwrap();
            if let Some((_, until)) = self.recover.as_mut().filter(|(end, _)| sent.number <= *end) {
                // It is retransmitted, and acknowledged a round trip later.
                *until = self.sent;
            }
            self.lose(sent);
        }
        self.flight.pop_front();
        self.in_flight -= SMSS;
        (self.delivered_at, self.first_sent_at) = (self.now, acked.at);
        if acked.number >= self.round_end {
            self.round_end = self.sent;
            self.is_limited = [false, self.is_limited[0]];
        }
        let sample = RateSample {
            delivered: self.delivered - acked.delivered,
            interval: (acked.at - acked.first_sent_at).max(self.now - acked.delivered_at),
            rtt: Some(self.now - acked.at),
            is_app_limited: acked.is_app_limited,
            flight_before: acked.flight,
            lost: self.lost - acked.lost,
            prior_delivered: acked.delivered,
            ..RATE_SAMPLE
        };
        self.app_limited.take_if(|until| self.delivered > *until);
        let delivery = Delivery {
            newly_delivered: SMSS,
            delivered: self.delivered,
            newly_lost: self.lost - lost_before,
            lost: self.lost,
            in_flight: self.in_flight,
            is_cwnd_limited: self.is_limited[0] || self.is_limited[1],
            is_repairing: self.recover.is_some(),
            rate: Some(sample),
            ..DELIVERY
        };
        let view = self.view();
        self.cc.on_delivery(&delivery, &view);
        if self.cc.holds_back() {
            self.app_limited = Some(self.delivered + self.in_flight);
        }
    }
}
