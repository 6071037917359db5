//! Targets of active queue management on links that ask for capacity. A queue that waits for a grant is no congestion. So the
//! defaults of RFC 8289, 8290 and 8033 follow the medium: a target above the wait for a grant, and an interval above the round
//! trip (RFC 8289 §4.3 and 4.4). The longest round trip has a wait for a control slot.
//!
//! CoDel drops once per interval first, and then with the root of the number of drops. With an interval of seconds, this takes
//! minutes to stop senders that ignore losses, and only the limit bounds their queue. The limit of FQ-CoDel, 10,240 packets, is
//! made for an interval of 100 ms. So it follows, too: it has the bytes of an interval.

use super::super::instances::Instance;
use super::super::report::{path, Report};
use bentpipe_model::spec::{Link, Medium, Queue, QueueLimit};
use bentpipe_units::Duration;
use std::collections::BTreeMap;

/// Sets the default targets, intervals and limits of links that ask.
pub(in super::super) fn follow_grants(
    links: &mut [Link],
    media: &[Medium],
    instances: &[Instance<'_>],
    report: &Report<'_>,
) {
    let entries: BTreeMap<&str, &str> = instances.iter().map(|made| (made.name.as_str(), made.entry)).collect();
    for link in links {
        let Some(terminal) = link.terminal.as_ref().filter(|terminal| terminal.access.asks()) else { continue };
        let Some(medium) = media.get(terminal.medium.index()).filter(|medium| link.from != medium.controller) else {
            continue;
        };
        let Some((name, side)) = link.name.rsplit_once('.') else { continue };
        let (Some(target), Some(entry)) = (medium.patience(), entries.get(name)) else { continue };
        let is_default = |key| report.is_default(&path(["link", entry, side, "queue", key]));
        let propagation = medium.there + medium.back;
        let interval = target + propagation + medium.control_wait();
        if let (Queue::FqCodel(queue), true) = (&mut link.queue, is_default("limit") && propagation > Duration::ZERO) {
            let millionths = u128::from(interval.as_ps()) * 1_000_000 / u128::from(propagation.as_ps());
            queue.limit = QueueLimit::Bdp(u64::try_from(millionths).unwrap_or(u64::MAX));
        }
        let (targets, intervals) = match &mut link.queue {
            Queue::Codel(queue) => (&mut queue.target, Some(&mut queue.interval)),
            Queue::FqCodel(queue) => (&mut queue.target, Some(&mut queue.interval)),
            Queue::Pie(queue) => (&mut queue.target, None),
            _ => continue,
        };
        if is_default("target") {
            *targets = target.max(*targets);
        }
        if let Some(of) = intervals.filter(|_| is_default("interval")) {
            *of = interval.max(*of);
        }
    }
}
