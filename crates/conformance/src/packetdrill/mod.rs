//! Reads scripts in packetdrill's language as cases: system calls, packets, `tcp_info` assertions, and settings.
//!
//! The host under test is like Linux 6. The translation covers one TCP connection over IPv4. Everything else is rejected
//! with its line. Shell and Python blocks are never executed. Source: packetdrill's own `syntax.md` and README.
//!
//! Rules of the language that differ from scripts of bentpipe:
//! - Sequence numbers begin at the SYN. A packet of several segments covers all of them.
//! - Windows of packets are the numbers in the header. Times have a tolerance.
//! - Timestamps of the host are free, and echoes of them are translated. Without `<...>` options have to be exact.
//! - Neither the push flag nor the shift of the offered window is compared.

mod assertions;
mod calls;
mod packets;
mod shell;
mod tokens;

use crate::script::{self, Case, Doing, On, Step, LONGEST_S};
use bentpipe_units::Duration;
use shell::Settings;
use std::collections::BTreeMap;
use tokens::Token;

/// Tolerance of times (`--tolerance_usecs`), microseconds.
const TOLERANCE_US: u64 = 4000;
/// Latest arrival of a packet at any time (`*`).
const ANY: Duration = Duration::from_secs(60);
/// Payload of a packet of 1500 bytes.
const MSS: u32 = 1460;
/// Bytes of an option for timestamps.
const STAMPS: u32 = 12;

type Error = (usize, String);

/// Time of an event.
#[derive(Clone, Copy)]
struct When {
    time: Duration,
    /// Duration of the range `A~B`.
    span: Duration,
    is_absolute: bool,
}

/// State of the translation: the remaining tokens, and the facts of the connection so far.
struct Script<'a> {
    tokens: std::iter::Peekable<std::slice::Iter<'a, (usize, Token)>>,
    line: usize,
    settings: Settings<'a>,
    steps: Vec<Step>,
    tolerance: Duration,
    /// Whether the connection under test opens. None: not known yet.
    connects: Option<bool>,
    /// Time of the events before the connection, and of the last event.
    opened: Duration,
    last: Duration,
    /// Descriptors that `socket` and `accept` returned.
    sockets: Vec<i64>,
    has_written: bool,
    has_closed: bool,
    /// Initial sequence numbers of both directions, own one first.
    isn: [Option<u32>; 2],
    /// Shift of the peer's window.
    shift: u8,
    /// Payload of a segment without timestamps that each end allows, own one first.
    mss: [u32; 2],
    has_stamps: [bool; 2],
}

/// Reads a script. `files`: the texts of shell files that it names, by their names in the script.
pub(crate) fn parse(text: &str, title: &str, files: &BTreeMap<String, String>) -> Result<Case, Error> {
    let tokens = tokens::split(text)?;
    let mut script = Script {
        tokens: tokens.iter().peekable(),
        line: 1,
        settings: Settings::new(files, tokens.iter().any(|(_, token)| *token == Token::Word("connect".into()))),
        steps: Vec::new(),
        tolerance: Duration::from_micros(TOLERANCE_US),
        connects: None,
        opened: Duration::ZERO,
        last: Duration::ZERO,
        sockets: Vec::new(),
        has_written: false,
        has_closed: false,
        isn: [None; 2],
        shift: 0,
        mss: [MSS; 2],
        has_stamps: [false; 2],
    };
    // TCP_NODELAY is off by default.
    script.settings.set("nagle", true);
    script.events().map_err(|what| (script.line, what))?;
    let connects = script.connects.ok_or((script.line, "no connection in this script".to_owned()))?;
    let agrees = script.has_stamps == [true; 2];
    let stamps = if agrees { STAMPS } else { 0 };
    let [own_mss, peer_mss] = script.mss;
    let info_mss = u64::from(own_mss.min(peer_mss).saturating_sub(stamps).max(1));
    if !agrees && !connects {
        // The answer to a SYN without timestamps has none.
        script.settings.set("timestamps", false);
    }
    let room = if script.settings.has_stamps() { STAMPS } else { 0 };
    script.settings.set("smss", format!("\"{} B\"", own_mss.saturating_sub(room)));
    let keys = script.settings.keys();
    let keys: Vec<_> = keys.iter().map(|(line, key)| (*line, key.as_str())).collect();
    let (like, config) = script::config(&keys).map_err(|(line, what)| (line.unwrap_or(1), what))?;
    Ok(Case {
        title: title.to_owned(),
        like,
        config,
        is_passive: !connects,
        early: 0,
        is_closed: false,
        tolerance: script.tolerance,
        info_mss,
        steps: script.steps,
    })
}

impl<'a> Script<'a> {
    fn peek(&mut self) -> Option<&'a Token> {
        self.tokens.peek().map(|(_, token)| token)
    }

    fn next(&mut self) -> Result<&'a Token, String> {
        let (line, token) = self.tokens.next().ok_or("the script ends within an event")?;
        self.line = *line;
        Ok(token)
    }

    /// Takes a sign if it is next.
    fn takes(&mut self, sign: char) -> bool {
        let is_next = self.peek() == Some(&Token::Sign(sign));
        if is_next {
            let _ = self.next();
        }
        is_next
    }

    /// Takes a word if it is next.
    fn takes_word(&mut self, name: &str) -> bool {
        let is_next = matches!(self.peek(), Some(Token::Word(word)) if word == name);
        if is_next {
            let _ = self.next();
        }
        is_next
    }

    fn expect(&mut self, sign: char) -> Result<(), String> {
        match self.next()? {
            Token::Sign(found) if *found == sign => Ok(()),
            other => Err(format!("expected {sign}, got {}", shown(other))),
        }
    }

    fn number<T: std::str::FromStr>(&mut self) -> Result<T, String> {
        match self.next()? {
            Token::Word(word) => word.parse().map_err(|_| format!("not a number: {word}")),
            other => Err(format!("expected a number, got {}", shown(other))),
        }
    }

    fn seconds(&mut self) -> Result<Duration, String> {
        let seconds: f64 = self.number()?;
        if !(0.0..=LONGEST_S).contains(&seconds) {
            return Err(format!("a time of at most {LONGEST_S} s: {seconds}"));
        }
        Ok(Duration::from_ps((seconds * 1e9).round() as u64 * 1000))
    }

    fn events(&mut self) -> Result<(), String> {
        while let Some(token) = self.peek() {
            match token {
                Token::Option(option) => {
                    self.next()?;
                    self.option(option)?;
                }
                Token::Shell(block) => {
                    self.next()?;
                    self.settings.read(self.line, block)?;
                }
                _ => {
                    let when = self.when()?;
                    self.event(when)?;
                }
            }
        }
        Ok(())
    }

    fn option(&mut self, text: &str) -> Result<(), String> {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let cannot = || format!("an option that cannot be expressed: --{text}");
        match name {
            "tolerance_usecs" => {
                self.tolerance = Duration::from_micros(value.parse::<u32>().map_err(|_| cannot())?.into());
            }
            "mtu" => {
                let mtu: u32 = value.parse().map_err(|_| cannot())?;
                self.mss[0] = mtu.saturating_sub(1500 - MSS);
            }
            "ip_version" if value != "ipv6" => {}
            "local_ip" | "remote_ip" | "gateway_ip" | "netmask_ip" | "bind_port" | "connect_port" | "verbose" | "v" => {
            }
            _ => return Err(cannot()),
        }
        Ok(())
    }

    fn when(&mut self) -> Result<When, String> {
        if self.takes('*') {
            return Ok(When { time: Duration::ZERO, span: ANY, is_absolute: false });
        }
        let is_absolute = !self.takes('+');
        let time = self.seconds()?;
        let mut span = Duration::ZERO;
        if self.takes('~') {
            self.takes('+');
            let end = self.seconds()?;
            if end < time {
                return Err("a range that ends before it begins".into());
            }
            span = end.saturating_sub(time);
        }
        Ok(When { time, span, is_absolute })
    }

    fn event(&mut self, when: When) -> Result<(), String> {
        // The time of a call that blocks ends later; the next event counts from its start.
        if self.peek() == Some(&Token::Dots) {
            self.next()?;
            self.seconds()?;
        }
        let token = self.next()?;
        let line = self.line;
        match token {
            Token::Sign('<') => {
                let described = self.packet(false)?;
                self.add(line, when, Some(Doing::Arrive(described)))
            }
            Token::Sign('>') => {
                let described = self.packet(true)?;
                self.add(line, when, Some(Doing::Cover(described)))
            }
            Token::Code(code) => {
                let facts = assertions::read(code)?;
                self.add(line, when, Some(Doing::Info(facts)))
            }
            Token::Shell(block) => {
                if self.connects.is_some() && !block.contains("sysctl_restore") {
                    return Err("a shell block while the connection is open".into());
                }
                self.settings.read(line, block)?;
                self.add(line, when, None)
            }
            Token::Word(name) => {
                let action = self.call(name)?;
                self.add(line, when, action)
            }
            other => Err(format!("expected a packet or a call, got {}", shown(other))),
        }
    }

    /// Adds a step. An event without an action only takes time. Times count from the opening of the connection.
    fn add(&mut self, line: usize, when: When, action: Option<Doing>) -> Result<(), String> {
        let nominal = if when.is_absolute { when.time } else { self.last + when.time };
        self.last = nominal.max(self.last);
        if self.last.as_secs_f64() > LONGEST_S {
            return Err(format!("the script lasts longer than {LONGEST_S} s"));
        }
        if self.connects.is_none() {
            self.opened = self.last;
            return if action.is_none() { Ok(()) } else { Err("an action before the connection".into()) };
        }
        let is_first = self.steps.is_empty();
        if is_first {
            // Data wait for the application to read them.
            self.steps.push(Step::new(line, Duration::ZERO, Doing::Read(0)));
        }
        let after = match (when.is_absolute, is_first) {
            (true, _) => when.time.saturating_sub(self.opened),
            // A connection opens at its own time.
            (false, true) if self.connects == Some(true) => Duration::ZERO,
            (false, _) => when.time,
        };
        let action = action.unwrap_or(Doing::Nothing);
        self.steps.push(Step { line, after, span: when.span, is_absolute: when.is_absolute, action, on: On::Both });
        Ok(())
    }
}

/// Returns a token as in the script.
fn shown(token: &Token) -> String {
    match token {
        Token::Word(word) => word.clone(),
        Token::Text(text) => format!("\"{text}\""),
        Token::Shell(_) => "a shell block".into(),
        Token::Code(_) => "a block of Python".into(),
        Token::Option(option) => format!("--{option}"),
        Token::Dots => "...".into(),
        Token::Sign(sign) => sign.to_string(),
    }
}
