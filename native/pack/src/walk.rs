//! Walks a directory by descriptors and writes each entry. Order and every field come from the files alone.

use std::collections::HashMap;
use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fgetxattr, flistxattr, fstat, openat, readlinkat, statat,
};
use tar::{Builder, EntryType, Header};

/// A directory inside a directory costs a descriptor; deeper trees are refused instead of running out of them.
const MAX_DEPTH: usize = 200;

type Skip<'a> = dyn Fn(&str, &[u8]) + 'a;

struct Packer<'a, W: Write> {
    tar: Builder<W>,
    /// The filesystem of the directory itself.
    device: u64,
    /// Files with several names, by where their first name went.
    links: HashMap<u64, Vec<u8>>,
    skip: &'a Skip<'a>,
}

/// Text that is safe to print.
pub fn shown(path: &[u8]) -> String {
    String::from_utf8_lossy(path).escape_debug().to_string()
}

pub fn pack<W: Write>(directory: &OsStr, out: W, skip: impl Fn(&str, &[u8])) -> io::Result<W> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let top = openat(CWD, directory, flags, Mode::empty())?;
    let stat = fstat(&top)?;
    let mut packer = Packer { tar: Builder::new(out), device: stat.st_dev, links: HashMap::new(), skip: &skip };
    packer.directory(top, b"", &stat, 0)?;
    packer.tar.into_inner()
}

impl<W: Write> Packer<'_, W> {
    fn directory(&mut self, directory: OwnedFd, path: &[u8], stat: &Stat, depth: usize) -> io::Result<()> {
        if depth > MAX_DEPTH {
            return Err(io::Error::other(format!("{} is nested too deeply", shown(path))));
        }
        let name = if path.is_empty() { b"./".to_vec() } else { [path, b"/"].concat() };
        self.entry(EntryType::Directory, &name, stat, Some(directory.as_fd()), None)?;
        if stat.st_dev != self.device {
            (self.skip)("mount", path);
            return Ok(());
        }
        for child in sorted_names(&directory)? {
            let child_path =
                if path.is_empty() { child.to_bytes().to_vec() } else { [path, b"/", child.to_bytes()].concat() };
            self.child(&directory, &child, &child_path, depth).map_err(|error| named(error, &child_path))?;
        }
        Ok(())
    }

    fn child(&mut self, directory: &OwnedFd, name: &CString, path: &[u8], depth: usize) -> io::Result<()> {
        let stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match kind {
            FileType::Directory => {
                let inner = openat(directory, name, flags | OFlags::DIRECTORY, Mode::empty())?;
                let stat = fstat(&inner)?;
                self.directory(inner, path, &stat, depth + 1)
            }
            FileType::RegularFile => {
                if stat.st_nlink > 1 {
                    if let Some(first) = self.links.get(&stat.st_ino).cloned() {
                        return self.entry(EntryType::Link, path, &stat, None, Some(&first));
                    }
                    self.links.insert(stat.st_ino, path.to_vec());
                }
                let file = openat(directory, name, flags | OFlags::NONBLOCK, Mode::empty())?;
                let stat = fstat(&file)?;
                if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
                    return Err(io::Error::other("it changed while it was read"));
                }
                self.entry(EntryType::Regular, path, &stat, Some(file.as_fd()), None)
            }
            FileType::Symlink => {
                let target = readlinkat(directory, name, Vec::new())?;
                self.entry(EntryType::Symlink, path, &stat, None, Some(target.to_bytes()))
            }
            FileType::Fifo => self.entry(EntryType::Fifo, path, &stat, None, None),
            FileType::CharacterDevice | FileType::BlockDevice => {
                (self.skip)("device", path);
                Ok(())
            }
            _ => {
                (self.skip)("socket", path);
                Ok(())
            }
        }
    }

    fn entry(
        &mut self,
        kind: EntryType,
        path: &[u8],
        stat: &Stat,
        opened: Option<BorrowedFd>,
        link: Option<&[u8]>,
    ) -> io::Result<()> {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(stat.st_mode & 0o7777);
        header.set_uid(u64::from(stat.st_uid));
        header.set_gid(u64::from(stat.st_gid));
        header.set_mtime(u64::try_from(stat.st_mtime).unwrap_or(0));
        header.set_size(0);
        if let Some(fd) = opened {
            let attributes = attributes(fd)?;
            let records = attributes.iter().map(|(name, value)| (name.as_str(), value.as_slice()));
            // Writes nothing where there are none.
            self.tar.append_pax_extensions(records)?;
        }
        let path = OsStr::from_bytes(path);
        match (link, opened) {
            // Word for word, where it fits: the library tidies paths.
            (Some(target), _) if target.len() <= 100 => {
                header.set_link_name_literal(target)?;
                self.tar.append_data(&mut header, path, io::empty())
            }
            (Some(target), _) => self.tar.append_link(&mut header, path, OsStr::from_bytes(target)),
            (None, Some(fd)) if kind == EntryType::Regular => {
                let size = u64::try_from(stat.st_size).map_err(io::Error::other)?;
                header.set_size(size);
                let file = File::from(fd.try_clone_to_owned()?);
                self.tar.append_data(&mut header, path, Exactly { file, left: size })
            }
            _ => self.tar.append_data(&mut header, path, io::empty()),
        }
    }
}

fn named(error: io::Error, path: &[u8]) -> io::Error {
    // The innermost path is the one to tell.
    if error.to_string().starts_with("'") {
        return error;
    }
    io::Error::new(error.kind(), format!("'{}': {error}", shown(path)))
}

fn sorted_names(directory: &OwnedFd) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        if entry.file_name() != c"." && entry.file_name() != c".." {
            names.push(entry.file_name().to_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Those that mean something in an image, sorted: users' own ones, and file capabilities.
fn attributes(file: BorrowedFd) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut list = vec![0; 64 * 1024];
    let length = match flistxattr(file, &mut list) {
        Ok(length) => length,
        // A filesystem without them.
        Err(rustix::io::Errno::NOTSUP) => 0,
        Err(error) => return Err(error.into()),
    };
    let mut found = Vec::new();
    for name in list[..length].split(|byte| *byte == 0) {
        let Ok(name) = std::str::from_utf8(name) else { continue };
        if name != "security.capability" && !name.starts_with("user.") {
            continue;
        }
        let mut value = vec![0; 64 * 1024];
        let size = fgetxattr(file, name, &mut value)?;
        value.truncate(size);
        found.push((format!("SCHILY.xattr.{name}"), value));
    }
    found.sort();
    Ok(found)
}

/// As many bytes as the header says: a file that grows is cut, one that shrinks is a fault.
struct Exactly {
    file: File,
    left: u64,
}

impl Read for Exactly {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        if most == 0 {
            return Ok(0);
        }
        let count = self.file.read(&mut buffer[..most])?;
        if count == 0 {
            return Err(io::Error::other("it became shorter while it was read"));
        }
        self.left -= count as u64;
        Ok(count)
    }
}
