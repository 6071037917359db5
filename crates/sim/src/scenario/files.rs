//! What a scenario names and does not contain: traces, in files beside it, and congestion controls and functions of the network
//! of who runs it.

use crate::middlebox::OwnConfig;
use bentpipe_tcp::cc::{CcKind, CustomCc};
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

/// Where the files are that a scenario names.
pub trait Files {
    /// The content of the file `name`.
    ///
    /// # Errors
    /// Why it cannot be had, as the end of a sentence that begins with its name, and what was expected.
    fn read(&self, name: &str) -> Result<Vec<u8>, (String, String)>;

    /// Told now and then of what takes long to read, with the share that is done. `false` ends it: the scenario is refused.
    fn go_on(&self, _share: f64) -> bool {
        true
    }

    /// Congestion controls that may be named besides those of the registry.
    fn senders(&self) -> &[Sender] {
        &[]
    }

    /// Functions of the network that may be named besides those of the registry.
    fn functions(&self) -> &[OwnConfig] {
        &[]
    }
}

/// A congestion control that is not in the registry.
#[derive(Clone, Debug)]
pub struct Sender {
    /// What it is.
    pub cc: CustomCc,
    /// One of the registry, whose loss recovery it has unless the scenario names another.
    pub like: CcKind,
}

/// No files: for scenarios that come from nowhere, such as text in a program.
#[derive(Clone, Copy, Debug)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _name: &str) -> Result<Vec<u8>, (String, String)> {
        Err(("cannot be found: this scenario has no folder".into(), "expected a scenario read from a file".into()))
    }
}

/// The files of a folder and of those in it. Nothing outside it can be named.
#[derive(Clone, Debug)]
pub struct Folder(pub PathBuf);

/// Bytes of a file at most.
const SIZE_MAX: u64 = 64 << 20;

impl Files for Folder {
    fn read(&self, name: &str) -> Result<Vec<u8>, (String, String)> {
        let relative = Path::new(name);
        if name.is_empty()
            || !relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
        {
            return Err((
                "is not beside the scenario".into(),
                "expected a path below the scenario's folder, like \"traces/rate.csv\"".into(),
            ));
        }
        let unreadable = |error: std::io::Error| {
            (format!("cannot be read: {error}"), "expected a file in the scenario's folder or below it".to_owned())
        };
        let path = self.0.join(relative);
        // A pipe would keep us waiting.
        if !path.metadata().map_err(unreadable)?.is_file() {
            return Err(("is not a file".into(), "expected a file in the scenario's folder or below it".into()));
        }
        // What a link leads to may be anybody's, and messages show lines of it.
        let (inside, found) = (self.0.canonicalize().map_err(unreadable)?, path.canonicalize().map_err(unreadable)?);
        if !found.starts_with(inside) {
            return Err((
                "is a link that leads out of the scenario's folder".into(),
                "expected a file in the scenario's folder or below it".into(),
            ));
        }
        let mut content = Vec::new();
        File::open(path).and_then(|file| file.take(SIZE_MAX + 1).read_to_end(&mut content)).map_err(unreadable)?;
        if content.len() as u64 > SIZE_MAX {
            return Err(("is too large".into(), format!("expected at most {} MiB", SIZE_MAX >> 20)));
        }
        Ok(content)
    }
}
