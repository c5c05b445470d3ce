//! Reads the console of a virtual machine's kernel: its last output, and whether it is a flood.

/// Enough for a panic with its trace.
const KEPT_BYTES: usize = 8 << 10;
/// A kernel prints far less than this in a long life.
const FLOOD_BYTES: u64 = 1 << 20;
/// The beginning of what a kernel says before it gives up.
const LONGEST_LINE: usize = 512;
const PANIC: &str = "Kernel panic";

/// The kernel's message when its OOM killer ends a process.
const OUT_OF_MEMORY: &[u8] = b"Out of memory: Killed process";
/// The most OOM kills that are reported.
const MOST_TOLD: u32 = 16;

#[derive(Debug, Default)]
pub struct Console {
    kept: Vec<u8>,
    heard: u64,
    line: Vec<u8>,
    out_of_memory: u32,
}

impl Console {
    pub fn hear(&mut self, bytes: &[u8]) {
        self.heard += bytes.len() as u64;
        let fresh = &bytes[bytes.len().saturating_sub(KEPT_BYTES)..];
        let surplus = (self.kept.len() + fresh.len()).saturating_sub(KEPT_BYTES);
        self.kept.drain(..surplus);
        self.kept.extend(fresh);
        for byte in bytes {
            if *byte == b'\n' {
                let is_one = self.line.windows(OUT_OF_MEMORY.len()).any(|part| part == OUT_OF_MEMORY);
                self.out_of_memory += u32::from(is_one);
                self.line.clear();
            } else if self.line.len() < LONGEST_LINE {
                self.line.push(*byte);
            }
        }
    }

    /// Counts OOM kills since the last call; reports only a few in all.
    pub fn new_kills(&mut self, told: &mut u32) -> u32 {
        let fresh = self.out_of_memory.min(MOST_TOLD).saturating_sub(*told);
        *told += fresh;
        fresh
    }

    pub fn is_flooded(&self) -> bool {
        self.heard > FLOOD_BYTES
    }

    /// The last output, from the panic on if there was one.
    pub fn last_output(&self, most: usize) -> String {
        let text = String::from_utf8_lossy(&self.kept);
        let text = text.trim();
        match text.find(PANIC) {
            Some(at) => text[at..].chars().take(most).collect(),
            None => {
                let skipped = text.chars().count().saturating_sub(most);
                text.chars().skip(skipped).collect()
            }
        }
    }

    pub fn has_panic(&self) -> bool {
        String::from_utf8_lossy(&self.kept).contains(PANIC)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_of_it_is_kept() {
        let mut console = Console::default();
        for _ in 0..100 {
            console.hear(&[b'a'; 1000]);
        }
        console.hear(b"the end");
        assert_eq!(console.kept.len(), KEPT_BYTES);
        assert_eq!(console.last_output(7), "the end");
        assert!(!console.is_flooded() && !console.has_panic());
        console.hear(&vec![b'b'; FLOOD_BYTES as usize]);
        assert!(console.is_flooded());
    }

    #[test]
    fn processes_that_memory_was_wanted_of_are_counted() {
        let (mut console, mut told) = (Console::default(), 0);
        console.hear(b"[ 1.0] Out of memory: Kil");
        assert_eq!(console.new_kills(&mut told), 0);
        console.hear(b"led process 7 (python3)\nother\n");
        assert_eq!((console.new_kills(&mut told), console.new_kills(&mut told)), (1, 0));
        console.hear(&b"Out of memory: Killed process 1\n".repeat(100));
        assert_eq!(console.new_kills(&mut told), MOST_TOLD - 1);
    }

    #[test]
    fn a_panic_is_told_from_its_beginning() {
        let mut console = Console::default();
        console.hear(b"hello\nKernel panic - not syncing: why\nCall Trace:\n a\n b\n");
        assert!(console.has_panic());
        assert_eq!(console.last_output(35), "Kernel panic - not syncing: why\nCal");
    }
}
