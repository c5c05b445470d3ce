//! Names in an archive. Anything may stand there; what leads upwards is refused, not repaired.

use crate::refused::Refused;

/// How deep a directory may lie. Honest images are far from it, and removing a tree holds a descriptor for each level.
pub const MAX_DEPTH: usize = 400;

/// The parts of a path, without `.` and leading slashes.
pub fn parts(raw: &[u8]) -> Result<Vec<&[u8]>, Refused> {
    let mut parts = Vec::new();
    for part in raw.split(|&b| b == b'/') {
        match part {
            b"" | b"." => {}
            b".." => return Err(Refused::entry(raw, "leads upwards")),
            part if part.contains(&0) => return Err(Refused::entry(raw, "has a zero byte in its name")),
            part if part.len() > 255 => return Err(Refused::entry(raw, "has a name of more than 255 bytes")),
            part => parts.push(part),
        }
    }
    if parts.len() > MAX_DEPTH {
        return Err(Refused::entry(raw, "lies too deep"));
    }
    if raw.len() > 4095 {
        return Err(Refused::entry(raw, "has a path of more than 4095 bytes"));
    }
    Ok(parts)
}

pub enum Whiteout<'a> {
    /// Everything that lower layers have in this directory.
    Opaque,
    /// One name of lower layers.
    Of(&'a [u8]),
    /// A marker of a union filesystem that has no meaning here.
    Other,
}

pub fn whiteout(name: &[u8]) -> Option<Whiteout<'_>> {
    let hidden = name.strip_prefix(b".wh.")?;
    Some(match hidden {
        b".wh..opq" => Whiteout::Opaque,
        b"" => Whiteout::Other,
        h if h.starts_with(b".wh.") => Whiteout::Other,
        h => Whiteout::Of(h),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_split_and_upward_ones_refused() {
        assert_eq!(parts(b"./a//b/").expect("fine"), [b"a", b"b"]);
        assert_eq!(parts(b"/etc/passwd").expect("fine"), [&b"etc"[..], b"passwd"]);
        assert!(parts(b"").expect("the root itself").is_empty());
        for bad in [&b"../x"[..], b"a/../../x", b"a/..", b"x\0y"] {
            assert!(parts(bad).is_err(), "{bad:?}");
        }
        assert!(parts(&[b'x'; 256]).is_err());
    }

    #[test]
    fn whiteouts_are_known_by_their_names() {
        assert!(matches!(whiteout(b".wh..wh..opq"), Some(Whiteout::Opaque)));
        assert!(matches!(whiteout(b".wh.gone"), Some(Whiteout::Of(b"gone"))));
        assert!(matches!(whiteout(b".wh..wh.plnk"), Some(Whiteout::Other)));
        assert!(matches!(whiteout(b".wh."), Some(Whiteout::Other)));
        assert!(whiteout(b"wh.gone").is_none());
    }
}
