//! WASI preview 1, for modules: words, clocks, streams, and the directories that the policy shows. It owns what a module can
//! name; the kernel holds every path to its directory (`openat2` beneath it), and the jail around this process shows
//! nothing else in any case. There are no sockets, and only plain files and directories can be opened.
//!
//! A function here never waits without being interruptible: by [`Kill`], or because the kernel answers at once.

mod data;
mod descriptors;
mod directory;
mod errno;
mod guest;
mod metadata;
mod paths;
mod poll;
mod surroundings;

use std::ops::Range;
use std::sync::Arc;

use wasmtime::{Caller, Error, Extern, Linker, Result};

use crate::kill::Kill;
use crate::loaded::State;
use crate::streams::{Input, Output};
use descriptors::Descriptors;
use errno::{Answer, Errno, Fault};
use guest::Guest;

type Iovec = Range<usize>;

/// The WASI state of one instance.
pub struct Wasi {
    args: Vec<String>,
    /// `NAME=value`.
    variables: Vec<String>,
    descriptors: Descriptors,
    stdin: Arc<Input>,
    stdout: Arc<Output>,
    stderr: Arc<Output>,
    kill: Arc<Kill>,
}

pub struct Streams {
    pub stdin: Arc<Input>,
    pub stdout: Arc<Output>,
    pub stderr: Arc<Output>,
    pub kill: Arc<Kill>,
}

impl Wasi {
    pub fn new(args: Vec<String>, variables: Vec<String>, streams: Streams) -> Self {
        let Streams { stdin, stdout, stderr, kill } = streams;
        Self { args, variables, descriptors: Descriptors::default(), stdin, stdout, stderr, kill }
    }

    /// A directory of this process's that the module finds open, under a name.
    pub fn preopen(&mut self, path: &std::path::Path, name: &str, readonly: bool) -> std::io::Result<()> {
        self.descriptors.preopen(path, name, readonly)
    }
}

const MODULE: &str = "wasi_snapshot_preview1";

fn serve(caller: &mut Caller<'_, State>, work: impl FnOnce(&mut Guest<'_>) -> Answer) -> Result<i32> {
    let Some(Extern::Memory(memory)) = caller.get_export("memory") else {
        return Err(Error::msg("it exports no memory"));
    };
    let (memory, state) = memory.data_and_store_mut(caller);
    match work(&mut Guest { memory, wasi: &mut state.wasi }) {
        Ok(()) => Ok(0),
        Err(Fault::Told(Errno(number))) => Ok(i32::from(number)),
        Err(Fault::Ended(error)) => Err(error),
    }
}

/// Each by its name and the types that its import has.
macro_rules! offer {
    ($linker:ident: $($name:ident($($word:ident: $type:ty),*);)*) => {
        $($linker.func_wrap(MODULE, stringify!($name), |mut caller: Caller<'_, State>, $($word: $type),*| {
            serve(&mut caller, |guest| guest.$name($($word as _),*))
        })?;)*
    };
}

pub fn add_to_linker(linker: &mut Linker<State>) -> Result<()> {
    offer! { linker:
        args_get(pointers: i32, buffer: i32);
        args_sizes_get(count: i32, size: i32);
        environ_get(pointers: i32, buffer: i32);
        environ_sizes_get(count: i32, size: i32);
        clock_res_get(id: i32, at: i32);
        clock_time_get(id: i32, precision: i64, at: i32);
        random_get(at: i32, length: i32);
        sched_yield();
        proc_raise(signal: i32);
        poll_oneoff(asked: i32, events: i32, count: i32, happened: i32);
        fd_advise(fd: i32, offset: i64, length: i64, advice: i32);
        fd_allocate(fd: i32, offset: i64, length: i64);
        fd_close(fd: i32);
        fd_datasync(fd: i32);
        fd_fdstat_get(fd: i32, at: i32);
        fd_fdstat_set_flags(fd: i32, flags: i32);
        fd_fdstat_set_rights(fd: i32, base: i64, inheriting: i64);
        fd_filestat_get(fd: i32, at: i32);
        fd_filestat_set_size(fd: i32, size: i64);
        fd_filestat_set_times(fd: i32, accessed: i64, modified: i64, flags: i32);
        fd_pread(fd: i32, pieces: i32, count: i32, offset: i64, at: i32);
        fd_prestat_get(fd: i32, at: i32);
        fd_prestat_dir_name(fd: i32, at: i32, length: i32);
        fd_pwrite(fd: i32, pieces: i32, count: i32, offset: i64, at: i32);
        fd_read(fd: i32, pieces: i32, count: i32, at: i32);
        fd_readdir(fd: i32, buffer: i32, length: i32, cookie: i64, at: i32);
        fd_renumber(from: i32, to: i32);
        fd_seek(fd: i32, offset: i64, whence: i32, at: i32);
        fd_sync(fd: i32);
        fd_tell(fd: i32, at: i32);
        fd_write(fd: i32, pieces: i32, count: i32, at: i32);
        path_create_directory(fd: i32, path: i32, length: i32);
        path_filestat_get(fd: i32, lookup: i32, path: i32, length: i32, at: i32);
        path_filestat_set_times(fd: i32, lookup: i32, path: i32, length: i32, accessed: i64, modified: i64, flags: i32);
        path_link(old_fd: i32, lookup: i32, old: i32, old_length: i32, new_fd: i32, new: i32, new_length: i32);
        path_open(fd: i32, lookup: i32, path: i32, length: i32, open: i32, base: i64, inheriting: i64, flags: i32, at: i32);
        path_readlink(fd: i32, path: i32, length: i32, buffer: i32, room: i32, at: i32);
        path_remove_directory(fd: i32, path: i32, length: i32);
        path_rename(old_fd: i32, old: i32, old_length: i32, new_fd: i32, new: i32, new_length: i32);
        path_symlink(target: i32, target_length: i32, fd: i32, path: i32, length: i32);
        path_unlink_file(fd: i32, path: i32, length: i32);
        sock_accept(fd: i32, flags: i32, at: i32);
        sock_recv(fd: i32, pieces: i32, count: i32, flags: i32, at: i32, out: i32);
        sock_send(fd: i32, pieces: i32, count: i32, flags: i32, at: i32);
        sock_shutdown(fd: i32, how: i32);
    }
    linker.func_wrap(MODULE, "proc_exit", |mut caller: Caller<'_, State>, status: i32| -> Result<()> {
        serve(&mut caller, |guest| guest.proc_exit(status as u32)).map(|_| ())
    })?;
    Ok(())
}
