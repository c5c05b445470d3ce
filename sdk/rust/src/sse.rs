//! Server-Sent Events out of bytes, however these are cut.

use std::collections::VecDeque;
use std::mem::take;

#[derive(Default)]
pub struct EventParser {
    line: Vec<u8>,
    /// The last line ended with a carriage return; a line feed right after it belongs to that end.
    after_return: bool,
    event: String,
    data: Option<String>,
    complete: VecDeque<(String, String)>,
}

impl EventParser {
    pub fn push(&mut self, chunk: &[u8]) {
        for &byte in chunk {
            let is_rest = self.after_return && byte == b'\n';
            self.after_return = byte == b'\r';
            match byte {
                _ if is_rest => {}
                b'\n' | b'\r' => {
                    let line = take(&mut self.line);
                    self.take_line(&String::from_utf8_lossy(&line));
                }
                _ => self.line.push(byte),
            }
        }
    }

    /// The next event that is complete, with its data.
    pub fn pop(&mut self) -> Option<(String, String)> {
        self.complete.pop_front()
    }

    fn take_line(&mut self, line: &str) {
        if line.is_empty() {
            let event = take(&mut self.event);
            if let Some(data) = self.data.take() {
                self.complete.push_back((event, data));
            }
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match (field, &mut self.data) {
            ("event", _) => value.clone_into(&mut self.event),
            ("data", Some(data)) => {
                data.push('\n');
                data.push_str(value);
            }
            ("data", data) => *data = Some(value.to_owned()),
            _ => {}
        }
    }
}
