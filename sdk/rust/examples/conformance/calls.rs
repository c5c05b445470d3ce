//! What each call of a scenario is in this SDK.

use std::collections::HashMap;
use std::time::Duration;

use agentkernel_sdk::{AgentKernel, BatchCommand, Error, Input, RunOptions, Sandbox, Session};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::error_shown;

pub type Outcome<T> = Result<T, Error>;

const FIELDS: &[&str] = &[
    "as",
    "base64",
    "call",
    "cancel_after_ms",
    "cols",
    "command",
    "commands",
    "content",
    "expect",
    "force",
    "from",
    "leave_after",
    "memory",
    "mode",
    "name",
    "name_of",
    "on",
    "options",
    "parallel",
    "path",
    "paths",
    "recursive",
    "rows",
    "skip",
    "state",
    "stdin_base64",
    "typed",
];

/// The first name in the one that the other lacks, at any depth.
fn missing<'a>(given: &'a Value, own: &Value) -> Option<&'a str> {
    given.as_object()?.iter().find_map(|(name, value)| {
        match own.as_object().map(|own| own.get(name)) {
            None => None,
            Some(None) => Some(name.as_str()),
            Some(Some(inner)) => missing(value, inner),
        }
    })
}

#[derive(Clone, Copy)]
pub struct Step<'a>(pub &'a Value);

impl<'a> Step<'a> {
    pub fn text(self, field: &str) -> &'a str {
        self.0[field].as_str().unwrap_or_default()
    }

    pub fn words(self, field: &str) -> Vec<String> {
        serde_json::from_value(self.0[field].clone()).unwrap_or_default()
    }

    /// An option that went missing would pass every test, so one that this kind does not have ends the runner.
    pub fn options<T: DeserializeOwned + Serialize + Default>(self) -> T {
        let given = &self.0["options"];
        if given.is_null() {
            return T::default();
        }
        let own: T =
            serde_json::from_value(given.clone()).expect("options of a scenario are options");
        if let Some(name) = missing(given, &json!(own)) {
            panic!("the call {} has no option {name}", self.text("call"));
        }
        own
    }

    pub fn refuse_unknown(self) {
        let fields = self.0.as_object().expect("a step is an object");
        if let Some(name) = fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
            panic!("a step has the field {name}, which this runner does not know");
        }
    }

    fn flag(self, field: &str) -> bool {
        self.0[field].as_bool().unwrap_or_default()
    }

    fn run_options(self) -> RunOptions {
        let mut options: RunOptions = self.options();
        if let Some(stdin) = self.0["stdin_base64"].as_str() {
            options.stdin = Some(Input::from(decoded(stdin)));
        }
        options
    }
}

pub struct Made {
    pub client: AgentKernel,
    pub sandboxes: HashMap<String, Sandbox>,
    pub sessions: HashMap<String, Session>,
}

impl Made {
    pub fn on(&self, step: Step) -> &Sandbox {
        let word = step.text("on");
        match self.sessions.get(word) {
            Some(session) => session,
            None => self.sandboxes.get(word).unwrap_or_else(|| {
                panic!(
                    "no earlier step has made what {} is about",
                    step.text("call")
                )
            }),
        }
    }

    pub async fn act(&mut self, step: Step<'_>) -> Outcome<Value> {
        match step.text("call") {
            "health" => shown(self.client.health().await),
            "version" => shown(self.client.version().await),
            "run" => shown(
                self.client
                    .run(&step.words("command"), Some(step.run_options()))
                    .await,
            ),
            "batch" => self.batch(step).await,
            "session" => {
                let session = self.client.session(Some(step.options())).await?;
                let info = shown(Ok(&session.info));
                self.sessions.insert(step.text("as").to_owned(), session);
                info
            }
            "scoped" => self.scoped(step).await,
            "create" => {
                let sandbox = self
                    .client
                    .sandboxes
                    .create(step.text("name"), Some(step.options()))
                    .await?;
                self.keep(step, sandbox)
            }
            "fork" => {
                let made = self.on(step).fork(step.text("name"), Some(step.options()));
                let sandbox = made.await?;
                self.keep(step, sandbox)
            }
            "restore" => {
                let snapshots = &self.client.snapshots;
                let (from, name) = (step.text("from"), step.text("name"));
                let sandbox = snapshots.restore(from, name, Some(step.options())).await?;
                self.keep(step, sandbox)
            }
            "snapshots" => {
                let found = self.client.snapshots.list().await?;
                Ok(json!({ "names": found.into_iter().map(|one| one.name).collect::<Vec<_>>() }))
            }
            "get_snapshot" => shown(self.client.snapshots.get(step.text("name")).await),
            "remove_snapshot" => nothing(self.client.snapshots.remove(step.text("name")).await),
            "get" => {
                let session = self.sessions.get(step.text("name_of"));
                let name = session.map_or(step.text("name"), |session| session.name());
                shown(
                    self.client
                        .sandboxes
                        .get(name)
                        .await
                        .map(|found| found.info),
                )
            }
            "list" => {
                let found = self.client.sandboxes.list(step.0["state"].as_str()).await?;
                Ok(json!({ "names": found.into_iter().map(|one| one.name).collect::<Vec<_>>() }))
            }
            "close" => {
                let session = self
                    .sessions
                    .get_mut(step.text("on"))
                    .expect("only sessions are closed");
                session.close().await?;
                Ok(json!({}))
            }
            _ => self.act_on(step, self.on(step)).await,
        }
    }

    fn keep(&mut self, step: Step<'_>, sandbox: Sandbox) -> Outcome<Value> {
        let info = shown(Ok(&sandbox.info));
        self.sandboxes.insert(step.text("as").to_owned(), sandbox);
        info
    }

    async fn act_on(&self, step: Step<'_>, on: &Sandbox) -> Outcome<Value> {
        let (command, path) = (step.words("command"), step.text("path"));
        match step.text("call") {
            "start" => shown(on.start().await),
            "stop" => shown(on.stop().await),
            "pause" => shown(on.pause().await),
            "resume" => shown(on.resume().await),
            "snapshot" => shown(
                on.snapshot(step.0["name"].as_str(), step.0["memory"].as_bool())
                    .await,
            ),
            "remove" => nothing(on.remove(step.flag("force")).await),
            "stats" => shown(on.stats().await),
            "diff" => shown(on.diff().await),
            "patch" => Ok(json!({ "patch": String::from_utf8_lossy(&on.patch().await?) })),
            "apply" => {
                let paths = step.words("paths");
                let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
                shown(on.apply((!paths.is_empty()).then_some(&paths)).await)
            }
            "exec" => shown(on.exec(&command, Some(step.options())).await),
            "exec_detached" => shown(on.exec_detached(&command, Some(step.options())).await),
            "logs" => Ok(json!({ "execs": on.logs(None).await? })),
            "read" => Ok(json!({ "base64": STANDARD.encode(on.files.read(path).await?) })),
            "write" => {
                let content = match step.0["content"].as_str() {
                    Some(text) => text.as_bytes().to_vec(),
                    None => decoded(step.text("base64")),
                };
                let mode = u32::from_str_radix(step.text("mode"), 8).ok();
                shown(on.files.write(path, content, mode).await)
            }
            "make_folder" => shown(on.files.make_folder(path).await),
            "list_files" => shown(on.files.list(path).await),
            "remove_file" => nothing(on.files.remove(path, step.flag("recursive")).await),
            other => panic!("no such call: {other}"),
        }
    }

    /// Dropping a session removes it in the background, so its end is waited for.
    async fn scoped(&self, step: Step<'_>) -> Outcome<Value> {
        let info = {
            let session = self.client.session(Some(step.options())).await?;
            session.info.clone()
        };
        loop {
            match self.client.sandboxes.get(&info.name).await {
                Ok(_) => tokio::time::sleep(Duration::from_millis(20)).await,
                Err(Error::Api(error)) => {
                    return Ok(json!({ "inside": info.state, "after": error.code.as_str() }));
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn batch(&self, step: Step<'_>) -> Outcome<Value> {
        let asked = step.0["commands"].as_array().expect("a batch has commands");
        let commands: Vec<BatchCommand> = asked
            .iter()
            .map(|one| {
                Step(one).refuse_unknown();
                BatchCommand {
                    command: Step(one).words("command"),
                    options: Step(one).options(),
                }
            })
            .collect();
        let parallel = step.0["parallel"]
            .as_u64()
            .and_then(|count| count.try_into().ok());
        let results = self.client.batch(&commands, parallel).await?;
        let shown = results.into_iter().map(|result| match result {
            Ok(result) => json!(result),
            Err(error) => json!({ "error": error_shown(&error) }),
        });
        Ok(json!({ "results": shown.collect::<Vec<_>>() }))
    }
}

fn shown(result: Outcome<impl Serialize>) -> Outcome<Value> {
    result.map(|result| json!(result))
}

fn nothing(done: Outcome<()>) -> Outcome<Value> {
    done.map(|()| json!({}))
}

fn decoded(text: &str) -> Vec<u8> {
    STANDARD
        .decode(text)
        .expect("a scenario's base64 is base64")
}
