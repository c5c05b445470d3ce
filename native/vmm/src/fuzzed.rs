//! Targets of `npm run fuzz -- qmp-answers` and `firecracker-answers`: any output of a monitor that its guest took
//! over.

use std::{io::Write, net::Shutdown, os::unix::net::UnixStream};

use crate::{
    firecracker::client::read_head,
    qemu::qmp::{Answer, Qmp},
};

/// The bytes that a socket buffers without a reader.
const MOST_BYTES: usize = 64 << 10;

pub fn qmp(data: &[u8]) {
    let (ours, mut theirs) = UnixStream::pair().expect("a socket");
    theirs.write_all(&data[..data.len().min(MOST_BYTES)]).expect("write");
    theirs.shutdown(Shutdown::Write).expect("end");
    let mut qmp = Qmp::new(ours);
    let mut lines = 0;
    while let Ok(answers) = qmp.hear() {
        lines += answers.len();
        if answers.contains(&Answer::Gone) {
            break;
        }
    }
    assert!(lines <= data.iter().filter(|byte| **byte == b'\n').count() + 1, "more answers than lines");
}

pub fn firecracker(data: &[u8]) {
    if let Ok(Some((_, head, _))) = read_head(data) {
        assert!(head <= data.len());
        // A complete head stays complete whatever follows it.
        assert!(matches!(read_head(&data[..head]), Ok(Some(_))));
        assert!(!matches!(read_head(&data[..head - 1]), Ok(Some((_, sooner, _))) if sooner < head));
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn kept_qmp_answers_pass() {
        ak_corpus::replay("qmp-answers", super::qmp);
    }

    #[test]
    fn kept_firecracker_answers_pass() {
        ak_corpus::replay("firecracker-answers", super::firecracker);
    }
}
