//! Spellings of one name. Many file systems take several for the same file: without regard to case (ext4 and f2fs with
//! casefold, vfat, APFS, NTFS), to how a letter is composed, to characters that show nothing (HFS+, casefold), or to dots
//! and spaces at the end (vfat, Windows). Rules are compared with names in one folded form, on every file system: a file
//! called `.ENV` holds secrets as `.env` does, and what is carried over may end on another file system later.

use std::{
    borrow::Cow,
    cell::OnceCell,
    char::{ToLowercase, ToUppercase},
};

use unicode_normalization::UnicodeNormalization;

/// A name or a path in the form that all its spellings share, but for dots and spaces at the end (`trimmed`). What is not
/// UTF-8 has no other form than its bytes, without regard to the case of ASCII letters.
pub fn folded(path: &[u8]) -> Cow<'_, [u8]> {
    if path.is_ascii() {
        return if path.iter().any(u8::is_ascii_uppercase) {
            Cow::Owned(path.to_ascii_lowercase())
        } else {
            Cow::Borrowed(path)
        };
    }
    let parts: Vec<Vec<u8>> = path.split(|b| *b == b'/').map(folded_name).collect();
    Cow::Owned(parts.join(&b'/'))
}

/// Whether two names are spellings of one.
pub fn is_same(one: &[u8], other: &[u8]) -> bool {
    if one.is_ascii() && other.is_ascii() {
        return trimmed(one).eq_ignore_ascii_case(trimmed(other));
    }
    trimmed(&folded(one)) == trimmed(&folded(other))
}

fn folded_name(name: &[u8]) -> Vec<u8> {
    let Ok(text) = str::from_utf8(name) else { return name.to_ascii_lowercase() };
    let shown = text.chars().filter(|letter| !is_ignorable(*letter));
    // By way of upper case, since some letters have a capital in common: s and ſ, ß and ss, fi and its ligature.
    let folded: String = shown
        .nfd()
        .flat_map(char::to_uppercase as fn(char) -> ToUppercase)
        .flat_map(char::to_lowercase as fn(char) -> ToLowercase)
        .collect();
    folded.into_bytes()
}

/// Unicode's Default_Ignorable_Code_Point.
fn is_ignorable(letter: char) -> bool {
    matches!(
        letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Without dots and spaces at the end. A name of nothing else stays as it is.
fn trimmed(name: &[u8]) -> &[u8] {
    match name.iter().rposition(|b| !matches!(b, b'.' | b' ')) {
        Some(last) => &name[..=last],
        None => name,
    }
}

/// One spelling of a file's place: the folder that it is in, empty or ending in `/`, and its name.
pub struct Spelling<'a> {
    folder: &'a [u8],
    name: Cow<'a, [u8]>,
    is_trimmed: bool,
    path: OnceCell<String>,
}

impl<'a> Spelling<'a> {
    /// All that a rule has to be compared with: one, or two where anything ends in dots or spaces.
    pub fn all(folder: &'a [u8], name: &'a [u8]) -> impl Iterator<Item = Self> {
        let name = folded(name);
        let shorter = trimmed(&name);
        let has_shorter = shorter.len() < name.len() || folder.windows(2).any(|two| matches!(two, b"./" | b" /"));
        let second = has_shorter.then(|| Self::new(folder, Cow::Owned(shorter.to_vec()), true));
        std::iter::once(Self::new(folder, name, false)).chain(second)
    }

    fn new(folder: &'a [u8], name: Cow<'a, [u8]>, is_trimmed: bool) -> Self {
        Self { folder, name, is_trimmed, path: OnceCell::new() }
    }

    pub fn name(&self) -> &[u8] {
        &self.name
    }

    pub fn path(&self) -> &str {
        self.path.get_or_init(|| {
            let mut path = folded(self.folder).into_owned();
            if self.is_trimmed {
                path = path.split(|b| *b == b'/').map(trimmed).collect::<Vec<_>>().join(&b'/');
            }
            path.extend_from_slice(&self.name);
            String::from_utf8_lossy(&path).into_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the TypeScript side is held to, too.
    #[derive(serde::Deserialize)]
    struct Examples {
        same: Vec<[String; 2]>,
        different: Vec<[String; 2]>,
    }

    #[test]
    fn spellings_of_one_name_have_one_form() {
        let all: Examples = serde_json::from_str(include_str!("../../../../spec/spellings.json")).expect("examples");
        assert!(all.same.len() > 5 && all.different.len() > 3);
        for [one, other] in &all.same {
            assert!(is_same(one.as_bytes(), other.as_bytes()), "{one} {other}");
        }
        for [one, other] in &all.different {
            assert!(!is_same(one.as_bytes(), other.as_bytes()), "{one} {other}");
        }
    }

    #[test]
    fn names_that_are_not_utf8_keep_their_bytes() {
        assert_eq!(&*folded(b"A\xff/\xc3\x89"), b"a\xff/e\xcc\x81");
        assert!(is_same(b"\xff.PEM", b"\xff.pem") && !is_same(b"\xff", b"\xfe"));
    }

    #[test]
    fn a_second_spelling_exists_only_where_something_ends_in_dots_or_spaces() {
        let paths = |folder: &str, name: &str| {
            let all = Spelling::all(folder.as_bytes(), name.as_bytes());
            all.map(|spelling| spelling.path().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(paths("A/b/", "C"), ["a/b/c"]);
        assert_eq!(paths(".git./", "hooks "), [".git./hooks ", ".git/hooks"]);
        assert_eq!(paths("a /", "b"), ["a /b", "a/b"]);
        assert_eq!(paths("", "..."), ["..."]);
    }
}
