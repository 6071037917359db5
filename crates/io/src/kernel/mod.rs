//! Runs conformance scripts on the TCP of the running kernel, in real time. The kernel's connection, behind a socket
//! and a device, is tested; bentpipe plays the peer.
//!
//! Each case has a separate namespace. A case without a handshake has none here either: the connection is put into its
//! state with Linux's `TCP_REPAIR`, so it has seen no round trip, as in the script. Only a case with ECN, to which both
//! ends must agree, opens before the case begins.

mod plan;

use crate::clock::clock_ns;
use crate::host::{self, Host, NotAllowed};
use crate::system;
use crate::wire;
use bentpipe_conformance::{self as conformance, Case, Input, Objection, Sent, Subject, ISS};
use bentpipe_tcp::{Flags, Options, SackBlocks, Segment, SynOptions, Timestamps};
use bentpipe_units::{Duration, Seq, Time};
use plan::Plan;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::{read, write, Errno};
use rustix::net::{
    accept_with, bind, connect, listen, recv, send, shutdown, socket_with, AddressFamily, RecvFlags, SendFlags,
    Shutdown, SocketFlags, SocketType,
};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Addresses of the host under test, and of the peer.
const OWN: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 77, 0, 1), 5001);
const PEER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 77, 0, 2), 49_152);
/// Address of a first connection. Its end makes the kernel store the metrics of the route.
const FIRST: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 77, 0, 1), 5002);
const OWN_V6: Ipv6Addr = Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 1);
/// Number of parallel cases. They mostly wait.
const WORKERS: usize = 8;
/// Interval of checks for signals.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
const TRIES: usize = 3;
/// Largest packet of the kernel in bytes.
const PACKET_MAX: usize = 1 << 16;
/// Largest deviation of a segment from its instant.
const TOLERANCE: Duration = Duration::from_millis(12);
/// Bound of the kernel's rounding of timers: at most 8/63 of the remaining time. A seventh has room for another tick.
/// With ticks of 4 ms, timers above a quarter of a second round up by one of these.
const TIMER_PART: u64 = 7;
const TIMER_TICK: Duration = Duration::from_millis(36);
/// Largest relative deviation of a time in a fact, in addition to [`TOLERANCE`].
const FACT_PART: f64 = 0.02;
/// Queues of a connection, and the end of its repair without a probe (linux/tcp.h).
const TCP_RECV_QUEUE: i32 = 1;
const TCP_SEND_QUEUE: i32 = 2;
const TCP_REPAIR_OFF_NO_WP: i32 = -1;
/// Value of `tcp_repair_window`: the kernel learnt the peer's window before the first segment.
const LEARNT_BEFORE: (usize, u32) = (0, ISS.value());
/// Places in `tcp_info` (linux/tcp.h), which only grows at its end.
const INFO_LEN: usize = 104;
const NO_THRESHOLD: u32 = 0x7fff_ffff;
/// Numbers of states in the kernel (net/tcp_states.h), in the words of scripts.
const STATES: [&str; 12] = [
    "",
    "established",
    "synsent",
    "synreceived",
    "finwait1",
    "finwait2",
    "timewait",
    "closed",
    "closewait",
    "lastack",
    "listen",
    "closing",
];

/// Result of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All lines hold, or the notes for Linux beside them.
    Holds,
    /// The first line that differs, with a known behaviour of Linux if bentpipe's TCP with that setting differs in the
    /// same line.
    Differs(Objection, Option<&'static str>),
    /// The setting of the case that the kernel does not have.
    NotApplicable(String),
}

/// Runs several cases in parallel. Results are in the order of the cases. Polls `go_on`: if it returns false, no
/// further case begins, and the remaining cases have no verdict. The process has left the namespaces of the machine.
///
/// # Errors
///
/// The step of the set-up that the system does not allow.
pub fn drill(cases: &[Case], mut go_on: impl FnMut() -> bool) -> Result<Vec<Option<Verdict>>, NotAllowed> {
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = || {
        let mut found = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(place) else { break };
            found.push((place, often(case)?));
        }
        Ok(found)
    };
    let mut verdicts = vec![None; cases.len()];
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS.min(cases.len())).map(|_| scope.spawn(work)).collect();
        while workers.iter().any(|worker| !worker.is_finished()) {
            let _ = poll(&mut [], Some(&LOOK));
            stop.fetch_or(!go_on(), Ordering::Relaxed);
        }
        for worker in workers {
            let found = worker.join().unwrap_or_else(|_| Ok(Vec::new()))?;
            found.into_iter().for_each(|(place, verdict)| verdicts[place] = Some(verdict));
        }
        Ok(verdicts)
    })
}

/// Runs a case until it holds, a limited number of times: a busy processor may cause differences.
fn often(case: &Case) -> Result<Verdict, NotAllowed> {
    let mut verdict = once(case)?;
    for _ in 1..TRIES {
        if !matches!(verdict, Verdict::Differs(..)) {
            break;
        }
        verdict = once(case)?;
    }
    Ok(verdict)
}

/// Runs a case. Afterwards, the calling thread is in a namespace of the case.
fn once(case: &Case) -> Result<Verdict, NotAllowed> {
    let plan = match plan::of(case) {
        Ok(plan) => plan,
        Err(setting) => return Ok(Verdict::NotApplicable(setting)),
    };
    let host = Host::new(*OWN.ip(), OWN_V6, plan.mtu)?;
    for (name, value) in &plan.sysctls {
        if host::set(name, value).is_err() {
            return Ok(Verdict::NotApplicable(format!("this kernel has no {name} = {value}")));
        }
    }
    for (name, value) in &plan.habits {
        let _ = host::set(name, value);
    }
    if host.set_metrics(&plan.metrics).is_err() {
        return Ok(Verdict::NotApplicable("this kernel does not take the metrics of its route".into()));
    }
    let opened = Kernel::open(&host, case, &plan);
    let mut kernel = opened.map_err(|error| NotAllowed { step: "a connection without a handshake", error })?;
    let difference = conformance::run_on(case, &mut kernel);
    Ok(match (difference, kernel.cannot) {
        (_, Some(what)) => Verdict::NotApplicable(what.into()),
        (Some(difference), None) => {
            let way = plan::way(case, difference.line);
            Verdict::Differs(difference, way)
        }
        (None, None) => Verdict::Holds,
    })
}

/// Connection of the kernel.
struct Kernel<'a> {
    host: &'a Host,
    /// Socket that listens, or that of the connection.
    socket: OwnedFd,
    is_passive: bool,
    accepted: Option<OwnedFd>,
    /// Start, by the clock of the system.
    start: u64,
    /// Offset from the kernel's initial sequence number to that of scripts.
    shift: Option<u32>,
    /// Offset from the kernel's clock of timestamps to that of scripts, which begins with the case.
    clock: Option<u32>,
    to_write: u64,
    reads_at_once: bool,
    to_read: u64,
    closes: bool,
    is_aborted: bool,
    /// Whether the peer has sent nothing yet, without a handshake.
    is_untold: bool,
    /// Action of the case that a Linux application cannot take.
    cannot: Option<&'static str>,
    delays_acks: bool,
    packet: Vec<u8>,
}

impl<'a> Kernel<'a> {
    fn open(host: &'a Host, case: &Case, plan: &Plan) -> io::Result<Self> {
        if plan.is_remembered {
            remember(host, plan)?;
        }
        let is_passive = case.config.handshake && case.is_passive;
        let opens = case.config.handshake || plan.agrees_on_ecn;
        let socket = if opens { stream(plan)? } else { established(host, OWN, plan)? };
        if opens {
            bind(&socket, &OWN)?;
        }
        if is_passive {
            listen(&socket, 1)?;
        }
        let mut kernel = Self {
            host,
            socket,
            is_passive,
            accepted: None,
            start: clock_ns(),
            shift: if opens { None } else { Some(0) },
            clock: None,
            to_write: 0,
            reads_at_once: true,
            to_read: 0,
            closes: false,
            is_aborted: false,
            is_untold: !case.config.handshake,
            cannot: None,
            delays_acks: plan.delays_acks,
            packet: vec![0; PACKET_MAX],
        };
        if opens && !is_passive {
            match connect(&kernel.socket, &PEER) {
                Err(Errno::INPROGRESS) | Ok(()) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if !case.config.handshake && plan.agrees_on_ecn {
            kernel.agree(plan).map_err(io::Error::other)?;
        }
        kernel.to_write = case.early;
        kernel.follow();
        Ok(kernel)
    }

    /// Answers the SYN of a connection without a handshake in its script, because the kernel cannot begin without one.
    fn agree(&mut self, plan: &Plan) -> Result<(), String> {
        let mut sent = Sent::new();
        self.collect(Time::ZERO, &mut sent)?;
        let (_, syn) = sent.pop_front().ok_or("no SYN")?;
        let Options::Syn(options) = syn.options else { return Err("a SYN without options".into()) };
        let answer = Segment {
            seq: ISS,
            ack: ISS.at(1),
            window: u16::MAX,
            flags: Flags::SYN.with(Flags::ACK).with(Flags::ECE),
            timestamps: syn.timestamps.map(|stamps| Timestamps { value: 0, echo: stamps.value }),
            // The peer has the options that it offers, too.
            options: Options::Syn(SynOptions { mss: plan.mss as u16, ..options }),
            ..Segment::default()
        };
        self.take(Time::ZERO, Input::Segment(answer))?;
        self.collect(Time::ZERO, &mut sent)?;
        (self.is_untold, self.start) = (true, clock_ns());
        Ok(())
    }

    fn now(&self) -> Time {
        Time::from_ps((clock_ns() - self.start) * 1000)
    }

    /// Takes the pending actions of the application.
    fn follow(&mut self) {
        if self.is_passive && self.accepted.is_none() {
            self.accepted = accept_with(&self.socket, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC).ok();
        }
        // Before the connection opens, this would also delay the ACK of the handshake.
        let is_open = !self.is_passive || self.accepted.is_some();
        if is_open && self.info().is_ok_and(|info| STATES[1] == state(&info)) {
            self.delay_acks();
        }
        let socket = self.accepted.as_ref().unwrap_or(&self.socket);
        let mut bytes = [0; 1 << 16];
        let mut flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        // Data that waited for the connection to open leaves with the waiting FIN, too.
        flags.set(SendFlags::MORE, self.closes);
        while self.to_write > 0 {
            let len = self.to_write.min(bytes.len() as u64) as usize;
            let Ok(sent) = send(socket, &bytes[..len], flags) else { break };
            self.to_write -= sent as u64;
        }
        if self.closes && self.to_write == 0 {
            self.closes = shutdown(socket, Shutdown::Write).is_err();
        }
        while self.reads_at_once || self.to_read > 0 {
            let len = if self.reads_at_once { bytes.len() } else { bytes.len().min(self.to_read as usize) };
            match recv(socket, &mut bytes[..len], RecvFlags::DONTWAIT) {
                Ok((0, _)) | Err(Errno::AGAIN | Errno::NOTCONN) => break,
                Ok((read, _)) => self.to_read = self.to_read.saturating_sub(read as u64),
                Err(_) => {
                    self.is_aborted = true;
                    break;
                }
            }
        }
    }

    fn delay_acks(&mut self) {
        if self.delays_acks {
            self.delays_acks = self.set_quick_acks(false).is_err();
        }
    }

    fn set_quick_acks(&self, is_on: bool) -> Result<(), String> {
        let socket = self.accepted.as_ref().unwrap_or(&self.socket);
        let value = i32::from(is_on).to_ne_bytes();
        system::set_option(socket.as_fd(), libc::IPPROTO_TCP, libc::TCP_QUICKACK, &value)
            .map_err(|error| error.to_string())
    }

    /// Translates a segment to a script's numbers.
    fn translated(&mut self, now: Time, segment: &Segment) -> Segment {
        if segment.flags.has(Flags::SYN) {
            self.shift = Some(ISS.value().wrapping_sub(segment.seq.value()));
        }
        let clock = self.clock;
        let timestamps = segment.timestamps.map(|stamps| {
            let now_ms = (now.as_ps() / 1_000_000_000) as u32;
            let shift = clock.unwrap_or_else(|| now_ms.wrapping_sub(stamps.value));
            self.clock = Some(shift);
            Timestamps { value: stamps.value.wrapping_add(shift), ..stamps }
        });
        let seq = Seq::new(segment.seq.value().wrapping_add(self.shift.unwrap_or(0)));
        Segment { seq, timestamps, ..*segment }
    }

    /// Translates a segment to the kernel's numbers.
    fn for_kernel(&self, segment: &Segment) -> Segment {
        let shift = self.shift.unwrap_or(0);
        let seq = |seq: Seq| Seq::new(seq.value().wrapping_sub(shift));
        let mut options = segment.options;
        if let Options::Sack(blocks) = &mut options {
            let mut shifted = SackBlocks::default();
            for &(left, right) in blocks.as_slice() {
                shifted.push(seq(left), seq(right));
            }
            *blocks = shifted;
        }
        let clock = self.clock.unwrap_or(0);
        let timestamps =
            segment.timestamps.map(|stamps| Timestamps { echo: stamps.echo.wrapping_sub(clock), ..stamps });
        let ack = if segment.flags.has(Flags::ACK) { seq(segment.ack) } else { segment.ack };
        Segment { ack, timestamps, options, ..*segment }
    }

    fn info(&self) -> Result<[u8; INFO_LEN], String> {
        let mut info = [0; INFO_LEN];
        let socket = self.accepted.as_ref().unwrap_or(&self.socket);
        system::option(socket.as_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, &mut info)
            .map_err(|error| error.to_string())?;
        Ok(info)
    }
}

impl Subject for Kernel<'_> {
    fn is_kernel(&self) -> bool {
        true
    }

    fn late(&self, after: Duration) -> Duration {
        TOLERANCE + (after / TIMER_PART).max((after / 4).min(TIMER_TICK))
    }

    fn early(&self) -> Duration {
        TOLERANCE
    }

    fn take(&mut self, _: Time, input: Input) -> Result<(), String> {
        match input {
            Input::Write(bytes) => self.to_write += bytes,
            Input::Read(0) => self.reads_at_once = false,
            Input::Read(bytes) => self.to_read += bytes,
            Input::Close if self.is_passive && self.accepted.is_none() => {
                self.cannot = Some("closing before the connection is accepted");
            }
            Input::Close => self.closes = true,
            Input::Smss(_) => self.cannot = Some("smss that changes"),
            Input::Segment(segment) => {
                // The kernel accepts a smaller window only in a later segment than the one with the present window.
                let is_first = std::mem::take(&mut self.is_untold);
                if is_first && segment.window < u16::MAX && segment.ack == ISS.at(1) {
                    repair_window(&self.socket, &[LEARNT_BEFORE]).map_err(|error| error.to_string())?;
                }
                // Like a program that waits with data to send: these carry the ACK of the handshake.
                if segment.flags.has(Flags::SYN) && !self.is_passive && self.to_write > 0 {
                    self.set_quick_acks(false)?;
                }
                let payload = vec![0; usize::from(segment.len)];
                let packet = wire::emit(PEER.into(), OWN.into(), &self.for_kernel(&segment), &payload);
                let packet = packet.ok_or("the segment has no room in a packet")?;
                write(self.host.device(), &packet).map_err(|error| format!("the device: {error}"))?;
            }
        }
        Ok(())
    }

    fn collect(&mut self, _: Time, sent: &mut Sent) -> Result<(), String> {
        self.follow();
        while let Ok(len) = read(self.host.device(), &mut self.packet[..]) {
            let now = self.now();
            let Some(received) = wire::parse(&self.packet[..len]) else { continue };
            if (received.from, received.to) == (SocketAddr::V4(OWN), SocketAddr::V4(PEER)) {
                let segment = received.segment;
                sent.push_back((now, self.translated(now, &segment)));
            }
        }
        Ok(())
    }

    fn pass(&mut self, to: Time, sent: &mut Sent) -> Result<(), String> {
        loop {
            let now = self.now();
            self.collect(now, sent)?;
            if now >= to || sent.front().is_some_and(|&(at, _)| at + TOLERANCE < to) {
                return Ok(());
            }
            let left = to.saturating_since(self.now()).as_ps() / 1000;
            let left = Timespec { tv_sec: (left / 1_000_000_000) as i64, tv_nsec: (left % 1_000_000_000) as _ };
            let device = self.host.device();
            let _ = poll(&mut [PollFd::new(&device, PollFlags::IN)], Some(&left));
        }
    }

    fn check(&mut self, name: &str, value: &str) -> Result<(), String> {
        let info = self.info()?;
        let number = |at: usize| u32::from_ne_bytes([info[at], info[at + 1], info[at + 2], info[at + 3]]);
        let mss = u64::from(number(16).max(1));
        // The kernel counts windows and data in flight in segments.
        let segments = |at: usize, is_rounded_up: bool| {
            let actual = number(at);
            let rounded = |bytes: u64| if is_rounded_up { bytes.div_ceil(mss) } else { bytes / mss };
            let same = match value.parse() {
                Ok(bytes) => rounded(bytes) == u64::from(actual),
                Err(_) => actual >= NO_THRESHOLD,
            };
            (same, if actual >= NO_THRESHOLD { "none".into() } else { (u64::from(actual) * mss).to_string() })
        };
        let seconds = |at: usize| {
            let actual = f64::from(number(at)) / 1e6;
            let near = |wanted: f64| (actual - wanted).abs() <= TOLERANCE.as_secs_f64() + FACT_PART * wanted;
            (value.parse().map_or(actual == 0.0, near), actual.to_string())
        };
        let (same, actual) = match name {
            "cwnd" => segments(80, false),
            "ssthresh" => segments(76, false),
            "flight" => segments(24, true),
            "rto" => seconds(8),
            "srtt" => seconds(68),
            "aborted" => {
                self.follow();
                ((value == "yes") == self.is_aborted, if self.is_aborted { "yes" } else { "no" }.into())
            }
            "state" => {
                let actual = state(&info);
                // Connections in TIME-WAIT are no longer sockets. Connections that have only seen a SYN, or that were
                // given up after it, are not sockets yet.
                let is_hidden = [("closed", "timewait"), ("listen", "synreceived"), ("listen", "closed")]
                    .contains(&(actual, value));
                (actual == value || is_hidden, actual.to_owned())
            }
            // The kernel gives no report.
            _ => return Ok(()),
        };
        if same {
            return Ok(());
        }
        Err(format!("expected {name} {value}, but it is {actual}"))
    }

    fn field(&mut self, name: &str, _: u64) -> Option<i64> {
        let info = self.info().ok()?;
        let number = |at: usize| u32::from_ne_bytes([info[at], info[at + 1], info[at + 2], info[at + 3]]).into();
        Some(match name {
            "tcpi_state" => info[0].into(),
            "tcpi_ca_state" => info[1].into(),
            "tcpi_backoff" => info[4].into(),
            "tcpi_rto" => number(8),
            "tcpi_snd_mss" => number(16),
            "tcpi_unacked" => number(24),
            "tcpi_sacked" => number(28),
            "tcpi_lost" => number(32),
            "tcpi_retrans" => number(36),
            "tcpi_rtt" => number(68),
            "tcpi_snd_ssthresh" => number(76),
            "tcpi_snd_cwnd" => number(80),
            "tcpi_reordering" => number(88),
            "tcpi_total_retrans" => number(100),
            _ => return None,
        })
    }
}

fn state(info: &[u8; INFO_LEN]) -> &'static str {
    STATES.get(usize::from(info[0])).copied().unwrap_or_default()
}

fn stream(plan: &Plan) -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    plan.prepare(socket.as_fd())?;
    Ok(socket)
}

/// Returns a connection that never opened, by `TCP_REPAIR`: both ends begin after [`ISS`].
fn established(host: &Host, own: SocketAddrV4, plan: &Plan) -> io::Result<OwnedFd> {
    let socket = stream(plan)?;
    let set = |name, value: &[u8]| system::set_option(socket.as_fd(), libc::IPPROTO_TCP, name, value);
    let first = ISS.at(1).value();
    set(libc::TCP_REPAIR, &1_i32.to_ne_bytes())?;
    for queue in [TCP_RECV_QUEUE, TCP_SEND_QUEUE] {
        set(libc::TCP_REPAIR_QUEUE, &queue.to_ne_bytes())?;
        set(libc::TCP_QUEUE_SEQ, &first.to_ne_bytes())?;
    }
    // Until the options are set, segments have the size for a peer without options.
    set(libc::TCP_MAXSEG, &plan.mss.to_ne_bytes())?;
    bind(&socket, &own)?;
    connect(&socket, &PEER)?;
    let options: Vec<u8> =
        plan.repair.iter().flat_map(|&(kind, value)| [kind, value]).flat_map(u32::to_ne_bytes).collect();
    set(libc::TCP_REPAIR_OPTIONS, &options)?;
    // No probe for the peer's window: an ACK carries it, so that the kernel expects the next one to repeat it.
    set(libc::TCP_REPAIR, &TCP_REPAIR_OFF_NO_WP.to_ne_bytes())?;
    let (seq, stamps) = (ISS.at(1), plan.has_timestamps.then_some(Timestamps { value: 0, echo: 0 }));
    let update =
        Segment { seq, ack: seq, window: u16::MAX, flags: Flags::ACK, timestamps: stamps, ..Segment::default() };
    repair_window(&socket, &[LEARNT_BEFORE, (4, 0), (8, 0)])?;
    inject(host, own, &update)?;
    Ok(socket)
}

/// Changes words of `tcp_repair_window`: when the window was learnt, the window, the largest window, the own window,
/// and its start.
fn repair_window(socket: &OwnedFd, words: &[(usize, u32)]) -> io::Result<()> {
    let tcp = |name, value: &[u8]| system::set_option(socket.as_fd(), libc::IPPROTO_TCP, name, value);
    let mut window = [0; 20];
    tcp(libc::TCP_REPAIR, &1_i32.to_ne_bytes())?;
    system::option(socket.as_fd(), libc::IPPROTO_TCP, libc::TCP_REPAIR_WINDOW, &mut window)?;
    for &(at, value) in words {
        window[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    }
    tcp(libc::TCP_REPAIR_WINDOW, &window)?;
    tcp(libc::TCP_REPAIR, &TCP_REPAIR_OFF_NO_WP.to_ne_bytes())
}

/// Returns a segment of the peer without data.
fn inject(host: &Host, to: SocketAddrV4, segment: &Segment) -> io::Result<()> {
    let packet = wire::emit(PEER.into(), to.into(), segment, &[]).ok_or(io::ErrorKind::InvalidData)?;
    write(host.device(), &packet)?;
    Ok(())
}

/// Makes the kernel store the threshold and the round trip of a peer. It uses the route's values only after a
/// connection to that peer has ended. This connection carries no data.
fn remember(host: &Host, plan: &Plan) -> io::Result<()> {
    let socket = established(host, FIRST, plan)?;
    shutdown(&socket, Shutdown::Write)?;
    let (seq, ack) = (ISS.at(1), ISS.at(2));
    let answer = Segment { seq, ack, window: 1000, flags: Flags::FIN.with(Flags::ACK), ..Segment::default() };
    inject(host, FIRST, &answer)?;
    host::set("ipv4/tcp_no_metrics_save", "1")
}
