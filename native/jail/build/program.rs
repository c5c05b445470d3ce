//! A filter as a program: a call's number is looked up by halving, so that each is decided in a few steps. When a filter
//! is installed the kernel goes through it once for every call that there is, so steps are time of each sandbox's start.

use seccompiler::{BpfProgram, sock_filter};

use crate::{
    decisions::{Decision, Range, ranges},
    lists::{Architecture, Calls, Filter},
};

const LD_W_ABS: u16 = 0x20;
const JEQ: u16 = 0x15;
const JGE: u16 = 0x35;
const JSET: u16 = 0x45;
const RET: u16 = 0x06;
const ALLOW: u32 = 0x7FFF_0000;
const ERRNO_EPERM: u32 = 0x0005_0000 | 1;
const ERRNO_ENOSYS: u32 = 0x0005_0000 | 38;
const ERRNO_EAFNOSUPPORT: u32 = 0x0005_0000 | 97;
/// Where the kernel shows a filter the call's number, its architecture, and its arguments.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const FIRST_ARGUMENT: u32 = 16;
const THIRD_ARGUMENT: u32 = 32;

fn op(code: u16, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

pub fn compile(filter: &Filter, architecture: &Architecture) -> BpfProgram {
    let calls = Calls::of(filter, architecture);
    let mut search = Search::default();
    search.halve(&ranges(filter, architecture, &calls));
    // Another architecture's calls (i386, x32) do not exist inside.
    let mut code = vec![
        op(LD_W_ABS, 0, 0, ARCHITECTURE),
        op(JEQ, 1, 0, architecture.audit),
        op(RET, 0, 0, ERRNO_ENOSYS),
        op(LD_W_ABS, 0, 0, NUMBER),
    ];
    code.extend(search.assembled(|decision| match decision {
        Decision::Allowed => vec![op(RET, 0, 0, ALLOW)],
        Decision::Denied => vec![op(RET, 0, 0, ERRNO_EPERM)],
        Decision::Absent => vec![op(RET, 0, 0, ERRNO_ENOSYS)],
        Decision::ByFlags(flags) => by_flags(flags),
        Decision::ByFamily => by_family(),
        Decision::ByRules => architecture.by_seccompiler(&calls.rules),
    }));
    code
}

/// Comparisons of the number; each leads to another one or to what is decided.
#[derive(Default)]
struct Search {
    comparisons: Vec<Comparison>,
}

struct Comparison {
    code: u16,
    number: u32,
    met: Target,
    unmet: Target,
}

enum Target {
    Comparison(usize),
    Decision(Decision),
}

impl Search {
    fn halve(&mut self, ranges: &[Range]) -> Target {
        if let [(_, decision)] = ranges {
            return Target::Decision(*decision);
        }
        let here = self.comparisons.len();
        // One number among others that are decided alike.
        if let [(_, around), (number, alone), (next, behind)] = *ranges
            && around == behind
            && next == number + 1
        {
            let (met, unmet) = (Target::Decision(alone), Target::Decision(around));
            self.comparisons.push(Comparison { code: JEQ, number, met, unmet });
            return Target::Comparison(here);
        }
        let (below, above) = ranges.split_at(ranges.len() / 2);
        let (number, _) = above[0];
        let nowhere = || Target::Comparison(here);
        self.comparisons.push(Comparison { code: JGE, number, met: nowhere(), unmet: nowhere() });
        self.comparisons[here].unmet = self.halve(below);
        self.comparisons[here].met = self.halve(above);
        Target::Comparison(here)
    }

    /// With the code of each decision behind the comparisons, once.
    fn assembled(self, code_of: impl Fn(Decision) -> BpfProgram) -> BpfProgram {
        let mut decided: Vec<(Decision, usize)> = Vec::new();
        let mut behind = BpfProgram::new();
        for target in self.comparisons.iter().flat_map(|one| [&one.met, &one.unmet]) {
            if let Target::Decision(decision) = target
                && !decided.iter().any(|(known, _)| known == decision)
            {
                decided.push((*decision, self.comparisons.len() + behind.len()));
                behind.extend(code_of(*decision));
            }
        }
        let place = |target: &Target| match target {
            Target::Comparison(at) => *at,
            Target::Decision(decision) => {
                decided.iter().find(|(known, _)| known == decision).expect("every decision has its code").1
            }
        };
        let jump =
            |from: usize, target| u8::try_from(place(target) - from - 1).expect("a jump reaches 255 instructions");
        let search = self.comparisons.iter().enumerate();
        let mut code: BpfProgram =
            search.map(|(at, one)| op(one.code, jump(at, &one.met), jump(at, &one.unmet), one.number)).collect();
        code.extend(behind);
        code
    }
}

fn by_flags(flags: u32) -> BpfProgram {
    vec![op(LD_W_ABS, 0, 0, FIRST_ARGUMENT), op(JSET, 0, 1, flags), op(RET, 0, 0, ERRNO_EPERM), op(RET, 0, 0, ALLOW)]
}

/// Sockets of the families unix, inet, inet6, and netlink for routes only. The others answer as on a kernel that was
/// built without them: programs such as su do without the audit log then, but not when they may not use it.
fn by_family() -> BpfProgram {
    let [unix, inet, inet6, netlink] = [1, 2, 10, 16];
    let route = 0;
    vec![
        op(LD_W_ABS, 0, 0, FIRST_ARGUMENT),
        op(JEQ, 5, 0, unix),
        op(JEQ, 4, 0, inet),
        op(JEQ, 3, 0, inet6),
        op(JEQ, 0, 3, netlink),
        op(LD_W_ABS, 0, 0, THIRD_ARGUMENT),
        op(JEQ, 0, 1, route),
        op(RET, 0, 0, ALLOW),
        op(RET, 0, 0, ERRNO_EAFNOSUPPORT),
    ]
}
