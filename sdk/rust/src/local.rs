//! Starts the user's daemon, by the command line, unless it is up.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::error::Error;
use crate::place::variable;

#[derive(Deserialize)]
struct Answer {
    data: Option<Data>,
    error: Option<Refusal>,
}

#[derive(Deserialize)]
struct Data {
    socket: PathBuf,
}

#[derive(Deserialize)]
struct Refusal {
    message: String,
}

/// The path of its socket.
pub async fn start_daemon() -> Result<PathBuf, Error> {
    let program = variable("AGENTKERNEL_PROGRAM").unwrap_or_else(|| "agentkernel".to_owned());
    tokio::task::spawn_blocking(move || start(&program))
        .await
        .map_err(|error| Error::Request(error.to_string()))?
}

fn start(program: &str) -> Result<PathBuf, Error> {
    let ended = Command::new(program)
        .args(["daemon", "start", "--json", "--idle-timeout", "1h"])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| {
            let hint = "install agentkernel, or name its program (AGENTKERNEL_PROGRAM)";
            Error::Request(format!("{program} cannot be started ({error}): {hint}"))
        })?;
    let why = match serde_json::from_slice::<Answer>(&ended.stdout) {
        Ok(Answer {
            data: Some(data), ..
        }) => return Ok(data.socket),
        Ok(Answer {
            error: Some(error), ..
        }) => error.message,
        _ => String::from_utf8_lossy(&ended.stderr).trim().to_owned(),
    };
    Err(Error::Request(format!("{program} daemon start: {why}")))
}
