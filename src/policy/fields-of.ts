/** A policy as the fields that layers set, so that two policies can be compared field by field. */
import type { Policy } from "../core/policy.js";
import { numbersOf } from "../settings/index.js";
import type { FieldValues } from "./fields.js";

export function fieldsOf(policy: Policy): FieldValues {
  const { fs, net, proc } = policy;
  return {
    "fs.workspace.mode": fs.workspace.mode,
    "fs.workspace.readonly": fs.workspace.readonly,
    "fs.home": fs.home,
    "fs.mounts": fs.mounts,
    "fs.rootReadonly": fs.rootReadonly,
    "fs.deny": fs.deny.filter((rule) => !rule.shows),
    "fs.show": fs.deny.filter((rule) => rule.shows).map((rule) => rule.glob),
    "fs.protect": fs.protect,
    "fs.review": fs.review,
    "net.egress": net.egress,
    "net.allow": net.allow,
    "net.deny": net.deny,
    "net.secrets": net.secrets,
    "proc.user": proc.user,
    "proc.noRoot": proc.noRoot,
    "proc.capabilities": proc.capabilities,
    "proc.seccomp": proc.seccomp,
    "proc.landlock": proc.landlock,
    "proc.passHostEnv": proc.passHostEnv,
    "proc.env": proc.env,
    "proc.commands.allow": proc.commands.allow,
    "proc.commands.deny": proc.commands.deny,
    ...numbersOf(policy),
  };
}
