//! Archives made by hand, also such as no program makes.

#![allow(dead_code)]

pub struct Item {
    name: Vec<u8>,
    kind: u8,
    link: Vec<u8>,
    data: Vec<u8>,
    mode: u32,
    uid: u64,
    gid: u64,
    mtime: u64,
    size: Option<u64>,
    pax: Vec<(Vec<u8>, Vec<u8>)>,
    /// Bytes to lay over the header, such as GNU's own fields.
    over: Vec<(usize, Vec<u8>)>,
}

impl Item {
    pub fn new(kind: u8, name: impl AsRef<[u8]>) -> Self {
        Self {
            name: name.as_ref().to_vec(),
            kind,
            link: Vec::new(),
            data: Vec::new(),
            mode: if kind == b'5' { 0o755 } else { 0o644 },
            uid: 0,
            gid: 0,
            mtime: 1_600_000_000,
            size: None,
            pax: Vec::new(),
            over: Vec::new(),
        }
    }

    pub fn file(name: impl AsRef<[u8]>, data: impl AsRef<[u8]>) -> Self {
        Self { data: data.as_ref().to_vec(), ..Self::new(b'0', name) }
    }

    pub fn directory(name: impl AsRef<[u8]>) -> Self {
        Self::new(b'5', name)
    }

    pub fn symlink(name: impl AsRef<[u8]>, target: impl AsRef<[u8]>) -> Self {
        Self { link: target.as_ref().to_vec(), ..Self::new(b'2', name) }
    }

    pub fn hardlink(name: impl AsRef<[u8]>, target: impl AsRef<[u8]>) -> Self {
        Self { link: target.as_ref().to_vec(), ..Self::new(b'1', name) }
    }

    pub fn mode(self, mode: u32) -> Self {
        Self { mode, ..self }
    }

    pub fn owner(self, uid: u64, gid: u64) -> Self {
        Self { uid, gid, ..self }
    }

    pub fn time(self, mtime: u64) -> Self {
        Self { mtime, ..self }
    }

    /// Sets the size in the header, whatever data follows.
    pub fn size(self, size: u64) -> Self {
        Self { size: Some(size), ..self }
    }

    pub fn data(self, data: impl AsRef<[u8]>) -> Self {
        Self { data: data.as_ref().to_vec(), ..self }
    }

    pub fn pax(mut self, key: &str, value: impl AsRef<[u8]>) -> Self {
        self.pax.push((key.into(), value.as_ref().to_vec()));
        self
    }

    pub fn over(mut self, at: usize, bytes: impl AsRef<[u8]>) -> Self {
        self.over.push((at, bytes.as_ref().to_vec()));
        self
    }

    fn header(&self) -> [u8; 512] {
        let mut block = [0u8; 512];
        let mut put = |at: usize, bytes: &[u8]| block[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &self.name[..self.name.len().min(100)]);
        put(100, &number(self.mode.into(), 8));
        put(108, &number(self.uid, 8));
        put(116, &number(self.gid, 8));
        put(124, &number(self.size.unwrap_or(self.data.len() as u64), 12));
        put(136, &number(self.mtime, 12));
        put(156, &[self.kind]);
        put(157, &self.link[..self.link.len().min(100)]);
        put(257, if self.kind == b'S' { b"ustar  \0" } else { b"ustar\x0000" });
        for (at, bytes) in &self.over {
            put(*at, bytes);
        }
        seal(&mut block);
        block
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if !self.pax.is_empty() {
            let records: Vec<u8> = self.pax.iter().flat_map(|(key, value)| record(key, value)).collect();
            out.extend(Self::new(b'x', "pax").data(records).bytes());
        }
        for (kind, text) in [(b'L', &self.name), (b'K', &self.link)] {
            if text.len() > 100 {
                out.extend(Self::new(kind, "././@LongLink").data([text, &b"\0"[..]].concat()).bytes());
            }
        }
        out.extend(self.header());
        out.extend(&self.data);
        out.resize(out.len().next_multiple_of(512), 0);
        out
    }
}

/// Makes a header's checksum right.
pub fn seal(block: &mut [u8]) {
    block[148..156].fill(b' ');
    let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

/// Octal, or binary where that is too long.
pub fn number(value: u64, width: usize) -> Vec<u8> {
    let octal = format!("{value:0>width$o}\0", width = width - 1).into_bytes();
    if octal.len() == width {
        return octal;
    }
    let mut binary = vec![0; width];
    let bytes = value.to_be_bytes();
    let kept = bytes.len().min(width - 1);
    binary[width - kept..].copy_from_slice(&bytes[bytes.len() - kept..]);
    binary[0] |= 0x80;
    binary
}

fn record(key: &[u8], value: &[u8]) -> Vec<u8> {
    let rest = [b" ", key, b"=", value, b"\n"].concat();
    let mut length = rest.len() + 1;
    while length != rest.len() + length.to_string().len() {
        length = rest.len() + length.to_string().len();
    }
    [length.to_string().as_bytes(), &rest].concat()
}

pub fn archive(items: impl IntoIterator<Item = Item>) -> Vec<u8> {
    let mut bytes: Vec<u8> = items.into_iter().flat_map(|item| item.bytes()).collect();
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}
