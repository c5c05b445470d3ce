/**
 * What `container` answers in JSON, reduced to what is used. Versions differ in where they put a field, so each is
 * looked for in all its places; an answer that lacks it is never taken for a good one. Pure.
 */
import { AgentKernelError } from "../../core/errors.js";

export interface FoundContainer {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly isRunning: boolean;
}

/** Parses `list --format json`. */
export function containersOf(answer: unknown): readonly FoundContainer[] {
  if (!Array.isArray(answer)) throw unreadable("list");
  return answer.map((one: unknown) => {
    const configuration = member(one, "configuration");
    const id = textOf(member(configuration, "id")) ?? textOf(member(one, "id"));
    if (id === null) throw unreadable("list");
    const status = member(one, "status");
    return {
      id,
      labels: textsOf(member(configuration, "labels")),
      isRunning: (textOf(status) ?? textOf(member(status, "state"))) === "running",
    };
  });
}

/** How many networks a container is attached to, of `inspect`; null where the answer does not say. */
export function networksOf(answer: unknown): number | null {
  const one: unknown = Array.isArray(answer) ? answer[0] : null;
  const lists = [one, member(one, "status"), member(one, "configuration")]
    .map((place) => member(place, "networks"))
    .filter((found) => Array.isArray(found));
  return lists.length === 0 ? null : Math.max(...lists.map(({ length }) => length));
}

/** Parses `system version --format json`: three numbers; null where there are none. */
export function versionOf(answer: unknown): string | null {
  const own: unknown = Array.isArray(answer) ? answer[0] : answer;
  return /\d+\.\d+\.\d+/.exec(textOf(member(own, "version")) ?? "")?.[0] ?? null;
}

interface FoundImage {
  readonly digest: string | null;
  readonly env: readonly string[];
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
  readonly workdir: string | null;
  readonly user: string | null;
}

/** Parses `image inspect`: the variant for an architecture; null where it has none. */
export function imageOf(answer: unknown, architecture: string): FoundImage | null {
  const one: unknown = Array.isArray(answer) ? answer[0] : null;
  const variants = member(one, "variants");
  if (!Array.isArray(variants)) throw unreadable("image inspect");
  const variant: unknown = variants.find((each) => {
    const platform = member(each, "platform");
    return member(platform, "os") === "linux" && member(platform, "architecture") === architecture;
  });
  if (variant === undefined) return null;
  const config = member(member(variant, "config"), "config");
  const filled = (name: string) => textOf(member(config, name)) || null;
  const list = (name: string) => {
    const found = member(config, name);
    return Array.isArray(found) ? found.map(String) : [];
  };
  return {
    digest: textOf(member(member(one, "index"), "digest")) ?? textOf(member(variant, "digest")),
    env: list("Env"),
    entrypoint: list("Entrypoint"),
    cmd: list("Cmd"),
    workdir: filled("WorkingDir"),
    user: filled("User"),
  };
}

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function textsOf(value: unknown): Readonly<Record<string, string>> {
  if (typeof value !== "object" || value === null) return {};
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}

function unreadable(asked: string): AgentKernelError {
  return new AgentKernelError("internal", `the answer of \`container ${asked}\` is not as documented`, {
    hint: "this version of Apple's container may be newer than agentkernel: use --backend docker",
  });
}
