//! What of a shown folder is hidden, and what is protected.

use super::{
    contents::Contents,
    matcher::Matcher,
    sieve::Sieve,
    spelling::folded,
    unnamed::{FOLDER, HEAD},
};

pub struct Rules<'a> {
    pub hide: &'a Matcher,
    pub protect: &'a Matcher,
    /// What is known of contents already.
    pub contents: Option<&'a Contents>,
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
        Self { hide, protect, contents: None, sieve }
    }

    pub fn knowing(self, contents: Option<&'a Contents>) -> Self {
        Self { contents, ..self }
    }

    /// False only where a file or folder of this name is nobody's business, whatever folder it is in.
    pub fn concern(&self, name: &[u8]) -> bool {
        // Its end may not be the one that counts.
        name.ends_with(b".")
            || name.ends_with(b" ")
            || if name.is_ascii() { self.sieve.passes(name) } else { self.sieve.passes(&folded(name)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{spec::HideRule, view::matcher::Match};

    const HIDDEN: [&str; 11] = [
        "**/.env*",
        "**/*.pem",
        "**/id_*",
        "**/.ssh",
        "**/.config/gcloud",
        "**/*credentials*.json",
        "secrets/*.txt",
        "**/a",
        "**/b*",
        "**/*c",
        "d/**/e",
    ];
    const PROTECTED: [&str; 4] = ["**/.git/hooks", "**/.git/config", "**/.claude", "agentkernel.toml"];

    /// All names of up to four of these bytes, and the globs' own with stars filled in.
    fn names() -> Vec<Vec<u8>> {
        let letters = b"abcdeE.s_i ";
        let mut found: Vec<Vec<u8>> = letters.iter().map(|letter| vec![*letter]).collect();
        let mut from = 0;
        for _ in 1..4 {
            let until = found.len();
            let longer = found[from..until].iter().flat_map(|name| letters.map(|l| [name.as_slice(), &[l]].concat()));
            found.extend(longer.collect::<Vec<_>>());
            from = until;
        }
        for glob in HIDDEN.iter().chain(&PROTECTED) {
            for part in glob.split('/').filter(|part| *part != "**") {
                found.extend(["", "x", "xy"].map(|filling| part.replace('*', filling).to_uppercase().into_bytes()));
                found.extend(["", "\u{e9}"].map(|filling| part.replace(['*', 's'], filling).into_bytes()));
            }
        }
        found
    }

    #[test]
    fn whatever_a_rule_finds_is_of_its_concern() {
        let hide = HIDDEN.map(HideRule::named);
        let (hide, protect) = (Matcher::hiding(&hide), Matcher::of(&PROTECTED.map(String::from)));
        let rules = Rules::new(&hide, &protect);
        let mut met = 0;
        for name in names().iter().filter(|name| !name.is_empty()) {
            for folder in [&b""[..], b"secrets/", b"x/.config/", b"x/.git/", b"d/x/"] {
                let is_meant = matches!(hide.matches(folder, name), Match::Yes)
                    || matches!(protect.matches(folder, name), Match::Yes)
                    || protect.leads_in(folder, name, false);
                met += usize::from(is_meant);
                assert!(!is_meant || rules.concern(name), "{}", String::from_utf8_lossy(name));
            }
        }
        assert!(met > 1000 && !rules.concern(b"index.ts") && rules.concern(b".git") && rules.concern(b"HEAD"));
    }
}
