//! What the crate promises, as seen from outside, in one binary: it is linked once. `tidy` checks that each file is named.

#[macro_use]
mod trials;
mod ahead;
mod asking;
mod bbr;
mod been;
mod cache;
mod cell;
mod classes;
mod compress;
mod critical_path;
mod defaults;
mod determinism;
mod elements;
mod ends;
mod erasure;
// Its text is in the guide, as it would be in the crate of middleboxes.
#[allow(unreachable_pub)]
mod every;
mod explicit;
mod forward;
mod freeze;
mod hints;
mod l4s;
mod media;
mod media_notes;
mod middleboxes;
mod multipath;
mod notices;
mod ns2;
mod own;
mod peach;
mod ports;
mod probes;
mod processing;
mod proxies;
mod randomness;
mod receivers;
mod recorded;
mod repair;
mod resume;
mod rooms;
mod shipped;
mod skies;
mod slow_start;
mod suite;
mod theory;
mod tidy;
mod traces;
mod traffic;

// The file of the guide, `every`, names the modules of its crate.
use bentpipe_model::{dictionary, middlebox, packet};
