//! What git keeps of an operation that is not finished: a rebase, `git am`, several cherry-picks. `--continue` does what
//! the files say, which includes commands. Only files, steps and options that are known to run none are carried over.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{AtFlags, Dir, FileType, OFlags, statat};

use super::work_trees::{LARGEST_CONFIG, file, open};
use crate::fault::{During, Outcome};

/// The directories that git has for them, in what a working tree has of its own.
pub const DIRECTORIES: [&[u8]; 3] = [APPLY, MERGE, SEQUENCER];
const APPLY: &[u8] = b"rebase-apply";
const MERGE: &[u8] = b"rebase-merge";
const SEQUENCER: &[u8] = b"sequencer";

const LOOK: &str = "look at an unfinished operation of git";

/// Without `gpg_sign_opt`: a sandbox has no key to sign with.
const MERGE_FILES: [&[u8]; 46] = [
    b"allow_rerere_autoupdate",
    b"amend",
    b"author-script",
    b"autostash",
    b"cdate_is_adate",
    b"current-fixups",
    b"done",
    b"drop_redundant_commits",
    b"dropped",
    b"end",
    b"force-rewrite",
    b"git-rebase-todo",
    b"git-rebase-todo.backup",
    b"head-name",
    b"ignore_date",
    b"interactive",
    b"keep_redundant_commits",
    b"message",
    b"message-fixup",
    b"message-squash",
    b"msgnum",
    b"no-reschedule-failed-exec",
    b"onto",
    b"orig-head",
    b"patch",
    b"patch-merge-index",
    b"quiet",
    b"refs-only",
    b"refs-to-delete",
    b"reschedule-failed-exec",
    b"rewritten-list",
    b"rewritten-pending",
    b"signoff",
    b"squash-onto",
    b"stopped-sha",
    b"strategy",
    b"strategy_opts",
    b"trailer",
    b"update-refs",
    b"verbose",
    b"merge-head",
    b"cmt.1",
    b"fullsquash",
    b"ignore-date",
    b"onto_name",
    b"rewritten",
];
const APPLY_FILES: [&[u8]; 30] = [
    b"abort-safety",
    b"apply-opt",
    b"applying",
    b"author-script",
    b"autostash",
    b"dirtyindex",
    b"final-commit",
    b"head-name",
    b"info",
    b"keep",
    b"last",
    b"messageid",
    b"msg",
    b"msg-clean",
    b"next",
    b"no_inbody_headers",
    b"onto",
    b"orig-head",
    b"original-commit",
    b"patch",
    b"patch-merge-index",
    b"quiet",
    b"quoted-cr",
    b"rebasing",
    b"rewritten",
    b"scissors",
    b"sign",
    b"threeway",
    b"utf8",
    b"empty",
];
const SEQUENCER_FILES: [&[u8]; 4] = [b"abort-safety", b"head", b"opts", b"todo"];

/// Any other strategy is a program `git-merge-NAME`, in a directory of the project too.
const STRATEGIES: [&[u8]; 4] = [b"ort", b"recursive", b"subtree", b"ours"];
/// All but `exec`, which runs its line.
const STEPS: [&[u8]; 25] = [
    b"pick",
    b"p",
    b"revert",
    b"edit",
    b"e",
    b"reword",
    b"r",
    b"fixup",
    b"f",
    b"squash",
    b"s",
    b"label",
    b"l",
    b"reset",
    b"t",
    b"merge",
    b"m",
    b"update-ref",
    b"u",
    b"noop",
    b"drop",
    b"d",
    b"break",
    b"b",
    b"",
];
const OPTIONS: [&[u8]; 12] = [
    b"allow-empty",
    b"allow-empty-message",
    b"allow-ff",
    b"allow-rerere-auto",
    b"drop-redundant-commits",
    b"edit",
    b"keep-redundant-commits",
    b"mainline",
    b"no-commit",
    b"record-origin",
    b"signoff",
    b"strategy-option",
];

/// Why what a sandbox left unfinished in `own` (empty or ending in `/`) must not be gone on with on the host.
pub fn refusal(layer: BorrowedFd<'_>, host: BorrowedFd<'_>, own: &[u8]) -> Outcome<Option<String>> {
    for name in DIRECTORIES {
        let path = [own, name].concat();
        let Some(directory) = open(layer, &path, OFlags::RDONLY | OFlags::DIRECTORY).during(LOOK)? else { continue };
        for entry in Dir::read_from(&directory).during(LOOK)? {
            let entry = entry.during(LOOK)?;
            let file_name = entry.file_name();
            if matches!(file_name.to_bytes(), b"." | b"..") {
                continue;
            }
            let stat = statat(directory.as_fd(), file_name, AtFlags::SYMLINK_NOFOLLOW).during(LOOK)?;
            // A deletion, as a layer has it.
            if FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice && stat.st_rdev == 0 {
                continue;
            }
            let path = [&path, &b"/"[..], file_name.to_bytes()].concat();
            let read = |root| file(root, &path, LARGEST_CONFIG).during(LOOK);
            let is_harmless = is_known(name, file_name.to_bytes())
                && match read(layer)? {
                    Some(text) => runs_nothing(name, file_name.to_bytes(), &text, &read(host)?.unwrap_or_default()),
                    None => false,
                };
            if !is_harmless {
                let (what, shown) = (operation(name), String::from_utf8_lossy(&path).into_owned());
                return Ok(Some(format!("{what} is not finished, and git on the host could run commands of {shown}")));
            }
        }
    }
    Ok(None)
}

fn operation(directory: &[u8]) -> &'static str {
    match directory {
        MERGE => "a rebase",
        APPLY => "a rebase or git am",
        _ => "a cherry-pick or revert",
    }
}

fn is_known(directory: &[u8], name: &[u8]) -> bool {
    match directory {
        MERGE => MERGE_FILES.contains(&name),
        APPLY => APPLY_FILES.contains(&name) || name.iter().all(u8::is_ascii_digit),
        _ => SEQUENCER_FILES.contains(&name),
    }
}

/// `host` is what the user has there, whose own steps may stay.
fn runs_nothing(directory: &[u8], name: &[u8], text: &[u8], host: &[u8]) -> bool {
    match (directory, name) {
        (MERGE, b"git-rebase-todo") | (SEQUENCER, b"todo") => {
            let own: Vec<&[u8]> = lines(host).collect();
            lines(text).all(|line| is_known_step(line) || own.contains(&line))
        }
        (MERGE, b"strategy") => STRATEGIES.contains(&text.trim_ascii()),
        (SEQUENCER, b"opts") => lines(text).all(is_known_option),
        (APPLY, b"apply-opt") => text.trim_ascii().is_empty(),
        _ => true,
    }
}

/// Git ends a list at a NUL, and this does not: what follows is looked at as well.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n')
}

/// As git takes a line apart. A comment begins with `#`, or with what the user has chosen: then a line with `#` is no step.
fn is_known_step(line: &[u8]) -> bool {
    let start = line.iter().position(|byte| !matches!(byte, b' ' | b'\t')).unwrap_or(line.len());
    let line = &line[start..];
    let word = line.split(|byte| matches!(byte, b' ' | b'\t' | b'\r')).next().unwrap_or_default();
    line.starts_with(b"#") || STEPS.contains(&word)
}

/// One line of a configuration file as git writes it, without any of the ways to write it otherwise.
fn is_known_option(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    if line.is_empty() || line == b"[options]" {
        return true;
    }
    let Some(at) = line.iter().position(|byte| *byte == b'=') else { return false };
    let (key, value) = (line[..at].trim_ascii(), line[at + 1..].trim_ascii());
    match key {
        b"strategy" => STRATEGIES.contains(&value),
        _ => OPTIONS.contains(&key) && value.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-=.%".contains(byte)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_harmless(directory: &[u8], name: &str, text: &str) -> bool {
        is_known(directory, name.as_bytes()) && runs_nothing(directory, name.as_bytes(), text.as_bytes(), b"x make\n")
    }

    #[test]
    fn steps_that_run_a_command_are_found_however_they_are_written() {
        for list in [
            "exec a",
            "x a",
            "\tx\ta",
            " exec a",
            "exec a\r",
            "pick 1\nx a\r\npick 2",
            "EXEC a",
            ";x a",
            "x\0a",
            "noop\0x a\n",
            "\x0bexec a",
            "x",
            "execute a",
            "pickx a",
        ] {
            assert!(!is_harmless(MERGE, "git-rebase-todo", list), "{list:?}");
        }
        for list in [
            "",
            "# x a\n\npick 1 x\np 1\r\n\treword 2 exec\nbreak\nlabel onto\nreset onto\nmerge -C 1 a # x\n",
            "x make\n",
        ] {
            assert!(is_harmless(MERGE, "git-rebase-todo", list), "{list:?}");
        }
    }

    #[test]
    fn options_name_no_program() {
        for (directory, name, text, expected) in [
            (MERGE, "strategy", "ort\n", true),
            (MERGE, "strategy", "x/run\n", false),
            (MERGE, "gpg_sign_opt", "-S1", false),
            (MERGE, "editor", "x", false),
            (APPLY, "0001", "From: x", true),
            (APPLY, "apply-opt", "\n", true),
            (APPLY, "apply-opt", " '--directory=../..'\n", false),
            (SEQUENCER, "opts", "[options]\n\tno-commit = true\n\tstrategy-option = theirs\n\tstrategy = ort\n", true),
            (SEQUENCER, "opts", "[options]\n\tstrategy = x/run\n", false),
            (SEQUENCER, "opts", "[options] strategy = x/run\n", false),
            (SEQUENCER, "opts", "[options]\n\tSTRATEGY = x/run\n", false),
            (SEQUENCER, "opts", "[options]\n\tedit = \\\n\tstrategy = x/run\n", false),
            (SEQUENCER, "opts", "[options]\n\tgpg-sign = x\n", false),
            (SEQUENCER, "todo", "pick 1\n", true),
            (SEQUENCER, "todo", "exec a\n", false),
        ] {
            assert_eq!(is_harmless(directory, name, text), expected, "{name}: {text:?}");
        }
    }
}
