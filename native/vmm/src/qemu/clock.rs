//! Measures the frequency of this host's time stamp counter, which software emulation passes to guests unchanged. A
//! kernel that gets it on its command line need not calibrate.

use std::time::{Duration, Instant};

const MEASURED: Duration = Duration::from_millis(10);

/// In kHz; none where the machine has no such counter.
pub fn counter_khz() -> Option<u64> {
    let (begun, first) = (Instant::now(), counter()?);
    std::thread::sleep(MEASURED);
    let (took, last) = (begun.elapsed(), counter()?);
    Some(last.wrapping_sub(first).saturating_mul(1_000_000) / u64::try_from(took.as_nanos()).ok()?.max(1))
}

#[cfg(target_arch = "x86_64")]
fn counter() -> Option<u64> {
    // SAFETY: reads a counter that every processor of this architecture has.
    Some(unsafe { core::arch::x86_64::_rdtsc() })
}

#[cfg(not(target_arch = "x86_64"))]
fn counter() -> Option<u64> {
    None
}
