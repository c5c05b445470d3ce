//! What of a shown folder is hidden, and what is protected.

use super::{
    matcher::Matcher,
    sieve::Sieve,
    unnamed::{FOLDER, HEAD},
};

pub struct Rules<'a> {
    pub hide: &'a Matcher,
    pub protect: &'a Matcher,
    sieve: Sieve,
}

impl<'a> Rules<'a> {
    pub fn new(hide: &'a Matcher, protect: &'a Matcher) -> Self {
        let mut sieve = Sieve::default();
        hide.fill(&mut sieve);
        protect.fill(&mut sieve);
        // What tells a repository.
        for name in [FOLDER, HEAD] {
            sieve.add(name, name, true);
        }
        Self { hide, protect, sieve }
    }

    /// False only where a file or folder of this name is nobody's business, whatever folder it is in.
    pub fn concern(&self, name: &[u8]) -> bool {
        self.sieve.passes(name)
    }
}
