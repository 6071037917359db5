//! Repairs losses by an erasure code over packets. An encoder sends repair packets behind each block of packets. A
//! decoder further on restores lost packets from the packets that arrived.
//!
//! # How it works
//!
//! The code is systematic: packets pass immediately and unchanged, as members of the open block.
//!
//! - With `code = "mds"` any `k` of the `n = k + repair` packets of a block restore all of it, as with Reed-Solomon
//!   codes (RFC 5510 §8, RFC 6865).
//! - With `code = "rateless"` that many may not be enough, as with LT and Raptor codes (RFC 5053). With `m >= k`
//!   packets the decoder fails with probability 0.85 x 0.567^(m - k) (M. Luby, T. Gasiba, T. Stockhammer and M. Watson,
//!   "Reliable multimedia download delivery in cellular broadcast networks", IEEE Trans. Broadcasting 53(1), 2007).
//!
//! A restored packet is a new packet. The lost packet stays counted where it was lost, so more datagrams may arrive
//! than sent minus lost. Packets of closed connections are not restored. A packet that arrives after it was restored
//! ends at the decoder. With `order = "in-order"` second copies end there, too, and packets of an abandoned block are
//! dropped. The decoder remembers `blocks` blocks per pair and abandons the oldest beyond that. The notes of a run
//! contain `recovered_packets`, `failed_blocks` and `repair_packets`.
//!
//! # Position on the path
//!
//! One with `role = "encoder"` in front of the lossy links, one with `role = "decoder"` behind them. A bent pipe can be
//! neither. A packet is coded if a decoder follows on its route, at a later node and before another encoder. All other
//! packets pass unchanged. A block contains packets of all flows from one encoder to one decoder in the directions of
//! `direction`: it protects the links in between, not a flow. A node may have both, for two directions or for two
//! consecutive hops. The decoder must then meet packets before the encoder does. Where routes change, a packet belongs
//! to the first decoder of any of its routes.
//!
//! # When it helps
//!
//! Losses are repaired without a round trip, and senders do not notice them. With loss `p` and `code = "mds"`, a packet
//! stays lost with probability `p` times the probability that fewer than `k` of the other `n - 1` arrive.
//!
//! # When it hurts
//!
//! - Repair packets take `repair / k` of the rate, with and without losses.
//! - A burst of losses longer than `repair` is not repaired.
//! - If a queue between the two overflows, the code hides congestion from senders until blocks fail.
//! - Restored packets arrive behind their block. A sender may take that for loss, and with `order = "in-order"` every
//!   packet behind a gap waits for it.
//!
//! # Differences from the source
//!
//! - Codes are ideal: the simulator computes whether a block can be decoded, and decoding takes no time.
//! - A repair packet has the size of the largest packet of its block, plus `overhead`.
//! - The number of a packet is part of the link's frame numbering, and makes the packet no longer.
//! - A block that closes before it is full has the same share of repair packets, rounded up: one for a single packet.
//! - Repair packets take the route and the class of the block's last packet, and queue behind it.

use super::served::Served;
use crate::dictionary::Cause;
use crate::ids::PathId;
use crate::middlebox::needs::{unless, Unsuitable};
use crate::middlebox::sessions::Sessions;
use crate::middlebox::{Context, Middlebox, Side, Way};
use crate::packet::{Member, Packet, Repair};
use bentpipe_units::settings::Bytes;
use bentpipe_units::{settings, words, Duration, Stream, Time};
use std::collections::{BTreeSet, VecDeque};

/// Largest number of packets of a block, and of its repair packets.
const BLOCK_MAX: usize = 1024;

settings! {
    /// An end of an erasure code.
    pub struct ErasureConfig {
        /// End at this node.
        role: CodeRole;
        /// Direction of the packets that are coded or decoded.
        direction: Way = Way::Both;
        /// Encoder: the code.
        code: ErasureCode = ErasureCode::Mds;
        /// Encoder: packets per block.
        k: u32 = 20, [1, 1024], "reading: 24 ms at 10 Mbit/s";
        /// Encoder: repair packets of a full block; 0: no coding.
        repair: u32 = 2, [0, 1024], "reading: a tenth of `k`";
        /// Encoder: time after which an open block is closed.
        wait: Duration = Duration::from_millis(50), "reading: two blocks at 10 Mbit/s";
        /// Encoder: size of a repair packet beyond the largest packet of its block.
        overhead: u64 as Bytes = 8, "reading: block, place, size of the block and length, 2 B each";
        /// Decoder: time when packets leave it.
        order: CodeOrder = CodeOrder::AtOnce;
        /// Decoder: time without an arrival after which a block is abandoned.
        timeout: Duration = Duration::from_millis(500), "reading: ten times `wait`";
        /// Decoder: blocks of a pair that it remembers.
        blocks: u32 = 64, [1, 4096], "reading";
    }
}

words! {
    /// Ends of an erasure code.
    pub enum CodeRole {
        /// Sends repair packets.
        "encoder" => Encoder,
        /// Restores packets.
        "decoder" => Decoder,
    }
}

words! {
    /// Packets that decoding needs.
    pub enum ErasureCode {
        /// The number of packets in the block: maximum distance separable.
        "mds" => Mds,
        /// At least as many packets as the block has. Each further packet makes a failure less likely.
        "rateless" => Rateless,
    }
}

words! {
    /// Time when packets leave a decoder.
    pub enum CodeOrder {
        /// Immediately; restored packets when they are complete.
        "at-once" => AtOnce,
        /// In the order of the encoder: packets behind a gap wait until it is filled or abandoned.
        "in-order" => InOrder,
    }
}

impl ErasureConfig {
    pub(in crate::middlebox) fn unsuitable(&self) -> Vec<Unsuitable> {
        unless(self.overhead <= 1000, "overhead", "is too large", "expected at most 1000 B")
    }
}

/// Either end at a node.
#[derive(Clone, Debug)]
pub enum Erasure {
    /// Makes repair packets.
    Encoder(Encoder),
    /// Makes lost packets again.
    Decoder(Decoder),
}

/// Numbers packets and keeps copies of those in open blocks.
#[derive(Clone, Debug)]
pub struct Encoder {
    config: ErasureConfig,
    served: Served,
    streams: Sessions<Outbound>,
    open: usize,
    blocks: u64,
    repairs: u64,
}

/// Packets to one decoder.
#[derive(Clone, Debug, Default)]
struct Outbound {
    /// Number of the next packet.
    next: u64,
    open: Option<OpenBlock>,
}

#[derive(Clone, Copy, Debug)]
struct OpenBlock {
    first: u64,
    count: u16,
    /// Address of the copies.
    copies: u32,
    largest: u64,
    /// Header of the last packet.
    last: Packet,
    due: Time,
}

/// Counts the arrivals of each block.
#[derive(Clone, Debug)]
pub struct Decoder {
    config: ErasureConfig,
    /// Streams for this decoder. Packets just written by an encoder at this node are for another node.
    expected: BTreeSet<u32>,
    dice: Stream,
    drawn: u64,
    streams: Sessions<Inbound>,
    count: Count,
}

/// Counts of all streams together.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    blocks: usize,
    held: usize,
    recovered: u64,
    failed: u64,
}

/// Packets from one encoder.
#[derive(Clone, Debug, Default)]
struct Inbound {
    /// Blocks, in the order of their numbers.
    blocks: VecDeque<Received>,
    /// Blocks whose first number is below this are abandoned.
    floor: u64,
    /// In order: number of the next packet to leave, and the packets that wait for it.
    next: u64,
    waiting: VecDeque<(u64, Packet)>,
}

/// Arrived packets of a block.
#[derive(Clone, Debug)]
struct Received {
    first: u64,
    members: Seen,
    repairs: Seen,
    /// Number of its packets; 0: no repair packet has reported it.
    count: u16,
    /// Address of the copies, as long as they may be useful.
    copies: Option<u32>,
    /// Largest failure probability at which it is decoded; 1: decoded when as many packets have arrived as it has.
    luck: f64,
    is_decoded: bool,
    touched: Time,
}

/// Set of places in a block.
#[derive(Clone, Copy, Debug)]
struct Seen {
    bits: [u64; BLOCK_MAX / 64],
    count: u16,
    /// End of the highest place.
    end: u16,
}

impl Seen {
    const NOTHING: Self = Self { bits: [0; BLOCK_MAX / 64], count: 0, end: 0 };

    fn has(&self, index: u16) -> bool {
        self.bits[usize::from(index) / 64] >> (index % 64) & 1 != 0
    }

    /// Adds a place. Returns whether it is new.
    fn add(&mut self, index: u16) -> bool {
        let is_new = !self.has(index);
        self.bits[usize::from(index) / 64] |= 1 << (index % 64);
        self.count += u16::from(is_new);
        self.end = self.end.max(index + 1);
        is_new
    }
}

impl Erasure {
    pub(crate) fn new(config: &ErasureConfig, seed: u64, component: &str) -> Self {
        let config = *config;
        match config.role {
            CodeRole::Encoder => Self::Encoder(Encoder {
                config,
                served: Served::default(),
                streams: Sessions::default(),
                open: 0,
                blocks: 0,
                repairs: 0,
            }),
            CodeRole::Decoder => Self::Decoder(Decoder {
                config,
                expected: BTreeSet::new(),
                dice: Stream::new(seed, component, "erasure"),
                drawn: 0,
                streams: Sessions::default(),
                count: Count::default(),
            }),
        }
    }

    /// Declares that packets of this path go to a decoder, which knows them by `stream`.
    pub(crate) fn serve(&mut self, path: PathId, stream: u32) {
        let Self::Encoder(encoder) = self else { return };
        encoder.served.add(path, stream);
        if encoder.streams.get_mut(stream.into()).is_none() {
            encoder.streams.insert(stream.into(), Outbound::default());
        }
    }

    /// Declares that packets of this stream are for this decoder.
    pub(crate) fn expect(&mut self, stream: u32) {
        if let Self::Decoder(decoder) = self {
            decoder.expected.insert(stream);
        }
    }
}

impl Encoder {
    fn on_packet(&mut self, mut packet: Packet, cx: &mut Context<'_>) {
        let Some(stream) = self.served.stream(&packet) else { return cx.forward(packet) };
        let Some(outbound) = self.streams.get_mut(stream.into()) else { return cx.forward(packet) };
        // Packets numbered by another encoder belong to that one's decoder.
        let is_others = cx.bodies.member(&packet).is_some() || cx.bodies.repair(&packet).is_some();
        if self.config.repair == 0 || packet.is_damaged() || is_others {
            return cx.forward(packet);
        }
        let mut open = outbound.open.take().unwrap_or_else(|| {
            self.open += 1;
            let (first, copies, due) = (outbound.next, cx.bodies.open_block(), cx.now + self.config.wait);
            OpenBlock { first, count: 0, copies, largest: 0, last: packet.header(), due }
        });
        cx.bodies.copy_to_block(open.copies, &packet);
        cx.bodies.set_member(&mut packet, Member { stream, first: open.first, index: open.count });
        (open.count, open.last, open.largest) = (open.count + 1, packet.header(), open.largest.max(packet.size()));
        outbound.next += 1;
        outbound.open = Some(open);
        cx.forward(packet);
        if u32::from(open.count) == self.config.k {
            self.close(stream, cx);
        } else if open.count == 1 {
            self.streams.arm(stream.into(), open.due);
        }
    }

    /// Sends the repair packets of the open block.
    fn close(&mut self, stream: u32, cx: &mut Context<'_>) {
        let Some(open) = self.streams.get_mut(stream.into()).and_then(|outbound| outbound.open.take()) else { return };
        let repairs = (self.config.repair * u32::from(open.count)).div_ceil(self.config.k);
        for index in 0..repairs as u16 {
            let member = Member { stream, first: open.first, index };
            let is_rateless = self.config.code == ErasureCode::Rateless;
            let repair = Repair { member, count: open.count, is_rateless, block: open.copies };
            let packet = Packet::repair(&open.last, repair, open.largest + self.config.overhead, cx.bodies);
            cx.emit(packet);
        }
        cx.bodies.release_block(open.copies);
        self.open -= 1;
        self.blocks += 1;
        self.repairs += u64::from(repairs);
    }

    fn on_wakeup(&mut self, cx: &mut Context<'_>) {
        while let Some(stream) = self.streams.pop_due(cx.now) {
            match self.streams.get_mut(stream).and_then(|outbound| outbound.open) {
                Some(open) if open.due <= cx.now => self.close(stream as u32, cx),
                Some(open) => self.streams.arm(stream, open.due),
                None => {}
            }
        }
    }
}

impl Decoder {
    fn on_packet(&mut self, mut packet: Packet, cx: &mut Context<'_>) {
        if !self.config.direction.is_from(Side::origin_of(&packet)) || packet.is_damaged() {
            return cx.forward(packet);
        }
        if let Some(repair) = cx.bodies.repair(&packet).filter(|repair| self.expects(repair.member)) {
            self.on_repair(repair, cx);
            cx.consume(packet);
        } else if let Some(member) = cx.bodies.member(&packet).filter(|&member| self.expects(member)) {
            cx.bodies.take_member(&mut packet);
            self.on_member(member, packet, cx);
        } else {
            cx.forward(packet);
        }
    }

    fn expects(&self, member: Member) -> bool {
        self.expected.contains(&member.stream)
    }

    fn on_member(&mut self, member: Member, packet: Packet, cx: &mut Context<'_>) {
        let Self { config, streams, count, .. } = self;
        let inbound = inbound_of(streams, member.stream, cx.now + config.timeout);
        let is_at_once = config.order == CodeOrder::AtOnce;
        let Some(at) = inbound.block_of(member, config, count, cx) else {
            return if is_at_once { cx.forward(packet) } else { cx.drop(packet, Cause::Policy) };
        };
        let block = &mut inbound.blocks[at];
        // It was restored already, or arrived twice, and in order one copy is enough.
        let is_new = block.members.add(member.index);
        if if is_new { block.is_decoded } else { !is_at_once } {
            return cx.consume(packet);
        }
        if is_at_once {
            cx.forward(packet);
        } else {
            let place = inbound.waiting.partition_point(|waiting| waiting.0 <= member.number());
            inbound.waiting.insert(place, (member.number(), packet));
            count.held += 1;
        }
        inbound.settle(at, config.order, count, cx);
    }

    fn on_repair(&mut self, repair: Repair, cx: &mut Context<'_>) {
        let Self { config, streams, count, dice, drawn, .. } = self;
        let inbound = inbound_of(streams, repair.member.stream, cx.now + config.timeout);
        let Some(at) = inbound.block_of(repair.member, config, count, cx) else { return };
        let block = &mut inbound.blocks[at];
        if block.count == 0 {
            cx.bodies.hold_block(repair.block);
            (block.count, block.copies) = (repair.count, Some(repair.block));
            if repair.is_rateless {
                block.luck = dice.uniform(*drawn);
                *drawn += 1;
            }
        }
        block.repairs.add(repair.member.index);
        inbound.settle(at, config.order, count, cx);
    }

    fn on_wakeup(&mut self, cx: &mut Context<'_>) {
        while let Some(key) = self.streams.pop_due(cx.now) {
            let Some(inbound) = self.streams.get_mut(key) else { continue };
            while inbound.blocks.front().is_some_and(|block| block.touched + self.config.timeout <= cx.now) {
                inbound.give_up(self.config.order, &mut self.count, cx);
            }
            if let Some(front) = inbound.blocks.front() {
                let due = front.touched + self.config.timeout;
                self.streams.arm(key, due);
            }
        }
    }
}

/// Returns the state of an encoder, and visits it again when the block of this arrival may be abandoned.
fn inbound_of(streams: &mut Sessions<Inbound>, stream: u32, due: Time) -> &mut Inbound {
    let key = stream.into();
    if streams.get_mut(key).is_none() {
        streams.insert(key, Inbound::default());
    }
    streams.arm(key, due);
    streams.get_mut(key).expect("just inserted")
}

impl Inbound {
    /// Returns the block of an arrival; `None`: it was abandoned.
    fn block_of(
        &mut self,
        member: Member,
        config: &ErasureConfig,
        count: &mut Count,
        cx: &mut Context<'_>,
    ) -> Option<usize> {
        if member.first < self.floor {
            return None;
        }
        let mut at = self.blocks.partition_point(|block| block.first < member.first);
        if self.blocks.get(at).is_none_or(|block| block.first != member.first) {
            self.blocks.insert(at, Received::new(member.first));
            count.blocks += 1;
            if self.blocks.len() > config.blocks as usize {
                self.give_up(config.order, count, cx);
                at = at.checked_sub(1)?;
            }
        }
        self.blocks[at].touched = cx.now;
        Some(at)
    }

    /// Processes an arrival of block `at`: restores missing packets if possible, and releases packets.
    fn settle(&mut self, at: usize, order: CodeOrder, count: &mut Count, cx: &mut Context<'_>) {
        let block = &mut self.blocks[at];
        if block.can_be_decoded() {
            block.is_decoded = true;
            count.recovered += u64::from(block.count - block.members.count);
            if let (CodeOrder::AtOnce, Some(copies)) = (order, block.copies) {
                let missing = (0..block.count).filter(|&index| !block.members.has(index));
                missing.for_each(|index| cx.remake(copies, index));
            }
        }
        if order == CodeOrder::InOrder {
            self.let_go(count, cx);
        }
        let block = &mut self.blocks[at];
        let has_left = order == CodeOrder::AtOnce || self.next >= block.first + u64::from(block.count);
        let is_done = block.is_complete() || block.is_decoded && has_left;
        if let Some(copies) = block.copies.take_if(|_| is_done) {
            cx.bodies.release_block(copies);
        }
    }

    /// Releases the next packets in order, as long as they are available.
    fn let_go(&mut self, count: &mut Count, cx: &mut Context<'_>) {
        loop {
            if let Some(&(number, packet)) = self.waiting.front().filter(|waiting| waiting.0 <= self.next) {
                self.waiting.pop_front();
                count.held -= 1;
                self.next = self.next.max(number + 1);
                cx.forward(packet);
                continue;
            }
            let Some(at) = self.blocks.partition_point(|block| block.first <= self.next).checked_sub(1) else { return };
            let block = &self.blocks[at];
            let index = self.next - block.first;
            let is_made = block.is_decoded && index < u64::from(block.count);
            let (true, Some(copies)) = (is_made, block.copies) else { return };
            cx.remake(copies, index as u16);
            self.next += 1;
        }
    }

    /// Abandons the oldest block. Its lost packets stay lost.
    fn give_up(&mut self, order: CodeOrder, count: &mut Count, cx: &mut Context<'_>) {
        let Some(front) = self.blocks.front() else { return };
        let (first, size) = (front.first, if front.count > 0 { front.count } else { front.members.end });
        count.failed += u64::from(!front.is_decoded && front.members.count < size);
        if order == CodeOrder::InOrder {
            let end = self.blocks.get(1).map_or(first + u64::from(size), |next| next.first);
            self.next = self.next.max(first);
            self.let_go(count, cx);
            while let Some(&(number, _)) = self.waiting.front().filter(|waiting| waiting.0 < end) {
                self.next = number;
                self.let_go(count, cx);
            }
            self.next = self.next.max(end);
        }
        count.blocks -= 1;
        self.floor = first + 1;
        if let Some(copies) = self.blocks.pop_front().and_then(|block| block.copies) {
            cx.bodies.release_block(copies);
        }
        if order == CodeOrder::InOrder {
            self.let_go(count, cx);
        }
    }
}

impl Received {
    fn new(first: u64) -> Self {
        Self {
            first,
            members: Seen::NOTHING,
            repairs: Seen::NOTHING,
            count: 0,
            copies: None,
            luck: 1.0,
            is_decoded: false,
            touched: Time::ZERO,
        }
    }

    fn is_complete(&self) -> bool {
        self.count > 0 && self.members.count == self.count
    }

    /// Whether the arrived packets suffice to restore the missing ones, and these are not restored yet.
    fn can_be_decoded(&self) -> bool {
        let arrived = self.members.count + self.repairs.count;
        if self.count == 0 || self.is_decoded || self.is_complete() || arrived < self.count {
            return false;
        }
        self.luck >= failure(arrived - self.count)
    }
}

/// Returns the probability that a Raptor code fails with this many packets beyond those of its block (Luby et al.
/// 2007).
fn failure(beyond: u16) -> f64 {
    0.85 * 0.567_f64.powi(beyond.into())
}

impl Middlebox for Erasure {
    fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        match self {
            Self::Encoder(part) => part.on_packet(packet, cx),
            Self::Decoder(part) => part.on_packet(packet, cx),
        }
    }

    fn on_wakeup(&mut self, cx: &mut Context<'_>) {
        match self {
            Self::Encoder(part) => part.on_wakeup(cx),
            Self::Decoder(part) => part.on_wakeup(cx),
        }
    }

    fn next_wakeup(&self) -> Time {
        match self {
            Self::Encoder(part) => part.streams.next_wakeup(),
            Self::Decoder(part) => part.streams.next_wakeup(),
        }
    }

    fn held(&self) -> usize {
        match self {
            Self::Encoder(_) => 0,
            Self::Decoder(part) => part.count.held,
        }
    }

    /// The state is per block, not per flow.
    fn flows(&self) -> usize {
        match self {
            Self::Encoder(part) => part.open,
            Self::Decoder(part) => part.count.blocks,
        }
    }

    fn note(&self) -> Option<String> {
        match self {
            Self::Encoder(part) => {
                let Encoder { blocks, repairs, .. } = part;
                (*blocks > 0).then(|| format!("repair_packets = {repairs}, blocks = {blocks}"))
            }
            Self::Decoder(Decoder { count: Count { recovered, failed, .. }, .. }) => {
                let is_worth_it = recovered + failed > 0;
                is_worth_it.then(|| format!("recovered_packets = {recovered}, failed_blocks = {failed}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::LaneId;
    use crate::middlebox::{Action, Bench};

    #[test]
    fn the_failure_model_of_a_rateless_code_is_that_of_its_source() {
        assert!((failure(0) - 0.85).abs() < 1e-12 && (failure(2) - 0.273_26).abs() < 1e-4);
    }

    /// The decoder forgets the oldest of too many blocks, and lets go what waited for it.
    #[test]
    fn blocks_are_bounded_and_all_that_is_held_leaves() {
        let path = PathId::there(LaneId::new(0));
        let (encoder, decoder) = (CodeRole::Encoder, CodeRole::Decoder);
        let of = |role, order| ErasureConfig {
            role,
            order,
            direction: Way::Both,
            code: ErasureCode::Mds,
            k: 2,
            repair: 1,
            wait: Duration::from_millis(50),
            overhead: 8,
            timeout: Duration::from_millis(500),
            blocks: 2,
        };
        let mut bench = Bench::default();
        let mut encoder = Erasure::new(&of(encoder, CodeOrder::InOrder), 1, "node/a/0");
        let mut decoder = Erasure::new(&of(decoder, CodeOrder::InOrder), 1, "node/b/0");
        encoder.serve(path, 0);
        decoder.expect(0);
        let mut left = Vec::new();
        for number in 0..9_u64 {
            let now = Time::from_ps(number);
            let packet = Packet::datagram(now, path.lane(), 100, 0);
            bench.at(now, |cx| encoder.on_packet(packet, cx));
            let actions = bench.out.take();
            for (at, action) in actions.into_iter().enumerate() {
                let (Action::Forward(packet) | Action::Emit(packet)) = action else { panic!("{action:?}") };
                // The first packet of each block is lost with the repair packet, but for the last two blocks.
                if at == 1 && number < 4 || number % 2 == 0 && number < 8 {
                    bench.bodies.release(&packet);
                    continue;
                }
                bench.at(now, |cx| decoder.on_packet(packet, cx));
                assert!(decoder.flows() <= 2);
                left.extend(bench.out.take());
            }
        }
        assert_eq!((encoder.flows(), decoder.next_wakeup()), (1, Time::from_ps(1) + Duration::from_millis(500)));
        for now in [60, 2000].map(|ms| Time::ZERO + Duration::from_millis(ms)) {
            bench.at(now, |cx| encoder.on_wakeup(cx));
            for action in bench.out.take() {
                let Action::Emit(packet) = action else { panic!("{action:?}") };
                assert_eq!(packet.size(), 128 + 8);
                bench.at(now, |cx| decoder.on_packet(packet, cx));
            }
            bench.at(now, |cx| decoder.on_wakeup(cx));
            left.extend(bench.out.take());
        }
        let mut numbers = Vec::new();
        for action in left {
            match action {
                Action::Forward(packet) | Action::Remake(packet) => {
                    numbers.push(packet.sent_at().as_ps());
                    assert_eq!(bench.bodies.member(&packet), None);
                }
                Action::Consume(packet) => bench.bodies.release(&packet),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(numbers, [1, 3, 4, 5, 6, 7, 8]);
        assert_eq!((decoder.held(), decoder.flows(), bench.bodies.in_use(), bench.bodies.blocks()), (0, 0, 0, 0));
    }
}
