//! The compiled filters against the lists that they are made of, number by number, on both architectures: a machine for
//! BPF runs the program, and plain words say what it has to answer.

use seccompiler::sock_filter;

#[path = "../build/decisions.rs"]
mod decisions;
#[path = "../build/lists.rs"]
mod lists;
#[path = "../build/program.rs"]
mod program;

use lists::{ARCHITECTURES, Architecture, Calls, FILTERS, Filter};

const EPERM: u32 = 0x0005_0001;
const ENOSYS: u32 = 0x0005_0000 | 38;
const EAFNOSUPPORT: u32 = 0x0005_0000 | 97;

/// As the kernel shows a call to a filter.
struct Call {
    number: u32,
    audit: u32,
    arguments: [u64; 6],
}

impl Call {
    fn word_at(&self, offset: u32) -> u32 {
        match offset {
            0 => self.number,
            4 => self.audit,
            16.. => {
                let argument = self.arguments[(offset as usize - 16) / 8];
                if offset.is_multiple_of(8) { argument as u32 } else { (argument >> 32) as u32 }
            }
            _ => panic!("nobody looks at the call's place"),
        }
    }
}

/// What the program answers, and after how many steps.
fn answer(code: &[sock_filter], call: &Call) -> (u32, usize) {
    let (mut at, mut loaded) = (0, 0);
    for steps in 1.. {
        let sock_filter { code, jt, jf, k } = code[at];
        let is_met = match code {
            0x20 => {
                loaded = call.word_at(k);
                at += 1;
                continue;
            }
            0x54 => {
                loaded &= k;
                at += 1;
                continue;
            }
            0x05 => {
                at += 1 + k as usize;
                continue;
            }
            0x06 => return (k, steps),
            0x15 => loaded == k,
            0x25 => loaded > k,
            0x35 => loaded >= k,
            0x45 => loaded & k != 0,
            other => panic!("no filter has {other:#x}"),
        };
        at += 1 + usize::from(if is_met { jt } else { jf });
    }
    unreachable!()
}

/// What the lists say.
struct Lists<'a> {
    filter: &'a Filter,
    audit: u32,
    calls: &'a Calls,
    /// Of clone, unshare, socket and socketpair.
    by_arguments: [u32; 4],
    /// Rules on arguments are seccompiler's to understand.
    judge: Vec<sock_filter>,
}

impl<'a> Lists<'a> {
    fn new(filter: &'a Filter, architecture: &Architecture, calls: &'a Calls) -> Self {
        Self {
            filter,
            audit: architecture.audit,
            calls,
            by_arguments: ["clone", "unshare", "socket", "socketpair"].map(|name| architecture.number_of(name)),
            judge: architecture.by_seccompiler(&calls.rules),
        }
    }

    fn look_at_arguments_of(&self, number: u32) -> bool {
        self.calls.judged.contains(&number) || self.by_arguments.contains(&number)
    }

    fn answer(&self, call: &Call) -> u32 {
        if call.audit != self.audit || call.number > 462 || self.filter.absent.contains(&call.number) {
            return ENOSYS;
        }
        if self.calls.denied.contains(&call.number) {
            return EPERM;
        }
        if self.calls.known.as_ref().is_some_and(|known| !known.contains(&call.number)) {
            return ENOSYS;
        }
        let [clone, unshare, socket, pair] = self.by_arguments.map(|number| number == call.number);
        let [clone, unshare] = [clone, unshare].map(|is_it| is_it && !self.filter.namespaces);
        let socket = (socket || pair) && self.filter.families;
        let first = call.arguments[0] as u32;
        let namespaces = 0x7E02_0000;
        if clone && first & namespaces != 0 || unshare && first & (namespaces | 0x80) != 0 {
            return EPERM;
        }
        let is_known = [1, 2, 10].contains(&first) || first == 16 && call.arguments[2] as u32 == 0;
        if socket && !is_known {
            return EAFNOSUPPORT;
        }
        answer(&self.judge, call).0
    }
}

/// Values that some rule asks for, their neighbours, and what has bits beyond the lower half.
fn values(calls: &Calls) -> Vec<u64> {
    let asked = calls.rules.iter().flat_map(|rule| rule["args"].as_array().expect("arguments"));
    let mut values: Vec<u64> = asked.filter_map(|argument| argument["val"].as_u64()).collect();
    values.extend([1, 2, 10, 16, 17, 0x80, 0x0002_0000, 0x1000_0000, 0x7E02_0000, 0o4755, 0o2000, 0o6777, u64::MAX]);
    let mut all: Vec<u64> =
        values.iter().flat_map(|v| [*v, v.wrapping_add(1), v.wrapping_sub(1), v | 1 << 40]).collect();
    all.extend([0, 1 << 40]);
    all.sort_unstable();
    all.dedup();
    all
}

#[test]
fn every_call_is_decided_as_its_lists_say() {
    for architecture in ARCHITECTURES {
        for filter in FILTERS {
            let calls = Calls::of(filter, architecture);
            let code = program::compile(filter, architecture);
            let values = values(&calls);
            let all_alike = values.iter().map(|value| [*value; 6]);
            let with_zeros = values.iter().flat_map(|value| [[*value, 0, 0, 0, 0, 0], [0, *value, 0, 0, 0, 0]]);
            let arguments: Vec<[u64; 6]> = all_alike.chain(with_zeros).collect();
            let lists = Lists::new(filter, architecture, &calls);
            for number in (0..=1200).chain([0x4000_0000, 0x4000_0001, 0x7FFF_FFFF, 0x8000_0000, u32::MAX]) {
                let is_judged = lists.look_at_arguments_of(number);
                for arguments in arguments.iter().take(if is_judged { usize::MAX } else { 2 }) {
                    let call = Call { number, audit: architecture.audit, arguments: *arguments };
                    let (found, steps) = answer(&code, &call);
                    let what = (architecture.name, filter.name, number, arguments);
                    assert_eq!(found, lists.answer(&call), "{what:x?}");
                    assert!(is_judged || steps <= 16, "{steps} steps: {what:x?}");
                }
            }
            for audit in [0x4000_0003, 0xC000_003E, 0xC000_00B7, 0].into_iter().filter(|a| *a != architecture.audit) {
                for number in 0..500 {
                    assert_eq!(answer(&code, &Call { number, audit, arguments: [0; 6] }).0, ENOSYS);
                }
            }
            assert!(code.len() < 256, "{} {}: {} instructions", architecture.name, filter.name, code.len());
        }
    }
}

fn filter_named(name: &str) -> &'static Filter {
    FILTERS.iter().find(|filter| filter.name == name).expect("the filter")
}

/// What a wall denies it denies by each call that does the same.
#[test]
fn no_call_is_left_that_does_what_a_denied_one_does() {
    let [x86_64, _] = ARCHITECTURES else { panic!("two architectures") };
    let call = |name: &str, arguments| Call { number: x86_64.number_of(name), audit: x86_64.audit, arguments };
    for (name, is_monitors) in [("MONITOR", true), ("LISTENING_MONITOR", true), ("DEFAULT", false), ("STRICT", false)] {
        let code = program::compile(filter_named(name), x86_64);
        for family in [17, 30, 38, 40, 44] {
            for socket in ["socket", "socketpair"] {
                let found = answer(&code, &call(socket, [family, 1, 0, 0, 0, 0])).0;
                assert_eq!(found, if is_monitors { EPERM } else { EAFNOSUPPORT }, "{name}: {socket} {family}");
            }
        }
        for policy in ["mbind", "set_mempolicy", "set_mempolicy_home_node", "migrate_pages", "move_pages"] {
            assert_eq!(answer(&code, &call(policy, [0; 6])).0, EPERM, "{name}: {policy}");
        }
        for mode in ["chmod", "fchmod", "fchmodat", "fchmodat2"].iter().filter(|_| is_monitors) {
            assert_eq!(answer(&code, &call(mode, [0; 6])).0, EPERM, "{name}: {mode}");
        }
    }
}

/// A filter of known calls has none that somebody forgot: what no list names does not exist.
#[test]
fn a_call_that_no_list_names_does_not_exist_where_calls_are_listed() {
    for architecture in ARCHITECTURES {
        for name in ["STRICT", "MONITOR", "LISTENING_MONITOR"] {
            let filter = filter_named(name);
            let calls = Calls::of(filter, architecture);
            let known = calls.known.as_ref().expect("a list of known calls");
            assert!(calls.judged.iter().all(|number| known.contains(number)), "{name}: a rule about an unknown call");
            let code = program::compile(filter, architecture);
            let unnamed = (0..=462).filter(|number| !known.contains(number) && !calls.denied.contains(number));
            let answers: Vec<u32> = unnamed
                .map(|number| answer(&code, &Call { number, audit: architecture.audit, arguments: [0; 6] }).0)
                .collect();
            assert!(answers.len() > 8, "{name}: {} calls", answers.len());
            assert!(answers.iter().all(|found| *found == ENOSYS), "{name}");
        }
    }
}

#[test]
fn a_monitor_has_unix_sockets_or_none() {
    let [x86_64, _] = ARCHITECTURES else { panic!("two architectures") };
    let (denied, allowed) = (EPERM, 0x7FFF_0000);
    for (name, of_unix) in [("MONITOR", denied), ("LISTENING_MONITOR", allowed)] {
        let code = program::compile(filter_named(name), x86_64);
        let number = x86_64.number_of("socket");
        for (family, expected) in [(1, of_unix), (2, denied), (10, denied), (16, denied), (17, denied), (40, denied)] {
            let call = Call { number, audit: x86_64.audit, arguments: [family, 1, 0, 0, 0, 0] };
            assert_eq!(answer(&code, &call).0, expected, "{name} {family}");
        }
    }
}
