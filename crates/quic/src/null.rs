//! Replacement of TLS 1.3: messages of the same number, direction and size, without cryptography.
//!
//! Packets are readable, and their tags of 16 bytes are computed from packet number, length and encryption level. A packet
//! of another connection, level or length is therefore refused. Equal runs have equal bytes: TLS draws its key shares from
//! the system, so real TLS has not. A session to resume, and the address token of an earlier connection, are given.

use crate::fates::{Fates, Space};
use bentpipe_model::spec::QuicResume;
use bytes::BytesMut;
use quinn_proto::crypto::{
    self, AeadKey, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey, HmacKey, KeyPair, Keys,
    PacketKey, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError, TransportErrorCode};
use std::any::Any;
use std::net::IpAddr;
use std::sync::Arc;

/// Length of a tag (RFC 9001 §5.3), and of the sample that header protection would take.
pub(crate) const TAG: usize = 16;
const CLIENT_HELLO: usize = 260;
const SERVER_HELLO: usize = 90;
const FINISHED: usize = 36;
const TICKET: usize = 200;
/// A resumed session has no certificates; its ClientHello carries a ticket and its binder (RFC 8446 §4.2.11).
const CLIENT_HELLO_RESUMED: usize = CLIENT_HELLO + TICKET + 40;
const FLIGHT_RESUMED: usize = 160;
/// Type and length of a message.
const MESSAGE_HEADER: usize = 4;

/// Settings of the handshake of one end.
#[derive(Clone, Debug)]
pub(crate) struct Null {
    /// Bytes of the server's messages after its ServerHello, in a full handshake.
    pub(crate) flight: usize,
    /// Session that the client resumes.
    pub(crate) resume: QuicResume,
    /// Whether the server accepts early data.
    pub(crate) accepts: bool,
    /// Fates of the packets of this end, and of its peer.
    pub(crate) fates: [Fates; 2],
}

impl Null {
    /// Returns the keys of a level, which write the fates of packets.
    fn keys(&self, level: Level) -> Keys {
        Keys { header: KeyPair { local: Box::new(Plain), remote: Box::new(Plain) }, packet: self.packet_keys(level) }
    }

    fn key(&self, level: Level) -> Box<dyn PacketKey> {
        Box::new(Key { level, fates: self.fates.clone() })
    }

    fn packet_keys(&self, level: Level) -> KeyPair<Box<dyn PacketKey>> {
        KeyPair { local: self.key(level), remote: self.key(level) }
    }

    fn is_resumed(&self) -> bool {
        self.resume != QuicResume::No
    }

    fn has_early_data(&self) -> bool {
        self.resume == QuicResume::ZeroRtt
    }
}

impl crypto::ClientConfig for Null {
    fn start_session(
        self: Arc<Self>,
        _: u32,
        _: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(Box::new(NullSession::new((*self).clone(), Side::Client, params)))
    }
}

impl crypto::ServerConfig for Null {
    fn initial_keys(&self, _: u32, dst_cid: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(self.keys(Level::initial(dst_cid)))
    }

    fn retry_tag(&self, _: u32, orig_dst_cid: &ConnectionId, packet: &[u8]) -> [u8; TAG] {
        retry_tag(orig_dst_cid, packet)
    }

    fn start_session(self: Arc<Self>, _: u32, params: &TransportParameters) -> Box<dyn Session> {
        Box::new(NullSession::new((*self).clone(), Side::Server, params))
    }
}

/// Encryption level of a packet, as a number that its tag contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Level(u64);

impl Level {
    const EARLY: Self = Self(5);
    const HANDSHAKE: Self = Self(2);
    const DATA: Self = Self(3);

    fn initial(dst_cid: &ConnectionId) -> Self {
        Self(hash(1, dst_cid))
    }
}

impl Level {
    fn tag(self, number: u64, len: usize) -> [u8; TAG] {
        let first = mix(self.0 ^ mix(number ^ mix(len as u64)));
        halves(first, mix(first))
    }

    fn space(self) -> Space {
        match self {
            Self::HANDSHAKE => Space::Handshake,
            Self::DATA | Self::EARLY => Space::Data,
            _ => Space::Initial,
        }
    }
}

/// Key of a level.
struct Key {
    level: Level,
    /// The packets that it writes, and those that it reads.
    fates: [Fates; 2],
}

impl PacketKey for Key {
    fn encrypt(&self, packet: u64, buf: &mut [u8], _: usize) {
        let end = buf.len() - TAG;
        buf[end..].copy_from_slice(&self.level.tag(packet, end));
        self.fates[0].on_sent(self.level.space(), packet);
    }

    fn decrypt(&self, packet: u64, header: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        let end = payload.len().checked_sub(TAG).ok_or(CryptoError)?;
        if payload[end..] != self.level.tag(packet, header.len() + end) {
            return Err(CryptoError);
        }
        payload.truncate(end);
        let space = self.level.space();
        self.fates[1].on_arrived(space, packet);
        self.fates[0].on_acked(space, payload);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG
    }

    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

/// No header protection.
struct Plain;

impl HeaderKey for Plain {
    fn decrypt(&self, _: usize, _: &mut [u8]) {}
    fn encrypt(&self, _: usize, _: &mut [u8]) {}
    fn sample_size(&self) -> usize {
        TAG
    }
}

/// Key for reset tokens and address tokens: any two seeds have different ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeededKey(pub(crate) u64);

impl SeededKey {
    /// Returns an address token of this key, as the stack makes them: kind and address, the time of its issue, sealed; and
    /// the nonce.
    pub(crate) fn address_token(self, ip: IpAddr, nonce: u64) -> Vec<u8> {
        const VALIDATION: u8 = 1;
        let mut token = vec![VALIDATION];
        match ip {
            IpAddr::V4(ip) => {
                token.push(0);
                token.extend(ip.octets());
            }
            IpAddr::V6(ip) => {
                token.push(1);
                token.extend(ip.octets());
            }
        }
        token.extend(0_u64.to_be_bytes());
        let nonce = u128::from(nonce).to_le_bytes();
        // Sealing with this key never fails.
        let _ = self.aead_from_hkdf(&nonce).seal(&mut token, &[]);
        token.extend(nonce);
        token
    }
}

impl HmacKey for SeededKey {
    fn sign(&self, data: &[u8], out: &mut [u8]) {
        let first = hash(self.0, data);
        let tag = halves(first, mix(first));
        out.iter_mut().zip(tag).for_each(|(out, byte)| *out = byte);
    }

    fn signature_len(&self) -> usize {
        TAG
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let mut expected = [0; TAG];
        self.sign(data, &mut expected);
        if signature == expected {
            Ok(())
        } else {
            Err(CryptoError)
        }
    }
}

impl HandshakeTokenKey for SeededKey {
    fn aead_from_hkdf(&self, random_bytes: &[u8]) -> Box<dyn AeadKey> {
        Box::new(Self(hash(self.0, random_bytes)))
    }
}

impl AeadKey for SeededKey {
    fn seal(&self, data: &mut Vec<u8>, _: &[u8]) -> Result<(), CryptoError> {
        let mut tag = [0; TAG];
        self.sign(data, &mut tag);
        data.extend(tag);
        Ok(())
    }

    fn open<'a>(&self, data: &'a mut [u8], _: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        let end = data.len().checked_sub(TAG).ok_or(CryptoError)?;
        let (content, tag) = data.split_at_mut(end);
        self.verify(content, tag)?;
        Ok(content)
    }
}

/// Messages of the handshake, by their type (RFC 8446 §4). All messages of the server after its ServerHello are one.
const MESSAGE_CLIENT_HELLO: u8 = 1;
const MESSAGE_SERVER_HELLO: u8 = 2;
const MESSAGE_TICKET: u8 = 4;
const MESSAGE_FLIGHT: u8 = 8;
const MESSAGE_FINISHED: u8 = 20;

/// One end of a handshake.
struct NullSession {
    null: Null,
    side: Side,
    /// Own transport parameters, encoded.
    params: Vec<u8>,
    peer_params: Option<TransportParameters>,
    /// Bytes of a message that has not arrived whole.
    partial: Vec<u8>,
    step: Step,
}

/// The next action of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The client writes its ClientHello.
    WriteClientHello,
    /// The server waits for it, the client for the ServerHello.
    AwaitHello,
    /// A hello has arrived: the server writes its own, and both change to handshake keys.
    TakeHandshakeKeys,
    /// The server writes its flight, and changes to the keys of data.
    WriteFlight,
    /// The client waits for the flight.
    AwaitFlight,
    /// The client writes Finished, and changes to the keys of data.
    WriteFinished,
    /// The server waits for Finished.
    AwaitFinished,
    /// The server writes a ticket.
    WriteTicket,
    Done,
}

impl NullSession {
    fn new(null: Null, side: Side, params: &TransportParameters) -> Self {
        let mut encoded = Vec::new();
        params.write(&mut encoded);
        let step = if side.is_client() { Step::WriteClientHello } else { Step::AwaitHello };
        Self { null, side, params: encoded, peer_params: None, partial: Vec::new(), step }
    }

    /// Processes a whole message. Returns whether the peer's parameters have arrived with it.
    fn read_message(&mut self, kind: u8, body: &[u8]) -> Result<bool, TransportError> {
        self.step = match (self.step, kind) {
            (Step::AwaitHello, MESSAGE_CLIENT_HELLO) if self.side.is_server() => {
                self.read_params(body)?;
                Step::TakeHandshakeKeys
            }
            (Step::AwaitHello, MESSAGE_SERVER_HELLO) if self.side.is_client() => Step::TakeHandshakeKeys,
            (Step::AwaitFlight, MESSAGE_FLIGHT) => {
                self.read_params(body)?;
                Step::WriteFinished
            }
            (Step::AwaitFinished, MESSAGE_FINISHED) => Step::WriteTicket,
            (Step::Done, MESSAGE_TICKET) => Step::Done,
            _ => return Err(TransportErrorCode::PROTOCOL_VIOLATION.into()),
        };
        Ok(matches!(kind, MESSAGE_CLIENT_HELLO | MESSAGE_FLIGHT))
    }

    fn read_params(&mut self, body: &[u8]) -> Result<(), TransportError> {
        let encoded = body.split_first_chunk().and_then(|(len, rest)| rest.get(..u16::from_be_bytes(*len).into()));
        let mut encoded = encoded.ok_or(TransportErrorCode::TRANSPORT_PARAMETER_ERROR)?;
        self.peer_params = Some(
            TransportParameters::read(self.side, &mut encoded)
                .map_err(|_| TransportErrorCode::TRANSPORT_PARAMETER_ERROR)?,
        );
        Ok(())
    }

    /// Appends a message of `size` bytes, or more if `body` is longer.
    fn write_message(buf: &mut Vec<u8>, kind: u8, body: &[u8], size: usize) {
        let len = size.saturating_sub(MESSAGE_HEADER).max(body.len());
        buf.push(kind);
        buf.extend(&(len as u32).to_be_bytes()[1..]);
        let end = buf.len() + len;
        buf.extend(body);
        buf.resize(end, 0);
    }

    /// Appends a message with the own parameters.
    fn write_params(&self, buf: &mut Vec<u8>, kind: u8, size: usize) {
        let mut body = (self.params.len() as u16).to_be_bytes().to_vec();
        body.extend(&self.params);
        Self::write_message(buf, kind, &body, size);
    }
}

impl Session for NullSession {
    fn initial_keys(&self, dst_cid: &ConnectionId, _: Side) -> Keys {
        self.null.keys(Level::initial(dst_cid))
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        let has_keys = self.null.has_early_data() && (self.side.is_client() || self.null.accepts);
        has_keys.then(|| (Box::new(Plain) as Box<dyn HeaderKey>, self.null.key(Level::EARLY)))
    }

    fn early_data_accepted(&self) -> Option<bool> {
        Some(self.null.has_early_data() && self.null.accepts)
    }

    fn is_handshaking(&self) -> bool {
        !matches!(self.step, Step::WriteFinished | Step::WriteTicket | Step::Done)
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.partial.extend(buf);
        let mut has_params = false;
        while let Some(header) = self.partial.first_chunk::<MESSAGE_HEADER>() {
            let [kind, len @ ..] = *header;
            let end = MESSAGE_HEADER + len.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
            if self.partial.len() < end {
                break;
            }
            let rest = self.partial.split_off(end);
            let message = std::mem::replace(&mut self.partial, rest);
            has_params |= self.read_message(kind, &message[MESSAGE_HEADER..])?;
        }
        Ok(has_params)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        if self.peer_params.is_none() && self.side.is_client() && self.null.has_early_data() {
            // Those of the earlier connection: both ends have the same settings.
            let params = TransportParameters::read(self.side, &mut &self.params[..]);
            return params.map(Some).map_err(|_| TransportErrorCode::TRANSPORT_PARAMETER_ERROR.into());
        }
        Ok(self.peer_params)
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let (next, level) = match (self.step, self.side) {
            (Step::WriteClientHello, _) => {
                let size = if self.null.is_resumed() { CLIENT_HELLO_RESUMED } else { CLIENT_HELLO };
                self.write_params(buf, MESSAGE_CLIENT_HELLO, size);
                (Step::AwaitHello, None)
            }
            (Step::TakeHandshakeKeys, Side::Client) => (Step::AwaitFlight, Some(Level::HANDSHAKE)),
            (Step::TakeHandshakeKeys, Side::Server) => {
                Self::write_message(buf, MESSAGE_SERVER_HELLO, &[], SERVER_HELLO);
                (Step::WriteFlight, Some(Level::HANDSHAKE))
            }
            (Step::WriteFlight, _) => {
                let size = if self.null.is_resumed() { FLIGHT_RESUMED } else { self.null.flight };
                self.write_params(buf, MESSAGE_FLIGHT, size);
                (Step::AwaitFinished, Some(Level::DATA))
            }
            (Step::WriteFinished, _) => {
                Self::write_message(buf, MESSAGE_FINISHED, &[], FINISHED);
                (Step::Done, Some(Level::DATA))
            }
            (Step::WriteTicket, _) => {
                Self::write_message(buf, MESSAGE_TICKET, &[], TICKET);
                (Step::Done, None)
            }
            (step, _) => (step, None),
        };
        self.step = next;
        level.map(|level| self.null.keys(level))
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(self.null.packet_keys(Level::DATA))
    }

    fn is_valid_retry(&self, orig_dst_cid: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        let Some(end) = payload.len().checked_sub(TAG) else { return false };
        let packet = [header, &payload[..end]].concat();
        payload[end..] == retry_tag(orig_dst_cid, &packet)
    }

    fn export_keying_material(&self, _: &mut [u8], _: &[u8], _: &[u8]) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

fn retry_tag(orig_dst_cid: &ConnectionId, packet: &[u8]) -> [u8; TAG] {
    let first = hash(hash(4, orig_dst_cid), packet);
    halves(first, mix(first))
}

fn halves(first: u64, second: u64) -> [u8; TAG] {
    (u128::from(first) << 64 | u128::from(second)).to_be_bytes()
}

/// Hash of bytes (FNV-1a), then mixed.
fn hash(seed: u64, bytes: &[u8]) -> u64 {
    let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    mix(bytes.iter().fold(mix(seed), fold))
}

/// Every bit of the input reaches every bit of the output (SplitMix64).
const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
