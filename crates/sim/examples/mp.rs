#[path = "../tests/multipath.rs"]
mod multipath;
fn main() {}
