//! The unpacker is a program and no library: its parts are compiled into this one.
#![no_main]
#![allow(dead_code)]

#[path = "../../../unpack/src/archive/mod.rs"]
mod archive;
#[path = "../../../unpack/src/fuzzed.rs"]
mod fuzzed;
#[path = "../../../unpack/src/refused.rs"]
mod refused;
#[path = "../../../unpack/src/zstd_frames.rs"]
mod zstd_frames;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzed::tar(data));
