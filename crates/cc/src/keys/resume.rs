//! Keys of careful resume, which TCP and QUIC share.

use bentpipe_units::settings::{Switch, Thousandths};
use bentpipe_units::{amounts, settings, words, Duration};

settings! {
    /// Careful resume: a connection begins with half of the window that an earlier connection used, paced, and proves it
    /// within a round trip or retreats (RFC 9959).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct CarefulResume {
        /// Window that an earlier connection used. A given one lets the first connection resume.
        saved: SavedWindow = SavedWindow::Cache, "RFC 9959 §3.1";
        /// Round trip of that connection. With `saved = "cache"` it is the saved one, too.
        saved_rtt: SavedRtt = SavedRtt::Path, "the propagation round trip, as without a queue";
        /// Limit of the window after the jump.
        max_jump: MaxJump = MaxJump::Unlimited, "RFC 9959 §3.3: at most half of the saved window";
        /// Share of the saved window that a connection jumps to, 0.05 to 1. More than 0.5 is against RFC 9959.
        fraction: u32 as Thousandths = 500, [0.05, 1.0], "RFC 9959 §3.3";
        /// Share of the validated data that is the slow start threshold after a retreat, 0.5 to 1.
        beta: u32 as Thousandths = 500, [0.5, 1.0], "RFC 9959 §3.5";
        /// Age at which a saved window is forgotten; more than 0 s.
        lifetime: Duration = Duration::from_secs(3600), "RFC 9959 §4.3.1: hours where paths do not change, minutes where they do";
        /// Data that validates the jump.
        pipe: ResumePipe = ResumePipe::Unvalidated, "RFC 9959 §2.4";
    }
}

impl Switch for CarefulResume {
    const OFF: &'static str = "Every connection finds its window from the initial one.";
}

amounts! {
    /// A saved window. A connection has it in bytes.
    pub enum SavedWindow("saved-window", "a saved window", "\"cache\", a size, a number of segments, or a multiple of bdp", "1 bdp") {
        /// The path that earlier connections between the same hosts have saved.
        word("cache") => Cache;
        /// This many full segments.
        count("segments") => Segments(u64);
        /// This many bytes.
        size => Bytes(u64);
        /// Bandwidth-delay products, in millionths. A connection has bytes instead.
        count("bdp", 1_000_000) => Bdp(u64);
    }
}

amounts! {
    /// A saved round trip.
    pub enum SavedRtt("saved-rtt", "a saved round trip", "\"path\" or a duration", "600 ms") {
        /// The propagation round trip of the path. A connection has a duration instead.
        word("path") => Path;
        /// This time.
        span => Time(Duration);
    }
}

amounts! {
    /// Limit of a jump. A connection has it in bytes.
    pub enum MaxJump("max-jump", "a limit of a jump", "\"unlimited\", a size, a number of segments, or a multiple of bdp", "1 MB") {
        /// No limit but the share of the saved window.
        word("unlimited") => Unlimited;
        /// This many full segments.
        count("segments") => Segments(u64);
        /// This many bytes.
        size => Bytes(u64);
        /// Bandwidth-delay products, in millionths. A connection has bytes instead.
        count("bdp", 1_000_000) => Bdp(u64);
    }
}

words! {
    /// Data that validates a jump.
    pub enum ResumePipe {
        /// Data in flight before, and unvalidated data that arrived (RFC 9959 §2.4 and its examples).
        "unvalidated" => Unvalidated,
        /// Data in flight before, and all data that arrived since: data in flight counts twice (RFC 9959 §3.3 by its
        /// words).
        "all" => All,
    }
}
