//! Functions inside the network: on board or at a gateway.

use bentpipe_units::Duration;

/// A middlebox with its settings.
#[derive(Clone, Debug, PartialEq)]
pub enum MiddleboxConfig {
    /// Duplicates and holds back packets at random.
    Impair {
        /// Probability that a packet is sent twice.
        duplicate: f64,
        /// Probability that a packet is held back for `hold`, so that later ones overtake it.
        reorder: f64,
        /// How long a reordered packet is held.
        hold: Duration,
    },
}
