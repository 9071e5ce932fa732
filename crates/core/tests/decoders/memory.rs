//! How much memory something takes at most.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static NOW: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

fn change(by: isize) {
    // While a thread ends its counters are gone, and nobody asks for them.
    let _ = NOW.try_with(|now| {
        now.set(now.get().wrapping_add_signed(by));
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(now.get())));
    });
}

// SAFETY: all is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        change(layout.size().cast_signed());
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        change(-layout.size().cast_signed());
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(address, layout) }
    }
}

/// The most bytes that this thread had allocated at a time during `run`, beyond those before.
pub fn peak_of(run: impl FnOnce()) -> usize {
    NOW.set(1 << 40);
    PEAK.set(1 << 40);
    run();
    PEAK.get() - (1 << 40)
}
