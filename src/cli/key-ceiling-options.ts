/** The options of `keys create` that say what a key may ask for at most. */
import { resolve } from "node:path";
import { type KeyCeiling, smallCeiling, whyInvalidImagePattern } from "../api/auth/key-ceiling.js";
import type { BackendName } from "../core/backend.js";
import { AgentKernelError } from "../core/errors.js";
import { parseDomain } from "../policy/network-rules.js";
import { parseCount, parseSizeMiB, parseTypedDurationMs, parseVcpus, ranges } from "../policy/resources.js";
import { projectFolder } from "../request/project-folder.js";
import type { ParsedOptions } from "./option-spec.js";

interface StatedCeiling {
  readonly value: KeyCeiling;
  /** The options that were used. */
  readonly named: readonly string[];
}

export function ceilingFrom({ values }: Pick<ParsedOptions, "values">, cwd: string): StatedCeiling {
  const named: string[] = [];
  const all = (option: string): readonly string[] | null => {
    const texts = values.get(option);
    if (texts !== undefined) named.push(option);
    return texts ?? null;
  };
  const one = <T>(option: string, usual: T, read: (field: string, text: string) => T): T => {
    const text = all(option)?.[0];
    return text === undefined ? usual : read(`--${option}`, text);
  };
  const value: KeyCeiling = {
    vcpus: one("vcpus", smallCeiling.vcpus, parseVcpus),
    memoryMiB: one("memory", smallCeiling.memoryMiB, (field, text) => parseSizeMiB(field, text, ranges.memoryMiB)),
    pids: one("pids", smallCeiling.pids, (field, text) => parseCount(field, text, ranges.pids)),
    diskMiB: one("disk", smallCeiling.diskMiB, (field, text) => parseSizeMiB(field, text, ranges.diskMiB)),
    openFiles: one("open-files", smallCeiling.openFiles, (field, text) => parseCount(field, text, ranges.openFiles)),
    timeoutMs: one("timeout", smallCeiling.timeoutMs, parseTypedDurationMs),
    ...networkOf(all("network")?.[0], all("allow-domain") ?? []),
    images: all("image")?.map(imagePattern) ?? null,
    backends: (all("backend") as readonly BackendName[] | null) ?? null,
    dirs: (all("dir") ?? []).map((path) => projectFolder({ path: resolve(cwd, path), field: "--dir", shown: path })),
  };
  return { value, named };
}

function networkOf(asked: string | undefined, domains: readonly string[]): Pick<KeyCeiling, "network" | "domains"> {
  if (domains.length === 0) return { network: asked === "on" ? "on" : "off", domains: [] };
  if (asked === undefined) {
    return { network: "allowlist", domains: domains.map((domain) => parseDomain("--allow-domain", domain)) };
  }
  throw new AgentKernelError("invalid_argument", `--network ${asked} contradicts --allow-domain`, {
    hint: "leave one of them out",
  });
}

function imagePattern(text: string): string {
  const why = whyInvalidImagePattern(text);
  if (why === null) return text;
  throw new AgentKernelError("invalid_argument", `--image: ${why}`, {
    hint: "name an image such as python:3.12-alpine, all tags as python, or all below a name as ghcr.io/acme/*",
  });
}
