//! One endpoint of a connection: the wait of its application there, and its counters.

use super::goal::{Goal, What};
use super::loss_verdicts::LossVerdicts;
use super::send_times::{SendTimes, Stopwatch};
use crate::link::Downtime;
use bentpipe_model::ids::{EndpointId, FlowId};
use bentpipe_model::packet::{Bodies, Label, Message, Origin, Packet, Recipient, NO_BODY};
use bentpipe_model::spec::Reader;
use bentpipe_model::stack::SentDatagram;
use bentpipe_tcp::{Arrived, Connection, ExplicitHeader, Feedback, PlainSegment, Segment, Sink, State, Timestamps};
use bentpipe_units::Time;
use std::ops::{Index, IndexMut};

/// One endpoint of a connection, with the state of its application there.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub(crate) conn: Connection,
    /// Wake-up in the schedule. It may be early, never late.
    pub(crate) armed: Time,
    /// Next instant when its application acts here: opens, answers, reads.
    pub(super) timer: Time,
    /// Goal of its application.
    pub(super) awaits: Option<Goal>,
    pub(crate) flow: FlowId,
    /// Origin of its packets.
    origin: Origin,
    /// Whether it sends data. Its round-trip times and windows are then those of the flow.
    pub(crate) sends_data: bool,
    /// Whether its connection is a subflow of several.
    pub(crate) in_group: bool,
    /// Times by limit, at the endpoint whose times are those of the flow.
    pub(super) stopwatch: Option<Box<Stopwatch>>,
    /// Decisions about its losses. None before the first loss.
    pub(super) verdicts: Option<Box<LossVerdicts>>,
    pub(super) first_sent: Option<Time>,
    pub(super) sent_wire_bytes: u64,
    /// Retransmissions of the peer that arrived here without new data.
    pub(super) spurious: u64,
    /// Packets of the peer that a proxy accepted in place of this end, minus packets of proxies that arrived here.
    pub(super) accepted: i64,
    /// Packets sent to the peer, copies included. A packet is in flight until the peer counts its end.
    pub(super) sent_packets: u64,
    /// Packets of the peer that have arrived here or were lost.
    pub(super) ended_packets: u64,
    /// Reads in steps. None: data is read when it arrives.
    reading: Option<Box<Reading>>,
}

/// An application that reads in steps.
#[derive(Clone, Debug)]
struct Reading {
    reader: Reader,
    /// Bytes read so far.
    taken: u64,
}

/// Both endpoints of each slot.
#[derive(Clone, Debug)]
pub(crate) struct Hosts(Vec<Host>);

impl Hosts {
    pub(super) fn with_capacity(slots: usize) -> Self {
        Self(Vec::with_capacity(2 * slots))
    }

    pub(crate) fn slots(&self) -> usize {
        self.0.len() / 2
    }

    /// Adds a slot with its opener and its listener.
    pub(super) fn push(&mut self, ends: [Host; 2]) {
        self.0.extend(ends);
    }

    /// Reuses a slot for another connection.
    pub(super) fn replace(&mut self, slot: usize, [opener, listener]: [Host; 2]) {
        self[EndpointId::opener(slot)] = opener;
        self[EndpointId::listener(slot)] = listener;
    }

    /// Returns the opener and the listener of a slot.
    pub(super) fn pair(&self, slot: usize) -> [&Host; 2] {
        EndpointId::both(slot).map(|end| &self[end])
    }

    /// Whether nothing can happen in a slot: one endpoint is done, the other waits for it, and no packet is in flight.
    pub(super) fn are_done(&self, slot: usize) -> bool {
        let [opener, other] = self.pair(slot);
        opener.has_ended()
            && other.is_at_rest()
            && opener.sent_packets == other.ended_packets
            && other.sent_packets == opener.ended_packets
    }
}

impl Index<EndpointId> for Hosts {
    type Output = Host;

    #[inline]
    fn index(&self, end: EndpointId) -> &Host {
        &self.0[end.index()]
    }
}

impl IndexMut<EndpointId> for Hosts {
    #[inline]
    fn index_mut(&mut self, end: EndpointId) -> &mut Host {
        &mut self.0[end.index()]
    }
}

impl Host {
    pub(super) fn new(
        mut conn: Connection,
        flow: FlowId,
        origin: Origin,
        sends_data: bool,
        reader: Option<Reader>,
    ) -> Self {
        conn.set_reads_at_once(reader.is_none());
        Self {
            conn,
            armed: Time::NEVER,
            timer: Time::NEVER,
            awaits: None,
            flow,
            origin,
            sends_data,
            in_group: false,
            stopwatch: None,
            verdicts: None,
            first_sent: None,
            sent_wire_bytes: 0,
            spurious: 0,
            accepted: 0,
            sent_packets: 0,
            ended_packets: 0,
            reading: reader.map(|reader| Box::new(Reading { reader, taken: 0 })),
        }
    }

    /// Processes a segment that arrives in `packet`. Its options are in `bodies`.
    #[inline(always)]
    pub(crate) fn on_arrival(&mut self, now: Time, packet: &Packet, bodies: &mut Bodies) {
        if packet.is_counted_apart() {
            return self.on_counted_arrival(now, packet, bodies);
        }
        self.receive(now, packet, bodies);
    }

    /// Processes a retransmission, or a packet that a proxy made.
    // `cold` keeps its counters out of the path of all other packets.
    #[cold]
    #[inline(never)]
    fn on_counted_arrival(&mut self, now: Time, packet: &Packet, bodies: &mut Bodies) {
        let before = self.conn.counters().duplicate_segments;
        self.receive(now, packet, bodies);
        if packet.is_made() {
            self.accepted -= 1;
        } else if self.conn.counters().duplicate_segments > before {
            self.spurious += 1;
        }
    }

    /// Counts a packet that arrives.
    pub(super) fn count_arrival(&mut self) {
        self.ended_packets += 1;
    }

    /// Counts a packet that has arrived, if it is a retransmission: `before` it, this many were duplicates.
    pub(super) fn count_duplicate(&mut self, packet: &Packet, before: u64) {
        let is_again = packet.is_counted_apart() && !packet.is_made();
        self.spurious += u64::from(is_again && self.conn.counters().duplicate_segments > before);
    }

    /// Whether its sender has another limit than its stopwatch knows.
    pub(super) fn has_new_limit(&self) -> bool {
        self.stopwatch.as_ref().is_some_and(|stopwatch| stopwatch.limit != self.conn.report().send_limit())
    }

    #[inline(always)]
    fn receive(&mut self, now: Time, packet: &Packet, bodies: &mut Bodies) {
        self.ended_packets += 1;
        let plain = packet.plain_segment();
        if packet.body == NO_BODY {
            self.conn.handle(now, Arrived::Plain(plain));
        } else if let Some(timestamps) = packet.only_timestamps(bodies) {
            bodies.release(packet);
            self.conn.handle(now, Arrived::Stamped(plain, timestamps));
        } else {
            let segment = packet.segment(bodies);
            bodies.release(packet);
            self.conn.handle(now, &segment);
        }
    }

    /// Notes a decision of its sender about losses of data below `until`.
    pub(super) fn on_decision(&mut self, now: Time, is_reduction: bool, until: u64) {
        let acked = self.conn.acked_bytes();
        self.verdicts.get_or_insert_with(Box::default).on_decision(now, is_reduction, until, acked);
    }

    /// Notes a report of the network to its sender: the packet with data at `offset` was corrupted.
    pub(super) fn on_report(&mut self, now: Time, offset: u64) {
        self.verdicts.get_or_insert_with(Box::default).on_report(now, offset);
    }

    /// Notes a new limit of its sender.
    #[cold]
    #[inline(never)]
    pub(super) fn turn(&mut self, now: Time, path: &mut Downtime) {
        let Some(stopwatch) = &mut self.stopwatch else { return };
        let repairs = stopwatch.turn(now, &self.conn, path);
        if let Some(verdicts) = &mut self.verdicts {
            verdicts.on_turn(now, repairs);
        }
    }

    /// Returns its times by limit up to `now`, if they are those of the flow.
    pub(super) fn times_until(&self, now: Time, path: &mut Downtime) -> Option<SendTimes> {
        Some(self.stopwatch.as_ref()?.times_until(now, path, self.verdicts.as_deref()))
    }

    /// Processes a message of a middlebox.
    pub(crate) fn on_message(&mut self, now: Time, message: Message) {
        match message {
            Message::SegmentSize(_, bytes) => self.conn.set_smss(bytes.clamp(1, u32::from(u16::MAX))),
            Message::Notice(_, notice) => self.conn.notify(now, notice),
            Message::ToNode(..) | Message::Repair(_) => {}
        }
    }

    /// Returns the packet of its next segment, if one leaves now.
    #[inline(always)]
    pub(crate) fn next_packet(&mut self, now: Time, bodies: &mut Bodies) -> Option<Packet> {
        let packet = self.conn.transmit(now, &mut Packets { origin: &self.origin, bodies })?;
        self.note_sent(now, &packet);
        Some(packet)
    }

    /// As `next_packet`, while its connection sends plainly.
    #[inline(always)]
    pub(crate) fn next_plain_packet(&mut self, now: Time, bodies: &mut Bodies) -> Option<Packet> {
        let packet = self.conn.transmit_plainly(now, &mut Packets { origin: &self.origin, bodies })?;
        self.note_sent(now, &packet);
        Some(packet)
    }

    /// Returns the packet of a datagram of its engine, whose bytes are in `body`.
    pub(super) fn engine_packet(&mut self, now: Time, sent: SentDatagram, body: u32) -> Packet {
        let packet = Packet::engine(&self.origin, sent.len, sent.ecn, body);
        self.note_sent(now, &packet);
        packet
    }

    #[inline(always)]
    fn note_sent(&mut self, now: Time, packet: &Packet) {
        self.first_sent.get_or_insert(now);
        self.sent_wire_bytes += packet.size();
        self.sent_packets += 1;
    }

    #[inline]
    pub(crate) fn next_wakeup(&self) -> Time {
        self.conn.next_wakeup().min(self.timer)
    }

    /// Whether its application acts by `now`.
    pub(crate) fn is_application_due(&self, now: Time) -> bool {
        self.timer <= now
    }

    /// Whether it acts before `until`.
    #[inline]
    pub(crate) fn wakes_before(&mut self, until: Time) -> bool {
        self.timer < until || self.conn.wakes_before(until)
    }

    /// Whether its application waits for a goal, or reads in steps.
    #[inline]
    pub(crate) fn needs_attention(&self) -> bool {
        self.awaits.is_some() || self.reading.is_some()
    }

    /// Schedules the next read after a possible arrival, if the application reads in steps.
    pub(crate) fn attend(&mut self, now: Time) {
        if let (Some(reading), Time::NEVER) = (&self.reading, self.timer) {
            let every = reading.reader.every.as_ps();
            self.timer = Time::from_ps((now.as_ps() / every + 1).saturating_mul(every));
        }
    }

    /// Reads. Returns false if the application does not read in steps.
    pub(super) fn reads_at(&mut self, now: Time) -> bool {
        let Some(reading) = &mut self.reading else { return false };
        let Reader { rate, every } = reading.reader;
        let since_start = now - Time::ZERO;
        // The difference of two totals, so that rounding does not accumulate.
        let chunk = rate.bytes_in(since_start) - rate.bytes_in(since_start.saturating_sub(every));
        reading.taken += self.conn.read(chunk);
        let has_more = self.conn.counters().delivered_bytes > reading.taken;
        self.timer = if has_more { now + every } else { Time::NEVER };
        true
    }

    /// Whether its application has reached its goal.
    pub(crate) fn is_wait_over(&self) -> bool {
        let Some(Goal { what, bytes: awaited }) = self.awaits else { return false };
        let bytes = match what {
            What::Acked if self.first_sent.is_some() => self.conn.acked_bytes(),
            What::Acked => return false,
            What::Received => {
                let counters = self.conn.counters();
                counters.delivered_bytes + counters.skipped_bytes
            }
            What::Read => self.reading.as_ref().map_or(self.conn.counters().delivered_bytes, |reading| reading.taken),
        };
        bytes >= awaited && (awaited > 0 || self.conn.report().has_been_established())
    }

    /// Whether it is the recipient of a message. False for a later connection in the same slot.
    pub(super) fn is(&self, recipient: Recipient) -> bool {
        self.origin.owner == recipient.owner
    }

    /// Whether it accepts segments: its connection is open or listens.
    #[inline]
    pub(crate) fn is_listening(&self) -> bool {
        self.conn.state() != State::Closed
    }

    /// Whether only an arrival can make it send.
    pub(super) fn is_at_rest(&self) -> bool {
        self.has_ended() || self.next_wakeup() == Time::NEVER
    }

    /// Whether the connection is closed here. TIME-WAIT counts as closed: it only serves packets in flight.
    pub(super) fn has_ended(&self) -> bool {
        matches!(self.conn.state(), State::Closed | State::TimeWait)
    }
}

/// Makes packets of segments.
struct Packets<'a> {
    origin: &'a Origin,
    bodies: &'a mut Bodies,
}

impl Sink for Packets<'_> {
    type Made = Packet;

    #[inline(always)]
    fn plain(&mut self, segment: &PlainSegment) -> Packet {
        Packet::plain(segment, self.origin)
    }

    #[inline(always)]
    fn stamped(&mut self, segment: &PlainSegment, timestamps: Timestamps) -> Packet {
        let mut packet = self.plain(segment);
        packet.stamp(timestamps, self.bodies);
        packet
    }

    #[inline(always)]
    fn general(&mut self, segment: &Segment) -> Packet {
        Packet::new(segment, self.origin, self.bodies)
    }

    #[cold]
    fn explicit(&mut self, segment: &Segment, header: ExplicitHeader, feedback: Feedback) -> Packet {
        let mut packet = self.general(segment);
        let label = if matches!(feedback, Feedback::Xcp(_)) { Label::Xcp(header) } else { Label::Rcp(header) };
        self.bodies.set_label(&mut packet, label, feedback.header_len().unwrap_or(0));
        packet
    }
}
