//! ak-jail: the linux backend's launcher. `ak-jail run` reads one spec on descriptor 3, builds the sandbox, hands
//! descriptor 4 to its guest, and stays outside as the sandbox's supervisor. `ak-jail sweep <journal>` removes what
//! killed supervisors left behind. It decides nothing: the spec says what to build.

mod carry;
mod cgroup;
mod channel;
mod child;
mod claim;
mod control;
mod fault;
mod filesystems;
mod host_image;
mod identity;
mod place;
mod spec;
mod supervisor;
mod sys;
mod view;
mod walls;

use std::{env, path::Path, process::ExitCode};

use control::{Control, Event};

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["run"] => run(),
        ["sweep", journal] => {
            cgroup::sweep();
            view::guard::Placeholders::sweep(Path::new(journal));
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!(
                "usage: ak-jail run (spec and control on descriptor 3, guest stream on 4)\n       ak-jail sweep JOURNAL"
            );
            ExitCode::from(2)
        }
    }
}

fn run() -> ExitCode {
    let (control, stream) = match (sys::inherited(3), sys::inherited(4)) {
        (Ok(control), Ok(stream)) => (control, stream),
        _ => {
            eprintln!("ak-jail: descriptors 3 and 4 must be open; this program is started by agentkernel");
            return ExitCode::from(2);
        }
    };
    let mut control = Control::new(control);
    match supervisor::run(&mut control, stream) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            control.send(&Event::Failed(&fault));
            ExitCode::FAILURE
        }
    }
}
