//! Which server is asked, and where the user's daemon listens.

use std::env;
use std::fs;
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
    let absolute = |name: &str| {
        variable(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    if let Some(runtime) = absolute("XDG_RUNTIME_DIR").filter(|path| is_own_folder(path)) {
        return Some(runtime.join("agentkernel"));
    }
    let state =
        absolute("XDG_STATE_HOME").or_else(|| Some(env::home_dir()?.join(".local/state")))?;
    Some(state.join("agentkernel/daemon"))
}

/// Under sudo the variable may still name the folder of the user before.
fn is_own_folder(path: &Path) -> bool {
    let (Ok(found), Ok(own)) = (fs::metadata(path), fs::metadata("/proc/self")) else {
        return false;
    };
    found.is_dir() && found.uid() == own.uid()
}
