//! Zstandard data of any number of frames, as tools write it that make parts of a layer readable by themselves. Frames
//! that are to be skipped hold such a tool's notes.

use std::io::{self, BufRead, Read};

use ruzstd::decoding::{
    BlockDecodingStrategy, FrameDecoder,
    errors::{FrameDecoderError, ReadFrameHeaderError},
};

pub struct ZstdFrames<R> {
    source: R,
    decoder: FrameDecoder,
    is_within: bool,
    frames: u64,
}

impl<R: BufRead> ZstdFrames<R> {
    pub fn new(source: R) -> Self {
        Self { source, decoder: FrameDecoder::new(), is_within: false, frames: 0 }
    }

    /// False at the end. A file without any frame is no compressed file.
    fn begin_frame(&mut self) -> io::Result<bool> {
        if self.source.fill_buf()?.is_empty() {
            return if self.frames > 0 { Ok(false) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
        }
        match self.decoder.init(&mut self.source) {
            Ok(()) => self.is_within = true,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                let length = u64::from(length);
                if io::copy(&mut self.source.by_ref().take(length), &mut io::sink())? < length {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            Err(e) => return Err(io::Error::other(e)),
        }
        self.frames += 1;
        Ok(true)
    }
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.is_within {
                if !self.begin_frame()? {
                    return Ok(0);
                }
                continue;
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let some = BlockDecodingStrategy::UptoBytes(buffer.len());
                self.decoder.decode_blocks(&mut self.source, some).map_err(io::Error::other)?;
            }
            let n = self.decoder.read(buffer)?;
            if n > 0 {
                return Ok(n);
            }
            self.is_within = false;
        }
    }
}
