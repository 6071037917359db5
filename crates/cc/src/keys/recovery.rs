//! Keys of loss detection and repair.

use bentpipe_units::settings::{Switch, Thousandths};
use bentpipe_units::{kinds, settings, words, Duration};

kinds! {
    /// Loss detection and repair.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Recovery as "Recovery", "a loss recovery" {
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
            /// Fate of the information about received blocks at a timeout.
            on_rto: SackOnRto = SackOnRto::Keep, "RFC 6675 §5.1";
            /// Evidence for a loss.
            evidence: SackEvidence = SackEvidence::Rfc6675, "RFC 6675 §4";
            /// Basis of the counts of duplicate ACKs and pipe.
            counting: SackCounting = SackCounting::Data, "RFC 6675 §2 and §4";
            /// Whether to retransmit the highest outstanding segment, once per recovery, if nothing else may be sent.
            rescue: bool = true, "RFC 6675 §4 NextSeg(), rule 4";
        };
        /// Selective acknowledgements with losses found by time, and probes for the tail (RACK-TLP, RFC 8985).
        "rack" => Rack(Rack);
        /// Selective negative acknowledgements: the receiver reports holes, and the sender fills them immediately
        /// (SCPS-TP, CCSDS 714.0-B).
        "snack" => Snack(Snack);
    }
}

impl Recovery {
    /// Whether it works with selective acknowledgements, which both ends then negotiate.
    pub const fn uses_sack(self) -> bool {
        matches!(self, Self::Sack { .. } | Self::Rack(_))
    }
}

settings! {
    /// Readings of RFC 6582.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct NewReno {
        /// Partial ACKs that restart the retransmission timer.
        timer: NewRenoTimer = NewRenoTimer::Impatient, "RFC 3782 §4";
        /// Window when recovery ends.
        exit: NewRenoExit = NewRenoExit::FlightSize, "RFC 6582 §3.2 step 3, option 1";
        /// Limit of the deflation of the window by partial ACKs.
        deflate: NewRenoDeflate = NewRenoDeflate::Full, "RFC 6582 §3.2 step 3";
        /// Whether to allow fast retransmit of the very first segment, which RFC 6582 §3.2 taken literally forbids.
        first_loss: bool = true, "RFC 6582 §3.2 read as ns-2 does";
        /// Most new segments in answer to one ACK during recovery; 0: as many as the window allows.
        burst: u32 = 0, [0, 1_000_000], "RFC 6582 sets no limit; ns-2: 2";
    }
}

words! {
    /// RFC 6582 §3.2 step 3, RFC 3782 §4: the timer on partial ACKs.
    pub enum NewRenoTimer {
        /// Only the first partial ACK: many losses end in a timeout.
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
    /// Limit of the deflation of the window by partial ACKs.
    pub enum NewRenoDeflate {
        /// All acknowledged data.
        "full" => Full,
        /// Down to ssthresh.
        "to-ssthresh" => ToSsthresh,
        /// All acknowledged data. Data beyond the inflation reduces the congestion window permanently (ns-2).
        "window" => Window,
    }
}

words! {
    /// RFC 2018 §8 against RFC 6675 §5.1.
    pub enum SackOnRto {
        /// Kept: retransmissions skip received data (RFC 6675).
        "keep" => Keep,
        /// Forgotten: retransmissions start at the first hole (RFC 2018).
        "discard" => Discard,
        /// Forgotten: retransmissions start at the first hole, and reports are ignored until all data sent before the
        /// timeout is acknowledged (ns-2).
        "ignore" => Ignore,
    }
}

words! {
    /// Evidence that a segment was lost.
    pub enum SackEvidence {
        /// Three SACKed runs, or more than two segments of SACKed data, above it (RFC 6675 §4).
        "rfc6675" => Rfc6675,
        /// SACKed data more than three segments above it (FACK, Mathis and Mahdavi 1996).
        "fack" => Fack,
        /// Any SACKed data above it, once three duplicate ACKs have begun recovery (before RFC 3517; ns-2).
        "hole" => Hole,
        /// Any SACKed data above it, immediately. A retransmission that is missing after a round trip is lost, too
        /// (Henderson and Katz 1999).
        "status" => Status,
    }
}

words! {
    /// Evidence that data left the network.
    pub enum SackCounting {
        /// Data reported for the first time: an ACK is a duplicate if it reports such data, and pipe excludes reported and lost data (RFC 6675).
        "data" => Data,
        /// ACKs: each ACK in recovery takes a segment off pipe, a partial ACK two, for any data reported and lost (Fall
        /// and Floyd 1996). An ACK that advances does not count as a duplicate, and reports are forgotten when recovery
        /// ends (ns-2).
        "acks" => Acks,
    }
}

settings! {
    /// Settings of RACK-TLP (RFC 8985).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Rack {
        /// Whether to probe for losses at the tail before the retransmission timer expires.
        tlp: bool = true, "RFC 8985 §7";
        /// Extra wait of a probe for an ACK that the receiver may delay, when one segment is in flight.
        max_ack_delay: Duration = Duration::from_millis(200), "RFC 8985 §7.2; the usual ack.delay";
        /// Whether another recovery, with another reduction, begins where one ends while losses that it repaired are
        /// still outstanding. Otherwise only an unrepaired loss begins one.
        reenter: bool = true, "Linux; RFC 6675 §5 step 4; RFC 8985 does not say";
        /// Memory of the smallest round-trip time. A quarter of it absorbs reordering.
        min_rtt_window: Duration = Duration::from_secs(300), "RFC 8985 §6.2; Linux";
        /// Whether a partial ACK of late data, which timestamps tell from their retransmission, shows reordering. Otherwise only
        /// data that arrive before they are retransmitted do.
        undo_shows_reordering: bool = false, "RFC 8985 §6.2 step 3";
        /// Whether the echoed timestamp also decides if SACKed data is the retransmission. While a segment is missing, a receiver
        /// echoes the timestamp of earlier data. So no SACK of a retransmission counts, and a lost retransmission may wait for the
        /// timer. Otherwise only the smallest round-trip time decides.
        sack_echo: bool = true, "RFC 8985 §6.2 step 2";
    }
}

settings! {
    /// Settings of SNACK. Both ends must offer it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Snack {
        /// Content of one report.
        form: SnackForm = SnackForm::Short, "the reference implementation has no other";
        /// Reports of the hole at the acknowledged byte before the next holes are reported.
        resnacks: u32 = 3, [1, 1000], "the reference implementation: RESNACK_THRESH";
        /// Whether ACKs of new data grow the window during repairs, too.
        grows: bool = true, "reading: CCSDS 714.0-B has no fast recovery";
        /// Whether the receiver reports packets that arrived corrupted. The verdicts `assume-congestion` and
        /// `assume-corruption` use the reports.
        corruption_experienced: bool = true, "CCSDS 714.0-B";
        /// Losses that a report of corruption covers, for the verdict `assume-congestion`.
        corruption_covers: enum CorruptionCovers = CorruptionCovers::Hole, "reading: the option has no range; a packet that arrived damaged explains one hole";
    }
}

words! {
    /// Losses that a report of corruption covers.
    pub enum CorruptionCovers {
        /// One hole in the data outstanding when the report arrived. Every further hole is congestion.
        "hole" => Hole,
        /// All losses of the next two smoothed round-trip times, including losses by full queues.
        "round-trips" => RoundTrips,
    }
}

words! {
    /// Content of one SNACK.
    pub enum SnackForm {
        /// One hole.
        "short" => Short,
        /// One hole, and a bit for each segment beyond it, if both ends want that.
        "long" => Long,
    }
}

words! {
    /// Reduction of the window to ssthresh in recovery.
    pub enum Reduction {
        /// Immediately (RFC 5681, RFC 6675).
        "at-once" => AtOnce,
        /// In proportion to the delivered data (RFC 9937).
        "prr" => Prr,
        /// In proportion, with the slow start reduction bound of RFC 6937.
        "prr-ssrb" => PrrSsrb,
        /// In proportion, with the conservative reduction bound of RFC 6937.
        "prr-crb" => PrrCrb,
    }
}

words! {
    /// Condition in which a lost retransmission is a second sign of congestion.
    pub enum SecondReduction {
        /// Never.
        "off" => Off,
        /// After a timeout: fast recovery begins, with its reduction. Never in fast recovery (Linux).
        "after-timeout" => AfterTimeout,
        /// In fast recovery, too: the window is reduced again, at most once for the segments that leave in a round trip
        /// (RFC 5681 §4.3).
        "rfc5681" => Rfc5681,
    }
}

words! {
    /// Detection of needless retransmissions.
    pub enum SpuriousDetection {
        /// No detection.
        "off" => Off,
        /// The ACKs that follow a timeout (F-RTO, RFC 5682).
        "frto" => Frto,
        /// The echoed timestamp of an ACK (RFC 3522).
        "eifel" => Eifel,
        /// Duplicates that the receiver reports (RFC 3708).
        "dsack" => Dsack,
        /// The first of the three that shows it.
        "any" => Any,
    }
}

impl NewReno {
    /// New segments that recovery may send in answer to one ACK.
    pub fn burst(self) -> u32 {
        if self.burst == 0 {
            u32::MAX
        } else {
            self.burst
        }
    }
}

impl SpuriousDetection {
    /// Whether `method` is in use.
    pub fn uses(self, method: Self) -> bool {
        self == method || self == Self::Any
    }
}

words! {
    /// State that is restored after a needless retransmission.
    pub enum SpuriousResponse {
        /// The window continues from the outstanding data, and the timeout becomes longer (RFC 4015).
        "rfc4015" => Rfc4015,
        /// Window, threshold and the congestion control's state.
        "restore" => Restore,
        /// No state: the reduction stays, and only the retransmission ends.
        "conservative" => Conservative,
    }
}

settings! {
    /// Copies of data with low priority, for the verdict `low-priority-copies`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Copies {
        /// Data segments for which one copy leaves.
        every: u32 = 8, [1, 1000], "reading";
        /// Share of the copies that must come back for a loss to be an error of the link.
        share: u32 as Thousandths = 750, [0.001, 1.0], "reading";
        /// Copies in a round trip below which a loss is congestion.
        least: u32 = 4, [1, 1000], "reading";
    }
}

settings! {
    /// Best-effort transport and record boundaries of SCPS-TP (CCSDS 714.0-B): data that is missing for too long is
    /// skipped.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct BestEffort {
        /// Time that the receiver waits for missing data; more than 0 s.
        wait: Duration = Duration::from_secs(2), "reading: two retransmissions over GEO";
    }
}

impl Switch for BestEffort {
    const OFF: &'static str = "The receiver waits for all data.";
}
