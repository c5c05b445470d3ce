//! Drivers that the kernel was not built with: files beside this program, in an order in which each finds what it
//! needs. They are gone when they are loaded, for they lie in memory.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use ak_jail::fault::{During, Outcome};

use crate::sys;

const DIRECTORY: &str = "/modules";
const LIST: &str = "/modules/list";

pub fn load() -> Outcome<()> {
    let list = match fs::read_to_string(LIST) {
        Ok(list) => list,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(e).during("read the list of drivers"),
    };
    for name in list.lines() {
        let file = File::open(Path::new(DIRECTORY).join(name)).during(format_args!("open {name}"))?;
        sys::load_module(&file).during(format_args!("load {name}"))?;
    }
    fs::remove_dir_all(DIRECTORY).during("let go of the drivers")
}
