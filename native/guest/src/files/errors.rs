//! System errors as the protocol's codes.

use rustix::io::Errno;

use crate::channel::Refusal;

impl From<Errno> for Refusal {
    fn from(errno: Errno) -> Self {
        let code = match errno {
            Errno::NOENT => "not_found",
            Errno::ACCESS | Errno::PERM | Errno::ROFS => "denied",
            Errno::EXIST => "exists",
            // open returns these for a FIFO without a reader, a socket, and a device without a driver.
            Errno::NXIO | Errno::NODEV => "not_regular",
            Errno::NOTDIR => "not_dir",
            Errno::ISDIR | Errno::NOTEMPTY => "is_dir",
            Errno::NOSPC | Errno::DQUOT => "no_space",
            Errno::FBIG | Errno::OVERFLOW => "too_large",
            Errno::INVAL | Errno::NAMETOOLONG | Errno::LOOP => "invalid",
            _ => "io",
        };
        Self::new(code, errno)
    }
}
