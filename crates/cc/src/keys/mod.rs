//! Types of the keys of `[tcp]`, by topic, with their own keys. They depend on no congestion control and no connection.

mod ecn;
mod feedback;
mod growth;
mod notices;
mod recovery;
mod resume;
mod sending;
mod timers;
mod windows;

pub use ecn::*;
pub use feedback::*;
pub use growth::*;
pub use notices::*;
pub use recovery::*;
pub use resume::*;
pub use sending::*;
pub use timers::*;
pub use windows::*;
