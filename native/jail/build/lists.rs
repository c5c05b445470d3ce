//! What each filter is made of: the lists of calls, and what is decided by other means than a list.

use std::{collections::HashMap, fs, path::Path};

use seccompiler::{BpfProgram, TargetArch};
use serde_json::{Value, json};

pub struct Filter {
    pub name: &'static str,
    lists: &'static [&'static str],
    /// Calls that answer ENOSYS instead of EPERM because programs fall back to an older call then (the numbers are the
    /// same on both architectures).
    pub absent: &'static [u32],
    /// Whether clone and unshare may make namespaces.
    pub namespaces: bool,
    /// Whether the usual families of sockets are allowed; else a list says which are.
    pub families: bool,
}

const CLONE3: u32 = 435;
const OPENAT2: u32 = 437;

// clone3 and openat2 pass their flags in memory, where a filter cannot look.
pub const FILTERS: &[Filter] = &[
    Filter { name: "DEFAULT", lists: &["default"], absent: &[CLONE3], namespaces: false, families: true },
    Filter { name: "STRICT", lists: &["default", "strict"], absent: &[CLONE3], namespaces: false, families: true },
    Filter {
        name: "MONITOR",
        lists: &["default", "strict", "monitor", "no-sockets"],
        absent: &[CLONE3],
        namespaces: false,
        families: false,
    },
    Filter {
        name: "LISTENING_MONITOR",
        lists: &["default", "strict", "monitor", "unix-sockets"],
        absent: &[CLONE3],
        namespaces: false,
        families: false,
    },
    Filter { name: "RUNTIME", lists: &["runtime"], absent: &[], namespaces: true, families: false },
    Filter { name: "SETID_BITS", lists: &["setid-bits"], absent: &[OPENAT2], namespaces: true, families: false },
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
    /// Denied whatever their arguments.
    pub denied: Vec<u32>,
    /// Denied by what seccompiler makes of these rules.
    pub judged: Vec<u32>,
    pub rules: Vec<Value>,
}

impl Calls {
    pub fn of(filter: &Filter, architecture: &Architecture) -> Self {
        let mut all = Vec::new();
        for list in filter.lists {
            all.extend(read(list));
            let own = format!("{list}-{}", architecture.name);
            if Path::new(&path_of(&own)).exists() {
                all.extend(read(&own));
            }
        }
        let (rules, plain): (Vec<Value>, Vec<Value>) = all.into_iter().partition(|rule| rule.get("args").is_some());
        let number = |rule: &Value| architecture.number_of(rule["syscall"].as_str().expect("a call's name"));
        Self { denied: plain.iter().map(number).collect(), judged: rules.iter().map(number).collect(), rules }
    }
}

fn path_of(list: &str) -> String {
    format!("seccomp/{list}.json")
}

fn read(list: &str) -> Vec<Value> {
    let text = fs::read_to_string(path_of(list)).expect("read a seccomp list");
    let value: Value = serde_json::from_str(&text).expect("parse a seccomp list");
    value["default"]["filter"].as_array().expect("a filter list").clone()
}
