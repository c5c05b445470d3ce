//! Firecracker's small HTTP server: `GET`, `PUT` and `PATCH`, bodies up to 51200 bytes, connections that stay open, and
//! answers without a reason phrase.

use std::{
    io::{Read, Write},
    os::unix::net::UnixStream,
};

use crate::schema::{Answer, Refusal};

const LONGEST_BODY: usize = 51_200;
const LONGEST_HEAD: usize = 8 << 10;

pub struct Request {
    pub method: String,
    pub path: String,
    pub body: Vec<u8>,
}

pub struct Connection {
    stream: UnixStream,
    bytes: Vec<u8>,
}

impl Connection {
    pub fn new(stream: UnixStream) -> Self {
        Self {
            stream,
            bytes: Vec::new(),
        }
    }

    /// The next request; nothing when the client has gone.
    pub fn hear(&mut self) -> Option<Result<Request, Refusal>> {
        loop {
            match self.take_request() {
                Ok(None) => {}
                Ok(Some(request)) => return Some(Ok(request)),
                Err(refusal) => return Some(Err(refusal)),
            }
            let mut part = [0; 4096];
            match self.stream.read(&mut part) {
                Ok(0) | Err(_) => return None,
                Ok(count) => self.bytes.extend_from_slice(&part[..count]),
            }
        }
    }

    fn take_request(&mut self) -> Result<Option<Request>, Refusal> {
        let mut headers = [httparse::EMPTY_HEADER; 16];
        let mut request = httparse::Request::new(&mut headers);
        let head = match request.parse(&self.bytes) {
            Ok(httparse::Status::Complete(head)) => head,
            Ok(httparse::Status::Partial) if self.bytes.len() < LONGEST_HEAD => return Ok(None),
            _ => return Err(Refusal::new(400, "Invalid request.")),
        };
        let (method, path) = (request.method.unwrap_or(""), request.path.unwrap_or(""));
        if !["GET", "PUT", "PATCH"].contains(&method) || request.version != Some(1) {
            return Err(Refusal::new(400, "Invalid HTTP Method."));
        }
        let mut length = 0;
        for header in request.headers.iter() {
            let value = str::from_utf8(header.value).unwrap_or("").trim();
            match header.name.to_ascii_lowercase().as_str() {
                "content-length" => {
                    length = value.parse().map_err(|_| {
                        Refusal::new(400, "Invalid value in Content-Length header.")
                    })?;
                }
                "content-type" | "accept"
                    if !["application/json", "*/*", "text/plain"].contains(&value) =>
                {
                    return Err(Refusal::new(400, "Invalid header: unsupported media type."));
                }
                "transfer-encoding" => {
                    return Err(Refusal::new(400, "Unsupported header: Transfer-Encoding."));
                }
                _ => {}
            }
        }
        if length > LONGEST_BODY {
            return Err(Refusal::new(
                413,
                "The request payload is larger than allowed.",
            ));
        }
        if self.bytes.len() < head + length {
            return Ok(None);
        }
        let (method, path) = (method.to_owned(), path.to_owned());
        let body = self.bytes[head..head + length].to_vec();
        self.bytes.drain(..head + length);
        Ok(Some(Request { method, path, body }))
    }

    pub fn answer(&mut self, answer: &Answer) {
        let (status, body) = match answer {
            Answer::Done => (204, None),
            Answer::Told(value) => (200, Some(value.to_string())),
            Answer::Refused(Refusal { status, message }) => (
                *status,
                Some(serde_json::json!({ "fault_message": message }).to_string()),
            ),
        };
        let mut text =
            format!("HTTP/1.1 {status} \r\nServer: Firecracker API\r\nConnection: keep-alive\r\n");
        if let Some(body) = &body {
            text.push_str(&format!(
                "Content-Type: application/json\r\nContent-Length: {}\r\n",
                body.len()
            ));
        }
        text.push_str("\r\n");
        text.push_str(&body.unwrap_or_default());
        self.say(text.as_bytes());
    }

    pub fn say(&mut self, bytes: &[u8]) {
        // A client that is gone will be noticed when it is listened to.
        let _ = self.stream.write_all(bytes);
    }
}
