//! Multipath options as bytes (RFC 8684 §3), with the keys, tokens and hashes that the simulator does without.
//!
//! Keys are drawn from a stream of the run, so that the same run has the same bytes. Everything else follows from them: tokens and
//! initial data sequence numbers by SHA-256 (§3.2), authentication by HMAC-SHA256 (§3.2, §3.4.1).

use bentpipe_sim::Sighting;
use bentpipe_tcp::{Dss, Flags, Multipath, SubflowReset};
use bentpipe_units::{Seq, Stream};
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// Kind of all multipath options (RFC 8684 §3), and the no-operation that fills words.
const KIND: u8 = 30;
const NOP: u8 = 1;
/// Subtypes (RFC 8684, table 3).
const MP_CAPABLE: u8 = 0;
const MP_JOIN: u8 = 1;
const DSS: u8 = 2;
const ADD_ADDR: u8 = 3;
const REMOVE_ADDR: u8 = 4;
const MP_PRIO: u8 = 5;
const MP_FASTCLOSE: u8 = 7;
const MP_TCPRST: u8 = 8;
/// Version 1, and HMAC-SHA256 without checksums (RFC 8684 §3.1).
const VERSION: u8 = 1;
const HMAC_SHA256: u8 = 0x01;
/// Flags of a data sequence signal (RFC 8684 §3.3): DATA_ACK, mapping, both of four bytes, and DATA_FIN.
const HAS_ACK: u8 = 0x01;
const HAS_MAPPING: u8 = 0x04;
const HAS_FIN: u8 = 0x10;
/// Flag of a reset whose reason may pass (RFC 8684 §3.6).
const IS_TRANSIENT: u8 = 0x01;
/// Flag of an ADD_ADDR that is an echo (RFC 8684 §3.4.1).
const IS_ECHO: u8 = 0x01;

/// Names of a multipath connection: the keys of the end that opens it and of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names {
    keys: [u64; 2],
}

/// Place of a segment in a multipath connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Whether the end that did not open the connection sends it.
    pub is_back: bool,
    /// Number of the subflow.
    pub subflow: u8,
    /// Control bits of the segment.
    pub flags: Flags,
    /// Its payload, bytes.
    pub len: u16,
    /// Offset in the sequence numbers of the subflow, from its SYN.
    pub offset: u32,
    /// Address that ADD_ADDR offers: of the sender; in an echo, of its peer.
    pub address: Ipv4Addr,
}

impl Names {
    /// The names that follow from these keys.
    #[must_use]
    pub fn new(keys: [u64; 2]) -> Self {
        Self { keys }
    }

    /// Returns the token of an end (RFC 8684 §3.2): the first 32 bits of the hash of its key.
    #[must_use]
    pub fn token(&self, is_back: bool) -> [u8; 4] {
        let [a, b, c, d, ..] = self.hash(is_back);
        [a, b, c, d]
    }

    /// Returns the initial data sequence number of an end: the last 64 bits of that hash. Its first byte has the next number.
    #[must_use]
    pub fn initial(&self, is_back: bool) -> u64 {
        self.hash(is_back)[24..].iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    /// Returns the option, padded to words.
    #[must_use]
    pub fn encode(&self, multi: Multipath, place: &Place) -> Vec<u8> {
        let mut bytes = match multi {
            Multipath::Capable => self.capable(place),
            Multipath::Join { id, is_backup } => self.join(id, is_backup, place),
            Multipath::Dss(dss) => self.signal(&dss, place),
            Multipath::Infinite(dss) => self.map(&dss, 0, place),
            Multipath::AddAddress { id, is_echo } => self.add_address(id, is_echo, place),
            Multipath::RemoveAddress(id) => option(REMOVE_ADDR, 0, &[id]),
            Multipath::Priority { is_backup } => option(MP_PRIO, u8::from(is_backup), &[]),
            Multipath::Reset(SubflowReset { reason, is_transient }) => {
                option(MP_TCPRST, if is_transient { IS_TRANSIENT } else { 0 }, &[reason as u8])
            }
            // The key of the peer.
            Multipath::FastClose => option(MP_FASTCLOSE, 0, &[&[0][..], &self.key(!place.is_back)].concat()),
        };
        bytes.resize(bytes.len().next_multiple_of(4), NOP);
        bytes
    }

    /// RFC 8684 §3.1, figure 4: no key in the SYN, the key of the other end in its answer, both in the third segment. With data, their
    /// length follows.
    fn capable(&self, place: &Place) -> Vec<u8> {
        let (is_syn, is_ack) = (place.flags.has(Flags::SYN), place.flags.has(Flags::ACK));
        let both = [self.key(place.is_back), self.key(!place.is_back)].concat();
        let keys = match (is_syn, is_ack) {
            (true, false) => Vec::new(),
            (true, true) => self.key(place.is_back).to_vec(),
            (false, _) if place.len > 0 => [&both[..], &place.len.to_be_bytes()].concat(),
            (false, _) => both,
        };
        option(MP_CAPABLE, VERSION, &[&[HMAC_SHA256][..], &keys].concat())
    }

    /// RFC 8684 §3.2, figures 5 to 7. SYN: the token of the peer and a random number. SYN-ACK: 64 bits of an HMAC and a
    /// random number. Third segment: 160 bits of an HMAC.
    fn join(&self, id: u8, is_backup: bool, place: &Place) -> Vec<u8> {
        let Place { is_back, subflow, flags, .. } = *place;
        let (own, other) = (self.nonce(is_back, subflow), self.nonce(!is_back, subflow));
        let hash = self.authenticate(is_back, &[own, other].concat());
        let backup = u8::from(is_backup);
        match (flags.has(Flags::SYN), flags.has(Flags::ACK)) {
            (true, false) => option(MP_JOIN, backup, &[&[id][..], &self.token(!is_back), &own].concat()),
            (true, true) => option(MP_JOIN, backup, &[&[id][..], &hash[..8], &own].concat()),
            (false, _) => option(MP_JOIN, 0, &[&[0][..], &hash[..20]].concat()),
        }
    }

    /// RFC 8684 §3.3, figure 9. A DATA_FIN takes a byte of the mapping; without payload it is the mapping, at subflow number 0.
    fn signal(&self, dss: &Dss, place: &Place) -> Vec<u8> {
        let Dss { len, is_fin, .. } = *dss;
        if len == 0 && !is_fin {
            return option(DSS, 0, &[&[HAS_ACK][..], &self.number(!place.is_back, dss.data_ack)].concat());
        }
        let offset = if len > 0 { place.offset } else { 0 };
        self.map(dss, len + u16::from(is_fin), &Place { offset, ..*place })
    }

    /// The subflow carries `mapped` bytes of the data from its place on; 0: all further data.
    fn map(&self, dss: &Dss, mapped: u16, place: &Place) -> Vec<u8> {
        let flags = HAS_ACK | HAS_MAPPING | if dss.is_fin { HAS_FIN } else { 0 };
        let ack = self.number(!place.is_back, dss.data_ack);
        let (number, start) = (self.number(place.is_back, dss.dsn), place.offset);
        option(DSS, 0, &[&[flags][..], &ack, &number, &start.to_be_bytes(), &mapped.to_be_bytes()].concat())
    }

    /// RFC 8684 §3.4.1, figure 12: an IPv4 address without a port, and the last 64 bits of an HMAC. An echo has the flag E and no
    /// HMAC.
    fn add_address(&self, id: u8, is_echo: bool, place: &Place) -> Vec<u8> {
        let address = place.address.octets();
        if is_echo {
            return option(ADD_ADDR, IS_ECHO, &[&[id][..], &address].concat());
        }
        let hash = self.authenticate(place.is_back, &[&[id][..], &address, &[0, 0]].concat());
        option(ADD_ADDR, 0, &[&[id][..], &address, &hash[24..]].concat())
    }

    /// The low half of the data sequence number of the byte with this number.
    fn number(&self, is_back: bool, number: Seq) -> [u8; 4] {
        Seq::new(self.initial(is_back) as u32).at(1).at(number.value().into()).value().to_be_bytes()
    }

    fn key(&self, is_back: bool) -> [u8; 8] {
        self.keys[usize::from(is_back)].to_be_bytes()
    }

    fn hash(&self, is_back: bool) -> [u8; 32] {
        Sha256::digest(self.key(is_back)).into()
    }

    /// The random number of an end in the handshake of a subflow.
    fn nonce(&self, is_back: bool, subflow: u8) -> [u8; 4] {
        let hash: [u8; 32] = Sha256::new().chain_update(self.key(is_back)).chain_update([subflow]).finalize().into();
        [hash[0], hash[1], hash[2], hash[3]]
    }

    /// HMAC-SHA256 under the key of the sender, then that of the peer (RFC 8684 §3.2).
    fn authenticate(&self, is_back: bool, message: &[u8]) -> [u8; 32] {
        let key = [self.key(is_back), self.key(!is_back)].concat();
        match <Hmac<Sha256> as Mac>::new_from_slice(&key) {
            Ok(mac) => mac.chain_update(message).finalize().into_bytes().into(),
            // HMAC takes keys of any length.
            Err(_) => [0; 32],
        }
    }
}

/// Kind, length, subtype with the low half of its byte, and the rest.
fn option(subtype: u8, low: u8, rest: &[u8]) -> Vec<u8> {
    [&[KIND, 3 + rest.len() as u8, subtype << 4 | low], rest].concat()
}

/// Names of all multipath connections of a run, as their packets are seen.
#[derive(Debug, Default)]
pub(crate) struct Keyring {
    /// Names of its connection, and initial sequence numbers in both directions, by flow, connection and subflow.
    subflows: BTreeMap<(usize, u32, u8), (Names, [u32; 2])>,
}

impl Keyring {
    /// Returns the multipath option of a packet of the flow with this name, from one address to another; empty if it has none, or
    /// if its subflow is not known.
    pub(crate) fn option(&mut self, packet: &Sighting, seed: u64, flow: &str, [from, to]: [Ipv4Addr; 2]) -> Vec<u8> {
        let Some(segment) = packet.segment else { return Vec::new() };
        let Some(multi) = segment.multi else { return Vec::new() };
        let Sighting { is_back, subflow, connection, session, .. } = *packet;
        let place = (packet.flow.index(), connection, subflow);
        if segment.flags.has(Flags::SYN) {
            let draw = || (draw_names(seed, flow, session), [0; 2]);
            let (_, first) = self.subflows.entry(place).or_insert_with(draw);
            first[usize::from(is_back)] = segment.seq.value();
        }
        let Some((names, first)) = self.subflows.get(&place) else { return Vec::new() };
        let offset = segment.seq.value().wrapping_sub(first[usize::from(is_back)]);
        let address = if matches!(multi, Multipath::AddAddress { is_echo: true, .. }) { to } else { from };
        names.encode(multi, &Place { is_back, subflow, flags: segment.flags, len: segment.len, offset, address })
    }
}

/// Returns the names of a session of the flow with this name: the same for all its subflows.
fn draw_names(seed: u64, flow: &str, session: u32) -> Names {
    let mut draws = Stream::new(seed, &format!("flow/{flow}"), "multipath/keys");
    let first = 2 * u64::from(session);
    Names::new([draws.at(first), draws.at(first + 1)])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys of two ends; hashes and HMACs from Python's `hashlib` and `hmac`.
    const NAMES: Names = Names { keys: [0x0102_0304_0506_0708, 0x1112_1314_1516_1718] };

    fn place(is_back: bool, flags: Flags) -> Place {
        Place { is_back, subflow: 1, flags, len: 0, offset: 1001, address: Ipv4Addr::new(10, 78, 0, 2) }
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    const SYN: Flags = Flags::SYN;
    const SYN_ACK: Flags = Flags::SYN.with(Flags::ACK);
    const ACK: Flags = Flags::ACK;

    #[test]
    fn rfc8684_3_2_names_follow_from_keys() {
        assert_eq!([false, true].map(|is_back| hex(&NAMES.token(is_back))), ["66840dda", "ccad45ac"]);
        assert_eq!([false, true].map(|is_back| NAMES.initial(is_back)), [0xf5a1_01d3_d29d_6f72, 0x535b_eea3_8e08_7c8e]);
    }

    #[test]
    fn rfc8684_3_1_the_handshake_exchanges_keys() {
        let sent = |is_back, flags| hex(&NAMES.encode(Multipath::Capable, &place(is_back, flags)));
        assert_eq!(sent(false, SYN), "1e040101");
        assert_eq!(sent(true, SYN_ACK), "1e0c01011112131415161718");
        assert_eq!(sent(false, ACK), "1e14010101020304050607081112131415161718");
    }

    /// Both keys and the length of the data.
    #[test]
    fn rfc8684_3_1_the_first_data_have_both_keys() {
        let first = Place { len: 1396, ..place(false, ACK) };
        let sent = hex(&NAMES.encode(Multipath::Capable, &first));
        assert_eq!(sent, "1e16010101020304050607081112131415161718".to_owned() + "05740101");
    }

    /// Flag T, and the code of the reason.
    #[test]
    fn rfc8684_3_6_resets_have_codes() {
        use bentpipe_tcp::ResetReason;
        let sent = |reset| hex(&NAMES.encode(Multipath::Reset(reset), &place(true, Flags::RST)));
        let permanent = |reason| sent(SubflowReset::permanent(reason));
        assert_eq!(sent(SubflowReset::SILENT), "1e048100");
        let codes = [ResetReason::Unspecified, ResetReason::Signals, ResetReason::Middlebox].map(permanent);
        assert_eq!(codes, ["1e048000", "1e048001", "1e048006"]);
    }

    /// The length of an infinite mapping is 0.
    #[test]
    fn rfc8684_3_7_the_last_mapping_has_length_0() {
        let last = Multipath::Infinite(Dss { data_ack: Dss::number(1), dsn: Dss::number(0x10), ..Dss::default() });
        let sent = hex(&NAMES.encode(last, &Place { len: 1400, ..place(false, ACK) }));
        assert_eq!(sent, "1e1220058e087c90d29d6f83000003e900000101");
    }

    /// The hashes are of the numbers that the SYNs carry.
    #[test]
    fn rfc8684_3_2_a_join_proves_both_keys() {
        let join = Multipath::Join { id: 2, is_backup: true };
        let [syn, answer, third] = [(false, SYN), (true, SYN_ACK), (false, ACK)]
            .map(|(is_back, flags)| NAMES.encode(join, &place(is_back, flags)));
        assert_eq!([syn.len(), answer.len(), third.len()], [12, 16, 24]);
        assert_eq!(hex(&syn[..8]), "1e0c1102ccad45ac", "the token of the peer, B set");
        assert_eq!(hex(&answer[..4]), "1e101102");
        assert_eq!(hex(&third[..4]), "1e181000");
        let (ours, theirs) = (&syn[8..12], &answer[12..16]);
        assert_eq!(answer[4..12], NAMES.authenticate(true, &[theirs, ours].concat())[..8]);
        assert_eq!(third[4..24], NAMES.authenticate(false, &[ours, theirs].concat())[..20]);
    }

    #[test]
    fn rfc8684_3_2_hmacs_are_those_of_another_implementation() {
        let (ours, theirs) = ([0xa1, 0xa2, 0xa3, 0xa4], [0xb1, 0xb2, 0xb3, 0xb4]);
        assert_eq!(hex(&NAMES.authenticate(true, &[theirs, ours].concat())[..8]), "864b40428762fd06");
        let third = NAMES.authenticate(false, &[ours, theirs].concat());
        assert_eq!(hex(&third[..20]), "53037f2899475529844115fd07e665d23d3554fb");
    }

    /// Numbers are from the initial ones, whose next is that of the first byte: 0xd29d6f73 and 0x8e087c8f.
    #[test]
    fn rfc8684_3_3_signals_map_and_acknowledge() {
        let sent = |dss| hex(&NAMES.encode(Multipath::Dss(dss), &place(false, ACK)));
        assert_eq!(sent(Dss::default()), "1e0820018e087c8f");
        let data = Dss { data_ack: Dss::number(1), dsn: Dss::number(0x10), len: 1000, is_fin: false };
        assert_eq!(sent(data), "1e1220058e087c90d29d6f83000003e903e80101");
        assert_eq!(sent(Dss { is_fin: true, ..data }), "1e1220158e087c90d29d6f83000003e903e90101");
        assert_eq!(sent(Dss { is_fin: true, len: 0, ..data }), "1e1220158e087c90d29d6f830000000000010101");
    }

    const fn offer(id: u8, is_echo: bool) -> Multipath {
        Multipath::AddAddress { id, is_echo }
    }

    #[test]
    fn rfc8684_3_4_and_3_5_signals_of_the_path_manager() {
        let sent = |multi, is_back| hex(&NAMES.encode(multi, &place(is_back, ACK)));
        assert_eq!(sent(offer(2, false), true), "1e1030020a4e00020223e369dc52e5c4");
        assert_eq!(sent(offer(2, true), false), "1e0831020a4e0002", "flag E, no HMAC");
        assert_eq!(sent(Multipath::RemoveAddress(3), false), "1e044003");
        assert_eq!(sent(Multipath::Priority { is_backup: true }, false), "1e035101");
        assert_eq!(sent(Multipath::FastClose, false), "1e0c70001112131415161718");
    }

    /// The bytes are as many as the simulator counts.
    #[test]
    fn options_have_the_length_that_headers_count() {
        use bentpipe_tcp::Segment;
        let dss = |len, is_fin| Multipath::Dss(Dss { len, is_fin, ..Dss::default() });
        let join = Multipath::Join { id: 1, is_backup: false };
        let all = [(Multipath::Capable, SYN), (Multipath::Capable, SYN_ACK), (Multipath::Capable, ACK), (join, SYN)];
        let others = [(join, SYN_ACK), (join, ACK), (dss(0, false), ACK), (dss(9, false), ACK), (dss(0, true), ACK)];
        let path_manager = [Multipath::RemoveAddress(1), Multipath::Priority { is_backup: false }];
        let rest = [offer(1, false), offer(1, true)].into_iter().chain(path_manager);
        let reset = (Multipath::Reset(SubflowReset::SILENT), Flags::RST);
        let rest = rest.map(|multi| (multi, ACK)).chain([(Multipath::FastClose, Flags::RST), reset]);
        let last = [(Multipath::Infinite(Dss::default()), ACK)];
        let all = all.into_iter().chain(others).chain(rest).chain(last).map(|(multi, flags)| (multi, flags, 0));
        for (multi, flags, len) in all.chain([(Multipath::Capable, ACK, 9)]) {
            let segment = Segment { flags, len, multi: Some(multi), ..Segment::default() };
            let bytes = NAMES.encode(multi, &Place { len, ..place(false, flags) });
            assert_eq!(bytes.len(), usize::from(segment.header_len() - 40), "{multi:?}");
        }
    }
}
