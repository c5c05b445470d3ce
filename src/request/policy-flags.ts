/** Flags into layers of a policy, one layer for each flag, so that `explain` can name the flag. */
import { AgentKernelError } from "../core/errors.js";
import type { EgressMode, Mount, WorkspaceMode } from "../core/policy.js";
import type { Surroundings } from "../core/surroundings.js";
import { parseSecretArgument } from "../egress/secrets/argument.js";
import { isEnvName, type PolicyFields } from "../policy/fields.js";
import { isCompatibilityMode, isProfileName, type PolicyInputs, type PolicyLayer } from "../policy/layers.js";
import { parseDomain } from "../policy/network-rules.js";
import { parseTypedSetting } from "../policy/resources.js";
import { isReviewName, reviewAfterYesTo } from "../policy/review.js";
import { isValidUser } from "../policy/users.js";
import { settableNumbers } from "../settings/index.js";
import { machineSize } from "./machine-size.js";
import type { RequestOptions } from "./request-options.js";

type FlagReader = (value: string) => PolicyFields;

/** Flags whose one value sets one field. The option table has already held choices to their list. */
const readers: Readonly<Record<string, FlagReader>> = {
  workspace: (value) => ({ "fs.workspace.mode": value as WorkspaceMode }),
  user: (value) => ({ "proc.user": parseUser(value) }),
};

export function policyInputs(
  parsed: RequestOptions,
  mounts: readonly Mount[],
  hostEnv: Surroundings["env"],
): PolicyInputs {
  const profile = parsed.values.get("profile")?.[0];
  const mode = parsed.values.get("compatibility-mode")?.[0];
  return {
    machine: machineSize,
    ...(profile !== undefined && isProfileName(profile) ? { profile: { name: profile, origin: "--profile" } } : {}),
    ...(mode !== undefined && isCompatibilityMode(mode)
      ? { mode: { name: mode, origin: "--compatibility-mode" } }
      : {}),
    flags: [
      ...singleFlags(parsed),
      ...numberFlags(parsed),
      ...networkFlags(parsed),
      ...secretFlags(parsed),
      ...mountFlags(mounts),
      ...showFlags(parsed),
      ...reviewFlags(parsed),
      ...envFlags(parsed, hostEnv),
    ],
  };
}

function singleFlags(parsed: RequestOptions): PolicyLayer[] {
  return Object.entries(readers).flatMap(([name, read]) => {
    const value = parsed.values.get(name)?.[0];
    return value === undefined ? [] : [{ origin: `--${name}`, fields: read(value) }];
  });
}

/** A number that its edge has parsed already counts before the text of a flag, which was given for every request. */
function numberFlags({ values, numbers = {} }: RequestOptions): PolicyLayer[] {
  return settableNumbers.flatMap(({ path, setting }) => {
    const origin = `--${setting.flag}`;
    const text = values.get(setting.flag)?.[0];
    const value = numbers[path] ?? (text === undefined ? undefined : parseTypedSetting(origin, text, path));
    return value === undefined ? [] : [{ origin, fields: { [path]: value } }];
  });
}

/** `--network`, `--no-network` and `--allow-domain` all speak of one thing, and must not contradict each other. */
function networkFlags(parsed: RequestOptions): PolicyLayer[] {
  const network = parsed.values.get("network")?.[0] as EgressMode | undefined;
  const domains = parsed.values.get("allow-domain") ?? [];
  const isOff = parsed.flags.has("no-network");
  if (isOff && network !== undefined && network !== "off") {
    throw contradiction("--no-network", `--network ${network}`);
  }
  if (domains.length > 0 && isOff) throw contradiction("--no-network", "--allow-domain");
  if (domains.length > 0 && network !== undefined && network !== "allowlist") {
    throw contradiction(`--network ${network}`, "--allow-domain, which means --network allowlist");
  }
  if (domains.length > 0) {
    const allow = domains.map((domain) => ({ domain: parseDomain("--allow-domain", domain) }));
    return [{ origin: "--allow-domain", fields: { "net.egress": "allowlist", "net.allow": allow } }];
  }
  if (isOff) return [{ origin: "--no-network", fields: { "net.egress": "off" } }];
  return network === undefined ? [] : [{ origin: "--network", fields: { "net.egress": network } }];
}

function secretFlags(parsed: RequestOptions): PolicyLayer[] {
  const words = parsed.values.get("secret") ?? [];
  if (words.length === 0) return [];
  return [{ origin: "--secret", fields: { "net.secrets": words.map(parseSecretArgument) } }];
}

function mountFlags(mounts: readonly Mount[]): PolicyLayer[] {
  return mounts.length === 0 ? [] : [{ origin: "--mount", fields: { "fs.mounts": mounts } }];
}

/** Paths from the top of the project, as a user writes them: `./certs/` is `certs`. */
function showFlags(parsed: RequestOptions): PolicyLayer[] {
  const paths = parsed.values.get("show") ?? [];
  if (paths.length === 0) return [];
  const globs = paths.map((path) => path.replace(/^(?:\.\/+)+/, "").replace(/\/+$/, ""));
  return [{ origin: "--show", fields: { "fs.show": globs } }];
}

function reviewFlags(parsed: RequestOptions): PolicyLayer[] {
  const names = parsed.values.get("yes-to") ?? [];
  if (names.length === 0) return [];
  const unknown = names.find((name) => !isReviewName(name));
  if (unknown !== undefined) {
    throw new AgentKernelError("invalid_argument", `--yes-to: no change of "${unknown}" waits for a review`, {
      hint: "name one of the files in docs/files.md, for example CLAUDE.md or .github/workflows, or all",
    });
  }
  const fields = { "fs.review": reviewAfterYesTo(names) };
  return [{ origin: "--yes-to", fields, replaces: ["fs.review"] }];
}

function envFlags(parsed: RequestOptions, hostEnv: Surroundings["env"]): PolicyLayer[] {
  const words = parsed.values.get("env") ?? [];
  if (words.length === 0) return [];
  const env = Object.fromEntries(words.map((word) => parseEnv(word, hostEnv)));
  return [{ origin: "--env", fields: { "proc.env": env } }];
}

/** `K=V` sets it; `K` takes the host's value. The value never appears in an error: it may be a secret. */
export function parseEnv(word: string, hostEnv: Surroundings["env"]): [string, string] {
  const equals = word.indexOf("=");
  const name = equals < 0 ? word : word.slice(0, equals);
  if (!isEnvName(name)) {
    throw new AgentKernelError("invalid_argument", `--env: "${name}" is not a name of a variable`, {
      hint: "write --env NAME=value; a name has letters, digits and _, and does not start with a digit",
    });
  }
  if (equals >= 0) return [name, word.slice(equals + 1)];
  const value = hostEnv[name];
  if (value === undefined) {
    throw new AgentKernelError("invalid_argument", `--env: ${name} is not set here, so it cannot be passed on`, {
      hint: `write --env ${name}=value, or set it first`,
    });
  }
  return [name, value];
}

function parseUser(text: string): string {
  if (isValidUser(text)) return text;
  throw new AgentKernelError("invalid_argument", `--user: "${text}" is not a user`, {
    hint: "--user takes name, uid, name:group or uid:gid, for example 1000:1000",
  });
}

function contradiction(one: string, other: string): AgentKernelError {
  return new AgentKernelError("invalid_argument", `${one} contradicts ${other}`, { hint: "leave one of them out" });
}
