//! Firecracker dies, at each step and later; and it dies with its parent.

use std::{
    fs,
    process::Command,
    time::{Duration, Instant},
};

use ak_vmm::{firecracker::Firecracker, monitor::End};

use crate::bench::{Bench, WAITING, hear, send};

const STEPS: [&str; 6] =
    ["PUT /machine-config", "PUT /boot-source", "PUT /drives/root", "PUT /vsock", "PUT /entropy", "PUT /actions"];
const ITS_FILTER: &str = "status 148: a system call that its own filter forbids";

#[test]
fn a_death_at_each_step_is_told_with_its_last_words() {
    for step in STEPS {
        let bench = Bench::new(&[("DIES_AT", step)]);
        let told = Firecracker::boot(&bench.machine()).err().expect("a failure").to_string();
        assert_eq!(told, format!("Firecracker ended at {step}: {ITS_FILTER}; it said last: double: dies at {step}"));
    }
}

#[test]
fn a_death_before_it_listens_is_told() {
    let bench = Bench::new(&[("DIES_AT", "start")]);
    let told = Firecracker::boot(&bench.machine()).err().expect("a failure").to_string();
    assert!(told.starts_with(&format!("Firecracker ended before it listened: {ITS_FILTER}; it said last: ")), "{told}");
}

#[test]
fn a_death_of_a_machine_that_is_saved_paused_or_restored_is_told() {
    for step in ["PATCH /vm", "PUT /snapshot/create"] {
        let bench = Bench::new(&[("DIES_AT", step)]);
        let mut machine = Firecracker::boot(&bench.machine()).unwrap();
        let told = machine.save(&bench.saved()).unwrap_err().to_string();
        assert!(told.starts_with(&format!("Firecracker ended at {step}: {ITS_FILTER}")), "{told}");
    }
    let bench = Bench::new(&[("DIES_AT", "PUT /snapshot/load")]);
    let told = Firecracker::restore(&bench.machine(), &bench.saved()).err().expect("a failure").to_string();
    assert!(told.starts_with("Firecracker ended at PUT /snapshot/load"), "{told}");
}

#[test]
fn a_running_machine_that_is_killed_has_failed() {
    let bench = Bench::new(&[]);
    let mut machine = Firecracker::boot(&bench.machine()).unwrap();
    hear(&mut machine.dial().unwrap());
    kill(machine.pid());
    let told = "Firecracker ended with signal 9: killed, or out of memory".to_owned();
    assert_eq!(machine.await_end().unwrap(), End::Failed(told));
}

#[test]
fn a_death_while_the_guest_boots_ends_the_wait() {
    let bench = Bench::new(&[("HANGS_UP", "1000000")]);
    let mut machine = Firecracker::boot(&bench.machine()).unwrap();
    kill(machine.pid());
    let told = machine.dial().unwrap_err().to_string();
    assert!(told.contains("signal 9") || told.contains("connect to the guest"), "{told}");
}

#[test]
fn a_panic_is_told() {
    let bench = Bench::new(&[]);
    let mut machine = Firecracker::boot(&bench.machine()).unwrap();
    let mut guest = machine.dial().unwrap();
    assert_eq!(hear(&mut guest), WAITING);
    send(&mut guest, b"wake");
    send(&mut guest, b"panic");
    assert_eq!(machine.await_end().unwrap(), End::Failed("Kernel panic - not syncing: as it was told".into()));
}

#[test]
fn a_console_that_is_flooded_ends_the_machine() {
    let bench = Bench::new(&[("FLOODS", "1")]);
    let machine = Firecracker::boot(&bench.machine()).unwrap();
    let End::Failed(told) = machine.await_end().unwrap() else { panic!("it must fail") };
    assert!(told.starts_with("the machine's kernel flooded its console"), "{told}");
}

#[test]
fn a_machine_that_is_let_go_is_gone() {
    let bench = Bench::new(&[]);
    let machine = Firecracker::boot(&bench.machine()).unwrap();
    let pid = machine.pid();
    assert!(fs::exists(format!("/proc/{pid}")).unwrap());
    drop(machine);
    let deadline = Instant::now() + Duration::from_secs(60);
    while fs::exists(format!("/proc/{pid}")).unwrap() {
        assert!(Instant::now() < deadline, "it still runs");
    }
}

fn kill(pid: u32) {
    assert!(Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap().success());
}
