//! External parts of a scenario: traces in files beside it, and the caller's congestion controls, middleboxes and
//! schedulers.

use bentpipe_cc::{CcKind, CustomCc};
use bentpipe_model::middlebox::OwnConfig;
use bentpipe_tcp::multi::OwnScheduler;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

/// Access to the files that a scenario names.
pub trait Files {
    /// Returns the content of the file `name`.
    ///
    /// # Errors
    ///
    /// The reason as the end of a sentence that begins with the file's name, and the expected file.
    fn read(&self, name: &str) -> Result<Vec<u8>, (String, String)>;

    /// Reports the progress of a long read as a share from 0 to 1. Returning `false` cancels it, and the scenario is
    /// rejected.
    fn go_on(&self, _share: f64) -> bool {
        true
    }

    /// Returns the custom congestion controls that a scenario may name.
    fn senders(&self) -> &[Sender] {
        &[]
    }

    /// Returns the custom middleboxes that a scenario may name.
    fn functions(&self) -> &[OwnConfig] {
        &[]
    }

    /// Returns the custom schedulers of several paths that a scenario may name.
    fn schedulers(&self) -> &[OwnScheduler] {
        &[]
    }
}

/// Congestion control outside the registry.
#[derive(Clone, Debug)]
pub struct Sender {
    /// The congestion control.
    pub cc: CustomCc,
    /// Registered congestion control that provides the loss recovery unless the scenario names another.
    pub like: CcKind,
}

/// No files: for scenarios without a folder, such as text in a program.
#[derive(Clone, Copy, Debug)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _name: &str) -> Result<Vec<u8>, (String, String)> {
        Err(("cannot be found: this scenario has no folder".into(), "expected a scenario read from a file".into()))
    }
}

/// Files of a folder and its subfolders. A scenario cannot name files outside.
#[derive(Clone, Debug)]
pub struct Folder(pub PathBuf);

/// Largest size of a file in bytes.
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
        // Reading a pipe could block.
        if !path.metadata().map_err(unreadable)?.is_file() {
            return Err(("is not a file".into(), "expected a file in the scenario's folder or below it".into()));
        }
        // A symbolic link may lead to a private file, and messages quote its lines.
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
