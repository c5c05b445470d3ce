//! The JSON payloads as types. Unknown members are ignored; a member of the
//! wrong type is an error of the parse.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    pub protocol: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<String>,
    pub window: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
    /// The execs of a kept guest that outlived an earlier connection.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub execs: Vec<KeptExec>,
}

/// One exec of a kept guest, as its HELLO tells of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptExec {
    pub key: String,
    /// None while the command has not been executed.
    pub pid: Option<i32>,
    pub program: String,
    pub tty: bool,
    /// None where the command has no stdin of the host's.
    pub stdin: Option<KeptInput>,
    pub stdout: KeptOutput,
    /// None with a PTY.
    pub stderr: Option<KeptOutput>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<Failed>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptInput {
    pub received: u64,
    pub ended: bool,
}

/// Bytes since the exec's beginning: up to `acked` they are gone, up to `sent` they can be had again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptOutput {
    pub acked: u64,
    pub sent: u64,
}

/// Only the kind of an OPEN; the rest is parsed as the type that the kind names.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct OpenKind {
    pub kind: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenExec {
    pub argv: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default)]
    pub stdin: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tty: Option<WindowSize>,
    /// Kept guests: the exec outlives the connection under this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The command gets a descriptor on which it can call the host.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub calls: bool,
}

/// Takes a kept exec up again, from these bytes of its output on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenExecAttach {
    pub key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenExecForget {
    pub key: String,
}

/// The size of a PTY, in OPEN and in RESIZE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowSize {
    pub cols: u16,
    pub rows: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenFileRead {
    pub path: String,
    #[serde(default)]
    pub offset: u64,
    #[serde(default)]
    pub limit: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenFileWrite {
    pub path: String,
    #[serde(default)]
    pub mode: Option<u32>,
    #[serde(default)]
    pub parents: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenTreeRead {
    pub path: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenTreeWrite {
    pub path: String,
    /// The name of the copy in a directory that exists.
    pub name: String,
    /// Whether the contents of the directory are copied, and not the directory itself.
    #[serde(default)]
    pub contents: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenFileOp {
    pub op: String,
    pub path: String,
    #[serde(default)]
    pub mode: Option<u32>,
    #[serde(default)]
    pub parents: bool,
    #[serde(default)]
    pub recursive: bool,
    #[serde(default)]
    pub to: Option<String>,
}

/// The guest's requests to the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind")]
pub enum OpenByGuest {
    #[serde(rename = "tcp-out")]
    TcpOut(OutgoingTarget),
    #[serde(rename = "lookup")]
    Lookup { name: String },
    /// The calls of the command on that channel.
    #[serde(rename = "call")]
    Call { exec: u32 },
    /// Requests of a lazy view (native/lazy).
    #[serde(rename = "view")]
    View {},
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OutgoingTarget {
    Name { name: String, port: u16 },
    Address { address: IpAddr, port: u16 },
    Proxy { proxy: bool },
}

/// OPENED of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameFamilies {
    pub ipv4: bool,
    pub ipv6: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenTcpIn {
    pub port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenedExec {
    pub pid: i32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenedFile {
    pub size: u64,
    pub mode: u32,
    pub mtime_ms: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileType {
    File,
    Dir,
    Symlink,
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stat {
    #[serde(rename = "type")]
    pub file_type: FileType,
    pub size: u64,
    pub mode: u32,
    pub mtime_ms: i64,
    pub uid: u32,
    pub gid: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// One line of a `list` answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListEntry {
    pub name: String,
    #[serde(rename = "type")]
    pub file_type: FileType,
    pub size: u64,
    pub mode: u32,
    pub mtime_ms: i64,
}

/// Why something ended before its time; without a code nothing went wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Closed {
    #[serde(default)]
    pub code: Option<String>,
}

/// FAILED, and CLOSE when something went wrong after OPENED.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    pub code: String,
    pub message: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SignalScope {
    Process,
    #[default]
    Group,
    Tree,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signal {
    pub signal: i32,
    #[serde(default)]
    pub scope: SignalScope,
    /// Whether processes of the tree that are left when the command has ended are killed.
    #[serde(default)]
    pub last: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub user_us: u64,
    pub system_us: u64,
    pub max_rss_kib: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    pub code: Option<u8>,
    pub signal: Option<u8>,
    pub usage: Usage,
}

/// OPENED or CLOSE with nothing to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Empty {}

/// CLOSE of a finished file-write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    pub size: u64,
}

/// CLOSE of a listing that was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Truncated {
    pub truncated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shutdown {
    pub grace_ms: u64,
}

/// Whether the bytes are one JSON object in UTF-8, without building it.
pub(crate) fn is_json_object(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| serde_json::from_str::<AnyObject>(text).is_ok())
}

struct AnyObject;

impl<'de> Deserialize<'de> for AnyObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = AnyObject;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<AnyObject, M::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(AnyObject)
            }
        }
        deserializer.deserialize_map(Members)
    }
}
