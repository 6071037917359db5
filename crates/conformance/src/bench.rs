//! Runs a case against a connection.

mod compare;

use super::script::{Case, Described, Doing, Step};
use bentpipe_tcp::{
    Config, Connection, CountOption, Event, Flags, Options, Role, SackBlocks, Segment, SynOptions, Timestamps,
};
use bentpipe_units::{Duration, Seq, Time};
use std::collections::{BTreeMap, VecDeque};
use std::convert::identity;

/// Initial sequence number near the end of the sequence space, so that every case crosses it.
pub const ISS: Seq = Seq::new(u32::MAX - 2000);
const PEER_ISS: Seq = Seq::new(u32::MAX - 700);

/// Value of `tcp_info` without a slow start threshold.
const NO_THRESHOLD: i64 = 0x7fff_ffff;

/// Largest number of segments that wait for a line that expects them.
const SEGMENTS_MAX: usize = 100_000;

/// Input of a connection under test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Input {
    /// The application offers this many bytes.
    Write(u64),
    /// The application reads up to this many bytes. 0: it stops reading data on arrival.
    Read(u64),
    /// The application has no more to send.
    Close,
    /// Segments have this many bytes from now on.
    Smss(u32),
    /// This segment of the peer arrives.
    Segment(Segment),
}

/// Transmitted segments, each with its instant.
pub type Sent = VecDeque<(Time, Segment)>;

/// Connection under test. Its sequence numbers begin at [`ISS`].
pub trait Subject {
    /// Whether this is the kernel's TCP, which has its own lines.
    fn is_kernel(&self) -> bool {
        false
    }
    /// Returns the tolerance for a late segment that a script expects `after` the line before.
    fn late(&self, _after: Duration) -> Duration {
        Duration::ZERO
    }
    /// Returns the tolerance for an early segment.
    fn early(&self) -> Duration {
        Duration::ZERO
    }
    /// Applies an input.
    ///
    /// # Errors
    ///
    /// The connection rejects it.
    fn take(&mut self, now: Time, input: Input) -> Result<(), String>;
    /// Adds the segments that the connection sent by `now` because of its inputs.
    ///
    /// # Errors
    ///
    /// A segment cannot be shown.
    fn collect(&mut self, now: Time, sent: &mut Sent) -> Result<(), String>;
    /// Advances the time to `to` and adds the segments that leave. Stops at a segment that leaves too early for `to`.
    ///
    /// # Errors
    ///
    /// The segments do not end.
    fn pass(&mut self, to: Time, sent: &mut Sent) -> Result<(), String>;
    /// Compares a fact with the value of a script.
    ///
    /// # Errors
    ///
    /// They differ.
    fn check(&mut self, name: &str, value: &str) -> Result<(), String>;
    /// Returns a field of `tcp_info`, or none if it is not known. Segments have `mss` bytes.
    fn field(&mut self, _name: &str, _mss: u64) -> Option<i64> {
        None
    }
}

/// Bentpipe's TCP, in virtual time.
struct Core<'a> {
    conn: Connection,
    /// Conversion of a segment between the two ends.
    carry: &'a mut dyn FnMut(&Segment) -> Result<Segment, String>,
    now: Time,
    is_aborted: bool,
}

impl Subject for Core<'_> {
    fn take(&mut self, now: Time, input: Input) -> Result<(), String> {
        match input {
            Input::Write(bytes) => self.conn.offer(bytes),
            Input::Read(0) => self.conn.set_reads_at_once(false),
            Input::Read(bytes) => drop(self.conn.read(bytes)),
            Input::Close => self.conn.close(),
            Input::Smss(smss) => self.conn.set_smss(smss),
            Input::Segment(segment) => {
                let segment = (self.carry)(&segment)?;
                self.conn.handle(now, &segment);
            }
        }
        Ok(())
    }

    fn collect(&mut self, now: Time, sent: &mut Sent) -> Result<(), String> {
        // A script may cause more segments than any line can expect. One segment above the limit fails the case.
        while sent.len() < SEGMENTS_MAX {
            let Some(segment) = self.conn.transmit(now, &mut identity::<Segment>) else { break };
            sent.push_back((now, (self.carry)(&segment)?));
        }
        while let Some(event) = self.conn.poll() {
            self.is_aborted |= matches!(event, Event::Aborted(_));
        }
        Ok(())
    }

    fn pass(&mut self, to: Time, sent: &mut Sent) -> Result<(), String> {
        loop {
            let due = self.conn.next_wakeup();
            if due > to {
                break;
            }
            if due > self.now && due > Time::ZERO {
                self.now = due;
            }
            let before = sent.len();
            self.conn.handle_wakeup(self.now);
            self.collect(self.now, sent)?;
            if sent.front().is_some_and(|&(at, _)| at < to) {
                return Ok(());
            }
            if sent.len() == before && self.conn.next_wakeup() <= self.now {
                return Err(format!("wakes up without end at {}", self.now));
            }
        }
        self.now = to;
        Ok(())
    }

    fn check(&mut self, name: &str, value: &str) -> Result<(), String> {
        let seconds = |span: Duration| format!("{}", (span.as_secs_f64() * 1e6).round() / 1e6);
        let actual = match name {
            "cwnd" => self.conn.cwnd().to_string(),
            "ssthresh" => self.conn.ssthresh().map_or("none".into(), |ssthresh| ssthresh.to_string()),
            "flight" => self.conn.flight_size().to_string(),
            "delivered" => self.conn.counters().delivered_bytes.to_string(),
            "timeouts" => self.conn.counters().timeouts.to_string(),
            "aborted" => if self.is_aborted { "yes" } else { "no" }.to_owned(),
            "marks" => self.conn.counters().ecn_reductions.to_string(),
            "undos" => self.conn.counters().undos.to_string(),
            "rto" => seconds(self.conn.report().rto()),
            "srtt" => self.conn.report().srtt().map_or("none".into(), seconds),
            "state" => format!("{:?}", self.conn.state()).to_lowercase(),
            other => return Err(format!("not a fact: {other}")),
        };
        if actual == value {
            return Ok(());
        }
        Err(format!("expected {name} {value}, but it is {actual}"))
    }

    fn field(&mut self, name: &str, mss: u64) -> Option<i64> {
        let micros = |span: Duration| (span.as_ps() / 1_000_000) as i64;
        let value = match name {
            "tcpi_snd_cwnd" => (self.conn.cwnd() / mss) as i64,
            "tcpi_snd_ssthresh" => self.conn.ssthresh().map_or(NO_THRESHOLD, |ssthresh| (ssthresh / mss) as i64),
            "tcpi_unacked" => self.conn.flight_size().div_ceil(mss) as i64,
            "tcpi_snd_mss" => mss as i64,
            "tcpi_total_retrans" => self.conn.counters().retransmitted_segments as i64,
            "tcpi_rto" => micros(self.conn.report().rto()),
            "tcpi_rtt" => self.conn.report().srtt().map_or(0, micros),
            _ => return None,
        };
        Some(value)
    }
}

struct Bench<'a> {
    subject: &'a mut dyn Subject,
    now: Time,
    /// Shift of the windows that the peer advertises.
    peer_shift: u8,
    own_shift: u8,
    scales: bool,
    /// Bytes that the peer has sent in order, for its sequence numbers.
    peer_next: u64,
    sent: Sent,
    handshake: bool,
    /// For the kernel: scheduled times of segments with timestamps, and their lateness, in milliseconds.
    slips: Vec<(u32, u32)>,
    /// Total lateness.
    slipped: Duration,
    /// Sent timestamps by their names in the script.
    stamps: BTreeMap<u32, u32>,
    tolerance: Duration,
    info_mss: u64,
}

/// Runs a case on bentpipe's TCP. All segments of both directions go through `carry`. Returns the line and the
/// difference.
pub(crate) fn run(
    case: &Case,
    carry: &mut dyn FnMut(&Segment) -> Result<Segment, String>,
) -> Result<(), (usize, String)> {
    run_with(case, case.config.clone(), carry)
}

fn run_with(
    case: &Case,
    config: Config,
    carry: &mut dyn FnMut(&Segment) -> Result<Segment, String>,
) -> Result<(), (usize, String)> {
    let role = if case.is_passive { Role::Passive } else { Role::Active };
    let mut conn = Connection::new(config, role, ISS);
    conn.offer(case.early);
    if case.is_closed {
        conn.close();
    }
    conn.open(Time::ZERO);
    run_on(case, &mut Core { conn, carry, now: Time::ZERO, is_aborted: false })
}

/// Runs a case on an open connection. Returns the line and the difference.
pub(crate) fn run_on(case: &Case, subject: &mut dyn Subject) -> Result<(), (usize, String)> {
    let shift = case.window_shift();
    let is_kernel = subject.is_kernel();
    let mut bench = Bench {
        subject,
        now: Time::ZERO,
        peer_shift: shift,
        own_shift: shift,
        scales: case.config.window_scaling,
        peer_next: 0,
        sent: VecDeque::new(),
        handshake: case.config.handshake,
        slips: Vec::new(),
        slipped: Duration::ZERO,
        stamps: BTreeMap::new(),
        tolerance: case.tolerance,
        info_mss: case.info_mss,
    };
    let mut last = case.steps.first().map_or(0, |step| step.line);
    bench.collect().map_err(|what| (last, what))?;
    for step in case.steps.iter().filter(|step| step.is_for(is_kernel)) {
        last = step.line;
        let at = if step.is_absolute { bench.now.max(Time::ZERO + step.after) } else { bench.now + step.after };
        match &step.action {
            Doing::Cover(packet) => bench.cover(packet, at, step.span, bench.subject.late(step.after)),
            _ => bench.advance(at).and_then(|()| bench.act(step)),
        }
        .map_err(|what| (step.line, what))?;
    }
    if bench.tolerance > Duration::ZERO {
        // A script in packetdrill's language ends with its last line.
        return Ok(());
    }
    bench.nothing_left().map_err(|what| (last, format!("after the last line: {what}")))
}

impl Case {
    /// Returns the line where bentpipe's TCP first differs with other settings, or none if the case does not depend on
    /// them.
    pub fn differs_with(&self, change: impl FnOnce(&mut Config)) -> Option<usize> {
        let mut config = self.config.clone();
        change(&mut config);
        run_with(self, config, &mut super::unchanged).err().map(|(line, _)| line)
    }

    /// Returns the smallest shift that can express the buffer. An independent version of the connection's
    /// `window_shift`.
    pub fn window_shift(&self) -> u8 {
        let buffer = if self.config.window_scaling { self.config.receive_buffer } else { 0 };
        (0..14).find(|&shift| 65_535u64 << shift >= buffer).unwrap_or(14)
    }
}

impl Bench<'_> {
    fn collect(&mut self) -> Result<(), String> {
        self.subject.collect(self.now, &mut self.sent)
    }

    /// Advances the time. A segment that leaves before `to` without a line that expects it is an error.
    fn advance(&mut self, to: Time) -> Result<(), String> {
        if self.tolerance > Duration::ZERO {
            return self.advance_past_segments(to);
        }
        self.subject.pass(to, &mut self.sent)?;
        if let Some((at, segment)) = self.sent.front().filter(|(at, _)| *at + self.subject.early() < to) {
            return Err(format!("unexpected at {at}: {}", self.show(segment)));
        }
        self.now = to;
        Ok(())
    }

    /// Advances the time as packetdrill does: segments wait for the line that expects them.
    fn advance_past_segments(&mut self, to: Time) -> Result<(), String> {
        loop {
            let mut fresh = Sent::new();
            self.subject.pass(to, &mut fresh)?;
            if fresh.is_empty() {
                self.now = to;
                return Ok(());
            }
            self.sent.append(&mut fresh);
            if self.sent.len() > SEGMENTS_MAX {
                return Err(format!("more than {SEGMENTS_MAX} segments without a line that expects them"));
            }
        }
    }

    fn act(&mut self, step: &Step) -> Result<(), String> {
        // In packetdrill's language, sent packets may wait for the line that expects them.
        let waits = matches!(step.action, Doing::Expect(..) | Doing::Check(_) | Doing::Info(_) | Doing::Nothing);
        if !waits && self.tolerance == Duration::ZERO {
            self.nothing_left()?;
        }
        let input = match &step.action {
            Doing::Write(bytes) => Input::Write(*bytes),
            Doing::Read(bytes) => Input::Read(*bytes),
            Doing::Close => Input::Close,
            Doing::Smss(smss) => Input::Smss(*smss),
            Doing::Arrive(packet) => {
                if packet.data.is_some_and(|(from, to)| to - from > u64::from(u16::MAX)) {
                    return Err("a segment has at most 65535 bytes".to_owned());
                }
                let segment = self.segment(packet);
                let shift = if packet.is_syn { 0 } else { self.peer_shift };
                if packet.window.is_some_and(|window| u64::from(segment.window) << shift != window) {
                    return Err(format!("a window that cannot be expressed in units of {} bytes", 1 << shift));
                }
                let taken = self.subject.take(self.now, Input::Segment(segment));
                taken.map_err(|what| format!("{}: {what}", self.show(&segment)))?;
                return self.collect();
            }
            Doing::Expect(packet, times) => return self.expect(packet, *times, self.subject.late(step.after)),
            Doing::Check(facts) => {
                return facts.iter().try_for_each(|(name, value)| self.subject.check(name, value));
            }
            Doing::Info(facts) => {
                return facts.iter().try_for_each(|fact| {
                    // Not every host knows every field.
                    let actual = self.subject.field(fact.name, self.info_mss);
                    match actual.filter(|&actual| !fact.order.holds(actual, fact.value)) {
                        Some(actual) => Err(format!("{} is {actual}", fact.name)),
                        None => Ok(()),
                    }
                });
            }
            Doing::Nothing | Doing::Cover(_) => return Ok(()),
        };
        self.subject.take(self.now, input)?;
        self.collect()
    }

    /// Shifts the following lines to `at`, if that is late, and records the timestamps for the peer's echoes.
    fn slip(&mut self, at: Time, stamps: Option<Timestamps>) {
        self.slipped += at.saturating_since(self.now);
        self.now = self.now.max(at);
        if let Some(Timestamps { value, .. }) = stamps.filter(|_| self.subject.is_kernel()) {
            let written = self.now.saturating_since(Time::ZERO).saturating_sub(self.slipped);
            let written = (written.as_ps() / 1_000_000_000) as u32;
            self.slips.push((written, value.wrapping_sub(written)));
        }
    }

    /// Returns the lateness of the segment with this timestamp.
    fn slip_of(&self, value: u32) -> u32 {
        self.slips.iter().rfind(|(written, _)| *written <= value).map_or(0, |(_, slip)| *slip)
    }

    fn nothing_left(&self) -> Result<(), String> {
        match self.sent.front() {
            Some((at, segment)) => Err(format!("unexpected at {at}: {}", self.show(segment))),
            None => Ok(()),
        }
    }

    /// Returns the first byte of a direction. Without a handshake both ends use the same numbers.
    fn first(&self, of_peer: bool) -> Seq {
        if of_peer && self.handshake {
            PEER_ISS.at(1)
        } else {
            ISS.at(1)
        }
    }

    fn segment(&mut self, packet: &Described) -> Segment {
        let (own, peer) = (self.first(false), self.first(true));
        let (from, to) = packet.data.unwrap_or((self.peer_next, self.peer_next));
        self.peer_next = self.peer_next.max(to + u64::from(packet.is_fin));
        let mut flags = Flags::default();
        for (is_set, flag) in [
            (packet.is_syn, Flags::SYN),
            (packet.is_fin, Flags::FIN),
            (packet.is_rst, Flags::RST),
            (packet.is_ece == Some(true), Flags::ECE),
            (packet.is_cwr == Some(true), Flags::CWR),
            (packet.is_slow_start == Some(true), Flags::SLOW_START),
            (!packet.has_no_ack, Flags::ACK),
        ] {
            flags = if is_set { flags.with(flag) } else { flags };
        }
        let flags = packet.ace.map_or(flags, |ace| flags.with_ace(ace));
        let mut blocks = SackBlocks::default();
        for &(left, right) in packet.sack.iter().flatten() {
            blocks.push(own.at(left), own.at(right));
        }
        if let Some(shift) = packet.window_scale {
            // Windows are scaled if both offer it.
            self.peer_shift = if self.scales { shift.unwrap_or(0) } else { 0 };
            self.own_shift = if shift.is_some() { self.own_shift } else { 0 };
        }
        let window = packet.window.unwrap_or(65_535 << self.peer_shift);
        let syn = SynOptions {
            mss: packet.mss.unwrap_or(65_495),
            window_scale: packet.window_scale.unwrap_or((self.peer_shift > 0).then_some(self.peer_shift)),
            sack_permitted: packet.sack_permitted.unwrap_or(true),
            fast_open: packet.cookie.unwrap_or_default(),
            scps: None,
            ack_ratio: false,
            is_polled: false,
            count: packet.count.unwrap_or_default(),
            count_echo: packet.count_echo,
        };
        Segment {
            seq: if packet.is_syn { PEER_ISS } else { peer.at(from) },
            ack: own.at(packet.ack.unwrap_or(0)),
            len: (to - from) as u16,
            window: (window >> if packet.is_syn { 0 } else { self.peer_shift }).min(65_535) as u16,
            flags,
            ecn: packet.ecn.unwrap_or_default(),
            timestamps: packet
                .timestamps
                .map(|(value, echo)| Timestamps { value, echo: echo.wrapping_add(self.slip_of(echo)) })
                .or(packet
                    .stamps
                    .map(|(value, echo)| Timestamps { value, echo: self.stamps.get(&echo).copied().unwrap_or(echo) })),
            options: match () {
                () if packet.has_no_options => Options::None,
                () if packet.is_syn => Options::Syn(syn),
                () if packet.sack.is_some() => Options::Sack(blocks),
                () => Options::None,
            },
            count: packet.count.filter(|_| !packet.is_syn && !packet.has_no_options).and_then(CountOption::get),
            ..Segment::default()
        }
    }

    fn expect(&mut self, packet: &Described, times: u64, late: Duration) -> Result<(), String> {
        for n in 0..times {
            let wanted = match packet.data {
                Some((from, to)) => {
                    let each = (to - from) / times;
                    Described { data: Some((from + n * each, from + (n + 1) * each)), ..packet.clone() }
                }
                None => packet.clone(),
            };
            if self.sent.is_empty() && late > Duration::ZERO {
                self.subject.pass(self.now + late, &mut self.sent)?;
            }
            let Some((at, segment)) = self.sent.pop_front() else {
                return Err(format!("expected at {}, but nothing was sent", self.now));
            };
            if at > self.now + late || at + self.subject.early() < self.now {
                return Err(format!("expected at {}, but sent at {at}: {}", self.now, self.show(&segment)));
            }
            if let Some(difference) = self.difference(&wanted, &segment, late) {
                return Err(format!("expected {difference}, but sent {}", self.show(&segment)));
            }
            if let (true, Options::Syn(options)) = (self.scales, segment.options) {
                self.own_shift = options.window_scale.unwrap_or(0);
            }
            self.slip(at, segment.timestamps);
        }
        Ok(())
    }

    /// Waits for segments that together cover the data of a packet, each within the tolerance. The next line counts from
    /// the last of them, as in packetdrill.
    fn cover(&mut self, packet: &Described, due: Time, span: Duration, late: Duration) -> Result<(), String> {
        let late = late.max(self.tolerance);
        let early = self.subject.early().max(self.tolerance);
        let (mut from, to) = packet.data.unwrap_or_default();
        loop {
            if self.sent.is_empty() {
                self.subject.pass(due + span + late, &mut self.sent)?;
            }
            let Some((at, segment)) = self.sent.pop_front() else {
                return Err(format!("expected at {due}, but nothing was sent"));
            };
            if at > due + span + late || at + early < due {
                return Err(format!("expected at {due}, but sent at {at}: {}", self.show(&segment)));
            }
            let end = (from + u64::from(segment.len)).min(to);
            let is_last = end == to;
            let data = packet.data.map(|_| (from, end));
            let wanted = Described { data, is_fin: packet.is_fin && is_last, ..packet.clone() };
            if let Some(difference) = self.difference(&wanted, &segment, late) {
                return Err(format!("expected {difference}, but sent {}", self.show(&segment)));
            }
            if let (Some((name, _)), Some(Timestamps { value, .. })) = (packet.stamps, segment.timestamps) {
                self.stamps.insert(name, value);
            }
            if let (true, Options::Syn(options)) = (self.scales, segment.options) {
                self.own_shift = options.window_scale.unwrap_or(0);
            }
            self.slipped += at.saturating_since(self.now.max(due));
            self.now = self.now.max(at);
            from = end;
            if is_last {
                return Ok(());
            }
        }
    }
}
