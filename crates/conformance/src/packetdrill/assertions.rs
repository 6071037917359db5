//! Assertions about `tcp_info` in a packetdrill script.

use crate::script::{Fact, Order};

/// Fields of `tcp_info` (linux/tcp.h) that can be compared.
const FIELDS: [&str; 14] = [
    "tcpi_state",
    "tcpi_ca_state",
    "tcpi_backoff",
    "tcpi_rto",
    "tcpi_snd_mss",
    "tcpi_unacked",
    "tcpi_sacked",
    "tcpi_lost",
    "tcpi_retrans",
    "tcpi_rtt",
    "tcpi_snd_ssthresh",
    "tcpi_snd_cwnd",
    "tcpi_reordering",
    "tcpi_total_retrans",
];

/// Constants, from linux/tcp.h and net/tcp_states.h.
const NAMES: [(&str, i64); 17] = [
    ("TCP_CA_Open", 0),
    ("TCP_CA_Disorder", 1),
    ("TCP_CA_CWR", 2),
    ("TCP_CA_Recovery", 3),
    ("TCP_CA_Loss", 4),
    ("TCP_ESTABLISHED", 1),
    ("TCP_SYN_SENT", 2),
    ("TCP_SYN_RECV", 3),
    ("TCP_FIN_WAIT1", 4),
    ("TCP_FIN_WAIT2", 5),
    ("TCP_TIME_WAIT", 6),
    ("TCP_CLOSE", 7),
    ("TCP_CLOSE_WAIT", 8),
    ("TCP_LAST_ACK", 9),
    ("TCP_LISTEN", 10),
    ("TCP_CLOSING", 11),
    ("TCP_INFINITE_SSTHRESH", 0x7fff_ffff),
];

/// Reads a block of lines `assert A == B and C <= D, MESSAGE`.
pub(super) fn read(code: &str) -> Result<Vec<Fact>, String> {
    let (mut facts, mut own) = (Vec::new(), Vec::new());
    for line in code.split(['\n', ';']) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let cannot = || format!("a line of Python that cannot be expressed: {line}");
        // Output has no effect.
        if line.starts_with("print(") && line.ends_with(')') {
            continue;
        }
        if let Some((name, value)) = line.split_once('=').filter(|_| !line.starts_with("assert")) {
            own.push((name.trim().to_owned(), number(value.trim(), &[]).ok_or_else(cannot)?));
            continue;
        }
        let claim = line.strip_prefix("assert").filter(|rest| !rest.starts_with(char::is_alphanumeric));
        let claim = claim.ok_or_else(cannot)?.split(',').next().unwrap_or_default();
        for part in claim.split(" and ") {
            facts.extend(comparisons(part, &own).ok_or_else(cannot)?);
        }
    }
    Ok(facts)
}

/// Reads `A == B`, or a chain `A <= B <= C`.
fn comparisons(text: &str, own: &[(String, i64)]) -> Option<Vec<Fact>> {
    let mut rest = text.trim();
    while let Some(inside) = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        rest = inside.trim();
    }
    let (mut values, mut orders) = (Vec::new(), Vec::new());
    loop {
        let end = rest.find(['=', '<', '>', '!']).unwrap_or(rest.len());
        values.push(rest[..end].trim());
        rest = &rest[end..];
        if rest.is_empty() {
            break;
        }
        let (order, len) = match rest.as_bytes() {
            [b'=', b'=', ..] => (Order::Equal, 2),
            [b'!', b'=', ..] => (Order::Differs, 2),
            [b'<', b'=', ..] => (Order::AtMost, 2),
            [b'>', b'=', ..] => (Order::AtLeast, 2),
            [b'<', ..] => (Order::Below, 1),
            [b'>', ..] => (Order::Above, 1),
            _ => return None,
        };
        orders.push(order);
        rest = &rest[len..];
    }
    let field = |text: &str| FIELDS.iter().find(|field| **field == text).copied();
    let facts = orders.iter().zip(values.windows(2)).map(|(&order, pair)| match (field(pair[0]), field(pair[1])) {
        (Some(name), None) => Some(Fact { name, order, value: number(pair[1], own)? }),
        (None, Some(name)) => Some(Fact { name, order: order.reversed(), value: number(pair[0], own)? }),
        _ => None,
    });
    let facts: Vec<Fact> = facts.collect::<Option<_>>()?;
    (!facts.is_empty()).then_some(facts)
}

/// Reads a number, or the name of one: of the script, or of the kernel.
fn number(text: &str, own: &[(String, i64)]) -> Option<i64> {
    let named = || NAMES.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
    let of_script = own.iter().rfind(|(name, _)| name == text).map(|(_, value)| *value);
    of_script.or_else(named).or_else(|| match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    })
}
