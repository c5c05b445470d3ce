//! Each layer's answer agrees with what other programs can do on the same machine.

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::support::{LAYERS, SharedBinary, binary, is_root, lines, one, outside, probe, text};

const NOBODY: u32 = 65534;

#[test]
fn all_prints_one_valid_line_per_layer_in_order() {
    let output = Command::new(binary()).arg("all").output().expect("runs");
    let lines = lines(&output);
    let names: Vec<&str> = lines.iter().map(|line| text(line, "layer")).collect();
    assert_eq!(names, LAYERS);
    for line in &lines {
        assert!(line["ok"].is_boolean() && line["ms"].is_f64(), "{line}");
        assert!(!text(line, "detail").is_empty(), "{line}");
        assert!(!(line["ok"] == true && line.get("hint").is_some()), "{line}");
    }
}

#[test]
fn wrong_usage_ends_with_2_and_prints_no_line() {
    for arguments in [&[][..], &["nonsense"], &["userns", "overlay"]] {
        let output = Command::new(binary()).args(arguments).output().expect("runs");
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stdout.is_empty());
        assert!(!output.stderr.is_empty());
    }
}

#[test]
fn userns_agrees_with_unshare() {
    let works = outside("unshare", &["--user", "--map-root-user", "true"]);
    assert_eq!(probe("userns")["ok"], works);
}

#[test]
fn a_failing_user_namespace_names_the_setting_that_forbids_it() {
    // The setting belongs to a user namespace: changed in a new one, it holds only there.
    let script = format!("echo 0 >/proc/sys/user/max_user_namespaces; exec {} userns", binary());
    let arguments = ["--user", "--map-root-user", "sh", "-c", &script];
    if !outside("unshare", &["--user", "--map-root-user", "true"]) {
        return;
    }
    let line = one(Command::new("unshare").args(arguments));
    assert_eq!(line["ok"], false);
    assert!(text(&line, "hint").contains("user.max_user_namespaces is 0"), "{line}");
}

#[test]
fn mountns_proc_agrees_with_unshare() {
    let works = outside("unshare", &["--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "true"]);
    assert_eq!(probe("mountns-proc")["ok"], works);
}

#[test]
fn a_masked_proc_is_named_as_the_reason() {
    if !is_root() {
        return;
    }
    let script = format!("mount --bind /dev/null /proc/version && exec {} mountns-proc", binary());
    let line = one(Command::new("unshare").args(["--mount", "sh", "-c", &script]));
    assert_eq!(line["ok"], false, "{line}");
    assert!(text(&line, "detail").contains("/proc/version"), "{line}");
    assert!(text(&line, "hint").contains("masked"), "{line}");
}

#[test]
fn overlay_agrees_with_a_mount_by_hand() {
    let script = "mount -t tmpfs x /tmp && cd /tmp && mkdir l u w m && \
        mount -t overlay x -o lowerdir=l,upperdir=u,workdir=w,userxattr m";
    let works = outside("unshare", &["--user", "--map-root-user", "--mount", "sh", "-c", script]);
    assert_eq!(probe("overlay")["ok"], works);
}

#[test]
fn netns_agrees_with_unshare() {
    let works = outside("unshare", &["--user", "--map-root-user", "--net", "true"]);
    assert_eq!(probe("netns")["ok"], works);
}

#[test]
fn redirect_needs_a_network_namespace_and_says_what_it_captured() {
    let line = probe("redirect");
    if line["ok"] == true {
        assert_eq!(probe("netns")["ok"], true);
        assert!(text(&line, "detail").contains("192.0.2.1:80"), "{line}");
    } else {
        assert!(!text(&line, "hint").is_empty(), "{line}");
    }
}

#[test]
fn landlock_reports_the_abi_of_a_kernel_that_lists_it() {
    let modules = std::fs::read_to_string("/sys/kernel/security/lsm").unwrap_or_default();
    let line = probe("landlock");
    if modules.split(',').any(|name| name.trim() == "landlock") {
        assert_eq!(line["ok"], true, "{line}");
    }
    if line["ok"] == true {
        assert!(text(&line, "detail").starts_with("ABI "), "{line}");
    }
}

#[test]
fn seccomp_agrees_with_the_kernel_saying_that_it_has_filters() {
    let actions = std::path::Path::new("/proc/sys/kernel/seccomp/actions_avail");
    assert_eq!(probe("seccomp")["ok"], actions.exists());
}

#[test]
fn kvm_is_decided_within_two_seconds_by_running_a_guest() {
    let started = std::time::Instant::now();
    let line = probe("kvm");
    assert!(started.elapsed().as_secs_f64() < 2.0);
    if line["ok"] == true {
        assert!(text(&line, "detail").contains("guest code ran in"), "{line}");
    }
    if !std::path::Path::new("/dev/kvm").exists() {
        assert_eq!(line["ok"], false, "{line}");
    }
}

#[test]
fn an_ordinary_user_gets_an_answer_for_every_layer_and_idmap_is_no_fault() {
    if !is_root() {
        return;
    }
    let shared = SharedBinary::new("ak-probe-user");
    let mut command = Command::new(&shared.0);
    command.arg("all").uid(NOBODY).gid(NOBODY).current_dir("/");
    let lines = lines(&command.output().expect("runs"));
    let names: Vec<&str> = lines.iter().map(|line| text(line, "layer")).collect();
    assert_eq!(names, LAYERS);
    for line in lines {
        if text(&line, "layer") == "idmap" {
            assert_eq!(line["ok"], false);
            assert_eq!(line["detail"], "needs root; not needed rootless");
            assert!(line.get("hint").is_none());
        } else if line["ok"] == false {
            assert!(!text(&line, "hint").is_empty(), "{line}");
        }
    }
}

#[test]
fn subids_of_a_user_are_mapped_by_newuidmap_when_assigned_and_missed_when_not() {
    if !is_root() || !outside("which", &["newuidmap"]) {
        return;
    }
    let shared = SharedBinary::new("ak-probe-subids");
    let table = shared.0.with_file_name("table");
    // The tables are replaced in a mount namespace of this test's own only.
    let script = "mount --bind \"$1\" /etc/subuid && mount --bind \"$1\" /etc/subgid && \
        exec setpriv --reuid 65534 --regid 65534 --clear-groups \"$2\" subids";
    let ask = |ranges: &str| {
        std::fs::write(&table, ranges).expect("written");
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", script, "sh"]);
        one(command.arg(&table).arg(&shared.0).current_dir("/"))
    };
    let assigned = ask("65534:200000:65536\nnobody:200000:65536\n");
    assert_eq!(assigned["ok"], true, "{assigned}");
    let missing = ask("somebody-else:200000:65536\n");
    assert_eq!(missing["ok"], false, "{missing}");
    assert!(text(&missing, "hint").contains("--add-subuids"), "{missing}");
}

#[test]
fn as_root_the_ranges_and_idmaps_of_the_backend_are_used() {
    if !is_root() || probe("userns")["ok"] == false {
        return;
    }
    let subids = probe("subids");
    assert!(text(&subids, "detail").contains("65536"), "{subids}");
    let idmap = probe("idmap");
    assert!(text(&idmap, "detail").contains("/usr"), "{idmap}");
}
