//! BALIA: balanced linked adaptation (Q. Peng et al., "Multipath TCP: Analysis, Design, and Implementation", IEEE/ACM Trans.
//! Networking 24(1), 2016). Between LIA and OLIA: fair, responsive, and without their oscillations.

use super::{sum, Member};
use bentpipe_cc::Siblings;

/// Increase: x_r / (R_r (Σ x_i)²) · (1 + b) / 2 · (4 + b) / 5, with x = W / R and b = max x_i / x_r. A loss takes
/// min(b, 1.5) / 2 of the window.
pub(super) fn share(r: usize, members: &[Member]) -> Siblings {
    let rate = |member: &Member| member.window / member.rtt;
    let (total, most) = (sum(members, rate), members.iter().map(rate).fold(0.0, f64::max));
    let own = rate(&members[r]);
    let b = most / own;
    let increase = own / (members[r].rtt * total * total) * (1.0 + b) / 2.0 * (4.0 + b) / 5.0;
    Siblings { increase, decrease: b.min(1.5) / 2.0 }
}
