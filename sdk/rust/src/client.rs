//! A server of agentkernel, as a program uses it.

use std::sync::Arc;
use std::time::Duration;

use hyper::Method;
use serde::{Deserialize, Serialize};

use crate::connection::{Call, Connection, bearer};
use crate::error::{Error, WireError};
use crate::link::Links;
use crate::local::start_daemon;
use crate::place::{Place, variable};
use crate::records::{CreateOptions, Health, RunOptions, RunResult, Version};
use crate::retry::random_u32;
use crate::sandbox::{Sandboxes, Session};
use crate::snapshots::Snapshots;
use crate::stream::CommandStream;

/// The server's own time limit of a command, where none is named.
const DEFAULT_COMMAND_MS: i64 = 30_000;
/// Of a session whose program died, so that nothing is left for ever.
const SESSION_TTL: &str = "24h";

#[derive(Clone, Debug)]
pub struct Builder {
    base_url: Option<String>,
    api_key: Option<String>,
    request_timeout: Duration,
    max_retries: u32,
}

impl Builder {
    /// `http://host:port` or `unix:///path`; otherwise `AGENTKERNEL_BASE_URL`, the socket of the user's daemon, or
    /// `http://localhost:8080`.
    #[must_use]
    pub fn base_url(mut self, base_url: impl Into<String>) -> Self {
        self.base_url = Some(base_url.into());
        self
    }

    /// An API key or a JWT; otherwise `AGENTKERNEL_API_KEY`, else the token of the user's own server on loopback.
    #[must_use]
    pub fn api_key(mut self, api_key: impl Into<String>) -> Self {
        self.api_key = Some(api_key.into());
        self
    }

    /// How long an answer may take beyond the time limits of its commands (2 minutes); of a stream, how long nothing at
    /// all may come.
    #[must_use]
    pub fn request_timeout(mut self, request_timeout: Duration) -> Self {
        self.request_timeout = request_timeout;
        self
    }

    /// How often a request is sent again where that is safe (2).
    #[must_use]
    pub fn max_retries(mut self, max_retries: u32) -> Self {
        self.max_retries = max_retries;
        self
    }

    pub fn build(mut self) -> Result<AgentKernel, Error> {
        let place = Place::find(self.base_url.take())?;
        self.at(place)
    }

    /// The user's own daemon on this machine, which is started where none is up; such a one ends after an hour with
    /// nothing to do. `AGENTKERNEL_PROGRAM` names the command line; otherwise it is `agentkernel` on the `PATH`. The base
    /// URL has no say.
    pub async fn local(self) -> Result<AgentKernel, Error> {
        let socket = start_daemon().await?;
        self.at(Place::Unix(socket))
    }

    fn at(self, place: Place) -> Result<AgentKernel, Error> {
        let key = self.api_key.or_else(|| variable("AGENTKERNEL_API_KEY"));
        let connection = Arc::new(Connection {
            place,
            api_key: key.map(|key| bearer(&key)).transpose()?,
            request_timeout: self.request_timeout,
            max_retries: self.max_retries,
            links: Links::default(),
        });
        Ok(AgentKernel {
            sandboxes: Sandboxes {
                connection: connection.clone(),
            },
            snapshots: Snapshots {
                connection: connection.clone(),
            },
            connection,
        })
    }
}

/// Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct AgentKernel {
    pub sandboxes: Sandboxes,
    pub snapshots: Snapshots,
    connection: Arc<Connection>,
}

#[derive(Serialize)]
pub(crate) struct CommandBody<'a, O> {
    command: Vec<&'a str>,
    #[serde(flatten)]
    options: O,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    detach: bool,
}

impl<'a, O> CommandBody<'a, O> {
    pub fn new(command: &'a [impl AsRef<str>], options: O) -> Self {
        Self {
            command: command.iter().map(AsRef::as_ref).collect(),
            options,
            detach: false,
        }
    }

    pub fn detached(self) -> Self {
        Self {
            detach: true,
            ..self
        }
    }
}

pub(crate) fn command_time(timeout_ms: Option<i64>) -> Duration {
    Duration::from_millis(
        timeout_ms
            .unwrap_or(DEFAULT_COMMAND_MS)
            .try_into()
            .unwrap_or(0),
    )
}

/// One of several.
#[derive(Clone, Debug, Default)]
pub struct BatchCommand {
    pub command: Vec<String>,
    pub options: RunOptions,
}

#[derive(Serialize)]
struct BatchBody<'a> {
    commands: Vec<CommandBody<'a, &'a RunOptions>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel: Option<u32>,
}

#[derive(Deserialize)]
struct BatchAnswer {
    results: Vec<BatchItem>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum BatchItem {
    Done { data: Box<RunResult> },
    Failed { error: WireError },
}

impl AgentKernel {
    pub fn builder() -> Builder {
        Builder {
            base_url: None,
            api_key: None,
            request_timeout: Duration::from_secs(120),
            max_retries: 2,
        }
    }

    /// As `builder().local()`.
    pub async fn local() -> Result<Self, Error> {
        Self::builder().local().await
    }

    /// Runs a command in a sandbox of its own. A command that fails is a result too: `exit_code` says how it ended.
    pub async fn run(
        &self,
        command: &[impl AsRef<str>],
        options: Option<RunOptions>,
    ) -> Result<RunResult, Error> {
        let options = options.unwrap_or_default();
        let taking = command_time(options.timeout_ms);
        let body = CommandBody::new(command, options);
        self.connection
            .data(Call::new(Method::POST, "/run").json(&body)?.taking(taking))
            .await
    }

    /// The same, heard while it runs. Dropping the stream ends the command.
    pub async fn stream(
        &self,
        command: &[impl AsRef<str>],
        options: Option<RunOptions>,
    ) -> Result<CommandStream, Error> {
        let body = CommandBody::new(command, options.unwrap_or_default());
        CommandStream::open(
            &self.connection,
            &Call::new(Method::POST, "/run/stream").json(&body)?,
        )
        .await
    }

    /// Several side by side, each in a sandbox of its own. One that could not be run has its error in its place.
    pub async fn batch(
        &self,
        commands: &[BatchCommand],
        parallel: Option<u32>,
    ) -> Result<Vec<Result<RunResult, Error>>, Error> {
        let taking = commands
            .iter()
            .map(|one| command_time(one.options.timeout_ms))
            .sum();
        let commands = commands
            .iter()
            .map(|one| CommandBody::new(&one.command, &one.options))
            .collect();
        let call = Call::new(Method::POST, "/batch/run").json(&BatchBody { commands, parallel })?;
        let answer: BatchAnswer = self.connection.data(call.taking(taking)).await?;
        let result = |item| match item {
            BatchItem::Done { data } => Ok(*data),
            BatchItem::Failed { error } => Err(Error::Api(Box::new(error.into_error(None, None)))),
        };
        Ok(answer.results.into_iter().map(result).collect())
    }

    /// A sandbox for many commands, which is removed when it is closed or dropped, and after a day in any case (`ttl`).
    pub async fn session(&self, options: Option<CreateOptions>) -> Result<Session, Error> {
        let mut options = options.unwrap_or_default();
        options.ttl.get_or_insert_with(|| SESSION_TTL.to_owned());
        let name = format!(
            "session-{:08x}{:08x}{:08x}",
            random_u32(),
            random_u32(),
            random_u32()
        );
        Ok(Session::new(
            self.sandboxes.create(&name, Some(options)).await?,
        ))
    }

    pub async fn health(&self) -> Result<Health, Error> {
        self.connection
            .data(Call::new(Method::GET, "/health"))
            .await
    }

    pub async fn version(&self) -> Result<Version, Error> {
        self.connection
            .data(Call::new(Method::GET, "/version"))
            .await
    }
}
