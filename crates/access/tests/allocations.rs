//! Superframes and frames allocate no memory once their lists have met their largest sizes.
#![allow(unsafe_code)]

use bentpipe_access::{
    Access, Adaptation, Backlog, Capacity, Demand, Frame, Frames, Free, MfTdma, Part, Queues, RandomAccess, RandomUse,
    Share, SlottedMedium, Tdm, TdmMedium, Terminal,
};
use bentpipe_units::{Duration, Rate, Time};
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

/// One test, because others would count in its time.
#[test]
fn warm_media_allocate_nothing() {
    warm_superframes_allocate_nothing();
    warm_frames_allocate_nothing();
}

/// Packets that wait, by terminal.
struct Packets(Vec<u64>);

impl Queues for Packets {
    fn is_up(&mut self, _terminal: usize, _now: Time) -> bool {
        true
    }

    fn next(&mut self, terminal: usize, _now: Time) -> Option<u32> {
        (self.0[terminal] > 0).then_some(700)
    }

    fn backlog(&mut self, terminal: usize) -> Backlog {
        Backlog { packets: self.0[terminal], bytes: self.0[terminal] * 700 }
    }

    fn take(&mut self, terminal: usize) {
        self.0[terminal] -= 1;
    }

    fn put(&mut self, _terminal: usize, _frame: &Frame, _part: Part) -> bool {
        false
    }

    fn sent(&mut self, _terminal: usize, _at: Time, _is_lost: bool) {}
}

fn warm_frames_allocate_nothing() {
    let settings = Tdm {
        frames: Frames { symbol_rate: 10_000_000, pilots: true, label: 3 },
        share: Share::Bits,
        hold: Duration::from_millis(15),
        short_frames: true,
        modcod: None,
        acm: Adaptation::default(),
    };
    let mut medium = TdmMedium::new(&settings, (0..100).map(|n| (1, f64::from(n % 15))));
    let (mut queues, mut now) = (Packets(vec![0; 100]), Time::ZERO);
    let mut run = |frames: u64| {
        for k in 0..frames {
            let n = (k * 37 % 100) as usize;
            queues.0[n] += 4;
            medium.arrived(now, n);
            if k % 20 == 0 {
                medium.announce(now, 300, 0..100);
            }
            now = medium.next_frame(now, &mut queues).map_or(now, |frame| frame.ends);
        }
        let of = medium.frames_by_modcod().iter();
        let [normal, short] = of.fold([0, 0], |sum, of| [sum[0] + of.normal, sum[1] + of.short]);
        assert!(normal > 0 && short > 0, "{normal} {short}");
    };
    run(5000);
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    run(5000);
    assert_eq!(ALLOCATIONS.load(Ordering::Relaxed) - before, 0);
}

fn warm_superframes_allocate_nothing() {
    let first = Capacity {
        constant: Rate::from_bps(8_000),
        rate_based: Rate::from_bps(512_000),
        volume_based: true,
        ..Capacity::default()
    };
    let further = [Some(Capacity { volume_based: true, ..Capacity::default() }), None, None];
    let access = Access { first, further, random: RandomUse::Data, weight: 1 };
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
    let mut demands = vec![Demand::of(0, 0, 9.0); terminals.len()];
    let mut run = |superframes: core::ops::Range<u64>| {
        for k in superframes {
            for (n, demand) in demands.iter_mut().enumerate() {
                let is_busy = (k / 50 + n as u64) % 3 == 0;
                *demand = if is_busy { Demand::of(3000, 500, 9.0) } else { Demand::of(0, 0, 9.0) };
                demand.waiting[1] = demand.waiting[0];
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
