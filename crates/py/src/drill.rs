//! Runs conformance scripts directly, through the codec, and on the kernel's TCP.

use bentpipe_conformance::{self as conformance, Objection, SCRIPTS};
use bentpipe_io::wire;
use bentpipe_tcp::Segment;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::BTreeMap;

/// Title of a case, with line and text of the first difference.
type Case = (String, Option<(usize, String)>);

/// Returns name and text of each bundled script.
#[pyfunction]
pub(crate) fn conformance_scripts() -> Vec<(&'static str, &'static str)> {
    SCRIPTS.to_vec()
}

/// Script: its text, and for one in packetdrill's language the texts of the shell files that it names.
type Script = (String, Option<BTreeMap<String, String>>);

/// Returns the cases of a script.
fn cases((text, files): &Script) -> PyResult<Vec<bentpipe_conformance::Case>> {
    let cases = match files {
        Some(files) => conformance::packetdrill(text, "packetdrill script", files).map(|case| vec![case]),
        None => conformance::cases(text),
    };
    cases.map_err(|Objection { line, what }| PyValueError::new_err((line, what)))
}

/// Returns the cases of a script, each with the first line that differs. Raises `ValueError` with line and text for an
/// invalid script.
#[pyfunction]
pub(crate) fn drill(py: Python<'_>, script: Script, through_codec: bool) -> PyResult<Vec<Case>> {
    let mut carry = |segment: &Segment| if through_codec { wire::carry(segment) } else { Ok(*segment) };
    let cases = cases(&script)?;
    let outcomes = py.detach(|| conformance::drill_cases(cases, &mut carry));
    let cases = outcomes.into_iter().map(|case| {
        let difference = case.difference.map(|Objection { line, what }| (line, what));
        (case.title, difference)
    });
    Ok(cases.collect())
}

/// Title, verdict (`holds`, `noted`, `differs` or `not applicable`), the first difference or the missing feature of the
/// kernel (line and text), and the Linux behaviour that makes bentpipe's TCP differ in the same line.
#[cfg(target_os = "linux")]
type OnKernel = (String, &'static str, Option<usize>, String, Option<&'static str>);

/// Runs the cases of scripts on the TCP of this machine's kernel, in real time. The process must have left the
/// namespaces of the machine.
#[cfg(target_os = "linux")]
#[pyfunction]
pub(crate) fn kernel_drill(py: Python<'_>, scripts: Vec<Script>) -> PyResult<Vec<Vec<OnKernel>>> {
    use bentpipe_io::kernel::{self, Verdict};
    let scripts = scripts.iter().map(cases).collect::<PyResult<Vec<_>>>()?;
    let lengths: Vec<usize> = scripts.iter().map(Vec::len).collect();
    let cases: Vec<_> = scripts.into_iter().flatten().collect();
    let mut interrupt = Ok(());
    let verdicts = py.detach(|| {
        kernel::drill(&cases, || {
            interrupt =
                std::mem::replace(&mut interrupt, Ok(())).and_then(|()| Python::attach(|py| py.check_signals()));
            interrupt.is_ok()
        })
    });
    interrupt?;
    let verdicts = verdicts.map_err(crate::emulation::not_allowed)?;
    let mut found = cases.iter().zip(verdicts).map(|(case, verdict)| {
        let (name, line, what, way) = match verdict {
            Some(Verdict::Holds) => (if case.has_notes() { "noted" } else { "holds" }, None, String::new(), None),
            Some(Verdict::Differs(Objection { line, what }, way)) => ("differs", Some(line), what, way),
            Some(Verdict::NotApplicable(what)) => ("not applicable", None, what, None),
            None => ("not applicable", None, "the run was interrupted".to_owned(), None),
        };
        (case.title.clone(), name, line, what, way)
    });
    Ok(lengths.into_iter().map(|len| found.by_ref().take(len).collect()).collect())
}
