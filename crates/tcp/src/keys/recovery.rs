//! How losses are found and repaired.

use bentpipe_units::settings::{Switch, Thousandths};
use bentpipe_units::{kinds, settings, words, Duration};

kinds! {
    /// How losses are found and repaired.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Recovery as "Recovery" {
        /// Only the timer finds losses.
        "timeout-only" => TimeoutOnly;
        /// Fast retransmit, then slow start from the hole; no fast recovery.
        "fast-retransmit" => FastRetransmit;
        /// Fast recovery that any new ACK ends (RFC 5681).
        "reno" => Reno;
        /// Fast recovery through partial ACKs (RFC 6582).
        "newreno" => NewReno(NewReno);
        /// Selective acknowledgements (RFC 2018, RFC 6675).
        "sack" => Sack {
            /// What a timeout does with the information about blocks received.
            on_rto: SackOnRto = SackOnRto::Keep, "RFC 6675 §5.1";
            /// What proves a loss.
            evidence: SackEvidence = SackEvidence::Rfc6675, "RFC 6675 §4";
            /// Basis of the counts of duplicate ACKs and pipe.
            counting: SackCounting = SackCounting::Data, "RFC 6675 §2 and §4";
            /// Retransmit the highest segment outstanding, once in each recovery, if nothing else may be sent.
            rescue: bool = true, "RFC 6675 §4 NextSeg(), rule 4";
        };
        /// Selective acknowledgements with losses found by time, and probes for the tail (RACK-TLP, RFC 8985).
        "rack" => Rack(Rack);
        /// Selective negative acknowledgements: the receiver reports holes, and the sender fills them at once (SCPS-TP, CCSDS 714.0-B).
        "snack" => Snack(Snack);
    }
}

impl Recovery {
    /// Whether it works with selective acknowledgements, which the ends then negotiate.
    pub const fn uses_sack(self) -> bool {
        matches!(self, Self::Sack { .. } | Self::Rack(_))
    }
}

settings! {
    /// The readings of RFC 6582.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct NewReno {
        /// Which partial ACKs restart the retransmission timer.
        timer: NewRenoTimer = NewRenoTimer::Impatient, "RFC 3782 §4";
        /// The window when recovery ends.
        exit: NewRenoExit = NewRenoExit::FlightSize, "RFC 6582 §3.2 step 3, option 1";
        /// How far partial ACKs may deflate the window.
        deflate: NewRenoDeflate = NewRenoDeflate::Full, "RFC 6582 §3.2 step 3";
        /// Allow fast retransmit of the very first segment, which RFC 6582 §3.2 taken literally forbids.
        first_loss: bool = true, "RFC 6582 §3.2 read as ns-2 does";
        /// Most new segments sent in answer to one ACK during recovery; 0: as many as the window allows.
        burst: u32 = 0, [0, 1_000_000], "RFC 6582 sets no limit; ns-2: 2";
    }
}

words! {
    /// RFC 6582 §3.2 step 3, RFC 3782 §4: the timer on partial ACKs.
    pub enum NewRenoTimer {
        /// The first partial ACK only: many losses end in a timeout.
        "impatient" => Impatient,
        /// Every partial ACK: one loss is repaired per round trip.
        "slow-but-steady" => SlowButSteady,
    }
}

words! {
    /// RFC 6582 §3.2 step 3, full acknowledgements.
    pub enum NewRenoExit {
        /// min(ssthresh, max(FlightSize, SMSS) + SMSS).
        "flight-size" => FlightSize,
        /// ssthresh.
        "ssthresh" => Ssthresh,
    }
}

words! {
    /// How far the window may deflate on partial ACKs.
    pub enum NewRenoDeflate {
        /// By all that was acknowledged.
        "full" => Full,
        /// Not below ssthresh.
        "to-ssthresh" => ToSsthresh,
        /// By all that was acknowledged; what exceeds the inflation comes off the congestion window for good (ns-2).
        "window" => Window,
    }
}

words! {
    /// RFC 2018 §8 against RFC 6675 §5.1.
    pub enum SackOnRto {
        /// Keep it, and skip what was received when resending (RFC 6675).
        "keep" => Keep,
        /// Forget it, and go back to the first hole (RFC 2018).
        "discard" => Discard,
        /// Forget it, go back to the first hole, and ignore reports until everything sent before the timeout is acknowledged (ns-2).
        "ignore" => Ignore,
    }
}

words! {
    /// What proves that a segment was lost.
    pub enum SackEvidence {
        /// Three SACKed runs, or more than two segments of SACKed data, above it (RFC 6675 §4).
        "rfc6675" => Rfc6675,
        /// SACKed data more than three segments above it (FACK, Mathis and Mahdavi 1996).
        "fack" => Fack,
        /// Any SACKed data above it, once three duplicate ACKs have begun recovery (before RFC 3517; ns-2).
        "hole" => Hole,
        /// Any SACKed data above it, at once; a retransmission that is missing after a round trip is lost too (Henderson and Katz 1999).
        "status" => Status,
    }
}

words! {
    /// Evidence that data left the network.
    pub enum SackCounting {
        /// Data reported for the first time: an ACK is a duplicate if it reports such data, and pipe excludes reported and lost data (RFC 6675).
        "data" => Data,
        /// ACKs: each one in recovery takes a segment off pipe, a partial ACK two, regardless of the data reported and lost (Fall and Floyd 1996). An ACK that advances is no duplicate, and reports are forgotten when recovery ends (ns-2).
        "acks" => Acks,
    }
}

settings! {
    /// The settings of RACK-TLP (RFC 8985).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Rack {
        /// Probe for losses at the tail before the retransmission timer expires.
        tlp: bool = true, "RFC 8985 §7";
        /// What a probe waits for an ACK that the receiver may delay, when one segment is in flight.
        max_ack_delay: Duration = Duration::from_millis(200), "RFC 8985 §7.2; the usual ack.delay";
        /// Begin another recovery, with another reduction, where one ends and losses that it repaired are outstanding still. Otherwise only a loss that was not repaired begins one.
        reenter: bool = true, "Linux; RFC 6675 §5 step 4; RFC 8985 does not say";
        /// How long the smallest round-trip time, a quarter of which absorbs reordering, is remembered.
        min_rtt_window: Duration = Duration::from_secs(300), "RFC 8985 §6.2; Linux";
    }
}

settings! {
    /// The settings of SNACK. Both ends have to offer it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Snack {
        /// What one report says.
        form: SnackForm = SnackForm::Short, "the reference implementation has no other";
        /// How often the hole at the acknowledged byte is reported before the next ones are.
        resnacks: u32 = 3, [1, 1000], "the reference implementation: RESNACK_THRESH";
        /// Let ACKs of new data grow the window also while holes are repaired.
        grows: bool = true, "reading: CCSDS 714.0-B has no fast recovery";
        /// Let the receiver tell of packets that arrived corrupted; the verdicts `assume-congestion` and `assume-corruption` listen.
        corruption_experienced: bool = true, "CCSDS 714.0-B";
        /// Losses that a report of corruption covers, for the verdict `assume-congestion`.
        corruption_covers: enum CorruptionCovers = CorruptionCovers::Hole, "reading: the option has no range; a packet that arrived damaged explains one hole";
    }
}

words! {
    /// Losses that a report of corruption covers.
    pub enum CorruptionCovers {
        /// One hole in the data that were outstanding when the report arrived. Every further hole is congestion.
        "hole" => Hole,
        /// All losses of the next two smoothed round-trip times, losses by full queues too.
        "round-trips" => RoundTrips,
    }
}

words! {
    /// What one SNACK reports.
    pub enum SnackForm {
        /// One hole.
        "short" => Short,
        /// One hole, and a bit for each segment beyond it, if both ends want that.
        "long" => Long,
    }
}

words! {
    /// How the window falls to ssthresh in recovery.
    pub enum Reduction {
        /// At once (RFC 5681, RFC 6675).
        "at-once" => AtOnce,
        /// In proportion to what is delivered (RFC 9937).
        "prr" => Prr,
        /// In proportion, with the slow start reduction bound of RFC 6937.
        "prr-ssrb" => PrrSsrb,
        /// In proportion, with the conservative reduction bound of RFC 6937.
        "prr-crb" => PrrCrb,
    }
}

words! {
    /// When the loss of a retransmission is a second sign of congestion.
    pub enum SecondReduction {
        /// Never.
        "off" => Off,
        /// After a timeout: fast recovery begins, with its reduction. In fast recovery never (Linux).
        "after-timeout" => AfterTimeout,
        /// In fast recovery too: the window is reduced again, at most once for the segments that leave in a round trip (RFC 5681 §4.3).
        "rfc5681" => Rfc5681,
    }
}

words! {
    /// How a retransmission is found to have been needless.
    pub enum SpuriousDetection {
        /// Not at all.
        "off" => Off,
        /// After a timeout, by the ACKs that follow (F-RTO, RFC 5682).
        "frto" => Frto,
        /// By the timestamp that the ACK echoes (RFC 3522).
        "eifel" => Eifel,
        /// By duplicates that the receiver reports (RFC 3708).
        "dsack" => Dsack,
        /// By whichever of the three shows it first.
        "any" => Any,
    }
}

impl SpuriousDetection {
    /// Whether `method` is among those in use.
    pub(crate) fn uses(self, method: Self) -> bool {
        self == method || self == Self::Any
    }
}

words! {
    /// What is undone when a retransmission was needless.
    pub enum SpuriousResponse {
        /// The window continues from what is outstanding, the timer becomes more patient (RFC 4015).
        "rfc4015" => Rfc4015,
        /// Window, threshold and the controller's state are as before.
        "restore" => Restore,
        /// The reduction stays; only the resending ends.
        "conservative" => Conservative,
    }
}

settings! {
    /// Copies of data with low priority, for the verdict `low-priority-copies`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Copies {
        /// Data segments for which one copy leaves.
        every: u32 = 8, [1, 1000], "reading";
        /// The share of the copies that has to come back for a loss to be an error of the link.
        share: u32 as Thousandths = 750, [0.001, 1.0], "reading";
        /// With fewer copies in a round trip a loss is congestion.
        least: u32 = 4, [1, 1000], "reading";
    }
}

settings! {
    /// Best-effort transport and record boundaries of SCPS-TP (CCSDS 714.0-B): what is missing for too long is skipped.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct BestEffort {
        /// How long the receiver waits for what is missing; more than 0 s.
        wait: Duration = Duration::from_secs(2), "reading: two retransmissions over GEO";
    }
}

impl Switch for BestEffort {
    const OFF: &'static str = "The receiver waits for all data.";
}
