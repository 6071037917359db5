//! Congestion control: facts in, a window out.
//!
//! A controller reads what an ACK taught ([`AckSample`]) and the sender's view of the path ([`PathState`]) and
//! answers with `cwnd`. It owns no timer, sends nothing, does not know which segment is lost, and draws chance only from the
//! seed that it is given. Retransmission, window inflation, limited transmit, flow control and idle restart belong to
//! the connection. Slow start and additive increase are in [`Window`], for all that want them.
//!
//! A new controller is one file in its room (`loss`, `delay`, `model`, `satellite`) and one line in [`registry!`] below. What it
//! leaves to its [`Window`] it names in `window_hooks!`; what several controllers need is in `parts`.

mod custom;
mod delay;
pub(crate) mod explicit;
mod loss;
mod model;
mod parts;
mod probe_segments;
mod satellite;
pub mod settings;
#[cfg(test)]
mod testbench;

pub use crate::facts::{AckSample, Congestion, Delivery, Init, LostSegment, Pace, PathState, HALF};
pub use custom::{Custom, CustomCc};
pub use delay::*;
pub use loss::*;
pub use model::*;
pub use parts::bandwidth_filter::WestwoodSmoothing;
pub use parts::loss_window::{Cwnd, Window};
pub use parts::reallocation::Reallocations;
pub use probe_segments::ProbeSegments;
pub use satellite::*;

use crate::keys::{NewReno, NewRenoExit, Rack, Recovery, SackCounting, SackEvidence, SackOnRto, Snack};
use crate::notice::ExplicitHeader;
use crate::verdict::VerdictKind;
use bentpipe_units::module_doc;
use settings::{Fields, Key, NoSettings, Settings, Shape, Table, Typed, Unfit, Value};

/// The contract of a congestion control. `on_congestion` and `on_rto` report congestion only: losses that the verdict attributes
/// to the link do not reach them.
///
/// On one ACK the order is: losses are found (`on_recovery_ack` or `on_recovery_exit`, `on_congestion`, then `on_lost` for each
/// segment), then `on_delivery`, then `on_ack`.
pub trait CongestionControl {
    /// New data were acknowledged outside loss recovery.
    fn on_ack(&mut self, ack: &AckSample, path: &PathState);
    /// A loss episode begins, or marks were seen; called at most once per window of data.
    fn on_congestion(&mut self, why: Congestion, path: &PathState);
    /// The retransmission timer expired; `first` is false for repeated timeouts of the same segment, which
    /// must not lower ssthresh again (RFC 5681 §3.1).
    fn on_rto(&mut self, first: bool, path: &PathState);
    /// Recovery or idle restart asks that the window be at most `max` bytes now.
    fn limit_cwnd(&mut self, max: u64);
    /// Continue with exactly this window and threshold, bytes: a loss was spurious, or window validation asks
    /// for it (RFC 2861 §3.2, RFC 7661 §4.4).
    fn set_window(&mut self, cwnd: u64, ssthresh: u64);
    /// The segment size changed.
    fn on_smss(&mut self, smss: u64);

    /// Whether [`on_delivery`](Self::on_delivery) is wanted; it costs some time for each ACK and segment. Never changes.
    fn takes_deliveries(&self) -> bool {
        false
    }
    /// An ACK reported something delivered, in recovery or not.
    fn on_delivery(&mut self, delivery: &Delivery, path: &PathState) {
        let _ = (delivery, path);
    }
    /// A segment was declared lost, whatever the verdict: by the ACK of the `on_delivery` that follows, or by a timer. Segments
    /// that were sent before the segment size changed are not reported.
    fn on_lost(&mut self, lost: &LostSegment, path: &PathState) {
        let _ = (lost, path);
    }
    /// An ACK came in loss recovery, after the one that began it and before the one that ends it: a duplicate, or with `is_partial`
    /// one that acknowledges a part of what was outstanding then.
    fn on_recovery_ack(&mut self, is_partial: bool, path: &PathState) {
        let _ = (is_partial, path);
    }
    /// All is repaired that was outstanding when the losses were found: recovery ends, or the slow start after a timeout.
    fn on_recovery_exit(&mut self, path: &PathState) {
        let _ = path;
    }
    /// Data are about to be sent while nothing is outstanding.
    fn on_resume(&mut self, path: &PathState) {
        let _ = path;
    }
    /// The congestion was spurious: go on as `before` it.
    fn undo(&mut self, before: Self)
    where
        Self: Sized,
    {
        *self = before;
    }

    /// A node reported a corrupted range of outstanding data, [start, end), the error rate of a link, or both.
    fn on_error_report(&mut self, range: Option<(u64, u64)>, error_rate: Option<f32>, path: &PathState) {
        let _ = (range, error_rate, path);
    }
    /// A router's word came back: by how many bytes the window may change (XCP), or how many bytes a second may leave (RCP), those
    /// of headers counted.
    fn on_explicit(&mut self, word: f64, path: &PathState) {
        let _ = (word, path);
    }
    /// What it writes on packets for routers; none: nothing.
    fn explicit_header(&self, path: &PathState) -> Option<ExplicitHeader> {
        let _ = path;
        None
    }

    /// Whether the window follows from a model of the path in recovery and after an idle time too. Then nothing else moves it
    /// there: no proportional reduction, no restart window, no window validation, no deflation. Never changes.
    fn is_model_based(&self) -> bool {
        false
    }
    /// Whether it sends less than the path takes on purpose, so that what is sent now shows less than the path's rate.
    fn holds_back(&self) -> bool {
        false
    }

    /// The congestion window, bytes; never below one segment. Asked for after each call that may change it, and kept until the next.
    fn cwnd(&self) -> u64;
    /// The slow start threshold, bytes; `u64::MAX`: none yet.
    fn ssthresh(&self) -> u64;
    /// The pace at which to send; none: as the pacing of the connection has it.
    fn pacing(&self) -> Option<Pace> {
        None
    }
    /// Whether it ever asks for a pace. Never changes.
    fn paces(&self) -> bool {
        self.pacing().is_some()
    }
    /// How often in a round trip it polls the receiver, which acknowledges data then and not as they come; none: it does not poll.
    /// Never changes.
    fn polls(&self) -> Option<u32> {
        None
    }
    /// Its effect on a path if no buffer bounds its window; none: no special effect. Asked for before data transfer.
    fn unbounded(&self) -> Option<Unbounded> {
        None
    }
    /// Whether it draws from the seed that it is given. Never changes.
    fn is_random(&self) -> bool {
        false
    }
    /// Its probe segments; none: it sends none. Never changes.
    fn probe_segments(&mut self) -> Option<&mut dyn ProbeSegments> {
        None
    }
}

/// Effect of a congestion control on a path if no buffer bounds its window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unbounded {
    /// A clause whose subject is the congestion control.
    pub does: String,
    /// Whether probe segments have the effect: queues with priorities prevent it, and a send buffer does not bound them.
    pub is_probes: bool,
}

/// What a congestion control takes and does, as its line of the registry names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Takes {
    /// How slow start counts, grows and ends: `slow_start` and `byte_counting` change it, perhaps with a setting of its own.
    pub slow_start: bool,
    /// Congestion avoidance adds what `increase` says, at some window at least.
    pub increase: bool,
    /// An ECN mark reduces the window.
    pub ecn: bool,
    /// An ACK may shrink the window, not congestion alone.
    pub shrinks: bool,
}

impl Takes {
    const NOTHING: Self = Self { slow_start: false, increase: false, ecn: false, shrinks: false };
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
            /// All of them, in the order of the registry.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)+];

            /// The name in scenario files.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)+ }
            }

            /// One line for lists and the reference.
            pub const fn summary(self) -> &'static str {
                match self { $(Self::$kind => concat!($($doc),+).trim_ascii(),)+ }
            }

            /// What is said about it at the head of its file, in Markdown: the source, the equations, and under headings what it
            /// is good for. What is there about others of the same file is left out.
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

            /// The loss recovery with which it was published; used unless the scenario names one.
            pub fn recovery(self) -> Recovery {
                match self { $(Self::$kind => $recovery,)+ }
            }

            /// What it takes a loss to mean; used unless the scenario says otherwise. Congestion, if its line does not say.
            pub const fn verdict(self) -> VerdictKind {
                $($(if matches!(self, Self::$kind) {
                    return VerdictKind::$verdict;
                })?)+
                VerdictKind::AlwaysCongestion
            }

            /// What it takes of the settings that all congestion controls share, and of the network's signals.
            pub const fn takes(self) -> Takes {
                let mut takes = Takes::NOTHING;
                match self { $(Self::$kind => { $(takes.$takes = true;)* })+ }
                takes
            }

            /// What can be set.
            pub fn settings(self) -> Vec<Key> {
                match self { $(Self::$kind => <$settings as Settings>::keys(),)+ }
            }
        }

        /// A congestion control with its settings.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum CcConfig { $($(#[doc = $doc])+ $kind($settings),)+ }

        impl CcConfig {
            /// Which one.
            pub const fn kind(self) -> CcKind {
                match self { $(Self::$kind(_) => CcKind::$kind,)+ }
            }

            /// A congestion control of the registry on a connection, to be wrapped by a custom congestion control.
            pub fn custom(self, init: Init) -> Box<dyn Custom> {
                match self { $(Self::$kind(settings) => Box::<$type>::from($type::new(init, settings)),)+ }
            }

            pub(crate) fn build(self, init: Init) -> Cc {
                Cc::new(match self { $(Self::$kind(settings) => AnyCc::$kind($type::new(init, settings).into()),)+ })
            }
        }

        impl Typed for CcConfig {
            fn shape() -> Shape {
                let table = |kind: &CcKind| Table { name: kind.name(), about: kind.summary(), keys: Some(kind.settings()) };
                Shape::Kinds("Cc", CcKind::ALL.iter().map(table).collect())
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
            /// With its defaults.
            fn from(kind: CcKind) -> Self {
                match kind { $(CcKind::$kind => Self::$kind($settings::default()),)+ }
            }
        }

        /// A congestion control of any kind, and its window as the last call left it: that is asked for more often than it changes.
        #[derive(Clone, Debug)]
        pub(crate) struct Cc {
            of: AnyCc,
            cwnd: u64,
        }

        /// Dispatched without a vtable; boxed, so that a connection is not as large as the largest of them.
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

        /// A call that may change the window.
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

            /// A [probe segment](ProbeSegments) leaves.
            pub(crate) fn on_probe_segment(&mut self, path: &PathState) {
                change!(self, c => if let Some(probes) = c.probe_segments() {
                    probes.on_sent(path);
                });
            }

            /// A probe segment was answered.
            pub(crate) fn on_probe_answer(&mut self, path: &PathState) {
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
            fn is_random(&self) -> bool {
                each!(&self.of, c => c.is_random())
            }
            fn probe_segments(&mut self) -> Option<&mut dyn ProbeSegments> {
                each!(&mut self.of, c => c.probe_segments())
            }
        }

        #[cfg(test)]
        mod inherited {
            $(#[test] #[allow(non_snake_case)] fn $kind() { crate::cc::testbench::suite::all(crate::cc::CcKind::$kind); })+
        }
    };
}

/// Recovery by selective acknowledgements, as RFC 6675 has it.
const SACK: Recovery = sack(SackEvidence::Rfc6675);

const fn sack(evidence: SackEvidence) -> Recovery {
    Recovery::Sack { on_rto: SackOnRto::Keep, evidence, counting: SackCounting::Data, rescue: true }
}

/// Recovery through partial ACKs, as RFC 6582 has it.
fn newreno() -> Recovery {
    Recovery::NewReno(NewReno::default())
}

/// Recovery through partial ACKs that leaves the window to the controller.
fn partial_acks() -> Recovery {
    Recovery::NewReno(NewReno { exit: NewRenoExit::Ssthresh, ..NewReno::default() })
}

/// Recovery by selective acknowledgements that believes each report, as STP does.
const STATUS: Recovery = sack(SackEvidence::Status);

/// Losses found by time, those of retransmissions too, as RFC 8985 has it.
fn rack() -> Recovery {
    Recovery::Rack(Rack::default())
}

// A line says: the name, the kind with its type and its settings, the file, the recovery with which it was published, what it
// [`Takes`], and what it takes a loss to mean, if not congestion.
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
    /// A model of the path, bandwidth and round-trip time, instead of losses (BBR v1, Cardwell et al. 2016; Linux).
    "bbr1" => Bbr1(Bbr1, Bbr1Settings) in "model/bbr1.rs", rack(), [];
    /// BBR that keeps losses below 2 % (BBR v2, alpha release of 2019).
    "bbr2" => Bbr2(Bbr3, Bbr2Settings) in "model/bbr3/mod.rs", rack(), [];
    /// BBR of the IETF's working group: bounds on the data in flight, probes that make room first (draft-ietf-ccwg-bbr).
    "bbr3" => Bbr3(Bbr3, Bbr3Settings) in "model/bbr3/mod.rs", rack(), [];
    /// Binary search for the window at which the last loss came (Xu, Harfoush and Rhee 2004).
    "bic" => Bic(Bic, BicSettings) in "loss/bic.rs", SACK, [slow_start, increase, ecn];
    /// Reno's window and a delay-based one beside it (Tan, Song, Zhang and Sridharan 2006).
    "compound" => Compound(Compound, CompoundSettings) in "delay/compound.rs", SACK, [slow_start, increase, ecn, shrinks];
    /// About two segments queued, by a rate in inverse proportion to their delay (Arun and Balakrishnan 2018).
    "copa" => Copa(Copa, CopaSettings) in "delay/copa.rs", SACK, [slow_start, shrinks];
    /// A cubic function of the time since the last loss (RFC 9438).
    "cubic" => Cubic(Cubic, CubicSettings) in "loss/cubic.rs", SACK, [slow_start, ecn];
    /// HSWA's increment, and the window that the estimated bandwidth fills, also before a loss (Pandya and Shaikh).
    "enhanced-hswa" => EnhancedHswa(EnhancedHswa, EnhancedHswaSettings) in "satellite/enhanced_hswa.rs", SACK, [slow_start, ecn];
    /// The larger the window, the more for each ACK and the less off for each loss (RFC 3649).
    "highspeed" => HighSpeed(HighSpeed, HighSpeedSettings) in "loss/highspeed.rs", SACK, [slow_start, increase, ecn];
    /// An increment by the error rate of the satellite link, less as the round trip lengthens (Ge 2009).
    "hswa" => Hswa(Hswa, HswaSettings) in "satellite/hswa.rs", SACK, [slow_start, ecn];
    /// Faster the longer since congestion, and back by what empties the queue (Leith and Shorten 2004).
    "htcp" => Htcp(Htcp, HtcpSettings) in "loss/htcp.rs", SACK, [slow_start, ecn];
    /// On a long path as fast as Reno would be on a path of 25 ms (Caini and Firrincieli 2004).
    "hybla" => Hybla(Hybla, HyblaSettings) in "loss/hybla.rs", SACK, [slow_start, increase, ecn];
    /// Increase and decrease by the queueing delay, on loss (Liu, Başar and Srikant 2006).
    "illinois" => Illinois(Illinois, IllinoisSettings) in "delay/illinois.rs", SACK, [slow_start, ecn];
    /// Keeps a tenth of a second queued and gives way to all who queue more (RFC 6817).
    "ledbat" => Ledbat(Ledbat, LedbatSettings) in "delay/ledbat.rs", SACK, [slow_start, ecn, shrinks];
    /// BBR that probes the path again after each satellite reconfiguration (Lai et al. 2025).
    "leocc" => Leocc(LeoCc, LeoCcSettings) in "model/leocc.rs", SACK, [];
    /// Dummy segments of low priority find room in two round trips, at the start and after a loss (Akyildiz, Morabito and Palazzo 2001).
    "peach" => Peach(Peach, PeachSettings) in "satellite/peach.rs", partial_acks(), [slow_start, increase, ecn];
    /// Peach whose dummy segments carry unacknowledged data (Akyildiz, Zhang and Fang 2002).
    "peach-plus" => PeachPlus(Peach, PeachPlusSettings) in "satellite/peach.rs", SACK, [slow_start, increase, ecn];
    /// Five segments queued, as relative delays of the forward path tell (Parsa and Garcia-Luna-Aceves 1999).
    "santa-cruz" => SantaCruz(SantaCruz, SantaCruzSettings) in "delay/santa_cruz.rs", SACK, [slow_start, ecn, shrinks];
    /// CUBIC that blames losses on handovers while one is due (Cao and Zhang 2023).
    "satcp" => SaTcp(SaTcp, SaTcpSettings) in "satellite/satcp.rs", SACK, [slow_start, ecn];
    /// A fixed share of the window for each ACK and off for each loss (Kelly 2003).
    "scalable" => Scalable(Scalable, ScalableSettings) in "loss/scalable.rs", SACK, [slow_start, increase, ecn];
    /// SCPS-TP's: Reno's window, Vegas or none at all, with a rate (CCSDS 714.0-B).
    "scps" => Scps(Scps, ScpsSettings) in "satellite/scps.rs", Recovery::Snack(Snack::default()), [slow_start, increase, ecn, shrinks],
        AssumeCongestion;
    /// Polls the receiver, which names losses by itself and acknowledges nothing else (Henderson and Katz 1999).
    "stp" => Stp(Stp, StpSettings) in "satellite/stp.rs", STATUS, [ecn];
    /// Opens the window in two round trips, and again after a loss that the ACKs do not blame on a queue (Leung and Yeung 2004).
    "swift" => Swift(Swift, SwiftSettings) in "satellite/swift.rs", partial_acks(), [slow_start, increase, ecn, shrinks];
    /// Keeps two to four segments queued, as the round-trip time tells (Brakmo 1995).
    "vegas" => Vegas(Vegas, VegasSettings) in "delay/vegas.rs", SACK, [slow_start, increase, ecn, shrinks];
    /// Reno that cuts less for a loss where few segments are queued (Fu 2003).
    "veno" => Veno(Veno, VenoSettings) in "delay/veno.rs", SACK, [slow_start, increase, ecn];
    /// After a loss what the path holds at the rate that its ACKs show, instead of half (Mascolo 2001).
    "westwood" => Westwood(Westwood, WestwoodSettings) in "loss/westwood.rs", Recovery::Reno, [slow_start, increase, ecn];
    /// Westwood with NewReno's recovery through partial ACKs (Casetti 2002).
    "westwood-nr" => WestwoodNr(Westwood, WestwoodSettings) in "loss/westwood.rs", newreno(), [slow_start, increase, ecn];
    /// Westwood with one sample for each round trip, which compressed ACKs do not mislead (Grieco and Mascolo 2004).
    "westwood-plus" => WestwoodPlus(Westwood, WestwoodPlusSettings) in "loss/westwood.rs", SACK, [slow_start, increase, ecn];
    /// A rate by how far apart packets arrive and left, with losses that count where they are unusual (Sinha et al. 2002).
    "wtcp" => Wtcp(Wtcp, WtcpSettings) in "model/wtcp.rs", SACK, [];
    /// Scalable TCP's growth while the queue is short, else Reno's; long queues are given back (Baiocchi 2007).
    "yeah" => Yeah(Yeah, YeahSettings) in "delay/yeah.rs", SACK, [slow_start, increase, ecn, shrinks];
}
