//! A file that another thread writes, so that a disk makes nobody late.

use std::io::{self, Write};
use std::sync::mpsc::{sync_channel, SyncSender, TrySendError};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

/// Chunks that may wait for the disk: with those of a capture, 64 MB.
const CHUNKS: usize = 256;

/// What is written to it is written to `F` later. Where too much waits, a chunk is refused with `WouldBlock`, not waited for.
#[derive(Debug)]
pub struct Behind<F> {
    to: Arc<F>,
    thread: Option<(SyncSender<Vec<u8>>, Ending)>,
}

type Ending = JoinHandle<io::Result<()>>;

impl<F> Behind<F> {
    /// Of this file. The thread starts with the first chunk.
    pub fn new(to: F) -> Self {
        Self { to: Arc::new(to), thread: None }
    }

    /// What the thread said at its end.
    fn ended(&mut self) -> io::Result<()> {
        let Some((chunks, thread)) = self.thread.take() else { return Ok(()) };
        drop(chunks);
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the writer panicked")))
    }
}

impl<F: Send + Sync + 'static> Write for Behind<F>
where
    for<'a> &'a F: Write,
{
    fn write(&mut self, chunk: &[u8]) -> io::Result<usize> {
        if self.thread.is_none() {
            let (chunks, taken) = sync_channel::<Vec<u8>>(CHUNKS);
            let to = self.to.clone();
            let write = move || {
                crate::system::leave_priority();
                taken.iter().try_for_each(|chunk| (&*to).write_all(&chunk))
            };
            match Builder::new().spawn(write) {
                Ok(thread) => self.thread = Some((chunks, thread)),
                // Where no thread can be had, this one writes.
                Err(_) => return (&*self.to).write(chunk),
            }
        }
        let Some((chunks, _)) = &self.thread else { return Ok(0) };
        match chunks.try_send(chunk.to_vec()) {
            Ok(()) => Ok(chunk.len()),
            Err(TrySendError::Full(_)) => Err(io::ErrorKind::WouldBlock.into()),
            Err(TrySendError::Disconnected(_)) => Err(self.ended().err().unwrap_or(io::ErrorKind::BrokenPipe.into())),
        }
    }

    /// Waits until all is written.
    fn flush(&mut self) -> io::Result<()> {
        self.ended()?;
        (&*self.to).flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Mutex, MutexGuard};

    /// A disk that stands still while the test holds it.
    #[derive(Default)]
    struct Disk(Mutex<Vec<u8>>);

    impl Disk {
        fn held(&self) -> MutexGuard<'_, Vec<u8>> {
            self.0.lock().unwrap()
        }
    }

    impl Write for &Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match bytes {
                b"full" => Err(io::ErrorKind::StorageFull.into()),
                _ => self.held().write(bytes),
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_is_written_arrives_in_order_and_a_disk_that_stands_still_refuses() {
        let mut behind = Behind::new(Disk::default());
        let disk = behind.to.clone();
        let held = disk.held();
        let taken = (0..).take_while(|n: &u32| behind.write_all(&n.to_le_bytes()).is_ok()).count();
        // One chunk may be with the thread already.
        assert!((CHUNKS..=CHUNKS + 1).contains(&taken), "{taken}");
        assert_eq!(behind.write(b"more").unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(held);
        behind.flush().unwrap();
        behind.write_all(b"last").unwrap();
        behind.flush().unwrap();
        let expected = (0..taken as u32).flat_map(u32::to_le_bytes).chain(*b"last").collect::<Vec<_>>();
        assert_eq!(*disk.held(), expected);
    }

    #[test]
    fn a_full_disk_is_known_at_the_end() {
        let mut behind = Behind::new(Disk::default());
        behind.write_all(b"full").unwrap();
        assert_eq!(behind.flush().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
