//! The system calls that are left, as filters that were compiled at build time.

use crate::{
    fault::{Fault, Outcome},
    spec::SeccompChoice,
    sys,
};

mod programs {
    include!(concat!(env!("OUT_DIR"), "/seccomp.rs"));
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// Around a sandbox's commands. `is_live`: something of the host's can be written directly.
    OfSandbox { choice: SeccompChoice, is_live: bool },
    /// Around a runtime that builds walls of its own: it makes namespaces, mounts and traces its children.
    OfRuntime,
    /// Around a virtual machine's monitor, which starts one program and then has its descriptors and its memory; and Unix
    /// sockets of its own making, where that is how it is spoken to.
    OfMonitor { has_unix_sockets: bool },
    /// Around a program of ours that reads what is hostile.
    OfReader,
}

impl Filter {
    pub fn install(self) -> Outcome<()> {
        match self {
            Self::OfSandbox { choice, is_live } => {
                // A file that a sandbox makes setuid in a folder of the host's is setuid on the host.
                if is_live {
                    add(&programs::SETID_BITS)?;
                }
                match choice {
                    SeccompChoice::Default => add(&programs::DEFAULT),
                    SeccompChoice::Strict => add(&programs::STRICT),
                }
            }
            Self::OfRuntime => add(&programs::RUNTIME),
            Self::OfMonitor { has_unix_sockets: false } => add(&programs::MONITOR),
            Self::OfMonitor { has_unix_sockets: true } => add(&programs::LISTENING_MONITOR),
            Self::OfReader => add(&programs::DEFAULT),
        }
    }
}

fn add(program: &[libc::sock_filter]) -> Outcome<()> {
    sys::install_seccomp(program)
        .map_err(|e| Fault::new("layer_unavailable", format!("the seccomp filter could not be installed: {e}")))
}
