//! Signals as bytes to read: blocked while a daemon serves us, so that none is lost and none surprises. All unsafe calls
//! about signals are here.

use std::fs::File;
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd};
use std::os::unix::net::UnixStream;

/// Passed on to the daemon, which decides what they mean.
const FORWARDED: [i32; 6] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2];
/// Signals of the terminal and of the shell's job control.
const OF_TERMINAL: [i32; 3] = [libc::SIGTSTP, libc::SIGCONT, libc::SIGWINCH];

pub struct Signals {
    descriptor: File,
    before: libc::sigset_t,
    /// The parent that forwards signals to us, in place of their senders.
    relay: Option<UnixStream>,
}

impl Signals {
    /// A signal that was ignored before stays so, as for a local process in the background. With a relay,
    /// those that are passed on come from it alone.
    pub fn block(relay: Option<UnixStream>) -> io::Result<Self> {
        let wanted: Vec<i32> = FORWARDED.into_iter().chain(OF_TERMINAL).filter(|&signal| !is_ignored(signal)).collect();
        let set = set_of(&wanted);
        let mut before = MaybeUninit::uninit();
        // SAFETY: both sets are valid for the call; signalfd returns a new descriptor without another owner.
        unsafe {
            if libc::sigprocmask(libc::SIG_BLOCK, &set, before.as_mut_ptr()) != 0 {
                return Err(io::Error::last_os_error());
            }
            let descriptor = libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            let before = before.assume_init();
            if descriptor < 0 {
                let error = io::Error::last_os_error();
                libc::sigprocmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
                return Err(error);
            }
            Ok(Self { descriptor: File::from_raw_fd(descriptor), before, relay })
        }
    }

    /// As it was before; what came meanwhile has its usual effect now.
    pub fn unblock(self) {
        // SAFETY: the set was filled by sigprocmask.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut()) };
    }

    /// The next signal that came, if any.
    pub fn next(&self) -> Option<i32> {
        self.relayed().or_else(|| {
            loop {
                let signal = self.received()?;
                let is_of_relay = FORWARDED.contains(&signal) || signal == libc::SIGTSTP;
                if self.relay.is_none() || !is_of_relay {
                    return Some(signal);
                }
            }
        })
    }

    fn relayed(&self) -> Option<i32> {
        let mut byte = [0];
        let mut relay = self.relay.as_ref()?;
        let read = relay.read(&mut byte).ok()?;
        (read == 1).then(|| i32::from(byte[0]))
    }

    fn received(&self) -> Option<i32> {
        let mut info = [0u8; size_of::<libc::signalfd_siginfo>()];
        let read = (&self.descriptor).read(&mut info).ok()?;
        // The number is the first field.
        (read == info.len()).then(|| i32::from_ne_bytes([info[0], info[1], info[2], info[3]]))
    }

    pub fn relay(&self) -> Option<BorrowedFd<'_>> {
        self.relay.as_ref().map(AsFd::as_fd)
    }

    /// Stops this process as the terminal wants it. False if it was not stopped, because no process could have
    /// continued it.
    pub fn stop_self(&self) -> bool {
        let stop = set_of(&[libc::SIGTSTP]);
        let mut pending = MaybeUninit::uninit();
        // SAFETY: the sets are valid; the signal is unblocked for as long as it takes to be stopped by it, and the
        // process that continues us leaves a blocked SIGCONT.
        unsafe {
            libc::raise(libc::SIGTSTP);
            libc::sigprocmask(libc::SIG_UNBLOCK, &stop, std::ptr::null_mut());
            libc::sigprocmask(libc::SIG_BLOCK, &stop, std::ptr::null_mut());
            libc::sigpending(pending.as_mut_ptr()) == 0 && libc::sigismember(&pending.assume_init(), libc::SIGCONT) == 1
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Ends this process as the signal would have; with the status that a shell shows for it if it cannot.
pub fn die_by(signal: i32) -> ! {
    let set = set_of(&[signal]);
    // SAFETY: plain calls about this process alone.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
        libc::sigprocmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut());
    }
    std::process::exit(128 + signal)
}

fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: only asks; the action is filled if it succeeds.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

fn set_of(signals: &[i32]) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset fills the set before it is added to.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for &signal in signals {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        set.assume_init()
    }
}

pub fn ignore_broken_pipes() {
    // SAFETY: ignoring a signal installs no handler.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
}
