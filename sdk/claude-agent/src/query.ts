/** `query` of the Claude Agent SDK, with a sandbox of its own that is gone afterwards, however it ends. */
import { type AgentSdk, type HookMatcher, loadAgentSdk, type QueryOptions } from "./agent-sdk.js";
import { hooksFor } from "./hooks.js";
import { canUseToolBy } from "./policy.js";
import { openRunner } from "./runner.js";
import { SERVER_NAME, sandboxServer } from "./server.js";
import type { SandboxOptions, SandboxRunner } from "./types.js";

export interface SandboxedQuery<O extends QueryOptions = QueryOptions> {
  readonly prompt: string | AsyncIterable<unknown>;
  /** Of the SDK's `query`. */
  readonly options?: O;
  readonly sandbox?: SandboxOptions;
  /** The SDK, where it is not to be found by its name. */
  readonly sdk?: AgentSdk;
}

/** The messages of the query. Leaving the loop ends the query and removes the sandbox. */
export async function* sandboxedQuery<M = unknown, O extends QueryOptions = QueryOptions>(
  wish: SandboxedQuery<O>,
): AsyncGenerator<M, void> {
  const sdk = wish.sdk ?? (await loadAgentSdk());
  const { sandbox = {} } = wish;
  const options: QueryOptions = wish.options ?? {};
  const dir = sandbox.dir === undefined ? (options.cwd ?? null) : sandbox.dir;
  const runner = await openRunner({ ...sandbox, dir });
  try {
    const all = await sandboxedOptions(runner, options, sandbox, sdk);
    yield* sdk.query({ prompt: wish.prompt, options: all }) as AsyncIterable<M>;
  } finally {
    await runner.close();
  }
}

/** Options for `query` with the sandbox in them, for whoever calls it on their own and closes the runner. */
export async function sandboxedOptions<O extends QueryOptions>(
  runner: SandboxRunner,
  options: O,
  sandbox: SandboxOptions = {},
  sdk?: AgentSdk,
): Promise<O> {
  const { policy = {} } = sandbox;
  const own = hooksFor(runner, sandbox);
  const given = (options.hooks ?? {}) as Partial<Record<string, HookMatcher[]>>;
  return {
    ...options,
    mcpServers: { ...options.mcpServers, [SERVER_NAME]: await sandboxServer(runner, sdk) },
    canUseTool: options.canUseTool ?? canUseToolBy(policy),
    hooks: {
      ...given,
      PreToolUse: [...own.PreToolUse, ...(given.PreToolUse ?? [])],
      PostToolUse: [...own.PostToolUse, ...(given.PostToolUse ?? [])],
      PostToolUseFailure: [...own.PostToolUseFailure, ...(given.PostToolUseFailure ?? [])],
    },
  };
}
