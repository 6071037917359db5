//! Flows: what is said of each, apart from its ends and its transport.

use super::{below, instant};
use crate::scenario::resolve::{path, Report};
use crate::scenario::{file, App, Reader, Start};

/// What the application of an entry does, how its receiver reads, and when it begins.
pub(in crate::scenario) fn flow(
    name: &str,
    written: &file::Flow,
    report: &mut Report<'_>,
) -> (App, Option<Reader>, Start) {
    let key = |key| path(["flow", name, key]);
    let app = super::app(&written.app, report, &key("app"));
    let reader = written.reader.map(|reader| super::reader(reader, report, &key("reader")));
    for (is_there, of) in [(written.tcp.is_some(), "tcp"), (reader.is_some(), "reader")] {
        if is_there && app.is_datagrams() {
            report.key(&key(of), "is of no use: datagrams have no transport", "expected an application that uses TCP");
        }
    }
    (app, reader, start(written.start, report, &key("start")))
}

fn start(start: file::Start, report: &mut Report<'_>, path: &[String]) -> Start {
    match start {
        file::Start::At(at) => Start::At(instant(at.0)),
        file::Start::Uniform(file::StartUniform { uniform: (from, to) }) => {
            if from.0 >= to.0 {
                report.value(
                    &below(path, "uniform"),
                    "is an empty span",
                    "expected the earliest instant before the latest",
                );
            }
            Start::Uniform { from: instant(from.0), to: instant(to.0) }
        }
    }
}
