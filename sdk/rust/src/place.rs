//! Which server is asked, and where the user's daemon listens.

use std::env;
use std::fmt;
use std::fs;
use std::net::IpAddr;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use hyper::Uri;

use crate::error::Error;

const DEFAULT_URL: &str = "http://localhost:8080";
const EXPECTED: &str = "give http://host:port or unix:///path/to/socket";

#[derive(Clone, Debug)]
pub enum Place {
    Unix(PathBuf),
    Tcp {
        /// For the Host header: with the port, where one is named.
        authority: String,
        host: String,
        port: u16,
        /// Of every path.
        prefix: String,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(text, "unix://{}", path.display()),
            Self::Tcp {
                authority, prefix, ..
            } => write!(text, "http://{authority}{prefix}"),
        }
    }
}

impl Place {
    /// What is said outright, else `AGENTKERNEL_BASE_URL`, else the socket of the user's daemon if there is one, else
    /// localhost:8080.
    pub fn find(base_url: Option<String>) -> Result<Self, Error> {
        let named = base_url.or_else(|| variable("AGENTKERNEL_BASE_URL"));
        match (named, daemon_socket()) {
            (Some(named), _) => Self::parse(&named),
            (None, Some(socket)) => Ok(Self::Unix(socket)),
            (None, None) => Self::parse(DEFAULT_URL),
        }
    }

    /// What stands for the user at a server of theirs on loopback, which writes it to a file that only the user can
    /// read. Read for each request: a server makes a new one when it starts.
    pub fn local_token(&self) -> Option<String> {
        let Self::Tcp { host, port, .. } = self else {
            return None;
        };
        let is_loopback = host
            .parse::<IpAddr>()
            .map_or(host.eq_ignore_ascii_case("localhost"), |address| {
                address.is_loopback()
            });
        if !is_loopback {
            return None;
        }
        let path = state_folder()?
            .join("agentkernel/api-tokens")
            .join(port.to_string());
        let text = fs::read_to_string(path).ok()?;
        Some(text.trim().to_owned()).filter(|token| !token.is_empty())
    }

    fn parse(named: &str) -> Result<Self, Error> {
        let refuse = |why: &str| {
            Err(Error::Request(format!(
                "the base URL {named:?} {why}: {EXPECTED}"
            )))
        };
        if let Some(path) = named.strip_prefix("unix://") {
            if !path.starts_with('/') {
                return refuse("names no absolute path");
            }
            return Ok(Self::Unix(PathBuf::from(path)));
        }
        let Ok(uri) = named.parse::<Uri>() else {
            return refuse("is not an address");
        };
        let (Some("http"), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return refuse("is of no kind that is known here (https is not)");
        };
        Ok(Self::Tcp {
            authority: authority.to_string(),
            host: authority.host().trim_matches(['[', ']']).to_owned(),
            port: authority.port_u16().unwrap_or(80),
            prefix: uri.path().trim_end_matches('/').to_owned(),
        })
    }
}

/// An empty one counts as none.
pub fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn daemon_socket() -> Option<PathBuf> {
    let socket = daemon_folder()?.join("daemon.sock");
    let found = fs::metadata(&socket).ok()?;
    found.file_type().is_socket().then_some(socket)
}

fn daemon_folder() -> Option<PathBuf> {
    if let Some(runtime) = absolute("XDG_RUNTIME_DIR").filter(|path| is_own_folder(path)) {
        return Some(runtime.join("agentkernel"));
    }
    Some(state_folder()?.join("agentkernel/daemon"))
}

fn state_folder() -> Option<PathBuf> {
    absolute("XDG_STATE_HOME").or_else(|| Some(env::home_dir()?.join(".local/state")))
}

fn absolute(name: &str) -> Option<PathBuf> {
    variable(name)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
}

/// Under sudo the variable may still name the folder of the user before.
fn is_own_folder(path: &Path) -> bool {
    let (Ok(found), Ok(own)) = (fs::metadata(path), fs::metadata("/proc/self")) else {
        return false;
    };
    found.is_dir() && found.uid() == own.uid()
}
