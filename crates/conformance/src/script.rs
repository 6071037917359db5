//! Reads scripts.

use bentpipe_model::spec::Like;
use bentpipe_tcp::{ClockPhase, Config, CountOption, Ecn, FastOpenOption};
use bentpipe_units::{Duration, Word};

/// Longest case in seconds: it fits into the simulator's time.
pub(crate) const LONGEST_S: f64 = 5e6;
/// Largest number of bytes in a script. Sums of such numbers do not overflow.
const MOST_BYTES: u64 = 1 << 40;
/// Largest shift in a script. A peer may exceed the 14 of RFC 7323 §2.3.
const LARGEST_SHIFT: u8 = 20;
/// Facts of a connection that a script can check.
const FACTS: [&str; 11] =
    ["cwnd", "ssthresh", "flight", "delivered", "rto", "srtt", "timeouts", "undos", "marks", "aborted", "state"];

/// One case of a script.
#[derive(Debug)]
pub struct Case {
    /// Title: `RFC 5681 §3.1  Slow start ...`.
    pub title: String,
    /// Host whose presets fill the settings.
    pub like: Like,
    /// Settings of the connection.
    pub config: Config,
    /// Whether the connection under test waits for a SYN. Otherwise it opens.
    pub is_passive: bool,
    /// Bytes that the application offers before the connection opens. The SYN may carry them.
    pub early: u64,
    /// Whether the application closes before the connection opens. The SYN may carry the FIN, too.
    pub is_closed: bool,
    /// Tolerance of the times of segments.
    pub(crate) tolerance: Duration,
    /// Unit of the windows in `tcp_info`, bytes.
    pub(crate) info_mss: u64,
    pub(crate) steps: Vec<Step>,
}

impl Case {
    /// Returns the duration of the case.
    pub fn length(&self) -> Duration {
        self.steps.iter().filter(|step| step.is_for(true)).fold(Duration::ZERO, |sum, step| {
            if step.is_absolute {
                sum.max(step.after)
            } else {
                sum + step.after
            }
        })
    }

    /// Whether lines describe other behaviour of Linux.
    pub fn has_notes(&self) -> bool {
        self.steps.iter().any(|step| step.on == On::Linux)
    }
}

/// One line of a case.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) line: usize,
    /// Time since the step before.
    pub(crate) after: Duration,
    /// Further time in which an expected segment may leave.
    pub(crate) span: Duration,
    /// Whether the time counts from the start of the case.
    pub(crate) is_absolute: bool,
    pub(crate) action: Doing,
    pub(crate) on: On,
}

impl Step {
    pub(crate) fn new(line: usize, after: Duration, action: Doing) -> Self {
        Self { line, after, span: Duration::ZERO, is_absolute: false, action, on: On::Both }
    }

    pub(crate) fn is_for(&self, is_kernel: bool) -> bool {
        self.on != if is_kernel { On::Ours } else { On::Linux }
    }
}

/// Subject of a line: `+0 ? cwnd 2000  # linux: +0 ? cwnd 3000` has one line for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    Both,
    Ours,
    Linux,
}

/// Event, or expectation.
#[derive(Debug)]
pub(crate) enum Doing {
    /// `write N`: the application offers N bytes.
    Write(u64),
    /// `read N`: the application reads up to N bytes. Before the first data, `read 0` makes it stop reading on arrival.
    Read(u64),
    /// `close`: the application has no more to send.
    Close,
    /// `smss N`: segments have N bytes from now on.
    Smss(u32),
    /// `< ...`: this segment arrives.
    Arrive(Described),
    /// `> ... xN`: N segments like this leave. Their data are consecutive ranges of equal size.
    Expect(Described, u64),
    /// Segments like this leave, which together cover its data.
    Cover(Described),
    /// Facts of `tcp_info` are true.
    Info(Vec<Fact>),
    /// `? NAME VALUE ...`: `cwnd`, `ssthresh`, `flight` and `delivered` in bytes, `rto` and `srtt` in seconds,
    /// `timeouts`, `undos` and `marks` (counts; `marks` counts reductions for marks), `aborted` (`yes` or `no`),
    /// `state`.
    Check(Vec<(String, String)>),
    /// `nothing`: time passes.
    Nothing,
}

/// Comparison of a field of `tcp_info` (linux/tcp.h) with a number.
#[derive(Clone, Debug)]
pub(crate) struct Fact {
    pub(crate) name: &'static str,
    pub(crate) order: Order,
    pub(crate) value: i64,
}

/// Relation of two numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    Equal,
    Differs,
    Below,
    AtMost,
    Above,
    AtLeast,
}

impl Order {
    pub(crate) fn holds(self, left: i64, right: i64) -> bool {
        match self {
            Self::Equal => left == right,
            Self::Differs => left != right,
            Self::Below => left < right,
            Self::AtMost => left <= right,
            Self::Above => left > right,
            Self::AtLeast => left >= right,
        }
    }

    /// Returns the relation of the second number to the first.
    pub(crate) fn reversed(self) -> Self {
        match self {
            Self::Below => Self::Above,
            Self::AtMost => Self::AtLeast,
            Self::Above => Self::Below,
            Self::AtLeast => Self::AtMost,
            same => same,
        }
    }
}

/// Segment in the words of a script, in any order.
///
/// - Flags: `syn`, `fin`, `rst`, `ece`, `cwr`, `ace N` (AE, CWR and ECE as a number).
/// - Data: `FROM:TO`, by offset. `N:N` is the sequence number of a segment without data.
/// - Acknowledgement: `ack N` (offset), `noack`, `win N` (bytes), `sack L:R,L:R`, `ts VALUE/ECHO`.
/// - IP header: `ect`, `ect1` or `ce`. `slowstart` is the signal of RFC 2760 §3.2.3.3.
/// - T/TCP: `cc N` (a connection count, of any segment), `ccnew N` or `nocc`, `ccecho N`.
/// - SYN only: `mss N`, `wscale N` or `nowscale`, `sackok` or `nosackok`, `cookie ask`, `cookie EIGHT-BYTES` or
///   `nocookie`, `nooptions`.
///
/// An expected segment must match its words. Other fields may differ, except data, SYN, FIN, RST and SACK blocks.
/// `nosack`, `nots`, `noece`, `nocwr`, `noect` and `noslowstart` require absence.
#[derive(Clone, Debug, Default)]
pub(crate) struct Described {
    pub(crate) is_syn: bool,
    pub(crate) is_fin: bool,
    pub(crate) is_rst: bool,
    pub(crate) is_ece: Option<bool>,
    pub(crate) is_cwr: Option<bool>,
    pub(crate) ace: Option<u8>,
    pub(crate) is_slow_start: Option<bool>,
    pub(crate) ecn: Option<Ecn>,
    pub(crate) data: Option<(u64, u64)>,
    /// Acknowledgement. None: up to everything that arrived, or not compared.
    pub(crate) ack: Option<u64>,
    pub(crate) has_no_ack: bool,
    pub(crate) window: Option<u64>,
    pub(crate) sack: Option<Vec<(u64, u64)>>,
    pub(crate) timestamps: Option<(u32, u32)>,
    pub(crate) has_no_timestamps: bool,
    /// Timestamps whose own value is a name, as in packetdrill: a later echo of this name stands for the sent value.
    pub(crate) stamps: Option<(u32, u32)>,
    /// Window as the number in the header.
    pub(crate) field: Option<u16>,
    pub(crate) mss: Option<u16>,
    /// Window scale. `Some(None)`: without the option.
    pub(crate) window_scale: Option<Option<u8>>,
    pub(crate) sack_permitted: Option<bool>,
    pub(crate) cookie: Option<FastOpenOption>,
    pub(crate) count: Option<CountOption>,
    pub(crate) count_echo: Option<u32>,
    /// Whether an arriving segment has no options, or the SACK blocks of an expected segment are not compared.
    pub(crate) has_no_options: bool,
}

type Error = (usize, String);

pub(crate) fn parse(text: &str) -> Result<Vec<Case>, Error> {
    let mut cases = Vec::new();
    let mut lines = (1..).zip(text.lines()).peekable();
    while let Some((number, line)) = lines.next() {
        let (line, _) = without_comment(line);
        if line.is_empty() {
            continue;
        }
        let title = line.strip_prefix('=').ok_or((number, format!("expected \"= TITLE\": {line}")))?;
        let (mut keys, mut steps, mut length_s) = (Vec::new(), Vec::new(), 0.0);
        let (mut is_passive, mut early, mut is_closed) = (false, 0, false);
        while let Some(&(number, line)) = lines.peek() {
            let (line, comment) = without_comment(line);
            // Any spacing is allowed: a kernel line that counts as a comment would have no effect.
            let note = comment.trim_start_matches('#').trim_start().strip_prefix("linux:").map(str::trim);
            if line.starts_with('=') {
                break;
            }
            lines.next();
            let mut add = |text: &str, on| {
                let step = step(number, text, on).map_err(|what| (number, what))?;
                length_s += step.after.as_secs_f64();
                if length_s > LONGEST_S {
                    return Err((number, format!("the case lasts longer than {LONGEST_S} s")));
                }
                steps.push(step);
                Ok(())
            };
            if line == "passive" {
                is_passive = true;
            } else if line == "close" {
                is_closed = true;
            } else if let Some(bytes) = line.strip_prefix("write ") {
                early = self::bytes(bytes).map_err(|what| (number, what))?;
            } else if line.starts_with('+') {
                add(line, if note.is_some() { On::Ours } else { On::Both })?;
            } else if line.split_whitespace().nth(1).is_some_and(|word| ["<", ">", "?"].contains(&word)) {
                return Err((number, format!("a step begins with + and its seconds: {line}")));
            } else if !line.is_empty() {
                keys.push((number, line));
            }
            if let Some(note) = note {
                add(note, On::Linux)?;
            }
        }
        let (like, config) = config(&keys).map_err(|(line, what)| (line.unwrap_or(number), what))?;
        cases.push(Case {
            title: title.trim().to_owned(),
            like,
            config,
            is_passive,
            early,
            is_closed,
            tolerance: Duration::ZERO,
            info_mss: 1,
            steps,
        });
    }
    Ok(cases)
}

/// Splits a line into text and comment. A comment begins with `#` at the start of a line or after a space.
fn without_comment(line: &str) -> (&str, &str) {
    let line = line.trim();
    let end = if line.starts_with('#') { 0 } else { line.find(" #").unwrap_or(line.len()) };
    (line[..end].trim_end(), line[end..].trim_start())
}

/// Reads keys of `[tcp]`, each with its line, as those of a scenario. Keys that the script leaves open have the values
/// of the host `rfc`, with a continuous clock, because scripts contain exact instants. The clock of another host begins
/// with the case. Returns the first problem, with its line if it has one.
pub(crate) fn config(keys: &[(usize, &str)]) -> Result<(Like, Config), (Option<usize>, String)> {
    let (plain, tables): (Vec<_>, Vec<_>) = keys.iter().copied().partition(|(_, line)| !line.starts_with('['));
    let joined = |lines: &[(usize, &str)]| lines.iter().map(|(_, line)| format!("{line}\n")).collect::<String>();
    // A script that is not TOML has no keys here, and its fault is reported below.
    let given: toml::Table = joined(&plain).parse().unwrap_or_default();
    let clock = |key| given.get("rto").is_some_and(|rto| rto.get(key).is_some());
    let named = given.get("like").and_then(toml::Value::as_str);
    let host = if given.contains_key("like") { "" } else { "like = \"rfc\"\n" };
    let before = format!("duration = \"1 s\"\n[tcp]\n{host}");
    let text = format!(
        "{before}{}{}[link.l]\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n[flow.f]\nfrom = \"a\"\n\
         to = \"b\"\n",
        joined(&plain),
        joined(&tables),
    );
    let resolved = bentpipe_scenario::from_toml(&text, "script", &[]).map_err(|problems| {
        let problem = &problems.problems[0];
        let place = problem.span.and_then(|span| span.start.0.checked_sub(before.lines().count() + 1));
        let meant = Some(&problem.suggestion).filter(|name| !name.is_empty());
        let more = [Some(problem.expected.to_string()), meant.map(|name| format!("did you mean {name}?"))];
        let more: String =
            more.into_iter().flatten().filter(|text| !text.is_empty()).map(|text| "; ".to_owned() + &text).collect();
        (place.and_then(|place| plain.get(place)).map(|&(line, _)| line), problem.message.clone() + &more)
    })?;
    let mut config = resolved.scenario.flows[0].transport.tcp().map(|tcp| tcp.as_ref().clone()).unwrap_or_default();
    let like = Like::ALL.iter().copied().find(|like| named == Some(like.name())).unwrap_or(Like::Rfc);
    if like == Like::Rfc && !clock("granularity") && !clock("phase") {
        config.rto.granularity = Duration::ZERO;
    }
    if !clock("phase") {
        config.rto.phase = ClockPhase::At(Duration::ZERO);
    }
    Ok((like, config))
}

fn step(line: usize, text: &str, on: On) -> Result<Step, String> {
    let timed = text.strip_prefix('+').and_then(|text| text.split_once(char::is_whitespace));
    let (time, rest) = timed.ok_or(format!("expected +SECONDS and an action: {text}"))?;
    let seconds: f64 = time.parse().map_err(|_| format!("not a time: {time}"))?;
    if !(0.0..=LONGEST_S).contains(&seconds) {
        return Err(format!("expected a time of at most {LONGEST_S} s: {time}"));
    }
    let words: Vec<&str> = rest.split_whitespace().collect();
    let action = match words.as_slice() {
        ["write", n] => Doing::Write(bytes(n)?),
        ["read", n] => Doing::Read(bytes(n)?),
        ["close"] => Doing::Close,
        ["nothing"] => Doing::Nothing,
        ["smss", n] => Doing::Smss(number::<u16>(n).map(|smss| u32::from(smss.max(1)))?),
        ["<", words @ ..] => Doing::Arrive(packet(words)?),
        [">", words @ .., times] if times.starts_with('x') => Doing::Expect(packet(words)?, number(&times[1..])?),
        [">", words @ ..] => Doing::Expect(packet(words)?, 1),
        ["?", words @ ..] if words.len() % 2 == 0 => {
            if let Some(name) = words.iter().step_by(2).find(|name| !FACTS.contains(*name)) {
                return Err(format!("not one of {}: {name}", FACTS.join(", ")));
            }
            Doing::Check(words.chunks(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned())).collect())
        }
        _ => return Err(format!("not an action: {}", rest.trim_start())),
    };
    Ok(Step { on, ..Step::new(line, Duration::from_ps((seconds * 1e12).round() as u64), action) })
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("not a number: {text}"))
}

fn bytes(text: &str) -> Result<u64, String> {
    number(text)
        .and_then(|n| if n <= MOST_BYTES { Ok(n) } else { Err(format!("more than {MOST_BYTES} bytes: {text}")) })
}

fn range(text: &str) -> Result<(u64, u64), String> {
    let (from, to) = text.split_once(':').ok_or(format!("not a range: {text}"))?;
    let (from, to) = (bytes(from)?, bytes(to)?);
    if from > to {
        return Err(format!("a range that ends before it begins: {text}"));
    }
    Ok((from, to))
}

fn packet(words: &[&str]) -> Result<Described, String> {
    let mut packet = Described::default();
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        let mut next = || words.next().copied().ok_or(format!("{word} without a value"));
        match word {
            "syn" => packet.is_syn = true,
            "fin" => packet.is_fin = true,
            "rst" => packet.is_rst = true,
            "ece" => packet.is_ece = Some(true),
            "noece" => packet.is_ece = Some(false),
            "cwr" => packet.is_cwr = Some(true),
            "nocwr" => packet.is_cwr = Some(false),
            "ace" => packet.ace = Some(number::<u8>(next()?)? & 7),
            "slowstart" => packet.is_slow_start = Some(true),
            "noslowstart" => packet.is_slow_start = Some(false),
            "ect" => packet.ecn = Some(Ecn::Ect0),
            "ect1" => packet.ecn = Some(Ecn::Ect1),
            "ce" => packet.ecn = Some(Ecn::Ce),
            "noect" => packet.ecn = Some(Ecn::NotEct),
            "noack" => packet.has_no_ack = true,
            "ack" => packet.ack = Some(bytes(next()?)?),
            "win" => packet.window = Some(bytes(next()?)?),
            "mss" => packet.mss = Some(number(next()?)?),
            "wscale" => {
                let text = next()?;
                let shift = number(text)?;
                if shift > LARGEST_SHIFT {
                    return Err(format!("a shift above {LARGEST_SHIFT}: {text}"));
                }
                packet.window_scale = Some(Some(shift));
            }
            "nowscale" => packet.window_scale = Some(None),
            "sackok" => packet.sack_permitted = Some(true),
            "nosackok" => packet.sack_permitted = Some(false),
            "nocookie" => packet.cookie = Some(FastOpenOption::None),
            "cookie" => {
                packet.cookie = Some(match next()? {
                    "ask" => FastOpenOption::Request,
                    bytes => FastOpenOption::Cookie(bytes.as_bytes().try_into().map_err(|_| "expected eight bytes")?),
                });
            }
            "nocc" => packet.count = Some(CountOption::None),
            "cc" => packet.count = Some(CountOption::Count(number(next()?)?)),
            "ccnew" => packet.count = Some(CountOption::New(number(next()?)?)),
            "ccecho" => packet.count_echo = Some(number(next()?)?),
            "nooptions" => (packet.has_no_options, packet.window_scale) = (true, Some(None)),
            "nots" => packet.has_no_timestamps = true,
            "sack" => packet.sack = Some(next()?.split(',').map(range).collect::<Result<_, _>>()?),
            "nosack" => packet.sack = Some(Vec::new()),
            "ts" => {
                let (value, echo) = next()?.split_once('/').ok_or("expected ts VALUE/ECHO")?;
                packet.timestamps = Some((number(value)?, number(echo)?));
            }
            word if word.contains(':') => packet.data = Some(range(word)?),
            other => return Err(format!("not a part of a segment: {other}")),
        }
    }
    Ok(packet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_a_script_have_precedence_over_those_of_the_harness() {
        let of = |keys: &str| parse(&format!("= a case\n{keys}\n+0 nothing\n")).map(|mut cases| cases.remove(0));
        let config = |keys: &str| of(keys).unwrap().config;
        let clock = |keys: &str| (config(keys).rto.granularity, config(keys).rto.phase.offset());
        let ms = Duration::from_millis;
        assert_eq!(clock(""), (Duration::ZERO, Duration::ZERO));
        assert_eq!(config("like = \"rfc\""), config(""));
        assert_eq!(clock("like = \"linux-6\""), (ms(1), Duration::ZERO));
        for rto in
            ["rto.granularity = \"9 ms\"\nrto.phase = \"3 ms\"", "rto = { granularity = \"9 ms\", phase = \"3 ms\" }"]
        {
            assert_eq!(clock(rto), (ms(9), ms(3)), "{rto}");
        }
        let linux = config("like = \"linux-6\"\ntimestamps = false");
        assert_eq!((linux.rto.min, linux.timestamps, config("").timestamps), (ms(200), false, false));
        assert_eq!(of("like = \"linux-7\"").unwrap_err().0, 2);
        assert_eq!(of("timestamps = true\nlike = \"linux-6\"\nsmss = 0").unwrap_err().0, 4);
    }

    #[test]
    fn a_line_for_the_kernel_is_one_however_it_is_spaced() {
        let of = |comment: &str| parse(&format!("= a case\nwrite 2000\n+0 ? cwnd 2000 {comment}\n{comment}\n"));
        for comment in ["# linux: +0 ? cwnd 3000", "#linux:+0 ? cwnd 3000", "##  linux:   +0 ? cwnd 3000"] {
            let cases = of(comment).unwrap();
            let whose: Vec<On> = cases[0].steps.iter().map(|step| step.on).collect();
            assert_eq!(whose, [On::Ours, On::Linux, On::Linux], "{comment}");
        }
        assert!(!of("# linux has 3000; see `# linux:`").unwrap()[0].has_notes());
        assert_eq!(of("#linux: cwnd 3000").unwrap_err(), (3, "expected +SECONDS and an action: cwnd 3000".into()));
    }
}
