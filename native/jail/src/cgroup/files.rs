//! Reading and writing the files of a cgroup, each in one piece. The kernel gives up a limit on memory of v1 when anything
//! waits for the process that sets it, also a tracer that comes or goes, or a stop: no handler has to be there for that,
//! and none has the call go on. It is made again.

use std::os::fd::AsFd;

use rustix::{
    fs::{Mode, OFlags, openat},
    io::{self, retry_on_intr},
};

/// Far more than any file has that is read here.
const MOST_TEXT: usize = 2048;

/// The kernel takes a value as a whole.
pub fn write_value(folder: impl AsFd, file: &str, value: &str) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let file = retry_on_intr(|| openat(&folder, file, flags, Mode::empty()))?;
    retry_on_intr(|| io::write(&file, value.as_bytes())).map(drop)
}

/// The kernel gives such a file as a whole. None where there is none.
pub fn read_value(folder: impl AsFd, file: &str) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = retry_on_intr(|| openat(&folder, file, flags, Mode::empty())).ok()?;
    let mut text = [0; MOST_TEXT];
    let length = retry_on_intr(|| io::read(&file, &mut text)).ok()?;
    String::from_utf8(text[..length].to_vec()).ok()
}

/// Takes the calling process into the group whose door it is.
pub fn enter(door: impl AsFd) -> io::Result<()> {
    retry_on_intr(|| io::write(&door, b"0")).map(drop)
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, File, OpenOptions},
        io::{Read, Write},
        os::unix::{ffi::OsStrExt, fs::OpenOptionsExt},
        path::PathBuf,
        sync::atomic::{AtomicI32, AtomicUsize, Ordering},
        thread,
        time::Duration,
    };

    use super::*;
    use crate::claim;

    const PAUSE: Duration = Duration::from_micros(100);

    static SIGNALS: AtomicUsize = AtomicUsize::new(0);

    extern "C" fn count(_: i32) {
        SIGNALS.fetch_add(1, Ordering::SeqCst);
    }

    /// A folder with a pipe by name, for the calls to wait at.
    struct Waiting(PathBuf);

    impl Waiting {
        fn new() -> Self {
            let folder = std::env::temp_dir().join(claim::unique_name());
            fs::create_dir(&folder).expect("a folder");
            let path = std::ffi::CString::new(folder.join("value").as_os_str().as_bytes()).expect("a path");
            // SAFETY: the path is a string that ends with a zero.
            assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
            Self(folder)
        }

        fn folder(&self) -> File {
            File::open(&self.0).expect("the folder")
        }

        fn pipe(&self) -> File {
            let mut options = OpenOptions::new();
            options.read(true).write(true).custom_flags(libc::O_NONBLOCK);
            options.open(self.0.join("value")).expect("the pipe")
        }
    }

    impl Drop for Waiting {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// What the call gives that is interrupted while it waits, and let go on by `resume` afterwards.
    fn interrupted<T: Send>(call: impl FnOnce() -> T + Send, resume: impl FnOnce(&dyn Fn() -> bool)) -> T {
        // SAFETY: all zeros is a valid action; the handler only counts, and is of the kind that interrupts calls.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = count as extern "C" fn(i32) as usize;
            assert_eq!(libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut()), 0);
        }
        let id = AtomicI32::new(0);
        thread::scope(|scope| {
            let caller = scope.spawn(|| {
                id.store(rustix::thread::gettid().as_raw_nonzero().get(), Ordering::SeqCst);
                call()
            });
            let asleep = || {
                let stat = fs::read_to_string(format!("/proc/self/task/{}/stat", id.load(Ordering::SeqCst)));
                stat.is_ok_and(|stat| stat.contains(") S "))
            };
            wait_until(|| asleep() || caller.is_finished());
            let before = SIGNALS.load(Ordering::SeqCst);
            // SAFETY: the thread is joined only below.
            unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), id.load(Ordering::SeqCst), libc::SIGUSR1) };
            wait_until(|| SIGNALS.load(Ordering::SeqCst) > before);
            wait_until(|| asleep() || caller.is_finished());
            resume(&|| caller.is_finished());
            caller.join().expect("the call")
        })
    }

    fn wait_until(is_so: impl Fn() -> bool) {
        while !is_so() {
            thread::sleep(PAUSE);
        }
    }

    #[test]
    fn a_signal_keeps_no_value_from_being_written() {
        let waiting = Waiting::new();
        let (owned, mut pipe) = (waiting.folder(), waiting.pipe());
        while pipe.write(&[b'x'; 4096]).is_ok() {}
        let mut seen = Vec::new();
        let written = interrupted(
            || write_value(&owned, "value", "42"),
            |is_over| {
                while !seen.ends_with(b"42") {
                    let mut piece = [0; 4096];
                    match pipe.read(&mut piece) {
                        Ok(length) => seen.extend_from_slice(&piece[..length]),
                        Err(_) if is_over() => break,
                        Err(_) => thread::sleep(PAUSE),
                    }
                }
            },
        );
        assert_eq!(written, Ok(()));
        assert!(seen.ends_with(b"42"));
    }

    #[test]
    fn a_signal_keeps_no_value_from_being_read() {
        let waiting = Waiting::new();
        let (owned, mut pipe) = (waiting.folder(), waiting.pipe());
        let text = interrupted(|| read_value(&owned, "value"), |_| pipe.write_all(b"42").expect("a value"));
        assert_eq!(text.as_deref(), Some("42"));
    }

    #[test]
    fn a_signal_keeps_nobody_from_entering() {
        let waiting = Waiting::new();
        let mut pipe = waiting.pipe();
        while pipe.write(&[b'x'; 4096]).is_ok() {}
        let door = OpenOptions::new().write(true).open(waiting.0.join("value")).expect("the door");
        let entered = interrupted(|| enter(&door), |_| while pipe.read(&mut [0; 4096]).is_ok() {});
        assert_eq!(entered, Ok(()));
    }
}
