//! Why a copy ends early. Codes are those of the guest protocol's file kinds.

use std::fmt::Display;

use rustix::io::Errno;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub code: &'static str,
    pub message: String,
}

impl Failure {
    pub fn new(code: &'static str, message: impl Display) -> Self {
        Self { code, message: message.to_string() }
    }

    /// The stream itself is not one.
    pub fn malformed(what: &str) -> Self {
        Self::new("invalid", format!("not a tree stream: {what}"))
    }

    pub fn at(what: impl Display, errno: Errno) -> Self {
        let code = match errno {
            Errno::NOENT => "not_found",
            Errno::ACCESS | Errno::PERM | Errno::ROFS => "denied",
            Errno::EXIST => "exists",
            Errno::NXIO | Errno::NODEV => "not_regular",
            Errno::NOTDIR => "not_dir",
            Errno::ISDIR | Errno::NOTEMPTY => "is_dir",
            Errno::NOSPC | Errno::DQUOT => "no_space",
            Errno::FBIG | Errno::OVERFLOW => "too_large",
            Errno::INVAL | Errno::NAMETOOLONG | Errno::LOOP => "invalid",
            _ => "io",
        };
        Self::new(code, format!("{what}: {errno}"))
    }
}

/// Whether an error stops the whole copy, and not only the file at hand.
pub fn is_fatal(errno: Errno) -> bool {
    matches!(errno, Errno::NOSPC | Errno::DQUOT | Errno::IO | Errno::ROFS | Errno::MFILE | Errno::NFILE | Errno::NOMEM)
}
