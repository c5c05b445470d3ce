//! Names that no rule can be about, told from a few bytes at either end. Nearly all names of a project are such, and there
//! are thousands of them, so each is settled by a handful of look-ups in bitmaps of half a kilobyte.

/// So many bytes of an end are looked at.
const LONGEST: usize = 4;

/// Hashed: a bit that is not set is certain, one that is set may be another's.
#[derive(Clone, Copy)]
struct Bits([u64; 64]);

impl Default for Bits {
    fn default() -> Self {
        Self([0; 64])
    }
}

impl Bits {
    fn add(&mut self, hash: u32) {
        self.0[(hash >> 6) as usize & 63] |= 1 << (hash & 63);
    }

    fn has(&self, hash: u32) -> bool {
        self.0[(hash >> 6) as usize & 63] & 1 << (hash & 63) != 0
    }
}

/// FNV-1a, whose upper bits are folded into those that count.
#[derive(Clone, Copy)]
struct Hash(u32);

impl Hash {
    const NONE: Self = Self(0x811c_9dc5);

    fn with(self, byte: u8) -> Self {
        Self((self.0 ^ u32::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0193))
    }

    fn bits(self) -> u32 {
        self.0 ^ self.0 >> 16
    }
}

/// What rules ask of one end of a name, by how many bytes they ask for.
#[derive(Default)]
struct Ends([Bits; LONGEST]);

impl Ends {
    /// `outermost_first` is not empty.
    fn add(&mut self, outermost_first: impl Iterator<Item = u8>) {
        let (mut hash, mut length) = (Hash::NONE, 0);
        for byte in outermost_first.take(LONGEST) {
            (hash, length) = (hash.with(byte), length + 1);
        }
        self.0[length - 1].add(hash.bits());
    }

    fn has(&self, outermost_first: impl Iterator<Item = u8>) -> bool {
        let mut hash = Hash::NONE;
        self.0.iter().zip(outermost_first).any(|(bits, byte)| {
            hash = hash.with(byte);
            bits.has(hash.bits())
        })
    }
}

/// Of a whole name: its length and a few bytes at either end.
fn whole(name: &[u8]) -> u32 {
    let ends = name.iter().take(LONGEST).chain(name.iter().rev().take(LONGEST));
    ends.fold(Hash::NONE.with(name.len() as u8), |hash, byte| hash.with(*byte)).bits()
}

#[derive(Default)]
pub struct Sieve {
    names: Bits,
    starts: Ends,
    ends: Ends,
    /// Some rule is about names that begin and end in any way.
    passes_all: bool,
}

impl Sieve {
    /// A rule about names that begin with `start` and end with `end`; `is_whole` where `start` is the whole name.
    pub fn add(&mut self, start: &[u8], end: &[u8], is_whole: bool) {
        match (start, end) {
            (name, _) if is_whole && !name.is_empty() => self.names.add(whole(name)),
            ([], []) => self.passes_all = true,
            ([], end) => self.ends.add(end.iter().rev().copied()),
            (start, _) => self.starts.add(start.iter().copied()),
        }
    }

    /// False only where no rule that was added can be about this name, which is folded but for the case of its letters.
    pub fn passes(&self, name: &[u8]) -> bool {
        self.passes_all
            || self.names.has(whole(name))
            || self.starts.has(name.iter().copied())
            || self.ends.has(name.iter().rev().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sieve(rules: &[(&str, &str, bool)]) -> Sieve {
        let mut made = Sieve::default();
        rules.iter().for_each(|(start, end, is_whole)| made.add(start.as_bytes(), end.as_bytes(), *is_whole));
        made
    }

    #[test]
    fn what_a_rule_is_about_passes() {
        let made = sieve(&[(".env", ".env", false), ("", ".pem", false), ("a", "a", true), ("b", "b", false)]);
        for name in [".env", ".env.local", "server.pem", ".pem", "a", "b", "bc", "b1.ts"] {
            assert!(made.passes(name.as_bytes()), "{name}");
        }
        assert!(sieve(&[("", "", false)]).passes(b"anything"));
        assert!(sieve(&[("", "x", false)]).passes(b"x") && sieve(&[("", "x", false)]).passes(b"1x"));
    }

    #[test]
    fn nearly_all_other_names_do_not() {
        let made = sieve(&[
            (".env", ".env", false),
            ("", ".pem", false),
            ("", ".json.bak", false),
            ("a", "a", true),
            ("z", "z", false),
            ("credentials", "credentials", true),
        ]);
        let names =
            ["index.ts", "README.md", "src", "ab", "lib.rs", "x", "package.json", "tsconfig.json", "credential"];
        assert!(names.iter().filter(|name| made.passes(name.as_bytes())).count() <= 1);
        assert!(!sieve(&[]).passes(b"a"));
    }
}
