//! Applications.

use super::{below, instant};
use crate::scenario::resolve::Report;
use crate::scenario::{file, App, Start};

pub(in crate::scenario) fn app(app: file::App, report: &mut Report<'_>, path: &[String]) -> App {
    match app {
        file::App::Greedy => App::Greedy,
        file::App::File { size } => {
            if size.0 == 0 {
                report.value(&below(path, "size"), "is nothing to send", "expected at least 1 B");
            }
            App::File { size: size.0 }
        }
    }
}

pub(in crate::scenario) fn start(start: file::Start, report: &mut Report<'_>, path: &[String]) -> Start {
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
