//! Service of a link that does not send each packet once at the rate of the link.

use super::arq::ArqState;
use super::framed::Framed;
use super::granted::{GrantCounts, Granted, Planned};
use super::outages::Outages;
use bentpipe_model::dictionary::Cause;
use bentpipe_model::packet::Packet;
use bentpipe_model::spec::{Link as Spec, Medium, MediumKind, Terminal};
use bentpipe_units::Time;

/// Service of a link. One box, so that a link takes no more lines of the cache. None: each packet is sent once, at the rate.
#[derive(Clone, Debug)]
pub(crate) struct Layer2(pub(super) Option<Box<Layer2Kind>>);

/// Service of a link that is not the usual.
#[derive(Clone, Debug)]
pub(super) enum Layer2Kind {
    /// Retransmissions of damaged packets.
    Arq(ArqState),
    /// Bursts in a medium. The rate has no effect, and the link is never plain or on the fast path. A separate box, since it
    /// is many times the state of the ARQ.
    Granted(Box<Granted>),
    /// Frames of a forward carrier, as above.
    Framed(Box<Framed>),
}

impl Layer2 {
    /// The service of a link outside media.
    pub(super) fn of(spec: &Spec, seed: u64, end: Time) -> Self {
        Self(ArqState::of(spec, seed, end).map(|arq| Box::new(Layer2Kind::Arq(arq))))
    }

    /// The service of a link with these outages in its medium. `is_traced`: it has a journal.
    pub(super) fn in_medium(
        spec: &Spec,
        (terminal, medium): (&Terminal, &Medium),
        outages: Option<&Outages>,
        seed: u64,
        is_traced: bool,
    ) -> Self {
        let name = spec.name.as_str();
        let kind = match &medium.kind {
            MediumKind::MfTdma(_) | MediumKind::LeoCell(_) => {
                let (rule, needed) = (medium.kind.losses(), medium.kind.needed_signal());
                Layer2Kind::Granted(Box::new(Granted::of(terminal, rule, needed, outages, (name, seed), is_traced)))
            }
            MediumKind::Tdm(tdm) => Layer2Kind::Framed(Box::new(Framed::of(terminal, tdm, (name, seed), is_traced))),
        };
        Self(Some(Box::new(kind)))
    }

    /// Whether each packet is sent once, at the rate.
    #[inline(always)]
    pub(super) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    pub(super) fn arq(&self) -> Option<&ArqState> {
        match self.0.as_deref() {
            Some(Layer2Kind::Arq(arq)) => Some(arq),
            _ => None,
        }
    }

    pub(super) fn arq_mut(&mut self) -> Option<&mut ArqState> {
        match self.0.as_deref_mut() {
            Some(Layer2Kind::Arq(arq)) => Some(arq),
            _ => None,
        }
    }

    pub(super) fn granted(&self) -> Option<&Granted> {
        match self.0.as_deref() {
            Some(Layer2Kind::Granted(granted)) => Some(granted),
            _ => None,
        }
    }

    pub(super) fn framed(&self) -> Option<&Framed> {
        match self.0.as_deref() {
            Some(Layer2Kind::Framed(framed)) => Some(framed),
            _ => None,
        }
    }

    /// Packets in a medium that have left the queue without an arrival.
    pub(super) fn in_service(&self) -> usize {
        self.granted().map_or(0, Granted::in_service) + self.framed().map_or(0, Framed::in_service)
    }

    /// The counts of a link in a medium until `now`. A medium of slots counts what it grants.
    pub(crate) fn grants(&self, now: Time) -> Option<GrantCounts> {
        let framed = self.framed().map(|framed| framed.counts(now));
        framed.or_else(|| self.granted().map(|granted| granted.counts(now)))
    }

    /// The cause of loss of the erased packet that has just left the ring.
    pub(crate) fn take_cause(&mut self) -> Cause {
        match self.0.as_deref_mut() {
            Some(Layer2Kind::Granted(granted)) => granted.take_cause(),
            Some(Layer2Kind::Framed(framed)) => framed.take_cause(),
            _ => Cause::LinkLoss,
        }
    }

    /// Takes the packet that has left the queue for a frame, if none of it is sent yet.
    pub(super) fn take_head(&mut self) -> Option<Packet> {
        match self.0.as_deref_mut() {
            Some(Layer2Kind::Framed(framed)) => framed.take_head(),
            _ => None,
        }
    }

    /// Notes the plan of its medium for the link, for samples.
    pub(crate) fn note_plan(&mut self, planned: Planned) {
        if let Some(Layer2Kind::Granted(granted)) = self.0.as_deref_mut() {
            granted.note_plan(planned);
        }
    }
}
