//! Decides whether a file of a project holds a secret. A rule names candidates; for most of them the content confirms it.
//! Pure but for `Sample`, which reads a bounded part of one open file. Matching names against globs is the caller's part.

mod assignments;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzed;
mod key_material;
mod known;
mod location;
mod logins;
mod placeholders;
mod sample;
mod tokens;

use serde::{Deserialize, Serialize};

pub use known::Known;
use location::Dependencies;
pub use logins::without_remote_logins;
pub use sample::Sample;

/// The content that makes a candidate a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// A private key or a store of keys, in any of the common formats.
    PrivateKey,
    /// A value for something that is called a password, token, secret or the like; a token; a private key.
    Credential,
    /// A token whose format tells it, or a private key.
    Token,
    /// Lines of `user:password`, `host:port:…:password` or an address with a password; anything that is not a comment.
    Login,
    /// A password in the address of a remote, or a header with a token.
    Remote,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
// Unknown keys are passed over: records of sandboxes that an earlier version made have others.
#[serde(rename_all = "camelCase")]
pub struct HideRule {
    pub glob: String,
    /// Without it the name is enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<Content>,
    /// Why a file like this is hidden. Built-in rules have one and yield to `shows`; a user's own rules do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The user wants to see what this names, and everything below it, whatever built-in rules say.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shows: bool,
}

impl HideRule {
    /// A user's rule on names alone.
    pub fn named(glob: &str) -> Self {
        Self { glob: glob.into(), holds: None, reason: None, shows: false }
    }
}

/// The reason for files that the user's own rule hides.
const DENIED: &str = "fs.deny";
const UNREADABLE: &str = "it could not be read";

/// The result of all rules that match a path.
#[derive(Debug, PartialEq, Eq)]
pub enum Judgement<'a> {
    Visible,
    /// Why.
    Hidden(&'a str),
    /// Its content decides.
    IfHolding(Tests<'a>),
}

/// Why, and what for: the first content that is found hides the file.
#[derive(Debug, PartialEq, Eq)]
pub struct Tests<'a> {
    contents: Vec<(&'a str, Content)>,
    /// Program text: names stand beside types and other names there, and a secret is a literal.
    is_source: bool,
}

/// By name and place alone, given the rules that match the path. `is_shown` says whether the user wants to see it.
pub fn judge<'a>(
    rules: impl Iterator<Item = &'a HideRule>,
    path: &[u8],
    is_shown: impl FnOnce() -> bool,
) -> Judgement<'a> {
    let mut tests: Vec<(&'a str, Content)> = Vec::new();
    let mut by_name = None;
    for rule in rules {
        let Some(reason) = rule.reason.as_deref() else {
            return Judgement::Hidden(DENIED);
        };
        match test_for(rule, path) {
            Test::Name => by_name = by_name.or(Some(reason)),
            Test::Content(content) => tests.push((reason, content)),
            Test::Nothing => {}
        }
    }
    if by_name.is_none() && tests.is_empty() || is_shown() {
        return Judgement::Visible;
    }
    let tests = Tests { contents: tests, is_source: location::is_source(path) };
    by_name.map_or(Judgement::IfHolding(tests), Judgement::Hidden)
}

impl<'a> Tests<'a> {
    /// It is only about what a remote's address has in it, which can be shown without.
    pub fn are_about_remotes(&self) -> bool {
        self.contents.iter().all(|(_, content)| *content == Content::Remote)
    }

    /// Why the file is hidden. A sample is None for what is no regular file; what cannot be read is hidden.
    pub fn settle(&self, sample: std::io::Result<Option<Sample>>) -> Option<&'a str> {
        self.settle_known(&mut Known::default(), || sample)
    }

    /// The same for a content of which something is known already. What is found out is added; a sample is taken only
    /// where it is needed.
    pub fn settle_known(
        &self,
        known: &mut Known,
        take: impl FnOnce() -> std::io::Result<Option<Sample>>,
    ) -> Option<&'a str> {
        let (mut take, mut taken) = (Some(take), None);
        for (reason, content) in &self.contents {
            let holds = match known.holds(*content, self.is_source) {
                Some(holds) => holds,
                None => {
                    if let Some(take) = take.take() {
                        match take() {
                            Ok(sample) => taken = sample,
                            Err(_) => return Some(UNREADABLE),
                        }
                    }
                    let sample = taken.as_ref()?;
                    let holds = has(sample, *content, self.is_source);
                    known.note(*content, self.is_source, holds);
                    holds
                }
            };
            if holds {
                return Some(reason);
            }
        }
        None
    }
}

enum Test {
    Name,
    Content(Content),
    Nothing,
}

/// A rule asks for less of a copy without values, and for key material only where others' files lie.
fn test_for(rule: &HideRule, path: &[u8]) -> Test {
    match (Dependencies::around(path), rule.holds) {
        (_, Some(Content::PrivateKey)) => Test::Content(Content::PrivateKey),
        (Dependencies::Certain, None) if location::is_environment_file(path) => Test::Content(Content::PrivateKey),
        (Dependencies::Likely, None) if location::is_environment_file(path) => Test::Content(Content::Credential),
        (Dependencies::Certain | Dependencies::Likely, Some(_)) => Test::Nothing,
        (_, None) if location::is_example(path) => Test::Content(Content::Token),
        (_, Some(content)) => Test::Content(content),
        (_, None) => Test::Name,
    }
}

fn has(sample: &Sample, content: Content, is_source: bool) -> bool {
    match content {
        Content::PrivateKey => key_material::is_in(sample),
        Content::Token => tokens::are_in(sample) || key_material::is_in(sample),
        Content::Credential => {
            assignments::are_in(sample, is_source) || tokens::are_in(sample) || key_material::is_in(sample)
        }
        Content::Login => logins::are_in(sample) || tokens::are_in(sample),
        Content::Remote => logins::are_in_remotes(sample) || tokens::are_in(sample),
    }
}

#[cfg(test)]
mod tests;
