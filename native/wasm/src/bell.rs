//! Wakes a waiting call: the thread that reads from the host rings when anything has changed, and the working thread
//! checks again.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

#[derive(Default)]
pub struct Bell {
    turn: Mutex<()>,
    rung: Condvar,
}

pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing in here panics half-way; what is behind the lock is whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Bell {
    /// Never while holding a lock that what is waited for needs.
    pub fn ring(&self) {
        drop(locked(&self.turn));
        self.rung.notify_all();
    }

    /// False where the time came first.
    pub fn wait_until(&self, deadline: Option<Instant>, mut is_so: impl FnMut() -> bool) -> bool {
        let mut turn = locked(&self.turn);
        loop {
            if is_so() {
                return true;
            }
            turn = match deadline {
                None => self.rung.wait(turn).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return false;
                    }
                    self.rung.wait_timeout(turn, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}
