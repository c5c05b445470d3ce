//! A command that is heard while it runs.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::connection::{Call, Connection};
use crate::error::{Error, WireError};
use crate::link::Link;
use crate::sse::EventParser;

/// Output is bytes: with `encoding` "base64" every one as it was, otherwise UTF-8 with the rest replaced.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    Started { sandbox: String },
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
    Exit(Exit),
}

#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct Exit {
    pub code: u8,
    pub duration_ms: f64,
    pub timed_out: bool,
    pub sandbox: String,
}

/// Events, from the command's start to its exit. Dropping it ends the command.
pub struct CommandStream {
    body: Incoming,
    parser: EventParser,
    request_timeout: Duration,
    is_done: bool,
    /// Held for as long as the body comes by it.
    _link: Link,
}

#[derive(Deserialize)]
struct Started {
    sandbox: String,
}

#[derive(Deserialize)]
struct Output {
    text: Option<String>,
    base64: Option<String>,
}

impl CommandStream {
    pub(crate) async fn open(connection: &Connection, call: &Call) -> Result<Self, Error> {
        let (response, link) = connection.stream(call).await?;
        Ok(Self {
            body: response.into_body(),
            parser: EventParser::default(),
            request_timeout: connection.request_timeout,
            is_done: false,
            _link: link,
        })
    }

    /// None after the exit, and after an error.
    pub async fn next(&mut self) -> Option<Result<Event, Error>> {
        if self.is_done {
            return None;
        }
        let event = self.read().await;
        self.is_done = matches!(event, Err(_) | Ok(Event::Exit(_)));
        Some(event)
    }

    async fn read(&mut self) -> Result<Event, Error> {
        loop {
            while let Some((event, data)) = self.parser.pop() {
                if let Some(read) = command_event(&event, &data)? {
                    return Ok(read);
                }
            }
            let frame = timeout(self.request_timeout, self.body.frame())
                .await
                .map_err(|_| Error::Timeout(self.request_timeout))?;
            match frame {
                Some(Ok(frame)) => self.parser.push(frame.data_ref().map_or(&[], |data| data)),
                Some(Err(cause)) => return Err(Error::broken(&cause)),
                None => return Err(Error::broken(&"the stream ended before the command did")),
            }
        }
    }
}

/// None for an event of a kind that this version does not know.
fn command_event(event: &str, data: &str) -> Result<Option<Event>, Error> {
    Ok(Some(match event {
        "started" => Event::Started {
            sandbox: body::<Started>(event, data)?.sandbox,
        },
        "stdout" => Event::Stdout(output(event, data)?),
        "stderr" => Event::Stderr(output(event, data)?),
        "exit" => Event::Exit(body(event, data)?),
        "error" => {
            let error = body::<WireError>(event, data)?.into_error(None, None);
            return Err(Error::Api(Box::new(error)));
        }
        _ => return Ok(None),
    }))
}

fn output(event: &str, data: &str) -> Result<Vec<u8>, Error> {
    match body::<Output>(event, data)? {
        Output {
            text: Some(text), ..
        } => Ok(text.into_bytes()),
        Output {
            base64: Some(text), ..
        } => STANDARD.decode(text).map_err(|cause| wrong(event, &cause)),
        Output { .. } => Err(wrong(event, &"it has no output")),
    }
}

fn body<T: DeserializeOwned>(event: &str, data: &str) -> Result<T, Error> {
    serde_json::from_str(data).map_err(|cause| wrong(event, &cause))
}

fn wrong(event: &str, cause: &impl std::fmt::Display) -> Error {
    Error::BadAnswer(format!(
        "the event {event} is not in the form that it should be: {cause}"
    ))
}
