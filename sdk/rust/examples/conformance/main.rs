//! Does what sdk/conformance/scenarios.json says, by this SDK, and writes what came of each step as a line of JSON.
//! Whether that is right is judged by whoever started it.
//!
//!     conformance scenarios.json real|scripted

mod calls;

use std::collections::HashMap;
use std::env;
use std::error::Error;
use std::time::Duration;

use agentkernel_sdk::{AgentKernel, Event, Session};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use calls::{Made, Outcome, Step};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = env::args().collect();
    let text = std::fs::read_to_string(&words[1])?
        .replace("{name}", &env::var("CONFORMANCE_NAME").unwrap_or_default())
        .replace("{dir}", &env::var("CONFORMANCE_DIR").unwrap_or_default());
    let file: Value = serde_json::from_str(&text)?;
    for scenario in file["scenarios"].as_array().ok_or("no scenarios")? {
        if scenario["server"] == words[2].as_str() {
            play(scenario, &words[2]).await?;
        }
    }
    Ok(())
}

async fn play(scenario: &Value, server: &str) -> Result<(), Box<dyn Error>> {
    let id = scenario["id"].as_str().ok_or("no id")?;
    let settings = &scenario["client"];
    for name in settings.as_object().into_iter().flat_map(|own| own.keys()) {
        if !["api_key", "request_timeout_ms", "max_retries"].contains(&name.as_str()) {
            return Err(format!("the client has no setting {name}").into());
        }
    }
    let mut builder = AgentKernel::builder();
    if let Some(key) = settings["api_key"].as_str() {
        builder = builder.api_key(key);
    }
    if let Some(ms) = settings["request_timeout_ms"].as_u64() {
        builder = builder.request_timeout(Duration::from_millis(ms));
    }
    if let Some(retries) = settings["max_retries"].as_u64() {
        builder = builder.max_retries(u32::try_from(retries)?);
    }
    if server == "scripted" {
        builder = builder.base_url(format!("{}/{id}", env::var("CONFORMANCE_SCRIPTED_URL")?));
    }
    let client = if server == "local" {
        builder.local().await?
    } else {
        builder.build()?
    };
    let mut made = Made {
        client,
        sandboxes: HashMap::new(),
        sessions: HashMap::new(),
    };
    for (index, value) in scenario["steps"]
        .as_array()
        .ok_or("no steps")?
        .iter()
        .enumerate()
    {
        let step = Step(value);
        step.refuse_unknown();
        if value["skip"]["rust"].is_string() {
            continue;
        }
        let mut line = outcome(&mut made, step).await;
        line["scenario"] = json!(id);
        line["step"] = json!(index);
        println!("{line}");
    }
    for session in made.sessions.values_mut() {
        Session::close(session).await?;
    }
    Ok(())
}

async fn outcome(made: &mut Made, step: Step<'_>) -> Value {
    if ["stream", "exec_stream"].contains(&step.text("call")) {
        let mut events = Vec::new();
        let ended = listen(made, step, &mut events).await;
        return match ended {
            Ok(()) => json!({ "events": events }),
            Err(error) => json!({ "events": events, "error": error_shown(&error) }),
        };
    }
    let done = match step.0["cancel_after_ms"].as_u64() {
        None => made.act(step).await,
        Some(ms) => match tokio::time::timeout(Duration::from_millis(ms), made.act(step)).await {
            Ok(done) => done,
            Err(_) => return json!({ "error": { "kind": "cancelled" } }),
        },
    };
    match done {
        Ok(result) => json!({ "result": result }),
        Err(error) => json!({ "error": error_shown(&error) }),
    }
}

async fn listen(made: &Made, step: Step<'_>, events: &mut Vec<Value>) -> Outcome<()> {
    let mut stream = if step.text("call") == "stream" {
        made.client
            .stream(&step.words("command"), Some(step.options()))
            .await?
    } else {
        made.on(step)
            .exec_stream(&step.words("command"), Some(step.options()))
            .await?
    };
    let is_binary = step.0["options"]["encoding"] == "base64";
    let output = |kind: &str, data: Vec<u8>| {
        if is_binary {
            json!({ "type": kind, "base64": STANDARD.encode(data) })
        } else {
            json!({ "type": kind, "text": String::from_utf8_lossy(&data) })
        }
    };
    while let Some(event) = stream.next().await {
        let shown = match event? {
            Event::Started { sandbox } => json!({ "type": "started", "sandbox": sandbox }),
            Event::Stdout(data) => output("stdout", data),
            Event::Stderr(data) => output("stderr", data),
            Event::Exit(exit) => {
                json!({ "type": "exit", "code": exit.code, "timed_out": exit.timed_out })
            }
            _ => continue,
        };
        let is_last = shown["type"] == step.text("leave_after");
        events.push(shown);
        if is_last {
            break;
        }
    }
    Ok(())
}

pub fn error_shown(error: &agentkernel_sdk::Error) -> Value {
    use agentkernel_sdk::Error;
    match error {
        Error::Api(error) => json!({
            "kind": "api",
            "code": error.code.as_str(),
            "status": error.status,
            "hint": error.hint,
            "retryable": error.code.is_retryable(),
            "retry_after_ms": error.retry_after.map(|pause| u64::try_from(pause.as_millis()).unwrap_or(u64::MAX)),
            "has_message": !error.message.is_empty(),
        }),
        Error::Timeout(_) => json!({ "kind": "timeout" }),
        Error::Transport { message, .. } => json!({ "kind": "transport", "message": message }),
        Error::BadAnswer(_) => json!({ "kind": "bad_answer" }),
        other => json!({ "kind": "unexpected", "message": other.to_string() }),
    }
}
