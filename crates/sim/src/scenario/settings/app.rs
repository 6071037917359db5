//! Applications.

use super::below;
use crate::scenario::resolve::Report;
use crate::scenario::{file, App, Arrivals, Bulk, Datagrams, Gaps, Page, Reader, RequestResponse, Size, Wait};
use bentpipe_units::{Duration, Rate};

/// The largest payload of a datagram: what fits a 65,535-byte packet with its headers.
const DATAGRAM_MAX: u64 = 65_507;

pub(in crate::scenario) fn app(app: &file::App, report: &mut Report<'_>, path: &[String]) -> App {
    let key = |key| below(path, key);
    match app {
        file::App::Greedy => App::Greedy,
        file::App::File { size } => App::File { size: some(size.0, report, &key("size")) },
        file::App::Bulk { size: bytes, pause, count, reconnect } => App::Bulk(Bulk {
            size: size(bytes, report, &key("size")),
            pause: wait(pause, report, &key("pause")),
            count: *count,
            reconnect: *reconnect,
        }),
        file::App::Arrivals { size: bytes, load, link, interval, count, overload, .. } => {
            match (load, link, interval) {
                (Some(_), Some(_), None) | (None, None, Some(_)) => {}
                (Some(_), None, None) => report.key(
                    path,
                    "has a load, but not of which link",
                    "expected link, like \"sat.forward\", beside load",
                ),
                (None, Some(_), None) => report.key(path, "has a link, but no load", "expected load, like \"60 %\""),
                (None, None, None) => {
                    report.key(path, "does not say how often transfers arrive", "expected load and link, or interval")
                }
                _ => report.key(path, "says twice how often transfers arrive", "expected load and link, or interval"),
            }
            if let Some(load) = load.filter(|load| load.0 == 0) {
                report.value(&key("load"), &format!("is nothing: {} %", load.0), "expected more than 0 %");
            }
            let interval = interval.map_or(Duration::from_secs(1), |interval| {
                positive(interval.0, report, &key("interval"), "is no time between arrivals")
            });
            let size = size(bytes, report, &key("size"));
            App::Arrivals(Arrivals { size, interval, count: *count, overload: *overload })
        }
        file::App::RequestResponse { request, response, wait: pause, think, count, reconnect } => {
            App::RequestResponse(RequestResponse {
                request: size(request, report, &key("request")),
                response: size(response, report, &key("response")),
                wait: wait(pause, report, &key("wait")),
                think: wait(think, report, &key("think")),
                count: *count,
                reconnect: *reconnect,
            })
        }
        file::App::Page { connections, multiplexed, page_scale, request, tls_rtts, parse, reading, count } => {
            if *multiplexed && !report.is_default(&key("connections")) {
                let message = "is of no use: multiplexed means one connection";
                report.value(&key("connections"), message, "expected one of the two");
            }
            App::Page(Page {
                connections: *connections,
                multiplexed: *multiplexed,
                scale: *page_scale,
                request: some(request.0, report, &key("request")),
                tls_rtts: *tls_rtts,
                parse: wait(parse, report, &key("parse")),
                reading: wait(reading, report, &key("reading")),
                count: *count,
            })
        }
        file::App::Cbr { rate, size, jitter } => {
            let (rate, size) = (flowing(rate.0, report, &key("rate")), datagram(size.0, report, &key("size")));
            let distance = rate.time_to_send(size.into());
            if jitter.0 * 2 > distance {
                let message = format!("is more than half the distance between datagrams, which is {distance}");
                report.value(&key("jitter"), &message, "expected less, so that they stay in order");
            }
            App::Datagrams(Datagrams { size, gaps: Gaps::Constant { rate, jitter: jitter.0 } })
        }
        file::App::Poisson { rate, size } => {
            let (rate, size) = (flowing(rate.0, report, &key("rate")), datagram(size.0, report, &key("size")));
            App::Datagrams(Datagrams { size, gaps: Gaps::Poisson { rate } })
        }
        file::App::OnOff { peak, size, on, off } => {
            let (peak, size) = (flowing(peak.0, report, &key("peak")), datagram(size.0, report, &key("size")));
            let gaps = Gaps::OnOff { peak, on: wait(on, report, &key("on")), off: wait(off, report, &key("off")) };
            if let Gaps::OnOff { on, .. } = gaps {
                positive(on.mean(), report, &key("on"), "is never on");
            }
            App::Datagrams(Datagrams { size, gaps })
        }
    }
}

pub(in crate::scenario) fn reader(reader: file::Reader, report: &mut Report<'_>, path: &[String]) -> Reader {
    let every = positive(reader.every.0, report, &below(path, "every"), "is no time between reads");
    if reader.rate.0.bytes_in(every) == 0 {
        let message = format!("is less than a byte in {every}");
        report.value(&below(path, "rate"), &message, "expected a higher rate, or a longer time between reads");
    }
    Reader { rate: reader.rate.0, every }
}

fn size(size: &file::Size, report: &mut Report<'_>, path: &[String]) -> Size {
    let key = |key| below(path, key);
    match size {
        file::Size::Fixed(bytes) => Size::Fixed(some(bytes.0, report, path)),
        file::Size::Drawn(file::SizeDistribution::Exponential { mean }) => {
            Size::Exponential { mean: some(mean.0, report, &key("mean")) }
        }
        file::Size::Drawn(file::SizeDistribution::Pareto { shape, min }) => {
            Size::Pareto { shape: *shape, min: some(min.0, report, &key("min")) }
        }
        file::Size::Drawn(file::SizeDistribution::BoundedPareto { shape, min, max }) => {
            let min = some(min.0, report, &key("min"));
            if max.0 <= min {
                report.value(&key("max"), "is not above the least", "expected more than min");
            }
            Size::BoundedPareto { shape: *shape, min, max: max.0 }
        }
        file::Size::Drawn(file::SizeDistribution::Lognormal { mean, sd }) => {
            let (mean, sd) = (some(mean.0, report, &key("mean")), sd.0);
            if sd == 0 {
                report.value(&key("sd"), "makes all sizes equal", "expected more than 0 B, or a fixed size");
            }
            Size::Lognormal { mean, sd }
        }
    }
}

fn wait(wait: &file::Wait, report: &mut Report<'_>, path: &[String]) -> Wait {
    let mean = |mean: Duration, report: &mut Report<'_>| {
        positive(mean, report, &below(path, "mean"), "is no mean of a distribution")
    };
    match wait {
        file::Wait::Constant(span) => Wait::Constant(span.0),
        file::Wait::Drawn(file::WaitDistribution::Exponential { mean: span }) => {
            Wait::Exponential(mean(span.0, report))
        }
        file::Wait::Drawn(file::WaitDistribution::Pareto { shape, mean: span }) => {
            Wait::Pareto { shape: *shape, mean: mean(span.0, report) }
        }
    }
}

/// At least one byte.
fn some(bytes: u64, report: &mut Report<'_>, path: &[String]) -> u64 {
    if bytes == 0 {
        report.value(path, "is nothing to send", "expected at least 1 B");
    }
    bytes
}

fn positive(span: Duration, report: &mut Report<'_>, path: &[String], message: &str) -> Duration {
    if span == Duration::ZERO {
        report.value(path, message, "expected more than 0 s");
    }
    span
}

fn flowing(rate: Rate, report: &mut Report<'_>, path: &[String]) -> Rate {
    if rate.as_bps() == 0 {
        report.value(path, "sends nothing", "expected more than 0 bit/s");
    }
    rate
}

fn datagram(size: u64, report: &mut Report<'_>, path: &[String]) -> u16 {
    if size == 0 || size > DATAGRAM_MAX {
        report.value(path, "is no payload of a datagram", "expected 1 B to 65507 B");
    }
    size.min(DATAGRAM_MAX) as u16
}
