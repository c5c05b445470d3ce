//! Sandboxes that stay: what runs in one, its files, and its states.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use hyper::Method;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;

use crate::client::{CommandBody, command_time};
use crate::connection::{Call, Connection, encoded};
use crate::error::Error;
use crate::error_code::ErrorCode;
use crate::files::Files;
use crate::records::{
    Changes, CopyOptions, CreateOptions, DetachedExec, Diff, ExecLog, ExecOptions, ExecResult,
    SandboxInfo, Snapshot, Stats,
};
use crate::stream::CommandStream;

/// The sandboxes that stay, by their names.
#[derive(Clone)]
pub struct Sandboxes {
    pub(crate) connection: Arc<Connection>,
}

#[derive(Serialize)]
struct CreateBody<'a> {
    name: &'a str,
    #[serde(flatten)]
    options: CreateOptions,
}

#[derive(Serialize)]
struct CopyBody<'a> {
    name: &'a str,
    #[serde(flatten)]
    options: CopyOptions,
}

#[derive(Serialize)]
struct SnapshotBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<bool>,
}

#[derive(Deserialize)]
struct SandboxList {
    sandboxes: Vec<SandboxInfo>,
}

#[derive(Deserialize)]
struct Logs {
    execs: Vec<ExecLog>,
}

impl Sandboxes {
    /// Makes one, and starts it unless `start` is false.
    pub async fn create(
        &self,
        name: &str,
        options: Option<CreateOptions>,
    ) -> Result<Sandbox, Error> {
        let options = options.unwrap_or_default();
        let call = Call::new(Method::POST, "/sandboxes").json(&CreateBody { name, options })?;
        Ok(Sandbox::new(
            &self.connection,
            self.connection.data(call).await?,
        ))
    }

    /// `ErrorCode::NotFound` where there is none of that name.
    pub async fn get(&self, name: &str) -> Result<Sandbox, Error> {
        let call = Call::new(Method::GET, format!("/sandboxes/{}", encoded(name)));
        Ok(Sandbox::new(
            &self.connection,
            self.connection.data(call).await?,
        ))
    }

    /// Sorted by name: all, or those in one state.
    pub async fn list(&self, state: Option<&str>) -> Result<Vec<SandboxInfo>, Error> {
        let query = state.map_or_else(String::new, |state| format!("?state={}", encoded(state)));
        let found: SandboxList = self
            .connection
            .data(Call::new(Method::GET, format!("/sandboxes{query}")))
            .await?;
        Ok(found.sandboxes)
    }
}

#[derive(Clone)]
pub struct Sandbox {
    /// As it was when this was made.
    pub info: SandboxInfo,
    pub files: Files,
    connection: Arc<Connection>,
    path: String,
}

impl Sandbox {
    fn new(connection: &Arc<Connection>, info: SandboxInfo) -> Self {
        let path = format!("/sandboxes/{}", encoded(&info.name));
        Self {
            info,
            files: Files::new(connection.clone(), path.clone()),
            connection: connection.clone(),
            path,
        }
    }

    pub fn name(&self) -> &str {
        &self.info.name
    }

    /// As it is now.
    pub async fn inspect(&self) -> Result<SandboxInfo, Error> {
        self.ask(Method::GET, "").await
    }

    /// Runs a command. One that fails is a result too.
    pub async fn exec(
        &self,
        command: &[impl AsRef<str>],
        options: Option<ExecOptions>,
    ) -> Result<ExecResult, Error> {
        let options = options.unwrap_or_default();
        let taking = command_time(options.timeout_ms);
        let body = CommandBody::new(command, options);
        self.connection
            .data(self.call(Method::POST, "/exec").json(&body)?.taking(taking))
            .await
    }

    /// The same, heard while it runs. Dropping the stream ends the command.
    pub async fn exec_stream(
        &self,
        command: &[impl AsRef<str>],
        options: Option<ExecOptions>,
    ) -> Result<CommandStream, Error> {
        let body = CommandBody::new(command, options.unwrap_or_default());
        CommandStream::open(
            &self.connection,
            &self.call(Method::POST, "/exec/stream").json(&body)?,
        )
        .await
    }

    /// Lets it run on; `logs` has its output and its end.
    pub async fn exec_detached(
        &self,
        command: &[impl AsRef<str>],
        options: Option<ExecOptions>,
    ) -> Result<DetachedExec, Error> {
        let body = CommandBody::new(command, options.unwrap_or_default()).detached();
        self.connection
            .data(self.call(Method::POST, "/exec").json(&body)?)
            .await
    }

    /// Output and end of detached commands, oldest first: of all, or of one.
    pub async fn logs(&self, exec: Option<&str>) -> Result<Vec<ExecLog>, Error> {
        let query = exec.map_or_else(String::new, |exec| format!("?exec={}", encoded(exec)));
        let found: Logs = self.ask(Method::GET, &format!("/logs{query}")).await?;
        Ok(found.execs)
    }

    pub async fn start(&self) -> Result<SandboxInfo, Error> {
        self.ask(Method::POST, "/start").await
    }

    /// Ends all that runs in it; its files stay.
    pub async fn stop(&self) -> Result<SandboxInfo, Error> {
        self.ask(Method::POST, "/stop").await
    }

    pub async fn pause(&self) -> Result<SandboxInfo, Error> {
        self.ask(Method::POST, "/pause").await
    }

    pub async fn resume(&self) -> Result<SandboxInfo, Error> {
        self.ask(Method::POST, "/resume").await
    }

    /// Keeps what it has written, under this name or one of the server's; of a machine that runs, its memory too,
    /// unless `memory` is false.
    pub async fn snapshot(
        &self,
        name: Option<&str>,
        memory: Option<bool>,
    ) -> Result<Snapshot, Error> {
        let call = self.call(Method::POST, "/snapshot");
        self.connection
            .data(call.json(&SnapshotBody { name, memory })?)
            .await
    }

    /// A second sandbox with everything that it has written, which is started unless `start` is false.
    pub async fn fork(&self, name: &str, options: Option<CopyOptions>) -> Result<Sandbox, Error> {
        Sandbox::copied(
            &self.connection,
            self.call(Method::POST, "/fork"),
            name,
            options,
        )
        .await
    }

    pub(crate) async fn copied(
        connection: &Arc<Connection>,
        call: Call,
        name: &str,
        options: Option<CopyOptions>,
    ) -> Result<Sandbox, Error> {
        let options = options.unwrap_or_default();
        let call = call.json(&CopyBody { name, options })?;
        Ok(Sandbox::new(connection, connection.data(call).await?))
    }

    /// With all that is in it; `force`: also where it runs.
    pub async fn remove(&self, force: bool) -> Result<(), Error> {
        let query = if force { "?force=true" } else { "" };
        let _: IgnoredAny = self.ask(Method::DELETE, query).await?;
        Ok(())
    }

    pub async fn stats(&self) -> Result<Stats, Error> {
        self.ask(Method::GET, "/stats").await
    }

    /// What it changed in the project.
    pub async fn diff(&self) -> Result<Diff, Error> {
        self.ask(Method::GET, "/diff").await
    }

    /// The same, as a patch that `git apply` takes.
    pub async fn patch(&self) -> Result<Vec<u8>, Error> {
        let patch = self
            .connection
            .content(self.call(Method::GET, "/diff?format=patch"))
            .await?;
        Ok(patch.into())
    }

    /// Takes its changes over into the project on the host: all, or those at and below the paths.
    pub async fn apply(&self, paths: Option<&[&str]>) -> Result<Changes, Error> {
        #[derive(Serialize)]
        struct Body<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            paths: Option<&'a [&'a str]>,
        }
        self.connection
            .data(self.call(Method::POST, "/apply").json(&Body { paths })?)
            .await
    }

    fn call(&self, method: Method, rest: &str) -> Call {
        Call::new(method, format!("{}{rest}", self.path))
    }

    async fn ask<T: DeserializeOwned>(&self, method: Method, rest: &str) -> Result<T, Error> {
        self.connection.data(self.call(method, rest)).await
    }
}

/// A sandbox that is removed with its owner. `close` says whether that went well; dropping does its best.
pub struct Session {
    sandbox: Sandbox,
    is_closed: bool,
}

/// Of the removal of a session that was dropped.
const DROP_TIME: Duration = Duration::from_secs(60);

impl Session {
    pub(crate) fn new(sandbox: Sandbox) -> Self {
        Self {
            sandbox,
            is_closed: false,
        }
    }

    /// Removes the sandbox, with whatever runs in it. A second call does nothing.
    pub async fn close(&mut self) -> Result<(), Error> {
        if self.is_closed {
            return Ok(());
        }
        match self.sandbox.remove(true).await {
            Err(error) if error.code() != Some(&ErrorCode::NotFound) => Err(error),
            _ => {
                self.is_closed = true;
                Ok(())
            }
        }
    }
}

impl Deref for Session {
    type Target = Sandbox;

    fn deref(&self) -> &Sandbox {
        &self.sandbox
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.is_closed {
            return;
        }
        // Without a runtime nothing can be sent; the sandbox then goes at the end of its time.
        if let Ok(runtime) = Handle::try_current() {
            let sandbox = self.sandbox.clone();
            runtime
                .spawn(async move { tokio::time::timeout(DROP_TIME, sandbox.remove(true)).await });
        }
    }
}
