//! The index (`.git/index`, versions 2 to 4), as far as flags of entries are concerned. All else is copied as it is.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use sha1::{Digest, Sha1};
use sha2::Sha256;

use crate::{
    hidden::HiddenPaths,
    id::{Id, SHA1, SHA256},
    malformed::{Malformed, Result},
};

const HEADER: usize = 12;
/// Times, device, inode, mode, owner and size.
const STATE: usize = 40;
const ASSUME_VALID: u16 = 0x8000;
const EXTENDED: u16 = 0x4000;
const SKIP_WORKTREE: u16 = 0x4000;
const INTENT_TO_ADD: u16 = 0x2000;
/// The mode of a file within its state.
const MODE: std::ops::Range<usize> = 24..28;
/// Extensions with offsets into the entries, which git does without.
const OFFSETS: [&[u8]; 2] = [b"EOIE", b"IEOT"];
/// Extensions by which git skips directories and files when it looks for changes. It makes them anew.
const CACHES: [&[u8]; 2] = [b"UNTR", b"FSMN"];
/// The entries of a split index lie in another file.
const SPLIT: &[u8] = b"link";

#[derive(Debug)]
pub struct Index<'a> {
    version: u32,
    pub(crate) hash: usize,
    entries: Vec<Entry<'a>>,
    extensions: Vec<(&'a [u8], &'a [u8])>,
    /// Bytes that paths of version 4 may still take: each states in a few bytes how much it has of the one before.
    room: usize,
}

#[derive(Debug)]
pub struct Entry<'a> {
    /// The fields of the entry before its flags.
    state: Cow<'a, [u8]>,
    flags: u16,
    extended: u16,
    /// As it is written: compressed against the path before it in version 4.
    written_path: &'a [u8],
    pub path: Cow<'a, [u8]>,
}

impl<'a> Index<'a> {
    /// Parses an index of a repository with SHA-1 or SHA-256 ids; the index does not state which. What git writes can
    /// be read with one only: an index that fits both would mean one thing here and another to git.
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        match (Self::with_hash(bytes, SHA1), Self::with_hash(bytes, SHA256)) {
            (Ok(_), Ok(_)) => Err(Malformed::new("the index can be read in two ways")),
            (Ok(index), Err(_)) | (Err(_), Ok(index)) => Ok(index),
            (Err(failed), Err(_)) => Err(failed),
        }
    }

    pub(crate) fn with_hash(bytes: &'a [u8], hash: usize) -> Result<Self> {
        let malformed = || Malformed::new("the index is malformed");
        let body = bytes.len().checked_sub(hash).filter(|end| *end >= HEADER).ok_or_else(malformed)?;
        let (bytes, number) = (&bytes[..body], |at: usize| u32_at(bytes, at).ok_or_else(malformed));
        let version = number(4)?;
        if &bytes[..4] != b"DIRC" || !(2..=4).contains(&version) {
            return Err(Malformed::new("the index has a format that is not known"));
        }
        let count = number(8)? as usize;
        if count > body / (STATE + hash + 2) {
            return Err(malformed());
        }
        let (entries, room) = (Vec::with_capacity(count), body.saturating_mul(MOST_GROWTH).saturating_add(LONGEST));
        let mut index = Self { version, hash, entries, extensions: Vec::new(), room };
        let mut at = HEADER;
        for _ in 0..count {
            at = index.read_entry(bytes, at).ok_or_else(malformed)?;
        }
        // Less than the head of an extension is passed over, as git does it.
        while at + 8 <= body {
            let (name, size) = (bytes.get(at..at + 4).ok_or_else(malformed)?, number(at + 4)? as usize);
            let data = bytes.get(at + 8..(at + 8).saturating_add(size)).ok_or_else(malformed)?;
            index.extensions.push((name, data));
            at += 8 + size;
        }
        Ok(index)
    }

    /// Where the next one begins.
    fn read_entry(&mut self, bytes: &'a [u8], start: usize) -> Option<usize> {
        let flags_at = start + STATE + self.hash;
        let state = bytes.get(start..flags_at)?;
        let flags = u16_at(bytes, flags_at)?;
        let mut at = flags_at + 2;
        let mut extended = 0;
        if flags & EXTENDED != 0 {
            extended = u16_at(bytes, at)?;
            at += 2;
        }
        let (written, path, next) = if self.version == 4 {
            let before = self.entries.last().map_or(&b""[..], |entry| &entry.path);
            let (strip, suffix) = offset(bytes, at)?;
            let end = suffix + bytes.get(suffix..)?.iter().position(|byte| *byte == 0)?;
            let kept = before.get(..before.len().checked_sub(strip)?)?;
            // A path of ours must not grow with each entry.
            (end - suffix <= LONGEST && kept.len() <= LONGEST).then_some(())?;
            self.room = self.room.checked_sub(kept.len() + end - suffix)?;
            (&bytes[at..=end], Cow::Owned([kept, &bytes[suffix..end]].concat()), end + 1)
        } else {
            let end = at + bytes.get(at..)?.iter().position(|byte| *byte == 0)?;
            let next = start + padded(end - start);
            bytes.get(end..next)?;
            (&bytes[at..end], Cow::Borrowed(&bytes[at..end]), next)
        };
        self.entries.push(Entry { state: Cow::Borrowed(state), flags, extended, written_path: written, path });
        Some(next)
    }

    /// Where most entries are in a shared file, this one does not say what is tracked.
    pub fn is_split(&self) -> bool {
        self.extensions.iter().any(|(name, data)| *name == SPLIT && data.iter().take(self.hash).any(|b| *b != 0))
    }

    pub fn entries(&self) -> &[Entry<'a>] {
        &self.entries
    }

    /// Has git look past the working tree for hidden files, so that it records none as deleted or emptied. How many
    /// files are tracked and hidden.
    pub fn skip(&mut self, hidden: &HiddenPaths) -> usize {
        for entry in self.entries.iter_mut().filter(|entry| hidden.is_outside(&entry.path)) {
            entry.extended |= SKIP_WORKTREE;
        }
        let mut tracked = 0;
        for path in hidden.iter() {
            // Sorted by git: a path, and later all that is below it, with other names in between.
            let below = [path, b"/"].concat();
            for start in [path, &below] {
                let first = self.entries.partition_point(|entry| &*entry.path < start);
                let is_meant = |entry: &&mut Entry<'_>| entry.path == path || entry.path.starts_with(&below);
                for entry in self.entries[first..].iter_mut().take_while(is_meant) {
                    entry.extended |= SKIP_WORKTREE;
                    tracked += 1;
                }
            }
        }
        tracked
    }

    /// The first path outside of the visible part of the working tree whose entry differs from that of `before`.
    pub fn differs_outside(&self, before: &Index<'_>, hidden: &HiddenPaths) -> Option<Vec<u8>> {
        let is_outside = |entry: &&Entry<'_>| hidden.is_outside(&entry.path);
        let (mut now, mut old) = (self.entries.iter().filter(is_outside), before.entries.iter().filter(is_outside));
        loop {
            match (now.next(), old.next()) {
                (None, None) => return None,
                (Some(now), Some(old)) if now.is_of(old) => {}
                (now, old) => return now.or(old).map(|entry| entry.path.to_vec()),
            }
        }
    }

    /// Clears every "skip-worktree" and "assume-unchanged" flag that `before` does not have: these hide files of the
    /// working tree from git's own output. Returns how many entries were changed.
    pub fn take_marks_of(&mut self, before: Option<&Index<'_>>) -> usize {
        self.take_marks(before, |_| false)
    }

    /// The same in a sparse checkout, where git skips files that another branch has: what `before` does not have at all
    /// stays skipped, or it would look deleted.
    pub fn take_marks_of_sparse(&mut self, before: Option<&Index<'_>>) -> usize {
        let known: HashSet<&[u8]> =
            before.into_iter().flat_map(|before| &before.entries).map(|entry| &*entry.path).collect();
        self.take_marks(before, |path| !known.contains(path))
    }

    fn take_marks(&mut self, before: Option<&Index<'_>>, is_new: impl Fn(&[u8]) -> bool) -> usize {
        let marked = before.into_iter().flat_map(|before| &before.entries).filter(|entry| entry.is_marked());
        let marks: HashMap<&[u8], (bool, bool)> =
            marked.map(|entry| (&*entry.path, (entry.skips(), entry.is_assumed()))).collect();
        let mut changed = 0;
        for entry in self.entries.iter_mut().filter(|entry| entry.is_marked() || marks.contains_key(&*entry.path)) {
            let kept = || (entry.skips() && is_new(&entry.path), false);
            let (skips, assumed) = marks.get(&*entry.path).copied().unwrap_or_else(kept);
            let (flags, extended) = (entry.flags, entry.extended);
            entry.flags = flags & !ASSUME_VALID | if assumed { ASSUME_VALID } else { 0 };
            entry.extended = extended & !SKIP_WORKTREE | if skips { SKIP_WORKTREE } else { 0 };
            changed += usize::from((entry.flags, entry.extended) != (flags, extended));
        }
        changed
    }

    /// Has git read each file anew of which `before` does not state the same: a sandbox could state the times and number
    /// of a file that it changed, which would then not be listed as changed. Returns how many entries were changed.
    pub fn forget_states(&mut self, before: Option<&Index<'_>>) -> usize {
        let known: HashMap<&[u8], &[u8]> =
            before.into_iter().flat_map(|before| &before.entries).map(|entry| (&*entry.path, &*entry.state)).collect();
        let mut changed = 0;
        for entry in self.entries.iter_mut().filter(|entry| known.get(&*entry.path) != Some(&&*entry.state)) {
            let mut state = vec![0; entry.state.len()];
            state[MODE].copy_from_slice(&entry.state[MODE]);
            state[STATE..].copy_from_slice(&entry.state[STATE..]);
            if state != *entry.state {
                entry.state = Cow::Owned(state);
                changed += 1;
            }
        }
        changed
    }

    /// Whether it has lists by which git skips what it would look at.
    pub fn has_caches(&self) -> bool {
        self.extensions.iter().any(|(name, _)| CACHES.contains(name))
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let has_extended = self.entries.iter().any(|entry| entry.extended != 0);
        let version = if self.version == 4 { 4 } else { 2 + u32::from(has_extended) };
        let mut out = Vec::new();
        out.extend_from_slice(b"DIRC");
        out.extend_from_slice(&version.to_be_bytes());
        out.extend_from_slice(&(self.entries.len() as u32).to_be_bytes());
        for entry in &self.entries {
            let start = out.len();
            out.extend_from_slice(&entry.state);
            let flags = entry.flags & !EXTENDED | if entry.extended != 0 { EXTENDED } else { 0 };
            out.extend_from_slice(&flags.to_be_bytes());
            if entry.extended != 0 {
                out.extend_from_slice(&entry.extended.to_be_bytes());
            }
            out.extend_from_slice(entry.written_path);
            if version != 4 {
                out.resize(start + padded(out.len() - start), 0);
            }
        }
        for (name, data) in self.extensions.iter().filter(|(name, _)| !OFFSETS.contains(name) && !CACHES.contains(name))
        {
            out.extend_from_slice(name);
            out.extend_from_slice(&(data.len() as u32).to_be_bytes());
            out.extend_from_slice(data);
        }
        if self.hash == SHA1 {
            let sum = Sha1::digest(&out);
            out.extend_from_slice(&sum);
        } else {
            let sum = Sha256::digest(&out);
            out.extend_from_slice(&sum);
        }
        out
    }
}

impl Entry<'_> {
    pub fn skips(&self) -> bool {
        self.extended & SKIP_WORKTREE != 0
    }

    fn is_assumed(&self) -> bool {
        self.flags & ASSUME_VALID != 0
    }

    fn is_marked(&self) -> bool {
        self.skips() || self.is_assumed()
    }

    /// Whether it is a submodule, which has no content here.
    pub fn is_gitlink(&self) -> bool {
        u32_at(&self.state, MODE.start) == Some(0o160_000)
    }

    /// Whether both stage the same: path, mode, object and stage.
    fn is_of(&self, other: &Self) -> bool {
        const STAGE: u16 = 0x3000;
        self.path == other.path
            && self.state[MODE] == other.state[MODE]
            && self.state[STATE..] == other.state[STATE..]
            && self.flags & STAGE == other.flags & STAGE
            && (self.extended ^ other.extended) & INTENT_TO_ADD == 0
    }

    pub fn id(&self) -> Option<Id> {
        Id::of(&self.state[STATE..])
    }
}

/// No path that git could check out is longer.
const LONGEST: usize = 1 << 16;
/// How much larger than the index its paths may be together. An entry has more than 60 bytes, so that paths of a
/// thousand bytes fit throughout.
const MOST_GROWTH: usize = 16;

/// Entries before version 4 end with one to eight zeros.
fn padded(length: usize) -> usize {
    (length + 8) & !7
}

/// git's variable-length offset, and where it ends.
pub fn offset(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut byte = *bytes.get(at)?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        at += 1;
        byte = *bytes.get(at)?;
        value = value.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
    }
    Some((value, at + 1))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at.checked_add(4)?).and_then(|part| part.try_into().ok()).map(u32::from_be_bytes)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at.checked_add(2)?).and_then(|part| part.try_into().ok()).map(u16::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(entries: &[(&str, bool)], behind: &[u8]) -> Vec<u8> {
        let mut out = [&b"DIRC\0\0\0\x03"[..], &(entries.len() as u32).to_be_bytes()].concat();
        for (path, skips) in entries {
            let start = out.len();
            out.extend([0; STATE + SHA1]);
            out.extend((EXTENDED | path.len() as u16).to_be_bytes());
            out.extend((if *skips { SKIP_WORKTREE } else { 0 }).to_be_bytes());
            out.extend(path.as_bytes());
            out.resize(start + padded(out.len() - start), 0);
        }
        out.extend(behind);
        out.extend([0; SHA1]);
        out
    }

    fn skipped(bytes: &[u8]) -> Vec<String> {
        let index = Index::parse(bytes).expect("parse");
        let skipped = index.entries().iter().filter(|entry| entry.skips());
        skipped.map(|entry| String::from_utf8_lossy(&entry.path).into_owned()).collect()
    }

    #[test]
    fn bytes_that_git_passes_over_hide_no_marks() {
        for behind in [&b""[..], b"x", b"1234567"] {
            let bytes = index(&[("a", true)], behind);
            let mut parsed = Index::parse(&bytes).expect("parse");
            assert_eq!(parsed.take_marks_of(None), 1);
            assert_eq!(skipped(&parsed.to_bytes()), [""; 0]);
        }
    }

    #[test]
    fn git_reads_anew_what_only_the_sandbox_states() {
        let (before, mut after) =
            (index(&[("a", false), ("b", false)], b""), index(&[("a", false), ("b", false)], b""));
        // The size of the second one; the entries are as long as each other.
        let entry = (after.len() - HEADER - SHA1) / 2;
        after[HEADER + entry + 36..HEADER + entry + STATE].copy_from_slice(&7u32.to_be_bytes());
        let before = Index::parse(&before).expect("parse");
        let mut parsed = Index::parse(&after).expect("parse");
        assert_eq!(parsed.forget_states(Some(&before)), 1);
        assert_eq!(parsed.to_bytes(), before.to_bytes());
        assert_eq!(parsed.forget_states(None), 0);
    }

    #[test]
    fn lists_of_what_git_may_skip_are_left_out() {
        let bytes = index(&[("a", false)], b"UNTR\0\0\0\x01xTREE\0\0\0\x01y");
        let parsed = Index::parse(&bytes).expect("parse");
        assert!(parsed.has_caches());
        let bytes = parsed.to_bytes();
        let parsed = Index::parse(&bytes).expect("parse");
        assert_eq!(parsed.extensions, [(&b"TREE"[..], &b"y"[..])]);
    }

    #[test]
    fn in_a_sparse_checkout_what_is_new_stays_skipped() {
        let (before, after) =
            (index(&[("a", false), ("b", true)], b""), index(&[("a", true), ("b", false), ("c", true)], b""));
        let before = Index::parse(&before).expect("parse");
        let mut parsed = Index::parse(&after).expect("parse");
        parsed.take_marks_of_sparse(Some(&before));
        assert_eq!(skipped(&parsed.to_bytes()), ["b", "c"]);
        parsed.take_marks_of(Some(&before));
        assert_eq!(skipped(&parsed.to_bytes()), ["b"]);
    }
}
