//! The message that gives a waiting virtual machine an owner: the values in which copies of a saved one differ. It
//! comes from the host, which is trusted, and is checked all the same, so that a mistake is found where it was made.
//!
//! Numbers are little-endian: version (1), seconds since 1970 (8), nanoseconds (4), entropy (64), machine id (16),
//! whether there is a token (1), token (32), length of the host name (1), host name; then optional JSON.

use std::path::PathBuf;

use ak_jail::{
    fault::{Fault, Outcome},
    spec::GitFiles,
};
use rustix::time::Timespec;
use serde::Deserialize;

use crate::sys::ENTROPY_BYTES;

const VERSION: u8 = 1;
const MOST_NAME_BYTES: usize = 64;
pub const TOKEN_BYTES: usize = 32;
pub type Token = [u8; TOKEN_BYTES];

pub struct Wake<'a> {
    pub now: Timespec,
    pub entropy: [u8; ENTROPY_BYTES],
    pub machine_id: [u8; 16],
    /// With it, the virtual machine outlives its sandbox and announces the sandbox's end by these bytes, which no
    /// process in the sandbox knows.
    pub token: Option<Token>,
    pub hostname: &'a str,
    rest: &'a [u8],
}

/// The owner's own part, as in an order.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rest {
    pub trusted_certificate: Option<String>,
    #[serde(default)]
    pub git: Option<GitFiles>,
    pub trees: Vec<PathBuf>,
    /// A directory that is shown without being copied.
    #[serde(default)]
    pub lazy: Option<PathBuf>,
    pub listed: Option<PathBuf>,
    #[serde(default)]
    pub project: Option<PathBuf>,
}

impl<'a> Wake<'a> {
    pub fn parse(mut bytes: &'a [u8]) -> Outcome<Self> {
        let [version] = take(&mut bytes)?;
        if version != VERSION {
            return Err(wrong("its version is another"));
        }
        let now = Timespec {
            tv_sec: i64::from_le_bytes(take(&mut bytes)?),
            tv_nsec: u32::from_le_bytes(take(&mut bytes)?).into(),
        };
        let (entropy, machine_id) = (take(&mut bytes)?, take(&mut bytes)?);
        let ([has_token], token) = (take(&mut bytes)?, take(&mut bytes)?);
        let [length] = take(&mut bytes)?;
        let (hostname, rest) =
            bytes.split_at_checked(length.into()).ok_or_else(|| wrong("the host name is cut off"))?;
        if hostname.is_empty() || hostname.len() > MOST_NAME_BYTES {
            return Err(wrong("the host name must have 1 to 64 bytes"));
        }
        let hostname = std::str::from_utf8(hostname).map_err(|_| wrong("the host name is no text"))?;
        let token = if has_token == 0 { None } else { Some(token) };
        Ok(Self { now, entropy, machine_id, token, hostname, rest })
    }

    pub fn rest(&self) -> Outcome<Option<Rest>> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        serde_json::from_slice(self.rest).map(Some).map_err(|e| wrong(&e.to_string()))
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Outcome<[u8; N]> {
    let (taken, left) = bytes.split_first_chunk().ok_or_else(|| wrong("it is cut off"))?;
    *bytes = left;
    Ok(*taken)
}

fn wrong(what: &str) -> Fault {
    Fault::new("internal", format!("the machine's wake message: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(name: &str, rest: &str) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend(1_800_000_000_i64.to_le_bytes());
        bytes.extend(5_u32.to_le_bytes());
        bytes.extend([0x0f; ENTROPY_BYTES]);
        bytes.extend([0xab; 16]);
        bytes.push(1);
        bytes.extend([7; TOKEN_BYTES]);
        bytes.push(name.len() as u8);
        bytes.extend(name.as_bytes());
        bytes.extend(rest.as_bytes());
        bytes
    }

    fn refusal(bytes: &[u8]) -> String {
        let fault = Wake::parse(bytes).and_then(|wake| wake.rest()).expect_err("a refusal");
        fault.message
    }

    #[test]
    fn a_whole_message_is_understood() {
        let rest = r#"{"trustedCertificate":null,"trees":["/workspace"],"listed":null}"#;
        let bytes = message("box", rest);
        let wake = Wake::parse(&bytes).expect("a message");
        assert_eq!((wake.now.tv_sec, wake.now.tv_nsec), (1_800_000_000, 5));
        assert_eq!((wake.entropy, wake.machine_id), ([0x0f; ENTROPY_BYTES], [0xab; 16]));
        assert_eq!((wake.token, wake.hostname), (Some([7; TOKEN_BYTES]), "box"));
        assert_eq!(wake.rest().expect("a rest").expect("a rest").trees, [PathBuf::from("/workspace")]);
        assert!(Wake::parse(&message("box", "")).expect("a message").rest().expect("no rest").is_none());
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        assert!(refusal(&message("", "")).contains("1 to 64"));
        assert!(refusal(&message(&"a".repeat(65), "")).contains("1 to 64"));
        assert!(refusal(&message("box", r#"{"trees":[],"more":1}"#)).contains("more"));
        let whole = message("box", "");
        for length in 0..whole.len() {
            assert!(refusal(&whole[..length]).contains("cut off"), "{length}");
        }
        assert!(refusal(&[&[9], &whole[1..]].concat()).contains("version"));
    }
}
