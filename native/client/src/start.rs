//! Encodes what the daemon needs to know of this process: arguments, environment, current directory, streams, window.
//! One frame of records, each a letter, a length and bytes.

use std::env;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use rustix::fs::{FileType, Mode, OFlags, fstat, major, minor, open, readlinkat};
use rustix::stdio::{stderr, stdin, stdout};
use rustix::termios::isatty;

use crate::frame::{MAX_PAYLOAD, START, encode};
use crate::installation;
use crate::relay;
use crate::terminal;

/// Two processes in the same of all of these see the same files, addresses and users.
const PLACES: [&str; 5] = ["ns/mnt", "ns/net", "ns/user", "ns/pid", "root"];

/// None if it is more than a frame can hold.
pub fn start_frame(words: &[OsString]) -> Option<Vec<u8>> {
    let mut payload = Vec::with_capacity(8192);
    for word in words {
        record(b'a', word.as_bytes(), &mut payload);
    }
    for (name, value) in env::vars_os().filter(|(name, _)| name != relay::VARIABLE && name != installation::VARIABLE) {
        let mut pair = name.into_vec();
        pair.push(b'=');
        pair.extend_from_slice(value.as_bytes());
        record(b'e', &pair, &mut payload);
    }
    if let Ok(directory) = env::current_dir() {
        record(b'c', directory.as_os_str().as_bytes(), &mut payload);
    }
    let own = open("/proc/self", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok();
    for place in PLACES {
        let link = own.as_ref().and_then(|own| readlinkat(own, place, Vec::new()).ok()).unwrap_or_default();
        record(b'p', link.as_bytes(), &mut payload);
    }
    record(b's', &[input_kind(), output_kind(isatty(stdout())), output_kind(isatty(stderr()))], &mut payload);
    if let Some(window) = terminal::window() {
        record(b'w', &window, &mut payload);
    }
    if payload.len() > MAX_PAYLOAD {
        return None;
    }
    let mut frame = Vec::with_capacity(payload.len() + 8);
    encode(START, 0, &payload, &mut frame);
    Some(frame)
}

fn record(letter: u8, bytes: &[u8], into: &mut Vec<u8>) {
    into.push(letter);
    into.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    into.extend_from_slice(bytes);
}

fn output_kind(is_terminal: bool) -> u8 {
    if is_terminal { b't' } else { b'o' }
}

/// Also tells whether there is anything that could be read.
fn input_kind() -> u8 {
    let Ok(found) = fstat(stdin()) else { return b'n' };
    match FileType::from_raw_mode(found.st_mode) {
        FileType::Directory => b'n',
        FileType::CharacterDevice if (major(found.st_rdev), minor(found.st_rdev)) == (1, 3) => b'n',
        _ => output_kind(isatty(stdin())),
    }
}
