//! The client is a program and no library: its parts are compiled into this one.
#![no_main]
#![allow(dead_code)]

#[path = "../../../client/src/frame.rs"]
mod frame;
#[path = "../../../client/src/fuzzed.rs"]
mod fuzzed;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzed::frames(data));
