//! `ak-jail hold`: for a sandbox that an engine builds. It searches the folders that are to be shown, takes protected names
//! that are not there yet, says what it found, and stays until the sandbox's first process has ended; only then does it
//! give the names back. Until it knows of that process it ends with whoever started it.

use std::{
    io::{BufRead, Write},
    path::PathBuf,
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    process::{Pid, PidfdFlags, pidfd_open},
};
use serde::{Deserialize, Serialize};

use super::{
    contents::Contents,
    matcher::Matcher,
    placeholder::Placeholders,
    rules::Rules,
    search::{Shown, make_placeholders, search},
    source::Source,
    survey::Survey,
};
use crate::{
    fault::{During, Fault, Outcome},
    spec::{HideRule, User, View},
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Order {
    views: Vec<View>,
    hide: Vec<HideRule>,
    protect: Vec<String>,
    #[serde(default)]
    review: Vec<String>,
    journal: PathBuf,
}

/// What a shown folder is on the host.
#[derive(Debug, Serialize, Deserialize)]
pub struct Found {
    /// Device and number: what is shown must be what was searched.
    pub identity: (u64, u64),
    pub owner: User,
    pub survey: Survey,
}

#[derive(Serialize)]
#[serde(tag = "said", rename_all = "lowercase")]
enum Said<'a> {
    Found { views: &'a [Found] },
    Held,
    Failed(&'a Fault),
}

/// The order is the first line of `input`, the process the second.
pub fn run(input: &mut impl BufRead, output: &mut impl Write) -> Outcome<()> {
    let done = hold(input, output);
    if let Err(fault) = &done {
        // Whoever would hear it may be gone.
        let _ = say(output, &Said::Failed(fault));
    }
    done
}

fn hold(input: &mut impl BufRead, output: &mut impl Write) -> Outcome<()> {
    let order: Order = serde_json::from_str(&line(input)?).during("read what is to be held")?;
    Placeholders::sweep(&order.journal);
    let shown = Shown { views: &order.views, protect: &order.protect, journal: &order.journal };
    let mut placeholders = make_placeholders(shown)?;
    let mut sources = order.views.iter().map(|view| Source::open(view, false)).collect::<Outcome<Vec<_>>>()?;
    let (hide, protect) = (Matcher::hiding(&order.hide), Matcher::guarding(&order.protect, &order.review));
    let contents = Contents::beside(&order.journal);
    let rules = Rules::new(&hide, &protect).knowing(contents.as_ref());
    let surveys = search(shown, &mut sources, &rules, &mut placeholders)?;
    let found: Vec<Found> = sources
        .iter()
        .zip(surveys)
        .map(|(source, survey)| Found {
            identity: source.identity(),
            owner: User { uid: source.stat.st_uid, gid: source.stat.st_gid },
            survey,
        })
        .collect();
    say(output, &Said::Found { views: &found })?;
    contents.iter().for_each(Contents::keep);
    let process = line(input)?;
    if process.is_empty() {
        return Ok(());
    }
    let pid = process.trim().parse().ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| Fault::new("internal", "the number of a process is none"))?;
    let process = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => process,
        // It has ended already.
        Err(Errno::SRCH) => return Ok(()),
        Err(errno) => return Err(errno).during("watch the sandbox"),
    };
    say(output, &Said::Held)?;
    loop {
        match poll(&mut [PollFd::new(&process, PollFlags::IN)], None) {
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno).during("watch the sandbox"),
        }
    }
}

/// Empty where there is none.
fn line(input: &mut impl BufRead) -> Outcome<String> {
    let mut line = String::new();
    input.read_line(&mut line).during("hear what is to be held")?;
    Ok(line)
}

fn say(output: &mut impl Write, what: &Said<'_>) -> Outcome<()> {
    let text = serde_json::to_string(what).during("say what was found")?;
    writeln!(output, "{text}").and_then(|()| output.flush()).during("say what was found")
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Cursor};

    use super::*;

    #[test]
    fn names_are_held_until_the_process_has_ended_and_what_is_found_is_told() {
        let base = std::env::temp_dir().join(format!("ak-hold-{}", std::process::id()));
        let (project, journal) = (base.join("project"), base.join("journal"));
        fs::create_dir_all(&project).expect("folder");
        fs::write(project.join(".env"), "secret").expect("write");
        let order = serde_json::json!({
            "views": [{ "source": project, "target": "/workspace", "form": "mount", "readonly": false }],
            "hide": [{ "glob": "**/.env*" }],
            "protect": ["**/.mcp.json"],
            "journal": journal,
        });
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().expect("start");
        let text = format!("{order}\n{}\n", child.id());
        let held = project.join(".mcp.json");
        let seen = held.clone();
        let watcher = std::thread::spawn(move || {
            while !seen.exists() {
                std::thread::yield_now();
            }
            child.kill().expect("kill");
            child.wait().expect("wait");
        });
        let mut said = Vec::new();
        run(&mut Cursor::new(text), &mut said).expect("held");
        watcher.join().expect("watch");
        assert!(!held.exists(), "given back");
        let first: serde_json::Value =
            serde_json::from_slice(said.split(|b| *b == b'\n').next().expect("a line")).expect("JSON");
        let survey = &first["views"][0]["survey"];
        assert_eq!(survey["hidden"][0]["path"], serde_json::json!(b".env"));
        assert_eq!(survey["protected"][0]["path"], serde_json::json!(b".mcp.json"));
        fs::remove_dir_all(base).expect("remove");
    }
}
