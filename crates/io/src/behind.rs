//! Writes a file in another thread, so that a slow disk delays no packet.

use crate::pcapng::Sink;
use std::io::{self, Write};
use std::mem;
use std::sync::mpsc::{channel, sync_channel, Receiver, SyncSender, TrySendError};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};

/// Largest number of chunks that wait for the disk: with those of a capture, 64 MB.
const CHUNKS: usize = 256;

/// Passes chunks to `F` later. If too many chunks wait, it refuses the next one with `WouldBlock`.
#[derive(Debug)]
pub struct Behind<F> {
    to: Arc<F>,
    thread: Option<Writer>,
}

/// Thread that writes.
#[derive(Debug)]
struct Writer {
    chunks: SyncSender<Vec<u8>>,
    /// Written chunks, to be filled again: new memory would come from the kernel. Only shared data needs a lock, so it
    /// is never locked.
    written: Mutex<Receiver<Vec<u8>>>,
    ending: JoinHandle<io::Result<()>>,
}

impl<F> Behind<F> {
    /// Creates a writer of this file. The thread starts with the first chunk.
    pub fn new(to: F) -> Self {
        Self { to: Arc::new(to), thread: None }
    }

    /// Returns the result of the thread at its end.
    fn ended(&mut self) -> io::Result<()> {
        let Some(Writer { chunks, ending, .. }) = self.thread.take() else { return Ok(()) };
        drop(chunks);
        ending.join().unwrap_or_else(|_| Err(io::Error::other("the writer panicked")))
    }
}

impl<F: Send + Sync + 'static> Sink for Behind<F>
where
    for<'a> &'a F: Write,
{
    fn take(&mut self, chunk: &mut Vec<u8>) -> io::Result<()> {
        if self.thread.is_none() {
            let (chunks, taken) = sync_channel::<Vec<u8>>(CHUNKS);
            let (back, written) = channel();
            let to = self.to.clone();
            let write = move || {
                crate::system::leave_priority();
                taken.iter().try_for_each(|mut chunk| {
                    (&*to).write_all(&chunk)?;
                    chunk.clear();
                    // At the end the chunk is no longer needed.
                    let _ = back.send(chunk);
                    Ok(())
                })
            };
            match Builder::new().spawn(write) {
                Ok(ending) => self.thread = Some(Writer { chunks, written: Mutex::new(written), ending }),
                // Without a thread, this one writes.
                Err(_) => return (&*self.to).write_all(chunk).map(|()| chunk.clear()),
            }
        }
        let Some(Writer { chunks, written, .. }) = &mut self.thread else { return Ok(()) };
        let next = written.get_mut().ok().and_then(|written| written.try_recv().ok());
        let next = next.unwrap_or_else(|| Vec::with_capacity(chunk.capacity()));
        match chunks.try_send(mem::replace(chunk, next)) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(refused)) => {
                *chunk = refused;
                Err(io::ErrorKind::WouldBlock.into())
            }
            Err(TrySendError::Disconnected(_)) => Err(self.ended().err().unwrap_or(io::ErrorKind::BrokenPipe.into())),
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        self.ended()?;
        (&*self.to).flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Mutex, MutexGuard};

    /// Disk that blocks while the test holds it.
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
        let taken = (0..).take_while(|n: &u32| behind.take(&mut n.to_le_bytes().to_vec()).is_ok()).count();
        // One chunk may be with the thread already.
        assert!((CHUNKS..=CHUNKS + 1).contains(&taken), "{taken}");
        assert_eq!(behind.take(&mut b"more".to_vec()).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(held);
        behind.finish().unwrap();
        behind.take(&mut b"last".to_vec()).unwrap();
        behind.finish().unwrap();
        let expected = (0..taken as u32).flat_map(u32::to_le_bytes).chain(*b"last").collect::<Vec<_>>();
        assert_eq!(*disk.held(), expected);
    }

    #[test]
    fn chunks_that_are_written_are_filled_again() {
        let mut behind = Behind::new(Disk::default());
        let (mut chunk, mut places) = (Vec::with_capacity(1 << 10), std::collections::BTreeSet::new());
        for _ in 0..10_000 {
            places.insert(chunk.as_ptr());
            chunk.extend(b"something");
            while behind.take(&mut chunk).is_err() {}
            assert!(chunk.is_empty());
        }
        behind.finish().unwrap();
        assert_eq!(behind.to.held().len(), 90_000);
        // With the thread, in both channels, and here.
        assert!(places.len() <= 2 * CHUNKS + 2, "{}", places.len());
    }

    #[test]
    fn a_full_disk_is_known_at_the_end() {
        let mut behind = Behind::new(Disk::default());
        behind.take(&mut b"full".to_vec()).unwrap();
        assert_eq!(behind.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
