//! Why a command did not start, as the protocol's codes.

use ak_wire::payload::Failed;
use rustix::io::Errno;

use super::report::Stage;

pub fn start_failure(stage: Stage, errno: Errno) -> Failed {
    const EXHAUSTED: [Errno; 6] = [Errno::AGAIN, Errno::NOMEM, Errno::MFILE, Errno::NFILE, Errno::NOSPC, Errno::TOOBIG];
    let code = match stage {
        _ if EXHAUSTED.contains(&errno) => "resource",
        Stage::Process => "resource",
        Stage::Terminal => "io",
        Stage::User => "bad_user",
        Stage::Cwd => "bad_cwd",
        Stage::Exec => match errno {
            Errno::NOENT | Errno::NOTDIR => "not_found",
            Errno::IO => "io",
            _ => "not_executable",
        },
    };
    Failed { code: code.into(), message: errno.to_string() }
}
