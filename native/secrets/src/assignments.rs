//! `password = …` in any of the usual notations: `KEY=value`, YAML, TOML, INI, JSON, XML, properties, netrc.

use crate::{logins::has_address_with_password, placeholders::is_placeholder, sample::Sample};

/// Parts of names that something secret is called by. Without regard to case, and to `-`, `_` and `.` between words.
const SECRET_NAMES: [&[u8]; 26] = [
    b"password",
    b"passwd",
    b"passphrase",
    b"passcode",
    b"pwd",
    b"secret",
    b"token",
    b"apikey",
    b"accesskey",
    b"privatekey",
    b"secretkey",
    b"accountkey",
    b"sharedkey",
    b"signingkey",
    b"encryptionkey",
    b"masterkey",
    b"authkey",
    b"clientkeydata",
    b"credential",
    b"connectionstring",
    b"npmauthident",
    b"encryptedpassword",
    b"webhookurl",
    b"databaseurl",
    b"sshkey",
    b"dsn",
];
/// Whole names.
const EXACT_NAMES: [&[u8]; 6] = [b"auth", b"pass", b"identitytoken", b"key", b"accountsastoken", b"pat"];
/// A name that ends so speaks about a secret and is none: `token_url`, `password_file`.
const ABOUT: [&[u8]; 26] = [
    b"url",
    b"uri",
    b"file",
    b"path",
    b"type",
    b"name",
    b"endpoint",
    b"header",
    b"length",
    b"expiry",
    b"expires",
    b"expiration",
    b"ttl",
    b"policy",
    b"field",
    b"enabled",
    b"required",
    b"id",
    b"command",
    b"env",
    b"store",
    b"storage",
    b"format",
    b"prefix",
    b"count",
    b"limit",
];
const LONGEST_NAME: usize = 80;
const SHORTEST_VALUE: usize = 4;
/// The longest value that is read. A line may consist of names, each of which would have the rest of it as its value.
const LONGEST_VALUE: usize = 256;

/// In program text (`is_source`) only literals are values: `const token: Token = given` assigns a name.
pub fn are_in(sample: &Sample, is_source: bool) -> bool {
    let is_secret = |line: &[u8]| has_assignment(line, is_source) || has_address_with_password(line);
    sample.is_text() && sample.lines().any(|line| !is_comment(line) && is_secret(line))
}

fn is_comment(line: &[u8]) -> bool {
    matches!(line, [b'#' | b';' | b'*', ..] | [b'/', b'/', b' ', ..] | [b'/', b'*', ..] | [b'<', b'!', ..])
}

/// All names of the line are tried: several may stand on one in JSON.
fn has_assignment(line: &[u8], is_source: bool) -> bool {
    let (is_definition, is_element) = (line.starts_with(b"define"), line.starts_with(b"<"));
    let mut at = 0;
    while at < line.len() {
        let start = line[at..].iter().position(|byte| is_name_byte(*byte)).map_or(line.len(), |offset| at + offset);
        let end =
            line[start..].iter().position(|byte| !is_name_byte(*byte)).map_or(line.len(), |offset| start + offset);
        if start == end {
            return false;
        }
        let name = &line[start..end];
        // In XML it says what is called so: key="packages".
        let is_attribute = is_element && name == b"key";
        if (is_secret_name(name) && !is_attribute || is_login_of_bundler(name))
            && value_behind(&line[end..], is_definition).is_some_and(|v| v.is_secret() && (v.is_quoted || !is_source))
        {
            return true;
        }
        at = end;
    }
    false
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)
}

fn is_secret_name(name: &[u8]) -> bool {
    if name.len() > LONGEST_NAME {
        return false;
    }
    let plain: Vec<u8> = name.iter().filter(|b| !b"_-.".contains(b)).map(u8::to_ascii_lowercase).collect();
    let is_url = [&b"webhookurl"[..], b"databaseurl"].iter().any(|ending| plain.ends_with(ending));
    let is_about = !is_url && ABOUT.iter().any(|ending| plain.ends_with(ending));
    !is_about
        && (EXACT_NAMES.contains(&plain.as_slice())
            || SECRET_NAMES.iter().any(|part| plain.windows(part.len()).any(|window| window == *part)))
}

/// `BUNDLE_GEMS__EXAMPLE__COM: "user:password"`: a host's name in capitals, with two underscores for a dot.
fn is_login_of_bundler(name: &[u8]) -> bool {
    const OTHERS: [&[u8]; 4] = [b"BUILD__", b"LOCAL__", b"MIRROR__", b"DISABLE_"];
    let host = name.strip_prefix(b"BUNDLE_").filter(|host| !OTHERS.iter().any(|other| host.starts_with(other)));
    host.is_some_and(|host| host.windows(2).any(|part| part == b"__"))
}

#[derive(Clone, Copy)]
struct Value<'a> {
    text: &'a [u8],
    is_quoted: bool,
}

impl Value<'_> {
    /// A call or a path of names is program text, not a value.
    fn is_secret(self) -> bool {
        const NAMESPACES: [&[u8]; 5] = [b"process.", b"os.", b"var.", b"local.", b"data."];
        let is_code = !self.is_quoted
            && (self.text.iter().any(|byte| b"([".contains(byte))
                || NAMESPACES.iter().any(|name| self.text.starts_with(name)));
        self.text.len() >= SHORTEST_VALUE && !is_code && !is_placeholder(self.text)
    }
}

/// The value that a name gets, without its quotes. None where nothing is assigned.
fn value_behind(behind: &[u8], is_definition: bool) -> Option<Value<'_>> {
    let behind = behind.strip_prefix(b"\"").or(behind.strip_prefix(b"'")).unwrap_or(behind).trim_ascii_start();
    let value = match behind {
        [b':', b'=' | b':', rest @ ..] | [b'=', b'>', rest @ ..] => rest,
        // A comparison.
        [b'=', b'=', ..] | [b':', b'/', b'/', ..] => return None,
        [b'=' | b':' | b'>', rest @ ..] => rest,
        // PHP: define('NAME', 'value').
        [b',', rest @ ..] if is_definition => rest,
        // XML: key="NAME" value="value"; with %VARIABLE% in some.
        _ => {
            let rest = behind.strip_prefix(b"value")?.trim_ascii_start().strip_prefix(b"=")?;
            return Some(value_in(rest)).filter(|value| !matches!(value.text, [b'%', .., b'%']));
        }
    };
    Some(value_in(value))
}

fn value_in(text: &[u8]) -> Value<'_> {
    let text = text.trim_ascii_start();
    match &text[..text.len().min(LONGEST_VALUE)] {
        [quote @ (b'"' | b'\'' | b'`'), rest @ ..] => {
            Value { text: rest.split(|byte| byte == quote).next().unwrap_or(rest), is_quoted: true }
        }
        bare => {
            let end = bare.iter().position(|byte| b" \t,;<#}]".contains(byte)).unwrap_or(bare.len());
            Value { text: &bare[..end], is_quoted: false }
        }
    }
}
