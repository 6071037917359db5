//! Data of streams: counts and zeros in the simulator, bytes on the wire.

use bentpipe_model::stack::StreamNo;
use bytes::{Buf, Bytes};
use std::collections::{BTreeMap, VecDeque};

/// Content of streams that have only a count. The stack shares it without a copy.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// Data of a stream that goes to the peer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sending {
    /// Bytes that the application has written, and those that the stack has taken.
    pub(crate) offered: u64,
    pub(crate) taken: u64,
    /// Whether the application has written the last byte, and whether the stack knows.
    pub(crate) is_last: bool,
    pub(crate) is_finished: bool,
    /// Content that the stack has not taken. Zeros follow it.
    content: VecDeque<Bytes>,
}

impl Sending {
    /// Offers bytes. They follow all content so far, and no stream has zeros before content.
    #[cfg(feature = "tls")]
    pub(crate) fn offer(&mut self, bytes: Bytes) {
        self.offered += bytes.len() as u64;
        if !bytes.is_empty() {
            self.content.push_back(bytes);
        }
    }

    /// Returns the next bytes for the stack.
    pub(crate) fn chunk(&self) -> Bytes {
        self.content.front().cloned().unwrap_or_else(|| {
            let left = usize::try_from(self.offered - self.taken).unwrap_or(usize::MAX);
            Bytes::from_static(&ZEROS[..left.min(ZEROS.len())])
        })
    }

    /// The stack has taken this many bytes of the chunk.
    pub(crate) fn advance(&mut self, bytes: usize) {
        self.taken += bytes as u64;
        if let Some(front) = self.content.front_mut() {
            front.advance(bytes);
            if front.is_empty() {
                self.content.pop_front();
            }
        }
    }
}

/// Bytes of a stream of the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The stream.
    pub stream: StreamNo,
    /// Offset of the first byte.
    pub start: u64,
    /// The bytes.
    pub bytes: Bytes,
}

/// Data that has been read from streams.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    /// Bytes of each stream that has not ended.
    totals: BTreeMap<StreamNo, u64>,
    /// Pieces that the application has not taken. `None`: it only counts.
    pieces: Option<VecDeque<Piece>>,
}

impl Reads {
    /// Keeps content from now on.
    #[cfg(feature = "tls")]
    pub(crate) fn keep_content(&mut self) {
        self.pieces.get_or_insert_default();
    }

    /// Keeps bytes of a stream if the application wants them.
    pub(crate) fn keep(&mut self, stream: StreamNo, start: u64, bytes: Bytes) {
        if let Some(pieces) = &mut self.pieces {
            pieces.push_back(Piece { stream, start, bytes });
        }
    }

    /// Returns the next piece.
    #[cfg(feature = "tls")]
    pub(crate) fn take(&mut self) -> Option<Piece> {
        self.pieces.as_mut()?.pop_front()
    }

    /// Counts bytes of a stream, and returns its sum.
    pub(crate) fn count(&mut self, stream: StreamNo, bytes: u64, is_last: bool) -> u64 {
        let total = self.totals.entry(stream).or_default();
        *total += bytes;
        let sum = *total;
        if is_last {
            self.totals.remove(&stream);
        }
        sum
    }
}
