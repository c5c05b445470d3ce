/** For each field a value that allows less and one that allows more. A new field without samples does not compile. */
import { byPath, type NumericPath } from "../../settings/index.js";
import type { FieldPath, FieldValues } from "../fields.js";

interface Samples<T> {
  readonly less: T;
  readonly more: T;
}

type Sampled = Exclude<FieldPath, "proc.env">;

const rule = { domain: "a.example" };
const mount = { host: "/srv/data", guest: "/data", readonly: false };
const binding = { name: "KEY", host: "a.example", header: "x-key" };

/** Of `proc.env` no value allows more than another. */
export const fieldSamples: { readonly [K in Sampled]: Samples<FieldValues[K]> } = {
  "fs.workspace.mode": { less: "copy", more: "mount" },
  "fs.workspace.readonly": { less: true, more: false },
  "fs.home": { less: "none", more: "readonly" },
  "fs.mounts": { less: [], more: [mount] },
  "fs.rootReadonly": { less: true, more: false },
  "fs.deny": { less: [{ glob: "**/a" }, { glob: "**/b" }], more: [{ glob: "**/a" }] },
  "fs.show": { less: [], more: ["certs"] },
  "fs.protect": { less: ["**/a", "**/b"], more: ["**/a"] },
  "fs.review": { less: ["**/a", "**/b"], more: ["**/a"] },
  "net.egress": { less: "allowlist", more: "on" },
  "net.allow": { less: [rule], more: [rule, { domain: "b.example" }] },
  "net.deny": { less: [rule], more: [] },
  "net.secrets": { less: [], more: [binding] },
  "proc.user": { less: "1000", more: "0" },
  "proc.noRoot": { less: true, more: false },
  "proc.capabilities": { less: "none", more: "default" },
  "proc.seccomp": { less: "strict", more: "default" },
  "proc.landlock": { less: "workspace", more: "default" },
  "proc.passHostEnv": { less: false, more: true },
  "proc.commands.allow": { less: ["ls"], more: null },
  "proc.commands.deny": { less: ["rm"], more: [] },
  ...(byPath(({ setting }) => ({ less: setting.min, more: setting.default === null ? null : setting.max })) as {
    readonly [K in NumericPath]: Samples<FieldValues[K]>;
  }),
};

export const sampledFields = Object.keys(fieldSamples) as readonly Sampled[];
