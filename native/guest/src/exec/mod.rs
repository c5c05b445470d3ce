//! One command: its parent, its streams, its end.
//!
//! The order that the host sees is fixed here: OPENED before any output, the
//! end of all outputs before EXIT, exactly one terminal frame. This directory never
//! waits for a process; everything arrives as an event of the loop.

pub mod ahead;
mod child;
mod ends;
mod failure;
mod input;
mod keeper;
mod kept;
mod output;
mod prepared;
mod replay;
mod report;
mod signals;
mod spare;
mod spawn;
mod start_report;
pub mod tree;

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use ak_wire::FrameType;
use ak_wire::payload::{Exit, Failed, OpenExec, Signal, Usage, WindowSize};
use rustix::io::Errno;

use crate::channel::{Context, ProtocolBreach, Refusal, Step};
use crate::poller::{EventFlags, Poller, Ready, Token};
use crate::sys;
pub use ends::Pipes;
use input::Input;
use kept::Kept;
pub use kept::is_key;
use output::{Flow, Output};
use report::Report;
pub use spare::Spare;
use spawn::{Parent, Parentage};

/// How long a descendant may hold an output open after the command's end.
const HOLD: Duration = Duration::from_millis(250);
/// After CLOSE: how long a keeper has to report before it is killed as well (a
/// process of the sandbox may have stopped it), and between further attempts.
const KEEPER_GRACE: Duration = Duration::from_millis(500);

const SLOT_INPUT: u8 = 0;
const SLOT_REPORT: u8 = 3;
/// The bits of a token's slot that belong to the exec.
const SLOT_MASK: u8 = 0b11;

pub struct Exec {
    /// None where the command is the guest's own child.
    keeper: Option<i32>,
    /// The result of a start that the guest made without a keeper; handled as if a keeper had reported it.
    told: Option<Report>,
    /// Its report pipe has ended; judged in the next step, when a status that
    /// the guest itself may have reaped is known.
    keeper_ended: bool,
    /// Killed from inside: the guest has inherited its processes.
    keeper_lost: bool,
    /// Orphans of the guest that are not this command's.
    strangers: Vec<i32>,
    report: Option<OwnedFd>,
    report_ready: bool,
    pid: Option<i32>,
    /// OPENED was sent.
    opened: bool,
    input: Input,
    outputs: [Option<Output>; 2],
    early_signals: Vec<Signal>,
    exit: Option<Exit>,
    hold_until: Option<Instant>,
    closing: bool,
    /// The host meant all of it to end: what outlives the command is killed.
    ends_whole: bool,
    kill_again_at: Option<Instant>,
    is_tty: bool,
    kept: Option<Kept>,
    /// It has a channel; without one it goes on and says nothing.
    attached: bool,
    /// The terminal frame is sent, or would be if there were a host.
    over: bool,
    /// Why the command never ran.
    failed: Option<Failed>,
    /// Where the command calls the host, until the network has it.
    calls: Option<OwnedFd>,
}

impl Exec {
    /// Events of its descriptors come with the channel of `token`, and slots from its slot on.
    /// `keepers` are those of execs before it; none where it is the first in this sandbox.
    pub fn open(
        open: &OpenExec,
        token: Token,
        credit: u32,
        poller: &Poller,
        (keepers, spare, pipes): (Option<&[i32]>, &mut Option<Spare>, &mut Pipes),
    ) -> Result<Self, Refusal> {
        let strangers = keepers.map(signals::strangers).unwrap_or_default();
        let spawned = spawn::spawn(open, Parentage::of(keepers.is_none()), spare, pipes)?;
        let (keeper, report, pid, told) = match spawned.parent {
            Parent::Keeper { pid, report } => (Some(pid), Some(report), None, None),
            Parent::Guest { command, told } => (None, None, Some(command), Some(told)),
        };
        let is_tty = open.tty.is_some();
        let is_kept = open.key.is_some();
        let watch = |fd: &OwnedFd, slot, flags| poller.watch(fd, Token { slot: token.slot + slot, ..token }, flags);
        let watched = || -> Result<(), Errno> {
            if let Some(report) = &report {
                watch(report, SLOT_REPORT, EventFlags::IN)?;
            }
            watch(&spawned.stdout, 1, EventFlags::IN)?;
            if let Some(stderr) = &spawned.stderr {
                watch(stderr, 2, EventFlags::IN)?;
            }
            if let Some(stdin) = &spawned.stdin {
                watch(stdin, SLOT_INPUT, EventFlags::OUT)?;
            }
            Ok(())
        };
        if let Err(errno) = watched() {
            tree::signal(keeper.or(pid).as_slice(), true, libc::SIGKILL);
            return Err(Refusal::new("resource", errno));
        }
        let stderr = spawned.stderr;
        Ok(Self {
            keeper,
            told,
            keeper_ended: false,
            keeper_lost: false,
            strangers,
            report,
            report_ready: false,
            pid,
            opened: false,
            input: Input::new(spawned.stdin, is_tty),
            outputs: [
                Some(Output::new(spawned.stdout, 1, credit, is_tty, is_kept)),
                stderr.map(|fd| Output::new(fd, 2, credit, false, is_kept)),
            ],
            early_signals: Vec::new(),
            exit: None,
            hold_until: None,
            closing: false,
            ends_whole: false,
            kill_again_at: None,
            is_tty,
            kept: open.key.as_deref().map(|key| Kept::new(key, open)),
            attached: true,
            over: false,
            failed: None,
            calls: spawned.calls,
        })
    }

    pub fn keeper(&self) -> Option<i32> {
        self.keeper
    }

    /// The command, where it is the guest's own child and has not ended.
    pub fn own_child(&self) -> Option<i32> {
        self.pid.filter(|_| self.keeper.is_none() && self.exit.is_none())
    }

    pub fn take_calls(&mut self) -> Option<OwnedFd> {
        self.calls.take()
    }

    pub fn on_ready(&mut self, ready: &Ready) {
        match ready.token.slot & SLOT_MASK {
            SLOT_INPUT => self.input.ready = true,
            SLOT_REPORT => self.report_ready = true,
            slot => {
                for output in self.outputs.iter_mut().flatten() {
                    output.ready |= output.stream == slot;
                }
            }
        }
    }

    pub fn on_data(&mut self, ctx: &mut Context, payload: &[u8]) -> Result<(), ProtocolBreach> {
        self.input.on_data(ctx, payload)
    }

    pub fn on_eof(&mut self) -> Result<(), ProtocolBreach> {
        self.input.on_eof()
    }

    /// The host reads this stream no more: its pipe is closed, and the command gets EPIPE. A terminal stays open, since
    /// it is input as well.
    pub fn on_unread(&mut self, stream: u8) {
        for output in self.outputs.iter_mut().flatten() {
            output.unread |= output.stream == stream && !self.is_tty;
        }
    }

    pub fn on_credit(&mut self, stream: u8, amount: u32) -> Result<(), ProtocolBreach> {
        let mut outputs = self.outputs.iter_mut().flatten();
        match outputs.find(|output| output.stream == stream) {
            Some(output) => output.add_credit(amount),
            None => Ok(()),
        }
    }

    pub fn on_resize(&self, size: WindowSize) {
        if let (true, Some(master)) = (self.is_tty, &self.outputs[0]) {
            master.resize(size);
            // gVisor's kernel sends no SIGWINCH.
            if let (Some(pid), true) = (self.pid, sys::is_told("gvisor")) {
                let _ = sys::kill(-pid, libc::SIGWINCH);
            }
        }
    }

    /// A process that the guest itself reaped: the command, if its keeper was
    /// killed.
    pub fn on_reaped(&mut self, reaped: &sys::Reaped) {
        if self.pid == Some(reaped.pid) && self.exit.is_none() {
            self.set_exit(reaped.status, reaped.usage);
        }
    }

    /// Look at every descriptor also without an event.
    pub fn look_again(&mut self) {
        self.report_ready = true;
        for output in self.outputs.iter_mut().flatten() {
            output.ready = true;
        }
    }

    fn set_exit(&mut self, status: i32, usage: Usage) {
        let signalled = libc::WIFSIGNALED(status);
        self.exit = Some(Exit {
            code: (!signalled).then(|| libc::WEXITSTATUS(status) as u8),
            signal: signalled.then(|| libc::WTERMSIG(status) as u8),
            usage,
        });
        self.input.close();
        for output in self.outputs.iter_mut().flatten() {
            output.on_command_end();
        }
    }

    pub fn step(&mut self, ctx: &mut Context) -> Step {
        if std::mem::take(&mut self.keeper_ended)
            && let Step::Ended = self.on_keeper_gone(ctx)
        {
            return Step::Ended;
        }
        if self.exit.is_none() && self.kill_again_at.is_some_and(|at| at <= ctx.now) {
            self.kill_again(ctx);
        }
        if self.exit.is_some() && std::mem::take(&mut self.ends_whole) {
            self.signal_tree(ctx, libc::SIGKILL);
        }
        let mut progress = self.input.step(ctx);
        // Nothing may reach the host before OPENED, and nothing is read for a host that is not there.
        if !self.opened || (!self.attached && !self.closing) {
            return Step::Waiting;
        }
        if !self.closing {
            for slot in &mut self.outputs {
                let Some(output) = slot.as_mut().filter(|output| !output.ended) else { continue };
                match output.pump(ctx) {
                    Flow::Blocked => {}
                    Flow::Sent => progress = true,
                    Flow::Ended => {
                        ctx.outbox.coalesce(ctx.now, |outbox| outbox.eof(ctx.id, output.stream));
                        output.close();
                    }
                }
            }
        }
        if self.may_end(ctx.now) {
            self.end(ctx);
            return Step::Ended;
        }
        if progress { Step::Progress } else { Step::Waiting }
    }

    fn may_end(&mut self, now: Instant) -> bool {
        if self.exit.is_none() {
            return false;
        }
        let mut open = self.outputs.iter().flatten().filter(|output| !output.ended);
        if self.closing || open.clone().next().is_none() {
            return true;
        }
        if self.hold_until.is_none() && open.all(Output::is_settled) {
            self.hold_until = Some(now + HOLD);
        }
        self.hold_until.is_some_and(|until| until <= now)
    }

    /// Ends all streams and sends the terminal frame, as far as the end is known.
    pub fn end(&mut self, ctx: &mut Context) {
        for output in self.outputs.iter_mut().flatten().filter(|output| !output.ended) {
            ctx.outbox.eof(ctx.id, output.stream);
            output.close();
        }
        let killed = Exit { code: None, signal: Some(libc::SIGKILL as u8), usage: Usage::default() };
        let exit = self.exit.unwrap_or(killed);
        ctx.outbox.json(FrameType::Exit, ctx.id, &exit);
        self.over = true;
        self.report = None;
    }

    pub fn deadline(&self) -> Option<Instant> {
        let hold = self.hold_until.filter(|_| self.attached && !self.over);
        let kill = self.kill_again_at.filter(|_| self.exit.is_none() && !self.over);
        match (hold, kill) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    pub fn has_started(&self) -> bool {
        self.opened
    }
}
