//! Keys of a multipath connection, those of schedulers apart.

use super::coupling::Coupling;
use super::scheduler::{OwnScheduler, SchedulerConfig};
use crate::multipath::Dss;
use crate::Config;
use bentpipe_cc::keys::{BufferGrowth, ReceiveBuffer};
use bentpipe_units::{settings, words, Duration};

settings! {
    /// Several paths for one connection (Multipath TCP, RFC 8684).
    #[derive(Clone, Debug, PartialEq)]
    pub struct MultiConfig {
        /// Choice of the subflow for the next segment.
        scheduler: SchedulerConfig = SchedulerConfig::MinRtt(Default::default()), "C. Raiciu et al. 2012";
        /// Coupling of the windows in congestion avoidance.
        coupling: Coupling = Coupling::Auto, "RFC 6356 where the windows are Reno's";
        /// Receive buffer for the data of all subflows. RFC 6182 §5.3 advises twice the sum of the rates times the longest
        /// round trip.
        receive_buffer: u64 as ReceiveBuffer = Config::RECEIVE_BUFFER_MAX, "no limit";
        /// Data that another subflow carries again.
        reinject: Reinject = Reinject::default();
        /// Subflows whose connection has ended.
        rejoin: Rejoin = Rejoin::default();
    } with {
        /// A custom scheduler that replaces `scheduler`.
        own_scheduler: Option<OwnScheduler> = None;
        /// Initial size of an auto-tuned receive buffer, bytes; it grows up to `receive_buffer`. `None`: that size from the start.
        auto_buffer: Option<u64> = None;
        /// Growth of that buffer.
        buffer_growth: BufferGrowth = BufferGrowth::Twice;
    }
}

settings! {
    /// Reinjection: data that one subflow carries are given to another one, too.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Reinject {
        /// Sign that a subflow does not deliver.
        on: ReinjectOn = ReinjectOn::Rto, "C. Raiciu et al. 2012";
        /// Time from a change of a link until the end hears of it, with `on = "told"`.
        notice: Duration = Duration::ZERO, "the ideal";
        /// Whether a subflow with room carries the data that block the receive window, if they are on a slower one.
        opportunistic: bool = true, "C. Raiciu et al. 2012, §4.2";
        /// Whether that halves the window of the slower one, at most once in a round trip.
        penalise: bool = true, "C. Raiciu et al. 2012, §4.2";
    }
}

settings! {
    /// Return of a subflow whose connection has ended: it joins again, over another connection with another port.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Rejoin {
        /// Whether it joins again after a timeout, or after a reset that may pass. Linux' kernel alone does not.
        retry: bool = true, "Linux MPTCP 0.9x, mptcp_fullmesh (create_on_err)";
        /// Time from the end of its connection, or of an attempt, to the next attempt.
        after: Duration = Duration::from_secs(1), "Linux MPTCP 0.9x, mptcp_fullmesh";
        /// Whether the end that opens the connection loses the address of a subflow while its route is interrupted, and joins
        /// again when the route is back. Needs `reinject.on = "told"`.
        withdraw: bool = false, "Linux 6.15 with a network manager";
    }
}

words! {
    /// Sign that a subflow does not deliver.
    pub enum ReinjectOn {
        /// Its retransmission timer expires.
        "rto" => Rto,
        /// The end hears that a link on its route goes down; else its retransmission timer expires.
        "told" => Told,
        /// The data timer expires: no data were acknowledged for one timeout. The first unacknowledged segment goes to
        /// an idle subflow. After four timeouts the subflow gets no more data until it answers (Linux 6).
        "data-timer" => DataTimer,
    }
}

impl MultiConfig {
    /// Returns the configuration of the connections that are its subflows, made from that of a connection of TCP: segments are
    /// smaller by the multipath option, and the window of the one receive buffer has to be expressible.
    pub fn of_subflow(&self, tcp: &Config) -> Config {
        let smss = tcp.smss.saturating_sub(u32::from(Dss::LEN)).max(1);
        Config { smss, receive_buffer: self.receive_buffer, auto_buffer: None, ..tcp.clone() }
    }
}
