//! A request that Firecracker refuses becomes an error that names the request and quotes the reason.

use ak_vmm::firecracker::{Firecracker, Machine};

use crate::bench::Bench;

const REQUESTS: [&str; 6] =
    ["PUT /machine-config", "PUT /boot-source", "PUT /drives/root", "PUT /vsock", "PUT /entropy", "PUT /actions"];

fn failure(machine: &Machine) -> String {
    Firecracker::boot(machine).err().expect("a failure").to_string()
}

#[test]
fn each_refusal_is_told() {
    for request in REQUESTS {
        let bench = Bench::new(&[("REFUSES", request)]);
        let told = failure(&bench.machine());
        assert_eq!(told, format!("Firecracker refused {request} (400): as the test wants it"));
    }
}

#[test]
fn what_is_no_answer_is_told() {
    let bench = Bench::new(&[("GARBLES_AT", "PUT /vsock")]);
    let told = failure(&bench.machine());
    assert!(told.starts_with("what Firecracker answered to PUT /vsock is no answer: "), "{told}");
}

#[test]
fn firecrackers_own_reasons_are_quoted() {
    let bench = Bench::new(&[]);
    let too_many = failure(&Machine { processors: 33, ..bench.machine() });
    assert!(too_many.contains("PUT /machine-config (400): Machine config error: The vCPU count"), "{too_many}");
    let no_kernel = failure(&Machine { kernel: bench.path("missing"), ..bench.machine() });
    assert!(no_kernel.contains("PUT /boot-source (400): Boot source error: The kernel file cannot be opened"));
    let no_root = failure(&Machine { root: bench.path("missing"), ..bench.machine() });
    assert!(no_root.contains("PUT /drives/root (400): Drive config error") && no_root.contains("missing"), "{no_root}");
    let no_program = failure(&Machine { program: bench.path("missing"), ..bench.machine() });
    assert!(no_program.starts_with("start Firecracker at ") && no_program.contains("No such file"), "{no_program}");
}

/// A version that lacks something refuses it so.
#[test]
fn a_version_that_does_not_know_a_field_is_named_as_the_reason() {
    let bench = Bench::new(&[("LACKS", "track_dirty_pages")]);
    let told = failure(&bench.machine());
    assert!(
        told.contains("unknown field `track_dirty_pages`") && told.ends_with("use Firecracker 1.7 or later"),
        "{told}"
    );
}
