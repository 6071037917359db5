//! Congestion controls that follow the feedback of routers: XCP (D. Katabi, M. Handley and C. Rohrs, SIGCOMM 2002) and
//! RCP (N. Dukkipati, Stanford 2007). They replace the congestion control of the scenario (`tcp.feedback`).
//!
//! Routers count packets with their headers. Windows here are payload, and are converted in both directions.
//!
//! A reading: the window of XCP does not grow while less than half of it is in use, because routers cannot know that.

use crate::keys::{Feedback, RcpSender, RcpTimeout, XcpLoss, XcpSender};
use crate::notice::ExplicitHeader;
use crate::{AckSample, Congestion, CongestionControl, Custom, Init, Pace, PathState, HALF};
use bentpipe_units::{Duration, Rate};

/// Returns the congestion control that replaces the configured one, if any.
pub fn instead(feedback: Feedback, init: Init) -> Option<Box<dyn Custom>> {
    match feedback {
        Feedback::Off | Feedback::RefwaPlus(_) => None,
        Feedback::Xcp(config) => Some(Box::new(Xcp::new(config, init))),
        Feedback::Rcp(config) => Some(Box::new(Rcp::new(config, init))),
    }
}

/// Returns the bytes of packets per byte of payload.
fn packet_share(path: &PathState) -> f64 {
    1.0 + path.header_len as f64 / path.smss.max(1) as f64
}

/// XCP: a window of payload bytes that changes by the feedback in ACKs.
#[derive(Clone, Debug)]
pub(crate) struct Xcp {
    config: XcpSender,
    cwnd: f64,
    ssthresh: u64,
    smss: u64,
}

impl Xcp {
    fn new(config: XcpSender, init: Init) -> Self {
        let smss = init.smss;
        Self { config, cwnd: init.cwnd.max(smss) as f64, ssthresh: init.ssthresh, smss }
    }
}

impl CongestionControl for Xcp {
    fn on_ack(&mut self, _: &AckSample, _: &PathState) {}

    fn on_congestion(&mut self, why: Congestion, path: &PathState) {
        if self.config.loss == XcpLoss::Reno {
            let left = path.share(why.left(HALF));
            (self.cwnd, self.ssthresh) = (left.max(self.smss) as f64, left);
        }
    }

    fn on_rto(&mut self, first: bool, path: &PathState) {
        if first {
            self.ssthresh = path.half_as_ssthresh();
        }
        self.cwnd = self.smss as f64;
    }

    fn limit_cwnd(&mut self, max: u64) {
        self.cwnd = self.cwnd.min(max.max(self.smss) as f64);
    }

    fn set_window(&mut self, cwnd: u64, ssthresh: u64) {
        (self.cwnd, self.ssthresh) = (cwnd.max(self.smss) as f64, ssthresh);
    }

    fn on_smss(&mut self, smss: u64) {
        self.smss = smss;
        self.cwnd = self.cwnd.max(smss as f64);
    }

    fn on_explicit(&mut self, feedback: f64, path: &PathState) {
        let is_used = path.flight_size as f64 >= self.cwnd / 2.0;
        if feedback < 0.0 || is_used {
            self.cwnd = (self.cwnd + feedback / packet_share(path)).max(self.smss as f64);
        }
    }

    fn explicit_header(&self, path: &PathState) -> Option<ExplicitHeader> {
        let cwnd = self.cwnd.min(path.rwnd as f64).max(path.smss as f64) * packet_share(path);
        let rtt = path.srtt.map_or(0.0, Duration::as_secs_f64);
        Some(ExplicitHeader { cwnd: cwnd as f32, rtt: rtt as f32, forward: f32::INFINITY, reverse: f32::NAN })
    }

    fn is_model_based(&self) -> bool {
        self.config.loss == XcpLoss::Ignore
    }

    fn cwnd(&self) -> u64 {
        self.cwnd as u64
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }
}

/// RCP: a rate, and the window that fits it.
#[derive(Clone, Debug)]
pub(crate) struct Rcp {
    config: RcpSender,
    /// Rate, bytes/s, headers included; `None`: no router has reported one yet.
    rate: Option<f64>,
    is_halved: bool,
    /// The initial window, used until a rate is known.
    initial: u64,
    rtt: Option<Duration>,
    smss: u64,
    share: f64,
}

impl Rcp {
    fn new(config: RcpSender, init: Init) -> Self {
        let initial = init.cwnd.max(init.smss);
        Self { config, rate: None, is_halved: false, initial, rtt: init.rtt, smss: init.smss, share: 1.0 }
    }

    fn rate(&self) -> Option<f64> {
        self.rate.map(|rate| if self.is_halved { rate / 2.0 } else { rate })
    }
}

impl CongestionControl for Rcp {
    fn on_ack(&mut self, _: &AckSample, path: &PathState) {
        self.rtt = path.srtt.or(self.rtt);
    }

    fn on_congestion(&mut self, _: Congestion, _: &PathState) {}

    fn on_rto(&mut self, _: bool, _: &PathState) {
        self.is_halved = self.config.timeout == RcpTimeout::Halve;
    }

    fn limit_cwnd(&mut self, max: u64) {
        self.initial = self.initial.min(max).max(self.smss);
    }

    fn set_window(&mut self, _: u64, _: u64) {}

    fn on_smss(&mut self, smss: u64) {
        self.smss = smss;
        self.initial = self.initial.max(smss);
    }

    fn on_explicit(&mut self, rate: f64, path: &PathState) {
        if rate > 0.0 {
            (self.rate, self.is_halved) = (Some(rate), false);
            (self.rtt, self.share) = (path.srtt.or(self.rtt), packet_share(path));
        }
    }

    fn explicit_header(&self, path: &PathState) -> Option<ExplicitHeader> {
        let rtt = path.srtt.or(self.rtt).map_or(0.0, Duration::as_secs_f64);
        Some(ExplicitHeader { cwnd: 0.0, rtt: rtt as f32, forward: f32::INFINITY, reverse: f32::NAN })
    }

    fn is_model_based(&self) -> bool {
        true
    }

    fn cwnd(&self) -> u64 {
        match (self.rate(), self.rtt) {
            (Some(rate), Some(rtt)) => (rate * rtt.as_secs_f64() / self.share).round() as u64 + self.smss,
            _ => self.initial,
        }
    }

    fn ssthresh(&self) -> u64 {
        u64::MAX
    }

    fn pacing(&self) -> Option<Pace> {
        let rate = self.rate()?;
        Some(Pace { burst: Some(self.smss), ..Pace::at(Rate::from_bps(((rate * 8.0) as u64).max(1))) })
    }

    fn paces(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbench::{path, suite::SMSS};

    fn init() -> Init {
        Init { smss: SMSS, cwnd: 10 * SMSS, rtt: Some(Duration::from_millis(500)), ..Init::default() }
    }

    #[test]
    fn the_window_of_xcp_changes_by_what_an_ack_brings_and_never_below_a_segment() {
        let mut xcp = Xcp::new(XcpSender::default(), init());
        xcp.on_explicit(3000.0, &path(10 * SMSS));
        // A packet of 1500 bytes brings 1460.
        assert_eq!(xcp.cwnd(), 12 * SMSS);
        xcp.on_explicit(3000.0, &path(2 * SMSS));
        assert_eq!(xcp.cwnd(), 12 * SMSS, "it is not in use");
        xcp.on_explicit(-1500.0, &path(2 * SMSS));
        assert_eq!(xcp.cwnd(), 11 * SMSS);
        xcp.on_explicit(-1e9, &path(2 * SMSS));
        assert_eq!(xcp.cwnd(), SMSS);
    }

    #[test]
    fn a_loss_halves_the_window_of_xcp_or_is_ignored() {
        for (loss, left) in [(XcpLoss::Reno, 5), (XcpLoss::Ignore, 10)] {
            let mut xcp = Xcp::new(XcpSender { loss, ..XcpSender::default() }, init());
            xcp.on_congestion(Congestion::FastRetransmit, &path(10 * SMSS));
            assert_eq!(xcp.cwnd(), left * SMSS);
            xcp.on_rto(true, &path(10 * SMSS));
            assert_eq!(xcp.cwnd(), SMSS, "a timeout is Reno's");
        }
    }

    #[test]
    fn rcp_paces_at_the_rate_with_a_window_of_a_round_trip_and_a_packet() {
        let mut rcp = Rcp::new(RcpSender::default(), init());
        assert_eq!((rcp.cwnd(), rcp.pacing()), (10 * SMSS, None), "nobody has said anything");
        rcp.on_explicit(150_000.0, &path(0));
        let pace = |rcp: &Rcp| rcp.pacing().map(|pace| pace.rate.as_bps());
        assert_eq!((rcp.cwnd(), pace(&rcp)), (51 * SMSS, Some(1_200_000)));
        rcp.on_congestion(Congestion::FastRetransmit, &path(51 * SMSS));
        assert_eq!(rcp.cwnd(), 51 * SMSS, "a loss keeps it");
        rcp.on_rto(true, &path(51 * SMSS));
        assert_eq!(pace(&rcp), Some(600_000));
        rcp.on_explicit(150_000.0, &path(0));
        assert_eq!(pace(&rcp), Some(1_200_000), "the next ACK brings a rate");
    }
}
