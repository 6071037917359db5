//! The transport.

use super::link::hold;
use super::{ends, growth, text};
use crate::scenario::registered::setting_json;
use crate::scenario::text::buffer_text;
use crate::scenario::Flow;
use bentpipe_tcp::cc::{CcConfig, CustomCc};
use bentpipe_tcp::{Config, DelayTimer, GiveUp, InitialSsthresh, InitialWindow, Recovery};
use bentpipe_units::Word;
use serde_json::{json, Map, Value as Json};

pub(super) fn transport(flow: &Flow) -> Json {
    let tcp = &flow.tcp;
    let mut written = json!({
        "like": flow.like.name(),
        "cc": tcp.own_cc.as_ref().map_or_else(|| cc(tcp.cc), own_cc),
        "smss": format!("{} B", tcp.smss),
        "recovery": recovery(tcp.recovery),
        "verdict": { "kind": tcp.verdict.name() },
        "limited_transmit": tcp.limited_transmit,
        "limited_retransmit": tcp.limited_retransmit,
        "early_retransmit": tcp.early_retransmit,
        "reduction": tcp.reduction.name(),
        "dsack": tcp.dsack,
        "spurious_detection": tcp.spurious_detection.name(),
        "spurious_response": tcp.spurious_response.name(),
        "initial_window": match tcp.initial_window {
            InitialWindow::Segments(n) => format!("{n} segments"),
            InitialWindow::Bytes(n) => format!("{n} B"),
            InitialWindow::Rfc3390 => "rfc3390".into(),
            InitialWindow::Rfc5681 => "rfc5681".into(),
            InitialWindow::Rfc6928 => "rfc6928".into(),
        },
        "initial_ssthresh": match tcp.initial_ssthresh {
            InitialSsthresh::Unlimited => "unlimited".into(),
            InitialSsthresh::Bytes(n) => format!("{n} B"),
            InitialSsthresh::PeerWindow => "peer-window".into(),
        },
        "byte_counting": growth::byte_counting(tcp.growth.byte_counting),
        "slow_start": growth::slow_start(tcp.growth.slow_start),
        "increase": growth::increase(tcp.growth.increase),
        "slow_start_at_ssthresh": tcp.growth.slow_start_at_ssthresh,
        "cwnd_validation": tcp.cwnd_validation.name(),
        "idle_restart": tcp.idle_restart,
        "ssthresh_rounding": tcp.ssthresh_rounding.name(),
        "grow_on_exit": tcp.grow_on_exit,
        "ssthresh_base": tcp.ssthresh_base.name(),
        "give_up": match tcp.give_up {
            GiveUp::Never => "never".into(),
            GiveUp::AfterRetransmissions(n) => format!("{n} retransmissions"),
            GiveUp::AfterTime(span) => span.to_string(),
        },
        "timestamps": tcp.timestamps,
        "window_scaling": tcp.window_scaling,
        "receive_buffer": buffer_text(tcp.receive_buffer, Config::RECEIVE_BUFFER_MAX),
        "send_buffer": buffer_text(tcp.send_buffer, Config::UNLIMITED),
        "handshake": tcp.handshake,
        "rto": rto(flow),
        "ack": ack(tcp),
        "ecn": ends::ecn(tcp),
        "pacing": ends::pacing(tcp.pacing),
        "fast_open": ends::fast_open(tcp),
        "sharing": ends::sharing(tcp),
        "nagle": tcp.nagle,
        "processing": hold(flow.processing),
    });
    if let Some(start) = tcp.auto_buffer {
        written["receive_buffer"] = "auto".into();
        written["auto_buffer"] =
            json!({ "start": format!("{start} B"), "limit": format!("{} B", tcp.receive_buffer), "limit_bdp": 0 });
    }
    if let Some(start) = tcp.auto_send_buffer {
        written["send_buffer"] = "auto".into();
        written["auto_send_buffer"] =
            json!({ "start": format!("{start} B"), "limit": format!("{} B", tcp.send_buffer), "limit_bdp": 0 });
    }
    written
}

fn rto(flow: &Flow) -> Json {
    let tcp = &flow.tcp;
    json!({
        "initial": text(tcp.rto.initial),
        "min": text(tcp.rto.min),
        "max": text(tcp.rto.max),
        "granularity": text(tcp.rto.granularity),
        "phase": if flow.phase_drawn { "random".into() } else { text(tcp.rto.phase) },
        "guard": tcp.rto.guard,
        "variance_min": text(tcp.rto.variance_min),
        "rounding": tcp.rto.rounding.name(),
        "min_ticks": tcp.rto.min_ticks,
        "sampling": tcp.rto.sampling.name(),
        "karn": tcp.rto.karn,
        "restart_on_fast_retransmit": tcp.rto.restart_on_fast_retransmit,
        "backoff": tcp.rto.backoff,
        "backoff_max": tcp.rto.backoff_max,
        "forget_after": tcp.rto.forget_after,
        "reduce_again": tcp.rto.reduce_again,
    })
}

fn ack(tcp: &Config) -> Json {
    json!({
        "every": tcp.ack.every,
        "delay": text(tcp.ack.delay),
        "timer": match tcp.ack.timer {
            DelayTimer::PerSegment => "per-segment",
            DelayTimer::FreeRunning { .. } => "free-running",
        },
        "quick": tcp.ack.quick,
        "slow_start": tcp.ack.slow_start.name(),
    })
}

fn recovery(recovery: Recovery) -> Json {
    let mut table = Map::from_iter([("kind".to_owned(), Json::from(recovery.name()))]);
    let mut put = |key: &str, value: Json| drop(table.insert(key.into(), value));
    match recovery {
        Recovery::NewReno(newreno) => {
            put("timer", newreno.timer.name().into());
            put("exit", newreno.exit.name().into());
            put("deflate", newreno.deflate.name().into());
            put("first_loss", newreno.first_loss.into());
            put("burst", newreno.burst.into());
        }
        Recovery::Sack { on_rto, evidence } => {
            put("on_rto", on_rto.name().into());
            put("evidence", evidence.name().into());
        }
        Recovery::Rack(rack) => {
            put("tlp", rack.tlp.into());
            put("max_ack_delay", text(rack.max_ack_delay));
            put("min_rtt_window", text(rack.min_rtt_window));
        }
        Recovery::Snack(snack) => {
            put("form", snack.form.name().into());
            put("resnacks", snack.resnacks.into());
            put("grows", snack.grows.into());
            put("corruption_experienced", snack.corruption_experienced.into());
        }
        Recovery::TimeoutOnly | Recovery::FastRetransmit | Recovery::Reno => {}
    }
    table.into()
}

fn own_cc(own: &CustomCc) -> Json {
    json!({ "kind": own.name(), "code": own.code() })
}

fn cc(config: CcConfig) -> Json {
    let mut table = Map::from_iter([("kind".to_owned(), config.kind().name().into())]);
    for (index, setting) in config.kind().settings().iter().enumerate() {
        table.extend(config.get(index).map(|value| (setting.name.to_owned(), setting_json(value))));
    }
    Json::Object(table)
}
