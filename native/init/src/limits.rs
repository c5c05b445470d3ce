//! How much the sandbox may have of the machine beside memory, which is the machine's own size: processes and open
//! files. The cgroup is made before the sandbox's first process, which starts in it.

use std::{
    fs,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use ak_jail::{
    fault::{During, Outcome},
    sys::set_rlimit,
};
use rustix::fs::{Mode, OFlags, open};

use crate::shape::Shape;

const CONTROLLERS: &str = "/cgroup/cgroup.subtree_control";
pub const SANDBOX: &str = "/cgroup/sandbox";

pub struct Limits {
    cgroup: OwnedFd,
}

impl Limits {
    pub fn prepare() -> Outcome<Self> {
        fs::write(CONTROLLERS, "+pids").during("limit the number of processes")?;
        fs::create_dir(SANDBOX).during("make the sandbox's cgroup")?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { cgroup: open(SANDBOX, flags, Mode::empty()).during("open the sandbox's cgroup")? })
    }

    pub fn cgroup(&self) -> BorrowedFd<'_> {
        self.cgroup.as_fd()
    }

    pub fn apply(&self, shape: &Shape) -> Outcome<()> {
        fs::write(format!("{SANDBOX}/pids.max"), shape.pids.to_string()).during("limit the number of processes")?;
        // More than the kernel allows is as much as it allows.
        set_rlimit(libc::RLIMIT_NOFILE, shape.open_files).during("limit open files")
    }
}
