//! `ak-guest`, process 1 of every sandbox.
//!
//! It serves the guest protocol on descriptor 3 (of a kept sandbox: on the streams that come through it; in a container:
//! on a pipe for each direction): starts commands, carries their
//! streams, moves files, carries the connections of a captured network, reaps. It runs inside all walls and holds nothing that
//! the sandbox must not have; it decides nothing about policy. One thread, one
//! epoll loop: nothing here may block on the sandbox's or the host's behaviour.

// Rust's own start-up looks for its stack in /proc and sets handlers that
// process 1 does not use; a sandbox is ready sooner without.
#![cfg_attr(not(test), no_main)]

mod channel;
mod exec;
mod files;
mod host_frames;
mod host_stream;
mod kept;
mod net;
mod outbox;
mod poller;
mod pty;
mod reap;
mod server;
mod shutdown;
mod startup;
mod sys;
mod users;

use std::ffi::{c_char, c_int};

use ak_sys::heap::Heap;
use server::{End, Server};

#[global_allocator]
static HEAP: Heap = Heap;

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn main(count: c_int, words: *const *const c_char) -> i32 {
    // SAFETY: they come from the C library as they are.
    let words = unsafe { ak_sys::args::of_main(count, words) };
    match startup::prepare(words).and_then(Server::new) {
        Ok(server) => {
            let end = server.run();
            startup::linger_if_told();
            match end {
                End::ShutDown => 0,
                End::StreamEnded | End::SupervisorGone => 1,
                End::Violation => 2,
            }
        }
        Err(_) => 3,
    }
}
