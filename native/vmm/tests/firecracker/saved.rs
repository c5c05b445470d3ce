//! Machines that are saved, and go on elsewhere.

use std::fs;

use ak_vmm::firecracker::Firecracker;

use crate::bench::{Bench, WAITING, hear, send};

#[test]
fn a_saved_machine_goes_on_twice_and_its_files_stay_as_they_are() {
    let bench = Bench::new(&[]);
    let saved = bench.saved();
    let mut first = Firecracker::boot(&bench.machine()).unwrap();
    let mut guest = first.dial().unwrap();
    assert_eq!(hear(&mut guest), WAITING);
    first.save(&saved).unwrap();
    drop(first);
    assert_eq!(fs::metadata(&saved.memory).unwrap().len(), 128 << 20);
    let state = fs::read(&saved.state).unwrap();
    for path in [&saved.state, &saved.memory] {
        let mut rights = fs::metadata(path).unwrap().permissions();
        rights.set_readonly(true);
        fs::set_permissions(path, rights).unwrap();
    }
    for word in [b"one", b"two"] {
        let mut machine = Firecracker::restore(&bench.machine(), &saved).unwrap();
        // Output from before the save is not repeated.
        let mut guest = machine.dial_restored().unwrap();
        send(&mut guest, b"wake");
        send(&mut guest, word);
        assert_eq!(hear(&mut guest), word);
    }
    assert_eq!(fs::read(&saved.state).unwrap(), state);
    let loads = bench.record().into_iter().filter(|line| line.starts_with("PUT /snapshot"));
    let load = r#"PUT /snapshot/load {"snapshot_path":"./state","mem_backend":{"backend_type":"File","backend_path":"./memory"},"resume_vm":true}"#;
    let save = r#"PUT /snapshot/create {"snapshot_type":"Full","snapshot_path":"./state","mem_file_path":"./memory"}"#;
    assert_eq!(loads.collect::<Vec<_>>(), [save, load, load]);
}

#[test]
fn a_connection_to_a_machine_that_is_saved_ends() {
    let bench = Bench::new(&[]);
    let mut machine = Firecracker::boot(&bench.machine()).unwrap();
    let mut guest = machine.dial().unwrap();
    hear(&mut guest);
    machine.save(&bench.saved()).unwrap();
    assert_eq!(std::io::Read::read(&mut guest, &mut [0]).unwrap_or(0), 0);
    machine.resume().unwrap();
    assert_eq!(hear(&mut machine.dial().unwrap()), WAITING);
}

#[test]
fn what_cannot_be_restored_is_told() {
    let bench = Bench::new(&[]);
    let restore = |what: &str| {
        let told = Firecracker::restore(&bench.machine(), &bench.saved()).err().expect("a failure").to_string();
        assert!(told.starts_with("Firecracker refused PUT /snapshot/load (400): Load snapshot error"), "{told}");
        assert!(told.contains(what), "{told}");
    };
    restore("Failed to open snapshot file");
    let mut machine = Firecracker::boot(&bench.machine()).unwrap();
    machine.save(&bench.saved()).unwrap();
    drop(machine);
    let state = fs::read(bench.path("state")).unwrap();
    fs::write(bench.path("state"), &state[..state.len() / 2]).unwrap();
    restore("Failed to load snapshot state");
    fs::write(bench.path("state"), &state).unwrap();
    fs::write(bench.path("memory"), "short").unwrap();
    restore("Failed to load guest memory");
    fs::File::create(bench.path("memory")).unwrap().set_len(128 << 20).unwrap();
    fs::remove_file(bench.path("root")).unwrap();
    restore("Error manipulating the backing file");
}
