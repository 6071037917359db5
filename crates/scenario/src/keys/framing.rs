//! `framing` and `mtu` of a link: the checks of their values.

use super::super::report::{below, Report};
use bentpipe_model::spec::{Frames, Framing, Mtu};

/// Checks the framing of a link.
pub(crate) fn check_framing(framing: Framing, report: &mut Report<'_>, path: &[String]) {
    let mut at_most = |key: &str, bytes: u64| {
        if bytes > BYTES_MAX {
            report.value(&below(path, key), "is out of range", &format!("expected at most {BYTES_MAX} B"));
        }
    };
    match framing {
        Framing::None | Framing::Ethernet | Framing::Mpe | Framing::Hdlc => {}
        Framing::Aal5 { header } => at_most("header", header),
        Framing::Gse { label } => {
            if ![0, 3, 6].contains(&label) {
                report.value(&below(path, "label"), "is not the length of a label", "expected 0 B, 3 B or 6 B");
            }
        }
        Framing::Frames(Frames { overhead, minimum, payload, cell, .. }) => {
            for (key, bytes) in [("overhead", overhead), ("minimum", minimum), ("payload", payload), ("cell", cell)] {
                at_most(key, bytes);
            }
            if payload == 0 {
                report.value(&below(path, "payload"), "is too small", "expected at least 1 B, like \"48 B\"");
            } else if cell < payload {
                let expected = format!("expected cell of at least {payload} B, like \"53 B\" with \"48 B\"");
                report.value(&below(path, "payload"), "does not fit into a cell", &expected);
            } else if payload == 1 && cell > 1 {
                report.value(
                    &below(path, "cell"),
                    "carries 1 B",
                    "expected payload beside it, like \"48 B\" with \"53 B\"",
                );
            }
        }
    }
}

/// Checks that the senders can make packets as small as the MTU of a link.
pub(crate) fn check_mtu(mtu: Mtu, report: &mut Report<'_>, path: &[String]) {
    if !(MTU_MIN..=BYTES_MAX).contains(&mtu.size) {
        let expected = format!("expected {MTU_MIN} B to {BYTES_MAX} B, like \"1500 B\"");
        report.value(&below(path, "size"), "is out of range", &expected);
    }
}

/// Least MTU of an IP link in bytes (RFC 791 §3.2).
const MTU_MIN: u64 = 68;
/// Largest packet, header or cell in bytes.
const BYTES_MAX: u64 = 65_535;
