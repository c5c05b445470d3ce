//! Runs a test in a network namespace of its own, as root there, for any user.

use std::process::Command;

const MARK: &str = "AK_TEST_INSIDE";

/// Runs `test` there, by starting this test again. `name` is the test's own.
pub fn in_own_network(name: &str, test: impl FnOnce()) {
    if std::env::var_os(MARK).is_some() {
        return test();
    }
    let own = std::env::current_exe().expect("the test program");
    // Its words are shown only if it fails: they count tests, and this one counts once.
    let ran = Command::new("unshare")
        .args(["--user", "--map-root-user", "--net", "--"])
        .arg(own)
        .args(["--exact", name, "--nocapture"])
        .env(MARK, "1")
        .output()
        .expect("unshare runs");
    let words = [ran.stdout, ran.stderr].concat();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&words));
}
