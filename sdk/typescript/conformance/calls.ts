/** What each call of a scenario is in this SDK. */
import { type AgentKernel, ApiError, type CommandEvent, type Sandbox, Session } from "agentkernel";
import type { Step } from "./scenario.js";

export interface Call {
  readonly client: AgentKernel;
  readonly sandboxes: Map<string, Sandbox>;
}

export type Answer = { readonly result: unknown } | { readonly events: AsyncIterable<CommandEvent> };

type Does = (call: Call, step: Step, signal: AbortSignal) => Answer | Promise<Answer>;

export const calls: Readonly<Record<string, Does>> = {
  health: async ({ client }) => result(await client.health()),
  version: async ({ client }) => result(await client.version()),
  run: async ({ client }, step, signal) => result(await client.run(words(step), { ...options(step), signal })),
  stream: ({ client }, step, signal) => ({ events: client.stream(words(step), { ...options(step), signal }) }),
  batch: async ({ client }, { commands = [], parallel }) => {
    const asked = commands.map(({ command, options: given }) => ({ command, ...camel(given ?? {}) }));
    const results = await client.batch(asked, { parallel });
    const shown = results.map((one) => (one instanceof ApiError ? { error: { kind: "api", code: one.code } } : one));
    return result({ results: shown });
  },
  session: async (call, step) => keep(call, step, await call.client.session(options(step))),
  scoped: async ({ client }, step) => {
    let name: string;
    let inside: string;
    {
      await using session = await client.session(options(step));
      name = session.name;
      inside = session.info.state;
    }
    const after = await client.sandboxes.get(name).then(
      () => "there",
      (error) => error.code,
    );
    return result({ inside, after });
  },
  create: async (call, step) => keep(call, step, await call.client.sandboxes.create(step.name ?? "", options(step))),
  get: async (call, step) => {
    const name = step.name_of === undefined ? (step.name ?? "") : at(call, step.name_of).name;
    return result((await call.client.sandboxes.get(name)).info);
  },
  list: async ({ client }, { state }) => {
    const found = await client.sandboxes.list({ state });
    return result({ names: found.map(({ name }) => name) });
  },
  close: async (call, step) => {
    const sandbox = on(call, step);
    if (!(sandbox instanceof Session)) throw new Error("only sessions are closed");
    await sandbox.close();
    return result({});
  },
  start: async (call, step) => result(await on(call, step).start()),
  stop: async (call, step) => result(await on(call, step).stop()),
  pause: async (call, step) => result(await on(call, step).pause()),
  resume: async (call, step) => result(await on(call, step).resume()),
  snapshot: async (call, step) => result(await on(call, step).snapshot({ name: step.name, memory: step.memory })),
  fork: async (call, step) => keep(call, step, await on(call, step).fork(step.name ?? "", options(step))),
  snapshots: async ({ client }) => result({ names: (await client.snapshots.list()).map(({ name }) => name) }),
  get_snapshot: async ({ client }, { name = "" }) => result(await client.snapshots.get(name)),
  restore: async (call, step) =>
    keep(call, step, await call.client.snapshots.restore(step.from ?? "", step.name ?? "", options(step))),
  remove_snapshot: async ({ client }, { name = "" }) => {
    await client.snapshots.remove(name);
    return result({});
  },
  remove: async (call, step) => {
    await on(call, step).remove({ force: step.force });
    return result({});
  },
  stats: async (call, step) => result(await on(call, step).stats()),
  diff: async (call, step) => result(await on(call, step).diff()),
  patch: async (call, step) => result({ patch: await on(call, step).patch() }),
  apply: async (call, step) =>
    result(await on(call, step).apply(step.paths === undefined ? {} : { paths: step.paths })),
  exec: async (call, step, signal) => result(await on(call, step).exec(words(step), { ...options(step), signal })),
  exec_stream: (call, step, signal) => ({
    events: on(call, step).execStream(words(step), { ...options(step), signal }),
  }),
  exec_detached: async (call, step) => result(await on(call, step).execDetached(words(step), options(step))),
  logs: async (call, step) => result({ execs: await on(call, step).logs() }),
  attach: async (call, step) => {
    using terminal = await on(call, step).attach({ cols: step.cols, rows: step.rows, command: "sh" });
    terminal.write(step.typed ?? "");
    let shown = "";
    for await (const bytes of terminal) shown += Buffer.from(bytes).toString();
    return result({ shown, exit_code: terminal.exitCode });
  },
  read: async (call, step) => {
    const bytes = await on(call, step).files.read(step.path ?? "");
    return result({ base64: Buffer.from(bytes).toString("base64") });
  },
  write: async (call, step) => {
    const content = step.content ?? Uint8Array.from(Buffer.from(step.base64 ?? "", "base64"));
    const mode = step.mode === undefined ? undefined : Number.parseInt(step.mode, 8);
    return result(await on(call, step).files.write(step.path ?? "", content, { mode }));
  },
  make_folder: async (call, step) => result(await on(call, step).files.makeFolder(step.path ?? "")),
  list_files: async (call, step) => result(await on(call, step).files.list(step.path)),
  remove_file: async (call, step) => {
    await on(call, step).files.remove(step.path ?? "", { recursive: step.recursive });
    return result({});
  },
};

function words({ command = [] }: Step): readonly string[] {
  return command;
}

function options({ options: given = {}, stdin_base64: stdin }: Step): object {
  return { ...camel(given), ...(stdin === undefined ? {} : { stdin: Buffer.from(stdin, "base64") }) };
}

function keep(call: Call, { as = "" }: Step, sandbox: Sandbox): Answer {
  call.sandboxes.set(as, sandbox);
  return result(sandbox.info);
}

function on(call: Call, { on: word = "" }: Step): Sandbox {
  return at(call, word);
}

function at({ sandboxes }: Call, word: string): Sandbox {
  const found = sandboxes.get(word);
  if (found === undefined) throw new Error(`no earlier step has made ${word}`);
  return found;
}

function result(value: unknown): Answer {
  return { result: renamed(value, (key) => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)) };
}

function camel(value: object): object {
  return renamed(value, (key) => key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())) as object;
}

function renamed(value: unknown, rename: (key: string) => string): unknown {
  if (Array.isArray(value)) return value.map((one) => renamed(one, rename));
  if (typeof value !== "object" || value === null) return value;
  const own = (key: string, inner: unknown) => (["env", "labels"].includes(key) ? inner : renamed(inner, rename));
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [rename(key), own(key, inner)]));
}
