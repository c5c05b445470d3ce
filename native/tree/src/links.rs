//! Which links are written.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Whatever they lead to: inside a sandbox it is the sandbox's own.
    Any,
    /// Only what leads to something in the copied tree.
    Inside,
}

impl Links {
    /// Why a link at this path of the tree is not written.
    pub fn refusal(self, path: &[u8], target: &[u8]) -> Option<&'static str> {
        match self {
            Self::Any if target.is_empty() || target.contains(&0) => Some("a link without a target"),
            Self::Any => None,
            Self::Inside => stays_inside(path, target).err(),
        }
    }
}

/// Up first, then down by name: a name followed by `..` could itself be a link to anywhere.
fn stays_inside(path: &[u8], target: &[u8]) -> Result<(), &'static str> {
    if target.is_empty() || target.contains(&0) {
        return Err("a link without a target");
    }
    if target[0] == b'/' {
        return Err("a link to an absolute path, which is another one here");
    }
    let mut depth = path.iter().filter(|&&b| b == b'/').count();
    let mut goes_down = false;
    for part in target.split(|&b| b == b'/') {
        match part {
            b"" | b"." => {}
            b".." if goes_down || depth == 0 => return Err("a link that leads out of what is copied"),
            b".." => depth -= 1,
            _ => goes_down = true,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_leave_the_tree_are_refused() {
        for (path, target) in [("a", "b"), ("d/a", "../b"), ("d/e/a", "../../x/y"), ("d/a", "./b")] {
            assert_eq!(Links::Inside.refusal(path.as_bytes(), target.as_bytes()), None, "{path} -> {target}");
        }
        for (path, target) in [("a", "/etc/passwd"), ("a", ".."), ("d/a", "../../b"), ("d/a", "x/../y"), ("a", "")] {
            assert!(Links::Inside.refusal(path.as_bytes(), target.as_bytes()).is_some(), "{path} -> {target}");
        }
        assert_eq!(Links::Any.refusal(b"a", b"/etc/passwd"), None);
    }
}
