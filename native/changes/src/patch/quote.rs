//! Names in a patch, as git writes them: plain, or in quotes with everything odd escaped.

pub fn quoted(prefix: &str, path: &[u8]) -> String {
    let is_odd = |byte: &u8| !(b' '..0x7f).contains(byte) || matches!(byte, b'"' | b'\\');
    if !path.iter().any(is_odd) {
        // A blank in a name would end it for some readers; git's own patches leave it, and so does this.
        return format!("{prefix}{}", String::from_utf8_lossy(path));
    }
    let mut text = format!("\"{prefix}");
    for &byte in path {
        match byte {
            b'"' | b'\\' => text.extend(['\\', byte as char]),
            b'\n' => text.push_str("\\n"),
            b'\t' => text.push_str("\\t"),
            b' '..0x7f => text.push(byte as char),
            _ => text.push_str(&format!("\\{byte:03o}")),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reaches_a_terminal_that_could_move_its_cursor() {
        assert_eq!(quoted("a/", b"src/x y.rs"), "a/src/x y.rs");
        assert_eq!(quoted("a/", b"\x1b[2J\"\xff"), r#""a/\033[2J\"\377""#);
    }
}
