//! A small process that starts jails for a large one. Forking costs time for every page that a process has, and a
//! long-lived owner has many; this one has few. It owns nothing: a jail's streams lead to the owner, and end with it.
//!
//! Orders and answers are lines, in the order of the orders. `start` is answered by `started PID` after two connections
//! were made to the owner's socket, the control stream first, the guest's second; or by `failed CONNECTIONS REASON`.
//! `exited PID CODE SIGNAL` (one of them `-`) tells of a jail's end. The end of the orders is the end of the launcher.

use std::{
    fs::File,
    io::{self, Read, Write},
    os::{
        fd::AsFd,
        unix::{net::UnixStream, process::CommandExt, process::ExitStatusExt},
    },
    process::{Child, Command, Stdio},
};

use rustix::event::{PollFd, PollFlags, poll};

use crate::sys;

const CONTROL_FD: i32 = 3;
const STREAM_FD: i32 = 4;

pub fn run(socket: &str) -> io::Result<()> {
    sys::set_name(c"ak-launcher");
    // The numbers that a jail's streams will have: nothing else of ours may lie there.
    let _reserved = [File::open("/dev/null")?, File::open("/dev/null")?];
    let children_ended = File::from(sys::watch_children()?);
    let orders = File::from(sys::inherited(0)?);
    let mut answers = File::from(sys::inherited(1)?);
    let mut jails: Vec<Child> = Vec::new();
    loop {
        let mut polled = [PollFd::new(&orders, PollFlags::IN), PollFd::new(&children_ended, PollFlags::IN)];
        poll(&mut polled, None)?;
        let [has_orders, has_ended] = [&polled[0], &polled[1]].map(|one| !one.revents().is_empty());
        if has_ended {
            drain(&children_ended);
            tell_ended(&mut jails, &mut answers)?;
        }
        if has_orders && !obey(&orders, socket, &mut jails, &mut answers)? {
            return Ok(());
        }
    }
}

/// False at the end of the orders.
fn obey(mut orders: &File, socket: &str, jails: &mut Vec<Child>, answers: &mut File) -> io::Result<bool> {
    let mut bytes = [0; 1024];
    let count = orders.read(&mut bytes)?;
    for _ in bytes[..count].iter().filter(|&&byte| byte == b'\n') {
        let mut connections = 0;
        match start(socket, &mut connections) {
            Ok(jail) => {
                writeln!(answers, "started {}", jail.id())?;
                jails.push(jail);
            }
            Err(error) => writeln!(answers, "failed {connections} {error}")?,
        }
    }
    Ok(count > 0)
}

fn start(socket: &str, connections: &mut u32) -> io::Result<Child> {
    let mut connect = || {
        let stream = UnixStream::connect(socket)?;
        *connections += 1;
        sys::above_placed(stream)
    };
    let (control, stream) = (connect()?, connect()?);
    let mut command = Command::new("/proc/self/exe");
    command
        .arg0("ak-jail")
        .arg("run")
        .env_clear()
        // Only for finding newuidmap and newgidmap.
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    sys::start_with(command, &[(control.as_fd(), CONTROL_FD), (stream.as_fd(), STREAM_FD)])
}

fn tell_ended(jails: &mut Vec<Child>, answers: &mut File) -> io::Result<()> {
    let mut alive = Vec::with_capacity(jails.len());
    for mut jail in jails.drain(..) {
        match jail.try_wait()? {
            None => alive.push(jail),
            Some(status) => {
                let text = |number: Option<i32>| number.map_or("-".to_owned(), |number| number.to_string());
                writeln!(answers, "exited {} {} {}", jail.id(), text(status.code()), text(status.signal()))?;
            }
        }
    }
    *jails = alive;
    Ok(())
}

fn drain(mut signals: &File) {
    let mut bytes = [0; 128 * 8];
    while signals.read(&mut bytes).is_ok_and(|count| count > 0) {}
}
