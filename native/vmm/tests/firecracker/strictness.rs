//! The double itself: what Firecracker refuses, it refuses with the same words. A driver that did anything of this would
//! be found out by it.

use std::{
    io::{Read, Write},
    os::unix::net::UnixStream,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::bench::{Bench, double};

struct Double {
    process: Child,
    stream: UnixStream,
}

impl Double {
    fn start(directory: &Path) -> Self {
        let socket = directory.join("raw.sock");
        let _ = std::fs::remove_file(&socket);
        let mut command = Command::new(double());
        let process = command.arg("--api-sock").arg(&socket).stdout(Stdio::null()).spawn().expect("the double");
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            match UnixStream::connect(&socket) {
                Ok(stream) => return Self { process, stream },
                Err(e) if Instant::now() > deadline => panic!("it does not listen: {e}"),
                Err(_) => thread::sleep(Duration::from_millis(2)),
            }
        }
    }

    /// Status and the rest of an answer, which comes in one piece.
    fn ask(&mut self, method: &str, path: &str, body: &str) -> (u16, String) {
        let length = body.len();
        let text = format!("{method} {path} HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{body}");
        self.stream.write_all(text.as_bytes()).expect("a request is taken");
        let mut answer = [0; 8192];
        let count = self.stream.read(&mut answer).expect("an answer");
        let answer = String::from_utf8_lossy(&answer[..count]).into_owned();
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
        (status.expect("a status"), answer)
    }

    fn refuses(&mut self, method: &str, path: &str, body: &str, why: &str) {
        let (status, answer) = self.ask(method, path, body);
        assert!(status == 400 && answer.contains(why), "{method} {path} {body}: {answer}");
    }

    fn takes(&mut self, method: &str, path: &str, body: &str) {
        let (status, answer) = self.ask(method, path, body);
        assert_eq!(status, 204, "{method} {path} {body}: {answer}");
    }
}

impl Drop for Double {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn what_is_unknown_or_of_a_wrong_type_is_refused() {
    let bench = Bench::new(&[]);
    let mut double = Double::start(&bench.path(""));
    for (method, path, body, why) in [
        ("PUT", "/machine-config", r#"{"vcpu_count":1,"mem_size_mib":128,"more":1}"#, "unknown field `more`"),
        ("PUT", "/machine-config", r#"{"vcpu_count":"1","mem_size_mib":128}"#, "invalid type: string"),
        ("PUT", "/machine-config", r#"{"vcpu_count":1}"#, "missing field `mem_size_mib`"),
        ("PUT", "/machine-config", r#"{"vcpu_count":0,"mem_size_mib":128}"#, "The vCPU count must be"),
        ("PUT", "/machine-config", r#"{"vcpu_count":1,"mem_size_mib":0}"#, "The memory size (MiB)"),
        ("PUT", "/machine-config", r#"{"vcpu_count":3,"mem_size_mib":128,"smt":true}"#, "even number"),
        ("PUT", "/boot-source", r#"{"kernel_image_path":"/none"}"#, "The kernel file cannot be opened"),
        ("PUT", "/drives/a-b", "{}", "alphanumeric characters and underscores"),
        ("PUT", "/drives/a", r#"{"drive_id":"b","is_root_device":false}"#, "does not match"),
        ("PUT", "/vsock", r#"{"guest_cid":2,"uds_path":"/none"}"#, "Invalid guest CID"),
        ("PUT", "/vsock", r#"{"guest_cid":3,"uds_path":"/none/socket"}"#, "Error binding"),
        ("PUT", "/actions", r#"{"action_type":"Explode"}"#, "unknown variant `Explode`"),
        ("PUT", "/snapshot/load", r#"{"snapshot_path":"/none"}"#, "missing field: either `mem_backend`"),
        ("PUT", "/nothing", "{}", "Invalid request method and/or path: PUT nothing"),
        ("PUT", "/vsock", "", "Empty PUT request."),
        ("PATCH", "/vm", r#"{"state":"Stopped"}"#, "unknown variant `Stopped`"),
        ("DELETE", "/vsock", "{}", "Invalid HTTP Method"),
    ] {
        // A request that was not understood may leave the connection in any state.
        double.refuses(method, path, body, why);
        if method == "DELETE" {
            return;
        }
    }
}

#[test]
fn what_comes_at_a_wrong_time_is_refused() {
    let bench = Bench::new(&[]);
    let path = |name: &str| bench.path(name).display().to_string();
    let machine = r#"{"vcpu_count":1,"mem_size_mib":128}"#;
    let source = format!(r#"{{"kernel_image_path":"{}"}}"#, path("kernel"));
    let saved = format!(r#"{{"snapshot_path":"{}","mem_file_path":"{}"}}"#, path("state"), path("memory"));
    let start = r#"{"action_type":"InstanceStart"}"#;
    let (paused, resumed) = (r#"{"state":"Paused"}"#, r#"{"state":"Resumed"}"#);
    let (not_before, not_after) = ("before starting the microVM", "after starting the microVM");

    let mut double = Double::start(&bench.path(""));
    double.refuses("PUT", "/actions", start, "Cannot start microvm without kernel configuration.");
    double.refuses("PATCH", "/vm", paused, not_before);
    double.refuses("PUT", "/snapshot/create", &saved, not_before);
    double.takes("PUT", "/machine-config", machine);
    double.refuses("PUT", "/snapshot/load", &saved, "not allowed after configuring boot-specific resources");
    double.takes("PUT", "/boot-source", &source);
    double.takes("PUT", "/actions", start);
    double.refuses("PUT", "/actions", start, not_after);
    double.refuses("PUT", "/machine-config", machine, not_after);
    double.refuses("PUT", "/entropy", "{}", not_after);
    double.refuses("PUT", "/snapshot/load", &saved, not_after);
    double.refuses("PUT", "/snapshot/create", &saved, "save/restore unavailable while running");
    double.takes("PATCH", "/vm", paused);
    double.takes("PATCH", "/vm", paused);
    double.takes("PUT", "/snapshot/create", &saved);
    double.takes("PATCH", "/vm", resumed);
    let (status, answer) = double.ask("GET", "/", "");
    assert!(status == 200 && answer.contains(r#""state":"Running""#), "{answer}");
}

#[test]
fn words_that_firecracker_does_not_know_end_it() {
    for words in [&["--api-socket", "x"][..], &["--api-sock"], &["--id", "a/b"], &["--id", "a", "--id", "b"]] {
        let status = Command::new(double()).args(words).stderr(Stdio::null()).status().expect("the double");
        assert_eq!(status.code(), Some(153), "{words:?}");
    }
}
