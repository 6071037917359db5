//! Sets the limits of the module: its memory, and its stack.

/// Bytes of memory at most.
const MEMORY_MAX: u32 = 1 << 30;
/// Bytes of stack. The least that readers of text are tested with is 256 kB.
const STACK: u32 = 2 << 20;

fn main() {
    if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "wasm32") {
        for limit in [format!("--max-memory={MEMORY_MAX}"), format!("-zstack-size={STACK}")] {
            println!("cargo:rustc-link-arg-cdylib={limit}");
        }
    }
    println!("cargo:rerun-if-changed=build.rs");
}
