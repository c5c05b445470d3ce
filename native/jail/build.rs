//! Compiles the seccomp lists of `seccomp/*.json` to BPF at build time, for every architecture we know, so
//! that a name that one of them lacks fails the build on any machine. The jail carries the result of its own
//! architecture only and does no compiling when a sandbox starts.

use std::{collections::HashMap, env, fmt::Write, fs, path::Path};

use seccompiler::{BpfProgram, TargetArch, sock_filter};
use serde_json::{Value, json};

/// A program: the lists it is made of, and the calls that answer ENOSYS instead of EPERM because programs
/// fall back to an older call then (the numbers are the same on both architectures).
struct Program {
    name: &'static str,
    lists: &'static [&'static str],
    enosys: &'static [u32],
}

const CLONE3: u32 = 435;
const OPENAT2: u32 = 437;
/// The newest call that the lists were written for (mseal). What a newer kernel adds does not exist inside.
const NEWEST_KNOWN: u32 = 462;

const PROGRAMS: &[Program] = &[
    Program { name: "DEFAULT", lists: &["default"], enosys: &[CLONE3] },
    Program { name: "STRICT", lists: &["default", "strict"], enosys: &[CLONE3] },
    // clone3 and openat2 pass their flags in memory, where a filter cannot look.
    Program { name: "SETID_BITS", lists: &["setid-bits"], enosys: &[OPENAT2] },
];

fn main() {
    println!("cargo::rerun-if-changed=seccomp");
    println!("cargo::rerun-if-changed=build.rs");
    let target = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets the target architecture");
    let mut out = String::new();
    for (name, arch, audit) in
        [("x86_64", TargetArch::x86_64, 0xC000_003E), ("aarch64", TargetArch::aarch64, 0xC000_00B7)]
    {
        for program in PROGRAMS {
            let code = compile(program, name, arch, audit);
            if name == target {
                emit(&mut out, program.name, &code);
            }
        }
    }
    assert!(!out.is_empty(), "no seccomp lists for {target}");
    let path = Path::new(&env::var("OUT_DIR").expect("cargo sets OUT_DIR")).join("seccomp.rs");
    fs::write(path, out).expect("write the compiled lists");
}

fn compile(program: &Program, arch_name: &str, arch: TargetArch, audit: u32) -> BpfProgram {
    let mut rules = Vec::new();
    for list in program.lists {
        rules.extend(read_list(list));
        let own = format!("{list}-{arch_name}");
        if Path::new(&format!("seccomp/{own}.json")).exists() {
            rules.extend(read_list(&own));
        }
    }
    let merged = json!({ "it": { "mismatch_action": "allow", "match_action": { "errno": 1 }, "filter": rules } });
    let mut map: HashMap<String, BpfProgram> = seccompiler::compile_from_json(merged.to_string().as_bytes(), arch)
        .unwrap_or_else(|e| panic!("seccomp {} for {arch_name}: {e}", program.name));
    let mut code = prologue(audit, program.enosys);
    code.extend(map.remove("it").expect("one filter"));
    code
}

fn read_list(name: &str) -> Vec<Value> {
    let text = fs::read_to_string(format!("seccomp/{name}.json")).expect("read a seccomp list");
    let value: Value = serde_json::from_str(&text).expect("parse a seccomp list");
    value["default"]["filter"].as_array().expect("a filter list").clone()
}

/// Another architecture's calls (i386, x32) and calls newer than the lists do not exist inside.
fn prologue(audit: u32, enosys: &[u32]) -> BpfProgram {
    const LD_W_ABS: u16 = 0x20;
    const JEQ: u16 = 0x15;
    const JGT: u16 = 0x25;
    const RET: u16 = 0x06;
    const ERRNO_ENOSYS: u32 = 0x0005_0000 | 38;
    let op = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    let mut code =
        vec![op(LD_W_ABS, 0, 0, 4), op(JEQ, 1, 0, audit), op(RET, 0, 0, ERRNO_ENOSYS), op(LD_W_ABS, 0, 0, 0)];
    code.extend([op(JGT, 0, 1, NEWEST_KNOWN), op(RET, 0, 0, ERRNO_ENOSYS)]);
    for &nr in enosys {
        code.extend([op(JEQ, 0, 1, nr), op(RET, 0, 0, ERRNO_ENOSYS)]);
    }
    code
}

fn emit(out: &mut String, name: &str, code: &[sock_filter]) {
    writeln!(out, "pub static {name}: [libc::sock_filter; {}] = [", code.len()).expect("string");
    for f in code {
        writeln!(out, "    libc::sock_filter {{ code: {}, jt: {}, jf: {}, k: {} }},", f.code, f.jt, f.jf, f.k)
            .expect("string");
    }
    out.push_str("];\n");
}
