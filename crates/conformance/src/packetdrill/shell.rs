//! Settings of a packetdrill script: the known forms of its shell blocks. Nothing is executed.

use std::collections::BTreeMap;

/// Deepest chain of files that name files.
const DEEPEST: usize = 3;

/// Settings without an effect on a connection of a script: they concern bursts on a device, stored metrics, other
/// connections, or options that no script can use.
const WITHOUT_EFFECT: &[&str] = &[
    "tcp_min_tso_segs",
    "tcp_tso_win_divisor",
    "tcp_tso_rtt_log",
    "tcp_autocorking",
    "tcp_comp_sack_nr",
    "tcp_fack",
    "tcp_ecn_option",
    "tcp_fastopen",
    "tcp_fastopen_key",
    "tcp_syncookies",
    "tcp_no_metrics_save",
    "tcp_notsent_lowat",
    "tcp_limit_output_bytes",
];

/// Settings that must have their usual value.
const USUAL: &[(&str, &str)] = &[
    ("tcp_recovery", "1"),
    ("tcp_reordering", "3"),
    ("tcp_pacing_ss_ratio", "200"),
    ("tcp_pacing_ca_ratio", "120"),
    ("tcp_retries2", "15"),
    ("tcp_mtu_probing", "0"),
    ("tcp_app_win", "31"),
    ("tcp_moderate_rcvbuf", "1"),
];

/// Settings of a script, as keys of `[tcp]`, each with the line that sets it.
pub(super) struct Settings<'a> {
    /// Texts of the shell files that the script names, by the name as written.
    files: &'a BTreeMap<String, String>,
    keys: BTreeMap<&'static str, (usize, String)>,
    has_sack: bool,
    has_probes: bool,
    has_frto: bool,
    is_paced: bool,
    /// Whether the connection under test opens.
    asks: bool,
    line: usize,
}

impl<'a> Settings<'a> {
    pub(super) fn new(files: &'a BTreeMap<String, String>, asks: bool) -> Self {
        let (has_sack, has_probes, has_frto) = (true, true, true);
        Self { files, keys: BTreeMap::new(), has_sack, has_probes, has_frto, is_paced: false, asks, line: 1 }
    }

    /// Sets a key of `[tcp]`.
    pub(super) fn set(&mut self, key: &'static str, value: impl ToString) {
        self.keys.insert(key, (self.line, value.to_string()));
    }

    /// Whether the host offers timestamps.
    pub(super) fn has_stamps(&self) -> bool {
        self.keys.get("timestamps").is_none_or(|(_, value)| value == "true")
    }

    /// Reads a shell block that begins in `line`.
    pub(super) fn read(&mut self, line: usize, block: &str) -> Result<(), String> {
        self.line = line;
        self.commands(block, 0)
    }

    fn commands(&mut self, block: &str, depth: usize) -> Result<(), String> {
        let block = block.replace("\\\n", " ");
        for command in block.split(['\n', ';']) {
            let command = command.split_once(" #").map_or(command, |(command, _)| command).trim();
            if !command.is_empty() && !command.starts_with('#') {
                self.command(command, depth)?;
            }
        }
        Ok(())
    }

    fn command(&mut self, text: &str, depth: usize) -> Result<(), String> {
        let words = words(text);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["sysctl", rest @ ..] => {
                rest.iter().filter(|word| !word.starts_with('-')).try_for_each(|word| self.sysctl(word))
            }
            [tool, rest @ ..] if tool.ends_with("/set_sysctls.py") => {
                rest.iter().try_for_each(|word| self.sysctl(word))
            }
            ["ip", "tcp_metrics", "flush", "all"] => Ok(()),
            ["tc", "qdisc", _, "dev", _, "root", kind, ..] if ["pfifo", "fq", "noqueue"].contains(kind) => {
                self.is_paced = *kind == "fq";
                Ok(())
            }
            ["echo", "3", ">", "/sys/module/tcp_cubic/parameters/hystart_detect"] => Ok(()),
            [file] if file.contains("sysctl_restore") => Ok(()),
            [file] if file.ends_with(".sh") && depth < DEEPEST => match self.files.get(*file) {
                Some(text) => self.commands(text, depth + 1),
                None => Err(format!("no such file beside the script: {file}")),
            },
            _ => Err(format!("a shell command that is not a setting (nothing is executed): {text}")),
        }
    }

    /// Applies `net.ipv4.NAME=VALUE`, or a path below `/proc/sys`.
    fn sysctl(&mut self, text: &str) -> Result<(), String> {
        let cannot = || format!("a setting without a counterpart: {text}");
        let (name, value) = text.split_once('=').ok_or_else(cannot)?;
        let name = name.trim_start_matches("/proc/sys/").replace('/', ".");
        let name = name.strip_prefix("net.ipv4.").ok_or_else(cannot)?;
        let value = value.trim();
        if WITHOUT_EFFECT.contains(&name) || USUAL.contains(&(name, value)) {
            return Ok(());
        }
        let number = || value.parse::<u32>().map_err(|_| cannot());
        let is_on = || number().map(|value| value != 0);
        match name {
            "tcp_timestamps" => self.set("timestamps", is_on()?),
            "tcp_window_scaling" => self.set("window_scaling", is_on()?),
            "tcp_dsack" => self.set("dsack", is_on()?),
            "tcp_sack" => self.has_sack = is_on()?,
            "tcp_early_retrans" => self.has_probes = number()? >= 3,
            "tcp_frto" => self.has_frto = is_on()?,
            "tcp_syn_retries" => self.set("rto.syn_retries", number()?),
            "tcp_synack_retries" => self.set("rto.synack_retries", number()?),
            "tcp_syn_linear_timeouts" => self.set("rto.syn_linear_timeouts", number()?),
            "tcp_rto_min_us" => self.set("rto.min", format!("\"{} us\"", number()?)),
            "tcp_rto_max_ms" => self.set("rto.max", format!("\"{} ms\"", number()?)),
            "tcp_invalid_ratelimit" => self.set("challenge_acks.interval", format!("\"{} ms\"", number()?)),
            "tcp_congestion_control" => self.cc(value)?,
            "tcp_slow_start_after_idle" if is_on()? => {
                self.keys.remove("idle_restart");
                self.keys.remove("cwnd_validation");
            }
            "tcp_slow_start_after_idle" => {
                self.set("idle_restart", false);
                self.set("cwnd_validation", "\"if-used\"");
            }
            "tcp_ecn" => match number()? {
                0 => self.set("ecn", "\"off\""),
                // 2: agrees, but does not ask.
                2 if self.asks => self.set("ecn", "\"off\""),
                1 | 2 => self.set("ecn", "\"classic\""),
                _ => return Err(cannot()),
            },
            "tcp_rmem" => {
                let (start, limit) = buffer(value).ok_or_else(cannot)?;
                self.set("auto_buffer.start", format!("\"{start} B\""));
                self.set("auto_buffer.limit", format!("\"{limit} B\""));
            }
            "tcp_wmem" => {
                let (start, limit) = buffer(value).ok_or_else(cannot)?;
                self.set("auto_send_buffer.start", format!("\"{start} B\""));
                self.set("auto_send_buffer.limit", format!("\"{limit} B\""));
            }
            _ => return Err(cannot()),
        }
        Ok(())
    }

    /// Sets the congestion control by the kernel's name.
    pub(super) fn cc(&mut self, kernels: &str) -> Result<(), String> {
        let ours = match kernels {
            "cubic" => "cubic",
            "reno" => "newreno",
            "bbr" => "bbr1",
            _ => return Err(format!("a congestion control without a counterpart: {kernels}")),
        };
        self.set("cc", format!("\"{ours}\""));
        Ok(())
    }

    /// Returns the keys of `[tcp]`, each with its line.
    pub(super) fn keys(mut self) -> Vec<(usize, String)> {
        self.line = 1;
        self.set("like", if self.is_paced { "\"linux-6-paced\"" } else { "\"linux-6\"" });
        match (self.has_sack, self.has_probes) {
            (false, _) => {
                self.set("recovery", "\"newreno\"");
                self.set("dsack", false);
            }
            (true, false) => self.set("recovery", "{ kind = \"rack\", tlp = false }"),
            (true, true) => {}
        }
        if !self.has_frto {
            self.set("spurious_detection", if self.has_stamps() { "\"eifel\"" } else { "\"dsack\"" });
        }
        self.keys.into_iter().map(|(key, (line, value))| (line, format!("{key} = {value}"))).collect()
    }
}

/// Splits a command at spaces outside of quotes, and without its redirections to `/dev/null`.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for letter in text.chars() {
        match letter {
            '"' | '\'' => is_quoted = !is_quoted,
            letter if letter.is_whitespace() && !is_quoted => words.push(String::new()),
            letter => words.last_mut().unwrap_or(&mut String::new()).push(letter),
        }
    }
    words.retain(|word| !word.is_empty());
    while let [.., ">", "/dev/null"] | [.., "2>&1"] | [.., "2>/dev/null"] | [.., ">/dev/null"] =
        words.iter().map(String::as_str).collect::<Vec<_>>().as_slice()
    {
        words.pop();
        if words.last().is_some_and(|word| word == ">") {
            words.pop();
        }
    }
    words
}

/// Reads `LEAST START LARGEST`, in bytes, and returns the last two. A number may be `$((A*B))`.
fn buffer(text: &str) -> Option<(u64, u64)> {
    let number = |text: &str| {
        let text = text.strip_prefix("$((").and_then(|text| text.strip_suffix("))")).unwrap_or(text);
        text.split('*').try_fold(1_u64, |product, factor| product.checked_mul(factor.trim().parse().ok()?))
    };
    let values: Vec<u64> = text.split_whitespace().map(number).collect::<Option<_>>()?;
    match values[..] {
        [_, start, limit] if start <= limit && limit <= 1 << 30 => Some((start, limit)),
        _ => None,
    }
}
