//! System calls of a packetdrill script.

use super::{shown, Doing, Script, Token};

/// Flags of `send` and `recv` without an effect here.
const PLAIN_FLAGS: [&str; 3] = ["0", "MSG_NOSIGNAL", "MSG_DONTWAIT"];
/// Most bytes of one call.
const MOST: u64 = 1 << 30;

/// Arguments of a call, each as its words.
type Arguments = Vec<Vec<String>>;

impl Script<'_> {
    /// Reads a call after its name, and returns its effect on the connection.
    pub(super) fn call(&mut self, name: &str) -> Result<Option<Doing>, String> {
        let arguments = self.arguments()?;
        self.expect('=')?;
        let (result, error) = self.result()?;
        let argument = |at: usize| -> &str {
            arguments.get(at).and_then(|words| words.last()).map(String::as_str).unwrap_or_default()
        };
        let cannot = |why: &str| Err(format!("{name}() {why} cannot be expressed"));
        let ok = || match result {
            Some(0..) => Ok(None),
            _ => cannot("that fails"),
        };
        match name {
            "socket" => {
                if argument(1) != "SOCK_STREAM" {
                    return cannot("of another kind than SOCK_STREAM");
                }
                if self.connects.is_some() {
                    return Err("a second connection cannot be expressed".into());
                }
                self.sockets.extend(result);
                ok()
            }
            "bind" => ok(),
            "fcntl" => ok(),
            "getsockopt"
                if argument(2) == "SO_ERROR" && arguments.get(3).is_some_and(|error| error.concat() == "[0]") =>
            {
                ok()
            }
            "listen" => self.opens(false).and_then(|()| ok()),
            "connect" => {
                if result != Some(0) && error.as_deref() != Some("EINPROGRESS") {
                    return cannot("that fails");
                }
                self.opens(true)?;
                Ok(None)
            }
            "accept" => {
                if self.sockets.len() > 1 {
                    return Err("a second connection cannot be expressed".into());
                }
                self.sockets.extend(result);
                ok()
            }
            "write" | "send" | "sendto" => {
                let flags = arguments.get(3).cloned().unwrap_or_default();
                if flags.iter().any(|flag| !PLAIN_FLAGS.contains(&flag.as_str()) && flag != "|") {
                    return cannot(&format!("with {}", flags.join(" ")));
                }
                let asked: u64 = argument(2).parse().map_err(|_| "not a number of bytes".to_owned())?;
                match result {
                    Some(sent) if sent >= 0 && sent as u64 == asked && asked <= MOST => {
                        self.has_written = true;
                        Ok(Some(Doing::Write(asked)))
                    }
                    Some(0..) => cannot("of a part"),
                    _ => cannot("that fails"),
                }
            }
            "read" | "recv" | "recvfrom" => match (result, error.as_deref()) {
                (Some(0), _) | (_, Some("EAGAIN")) => Ok(None),
                (Some(bytes), _) if bytes > 0 && bytes as u64 <= MOST => Ok(Some(Doing::Read(bytes as u64))),
                _ => cannot("that fails"),
            },
            "shutdown" => match argument(1) {
                "SHUT_WR" | "SHUT_RDWR" if result == Some(0) => Ok(Some(Doing::Close)),
                _ => cannot("of the direction to the host"),
            },
            "close" => {
                let socket = argument(0).parse::<i64>().ok();
                let is_listener = self.connects == Some(false) && socket != self.sockets.get(1).copied();
                if is_listener || self.has_closed {
                    return ok();
                }
                self.has_closed = true;
                Ok(Some(Doing::Close))
            }
            "setsockopt" => self.option_of_socket(&arguments).and_then(|()| ok()),
            _ => cannot(""),
        }
    }

    fn opens(&mut self, connects: bool) -> Result<(), String> {
        // A second connect() asks for the result of the first one.
        if self.connects.is_some_and(|before| !(before && connects)) {
            return Err("a second connection cannot be expressed".into());
        }
        self.connects = Some(connects);
        Ok(())
    }

    fn option_of_socket(&mut self, arguments: &Arguments) -> Result<(), String> {
        let words = |at: usize| arguments.get(at).cloned().unwrap_or_default();
        let name = words(2).concat();
        let value = words(3).concat();
        let value = value.trim_matches(['[', ']']);
        let number = || value.parse::<u32>().map_err(|_| format!("not a number: {value}"));
        match name.as_str() {
            "SO_REUSEADDR" | "SO_REUSEPORT" | "IP_FREEBIND" => {}
            // The harness writes as much as the buffer takes, and goes on when there is room.
            "SO_SNDBUF" | "SO_SNDBUFFORCE" => {}
            "TCP_NODELAY" if !self.has_written => self.settings.set("nagle", number()? == 0),
            "SO_RCVBUF" => self.settings.set("receive_buffer", format!("\"{} B\"", number()?)),
            "TCP_MAXSEG" => self.mss[0] = number()?,
            "TCP_SYNCNT" => self.settings.set("rto.syn_retries", number()?),
            "TCP_USER_TIMEOUT" => self.settings.set("give_up", format!("\"{} ms\"", number()?)),
            "TCP_CONGESTION" => self.settings.cc(value)?,
            _ => return Err(format!("setsockopt() with {name} cannot be expressed")),
        }
        Ok(())
    }

    /// Reads arguments in parentheses: each as its words and signs.
    fn arguments(&mut self) -> Result<Arguments, String> {
        self.expect('(')?;
        let (mut arguments, mut depth) = (vec![Vec::new()], 1);
        loop {
            let token = self.next()?;
            match token {
                Token::Sign('(' | '[' | '{') => depth += 1,
                Token::Sign(')' | ']' | '}') => depth -= 1,
                Token::Sign(',') if depth == 1 => {
                    arguments.push(Vec::new());
                    continue;
                }
                _ => {}
            }
            if depth == 0 {
                return Ok(arguments);
            }
            if let Some(words) = arguments.last_mut() {
                words.push(match token {
                    Token::Text(text) => text.clone(),
                    token => shown(token),
                });
            }
        }
    }

    /// Reads the result of a call, with the name of its error.
    fn result(&mut self) -> Result<(Option<i64>, Option<String>), String> {
        let is_negative = self.takes('-');
        let result = match self.next()? {
            Token::Word(word) => match word.strip_prefix("0x") {
                Some(digits) => i64::from_str_radix(digits, 16).ok(),
                None => word.parse::<i64>().ok(),
            },
            _ => None,
        };
        let mut error = None;
        if let Some(Token::Word(name)) = self.peek() {
            if name.starts_with('E') && name.chars().all(|letter| letter.is_ascii_uppercase()) {
                error = Some(name.clone());
                self.next()?;
            }
        }
        if self.peek() == Some(&Token::Sign('(')) {
            self.arguments()?;
        }
        Ok((result.map(|result| if is_negative { -result } else { result }), error))
    }
}
