//! Shared state of all parts of a connection: configuration and agreement, to read; timers, events and counters, to
//! write.

use super::agreed::Agreed;
use super::timers::Timers;
use super::{Counters, Event};
use crate::config::Config;
use std::collections::VecDeque;
use std::sync::Arc;

/// The surroundings of a part; every call that may need them gets them.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    /// Shared by all connections that are configured alike.
    pub(crate) config: Arc<Config>,
    pub(crate) agreed: Agreed,
    pub(crate) timers: Timers,
    pub(crate) events: VecDeque<Event>,
    pub(crate) counters: Counters,
}

impl Context {
    pub(crate) fn new(config: Arc<Config>) -> Self {
        Self {
            config,
            agreed: Agreed::default(),
            timers: Timers::stopped(),
            events: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    #[inline]
    pub(crate) fn report(&mut self, event: Event) {
        self.events.push_back(event);
    }
}
