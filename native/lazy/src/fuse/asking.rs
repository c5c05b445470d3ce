//! What goes to the host, and what comes back.

use std::io;

use rustix::io::{Errno, read, write};

use super::{Asked, Subject, View, Waiter, abi};
use crate::message::{self, Answer, Attributes, MAX_PART, Request, take_answer};

impl View {
    /// Once at a time.
    pub(super) fn ask(&mut self, subject: Subject, is_ahead: bool) {
        if self.waiting.contains_key(&subject) || self.is_cut {
            return;
        }
        self.waiting.insert(subject, Vec::new());
        self.last_id = self.last_id.wrapping_add(1);
        self.asked.insert(self.last_id, Asked { subject, is_ahead, entries: Vec::new() });
        match subject {
            Subject::Directory(node) => {
                let path = self.nodes.path(node);
                message::request(self.last_id, &Request::List { path: &path }, &mut self.outgoing);
            }
            Subject::Part((node, part)) => {
                let (path, offset) = (self.nodes.path(node), part * MAX_PART as u64);
                let (version, size) =
                    self.nodes.get(node).map_or((0, 0), |node| (node.attributes.version, node.attributes.size));
                let length = size.saturating_sub(offset).min(MAX_PART as u64) as u32;
                let read = Request::Read { path: &path, version, offset, length };
                message::request(self.last_id, &read, &mut self.outgoing);
            }
        }
    }

    pub(super) fn ask_ahead(&mut self) {
        while let Some(subject) = self.ahead.next(&mut self.nodes, |part| self.contents.has(part)) {
            if self.is_cut || self.waiting.contains_key(&subject) {
                self.ahead.arrived();
                continue;
            }
            self.ask(subject, true);
        }
    }

    pub(super) fn hear_host(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        while !self.is_cut {
            match read(&self.stream, &mut *buffer) {
                Ok(0) => self.cut(),
                Ok(length) => {
                    self.incoming.extend_from_slice(&buffer[..length]);
                    self.take_answers()?;
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(_) => self.cut(),
            }
        }
        Ok(())
    }

    fn take_answers(&mut self) -> io::Result<()> {
        let incoming = std::mem::take(&mut self.incoming);
        let mut at = 0;
        while let Some((id, answer, length)) = take_answer(&incoming[at..])? {
            self.take_answer(id, &answer);
            at += length;
        }
        self.incoming = incoming;
        self.incoming.drain(..at);
        Ok(())
    }

    fn take_answer(&mut self, id: u32, answer: &Answer<'_>) {
        if let (Answer::Entries { are_last: false, entries }, Some(asked)) = (answer, self.asked.get_mut(&id)) {
            asked.entries.extend_from_slice(entries);
            return;
        }
        let Some(Asked { subject, is_ahead, entries: before }) = self.asked.remove(&id) else { return };
        if is_ahead {
            self.ahead.arrived();
        }
        let waiters = self.waiting.remove(&subject).unwrap_or_default();
        match (subject, answer) {
            (Subject::Directory(node), Answer::Entries { entries, .. }) => {
                self.nodes.fill(node, &[&before, *entries].concat());
                self.ahead.knows(node, &self.nodes);
            }
            (Subject::Part(part), Answer::Data(bytes)) if !bytes.is_empty() => self.contents.put(part, bytes.to_vec()),
            (Subject::Part((node, _)), Answer::Changed(attributes)) => {
                self.change(node, *attributes);
                return self.fail_all(waiters, Errno::STALE);
            }
            (_, Answer::Failed(errno)) => {
                let errno = i32::try_from(*errno).ok().filter(|errno| (1..4096).contains(errno));
                return self.fail_all(waiters, errno.map_or(Errno::IO, Errno::from_raw_os_error));
            }
            _ => return self.fail_all(waiters, Errno::IO),
        }
        waiters.into_iter().for_each(|waiter| self.look_up(waiter));
    }

    fn change(&mut self, node: u64, attributes: Attributes) {
        self.contents.forget(node);
        if let Some(found) = self.nodes.get_mut(node) {
            (found.attributes, found.is_stale) = (attributes, true);
            self.tell_kernel(&abi::attributes_changed(node));
        }
    }

    /// From here on there is only what is known.
    fn cut(&mut self) {
        self.is_cut = true;
        self.asked.clear();
        let all: Vec<Waiter> = self.waiting.drain().flat_map(|(_, waiters)| waiters).collect();
        self.fail_all(all, Errno::IO);
        self.outgoing.clear();
    }

    pub(super) fn tell_host(&mut self) {
        while !self.outgoing.is_empty() && !self.is_cut {
            match write(&self.stream, &self.outgoing) {
                Ok(count) => drop(self.outgoing.drain(..count)),
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(_) => self.cut(),
            }
        }
    }
}
