//! A layer as it comes from the store: decompressed in a thread of its own, and its uncompressed digest taken on the way.

use std::{
    fs::File,
    io::{self, Read},
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread::JoinHandle,
};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::zstd_frames::ZstdFrames;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    None,
    Gzip,
    Zstd,
}

const CHUNK: usize = 512 << 10;
const CHUNKS_AHEAD: usize = 8;

/// The archive, to be read to its end.
pub struct Tar {
    chunks: Receiver<Vec<u8>>,
    current: io::Cursor<Vec<u8>>,
    reader: Option<JoinHandle<io::Result<String>>>,
    digest: Option<String>,
    /// Bytes handed out. Some builders leave out the padding after the last entry; readers of archives want it.
    given: u64,
}

const BLOCK: u64 = 512;

impl Tar {
    /// Reads at most `limit` bytes: a small file may claim to be endless.
    pub fn open(blob: File, compression: Compression, limit: u64) -> Self {
        let (sender, chunks) = sync_channel(CHUNKS_AHEAD);
        let reader = std::thread::spawn(move || decompress(blob, compression, limit, &sender));
        Self { chunks, current: io::Cursor::default(), reader: Some(reader), digest: None, given: 0 }
    }

    /// The digest of everything, the padding after the archive's end included.
    pub fn finish(mut self) -> io::Result<String> {
        while self.refill()? {}
        self.digest.ok_or_else(|| io::Error::other("the layer's reader failed"))
    }

    /// False at the end. An archive that is cut short must not look like one that has ended, so the reader's failure is
    /// ours.
    fn refill(&mut self) -> io::Result<bool> {
        if let Ok(chunk) = self.chunks.recv() {
            self.current = io::Cursor::new(chunk);
            return Ok(true);
        }
        if let Some(reader) = self.reader.take() {
            self.digest = Some(reader.join().map_err(|_| io::Error::other("the layer's reader failed"))??);
        }
        Ok(false)
    }
}

impl Read for Tar {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let n = self.current.read(buffer)?;
            self.given += n as u64;
            if n > 0 || buffer.is_empty() {
                return Ok(n);
            }
            if !self.refill()? {
                let lacking = (BLOCK - self.given % BLOCK) % BLOCK;
                let n = buffer.len().min(lacking as usize);
                buffer[..n].fill(0);
                self.given += n as u64;
                return Ok(n);
            }
        }
    }
}

fn decompress(blob: File, compression: Compression, limit: u64, sender: &SyncSender<Vec<u8>>) -> io::Result<String> {
    let buffered = io::BufReader::with_capacity(CHUNK, blob);
    let mut source: Box<dyn Read> = match compression {
        Compression::None => Box::new(buffered),
        Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(buffered)),
        Compression::Zstd => Box::new(ZstdFrames::new(buffered)),
    };
    let mut digest = Sha256::new();
    let mut left = limit;
    loop {
        let mut chunk = Vec::with_capacity(CHUNK);
        source.by_ref().take(CHUNK as u64).read_to_end(&mut chunk)?;
        if chunk.is_empty() {
            break;
        }
        left =
            left.checked_sub(chunk.len() as u64).ok_or_else(|| io::Error::other("it is larger than a layer may be"))?;
        digest.update(&chunk);
        if sender.send(chunk).is_err() {
            return Err(io::Error::other("the archive was not read to its end"));
        }
    }
    let hex: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("sha256:{hex}"))
}
