//! Reads tar archives as images have them: ustar, pax and GNU's, with long names, attributes and sparse files. It makes
//! nothing on disk and believes nothing: every number is checked, and what is held of an archive is bounded.

mod header;
mod pax;
mod sparse;

use std::io::{self, Read};

use crate::refused::Refused;
pub use header::Time;
use header::{BLOCK, Header};
use pax::Pax;
pub use sparse::Segment;

/// The longest name or extended header. Attributes have at most 64 KiB each.
const MAX_EXTENSION: u64 = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    File,
    Directory,
    Symlink,
    HardLink,
    Fifo,
    Device,
    Unknown,
}

#[derive(Debug)]
pub struct Member {
    pub path: Vec<u8>,
    pub link: Vec<u8>,
    pub kind: Kind,
    pub uid: u64,
    pub gid: u64,
    pub mode: u32,
    pub time: Time,
    pub attributes: Vec<(Vec<u8>, Vec<u8>)>,
    /// The size of the resulting file.
    pub size: u64,
    /// The parts of a sparse file that are in the archive, one after the other; the rest is empty.
    pub segments: Option<Vec<Segment>>,
}

/// Reading from it gives the bytes that it holds of the current member.
pub struct Archive<R> {
    source: R,
    left: u64,
    padding: u64,
}

impl<R: Read> Archive<R> {
    pub fn new(source: R) -> Self {
        Self { source, left: 0, padding: 0 }
    }

    /// `None` at the archive's end.
    pub fn next_member(&mut self) -> Result<Option<Member>, Refused> {
        let mut pax = Pax::default();
        let (mut name, mut link) = (None, None);
        let mut is_described = false;
        loop {
            self.skip_rest()?;
            let Some(header) = self.header()? else {
                return if is_described {
                    Err(malformed("it ends before an entry that it describes"))
                } else {
                    Ok(None)
                };
            };
            match header.kind() {
                b'x' => pax = Pax::parse(&self.extension(&header)?)?,
                b'L' => name = Some(up_to_zero(self.extension(&header)?)),
                b'K' => link = Some(up_to_zero(self.extension(&header)?)),
                // A global header describes the whole archive, such as the commit that it was made from.
                b'g' => drop(self.extension(&header)?),
                _ => return self.member(&header, pax, name, link).map(Some),
            }
            is_described = header.kind() != b'g' || is_described;
        }
    }

    fn member(
        &mut self,
        header: &Header,
        pax: Pax,
        name: Option<Vec<u8>>,
        link: Option<Vec<u8>>,
    ) -> Result<Member, Refused> {
        let path = name.or(pax.path).unwrap_or_else(|| header.path());
        let kind = kind_of(header.kind(), &path);
        let stored = match kind {
            Kind::File | Kind::Unknown => pax.size.map_or_else(|| header.size(), Ok)?,
            // The size field of these types has another meaning.
            _ => 0,
        };
        self.expect(stored)?;
        let mut member = Member {
            path,
            link: link.or(pax.link).unwrap_or_else(|| header.link()),
            kind,
            uid: pax.uid.map_or_else(|| header.uid(), Ok)?,
            gid: pax.gid.map_or_else(|| header.gid(), Ok)?,
            mode: header.mode()?,
            time: pax.time.map_or_else(|| header.time(), Ok)?,
            attributes: pax.attributes,
            size: stored,
            segments: None,
        };
        if kind == Kind::File {
            self.read_segments(&mut member, header, pax.sparse)?;
        }
        Ok(member)
    }

    fn read_segments(
        &mut self,
        member: &mut Member,
        header: &Header,
        said: sparse::SparseHeader,
    ) -> Result<(), Refused> {
        let (segments, size) = if header.kind() == b'S' {
            let (mut segments, mut goes_on) = header.segments()?;
            while goes_on {
                goes_on = sparse::read_more(&self.block()?.ok_or_else(cut_short)?, &mut segments)?;
            }
            (segments, header.real_size()?)
        } else if said.is_in_data {
            (sparse::read_from_data(self)?, said.size.ok_or_else(|| malformed("a sparse file has no size"))?)
        } else if let Some(segments) = said.segments()? {
            (segments, said.size.ok_or_else(|| malformed("a sparse file has no size"))?)
        } else {
            return Ok(());
        };
        sparse::check(&segments, self.left, size)?;
        if let Some(name) = said.name {
            member.path = name;
        }
        member.size = size;
        member.segments = Some(segments);
        Ok(())
    }

    fn expect(&mut self, bytes: u64) -> Result<(), Refused> {
        self.left = bytes;
        self.padding = bytes.wrapping_neg() % BLOCK as u64;
        if bytes > i64::MAX as u64 { Err(malformed("an entry has an impossible size")) } else { Ok(()) }
    }

    fn skip_rest(&mut self) -> Result<(), Refused> {
        let rest = self.left.saturating_add(self.padding);
        (self.left, self.padding) = (0, 0);
        let skipped = io::copy(&mut self.source.by_ref().take(rest), &mut io::sink()).map_err(unreadable())?;
        if skipped == rest { Ok(()) } else { Err(cut_short()) }
    }

    /// `None` at the end, which is a block of zeros, or nothing.
    fn header(&mut self) -> Result<Option<Header>, Refused> {
        match self.block()? {
            Some(block) if block.iter().any(|&byte| byte != 0) => Header::parse(block).map(Some),
            _ => Ok(None),
        }
    }

    fn block(&mut self) -> Result<Option<[u8; BLOCK]>, Refused> {
        let mut block = Vec::with_capacity(BLOCK);
        self.source.by_ref().take(BLOCK as u64).read_to_end(&mut block).map_err(unreadable())?;
        if block.is_empty() {
            return Ok(None);
        }
        block.try_into().map(Some).map_err(|_| cut_short())
    }

    fn extension(&mut self, header: &Header) -> Result<Vec<u8>, Refused> {
        let size = header.size()?;
        if size > MAX_EXTENSION {
            return Err(malformed("it describes an entry with more than 1 MiB"));
        }
        self.expect(size)?;
        let mut text = Vec::new();
        self.by_ref().read_to_end(&mut text).map_err(unreadable())?;
        if self.left > 0 { Err(cut_short()) } else { Ok(text) }
    }
}

impl<R: Read> Read for Archive<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.source.by_ref().take(self.left).read(buffer)?;
        self.left -= n as u64;
        Ok(n)
    }
}

fn kind_of(flag: u8, path: &[u8]) -> Kind {
    match flag {
        // The oldest archives have no kind for directories.
        0 if path.ends_with(b"/") => Kind::Directory,
        0 | b'0' | b'7' | b'S' => Kind::File,
        b'1' => Kind::HardLink,
        b'2' => Kind::Symlink,
        b'3' | b'4' => Kind::Device,
        b'5' => Kind::Directory,
        b'6' => Kind::Fifo,
        _ => Kind::Unknown,
    }
}

fn up_to_zero(mut text: Vec<u8>) -> Vec<u8> {
    text.truncate(text.iter().position(|&byte| byte == 0).unwrap_or(text.len()));
    text
}

fn malformed(why: &str) -> Refused {
    Refused::Hostile(format!("the archive is malformed: {why}"))
}

pub fn cut_short() -> Refused {
    malformed("it is cut short")
}

fn unreadable() -> impl FnOnce(io::Error) -> Refused {
    Refused::during("read the archive")
}
