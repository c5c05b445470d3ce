//! What was kept of sandboxes: files as they were at one moment and, of machines that ran, memory.

use std::sync::Arc;

use hyper::Method;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::connection::{Call, Connection, encoded};
use crate::error::Error;
use crate::records::{CopyOptions, Snapshot};
use crate::sandbox::Sandbox;

/// By their names.
#[derive(Clone)]
pub struct Snapshots {
    pub(crate) connection: Arc<Connection>,
}

#[derive(Deserialize)]
struct SnapshotList {
    snapshots: Vec<Snapshot>,
}

impl Snapshots {
    /// Sorted by name.
    pub async fn list(&self) -> Result<Vec<Snapshot>, Error> {
        let call = Call::new(Method::GET, "/snapshots");
        let found: SnapshotList = self.connection.data(call).await?;
        Ok(found.snapshots)
    }

    /// `ErrorCode::NotFound` where there is none of that name.
    pub async fn get(&self, name: &str) -> Result<Snapshot, Error> {
        self.connection
            .data(Call::new(Method::GET, path_of(name)))
            .await
    }

    /// Sandboxes that were made of it stay.
    pub async fn remove(&self, name: &str) -> Result<(), Error> {
        let call = Call::new(Method::DELETE, path_of(name));
        let _: IgnoredAny = self.connection.data(call).await?;
        Ok(())
    }

    /// Makes a sandbox of it, and starts it unless `start` is false.
    pub async fn restore(
        &self,
        snapshot: &str,
        name: &str,
        options: Option<CopyOptions>,
    ) -> Result<Sandbox, Error> {
        let call = Call::new(Method::POST, format!("{}/restore", path_of(snapshot)));
        Sandbox::copied(&self.connection, call, name, options).await
    }
}

fn path_of(name: &str) -> String {
    format!("/snapshots/{}", encoded(name))
}
