//! Congestion controls that react to losses.

mod bic;
mod cubic;
mod highspeed;
mod htcp;
mod hybla;
mod prague;
mod reno;
mod scalable;
mod tahoe;
mod westwood;

pub use bic::{Bic, BicForm, BicSettings};
pub use cubic::{Cubic, CubicAfterRto, CubicGrowth, CubicSettings};
pub use highspeed::{HighSpeed, HighSpeedParameters, HighSpeedSettings};
pub use htcp::{Htcp, HtcpSettings, RttMaxRise};
pub use hybla::{Hybla, HyblaRtt, HyblaSettings, HyblaWindow};
pub use prague::{DctcpSettings, Prague, PragueGrowth, PragueScaling, PragueSettings};
pub use reno::Reno;
pub use scalable::{Scalable, ScalableSettings};
pub use tahoe::Tahoe;
pub use westwood::{Westwood, WestwoodCut, WestwoodForm, WestwoodPlusSettings, WestwoodSettings};
