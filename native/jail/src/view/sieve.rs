//! Names that no rule can be about, told from two bytes at either end. Nearly all names of a project are such, and there are
//! thousands of them.

/// What rules ask of one end of a name: a byte and the one beside it, or a byte alone.
#[derive(Default)]
struct Ends {
    /// One bit for each pair of bytes, or for each of several pairs that share it: who finds none knows.
    pairs: Bits,
    alone: Bits,
}

#[derive(Default)]
struct Bits([u64; 4]);

impl Bits {
    fn add(&mut self, at: u8) {
        self.0[usize::from(at >> 6)] |= 1 << (at & 63);
    }

    fn has(&self, at: u8) -> bool {
        self.0[usize::from(at >> 6)] & 1 << (at & 63) != 0
    }
}

impl Ends {
    fn has(&self, outer: u8, inner: u8) -> bool {
        self.pairs.has(shared(outer, inner)) || self.alone.has(outer.to_ascii_lowercase())
    }
}

fn shared(outer: u8, inner: u8) -> u8 {
    outer.to_ascii_lowercase().wrapping_mul(31) ^ inner.to_ascii_lowercase()
}

/// Beside a name's only byte there is this one, which no name has.
const NONE: u8 = 0;

#[derive(Default)]
pub struct Sieve {
    starts: Ends,
    ends: Ends,
    /// Some rule is about names that begin and end in any way.
    passes_all: bool,
}

impl Sieve {
    /// A rule about names that begin with `start` and end with `end`; `is_whole` where `start` is the whole name.
    pub fn add(&mut self, start: &[u8], end: &[u8], is_whole: bool) {
        match (start, end) {
            ([outer, inner, ..], _) => self.starts.pairs.add(shared(*outer, *inner)),
            ([outer], _) if is_whole => self.starts.pairs.add(shared(*outer, NONE)),
            ([outer], _) => self.starts.alone.add(outer.to_ascii_lowercase()),
            ([], [.., inner, outer]) => self.ends.pairs.add(shared(*outer, *inner)),
            ([], [outer]) => self.ends.alone.add(outer.to_ascii_lowercase()),
            ([], []) => self.passes_all = true,
        }
    }

    /// False only where no rule that was added can be about this name, which is folded but for the case of its letters.
    pub fn passes(&self, name: &[u8]) -> bool {
        let (start, end) = match name {
            [] => return self.passes_all,
            [one] => ((*one, NONE), (*one, NONE)),
            [first, second, ..] => ((*first, *second), (name[name.len() - 1], name[name.len() - 2])),
        };
        self.passes_all || self.starts.has(start.0, start.1) || self.ends.has(end.0, end.1)
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
        let made = sieve(&[(".env", ".env", false), ("", ".pem", false), ("a", "a", true), ("z", "z", false)]);
        let names = ["index.ts", "README.md", "src", "ab", "lib.rs", "x", "package.json", "tsconfig.json"];
        assert!(names.iter().filter(|name| made.passes(name.as_bytes())).count() <= 1);
        assert!(!sieve(&[]).passes(b"a"));
    }
}
