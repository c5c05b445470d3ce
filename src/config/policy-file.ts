/** A policy file's text into one layer per key. What it does not open stays shut: without `net`, nothing is reached. */
import { resolve as resolvePath } from "node:path/posix";
import type { PolicyFields } from "../policy/fields.js";
import type { PolicyLayer } from "../policy/layers.js";
import { type Located, lineOf } from "./located.js";
import { policyFileNumbers } from "./number-entries.js";
import { policyShape } from "./policy-shape.js";
import type { Reading, ValueOf } from "./shapes.js";
import { locate, type ReadFile, type SourceFile } from "./source-text.js";

type PolicyValue = ValueOf<typeof policyShape>;

/** `folder` is the absolute path of the folder that the file lies in. */
export async function readPolicyFile(file: SourceFile, folder: string): Promise<ReadFile<readonly PolicyLayer[]>> {
  const root = await locate(file, file.name.toLowerCase().endsWith(".json") ? "json" : "yaml");
  if ("message" in root) return { value: null, faults: [root] };
  const reading: Reading = { owner: "project", faults: [], withoutEffect: [] };
  const value = policyShape.read(root, "", reading);
  const faults = reading.faults.map((fault) => ({ file: file.name, ...fault }));
  if (value === undefined || faults.length > 0) return { value: null, faults };
  return { value: layersOf(value, root, file.name, folder), faults: [] };
}

function layersOf(value: PolicyValue, root: Located, name: string, folder: string): readonly PolicyLayer[] {
  const { fs, net, proc } = value;
  const layers: PolicyLayer[] = [];
  const add = (path: string, fields: PolicyFields, replaces: PolicyLayer["replaces"] = []) =>
    layers.push({ origin: `${name}:${lineOf(root, path.split("."))}`, fields, replaces });
  if (fs?.workspace?.mode !== undefined) add("fs.workspace.mode", { "fs.workspace.mode": fs.workspace.mode });
  if (fs?.workspace?.readonly !== undefined) {
    add("fs.workspace.readonly", { "fs.workspace.readonly": fs.workspace.readonly });
  }
  if (fs?.mounts) add("fs.mounts", { "fs.mounts": fs.mounts.map((mount) => mountOf(mount, folder)) });
  if (fs?.deny) add("fs.deny", { "fs.deny": fs.deny.map((glob) => ({ glob })) });
  if (fs?.protect) add("fs.protect", { "fs.protect": fs.protect });
  // The list is stated whole: what a mode or a project allows beside it does not count, and an empty one is empty.
  const egress = net?.egress ?? (net?.allow ? "allowlist" : "off");
  add(net?.egress === undefined ? "net" : "net.egress", { "net.egress": egress });
  add("net.allow", { "net.allow": net?.allow ?? [] }, ["net.allow"]);
  if (net?.deny) add("net.deny", { "net.deny": net.deny });
  if (net?.secrets) add("net.secrets", { "net.secrets": net.secrets });
  for (const { path, key } of policyFileNumbers) {
    const written = numberAt(value, key.path);
    if (written !== undefined) add(key.path, { [path]: key.toValue?.(written) ?? written });
  }
  if (proc?.no_root !== undefined) add("proc.no_root", { "proc.noRoot": proc.no_root });
  return layers;
}

/** A number that the file's shape has read, by its keys: `fs.tmp.size_mb`. */
function numberAt(value: unknown, path: string): number | undefined {
  const found = path
    .split(".")
    .reduce<unknown>((table, key) => (table as Readonly<Record<string, unknown>> | undefined)?.[key], value);
  return typeof found === "number" ? found : undefined;
}

interface WrittenMount {
  readonly host?: string;
  readonly guest?: string;
  readonly readonly?: boolean;
}

function mountOf({ host = "", guest = "", readonly = true }: WrittenMount, folder: string) {
  return { host: resolvePath(folder, host), guest, readonly };
}
