//! Congestion controls made for satellite paths.

mod enhanced_hswa;
mod hswa;
mod peach;
mod satcp;
mod scps;
mod stp;
mod swift;

pub use enhanced_hswa::{EnhancedHswa, EnhancedHswaRto, EnhancedHswaSettings};
pub use hswa::{Hswa, HswaMean, HswaPer, HswaSettings};
pub use peach::{Peach, PeachAgain, PeachPlusSettings, PeachSettings};
pub use satcp::{SaTcp, SaTcpSettings};
pub use scps::{Scps, ScpsCongestion, ScpsSettings};
pub use stp::{Stp, StpSettings};
pub use swift::{Swift, SwiftSettings};
