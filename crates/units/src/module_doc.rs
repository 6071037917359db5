//! Extracts the doc at the head of a source file at compile time. Pages about congestion controls and middleboxes are
//! made from it.

/// Returns the bytes of the lines `//! ...` at the start of a file.
pub const fn length(file: &[u8]) -> usize {
    let mut at = 0;
    while at + 2 < file.len() && file[at] == b'/' && file[at + 1] == b'/' && file[at + 2] == b'!' {
        while at < file.len() && file[at] != b'\n' {
            at += 1;
        }
        at += 1;
    }
    at
}

/// Returns the first bytes of a file as a separate constant, so that the rest is not part of the program.
pub const fn head<const N: usize>(file: &[u8]) -> [u8; N] {
    let (mut head, mut at) = ([0; N], 0);
    while at < N {
        head[at] = file[at];
        at += 1;
    }
    head
}

/// Returns the text of these lines, without sections whose heading is `left_out`.
pub fn text(lines: &[u8], left_out: impl Fn(&str) -> bool) -> String {
    let lines = String::from_utf8_lossy(lines);
    let (mut text, mut is_code, mut is_left_out) = (String::new(), false, false);
    for line in lines.lines().map(|line| line.trim_start_matches("//!")) {
        let line = line.strip_prefix(' ').unwrap_or(line);
        is_code ^= line.starts_with("```");
        if let (Some(heading), false) = (line.strip_prefix("# "), is_code) {
            is_left_out = left_out(heading.trim());
        }
        if !is_left_out {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &[u8] = b"//! One.\n//!\n//! ```\n//! # no heading\n//! ```\n//! # b\n//! Of b.\n\
        //! # On paths\n//! It helps.\n\nuse x;\n";

    #[test]
    fn the_doc_ends_where_the_code_begins_and_leaves_others_out() {
        const HEAD: &[u8] = &head::<{ length(FILE) }>(FILE);
        assert_eq!(text(HEAD, |heading| heading == "b"), "One.\n\n```\n# no heading\n```\n# On paths\nIt helps.\n");
    }
}
