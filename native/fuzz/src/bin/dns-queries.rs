//! The guest is a program and no library: its parts are compiled into this one.
#![no_main]
#![allow(dead_code)]

#[path = "../../../guest/src/net/dns/fuzzed.rs"]
mod fuzzed;
#[path = "../../../guest/src/net/dns/message.rs"]
mod message;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzed::query(data));
