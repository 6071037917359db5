//! Congestion control: turns facts about a path into a window. TCP, its subflows and QUIC use it.
//!
//! A congestion control reads the results of an ACK ([`AckSample`]) and the sender's view of the path ([`PathState`])
//! and answers with `cwnd`. It owns no timer, sends nothing and does not know which segment is lost. Its random numbers
//! come only from the seed that it is given. Retransmission, window inflation, limited transmit, flow control and idle
//! restart belong to the connection. Slow start and additive increase are in [`Window`], for any congestion control.
//!
//! A new congestion control is one file in its room (`loss`, `delay`, `model`, `satellite`) and one line in
//! [`registry!`] below. `window_hooks!` names the hooks that it leaves to its [`Window`]. Parts that several congestion
//! controls need are in `parts`.

#![forbid(unsafe_code)]

mod coupled;
mod custom;
mod delay;
pub mod explicit;
mod facts;
mod inside;
pub mod keys;
mod loss;
mod model;
mod notice;
mod parts;
mod probe_segments;
mod satellite;
pub mod settings;
#[cfg(test)]
mod testbench;
pub mod verdict;

pub use coupled::{Coupled, Siblings};
pub use custom::{Custom, CustomCc};
pub use delay::*;
pub use facts::{
    AckSample, Congestion, Delivery, Init, LostSegment, Marks, Pace, PathState, RateSample, Unbounded, HALF,
};
pub use inside::{Inside, Insides, Quantity};
pub use loss::*;
pub use model::*;
pub use notice::{ExplicitHeader, Notice};
pub use parts::bandwidth_filter::WestwoodSmoothing;
pub use parts::careful_resume::{
    CarefulResume, PathLesson, PathObserver, ResumeFacts, ResumePhase, ResumeReason, Resumed, SavedPath,
};
pub use parts::loss_window::{Cwnd, Window};
pub use parts::{rapid_start::Convergence, reallocation::Reallocations};
pub use probe_segments::ProbeSegments;
pub use satellite::*;

use crate::keys::{EcnConfig, NewReno, NewRenoExit, Rack, Recovery, SackCounting, SackEvidence, SackOnRto, Snack};
use crate::verdict::VerdictKind;
use bentpipe_units::module_doc;
use settings::{Fields, Key, NoSettings, Settings, Shape, Table, Title, Typed, Unfit, Value};

/// The contract of a congestion control. `on_congestion` and `on_rto` report congestion only. Losses that the verdict
/// attributes to the link do not reach them.
///
/// On one ACK the order is: losses are found (`on_recovery_ack` or `on_recovery_exit`, `on_congestion`, then `on_lost`
/// for each segment), then `on_delivery`, then `on_ack`.
pub trait CongestionControl {
    /// Reports new data acknowledged outside loss recovery.
    fn on_ack(&mut self, ack: &AckSample, path: &PathState);
    /// Reports a loss episode or ECN marks, at most once per window of data.
    fn on_congestion(&mut self, why: Congestion, path: &PathState);
    /// Reports an expired retransmission timer. `first` is false for repeated timeouts of the same segment, which must
    /// not lower ssthresh again (RFC 5681 §3.1).
    fn on_rto(&mut self, first: bool, path: &PathState);
    /// Limits the window to `max` bytes, for recovery or an idle restart.
    fn limit_cwnd(&mut self, max: u64);
    /// Sets exactly this window and threshold, bytes, after a spurious loss or for window validation (RFC 2861 §3.2, RFC 7661 §4.4).
    fn set_window(&mut self, cwnd: u64, ssthresh: u64);
    /// Reports a new segment size.
    fn on_smss(&mut self, smss: u64);

    /// Whether it needs [`on_delivery`](Self::on_delivery), which costs some time per ACK and segment. Never changes.
    fn takes_deliveries(&self) -> bool {
        false
    }
    /// Reports data delivered by an ACK, in recovery, too.
    fn on_delivery(&mut self, delivery: &Delivery, path: &PathState) {
        let _ = (delivery, path);
    }
    /// Whether it reads how many packets queues have marked, and reacts to them itself: marks then cause no
    /// [`on_congestion`](Self::on_congestion), an ACK that reports marks may grow the window, and packets may be ECT(1)
    /// (RFC 9331 §4). Never changes.
    fn takes_marks(&self) -> bool {
        false
    }
    /// Reports a segment declared lost, for any verdict: by the ACK of the next `on_delivery`, or by a timer. Segments
    /// sent before the segment size changed are not reported.
    fn on_lost(&mut self, lost: &LostSegment, path: &PathState) {
        let _ = (lost, path);
    }
    /// Reports an ACK in loss recovery, between the first ACK of the recovery and its last: a duplicate, or with
    /// `is_partial` an ACK of a part of the data outstanding at the start.
    fn on_recovery_ack(&mut self, is_partial: bool, path: &PathState) {
        let _ = (is_partial, path);
    }
    /// Reports the end of recovery, or of the slow start after a timeout: all data outstanding when the losses were
    /// found is repaired.
    fn on_recovery_exit(&mut self, path: &PathState) {
        let _ = path;
    }
    /// Reports that data is about to be sent while nothing is outstanding.
    fn on_resume(&mut self, path: &PathState) {
        let _ = path;
    }
    /// Reports what the other subflows of a multipath connection leave to this one, before each ACK.
    fn on_siblings(&mut self, _siblings: Siblings) {}
    /// Restores the state `before`, from before a spurious reaction to congestion.
    fn undo(&mut self, before: Self)
    where
        Self: Sized,
    {
        *self = before;
    }

    /// Reports a corrupted range of outstanding data, [start, end), the error rate of a link, or both.
    fn on_error_report(&mut self, range: Option<(u64, u64)>, error_rate: Option<f32>, path: &PathState) {
        let _ = (range, error_rate, path);
    }
    /// Reports the feedback of routers: the change of the window in bytes (XCP), or the rate in bytes per second (RCP),
    /// headers included.
    fn on_explicit(&mut self, word: f64, path: &PathState) {
        let _ = (word, path);
    }
    /// Returns the header for routers on outgoing packets; `None`: no header.
    fn explicit_header(&self, path: &PathState) -> Option<ExplicitHeader> {
        let _ = path;
        None
    }

    /// Whether the window follows from a model of the path, also in recovery and after idle times. The connection then
    /// applies no proportional reduction, restart window, window validation or deflation. Never changes.
    fn is_model_based(&self) -> bool {
        false
    }
    /// Whether it currently sends less than the path could carry, on purpose, so that delivery rates are too low.
    fn holds_back(&self) -> bool {
        false
    }

    /// Returns the congestion window, bytes, at least one segment. The connection reads it after each call that may
    /// change it, and keeps it until the next.
    fn cwnd(&self) -> u64;
    /// Returns the slow start threshold, bytes; `u64::MAX`: no threshold yet.
    fn ssthresh(&self) -> u64;
    /// Returns its pace; `None`: the pacing of the connection applies.
    fn pacing(&self) -> Option<Pace> {
        None
    }
    /// Whether it ever sets a pace. Never changes.
    fn paces(&self) -> bool {
        self.pacing().is_some()
    }
    /// Returns its polls per round trip; `None`: it does not poll. A polled receiver acknowledges data only in its
    /// answers. Never changes.
    fn polls(&self) -> Option<u32> {
        None
    }
    /// Returns its effect on a path if no buffer limits its window; `None` without a special effect. Read before data
    /// transfer.
    fn unbounded(&self) -> Option<Unbounded> {
        None
    }
    /// Returns the largest window, segments, that its start probes for at most up to the receiver's window; `None`: its
    /// start does not depend on that window. Never changes.
    fn probes_up_to(&self) -> Option<u64> {
        None
    }
    /// Whether it draws from the seed that it is given. Never changes.
    fn is_random(&self) -> bool {
        false
    }
    /// Reports its state and other values inside, for records. Called only if they are recorded, and changes nothing.
    fn inside(&self, insides: &mut Insides<'_>) {
        let _ = insides;
    }
    /// Returns its probe segments; `None`: it sends no probe segments. Never changes.
    fn probe_segments(&mut self) -> Option<&mut dyn ProbeSegments> {
        None
    }
}

/// Settings and signals that a congestion control uses, as declared in its line of the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Takes {
    /// Slow start can be changed by `slow_start` and `byte_counting`, possibly with its own setting.
    pub slow_start: bool,
    /// Congestion avoidance adds what `increase` defines, above some window at least.
    pub increase: bool,
    /// An ECN mark reduces the window.
    pub ecn: bool,
    /// An ACK may shrink the window, not only congestion.
    pub shrinks: bool,
    /// It reads counts of marks, and needs a feedback that counts them.
    pub marks: bool,
}

impl Takes {
    const NOTHING: Self = Self { slow_start: false, increase: false, ecn: false, shrinks: false, marks: false };
}

impl CcKind {
    /// Returns the marks with which it was published, used unless the scenario names others.
    pub const fn ecn(self) -> EcnConfig {
        match self {
            Self::Prague => EcnConfig::L4S,
            Self::Dctcp => EcnConfig::PER_SEGMENT,
            _ => EcnConfig::OFF,
        }
    }
}

macro_rules! registry {
    ($(
        $(#[doc = $doc:literal])+
        $name:literal => $kind:ident($type:ident, $settings:ident) in $file:literal,
            $recovery:expr, [$($takes:ident),*] $(, $verdict:ident)?;
    )+) => {
        /// The congestion controls by the names that scenario files use.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum CcKind { $($(#[doc = $doc])+ $kind,)+ }

        impl CcKind {
            /// All congestion controls, in the order of the registry.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)+];

            /// The name in scenario files.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)+ }
            }

            /// One line for lists and the reference.
            pub const fn summary(self) -> &'static str {
                match self { $(Self::$kind => concat!($($doc),+).trim_ascii(),)+ }
            }

            /// The module documentation of its file, in Markdown: source, equations, and sections on when it helps and
            /// hurts. Sections about other congestion controls of the same file are left out.
            pub fn doc(self) -> String {
                let doc = match self {
                    $(Self::$kind => {
                        const FILE: &[u8] = include_bytes!($file);
                        const DOC: &[u8] = &module_doc::head::<{ module_doc::length(FILE) }>(FILE);
                        DOC
                    })+
                };
                module_doc::text(doc, |heading| Self::ALL.iter().any(|other| *other != self && other.name() == heading))
            }

            /// Loss recovery with which it was published, used unless the scenario names another.
            pub fn recovery(self) -> Recovery {
                match self { $(Self::$kind => $recovery,)+ }
            }

            /// Loss verdict, used unless the scenario names another: congestion, unless its line names one.
            pub const fn verdict(self) -> VerdictKind {
                $($(if matches!(self, Self::$kind) {
                    return VerdictKind::$verdict;
                })?)+
                VerdictKind::AlwaysCongestion
            }

            /// Settings of all congestion controls, and signals of the network, that it uses.
            pub const fn takes(self) -> Takes {
                let mut takes = Takes::NOTHING;
                match self { $(Self::$kind => { $(takes.$takes = true;)* })+ }
                takes
            }

            /// Its settings.
            pub fn settings(self) -> Vec<Key> {
                match self { $(Self::$kind => <$settings as Settings>::keys(),)+ }
            }
        }

        /// A congestion control with its settings.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum CcConfig { $($(#[doc = $doc])+ $kind($settings),)+ }

        impl CcConfig {
            /// Its name in the registry.
            pub const fn kind(self) -> CcKind {
                match self { $(Self::$kind(_) => CcKind::$kind,)+ }
            }

            /// A congestion control of the registry on a connection, wrapped by a custom congestion control.
            pub fn custom(self, init: Init) -> Box<dyn Custom> {
                match self { $(Self::$kind(settings) => Box::<$type>::from($type::new(init, settings)),)+ }
            }

            /// A congestion control of the registry on a connection.
            pub fn build(self, init: Init) -> Cc {
                Cc::new(match self { $(Self::$kind(settings) => AnyCc::$kind($type::new(init, settings).into()),)+ })
            }
        }

        impl Typed for CcConfig {
            fn shape() -> Shape {
                let table = |kind: &CcKind| Table { name: kind.name(), about: kind.summary(), keys: Some(kind.settings()) };
                let title = Title { name: "Cc", noun: "a congestion control" };
                Shape::Kinds(title, CcKind::ALL.iter().map(table).collect())
            }
            fn read(value: &Value) -> Result<Self, Unfit> {
                let table = value.table()?;
                match table.kind()? {
                    $($name => <$settings as Settings>::read(table).map(Self::$kind),)+
                    _ => Err(value.unfit("a congestion control")),
                }
            }
            fn write(&self) -> Value {
                let mut table = Fields::of_kind(self.kind().name());
                match self { $(Self::$kind(settings) => Settings::write(settings, &mut table),)+ }
                Value::Table(table)
            }
        }

        impl From<CcKind> for CcConfig {
            /// Returns it with its default settings.
            fn from(kind: CcKind) -> Self {
                match kind { $(CcKind::$kind => Self::$kind($settings::default()),)+ }
            }
        }

        /// A congestion control of any kind, and its window after the last call: the window is read more often than it changes.
        #[derive(Clone, Debug)]
        pub struct Cc {
            of: AnyCc,
            cwnd: u64,
        }

        /// Dispatched without a vtable. Boxed, so that a connection does not have the size of the largest congestion
        /// control.
        #[derive(Clone, Debug)]
        enum AnyCc {
            $($kind(Box<$type>),)+
            Custom(Box<dyn Custom>),
        }

        macro_rules! each {
            ($of:expr, $c:ident => $does:expr) => {
                match $of {
                    $(AnyCc::$kind($c) => $does,)+
                    AnyCc::Custom($c) => $does,
                }
            };
        }

        /// Makes a call that may change the window.
        macro_rules! change {
            ($self:ident, $c:ident => $does:expr) => {
                each!(&mut $self.of, $c => {
                    $does;
                    $self.cwnd = $c.cwnd();
                })
            };
        }

        impl Cc {
            fn new(of: AnyCc) -> Self {
                let cwnd = each!(&of, c => c.cwnd());
                Self { of, cwnd }
            }

            /// Reports that a [probe segment](ProbeSegments) leaves.
            pub fn on_probe_segment(&mut self, path: &PathState) {
                change!(self, c => if let Some(probes) = c.probe_segments() {
                    probes.on_sent(path);
                });
            }

            /// Reports an answered probe segment.
            pub fn on_probe_answer(&mut self, path: &PathState) {
                change!(self, c => if let Some(probes) = c.probe_segments() {
                    probes.on_answer(path);
                });
            }
        }

        impl From<Box<dyn Custom>> for Cc {
            fn from(custom: Box<dyn Custom>) -> Self {
                Self::new(AnyCc::Custom(custom))
            }
        }

        impl CongestionControl for Cc {
            #[inline]
            fn on_ack(&mut self, ack: &AckSample, path: &PathState) {
                change!(self, c => c.on_ack(ack, path));
            }
            fn on_congestion(&mut self, why: Congestion, path: &PathState) {
                change!(self, c => c.on_congestion(why, path));
            }
            fn on_rto(&mut self, first: bool, path: &PathState) {
                change!(self, c => c.on_rto(first, path));
            }
            fn limit_cwnd(&mut self, max: u64) {
                change!(self, c => c.limit_cwnd(max));
            }
            fn set_window(&mut self, cwnd: u64, ssthresh: u64) {
                change!(self, c => c.set_window(cwnd, ssthresh));
            }
            fn takes_deliveries(&self) -> bool {
                each!(&self.of, c => c.takes_deliveries())
            }
            fn on_delivery(&mut self, delivery: &Delivery, path: &PathState) {
                change!(self, c => c.on_delivery(delivery, path));
            }
            fn takes_marks(&self) -> bool {
                each!(&self.of, c => c.takes_marks())
            }
            fn on_lost(&mut self, lost: &LostSegment, path: &PathState) {
                change!(self, c => c.on_lost(lost, path));
            }
            fn on_recovery_ack(&mut self, is_partial: bool, path: &PathState) {
                change!(self, c => c.on_recovery_ack(is_partial, path));
            }
            fn on_recovery_exit(&mut self, path: &PathState) {
                change!(self, c => c.on_recovery_exit(path));
            }
            fn on_resume(&mut self, path: &PathState) {
                change!(self, c => c.on_resume(path));
            }
            fn on_siblings(&mut self, siblings: Siblings) {
                change!(self, c => c.on_siblings(siblings));
            }
            fn undo(&mut self, before: Self) {
                match (&mut self.of, before.of) {
                    $((AnyCc::$kind(c), AnyCc::$kind(before)) => c.undo(*before),)+
                    (AnyCc::Custom(c), AnyCc::Custom(before)) => c.undo_custom(before),
                    // A connection keeps its kind.
                    _ => {}
                }
                self.cwnd = each!(&self.of, c => c.cwnd());
            }
            fn on_smss(&mut self, smss: u64) {
                change!(self, c => c.on_smss(smss));
            }
            fn on_error_report(&mut self, range: Option<(u64, u64)>, error_rate: Option<f32>, path: &PathState) {
                change!(self, c => c.on_error_report(range, error_rate, path));
            }
            fn on_explicit(&mut self, word: f64, path: &PathState) {
                change!(self, c => c.on_explicit(word, path));
            }
            fn explicit_header(&self, path: &PathState) -> Option<ExplicitHeader> {
                each!(&self.of, c => c.explicit_header(path))
            }
            fn is_model_based(&self) -> bool {
                each!(&self.of, c => c.is_model_based())
            }
            fn holds_back(&self) -> bool {
                each!(&self.of, c => c.holds_back())
            }
            #[inline]
            fn cwnd(&self) -> u64 {
                self.cwnd
            }
            #[inline]
            fn ssthresh(&self) -> u64 {
                each!(&self.of, c => c.ssthresh())
            }
            fn pacing(&self) -> Option<Pace> {
                each!(&self.of, c => c.pacing())
            }
            fn paces(&self) -> bool {
                each!(&self.of, c => c.paces())
            }
            fn polls(&self) -> Option<u32> {
                each!(&self.of, c => c.polls())
            }
            fn unbounded(&self) -> Option<Unbounded> {
                each!(&self.of, c => c.unbounded())
            }
            fn probes_up_to(&self) -> Option<u64> {
                each!(&self.of, c => c.probes_up_to())
            }
            fn is_random(&self) -> bool {
                each!(&self.of, c => c.is_random())
            }
            fn inside(&self, insides: &mut Insides<'_>) {
                each!(&self.of, c => c.inside(insides));
            }
            fn probe_segments(&mut self) -> Option<&mut dyn ProbeSegments> {
                each!(&mut self.of, c => c.probe_segments())
            }
        }

        #[cfg(test)]
        mod inherited {
            $(#[test] #[allow(non_snake_case)] fn $kind() { crate::testbench::suite::all(crate::CcKind::$kind); })+
        }
    };
}

/// Recovery by selective acknowledgements (RFC 6675).
const SACK: Recovery = sack(SackEvidence::Rfc6675);

const fn sack(evidence: SackEvidence) -> Recovery {
    Recovery::Sack { on_rto: SackOnRto::Keep, evidence, counting: SackCounting::Data, rescue: true }
}

/// Recovery through partial ACKs (RFC 6582).
fn newreno() -> Recovery {
    Recovery::NewReno(NewReno::default())
}

/// Recovery through partial ACKs that leaves the window to the congestion control.
fn partial_acks() -> Recovery {
    Recovery::NewReno(NewReno { exit: NewRenoExit::Ssthresh, ..NewReno::default() })
}

/// Recovery by selective acknowledgements that trusts each report, as STP does.
const STATUS: Recovery = sack(SackEvidence::Status);

/// Losses found by time, including those of retransmissions (RFC 8985).
fn rack() -> Recovery {
    Recovery::Rack(Rack::default())
}

// A line declares name, kind with type and settings, file, published recovery, [`Takes`], and the loss verdict if it is
// not congestion.
registry! {
    /// Slow start, congestion avoidance and fast retransmit, no fast recovery (Jacobson 1988).
    "tahoe" => Tahoe(Tahoe, NoSettings) in "loss/tahoe.rs", Recovery::FastRetransmit, [slow_start, increase, ecn];
    /// Tahoe without fast retransmit: only the timer finds losses (Emmelmann's study of timers).
    "tcpmin" => TcpMin(Tahoe, NoSettings) in "loss/tahoe.rs", Recovery::TimeoutOnly, [slow_start, increase, ecn];
    /// Additive increase, halving, fast recovery (RFC 5681).
    "reno" => Reno(Reno, NoSettings) in "loss/reno.rs", Recovery::Reno, [slow_start, increase, ecn];
    /// Reno's window with recovery through partial ACKs (RFC 6582).
    "newreno" => NewReno(Reno, NoSettings) in "loss/reno.rs", newreno(), [slow_start, increase, ecn];
    /// Reno's window with selective acknowledgements (RFC 2018, RFC 6675).
    "sack" => Sack(Reno, NoSettings) in "loss/reno.rs", SACK, [slow_start, increase, ecn];
    /// Window and pace from a model of the path: bandwidth and round-trip time (BBR v1, Cardwell et al. 2016; Linux).
    "bbr1" => Bbr1(Bbr1, Bbr1Settings) in "model/bbr1.rs", rack(), [];
    /// BBR that keeps losses below 2 % (BBR v2, alpha release of 2019).
    "bbr2" => Bbr2(Bbr3, Bbr2Settings) in "model/bbr3/mod.rs", rack(), [];
    /// BBR of the IETF's working group: bounds on the data in flight, probes that make room first (draft-ietf-ccwg-bbr).
    "bbr3" => Bbr3(Bbr3, Bbr3Settings) in "model/bbr3/mod.rs", rack(), [];
    /// Binary search for the window at the last loss (Xu, Harfoush and Rhee 2004).
    "bic" => Bic(Bic, BicSettings) in "loss/bic.rs", SACK, [slow_start, increase, ecn];
    /// Reno's window plus a delay-based window (Tan, Song, Zhang and Sridharan 2006).
    "compound" => Compound(Compound, CompoundSettings) in "delay/compound.rs", SACK, [slow_start, increase, ecn, shrinks];
    /// About two segments queued, by a rate inversely proportional to the queueing delay (Arun and Balakrishnan 2018).
    "copa" => Copa(Copa, CopaSettings) in "delay/copa.rs", SACK, [slow_start, shrinks];
    /// A cubic function of the time since the last loss (RFC 9438).
    "cubic" => Cubic(Cubic, CubicSettings) in "loss/cubic.rs", SACK, [slow_start, ecn];
    /// Reduces the window by the share of marked packets; for networks with short marking thresholds (RFC 8257).
    "dctcp" => Dctcp(Prague, DctcpSettings) in "loss/prague.rs", rack(), [slow_start, ecn, marks];
    /// HSWA's increment, and a window from the estimated bandwidth, also before a loss (Pandya and Shaikh).
    "enhanced-hswa" => EnhancedHswa(EnhancedHswa, EnhancedHswaSettings) in "satellite/enhanced_hswa.rs", SACK, [slow_start, ecn];
    /// More per ACK and a smaller reduction per loss, the larger the window is (RFC 3649).
    "highspeed" => HighSpeed(HighSpeed, HighSpeedSettings) in "loss/highspeed.rs", SACK, [slow_start, increase, ecn];
    /// An increment by the error rate of the satellite link, smaller as the round trip lengthens (Ge 2009).
    "hswa" => Hswa(Hswa, HswaSettings) in "satellite/hswa.rs", SACK, [slow_start, ecn];
    /// Growth by the time since congestion, and a reduction that empties the queue (Leith and Shorten 2004).
    "htcp" => Htcp(Htcp, HtcpSettings) in "loss/htcp.rs", SACK, [slow_start, ecn];
    /// Reno's growth on a path of 25 ms, for paths of any length (Caini and Firrincieli 2004).
    "hybla" => Hybla(Hybla, HyblaSettings) in "loss/hybla.rs", SACK, [slow_start, increase, ecn];
    /// Increase and decrease by the queueing delay, on loss (Liu, Başar and Srikant 2006).
    "illinois" => Illinois(Illinois, IllinoisSettings) in "delay/illinois.rs", SACK, [slow_start, ecn];
    /// Keeps a queueing delay of 100 ms and yields to flows that queue more (RFC 6817).
    "ledbat" => Ledbat(Ledbat, LedbatSettings) in "delay/ledbat.rs", SACK, [slow_start, ecn, shrinks];
    /// BBR that probes the path again after each satellite reconfiguration (Lai et al. 2025).
    "leocc" => Leocc(LeoCc, LeoCcSettings) in "model/leocc.rs", SACK, [];
    /// Dummy segments of low priority find room in two round trips, at the start and after a loss (Akyildiz, Morabito and Palazzo 2001).
    "peach" => Peach(Peach, PeachSettings) in "satellite/peach.rs", partial_acks(), [slow_start, increase, ecn];
    /// Peach whose dummy segments carry unacknowledged data (Akyildiz, Zhang and Fang 2002).
    "peach-plus" => PeachPlus(Peach, PeachPlusSettings) in "satellite/peach.rs", SACK, [slow_start, increase, ecn];
    /// Reduces the window by the share of marked packets, for queues of about a millisecond (L4S, RFC 9330).
    "prague" => Prague(Prague, PragueSettings) in "loss/prague.rs", rack(), [slow_start, ecn, marks];
    /// Five segments queued, measured by relative delays of the forward path (Parsa and Garcia-Luna-Aceves 1999).
    "santa-cruz" => SantaCruz(SantaCruz, SantaCruzSettings) in "delay/santa_cruz.rs", SACK, [slow_start, ecn, shrinks];
    /// CUBIC that attributes losses to a handover while one is due (Cao and Zhang 2023).
    "satcp" => SaTcp(SaTcp, SaTcpSettings) in "satellite/satcp.rs", SACK, [slow_start, ecn];
    /// A fixed share of the window for each ACK and off for each loss (Kelly 2003).
    "scalable" => Scalable(Scalable, ScalableSettings) in "loss/scalable.rs", SACK, [slow_start, increase, ecn];
    /// Reno's window, Vegas or no congestion control, with a rate, for SCPS-TP (CCSDS 714.0-B).
    "scps" => Scps(Scps, ScpsSettings) in "satellite/scps.rs", Recovery::Snack(Snack::default()), [slow_start, increase, ecn, shrinks],
        AssumeCongestion;
    /// Polls the receiver for ACKs; between polls it reports only losses (Henderson and Katz 1999).
    "stp" => Stp(Stp, StpSettings) in "satellite/stp.rs", STATUS, [ecn];
    /// Opens the window in two round trips, and again after a loss that the ACKs do not attribute to a queue (Leung and Yeung 2004).
    "swift" => Swift(Swift, SwiftSettings) in "satellite/swift.rs", partial_acks(), [slow_start, increase, ecn, shrinks];
    /// Two to four segments queued, measured by the round-trip time (Brakmo 1995).
    "vegas" => Vegas(Vegas, VegasSettings) in "delay/vegas.rs", SACK, [slow_start, increase, ecn, shrinks];
    /// Reno with a smaller reduction per loss if few segments are queued (Fu 2003).
    "veno" => Veno(Veno, VenoSettings) in "delay/veno.rs", SACK, [slow_start, increase, ecn];
    /// Reno that reduces the window to the estimated bandwidth-delay product instead of half (Mascolo 2001).
    "westwood" => Westwood(Westwood, WestwoodSettings) in "loss/westwood.rs", Recovery::Reno, [slow_start, increase, ecn];
    /// Westwood with NewReno's recovery through partial ACKs (Casetti 2002).
    "westwood-nr" => WestwoodNr(Westwood, WestwoodSettings) in "loss/westwood.rs", newreno(), [slow_start, increase, ecn];
    /// Westwood with one bandwidth sample per round trip, robust to compressed ACKs (Grieco and Mascolo 2004).
    "westwood-plus" => WestwoodPlus(Westwood, WestwoodPlusSettings) in "loss/westwood.rs", SACK, [slow_start, increase, ecn];
    /// A rate from the spacing of arrivals and departures; only unusual losses count (Sinha et al. 2002).
    "wtcp" => Wtcp(Wtcp, WtcpSettings) in "model/wtcp.rs", SACK, [];
    /// Scalable TCP's growth while the queue is short, otherwise Reno's; long queues are drained (Baiocchi 2007).
    "yeah" => Yeah(Yeah, YeahSettings) in "delay/yeah.rs", SACK, [slow_start, increase, ecn, shrinks];
}
