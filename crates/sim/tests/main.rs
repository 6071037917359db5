//! What the crate promises, as seen from outside, in one binary: it is linked once. `tidy` checks that each file is named.

mod ahead;
mod bbr;
mod been;
mod cache;
mod critical_path;
mod defaults;
mod determinism;
mod ends;
mod erasure;
mod explicit;
mod media;
mod middleboxes;
mod notices;
mod ns2;
mod peach;
mod ports;
mod probes;
mod processing;
mod proxies;
mod recorded;
mod rooms;
mod shipped;
mod theory;
mod tidy;
mod traces;
mod traffic;
