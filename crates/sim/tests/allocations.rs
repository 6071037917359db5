//! After warm-up, packets cost no allocations. What is left are rings and histograms that meet a new maximum and grow:
//! there are some two hundred of them, and each doubles a few times in a run, however long.
#![allow(unsafe_code)]

use bentpipe_sim::scenario::from_toml;
use bentpipe_sim::Network;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The queues that are asked; drop-tail first.
const QUEUES: [&str; 5] = [
    "\"1 bdp\"",
    "\"red\"",
    "\"pie\"",
    "{ kind = \"fq-codel\", queues = 64 }",
    "{ kind = \"drr\", class = [{ limit = \"100 packets\" }] }",
];

const TEN_FLOWS: &str = r#"
duration = "400 s"
[tcp]
like = "rfc"
cc = "newreno"
[link.up]
from = "s{n}"
to = "sat1"
count = 10
rate = "10 Mbit/s"
delay = "20 ms"
[link.isl]
from = "sat1"
to = "sat2"
rate = "10 Mbit/s"
delay = "20 ms"
[link.down]
from = "sat2"
to = "r{n}"
count = 10
rate = "10 Mbit/s"
delay = "20 ms"
[flow.f]
from = "s{n}"
to = "r{n}"
count = 10
start = { uniform = ["0 s", "1 s"] }
"#;

/// Tests in parallel would count what the others allocate.
#[test]
fn packets_allocate_nothing_once_the_rings_have_grown() {
    let set = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    // The last one is told of each segment that is lost.
    let with_newreno = QUEUES.map(|queue| (queue, "\"newreno\""));
    let plain = with_newreno.into_iter().chain([("\"1 bdp\"", "\"bbr3\"")]);
    let mut cases: Vec<Vec<_>> =
        plain.map(|(queue, cc)| vec![set("link.isl.queue", queue), set("tcp.cc", cc)]).collect();
    // Copies of the packets of an erasure code stand in slots that are used again.
    let end = |role: &str| format!("[{{ kind = \"erasure\", role = \"{role}\" }}]");
    cases.push(vec![
        set("node.sat1.middlebox", &end("encoder")),
        set("node.sat2.middlebox", &end("decoder")),
        set("link.isl.error", "{ kind = \"packet\", rate = 0.01 }"),
    ]);
    // So do the numbers that a compressor writes on packets.
    let end = |role: &str| format!("[{{ kind = \"compress\", role = \"{role}\", scheme = \"rohc\" }}]");
    cases.push(vec![set("node.sat1.middlebox", &end("compressor")), set("node.sat2.middlebox", &end("decompressor"))]);
    let jitter = "{ delay = { kind = \"exponential\", mean = \"3 ms\" }, every = \"2 ms\", correlation = \"5 ms\" }";
    let varying = vec![set("link.isl.jitter", jitter), set("link.down.jitter", &format!("[{jitter}, {jitter}]"))];
    // Delays that vary go on to be the largest so far, ever more seldom.
    for (begin, sets) in cases.into_iter().map(|sets| (60.0, sets)).chain([(370.0, varying)]) {
        let scenario = from_toml(TEN_FLOWS, "test.toml", &sets).expect("the scenario is valid").scenario;
        let mut network = Network::build(&scenario, 1);
        let mut run_until = |seconds: f64| {
            while network.now().as_secs_f64() < seconds {
                network.run(1000);
            }
            ALLOCATIONS.load(Ordering::Relaxed)
        };
        let warm = run_until(begin);
        // Rings and histograms grow where a flow reaches its largest window or delay so far: up to nine times in these
        // 75,000 packet-hops. What allocates for each packet or each loss does so hundreds of times.
        let more = run_until(begin + 20.0) - warm;
        assert!(more <= 20, "{sets:?}: {more} allocations in 20 s");
    }
}
