//! Worked cases: packets at terminals, with the library as the only judge of when they leave. The long ones run with
//! `cargo test --release -p bentpipe-access --test worked -- --include-ignored`.

mod acm;
mod forward;
mod greedy;
mod idle;
mod lab;
mod leo;
mod log_on;
mod random;
mod sleep;
mod slotted;
mod storm;
mod streams;
mod web;
