//! The heap, as the heap of this very program.

use std::thread;

use ak_sys::heap::Heap;

#[global_allocator]
static HEAP: Heap = Heap;

const LARGE: usize = 128 << 10;

#[test]
fn what_is_written_stays_while_it_grows_and_shrinks_across_the_border() {
    let mut bytes: Vec<u8> = Vec::new();
    for size in [10, LARGE - 1, LARGE, LARGE + 1, 40 * LARGE, LARGE, 100, 3 * LARGE, LARGE - 1, 1] {
        let old = bytes.len();
        bytes.resize(size, 0);
        bytes.shrink_to_fit();
        bytes.iter_mut().enumerate().skip(old).for_each(|(at, byte)| *byte = (at % 251) as u8);
        assert!(bytes.iter().enumerate().all(|(at, byte)| *byte == (at % 251) as u8), "at {size}");
    }
}

#[test]
fn zeroed_memory_is_zero_also_where_something_was_before() {
    for size in [100, 5000, LARGE - 1, LARGE, 2 * LARGE + 7] {
        for _ in 0..3 {
            let mut bytes = vec![0_u8; size];
            assert!(bytes.iter().all(|byte| *byte == 0), "{size}");
            bytes.fill(0xff);
        }
    }
}

#[test]
fn alignments_hold() {
    #[repr(align(64))]
    struct Line([u8; 64]);
    #[repr(align(8192))]
    struct TwoPages([u8; 2 * LARGE]);
    for _ in 0..50 {
        let (line, pages) = (Box::new(Line([1; 64])), Box::new(TwoPages([2; 2 * LARGE])));
        assert_eq!(line.0.as_ptr().addr() % 64, 0);
        assert_eq!(pages.0.as_ptr().addr() % 8192, 0);
    }
}

#[test]
fn threads_do_not_meet_in_it() {
    let churn = |seed: usize| {
        let mut kept: Vec<Vec<u8>> = Vec::new();
        for turn in 0..20_000 {
            let size = (turn * 31 + seed * 17) % 700 + if turn % 997 == 0 { LARGE } else { 1 };
            kept.push(vec![seed as u8; size]);
            if kept.len() > 50 {
                let gone = kept.swap_remove(turn % 50);
                assert!(gone.iter().all(|byte| *byte == seed as u8));
            }
        }
    };
    thread::scope(|scope| (1..5).for_each(|seed| drop(scope.spawn(move || churn(seed)))));
}
