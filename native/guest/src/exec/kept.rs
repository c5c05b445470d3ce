//! An exec that outlives the connection it was opened on: without a host it goes on, held back by its full pipes; the
//! next host takes it up under its key.

use ak_wire::payload::{KeptExec, OpenExec, OpenExecAttach, OpenedExec};
use ak_wire::{FrameType, MAX_KEY_LEN};

use super::Exec;
use super::output::Output;
use crate::channel::{Context, Refusal, Step};

/// How much of a program's name, and of why it did not start, the list of execs carries.
const MAX_PROGRAM_CHARS: usize = 32;
const MAX_MESSAGE_CHARS: usize = 64;

pub struct Kept {
    key: String,
    program: String,
}

impl Kept {
    pub fn new(key: &str, open: &OpenExec) -> Self {
        let program = open.argv.first().map_or("", String::as_str);
        let program = program.rsplit('/').next().unwrap_or(program);
        Self { key: key.to_owned(), program: plain(program, MAX_PROGRAM_CHARS) }
    }
}

/// Whether a text may name an exec.
pub fn is_key(text: &str) -> bool {
    let is_fine = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
    (1..=MAX_KEY_LEN).contains(&text.len()) && text.as_bytes().iter().all(is_fine)
}

/// Short, and as long in JSON as it is: the list of all execs has to fit into one frame.
fn plain(text: &str, max: usize) -> String {
    let is_plain = |c: char| (' '..='~').contains(&c) && c != '"' && c != '\\';
    text.chars().take(max).map(|c| if is_plain(c) { c } else { '?' }).collect()
}

impl Exec {
    pub fn key(&self) -> Option<&str> {
        self.kept.as_ref().map(|kept| kept.key.as_str())
    }

    pub fn is_over(&self) -> bool {
        self.over
    }

    /// The command has ended or never ran, also where no host has heard of it.
    pub fn is_ended(&self) -> bool {
        self.over || self.exit.is_some()
    }

    /// Describes a kept exec to a new host; None for one that is not kept.
    pub fn state(&self) -> Option<KeptExec> {
        let kept = self.kept.as_ref()?;
        let [stdout, stderr] = &self.outputs;
        let failed = self.failed.clone().map(|mut failed| {
            failed.message = plain(&failed.message, MAX_MESSAGE_CHARS);
            failed
        });
        Some(KeptExec {
            key: kept.key.clone(),
            pid: self.pid.filter(|_| self.opened),
            program: kept.program.clone(),
            tty: self.is_tty,
            stdin: self.input.state(),
            stdout: stdout.as_ref().map(Output::state)?,
            stderr: stderr.as_ref().map(Output::state),
            exit: self.exit,
            failed,
        })
    }

    /// The host is gone. What is not kept is ended, as if the host had asked for it.
    pub fn detach(&mut self, ctx: &mut Context) {
        self.attached = false;
        if self.kept.is_none() {
            self.on_close(ctx);
        }
    }

    /// Another host goes on with it. `Ended` when there is nothing to go on with.
    pub fn attach(&mut self, ctx: &mut Context, open: &OpenExecAttach, credit: u32) -> Result<Step, Refusal> {
        if let Some(failed) = &self.failed {
            ctx.outbox.json(FrameType::Failed, ctx.id, failed);
            return Ok(Step::Ended);
        }
        let can = |output: &Option<Output>, from: Option<u64>| match (output, from) {
            (Some(output), Some(from)) => (output.state().acked..=output.state().sent).contains(&from),
            (None, from) => from.is_none(),
            (Some(_), None) => true,
        };
        let froms = [open.stdout, open.stderr];
        if !self.outputs.iter().zip(froms).all(|(output, from)| can(output, from)) {
            return Err(Refusal::new("gone", "these bytes of its output cannot be had"));
        }
        for (output, from) in self.outputs.iter_mut().zip(froms) {
            if let Some(output) = output {
                output.rewind(from, credit);
            }
        }
        self.attached = true;
        self.over = false;
        self.hold_until = None;
        if let Some(pid) = self.pid.filter(|_| self.opened) {
            ctx.outbox.json(FrameType::Opened, ctx.id, &OpenedExec { pid });
        }
        self.input.resume(ctx);
        Ok(Step::Progress)
    }
}

#[cfg(test)]
mod tests {
    use ak_wire::payload::{Exit, Failed, Hello, KeptInput, KeptOutput, Usage};

    use super::*;

    #[test]
    fn keys_are_short_plain_words() {
        assert!(is_key("a") && is_key("exec-1.b_C") && is_key(&"k".repeat(MAX_KEY_LEN)));
        for bad in ["", "a b", "a/b", "ä", "a\0", &"k".repeat(MAX_KEY_LEN + 1)] {
            assert!(!is_key(bad), "{bad:?}");
        }
    }

    #[test]
    fn names_of_programs_are_short_and_plain() {
        let open = |program: &str| OpenExec { argv: vec![program.into()], ..OpenExec::default() };
        let program = |text: &str| Kept::new("k", &open(text)).program;
        assert_eq!(program("/usr/bin/python3"), "python3");
        assert_eq!(program("a\"\\\n\u{e4}"), "a????");
        assert_eq!(program(&"x".repeat(100)).len(), MAX_PROGRAM_CHARS);
    }

    #[test]
    fn the_longest_list_of_execs_fits_into_one_hello() {
        const LARGEST: u64 = (1 << 53) - 1;
        let output = KeptOutput { acked: LARGEST, sent: LARGEST };
        let usage = Usage { user_us: LARGEST, system_us: LARGEST, max_rss_kib: LARGEST };
        let exec = |exit, failed| KeptExec {
            key: "k".repeat(MAX_KEY_LEN),
            pid: Some(i32::MAX),
            program: plain(&"\n".repeat(100), MAX_PROGRAM_CHARS),
            tty: false,
            stdin: Some(KeptInput { received: LARGEST, ended: false }),
            stdout: output,
            stderr: Some(output),
            exit,
            failed,
        };
        let ended = exec(Some(Exit { code: Some(255), signal: None, usage }), None);
        let message = plain(&"\n".repeat(100), MAX_MESSAGE_CHARS);
        let failed = exec(None, Some(Failed { code: "not_executable".into(), message }));
        for longest in [ended, failed] {
            let hello = Hello {
                protocol: 1,
                guest: Some("v".repeat(32)),
                window: u32::MAX,
                features: ["exec", "pty", "files", "tcp-in", "tcp-out", "lookup", "kept"].map(String::from).to_vec(),
                execs: vec![longest; ak_wire::MAX_KEPT_EXECS],
            };
            let mut frame = Vec::new();
            ak_wire::encode_json(&mut frame, FrameType::Hello, 0, &hello).expect("encodes");
            let mut decoder = ak_wire::Decoder::new(ak_wire::Direction::GuestToHost);
            decoder.push(&frame);
            assert!(decoder.next_frame().expect("within the limits").is_some(), "{}", frame.len());
        }
    }
}
