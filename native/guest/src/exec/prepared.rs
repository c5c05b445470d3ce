//! A command made ready: what executes it allocates nothing. It can be written down, for a keeper that was forked before.

use std::ffi::{CStr, CString, c_char};

use ak_wire::payload::OpenExec;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::thread::{Gid, Uid};

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
    /// Owns the strings that the pointers point into. The heap blocks never move.
    words: Vec<CString>,
    env: Vec<CString>,
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
        let argv = open.argv.iter().map(|word| c_string(word)).collect::<Result<Vec<_>, _>>()?;
        let mut env = Vec::with_capacity(open.env.len() + 1);
        for (key, value) in &open.env {
            if key.is_empty() || key.contains('=') {
                return Err(Refusal::invalid("the name of an environment variable"));
            }
            env.push(c_string(&[key, "=", value].concat())?);
        }
        let identity = match &open.user {
            Some(user) => users::resolve(user)?,
            None => None,
        };
        if !open.env.contains_key("HOME") {
            env.push(c_string(&["HOME=", &users::home(identity.as_ref())].concat())?);
        }
        let path = open.env.get("PATH").map_or(DEFAULT_PATH, String::as_str);
        Ok(Self::of(c_string(cwd)?, identity, candidates(program, path)?, argv, env))
    }

    fn of(
        cwd: CString,
        identity: Option<Identity>,
        candidates: Vec<CString>,
        argv: Vec<CString>,
        env: Vec<CString>,
    ) -> Self {
        let pointers = |words: &[CString]| words.iter().map(|word| word.as_ptr()).collect::<Vec<_>>();
        let (mut argv_list, mut envp) = (pointers(&argv), pointers(&env));
        let mut script_argv = vec![SHELL.as_ptr(), std::ptr::null()];
        script_argv.extend(argv_list.iter().skip(1));
        for list in [&mut argv_list, &mut envp, &mut script_argv] {
            list.push(std::ptr::null());
        }
        Self { cwd, identity, candidates, argv: argv_list, envp, script_argv, words: argv, env }
    }

    /// Numbers first (how many there are of what, and who), then all words, each with its NUL.
    pub fn encode(&self, into: &mut Vec<u8>) {
        let lists = [&self.candidates, &self.words, &self.env];
        let mut numbers: Vec<u32> = lists.iter().map(|list| list.len() as u32).collect();
        match &self.identity {
            None => numbers.push(0),
            Some(Identity { uid, gid, groups }) => {
                numbers.extend([1, uid.as_raw(), gid.as_raw(), groups.len() as u32]);
                numbers.extend(groups.iter().map(|group| group.as_raw()));
            }
        }
        numbers.iter().for_each(|number| into.extend(number.to_le_bytes()));
        for word in std::iter::once(&self.cwd).chain(lists.into_iter().flatten()) {
            into.extend(word.as_bytes_with_nul());
        }
    }

    /// `None` where it is not all there.
    pub fn decode(mut bytes: &[u8]) -> Option<Self> {
        let [candidates, words, env] = [take_number(&mut bytes)?, take_number(&mut bytes)?, take_number(&mut bytes)?];
        let identity = match take_number(&mut bytes)? {
            0 => None,
            _ => {
                let [uid, gid] = [take_number(&mut bytes)?, take_number(&mut bytes)?];
                let count = take_number(&mut bytes)?;
                let groups = (0..count).map(|_| take_number(&mut bytes).map(Gid::from_raw)).collect::<Option<_>>()?;
                Some(Identity { uid: Uid::from_raw(uid), gid: Gid::from_raw(gid), groups })
            }
        };
        let cwd = take_word(&mut bytes)?;
        let mut list = |count: u32| (0..count).map(|_| take_word(&mut bytes)).collect::<Option<Vec<_>>>();
        Some(Self::of(cwd, identity, list(candidates)?, list(words)?, list(env)?))
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

fn take_number(bytes: &mut &[u8]) -> Option<u32> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u32::from_le_bytes(*first))
}

fn take_word(bytes: &mut &[u8]) -> Option<CString> {
    let word = CStr::from_bytes_until_nul(bytes).ok()?;
    *bytes = &bytes[word.count_bytes() + 1..];
    Some(word.to_owned())
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
        .map(|directory| match directory {
            "" => c_string(&["./", program].concat()),
            directory => c_string(&[directory, "/", program].concat()),
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
    fn a_bare_name_is_looked_up_in_each_directory_in_order() {
        assert_eq!(found("ls", "/a:/b"), ["/a/ls", "/b/ls"]);
        assert_eq!(found("ls", ""), ["./ls"]);
    }

    #[test]
    fn a_name_with_a_slash_is_taken_as_it_is() {
        assert_eq!(found("./ls", "/a:/b"), ["./ls"]);
        assert!(found("", "/a").is_empty());
    }

    #[test]
    fn a_command_survives_being_written_down_and_no_part_of_one_is_taken_for_it() {
        let mut open = OpenExec { argv: vec!["ls".into(), "".into()], ..OpenExec::default() };
        open.env.insert("PATH".into(), "/a:/b".into());
        let mut command = Prepared::new(&open).expect("fine");
        command.identity = Some(Identity { uid: Uid::from_raw(7), gid: Gid::from_raw(8), groups: vec![Gid::ROOT] });
        let mut bytes = Vec::new();
        command.encode(&mut bytes);
        let again = Prepared::decode(&bytes).expect("all there");
        assert_eq!((&again.cwd, &again.identity), (&command.cwd, &command.identity));
        assert_eq!((&again.candidates, &again.words, &again.env), (&command.candidates, &command.words, &command.env));
        assert_eq!([again.argv.len(), again.envp.len(), again.script_argv.len()], [3, 3, 4]);
        assert!((0..bytes.len()).all(|length| Prepared::decode(&bytes[..length]).is_none()));
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
