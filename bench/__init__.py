"""Measurements of speed, such as `python -m bench.sizes`. The benches of the Rust crates are beside the crates."""
