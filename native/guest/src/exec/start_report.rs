//! Reports the start of a command to the host: from its keeper's records, from the guest's own observation, or from the
//! keeper's end.

use ak_wire::FrameType;
use ak_wire::payload::{Failed, OpenedExec, Usage};
use rustix::io::{Errno, read};

use super::report::{RECORD_LEN, Report};
use super::{Exec, failure};
use crate::channel::{Context, Refusal, Step};
use crate::sys;

impl Exec {
    /// Reads the keeper's reports; the step that a report calls for is returned.
    pub fn read_reports(&mut self, ctx: &mut Context) -> Step {
        let mut step = match self.told.take() {
            Some(report) => self.on_report(ctx, report),
            None => Step::Waiting,
        };
        if matches!(step, Step::Ended) {
            return step;
        }
        while self.report_ready {
            let Some(fd) = &self.report else { break };
            let mut record = [0; RECORD_LEN];
            match read(fd, &mut record) {
                Ok(RECORD_LEN) => {
                    let Some(report) = Report::decode(&record) else {
                        continue;
                    };
                    step = self.on_report(ctx, report);
                    if matches!(step, Step::Ended) {
                        return step;
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => self.report_ready = false,
                Ok(_) | Err(_) => {
                    self.report = None;
                    self.keeper_ended = true;
                }
            }
        }
        step
    }

    fn on_report(&mut self, ctx: &mut Context, report: Report) -> Step {
        match report {
            Report::Forked { pid } => self.pid = Some(pid),
            Report::Started => self.set_opened(ctx),
            Report::Failed { stage, errno } => {
                return self.fail(ctx, failure::start_failure(stage, Errno::from_raw_os_error(errno)));
            }
            Report::Exited { status, usage } => self.set_exit(status, usage),
        }
        Step::Progress
    }

    fn set_opened(&mut self, ctx: &mut Context) {
        let Some(pid) = self.pid.filter(|_| !self.opened) else {
            return;
        };
        self.opened = true;
        ctx.outbox.coalesce(ctx.now, |outbox| outbox.json(FrameType::Opened, ctx.id, &OpenedExec { pid }));
        for signal in std::mem::take(&mut self.early_signals) {
            self.on_signal(ctx, signal);
        }
        if self.closing {
            self.kill(ctx);
        }
    }

    /// Ended after its last report as it should be, or killed from inside.
    pub(super) fn on_keeper_gone(&mut self, ctx: &mut Context) -> Step {
        if self.opened && self.exit.is_some() {
            return Step::Progress;
        }
        self.keeper_lost = true;
        let Some(pid) = self.pid else {
            let message = "the keeper of the command was killed";
            return self.fail(ctx, Refusal::new("io", message).payload());
        };
        // The command is now the guest's own child, and is reaped by it.
        self.set_opened(ctx);
        if sys::kill(pid, 0).is_err() && self.exit.is_none() {
            // Reaped by the keeper, whose report died with it.
            self.set_exit(libc::SIGKILL, Usage::default());
        }
        Step::Progress
    }

    fn fail(&mut self, ctx: &mut Context, failed: Failed) -> Step {
        ctx.outbox.json(FrameType::Failed, ctx.id, &failed);
        self.failed = Some(failed);
        self.over = true;
        self.report = None;
        Step::Ended
    }
}
