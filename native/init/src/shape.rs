//! The first message: what all copies of a saved virtual machine share. It is the same for all users with the same
//! policy and image, and has no user's data. Everything that it allows is built before the virtual machine is saved.

use std::path::{Path, PathBuf};

use ak_entry::order::Order;
use ak_jail::{
    fault::{Fault, Outcome},
    spec::Network,
};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Shape {
    pub version: u32,
    /// There is a network, and whatever leads out of the machine arrives at the guest.
    pub captured: bool,
    pub root_readonly: bool,
    pub scratch_mib: u64,
    /// The size of /tmp and of /dev/shm, each.
    pub tmp_mib: u64,
    /// Filesystems in memory, beside /tmp and /dev/shm.
    pub places: Vec<Place>,
    pub pids: u64,
    pub open_files: u64,
    /// The order of a guest that waits inside its walls. Without it `ak-entry` gets its order later.
    pub ahead: Option<Order>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    pub path: PathBuf,
    pub mib: u64,
    /// Octal.
    pub mode: String,
}

impl Shape {
    pub fn network(&self) -> Network {
        if self.captured { Network::Captured } else { Network::None }
    }

    pub fn parse(text: &[u8]) -> Outcome<Self> {
        let wrong = |what: String| Fault::new("internal", format!("the machine's shape: {what}"));
        let shape: Self = serde_json::from_slice(text).map_err(|e| wrong(e.to_string()))?;
        if shape.version != 1 {
            return Err(wrong(format!("version {} is not 1", shape.version)));
        }
        for Place { path, mode, .. } in &shape.places {
            if !is_plain(path) {
                return Err(wrong(format!("{} must be absolute without ..", path.display())));
            }
            if mode.is_empty() || mode.len() > 4 || !mode.bytes().all(|b| (b'0'..=b'7').contains(&b)) {
                return Err(wrong(format!("the mode of {} must be octal", path.display())));
            }
        }
        if let Some(order) = &shape.ahead {
            order.check()?;
            if has_own(order) {
                return Err(wrong("what is built ahead has nothing that is one sandbox's own".into()));
            }
        }
        Ok(shape)
    }
}

/// Whether an order has parts that only an owner can give, or that have to be there before the walls are.
fn has_own(order: &Order) -> bool {
    order.kept
        || order.live
        || order.trusted_certificate.is_some()
        || order.git.is_some()
        || order.listed.is_some()
        || order.project.is_some()
        || !(order.trees.is_empty() && order.views.is_empty() && order.readonly.is_empty())
}

pub fn is_plain(path: &Path) -> bool {
    path.is_absolute() && !path.components().any(|c| c.as_os_str() == "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(change: impl FnOnce(&mut serde_json::Value)) -> Vec<u8> {
        let mut value = serde_json::json!({
            "version": 1, "captured": true, "rootReadonly": false, "scratchMib": 64, "tmpMib": 16,
            "places": [{"path": "/workspace", "mib": 64, "mode": "0755"}], "pids": 100, "openFiles": 1024,
            "ahead": {
                "version": 1, "hostname": "sandbox", "network": "captured", "user": {"uid": 0, "gid": 0},
                "rootReadonly": false, "capabilities": "default", "seccomp": "default", "live": false,
                "landlockWritable": ["/"], "readonly": [], "trustedCertificate": null, "trees": [], "views": [],
                "listed": null, "anew": false, "kept": false, "lingers": false,
            },
        });
        change(&mut value);
        value.to_string().into_bytes()
    }

    fn refusal(change: impl FnOnce(&mut serde_json::Value)) -> String {
        Shape::parse(&message(change)).expect_err("a refusal").message
    }

    #[test]
    fn a_whole_shape_is_understood() {
        let shape = Shape::parse(&message(|_| {})).expect("a shape");
        assert_eq!((shape.places[0].mode.as_str(), shape.ahead.is_some()), ("0755", true));
        assert!(Shape::parse(&message(|m| m["ahead"] = serde_json::Value::Null)).expect("a shape").ahead.is_none());
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        assert!(refusal(|m| m["extra"] = 1.into()).contains("extra"));
        assert!(refusal(|m| m["version"] = 2.into()).contains("version 2"));
        assert!(refusal(|m| m["places"][0]["path"] = "/a/../b".into()).contains("/a/../b"));
        assert!(refusal(|m| m["places"][0]["mode"] = "9".into()).contains("octal"));
    }

    #[test]
    fn nothing_of_anybody_is_built_ahead() {
        for (field, value) in [
            ("trees", serde_json::json!(["/workspace"])),
            ("listed", "/workspace".into()),
            ("trustedCertificate", "PEM".into()),
            ("git", serde_json::json!({"config": "[user]", "ignored": ""})),
            ("readonly", serde_json::json!(["/data"])),
            ("kept", true.into()),
        ] {
            assert!(refusal(|m| m["ahead"][field] = value).contains("own"), "{field}");
        }
    }
}
