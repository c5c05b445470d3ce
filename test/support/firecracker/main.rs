//! A stand-in for Firecracker, made from the published description of its API and from the messages that it is known to
//! give: it takes what Firecracker 1.7 and later take, in the order in which they take it, and refuses everything else
//! with their status and words. There is no machine behind it: once one was started, a scripted guest answers on the
//! machine's socket (guest.rs). What it cannot show is that a kernel boots.
//!
//! Tests tell it in a file where to note requests and what is to go wrong (mischief.rs).

mod guest;
mod http;
mod machine;
mod mischief;
mod schema;

use std::{env, os::unix::net::UnixListener, process::exit};

use machine::Machine;
use mischief::Mischief;
use schema::{Answer, Asked};

/// Firecracker's own numbers for how it ends.
const BAD_ARGUMENTS: i32 = 153;
const FAILED: i32 = 1;

struct Words {
    socket: String,
    id: String,
}

fn main() {
    let mut words = env::args();
    let program = words.next().unwrap_or_default();
    let words = match read_words(&mut words) {
        Ok(Some(words)) => words,
        Ok(None) => {
            println!("Firecracker v1.13.1\n\nSupported snapshot data format versions: 7.0.0");
            return;
        }
        Err(reason) => {
            eprintln!("Arguments parsing error: {reason}");
            exit(BAD_ARGUMENTS);
        }
    };
    let mischief = Mischief::beside(&program);
    mischief.at_start(&words.id);
    let Ok(listener) = UnixListener::bind(&words.socket) else {
        eprintln!(
            "Failed to open the API socket at: {}. Check that it is not already used.",
            words.socket
        );
        exit(FAILED);
    };
    let mut machine = Machine::new(mischief.guest());
    for stream in listener.incoming() {
        let Ok(stream) = stream else { exit(FAILED) };
        let mut connection = http::Connection::new(stream);
        // One client at a time: ours has one connection for all its requests.
        while let Some(request) = connection.hear() {
            mischief.note(&request);
            if mischief.answers(&request, &mut connection) {
                continue;
            }
            let answer = match request.and_then(|request| Asked::read(&request)) {
                Ok(asked) => machine.serve(asked),
                Err(refusal) => Answer::Refused(refusal),
            };
            connection.answer(&answer);
            if machine.is_spoilt {
                exit(FAILED);
            }
        }
    }
}

fn read_words(words: &mut impl Iterator<Item = String>) -> Result<Option<Words>, String> {
    let (mut socket, mut id) = (None, None);
    while let Some(word) = words.next() {
        let place = match word.as_str() {
            "--version" => return Ok(None),
            "--api-sock" => &mut socket,
            "--id" => &mut id,
            _ => {
                return Err(format!(
                    "Found argument '{word}' which wasn't expected, or isn't valid in this context."
                ));
            }
        };
        if place.is_some() {
            return Err(format!(
                "The argument '{word}' was provided more than once."
            ));
        }
        *place = Some(words.next().ok_or_else(|| {
            format!("The argument '{word}' requires a value, but none was supplied.")
        })?);
    }
    let id = id.unwrap_or_else(|| "anonymous-instance".to_owned());
    if id.is_empty() || id.len() > 64 || !id.chars().all(|c| c == '-' || c.is_ascii_alphanumeric())
    {
        return Err("Invalid instance ID".to_owned());
    }
    Ok(Some(Words {
        socket: socket.unwrap_or_else(|| "/run/firecracker.socket".to_owned()),
        id,
    }))
}
