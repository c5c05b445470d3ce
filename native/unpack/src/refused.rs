//! Why a layer was not unpacked.

use std::{fmt, io};

#[derive(Debug)]
pub enum Refused {
    /// The archive asks for something that no honest image asks for.
    Hostile(String),
    /// There is no room for it.
    Full(String),
    Io(String),
}

impl Refused {
    pub fn entry(path: &[u8], why: &str) -> Self {
        let shown: String = String::from_utf8_lossy(path).chars().take(200).collect();
        Self::Hostile(format!("{shown:?} {why}"))
    }

    pub fn during(what: impl fmt::Display) -> impl FnOnce(io::Error) -> Self {
        move |error| {
            let full = [libc::ENOSPC, libc::EDQUOT].map(Some).contains(&error.raw_os_error());
            let message = format!("{what}: {error}");
            if full { Self::Full(message) } else { Self::Io(message) }
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hostile(why) | Self::Full(why) | Self::Io(why) => f.write_str(why),
        }
    }
}
