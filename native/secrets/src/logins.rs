//! Names and passwords without a word that says so: `user:password@host`, `.pgpass`, `.netrc`, `.htpasswd`.

use std::ops::Range;

use crate::{key_material, placeholders::is_placeholder, sample::Sample, tokens};

pub fn are_in(sample: &Sample) -> bool {
    !sample.is_text() || sample.lines().any(|line| !line.is_empty() && !line.starts_with(b"#") && is_login(line))
}

/// Any line with a colon, as `user:password`; an address with a password; the words of a netrc.
fn is_login(line: &[u8]) -> bool {
    if has_address_with_password(line) {
        return true;
    }
    if line.windows(3).any(|part| part == b"://") {
        return false;
    }
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    while let Some(word) = words.next() {
        if (word == b"password" || word == b"account") && words.next().is_none_or(|value| !is_placeholder(value)) {
            return true;
        }
    }
    line.split(|&byte| byte == b':').skip(1).any(|value| !value.is_empty() && !is_placeholder(value))
}

/// In a git configuration: remotes with a password or a token, and headers that CI checkouts leave behind.
pub fn are_in_remotes(sample: &Sample) -> bool {
    sample.lines().filter(|line| !line.starts_with(b"#") && !line.starts_with(b";")).any(|line| {
        let lower = line.to_ascii_lowercase();
        has_address_with_password(line) || lower.windows(11).any(|part| part == b"extraheader") && line.contains(&b'=')
    })
}

/// The text of a git configuration without them. None where something is left that must not be shown.
pub fn without_remote_logins(text: &[u8]) -> Option<Vec<u8>> {
    let mut clean = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let lower = line.to_ascii_lowercase();
        if !lower.windows(11).any(|part| part == b"extraheader") {
            clean.extend(without_logins(line));
        }
    }
    let sample = Sample::from(&clean[..]);
    (!are_in_remotes(&sample) && !tokens::are_in(&sample) && !key_material::is_in(&sample)).then_some(clean)
}

fn without_logins(line: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(line.len());
    let mut from = 0;
    for login in logins_of(line) {
        kept.extend_from_slice(&line[from..login.start]);
        from = login.end;
    }
    kept.extend_from_slice(&line[from..]);
    kept
}

/// `scheme://user:password@host`, or a token as the user of a web address.
pub fn has_address_with_password(line: &[u8]) -> bool {
    !logins_of(line).is_empty()
}

/// Where they are, each with its `@`.
fn logins_of(line: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = line[from..].windows(3).position(|part| part == b"://") {
        let (scheme, start) = (&line[from..from + at], from + at + 3);
        let behind = &line[start..];
        let end = behind.iter().position(|byte| b"/ \t\"'<>?#".contains(byte)).unwrap_or(behind.len());
        if let Some(host) = behind[..end].iter().rposition(|&byte| byte == b'@') {
            let user = &behind[..host];
            let password = user.iter().position(|&byte| byte == b':').map(|colon| &user[colon + 1..]);
            let is_web = scheme.ends_with(b"http") || scheme.ends_with(b"https");
            let is_secret = match password {
                Some(password) => !password.is_empty() && !is_placeholder(password),
                None => is_web && user.len() >= 16,
            };
            if is_secret {
                found.push(start..start + host + 1);
            }
        }
        from = start + end;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_git_configuration_is_shown_without_passwords_and_headers() {
        let text = b"[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://me:s3cr3t-0f-m1ne@example.com/a.git\n\tpushurl = ssh://git@example.com/a.git\n[http \"https://example.com/\"]\n\textraheader = AUTHORIZATION: basic c2VjcmV0\n[url \"https://0123456789abcdef0123@example.com\"]\n\tinsteadOf = x\n";
        let clean = without_remote_logins(text).expect("a text");
        let clean = String::from_utf8(clean).expect("text");
        assert_eq!(
            clean,
            "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://example.com/a.git\n\tpushurl = ssh://git@example.com/a.git\n[http \"https://example.com/\"]\n[url \"https://example.com\"]\n\tinsteadOf = x\n"
        );
        let plain = b"[remote \"origin\"]\n\turl = https://example.com/a.git";
        assert_eq!(without_remote_logins(plain).as_deref(), Some(&plain[..]));
        // A token that is not part of a URL cannot be distinguished from settings that git needs.
        assert_eq!(without_remote_logins(b"[github]\n\ttoken = ghp_0123456789abcdefghijABCDEFGHIJ012345\n"), None);
    }
}
