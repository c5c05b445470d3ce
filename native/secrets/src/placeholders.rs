//! Values that stand where a secret would: empty, a reference to a variable, or words for people.

const WORDS: [&[u8]; 30] = [
    b"null",
    b"none",
    b"nil",
    b"undefined",
    b"true",
    b"false",
    b"yes",
    b"no",
    b"changeme",
    b"change-me",
    b"change_me",
    b"placeholder",
    b"todo",
    b"tbd",
    b"fixme",
    b"redacted",
    b"dummy",
    b"required",
    b"optional",
    b"string",
    b"secret",
    b"password",
    b"token",
    b"prompt",
    b"disabled",
    b"enabled",
    b"default",
    b"auto",
    b"0",
    b"1",
];
const BEGINNINGS: [&[u8]; 23] = [
    b"${",
    b"$(",
    b"{{",
    b"<",
    b"%(",
    b"%{",
    b"@@",
    b"#{",
    b"your-",
    b"your_",
    b"your ",
    b"my-",
    b"my_",
    b"xxx",
    b"***",
    b"...",
    b"example",
    b"insert",
    b"replace",
    b"enter",
    b"op://",
    b"vault:",
    b"changeme",
];
const PARTS: [&[u8]; 6] = [b"example", b"placeholder", b"your-", b"your_", b"changeme", b"xxxxxx"];

pub fn is_placeholder(value: &[u8]) -> bool {
    let value = value.to_ascii_lowercase();
    let is_one_byte = value.iter().all(|byte| Some(byte) == value.first());
    is_one_byte
        || is_variable(&value)
        || WORDS.contains(&value.as_slice())
        || BEGINNINGS.iter().any(|beginning| value.starts_with(beginning))
        || PARTS.iter().any(|part| value.windows(part.len()).any(|window| window == *part))
}

/// `$NAME`; a hash of a password such as `$2y$10$…` has more dollar signs.
fn is_variable(value: &[u8]) -> bool {
    value.strip_prefix(b"$").is_some_and(|name| name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_'))
}
