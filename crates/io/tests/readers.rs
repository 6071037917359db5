//! Readers of text and packets of others: any bytes end with a result or an error, on a stack of 256 kB.
//!
//! `BENTPIPE_FUZZ_OPS` is the number of inputs (default 20,000). The fuzz targets in `fuzz` call the same readers with
//! coverage feedback, and keep what they find in `fuzz/corpus`.

use std::path::Path;

#[path = "../../../fuzz/src/lib.rs"]
#[allow(unreachable_pub, missing_docs)]
mod readers;

/// Bytes of the stack: half of a secondary thread on macOS.
const STACK: usize = 256 << 10;
/// Parts that structure texts and files. Repeated, they nest.
const TOKENS: [&str; 28] = [
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    "<a>",
    "</a>",
    "<!--",
    "&#x0;",
    "\"",
    "'''",
    "\\u0000",
    "a.",
    "=",
    ",",
    "\n",
    "\r\n",
    "-",
    "1e308",
    "NaN",
    "0x",
    "18446744073709551616",
    "\u{663}",
    "\u{feff}",
    "%{",
    "}%",
    "+0",
];

/// Random numbers, without a random source of the system: each failure repeats.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most.max(1)
    }

    /// Returns a range in a text of this length.
    fn range(&mut self, len: usize) -> std::ops::Range<usize> {
        let start = self.below(len + 1);
        start..start + self.below(len - start + 1).min(1 + self.below(64))
    }

    /// Changes an input once.
    fn change(&mut self, input: &mut Vec<u8>, others: &[Vec<u8>]) {
        let range = self.range(input.len());
        match self.below(6) {
            0 if !input.is_empty() => {
                let at = self.below(input.len());
                input[at] ^= 1 << self.below(8);
            }
            1 => drop(input.drain(range)),
            2 => {
                let part = input[range.clone()].repeat([1, 2, 1000][self.below(3)]);
                input.splice(range.end..range.end, part);
            }
            3 => {
                let token = TOKENS[self.below(TOKENS.len())].repeat([1, 1, 2, 3000][self.below(4)]);
                input.splice(range, token.into_bytes());
            }
            4 => {
                let other = &others[self.below(others.len())];
                let part = other[self.range(other.len())].to_vec();
                input.splice(range, part);
            }
            _ => input.truncate(range.start),
        }
        input.truncate(1 << 16);
    }
}

fn corpus(name: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut found: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    found.sort();
    let read =
        |path: std::path::PathBuf| (path.file_name().unwrap().to_string_lossy().into(), std::fs::read(&path).unwrap());
    found.into_iter().map(read).collect()
}

#[test]
fn any_bytes_end_with_a_result_or_an_error_on_a_small_stack() {
    let inputs = std::env::var("BENTPIPE_FUZZ_OPS").map_or(20_000, |number| number.parse::<usize>().unwrap());
    let check = move || {
        for (name, reader) in readers::READERS {
            let corpus = corpus(name);
            // Otherwise, the reader only sees errors.
            let valid: Vec<_> = corpus.iter().filter(|(file, _)| file.starts_with("valid")).collect();
            assert!(!valid.is_empty(), "{name}");
            valid.iter().for_each(|(file, content)| assert!(reader(content), "{name}/{file} is refused"));
            let seeds: Vec<Vec<u8>> = corpus.into_iter().map(|(_, content)| content).collect();
            for content in &seeds {
                reader(content);
            }
            let mut dice = Dice(1);
            for _ in 0..inputs / readers::READERS.len() {
                let mut input = seeds[dice.below(seeds.len())].clone();
                for _ in 0..1 + dice.below(4) {
                    dice.change(&mut input, &seeds);
                }
                reader(&input);
            }
        }
    };
    std::thread::Builder::new().stack_size(STACK).spawn(check).unwrap().join().unwrap();
}
