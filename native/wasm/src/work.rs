//! The thread that does what the host asks, one thing after the other.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use ak_wire::FrameType;
use ak_wire::payload::{Exit, OpenExec, OpenedExec};
use wasmtime::Engine;

use crate::call::{self, Done, Ties};
use crate::compile::{self, Refusal};
use crate::ending::Ending;
use crate::kill::Killed;
use crate::loaded::{Loaded, load};
use crate::outbox::{Frames, Outbox};
use crate::requests::OpenLoad;

pub enum Job {
    Compile { channel: u32, ties: Ties },
    Load { channel: u32, asked: OpenLoad },
    Call { channel: u32, asked: OpenExec, ties: Ties },
}

/// A job is done and answered.
pub struct Report {
    /// Where a module was loaded: what its calls are ended by.
    pub engine: Option<Engine>,
}

/// The largest module that is compiled.
const MAX_MODULE_BYTES: usize = 64 << 20;
/// A module's own calls (`engine`), and ours on top of them; compiling goes deep as well.
const STACK_BYTES: usize = 16 << 20;
/// The process itself, which every call runs in.
const PID: i32 = 1;

pub struct Worker {
    outbox: Arc<Outbox>,
    loaded: Option<Loaded>,
}

impl Worker {
    pub fn start(jobs: Receiver<Job>, done: Sender<Report>, outbox: Arc<Outbox>) -> io::Result<()> {
        let mut worker = Self { outbox, loaded: None };
        std::thread::Builder::new().name("work".to_owned()).stack_size(STACK_BYTES).spawn(move || {
            for job in jobs {
                let engine = worker.perform(job);
                if done.send(Report { engine }).is_err() {
                    return;
                }
            }
        })?;
        Ok(())
    }

    fn perform(&mut self, job: Job) -> Option<Engine> {
        match job {
            Job::Compile { channel, ties } => {
                compile_for(&self.outbox, channel, &ties);
                None
            }
            Job::Load { channel, asked } => {
                let frames = Frames::default();
                match load(&asked) {
                    Ok(loaded) => {
                        self.outbox.send(frames.opened(channel).done(channel));
                        Some(self.loaded.insert(loaded).engine.clone())
                    }
                    Err(Refusal { code, message }) => {
                        self.outbox.send(frames.refused(FrameType::Failed, channel, code, &message));
                        None
                    }
                }
            }
            Job::Call { channel, asked, ties } => {
                self.call(channel, &asked, &ties);
                None
            }
        }
    }

    fn call(&mut self, channel: u32, asked: &OpenExec, ties: &Ties) {
        let fail = |code: &str, message: &str| {
            self.outbox.send(Frames::default().refused(FrameType::Failed, channel, code, message));
        };
        let Some(loaded) = &self.loaded else { return fail("invalid", "no module is loaded") };
        if asked.tty.is_some() || asked.user.is_some() || asked.key.is_some() {
            return fail("unsupported", "a module has no terminal, no user and no end after its caller's");
        }
        if !call::has_working_directory(loaded, asked) {
            return fail("bad_cwd", "no such directory");
        }
        // The thread that reads sends it where the call takes longer.
        self.outbox.send_soon(Frames::default().json(FrameType::Opened, channel, &OpenedExec { pid: PID }));
        let exit = match call::run(loaded, asked, ties) {
            Ok(done) => exit_of(&done, ties),
            Err(error) => {
                say(ties, &format!("agentkernel: the module could not be started: {error:#}\n"));
                Exit { code: None, signal: Some(libc::SIGABRT as u8), usage: Default::default() }
            }
        };
        self.outbox.send(Frames::default().eof(channel, 1).eof(channel, 2).json(FrameType::Exit, channel, &exit));
    }
}

/// Why it trapped is said where a shell would say that a program crashed.
fn exit_of(done: &Done, ties: &Ties) -> Exit {
    let (code, signal) = match &done.ending {
        Ending::Exited(code) => (Some(*code), None),
        Ending::Killed => (None, Some(ties.kill.signal().unwrap_or(libc::SIGKILL as u8))),
        Ending::Trapped(trap) => {
            let limit = if done.was_refused_memory { "; it had asked for more memory than it may have" } else { "" };
            say(ties, &format!("agentkernel: the module trapped: {}{limit}\n", trap.reason));
            (None, Some(trap.signal))
        }
    };
    Exit { code, signal, usage: done.usage }
}

/// Output without a reader, or of a call that is ended meanwhile, is dropped.
fn say(ties: &Ties, text: &str) {
    let _ = ties.stderr.write_all(text.as_bytes(), &ties.kill);
}

fn compile_for(outbox: &Outbox, channel: u32, ties: &Ties) {
    outbox.send(Frames::default().opened(channel));
    let compiled = match ties.stdin.read_all(MAX_MODULE_BYTES, &ties.kill) {
        Ok(Some(module)) => compile::compile(&module),
        Ok(None) => Err(Refusal::new("too_large", "it is larger than 64 MiB")),
        Err(Killed) => Err(Refusal::new("io", "nobody waits for it any more")),
    };
    let frames = match compiled {
        Ok(code) => {
            let _ = ties.stdout.write_all(&code, &ties.kill);
            Frames::default().eof(channel, 1).done(channel)
        }
        Err(Refusal { code, message }) => {
            Frames::default().eof(channel, 1).refused(FrameType::Close, channel, code, &message)
        }
    };
    outbox.send(frames);
}
