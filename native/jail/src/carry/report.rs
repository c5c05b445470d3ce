//! What a carry did, path by path. The sandbox decides how many paths there are and how long, so the lists are bounded.

use std::path::Path;

use serde::Serialize;

/// Of all paths. Whoever reads the report takes a line of this length.
const MOST_BYTES: usize = 6 << 20;
/// What one write to a socket takes as a whole.
const MOST_IN_MESSAGE: usize = 64 << 10;

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    pub written: Vec<String>,
    pub deleted: Vec<String>,
    pub conflicts: Vec<String>,
    pub refused: Vec<String>,
    /// Set aside until the user has said yes.
    pub held: Vec<String>,
    /// The name under which what was set aside can be looked at and applied.
    pub held_as: Option<String>,
    /// Paths that are in none of the lists.
    pub omitted: u64,
    /// Why repositories were left as they were, in sentences.
    pub repositories: Vec<String>,
    #[serde(skip)]
    bytes: usize,
}

impl Report {
    pub(super) fn note(&mut self, path: &[u8], list: impl Fn(&mut Self) -> &mut Vec<String>) {
        let path = String::from_utf8_lossy(path);
        if self.bytes + path.len() > MOST_BYTES {
            self.omitted += 1;
        } else {
            self.bytes += path.len();
            list(self).push(path.into_owned());
        }
    }

    /// This one, of a repository beside the project, and then another.
    pub fn followed_by(self, mut next: Self, place: Option<&Path>) -> Self {
        if let Some(place) = place {
            for list in [&mut next.written, &mut next.deleted, &mut next.conflicts, &mut next.refused] {
                list.iter_mut().for_each(|path| *path = place.join(&*path).to_string_lossy().into_owned());
            }
        }
        let both = |mut first: Vec<String>, second: Vec<String>| {
            first.extend(second);
            first
        };
        Self {
            written: both(self.written, next.written),
            deleted: both(self.deleted, next.deleted),
            conflicts: both(self.conflicts, next.conflicts),
            refused: both(self.refused, next.refused),
            held: both(self.held, next.held),
            held_as: self.held_as.or(next.held_as),
            omitted: self.omitted + next.omitted,
            repositories: both(self.repositories, next.repositories),
            bytes: self.bytes + next.bytes,
        }
    }

    /// How much is noted as deleted.
    pub(super) fn mark(&self) -> usize {
        self.deleted.len()
    }

    /// Forgets what was noted as deleted since.
    pub(super) fn take_back(&mut self, mark: usize) {
        self.bytes -= self.deleted.drain(mark..).map(|path| path.len()).sum::<usize>();
    }

    /// By name, whatever was done first.
    pub(super) fn sort(&mut self) {
        for list in [&mut self.held, &mut self.conflicts, &mut self.refused, &mut self.deleted, &mut self.written] {
            list.sort_unstable();
        }
    }

    /// As much of it as goes into one message.
    pub fn shorten(&mut self) {
        let mut left = MOST_IN_MESSAGE;
        for list in [&mut self.held, &mut self.conflicts, &mut self.refused, &mut self.deleted, &mut self.written] {
            let fits = list.iter().take_while(|path| {
                left = left.saturating_sub(path.len() + 3);
                left > 0
            });
            let kept = fits.count();
            self.omitted += (list.len() - kept) as u64;
            list.truncate(kept);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_report_is_cut_and_says_by_how_much() {
        let mut report = Report::default();
        report.note(b"CLAUDE.md", |r| &mut r.held);
        for n in 0..10_000 {
            report.note(format!("a/rather/long/path/{n}").as_bytes(), |r| &mut r.written);
        }
        assert_eq!((report.written.len(), report.omitted), (10_000, 0));
        report.shorten();
        assert_eq!(report.held, ["CLAUDE.md"]);
        assert!(report.written.len() > 1000 && report.written.len() as u64 + report.omitted == 10_000);
        let text = serde_json::to_vec(&report).expect("JSON");
        assert!(text.len() < 128 << 10, "{}", text.len());
        let long = [b'x'; 4000];
        for _ in 0..3000 {
            report.note(&long, |r| &mut r.deleted);
        }
        assert!(report.deleted.len() < 2000 && report.omitted > 1000);
    }
}
