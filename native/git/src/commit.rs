use crate::{
    id::Id,
    malformed::{Malformed, Result},
};

#[derive(Debug, Clone)]
pub struct Commit {
    pub tree: Id,
    pub parents: Vec<Id>,
    /// The committer's time in seconds, as the commit claims.
    pub time: u64,
}

impl Commit {
    pub fn parse(data: &[u8]) -> Result<Self> {
        let malformed = || Malformed::new("a commit is malformed");
        let mut lines = data.split(|byte| *byte == b'\n').peekable();
        let tree = lines.next().and_then(|line| line.strip_prefix(b"tree ")).and_then(Id::parse);
        let mut parents = Vec::new();
        while let Some(hex) = lines.peek().and_then(|line| line.strip_prefix(b"parent ")) {
            parents.push(Id::parse(hex).ok_or_else(malformed)?);
            lines.next();
        }
        let committer = lines.take_while(|line| !line.is_empty()).find(|line| line.starts_with(b"committer "));
        let time = committer.and_then(|line| line.rsplit(|byte| *byte == b' ').nth(1));
        let time = time.and_then(|digits| std::str::from_utf8(digits).ok()).and_then(|digits| digits.parse().ok());
        Ok(Self { tree: tree.ok_or_else(malformed)?, parents, time: time.unwrap_or(0) })
    }
}
