//! The end of the machine: with its sandbox, by a reset that every monitor takes for the end.

use std::{fs, io::Write, time::Duration};

use ak_jail::{
    fault::{During, Outcome},
    sys::wait_for,
};
use rustix::{
    fs::sync,
    system::{RebootCommand, reboot},
};

use crate::ended::EndedSandbox;

pub enum End {
    Exited(i32),
    Killed(i32),
}

/// `back`: to where the machine's own files are in sight.
pub fn of_child(pid: libc::pid_t, ended: &EndedSandbox, back: impl FnOnce() -> Outcome<()>) -> Outcome<End> {
    let status = wait_for(pid).during("wait for the sandbox")?.status;
    let how = if libc::WIFSIGNALED(status) {
        End::Killed(libc::WTERMSIG(status))
    } else {
        End::Exited(libc::WEXITSTATUS(status))
    };
    if let Err(fault) = back().and_then(|()| ended.show(&how)) {
        log(&fault.to_string());
    }
    Ok(how)
}

pub fn machine(how: Outcome<End>) -> ! {
    match how {
        Ok(End::Exited(0)) => {}
        Ok(End::Exited(status)) => log(&format!("the sandbox's first process ended with status {status}")),
        Ok(End::Killed(signal)) => log(&format!("the sandbox's first process was ended by signal {signal}")),
        Err(fault) => log(&fault.to_string()),
    }
    // Disks that stay.
    sync();
    loop {
        if let Err(e) = reboot(RebootCommand::Restart) {
            log(&format!("the machine cannot be ended: {e}"));
            std::thread::sleep(Duration::from_secs(1));
        }
    }
}

/// To the kernel's log, which the monitor's console shows.
pub fn log(what: &str) {
    let line = format!("<3>ak-init: {}\n", what.replace('\n', " "));
    // Without /dev/kmsg the message has no reader.
    let _ = fs::File::options().write(true).open("/dev/kmsg").and_then(|mut log| log.write_all(line.as_bytes()));
}
