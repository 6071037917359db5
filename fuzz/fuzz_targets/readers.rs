//! Calls the reader that the environment names.
//!
//!     BENTPIPE_READER=elements cargo +nightly fuzz run readers -- fuzz/corpus/elements
#![no_main]

use bentpipe_fuzz::READERS;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static READER: LazyLock<bentpipe_fuzz::Reader> = LazyLock::new(|| {
    let name = std::env::var("BENTPIPE_READER").unwrap_or_default();
    let known = READERS.map(|(name, _)| name).join(", ");
    let found = READERS.iter().find(|(each, _)| *each == name);
    found.map_or_else(|| panic!("BENTPIPE_READER = {name:?}; expected one of {known}"), |(_, reader)| *reader)
});

fuzz_target!(|data: &[u8]| {
    READER(data);
});
