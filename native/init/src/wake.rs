//! The message that makes a waiting machine somebody's: what differs from copy to copy of a saved machine. It comes from
//! the host, which is trusted, and is checked all the same: a mistake should be found where it was made.

use std::{fs::File, path::PathBuf};

use ak_jail::fault::{During, Fault, Outcome};
use rustix::{
    system::sethostname,
    time::{ClockId, Timespec, clock_settime},
};
use serde::Deserialize;

use crate::sys::{self, ENTROPY_BYTES};

const MACHINE_ID_DIGITS: usize = 32;
pub const TOKEN_BYTES: usize = 32;
const TOKEN_DIGITS: usize = TOKEN_BYTES * 2;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Wake {
    pub version: u32,
    /// Since 1970.
    pub seconds: i64,
    pub nanoseconds: i64,
    /// Hexadecimal.
    pub entropy: String,
    pub hostname: String,
    /// Hexadecimal.
    pub machine_id: String,
    /// Hexadecimal; with it, the machine stays when its sandbox has ended, and tells so by these bytes, which nobody
    /// in the sandbox knows.
    pub token: Option<String>,
    /// Where the guest waits already; else an order follows.
    pub rest: Option<Rest>,
}

/// Of the owner's own, as an order has it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rest {
    pub trusted_certificate: Option<String>,
    pub trees: Vec<PathBuf>,
    pub listed: Option<PathBuf>,
}

impl Wake {
    pub fn parse(text: &[u8]) -> Outcome<Self> {
        let wrong = |what: String| Fault::new("internal", format!("the machine's wake message: {what}"));
        let wake: Self = serde_json::from_slice(text).map_err(|e| wrong(e.to_string()))?;
        if wake.version != 1 {
            return Err(wrong(format!("version {} is not 1", wake.version)));
        }
        if wake.hostname.is_empty() || wake.hostname.len() > 64 {
            return Err(wrong("hostname must have 1 to 64 bytes".into()));
        }
        if !is_hexadecimal(&wake.machine_id, MACHINE_ID_DIGITS) {
            return Err(wrong(format!("machineId must have {MACHINE_ID_DIGITS} hexadecimal digits")));
        }
        if !is_hexadecimal(&wake.entropy, ENTROPY_BYTES * 2) {
            return Err(wrong(format!("entropy must have {} hexadecimal digits", ENTROPY_BYTES * 2)));
        }
        if wake.token.as_ref().is_some_and(|token| !is_hexadecimal(token, TOKEN_DIGITS)) {
            return Err(wrong(format!("token must have {TOKEN_DIGITS} hexadecimal digits")));
        }
        Ok(wake)
    }

    /// What belongs to the whole machine: its clock, its random numbers, its name.
    pub fn apply_to_machine(&self, random: &File) -> Outcome<()> {
        let now = Timespec { tv_sec: self.seconds, tv_nsec: self.nanoseconds as _ };
        clock_settime(ClockId::Realtime, now).during("set the clock")?;
        sys::reseed(random, self.entropy_bytes()).during("give the machine entropy of its own")?;
        sethostname(self.hostname.as_bytes()).during("set the host name")
    }

    fn entropy_bytes(&self) -> [u8; ENTROPY_BYTES] {
        bytes_of(&self.entropy)
    }

    pub fn token_bytes(&self) -> Option<[u8; TOKEN_BYTES]> {
        self.token.as_deref().map(bytes_of)
    }
}

/// Of as many digits as there are, which were counted before.
fn bytes_of<const N: usize>(digits: &str) -> [u8; N] {
    let digit = |at: usize| digits.as_bytes().get(at).and_then(|d| char::from(*d).to_digit(16)).unwrap_or(0) as u8;
    std::array::from_fn(|index| digit(index * 2) << 4 | digit(index * 2 + 1))
}

fn is_hexadecimal(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|b| b.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(change: impl FnOnce(&mut serde_json::Value)) -> Vec<u8> {
        let mut value = serde_json::json!({
            "version": 1, "seconds": 1_800_000_000, "nanoseconds": 5, "entropy": "0f".repeat(ENTROPY_BYTES),
            "hostname": "box", "machineId": "a".repeat(32), "token": null,
            "rest": {"trustedCertificate": null, "trees": ["/workspace"], "listed": null},
        });
        change(&mut value);
        value.to_string().into_bytes()
    }

    fn refusal(change: impl FnOnce(&mut serde_json::Value)) -> String {
        Wake::parse(&message(change)).expect_err("a refusal").message
    }

    #[test]
    fn a_whole_message_is_understood() {
        let wake = Wake::parse(&message(|_| {})).expect("a message");
        assert_eq!(wake.entropy_bytes(), [0x0f; ENTROPY_BYTES]);
        assert_eq!(wake.rest.expect("a rest").trees, [PathBuf::from("/workspace")]);
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        assert!(refusal(|m| m["extra"] = 1.into()).contains("extra"));
        assert!(refusal(|m| m["version"] = 2.into()).contains("version 2"));
        assert!(refusal(|m| m["entropy"] = "00".into()).contains("entropy"));
        assert!(refusal(|m| m["machineId"] = "g".repeat(32).into()).contains("machineId"));
        assert!(refusal(|m| m["hostname"] = "".into()).contains("hostname"));
        assert!(refusal(|m| m["rest"]["more"] = 1.into()).contains("more"));
    }
}
