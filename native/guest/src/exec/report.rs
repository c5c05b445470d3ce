//! Reports from a keeper to the guest: fixed-size records on a pipe. Each is far below PIPE_BUF, so it is written and
//! read whole.

use ak_wire::payload::Usage;

pub const RECORD_LEN: usize = 40;

/// The step of starting a command that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Process,
    Terminal,
    User,
    Cwd,
    Exec,
}

impl Stage {
    fn from_u64(value: u64) -> Self {
        match value {
            1 => Self::Terminal,
            2 => Self::User,
            3 => Self::Cwd,
            4 => Self::Exec,
            _ => Self::Process,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// The command's process exists. Sent by itself, so that it is known even
    /// if the first thing that the command does is to kill its keeper.
    Forked { pid: i32 },
    /// The image was executed.
    Started,
    /// The command was never executed.
    Failed { stage: Stage, errno: i32 },
    /// The command ended, with a status as wait(2) gives it.
    Exited { status: i32, usage: Usage },
}

impl Report {
    pub fn encode(&self) -> [u8; RECORD_LEN] {
        let words: [u64; 5] = match *self {
            Self::Forked { pid } => [1, pid as u64, 0, 0, 0],
            Self::Started => [4, 0, 0, 0, 0],
            Self::Failed { stage, errno } => [2, stage as u64, errno as u64, 0, 0],
            Self::Exited { status, usage } => [3, status as u64, usage.user_us, usage.system_us, usage.max_rss_kib],
        };
        let mut bytes = [0; RECORD_LEN];
        for (into, word) in bytes.chunks_exact_mut(8).zip(words) {
            into.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    pub fn decode(bytes: &[u8; RECORD_LEN]) -> Option<Self> {
        let mut words = [0u64; 5];
        for (word, from) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(from.try_into().ok()?);
        }
        let [kind, a, b, c, d] = words;
        Some(match kind {
            1 => Self::Forked { pid: a as i32 },
            4 => Self::Started,
            2 => Self::Failed { stage: Stage::from_u64(a), errno: b as i32 },
            3 => Self::Exited { status: a as i32, usage: Usage { user_us: b, system_us: c, max_rss_kib: d } },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_report_survives_its_record() {
        let usage = Usage { user_us: u64::MAX, system_us: 2, max_rss_kib: 3 };
        let stages = [Stage::Process, Stage::Terminal, Stage::User, Stage::Cwd, Stage::Exec];
        let failed = stages.map(|stage| Report::Failed { stage, errno: 13 });
        let others = [Report::Forked { pid: i32::MAX }, Report::Started, Report::Exited { status: 9, usage }];
        for report in failed.into_iter().chain(others) {
            assert_eq!(Report::decode(&report.encode()), Some(report));
        }
        assert_eq!(Report::decode(&[0; RECORD_LEN]), None);
    }
}
