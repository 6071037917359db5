//! Challenge ACKs (RFC 5961): the answer to a segment that an attacker could have sent. §7 limits their number, so that two ends
//! cannot answer each other without end.

use super::Life;
use crate::config::AcceptableAcks;
use crate::conn::tcb::Tcb;
use bentpipe_units::{Seq, Time};

/// The challenge ACKs of the present interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Challenges {
    since: Time,
    count: u32,
}

impl Life {
    /// A segment asks for a challenge ACK: it leaves if `challenge_acks` allows.
    #[cold]
    pub(crate) fn challenge(&mut self, now: Time, tcb: &mut Tcb) {
        let allowed = tcb.cx.config.challenge_acks;
        tcb.cx.counters.challenged += 1;
        let sent = self.challenges.get_or_insert_with(|| Box::new(Challenges { since: now, count: 0 }));
        if now.saturating_since(sent.since) >= allowed.interval {
            **sent = Challenges { since: now, count: 0 };
        }
        if sent.count < allowed.limit {
            sent.count += 1;
            tcb.receiver.ack_soon();
        }
    }

    /// A segment acknowledges `ack`, which is less than SND.UNA or more than SND.NXT; `field`: as in its header. Returns whether the
    /// whole segment is dropped: RFC 9293 §3.10.7.4 drops what acknowledges more than was sent, RFC 5961 §5 also what lies more than
    /// the largest window of the peer below SND.UNA.
    #[cold]
    pub(crate) fn refuses_ack(&mut self, now: Time, field: Seq, ack: u64, tcb: &mut Tcb) -> bool {
        let space = &tcb.sender.space;
        let is_too_new = ack > space.nxt;
        if tcb.cx.config.acceptable_acks == AcceptableAcks::Rfc9293 {
            if is_too_new {
                tcb.receiver.ack_soon();
            }
            return is_too_new;
        }
        // Before the first byte: the offset is not the one of the header.
        let is_too_old = ack.saturating_add(space.rwnd_largest) < space.una || tcb.wire.ours(ack) != field;
        let refuses = is_too_new || is_too_old;
        if refuses {
            self.challenge(now, tcb);
        }
        refuses
    }
}
