//! Files of one sandbox. A path that does not start with a slash is below /workspace.

use std::sync::Arc;

use hyper::Method;
use serde::de::IgnoredAny;

use crate::connection::{Call, Connection, encoded};
use crate::error::Error;
use crate::records::{FolderListing, Written};

#[derive(Clone)]
pub struct Files {
    connection: Arc<Connection>,
    sandbox: String,
}

impl Files {
    pub(crate) fn new(connection: Arc<Connection>, sandbox: String) -> Self {
        Self {
            connection,
            sandbox,
        }
    }

    pub async fn read(&self, path: &str) -> Result<Vec<u8>, Error> {
        let content = self
            .connection
            .content(self.at(Method::GET, path, "format=raw"))
            .await?;
        Ok(content.into())
    }

    /// Replaces the file as a whole or not at all; folders on the way are made. Without a mode it is 0o644.
    pub async fn write(
        &self,
        path: &str,
        content: impl Into<Vec<u8>>,
        mode: Option<u32>,
    ) -> Result<Written, Error> {
        let query = mode.map_or_else(String::new, |mode| format!("mode={mode:03o}"));
        self.connection
            .data(self.at(Method::PUT, path, &query).bytes(content.into()))
            .await
    }

    pub async fn make_folder(&self, path: &str) -> Result<Written, Error> {
        self.connection
            .data(self.at(Method::PUT, path, "type=dir"))
            .await
    }

    pub async fn list(&self, path: &str) -> Result<FolderListing, Error> {
        self.connection
            .data(self.at(Method::GET, path, "format=json"))
            .await
    }

    /// A file, an empty folder, or (`recursive`) a folder with all that is in it.
    pub async fn remove(&self, path: &str, recursive: bool) -> Result<(), Error> {
        let query = if recursive { "recursive=true" } else { "" };
        let _: IgnoredAny = self
            .connection
            .data(self.at(Method::DELETE, path, query))
            .await?;
        Ok(())
    }

    fn at(&self, method: Method, path: &str, query: &str) -> Call {
        let absolute = match path.strip_prefix('/') {
            Some(rest) => rest.to_owned(),
            None => format!("workspace/{path}"),
        };
        let words: Vec<_> = absolute.split('/').map(encoded).collect();
        let mark = if query.is_empty() { "" } else { "?" };
        Call::new(
            method,
            format!("{}/files/{}{mark}{query}", self.sandbox, words.join("/")),
        )
    }
}
