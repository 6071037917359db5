//! Splits a packetdrill script into tokens. Shell blocks, Python blocks and strings are one token each.

/// Largest script in bytes.
const LONGEST: usize = 1 << 20;

/// Part of a script.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// Name or number, as written: `S`, `mss`, `1000`, `.1`, `0x2`.
    Word(String),
    /// `"text"`.
    Text(String),
    /// A block between backticks.
    Shell(String),
    /// `%{ ... }%`.
    Code(String),
    /// `--name=value`, of a line at the start.
    Option(String),
    /// `...`.
    Dots,
    /// Any other character.
    Sign(char),
}

/// Splits a script. Each token has its line, from 1.
pub(super) fn split(text: &str) -> Result<Vec<(usize, Token)>, (usize, String)> {
    if text.len() > LONGEST {
        return Err((1, format!("a script has at most {LONGEST} bytes")));
    }
    let (mut found, mut rest, mut line) = (Vec::new(), text, 1);
    while let Some(first) = rest.chars().next() {
        // Text up to `end`, which has to be there.
        let until = |start: usize, end: &str, what: &str| {
            let inside = rest.get(start..).unwrap_or_default();
            let len = inside.find(end).ok_or((line, format!("{what} without its end {end}")))?;
            Ok((inside[..len].to_owned(), start + len + end.len()))
        };
        let (token, len) = if first.is_whitespace() {
            (None, first.len_utf8())
        } else if rest.starts_with("//") {
            (None, rest.find('\n').unwrap_or(rest.len()))
        } else if rest.starts_with("/*") {
            (None, until(2, "*/", "a comment")?.1)
        } else if rest.starts_with("%{") {
            let (code, len) = until(2, "}%", "a block")?;
            (Some(Token::Code(code)), len)
        } else if first == '`' {
            let (shell, len) = until(1, "`", "a shell block")?;
            (Some(Token::Shell(shell)), len)
        } else if first == '"' {
            let (inside, len) = until(1, "\"", "a string")?;
            (Some(Token::Text(inside)), len)
        } else if rest.starts_with("--") {
            let len = rest.find(char::is_whitespace).unwrap_or(rest.len());
            (Some(Token::Option(rest[2..len].to_owned())), len)
        } else if rest.starts_with("...") {
            (Some(Token::Dots), 3)
        } else {
            match word(rest) {
                0 => (Some(Token::Sign(first)), first.len_utf8()),
                len => (Some(Token::Word(rest[..len].to_owned())), len),
            }
        };
        found.extend(token.map(|token| (line, token)));
        line += rest[..len].matches('\n').count();
        rest = &rest[len..];
    }
    Ok(found)
}

/// Returns the length of the name or number at the start of a text, or 0. Numbers may have a fraction.
fn word(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut len = 0;
    let mut is_number = is_digit(0) || (bytes.first() == Some(&b'.') && is_digit(1));
    while let Some(&byte) = bytes.get(len) {
        let is_point = byte == b'.' && is_number && is_digit(len + 1);
        if !(byte.is_ascii_alphanumeric() || byte == b'_' || is_point) {
            break;
        }
        // A second point does not belong to a number.
        is_number &= !is_point;
        len += 1;
    }
    len
}
