//! SCPS-TP is a TCP for space links with a choice of congestion controls and rate control. Losses of space links are
//! mostly corruption, and their rate is known.
//!
//! CCSDS 714.0-B, and the behaviour of its reference implementation.
//!
//! # How it works
//!
//! Each route has one of three congestion controls: the window of V. Jacobson (Reno's), Vegas, or none, where the
//! receiver's window applies. A rate limits all of them:
//!
//! ```text
//! bucket: depth x tick x rate bytes, filled at the rate; a packet leaves when the bucket holds all of it
//! ```
//!
//! New data, retransmissions and ACKs draw from the bucket. Recovery by SNACK needs no duplicate ACKs and repairs any
//! number of holes per round trip. The loss verdict decides whether a loss is congestion. The verdict of this
//! congestion control is `assume-congestion`. The other assumption that a route may have is `assume-corruption`. If the
//! verdict is corruption, neither window nor timer change.
//!
//! # Reports of corruption
//!
//! The link layer of the receiver reports a damaged packet, and the next ACKs carry the option Corruption Experienced.
//! The option names neither packets nor a period, so its range is a reading (`recovery.corruption_covers`):
//!
//! - `hole`, the default: a report explains one hole in the data that was outstanding when it arrived, for two
//!   round-trip times. A hole without a report is congestion, even if an earlier hole of the same window was damage.
//!   The first queue drop therefore ends slow start, regardless of the number of reports.
//! - `round-trips`: a report explains every loss of the next two round-trip times. If the link damages a packet in each
//!   round trip, the reports never end. Queue drops then count as damage, and no loss stops the window.
//!
//! The receiver repeats a report on `resnacks` ACKs, because ACKs are lost, too. Each further consecutive ACK counts as
//! another damaged packet. A damaged retransmission leaves no new hole: the timer finds it, and the report keeps window
//! and timer. In a recovery that congestion began, a timeout is congestion.
//!
//! # Differences from the source
//!
//! - Vegas measures the smallest round-trip time of each round, as [`Vegas`](super::Vegas) does here, not that of each segment.
//! - The fourth choice, a flow control threshold, and header compression are not implemented.
//! - Best-effort delivery is the key `best_effort`.
//! - The bucket fills continuously, not by the tick.
//! - A reported hole is retransmitted again after the longest smoothed round-trip time since the first hole was reported.
//!   The standard takes the smoothed time at its last transmission.
//!
//! # When it helps
//!
//! SCPS-TP helps where corruption loses packets and the receiver can report it: the window stays, and SNACK repairs in
//! one round trip. On a geostationary link that damages one packet in a thousand, it keeps the goodput of the link
//! without damage, if the first slow start ends without a timeout. With a rate and no congestion control, it fills a
//! link without other flows from the first round trip on. Such flows get most of the link rate even if a geostationary
//! link loses several per cent of the packets without a report.
//!
//! # When it hurts
//!
//! - A retransmission whose loss no report shows costs a timeout: SNACK then retransmits all outstanding data.
//! - A flow without congestion control takes its rate from other flows. A flow that assumes corruption reacts to queues
//!   only where they mark.
//! - If routers drop damaged packets, the receiver has nothing to report. Each loss is congestion again, and only the
//!   faster repair is left.
//! - SNACK gains little over SACK on a geostationary link that loses several per cent of the packets without a report.
//!   Assuming corruption gains more than ten times as much.

use crate::settings::{settings, NoSettings};
use crate::{AckSample, Congestion, CongestionControl, Init, Pace, PathState, Reno, Vegas, VegasSettings, Window};
use bentpipe_units::{Duration, Rate};

bentpipe_units::words! {
    /// Congestion control of a route.
    pub enum ScpsCongestion {
        /// Van Jacobson's window, which is Reno's.
        "vj" => Vj,
        /// Vegas with its defaults.
        "vegas" => Vegas,
        /// No congestion control: the receiver's window and `rate` are the limits.
        "none" => None,
    }
}

settings! {
    /// Settings of SCPS-TP.
    pub struct ScpsSettings {
        /// Congestion control of the route.
        congestion: enum ScpsCongestion = ScpsCongestion::Vj, "CCSDS 714.0-B";
        /// Rate of the route, headers and ACKs included; 0 bit/s: no rate control.
        rate: Rate = Rate::from_bps(0), "reading: a rate belongs to a route, and no route is known";
        /// Tick of the clock: unit of the depth of the bucket.
        tick: Duration = Duration::from_millis(10), "reading: a usual clock";
        /// Ticks of the rate that may leave back to back after a pause.
        depth: u64 = 5, [1, 1000], "the reference implementation: 5 for a host, 2 for a gateway";
    }
}

/// SCPS-TP on a connection: the window of one of three congestion controls, and the rate.
#[derive(Clone, Debug)]
pub struct Scps {
    control: Control,
    settings: ScpsSettings,
}

#[derive(Clone, Debug)]
enum Control {
    Vj(Reno),
    Vegas(Box<Vegas>),
    None(Window),
}

macro_rules! each {
    ($self:ident, $c:ident => $does:expr, $window:ident => $else:expr) => {
        match &$self.control {
            Control::Vj($c) => $does,
            Control::Vegas($c) => $does,
            Control::None($window) => $else,
        }
    };
    (mut $self:ident, $c:ident => $does:expr, $window:ident => $else:expr) => {
        match &mut $self.control {
            Control::Vj($c) => $does,
            Control::Vegas($c) => $does,
            Control::None($window) => $else,
        }
    };
}

impl Scps {
    /// A window of `init.cwnd` bytes in slow start; without congestion control, any.
    pub fn new(init: Init, settings: ScpsSettings) -> Self {
        let control = match settings.congestion {
            ScpsCongestion::Vj => Control::Vj(Reno::new(init, NoSettings)),
            ScpsCongestion::Vegas => Control::Vegas(Box::new(Vegas::new(init, VegasSettings::default()))),
            // The receiver's window limits anyway. The first ACK brings it.
            ScpsCongestion::None => Control::None(Window::new(Init { cwnd: u64::MAX, ssthresh: u64::MAX, ..init })),
        };
        Self { control, settings }
    }
}

impl CongestionControl for Scps {
    fn on_ack(&mut self, ack: &AckSample, path: &PathState) {
        each!(mut self, c => c.on_ack(ack, path), window => {
            if ack.is_cwnd_limited {
                window.set(path.rwnd, u64::MAX);
            }
        });
    }

    fn on_congestion(&mut self, why: Congestion, path: &PathState) {
        // An inherited threshold has no meaning here.
        each!(mut self, c => c.on_congestion(why, path), window => window.set(window.cwnd(), u64::MAX));
    }

    fn on_rto(&mut self, first: bool, path: &PathState) {
        each!(mut self, c => c.on_rto(first, path), _window => ());
    }

    fn limit_cwnd(&mut self, max: u64) {
        each!(mut self, c => c.limit_cwnd(max), window => window.limit(max));
    }

    fn set_window(&mut self, cwnd: u64, ssthresh: u64) {
        each!(mut self, c => c.set_window(cwnd, ssthresh), window => window.set(cwnd, ssthresh));
    }

    fn on_smss(&mut self, smss: u64) {
        each!(mut self, c => c.on_smss(smss), window => window.on_smss(smss));
    }

    fn cwnd(&self) -> u64 {
        each!(self, c => c.cwnd(), window => window.cwnd())
    }

    fn ssthresh(&self) -> u64 {
        each!(self, c => c.ssthresh(), window => window.ssthresh())
    }

    fn pacing(&self) -> Option<Pace> {
        let rate = Some(self.settings.rate).filter(|rate| rate.as_bps() > 0)?;
        Some(Pace { bucket: Some(rate.bytes_in(self.settings.tick * self.settings.depth)), ..Pace::at(rate) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbench::path;

    fn scps(settings: ScpsSettings) -> Scps {
        Scps::new(Init { smss: 1000, cwnd: 10_000, ..Init::default() }, settings)
    }

    /// `docs/specs/scps-tp.md`, test 7: 1 Mbit/s, 10 ms, 5 ticks.
    #[test]
    fn the_bucket_holds_a_few_ticks() {
        let cc = scps(ScpsSettings { rate: Rate::from_bps(1_000_000), ..ScpsSettings::default() });
        assert_eq!(cc.pacing(), Some(Pace { bucket: Some(6250), ..Pace::at(Rate::from_bps(1_000_000)) }));
        let unlimited = scps(ScpsSettings::default());
        assert_eq!(unlimited.pacing(), None);
    }

    #[test]
    fn without_congestion_control_the_window_is_the_receivers() {
        let mut cc = scps(ScpsSettings { congestion: ScpsCongestion::None, ..ScpsSettings::default() });
        assert!(cc.cwnd() > 1 << 30, "before the first ACK it is not known");
        cc.limit_cwnd(65_535);
        let view = PathState { rwnd: 300_000, ..path(65_535) };
        cc.on_ack(&AckSample { newly_acked: 1000, is_cwnd_limited: true, rtt: None, ..AckSample::default() }, &view);
        assert_eq!(cc.cwnd(), 300_000);
        cc.on_congestion(Congestion::FastRetransmit, &view);
        cc.on_rto(true, &view);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (300_000, u64::MAX));
    }

    /// The rules are those of Reno and Vegas, not like theirs.
    #[test]
    fn the_others_are_reno_and_vegas() {
        let view = PathState { smss: 1000, ..path(10_000) };
        let after = |cc: &mut dyn CongestionControl| {
            (1..=30).for_each(|n| {
                let rtt = Some(Duration::from_millis(400 + n));
                let view = PathState { snd_una: n * 1000, snd_nxt: 10_000 + n * 1000, ..view };
                cc.on_ack(&AckSample { newly_acked: 1000, is_cwnd_limited: true, rtt, ..AckSample::default() }, &view);
            });
            let grown = cc.cwnd();
            cc.on_congestion(Congestion::FastRetransmit, &view);
            let reduced = cc.cwnd();
            cc.on_rto(true, &view);
            (grown, reduced, cc.cwnd(), cc.ssthresh())
        };
        let init = Init { smss: 1000, cwnd: 10_000, ..Init::default() };
        let with = |congestion| scps(ScpsSettings { congestion, ..ScpsSettings::default() });
        assert_eq!(after(&mut with(ScpsCongestion::Vj)), after(&mut Reno::new(init, NoSettings)));
        assert_eq!(after(&mut with(ScpsCongestion::Vegas)), after(&mut Vegas::new(init, VegasSettings::default())));
        assert_ne!(after(&mut with(ScpsCongestion::Vj)).0, after(&mut with(ScpsCongestion::Vegas)).0);
    }
}
