/** The options of `run` that `mcp server` takes: what the user says once for every sandbox that is asked for later. */
import { isAbsolute, join } from "node:path";
import type { Invocation } from "../invocation/index.js";
import type { StandingSpec } from "../request/index.js";
import type { ParsedOptions } from "./option-spec.js";
import { serverPolicyOptions } from "./policy-options.js";
import { standingSpecOf } from "./run-spec.js";

export interface ServerDefaults {
  readonly said: StandingSpec;
  /** The same, as words of a command line. */
  readonly words: readonly string[];
}

/** Rejects what no sandbox could have: a client would meet that at every call. */
export async function readServerDefaults(
  { values, flags }: ParsedOptions,
  invocation: Invocation,
): Promise<ServerDefaults> {
  const names = serverPolicyOptions.map(({ long }) => long);
  const given = names.flatMap((name) => {
    const found = values.get(name);
    return found === undefined ? [] : [[name, found.map((value) => written(name, value, invocation))] as const];
  });
  const switches = names.filter((name) => flags.has(name));
  const said = standingSpecOf({ flags: new Set(switches), values: new Map(given) }, invocation);
  const words = [
    ...switches.map((name) => `--${name}`),
    ...given.flatMap(([name, found]) => found.flatMap((value) => [`--${name}`, value])),
  ];
  if (words.length > 0) await check(said, invocation);
  return { said, words };
}

/** Files are where the server was started, wherever the project is. */
function written(name: string, value: string, { cwd }: Invocation): string {
  return (name === "config" || name === "policy") && !isAbsolute(value) ? join(cwd, value) : value;
}

async function check(said: StandingSpec, { cwd, env, homeDir }: Invocation): Promise<void> {
  const [{ preparedUsual }, { localUser }] = await Promise.all([
    import("../api/commands/prepare.js"),
    import("../api/auth/caller.js"),
  ]);
  const project = cwd === "/" ? {} : { dir: cwd };
  await preparedUsual(project, { caller: localUser, own: { env, homeDir }, said });
}
