//! Memory that the heap gives back, in a process without other allocations.

use std::fs;

use ak_sys::heap::Heap;

#[global_allocator]
static HEAP: Heap = Heap;

fn resident_bytes() -> usize {
    let pages = fs::read_to_string("/proc/self/statm").expect("statm");
    let resident = pages.split(' ').nth(1).expect("resident pages");
    resident.parse::<usize>().expect("a number") * 4096
}

#[test]
fn what_is_free_goes_back_when_it_is_asked_for() {
    const COUNT: usize = 30_000;
    let many: Vec<Vec<u8>> = (0..COUNT).map(|_| vec![1; 1000]).collect();
    let full = resident_bytes();
    drop(many);
    ak_sys::heap::trim();
    let left = resident_bytes();
    assert!(left + COUNT * 800 < full, "{full} bytes, then {left}");
}
