//! Compares a sent segment with its line, and shows segments in the words of scripts.

use super::Bench;
use crate::script::Described;
use bentpipe_tcp::{CountOption, Ecn, FastOpenOption, Flags, Options, Segment, Timestamps};
use bentpipe_units::{Duration, Seq};

impl Bench<'_> {
    pub(super) fn difference(&self, wanted: &Described, sent: &Segment, late: Duration) -> Option<String> {
        let (own, peer) = (self.first(false), self.first(true));
        for (name, is_wanted, flag) in
            [("SYN", wanted.is_syn, Flags::SYN), ("FIN", wanted.is_fin, Flags::FIN), ("RST", wanted.is_rst, Flags::RST)]
        {
            if is_wanted != sent.flags.has(flag) {
                return Some(format!("{}{name}", if is_wanted { "" } else { "no " }));
            }
        }
        for (name, is_wanted, flag) in [
            ("ECE", wanted.is_ece, Flags::ECE),
            ("CWR", wanted.is_cwr, Flags::CWR),
            ("the signal of slow start", wanted.is_slow_start, Flags::SLOW_START),
        ] {
            if is_wanted.is_some_and(|is_wanted| is_wanted != sent.flags.has(flag)) {
                return Some(format!("{name} to be {is_wanted:?}"));
            }
        }
        if wanted.ace.is_some_and(|ace| ace != sent.flags.ace()) {
            return Some(format!("ace {}", wanted.ace?));
        }
        if wanted.has_no_ack == sent.flags.has(Flags::ACK) && (wanted.has_no_ack || !wanted.is_syn && !wanted.is_rst) {
            return Some("another ACK flag".to_owned());
        }
        match wanted.data {
            Some((from, to)) if sent.data_seq() != own.at(from) || u64::from(sent.len) != to - from => {
                return Some(format!("{from}:{to}"));
            }
            None if sent.len > 0 => return Some("no data".to_owned()),
            _ => {}
        }
        if wanted.ack.is_some_and(|ack| sent.ack != peer.at(ack)) {
            return Some(format!("ack {}", wanted.ack?));
        }
        let shift = if wanted.is_syn { 0 } else { self.own_shift };
        if wanted.window.is_some_and(|window| u64::from(sent.window) << shift != window) {
            return Some(format!("win {}", wanted.window?));
        }
        if wanted.ecn.is_some_and(|ecn| ecn != sent.ecn) {
            return Some(format!("{:?}", wanted.ecn?));
        }
        let blocks: &[(Seq, Seq)] = match &sent.options {
            Options::Sack(blocks) => blocks.as_slice(),
            _ => &[],
        };
        let named: Vec<_> =
            wanted.sack.iter().flatten().map(|&(left, right)| (peer.at(left), peer.at(right))).collect();
        if !wanted.has_no_options && blocks != named.as_slice() {
            return Some(format!("sack {:?}", wanted.sack.as_deref().unwrap_or(&[])));
        }
        let stamps = wanted.timestamps.map(|(value, echo)| Timestamps { value, echo });
        let is_near = |wanted: Timestamps, sent: Timestamps| {
            let late = (self.slipped + late).as_ps() / 1_000_000_000;
            wanted.echo == sent.echo && u64::from(wanted.value.abs_diff(sent.value)) <= late
        };
        if stamps.is_some_and(|wanted| !sent.timestamps.is_some_and(|sent| is_near(wanted, sent))) {
            return Some(format!("{:?}", stamps?));
        }
        if wanted.has_no_timestamps && sent.timestamps.is_some() {
            return Some("no timestamps".to_owned());
        }
        if let Some((_, echo)) = wanted.stamps {
            if sent.timestamps.is_none_or(|sent| sent.echo != echo) {
                return Some(format!("timestamps that echo {echo}"));
            }
        }
        if wanted.field.is_some_and(|field| field != sent.window) {
            return Some(format!("win {} in the header", wanted.field?));
        }
        let (count, echo) = match sent.options {
            Options::Syn(syn) => (syn.count, syn.count_echo),
            _ => (sent.count.map_or(CountOption::None, CountOption::Count), None),
        };
        if wanted.count.is_some_and(|wanted| wanted != count) {
            return Some(format!("{:?}", wanted.count?));
        }
        if wanted.count_echo.is_some() && wanted.count_echo != echo {
            return Some(format!("ccecho {}", wanted.count_echo?));
        }
        let Options::Syn(options) = &sent.options else { return None };
        match () {
            () if wanted.mss.is_some_and(|mss| mss != options.mss) => Some(format!("mss {}", wanted.mss?)),
            () if wanted.window_scale.is_some_and(|shift| shift != options.window_scale) => {
                Some(format!("window scale {:?}", wanted.window_scale?))
            }
            () if wanted.sack_permitted.is_some_and(|permitted| permitted != options.sack_permitted) => {
                Some(format!("SACK permitted: {:?}", wanted.sack_permitted?))
            }
            () if wanted.cookie.is_some_and(|cookie| cookie != options.fast_open) => {
                Some(format!("{:?}", wanted.cookie?))
            }
            () => None,
        }
    }

    pub(super) fn show(&self, segment: &Segment) -> String {
        let (own, peer) = (self.first(false), self.first(true));
        let offset = |seq: Seq, first: Seq| i64::from(seq.value().wrapping_sub(first.value()) as i32);
        let start = offset(segment.data_seq(), own);
        let mut text = String::new();
        for (flag, name) in [
            (Flags::SYN, "syn "),
            (Flags::FIN, "fin "),
            (Flags::RST, "rst "),
            (Flags::ECE, "ece "),
            (Flags::CWR, "cwr "),
            (Flags::AE, "ae "),
            (Flags::SLOW_START, "slowstart "),
        ] {
            text += if segment.flags.has(flag) { name } else { "" };
        }
        text += &format!("{start}:{} ack {}", start + i64::from(segment.len), offset(segment.ack, peer));
        text += &format!(
            " win {}",
            u64::from(segment.window) << if segment.flags.has(Flags::SYN) { 0 } else { self.own_shift }
        );
        if let Options::Sack(blocks) = &segment.options {
            let blocks: Vec<_> =
                blocks.as_slice().iter().map(|b| format!("{}:{}", offset(b.0, peer), offset(b.1, peer))).collect();
            text += &format!(" sack {}", blocks.join(","));
        }
        if let Some(stamps) = segment.timestamps {
            text += &format!(" ts {}/{}", stamps.value, stamps.echo);
        }
        if let Options::Syn(options) = &segment.options {
            text += &format!(" mss {}", options.mss);
            text += &options.window_scale.map_or(" nowscale".into(), |shift| format!(" wscale {shift}"));
            text += if options.sack_permitted { " sackok" } else { " nosackok" };
            text += &match options.fast_open {
                FastOpenOption::None => String::new(),
                FastOpenOption::Request => " cookie ask".to_owned(),
                FastOpenOption::Cookie(cookie) => format!(" cookie {}", cookie.escape_ascii()),
            };
        }
        let (count, echo) = match segment.options {
            Options::Syn(syn) => (syn.count, syn.count_echo),
            _ => (segment.count.map_or(CountOption::None, CountOption::Count), None),
        };
        text += &match count {
            CountOption::None => String::new(),
            CountOption::Count(count) => format!(" cc {count}"),
            CountOption::New(count) => format!(" ccnew {count}"),
        };
        text += &echo.map_or_else(String::new, |echo| format!(" ccecho {echo}"));
        if segment.ecn != Ecn::NotEct {
            text += &format!(" {:?}", segment.ecn).to_lowercase();
        }
        text
    }
}
