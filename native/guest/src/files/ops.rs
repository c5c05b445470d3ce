//! file-op: which operation, and those that are one call.

use std::path::Path;

use ak_wire::FrameType;
use ak_wire::payload::{Empty, OpenFileOp};
use rustix::fs::{AtFlags, CWD, FileType, Mode, mkdirat, renameat, statat};
use rustix::io::Errno;
use serde::Serialize;

use super::stat::stat;
use super::write::make_parents;
use super::{Listing, Removal, absolute};
use crate::channel::{Channel, Context, Refusal};

const DEFAULT_MODE: u32 = 0o755;

/// `None` when the operation is done and answered.
pub fn operate(open: &OpenFileOp, window: u32, ctx: &mut Context) -> Result<Option<Channel>, Refusal> {
    let path = absolute(&open.path)?;
    match open.op.as_str() {
        "stat" => answer(ctx, &stat(path)?),
        "list" => return Listing::open(path, window, ctx).map(|l| Some(Channel::Listing(l))),
        "remove" => {
            let removal = Removal::open(path, open.recursive)?;
            return Ok(Some(Channel::Removal(removal)));
        }
        "mkdir" => {
            make_directory(open)?;
            answer(ctx, &Empty {});
        }
        "rename" => {
            let Some(to) = &open.to else {
                return Err(Refusal::invalid("rename without `to`"));
            };
            renameat(CWD, path, CWD, absolute(to)?)?;
            answer(ctx, &Empty {});
        }
        _ => return Err(Refusal::invalid("no such operation")),
    }
    Ok(None)
}

/// OPENED with the result, then CLOSE.
pub fn answer<T: Serialize>(ctx: &mut Context, result: &T) {
    ctx.outbox.json(FrameType::Opened, ctx.id, result);
    ctx.outbox.json(FrameType::Close, ctx.id, &Empty {});
}

fn make_directory(open: &OpenFileOp) -> Result<(), Refusal> {
    let path = open.path.as_str();
    if let (true, Some(parent)) = (open.parents, Path::new(path).parent()) {
        make_parents(parent)?;
    }
    let mode = open.mode.unwrap_or(DEFAULT_MODE) & 0o7777;
    match mkdirat(CWD, path, Mode::from_raw_mode(mode)) {
        Ok(()) => Ok(()),
        // As `mkdir -p`: a directory that is there already is as good.
        Err(Errno::EXIST) if open.parents && is_directory(path) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

fn is_directory(path: &str) -> bool {
    let found = statat(CWD, path, AtFlags::empty());
    found.is_ok_and(|s| FileType::from_raw_mode(s.st_mode) == FileType::Directory)
}
