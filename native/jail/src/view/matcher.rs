//! Globs over names. Rules are sorted once by the shape of their last name, so that of a hundred rules nearly all are
//! settled by a look at the bytes that a name starts and ends with; only what is left goes to a general matcher.

use std::collections::BTreeSet;

use ak_secrets::{Judgement, Tests, judge};

use super::{
    candidates::{Candidate, Candidates},
    sieve::Sieve,
    spelling::{Spelling, folded},
};
use crate::spec::HideRule;

struct Rule {
    /// The last name of the glob.
    last: Last,
    /// The whole glob, where the folders above matter too.
    path: Option<String>,
    /// None of a rule that does not hide.
    hides: Option<HideRule>,
}

/// The shape of a last name: what a name is sorted by before anything is compared.
enum Last {
    /// Never empty.
    Is(Vec<u8>),
    /// What stands between stars: the first part starts the name, the last one ends it, both may be empty.
    Parts(Vec<Vec<u8>>),
    /// With other wildcards: the whole glob decides.
    Other,
}

impl Last {
    /// What a name starts and ends with, as far as that is fixed.
    fn ends(&self) -> (&[u8], &[u8]) {
        match self {
            Self::Is(name) => (name, name),
            Self::Parts(parts) => (parts.first().map_or(&[], Vec::as_slice), parts.last().map_or(&[], Vec::as_slice)),
            Self::Other => (&[], &[]),
        }
    }

    /// No name with fewer bytes can be meant.
    fn shortest(&self) -> usize {
        match self {
            Self::Is(name) => name.len(),
            Self::Parts(parts) => parts.iter().map(Vec::len).sum(),
            Self::Other => 0,
        }
    }
}

pub struct Matcher {
    rules: Vec<Rule>,
    /// By the first byte of a name, and by its last.
    by_start: Candidates,
    by_end: Candidates,
    others: Vec<usize>,
    above: Option<Box<Above>>,
    /// What the user wants to see although built-in rules hide it.
    shown: Vec<String>,
}

/// What lies above the names of the globs: who replaces a folder there replaces what is in it.
struct Above {
    /// Names that the globs go through, such as `.git` for `.git/hooks`.
    names: Matcher,
    /// Where a glob goes through folders of any name.
    anywhere: Matcher,
}

/// How a name matched.
pub enum Match<'a> {
    No,
    Yes,
    /// Its content decides.
    IfHolding(Tests<'a>),
}

impl Matcher {
    pub fn hiding(rules: &[HideRule]) -> Self {
        let (shown, hidden): (Vec<_>, Vec<_>) = rules.iter().partition(|rule| rule.shows);
        let made = Self::new(hidden.into_iter().map(|rule| (rule.glob.as_str(), Some(rule))));
        Self { shown: shown.into_iter().map(|rule| rule.glob.clone()).collect(), ..made }
    }

    pub fn of(globs: &[String]) -> Self {
        let above: BTreeSet<&str> =
            globs.iter().flat_map(|g| g.match_indices('/').map(|(end, _)| &g[..end])).filter(|g| *g != "**").collect();
        let (anywhere, names): (Vec<&str>, Vec<&str>) = above.into_iter().partition(|glob| is_any_name(glob));
        let matcher = |globs: Vec<&str>| Self::new(globs.into_iter().map(|glob| (glob, None)));
        let above = Above { names: matcher(names), anywhere: matcher(anywhere) };
        Self { above: Some(Box::new(above)), ..Self::new(globs.iter().map(|glob| (glob.as_str(), None))) }
    }

    /// What a live folder holds read-only: what is protected, and what waits for a review. What leads in to the latter is
    /// not held: a `.config` that is a file is nothing to a rule on `.config/autostart`.
    pub fn guarding(protect: &[String], review: &[String]) -> Self {
        let Self { above, .. } = Self::of(protect);
        Self { above, ..Self::new(protect.iter().chain(review).map(|g| (g.as_str(), None))) }
    }

    /// Whether a file (or link) of this name stands where the globs expect a folder. It could lead to another folder
    /// and so give the names in it a new content.
    pub fn leads_in(&self, folder: &[u8], name: &[u8], is_link: bool) -> bool {
        let yes = |matcher: &Self| matches!(matcher.matches(folder, name), Match::Yes);
        self.above.as_ref().is_some_and(|above| yes(&above.names) || is_link && yes(&above.anywhere))
    }

    fn new<'a>(rules: impl Iterator<Item = (&'a str, Option<&'a HideRule>)>) -> Self {
        let rules: Vec<Rule> = rules.map(|(glob, hides)| Rule::new(glob, hides.cloned())).collect();
        let (mut by_start, mut by_end, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for (rule, Rule { last, .. }) in rules.iter().enumerate() {
            let candidate = |outer: u8, inner: Option<&u8>| Candidate {
                outer,
                inner: inner.copied(),
                length: last.shortest(),
                is_whole: matches!(last, Last::Is(_)),
                rule,
            };
            match last.ends() {
                ([first, rest @ ..], _) => by_start.push(candidate(*first, rest.first())),
                ([], [rest @ .., end]) => by_end.push(candidate(*end, rest.last())),
                ([], []) => others.push(rule),
            }
        }
        let (by_start, by_end) = (Candidates::new(by_start), Candidates::new(by_end));
        Self { rules, by_start, by_end, others, above: None, shown: Vec::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Adds all that it can find, and what leads in by its name. Links, which lead in by any name, are for the caller to mind.
    pub fn fill(&self, sieve: &mut Sieve) {
        for Rule { last, .. } in &self.rules {
            let (start, end) = last.ends();
            sieve.add(start, end, matches!(last, Last::Is(_)));
        }
        if let Some(above) = &self.above {
            above.names.fill(sieve);
        }
    }

    /// `folder` is the path of the folder relative to the view, empty or ending in `/`. All spellings of a name are one.
    pub fn matches(&self, folder: &[u8], name: &[u8]) -> Match<'_> {
        let mut hiding = Vec::new();
        for spelling in Spelling::all(folder, name) {
            for rule in self.of_spelling(&spelling) {
                match &rule.hides {
                    Some(rule) => hiding.push(rule),
                    None => return Match::Yes,
                }
            }
        }
        match self.judge(&hiding, folder, name) {
            Judgement::Visible => Match::No,
            Judgement::Hidden(_) => Match::Yes,
            Judgement::IfHolding(tests) => Match::IfHolding(tests),
        }
    }

    /// Why what matches by its name is hidden.
    pub fn reason(&self, folder: &[u8], name: &[u8]) -> Option<&str> {
        let spellings = Spelling::all(folder, name);
        let rules = spellings.flat_map(|spelling| self.of_spelling(&spelling).collect::<Vec<_>>());
        let hiding: Vec<&HideRule> = rules.filter_map(|rule| rule.hides.as_ref()).collect();
        match self.judge(&hiding, folder, name) {
            Judgement::Hidden(reason) => Some(reason),
            _ => None,
        }
    }

    fn judge<'a>(&self, hiding: &[&'a HideRule], folder: &[u8], name: &[u8]) -> Judgement<'a> {
        if hiding.is_empty() {
            return Judgement::Visible;
        }
        let path = [folder, name].concat();
        judge(hiding.iter().copied(), &path, || self.is_shown(&path))
    }

    /// A folder that is shown is shown with all that is in it.
    fn is_shown(&self, path: &[u8]) -> bool {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| end);
        self.shown
            .iter()
            .any(|glob| ends.clone().chain([path.len()]).any(|end| fast_glob::glob_match(glob, &path[..end])))
    }

    fn of_spelling<'a>(&'a self, spelling: &Spelling<'_>) -> impl Iterator<Item = &'a Rule> {
        let name = spelling.name();
        let ends = name.first().zip(name.last()).map(|(first, last)| {
            let by_start = self.by_start.of(*first, name.get(1).copied(), name.len());
            let before = name.len().checked_sub(2).map(|at| name[at]);
            by_start.chain(self.by_end.of(*last, before, name.len())).chain(self.others.iter().copied())
        });
        ends.into_iter().flatten().map(|index| &self.rules[index]).filter(|rule| rule.holds(spelling))
    }
}

impl Rule {
    fn new(glob: &str, hides: Option<HideRule>) -> Self {
        let glob = &*String::from_utf8_lossy(&folded(glob.as_bytes())).into_owned();
        let name = glob.rsplit('/').next().unwrap_or(glob);
        let anywhere = glob.strip_prefix("**/") == Some(name);
        let last = last_of(name);
        let whole = !anywhere || matches!(last, Last::Other);
        Self { last, path: whole.then(|| glob.to_owned()), hides }
    }

    fn holds(&self, spelling: &Spelling<'_>) -> bool {
        let by_name = match &self.last {
            Last::Is(whole) => whole == spelling.name(),
            Last::Other => true,
            Last::Parts(parts) => has_parts(spelling.name(), parts),
        };
        by_name && self.path.as_ref().is_none_or(|glob| fast_glob::glob_match(glob, spelling.path()))
    }
}

/// Whether nothing is fixed of the last name. To look for such names would be to look at all of a project's.
fn is_any_name(glob: &str) -> bool {
    matches!(last_of(glob.rsplit('/').next().unwrap_or(glob)).ends(), ([], []))
}

fn last_of(name: &str) -> Last {
    if name.is_empty() || name.contains(['?', '[', '{', '\\', '!']) || name.contains("**") {
        Last::Other
    } else if name.contains('*') {
        Last::Parts(name.split('*').map(|part| part.as_bytes().to_vec()).collect())
    } else {
        Last::Is(name.into())
    }
}

/// Whether a name consists of these parts in this order, with anything between them.
fn has_parts(name: &[u8], parts: &[Vec<u8>]) -> bool {
    let [first, middle @ .., last] = parts else { return false };
    let Some(rest) = name.strip_prefix(first.as_slice()).and_then(|n| n.strip_suffix(last.as_slice())) else {
        return false;
    };
    let mut rest = rest;
    // Nearly all places are settled by one byte.
    let is_at = |part: &[u8], window: &[u8]| window.first() == part.first() && window == part;
    middle.iter().all(|part| match rest.windows(part.len()).position(|window| is_at(part, window)) {
        Some(at) => {
            rest = &rest[at + part.len()..];
            true
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use ak_secrets::Content;

    use super::*;

    fn hides(globs: &[&str], path: &str) -> bool {
        let globs: Vec<String> = globs.iter().map(|g| (*g).to_owned()).collect();
        let (folder, name) = path.rsplit_once('/').map_or(("", path), |(f, n)| (&path[..=f.len()], n));
        matches!(Matcher::of(&globs).matches(folder.as_bytes(), name.as_bytes()), Match::Yes)
    }

    #[test]
    fn last_names_match_at_any_depth() {
        for path in [".env", ".env.local", "a/.env", "a/b/c/.envrc"] {
            assert!(hides(&["**/.env*"], path), "{path}");
        }
        for path in ["env", "a.env", ".en", "a/xenv"] {
            assert!(!hides(&["**/.env*"], path), "{path}");
        }
        assert!(hides(&["**/*.pem"], "certs/server.pem"));
        assert!(!hides(&["**/*.pem"], "certs/server.pem.txt"));
        assert!(hides(&["**/.ssh"], "x/.ssh"));
        assert!(!hides(&["**/ab*ba"], "aba"));
        for (name, hidden) in [
            ("my-credentials-1.json", true),
            ("credentials.json", true),
            ("credential.json", false),
            ("credentials.jso", false),
        ] {
            assert_eq!(hides(&["**/*credentials*.json"], name), hidden, "{name}");
        }
        assert!(hides(&["**/*.tfstate.*"], "a/x.tfstate.backup"));
        assert!(!hides(&["**/*.tfstate.*"], "a/x.tfstatebackup"));
    }

    #[test]
    fn paths_with_folders_match_as_a_whole() {
        assert!(hides(&["**/.config/gcloud"], ".config/gcloud"));
        assert!(hides(&["**/.config/gcloud"], "home/u/.config/gcloud"));
        assert!(!hides(&["**/.config/gcloud"], "xconfig/gcloud"));
        assert!(hides(&["secrets/*.txt"], "secrets/a.txt"));
        assert!(!hides(&["secrets/*.txt"], "a/secrets/a.txt"));
        assert!(hides(&["**/id_?sa"], "k/id_rsa"));
    }

    #[test]
    fn all_spellings_of_a_name_match() {
        for path in [
            ".ENV",
            "a/.Env.local",
            ".env.",
            ".env ",
            ".\u{200b}env",
            "A/server.PEM",
            "ID_RSA",
            "x/.DOCKER/Config.JSON",
        ] {
            assert!(hides(&["**/.env*", "**/*.pem", "**/id_*", "**/.docker/config.json"], path), "{path}");
        }
        for path in [".GIT/hooks", ".git./HOOKS", ".g\u{ad}it /hooks.", "a/.Git/hook\u{17f}"] {
            assert!(hides(&["**/.git/hooks"], path), "{path}");
        }
        assert!(hides(&["**/CLÉ"], "cle\u{301}") && !hides(&["**/clé"], "cle"));
        assert!(
            hides(&["**/*.tfstate.*"], "x.TFSTATE.") && hides(&["**/a."], "A."),
            "a trailing dot that a rule names"
        );
        let matcher = Matcher::of(&["**/.git/hooks".to_owned()]);
        assert!(matcher.leads_in(b"", b".GIT", false) && matcher.leads_in(b"a/", b".git ", true));
    }

    #[test]
    fn folders_of_any_name_are_led_in_by_links_and_cost_no_look_at_every_name() {
        for any in ["*", "**", "?*", "[ab]"] {
            let matcher = Matcher::of(&[format!(".git/modules/{any}/branches")]);
            assert!(matcher.leads_in(b"", b".git", false) && matcher.leads_in(b".git/", b"modules", false), "{any}");
            assert!(!matcher.leads_in(b".git/modules/", b"ab", false), "{any}");
            let mut sieve = Sieve::default();
            matcher.fill(&mut sieve);
            assert!(sieve.passes(b"branches") && !sieve.passes(b"index.ts"), "{any}");
        }
        assert!(Matcher::of(&[".git/modules/*/branches".to_owned()]).leads_in(b".git/modules/", b"a", true));
    }

    #[test]
    fn of_many_rules_each_finds_its_names() {
        let globs = ["**/b", "**/ab", "**/c*", "**/*x", "**/a", "**/ca*", "**/*yx", "**/bc"];
        for (path, hidden) in [
            ("a", true),
            ("ab", true),
            ("b", true),
            ("bc", true),
            ("c1", true),
            ("1x", true),
            ("abc", false),
            ("ba", false),
            ("x1", false),
            ("d", false),
        ] {
            assert_eq!(hides(&globs, path), hidden, "{path}");
        }
    }

    #[test]
    fn what_stands_in_for_a_folder_above_is_known() {
        let globs = ["**/.git/hooks".to_owned(), "**/.git/modules/**/config".to_owned(), "**/.claude".to_owned()];
        let matcher = Matcher::of(&globs);
        let leads = |folder: &str, name: &str, is_link| matcher.leads_in(folder.as_bytes(), name.as_bytes(), is_link);
        assert!(leads("", ".git", false) && leads("a/b/", ".git", true) && leads(".git/", "modules", false));
        assert!(leads(".git/modules/", "x", true) && !leads(".git/modules/x/", "HEAD", false));
        assert!(!leads("", "src", true) && !leads(".git/", "HEAD", false) && !leads(".git/", "x", true));
    }

    #[test]
    fn all_rules_on_a_name_count_and_one_on_names_goes_first() {
        let rule = |glob: &str, holds| HideRule { holds, reason: Some(glob.into()), ..HideRule::named(glob) };
        let mut rules =
            vec![rule("**/*.json", Some(Content::Credential)), rule("**/*-key.json", Some(Content::PrivateKey))];
        let is_asked = |matcher: &Matcher, text: &[u8]| match matcher.matches(b"", b"a-key.json") {
            Match::IfHolding(tests) => tests.settle(Ok(Some(text.into()))).map(str::to_owned),
            _ => None,
        };
        let matcher = Matcher::hiding(&rules);
        assert_eq!(is_asked(&matcher, b"password=hunter22").as_deref(), Some("**/*.json"));
        assert_eq!(is_asked(&matcher, b"AGE-SECRET-KEY-1QQ").as_deref(), Some("**/*.json"));
        assert_eq!(is_asked(&matcher, b"{}"), None);
        rules.push(rule("**/a*", None));
        let matcher = Matcher::hiding(&rules);
        assert!(matches!(matcher.matches(b"", b"a-key.json"), Match::Yes));
        assert_eq!(matcher.reason(b"", b"a-key.json"), Some("**/a*"));
    }

    #[test]
    fn what_is_shown_is_visible_with_all_below_but_for_a_users_own_rule() {
        let built_in = HideRule { reason: Some("key".into()), ..HideRule::named("**/*.pem") };
        let shown = HideRule { shows: true, ..HideRule::named("certs") };
        let matcher = Matcher::hiding(&[built_in.clone(), shown.clone()]);
        assert!(matches!(matcher.matches(b"certs/a/", b"x.pem"), Match::No));
        assert!(matches!(matcher.matches(b"a/certs/", b"x.pem"), Match::Yes));
        let matcher = Matcher::hiding(&[built_in, shown, HideRule::named("**/x.pem")]);
        assert!(matches!(matcher.matches(b"certs/", b"x.pem"), Match::Yes));
        assert!(matches!(matcher.matches(b"certs/", b"y.pem"), Match::No));
    }
}
