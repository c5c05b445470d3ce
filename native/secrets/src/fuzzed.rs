//! Target of `npm run fuzz -- secrets-content`: the content of any file of a project.

use crate::{Content, has, sample::Sample};

pub fn content(data: &[u8]) {
    let sample = Sample::from(data);
    let holds = |content| has(&sample, content, false);
    let (key, token, credential) = (holds(Content::PrivateKey), holds(Content::Token), holds(Content::Credential));
    // Each looks for all that the one before looks for.
    assert!(!key || token && credential);
    assert!(!token || credential);
    for content in [Content::Login, Content::Remote] {
        holds(content);
    }
}

#[cfg(test)]
#[test]
fn kept_contents_pass() {
    ak_corpus::replay("secrets-content", content);
}
