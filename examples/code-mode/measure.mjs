// Does the three tasks with direct tool calls and with code mode, and counts what went through the model.
//
//   node examples/code-mode/measure.mjs FOLDER [--json]
//
// FOLDER is one where `npm install @modelcontextprotocol/server-filesystem @modelcontextprotocol/server-memory
// gpt-tokenizer` was run. The model is a script that does what a good model would; a transcript is everything that it
// would read and write, once: the tools that it is offered, the question, each call and each result, and the answer.
// Tokens are those of o200k_base. Both ways are held to the same checker.
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { tasks } from "./tasks.mjs";

const [folder, ...options] = process.argv.slice(2);
if (folder === undefined) {
  console.error("usage: node examples/code-mode/measure.mjs FOLDER [--json]");
  process.exit(2);
}
const require = createRequire(join(resolve(folder), "package.json"));
const { encode } = require("gpt-tokenizer/encoding/o200k_base");
const agentkernel = process.env.AGENTKERNEL_PROGRAM ?? fileURLToPath(new URL("../../bin/agentkernel", import.meta.url));
const entry = (name) => join(resolve(folder), "node_modules/@modelcontextprotocol", name, "dist/index.js");

async function connect(command, args, env = {}) {
  const client = new Client({ name: "measure", version: "1" });
  await client.connect(new StdioClientTransport({ command, args, env: { ...process.env, ...env }, stderr: "ignore" }));
  return client;
}

/** What a model is shown of a tool. */
const shown = ({ name, description, inputSchema }) => ({ name, description, inputSchema });

class Transcript {
  parts = [];
  add(part) {
    this.parts.push(typeof part === "string" ? part : JSON.stringify(part));
  }
  get tokens() {
    return this.parts.reduce((sum, part) => sum + encode(part).length, 0);
  }
}

async function direct(task, work) {
  const clients = {
    files: await connect(process.execPath, [entry("server-filesystem"), work]),
    memory: await connect(process.execPath, [entry("server-memory")], { MEMORY_FILE_PATH: join(work, "memory.jsonl") }),
  };
  const transcript = new Transcript();
  for (const client of Object.values(clients)) transcript.add((await client.listTools()).tools.map(shown));
  transcript.add(task.prompt);
  const startedAt = performance.now();
  const call = async (server, name, args) => {
    transcript.add({ name, arguments: args });
    const result = await clients[server].callTool({ name, arguments: args });
    transcript.add(result.content);
    return result;
  };
  const answer = await task.direct(call, work);
  const ms = performance.now() - startedAt;
  transcript.add(answer);
  await Promise.all(Object.values(clients).map((client) => client.close()));
  return { tokens: transcript.tokens, ms, isRight: task.isRight(answer) };
}

async function codeMode(task, work) {
  const servers = [
    ...["--mcp-server", `files=${process.execPath} ${entry("server-filesystem")} ${work}`],
    ...["--mcp-server", `memory=${process.execPath} ${entry("server-memory")}`],
  ];
  const words = ["mcp", "server", ...servers, "--allow-tool", "*"];
  const client = await connect(agentkernel, words, { MEMORY_FILE_PATH: join(work, "memory.jsonl") });
  const transcript = new Transcript();
  const { tools } = await client.listTools();
  transcript.add(tools.filter(({ name }) => name.startsWith("code_")).map(shown));
  transcript.add(task.prompt);
  // As with direct calls, servers are connected before the clock starts.
  await client.callTool({ name: "code_search", arguments: {} });
  const startedAt = performance.now();
  const call = async (name, args) => {
    transcript.add({ name, arguments: args });
    const result = await client.callTool({ name, arguments: args });
    transcript.add(result.content);
    if (result.isError) throw new Error(result.content[0].text);
    return result;
  };
  await call("code_search", { query: task.search });
  await call("code_types", { tools: task.types });
  const { structuredContent } = await call("code_run", { code: task.code(work) });
  const ms = performance.now() - startedAt;
  const answer = structuredContent.stdout;
  transcript.add(answer);
  const others = new Transcript();
  others.add(tools.filter(({ name }) => !name.startsWith("code_")).map(shown));
  await client.close();
  return { tokens: transcript.tokens, otherTools: others.tokens, ms, isRight: task.isRight(answer) };
}

const rows = [];
for (const task of tasks) {
  const work = mkdtempSync(join(tmpdir(), "code-mode-"));
  try {
    task.prepare(work);
    rows.push({ task: task.name, direct: await direct(task, work), code: await codeMode(task, work) });
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
if (options.includes("--json")) console.log(JSON.stringify(rows));
else {
  for (const { task, direct: a, code: b } of rows) {
    const fewer = Math.round((1 - b.tokens / a.tokens) * 1000) / 10;
    console.log(
      `${task}: ${a.tokens} tokens in ${Math.round(a.ms)} ms with direct calls, ${b.tokens} in ${Math.round(b.ms)} ms with code (${fewer} % fewer; the sandbox tools beside it are ${b.otherTools} more); right: ${a.isRight}, ${b.isRight}`,
    );
  }
}
process.exitCode = rows.every(({ direct: a, code: b }) => a.isRight && b.isRight) ? 0 : 1;
