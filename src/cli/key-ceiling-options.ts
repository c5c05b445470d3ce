/** The options of `keys create` that say what a key may ask for at most. */
import { resolve } from "node:path";
import {
  ceilingNumbers,
  isPortRange,
  type KeyCeiling,
  smallCeiling,
  whyInvalidImagePattern,
} from "../api/auth/key-ceiling.js";
import type { BackendName } from "../core/backend.js";
import { AgentKernelError } from "../core/errors.js";
import { parseDomain } from "../policy/network-rules.js";
import { parseTypedSetting } from "../policy/resources.js";
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
  const value: KeyCeiling = {
    ...ceilingNumbers(({ path, name, setting }) => {
      const text = all(setting.flag)?.[0];
      return text === undefined ? smallCeiling[name] : parseTypedSetting(`--${setting.flag}`, text, path);
    }),
    ...networkOf(all("network")?.[0], all("allow-domain") ?? []),
    images: all("image")?.map(imagePattern) ?? null,
    backends: (all("backend") as readonly BackendName[] | null) ?? null,
    ports: (all("port") ?? []).map(portRange),
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

function portRange(text: string): string {
  if (isPortRange(text)) return text;
  throw new AgentKernelError("invalid_argument", `--port: "${text}" is not a port or a range of ports`, {
    hint: "for example --port 3000, or --port 3000-3999",
  });
}

function imagePattern(text: string): string {
  const why = whyInvalidImagePattern(text);
  if (why === null) return text;
  throw new AgentKernelError("invalid_argument", `--image: ${why}`, {
    hint: "name an image such as python:3.12-alpine, all tags as python, or all below a name as ghcr.io/acme/*",
  });
}
