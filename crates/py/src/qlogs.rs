//! qlog files of a run: one for each end of each connection over QUIC, in a folder.

use crate::captures::reason;
use crate::BentpipeError;
use pyo3::prelude::*;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Largest number of files: later connections have none. Those of connections under way are open.
const FILES_MAX: usize = 500;

/// The files of a run.
#[derive(Clone)]
pub(crate) struct Qlogs {
    folder: PathBuf,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    files: usize,
    /// The first failure: the run goes on, and fails at its end.
    trouble: Option<String>,
}

impl Qlogs {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, state: Arc::default() }
    }

    /// Opens the file of an end: the flow as a component, the number of its connection, and its side.
    pub(crate) fn open(&self, flow: &str, ordinal: u64, side: &str) -> Box<dyn Write + Send + Sync> {
        let name = flow.strip_prefix("flow/").unwrap_or(flow).replace(['/', '\\'], "_");
        let place = self.folder.join(format!("{name}-{ordinal}-{side}.sqlog"));
        let file = {
            let mut state = self.lock();
            state.files += 1;
            if state.files > FILES_MAX {
                return Box::new(io::sink());
            }
            File::create(&place)
        };
        let of = place.display().to_string();
        match file {
            Ok(file) => Box::new(Guarded { out: BufWriter::new(file), place: of, files: self.clone() }),
            Err(error) => {
                self.fail(&of, &error);
                Box::new(io::sink())
            }
        }
    }

    /// Returns the first failure.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.lock().trouble.take()
    }

    /// Fails with the first failure.
    pub(crate) fn check(&self) -> PyResult<()> {
        self.trouble().map_or(Ok(()), |message| Err(BentpipeError::new_err(message)))
    }

    /// The note that some connections have no files.
    pub(crate) fn note(&self) -> Option<String> {
        let is_cut = self.lock().files > FILES_MAX;
        is_cut.then(|| format!("qlog of the first {} connections", FILES_MAX / 2))
    }

    fn fail(&self, place: &str, error: &io::Error) {
        let message = format!("{place} cannot be written: {}\n  choose another folder", reason(error));
        self.lock().trouble.get_or_insert(message);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A file whose failures are kept.
struct Guarded {
    out: BufWriter<File>,
    place: String,
    files: Qlogs,
}

impl Write for Guarded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes).inspect_err(|error| self.files.fail(&self.place, error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush().inspect_err(|error| self.files.fail(&self.place, error))
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // A failure is kept.
        let _ = self.flush();
    }
}
