/** The words of a command line into the typed request that every interface makes. Paths start at the caller's directory. */
import { isIP } from "node:net";
import { resolve } from "node:path";
import { AgentKernelError } from "../core/errors.js";
import type { CompatibilityMode, EgressMode, Mount, ProfileName, WorkspaceMode } from "../core/policy.js";
import type { Surroundings } from "../core/surroundings.js";
import { parseSecretArgument } from "../egress/secrets/argument.js";
import { isEnvName } from "../policy/fields.js";
import { whyBadGuestPath } from "../policy/mounts.js";
import { parseDomain } from "../policy/network-rules.js";
import { parseTypedSetting } from "../policy/resources.js";
import { isReviewName } from "../policy/review.js";
import { backendRequest } from "../request/choices.js";
import type { NamedFiles, RunSpec, SandboxSpec } from "../request/run-spec.js";
import type { PublishedPort } from "../runtime/published-ports.js";
import type { PullChoice } from "../runtime/root-image.js";
import { type SettablePath, settableNumbers } from "../settings/index.js";
import { flagOf, type SettingName } from "../settings/wording.js";
import type { ParsedOptions } from "./option-spec.js";

type Words = Pick<ParsedOptions, "flags" | "values">;
type Place = Pick<Surroundings, "cwd" | "env">;

interface KnownSpec extends Place {
  readonly spec: RunSpec;
}

/** Of options that were parsed once and are asked for again. */
const known = new WeakMap<ParsedOptions, KnownSpec>();

export function runSpecOf(parsed: ParsedOptions, { cwd, env }: Place): RunSpec {
  const before = known.get(parsed);
  if (before?.env === env && before.cwd === cwd) return before.spec;
  const { flags, values, rest } = parsed;
  const [workdir, lang] = [values.get("workdir")?.[0], values.get("lang")?.[0]];
  const spec: RunSpec = {
    ...standingSpecOf(parsed, { cwd, env }),
    exec: {
      argv: rest,
      tty: flags.has("tty"),
      json: flags.has("json"),
      ask: flags.has("ask"),
      ...(workdir === undefined ? {} : { workdir }),
      ...(lang === undefined ? {} : { lang }),
    },
  };
  // Only what cannot change any more is what it was.
  if (Object.isFrozen(env)) known.set(parsed, { cwd, env, spec });
  return spec;
}

/** All but the command. */
export function standingSpecOf(words: Words, place: Place): Omit<RunSpec, "exec"> {
  const isOff = words.flags.has("no-network");
  return {
    sandbox: sandboxOf(words, place),
    files: filesOf(words),
    nameOf: (name) => (name === "net.egress" && isOff ? "--no-network" : flagOf(name)),
  };
}

export function filesOf({ values }: Pick<Words, "values">): NamedFiles {
  const [config, policy] = [values.get("config")?.[0], values.get("policy")?.[0]];
  return { ...(config === undefined ? {} : { config }), ...(policy === undefined ? {} : { policy }) };
}

/** The option table has already held choices to their lists. */
function sandboxOf(words: Words, { cwd, env }: Place): SandboxSpec {
  const { values } = words;
  const spec: { -readonly [K in keyof SandboxSpec]: SandboxSpec[K] } = { ...numbersOf(words), ...networkOf(words) };
  const one = <K extends keyof SandboxSpec>(name: K & SettingName, read: (text: string) => SandboxSpec[K]) => {
    const text = values.get(flagOf(name).slice(2))?.[0];
    if (text !== undefined) spec[name] = read(text);
  };
  const all = <K extends keyof SandboxSpec>(
    name: K & SettingName,
    read: (texts: readonly string[]) => SandboxSpec[K],
  ) => {
    const texts = values.get(flagOf(name).slice(2)) ?? [];
    if (texts.length > 0) spec[name] = read(texts);
  };
  one("image", (text) => text);
  one("pull", (text) => text as PullChoice);
  one("backend", (text) => backendRequest(text, flagOf("backend")).name);
  one("profile", (text) => text as ProfileName);
  one("mode", (text) => text as CompatibilityMode);
  one("proc.user", (text) => text);
  one("fs.workspace.mode", (text) => text as WorkspaceMode);
  all("net.secrets", (texts) => texts.map(parseSecretArgument));
  all("proc.env", (texts) => Object.fromEntries(texts.map((text) => parseEnv(text, env))));
  all("fs.mounts", (texts) => texts.map((text) => parseMount(text, cwd)));
  all("fs.show", (texts) => texts.map(fromTop));
  all("fs.review", reviewNames);
  all("publish", (texts) => texts.map(parsePublished));
  return spec;
}

function numbersOf({ values }: Words): SandboxSpec {
  const stated = settableNumbers.flatMap(({ path, setting }): readonly (readonly [SettablePath, number])[] => {
    const text = values.get(setting.flag)?.[0];
    return text === undefined ? [] : [[path, parseTypedSetting(`--${setting.flag}`, text, path)]];
  });
  return Object.fromEntries(stated);
}

/** `--network`, `--no-network` and `--allow-domain` all speak of one thing, and must not contradict each other. */
function networkOf({ flags, values }: Words): SandboxSpec {
  const egress = values.get("network")?.[0] as EgressMode | undefined;
  const domains = values.get("allow-domain") ?? [];
  const isOff = flags.has("no-network");
  if (isOff && egress !== undefined && egress !== "off") throw contradiction("--no-network", `--network ${egress}`);
  if (domains.length > 0 && isOff) throw contradiction("--no-network", "--allow-domain");
  if (domains.length > 0 && egress !== undefined && egress !== "allowlist") {
    throw contradiction(`--network ${egress}`, "--allow-domain, which means --network allowlist");
  }
  if (domains.length > 0)
    return { "net.allow": domains.map((domain) => ({ domain: parseDomain("--allow-domain", domain) })) };
  if (isOff) return { "net.egress": "off" };
  return egress === undefined ? {} : { "net.egress": egress };
}

/** Paths from the top of the project, as a user writes them: `./certs/` is `certs`. */
function fromTop(path: string): string {
  return path.replace(/^(?:\.\/+)+/, "").replace(/\/+$/, "");
}

function reviewNames(names: readonly string[]): readonly string[] {
  const unknown = names.find((name) => !isReviewName(name));
  if (unknown === undefined) return names;
  throw new AgentKernelError("invalid_argument", `--yes-to: no change of "${unknown}" waits for a review`, {
    hint: "name one of the files in docs/files.md, for example CLAUDE.md or .github/workflows, or all",
  });
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

/** The guest path starts at the first `:/`, so that a host path may have other colons in it. */
const MOUNT = /^(.+?):(\/[^:]*)(?::(ro|rw))?$/s;

/** `HOST:GUEST[:ro]`. Whether the source is there is found out when the request is prepared. */
function parseMount(text: string, cwd: string): Mount {
  const [, host, guest, access] = MOUNT.exec(text) ?? [];
  if (host === undefined || guest === undefined) {
    throw new AgentKernelError("invalid_argument", `--mount: "${text}" is not of the form HOST:GUEST[:ro]`, {
      hint: "the guest path is absolute, for example --mount ./vendor:/deps:ro",
    });
  }
  const trimmed = guest.length > 1 ? guest.replace(/\/+$/, "") || "/" : guest;
  const why = whyBadGuestPath(trimmed);
  if (why !== null) {
    throw new AgentKernelError("invalid_argument", `--mount: nothing can be mounted at "${guest}": ${why}`, {
      hint: "choose a path of its own, for example /deps",
    });
  }
  return { host: resolve(cwd, host), guest: trimmed, readonly: access === "ro" };
}

const MAX_PORT = 65_535;

/** `[ADDRESS:]HOST:GUEST`. */
export function parsePublished(text: string): PublishedPort {
  const match = /^(?:(\[[0-9A-Fa-f:.]+\]|[0-9.]+):)?(\d{1,5}):(\d{1,5})$/.exec(text);
  const [, address = "127.0.0.1", host = "", guest = ""] = match ?? [];
  const bare = address.replace(/^\[|\]$/g, "");
  const [hostPort, guestPort] = [Number(host), Number(guest)];
  const isFine = match !== null && isIP(bare) !== 0 && hostPort <= MAX_PORT && guestPort > 0 && guestPort <= MAX_PORT;
  if (isFine) return { address: bare, hostPort, guestPort };
  throw new AgentKernelError("invalid_argument", `--publish: "${text}" is not of the form [ADDRESS:]HOST:GUEST`, {
    hint: "for example 8080:80, or 0:80 for any free port; other machines reach it only with an address such as 0.0.0.0:8080:80",
  });
}

function contradiction(one: string, other: string): AgentKernelError {
  return new AgentKernelError("invalid_argument", `${one} contradicts ${other}`, { hint: "leave one of them out" });
}
