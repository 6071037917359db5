//! Delivery-rate samples: the rate at which the path delivers data (Cheng et al., draft-ietf-ccwg-bbr §4.1).
//!
//! Each transmission notes the bytes delivered before it left. The ACK that delivers it gives a rate: the bytes
//! delivered since then, divided by the longer of two times, to send them and to acknowledge them.

use super::scoreboard::Delivered;
use bentpipe_cc::{LostSegment, RateSample};
use bentpipe_units::{Duration, Time};
use std::collections::VecDeque;

/// Records of transmissions, and the delivered bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rates {
    /// The sample of the last ACK.
    pub(crate) last: Option<RateSample>,
    delivered: u64,
    delivered_at: Time,
    /// When the transmission that was delivered last was sent.
    first_sent_at: Time,
    /// Samples are bounded by the application until more than this is delivered.
    app_limited: Option<u64>,
    min_rtt: Option<Duration>,
    /// Records by segment, from `base` on. Segments from before a change of the segment size have none.
    notes: VecDeque<Option<Note>>,
    base: u64,
    /// Counted for duplicate ACKs without SACK, and not yet acknowledged.
    ahead: u64,
    /// Bytes delivered, and declared lost, when the controller was last notified.
    notified: (u64, u64),
}

/// Record of a transmission at its departure.
#[derive(Clone, Copy, Debug)]
struct Note {
    delivered: u64,
    delivered_at: Time,
    first_sent_at: Time,
    is_app_limited: bool,
    flight: u64,
    lost: u64,
}

/// Data in the network when a segment leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlight {
    /// Bytes sent, not delivered and not declared lost since; without and with the segment.
    pub(crate) before: u64,
    pub(crate) after: u64,
    /// Bytes ever declared lost.
    pub(crate) lost: u64,
}

impl Rates {
    /// Segment `index` is sent, perhaps again.
    pub(crate) fn on_sent(&mut self, now: Time, index: u64, flight: InFlight) {
        if flight.before == 0 {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        let note = Note {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            is_app_limited: self.app_limited.is_some(),
            flight: flight.after,
            lost: flight.lost,
        };
        let Some(position) = index.checked_sub(self.base) else { return };
        let position = position as usize;
        if position > self.notes.len() {
            self.notes.resize(position, None);
        }
        match self.notes.get_mut(position) {
            Some(noted) => *noted = Some(note),
            None => self.notes.push_back(Some(note)),
        }
    }

    /// Returns the record of the last transmission of segment `index` if it is lost now, `lost_ever` bytes after the
    /// first.
    pub(crate) fn lost(&self, index: u64, lost_ever: u64) -> Option<LostSegment> {
        let note = (*self.notes.get(index.checked_sub(self.base)? as usize)?)?;
        Some(LostSegment {
            start: 0,
            len: 0,
            flight_before: note.flight,
            lost: lost_ever.saturating_sub(note.lost),
            is_app_limited: note.is_app_limited,
            prior_delivered: note.delivered,
            delivered: self.delivered,
            has_sack: true,
        })
    }

    /// Bytes delivered so far.
    pub(crate) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Bytes delivered since the last call, and declared lost, of which there are `lost` now.
    pub(crate) fn take_news(&mut self, lost: u64) -> (u64, u64) {
        let before = std::mem::replace(&mut self.notified, (self.delivered, lost));
        (self.delivered - before.0, lost - before.1)
    }

    /// A duplicate ACK without SACK: one segment, which one is not known, was delivered.
    pub(crate) fn on_duplicate(&mut self, now: Time, smss: u64) {
        self.last = None;
        self.delivered += smss;
        self.delivered_at = now;
        self.ahead += smss;
    }

    /// An ACK was entered into the scoreboard, whose first segment is now `base`.
    pub(crate) fn on_ack(&mut self, now: Time, delivery: &Delivered, base: u64, lost: u64) -> Option<RateSample> {
        let counted = delivery.bytes.min(self.ahead);
        self.ahead -= counted;
        self.delivered += delivery.bytes - counted;
        let sample = delivery.newest.and_then(|newest| {
            self.delivered_at = now;
            let position = newest.index.checked_sub(self.base)?;
            let note = (*self.notes.get(position as usize)?)?;
            let rtt = (!newest.is_retrans).then(|| now - newest.xmit_ts);
            if let Some(rtt) = rtt {
                self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
            }
            self.first_sent_at = newest.xmit_ts;
            let sending = newest.xmit_ts.saturating_since(note.first_sent_at);
            let interval = sending.max(now - note.delivered_at);
            Some(RateSample {
                delivered: self.delivered - note.delivered,
                interval,
                rtt,
                is_app_limited: note.is_app_limited,
                flight_before: note.flight,
                lost: lost - note.lost,
                prior_delivered: note.delivered,
                is_too_short: self.min_rtt.is_some_and(|least| interval < least),
            })
        });
        if self.app_limited.is_some_and(|until| self.delivered > until) {
            self.app_limited = None;
        }
        while self.base < base {
            self.notes.pop_front();
            self.base += 1;
        }
        sample
    }

    /// The application leaves the path idle: samples are lower bounds until what is `in_flight` is delivered.
    pub(crate) fn on_app_limited(&mut self, in_flight: u64) {
        self.app_limited = Some((self.delivered + in_flight).max(1));
    }

    /// Segments were split: the records of their transmissions are void.
    pub(crate) fn forget(&mut self, base: u64) {
        self.notes.clear();
        self.base = base;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conn::tests::bench::Bench;
    use bentpipe_cc::CcKind;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    fn sender() -> Bench {
        let mut s = Bench::new(CcKind::Sack, 10, |_| ());
        s.conn.measure_rates();
        s
    }

    fn rate(s: &Bench) -> f64 {
        s.conn.report().rate_sample().and_then(|sample| sample.rate()).unwrap().as_bps() as f64 / 8.0
    }

    fn near(rate: f64, expected: f64) {
        assert!((rate - expected).abs() < 0.2, "{rate} {expected}");
    }

    /// `docs/specs/delivery-rate.md`, tests 1 and 2: a burst of ten through 1 Mbit/s and 100 ms.
    #[test]
    fn the_rate_of_a_bottleneck() {
        let mut s = sender();
        s.send(1000);
        let mut rates = Vec::new();
        for k in 1..=10 {
            s.at(ms(100 + 8 * k)).ack(k, &[]);
            rates.push(rate(&s));
        }
        near(rates[0], 9_259.3);
        near(rates[9], 55_555.6);
        s.at(ms(216)).ack(11, &[]);
        near(rate(&s), 92_592.6);
    }

    /// Test 3: ACKs held and released at once, and a start from idle.
    #[test]
    fn compressed_acks_do_not_show_more_than_was_sent() {
        let mut s = sender();
        s.send(10);
        s.at(ms(200)).ack(10, &[]);
        near(rate(&s), 50_000.0);
        s.send(1);
        s.at(ms(308)).ack(11, &[]);
        near(rate(&s), 9_259.3);
    }

    /// Test 4: three segments of an application that writes no more.
    #[test]
    fn samples_of_an_idle_application_are_marked() {
        let mut s = sender();
        s.send(3);
        for k in 1..=3 {
            s.at(ms(100 + 8 * k)).ack(k, &[]);
            assert!(s.conn.report().rate_sample().unwrap().is_app_limited);
        }
        let mut s = sender();
        s.send(100);
        s.at(ms(108)).ack(1, &[]);
        // The first write found an idle path.
        assert!(s.conn.report().rate_sample().unwrap().is_app_limited);
        for k in 2..=20 {
            s.at(ms(100 + 8 * k)).ack(k, &[]);
        }
        assert!(!s.conn.report().rate_sample().unwrap().is_app_limited);
    }

    /// Test 5: ten ACKs at one instant.
    #[test]
    fn the_sending_time_bounds_compressed_acks() {
        let mut s = sender();
        for k in 0..40 {
            s.at(ms(8 * k)).send(1);
            if k >= 13 {
                s.ack(k - 12, &[]);
                assert!(rate(&s) <= 125_000.0, "{k} {}", rate(&s));
            }
        }
        s.at(ms(330)).ack(38, &[]);
        assert!(rate(&s) <= 125_000.0, "{}", rate(&s));
    }
}
