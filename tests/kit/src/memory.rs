//! An allocator that counts allocations and allocated bytes.

#![allow(unsafe_code, reason = "an allocator needs unsafe code; this one forwards to the system's")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed},
};

/// The system's allocator, with counts.
pub struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static LIVE: AtomicI64 = AtomicI64::new(0);
static IS_OFF: AtomicBool = AtomicBool::new(false);

/// Starts or stops counting, which distorts measured times. It is on at first.
pub fn set_counting(is_on: bool) {
    IS_OFF.store(!is_on, Relaxed);
}

/// Does `work` with counting on, and returns its value.
pub fn count_during<T>(work: impl FnOnce() -> T) -> T {
    let was_off = IS_OFF.swap(false, Relaxed);
    let value = work();
    IS_OFF.store(was_off, Relaxed);
    value
}

fn is_counting() -> bool {
    !IS_OFF.load(Relaxed)
}

// SAFETY: each method forwards its arguments to `System` unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_counting() {
            ALLOCATIONS.fetch_add(1, Relaxed);
            LIVE.fetch_add(layout.size().cast_signed() as i64, Relaxed);
        }
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if is_counting() {
            LIVE.fetch_sub(layout.size().cast_signed() as i64, Relaxed);
        }
        // SAFETY: the caller keeps the contract of `dealloc`, which is the same.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if is_counting() {
            ALLOCATIONS.fetch_add(1, Relaxed);
            LIVE.fetch_add(size.cast_signed() as i64 - layout.size().cast_signed() as i64, Relaxed);
        }
        // SAFETY: the caller keeps the contract of `realloc`, which is the same.
        unsafe { System.realloc(memory, layout, size) }
    }
}

/// Returns the number of bytes that are allocated now.
pub fn live() -> i64 {
    LIVE.load(Relaxed)
}

/// Returns the number of allocations and reallocations so far.
pub fn count() -> u64 {
    ALLOCATIONS.load(Relaxed)
}

/// Returns the number of allocations and reallocations of `work`, after two runs to warm up.
pub fn allocations(mut work: impl FnMut()) -> f64 {
    const ROUNDS: u32 = 100;
    work();
    work();
    let before = ALLOCATIONS.load(Relaxed);
    count_during(|| {
        for _ in 0..ROUNDS {
            work();
        }
    });
    #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
    let count = (ALLOCATIONS.load(Relaxed) - before) as f64;
    count / f64::from(ROUNDS)
}
