//! A client of HTTP/1.1 for one peer on a Unix socket: one connection, one request at a time, answers that are small.
//! The peer may be taken over by its guest, so nothing that it sends is believed or buffered beyond a bound, and every
//! wait ends.

use std::{
    io::{self, Read, Write},
    os::unix::net::UnixStream,
    path::Path,
    time::{Duration, Instant},
};

use serde::Deserialize;

use super::api::Request;

/// An answer with its headers. Firecracker's own are a few hundred bytes.
const MOST_BYTES: usize = 64 << 10;
const MOST_HEADERS: usize = 32;

#[derive(Debug)]
pub enum Unanswered {
    /// It said no, and why.
    Refused { status: u16, message: String },
    /// It closed the connection, or could not be written to.
    Gone(io::Error),
    /// It did not answer in time.
    Silent,
    /// The answer is not HTTP.
    Garbled(String),
}

pub struct Client {
    stream: UnixStream,
}

/// The body of a refusal. Whatever else is in it is for others.
#[derive(Deserialize)]
struct Fault {
    fault_message: String,
}

impl Client {
    pub fn connect(socket: &Path) -> io::Result<Self> {
        Ok(Self { stream: UnixStream::connect(socket)? })
    }

    /// Returns when it was done.
    pub fn send(&mut self, request: &Request, limit: Duration) -> Result<(), Unanswered> {
        let deadline = Instant::now() + limit;
        let Request { method, path, body } = request;
        let text = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.set_write_timeout(Some(limit)).map_err(Unanswered::Gone)?;
        self.stream.write_all(text.as_bytes()).map_err(lost)?;
        let (status, body) = self.answer(deadline)?;
        match status {
            204 => Ok(()),
            400..=599 => Err(Unanswered::Refused { status, message: reason(&body) }),
            _ => Err(Unanswered::Garbled(format!("status {status}"))),
        }
    }

    fn answer(&mut self, deadline: Instant) -> Result<(u16, Vec<u8>), Unanswered> {
        let mut bytes = Vec::new();
        let (status, head, length) = loop {
            if let Some(head) = read_head(&bytes)? {
                break head;
            }
            self.read_more(&mut bytes, deadline)?;
        };
        if length > MOST_BYTES - head {
            return Err(Unanswered::Garbled(format!("an answer of {length} bytes")));
        }
        while bytes.len() < head + length {
            self.read_more(&mut bytes, deadline)?;
        }
        if bytes.len() > head + length {
            return Err(Unanswered::Garbled("more than one answer to one request".to_owned()));
        }
        Ok((status, bytes.split_off(head)))
    }

    fn read_more(&mut self, bytes: &mut Vec<u8>, deadline: Instant) -> Result<(), Unanswered> {
        if bytes.len() >= MOST_BYTES {
            return Err(Unanswered::Garbled(format!("an answer of more than {MOST_BYTES} bytes")));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Unanswered::Silent);
        }
        self.stream.set_read_timeout(Some(left)).map_err(Unanswered::Gone)?;
        let mut part = [0; 4096];
        match self.stream.read(&mut part) {
            Ok(0) => Err(Unanswered::Gone(io::ErrorKind::UnexpectedEof.into())),
            Ok(count) => {
                bytes.extend_from_slice(&part[..count]);
                Ok(())
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(e) => Err(lost(e)),
        }
    }
}

/// Status, where the body begins and how long it is; nothing while there is no whole head.
pub(crate) fn read_head(bytes: &[u8]) -> Result<Option<(u16, usize, usize)>, Unanswered> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let head = match response.parse(bytes) {
        Ok(httparse::Status::Complete(head)) => head,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(e) => return Err(Unanswered::Garbled(e.to_string())),
    };
    let status = response.code.unwrap_or(0);
    // By the rules of HTTP such an answer has no body, whatever its headers say.
    if status == 204 {
        return Ok(Some((status, head, 0)));
    }
    let mut length = None;
    for header in response.headers.iter() {
        if header.name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(Unanswered::Garbled("an answer in chunks".to_owned()));
        }
        if header.name.eq_ignore_ascii_case("content-length") {
            let number = std::str::from_utf8(header.value).ok().and_then(|text| text.trim().parse::<usize>().ok());
            if number.is_none() || length.is_some() {
                return Err(Unanswered::Garbled("an answer of unclear length".to_owned()));
            }
            length = number;
        }
    }
    Ok(Some((status, head, length.unwrap_or(0))))
}

fn reason(body: &[u8]) -> String {
    match serde_json::from_slice::<Fault>(body) {
        Ok(fault) => fault.fault_message,
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    }
}

fn lost(error: io::Error) -> Unanswered {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Unanswered::Silent,
        _ => Unanswered::Gone(error),
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::firecracker::api;

    const LONG: Duration = Duration::from_secs(60);

    /// The result of a request to a peer that sends these pieces and, unless `stays`, closes.
    fn sent(pieces: &'static [&'static [u8]], limit: Duration, stays: bool) -> Result<(), Unanswered> {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let peer = thread::spawn(move || {
            for piece in pieces {
                theirs.write_all(piece).unwrap();
                theirs.flush().unwrap();
            }
            if stays {
                // Until the client has gone.
                let _ = io::copy(&mut theirs, &mut io::sink());
            }
        });
        let mut client = Client { stream: ours };
        let outcome = client.send(&api::pause(), limit);
        drop(client);
        peer.join().unwrap();
        outcome
    }

    #[test]
    fn an_answer_may_come_in_pieces() {
        sent(&[b"HTTP/1.1 2", b"04 \r\nServer: Firecracker API\r\n", b"\r\n"], LONG, true).unwrap();
        let pieces: &[&[u8]] = &[b"HTTP/1.1 400 \r\nContent-Length: 22\r\n\r\n{\"fault_", b"message\":\"no\"}"];
        let Err(Unanswered::Refused { status: 400, message }) = sent(pieces, LONG, true) else { panic!("no refusal") };
        assert_eq!(message, "no");
    }

    #[test]
    fn who_says_nothing_or_not_all_is_silent_and_who_goes_is_gone() {
        assert!(matches!(sent(&[], Duration::from_millis(20), true), Err(Unanswered::Silent)));
        let half: &[&[u8]] = &[b"HTTP/1.1 400 \r\nContent-Length: 9\r\n\r\n{"];
        assert!(matches!(sent(half, Duration::from_millis(20), true), Err(Unanswered::Silent)));
        assert!(matches!(sent(half, LONG, false), Err(Unanswered::Gone(_))));
    }

    #[test]
    fn what_is_no_answer_is_not_believed() {
        let wrong: [&[&[u8]]; 7] = [
            &[b"220 mail.example ESMTP\r\n\r\n"],
            &[b"HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\n{}"],
            &[b"HTTP/1.1 400 \r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
            &[b"HTTP/1.1 400 \r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"],
            &[b"HTTP/1.1 400 \r\nContent-Length: 99999999999\r\n\r\n"],
            &[b"HTTP/1.1 204 \r\n\r\nHTTP/1.1 204 \r\n\r\n"],
            &[b"HTTP/1.1 204 \r\nA: b\r\n", &[b'x'; MOST_BYTES]],
        ];
        for pieces in wrong {
            let outcome = sent(pieces, LONG, true);
            assert!(matches!(outcome, Err(Unanswered::Garbled(_))), "{outcome:?}");
        }
    }
}
