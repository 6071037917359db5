//! The core for a web page: a request comes as JSON, and its answer leaves as JSON.
//!
//! - `door`: memory that the page reads and writes
//! - `answer`: the requests, and their answers
//! - `packets`: segments, ACKs and SACK blocks of a short span
//! - `sky`: positions and paths for the globe
//! - `written`: tables and problems as JSON

mod answer;
#[cfg(target_arch = "wasm32")]
mod door;
mod packets;
mod sky;
mod written;

pub use answer::Laboratory;
