//! Terminals of a medium, their bursts and their messages to the controller.

use crate::adaptation::{Adaptation, Choice};
use crate::opened::Opened;
use crate::random::RandomUse;
use crate::requests::{Asking, Request};
use crate::terminal::Asked;
use crate::waveforms::{BurstLength, Waveform};

/// Bytes in a burst of each terminal.
#[derive(Clone, Debug)]
pub(super) enum Bursts {
    /// Payload of a waveform: one for all, or adapted to each signal.
    Waveforms { length: BurstLength, fixed: Option<Waveform>, acm: Adaptation },
    /// Equal payloads.
    Fixed(u32),
}

impl Bursts {
    pub(super) fn waveform(&self, choice: Option<usize>) -> Option<Waveform> {
        match self {
            Self::Waveforms { length, .. } => Waveform::at(*length, choice?),
            Self::Fixed(_) => None,
        }
    }

    pub(super) fn payload(&self, choice: Option<usize>) -> u32 {
        match self {
            Self::Waveforms { .. } => self.waveform(choice).map_or(0, Waveform::payload),
            Self::Fixed(bytes) => *bytes,
        }
    }
}

/// Whether a burst with this waveform arrives with this signal. Bursts without waveforms always do.
pub(super) fn arrives(waveform: Option<Waveform>, es_n0_db: f64) -> bool {
    waveform.is_none_or(|waveform| waveform.threshold_db() <= es_n0_db)
}

/// Way of requests to the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asks {
    /// In bursts, control slots and random bursts.
    InBursts,
    /// In separate room, once in this number of superframes. The terminals are spread over them.
    Each(u64),
    /// No requests: the controller sees the queues.
    Never,
}

/// Report of a terminal to the controller in a superframe, and the request of a class.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) terminal: u32,
    pub(super) class: u32,
    /// Signal of its burst, dB. Only the first of several messages in a burst has it.
    pub(super) es_n0_db: Option<f64>,
    pub(super) request: Option<Request>,
}

impl Message {
    /// Adds the messages of a burst with this signal to those of its superframe.
    #[inline]
    pub(super) fn send(messages: &mut Vec<Self>, terminal: u32, es_n0_db: f64, requests: &[(usize, Request)]) {
        let mut es_n0_db = Some(es_n0_db);
        if requests.is_empty() {
            messages.push(Self { terminal, class: 0, es_n0_db, request: None });
        }
        for &(class, request) in requests {
            let es_n0_db = es_n0_db.take();
            messages.push(Self { terminal, class: class as u32, es_n0_db, request: Some(request) });
        }
    }
}

/// A terminal and its controller's choice of waveforms.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// Its request classes.
    pub(super) asking: Vec<Asking>,
    pub(super) choice: Choice,
    pub(super) was_up: bool,
    /// Its open requests when it went down, with the superframe when the medium saw that.
    pub(super) left: Option<(u64, Asked)>,
    pub(super) random: RandomUse,
    pub(super) opened: Opened,
    /// Superframe of the last burst that the controller measured.
    pub(super) heard: u64,
    /// The last superframe that its requests, grants and changes of its signal so far reach. Grants without a request do not
    /// count.
    pub(super) busy_until: u64,
    /// Signal at the last visit, dB.
    pub(super) level_db: f64,
    /// Bytes granted since the start.
    pub(super) granted: u64,
}
