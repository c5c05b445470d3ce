//! What each filter is made of: the lists of calls, and what is decided by other means than a list.

use std::{collections::HashMap, fs, path::Path};

use seccompiler::{BpfProgram, TargetArch};
use serde_json::{Value, json};

pub struct Filter {
    pub name: &'static str,
    lists: &'static [&'static str],
    /// The list of the calls that exist at all; without it, all do that these lists were written for.
    known: Option<&'static str>,
    /// Calls that answer ENOSYS instead of EPERM because programs fall back to an older call then (the numbers are the
    /// same on both architectures).
    pub absent: &'static [u32],
    /// Whether clone and unshare may make namespaces.
    pub namespaces: bool,
    /// Whether sockets and pairs of sockets are of the usual families only; else a list says which are denied.
    pub families: bool,
}

const CLONE3: u32 = 435;
const OPENAT2: u32 = 437;

// clone3 and openat2 pass their flags in memory, where a filter cannot look.
pub const FILTERS: &[Filter] = &[
    Filter { name: "DEFAULT", lists: &["default"], known: None, absent: &[CLONE3], namespaces: false, families: true },
    Filter {
        name: "STRICT",
        lists: &["default", "strict"],
        known: Some("known"),
        absent: &[CLONE3],
        namespaces: false,
        families: true,
    },
    Filter {
        name: "MONITOR",
        lists: &["default", "strict", "monitor", "no-sockets"],
        known: Some("known"),
        absent: &[CLONE3],
        namespaces: false,
        families: false,
    },
    Filter {
        name: "LISTENING_MONITOR",
        lists: &["default", "strict", "monitor", "unix-sockets"],
        known: Some("known"),
        absent: &[CLONE3],
        namespaces: false,
        families: false,
    },
    Filter { name: "RUNTIME", lists: &["runtime"], known: None, absent: &[], namespaces: true, families: true },
    Filter {
        name: "SETID_BITS",
        lists: &["setid-bits"],
        known: None,
        absent: &[OPENAT2],
        namespaces: true,
        families: false,
    },
];

pub struct Architecture {
    pub name: &'static str,
    target: TargetArch,
    /// As the kernel names it to a filter.
    pub audit: u32,
}

pub const ARCHITECTURES: &[Architecture] = &[
    Architecture { name: "x86_64", target: TargetArch::x86_64, audit: 0xC000_003E },
    Architecture { name: "aarch64", target: TargetArch::aarch64, audit: 0xC000_00B7 },
];

impl Architecture {
    /// The number of a call, read from the filter that seccompiler makes for it alone: its tables are not public.
    pub fn number_of(&self, name: &str) -> u32 {
        const LOAD: u16 = 0x20;
        const JUMP_IF_EQUAL: u16 = 0x15;
        let code = self.by_seccompiler(&[json!({ "syscall": name })]);
        let load = code.iter().position(|f| f.code == LOAD && f.k == 0).expect("the call's number is loaded");
        let compare = code[load..].iter().find(|f| f.code == JUMP_IF_EQUAL).expect("the call's number is compared");
        compare.k
    }

    /// Denies what the rules say, and allows all else.
    pub fn by_seccompiler(&self, rules: &[Value]) -> BpfProgram {
        let filter = json!({ "it": { "mismatch_action": "allow", "match_action": { "errno": 1 }, "filter": rules } });
        let mut map: HashMap<String, BpfProgram> =
            seccompiler::compile_from_json(filter.to_string().as_bytes(), self.target)
                .unwrap_or_else(|e| panic!("seccomp lists: {e}"));
        map.remove("it").expect("one filter")
    }
}

/// The calls of a filter's lists.
pub struct Calls {
    /// All others do not exist.
    pub known: Option<Vec<u32>>,
    /// Denied whatever their arguments.
    pub denied: Vec<u32>,
    /// Denied by what seccompiler makes of these rules.
    pub judged: Vec<u32>,
    pub rules: Vec<Value>,
}

impl Calls {
    pub fn of(filter: &Filter, architecture: &Architecture) -> Self {
        let all: Vec<Value> = filter.lists.iter().flat_map(|list| read(list, architecture)).collect();
        let (rules, plain): (Vec<Value>, Vec<Value>) = all.into_iter().partition(|rule| rule.get("args").is_some());
        let number = |rule: &Value| architecture.number_of(rule["syscall"].as_str().expect("a call's name"));
        let known = filter.known.map(|list| {
            let names = read(list, architecture);
            names.iter().map(|name| architecture.number_of(name.as_str().expect("a call's name"))).collect()
        });
        Self { known, denied: plain.iter().map(number).collect(), judged: rules.iter().map(number).collect(), rules }
    }
}

fn path_of(list: &str) -> String {
    format!("seccomp/{list}.json")
}

/// With what this architecture alone has.
fn read(list: &str, architecture: &Architecture) -> Vec<Value> {
    let own = format!("{list}-{}", architecture.name);
    let is_there = Path::new(&path_of(&own)).exists();
    let lists = [list.to_owned()].into_iter().chain(is_there.then_some(own));
    lists.flat_map(|list| read_one(&list)).collect()
}

/// Rules that deny, in the form of seccompiler's, or names alone.
fn read_one(list: &str) -> Vec<Value> {
    let text = fs::read_to_string(path_of(list)).expect("read a seccomp list");
    let value: Value = serde_json::from_str(&text).expect("parse a seccomp list");
    let entries = value["default"]["filter"].as_array().or_else(|| value["calls"].as_array());
    entries.expect("a filter list").clone()
}
