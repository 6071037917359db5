//! Places each middlebox on the path `a - b - c - d`, for inherited tests and for the bench.

/// Calls a macro with lines of name, tables of nodes with middleboxes, and tables with settings that disable it
/// (`None`: it always acts).
macro_rules! trials {
    ($each:ident) => {
        $each! {
            impair:
                "[node.b]\nmiddlebox = [{ kind = \"impair\", duplicate = \"2 %\", reorder = \"2 %\", hold = \"30 ms\" }]",
                Some("[node.b]\nmiddlebox = [{ kind = \"impair\" }]");
            ack_filter:
                "[node.b]\nmiddlebox = [{ kind = \"ack-filter\" }]",
                None;
            ack_reconstruct:
                "[node.b]\nmiddlebox = [{ kind = \"ack-reconstruct\", idle = \"2 s\" }]",
                Some("[node.b]\nmiddlebox = [{ kind = \"ack-reconstruct\", every = 1000 }]");
            split:
                "[node.b]\nmiddlebox = [{ kind = \"split\", buffer = \"20 kB\" }]",
                None;
            cache:
                "[node.b]\nmiddlebox = [{ kind = \"cache\" }]",
                None;
            two_splits:
                "[node.b]\nmiddlebox = [{ kind = \"split\", accept = \"late\" }]\n[node.c]\nmiddlebox = [{ kind = \"split\" }]",
                None;
            spoof:
                "[node.b]\nmiddlebox = [{ kind = \"spoof\", buffer = \"20 kB\", window = \"15 kB\" }]",
                None;
            freeze:
                "[node.b]\nmiddlebox = [{ kind = \"freeze\", buffer = \"20 kB\", idle = \"2 s\" }]",
                Some("[node.b]\nmiddlebox = [{ kind = \"freeze\" }]");
            snoop:
                "[node.b]\nmiddlebox = [{ kind = \"snoop\", direction = \"both\" }]",
                None;
            satpep:
                "[node.b]\nmiddlebox = [{ kind = \"satpep\", rate = \"4 Mbit/s\" }]\n[node.c]\nmiddlebox = [{ kind = \"satpep\", rate = \"4 Mbit/s\" }]",
                None;
            been:
                "[node.b]\nmiddlebox = [{ kind = \"been\", role = \"gateway\" }]\n[node.c]\nkind = \"processing\"\nmiddlebox = [{ kind = \"been\", role = \"satellite\" }]",
                None;
            eln:
                "[node.c]\nkind = \"processing\"\nmiddlebox = [{ kind = \"eln\" }]",
                None;
            eten:
                "[node.c]\nkind = \"processing\"\nmiddlebox = [{ kind = \"eten\" }]",
                None;
            dpsm:
                "[node.c]\nkind = \"processing\"\nmiddlebox = [{ kind = \"dpsm\" }]",
                None;
            refwa:
                "[node.b]\nmiddlebox = [{ kind = \"refwa\" }]",
                Some("[node.b]\nmiddlebox = [{ kind = \"refwa\", flows = 0 }]");
            xcp:
                "[node.b]\nmiddlebox = [{ kind = \"xcp\" }]",
                Some("[node.b]\nmiddlebox = [{ kind = \"xcp\" }]");
            rcp:
                "[node.b]\nmiddlebox = [{ kind = \"rcp\" }]",
                Some("[node.b]\nmiddlebox = [{ kind = \"rcp\" }]");
            ewa:
                "[node.b]\nmiddlebox = [{ kind = \"ewa\" }]",
                Some("[node.b]\nmiddlebox = [{ kind = \"ewa\", flows = 0 }]");
            erasure:
                "[node.b]\nmiddlebox = [{ kind = \"erasure\", role = \"encoder\" }]\n[node.c]\nmiddlebox = [{ kind = \"erasure\", role = \"decoder\" }]",
                Some("[node.b]\nmiddlebox = [{ kind = \"erasure\", role = \"encoder\", repair = 0 }]\n[node.c]\nmiddlebox = [{ kind = \"erasure\", role = \"decoder\" }]");
            erasure_in_order:
                "[node.b]\nmiddlebox = [{ kind = \"erasure\", role = \"encoder\", code = \"rateless\", k = 8, repair = 4 }]\n[node.c]\nmiddlebox = [{ kind = \"erasure\", role = \"decoder\", order = \"in-order\", blocks = 4 }]",
                Some("[node.b]\nmiddlebox = [{ kind = \"erasure\", role = \"encoder\", repair = 0 }]\n[node.c]\nmiddlebox = [{ kind = \"erasure\", role = \"decoder\", order = \"in-order\" }]");
            compress_vj:
                "[node.b]\nmiddlebox = [{ kind = \"compress\", role = \"compressor\", scheme = \"vj\" }]\n[node.c]\nmiddlebox = [{ kind = \"compress\", role = \"decompressor\", scheme = \"vj\" }]",
                Some("[node.b]\nmiddlebox = [{ kind = \"compress\", role = \"compressor\", scheme = \"vj\", contexts = 0 }]\n[node.c]\nmiddlebox = [{ kind = \"compress\", role = \"decompressor\", scheme = \"vj\" }]");
            compress_iphc:
                "[node.b]\nmiddlebox = [{ kind = \"compress\", role = \"compressor\", scheme = \"iphc\" }]\n[node.c]\nmiddlebox = [{ kind = \"compress\", role = \"decompressor\", scheme = \"iphc\" }]",
                Some("[node.b]\nmiddlebox = [{ kind = \"compress\", role = \"compressor\", scheme = \"iphc\", contexts = 0 }]\n[node.c]\nmiddlebox = [{ kind = \"compress\", role = \"decompressor\", scheme = \"iphc\" }]");
            compress_rohc:
                "[node.b]\nmiddlebox = [{ kind = \"compress\", role = \"compressor\", scheme = \"rohc\" }]\n[node.c]\nmiddlebox = [{ kind = \"compress\", role = \"decompressor\", scheme = \"rohc\" }]",
                Some("[node.b]\nmiddlebox = [{ kind = \"compress\", role = \"compressor\", scheme = \"rohc\", contexts = 0 }]\n[node.c]\nmiddlebox = [{ kind = \"compress\", role = \"decompressor\", scheme = \"rohc\" }]");
        }
    };
}
