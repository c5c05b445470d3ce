//! The order of the requests to Firecracker, up to the guest's first bytes.

use ak_vmm::{
    firecracker::{DriveRate, Firecracker},
    monitor::End,
};

use crate::bench::{Bench, WAITING, hear, send};

#[test]
fn a_machine_is_configured_started_and_answers() {
    let bench = Bench::new(&[]);
    let mut machine = Firecracker::boot(&bench.machine()).unwrap();
    let mut guest = machine.dial().unwrap();
    assert_eq!(hear(&mut guest), WAITING);
    send(&mut guest, b"wake");
    send(&mut guest, b"first command");
    assert_eq!(hear(&mut guest), b"first command");
    assert_eq!(
        bench.record(),
        [
            "start machine",
            r#"PUT /machine-config {"vcpu_count":1,"mem_size_mib":128,"smt":false,"track_dirty_pages":false}"#,
            r#"PUT /boot-source {"kernel_image_path":"./kernel","initrd_path":"./initramfs","boot_args":"quiet panic=-1 ak.stream=vsock:1024"}"#,
            r#"PUT /drives/root {"drive_id":"root","path_on_host":"./root","is_root_device":false,"is_read_only":true,"cache_type":"Unsafe"}"#,
            r#"PUT /vsock {"guest_cid":3,"uds_path":"./guest.sock"}"#,
            "PUT /entropy {}",
            r#"PUT /actions {"action_type":"InstanceStart"}"#,
        ]
    );
    drop(guest);
    assert_eq!(machine.await_end().unwrap(), End::Off);
}

#[test]
fn a_kept_disk_is_written_through_and_has_its_rate() {
    let bench = Bench::new(&[]);
    let rate = DriveRate { bytes: 1 << 30, operations: 10_000 };
    let kept =
        ak_vmm::firecracker::Machine { disk: Some(bench.path("disk")), disk_rate: Some(rate), ..bench.machine() };
    Firecracker::boot(&kept).unwrap();
    let limit = r#""rate_limiter":{"bandwidth":{"size":1073741824,"refill_time":1000},"ops":{"size":10000,"refill_time":1000}}"#;
    let record = bench.record();
    assert_eq!(
        record[3..5],
        [
            format!(
                r#"PUT /drives/root {{"drive_id":"root","path_on_host":"./root","is_root_device":false,"is_read_only":true,"cache_type":"Unsafe",{limit}}}"#
            ),
            format!(
                r#"PUT /drives/disk {{"drive_id":"disk","path_on_host":"./disk","is_root_device":false,"is_read_only":false,"cache_type":"Writeback",{limit}}}"#
            ),
        ]
    );
}

#[test]
fn a_guest_that_still_boots_is_called_again() {
    let bench = Bench::new(&[("HANGS_UP", "3")]);
    let mut machine = Firecracker::boot(&bench.machine()).unwrap();
    assert_eq!(hear(&mut machine.dial().unwrap()), WAITING);
}

#[test]
fn a_paused_machine_says_nothing_until_it_is_resumed() {
    let bench = Bench::new(&[]);
    let mut machine = Firecracker::boot(&bench.machine()).unwrap();
    machine.pause().unwrap();
    machine.resume().unwrap();
    assert_eq!(hear(&mut machine.dial().unwrap()), WAITING);
    let record = bench.record();
    assert_eq!(record[record.len() - 2..], [r#"PATCH /vm {"state":"Paused"}"#, r#"PATCH /vm {"state":"Resumed"}"#]);
}
