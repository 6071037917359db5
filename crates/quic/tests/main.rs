//! Connections over a small path of two links, without the simulator's network.

mod path;

mod acceptance;
mod controls;
mod datagrams;
mod deep_space;
mod early;
mod gates;
mod handshake;
mod hostile;
mod migration;
mod network;
mod pages;
mod qlog;
mod repeats;
mod resume;
mod swarm;
#[cfg(feature = "tls")]
mod tls;
mod windows;
