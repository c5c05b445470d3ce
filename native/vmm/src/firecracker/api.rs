//! Requests to Firecracker: one type for each body of its API that is used, with the names of its published description
//! (src/firecracker/swagger/firecracker.yaml, version 1.7 and later). Firecracker refuses unknown fields, so only
//! fields that every such version has are sent.

use std::path::Path;

use serde::Serialize;

/// One request that changes something; none of them is answered with a body.
pub struct Request {
    pub method: &'static str,
    pub path: String,
    pub body: String,
}

impl Request {
    fn new(method: &'static str, path: impl Into<String>, body: &impl Serialize) -> Self {
        let body = serde_json::to_string(body).expect("numbers, words and paths can be written");
        Self { method, path: path.into(), body }
    }

    pub fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

#[derive(Serialize)]
struct MachineConfiguration {
    vcpu_count: u32,
    mem_size_mib: u64,
    /// Two threads of one core must not be two machines, nor two processors of one that believes in isolation.
    smt: bool,
    track_dirty_pages: bool,
}

pub fn machine(processors: u32, memory_mib: u64) -> Request {
    let body =
        MachineConfiguration { vcpu_count: processors, mem_size_mib: memory_mib, smt: false, track_dirty_pages: false };
    Request::new("PUT", "/machine-config", &body)
}

#[derive(Serialize)]
struct BootSource<'a> {
    kernel_image_path: &'a Path,
    initrd_path: &'a Path,
    boot_args: &'a str,
}

pub fn boot_source(kernel: &Path, initramfs: &Path, command_line: &str) -> Request {
    let body = BootSource { kernel_image_path: kernel, initrd_path: initramfs, boot_args: command_line };
    Request::new("PUT", "/boot-source", &body)
}

/// How much a drive may move in a second, on average.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DriveRate {
    pub bytes: u64,
    pub operations: u64,
}

#[derive(Serialize)]
struct TokenBucket {
    size: u64,
    /// In milliseconds.
    refill_time: u64,
}

#[derive(Serialize)]
struct RateLimiter {
    bandwidth: TokenBucket,
    ops: TokenBucket,
}

impl From<DriveRate> for RateLimiter {
    fn from(rate: DriveRate) -> Self {
        let each_second = |size| TokenBucket { size, refill_time: 1000 };
        Self { bandwidth: each_second(rate.bytes), ops: each_second(rate.operations) }
    }
}

#[derive(Serialize)]
struct Drive<'a> {
    drive_id: &'a str,
    path_on_host: &'a Path,
    /// The initramfs mounts what it needs by name; Firecracker is to add nothing to the command line.
    is_root_device: bool,
    is_read_only: bool,
    cache_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rate_limiter: Option<RateLimiter>,
}

pub fn drive(name: &str, file: &Path, is_read_only: bool, rate: Option<DriveRate>) -> Request {
    let body = Drive {
        drive_id: name,
        path_on_host: file,
        is_root_device: false,
        is_read_only,
        // Data that the guest was told is on disk has to survive a crash; a read-only disk needs no flush.
        cache_type: if is_read_only { "Unsafe" } else { "Writeback" },
        rate_limiter: rate.map(RateLimiter::from),
    };
    Request::new("PUT", format!("/drives/{name}"), &body)
}

/// Each virtual machine has a Firecracker of its own, so the CID need not be unique. 3 is the lowest that a guest may
/// have.
const GUEST_CID: u32 = 3;

#[derive(Serialize)]
struct Vsock<'a> {
    guest_cid: u32,
    uds_path: &'a Path,
}

pub fn vsock(socket: &Path) -> Request {
    Request::new("PUT", "/vsock", &Vsock { guest_cid: GUEST_CID, uds_path: socket })
}

#[derive(Serialize)]
struct Entropy {}

pub fn entropy() -> Request {
    Request::new("PUT", "/entropy", &Entropy {})
}

#[derive(Serialize)]
struct Action {
    action_type: &'static str,
}

pub fn start() -> Request {
    Request::new("PUT", "/actions", &Action { action_type: "InstanceStart" })
}

#[derive(Serialize)]
struct Vm {
    state: &'static str,
}

pub fn pause() -> Request {
    Request::new("PATCH", "/vm", &Vm { state: "Paused" })
}

pub fn resume() -> Request {
    Request::new("PATCH", "/vm", &Vm { state: "Resumed" })
}

#[derive(Serialize)]
struct SnapshotCreate<'a> {
    snapshot_type: &'static str,
    snapshot_path: &'a Path,
    mem_file_path: &'a Path,
}

pub fn save(state: &Path, memory: &Path) -> Request {
    let body = SnapshotCreate { snapshot_type: "Full", snapshot_path: state, mem_file_path: memory };
    Request::new("PUT", "/snapshot/create", &body)
}

#[derive(Serialize)]
struct MemoryBackend<'a> {
    backend_type: &'static str,
    backend_path: &'a Path,
}

#[derive(Serialize)]
struct SnapshotLoad<'a> {
    snapshot_path: &'a Path,
    mem_backend: MemoryBackend<'a>,
    resume_vm: bool,
}

/// The memory's file is mapped copy-on-write and opened for reading only.
pub fn load(state: &Path, memory: &Path) -> Request {
    let mem_backend = MemoryBackend { backend_type: "File", backend_path: memory };
    Request::new("PUT", "/snapshot/load", &SnapshotLoad { snapshot_path: state, mem_backend, resume_vm: true })
}
