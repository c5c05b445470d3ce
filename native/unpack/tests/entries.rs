//! Files that single entries become: owners, modes, times, attributes, long names, sparse files, devices.

mod harness;

use harness::{Actor, Item, Store, actors, is_root, tar_maker};

#[test]
fn owners_modes_and_times_are_the_archives() {
    for actor in actors() {
        let mut store = Store::new(actor);
        store.layer([
            Item::directory("d").mode(0o2775).owner(7, 8).time(1),
            Item::file("d/su", "x").mode(0o6755).owner(1000, 65_534).time(2),
            Item::file("none", "").mode(0).time(0),
            Item::symlink("link", "d/su").owner(5, 6).time(3),
            Item::new(b'6', "fifo").mode(0o620).time(4),
            Item::file("fine", "").pax("mtime", "1234.567890123"),
            Item::file("early", "").pax("mtime", "-1.5"),
        ]);
        let seen =
            store.look("stat -c '%n %a %U:%G %u:%g %.9Y' d d/su none link fifo fine early | sed 's/ [^ ]*:[^ ]* / /'");
        let owners = |text: &'static str| if actor == Actor::Root { text } else { "0:0" };
        let expected = format!(
            "d 2775 {} 1.000000000\nd/su 6755 {} 2.000000000\nnone 0 0:0 0.000000000\nlink 777 {} 3.000000000\n\
             fifo 620 0:0 4.000000000\nfine 644 0:0 1234.567890123\nearly 644 0:0 -1.500000000\n",
            owners("7:8"),
            owners("1000:65534"),
            owners("5:6"),
        );
        // Some versions of stat print times before 1970 from the second before.
        let seen = seen.replace("-2.500000000", "-1.500000000");
        assert_eq!(seen, expected, "{actor:?}");
        store.removes_everything();
    }
}

#[test]
fn ids_that_no_sandbox_has_are_left_out_one_by_one() {
    let mut store = Store::new(actors()[0]);
    store.layer([
        Item::file("both", "").owner(70_000, 4_000_000_000),
        Item::file("group", "").owner(12, 70_000),
        Item::file("pax", "").pax("uid", "4294967294").pax("gid", "13"),
    ]);
    let expected = if is_root() { "0:0\n12:0\n0:13\n" } else { "0:0\n0:0\n0:0\n" };
    assert_eq!(store.look("stat -c %u:%g both group pax"), expected);
    for id in ["4294967295", "4294967296", "18446744073709551616", "-1", "x"] {
        let said = store.refused([Item::file("f", "").pax("uid", id)]);
        assert!(said.contains("no id") || said.contains("no number"), "{id}: {said}");
    }
}

#[test]
fn attributes_have_any_bytes() {
    for actor in actors() {
        let mut store = Store::new(actor);
        // cap_dac_override and cap_fowner: the bytes of the set are a line end.
        let capability = [1, 0, 0, 2, 10, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        store.layer([
            Item::file("f", "").pax("SCHILY.xattr.user.text", "a=b").pax("SCHILY.xattr.user.bytes", b"\n\0\xff\n"),
            Item::directory("d").pax("SCHILY.xattr.user.empty", ""),
            Item::file("caps", "").mode(0o755).pax("SCHILY.xattr.security.capability", capability),
            Item::file("ignored", "").pax("SCHILY.xattr.trusted.x", "1").pax("SCHILY.xattr.nonsense", "1"),
        ]);
        let seen = store.look(
            "python3 -c 'import os\nfor f in (\"f\", \"d\", \"ignored\"):\n for k in sorted(os.listxattr(f)): print(f, k, os.getxattr(f, k))'",
        );
        assert_eq!(seen, "f user.bytes b'\\n\\x00\\xff\\n'\nf user.text b'a=b'\nd user.empty b''\n", "{actor:?}");
        let caps =
            store.look("python3 -c 'import os; print(os.getxattr(\"caps\", \"security.capability\")[4:8].hex())'");
        assert_eq!(caps, "0a000000\n", "{actor:?}");
    }
}

#[test]
fn attributes_of_the_union_filesystem_are_refused() {
    for actor in actors() {
        for is_base in [true, false] {
            let mut store = Store::new(actor);
            if !is_base {
                store.layer([Item::directory("d")]);
            }
            for name in ["opaque", "redirect", "whiteout", "metacopy", "origin", "overlay.opaque"] {
                let item = Item::directory("d").pax(&format!("SCHILY.xattr.user.overlay.{name}"), "y");
                assert!(store.refused([item]).contains("sets the attribute"), "{name}");
            }
        }
    }
}

#[test]
fn long_names_come_in_every_form() {
    for actor in actors() {
        let mut store = Store::new(actor);
        let deep = format!("{}/{}/file", "d".repeat(120), "e".repeat(200));
        let part = "p".repeat(255);
        let prefix = format!("{}/{}", "q".repeat(70), "r".repeat(70));
        let target = "t".repeat(3000);
        store.layer([
            Item::file(&deep, "gnu"),
            Item::symlink("link", &target),
            Item::file("short", "pax").pax("path", &part),
            Item::symlink("other", "short").pax("linkpath", &part),
            Item::file("name", "ustar").over(345, &prefix),
            Item::new(0, "old/").mode(0o755),
        ]);
        assert_eq!(store.read(&format!("{deep} {part} other {prefix}/name")), "gnupaxpaxustar", "{actor:?}");
        assert_eq!(store.look("readlink link").trim_end(), target);
        assert_eq!(store.look("stat -c %F old"), "directory\n");
        for name in ["n".repeat(256), vec!["deep"; 401].join("/"), vec!["x".repeat(200); 21].join("/")] {
            store.refused([Item::file(&name, "")]);
        }
        store.refused([Item::file("x", "").pax("path", "a\0b")]);
    }
}

#[test]
fn sparse_files_come_in_every_form() {
    let number = tar_maker::number;
    let pair = |offset: u64, length: u64| [number(offset, 12), number(length, 12)].concat();
    let size = 10u64 << 20;
    let at = 5u64 << 20;
    // GNU's own, with so many parts that they go on behind the header.
    let mut more = [pair(at, 4), pair(size, 0)].concat();
    more.resize(512, 0);
    let first = [pair(0, 512), pair(4096, 512), pair(8192, 512), pair(12288, 512)].concat();
    let data = [vec![b'a'; 2048], b"tail".to_vec()].concat();
    let old = Item::new(b'S', "old")
        .over(386, first)
        .over(482, [1])
        .over(483, number(size, 12))
        .size(data.len() as u64)
        .data([more, data].concat());
    let text = format!("2\n0\n4\n{at}\n4\n");
    let map = [text.as_bytes(), &vec![0; 512 - text.len()]].concat();
    let major = |item: Item| item.pax("GNU.sparse.major", "1").pax("GNU.sparse.minor", "0");
    let named = |item: Item, name: &str| item.pax("GNU.sparse.name", name);
    let real = size.to_string();
    for actor in actors() {
        let mut store = Store::new(actor);
        store.layer([
            named(major(Item::file("GNUSparseFile.1/new", [&map[..], b"headtail"].concat())), "new")
                .pax("GNU.sparse.realsize", &real),
            named(Item::file("x/middle", "headtail"), "middle")
                .pax("GNU.sparse.size", &real)
                .pax("GNU.sparse.map", format!("0,4,{at},4")),
            Item::file("oldest", "headtail")
                .pax("GNU.sparse.size", &real)
                .pax("GNU.sparse.numblocks", "2")
                .pax("GNU.sparse.offset", "0")
                .pax("GNU.sparse.numbytes", "4")
                .pax("GNU.sparse.offset", at.to_string())
                .pax("GNU.sparse.numbytes", "4"),
            Item::file("after", "whole"),
        ]);
        assert_eq!(store.tree(), ["f after", "f middle", "f new", "f oldest"]);
        let script = format!(
            "for f in new middle oldest; do stat -c '%s' $f; head -c 4 $f; tail -c +{} $f | head -c 4; \
             tr -d '\\0' <$f | wc -c; [ $(stat -c %b $f) -lt 64 ] && echo sparse; done",
            at + 1
        );
        assert_eq!(store.look(&script), format!("{real}\nheadtail8\nsparse\n").repeat(3), "{actor:?}");
        let mut store = Store::new(actor);
        let tar = [old.bytes(), Item::file("after", "whole").bytes(), vec![0; 1024]].concat();
        let answer = store.try_layer("none", &tar, &harness::digest(&tar));
        assert_eq!(answer["event"], "done", "{answer}");
        assert_eq!(store.look("stat -c %s old; tr -d '\\0' <old | wc -c; cat after"), format!("{real}\n2052\nwhole"));
    }
}

#[test]
fn sparse_files_that_lie_are_refused() {
    let mut store = Store::new(actors()[0]);
    for (map, size) in
        [("0,4,2,4", "100"), ("8,4,0,4", "100"), ("0,4,98,4", "100"), ("0,4", "100"), ("0", "9"), ("x", "9")]
    {
        store.refused([Item::file("f", "12345678").pax("GNU.sparse.map", map).pax("GNU.sparse.size", size)]);
    }
    let endless = "18446744073709551615";
    store.refused([Item::file("f", "1234").pax("GNU.sparse.map", format!("{endless},4")).pax("GNU.sparse.size", "9")]);
    let huge = Item::file("f", "1234").pax("GNU.sparse.map", "0,4").pax("GNU.sparse.size", "2000000000");
    assert!(store.refused([huge]).contains("bytes"));
    let cut = Item::file("f", "3\n0\n").pax("GNU.sparse.major", "1").pax("GNU.sparse.realsize", "9");
    store.refused([cut]);
}

#[test]
fn sparse_archives_of_gnu_tar_are_read() {
    let source = tempfile::tempdir().expect("a directory");
    let file = std::fs::File::create(source.path().join("sparse")).expect("a file");
    for place in 0..50u64 {
        use std::os::unix::fs::FileExt;
        file.write_all_at(format!("part {place}").as_bytes(), place * 300_000).expect("write");
    }
    file.set_len(20_000_000).expect("length");
    let content = std::fs::read(source.path().join("sparse")).expect("read");
    let from = source.path().to_str().expect("a path");
    for form in [
        &["--format=gnu"][..],
        &["--format=posix", "--sparse-version=0.0"],
        &["--format=posix", "--sparse-version=0.1"],
        &["--format=posix", "--sparse-version=1.0"],
    ] {
        let tar = harness::piped("tar", &[&["-C", from, "--sparse", "-cf", "-"], form, &["sparse"]].concat(), b"");
        assert!(tar.len() < 1 << 20, "{form:?}");
        let mut store = Store::new(actors()[0]);
        let answer = store.try_layer("none", &tar, &harness::digest(&tar));
        assert_eq!(answer["event"], "done", "{answer} {form:?}");
        assert_eq!(store.look("sha256sum <sparse | cut -c-64").trim_end(), &harness::digest(&content)[7..], "{form:?}");
        assert_eq!(store.look("[ $(stat -c %b sparse) -lt 2000 ] && echo sparse"), "sparse\n");
    }
}

#[test]
fn devices_are_counted_and_not_made() {
    for actor in actors() {
        let mut store = Store::new(actor);
        store.layer([Item::file("null", "was a file")]);
        let device = |kind, name| Item::new(kind, name).over(329, b"0000001\0").over(337, b"0000003\0").mode(0o666);
        let answer =
            store.layer([device(b'3', "null"), device(b'4', "disk"), device(b'3', "zero").over(329, [b'0'; 7])]);
        assert_eq!(answer["devicesSkipped"], 3);
        assert_eq!(store.tree(), Vec::<String>::new(), "{actor:?}");
    }
}

#[test]
fn notes_about_the_whole_archive_have_no_meaning() {
    let mut store = Store::new(actors()[0]);
    store.layer([
        Item::new(b'g', "pax_global_header").data("52 comment=0123456789012345678901234567890123456789\n"),
        Item::file("f", "x"),
    ]);
    assert_eq!(store.tree(), ["f f"]);
}

#[test]
fn other_kinds_are_refused() {
    let mut store = Store::new(actors()[0]);
    for kind in [b'D', b'M', b'N', b'V', b'A', b'Z', b'8', 255] {
        assert!(store.refused([Item::new(kind, "x")]).contains("kind"), "{kind}");
    }
    assert!(store.refused([Item::file("./", "")]).contains("root"));
    assert!(store.refused([Item::symlink(".", "x")]).contains("root"));
}
