// What mutation testing changes, an area each: walls that nobody would notice the loss of by using agentkernel. `mutate`
// are the files that are changed, `tests` the unit tests that ought to notice.

/** Of each area, in per cent. */
export const LEAST_KILLED = 85;

export const areas = {
  policy: {
    what: "the resolution of a policy from profiles, modes, files and flags",
    mutate: ["src/policy/resolve.ts", "src/policy/merge.ts", "src/policy/layers.ts", "src/policy/modes.ts"],
    tests: ["src/policy/*.test.ts"],
  },
  authority: {
    what: "who may widen a policy",
    mutate: ["src/policy/authority.ts", "src/policy/wider.ts", "src/policy/limits.ts", "src/policy/rule-cover.ts"],
    tests: ["src/policy/*.test.ts"],
  },
  paths: {
    what: "which paths are hidden and protected",
    mutate: ["src/policy/glob.ts", "src/core/inside-path.ts", "src/core/joined-path.ts", "src/core/lasting-path.ts"],
    tests: ["src/policy/glob.test.ts", "src/core/*.test.ts"],
  },
  egress: {
    what: "the decision about a connection",
    mutate: ["src/egress/rules.ts", "src/egress/decision.ts", "src/egress/host.ts"],
    tests: ["src/egress/*.test.ts"],
  },
  names: {
    what: "answers to questions for names",
    mutate: ["src/egress/names/*.ts", "src/core/address/*.ts", "!**/*.test.ts"],
    tests: ["src/egress/names/*.test.ts", "src/core/address/*.test.ts", "src/egress/gateway.test.ts"],
  },
  keys: {
    what: "keys and tokens of the HTTP interface",
    mutate: ["src/api/auth/*.ts", "!**/*.test.ts"],
    tests: ["src/api/auth/*.test.ts", "src/api/commands/key-limits.test.ts"],
  },
  frames: {
    what: "frames from the guest",
    mutate: ["src/guest/decoder.ts", "src/guest/frame.ts", "src/guest/messages.ts"],
    tests: [
      "src/guest/decoder.test.ts",
      "src/guest/fuzz.test.ts",
      "src/guest/hostile-guest.test.ts",
      "src/guest/calls.test.ts",
      "src/guest/session.test.ts",
    ],
  },
  audit: {
    what: "the chain of the audit log",
    mutate: ["src/audit/chain.ts", "src/audit/line.ts", "src/audit/head.ts", "src/audit/verify.ts"],
    tests: ["src/audit/*.test.ts"],
  },
};
