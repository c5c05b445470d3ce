//! Layers over layers: what is hidden, replaced, linked and kept.

mod harness;

use harness::{Item, Store, actors};

#[test]
fn a_whiteout_hides_what_is_below_and_nothing_else() {
    for actor in actors() {
        let mut store = Store::new(actor);
        store.layer([
            Item::directory("a"),
            Item::file("a/gone", "1"),
            Item::file("a/kept", "2"),
            Item::directory("whole"),
            Item::file("whole/x", ""),
        ]);
        store.layer([Item::file("a/.wh.gone", ""), Item::file(".wh.whole", ""), Item::file(".wh.never-there", "")]);
        assert_eq!(store.tree(), ["d a", "f a/kept"], "{actor:?}");
        store.removes_everything();
    }
}

#[test]
fn an_opaque_directory_has_only_what_its_own_layer_put_there() {
    for actor in actors() {
        // Before and after what the layer puts there, since archives have both.
        for is_first in [true, false] {
            let mut store = Store::new(actor);
            store.layer([
                Item::directory("a"),
                Item::file("a/old", ""),
                Item::directory("a/both"),
                Item::file("a/both/old", ""),
                Item::file("a/same", "old"),
            ]);
            let opaque = Item::file("a/.wh..wh..opq", "");
            let own = [Item::directory("a/both"), Item::file("a/both/new", ""), Item::file("a/same", "new")];
            let mut items = vec![Item::directory("a")];
            if is_first {
                items.push(opaque);
                items.extend(own);
            } else {
                items.extend(own);
                items.push(opaque);
            }
            store.layer(items);
            assert_eq!(store.tree(), ["d a", "d a/both", "f a/both/new", "f a/same"], "{actor:?} {is_first}");
            assert_eq!(store.read("a/same"), "new");
            store.removes_everything();
        }
    }
}

#[test]
fn a_whiteout_of_something_that_its_own_layer_made_hides_the_lower_one_only() {
    for actor in actors() {
        let mut store = Store::new(actor);
        store.layer([Item::directory("d"), Item::file("d/old", ""), Item::file("f", "old"), Item::file("g", "old")]);
        store.layer([
            Item::file("d/new", ""),
            Item::file(".wh.d", ""),
            Item::file("f", "new"),
            Item::file(".wh.f", ""),
            Item::file(".wh.g", ""),
            Item::file("g", "new"),
        ]);
        assert_eq!(store.tree(), ["d d", "f d/new", "f f", "f g"], "{actor:?}");
        assert_eq!(store.read("f g"), "newnew");
    }
}

#[test]
fn whiteouts_of_no_name_are_refused_and_markers_of_others_have_no_meaning() {
    for actor in actors() {
        let mut store = Store::new(actor);
        store.layer([Item::directory("a"), Item::file("a/kept", ""), Item::file("kept", "")]);
        for name in ["a/.wh..", "a/.wh...", ".wh..", ".wh..."] {
            assert!(store.refused([Item::file(name, "")]).contains("hides no name"), "{name}");
        }
        assert!(store.refused([Item::file("../.wh.kept", "")]).contains("leads upwards"));
        store.layer([Item::file("a/.wh.", ""), Item::directory("a/.wh..wh.plnk"), Item::file(".wh..wh.aufs", "")]);
        assert_eq!(store.tree(), ["d a", "f a/kept", "f kept"]);
    }
}

#[test]
fn every_kind_replaces_every_other() {
    type Make = fn() -> Vec<Item>;
    let kinds: [(&str, Make); 4] = [
        ("f", || vec![Item::file("x", "file")]),
        ("d", || vec![Item::directory("x"), Item::file("x/inner", "")]),
        ("l", || vec![Item::symlink("x", "somewhere")]),
        ("p", || vec![Item::new(b'6', "x")]),
    ];
    for actor in actors() {
        let mut store = Store::new(actor);
        for (_, below) in kinds {
            store.layer(below());
            for (letter, above) in kinds {
                store.layer(above());
                assert_eq!(store.look("find x -maxdepth 0 -printf %y"), letter, "{actor:?}");
                // Both in one layer, too.
                store.layer(below().into_iter().chain(above()));
                assert_eq!(store.look("find x -maxdepth 0 -printf %y"), letter, "{actor:?}");
            }
        }
    }
}

#[test]
fn a_directory_again_keeps_what_is_in_it_and_gets_new_attributes() {
    for actor in actors() {
        let mut store = Store::new(actor);
        let first = Item::directory("d").mode(0o700).time(1000).pax("SCHILY.xattr.user.old", "1");
        store.layer([first, Item::file("d/x", "")]);
        store.layer([Item::directory("d").mode(0o1777).time(2000).pax("SCHILY.xattr.user.new", "2")]);
        assert_eq!(store.look("find d -printf '%y %m %T@\\n' | sort | head -1"), "d 1777 2000.0000000000\n");
        let names = store.look("python3 -c 'import os; print(os.listxattr(\"d\"))'");
        assert_eq!(names, "['user.new']\n", "{actor:?}");
        assert_eq!(store.read("d/x"), "");
    }
}

#[test]
fn hard_links_are_one_file_within_a_layer_and_to_layers_below() {
    for actor in actors() {
        let mut store = Store::new(actor);
        store.layer([
            Item::file("a", "one"),
            Item::hardlink("b", "a"),
            Item::symlink("s", "a"),
            Item::hardlink("t", "/s"),
            Item::hardlink("b", "a"),
        ]);
        assert_eq!(store.look("stat -c %h a b && readlink t"), "2\n2\na\n");
        store.layer([Item::directory("d"), Item::hardlink("d/c", "./b"), Item::hardlink("e", "d/c")]);
        assert_eq!(store.look("stat -c %i b d/c e | uniq | wc -l"), "1\n", "{actor:?}");
        assert_eq!(store.read("e"), "one");
    }
}

#[test]
fn hard_links_to_nothing_to_directories_and_upwards_are_refused() {
    for actor in actors() {
        let mut store = Store::new(actor);
        store.layer([Item::directory("d")]);
        for (target, why) in [
            ("none", "not there"),
            ("d/none/x", "not there"),
            ("d", "to a directory"),
            ("../../etc/passwd", "upwards"),
            ("/", "to the root"),
            ("", "to the root"),
        ] {
            let said = store.refused([Item::hardlink("x", target)]);
            assert!(said.contains(why), "{target}: {said}");
        }
    }
}

#[test]
fn links_of_lower_layers_are_followed_as_parents_and_never_out_of_the_image() {
    for actor in actors() {
        let mut store = Store::new(actor);
        let outside = store.path().join("outside");
        std::fs::create_dir(&outside).expect("a directory outside");
        store.layer([
            Item::directory("usr"),
            Item::directory("usr/lib"),
            Item::symlink("lib", "usr/lib"),
            Item::symlink("up", "../../../../.."),
            Item::symlink("abs", outside.as_os_str().as_encoded_bytes()),
        ]);
        store.layer([Item::file("lib/x", "1"), Item::hardlink("lib/y", "lib/x"), Item::file("up/z", "2")]);
        assert_eq!(store.look("cat usr/lib/x usr/lib/y z && readlink lib"), "112usr/lib\n", "{actor:?}");
        assert!(store.refused([Item::file("abs/made", "")]).contains("no directory"));
        store.layer([Item::file("lib/.wh.x", "")]);
        assert_eq!(store.look("ls usr/lib"), "y\n");
        assert!(std::fs::read_dir(&outside).expect("list").next().is_none());
    }
}

#[test]
fn directories_that_no_entry_speaks_of_keep_their_times() {
    for actor in actors() {
        let mut store = Store::new(actor);
        let root = Item::directory("./").mode(0o711).time(400);
        store.layer([
            root,
            Item::directory("d").time(500),
            Item::directory("d/e").time(600),
            Item::file("d/gone", ""),
            Item::directory("linked").time(700),
            Item::symlink("link", "linked"),
        ]);
        store.layer([
            Item::file("d/e/new", ""),
            Item::file("d/.wh.gone", ""),
            Item::file("top", ""),
            Item::file("link/new", ""),
        ]);
        let seen = store.look("stat -c '%a %Y' . d d/e linked");
        assert_eq!(seen, "711 400\n755 500\n755 600\n755 700\n", "{actor:?}");
    }
}

#[test]
fn the_root_of_an_image_that_does_not_speak_of_it_can_be_entered_by_all() {
    for actor in actors() {
        let mut store = Store::new(actor);
        store.layer([Item::file("f", "")]);
        assert_eq!(store.look("stat -c %a ."), "755\n");
    }
}

#[test]
fn an_empty_layer_changes_nothing() {
    for actor in actors() {
        let mut store = Store::new(actor);
        assert_eq!(store.layer([])["entries"], 0);
        store.layer([Item::file("f", "x")]);
        store.layer([]);
        assert_eq!(store.tree(), ["f f"]);
        let nothing = store.try_layer("none", b"", &harness::digest(b""));
        assert_eq!(nothing["event"], "done", "{nothing}");
    }
}

#[test]
fn a_hundred_layers_are_joined() {
    let mut store = Store::new(actors()[0]);
    for number in 0..100 {
        store.layer([Item::file(format!("f{number}"), ""), Item::file("last", number.to_string())]);
    }
    // Joining them all is the unpacker's part: the test's own mount would need more than a page of options.
    let answer = store.layer([Item::hardlink("first", "f0"), Item::file("last", "100")]);
    assert_eq!(answer["entries"], 2);
}
