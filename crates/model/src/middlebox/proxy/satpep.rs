//! Splits connections between two gateways at the satellite link (SaTPEP; D. Velenis, D. Kalogeras and B. Maglaris,
//! "SaTPEP: a TCP performance enhancing proxy for satellite links", 2002).
//!
//! # How it works
//!
//! Two gateways split each connection and run a separate protocol between them. Its windows follow the use of the
//! satellite link. It repairs losses by negative acknowledgements, without reducing its windows.
//!
//! Its packets have the class of their flow. On the hop they are not ECN-capable, because its protocol would not slow
//! down. The connections to both ends negotiate ECN by `terrestrial` and by the settings of the hosts. Datagrams, and
//! connections whose SYN neither gateway saw, pass unchanged. It ignores a SYN's data, as `split` does.
//!
//! # Position on the path
//!
//! At both ends of the satellite hop, on the path of both directions. The first gateway that a SYN reaches opens the
//! hop.
//!
//! # When it helps
//!
//! A transfer has its share of the link from the first round trip. An error costs only the packet that it hits.
//!
//! # When it hurts
//!
//! - As `split`, it owes the data that it has acknowledged (`pep_lost_bytes`).
//! - It treats `rate` as its own, and displaces other traffic on the link.
//! - With an `rtt` far above the path's, its first window overfills the queue. The receiving gateway asks for missing
//!   data once per `rtt`: without sending data it measures none. With the default of 600 ms, one transfer had 33 of 50
//!   Mbit/s over 48 ms in its first minute. With 48 ms it had 46.
//!
//! # Differences from the source
//!
//! Only the abstract was available. Where it is silent, the rules are readings.

use super::hop::{Hop, Manner, MARK};
use super::splice::{closes, CLOSING_IDLE};
use crate::dictionary::Cause;
use crate::distribution::{clocks, with_clocks};
use crate::middlebox::needs::{positive, unless, Unsuitable};
use crate::middlebox::sessions::Sessions;
use crate::middlebox::{Context, Middlebox};
use crate::packet::Packet;
use bentpipe_tcp::{Config, Connection, Event, Flags, Role, Segment, State};
use bentpipe_units::settings::{Bytes, Chance};
use bentpipe_units::{settings, Duration, Rate, Seq, Stream, Time};
use std::convert::identity;
use std::sync::Arc;

settings! {
    /// A gateway of SaTPEP.
    #[derive(Clone, Debug, PartialEq)]
    pub struct SatPepConfig {
        /// Rate of the satellite link in the direction away from this gateway.
        rate: Rate;
        /// Round trip between the gateways, until it is measured.
        rtt: Duration = Duration::from_millis(600);
        /// Shortest time over which the use of the link is measured. A longer round trip takes its place.
        interval: Duration = Duration::from_millis(200), "reading";
        /// Share of the link that is distributed.
        target: f64 as Chance = 0.95, "reading";
        /// Whether to start with one packet, double each round trip, and start again after a timeout.
        slow_start: bool = false, "the paper has windows from the use of the link";
        /// Whether to ask about the last packets after a round trip and 50 ms of silence, instead of waiting for the
        /// timeout.
        nack_probe: bool = true, "reading: a NACK needs a gap";
        /// Buffer for each direction of a connection.
        buffer: u64 as Bytes = 6_291_456, "as `split`";
        /// Connections at the same time. The SYN of a further connection is dropped.
        sessions: u32 = 100_000, [1, 1_000_000];
        /// Time without a packet after which state is discarded.
        idle: Duration = Duration::from_secs(7440), "RFC 5382 §5";
        /// Transport towards the host on its side. Missing keys are those of `[tcp]`.
        terrestrial: Config = Config::default();
    }
}

impl SatPepConfig {
    pub(in crate::middlebox) fn unsuitable(&self) -> Vec<Unsuitable> {
        let rate = unless(self.rate.as_bps() > 0, "rate", "is too small", "expected more than 0 bit/s");
        let times = [("rtt", self.rtt), ("interval", self.interval), ("idle", self.idle)];
        times.into_iter().fold(rate, |all, (key, time)| [all, positive(key, time)].concat())
    }
}

/// Time of `split`.
const LINGER: Duration = Duration::from_secs(5);

/// A gateway.
#[derive(Debug)]
pub struct SatPep {
    config: SatPepConfig,
    transport: Arc<Config>,
    dice: Stream,
    sessions: Sessions<Session>,
    /// Last measured round trip.
    rtt: Duration,
    /// Bytes sent on the hop since the interval began.
    sent: u64,
    /// Keys of the connections that sent in it, in the order of its end.
    active: std::collections::BTreeSet<u64>,
    interval_end: Time,
    /// Values of the previous interval: the used share of the link, and the connections that used it.
    utilisation: f64,
    users: usize,
    lost_bytes: u64,
}

/// A connection to the host on this side, and the hop.
#[derive(Debug)]
struct Session {
    local: Connection,
    hop: Hop,
    /// Whether the opener is on this side.
    is_openers: bool,
    from_opener: Packet,
    handed: u64,
    returned: u64,
    freed: u64,
    /// Bytes that the hop had acknowledged when the interval began.
    acked_before: u64,
    is_reset: bool,
    last_packet: Time,
    ended: Option<Time>,
}

/// Returns the window of a connection that used `used` bit/s of a link of `rate` that `users` share.
fn window(rate: f64, utilisation: f64, target: f64, users: f64, used: f64, rtt: Duration) -> u64 {
    let spare = rate * (target - utilisation).max(0.0);
    let rtt = rtt.as_secs_f64();
    (rtt * ((rate / users).min(used) + spare / users) / 8.0).min(rtt * rate / 8.0) as u64
}

impl SatPep {
    pub(crate) fn new(config: &SatPepConfig, seed: u64, component: &str) -> Self {
        let phases = &mut Stream::new(seed, component, "clock");
        let drawn = with_clocks(config.terrestrial.clone(), clocks(&config.terrestrial, phases, 0));
        let own = Config {
            receive_buffer: config.buffer,
            auto_buffer: None,
            fast_open: None,
            transactions: None,
            sharing: None,
            ..drawn
        };
        Self {
            transport: Arc::new(own),
            dice: Stream::new(seed, component, "satpep"),
            sessions: Sessions::default(),
            rtt: config.rtt,
            sent: 0,
            active: std::collections::BTreeSet::new(),
            interval_end: Time::NEVER,
            utilisation: 0.0,
            users: 0,
            lost_bytes: 0,
            config: config.clone(),
        }
    }

    fn window(&self, users: usize, used_bps: f64) -> u64 {
        let least = 2 * u64::from(self.transport.smss);
        let rate = self.config.rate.as_bps() as f64;
        window(rate, self.utilisation, self.config.target, users as f64, used_bps, self.rtt).max(least)
    }

    fn begin(&mut self, key: u64, packet: Packet, segment: &Segment, cx: &mut Context<'_>) {
        if self.sessions.len() >= self.config.sessions as usize {
            return cx.drop(packet, Cause::Policy);
        }
        let is_openers = !segment.flags.has(MARK);
        let drawn = self.dice.at(key);
        let role = if is_openers { Role::Passive } else { Role::Active };
        let mut local = Connection::new(self.transport.clone(), role, Seq::new(drawn as u32));
        local.set_random_seed(drawn);
        local.set_reads_at_once(false);
        local.open(cx.now);
        let manner = Manner {
            mss: u64::from(self.transport.smss),
            buffer: self.config.buffer,
            slow_start: self.config.slow_start,
            probes: self.config.nack_probe,
        };
        let mut hop = Hop::new(manner, is_openers, self.rtt, self.window(self.users + 1, 0.0), cx.now);
        if is_openers {
            local.handle(cx.now, segment);
        } else {
            hop.on_segment(cx.now, segment);
        }
        if self.interval_end == Time::NEVER {
            self.interval_end = cx.now + self.config.interval.max(self.rtt);
        }
        cx.keep(&packet);
        self.sessions.insert(
            key,
            Session {
                local,
                hop,
                is_openers,
                from_opener: packet,
                handed: 0,
                returned: 0,
                freed: 0,
                acked_before: 0,
                is_reset: false,
                last_packet: cx.now,
                ended: None,
            },
        );
        cx.accept(packet);
        self.drive(key, cx);
    }

    fn drive(&mut self, key: u64, cx: &mut Context<'_>) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        let (sent, lost) = session.pass_on(cx);
        self.lost_bytes += lost;
        if sent > 0 {
            self.sent += sent;
            self.active.insert(key);
        }
        self.rtt = session.hop.rtt.estimate;
        if session.ended.is_none() && session.has_ended() {
            session.ended = Some(cx.now);
            cx.let_go(&session.from_opener);
        }
        let due = match session.ended {
            Some(at) => at + LINGER,
            None => {
                let idle = session.idle_at(self.config.idle);
                session.local.next_wakeup().min(session.hop.next_wakeup()).min(idle)
            }
        };
        self.sessions.arm(key, due);
    }

    fn remove(&mut self, key: u64, cx: &mut Context<'_>) {
        let Some(session) = self.sessions.remove(key) else { return };
        self.active.remove(&key);
        self.lost_bytes += session.owed();
        if session.ended.is_none() {
            cx.let_go(&session.from_opener);
        }
    }

    /// Sets the window of each connection for the next interval, by the use of the link in this one.
    fn give_windows(&mut self, now: Time) {
        let span = self.config.interval.max(self.rtt);
        let active = std::mem::take(&mut self.active);
        self.utilisation = self.sent as f64 * 8.0 / (self.config.rate.as_bps() as f64 * span.as_secs_f64());
        (self.users, self.sent) = (active.len(), 0);
        for key in active {
            let Some(session) = self.sessions.get_mut(key) else { continue };
            let acked = session.hop.acked();
            let used_bps = (acked - session.acked_before) as f64 * 8.0 / span.as_secs_f64();
            session.acked_before = acked;
            let is_busy = session.hop.outstanding() > 0;
            let window = self.window(self.users, used_bps);
            if let Some(session) = self.sessions.get_mut(key) {
                session.hop.window = window;
            }
            if is_busy {
                self.active.insert(key);
            }
        }
        self.interval_end = if self.sessions.len() > 0 { now + span } else { Time::NEVER };
    }
}

impl Session {
    /// Carries all data across until nothing more follows. Returns the bytes sent on the hop, and the owed bytes that
    /// are lost.
    fn pass_on(&mut self, cx: &mut Context<'_>) -> (u64, u64) {
        let (mut sent, mut lost) = (0, 0);
        loop {
            if !self.is_reset {
                self.hand_over();
            }
            while let Some(event) = self.local.poll() {
                match event {
                    Event::PeerFinished => self.hop.close(),
                    Event::Aborted(_) if !self.is_reset => {
                        lost += self.give_up();
                        let reset = Segment { flags: Flags::RST.with(MARK), ..Segment::default() };
                        self.send(false, &reset, cx);
                    }
                    _ => {}
                }
            }
            if self.hop.has_given_up() && !self.is_reset {
                lost += self.give_up();
                self.local.abort();
            }
            while let Some(segment) = self.local.transmit(cx.now, &mut identity::<Segment>) {
                self.send(true, &segment, cx);
            }
            while let Some(segment) = if self.is_reset { None } else { self.hop.poll(cx.now) } {
                sent += self.send(false, &segment, cx);
            }
            if !self.local.has_events() {
                return (sent, lost);
            }
        }
    }

    fn hand_over(&mut self) {
        let arrived = self.local.counters().delivered_bytes;
        self.hop.offer(arrived - self.handed);
        self.handed = arrived;
        self.local.read(self.hop.acked() - self.freed);
        self.freed = self.hop.acked();
        self.local.offer(self.hop.delivered() - self.returned);
        self.returned = self.hop.delivered();
        self.hop.free_to(self.local.acked_bytes());
        if self.hop.is_finished() {
            self.local.close();
        }
    }

    /// Returns the bytes acknowledged here and not on the other side.
    fn owed(&self) -> u64 {
        if self.is_reset {
            return 0;
        }
        self.handed - self.freed + (self.returned - self.local.acked_bytes())
    }

    /// Aborts the connection. Returns the bytes lost with it.
    fn give_up(&mut self) -> u64 {
        let owed = self.owed();
        self.is_reset = true;
        owed
    }

    /// Sends a segment to the host on this side, or over the hop. Returns its size.
    fn send(&self, is_local: bool, segment: &Segment, cx: &mut Context<'_>) -> u64 {
        let towards = if is_local == self.is_openers { self.from_opener } else { self.from_opener.turned() };
        cx.answer(&towards, segment).map_or(0, |packet| {
            cx.emit(packet);
            packet.size()
        })
    }

    /// Returns the time when its state is discarded without a packet.
    fn idle_at(&self, idle: Duration) -> Time {
        let is_closing = self.owed() == 0 && self.hop.has_ended() && closes(&self.local);
        self.last_packet + if is_closing { idle.min(CLOSING_IDLE) } else { idle }
    }

    fn has_ended(&self) -> bool {
        let is_closed = matches!(self.local.state(), State::Closed | State::TimeWait);
        is_closed && (self.is_reset || self.hop.has_ended())
    }
}

impl Middlebox for SatPep {
    fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let key = Sessions::<Session>::key(&packet);
        let Some(segment) = cx.segment(&packet).filter(|_| !packet.is_damaged()) else { return cx.forward(packet) };
        let is_syn = segment.flags.has(Flags::SYN) && !packet.is_to_sender();
        let is_hops = segment.flags.has(MARK);
        let Some(session) = self.sessions.get_mut(key) else {
            return match (is_syn, segment.flags.has(MARK)) {
                (true, _) => self.begin(key, packet, &segment, cx),
                // Packet of a connection that is over here, or whose SYN was lost and will be retransmitted: it does
                // not concern the hosts.
                (false, true) => cx.drop(packet, Cause::Policy),
                (false, false) => cx.forward(packet),
            };
        };
        if is_syn && session.ended.is_some() && is_hops != session.is_openers {
            self.remove(key, cx);
            return self.begin(key, packet, &segment, cx);
        }
        let is_local = packet.is_to_sender() != session.is_openers;
        if is_local == is_hops {
            // Packets that bypassed the other gateway, or were sent back, have the numbers of another stream.
            return cx.drop(packet, Cause::Policy);
        }
        session.last_packet = cx.now;
        if is_local {
            session.local.handle(cx.now, &segment);
        } else if segment.flags.has(Flags::RST) {
            if !session.is_reset {
                self.lost_bytes += session.give_up();
                session.local.abort();
            }
        } else {
            session.hop.on_segment(cx.now, &segment);
        }
        cx.accept(packet);
        self.drive(key, cx);
    }

    fn on_wakeup(&mut self, cx: &mut Context<'_>) {
        if self.interval_end <= cx.now {
            let before = self.active.clone();
            self.give_windows(cx.now);
            for key in before {
                self.drive(key, cx);
            }
        }
        while let Some(key) = self.sessions.pop_due(cx.now) {
            let Some(session) = self.sessions.get_mut(key) else { continue };
            let idle = session.idle_at(self.config.idle);
            if session.ended.map_or(idle, |at| at + LINGER) <= cx.now {
                self.remove(key, cx);
                continue;
            }
            if session.ended.is_none() {
                session.local.handle_wakeup(cx.now);
                session.hop.on_wakeup(cx.now);
            }
            self.drive(key, cx);
        }
    }

    fn flows(&self) -> usize {
        self.sessions.len()
    }

    fn next_wakeup(&self) -> Time {
        self.sessions.next_wakeup().min(self.interval_end)
    }

    fn lost_bytes(&self) -> u64 {
        self.lost_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// satpep.md: 2 Mbit/s, half used by two connections with 0.5 Mbit/s each, a round trip of 0.5 s.
    #[test]
    fn windows_are_what_was_used_and_a_share_of_what_is_left() {
        assert_eq!(window(2e6, 0.5, 0.95, 2.0, 0.5e6, Duration::from_millis(500)), 59_375);
        // Never more than the link holds.
        assert_eq!(window(2e6, 0.0, 0.95, 1.0, 2e6, Duration::from_millis(500)), 125_000);
    }
}
