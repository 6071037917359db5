//! The Satellite Transport Protocol (STP) polls the receiver, which otherwise acknowledges no data. The sender polls a
//! few times per round trip (POLL). The receiver answers with all data that it has and lacks (STAT). It reports a new
//! gap immediately (USTAT).
//!
//! T. R. Henderson and R. H. Katz, "Transport protocols for Internet-compatible satellite networks", IEEE J. Selected
//! Areas in Communications 17(2), 1999. Source not available: the rules follow descriptions by others.
//!
//! # How it works
//!
//! ```text
//! receiver     STAT for each POLL, USTAT for each new gap, nothing else
//! sender       POLL every RTT / polls, and after the last segment that may leave
//! STAT, USTAT  what is missing below what arrived is lost, and retransmitted
//! window       slow start: + what a STAT acknowledges; congestion avoidance: + 1 segment for a window of that
//!              a loss: half of it, once for a window
//! pace         2 cwnd / RTT in slow start, 1.25 cwnd / RTT afterwards
//! ```
//!
//! Both ends agree on polls by an option on the SYN. With a receiver that does not know polls, STP is Reno with SACK,
//! counted in bytes and paced.
//!
//! # Differences from the source
//!
//! Readings:
//!
//! - STP is a way of acknowledging in TCP here, not a separate protocol. A POLL is an empty segment with an old
//!   sequence number. STAT and USTAT are ACKs with SACK blocks. Three or four blocks replace a list of all missing
//!   data. The sender remembers the blocks of earlier ACKs.
//! - A STAT does not identify the POLL it answers. Therefore a retransmission counts as lost if it is missing after
//!   SRTT + 4 RTTVAR. The retransmission timer finds a lost tail, above which nothing arrived. With `timestamps` a STAT
//!   echoes the timestamp of its POLL, which gives the round-trip time. Otherwise the round-trip time includes the wait
//!   of the data for the POLL.
//! - A POLL also leaves immediately after the last segment that may leave, if no other is under way. Otherwise slow
//!   start would wait a third of a round trip in each round.
//! - The receiver also answers duplicates, the FIN, and marks, as in TCP, and reports when a closed window opens.
//! - The gains of the pace are readings. The window grows by all data that a STAT acknowledges, after a timeout, too.
//!   The pace smooths the data that a STAT releases.
//!
//! # When it helps
//!
//! STP was made for a narrow return path. The number of ACKs depends on the round-trip time and the losses, not on the
//! rate. It saves more, the longer and faster the path is.
//!
//! # When it hurts
//!
//! STP's window is Reno's, and random losses slow it down as much. STP detects a loss with the next segment that
//! arrives, not with the third. On paths that reorder packets, each reordered packet costs half of the window. On short
//! paths it saves little and waits for polls.

use crate::keys::{ByteCounting, Growth};
use crate::parts::loss_window::window_hooks;
use crate::settings::settings;
use crate::{AckSample, Congestion, CongestionControl, Init, Pace, PathState, Window, HALF};
use bentpipe_units::{Duration, Rate};

settings! {
    /// Settings of STP.
    pub struct StpSettings {
        /// Polls per round trip.
        polls: u64 = 3, [1, 1000], "reading; Henderson 1999: a few";
        /// Pace in slow start, windows per round trip.
        gain_slow_start: f64 = 2.0, [1.0, 100.0], "reading";
        /// Pace after slow start, windows per round trip.
        gain: f64 = 1.25, [1.0, 100.0], "reading";
    }
}

/// Reno's window, grown by the data that STATs report, and its pace.
#[derive(Clone, Debug)]
pub struct Stp {
    window: Window,
    settings: StpSettings,
    /// Lengths of a full segment: payload, and packet with headers.
    lengths: [u64; 2],
    srtt: Option<Duration>,
}

impl Stp {
    /// A window of `init.cwnd` bytes in slow start.
    pub fn new(init: Init, settings: StpSettings) -> Self {
        let growth = Growth { byte_counting: ByteCounting::UbcPure, ..Growth::default() };
        let window = Window::new(Init { growth, ..init });
        Self { window, settings, lengths: [init.smss, init.smss], srtt: init.rtt }
    }
}

impl CongestionControl for Stp {
    fn on_ack(&mut self, ack: &AckSample, path: &PathState) {
        (self.srtt, self.lengths) = (path.srtt, [path.smss, path.smss + path.header_len]);
        self.window.grow(ack, path);
    }

    fn on_congestion(&mut self, why: Congestion, path: &PathState) {
        let left = path.share(why.left(HALF));
        self.window.reduce(path.as_ssthresh(left), left);
    }

    fn on_rto(&mut self, first: bool, path: &PathState) {
        self.window.restart(first.then(|| path.half_as_ssthresh()));
    }

    fn polls(&self) -> Option<u32> {
        u32::try_from(self.settings.polls).ok()
    }

    fn pacing(&self) -> Option<Pace> {
        let [smss, packet] = self.lengths.map(|len| len.max(1) as f64);
        let in_slow_start = self.window.cwnd() < self.window.ssthresh();
        let gain = if in_slow_start { self.settings.gain_slow_start } else { self.settings.gain };
        let bits = 8.0 * gain * self.window.cwnd() as f64 * packet / smss;
        let seconds = self.srtt?.max(Duration::from_ps(1)).as_secs_f64();
        Some(Pace::at(Rate::from_bps(((bits / seconds) as u64).max(1))))
    }

    fn paces(&self) -> bool {
        true
    }

    window_hooks!(limit_cwnd, set_window, on_smss, cwnd, ssthresh, inside);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbench::path as any_path;

    const SMSS: u64 = 1000;

    fn path() -> PathState {
        PathState { smss: SMSS, header_len: 52, srtt: Some(Duration::from_millis(526)), ..any_path(8 * SMSS) }
    }

    fn stat(stp: &mut Stp, segments: u64) -> u64 {
        stp.on_ack(
            &AckSample { newly_acked: segments * SMSS, is_cwnd_limited: true, rtt: None, ..AckSample::default() },
            &path(),
        );
        stp.cwnd()
    }

    #[test]
    fn windows_grow_by_what_a_stat_acknowledges() {
        let mut stp = Stp::new(Init { smss: SMSS, cwnd: 4 * SMSS, ..Init::default() }, StpSettings::default());
        assert_eq!(stat(&mut stp, 4), 8 * SMSS);
        stp.on_congestion(Congestion::FastRetransmit, &path());
        assert_eq!((stp.cwnd(), stp.ssthresh()), (4 * SMSS, 4 * SMSS));
        // A segment for a window, in however many STATs it is acknowledged.
        assert_eq!([1, 2, 1].map(|segments| stat(&mut stp, segments)), [4 * SMSS, 4 * SMSS, 5 * SMSS]);
        stp.on_rto(true, &path());
        assert_eq!((stp.cwnd(), stp.ssthresh()), (SMSS, 4 * SMSS));
        assert_eq!(stat(&mut stp, 3), 4 * SMSS);
    }

    /// 8 packets of 1052 B in 526 ms are 128 kbit/s.
    #[test]
    fn the_pace_is_a_multiple_of_the_window_in_a_round_trip() {
        let mut stp = Stp::new(Init { smss: SMSS, cwnd: 8 * SMSS, ..Init::default() }, StpSettings::default());
        assert_eq!(stp.pacing().map(|pace| pace.rate), None, "nothing is known yet");
        stat(&mut stp, 0);
        let rate = |stp: &Stp| stp.pacing().map(|pace| pace.rate.as_bps());
        assert_eq!(rate(&stp), Some(256_000));
        stp.set_window(8 * SMSS, 8 * SMSS);
        assert_eq!(rate(&stp), Some(160_000));
    }
}
