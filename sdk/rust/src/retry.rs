//! When a request may be sent once more: where nothing of it reached the server, where the server refused it before doing
//! anything, and where it only reads. Never a command that may have run.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use hyper::Method;

use crate::error::{ApiError, Error};
use crate::error_code::ErrorCode;

const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// Whoever is told to wait for longer decides about it.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// How long to wait before the next attempt; none: there is none.
pub fn pause_before_retry(error: &Error, method: &Method, attempt: u32) -> Option<Duration> {
    match error {
        Error::Transport { unsent, .. } => {
            (*unsent || method == Method::GET).then(|| back_off(attempt))
        }
        Error::Api(refused) if may_repeat(refused, method) => {
            Some(refused.retry_after.unwrap_or_else(|| back_off(attempt)))
                .filter(|pause| *pause <= MAX_PAUSE)
        }
        _ => None,
    }
}

fn may_repeat(refused: &ApiError, method: &Method) -> bool {
    refused.code == ErrorCode::TooManyRequests
        || (method == Method::GET && matches!(refused.status, Some(429 | 502 | 503 | 504)))
}

fn back_off(attempt: u32) -> Duration {
    let whole = FIRST_PAUSE * 2u32.saturating_pow(attempt);
    // Half of it by chance, so that many who were refused at once do not come back at once.
    whole / 2 + (whole / 2).mul_f64(f64::from(random_u32()) / f64::from(u32::MAX))
}

/// Good enough for names and pauses.
pub fn random_u32() -> u32 {
    u32::try_from(RandomState::new().hash_one(0) >> 32).unwrap_or_default()
}
