//! The contents of a directory. They are read when a module starts a listing, and served from that until it starts
//! again.

use rustix::fs::{Dir, FileType, fstat};

use crate::wasi::errno::{Answer, Errno};
use crate::wasi::guest::Guest;
use crate::wasi::metadata::kind_number;

pub struct Listed(Vec<Entry>);

struct Entry {
    name: Vec<u8>,
    inode: u64,
    kind: u8,
}

const HEAD_BYTES: usize = 24;

impl Guest<'_> {
    pub fn fd_readdir(&mut self, fd: u32, buffer: u32, room: u32, cookie: u64, at: u32) -> Answer {
        self.bytes(buffer, room)?;
        let directory = self.wasi.descriptors.directory(fd)?;
        if cookie == 0 || directory.listed.is_none() {
            let own = fstat(&directory.fd)?.st_ino;
            let mut entries = Vec::new();
            for entry in Dir::read_from(&directory.fd)? {
                let entry = entry?;
                let name = entry.file_name().to_bytes().to_vec();
                // The parent's inode number is not disclosed.
                let inode = if name == b".." { own } else { entry.ino() };
                let kind = if name == b".." { FileType::Directory } else { entry.file_type() };
                entries.push(Entry { name, inode, kind: kind_number(kind) });
            }
            directory.listed = Some(Listed(entries));
        }
        let entries = directory.listed.as_ref().map_or(&[][..], |listed| &listed.0);
        let first = usize::try_from(cookie).map_err(|_| Errno::INVAL)?;
        let mut told = Vec::new();
        for (index, entry) in entries.iter().enumerate().skip(first) {
            if told.len() >= room as usize {
                break;
            }
            let mut head = [0; HEAD_BYTES];
            head[0..8].copy_from_slice(&(index as u64 + 1).to_le_bytes());
            head[8..16].copy_from_slice(&entry.inode.to_le_bytes());
            head[16..20].copy_from_slice(&(entry.name.len() as u32).to_le_bytes());
            head[20] = entry.kind;
            told.extend_from_slice(&head);
            told.extend_from_slice(&entry.name);
        }
        // The last may be cut off: a full buffer says that there is more.
        told.truncate(room as usize);
        self.put(buffer, &told)?;
        self.put_u32(at, told.len() as u32)
    }
}
