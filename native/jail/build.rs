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
    /// Whether clone and unshare may make namespaces.
    namespaces: bool,
}

const CLONE3: u32 = 435;
const OPENAT2: u32 = 437;
/// The newest call that the lists were written for (mseal). What a newer kernel adds does not exist inside.
const NEWEST_KNOWN: u32 = 462;

// clone3 and openat2 pass their flags in memory, where a filter cannot look.
const PROGRAMS: &[Program] = &[
    Program { name: "DEFAULT", lists: &["default"], enosys: &[CLONE3], namespaces: false },
    Program { name: "STRICT", lists: &["default", "strict"], enosys: &[CLONE3], namespaces: false },
    Program {
        name: "MONITOR",
        lists: &["default", "strict", "monitor", "no-sockets"],
        enosys: &[CLONE3],
        namespaces: false,
    },
    Program {
        name: "LISTENING_MONITOR",
        lists: &["default", "strict", "monitor", "unix-sockets"],
        enosys: &[CLONE3],
        namespaces: false,
    },
    Program { name: "RUNTIME", lists: &["runtime"], enosys: &[], namespaces: true },
    Program { name: "SETID_BITS", lists: &["setid-bits"], enosys: &[OPENAT2], namespaces: true },
];

/// Flags that make namespaces: mount, cgroup, uts, ipc, user, pid, net; and for unshare time (clone has the exit signal
/// in that place).
const NEW_NAMESPACES: u32 = 0x7E02_0000;
const NEW_TIME: u32 = 0x80;

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

/// Calls that are denied whatever their arguments are compared one instruction each, by hand; seccompiler makes the
/// rest. The kernel translates every instruction when a sandbox starts, so their number is time.
fn compile(program: &Program, arch_name: &str, arch: TargetArch, audit: u32) -> BpfProgram {
    let mut rules = Vec::new();
    for list in program.lists {
        rules.extend(read_list(list));
        let own = format!("{list}-{arch_name}");
        if Path::new(&format!("seccomp/{own}.json")).exists() {
            rules.extend(read_list(&own));
        }
    }
    let (conditional, plain): (Vec<Value>, Vec<Value>) = rules.into_iter().partition(|rule| rule.get("args").is_some());
    let number = |name: &str| number_of(name, arch);
    let mut code = prologue(audit, program.enosys);
    if !program.namespaces {
        code.extend(deny_flags(number("clone"), NEW_NAMESPACES));
        code.extend(deny_flags(number("unshare"), NEW_NAMESPACES | NEW_TIME));
        code.extend(deny_sockets(number("socket")));
    }
    let names = plain.iter().map(|rule| rule["syscall"].as_str().expect("a call's name"));
    code.extend(deny_all(&names.map(number).collect::<Vec<_>>()));
    code.extend(by_seccompiler(&conditional, arch));
    code
}

fn by_seccompiler(rules: &[Value], arch: TargetArch) -> BpfProgram {
    let filter = json!({ "it": { "mismatch_action": "allow", "match_action": { "errno": 1 }, "filter": rules } });
    let mut map: HashMap<String, BpfProgram> = seccompiler::compile_from_json(filter.to_string().as_bytes(), arch)
        .unwrap_or_else(|e| panic!("seccomp lists: {e}"));
    map.remove("it").expect("one filter")
}

/// The number of a call, read from the filter that seccompiler makes for it alone: its tables are not public.
fn number_of(name: &str, arch: TargetArch) -> u32 {
    let code = by_seccompiler(&[json!({ "syscall": name })], arch);
    let load = code.iter().position(|f| f.code == LD_W_ABS && f.k == 0).expect("the call's number is loaded");
    let compare = code[load..].iter().find(|f| f.code == JEQ).expect("the call's number is compared");
    compare.k
}

fn read_list(name: &str) -> Vec<Value> {
    let text = fs::read_to_string(format!("seccomp/{name}.json")).expect("read a seccomp list");
    let value: Value = serde_json::from_str(&text).expect("parse a seccomp list");
    value["default"]["filter"].as_array().expect("a filter list").clone()
}

const LD_W_ABS: u16 = 0x20;
const JA: u16 = 0x05;
const JEQ: u16 = 0x15;
const JGT: u16 = 0x25;
const JSET: u16 = 0x45;
const RET: u16 = 0x06;
const ERRNO_EPERM: u32 = 0x0005_0000 | 1;
const ERRNO_EAFNOSUPPORT: u32 = 0x0005_0000 | 97;
const ERRNO_ENOSYS: u32 = 0x0005_0000 | 38;
/// Where the kernel shows a filter the call's number, its architecture, and its first argument.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const FIRST_ARGUMENT: u32 = 16;
const THIRD_ARGUMENT: u32 = 32;

fn op(code: u16, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

/// Another architecture's calls (i386, x32) and calls newer than the lists do not exist inside. Leaves the call's
/// number loaded, as does every part but the last.
fn prologue(audit: u32, enosys: &[u32]) -> BpfProgram {
    let absent = op(RET, 0, 0, ERRNO_ENOSYS);
    let mut code = vec![op(LD_W_ABS, 0, 0, ARCHITECTURE), op(JEQ, 1, 0, audit), absent.clone()];
    code.extend([op(LD_W_ABS, 0, 0, NUMBER), op(JGT, 0, 1, NEWEST_KNOWN), absent.clone()]);
    for &number in enosys {
        code.extend([op(JEQ, 0, 1, number), absent.clone()]);
    }
    code
}

/// A call whose first argument must have none of these bits.
fn deny_flags(number: u32, flags: u32) -> BpfProgram {
    vec![
        op(JEQ, 0, 4, number),
        op(LD_W_ABS, 0, 0, FIRST_ARGUMENT),
        op(JSET, 0, 1, flags),
        op(RET, 0, 0, ERRNO_EPERM),
        op(LD_W_ABS, 0, 0, NUMBER),
    ]
}

/// Sockets of the families unix, inet, inet6, and netlink for routes only. The others answer as on a kernel that was
/// built without them: programs such as su do without the audit log then, but not when they may not use it.
fn deny_sockets(number: u32) -> BpfProgram {
    let [unix, inet, inet6, netlink] = [1, 2, 10, 16];
    let route = 0;
    vec![
        op(JEQ, 0, 9, number),
        op(LD_W_ABS, 0, 0, FIRST_ARGUMENT),
        op(JEQ, 6, 0, unix),
        op(JEQ, 5, 0, inet),
        op(JEQ, 4, 0, inet6),
        op(JEQ, 0, 2, netlink),
        op(LD_W_ABS, 0, 0, THIRD_ARGUMENT),
        op(JEQ, 1, 0, route),
        op(RET, 0, 0, ERRNO_EAFNOSUPPORT),
        op(LD_W_ABS, 0, 0, NUMBER),
    ]
}

fn deny_all(numbers: &[u32]) -> BpfProgram {
    let count = u8::try_from(numbers.len()).expect("a jump reaches 255 instructions");
    let mut code: BpfProgram = numbers.iter().zip(0..count).map(|(&nr, at)| op(JEQ, count - at, 0, nr)).collect();
    code.extend([op(JA, 0, 0, 1), op(RET, 0, 0, ERRNO_EPERM)]);
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
