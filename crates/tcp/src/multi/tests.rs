//! Tests of whole multipath connections: worked cases, invariants, one subflow beside plain TCP.

mod addresses;
mod bench;
mod fairness;
mod invariants;
mod life;
mod musts;
mod reinjection;
mod returns;
mod rules;
mod signals;
mod single;
mod worked;
