//! Requests to one server: with its key, within their time, sent again where that is safe, and answers taken apart.

use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, RETRY_AFTER};
use hyper::{Method, Request, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::time::{sleep, timeout};

use crate::error::{Error, WireError};
use crate::link::{Link, Links};
use crate::place::Place;
use crate::retry::pause_before_retry;

pub struct Connection {
    pub place: Place,
    pub api_key: Option<HeaderValue>,
    pub request_timeout: Duration,
    pub max_retries: u32,
    pub links: Links,
}

pub struct Call {
    method: Method,
    path: String,
    content_type: Option<&'static str>,
    body: Bytes,
    /// Time limits of the commands that it is about.
    command: Duration,
}

impl Call {
    pub fn new(method: Method, path: impl Into<String>) -> Self {
        Self {
            method,
            path: path.into(),
            content_type: None,
            body: Bytes::new(),
            command: Duration::ZERO,
        }
    }

    pub fn json(mut self, body: &impl serde::Serialize) -> Result<Self, Error> {
        let text = serde_json::to_vec(body)
            .map_err(|cause| Error::Request(format!("it cannot be written as JSON: {cause}")))?;
        self.body = text.into();
        self.content_type = Some("application/json");
        Ok(self)
    }

    pub fn bytes(mut self, content: Vec<u8>) -> Self {
        self.body = content.into();
        self.content_type = Some("application/octet-stream");
        self
    }

    pub fn taking(mut self, command: Duration) -> Self {
        self.command = command;
        self
    }
}

#[derive(Deserialize)]
struct Envelope<T> {
    data: T,
}

#[derive(Deserialize)]
struct Failure {
    error: WireError,
}

impl Connection {
    /// What is in the envelope.
    pub async fn data<T: DeserializeOwned>(&self, call: Call) -> Result<T, Error> {
        let body = self.content(call).await?;
        let envelope: Envelope<T> = serde_json::from_slice(&body).map_err(|cause| {
            Error::BadAnswer(format!(
                "the answer is not in the form that it should be: {cause}"
            ))
        })?;
        Ok(envelope.data)
    }

    pub async fn content(&self, call: Call) -> Result<Bytes, Error> {
        let limit = self.request_timeout + call.command;
        let read = async {
            let (response, link) = self.open(&call).await?;
            let body = whole(response).await?;
            self.links.keep(link);
            Ok(body)
        };
        timeout(limit, read)
            .await
            .map_err(|_| Error::Timeout(limit))?
    }

    /// An answer that is not an error, and of which only the head was read.
    pub async fn stream(&self, call: &Call) -> Result<(Response<Incoming>, Link), Error> {
        let limit = self.request_timeout;
        timeout(limit, self.open(call))
            .await
            .map_err(|_| Error::Timeout(limit))?
    }

    async fn open(&self, call: &Call) -> Result<(Response<Incoming>, Link), Error> {
        let mut attempt = 0;
        loop {
            let error = match self.send(call).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            match pause_before_retry(&error, &call.method, attempt) {
                Some(pause) if attempt < self.max_retries => sleep(pause).await,
                _ => return Err(error),
            }
            attempt += 1;
        }
    }

    async fn send(&self, call: &Call) -> Result<(Response<Incoming>, Link), Error> {
        let (response, link) = self.links.send(&self.place, self.request(call)?).await?;
        let status = response.status();
        if status.as_u16() < 300 {
            return Ok((response, link));
        }
        let retry_after = response
            .headers()
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.parse().ok())
            .map(Duration::from_secs);
        let body = whole(response).await?;
        self.links.keep(link);
        match serde_json::from_slice::<Failure>(&body) {
            Ok(Failure { error }) => Err(Error::Api(Box::new(
                error.into_error(Some(status.as_u16()), retry_after),
            ))),
            Err(_) => Err(Error::BadAnswer(format!(
                "the answer was {status}, and not in the form of agentkernel's errors"
            ))),
        }
    }

    fn request(&self, call: &Call) -> Result<Request<Full<Bytes>>, Error> {
        let (host, prefix) = match &self.place {
            Place::Unix(_) => ("localhost", ""),
            Place::Tcp {
                authority, prefix, ..
            } => (authority.as_str(), prefix.as_str()),
        };
        let mut request = Request::builder()
            .method(call.method.clone())
            .uri(format!("{prefix}{}", call.path))
            .header(HOST, host);
        let key = match &self.api_key {
            Some(key) => Some(key.clone()),
            None => self
                .place
                .local_token()
                .map(|token| bearer(&token))
                .transpose()?,
        };
        if let Some(key) = key {
            request = request.header(AUTHORIZATION, key);
        }
        if let Some(kind) = call.content_type {
            request = request.header(CONTENT_TYPE, kind);
        }
        request
            .body(Full::new(call.body.clone()))
            .map_err(|cause| Error::Request(format!("it cannot be sent: {cause}")))
    }
}

pub fn bearer(key: &str) -> Result<HeaderValue, Error> {
    let mut value = HeaderValue::from_str(&format!("Bearer {key}"))
        .map_err(|_| Error::Request("the API key has letters that no key has".to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}

async fn whole(response: Response<Incoming>) -> Result<Bytes, Error> {
    let body = response.into_body().collect().await;
    Ok(body.map_err(|cause| Error::broken(&cause))?.to_bytes())
}

/// One segment of a path, or a value of a query.
pub fn encoded(word: &str) -> String {
    let letter = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    word.bytes().map(letter).collect()
}
