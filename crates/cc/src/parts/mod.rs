//! Parts that several congestion controls share.

pub(crate) mod bandwidth_filter;
pub(crate) mod careful_resume;
pub(crate) mod loss_window;
pub(crate) mod queueing;
pub(crate) mod rapid_start;
pub(crate) mod reallocation;
pub(crate) mod round;
pub(crate) mod search;
pub(crate) mod slow_start;
pub(crate) mod windowed;
