//! ak-unpack: turns an image's layers into directories. `ak-unpack layer` reads one order on descriptor 3 and the
//! layer's blob on descriptor 4, and applies it in a jail of its own: the archive is hostile, so its reader has no ids
//! of the host, no network, and no file in sight but the target directory. `ak-unpack disk` makes one disk of an
//! image's layers in the same jail. `ak-unpack remove PATH…` removes such directories, whatever users own their files.
//! It decides nothing and downloads nothing.

mod archive;
mod blob;
mod content;
mod disk;
mod extract;
#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod fuzzed;
mod hiding;
mod jail;
mod metadata;
mod order;
mod path;
mod refused;
mod removal;
mod remove;
mod zstd_frames;

use std::{env, fs::File, path::PathBuf};

use ak_jail::{
    control::Control,
    fault::{Fault, Outcome},
    sys,
};

use order::{Answer, Order};

fn main() {
    sys::ignore_broken_pipes();
    let args: Vec<String> = env::args().skip(1).collect();
    let status = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["layer"] => layer(),
        ["disk"] => disk(),
        ["remove", ref paths @ ..] if !paths.is_empty() => remove(paths),
        _ => {
            eprintln!(
                "usage: ak-unpack layer (order on descriptor 3, blob on 4) | disk (order on 3)\n       ak-unpack remove PATH…"
            );
            2
        }
    };
    std::process::exit(status);
}

fn layer() -> i32 {
    let (Ok(control), Ok(blob)) = (sys::inherited(3), sys::inherited(4)) else {
        eprintln!("ak-unpack: descriptors 3 and 4 must be open; this program is started by agentkernel");
        return 2;
    };
    let mut control = Control::new(control);
    let answer = unpack(&mut control, File::from(blob));
    let failed = answer.is_err();
    control.write(&match answer {
        Ok(summary) => Answer::Done(summary),
        Err(fault) => Answer::Failed(fault),
    });
    failed.into()
}

fn unpack(control: &mut Control, blob: File) -> Outcome<extract::Summary> {
    let Some(line) = control.line()? else { return Err(Fault::new("internal", "no order came")) };
    jail::apply(&Order::parse(&line)?, control, blob)
}

fn disk() -> i32 {
    let Ok(control) = sys::inherited(3) else {
        eprintln!("ak-unpack: descriptor 3 must be open; this program is started by agentkernel");
        return 2;
    };
    let mut control = Control::new(control);
    let answer = make_disk(&mut control);
    let failed = answer.is_err();
    control.write(&match answer {
        Ok(disk) => disk::Answer::Done(disk),
        Err(fault) => disk::Answer::Failed(fault),
    });
    failed.into()
}

fn make_disk(control: &mut Control) -> Outcome<disk::Disk> {
    let Some(line) = control.line()? else { return Err(Fault::new("internal", "no order came")) };
    disk::make(&disk::Order::parse(&line)?, control)
}

fn remove(paths: &[&str]) -> i32 {
    let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
    match removal::remove_all(&paths) {
        Ok(()) => 0,
        Err(fault) => {
            eprintln!("{}", fault.message);
            1
        }
    }
}
