//! Readers of text and packets of others, each as a function of any bytes. They must return, with a result or an error.
//!
//! The fuzz targets call them with bytes that reach new code, and `crates/io/tests/readers.rs` with those of `corpus` and
//! random changes, on a small stack.

use bentpipe_io::codec;
use bentpipe_orbit::sky::elements::{element_text, read_elements, BadRecords, ElementFormat};
use bentpipe_sim::scenario::{from_json, from_toml, from_toml_with, Files};
use std::collections::BTreeMap;

/// Reader of any bytes. Returns whether they are valid.
pub type Reader = fn(&[u8]) -> bool;

/// All readers by name. `corpus/NAME` has inputs of each.
pub const READERS: [(&str, Reader); 8] = [
    ("scenario", scenario),
    ("json", json),
    ("trace", trace),
    ("page", page),
    ("elements", elements),
    ("script", script),
    ("packetdrill", packetdrill),
    ("packet", packet),
];

/// Reads a scenario file.
pub fn scenario(data: &[u8]) -> bool {
    std::str::from_utf8(data).is_ok_and(|text| from_toml(text, "scenario.toml", &[]).is_ok())
}

/// Reads a scenario as JSON, the form of Python's dicts.
pub fn json(data: &[u8]) -> bool {
    std::str::from_utf8(data).is_ok_and(|text| from_json(text, "dict", &[]).is_ok())
}

/// Keys of a link that take a file: one for each kind of trace.
const TRACES: [&str; 7] = [
    "rate = { file = 'f' }",
    "rate = { file = 'f', format = 'mahimahi' }",
    "delay = { file = 'f' }",
    "outage = { file = 'f' }",
    "error = { kind = 'trace', file = 'f' }",
    "error = { kind = 'packet-trace', file = 'f' }",
    "error = { kind = 'packet-trace', file = 'f', format = 'runs' }",
];

/// Reads a trace. The first byte chooses its kind.
pub fn trace(data: &[u8]) -> bool {
    let Some((kind, data)) = data.split_first() else { return false };
    let key = TRACES[usize::from(*kind) % TRACES.len()];
    let name = key.split(' ').next().unwrap_or_default();
    let fixed = ["rate = '1 Mbit/s'", "delay = '1 ms'"].into_iter().filter(|line| !line.starts_with(name));
    let keys: Vec<&str> = fixed.chain([key]).collect();
    let link = format!("[link.l]\nfrom = 'a'\nto = 'b'\n{}\n", keys.join("\n"));
    read_with(&format!("duration = '1 s'\n{link}[flow.f]\nfrom = 'a'\nto = 'b'\n"), data)
}

/// Reads a recorded page (HAR).
pub fn page(data: &[u8]) -> bool {
    let link = "[link.l]\nfrom = 'a'\nto = 'b'\nrate = '1 Mbit/s'\ndelay = '1 ms'\n";
    let flow = "[flow.f]\nfrom = 'a'\nto = 'b'\napp = { kind = 'page', recorded = { file = 'f' } }\n";
    read_with(&format!("duration = '1 s'\n{link}{flow}"), data)
}

/// Reads orbit elements: two lines, OMM as JSON, CSV, XML or keywords.
pub fn elements(data: &[u8]) -> bool {
    let read = |text: &str| read_elements(text, ElementFormat::Auto, BadRecords::Skip).is_ok();
    element_text(data).is_ok_and(|text| read(&text))
}

/// Reads a conformance script.
pub fn script(data: &[u8]) -> bool {
    std::str::from_utf8(data).is_ok_and(|text| bentpipe_conformance::cases(text).is_ok())
}

/// Reads a script of packetdrill.
pub fn packetdrill(data: &[u8]) -> bool {
    let read = |text: &str| bentpipe_conformance::packetdrill(text, "script.pkt", &BTreeMap::new()).is_ok();
    std::str::from_utf8(data).is_ok_and(read)
}

/// Reads a packet from a device.
pub fn packet(data: &[u8]) -> bool {
    let is_marked = codec::mark(&mut data.to_vec());
    codec::checksums_are_right(data) == Some(true) && codec::Headers::of(data).is_some() | is_marked
}

/// Reads a scenario whose file `f` has this content.
fn read_with(text: &str, content: &[u8]) -> bool {
    struct Given<'a>(&'a [u8]);
    impl Files for Given<'_> {
        fn read(&self, _: &str) -> Result<Vec<u8>, (String, String)> {
            Ok(self.0.to_vec())
        }
    }
    from_toml_with(text, "scenario.toml", &[], &Given(content)).is_ok()
}
