//! Why a user namespace was refused. Settings are read here to explain a failure that has been seen, never to
//! foresee one.

use std::fs;

pub fn hint() -> String {
    let is = |setting: &str, value: &str| fs::read_to_string(setting).is_ok_and(|text| text.trim() == value);
    let root = rustix::process::geteuid().is_root();
    if is("/proc/sys/user/max_user_namespaces", "0") {
        return "user.max_user_namespaces is 0: run `sysctl -w user.max_user_namespaces=15000` as root, and keep it in /etc/sysctl.d".to_owned();
    }
    if !root && is("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        return "kernel.unprivileged_userns_clone is 0: run `sysctl -w kernel.unprivileged_userns_clone=1` as root, and keep it in /etc/sysctl.d".to_owned();
    }
    if !root && is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
        return "AppArmor restricts user namespaces (kernel.apparmor_restrict_unprivileged_userns is 1, as Ubuntu sets it): give ak-jail and ak-probe an AppArmor profile with `userns,`, or run `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0` as root".to_owned();
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    if status.lines().any(|line| line == "Seccomp:\t2") {
        return "a seccomp filter is on this process, as container engines set one: start the container with a profile that allows unshare, mount and clone".to_owned();
    }
    "the kernel refuses user namespaces: it needs CONFIG_USER_NS, no security module may forbid them, and a process in a chroot may not make any (enter the root by pivot_root, as containers do)".to_owned()
}
