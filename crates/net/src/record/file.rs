//! A file of a carousel at one receiver: which packets it has, and when it has enough.

use bentpipe_model::spec::{Datagrams, Gaps, Layout};
use bentpipe_units::{Duration, Rate, Time};

/// Packets of a file that have arrived. A block is complete with any packets of it, as many as it has without those for
/// repair: the code is ideal (as Reed-Solomon codes, RFC 5510).
#[derive(Clone, Debug)]
pub(crate) struct FileReceived {
    layout: Layout,
    start: Time,
    rate: Rate,
    /// Bytes of the file in each packet.
    size: u16,
    /// Whether each packet of a round has arrived, 64 in a word.
    seen: Vec<u64>,
    /// Packets that each block lacks.
    lacks: Vec<u32>,
    /// Packets that the file lacks.
    pub(crate) lacking: u64,
    /// Time from the start of the flow until nothing lacks.
    pub(crate) complete: Option<Duration>,
}

impl FileReceived {
    /// Returns what a receiver has before the first packet, if datagrams that begin at `start` carry a file.
    pub(crate) fn new(spec: &Datagrams, start: Time) -> Option<Self> {
        let (layout, Gaps::Constant { rate, .. }) = (spec.layout()?, spec.gaps) else { return None };
        Some(Self {
            layout,
            start,
            rate,
            size: spec.size,
            seen: vec![0; layout.round().div_ceil(64) as usize],
            lacks: layout.lengths().map(|length| length as u32).collect(),
            lacking: layout.packets(),
            complete: None,
        })
    }

    /// Adds the datagram that was sent at `sent_at`. Equal distances make the instant its name.
    pub(crate) fn add_sent_at(&mut self, now: Time, sent_at: Time) {
        self.add(now, self.number(sent_at));
    }

    fn number(&self, sent_at: Time) -> u64 {
        let distances = u128::from((sent_at - self.start).as_ps()) * u128::from(self.rate.as_bps());
        let of_one = u128::from(self.size) * 8_000_000_000_000;
        ((distances + of_one / 2) / of_one) as u64
    }

    /// Adds the datagram with this number.
    pub(crate) fn add(&mut self, now: Time, number: u64) {
        let place = number % self.layout.round();
        let (word, bit) = ((place / 64) as usize, 1 << (place % 64));
        if self.seen[word] & bit != 0 {
            return;
        }
        self.seen[word] |= bit;
        let lacks = &mut self.lacks[self.layout.block_of(place) as usize];
        if *lacks == 0 {
            return;
        }
        *lacks -= 1;
        self.lacking -= 1;
        if self.lacking == 0 {
            self.complete = Some(now - self.start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_model::spec::{Carousel, Content};

    fn file(packets: u64, block: u32, repair: u32) -> FileReceived {
        received(Carousel { bytes: packets * 100, block, repair, rounds: None }, 100, Rate::from_bps(1000), Time::ZERO)
    }

    fn received(carousel: Carousel, size: u16, rate: Rate, start: Time) -> FileReceived {
        let gaps = Gaps::Constant { rate, jitter: Duration::ZERO };
        FileReceived::new(&Datagrams { size, gaps, content: Content::File(carousel) }, start).expect("a file")
    }

    fn at(second: u64) -> Time {
        Time::ZERO + Duration::from_secs(second)
    }

    #[test]
    fn any_packets_of_a_block_complete_it() {
        // Blocks of 2 with 1 for repair: 0 1 0 1 0 1.
        let mut file = file(4, 2, 1);
        [0, 4, 4, 2].iter().for_each(|number| file.add(at(1), *number));
        assert_eq!((file.lacking, file.complete), (2, None));
        file.add(at(2), 3);
        // The next round has the same packets.
        file.add(at(3), 6 + 3);
        assert_eq!((file.lacking, file.complete), (1, None));
        file.add(at(4), 6 + 5);
        file.add(at(5), 1);
        assert_eq!((file.lacking, file.complete), (0, Some(Duration::from_secs(4))));
    }

    /// At a rate whose distances are no whole number of picoseconds.
    #[test]
    fn the_instant_of_a_datagram_names_it() {
        let (rate, size) = (Rate::from_bps(2_999_999), 1316);
        let start = Time::from_ps(123_456_789);
        let file = received(Carousel { bytes: 1, block: 1, repair: 0, rounds: None }, size, rate, start);
        for number in [0, 1, 2, 999, 1_000_000, 4_000_000_007] {
            let sent_at = start + rate.time_to_send(u64::from(size) * number);
            assert_eq!(file.number(sent_at), number);
        }
    }
}
