//! The parts of a receiver that few connections have. They exist together or not at all, like the extra parts of a
//! sender. A connection with any of them is not plain.

use super::best_effort::Patience;
use super::ecn::EcnReceiver;
use super::explicit::Echo;
use super::snack::SnackReports;
use super::Receiver;
use crate::config::Feedback;

/// Parts of a receiver that few connections have.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReceiverExtras {
    /// Agreed on ECN: the feedback of marks.
    pub(crate) ecn: Option<EcnReceiver>,
    /// Agreed on SNACK: reports of missing data.
    pub(crate) snack: Option<SnackReports>,
    /// Agreed on best effort: ages of the holes.
    pub(crate) patience: Option<Patience>,
    /// Agreed on probe segments: how many are to be answered.
    pub(crate) probes: Option<u64>,
    /// Feedback of XCP or RCP that the next segment returns.
    pub(crate) echo: Option<Echo>,
}

impl Receiver {
    /// The extras, for a part that is on.
    pub(crate) fn extras_mut(&mut self) -> &mut ReceiverExtras {
        self.extras.get_or_insert_with(Box::default)
    }

    /// Sets the parts that the SYNs settle, and removes those of earlier SYNs. ECN follows the first SYN, and the echo
    /// no SYN.
    pub(crate) fn on_agreed(&mut self, snack: Option<SnackReports>, patience: Option<Patience>, has_probes: bool) {
        if snack.is_some() || patience.is_some() || has_probes || self.extras.is_some() {
            let extras = self.extras_mut();
            (extras.snack, extras.patience, extras.probes) = (snack, patience, has_probes.then_some(0));
        }
    }

    /// Begins to return the words of routers, if `feedback` has them.
    pub(crate) fn begin_echo(&mut self, feedback: Feedback) {
        if let Some(echo) = Echo::of(feedback) {
            self.extras_mut().echo = Some(echo);
        }
    }

    pub(crate) fn ecn(&self) -> Option<&EcnReceiver> {
        self.extras.as_ref()?.ecn.as_ref()
    }

    pub(crate) fn ecn_mut(&mut self) -> Option<&mut EcnReceiver> {
        self.extras.as_mut()?.ecn.as_mut()
    }

    /// A probe segment arrived. False: probe segments were not agreed on.
    pub(crate) fn on_probe(&mut self, is_answer: bool) -> bool {
        let Some(owed) = self.extras.as_mut().and_then(|extras| extras.probes.as_mut()) else { return false };
        *owed += u64::from(!is_answer);
        true
    }

    /// Whether an answer to a probe segment is owed; it is not after this.
    pub(crate) fn take_probe_answer(&mut self) -> bool {
        let Some(owed) = self.extras.as_mut().and_then(|extras| extras.probes.as_mut()) else { return false };
        let is_owed = *owed > 0;
        *owed -= u64::from(is_owed);
        is_owed
    }
}
