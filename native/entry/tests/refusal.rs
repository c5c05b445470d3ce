//! The error of a container's first program reaches a host that is still sending.

use std::{
    io::{Read, Write},
    process::{Command, Stdio},
};

/// Far more than a pipe holds: a write of it completes only with a reader.
const STILL_COMING: usize = 4 << 20;

#[test]
fn a_refusal_is_said_and_the_rest_is_taken_until_the_host_hangs_up() {
    let mut entry = Command::new(env!("CARGO_BIN_EXE_ak-entry"))
        .arg("boot")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut input = entry.stdin.take().expect("its input");
    let mut output = entry.stdout.take().expect("its output");

    // Outside of a container there is no guest to become.
    let mut length = [0; 4];
    output.read_exact(&mut length).expect("a message");
    let mut said = vec![0; u32::from_le_bytes(length) as usize];
    output.read_exact(&mut said).expect("a whole message");
    let said = String::from_utf8(said).expect("text");
    assert!(said.contains(r#""said":"failed""#), "{said}");

    input.write_all(&vec![0; STILL_COMING]).expect("somebody who reads");
    drop(input);
    assert_eq!(entry.wait().expect("its end").code(), Some(1));
}
