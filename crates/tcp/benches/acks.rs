//! `cargo bench -p bentpipe-tcp --bench acks`: cost of an ACK for each sender, in instructions, counted by valgrind.
//!
//! A transfer with losses by a full queue: 100 packets of queue at 12 Mbit/s behind 100 ms; the average over 40,000
//! ACKs, most of them for two segments. The first count covers the sender from the arrival of an ACK to the last
//! segment that it sends, the second its congestion control. The receiver and the path are not counted.
//!
//! A second table has the slow starts with the window of `sack`: each after its end, and two as long as they last, in a
//! queue that never overflows.
#![allow(clippy::print_stdout)]

use bentpipe_cc::keys::{Hoe, HyStart, HyStartPlusPlus, Rack, RapidStart, Search};
use bentpipe_cc::{
    AckSample, CcConfig, CcKind, Congestion, CongestionControl, Custom, CustomCc, Delivery, Init, LostSegment, Pace,
    PathState, ProbeSegments,
};
use bentpipe_tcp::{Config, Connection, Recovery, Role, Segment, SlowStart};
use bentpipe_units::{Duration, Seq, Time};
use std::collections::VecDeque;
use std::convert::identity;
use std::process::{Command, ExitCode};

/// Instructions for each ACK that no sender may exceed, in those of `sack`, which is Reno with the recovery of most.
const ALLOWED: f64 = 3.0;
/// A controller that models the path and paces each segment may cost more, and one with an ACK for only a third of a
/// round trip.
const EXEMPT: &[&str] = &["bbr1", "bbr2", "bbr3", "leocc", "stp"];
const ACKS: [u64; 2] = [20_000, 60_000];
/// Instructions for each ACK with a slow start that none may exceed, within it and after it, in those with the standard one.
const ALLOWED_START: f64 = 2.0;
/// ACKs within a slow start: the window is below the receive buffer until then.
const EARLY_ACKS: [u64; 2] = [1_000, 5_000];
/// Slow starts that last until a loss, although ACKs are late.
const UNTIL_LOSS: &[&str] = &["standard", "rapid"];
/// Mark of a slow start that never ends, before its name.
const LASTING: &str = "lasting ";
const SEGMENT_TIME: Duration = Duration::from_millis(1);
const DELAY: Duration = Duration::from_millis(50);
const QUEUE: u64 = 100;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    if let [_, name, acks, what] = &args[..] {
        let (Some(case), Ok(acks)) = (Case::named(name, what == HOOK), acks.parse()) else { return ExitCode::FAILURE };
        transfer(case, acks);
        return ExitCode::SUCCESS;
    }
    match table().and_then(|is_within| Ok(table_of_starts()? && is_within)) {
        Ok(is_within) => ExitCode::from(u8::from(!is_within)),
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// A sender, and the path of its transfer.
struct Case {
    config: Config,
    /// Segments that wait at most.
    queue: u64,
}

impl Case {
    /// The case of a congestion control or of a slow start. `is_wrapped`: the work of the controller is counted.
    fn named(name: &str, is_wrapped: bool) -> Option<Self> {
        let config = |kind: CcKind| Config {
            cc: kind.into(),
            recovery: kind.recovery(),
            handshake: false,
            receive_buffer: 1 << 24,
            ..Config::default()
        };
        let Some(kind) = CcKind::ALL.iter().find(|kind| kind.name() == name).copied() else {
            let mut config = config(CcKind::Sack);
            let (name, queue) = name.strip_prefix(LASTING).map_or((name, QUEUE), |name| (name, u64::MAX));
            // Rapid start needs it.
            config.recovery = Recovery::Rack(Rack::default());
            config.growth.slow_start = starts().into_iter().find(|(start, _)| *start == name)?.1;
            return Some(Self { config, queue });
        };
        let mut config = config(kind);
        if is_wrapped {
            let wrap = move |init: Init| -> Box<dyn Custom> { Box::new(Wrapped(CcConfig::from(kind).custom(init))) };
            config.own_cc = Some(CustomCc::new(wrap));
        }
        Some(Self { config, queue: QUEUE })
    }
}

/// Slow starts by name.
fn starts() -> [(&'static str, SlowStart); 6] {
    [
        ("standard", SlowStart::Standard),
        ("hoe", SlowStart::Hoe(Hoe::default())),
        ("hystart", SlowStart::HyStart(HyStart::default())),
        ("hystart++", SlowStart::HyStartPlusPlus(HyStartPlusPlus::default())),
        ("search", SlowStart::Search(Search::default())),
        ("rapid", SlowStart::Rapid(RapidStart::default())),
    ]
}

/// Whether all slow starts stay within what is allowed.
fn table_of_starts() -> Result<bool, String> {
    println!();
    println!("| slow start | in it, instructions per ACK | of `standard` | after it | of `standard` |");
    println!("|---|---|---|---|---|");
    let after = |name: &str| per_ack(name, STEP, ACKS);
    let within = |name: &str| per_ack(&format!("{LASTING}{name}"), STEP, EARLY_ACKS);
    let standard = [within("standard")?, after("standard")?];
    let mut is_within = true;
    for (name, _) in starts() {
        let within = UNTIL_LOSS.contains(&name).then(|| within(name)).transpose()?;
        let after = after(name)?;
        let ratios = [within.map(|within| within / standard[0]), Some(after / standard[1])];
        is_within &= ratios.into_iter().flatten().all(|ratio| ratio <= ALLOWED_START);
        let within =
            within.map_or("– | –".to_owned(), |within| format!("{within:.0} | {:.2}", within / standard[0]));
        println!("| `{name}` | {within} | {after:.0} | {:.2} |", after / standard[1]);
    }
    Ok(is_within)
}

/// Whether all stay within what is allowed.
fn table() -> Result<bool, String> {
    println!("| sender | loss recovery | instructions per ACK | of `sack` | in the controller | of `sack` |");
    println!("|---|---|---|---|---|---|");
    let reno = [per_ack("sack", STEP, ACKS)?, per_ack("sack", HOOK, ACKS)?];
    let mut is_within = true;
    for kind in CcKind::ALL {
        let (name, recovery) = (kind.name(), kind.recovery().name());
        let [all, own] = [per_ack(name, STEP, ACKS)?, per_ack(name, HOOK, ACKS)?];
        let ratios = [all / reno[0], own / reno[1]];
        is_within &= ratios[0] <= ALLOWED || EXEMPT.contains(&name);
        println!("| `{name}` | {recovery} | {all:.0} | {:.2} | {own:.0} | {:.2} |", ratios[0], ratios[1]);
    }
    Ok(is_within)
}

/// The difference between a long and a short transfer, for each ACK.
fn per_ack(name: &str, what: &str, acks: [u64; 2]) -> Result<f64, String> {
    let [few, many] = acks.map(|acks| count(name, acks, what));
    Ok((many? - few?) / (acks[1] - acks[0]) as f64)
}

/// Instructions of the function `what` and its callees.
fn count(name: &str, acks: u64, what: &str) -> Result<f64, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--collect-atstart=no"])
        .arg(format!("--toggle-collect=*{what}*"))
        .arg(own)
        .args([name, &acks.to_string(), what])
        .output()
        .map_err(|error| format!("this needs valgrind, which is not here: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let collected = said.lines().find_map(|line| line.split("Collected :").nth(1)?.trim().parse().ok());
    collected.ok_or(said)
}

/// The functions that are counted.
const STEP: &str = "counted_step";
const HOOK: &str = "counted_hook";

/// A sender, its receiver and the path between them, until `acks` ACKs came back.
fn transfer(Case { config, queue }: Case, acks: u64) {
    let mut sender = Connection::new(config.clone(), Role::Active, Seq::new(0));
    let mut receiver = Connection::new(config, Role::Passive, Seq::new(0));
    receiver.open(Time::ZERO);
    sender.open(Time::ZERO);
    sender.offer(u64::MAX >> 8);
    let mut path = Path { most: SEGMENT_TIME.saturating_mul(queue), ..Path::default() };
    let mut counted = 0;
    let mut leaving = Vec::with_capacity(4096);
    counted_step(&mut sender, Time::ZERO, None, &mut leaving);
    path.take(Time::ZERO, &mut leaving);
    while counted < acks {
        let wakeup = sender.next_wakeup().min(receiver.next_wakeup());
        let (data, ack) = (path.next_data(), path.next_ack());
        let now = wakeup.min(data).min(ack);
        assert!(now != Time::NEVER, "a transfer goes on");
        if now == ack {
            let segment = path.acks.pop_front().map(|(_, segment)| segment);
            counted += 1;
            counted_step(&mut sender, now, segment.as_ref(), &mut leaving);
        } else if now == data {
            if let Some((_, segment)) = path.data.pop_front() {
                receiver.handle(now, &segment);
            }
        } else {
            receiver.handle_wakeup(now);
            counted_step(&mut sender, now, None, &mut leaving);
        }
        path.take(now, &mut leaving);
        while let Some(segment) = receiver.transmit(now, &mut identity::<Segment>) {
            path.acks.push_back((now + DELAY, segment));
        }
        while receiver.poll().is_some() {}
    }
}

/// The counted step: an ACK arrives or time passes, and permitted data leaves.
#[inline(never)]
fn counted_step(sender: &mut Connection, now: Time, ack: Option<&Segment>, leaving: &mut Vec<Segment>) {
    match ack {
        Some(segment) => sender.handle(now, segment),
        None => sender.handle_wakeup(now),
    }
    while let Some(segment) = sender.transmit(now, &mut identity::<Segment>) {
        leaving.push(segment);
    }
    while sender.poll().is_some() {}
}

/// A queue, a link of one segment per millisecond, and the way back.
#[derive(Default)]
struct Path {
    data: VecDeque<(Time, Segment)>,
    acks: VecDeque<(Time, Segment)>,
    free_at: Time,
    /// The longest wait of a segment.
    most: Duration,
}

impl Path {
    fn take(&mut self, now: Time, segments: &mut Vec<Segment>) {
        for segment in segments.drain(..) {
            let begins = self.free_at.max(now);
            if begins.saturating_since(now) < self.most {
                self.free_at = begins + SEGMENT_TIME;
                self.data.push_back((self.free_at + DELAY, segment));
            }
        }
    }

    fn next_data(&self) -> Time {
        self.data.front().map_or(Time::NEVER, |(at, _)| *at)
    }

    fn next_ack(&self) -> Time {
        self.acks.front().map_or(Time::NEVER, |(at, _)| *at)
    }
}

/// A controller whose work is counted.
#[derive(Clone, Debug)]
struct Wrapped(Box<dyn Custom>);

#[inline(never)]
fn counted_hook<T>(hook: impl FnOnce() -> T) -> T {
    hook()
}

impl CongestionControl for Wrapped {
    fn on_ack(&mut self, ack: &AckSample, path: &PathState) {
        counted_hook(|| self.0.on_ack(ack, path));
    }
    fn on_congestion(&mut self, why: Congestion, path: &PathState) {
        counted_hook(|| self.0.on_congestion(why, path));
    }
    fn on_rto(&mut self, first: bool, path: &PathState) {
        counted_hook(|| self.0.on_rto(first, path));
    }
    fn limit_cwnd(&mut self, max: u64) {
        counted_hook(|| self.0.limit_cwnd(max));
    }
    fn set_window(&mut self, cwnd: u64, ssthresh: u64) {
        counted_hook(|| self.0.set_window(cwnd, ssthresh));
    }
    fn on_smss(&mut self, smss: u64) {
        counted_hook(|| self.0.on_smss(smss));
    }
    fn takes_deliveries(&self) -> bool {
        self.0.takes_deliveries()
    }
    fn on_delivery(&mut self, delivery: &Delivery, path: &PathState) {
        counted_hook(|| self.0.on_delivery(delivery, path));
    }
    fn on_recovery_exit(&mut self, path: &PathState) {
        counted_hook(|| self.0.on_recovery_exit(path));
    }
    fn on_resume(&mut self, path: &PathState) {
        counted_hook(|| self.0.on_resume(path));
    }
    fn on_lost(&mut self, lost: &LostSegment, path: &PathState) {
        counted_hook(|| self.0.on_lost(lost, path));
    }
    fn on_recovery_ack(&mut self, is_partial: bool, path: &PathState) {
        counted_hook(|| self.0.on_recovery_ack(is_partial, path));
    }
    fn is_model_based(&self) -> bool {
        self.0.is_model_based()
    }
    fn holds_back(&self) -> bool {
        self.0.holds_back()
    }
    fn cwnd(&self) -> u64 {
        self.0.cwnd()
    }
    fn ssthresh(&self) -> u64 {
        self.0.ssthresh()
    }
    fn pacing(&self) -> Option<Pace> {
        self.0.pacing()
    }
    fn paces(&self) -> bool {
        self.0.paces()
    }
    fn probe_segments(&mut self) -> Option<&mut dyn ProbeSegments> {
        self.0.probe_segments()
    }
}
