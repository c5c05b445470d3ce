//! The requests that are taken, as the published description has them: every field with its type, none beside them.
//! What cannot be read is refused with the words of the library that Firecracker reads it with as well.

use std::path::PathBuf;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::http::Request;

pub struct Refusal {
    pub status: u16,
    pub message: String,
}

impl Refusal {
    pub fn new(status: u16, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
        }
    }

    pub fn bad(message: impl Into<String>) -> Self {
        Self::new(400, message)
    }

    pub fn unreadable(reason: &str) -> Self {
        Self::bad(format!(
            "An error occurred when deserializing the json body of a request: {reason}."
        ))
    }
}

pub enum Answer {
    Done,
    Told(Value),
    Refused(Refusal),
}

pub enum Asked {
    Describe,
    Version,
    MachineConfig(MachineConfig),
    BootSource(BootSource),
    Drive(Drive),
    Vsock(Vsock),
    Entropy(Entropy),
    Action(ActionType),
    Vm(VmState),
    Save(SnapshotCreate),
    Load(SnapshotLoad),
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineConfig {
    pub vcpu_count: u8,
    pub mem_size_mib: usize,
    #[serde(default)]
    pub smt: bool,
    #[serde(default)]
    pub cpu_template: Option<CpuTemplate>,
    #[serde(default)]
    pub track_dirty_pages: bool,
    #[serde(default)]
    pub huge_pages: Option<HugePages>,
}

#[derive(Clone, Serialize, Deserialize)]
pub enum CpuTemplate {
    C3,
    T2,
    T2S,
    T2CL,
    T2A,
    V1N1,
    None,
}

#[derive(Clone, Serialize, Deserialize)]
pub enum HugePages {
    None,
    #[serde(rename = "2M")]
    Huge2M,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BootSource {
    pub kernel_image_path: String,
    pub initrd_path: Option<String>,
    pub boot_args: Option<String>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenBucket {
    pub size: u64,
    pub one_time_burst: Option<u64>,
    pub refill_time: u64,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateLimiter {
    pub bandwidth: Option<TokenBucket>,
    pub ops: Option<TokenBucket>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drive {
    pub drive_id: String,
    pub partuuid: Option<String>,
    pub is_root_device: bool,
    #[serde(default)]
    pub cache_type: CacheType,
    pub is_read_only: Option<bool>,
    pub path_on_host: Option<String>,
    pub rate_limiter: Option<RateLimiter>,
    pub io_engine: Option<IoEngine>,
    pub socket: Option<String>,
}

#[derive(Clone, Default, Serialize, Deserialize)]
pub enum CacheType {
    #[default]
    Unsafe,
    Writeback,
}

#[derive(Clone, Serialize, Deserialize)]
pub enum IoEngine {
    Sync,
    Async,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vsock {
    pub vsock_id: Option<String>,
    pub guest_cid: u32,
    pub uds_path: String,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entropy {
    pub rate_limiter: Option<RateLimiter>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Action {
    action_type: ActionType,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum ActionType {
    FlushMetrics,
    InstanceStart,
    SendCtrlAltDel,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vm {
    state: VmState,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum VmState {
    Paused,
    Resumed,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotCreate {
    #[serde(default)]
    pub snapshot_type: SnapshotType,
    pub snapshot_path: PathBuf,
    pub mem_file_path: PathBuf,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub enum SnapshotType {
    Diff,
    #[default]
    Full,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotLoad {
    pub snapshot_path: PathBuf,
    pub mem_file_path: Option<PathBuf>,
    pub mem_backend: Option<MemoryBackend>,
    #[serde(default)]
    #[allow(dead_code)]
    pub enable_diff_snapshots: bool,
    #[serde(default)]
    pub resume_vm: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryBackend {
    pub backend_path: PathBuf,
    pub backend_type: BackendType,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum BackendType {
    File,
    Uffd,
}

impl Asked {
    pub fn read(request: &Request) -> Result<Self, Refusal> {
        let Request { method, path, body } = request;
        let parts: Vec<&str> = path.trim_start_matches('/').split_terminator('/').collect();
        if method != "GET" && body.is_empty() {
            return Err(Refusal::bad(format!("Empty {method} request.")));
        }
        match (method.as_str(), &parts[..]) {
            ("GET", _) if !body.is_empty() => Err(Refusal::bad("GET request cannot have a body.")),
            ("GET", []) => Ok(Self::Describe),
            ("GET", ["version"]) => Ok(Self::Version),
            ("PUT", ["machine-config"]) => parse(body).map(Self::MachineConfig),
            ("PUT", ["boot-source"]) => parse(body).map(Self::BootSource),
            ("PUT", ["drives", id]) => read_drive(id, body).map(Self::Drive),
            ("PUT", ["drives"]) => Err(Refusal::bad("The ID cannot be empty.")),
            ("PUT", ["vsock"]) => parse(body).map(Self::Vsock),
            ("PUT", ["entropy"]) => parse(body).map(Self::Entropy),
            ("PUT", ["actions"]) => {
                parse(body).map(|Action { action_type }| Self::Action(action_type))
            }
            ("PATCH", ["vm"]) => parse(body).map(|Vm { state }| Self::Vm(state)),
            ("PUT", ["snapshot", "create"]) => parse(body).map(Self::Save),
            ("PUT", ["snapshot", "load"]) => read_load(body).map(Self::Load),
            _ => {
                let first = parts.first().copied().unwrap_or("");
                Err(Refusal::bad(format!(
                    "Invalid request method and/or path: {method} {first}."
                )))
            }
        }
    }
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|e| Refusal::unreadable(&e.to_string()))
}

fn read_drive(id: &str, body: &[u8]) -> Result<Drive, Refusal> {
    if !id.chars().all(|c| c == '_' || c.is_alphanumeric()) {
        return Err(Refusal::bad(
            "API Resource IDs can only contain alphanumeric characters and underscores.",
        ));
    }
    let drive: Drive = parse(body)?;
    if drive.drive_id == id {
        Ok(drive)
    } else {
        Err(Refusal::bad(
            "The id from the path does not match the id from the body!",
        ))
    }
}

fn read_load(body: &[u8]) -> Result<SnapshotLoad, Refusal> {
    let load: SnapshotLoad = parse(body)?;
    match (&load.mem_backend, &load.mem_file_path) {
        (Some(_), Some(_)) => Err(Refusal::unreadable(
            "too many fields: either `mem_backend` or `mem_file_path` exclusively is required",
        )),
        (None, None) => Err(Refusal::unreadable(
            "missing field: either `mem_backend` or `mem_file_path` is required",
        )),
        _ => Ok(load),
    }
}
