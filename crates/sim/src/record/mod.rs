//! Results: what is counted, what is kept over time, and what each of it means.

pub mod dictionary;
