//! Congestion controls that react to delay, alone or together with losses.

mod compound;
mod copa;
mod illinois;
mod ledbat;
mod santa_cruz;
mod vegas;
mod veno;
mod yeah;

pub use compound::{BelowLowWindow, Compound, CompoundSettings};
pub use copa::{Copa, CopaSettings};
pub use illinois::{Illinois, IllinoisSettings};
pub use ledbat::{Ledbat, LedbatDelay, LedbatSettings};
pub use santa_cruz::{SantaCruz, SantaCruzDelay, SantaCruzSettings};
pub use vegas::{Vegas, VegasDiff, VegasSettings};
pub use veno::{Veno, VenoPace, VenoRto, VenoRtt, VenoSettings};
pub use yeah::{Yeah, YeahSettings};
