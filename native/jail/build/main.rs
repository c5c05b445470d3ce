//! Compiles the seccomp lists of `seccomp/*.json` to BPF at build time, for every architecture we know, so
//! that a name that one of them lacks fails the build on any machine. The jail carries the result of its own
//! architecture only and does no compiling when a sandbox starts.

use std::{env, fmt::Write, fs, path::Path};

use seccompiler::sock_filter;

mod decisions;
mod lists;
mod program;

fn main() {
    println!("cargo::rerun-if-changed=seccomp");
    println!("cargo::rerun-if-changed=build");
    let target = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets the target architecture");
    let mut out = String::new();
    for architecture in lists::ARCHITECTURES {
        for filter in lists::FILTERS {
            let code = program::compile(filter, architecture);
            if architecture.name == target {
                emit(&mut out, filter.name, &code);
            }
        }
    }
    assert!(!out.is_empty(), "no seccomp lists for {target}");
    let path = Path::new(&env::var("OUT_DIR").expect("cargo sets OUT_DIR")).join("seccomp.rs");
    fs::write(path, out).expect("write the compiled lists");
    digest_tests();
}

/// Of the tests of contents, so that nothing is remembered from other ones.
fn digest_tests() {
    let folder = Path::new("../secrets/src");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files: Vec<_> =
        fs::read_dir(folder).expect("the sources of the tests").flatten().map(|one| one.path()).collect();
    files.sort();
    let texts = files.iter().map(|file| fs::read(file).expect("a source of the tests"));
    // FNV-1a, with lengths between.
    let bytes = texts.flat_map(|text| [text.len().to_le_bytes().to_vec(), text].concat());
    let digest =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let path = Path::new(&env::var("OUT_DIR").expect("cargo sets OUT_DIR")).join("tests-digest.rs");
    fs::write(path, format!("{digest}")).expect("write the digest");
}

fn emit(out: &mut String, name: &str, code: &[sock_filter]) {
    writeln!(out, "pub static {name}: [libc::sock_filter; {}] = [", code.len()).expect("string");
    for f in code {
        writeln!(out, "    libc::sock_filter {{ code: {}, jt: {}, jf: {}, k: {} }},", f.code, f.jt, f.jf, f.k)
            .expect("string");
    }
    out.push_str("];\n");
}
