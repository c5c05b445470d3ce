//! Names and passwords without a word that says so: `user:password@host`, `.pgpass`, `.netrc`, `.htpasswd`.

use crate::{placeholders::is_placeholder, sample::Sample};

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

/// `scheme://user:password@host`, or a token as the user of a web address.
pub fn has_address_with_password(line: &[u8]) -> bool {
    let mut rest = line;
    while let Some(at) = rest.windows(3).position(|part| part == b"://") {
        let (scheme, behind) = (&rest[..at], &rest[at + 3..]);
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
                return true;
            }
        }
        rest = &behind[end..];
    }
    false
}
