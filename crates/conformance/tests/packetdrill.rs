//! Scripts in packetdrill's language: translation, refusals, settings, and random texts.

use bentpipe_conformance::{drill_cases, packetdrill, unchanged, Objection};
use bentpipe_tcp::CwndValidation;
use std::collections::BTreeMap;

/// A transfer with a loss: three SACKs find it, and one retransmission repairs it.
const LOSS: &str = "// A lost segment is repaired.
--tolerance_usecs=4000
`./defaults.sh
sysctl -q net.ipv4.tcp_timestamps=0`

    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
   +0 setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0
   +0 bind(3, ..., ...) = 0
   +0 listen(3, 1) = 0
  +.1 < S 7:7(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>
   +0 > S. 0:0(0) ack 8 <mss 1460,nop,nop,sackOK,nop,wscale 8>
  +.1 < . 8:8(0) ack 1 win 320
   +0 accept(3, ..., ...) = 4
   +0 write(4, ..., 5000) = 5000
   +0 > P. 1:5001(5000) ack 8
   +0 %{
assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd
assert 90000 <= tcpi_rtt <= 110000 and tcpi_unacked == 5
}%
  +.1 < . 8:8(0) ack 1 win 320 <sack 1001:2001,nop,nop>
+.001 < . 8:8(0) ack 1 win 320 <sack 1001:3001,nop,nop>
+.001 < . 8:8(0) ack 1 win 320 <sack 1001:4001,nop,nop>
+0~+.01 > . 1:1001(1000) ack 8
 +.10 < . 8:8(0) ack 5001 win 320
   +0 %{ assert tcpi_snd_ssthresh == 7 }%
0.500 < P. 8:108(100) ack 5001 win 320
   +0 > . 5001:5001(0) ack 108
   +0 read(4, ..., 500) = 100
   +0 close(4) = 0
   +0 > F. 5001:5001(0) ack 108
";

/// A client: its timestamps are free, and an echo of one is translated.
const CLIENT: &str = "
    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
   +0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
   +.3 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)
   +0 > S 0:0(0) <mss 1460,sackOK,TS val 100 ecr 0,nop,wscale 8>
  +.1 < S. 0:0(0) ack 1 win 5792 <mss 1460,sackOK,TS val 700 ecr 100,nop,wscale 7>
   +0 > . 1:1(0) ack 1 <nop,nop,TS val 200 ecr 700>
   +0 write(3, ..., 1448) = 1448
    * > P. 1:1449(1448) ack 1 <...>
  +.2 < . 1:1(0) ack 1449 win 257 <nop,nop,TS val 900 ecr 200>
";

fn files() -> BTreeMap<String, String> {
    let defaults = "#!/bin/sh\nsysctl -q net.ipv4.tcp_rmem=\"4096 540000 $((15*1024*1024))\"  # large\n\
                    sysctl -q net.ipv4.tcp_slow_start_after_idle=0\nip tcp_metrics flush all > /dev/null 2>&1\n";
    BTreeMap::from([("./defaults.sh".to_owned(), defaults.to_owned())])
}

/// Returns the first difference, or the fault.
fn difference(text: &str) -> Option<Objection> {
    match packetdrill(text, "a script", &files()) {
        Ok(case) => drill_cases(vec![case], &mut unchanged)[0].difference.clone(),
        Err(fault) => Some(fault),
    }
}

#[test]
fn scripts_of_packetdrill_hold() {
    assert_eq!(difference(LOSS), None);
    assert_eq!(difference(CLIENT), None);
}

/// A translation that compares nothing would prove nothing.
#[test]
fn wrong_expectations_of_packetdrill_fail() {
    for (from, to, message) in [
        ("> P. 1:5001(5000)", "> P. 1:4001(4000)", "sent at"),
        ("> P. 1:5001(5000)", "> P. 1:6001(6000)", "nothing was sent"),
        ("1:1001(1000) ack 8", "1:1001(1000) ack 9", "ack 8"),
        ("+0~+.01 > . 1:1001", "+.01~+.02 > . 1:1001", "but sent at"),
        ("+0~+.01 > . 1:1001(1000) ack 8\n", "", "sent at"),
        ("tcpi_snd_cwnd == 10", "tcpi_snd_cwnd != 10", "tcpi_snd_cwnd is 10"),
        ("tcpi_snd_ssthresh == 7", "8 <= tcpi_snd_ssthresh", "tcpi_snd_ssthresh is 7"),
        ("tcpi_unacked == 5", "tcpi_unacked < 5", "tcpi_unacked is 5"),
        ("<mss 1460,nop,nop,sackOK,nop,wscale 8>", "<mss 1440,nop,nop,sackOK,nop,wscale 8>", "mss 1440"),
        ("<mss 1460,nop,nop,sackOK,nop,wscale 8>", "<mss 1460,nop,wscale 8>", "SACK permitted"),
        ("<mss 1460,nop,nop,sackOK,nop,wscale 8>", "<mss 1460,nop,nop,sackOK>", "window scale"),
        ("> F. 5001", "> . 5001", "FIN"),
        ("ack 108\n   +0 read", "ack 108 <sack 8:9>\n   +0 read", "sack"),
    ] {
        let wrong = LOSS.replacen(from, to, 1);
        assert_ne!(wrong, LOSS, "{from}");
        let found = difference(&wrong).unwrap_or_else(|| panic!("{to} holds"));
        assert!(found.what.contains(message) || message == "ack 8", "{to}: {}", found.what);
    }
    for (from, to) in
        [("ecr 700", "ecr 701"), ("<nop,nop,TS val 200 ecr 700>", ""), ("> P. 1:1449(1448)", "> P. 1:1448(1447)")]
    {
        let wrong = CLIENT.replacen(from, to, 1);
        assert_ne!(wrong, CLIENT, "{from}");
        assert!(difference(&wrong).is_some(), "{to}");
    }
}

#[test]
fn what_packetdrill_says_and_no_case_can_is_refused_with_its_line() {
    let start = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 listen(3, 1) = 0\n";
    for (line, message) in [
        ("+0 < S 0:0(0) win 100 <mss 1000,FO abcd>", "Fast Open"),
        ("+0 < S 0:0(0) win 100 <mss 1000,md5 0>", "MD5"),
        ("+0 < S 0:0(0) win 100 urg 3 <mss 1000>", "urgent"),
        ("+0 < [tos 0x4] S 0:0(0) win 100", "ECN"),
        ("+0 < udp (1000)", "udp"),
        ("+0 < icmp unreachable", "icmp"),
        ("+0 < S 0:9(8) win 100", "8 bytes"),
        ("+0 write(4, ..., 1000) = 500", "of a part"),
        ("+0 write(4, ..., 1000) = -1 EPIPE (Broken pipe)", "that fails"),
        ("+0 send(4, ..., 1000, MSG_ZEROCOPY) = 1000", "MSG_ZEROCOPY"),
        ("+0 epoll_create(1) = 5", "epoll_create"),
        ("+0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 5", "a second connection"),
        ("+0 setsockopt(4, SOL_SOCKET, SO_ZEROCOPY, [1], 4) = 0", "SO_ZEROCOPY"),
        ("+0 %{ import os }%", "Python"),
        ("+0 %{ assert tcpi_options == 1 }%", "Python"),
        ("+0 `rm -rf /tmp/x`", "while the connection is open"),
        ("+99999999 write(4, ..., 1) = 1", "a time"),
        ("+2~+1 > . 1:1(0) ack 1", "ends before"),
        ("+0 >", "ends"),
        ("+0 ?", "expected"),
        ("+0 %{ assert", "without its end"),
    ] {
        let found = packetdrill(&format!("{start}{line}\n"), "x", &files()).unwrap_err();
        assert!(found.what.contains(message), "{line}: {}", found.what);
        assert_eq!(found.line, 3, "{line}: {}", found.what);
    }
    for (block, message) in [
        ("`touch /tmp/bentpipe-was-here`", "nothing is executed"),
        ("`./defaults.sh\n../other.sh`", "no such file"),
        ("`sysctl -q net.ipv4.tcp_abort_on_overflow=1`", "without a counterpart"),
        ("`sysctl -q net.ipv4.tcp_congestion_control=dctcp`", "dctcp"),
        ("--ip_version=ipv6", "ip_version"),
        ("--code_command=rm", "code_command"),
    ] {
        let found = packetdrill(&format!("{block}\n{start}"), "x", &files()).unwrap_err();
        assert!(found.what.contains(message), "{block}: {}", found.what);
    }
    assert!(packetdrill("", "x", &files()).unwrap_err().what.contains("no connection"));
}

#[test]
fn settings_of_shell_blocks_are_those_of_the_host() {
    let with = |block: &str| {
        let text = format!("{block}\n0 socket(..., SOCK_STREAM, 0) = 3\n+0 listen(3, 1) = 0\n+0 close(3) = 0\n");
        packetdrill(&text, "x", &files()).unwrap().config
    };
    assert!(with("").cwnd_validation == CwndValidation::Linux && with("").nagle);
    assert!(packetdrill(CLIENT, "x", &files()).unwrap().config.timestamps);
    let set = with(
        "`./defaults.sh\n../x/set_sysctls.py /proc/sys/net/ipv4/tcp_timestamps=0 \\\n /proc/sys/net/ipv4/tcp_sack=0`",
    );
    assert!(!set.timestamps && !set.idle_restart && !set.dsack);
    assert_eq!((set.receive_buffer, set.auto_buffer), (15 * 1024 * 1024, Some(540_000)));
    assert_eq!(with("--mtu=576").smss, 536);
}

/// Any change of a script is read or refused, and ends.
#[test]
fn any_text_is_read_or_refused() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut roll = move |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % limit.max(1) as u64) as usize
    };
    let signs: Vec<char> = "+~*<>.:()[],=`%{}\"-0 9é\n".chars().collect();
    let count = std::env::var("BENTPIPE_FUZZ_OPS").ok().and_then(|count| count.parse().ok()).unwrap_or(3000);
    for round in 0..count {
        let mut text: Vec<char> = [LOSS, CLIENT][round % 2].chars().collect();
        for _ in 0..=roll(4) {
            let (at, end) = (roll(text.len()), roll(text.len()));
            match roll(4) {
                0 => drop(text.drain(at.min(end)..at.max(end).min(at.min(end) + 40))),
                1 => text.insert(at, signs[roll(signs.len())]),
                2 => text[at] = signs[roll(signs.len())],
                _ => {
                    let part: Vec<char> = text[at.min(end)..at.max(end)].iter().take(60).copied().collect();
                    text.splice(at..at, part);
                }
            }
            if text.is_empty() {
                text.push('0');
            }
        }
        let _ = difference(&text.into_iter().collect::<String>());
    }
}
