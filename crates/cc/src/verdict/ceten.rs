//! Cumulative explicit transport error notification (W. Eddy, S. Ostermann and M. Allman, CCR 34(5), 2004). The network
//! reports the share e of packets that it corrupts, and the sender measures the share p of its lost packets. The share
//! c of congestion follows from 1 - p = (1 - c) (1 - e).
//!
//! Readings:
//!
//! - The exponent on c / p is 1.
//! - The sender's losses are its retransmissions over its transmissions, within a window of a thousand packets or ten
//!   seconds, the shorter of both. The next window begins where one ends.
//! - "With probability c / p" is done in turn: a sum of the probabilities decides, and the loss with which it passes a
//!   whole number is congestion.
//! - Before the first report of the network, every loss is congestion.

use super::{Loss, LossVerdict, Verdict};
use crate::facts::{PathState, HALF};
use bentpipe_units::{Duration, Time};

/// Window in which losses are counted.
const PACKETS: u64 = 1000;
const TIME: Duration = Duration::from_secs(10);

/// Share of congestion in the losses.
#[derive(Clone, Debug, Default)]
struct Losses {
    survival: Option<f32>,
    /// Start of the window, with the segments sent and retransmitted until then.
    since: (Time, u64, u64),
}

impl Losses {
    /// Returns c / p.
    fn congestion_share(&mut self, loss: &Loss, path: &PathState) -> f64 {
        let Some(survival) = self.survival else { return 1.0 };
        let (begun, sent, retransmitted) = self.since;
        let sent = loss.sent_segments.saturating_sub(sent).max(1);
        // This segment is not retransmitted yet.
        let lost = loss.retransmitted_segments.saturating_sub(retransmitted) + 1;
        if sent >= PACKETS || path.now.saturating_since(begun) >= TIME {
            self.since = (path.now, loss.sent_segments, loss.retransmitted_segments);
        }
        congestion_share(lost as f64 / sent as f64, 1.0 - f64::from(survival))
    }
}

/// Returns c / p for the shares of lost and of corrupted packets.
fn congestion_share(lost: f64, corrupted: f64) -> f64 {
    let lost = lost.clamp(f64::MIN_POSITIVE, 1.0);
    let congestion = 1.0 - (1.0 - lost) / (1.0 - corrupted).max(f64::MIN_POSITIVE);
    (congestion / lost).clamp(0.0, 1.0)
}

/// CETEN_P: that share of the losses reduces the window as always. The other losses do not.
#[derive(Clone, Debug, Default)]
pub struct CetenP {
    losses: Losses,
    sum: f64,
}

impl LossVerdict for CetenP {
    fn judge(&mut self, loss: &Loss, path: &PathState) -> Verdict {
        let before = self.sum;
        self.sum += self.losses.congestion_share(loss, path);
        if self.sum.floor() > before.floor() {
            Verdict::Congestion
        } else {
            Verdict::LinkError
        }
    }

    fn on_survival(&mut self, survival: f32) {
        self.losses.survival = Some(survival);
    }
}

/// CETEN_A: each loss reduces the window by that share of the half.
#[derive(Clone, Debug, Default)]
pub struct CetenA {
    losses: Losses,
}

impl LossVerdict for CetenA {
    fn judge(&mut self, loss: &Loss, path: &PathState) -> Verdict {
        let share = self.losses.congestion_share(loss, path);
        Verdict::Partly { left: left(share) }
    }

    fn on_survival(&mut self, survival: f32) {
        self.losses.survival = Some(survival);
    }
}

/// Returns the thousandths of the window after a loss: 1 - c / 2p.
fn left(share: f64) -> u32 {
    1000 - (f64::from(HALF) * share).round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `docs/specs/eln-eten.md`: c 0.01, e 0.03.
    #[test]
    fn the_share_of_congestion_follows_from_all_losses_and_survival() {
        let lost: f64 = 1.0 - 0.99 * 0.97;
        assert!((lost - 0.0397).abs() < 1e-12);
        let share = congestion_share(lost, 0.03);
        assert!((share - 0.2519).abs() < 5e-5, "{share}");
        assert_eq!(
            [left(share), left(congestion_share(0.01, 0.0)), left(congestion_share(0.03, 0.03))],
            [874, 500, 1000]
        );
        assert_eq!(left(congestion_share(0.01, 0.03)), 1000, "fewer losses than corruption explains");
    }

    #[test]
    fn losses_are_congestion_in_their_share_or_each_by_its_share() {
        let (mut p, mut a) = (CetenP::default(), CetenA::default());
        let path = super::super::indications::tests::at(0);
        let judge = |policy: &mut dyn LossVerdict, number: u64| {
            // Four in a hundred packets are lost.
            let (sent_segments, retransmitted_segments) = (25 * number, number - 1);
            policy.judge(
                &Loss { offset: 0, by_timeout: false, was_reduced: false, sent_segments, retransmitted_segments },
                &path,
            )
        };
        assert_eq!(judge(&mut p, 1), Verdict::Congestion, "nothing is known");
        assert_eq!(judge(&mut a, 1), Verdict::Partly { left: 500 });
        p.on_survival(0.98);
        a.on_survival(0.98);
        let congestion = (2..=39).filter(|&number| judge(&mut p, number) == Verdict::Congestion).count();
        // c / p = (1 - 0.96 / 0.98) / 0.04 = 0.51.
        assert_eq!(congestion, 19);
        assert_eq!(judge(&mut a, 2), Verdict::Partly { left: 745 });
    }
}
