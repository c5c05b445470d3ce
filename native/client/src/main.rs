//! The `agentkernel` that users call. Where a daemon of theirs is up, it serves the command line and this forwards
//! words, environment, streams and signals; otherwise this becomes the command line that does everything by itself.
//! It knows no verbs and no options, and decides nothing.

mod daemon_socket;
mod frame;
mod handshake;
mod input;
mod installation;
mod output;
mod session;
mod signals;
mod start;
mod terminal;

use std::env;
use std::process::exit;

use installation::Installation;
use session::{End, Session};
use signals::Signals;

/// The status of a failure of agentkernel's own.
const OWN_FAILURE: i32 = 125;

fn main() {
    let installation = match Installation::find() {
        Ok(found) => found,
        Err(error) => fail(&format!("this program's own place is not known: {error}"), "mount /proc"),
    };
    if let Some(end) = through_daemon(&installation) {
        terminal::restore();
        match end {
            End::Status(status) => exit(i32::from(status)),
            End::Signal(signal) => signals::die_by(signal),
            End::Lost(why) => fail(
                &format!("the daemon ended before this was over, and the command with it ({why})"),
                "run it again; agentkernel daemon status says whether a daemon is up, and where its log is",
            ),
        }
    }
    let why = installation.become_embedded(env::args_os().skip(1));
    fail(&why, "install Node.js, or name it with AGENTKERNEL_NODE")
}

/// None where no daemon serves this; nothing has been read or written then.
fn through_daemon(installation: &Installation) -> Option<End> {
    if env::var_os("AGENTKERNEL_DAEMON").is_some_and(|value| value == "off") {
        return None;
    }
    let mut socket = daemon_socket::connect()?;
    handshake::ask(&mut socket, &installation.build()?)?;
    // While the daemon reads that: a checkout whose sources have changed has to be built anew.
    if !installation.is_up_to_date() {
        return None;
    }
    let start = start::start_frame()?;
    let signals = Signals::block().ok()?;
    let Some(early) = handshake::agree(&mut socket, &start) else {
        signals.unblock();
        return None;
    };
    std::panic::set_hook(Box::new(|_| terminal::restore()));
    Some(Session::new(socket, signals).run(&early))
}

fn fail(what: &str, hint: &str) -> ! {
    eprintln!("agentkernel: {what}\n  hint: {hint}");
    exit(OWN_FAILURE)
}
