//! The layer as a stream: compressed, cut short, damaged, endless.

mod harness;

use harness::{Item, Store, actors, archive, digest, piped};

fn small() -> Vec<u8> {
    archive([Item::file("f", "some text"), Item::directory("d"), Item::file("d/g", vec![b'x'; 700])])
}

#[test]
fn gzip_of_several_members_is_one_stream() {
    let tar = small();
    let (left, right) = tar.split_at(700);
    let blob = [piped("gzip", &["-c"], left), piped("gzip", &["-c"], right)].concat();
    for actor in actors() {
        let mut store = Store::new(actor);
        assert_eq!(store.try_layer("gzip", &blob, &digest(&tar))["event"], "done");
        assert_eq!(store.read("f"), "some text");
    }
}

#[test]
fn zstandard_of_several_frames_is_one_stream() {
    let tar = small();
    let (left, right) = tar.split_at(700);
    let skipped = [&0x184D_2A50u32.to_le_bytes()[..], &5u32.to_le_bytes(), b"notes"].concat();
    let pack = |bytes| piped("zstd", &["-q", "-c", "--check"], bytes);
    for blob in [pack(&tar), [pack(left), skipped.clone(), pack(right), skipped].concat()] {
        let mut store = Store::new(actors()[0]);
        let answer = store.try_layer("zstd", &blob, &digest(&tar));
        assert_eq!(answer["event"], "done", "{answer}");
        assert_eq!(store.read("f"), "some text");
    }
}

#[test]
fn every_beginning_of_a_layer_is_refused() {
    let tar = archive([Item::file("f", "some text"), Item::directory("d")]);
    let mut store = Store::new(actors()[0]);
    let blobs = [
        ("gzip", piped("gzip", &["-nc"], &tar), 1),
        ("zstd", piped("zstd", &["-qc"], &tar), 1),
        ("none", tar.clone(), 97),
    ];
    for (compression, blob, step) in blobs {
        for length in (0..blob.len()).step_by(step) {
            let answer = store.try_layer(compression, &blob[..length], &digest(&tar));
            assert_eq!(answer["event"], "failed", "{compression} {length}");
            let code = answer["code"].as_str().unwrap_or_default();
            assert!(["image_invalid", "digest_mismatch"].contains(&code), "{compression} {length} {answer}");
        }
    }
    store.removes_everything();
}

#[test]
fn what_is_something_else_than_the_image_says_is_refused() {
    let tar = small();
    for actor in actors() {
        let mut store = Store::new(actor);
        let answer = store.try_layer("none", &tar, &digest(b"other"));
        assert_eq!(answer["code"], "digest_mismatch", "{answer}");
        // Also what stands behind the archive's end.
        let answer = store.try_layer("none", &[&tar[..], b"more"].concat(), &digest(&tar));
        assert_eq!(answer["code"], "digest_mismatch", "{answer}");
        for compression in ["gzip", "zstd"] {
            assert_eq!(store.try_layer(compression, &tar, &digest(&tar))["code"], "image_invalid");
        }
        assert_eq!(store.try_layer("none", &piped("gzip", &["-c"], &tar), &digest(&tar))["code"], "image_invalid");
    }
}

#[test]
fn limits_hold_for_what_a_small_blob_becomes() {
    let zeros = vec![0u8; 8 << 20];
    for actor in actors() {
        let mut store = Store::new(actor);
        store.max_bytes = 1 << 20;
        store.max_entries = 100;
        let bomb = archive([Item::file("bomb", &zeros)]);
        for (compression, program) in [("gzip", "gzip"), ("zstd", "zstd")] {
            let answer = store.try_layer(compression, &piped(program, &["-c"], &bomb), &digest(&bomb));
            assert!(answer["message"].as_str().is_some_and(|m| m.contains("more than 1048576 bytes")), "{answer}");
            // Nothing but zeros is an archive that has ended, with much behind it.
            let answer = store.try_layer(compression, &piped(program, &["-c"], &zeros), &digest(&zeros));
            assert!(answer["message"].as_str().is_some_and(|m| m.contains("larger than a layer may be")), "{answer}");
        }
        let many = (0..101).map(|n| Item::file(format!("f{n}"), ""));
        assert!(store.refused(many).contains("more than 100 entries"));
        let deep = Item::file(vec!["d"; 150].join("/"), "");
        assert!(store.refused([deep]).contains("more than 100 entries"));
        assert!(store.refused([Item::file("claims", "").size(1 << 40)]).contains("bytes"));
        assert!(store.refused([Item::new(b'x', "pax").size(1 << 30)]).contains("1 MiB"));
        assert!(store.refused([Item::new(b'L', "long").size(1 << 30)]).contains("1 MiB"));
        store.removes_everything();
    }
}

#[test]
fn asking_for_the_same_whiteout_again_and_again_takes_no_longer() {
    let mut store = Store::new(actors()[0]);
    let files = (0..5000).map(|n| Item::file(format!("d/{n}"), ""));
    let again = (0..20_000).map(|n| Item::file(if n % 2 == 0 { "d/.wh..wh..opq" } else { ".wh.d" }, ""));
    store.layer(files.chain(again));
    assert_eq!(store.look("ls d | wc -l"), "5000\n");
}

#[test]
fn an_order_that_is_none_is_refused() {
    let mut store = Store::new(actors()[0]);
    assert_eq!(store.try_layer("lzma", b"", "")["code"], "internal");
}
