//! The Satellite Transport Protocol (STP): the receiver acknowledges no data by itself. The sender polls it (POLL) a
//! few times in a round trip, and it answers with all that it has and lacks (STAT); when a gap opens it names that at
//! once (USTAT).
//!
//! T. R. Henderson and R. H. Katz, "Transport protocols for Internet-compatible satellite networks", IEEE J. Selected
//! Areas in Communications 17(2), 1999. No copy was at hand: this is what others say of it.
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
//! The ends agree on polls by an option on the SYN; with a receiver that does not know them this is SACK's Reno,
//! counted in bytes and paced.
//!
//! # Readings
//!
//! - It is a way of acknowledging in TCP here, not a protocol beside it. A POLL is an empty segment with an old
//!   sequence number; STAT and USTAT are ACKs with SACK blocks. Three or four blocks have to do for a list of all that
//!   is missing; the sender remembers those of earlier ones.
//! - A STAT does not say which POLL it answers. Therefore a retransmission counts as lost if it is missing after SRTT +
//!   4 RTTVAR, and the retransmission timer finds a lost tail, above which nothing arrived. With `timestamps` a STAT
//!   echoes that of its POLL, and the round-trip time is theirs; without, it holds what data waited for the POLL, too.
//! - A POLL also leaves at once after the last segment that may leave, if no other is under way: slow start would wait
//!   a third of a round trip in each round otherwise.
//! - The receiver also answers duplicates, the FIN, and marks, as TCP does, and tells when a closed window opens.
//! - The gains of the pace, and that the window grows by all of what a STAT acknowledges, after a timeout too: the pace
//!   smooths what a STAT lets go.
//!
//! # On satellite paths
//!
//! It was made for a narrow way back: the number of ACKs follows the round-trip time and the losses, not the rate, so
//! the longer and faster the path, the more it saves. Its window is Reno's, and random losses hold it down as they do
//! that. A loss is known with the next segment that arrives, not with the third; where packets overtake each other,
//! each that does costs half of the window. On short paths it saves little and waits for polls.

use crate::cc::parts::loss_window::window_hooks;
use crate::cc::settings::settings;
use crate::cc::{AckSample, Congestion, CongestionControl, Init, Pace, PathState, Window, HALF};
use crate::keys::{ByteCounting, Growth};
use bentpipe_units::{Duration, Rate};

settings! {
    /// Settings of STP.
    pub struct StpSettings {
        /// Polls in a round trip.
        polls: u64 = 3, [1, 1000], "reading; Henderson 1999: a few";
        /// Pace in slow start, windows per round trip.
        gain_slow_start: f64 = 2.0, [1.0, 100.0], "reading";
        /// Pace otherwise, windows per round trip.
        gain: f64 = 1.25, [1.0, 100.0], "reading";
    }
}

/// Reno's window, grown by what STATs report, and its pace.
#[derive(Clone, Debug)]
pub struct Stp {
    window: Window,
    settings: StpSettings,
    /// Of a full segment, with headers: payload, packet.
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

    window_hooks!(limit_cwnd, set_window, on_smss, cwnd, ssthresh);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testbench::path as any_path;

    const SMSS: u64 = 1000;

    fn path() -> PathState {
        PathState { smss: SMSS, header_len: 52, srtt: Some(Duration::from_millis(526)), ..any_path(8 * SMSS) }
    }

    fn stat(stp: &mut Stp, segments: u64) -> u64 {
        stp.on_ack(&AckSample { newly_acked: segments * SMSS, is_cwnd_limited: true, rtt: None }, &path());
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
