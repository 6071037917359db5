//! A superframe allocates no memory once its lists have met their largest sizes.
#![allow(unsafe_code)]

use bentpipe_access::{Access, Demand, Free, MfTdma, RandomAccess, RandomUse, SlottedMedium, Terminal};
use bentpipe_units::{Duration, Rate};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: both calls are the system's, with its own arguments. The other calls of the trait use these two.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn a_warm_superframe_allocates_nothing() {
    let access = Access {
        constant: Rate::from_bps(8_000),
        rate_based: Rate::from_bps(512_000),
        volume_based: true,
        random: RandomUse::Data,
        weight: 1,
    };
    let terminals: Vec<Terminal> = (0..200).map(|n| Terminal { name: format!("link/user{n}"), access }).collect();
    let way = Duration::from_millis(250);
    let medium = MfTdma {
        carriers: 4,
        free: Free::Asking,
        random: Some(RandomAccess::default()),
        to_controller: way,
        to_terminal: way,
        ..MfTdma::default()
    };
    let mut link = SlottedMedium::mf_tdma(&medium, &terminals, 1);
    let mut demands =
        vec![Demand { backlog: 0, arrived: 0, es_n0_db: 9.0, is_up: true, handed: None }; terminals.len()];
    let mut run = |superframes: core::ops::Range<u64>| {
        for k in superframes {
            for (n, demand) in demands.iter_mut().enumerate() {
                let is_busy = (k / 50 + n as u64) % 3 == 0;
                (demand.backlog, demand.arrived) = if is_busy { (3000, 500) } else { (0, 0) };
            }
            link.advance(&demands);
        }
    };
    run(0..2000);
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    run(2000..4000);
    let after = ALLOCATIONS.load(Ordering::Relaxed);
    assert!(before > 0);
    // A list may meet a new maximum: 21 lists of messages, and the entries of a block.
    assert!(after - before <= 5, "{} allocations", after - before);
}
