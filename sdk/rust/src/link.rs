//! One connection to the server. It is kept for the next request where its answer was read to the end; otherwise it is
//! cut, which ends the command that it was about.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::rt::{Read, Write};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpStream, UnixStream};
use tokio::task::AbortHandle;

use crate::error::Error;
use crate::place::Place;

/// Servers hang up on idle connections; one that might be about to be cut is not used.
const KEPT: Duration = Duration::from_secs(4);

const START_HINT: &str = "Start a server with `agentkernel daemon start` or `agentkernel serve`, \
                          or name another in AGENTKERNEL_BASE_URL.";

pub struct Link {
    sender: SendRequest<Full<Bytes>>,
    task: AbortHandle,
    idle_since: Instant,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Link {
    async fn open(place: &Place) -> Result<Self, Error> {
        let unreached = |cause: std::io::Error| Error::Transport {
            message: format!("{place} could not be reached: {cause}. {START_HINT}"),
            unsent: true,
        };
        match place {
            Place::Unix(path) => {
                Self::over(UnixStream::connect(path).await.map_err(unreached)?).await
            }
            Place::Tcp { host, port, .. } => {
                let stream = TcpStream::connect((host.as_str(), *port))
                    .await
                    .map_err(unreached)?;
                stream.set_nodelay(true).map_err(unreached)?;
                Self::over(stream).await
            }
        }
    }

    async fn over<S>(stream: S) -> Result<Self, Error>
    where
        TokioIo<S>: Read + Write + Send + Unpin + 'static,
    {
        let (sender, connection) = handshake(TokioIo::new(stream))
            .await
            .map_err(|cause| Error::broken(&cause))?;
        // It ends with the link; what went wrong on it is told to whoever sends or reads.
        let task = tokio::spawn(async move {
            let _ = connection.await;
        });
        Ok(Self {
            sender,
            task: task.abort_handle(),
            idle_since: Instant::now(),
        })
    }
}

#[derive(Clone, Default)]
pub struct Links(Arc<Mutex<Vec<Link>>>);

impl Links {
    /// The head of an answer, and the link that its body comes by.
    pub async fn send(
        &self,
        place: &Place,
        mut request: Request<Full<Bytes>>,
    ) -> Result<(Response<Incoming>, Link), Error> {
        while let Some(mut link) = self.take() {
            match link.sender.try_send_request(request).await {
                Ok(response) => return Ok((response, link)),
                Err(mut failed) => match failed.take_message() {
                    // It was cut before anything was written; the next one may do.
                    Some(unsent) => request = unsent,
                    None => return Err(Error::broken(failed.error())),
                },
            }
        }
        let mut link = Link::open(place).await?;
        let response = link
            .sender
            .send_request(request)
            .await
            .map_err(|cause| Error::broken(&cause))?;
        Ok((response, link))
    }

    /// After its answer was read to the end.
    pub fn keep(&self, mut link: Link) {
        link.idle_since = Instant::now();
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(link);
    }

    fn take(&self) -> Option<Link> {
        let mut links = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|link| link.idle_since.elapsed() < KEPT && link.sender.is_ready());
        links.pop()
    }
}
