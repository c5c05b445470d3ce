//! The text of a change, line by line. Lines end with a newline and nothing else, as they do for git.

use std::{
    io::{self, Write},
    time::{Duration, Instant},
};

use similar::{Algorithm, ChangeTag, DiffOp, capture_diff_slices_deadline, group_diff_ops};

const CONTEXT: usize = 3;
/// For one file. What comes out later is longer than it need be, and still right.
const PATIENCE: Duration = Duration::from_secs(3);

pub fn write(old: (&str, &[u8]), new: (&str, &[u8]), out: &mut impl Write) -> io::Result<()> {
    let (before, after) = (lines(old.1), lines(new.1));
    let groups = group_diff_ops(compare(&before, &after), CONTEXT);
    if groups.is_empty() {
        return Ok(());
    }
    writeln!(out, "--- {}\n+++ {}", terminated(old.0), terminated(new.0))?;
    for group in groups {
        write_hunk(&group, &before, &after, out)?;
    }
    Ok(())
}

/// Lines that come, and lines that go.
pub fn count(old: &[u8], new: &[u8]) -> (usize, usize) {
    let ops = compare(&lines(old), &lines(new));
    let changed = ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. }));
    changed.fold((0, 0), |(come, go), op| (come + op.new_range().len(), go + op.old_range().len()))
}

fn compare(before: &[&[u8]], after: &[&[u8]]) -> Vec<DiffOp> {
    capture_diff_slices_deadline(Algorithm::Myers, before, after, Some(Instant::now() + PATIENCE))
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|&b| b == b'\n').collect()
}

/// A name with a blank ends with a tab, so that what follows the blank is not taken for a time.
fn terminated(name: &str) -> String {
    if name.contains(' ') && !name.starts_with('"') { format!("{name}\t") } else { name.to_owned() }
}

fn write_hunk(group: &[DiffOp], before: &[&[u8]], after: &[&[u8]], out: &mut impl Write) -> io::Result<()> {
    let (Some(first), Some(last)) = (group.first(), group.last()) else { return Ok(()) };
    let old = first.old_range().start..last.old_range().end;
    let new = first.new_range().start..last.new_range().end;
    writeln!(out, "@@ -{} +{} @@", range(&old), range(&new))?;
    for op in group {
        for change in op.iter_changes(before, after) {
            let (mark, line) = match change.tag() {
                ChangeTag::Equal => (b' ', change.value()),
                ChangeTag::Delete => (b'-', change.value()),
                ChangeTag::Insert => (b'+', change.value()),
            };
            out.write_all(&[mark])?;
            out.write_all(line)?;
            if !line.ends_with(b"\n") {
                out.write_all(b"\n\\ No newline at end of file\n")?;
            }
        }
    }
    Ok(())
}

/// Counted from 1, except where nothing is.
fn range(lines: &std::ops::Range<usize>) -> String {
    let start = if lines.is_empty() { lines.start } else { lines.start + 1 };
    if lines.len() == 1 { start.to_string() } else { format!("{start},{}", lines.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(old: &str, new: &str) -> String {
        let mut out = Vec::new();
        write(("a/f", old.as_bytes()), ("b/f", new.as_bytes()), &mut out).expect("write");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn hunks_say_where_they_are_and_what_has_no_end() {
        assert_eq!(patch("a\nb\n", "a\nc\n"), "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
        assert_eq!(patch("", "x\n"), "--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+x\n");
        assert_eq!(patch("x", ""), "--- a/f\n+++ b/f\n@@ -1 +0,0 @@\n-x\n\\ No newline at end of file\n");
        assert_eq!(patch("same\n", "same\n"), "");
    }

    #[test]
    fn a_carriage_return_ends_no_line() {
        assert_eq!(patch("a\rb\n", "a\rc\n"), "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\rb\n+a\rc\n");
    }

    #[test]
    fn lines_are_counted() {
        assert_eq!(count(b"a\nb\nc\n", b"a\nx\ny\nc\n"), (2, 1));
    }
}
