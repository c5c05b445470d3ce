//! ak-jail: the linux backend's launcher. `ak-jail run` reads one spec on descriptor 3, builds the sandbox, hands
//! descriptor 4 to its guest, and stays outside as the sandbox's supervisor. `ak-jail sweep <journal> <pid>`
//! removes what killed supervisors left behind, that one among them. It decides nothing: the spec says what to build.

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
        ["sweep", journal, killed] => sweep_after(Path::new(journal), killed),
        _ => {
            eprintln!(
                "usage: ak-jail run (spec and control on descriptor 3, guest stream on 4)\n       ak-jail sweep JOURNAL PID"
            );
            ExitCode::from(2)
        }
    }
}

/// The sandbox of a supervisor that was killed dies with it, but not in the same moment: until then its group has
/// processes and its claims have a holder.
fn sweep_after(journal: &Path, killed: &str) -> ExitCode {
    for _ in 0..2000 {
        cgroup::sweep();
        view::placeholder::Placeholders::sweep(journal);
        if !cgroup::has_of(killed) && !claim::has_of(journal, killed) {
            return ExitCode::SUCCESS;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    ExitCode::FAILURE
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
