//! What was configured, and what may be done when: before a machine was started, while it runs, while it is paused.

use std::{
    fs::{self, File},
    path::Path,
};

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    guest::{Guest, Script},
    schema::{
        ActionType, Answer, Asked, BackendType, BootSource, Drive, Entropy, MachineConfig, Refusal,
        SnapshotCreate, SnapshotLoad, SnapshotType, VmState, Vsock,
    },
};

const NOT_BEFORE: &str = "The requested operation is not supported before starting the microVM.";
const NOT_AFTER: &str = "The requested operation is not supported after starting the microVM.";
const MOST_PROCESSORS: u8 = 32;
const LEAST_CID: u32 = 3;
const MIB: u64 = 1 << 20;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    NotStarted,
    Running,
    Paused,
}

/// All that was configured; what is saved of a machine is this and the size of its memory.
#[derive(Default, Serialize, Deserialize)]
struct Resources {
    machine: Option<MachineConfig>,
    boot_source: Option<BootSource>,
    drives: Vec<Drive>,
    vsock: Option<Vsock>,
    entropy: Option<Entropy>,
}

pub struct Machine {
    state: State,
    resources: Resources,
    /// Something was configured from which a machine would boot, so none can be loaded any more.
    is_configured: bool,
    /// A machine could not be loaded: the process is of no use any more.
    pub is_spoilt: bool,
    guest: Option<Guest>,
    script: Script,
}

impl Machine {
    pub fn new(script: Script) -> Self {
        let resources = Resources::default();
        Self {
            state: State::NotStarted,
            resources,
            is_configured: false,
            is_spoilt: false,
            guest: None,
            script,
        }
    }

    pub fn serve(&mut self, asked: Asked) -> Answer {
        let done = match asked {
            Asked::Describe => return Answer::Told(self.describe()),
            Asked::Version => return Answer::Told(json!({ "firecracker_version": "1.13.1" })),
            Asked::Save(how) => self.save(&how),
            Asked::Vm(state) => self.change(state),
            Asked::Action(ActionType::SendCtrlAltDel | ActionType::FlushMetrics) => {
                self.once_started()
            }
            _ if self.state != State::NotStarted => Err(Refusal::bad(NOT_AFTER)),
            Asked::Action(ActionType::InstanceStart) => self.start(),
            Asked::Load(how) => self.load(&how),
            resource => {
                self.is_configured = true;
                self.configure(resource)
            }
        };
        match done {
            Ok(()) => Answer::Done,
            Err(refusal) => Answer::Refused(refusal),
        }
    }

    fn describe(&self) -> serde_json::Value {
        let state = match self.state {
            State::NotStarted => "Not started",
            State::Running => "Running",
            State::Paused => "Paused",
        };
        json!({ "app_name": "Firecracker", "id": "machine", "state": state, "vmm_version": "1.13.1" })
    }

    fn configure(&mut self, resource: Asked) -> Result<(), Refusal> {
        match resource {
            Asked::MachineConfig(config) => {
                check_machine(&config)?;
                self.resources.machine = Some(config);
            }
            Asked::BootSource(source) => {
                let open = |path: &str, what: &str| {
                    File::open(path)
                        .map_err(|e| Refusal::bad(format!("Boot source error: The {what}: {e}")))
                };
                open(&source.kernel_image_path, "kernel file cannot be opened")?;
                if let Some(path) = &source.initrd_path {
                    open(
                        path,
                        "initrd file cannot be opened due to invalid path or invalid permissions",
                    )?;
                }
                self.resources.boot_source = Some(source);
            }
            Asked::Drive(drive) => {
                check_drive(&drive)?;
                self.resources
                    .drives
                    .retain(|other| other.drive_id != drive.drive_id);
                self.resources.drives.push(drive);
            }
            Asked::Vsock(vsock) => {
                if vsock.guest_cid < LEAST_CID {
                    return Err(Refusal::bad("Vsock config error: Invalid guest CID"));
                }
                // It listens as soon as it was configured; who connects waits for the machine.
                self.guest = Some(
                    listen(&vsock, &self.script)
                        .map_err(|e| Refusal::bad(format!("Vsock config error: {e}")))?,
                );
                self.resources.vsock = Some(vsock);
            }
            Asked::Entropy(entropy) => self.resources.entropy = Some(entropy),
            _ => return Err(Refusal::bad(NOT_BEFORE)),
        }
        Ok(())
    }

    fn start(&mut self) -> Result<(), Refusal> {
        if self.resources.boot_source.is_none() {
            let why = "Start microvm error: Cannot start microvm without kernel configuration.";
            return Err(Refusal::bad(why));
        }
        let words = self
            .resources
            .boot_source
            .as_ref()
            .and_then(|source| source.boot_args.clone())
            .unwrap_or_default();
        if let Some(guest) = &self.guest {
            guest.boot(&words);
        }
        self.state = State::Running;
        Ok(())
    }

    fn once_started(&self) -> Result<(), Refusal> {
        if self.state == State::NotStarted {
            Err(Refusal::bad(NOT_BEFORE))
        } else {
            Ok(())
        }
    }

    fn change(&mut self, state: VmState) -> Result<(), Refusal> {
        self.once_started()?;
        self.state = if state == VmState::Paused {
            State::Paused
        } else {
            State::Running
        };
        if let Some(guest) = &self.guest {
            guest.set_paused(state == VmState::Paused);
        }
        Ok(())
    }

    fn save(&mut self, how: &SnapshotCreate) -> Result<(), Refusal> {
        self.once_started()?;
        let failed = |why: String| Refusal::bad(format!("Create snapshot error: {why}"));
        if self.state == State::Running {
            let why = "Cannot save the microVM state: Operation not allowed: save/restore unavailable while running";
            return Err(failed(why.to_owned()));
        }
        let memory_mib = self
            .resources
            .machine
            .as_ref()
            .map_or(128, |machine| machine.mem_size_mib);
        if how.snapshot_type == SnapshotType::Diff {
            return Err(failed(
                "Cannot get dirty bitmap: dirty page tracking is off".to_owned(),
            ));
        }
        // Connections end with what is saved; those who listen in the guest go on.
        if let Some(guest) = &self.guest {
            guest.reset_connections();
        }
        let has_shape = self.guest.as_ref().is_some_and(Guest::has_shape);
        let state = json!({ "double": 1, "memory_mib": memory_mib, "resources": self.resources, "has_shape": has_shape });
        fs::write(&how.snapshot_path, state.to_string()).map_err(|e| {
            failed(format!(
                "Cannot perform open on the snapshot backing file: {e}"
            ))
        })?;
        File::create(&how.mem_file_path)
            .and_then(|file| file.set_len(memory_mib as u64 * MIB))
            .map_err(|e| {
                failed(format!(
                    "Cannot perform open on the memory backing file: {e}"
                ))
            })
    }

    fn load(&mut self, how: &SnapshotLoad) -> Result<(), Refusal> {
        let failed = |why: &str| Refusal::bad(format!("Load snapshot error: {why}"));
        if self.is_configured {
            let why =
                "Loading a microVM snapshot not allowed after configuring boot-specific resources.";
            return Err(failed(why));
        }
        let restored = self.restore(how);
        if let Err(why) = restored {
            self.is_spoilt = true;
            return Err(failed(&format!("Failed to restore from snapshot: {why}")));
        }
        self.state = if how.resume_vm {
            State::Running
        } else {
            State::Paused
        };
        if let Some(guest) = &self.guest {
            guest.set_paused(!how.resume_vm);
        }
        Ok(())
    }

    fn restore(&mut self, how: &SnapshotLoad) -> Result<(), String> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct State {
            #[allow(dead_code)]
            double: u32,
            memory_mib: u64,
            resources: Resources,
            has_shape: bool,
        }
        let text = fs::read(&how.snapshot_path).map_err(|e| {
            format!("Failed to get snapshot state from file: Failed to open snapshot file: {e}")
        })?;
        let saved: State = serde_json::from_slice(&text).map_err(|e| {
            format!("Failed to get snapshot state from file: Failed to load snapshot state: {e}")
        })?;
        let path = match (&how.mem_backend, &how.mem_file_path) {
            (Some(backend), _) if backend.backend_type == BackendType::Uffd => {
                return Err("Failed to connect to the UFFD handler".to_owned());
            }
            (Some(backend), _) => &backend.backend_path,
            (None, Some(path)) => path,
            (None, None) => return Err("no memory".to_owned()),
        };
        let length = file_length(path).map_err(|e| format!("Failed to load guest memory: {e}"))?;
        if length != saved.memory_mib * MIB {
            return Err(
                "Failed to load guest memory: the file's size is not that of the memory".to_owned(),
            );
        }
        for drive in &saved.resources.drives {
            check_drive(drive).map_err(|refusal| refusal.message)?;
        }
        if let Some(vsock) = &saved.resources.vsock {
            let guest = listen(vsock, &self.script)?;
            guest.recall(saved.has_shape);
            let source = saved.resources.boot_source.as_ref();
            guest.boot(
                source
                    .and_then(|source| source.boot_args.as_deref())
                    .unwrap_or_default(),
            );
            self.guest = Some(guest);
        }
        self.resources = saved.resources;
        Ok(())
    }
}

fn file_length(path: &Path) -> std::io::Result<u64> {
    Ok(File::open(path)?.metadata()?.len())
}

fn listen(vsock: &Vsock, script: &Script) -> Result<Guest, String> {
    Guest::listen(Path::new(&vsock.uds_path), script.clone()).map_err(|e| {
        format!("Cannot create backend for vsock device: Error binding to the host-side Unix socket: {e}")
    })
}

fn check_machine(config: &MachineConfig) -> Result<(), Refusal> {
    let wrong = |why: &str| Err(Refusal::bad(format!("Machine config error: {why}")));
    if config.vcpu_count == 0 || config.vcpu_count > MOST_PROCESSORS {
        return wrong("The vCPU count must be greater than 0, less than 32");
    }
    if config.smt && config.vcpu_count > 1 && config.vcpu_count % 2 == 1 {
        return wrong(
            "The vCPU count must be either 1 or an even number when hyperthreading is enabled.",
        );
    }
    if config.mem_size_mib == 0 {
        return wrong(
            "The memory size (MiB) is either 0, or not a multiple of the configured page size.",
        );
    }
    Ok(())
}

fn check_drive(drive: &Drive) -> Result<(), Refusal> {
    let wrong = |why: String| Refusal::bad(format!("Drive config error: {why}"));
    let (Some(path), Some(is_read_only), None) =
        (&drive.path_on_host, drive.is_read_only, &drive.socket)
    else {
        return Err(wrong(
            "Running method expected different backend.".to_owned(),
        ));
    };
    let opened = File::options().read(true).write(!is_read_only).open(path);
    opened.map(|_| ()).map_err(|e| {
        wrong(format!(
            "Unable to create the virtio block device: Virtio backend error: Error manipulating the backing file: {e} \
             {path}"
        ))
    })
}
