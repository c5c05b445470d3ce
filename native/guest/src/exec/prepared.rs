//! A command made ready before the fork: after it nothing is allocated.

use std::ffi::{CStr, CString, c_char};

use ak_wire::payload::OpenExec;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use crate::channel::Refusal;
use crate::users::{self, Identity};

pub const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const SHELL: &CStr = c"/bin/sh";

pub struct Prepared {
    pub cwd: CString,
    pub identity: Option<Identity>,
    /// Paths to try, in order.
    candidates: Vec<CString>,
    argv: Vec<*const c_char>,
    envp: Vec<*const c_char>,
    /// `sh`, the script's path (filled in when it is known), its arguments.
    script_argv: Vec<*const c_char>,
    /// What the pointers point into. The heap blocks never move.
    _words: Vec<CString>,
}

impl Prepared {
    pub fn new(open: &OpenExec) -> Result<Self, Refusal> {
        let Some(program) = open.argv.first() else {
            return Err(Refusal::invalid("argv is empty"));
        };
        let cwd = open.cwd.as_deref().unwrap_or("/");
        if !cwd.starts_with('/') {
            return Err(Refusal::invalid("cwd is not absolute"));
        }
        let mut words = Vec::with_capacity(open.argv.len() + open.env.len());
        let mut argv = Vec::with_capacity(open.argv.len() + 1);
        for word in &open.argv {
            argv.push(keep(&mut words, c_string(word)?));
        }
        let mut envp = Vec::with_capacity(open.env.len() + 1);
        for (key, value) in &open.env {
            if key.is_empty() || key.contains('=') {
                return Err(Refusal::invalid("the name of an environment variable"));
            }
            envp.push(keep(&mut words, c_string(&format!("{key}={value}"))?));
        }
        let identity = match &open.user {
            Some(user) => users::resolve(user)?,
            None => None,
        };
        if !open.env.contains_key("HOME") {
            envp.push(keep(&mut words, c_string(&format!("HOME={}", users::home(identity.as_ref())))?));
        }
        let mut script_argv = vec![SHELL.as_ptr(), std::ptr::null()];
        script_argv.extend_from_slice(&argv[1..]);
        for list in [&mut argv, &mut envp, &mut script_argv] {
            list.push(std::ptr::null());
        }
        let path = open.env.get("PATH").map_or(DEFAULT_PATH, String::as_str);
        Ok(Self {
            cwd: c_string(cwd)?,
            identity,
            candidates: candidates(program, path)?,
            argv,
            envp,
            script_argv,
            _words: words,
        })
    }

    /// Becomes the command, or returns why not. As execvp does it: a candidate
    /// that may not be executed is passed over, but remembered.
    pub fn exec(&mut self) -> Errno {
        let mut denied = false;
        for candidate in &self.candidates {
            match execute(candidate, &self.argv, &self.envp) {
                Errno::ACCESS => denied = true,
                Errno::NOENT | Errno::NOTDIR | Errno::STALE | Errno::NODEV | Errno::TIMEDOUT => {}
                Errno::NOEXEC if is_text(candidate) => {
                    self.script_argv[1] = candidate.as_ptr();
                    execute(SHELL, &self.script_argv, &self.envp);
                    return Errno::NOEXEC;
                }
                other => return other,
            }
        }
        if denied { Errno::ACCESS } else { Errno::NOENT }
    }
}

fn keep(words: &mut Vec<CString>, word: CString) -> *const c_char {
    let pointer = word.as_ptr();
    words.push(word);
    pointer
}

fn c_string(text: &str) -> Result<CString, Refusal> {
    CString::new(text).map_err(|_| Refusal::invalid("a NUL byte in a string"))
}

fn candidates(program: &str, path: &str) -> Result<Vec<CString>, Refusal> {
    if program.is_empty() {
        return Ok(Vec::new());
    }
    if program.contains('/') {
        return Ok(vec![c_string(program)?]);
    }
    path.split(':')
        .map(|folder| match folder {
            "" => c_string(&format!("./{program}")),
            folder => c_string(&format!("{folder}/{program}")),
        })
        .collect()
}

fn execute(path: &CStr, argv: &[*const c_char], envp: &[*const c_char]) -> Errno {
    // SAFETY: both lists end with a null pointer and point to C strings that
    // `Prepared` keeps alive; on success this does not return.
    unsafe { libc::execve(path.as_ptr(), argv.as_ptr(), envp.as_ptr()) };
    std::io::Error::last_os_error().raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error)
}

/// A file that the kernel does not know is a shell script only if it looks like
/// text: no NUL byte at its beginning.
fn is_text(path: &CStr) -> bool {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut head = [0u8; 128];
    openat(CWD, path, flags, Mode::empty())
        .and_then(|file| rustix::io::read(&file, &mut head))
        .is_ok_and(|length| !head[..length].contains(&0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(program: &str, path: &str) -> Vec<String> {
        let list = candidates(program, path).expect("no NUL");
        list.iter().map(|c| c.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_bare_name_is_looked_up_in_each_folder_in_order() {
        assert_eq!(found("ls", "/a:/b"), ["/a/ls", "/b/ls"]);
        assert_eq!(found("ls", ""), ["./ls"]);
    }

    #[test]
    fn a_name_with_a_slash_is_taken_as_it_is() {
        assert_eq!(found("./ls", "/a:/b"), ["./ls"]);
        assert!(found("", "/a").is_empty());
    }

    #[test]
    fn impossible_requests_are_refused_before_any_fork() {
        let refused = |open: &OpenExec| Prepared::new(open).err().map(|r| r.code);
        let exec =
            |argv: &[&str]| OpenExec { argv: argv.iter().map(ToString::to_string).collect(), ..OpenExec::default() };
        assert_eq!(refused(&exec(&[])), Some("invalid"));
        assert_eq!(refused(&exec(&["a\0b"])), Some("invalid"));
        let mut relative = exec(&["true"]);
        relative.cwd = Some("tmp".into());
        assert_eq!(refused(&relative), Some("invalid"));
        let mut bad_env = exec(&["true"]);
        bad_env.env.insert("A=B".into(), "c".into());
        assert_eq!(refused(&bad_env), Some("invalid"));
        assert_eq!(refused(&exec(&["true"])), None);
    }
}
