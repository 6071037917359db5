//! What the two ends of a connection agree on.

use crate::scenario::file;
use crate::scenario::resolve::Report;
use crate::scenario::text::Amount;
use bentpipe_tcp::{Burst, Config, EcnConfig, EcnFeedback, FastOpen, Pacing, SharedCwnd, Sharing};
use bentpipe_units::Duration;

/// What a server gives out and takes; any number would do.
const COOKIE: [u8; 8] = *b"bentpipe";

pub(super) fn ecn(ecn: file::Ecn) -> EcnConfig {
    let (feedback, beta) = match ecn {
        file::Ecn::Off => (EcnFeedback::Off, None),
        file::Ecn::Classic { beta } => (EcnFeedback::Classic, beta),
        file::Ecn::PerSegment { beta } => (EcnFeedback::PerSegment, beta),
        file::Ecn::Accurate { beta } => (EcnFeedback::Accurate, beta),
    };
    EcnConfig { feedback, beta: beta.map(thousandths) }
}

fn thousandths(number: f64) -> u32 {
    (number * 1000.0).round() as u32
}

pub(super) fn pacing(
    pacing: file::Pacing,
    report: &mut Report<'_>,
    path: impl Fn(&[&'static str]) -> Vec<String>,
) -> Pacing {
    let burst = |burst: Amount, report: &mut Report<'_>| {
        let burst = match burst {
            Amount::Segments(n) => Burst::Segments(u32::try_from(n).unwrap_or(u32::MAX)),
            Amount::Bytes(n) => Burst::Bytes(n),
            _ => Burst::Segments(0),
        };
        if matches!(burst, Burst::Segments(0) | Burst::Bytes(0)) {
            report.value(&path(&["pacing", "burst"]), "lets nothing leave", "expected at least one segment or byte");
        }
        burst
    };
    match pacing {
        file::Pacing::Off => Pacing::Off,
        file::Pacing::Window { gain_slow_start, gain, burst: b } => Pacing::Window {
            gain_slow_start: thousandths(gain_slow_start),
            gain: thousandths(gain),
            burst: burst(b.0, report),
        },
        file::Pacing::Rate { rate, burst: b } => {
            if rate.0.as_bps() == 0 {
                report.value(&path(&["pacing", "rate"]), "lets nothing leave", "expected more than 0 bit/s");
            }
            Pacing::Rate { rate: rate.0, burst: burst(b.0, report) }
        }
    }
}

pub(super) fn fast_open(
    tcp: &file::Tcp,
    report: &mut Report<'_>,
    path: impl Fn(&[&'static str]) -> Vec<String>,
) -> Option<FastOpen> {
    let file::FastOpen::On { cookie } = tcp.fast_open else { return None };
    if !tcp.handshake {
        let expected = "expected handshake = true: Fast Open puts data into its first segment";
        report.value(&path(&["fast_open", "kind"]), "has no handshake to speed up", expected);
    }
    Some(FastOpen { is_known: cookie.0 == file::Cookie::Cached, cookie: COOKIE })
}

pub(super) fn sharing(
    tcp: &file::Tcp,
    report: &mut Report<'_>,
    path: impl Fn(&[&'static str]) -> Vec<String>,
) -> Option<Sharing> {
    let file::Sharing::On { ssthresh, rtt, cwnd, age_max } = tcp.sharing else { return None };
    if age_max.0 == Duration::ZERO {
        report.value(&path(&["sharing", "age_max"]), "forgets everything", "expected more than 0 s");
    }
    if cwnd.0 == SharedCwnd::Full && matches!(tcp.pacing, file::Pacing::Off) {
        let expected = "expected pacing, or \"cautious\" (RFC 9040 §5.2)";
        report.value(&path(&["sharing", "cwnd"]), "would send a whole window at once", expected);
    }
    Some(Sharing { ssthresh, rtt, cwnd: cwnd.0, age_max: age_max.0 })
}

/// Where an automatic send buffer starts, and where it ends.
pub(super) fn auto_send_buffer(
    tcp: &file::Tcp,
    smss: u32,
    report: &mut Report<'_>,
    path: impl Fn(&[&'static str]) -> Vec<String>,
) -> Option<(u64, u64)> {
    if tcp.send_buffer.0 != Amount::Word("auto") {
        return None;
    }
    let (start, limit) = (tcp.auto_send_buffer.start.0, tcp.auto_send_buffer.limit.0);
    if !(u64::from(smss)..=limit).contains(&start) {
        let expected = "expected at least one segment, at most auto_send_buffer.limit";
        report.value(&path(&["auto_send_buffer", "start"]), "is out of range", expected);
    }
    Some((start, limit))
}

/// Where an automatic receive buffer starts, and where it ends.
pub(super) fn auto_buffer(
    tcp: &file::Tcp,
    smss: u32,
    report: &mut Report<'_>,
    path: impl Fn(&[&'static str]) -> Vec<String>,
) -> Option<(u64, u64)> {
    if tcp.receive_buffer.0 != Amount::Word("auto") {
        return None;
    }
    let (start, limit) = (tcp.auto_buffer.start.0, tcp.auto_buffer.limit.0);
    if limit > Config::RECEIVE_BUFFER_MAX {
        let expected = format!("expected at most {} B (RFC 7323 §2.3)", Config::RECEIVE_BUFFER_MAX);
        report.value(&path(&["auto_buffer", "limit"]), "is out of range", &expected);
    } else if limit > 65_535 && !tcp.window_scaling {
        let expected = "expected at most 65535 B, or window_scaling = true";
        report.value(&path(&["auto_buffer", "limit"]), "cannot be advertised", expected);
    }
    if !(u64::from(smss)..=limit).contains(&start) {
        let expected = "expected at least one segment, at most auto_buffer.limit";
        report.value(&path(&["auto_buffer", "start"]), "is out of range", expected);
    } else if start < limit.div_ceil(65_535).next_power_of_two() {
        // The shift is agreed on at the start, for the limit.
        let expected = format!("expected at least {} B with this limit", limit.div_ceil(65_535).next_power_of_two());
        report.value(&path(&["auto_buffer", "start"]), "is less than the unit in which the window is told", &expected);
    }
    Some((start, limit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::from_toml;

    fn read(tcp: &str) -> Result<Config, String> {
        let link = "[link.l]\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbit/s\"\ndelay = \"20 ms\"\n";
        let text = format!("duration = \"1 s\"\n[tcp]\n{tcp}\n{link}[flow.f]\nfrom = \"a\"\nto = \"b\"\n");
        let read = from_toml(&text, "ends", &[]).map_err(|problems| problems.to_string())?;
        Ok(read.scenario.flows[0].tcp.clone())
    }

    #[test]
    fn nonsense_is_refused_with_its_reason() {
        for (tcp, reason) in [
            ("pacing = { kind = \"rate\", rate = \"0 bit/s\" }", "lets nothing leave"),
            ("pacing = { kind = \"window\", burst = \"0 segments\" }", "lets nothing leave"),
            ("pacing = { kind = \"window\", gain = 0 }", "0.1 to 100"),
            ("ecn = { kind = \"classic\", beta = 1 }", "0.1 to 0.99"),
            ("fast_open = \"on\"\nhandshake = false", "no handshake to speed up"),
            ("receive_buffer = \"auto\"\nwindow_scaling = false", "cannot be advertised"),
            ("receive_buffer = \"auto\"\nauto_buffer = { start = \"5 MB\" }", "at most auto_buffer.limit"),
            ("receive_buffer = \"auto\"\nauto_buffer = { limit = \"2 GB\" }", "1073725440 B"),
            ("sharing = { kind = \"on\", cwnd = \"full\" }", "a whole window at once"),
            ("sharing = { kind = \"on\", age_max = \"0 s\" }", "forgets everything"),
        ] {
            let problems = read(tcp).unwrap_err();
            assert!(problems.contains(reason), "{tcp}: {problems}");
        }
    }

    #[test]
    fn short_forms_have_the_defaults() {
        let paced = read("pacing = \"window\"").unwrap();
        let burst = Burst::Segments(2);
        assert_eq!(paced.pacing, Pacing::Window { gain_slow_start: 2000, gain: 1200, burst });
        let opened = read("fast_open = \"on\"").unwrap();
        assert!(opened.fast_open.is_some_and(|fast_open| !fast_open.is_known));
        let tuned = read("receive_buffer = \"auto\"").unwrap();
        assert_eq!((tuned.auto_buffer, tuned.receive_buffer), (Some(65_535), 4_000_000));
        // Both ends are configured alike, so that no handshake is needed to agree on marks.
        let marked = read("ecn = \"accurate\"\nhandshake = false").unwrap();
        assert_eq!(marked.ecn, EcnConfig { feedback: EcnFeedback::Accurate, beta: None });
    }
}
