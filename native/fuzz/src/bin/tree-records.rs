#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ak_tree::fuzzed::records(data));
