//! Running a case against a connection.

use super::script::{Case, Described, Doing};
use bentpipe_tcp::{
    Connection, Ecn, Event, FastOpenOption, Flags, Options, Role, SackBlocks, Segment, SynOptions, Timestamps,
};
use bentpipe_units::{Duration, Seq, Time};
use std::collections::VecDeque;

/// Near the end of the sequence space, so that every case crosses it.
const ISS: Seq = Seq::new(u32::MAX - 2000);
const PEER_ISS: Seq = Seq::new(u32::MAX - 700);

/// Segments that wait to be expected.
const SEGMENTS_MAX: usize = 100_000;

struct Bench<'a> {
    conn: Connection,
    /// What becomes of a segment between the two ends.
    carry: &'a mut dyn FnMut(&Segment) -> Result<Segment, String>,
    not_carried: Option<String>,
    now: Time,
    /// The shift of the windows that the peer advertises.
    peer_shift: u8,
    own_shift: u8,
    scales: bool,
    /// What the peer has sent in order, for its sequence numbers.
    peer_next: u64,
    sent: VecDeque<(Time, Segment)>,
    handshake: bool,
    is_aborted: bool,
}

/// The line and what is wrong. All segments of both directions go through `carry`.
pub(crate) fn run(
    case: &Case,
    carry: &mut dyn FnMut(&Segment) -> Result<Segment, String>,
) -> Result<(), (usize, String)> {
    let role = if case.is_passive { Role::Passive } else { Role::Active };
    let handshake = case.config.handshake;
    let shift = if case.config.window_scaling { window_shift(case.config.receive_buffer) } else { 0 };
    let mut bench = Bench {
        conn: Connection::new(case.config.clone(), role, ISS),
        carry,
        not_carried: None,
        now: Time::ZERO,
        peer_shift: shift,
        own_shift: shift,
        scales: case.config.window_scaling,
        peer_next: 0,
        sent: VecDeque::new(),
        handshake,
        is_aborted: false,
    };
    bench.conn.offer(case.early);
    bench.conn.open(Time::ZERO);
    bench.collect();
    let mut last = 0;
    for step in &case.steps {
        last = step.line;
        bench
            .advance(bench.now + step.after)
            .and_then(|()| bench.act(&step.action))
            .and_then(|()| bench.not_carried.take().map_or(Ok(()), Err))
            .map_err(|what| (step.line, what))?;
    }
    bench.nothing_left().map_err(|what| (last, format!("after the last line: {what}")))
}

/// As `window_shift` of the connection, written again: the smallest shift that can express the buffer.
fn window_shift(buffer: u64) -> u8 {
    (0..14).find(|&shift| 65_535u64 << shift >= buffer).unwrap_or(14)
}

impl Bench<'_> {
    fn collect(&mut self) {
        // A script may ask for more than anyone can expect; what is there already is then one too many.
        while self.sent.len() < SEGMENTS_MAX {
            let Some(segment) = self.conn.poll_transmit(self.now) else { break };
            match (self.carry)(&segment) {
                Ok(segment) => self.sent.push_back((self.now, segment)),
                Err(what) => self.not_carried = Some(format!("{}: {what}", self.show(&segment))),
            }
        }
        while let Some(event) = self.conn.poll_event() {
            self.is_aborted |= matches!(event, Event::Aborted(_));
        }
    }

    /// Let time pass; what leaves before `to` should have been expected.
    fn advance(&mut self, to: Time) -> Result<(), String> {
        loop {
            let due = self.conn.next_wakeup();
            if due > to {
                break;
            }
            if due > self.now && due > Time::ZERO {
                self.now = due;
            }
            let before = self.sent.len();
            self.conn.handle_wakeup(self.now);
            self.collect();
            if self.sent.front().is_some_and(|&(at, _)| at < to) {
                break;
            }
            if self.sent.len() == before && self.conn.next_wakeup() <= self.now {
                return Err(format!("wakes up for ever at {}", self.now));
            }
        }
        if let Some((at, segment)) = self.sent.front().filter(|(at, _)| *at < to) {
            return Err(format!("unexpected at {at}: {}", self.show(segment)));
        }
        self.now = to;
        Ok(())
    }

    fn act(&mut self, action: &Doing) -> Result<(), String> {
        if !matches!(action, Doing::Expect(..) | Doing::Check(_)) {
            self.nothing_left()?;
        }
        match action {
            Doing::Write(bytes) => self.conn.offer(*bytes),
            Doing::Read(0) => self.conn.set_reads_at_once(false),
            Doing::Read(bytes) => drop(self.conn.read(*bytes)),
            Doing::Close => self.conn.close(),
            Doing::Smss(smss) => self.conn.set_smss(*smss),
            Doing::Arrive(packet) => {
                if packet.data.is_some_and(|(from, to)| to - from > u64::from(u16::MAX)) {
                    return Err("a segment has at most 65535 bytes".to_owned());
                }
                let segment = self.segment(packet);
                let shift = if packet.is_syn { 0 } else { self.peer_shift };
                if packet.window.is_some_and(|window| u64::from(segment.window) << shift != window) {
                    return Err(format!("a window that cannot be expressed in units of {} bytes", 1 << shift));
                }
                let segment = (self.carry)(&segment).map_err(|what| format!("{}: {what}", self.show(&segment)))?;
                self.conn.handle_segment(self.now, &segment);
            }
            Doing::Expect(packet, times) => return self.expect(packet, *times),
            Doing::Check(facts) => return facts.iter().try_for_each(|(name, value)| self.check(name, value)),
        }
        self.collect();
        Ok(())
    }

    fn nothing_left(&self) -> Result<(), String> {
        match self.sent.front() {
            Some((at, segment)) => Err(format!("unexpected at {at}: {}", self.show(segment))),
            None => Ok(()),
        }
    }

    /// First byte of either direction. Without a handshake both ends count alike.
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
        };
        Segment {
            seq: if packet.is_syn { PEER_ISS } else { peer.at(from) },
            ack: own.at(packet.ack.unwrap_or(0)),
            len: (to - from) as u16,
            window: (window >> if packet.is_syn { 0 } else { self.peer_shift }).min(65_535) as u16,
            flags,
            ecn: packet.ecn.unwrap_or_default(),
            timestamps: packet.timestamps.map(|(value, echo)| Timestamps { value, echo }),
            options: match () {
                () if packet.has_no_options => Options::None,
                () if packet.is_syn => Options::Syn(syn),
                () if packet.sack.is_some() => Options::Sack(blocks),
                () => Options::None,
            },
            ..Segment::default()
        }
    }

    fn expect(&mut self, packet: &Described, times: u64) -> Result<(), String> {
        for n in 0..times {
            let wanted = match packet.data {
                Some((from, to)) => {
                    let each = (to - from) / times;
                    Described { data: Some((from + n * each, from + (n + 1) * each)), ..packet.clone() }
                }
                None => packet.clone(),
            };
            let Some((at, segment)) = self.sent.pop_front() else {
                return Err(format!("expected {wanted:?} at {}, but nothing was sent", self.now));
            };
            if at != self.now {
                return Err(format!("expected at {}, but sent at {at}: {}", self.now, self.show(&segment)));
            }
            if let Some(difference) = self.difference(&wanted, &segment) {
                return Err(format!("expected {difference}, but sent {}", self.show(&segment)));
            }
        }
        Ok(())
    }

    fn difference(&self, wanted: &Described, sent: &Segment) -> Option<String> {
        let (own, peer) = (self.first(false), self.first(true));
        for (name, is_wanted, flag) in
            [("SYN", wanted.is_syn, Flags::SYN), ("FIN", wanted.is_fin, Flags::FIN), ("RST", wanted.is_rst, Flags::RST)]
        {
            if is_wanted != sent.flags.has(flag) {
                return Some(format!("{}{name}", if is_wanted { "" } else { "no " }));
            }
        }
        for (name, is_wanted, flag) in [
            ("ECE", wanted.is_ece, Flags::ECE),
            ("CWR", wanted.is_cwr, Flags::CWR),
            ("the signal of slow start", wanted.is_slow_start, Flags::SLOW_START),
        ] {
            if is_wanted.is_some_and(|is_wanted| is_wanted != sent.flags.has(flag)) {
                return Some(format!("{name} to be {is_wanted:?}"));
            }
        }
        if wanted.ace.is_some_and(|ace| ace != sent.flags.ace()) {
            return Some(format!("ace {}", wanted.ace?));
        }
        if wanted.has_no_ack == sent.flags.has(Flags::ACK) && (wanted.has_no_ack || !wanted.is_syn && !wanted.is_rst) {
            return Some("another ACK flag".to_owned());
        }
        match wanted.data {
            Some((from, to)) if sent.data_seq() != own.at(from) || u64::from(sent.len) != to - from => {
                return Some(format!("{from}:{to}"));
            }
            None if sent.len > 0 => return Some("no data".to_owned()),
            _ => {}
        }
        if wanted.ack.is_some_and(|ack| sent.ack != peer.at(ack)) {
            return Some(format!("ack {}", wanted.ack?));
        }
        let shift = if wanted.is_syn { 0 } else { self.own_shift };
        if wanted.window.is_some_and(|window| u64::from(sent.window) << shift != window) {
            return Some(format!("win {}", wanted.window?));
        }
        if wanted.ecn.is_some_and(|ecn| ecn != sent.ecn) {
            return Some(format!("{:?}", wanted.ecn?));
        }
        let blocks: &[(Seq, Seq)] = match &sent.options {
            Options::Sack(blocks) => blocks.as_slice(),
            _ => &[],
        };
        let named: Vec<_> =
            wanted.sack.iter().flatten().map(|&(left, right)| (peer.at(left), peer.at(right))).collect();
        if blocks != named.as_slice() {
            return Some(format!("sack {:?}", wanted.sack.as_deref().unwrap_or(&[])));
        }
        let stamps = wanted.timestamps.map(|(value, echo)| Timestamps { value, echo });
        if stamps.is_some() && stamps != sent.timestamps {
            return Some(format!("{:?}", stamps?));
        }
        if wanted.has_no_timestamps && sent.timestamps.is_some() {
            return Some("no timestamps".to_owned());
        }
        let Options::Syn(options) = &sent.options else { return None };
        match () {
            () if wanted.mss.is_some_and(|mss| mss != options.mss) => Some(format!("mss {}", wanted.mss?)),
            () if wanted.window_scale.is_some_and(|shift| shift != options.window_scale) => {
                Some(format!("window scale {:?}", wanted.window_scale?))
            }
            () if wanted.sack_permitted.is_some_and(|permitted| permitted != options.sack_permitted) => {
                Some(format!("SACK permitted: {:?}", wanted.sack_permitted?))
            }
            () if wanted.cookie.is_some_and(|cookie| cookie != options.fast_open) => {
                Some(format!("{:?}", wanted.cookie?))
            }
            () => None,
        }
    }

    fn check(&self, name: &str, value: &str) -> Result<(), String> {
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
            "rto" => seconds(self.conn.rto()),
            "srtt" => self.conn.srtt().map_or("none".into(), seconds),
            "state" => format!("{:?}", self.conn.state()).to_lowercase(),
            other => return Err(format!("not a fact: {other}")),
        };
        if actual == value {
            return Ok(());
        }
        Err(format!("expected {name} {value}, but it is {actual}"))
    }

    fn show(&self, segment: &Segment) -> String {
        let (own, peer) = (self.first(false), self.first(true));
        let offset = |seq: Seq, first: Seq| i64::from(seq.value().wrapping_sub(first.value()) as i32);
        let start = offset(segment.data_seq(), own);
        let mut text = String::new();
        for (flag, name) in [
            (Flags::SYN, "syn "),
            (Flags::FIN, "fin "),
            (Flags::RST, "rst "),
            (Flags::ECE, "ece "),
            (Flags::CWR, "cwr "),
            (Flags::AE, "ae "),
            (Flags::SLOW_START, "slowstart "),
        ] {
            text += if segment.flags.has(flag) { name } else { "" };
        }
        text += &format!("{start}:{} ack {}", start + i64::from(segment.len), offset(segment.ack, peer));
        text += &format!(
            " win {}",
            u64::from(segment.window) << if segment.flags.has(Flags::SYN) { 0 } else { self.own_shift }
        );
        if let Options::Sack(blocks) = &segment.options {
            let blocks: Vec<_> =
                blocks.as_slice().iter().map(|b| format!("{}:{}", offset(b.0, peer), offset(b.1, peer))).collect();
            text += &format!(" sack {}", blocks.join(","));
        }
        if let Some(stamps) = segment.timestamps {
            text += &format!(" ts {}/{}", stamps.value, stamps.echo);
        }
        if let Options::Syn(options) = &segment.options {
            text += &format!(" mss {}", options.mss);
            text += &options.window_scale.map_or(" nowscale".into(), |shift| format!(" wscale {shift}"));
            text += if options.sack_permitted { " sackok" } else { " nosackok" };
            text += &match options.fast_open {
                FastOpenOption::None => String::new(),
                FastOpenOption::Request => " cookie ask".to_owned(),
                FastOpenOption::Cookie(cookie) => format!(" cookie {}", cookie.escape_ascii()),
            };
        }
        if segment.ecn != Ecn::NotEct {
            text += &format!(" {:?}", segment.ecn).to_lowercase();
        }
        text
    }
}
