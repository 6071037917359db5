//! Applications, written out.

use super::text;
use crate::scenario::{App, Arrivals, Bulk, Datagrams, Gaps, Page, RequestResponse, Size, Wait};
use serde_json::{json, Value as Json};

pub(super) fn app(app: &App) -> Json {
    let mut table = match app {
        App::Greedy => json!({ "kind": "greedy" }),
        App::File { size } => json!({ "kind": "file", "size": bytes(*size) }),
        App::Bulk(Bulk { size: of, pause, reconnect, .. }) => {
            json!({ "kind": "bulk", "size": size(of), "pause": wait(pause), "reconnect": reconnect })
        }
        App::Arrivals(Arrivals { size: of, interval, overload, .. }) => {
            json!({ "kind": "arrivals", "size": size(of), "interval": text(interval), "overload": overload })
        }
        App::RequestResponse(RequestResponse { request, response, wait: pause, think, reconnect, .. }) => json!({
            "kind": "request-response",
            "request": size(request),
            "response": size(response),
            "wait": wait(pause),
            "think": wait(think),
            "reconnect": reconnect,
        }),
        App::Page(Page { connections, multiplexed, scale, request, tls_rtts, parse, reading, .. }) => {
            let mut table = json!({
                "kind": "page",
                "multiplexed": multiplexed,
                "page_scale": scale,
                "request": bytes(*request),
                "tls_rtts": tls_rtts,
                "parse": wait(parse),
                "reading": wait(reading),
            });
            if !multiplexed {
                table["connections"] = json!(connections);
            }
            table
        }
        App::Datagrams(Datagrams { size, gaps }) => {
            let mut table = match gaps {
                Gaps::Constant { rate, jitter } => {
                    json!({ "kind": "cbr", "rate": text(rate), "jitter": text(jitter) })
                }
                Gaps::Poisson { rate } => json!({ "kind": "poisson", "rate": text(rate) }),
                Gaps::OnOff { peak, on, off } => {
                    json!({ "kind": "on-off", "peak": text(peak), "on": wait(on), "off": wait(off) })
                }
            };
            table["size"] = bytes((*size).into());
            table
        }
    };
    if let Some(count) = app.count() {
        table["count"] = json!(count);
    }
    table
}

fn size(size: &Size) -> Json {
    match *size {
        Size::Fixed(size) => bytes(size),
        Size::Exponential { mean } => json!({ "kind": "exponential", "mean": bytes(mean) }),
        Size::Pareto { shape, min } => json!({ "kind": "pareto", "shape": shape, "min": bytes(min) }),
        Size::BoundedPareto { shape, min, max } => {
            json!({ "kind": "bounded-pareto", "shape": shape, "min": bytes(min), "max": bytes(max) })
        }
        Size::Lognormal { mean, sd } => json!({ "kind": "lognormal", "mean": bytes(mean), "sd": bytes(sd) }),
    }
}

fn wait(wait: &Wait) -> Json {
    match wait {
        Wait::Constant(span) => text(span),
        Wait::Exponential(mean) => json!({ "kind": "exponential", "mean": text(mean) }),
        Wait::Pareto { shape, mean } => json!({ "kind": "pareto", "shape": shape, "mean": text(mean) }),
    }
}

fn bytes(bytes: u64) -> Json {
    text(format_args!("{bytes} B"))
}
