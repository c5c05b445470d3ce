/** The policy of a sandbox that runs WebAssembly: the strictest process rules, whatever the profile, and no network. */
import type { Policy } from "../core/policy.js";

/** Policies are frozen and shared by many calls; so are these. */
const made = new WeakMap<Policy, Policy>();

export function modulePolicy(policy: Policy): Policy {
  const known = made.get(policy) ?? Object.freeze(strictest(policy));
  made.set(policy, known);
  return known;
}

function strictest(policy: Policy): Policy {
  return {
    ...policy,
    fs: { ...policy.fs, home: "none", rootReadonly: true },
    net: { egress: "off", allow: [], deny: policy.net.deny, secrets: [] },
    proc: {
      ...policy.proc,
      user: null,
      noRoot: true,
      capabilities: "none",
      seccomp: "strict",
      landlock: "workspace",
    },
  };
}
