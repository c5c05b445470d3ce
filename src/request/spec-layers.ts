/** A typed request into layers of a policy, one layer for each setting, so that `explain` can name it. */
import { AgentKernelError } from "../core/errors.js";
import type { PolicyFields } from "../policy/fields.js";
import type { PolicyInputs, PolicyLayer } from "../policy/layers.js";
import { reviewAfterYesTo } from "../policy/review.js";
import { isValidUser } from "../policy/users.js";
import { settableNumbers } from "../settings/index.js";
import type { SettingName } from "../settings/wording.js";
import { machineSize } from "./machine-size.js";
import { withRealSource } from "./mount-source.js";
import type { RunSpec, SandboxSpec } from "./run-spec.js";

/** Settings whose value is that of one field of the policy. */
const plain = ["fs.workspace.mode", "net.secrets", "fs.mounts", "fs.show", "proc.env"] as const;

export function policyInputs({ sandbox, nameOf }: RunSpec): PolicyInputs {
  const { profile, mode } = sandbox;
  const layer = (name: SettingName, fields: PolicyFields): PolicyLayer => ({ origin: nameOf(name), fields });
  return {
    machine: machineSize,
    ...(profile === undefined ? {} : { profile: { name: profile, origin: nameOf("profile"), by: "flag" } }),
    ...(mode === undefined ? {} : { mode: { name: mode, origin: nameOf("mode"), by: "flag" } }),
    flags: [
      ...userLayer(),
      ...settableNumbers.flatMap(({ path }) => {
        const value = sandbox[path];
        return value === undefined ? [] : [layer(path, { [path]: value })];
      }),
      ...networkLayer(sandbox),
      ...plain.flatMap((name) => {
        const value = name === "fs.mounts" ? realMounts() : sandbox[name];
        return value === undefined ? [] : [layer(name, { [name]: value })];
      }),
      ...reviewLayer(sandbox),
    ],
  };

  function userLayer(): readonly PolicyLayer[] {
    const user = sandbox["proc.user"];
    if (user === undefined) return [];
    if (!isValidUser(user)) throw notUser(nameOf("proc.user"), user);
    return [layer("proc.user", { "proc.user": user })];
  }

  function networkLayer({ "net.egress": egress, "net.allow": allow }: SandboxSpec): readonly PolicyLayer[] {
    if (allow !== undefined) return [layer("net.allow", { "net.egress": "allowlist", "net.allow": allow })];
    return egress === undefined ? [] : [layer("net.egress", { "net.egress": egress })];
  }

  function realMounts() {
    return sandbox["fs.mounts"]?.map((mount) => withRealSource(nameOf("fs.mounts"), mount));
  }

  function reviewLayer({ "fs.review": names }: SandboxSpec): readonly PolicyLayer[] {
    if (names === undefined) return [];
    return [{ ...layer("fs.review", { "fs.review": reviewAfterYesTo(names) }), replaces: ["fs.review"] }];
  }
}

function notUser(name: string, user: string): AgentKernelError {
  return new AgentKernelError("invalid_argument", `${name}: "${user}" is not a user`, {
    hint: `${name} takes name, uid, name:group or uid:gid, for example 1000:1000`,
    details: { field: "proc.user", value: user, reason: "is not a user" },
  });
}
