// Does the three tasks with direct tool calls and with code mode, and counts what goes through the model and how long it
// takes.
//
//   node examples/code-mode/measure.mjs FOLDER [--json] [--transcripts FOLDER]
//        [--first-token-ms 500] [--read-per-second 10000] [--written-per-second 80]
//
// FOLDER is one where `npm install @modelcontextprotocol/server-filesystem @modelcontextprotocol/server-memory
// gpt-tokenizer` was run. The model is a script that does what a good model would: calls that do not need each other are
// made at once, and it counts in its head without writing anything down. Tokens are those of o200k_base. Both ways are
// held to the same checker. The time of the tools is measured; that of the model is calculated from the tokens of its
// turns and from how fast it is said to be.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { tasks } from "./tasks.mjs";
import { breakEvenReading, modelMs, shown, Transcript, usualModel } from "./transcript.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: "boolean", default: false },
    transcripts: { type: "string" },
    "first-token-ms": { type: "string", default: String(usualModel.firstTokenMs) },
    "read-per-second": { type: "string", default: String(usualModel.readPerSecond) },
    "written-per-second": { type: "string", default: String(usualModel.writtenPerSecond) },
  },
});
const [folder] = positionals;
if (folder === undefined) {
  console.error("usage: node examples/code-mode/measure.mjs FOLDER [--json]");
  process.exit(2);
}
const model = {
  firstTokenMs: Number(values["first-token-ms"]),
  readPerSecond: Number(values["read-per-second"]),
  writtenPerSecond: Number(values["written-per-second"]),
};
const require = createRequire(join(resolve(folder), "package.json"));
const { encode } = require("gpt-tokenizer/encoding/o200k_base");
const agentkernel = process.env.AGENTKERNEL_PROGRAM ?? fileURLToPath(new URL("../../bin/agentkernel", import.meta.url));
const entry = (name) => join(resolve(folder), "node_modules/@modelcontextprotocol", name, "dist/index.js");

async function connect(command, args, env = {}) {
  const client = new Client({ name: "measure", version: "1" });
  await client.connect(new StdioClientTransport({ command, args, env: { ...process.env, ...env }, stderr: "ignore" }));
  return client;
}

/** What a client tells a model of a server before the question. */
async function introduce(transcript, client) {
  transcript.reads(client.getInstructions() ?? "");
  transcript.reads((await client.listTools()).tools.map(shown));
}

/** Calls that are made at once are one turn of the model. */
function caller(transcript, clientOf) {
  return async (...calls) => {
    transcript.writes(...calls.map(([, name, args]) => ({ name, arguments: args })));
    const results = await Promise.all(
      calls.map(([server, name, args]) => clientOf(server).callTool({ name, arguments: args })),
    );
    for (const result of results) {
      transcript.reads(result.content);
      if (result.isError) throw new Error(result.content[0].text);
    }
    return results;
  };
}

async function direct(task, work) {
  const clients = {
    files: await connect(process.execPath, [entry("server-filesystem"), work]),
    memory: await connect(process.execPath, [entry("server-memory")], { MEMORY_FILE_PATH: join(work, "memory.jsonl") }),
  };
  const transcript = new Transcript(encode);
  for (const client of Object.values(clients)) await introduce(transcript, client);
  transcript.reads(task.prompt);
  const startedAt = performance.now();
  const answer = await task.direct(
    caller(transcript, (server) => clients[server]),
    work,
  );
  const toolsMs = performance.now() - startedAt;
  transcript.writes(answer);
  await Promise.all(Object.values(clients).map((client) => client.close()));
  return done(transcript, task, answer, toolsMs);
}

/** Of the words about tools alone, with code mode and beside the tools for sandboxes. */
async function introTokens(words) {
  const client = await connect(agentkernel, ["mcp", "server", "--mcp-server", "none=true", ...words]);
  const transcript = new Transcript(encode);
  await introduce(transcript, client);
  await client.close();
  return transcript.counts.tokens;
}

async function codeMode(task, work) {
  const servers = [
    ...["--mcp-server", `files=${process.execPath} ${entry("server-filesystem")} ${work}`],
    ...["--mcp-server", `memory=${process.execPath} ${entry("server-memory")}`],
  ];
  const env = { MEMORY_FILE_PATH: join(work, "memory.jsonl") };
  const client = await connect(agentkernel, ["mcp", "server", ...servers, "--allow-tool", "*", "--tools", "code"], env);
  const transcript = new Transcript(encode);
  await introduce(transcript, client);
  transcript.reads(task.prompt);
  const call = caller(transcript, () => client);
  // As with direct calls, servers are connected before the clock starts.
  await client.callTool({ name: "code_search", arguments: {} });
  const searchedAt = performance.now();
  await call(["", "code_search", { query: task.search }]);
  const searchMs = performance.now() - searchedAt;
  // While the model writes its program, which is not part of the tools' time, a sandbox is made ready for it.
  await pause(model.firstTokenMs);
  const startedAt = performance.now();
  const [{ structuredContent }] = await call(["", "code_run", { code: task.code(work) }]);
  const toolsMs = searchMs + performance.now() - startedAt;
  const answer = structuredContent.stdout;
  transcript.writes(answer);
  await client.close();
  return done(transcript, task, answer, toolsMs);
}

function done(transcript, task, answer, toolsMs) {
  const { counts, parts } = transcript;
  const wallMs = toolsMs + modelMs(counts, model);
  return { tokens: counts.tokens, counts, toolsMs, wallMs, isRight: task.isRight(answer), parts };
}

const rows = [];
const sandboxToolTokens = (await introTokens([])) - (await introTokens(["--tools", "code"]));
for (const task of tasks) {
  const work = mkdtempSync(join(tmpdir(), "code-mode-"));
  try {
    task.prepare(work);
    const [a, b] = [await direct(task, work), await codeMode(task, work)];
    rows.push({ task: task.name, direct: a, code: b, withSandboxTools: b.tokens + sandboxToolTokens });
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
if (values.transcripts !== undefined) {
  mkdirSync(values.transcripts, { recursive: true });
  for (const [index, row] of rows.entries()) {
    for (const way of ["direct", "code"]) {
      const file = join(values.transcripts, `${index + 1}-${way}.json`);
      writeFileSync(file, JSON.stringify(row[way].parts, null, 1));
    }
  }
}
if (values.json) {
  const plain = ({ parts: _, ...way }) => way;
  const list = rows.map((row) => ({
    ...row,
    direct: plain(row.direct),
    code: plain(row.code),
    fasterBelowReadPerSecond: breakEvenReading(row.direct, row.code, model),
  }));
  console.log(JSON.stringify({ model, rows: list }));
} else {
  const { firstTokenMs, readPerSecond, writtenPerSecond } = model;
  console.log(
    `the model, as assumed: ${firstTokenMs} ms to the first token of a turn, ${readPerSecond} tokens read and ${writtenPerSecond} written in a second`,
  );
  for (const { task, direct: a, code: b, withSandboxTools } of rows) {
    const fewer = (tokens) => `${Math.round((1 - tokens / a.tokens) * 1000) / 10} % fewer`;
    const way = ({ tokens, counts, toolsMs, wallMs }) =>
      `${tokens} tokens (${counts.written} of them written) in ${counts.turns} turns, ${Math.round(toolsMs)} ms of tools, ${(wallMs / 1000).toFixed(1)} s in all`;
    console.log(
      `${task}\n  direct calls: ${way(a)}; right: ${a.isRight}\n  code mode:    ${way(b)}; right: ${b.isRight}`,
    );
    console.log(`  ${fewer(b.tokens)} tokens; with the tools for sandboxes beside it ${fewer(withSandboxTools)}`);
    const limit = breakEvenReading(a, b, model);
    const until =
      limit === Number.POSITIVE_INFINITY
        ? "however fast the model reads"
        : `while the model reads fewer than ${Math.round(limit)} tokens in a second`;
    console.log(`  code mode is the faster one ${until}`);
  }
}
process.exitCode = rows.every(({ direct: a, code: b }) => a.isRight && b.isRight) ? 0 : 1;
