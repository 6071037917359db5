//! Settings of both ends for the stack: endpoint, transport, tokens, identifiers. All of its random numbers come from the seed.

use crate::clock::Clock;
use crate::fates::Fates;
use crate::house::HouseFactory;
use crate::migration::{address, CID_LEN};
use crate::null::{Null, SeededKey};
use crate::qlog::StackLog;
use crate::tap::{Fixed, Shared, Tapped};
use bentpipe_cc::keys::Growth;
use bentpipe_cc::{CarefulResume, SavedPath};
use bentpipe_model::spec::{Quic, QuicCc, QuicHandshake, QuicKeepAlive, QuicSendOrder};
use bentpipe_model::stack::Seed;
use bentpipe_units::{Stream, Time};
use bytes::Bytes;
use quinn_proto::congestion::{ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::{
    crypto, AckFrequencyConfig, ClientConfig, ConnectionId, ConnectionIdGenerator, Endpoint, EndpointConfig,
    IdleTimeout, InvalidCid, ServerConfig, Side, TimeSource, TokenLog, TokenReuseError, TokenStore, TransportConfig,
    ValidationTokenConfig, VarInt,
};
use std::sync::Arc;
use std::time::SystemTime;

/// Most bytes of handshake messages out of order, as of the stack's default.
const CRYPTO_BUFFER: usize = 16 * 1024;
/// Most streams of each kind that a peer may open.
const STREAMS_MAX: u32 = 10_000;

/// Cryptography of the handshake, for either end.
pub(crate) struct Crypto {
    pub(crate) client: Arc<dyn crypto::ClientConfig>,
    pub(crate) server: Arc<dyn crypto::ServerConfig>,
}

impl Crypto {
    /// Returns the replacement of TLS. `fates`: of the packets of this end, and of its peer.
    pub(crate) fn null(handshake: QuicHandshake, fates: [Fates; 2]) -> Self {
        let QuicHandshake { flight, resume, accepted, .. } = handshake;
        let null = Null { flight: flight as usize, resume, accepts: accepted, fates };
        let null = Arc::new(null);
        Self { client: Arc::clone(&null) as _, server: null }
    }
}

/// Returns the endpoint of a side, and the settings with which a client connects.
pub(crate) fn endpoint(
    quic: &Quic,
    crypto: Crypto,
    seed: Seed<'_>,
    side: Side,
    saved: Option<SavedPath>,
    facts: &Shared,
    clock: Clock,
) -> (Endpoint, Option<ClientConfig>) {
    let name = if side.is_client() { "client" } else { "server" };
    let mut draws = Stream::new(seed.run, seed.flow, &format!("quic/{name}/{}", seed.ordinal));
    let transport = Arc::new(transport(quic, saved, facts, clock, draws.at(0)));
    let handshake = quic.handshake;
    // The server's, of which the client holds a token.
    let token_key = SeededKey(Stream::new(seed.run, seed.flow, "quic/token").at(seed.ordinal));
    let mut config = EndpointConfig::new(Arc::new(SeededKey(draws.at(1))));
    let cids = draws.at(2);
    config.cid_generator(move || Box::new(Cids { stream: Stream::with_key([cids, 0]), next: 0 }));
    let mut rng_seed = [0; 32];
    for (index, part) in rng_seed.chunks_exact_mut(8).enumerate() {
        part.copy_from_slice(&draws.at(3 + index as u64).to_le_bytes());
    }
    config.rng_seed(Some(rng_seed));
    // Never refused: the setting is at least 1200.
    let _ = config.max_udp_payload_size(u16::try_from(quic.mtu.max(1472)).unwrap_or(u16::MAX));
    let first = draws.at(7).to_be_bytes();
    let (mut client, mut server) = (None, None);
    if side.is_client() {
        let mut config = ClientConfig::new(crypto.client);
        config.transport_config(transport);
        let own = address(Side::Client as u16);
        let token = handshake.address_token.then(|| token_key.address_token(own.ip(), draws.at(8)));
        config.token_store(Arc::new(GivenToken(token)));
        config.initial_dst_cid_provider(Arc::new(move || ConnectionId::new(&first)));
        client = Some(config);
    } else {
        let mut config = ServerConfig::new(crypto.server, Arc::new(token_key));
        config.transport_config(transport);
        let mut tokens = ValidationTokenConfig::default();
        tokens.log(Arc::new(EachTokenOnce)).sent(0);
        config.validation_token_config(tokens);
        config.time_source(Arc::new(FixedTime));
        server = Some(Arc::new(config));
    }
    (Endpoint::new(Arc::new(config), server, false, None), client)
}

/// The address token of an earlier connection.
#[derive(Debug)]
struct GivenToken(Option<Vec<u8>>);

impl TokenStore for GivenToken {
    fn insert(&self, _: &str, _: Bytes) {}

    fn take(&self, _: &str) -> Option<Bytes> {
        self.0.clone().map(Bytes::from)
    }
}

/// Accepts address tokens: each connection has its own.
#[derive(Debug)]
struct EachTokenOnce;

impl TokenLog for EachTokenOnce {
    fn check_and_insert(&self, _: u128, _: SystemTime, _: std::time::Duration) -> Result<(), TokenReuseError> {
        Ok(())
    }
}

fn transport(quic: &Quic, saved: Option<SavedPath>, facts: &Shared, clock: Clock, seed: u64) -> TransportConfig {
    let mut config = TransportConfig::default();
    let [stream, connection, send] = quic.windows();
    let mtu = u16::try_from(quic.mtu).unwrap_or(u16::MAX);
    config
        .max_concurrent_bidi_streams(STREAMS_MAX.into())
        .max_concurrent_uni_streams(STREAMS_MAX.into())
        .max_idle_timeout(IdleTimeout::try_from(Clock::std(quic.idle_timeout)).ok())
        .stream_receive_window(VarInt::from_u64(stream).unwrap_or(VarInt::MAX))
        .receive_window(VarInt::from_u64(connection).unwrap_or(VarInt::MAX))
        .send_window(send)
        .send_fairness(quic.send_order == QuicSendOrder::RoundRobin)
        .packet_threshold(quic.packet_threshold)
        .time_threshold(quic.time_threshold as f32)
        .persistent_congestion_threshold(quic.persistent_congestion)
        .initial_rtt(Clock::std(quic.initial_rtt))
        .initial_mtu(mtu)
        .min_mtu(mtu)
        // Probes are packets without data, and the path is known.
        .mtu_discovery_config(None)
        .ack_frequency_config(quic.ack_frequency.map(|asked| {
            let mut config = AckFrequencyConfig::default();
            config
                .ack_eliciting_threshold(asked.every.saturating_sub(1).into())
                .max_ack_delay(Some(Clock::std(asked.delay)))
                .reordering_threshold(asked.reordering.into());
            config
        }))
        .crypto_buffer_size(CRYPTO_BUFFER.max(quic.handshake.flight as usize))
        .keep_alive_interval(match quic.keep_alive {
            QuicKeepAlive::Off => None,
            QuicKeepAlive::Every(span) => Some(Clock::std(span)),
        })
        .enable_segmentation_offload(false)
        .congestion_controller_factory(Arc::new(Tapped {
            factory: factory(quic, saved, facts, clock, seed),
            clock,
            facts: facts.clone(),
        }));
    if facts.lock().log.is_some() {
        let facts = facts.clone();
        config.qlog_stream(StackLog::stream(move |note| facts.lock().notes.push(note)));
    }
    config
}

fn factory(
    quic: &Quic,
    saved: Option<SavedPath>,
    facts: &Shared,
    clock: Clock,
    seed: u64,
) -> Arc<dyn ControllerFactory + Send + Sync> {
    let initial_window = quic.initial_bytes();
    let given = |settings| CarefulResume::given(settings, quic.mtu.into(), Time::ZERO);
    match quic.cc {
        QuicCc::House(cc) => Arc::new(HouseFactory {
            cc,
            growth: Growth { byte_counting: quic.byte_counting, slow_start: quic.slow_start, ..Growth::default() },
            initial_window,
            resume: quic.careful_resume.map(|settings| (settings, given(settings).or(saved))),
            seed,
            clock,
            facts: facts.clone(),
        }),
        QuicCc::StackCubic => {
            let mut config = CubicConfig::default();
            config.initial_window(initial_window);
            Arc::new(config)
        }
        QuicCc::StackNewReno => {
            let mut config = NewRenoConfig::default();
            config.initial_window(initial_window);
            Arc::new(config)
        }
        QuicCc::Fixed => Arc::new(Fixed(initial_window)),
    }
}

/// Connection identifiers from the seed.
#[derive(Debug)]
struct Cids {
    stream: Stream,
    next: u64,
}

impl ConnectionIdGenerator for Cids {
    fn generate_cid(&mut self) -> ConnectionId {
        let cid = self.stream.at(self.next).to_be_bytes();
        self.next += 1;
        ConnectionId::new(&cid)
    }

    fn validate(&self, _: &ConnectionId) -> Result<(), InvalidCid> {
        Ok(())
    }

    fn cid_len(&self) -> usize {
        CID_LEN
    }

    fn cid_lifetime(&self) -> Option<std::time::Duration> {
        None
    }
}

/// Tokens carry the time of the wall: here always the same.
#[derive(Debug)]
struct FixedTime;

impl TimeSource for FixedTime {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}
