//! Answers requests about a sandbox that has ended: the changes of its project. Its first process is gone with all
//! others; its files are still there. The host learns of the end by bytes that no process in the sandbox knew, and
//! sends a request or hangs up.

use std::{
    fs::{self, File},
    io::Write,
    os::fd::{AsFd, OwnedFd},
    time::Duration,
};

use ak_jail::{
    fault::{During, Fault, Outcome},
    sys::{Fork, above_placed, exec_fd, fork_into, place_fd, wait_for},
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{Mode, OFlags, open},
    pipe::{PipeFlags, pipe_with},
    process::chdir,
    thread::{LinkNameSpaceType, move_into_link_name_space},
};

use crate::{ENTRY, end::End, stream, wake::TOKEN_BYTES};

/// A host that lives asks at once.
const PATIENCE: Duration = Duration::from_secs(60);

/// The parts of a sandbox that process 1 keeps after its end.
pub struct EndedSandbox {
    mounts: OwnedFd,
    token: Token,
}

/// The bytes that announce the end; none where no host wants to know.
pub enum Token {
    Known(Option<[u8; TOKEN_BYTES]>),
    /// The sandbox's first process has heard it, and writes it here.
    Heard(OwnedFd),
}

/// For the one who hears the wake message: where its token goes.
pub struct TokenWriter(OwnedFd);

impl TokenWriter {
    pub fn tell(self, token: Option<[u8; TOKEN_BYTES]>) -> Outcome<()> {
        if let Some(token) = token {
            rustix::io::write(&self.0, &token).during("pass the token on")?;
        }
        Ok(())
    }
}

pub fn token_pipe() -> Outcome<(Token, TokenWriter)> {
    let (token, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).during("make a pipe")?;
    Ok((Token::Heard(token), TokenWriter(writer)))
}

impl Token {
    fn bytes(&self) -> Option<[u8; TOKEN_BYTES]> {
        match self {
            Self::Known(token) => *token,
            Self::Heard(pipe) => {
                let mut token = [0; TOKEN_BYTES];
                matches!(rustix::io::read(pipe, &mut token), Ok(TOKEN_BYTES)).then_some(token)
            }
        }
    }
}

/// The mounts of this process or, until it has changed anything, of a child.
pub fn mounts_of(pid: &str) -> Outcome<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    open(format!("/proc/{pid}/ns/mnt"), flags, Mode::empty()).during("hold the mounts")
}

pub fn enter_mounts(mounts: &OwnedFd) -> Outcome<()> {
    move_into_link_name_space(mounts.as_fd(), Some(LinkNameSpaceType::Mount)).during("change the mounts")?;
    chdir("/").during("change the mounts")
}

impl EndedSandbox {
    pub fn of(mounts: OwnedFd, token: Token) -> Self {
        Self { mounts, token }
    }

    /// Tells of the end, where that was asked for, and answers what is asked then.
    pub fn show(&self, how: &End) -> Outcome<()> {
        let Some(token) = self.token.bytes() else { return Ok(()) };
        let mut port = stream::open_again()?;
        port.write_all(&[&token[..], &message(how)?].concat()).during("tell of the end")?;
        let mut asked = [PollFd::new(&port, PollFlags::IN)];
        let patience = Timespec::try_from(PATIENCE).ok();
        if poll(&mut asked, patience.as_ref()).during("wait for the host")? == 0
            || !asked[0].revents().contains(PollFlags::IN)
        {
            return Ok(());
        }
        self.gather(&port)
    }

    fn gather(&self, port: &File) -> Outcome<()> {
        match fork_into(0, None).during("start ak-entry")? {
            Fork::Parent { pid, .. } => wait_for(pid).during("wait for ak-entry").map(drop),
            Fork::Child => {
                let fault = match self.become_gatherer(port) {
                    Err(fault) => fault,
                    Ok(never) => match never {},
                };
                crate::end::log(&fault.to_string());
                std::process::exit(1)
            }
        }
    }

    /// To where the sandbox's files are in sight.
    pub fn enter(&self) -> Outcome<()> {
        enter_mounts(&self.mounts)
    }

    /// In a process of its own, which ends with it.
    pub fn become_gatherer(&self, port: &File) -> Outcome<std::convert::Infallible> {
        let port = above_placed(port).during("keep the stream")?;
        let log = crate::open_log()?;
        enter_mounts(&self.mounts)?;
        let program = open(ENTRY, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).during("open ak-entry")?;
        let program = above_placed(&program).during("keep ak-entry")?;
        for (fd, number) in [(port.as_fd(), 0), (port.as_fd(), 1), (log.as_fd(), 2)] {
            place_fd(fd, number).during("place a descriptor")?;
        }
        Err(exec_fd(program.as_fd(), &[c"ak-entry", c"gather"])).during("start ak-entry")
    }
}

fn message(how: &End) -> Outcome<Vec<u8>> {
    let (code, signal) = match how {
        End::Exited(code) => (Some(code), None),
        End::Killed(signal) => (None, Some(signal)),
    };
    let said = serde_json::json!({ "said": "ended", "code": code, "signal": signal, "oomKills": oom_kills() });
    let text = said.to_string().into_bytes();
    let length = u32::try_from(text.len()).map_err(|_| Fault::new("internal", "a long message"))?;
    Ok([&length.to_le_bytes()[..], &text].concat())
}

/// How often the machine's own kernel had to end a process for want of memory.
fn oom_kills() -> u64 {
    let counters = fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let counter = counters.lines().find_map(|line| line.strip_prefix("oom_kill "));
    counter.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}
