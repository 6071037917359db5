//! Packets under way, and their rare parts.
//!
//! | module | contents |
//! |---|---|
//! | [`header`] | the packet: plain data, small, copied from ring to ring |
//! | [`parts`] | the kinds of rare parts: options, labels, messages, bytes |
//! | [`body`] | the parts of all packets, in reused slots |
//! | [`segment`] | packets of segments and messages |
//! | [`block`], [`compressed`] | parts for erasure codes and compressed headers |

mod block;
mod body;
mod compressed;
mod header;
mod parts;
mod request;
mod segment;

pub use body::Bodies;
pub use header::Packet;
pub use header::{Origin, PacketKind, DATAGRAM_HEADERS, LOWEST, NO_BODY, UNROUTED};
pub use parts::{Carried, Compressed, Fields, Member, Message, Recipient, Repair};
pub use parts::{Label, Records};
pub use request::Request;
