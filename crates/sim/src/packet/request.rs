//! What a connection asks for: the content of a request, for functions of the network that answer it themselves.

use crate::ids::NodeId;

/// The request that an opener has sent last, for an object with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// The node that has the object, and its number there.
    pub(crate) object: (NodeId, u64),
    /// Bytes of the response.
    pub(crate) size: u64,
    /// Bytes of the request.
    pub(crate) bytes: u64,
    /// Bytes that the opener has sent when the request is complete, of all requests of its connection.
    pub(crate) asked: u64,
}
