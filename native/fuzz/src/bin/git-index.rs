#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ak_git::fuzzed::index(data));
