/** Code mode: what the wall adds to a call, how soon a program runs, and whole tasks beside direct calls. */
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { compare, interleaved, quantile } from "../measure.mjs";
import { timed, withServer } from "./http.mjs";
import { ended, initialize, McpClient } from "./mcp.mjs";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const scripted = [process.execPath, join(root, "test/support/tool-servers/scripted.mjs"), "usual"];
const host = { AGENTKERNEL_IMAGE: "host", AGENTKERNEL_PULL: "never" };
const CALLS = 50;

/** Times each of its calls itself, where they are made. */
const program = `import * as demo from "tools/demo";
const times = [];
for (let n = 0; n < ${CALLS + 10}; n++) {
  const startedAt = performance.now();
  await demo.echo({ text: "x" });
  times.push(performance.now() - startedAt);
}
console.log(JSON.stringify(times.slice(10)));`;

export const codeCall = {
  name: "code-call",
  promise: "what a tool call from inside a sandbox adds to calling the MCP server directly, at the median",
  limit: { p50Ms: 1 },
  run: (context, quick) =>
    withCodeMode(context, async (run) => {
      const [command, ...args] = scripted;
      const server = new McpClient(spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] }));
      await server.ask(initialize);
      server.tell({ jsonrpc: "2.0", method: "notifications/initialized" });
      const params = { name: "echo", arguments: { text: "x" } };
      const [inside, direct] = [[], []];
      const samples = {
        inside: async () => {
          const { structuredContent } = await run(program);
          inside.push(...JSON.parse(structuredContent.stdout));
        },
        direct: async () => {
          for (let n = 0; n < CALLS; n++) {
            const call = { jsonrpc: "2.0", id: n + 1, method: "tools/call", params };
            direct.push((await timed(() => server.ask(call))).wallMs);
          }
        },
      };
      try {
        await interleaved(samples, { rounds: quick ? 5 : 20, warmUps: 0, settleMs: 200 });
      } finally {
        await server.close();
      }
      const at = (values) => ({ p50Ms: quantile(values, 0.5), p95Ms: quantile(values, 0.95) });
      const [ours, theirs] = [at(inside), at(direct)];
      return {
        subject: { p50Ms: ours.p50Ms - theirs.p50Ms, p95Ms: ours.p95Ms - theirs.p95Ms },
        reference: theirs,
        // What is left of it where nothing else is at work.
        information: { ratio: ours.p50Ms / theirs.p50Ms, fastestMs: quantile(inside, 0.05) - quantile(direct, 0.05) },
      };
    }),
};

export const codeStart = {
  name: "code-start",
  promise: "`code_run` of an empty program through a daemon, against `node -e 0`",
  limit: { ratio: 1.5 },
  run: (context, quick) =>
    withCodeMode(context, async (run) => {
      const { code, node } = await interleaved(
        {
          code: () => timed(() => run("0")),
          node: () => timed(() => ended(spawn(process.execPath, ["-e", "0"], { stdio: "ignore" }))),
        },
        // Between two programs a model has to read and write; a sandbox is made ready meanwhile.
        { rounds: quick ? 10 : 50, warmUps: 3, settleMs: 200 },
      );
      return compare(code, node);
    }),
};

/** In versions that do not move, as the test of these tasks has them. */
const PACKAGES = [
  "@modelcontextprotocol/server-filesystem@2026.8.31",
  "@modelcontextprotocol/server-memory@2026.8.31",
  "gpt-tokenizer@4.0.0",
];

export const codeTasks = {
  name: "code-tasks",
  promise:
    "wall time of three tasks with code mode, against direct calls, on the worst; the model's part is calculated",
  limit: { ratio: 1 },
  run: ({ cli, folder }, quick) => {
    const servers = installedServers();
    const state = { XDG_RUNTIME_DIR: join(folder, "tasks-runtime"), XDG_STATE_HOME: join(folder, "tasks-state") };
    mkdirSync(state.XDG_RUNTIME_DIR, { recursive: true, mode: 0o700 });
    const compiler = join(root, "node_modules/@typescript", `typescript-${process.platform}-${process.arch}`, "lib");
    const program = { AGENTKERNEL_PROGRAM: cli, AGENTKERNEL_DAEMON: "off", AGENTKERNEL_TYPESCRIPT: compiler };
    const env = { ...process.env, ...host, ...state, ...program };
    const words = [join(root, "examples/code-mode/measure.mjs"), servers, "--json"];
    const taken = Array.from({ length: quick ? 1 : 3 }, () =>
      JSON.parse(execFileSync(process.execPath, words, { env, encoding: "utf8" })),
    );
    const [{ model, rows: names }] = taken;
    const rows = names.map(({ task }, index) => {
      const median = (way, field) =>
        quantile(
          taken.map(({ rows: all }) => all[index][way][field]),
          0.5,
        );
      const [codeMs, directMs] = [median("code", "wallMs"), median("direct", "wallMs")];
      const tools = { codeToolsMs: median("code", "toolsMs"), directToolsMs: median("direct", "toolsMs") };
      return { task, ratio: codeMs / directMs, codeMs, directMs, ...tools };
    });
    const worst = rows.reduce((a, b) => (b.ratio > a.ratio ? b : a));
    return {
      ratio: worst.ratio,
      subject: { p50Ms: worst.codeMs, p95Ms: worst.codeMs },
      reference: { p50Ms: worst.directMs, p95Ms: worst.directMs },
      information: { ...model, ...Object.fromEntries(rows.flatMap(ofTask)) },
    };
  },
};

function ofTask({ task, ratio, codeToolsMs, directToolsMs }) {
  return [
    [task, ratio],
    [`${task}: tools with code mode, ms`, codeToolsMs],
    [`${task}: tools with direct calls, ms`, directToolsMs],
  ];
}

function installedServers() {
  const folder = join(root, ".build", "tool-servers-1");
  if (existsSync(folder)) return folder;
  const staging = `${folder}.${process.pid}`;
  mkdirSync(staging, { recursive: true });
  const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  execFileSync("npm", ["install", ...quiet, "--prefix", staging, ...PACKAGES], { cwd: staging, stdio: "ignore" });
  renameSync(staging, folder);
  return folder;
}

/** A connection with code mode through a daemon; what is passed runs a program in JavaScript. */
function withCodeMode(context, work) {
  return withServer(context, async (_, daemonEnv) => {
    const { cli, emptyProject } = context;
    const words = ["mcp", "server", "--mcp-server", `demo=${scripted.join(" ")}`, "--allow-tool", "demo/*"];
    const env = { ...daemonEnv, ...host };
    const client = new McpClient(spawn(cli, words, { cwd: emptyProject, env, stdio: ["pipe", "pipe", "inherit"] }));
    let id = 0;
    try {
      await client.ask(initialize);
      client.tell({ jsonrpc: "2.0", method: "notifications/initialized" });
      return await work((code) => {
        const params = { name: "code_run", arguments: { code, language: "javascript" } };
        return client.ask({ jsonrpc: "2.0", id: ++id, method: "tools/call", params });
      });
    } finally {
      await client.close();
    }
  });
}
