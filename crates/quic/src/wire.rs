//! An end on the wire: the same driver with TLS, the time of a clock, and streams that carry bytes. Datagrams have no source in
//! front: the socket knows the address of the peer.

use crate::clock::Clock;
use crate::content::Piece;
use crate::driver::{QuicEnd, SOURCE};
use crate::qlog::{Log, Output};
use crate::tap::Shared;
use crate::tls;
use bentpipe_model::spec::{Quic, QuicMigration, QuicResume};
use bentpipe_model::stack::{Engine, Seed, StreamNo};
use bentpipe_units::{Ecn, Time};
use bytes::Bytes;
use quinn_proto::Side;

/// Largest payload of UDP over IPv4 and Ethernet, bytes.
const PAYLOAD_MAX: u32 = 1472;

/// Refuses settings that no end on the wire has.
///
/// # Errors
///
/// The setting, and the expected value.
pub fn check_on_the_wire(quic: &Quic) -> Result<(), String> {
    let handshake = quic.handshake;
    let refused = if handshake.resume != QuicResume::No {
        "handshake.resume, and a connection on the wire has no earlier one\n  expected \"none\""
    } else if handshake.address_token {
        "handshake.address_token, and a connection on the wire has no earlier one\n  expected false"
    } else if quic.migration != QuicMigration::Off {
        "migration, and the address of a socket stays\n  expected \"off\""
    } else if quic.mtu > PAYLOAD_MAX {
        return Err(format!(
            "quic.mtu of {} B, and devices of hosts carry {PAYLOAD_MAX} B\n  expected at most {PAYLOAD_MAX} B",
            quic.mtu
        ));
    } else {
        return Ok(());
    };
    Err(format!("quic.{refused}"))
}

impl QuicEnd {
    /// Makes an end for the wire with [permitted](check_on_the_wire) settings. All of its random numbers but those of TLS follow
    /// from the seed, which must be secret. `log` is the destination of its qlog, with a title.
    ///
    /// # Errors
    ///
    /// The reason why TLS does not start.
    pub fn on_the_wire(
        quic: &Quic,
        seed: Seed<'_>,
        is_client: bool,
        clock: Clock,
        log: Option<(Output, &str)>,
    ) -> Result<Self, String> {
        let side = if is_client { Side::Client } else { Side::Server };
        let crypto =
            tls::crypto(quic.handshake.flight as usize).map_err(|error| format!("TLS does not start: {error}"))?;
        let facts = Shared::default();
        facts.lock().log = log.map(|(out, title)| Log::new(out, title, seed.ordinal, is_client));
        let mut end = Self::new(quic, crypto, seed, side, None, clock, facts);
        end.reads.keep_content();
        Ok(end)
    }

    /// Receives a datagram of the peer.
    pub fn receive(&mut self, now: Time, payload: &[u8], ecn: Ecn) {
        self.take_datagram(now, (!self.side) as u16, payload, ecn);
    }

    /// Writes the next datagram into a buffer, and returns its payload. `None`: none leaves now.
    pub fn send<'a>(&mut self, now: Time, buffer: &'a mut Vec<u8>) -> Option<(&'a [u8], Ecn)> {
        buffer.clear();
        let sent = self.poll_transmit(now, buffer)?;
        Some((&buffer[SOURCE..], sent.ecn))
    }

    /// Writes bytes to a stream, and its end with `is_last`.
    pub fn write_bytes(&mut self, now: Time, stream: StreamNo, bytes: Bytes, is_last: bool) {
        self.counters.offered_bytes += bytes.len() as u64;
        self.sends.entry(stream).or_default().offer(bytes);
        self.write(now, stream, 0, is_last);
    }

    /// Takes the next bytes that were read from a stream. Pieces of a stream do not overlap, and have any order.
    pub fn take_bytes(&mut self) -> Option<Piece> {
        self.reads.take()
    }

    /// Whether it has a connection. Otherwise the last datagram opened none.
    pub fn has_connection(&self) -> bool {
        self.connection.is_some()
    }
}
