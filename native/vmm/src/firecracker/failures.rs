//! Describes failures of Firecracker for the user. Its own messages are quoted on one line, without terminal control
//! sequences and with a limit, since a guest may have written them.

use std::{io, time::Duration};

use super::{
    client::Unanswered,
    process::{Process, describe},
};
use crate::failure::Failure;

/// Who closed its socket is about to end, or has a reason not to.
const END_LIMIT: Duration = Duration::from_secs(2);
const LONGEST_QUOTE: usize = 1000;
/// Firecracker's own words for a field, a value or a path that it does not know.
const UNKNOWN_TO_IT: [&str; 3] = ["unknown field", "unknown variant", "Invalid request method and/or path"];

pub fn unanswered(process: &mut Process, request: &str, why: &Unanswered, limit: Duration) -> Failure {
    match why {
        Unanswered::Refused { status, message } => refused(request, *status, message),
        Unanswered::Gone(e) => ended(process, &format!("at {request}"), Some(e)),
        Unanswered::Silent => {
            Failure::new(format!("Firecracker did not answer {request} within {} s", limit.as_secs()))
        }
        Unanswered::Garbled(what) => garbled(request, what),
    }
}

fn refused(request: &str, status: u16, message: &str) -> Failure {
    let is_unknown = UNKNOWN_TO_IT.iter().any(|words| message.contains(words));
    let advice =
        if is_unknown { "; its version may lack what is asked of it: use Firecracker 1.7 or later" } else { "" };
    Failure::new(format!("Firecracker refused {request} ({status}): {}{advice}", quote(message)))
}

pub fn ended(process: &mut Process, when: &str, heard: Option<&io::Error>) -> Failure {
    let how = match (process.end_within(END_LIMIT), heard) {
        (Some(status), _) => format!("Firecracker ended {when}: {}", describe(status)),
        (None, Some(e)) => format!("Firecracker closed its connection {when}: {e}"),
        (None, None) => format!("Firecracker closed its connection {when}"),
    };
    Failure::new(format!("{how}{}", last_output(process)))
}

pub fn garbled(request: &str, what: &str) -> Failure {
    Failure::new(format!("what Firecracker answered to {request} is no answer: {}", quote(what)))
}

pub fn last_output(process: &mut Process) -> String {
    let said = process.last_output(LONGEST_QUOTE);
    if said.is_empty() { String::new() } else { format!("; it said last: {}", quote(&said)) }
}

fn quote(text: &str) -> String {
    text.trim().chars().take(LONGEST_QUOTE).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_has_an_end_and_nothing_for_a_terminal() {
        let quoted = quote(&format!("\u{1b}[2J\n{}", "é".repeat(2 * LONGEST_QUOTE)));
        assert!(quoted.starts_with(" [2J é") && quoted.chars().count() == LONGEST_QUOTE, "{quoted}");
    }
}
