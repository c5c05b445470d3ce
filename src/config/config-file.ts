/** The text of agentkernel.toml, or of the user-wide config.toml, into choices, layers and limits. */
import type { CompatibilityMode, ProfileName } from "../core/policy.js";
import { imageOfRuntime } from "../detect/runtimes.js";
import type { PolicyFields } from "../policy/fields.js";
import type { Choice, PolicyLayer } from "../policy/layers.js";
import type { Limit, ProfileFloor } from "../policy/limits.js";
import { type NumberKey, settableNumbers } from "../settings/index.js";
import { type ConfigValue, configShape, type OriginOf } from "./config-shape.js";
import type { Fault } from "./faults.js";
import { limitsOf } from "./limits-section.js";
import { type Located, lineOf } from "./located.js";
import type { Owner, Reading } from "./shapes.js";
import { locate, type ReadFile, type SourceFile } from "./source-text.js";

export interface ConfigFile {
  readonly layers: readonly PolicyLayer[];
  readonly profile: Choice<ProfileName> | null;
  readonly mode: Choice<CompatibilityMode> | null;
  /** The mode of the preferred agent: counts where no mode is named anywhere. */
  readonly preferredMode: Choice<CompatibilityMode> | null;
  readonly image: { readonly reference: string; readonly origin: string } | null;
  readonly backend: Choice<string> | null;
  readonly limits: readonly Limit[];
  readonly profileFloor: ProfileFloor | null;
  readonly images: NonNullable<ConfigValue["images"]>;
  readonly audit: NonNullable<ConfigValue["audit"]>;
  readonly daemon: NonNullable<ConfigValue["daemon"]>;
  readonly api: NonNullable<ConfigValue["api"]>;
  /** Keys that do nothing in this version, as `file:line: key`, and what they are about. */
  readonly withoutEffect: readonly { readonly text: string; readonly concerns: string }[];
}

export async function readConfigFile(file: SourceFile, owner: Owner): Promise<ReadFile<ConfigFile>> {
  const root = await locate(file, "toml");
  if ("message" in root) return { value: null, faults: [root] };
  const reading: Reading = { owner, faults: [], withoutEffect: [] };
  const value = configShape.read(root, "", reading);
  if (value !== undefined) reading.faults.push(...contradictions(value, root));
  const faults = reading.faults.map((fault) => ({ file: file.name, ...fault }));
  if (value === undefined || faults.length > 0) return { value: null, faults };
  const originOf: OriginOf = (path) => `${file.name}:${lineOf(root, path.split("."))}`;
  return { value: configOf(value, originOf, reading.withoutEffect, file.name), faults: [] };
}

function configOf(
  value: ConfigValue,
  originOf: OriginOf,
  withoutEffect: Reading["withoutEffect"],
  fileName: string,
): ConfigFile {
  const { sandbox, agent, security, limits } = value;
  const preferred = agent?.preferred === "opencode" ? "native" : agent?.preferred;
  return {
    layers: layersOf(value, originOf),
    profile: security?.profile ? { name: security.profile, origin: originOf("security.profile") } : null,
    mode: agent?.compatibility_mode
      ? { name: agent.compatibility_mode, origin: originOf("agent.compatibility_mode") }
      : null,
    preferredMode: preferred ? { name: preferred, origin: originOf("agent.preferred") } : null,
    image: imageOf(sandbox, originOf),
    backend: sandbox?.backend ? { name: sandbox.backend, origin: originOf("sandbox.backend") } : null,
    limits: limits ? limitsOf(limits, originOf) : [],
    profileFloor: limits?.profile ? { name: limits.profile, origin: originOf("limits.profile") } : null,
    images: value.images ?? {},
    audit: value.audit ?? {},
    daemon: value.daemon ?? {},
    api: value.api ?? {},
    withoutEffect: withoutEffect.map(({ path, line, concerns }) => ({
      text: `${fileName}:${line}: ${path}`,
      concerns,
    })),
  };
}

function imageOf(sandbox: ConfigValue["sandbox"], originOf: OriginOf): ConfigFile["image"] {
  if (sandbox?.base_image) return { reference: sandbox.base_image, origin: originOf("sandbox.base_image") };
  if (sandbox?.runtime) return { reference: imageOfRuntime(sandbox.runtime), origin: originOf("sandbox.runtime") };
  return null;
}

function layersOf({ resources, security, files }: ConfigValue, originOf: OriginOf): readonly PolicyLayer[] {
  const layers: PolicyLayer[] = [];
  const add = (path: string, fields: PolicyFields) => layers.push({ origin: originOf(path), fields });
  for (const { path, setting } of settableNumbers) {
    const value = resources?.[setting.key as NumberKey];
    if (value !== undefined) add(`resources.${setting.key}`, { [path]: value });
  }
  if (security?.mount_cwd !== undefined) {
    add("security.mount_cwd", { "fs.workspace.mode": security.mount_cwd ? "mount" : "copy" });
  }
  if (security?.seccomp !== undefined) add("security.seccomp", { "proc.seccomp": security.seccomp });
  layers.push(...networkLayers(security, originOf));
  if (files?.show) add("files.show", { "fs.show": files.show });
  const { commands } = security ?? {};
  if (commands?.allow) add("security.commands.allow", { "proc.commands.allow": commands.allow });
  if (commands?.deny) add("security.commands.deny", { "proc.commands.deny": commands.deny });
  return layers;
}

/** A list of what can be reached means an allowlist, unless the network is off outright. */
function networkLayers(security: ConfigValue["security"], originOf: OriginOf): readonly PolicyLayer[] {
  const { network, domains } = security ?? {};
  const layers: PolicyLayer[] = [];
  if (domains?.allow && network !== false) {
    const fields = { "net.egress": "allowlist", "net.allow": domains.allow } as const;
    layers.push({ origin: originOf("security.domains.allow"), fields });
  } else if (network !== undefined) {
    layers.push({ origin: originOf("security.network"), fields: { "net.egress": network ? "on" : "off" } });
  }
  if (domains?.deny) layers.push({ origin: originOf("security.domains.deny"), fields: { "net.deny": domains.deny } });
  return layers;
}

/** Keys that are fine by themselves and cannot both be meant. */
function contradictions({ sandbox, daemon }: ConfigValue, root: Located): readonly Fault[] {
  const faults: Fault[] = [];
  const at = (path: string) => ({ line: lineOf(root, path.split(".")), column: 1 });
  if (sandbox?.base_image !== undefined && sandbox.runtime !== undefined) {
    const message = "sandbox.runtime and sandbox.base_image both choose the image";
    faults.push({ ...at("sandbox.runtime"), message, hint: "leave one of them out" });
  }
  const pools = [["daemon", daemon] as const, ...agentPools(daemon)];
  for (const [path, pool] of pools) {
    if (pool?.min_warm !== undefined && pool.max_warm !== undefined && pool.min_warm > pool.max_warm) {
      const message = `${path}.min_warm is ${pool.min_warm}, more than max_warm, which is ${pool.max_warm}`;
      faults.push({ ...at(`${path}.min_warm`), message, hint: "make max_warm at least as large" });
    }
  }
  return faults;
}

function agentPools(daemon: ConfigValue["daemon"]) {
  return [...(daemon?.agents ?? new Map())].map(([name, pool]) => [`daemon.agents.${name}`, pool] as const);
}
