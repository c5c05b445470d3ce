//! The numbers by which WASI says what went wrong.

use rustix::io::Errno as Kernel;

use crate::kill::Killed;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub u16);

/// Why a function of ours did not do what it was asked.
pub enum Fault {
    /// An error for the module.
    Told(Errno),
    /// The call ends.
    Ended(wasmtime::Error),
}

pub type Answer<T = ()> = Result<T, Fault>;

macro_rules! numbers {
    ($($name:ident = $number:literal),* $(,)?) => {
        impl Errno {
            $(pub const $name: Self = Self($number);)*
        }
    };
}

numbers! {
    ACCES = 2, AGAIN = 6, BADF = 8, BUSY = 10, DQUOT = 19, EXIST = 20, FAULT = 21, FBIG = 22, ILSEQ = 25, INTR = 27,
    INVAL = 28, IO = 29, ISDIR = 31, LOOP = 32, MFILE = 33, MLINK = 34, NAMETOOLONG = 37, NFILE = 41, NOENT = 44,
    NOMEM = 48, NOSPC = 51, NOTDIR = 54, NOTEMPTY = 55, NOTSOCK = 57, NOTSUP = 58, OVERFLOW = 61, PERM = 63,
    PIPE = 64, ROFS = 69, SPIPE = 70, TXTBSY = 74, XDEV = 75,
}

impl From<Errno> for Fault {
    fn from(errno: Errno) -> Self {
        Self::Told(errno)
    }
}

impl From<Killed> for Fault {
    fn from(killed: Killed) -> Self {
        Self::Ended(wasmtime::Error::new(killed))
    }
}

impl From<Kernel> for Fault {
    fn from(kernel: Kernel) -> Self {
        Self::Told(told(kernel))
    }
}

fn told(kernel: Kernel) -> Errno {
    match kernel {
        Kernel::ACCESS => Errno::ACCES,
        Kernel::AGAIN => Errno::AGAIN,
        Kernel::BADF => Errno::BADF,
        Kernel::BUSY => Errno::BUSY,
        Kernel::DQUOT => Errno::DQUOT,
        Kernel::EXIST => Errno::EXIST,
        Kernel::FBIG => Errno::FBIG,
        Kernel::INTR => Errno::INTR,
        Kernel::INVAL => Errno::INVAL,
        Kernel::ISDIR => Errno::ISDIR,
        Kernel::LOOP => Errno::LOOP,
        Kernel::MFILE => Errno::MFILE,
        Kernel::MLINK => Errno::MLINK,
        Kernel::NAMETOOLONG => Errno::NAMETOOLONG,
        Kernel::NFILE => Errno::NFILE,
        Kernel::NOENT => Errno::NOENT,
        Kernel::NOMEM => Errno::NOMEM,
        Kernel::NOSPC => Errno::NOSPC,
        Kernel::NOTDIR => Errno::NOTDIR,
        Kernel::NOTEMPTY => Errno::NOTEMPTY,
        Kernel::OPNOTSUPP => Errno::NOTSUP,
        Kernel::OVERFLOW => Errno::OVERFLOW,
        Kernel::PERM => Errno::PERM,
        Kernel::ROFS => Errno::ROFS,
        Kernel::SPIPE => Errno::SPIPE,
        Kernel::TXTBSY => Errno::TXTBSY,
        Kernel::XDEV => Errno::XDEV,
        _ => Errno::IO,
    }
}
