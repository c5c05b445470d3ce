//! Which of many rules could be about a name, told from its length and two of its bytes. A project has thousands of names
//! and a policy a hundred rules: whatever is settled here need not be looked up in a rule.

/// What a rule asks of the byte at one end of a name, and of the one beside it.
pub struct Candidate {
    pub outer: u8,
    /// None where any will do.
    pub inner: Option<u8>,
    /// Of the whole name, or at least.
    pub length: usize,
    pub is_whole: bool,
    pub rule: usize,
}

pub struct Candidates {
    /// In the order of their outer bytes.
    sorted: Vec<Candidate>,
    /// Where those with this outer byte begin; those with the next one begin where they end.
    begins: [u32; 257],
}

impl Candidates {
    pub fn new(mut all: Vec<Candidate>) -> Self {
        all.sort_by_key(|candidate| candidate.outer);
        let mut begins = [0; 257];
        for candidate in &all {
            begins[usize::from(candidate.outer) + 1] += 1;
        }
        for byte in 1..begins.len() {
            begins[byte] += begins[byte - 1];
        }
        Self { sorted: all, begins }
    }

    /// The rules that are left for a name of this length with these bytes; it has no inner one if it has but one.
    pub fn of(&self, outer: u8, inner: Option<u8>, length: usize) -> impl Iterator<Item = usize> {
        let at = usize::from(outer);
        let same = &self.sorted[self.begins[at] as usize..self.begins[at + 1] as usize];
        let is_left = move |candidate: &&Candidate| {
            (candidate.inner.is_none() || candidate.inner == inner)
                && if candidate.is_whole { candidate.length == length } else { candidate.length <= length }
        };
        same.iter().filter(is_left).map(|candidate| candidate.rule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(rule: usize, text: &[u8], is_whole: bool) -> Candidate {
        Candidate { outer: text[0], inner: text.get(1).copied(), length: text.len(), is_whole, rule }
    }

    #[test]
    fn a_rule_is_left_where_bytes_and_length_agree() {
        let rules: [(&[u8], bool); 6] =
            [(b"ab", true), (b"abc", false), (b"a", false), (b"b", true), (b"\xff\xff", false), (b"\0", true)];
        let all = rules.iter().enumerate().map(|(rule, (text, is_whole))| candidate(rule, text, *is_whole));
        let candidates = Candidates::new(all.collect());
        let of = |name: &[u8]| candidates.of(name[0], name.get(1).copied(), name.len()).collect::<Vec<_>>();
        assert_eq!(of(b"ab"), [0, 2]);
        assert_eq!(of(b"abcd"), [1, 2]);
        assert_eq!(of(b"a"), [2]);
        assert_eq!(of(b"b"), [3]);
        assert_eq!(of(b"bb"), [0; 0]);
        assert_eq!(of(b"\xff\xffx"), [4]);
        assert_eq!(of(b"\0"), [5]);
        assert_eq!(of(b"x"), [0; 0]);
    }
}
