//! Content of a connection's request, for middleboxes that answer it.

use crate::ids::NodeId;

/// Last request of an opener for a named object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Node that has the object, and its number there.
    pub object: (NodeId, u64),
    /// Bytes of the response.
    pub size: u64,
    /// Bytes of the request.
    pub bytes: u64,
    /// Bytes that the opener has sent at the end of the request, of all requests of its connection.
    pub asked: u64,
}
