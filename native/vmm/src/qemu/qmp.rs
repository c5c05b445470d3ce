//! QEMU's control protocol: a JSON object a line. QEMU is in the jail with us, and what it runs may have taken it over:
//! nothing that it says is believed beyond its form, and there is a bound to it.

use std::{
    collections::VecDeque,
    io::{IoSlice, Read, Write},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
    time::{Duration, Instant},
};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use serde_json::{Value, json};

use crate::{
    failure::{During, Failure, Outcome},
    watch,
};

const MAX_LINE: usize = 1 << 20;

#[derive(Debug, PartialEq)]
pub enum Answer {
    Done(Value),
    Refused(String),
    /// With what it says of it.
    Event(String, Value),
    Gone,
}

pub struct Qmp {
    socket: UnixStream,
    unread: Vec<u8>,
    heard: VecDeque<Answer>,
    /// How many answers are to come to what was only said.
    owed: usize,
    /// Events that arrived while an answer was awaited.
    events: VecDeque<(String, Value)>,
}

/// Far more than can happen while QEMU answers.
const MAX_EVENTS: usize = 1024;

impl Qmp {
    pub fn new(socket: UnixStream) -> Self {
        Self { socket, unread: Vec::new(), heard: VecDeque::new(), owed: 0, events: VecDeque::new() }
    }

    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Without waiting for the answer.
    pub fn say(&mut self, what: &Value) -> Outcome<()> {
        self.owed += 1;
        self.socket.write_all(line(what).as_bytes()).during("speak to QEMU")
    }

    /// With a descriptor, which QEMU then knows by this name.
    pub fn hand_over(&mut self, name: &str, fd: BorrowedFd<'_>, patience: Duration) -> Outcome<()> {
        let text = line(&json!({ "execute": "getfd", "arguments": { "fdname": name } }));
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut with = SendAncillaryBuffer::new(&mut space);
        let fds = [fd];
        if !with.push(SendAncillaryMessage::ScmRights(&fds)) {
            return Err(Failure::new("no room for a descriptor"));
        }
        let sent = sendmsg(&self.socket, &[IoSlice::new(text.as_bytes())], &mut with, SendFlags::empty());
        if sent.during("hand QEMU a descriptor")? != text.len() {
            return Err(Failure::new("QEMU does not listen"));
        }
        self.await_answer(patience).map(drop)
    }

    pub fn ask(&mut self, what: &Value, patience: Duration) -> Outcome<Value> {
        self.socket.write_all(line(what).as_bytes()).during("speak to QEMU")?;
        self.await_answer(patience)
    }

    fn await_answer(&mut self, patience: Duration) -> Outcome<Value> {
        let until = Instant::now() + patience;
        loop {
            match self.next(until)? {
                Answer::Refused(why) => return Err(Failure::new(format!("QEMU refused: {why}"))),
                Answer::Gone => return Err(Failure::new("QEMU ended")),
                Answer::Event(name, data) => self.note(name, data)?,
                Answer::Done(_) if self.owed > 0 => self.owed -= 1,
                Answer::Done(value) => {
                    self.note_all_heard()?;
                    return Ok(value);
                }
            }
        }
    }

    /// Waits for an event, or until the time is over, which is no failure: the caller checks again.
    pub fn await_event(&mut self, name: &str, patience: Duration) -> Outcome<()> {
        let until = Instant::now() + patience;
        while Instant::now() < until {
            match self.next(until) {
                Ok(Answer::Event(event, _)) if event == name => return Ok(()),
                Ok(Answer::Gone) => return Err(Failure::new("QEMU ended")),
                Ok(_) => {}
                Err(_) => return Ok(()),
            }
        }
        Ok(())
    }

    fn next(&mut self, until: Instant) -> Outcome<Answer> {
        loop {
            if let Some(answer) = self.heard.pop_front() {
                return Ok(answer);
            }
            watch::await_any(&[self.socket.as_fd()], Some(until))?;
            let heard = self.hear()?;
            self.heard.extend(heard);
        }
    }

    /// Notes events that arrived behind an answer: they are no longer in the socket.
    fn note_all_heard(&mut self) -> Outcome<()> {
        while let Some(Answer::Event(..)) = self.heard.front() {
            if let Some(Answer::Event(name, data)) = self.heard.pop_front() {
                self.note(name, data)?;
            }
        }
        Ok(())
    }

    /// Counts the answer to a command whose result is not needed.
    pub fn is_answered(&mut self) {
        self.owed = self.owed.saturating_sub(1);
    }

    pub fn note(&mut self, name: String, data: Value) -> Outcome<()> {
        self.events.push_back((name, data));
        if self.events.len() > MAX_EVENTS {
            return Err(Failure::new("QEMU says too much at once"));
        }
        Ok(())
    }

    /// The next thing that events and was not looked at yet.
    pub fn next_event(&mut self) -> Option<(String, Value)> {
        self.events.pop_front()
    }

    /// Reads all messages that are there now.
    pub fn hear(&mut self) -> Outcome<Vec<Answer>> {
        let mut bytes = [0; 4096];
        let count = match self.socket.read(&mut bytes) {
            Ok(count) => count,
            Err(e) if e.kind() == std::io::ErrorKind::ConnectionReset => 0,
            Err(e) => return Err(e).during("listen to QEMU"),
        };
        if count == 0 {
            return Ok(vec![Answer::Gone]);
        }
        self.unread.extend(&bytes[..count]);
        let mut answers = Vec::new();
        while let Some(at) = self.unread.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.unread.drain(..=at).collect();
            answers.extend(answer_of(&line)?);
        }
        if self.unread.len() > MAX_LINE {
            return Err(Failure::new("QEMU says too much at once"));
        }
        Ok(answers)
    }
}

fn line(what: &Value) -> String {
    format!("{what}\n")
}

/// None where it is the greeting.
fn answer_of(line: &[u8]) -> Outcome<Option<Answer>> {
    let value: Value = serde_json::from_slice(line).during("understand QEMU")?;
    if let Some(result) = value.get("return") {
        return Ok(Some(Answer::Done(result.clone())));
    }
    if let Some(error) = value.get("error") {
        return Ok(Some(Answer::Refused(error["desc"].as_str().unwrap_or("without a reason").to_owned())));
    }
    if let Some(event) = value.get("event") {
        let name = event.as_str().unwrap_or_default().to_owned();
        return Ok(Some(Answer::Event(name, value.get("data").cloned().unwrap_or_default())));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (Qmp, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (Qmp::new(ours), theirs)
    }

    #[test]
    fn an_answer_is_that_of_what_was_asked_and_not_of_what_was_said_before() {
        let (mut qmp, mut qemu) = pair();
        qmp.say(&json!({ "execute": "qmp_capabilities" })).unwrap();
        qemu.write_all(b"{\"QMP\":{}}\n{\"return\":{}}\n{\"event\":\"RESUME\"}\n{\"return\":{\"status\":\"x\"}}\n")
            .unwrap();
        let answer = qmp.ask(&json!({ "execute": "query-migrate" }), Duration::from_secs(60)).unwrap();
        assert_eq!(answer["status"], "x");
    }

    #[test]
    fn what_happens_right_behind_an_answer_is_not_lost() {
        let (mut qmp, mut qemu) = pair();
        qemu.write_all(b"{\"return\":{}}\n{\"event\":\"MIGRATION\",\"data\":{\"status\":\"completed\"}}\n").unwrap();
        qmp.ask(&json!({ "execute": "migrate" }), Duration::from_secs(60)).unwrap();
        assert_eq!(qmp.next_event(), Some(("MIGRATION".into(), json!({ "status": "completed" }))));
    }

    #[test]
    fn a_refusal_and_an_end_are_failures() {
        let (mut qmp, mut qemu) = pair();
        qemu.write_all(b"{\"error\":{\"class\":\"GenericError\",\"desc\":\"no\"}}\n").unwrap();
        let refused = qmp.ask(&json!({}), Duration::from_secs(60)).unwrap_err();
        assert_eq!(refused.to_string(), "QEMU refused: no");
        drop(qemu);
        qmp.await_answer(Duration::from_secs(60)).unwrap_err();
    }

    #[test]
    fn a_line_without_an_end_is_not_kept() {
        let (mut qmp, mut qemu) = pair();
        let flood = std::thread::spawn(move || while qemu.write_all(&[b' '; 4096]).is_ok() {});
        qmp.await_answer(Duration::from_secs(60)).unwrap_err();
        drop(qmp);
        flood.join().unwrap();
    }
}
