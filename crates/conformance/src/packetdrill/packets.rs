//! Packets of a packetdrill script.

use super::{shown, Script, Token};
use crate::script::Described;
use bentpipe_tcp::Ecn;

/// Largest shift of a window in a script.
const LARGEST_SHIFT: u8 = 14;

impl Script<'_> {
    /// Reads a packet after its direction. `is_own`: the host under test sends it.
    pub(super) fn packet(&mut self, is_own: bool) -> Result<Described, String> {
        let mut packet = Described { ecn: self.ip()?, ..Described::default() };
        let flags = self.flags()?;
        for (flag, has) in [('S', &mut packet.is_syn), ('F', &mut packet.is_fin), ('R', &mut packet.is_rst)] {
            *has = flags.contains(flag);
        }
        (packet.is_ece, packet.is_cwr) = (Some(flags.contains('E')), Some(flags.contains('W')));
        packet.has_no_ack = !flags.contains('.');
        self.sequence(is_own, &mut packet)?;
        if self.takes_word("ack") {
            let ack = self.number()?;
            // An ACK of nothing yet, as with a reset, has the number before the first byte.
            let base = *self.isn[usize::from(is_own)].get_or_insert(0);
            packet.ack = Some(offset(ack, base));
        }
        if self.takes_word("win") {
            let window: u16 = self.number()?;
            if is_own {
                packet.field = Some(window);
            } else {
                packet.window = Some(u64::from(window) << if packet.is_syn { 0 } else { self.shift });
            }
        }
        if self.takes_word("urg") {
            return Err("urgent data cannot be expressed".into());
        }
        let named = if self.takes('<') { self.options(is_own, &mut packet)? } else { Named::default() };
        if is_own {
            packet.has_no_options = named.is_any;
            packet.has_no_timestamps = !named.is_any && packet.stamps.is_none();
        } else if named.is_any {
            return Err("a packet of the peer with any options cannot be expressed".into());
        }
        if packet.is_syn {
            self.syn(is_own, named, &mut packet);
        }
        Ok(packet)
    }

    /// Reads the part of the IP header, if there is one.
    fn ip(&mut self) -> Result<Option<Ecn>, String> {
        let close = match self.peek() {
            Some(Token::Sign('[')) => ']',
            Some(Token::Sign('(')) => ')',
            _ => return Ok(None),
        };
        self.next()?;
        let ecn = match self.next()? {
            Token::Word(word) => match word.as_str() {
                "noecn" => Some(Ecn::NotEct),
                "ect0" => Some(Ecn::Ect0),
                "ect1" => Some(Ecn::Ect1),
                "ce" => Some(Ecn::Ce),
                _ => None,
            },
            _ => None,
        };
        let ecn = ecn.ok_or("a part of the IP header other than ECN cannot be expressed")?;
        self.expect(close)?;
        Ok(Some(ecn))
    }

    /// Reads the flags. A dot is ACK.
    fn flags(&mut self) -> Result<String, String> {
        let mut flags = String::new();
        match self.next()? {
            Token::Sign('.') => flags.push('.'),
            Token::Sign('-') => {}
            Token::Word(word) if word.chars().all(|flag| "SFRPEW".contains(flag)) => {
                flags.push_str(word);
                if self.takes('.') {
                    flags.push('.');
                }
            }
            other => return Err(format!("a packet that cannot be expressed (only TCP over IPv4): {}", shown(other))),
        }
        Ok(flags)
    }

    fn sequence(&mut self, is_own: bool, packet: &mut Described) -> Result<(), String> {
        let from: u32 = self.number()?;
        self.expect(':')?;
        let to: u32 = self.number()?;
        self.expect('(')?;
        let len: u32 = self.number()?;
        self.expect(')')?;
        if to.wrapping_sub(from) != len {
            return Err(format!("{from}:{to} are not {len} bytes"));
        }
        let isn = &mut self.isn[usize::from(!is_own)];
        if packet.is_syn {
            if isn.is_some_and(|isn| isn != from) {
                return Err("a second connection cannot be expressed".into());
            }
            *isn = Some(from);
            packet.data = (len > 0).then_some((0, len.into()));
        } else {
            let start = offset(from, *isn.get_or_insert(0));
            packet.data = Some((start, start + u64::from(len)));
        }
        Ok(())
    }

    fn options(&mut self, is_own: bool, packet: &mut Described) -> Result<Named, String> {
        let mut named = Named::default();
        loop {
            let name = match self.next()? {
                Token::Sign('>') => return Ok(named),
                Token::Sign(',') => continue,
                Token::Dots => {
                    named.is_any = true;
                    continue;
                }
                Token::Word(name) => name,
                other => return Err(format!("expected an option, got {}", shown(other))),
            };
            match name.as_str() {
                "nop" | "eol" | "NOP" | "EOL" => {}
                "mss" => named.mss = Some(self.number()?),
                "wscale" => named.shift = Some(self.number::<u8>()?.min(LARGEST_SHIFT)),
                "sackOK" => named.has_sack = true,
                "sack" => {
                    let mut blocks = Vec::new();
                    while matches!(self.peek(), Some(Token::Word(word)) if word.parse::<u32>().is_ok()) {
                        let left = self.number()?;
                        self.expect(':')?;
                        let right = self.number()?;
                        // Blocks are of the other direction.
                        let isn = self.isn[usize::from(is_own)].unwrap_or(0);
                        blocks.push((offset(left, isn), offset(right, isn)));
                    }
                    packet.sack = Some(blocks);
                }
                "TS" => {
                    let is_right = self.takes_word("val");
                    let value = self.number()?;
                    if !is_right || !self.takes_word("ecr") {
                        return Err("expected TS val NUMBER ecr NUMBER".into());
                    }
                    packet.stamps = Some((value, self.number()?));
                }
                "FO" | "FOEXP" => return Err("TCP Fast Open cannot be expressed".into()),
                "md5" => return Err("TCP MD5 cannot be expressed".into()),
                other => return Err(format!("an option that cannot be expressed: {other}")),
            }
        }
    }

    fn syn(&mut self, is_own: bool, named: Named, packet: &mut Described) {
        self.has_stamps[usize::from(!is_own)] = packet.stamps.is_some();
        if is_own {
            if !named.is_any {
                packet.mss = named.mss;
                packet.sack_permitted = Some(named.has_sack);
                // The shift itself is not compared.
                packet.window_scale = if named.shift.is_none() { Some(None) } else { None };
            }
            return;
        }
        self.mss[1] = named.mss.unwrap_or(536).into();
        self.shift = named.shift.unwrap_or(0);
        packet.mss = Some(named.mss.unwrap_or(536));
        packet.window_scale = Some(named.shift);
        packet.sack_permitted = Some(named.has_sack);
        packet.has_no_options = named == Named::default() && packet.stamps.is_none();
    }
}

/// Options of a SYN.
#[derive(Default, PartialEq)]
struct Named {
    is_any: bool,
    mss: Option<u16>,
    shift: Option<u8>,
    has_sack: bool,
}

/// Returns the offset of a sequence number from the first byte. The SYN is before the first byte, at 2^32 - 1.
fn offset(number: u32, isn: u32) -> u64 {
    number.wrapping_sub(isn).wrapping_sub(1).into()
}
