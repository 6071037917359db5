//! OLIA: opportunistic linked increases (R. Khalili et al., "MPTCP is not Pareto-optimal: performance issues and a possible
//! solution", CoNEXT 2012). As LIA it is fair to other flows, and it moves windows from subflows that have the largest window to
//! those that carried most between losses but have not.

use super::{sum, Member};
use bentpipe_cc::Siblings;

/// Increase: (W_r / R_r²) / (Σ W_i / R_i)² + a_r / W_r.
///
/// - B: the best paths, with the largest l_i / R_i². l_i: bytes acknowledged between losses.
/// - M: the paths with the largest window.
/// - C: the paths of B that are not in M.
/// - a_r: 1 / (N |C|) in C, -1 / (N |M|) in M, else 0. All are 0 if C is empty.
pub(super) fn share(r: usize, members: &[Member]) -> Siblings {
    let rate = sum(members, |member| member.window / member.rtt);
    let quality = |member: &Member| member.between / (member.rtt * member.rtt);
    let (best, largest) = (most(members, quality), most(members, |member| member.window));
    let is_best = |member: &Member| quality(member) >= best;
    let is_largest = |member: &Member| member.window >= largest;
    let is_collected = |member: &Member| is_best(member) && !is_largest(member);
    let count = |is: &dyn Fn(&Member) -> bool| members.iter().filter(|member| is(member)).count() as f64;
    let (n, collected) = (members.len() as f64, count(&is_collected));
    let me = &members[r];
    let moved = if collected == 0.0 {
        0.0
    } else if is_collected(me) {
        1.0 / (n * collected)
    } else if is_largest(me) {
        -1.0 / (n * count(&is_largest))
    } else {
        0.0
    };
    let linked = me.window / (me.rtt * me.rtt) / (rate * rate);
    Siblings { increase: linked + moved / me.window, decrease: 0.5 }
}

fn most(members: &[Member], f: impl Fn(&Member) -> f64) -> f64 {
    members.iter().map(f).fold(0.0, f64::max)
}
