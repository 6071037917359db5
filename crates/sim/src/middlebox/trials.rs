//! Each function where it may stand on the path `a - b - c - d`, for the tests that all of them inherit and for the bench.

/// Calls a macro with lines of: name, the tables of nodes with what stands there, and the same in a setting in which it does
/// nothing (none: it always acts).
macro_rules! trials {
    ($each:ident) => {
        $each! {
            impair:
                "[node.b]\nmiddlebox = [{ kind = \"impair\", duplicate = \"2 %\", reorder = \"2 %\", hold = \"30 ms\" }]",
                Some("[node.b]\nmiddlebox = [{ kind = \"impair\" }]");
            ack_filter:
                "[node.b]\nmiddlebox = [{ kind = \"ack-filter\" }]",
                None;
        }
    };
}
