import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { compare, interleaved, summary } from "../measure.mjs";
import { timed, withServer } from "./http.mjs";

export const initialize = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "bench", version: "1" } },
};

export const mcpInitialize = {
  name: "mcp-initialize",
  promise: "from starting `mcp server` to its answer to `initialize`, without a daemon, against `node -e 0`",
  limit: { ratio: 1.5 },
  run: (context, quick) =>
    withServer(context, async (_, daemonEnv) => {
      const { cli, emptyProject } = context;
      const alone = { ...process.env, AGENTKERNEL_DAEMON: "off" };
      const untilGreeted = async (env) => {
        const startedAt = performance.now();
        const client = served(cli, emptyProject, env);
        await client.ask(initialize);
        const wallMs = performance.now() - startedAt;
        await client.close();
        return { wallMs, cpuMs: 0 };
      };
      const samples = await interleaved(
        {
          alone: () => untilGreeted(alone),
          daemon: () => untilGreeted(daemonEnv),
          node: () => timed(() => ended(spawn(process.execPath, ["-e", "0"], { stdio: "ignore" }))),
        },
        { rounds: quick ? 10 : 50, warmUps: 3, settleMs: 20 },
      );
      const information = { throughDaemon: compare(samples.daemon, samples.node).ratio };
      return { ...compare(samples.alone, samples.node), information };
    }),
};

export const mcpRun = {
  name: "mcp-run",
  promise: "what `sandbox_run` of `true` over stdio takes more than the same over HTTP, at the median",
  limit: { p50Ms: 3 },
  run: (context, quick) =>
    withServer(context, async (ask, env) => {
      const { cli, emptyProject } = context;
      const client = served(cli, emptyProject, env);
      try {
        await client.ask(initialize);
        const wish = { command: ["true"], network: false, image: "host" };
        const params = { name: "sandbox_run", arguments: wish };
        const { mcp, http } = await interleaved(
          {
            mcp: () => timed(() => client.ask({ jsonrpc: "2.0", id: 1, method: "tools/call", params })),
            http: () => timed(() => ask("POST", "/run", { ...wish, dir: emptyProject })),
          },
          { rounds: quick ? 20 : 200, warmUps: 10, settleMs: 10 },
        );
        const [ours, theirs] = [summary(mcp), summary(http)];
        return {
          subject: { p50Ms: ours.p50Ms - theirs.p50Ms, p95Ms: ours.p95Ms - theirs.p95Ms },
          reference: { p50Ms: theirs.p50Ms, p95Ms: theirs.p95Ms },
          information: { ratio: ours.p50Ms / theirs.p50Ms },
        };
      } finally {
        await client.close();
      }
    }),
};

/** One request at a time, as lines. */
export class McpClient {
  #child;
  #lines;
  #ended;

  constructor(child) {
    this.#child = child;
    this.#ended = ended(child);
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  }

  async ask(message) {
    this.tell(message);
    const { value, done } = await this.#lines.next();
    if (done) throw new Error("the server ended");
    const { result, error } = JSON.parse(value);
    if (error !== undefined || result.isError) throw new Error(value);
    return result;
  }

  /** What nobody answers. */
  tell(message) {
    this.#child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  async close() {
    this.#child.stdin.end();
    await this.#ended;
  }
}

function served(cli, cwd, env) {
  return new McpClient(spawn(cli, ["mcp", "server"], { cwd, env, stdio: ["pipe", "pipe", "inherit"] }));
}

export function ended(child) {
  return new Promise((resolve) => child.once("close", resolve));
}
