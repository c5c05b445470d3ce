//! What the spec says is hidden. It is the longest part of a spec, and nothing that the sandbox's first process does needs
//! it: it stays text until the supervisor, beside that process, searches the folders that are shown.

use std::sync::Arc;

use ak_secrets::{Content, HideRule};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::fault::{Fault, Outcome};

/// Two of the same text say the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HideRules(Arc<str>);

/// Rules that differ in their globs alone. Groups and globs are in the rules' order.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Group {
    globs: Vec<String>,
    holds: Option<Content>,
    reason: Option<String>,
    #[serde(default)]
    shows: bool,
}

impl<'de> Deserialize<'de> for HideRules {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text: Box<RawValue> = Deserialize::deserialize(from)?;
        Ok(Self(Box::<str>::from(text).into()))
    }
}

impl HideRules {
    pub fn read(&self) -> Outcome<Vec<HideRule>> {
        let groups: Vec<Group> = serde_json::from_str(&self.0)
            .map_err(|e| Fault::new("internal", format!("the jail's spec: what is hidden: {e}")))?;
        let rules = groups.into_iter().flat_map(|Group { globs, holds, reason, shows }| {
            globs.into_iter().map(move |glob| HideRule { glob, holds, reason: reason.clone(), shows })
        });
        Ok(rules.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_become_rules_in_their_order() {
        let text = r#"[{"globs":["**/a","**/b"],"holds":"private-key","reason":"key"},{"globs":["c"],"shows":true},
            {"globs":["**/d"]}]"#;
        let rules: HideRules = serde_json::from_str(text).expect("a value");
        let key = |glob: &str| HideRule {
            holds: Some(Content::PrivateKey),
            reason: Some("key".into()),
            ..HideRule::named(glob)
        };
        let shown = HideRule { shows: true, ..HideRule::named("c") };
        assert_eq!(rules.read().expect("rules"), [key("**/a"), key("**/b"), shown, HideRule::named("**/d")]);
    }

    #[test]
    fn what_is_not_understood_is_no_rule_and_an_error() {
        for text in [r#"[{"globs":["a"],"hods":"private-key"}]"#, r#"[{"glob":"a"}]"#, r#"["a"]"#, "{}", "null"] {
            let rules: HideRules = serde_json::from_str(text).expect("a value");
            assert!(rules.read().is_err(), "{text}");
        }
    }
}
