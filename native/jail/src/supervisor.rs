//! The process outside the walls of a temporary sandbox: starts it, stays until it has ended, and leaves nothing behind.
//! It ends the sandbox when the order comes or when whoever gave the orders is gone.

use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::{
    cgroup,
    control::{Control, Event, Order},
    fault::{During, Outcome},
    sandbox::{Sandbox, Ties},
    spec::Spec,
    view::placeholder::Placeholders,
};

pub fn run(control: &mut Control, stream: OwnedFd) -> Outcome<()> {
    let Some(line) = control.line()? else {
        return Ok(());
    };
    let spec = Spec::parse(&line)?;
    let sandbox = Sandbox::start(&spec, Ties { stream, disk: None, since: None, born: &mut |_| Ok(()) })?;
    control.send(&Event::Started { pid: sandbox.pid(), layers: &sandbox.layers });
    let order = await_end(control, &sandbox)?;
    let end = sandbox.end(order == Some(Order::Finish))?;
    control.send(&Event::Exited(&end));
    cgroup::sweep();
    Placeholders::sweep(&spec.journal);
    Ok(())
}

/// Waits for the sandbox to end, for an order, or for the owner to go.
fn await_end(control: &mut Control, sandbox: &Sandbox<'_>) -> Outcome<Option<Order>> {
    let mut patience = Timespec::try_from(ak_footprint::IDLE_AFTER).ok();
    loop {
        if control.has_line() {
            return control.order();
        }
        let mut fds =
            [PollFd::new(sandbox.pidfd(), PollFlags::IN), PollFd::from_borrowed_fd(control.as_fd(), PollFlags::IN)];
        match poll(&mut fds, patience.as_ref()) {
            Ok(0) => {
                ak_footprint::trim();
                patience = None;
                continue;
            }
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(e) => return Err(e).during("wait for the sandbox"),
        }
        let (ended, spoken) = (!fds[0].revents().is_empty(), !fds[1].revents().is_empty());
        if spoken {
            return control.order();
        }
        if ended {
            // By itself: whoever owns it decides what to do with its changes.
            return control.order();
        }
    }
}
