//! LIA: linked increases (RFC 6356 §3). Each subflow grows by the same amount per ACK. With this amount, all subflows
//! together are as fast as one flow on the best path. No subflow grows faster than a regular TCP flow on its path.

use super::{sum, Member};
use bentpipe_cc::Siblings;

/// min(a / ΣW, 1 / W_r), with a = ΣW · max(W_i / R_i²) / (Σ W_i / R_i)² (RFC 6356 §3, equations 1 and 2).
pub(super) fn share(r: usize, members: &[Member]) -> Siblings {
    let best = members.iter().map(|member| member.window / (member.rtt * member.rtt)).fold(0.0, f64::max);
    let rate = sum(members, |member| member.window / member.rtt);
    // a / ΣW.
    let linked = best / (rate * rate);
    Siblings { increase: linked.min(1.0 / members[r].window), decrease: 0.5 }
}
