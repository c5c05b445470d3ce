/** Code mode with the official client, real servers on both transports, and a daemon. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { ElicitRequestSchema, type ElicitResult } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { callers, usesDaemon } from "../support/daemon.js";
import { call, startMcp } from "../support/mcp-client.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { repository } from "../support/repository.js";
import { runCli } from "../support/run-cli.js";
import { type HttpServers, serveOverHttp } from "../support/tool-servers/over-http.js";

const compiler = join(repository, "node_modules/@typescript", `typescript-${process.platform}-${process.arch}`, "lib");
const scripted = {
  command: process.execPath,
  args: [join(repository, "test/support/tool-servers/scripted.mjs"), "usual"],
};
const [caller] = callers.filter(({ title, name }) => title.includes("daemon") && name === callers[0]?.name);
if (caller === undefined) throw new Error("there is no caller with a daemon");

const count = (page: string) => `import * as demo from "tools/demo";
let bugs = 0;
for (let page${page} = 1; page !== null; ) {
  const { issues, next } = await demo.listIssues({ page, state: "open" });
  bugs += issues.filter(({ labels }) => labels.includes("bug")).length;
  page = next;
}
console.log("bugs:", bugs);`;

/** Whoever sits at the client; without answers nobody does. */
interface User {
  readonly answers?: ElicitResult[];
  readonly questions?: string[];
}

describe(`code mode, ${caller.title}`, () => {
  usesDaemon(caller);
  leavesNothingBehind();
  let many: HttpServers;
  beforeAll(async () => {
    many = await serveOverHttp(
      Array.from({ length: 20 }, (_, index) => `service${index}`),
      25,
    );
  });
  afterAll(() => many.close());
  let client: Client;
  afterEach(() => client.close());
  const start = async (servers: object, ...options: string[]) => await startAs({}, servers, ...options);
  const startAs = async (user: User, servers: object, ...options: string[]) => {
    const cwd = caller.folder();
    writeFileSync(join(cwd, "servers.json"), JSON.stringify({ mcpServers: servers }));
    const words = ["mcp", "server", "--mcp-config", "servers.json", ...options];
    const capabilities = user.answers === undefined ? {} : { elicitation: {} };
    const env = { AGENTKERNEL_TYPESCRIPT: compiler };
    ({ client } = await startMcp(caller, { cwd, words, env, capabilities }, (one) => {
      if (user.answers === undefined) return;
      one.setRequestHandler(ElicitRequestSchema, ({ params }) => {
        user.questions?.push(params.message);
        return user.answers?.shift() ?? { action: "cancel" };
      });
    }));
  };
  /** The daemon writes a record after the call's answer has left, so the last one may still be on its way. */
  const toolRecords = (sandbox: string, count: number) =>
    vi.waitUntil(
      async () => {
        const { stdout } = await runCli(caller, ["audit", "list", "--json"]);
        const all: readonly Record<string, unknown>[] = JSON.parse(stdout).data;
        const records = all.filter((record) => record.type === "tool" && record.sandbox === sandbox);
        return records.length >= count && records;
      },
      { timeout: 20_000, interval: 200 },
    );
  const run = (code: string, more: object = {}) => call(client, "code_run", { code, ...more });

  it("finds tools, shows their types, and runs programs of three languages against them", async () => {
    await start({ demo: scripted }, "--allow-tool", "demo/*");
    expect((await call(client, "code_search", { query: "list the issues" })).data).toMatchObject({
      tools: [{ tool: "demo/list_issues", module: "tools/demo", callable: true }],
    });
    const found = await call(client, "code_search", { query: "list the issues" });
    expect(found.text).toContain("export function listIssues(");
    const { text } = await call(client, "code_types", { tools: ["demo/list_issues"] });
    expect(text).toContain('import * as demo from "tools/demo"');
    expect(text).toContain('state?: "open" | "closed" | "all";');
    expect(text).toContain("next: number | null;");
    expect(text).not.toContain("delete");
    expect((await run(count(": number | null"))).data).toMatchObject({ exit_code: 0, stdout: "bugs: 100\n", calls: 6 });
    expect((await run(count(""), { language: "javascript" })).data).toMatchObject({ stdout: "bugs: 100\n" });
    const python = "from tools import demo\nprint(len(demo.list_issues(page=8)['issues']), demo.echo(text='hä'))";
    expect((await run(python, { language: "python" })).data).toMatchObject({ stdout: "50 hä\n", calls: 2 });
    // None of it is in the sandbox of the next one, and the project is there only where it is asked for.
    const look = "import { readdirSync } from 'node:fs'; console.log(readdirSync('/tmp/code').join(), process.cwd())";
    expect((await run(look, { language: "javascript" })).data.stdout).toBe(
      "globals.d.ts,js,main.mjs,main.mts,node_modules /tmp/code\n",
    );
    expect((await run(look, { language: "javascript", project: true })).data.stdout).toContain("/workspace");
  });

  it("has a fresh sandbox waiting for each next program", async () => {
    await start({ demo: scripted }, "--allow-tool", "demo/*");
    await call(client, "code_search");
    // Node was started before the program came, which it was told of later.
    const code = `import { existsSync, readFileSync, writeFileSync } from "node:fs";
const how = readFileSync("/proc/self/cmdline", "utf8").includes("tools/start.js") ? "waited" : "started";
console.log(how, existsSync("/tmp/code/left"), process.argv[1]?.replace("/tmp/code/", ""));
writeFileSync("/tmp/code/left", "");`;
    const runs = [await run(code, { language: "javascript" }), await run(code), await run(code)];
    expect(runs.map(({ data }) => data.stdout)).toEqual([
      "waited false main.mjs\n",
      "waited false js/main.mjs\n",
      "waited false js/main.mjs\n",
    ]);
    expect(new Set(runs.map(({ data }) => data.sandbox)).size).toBe(3);
    const endless = "await new Promise((done) => setTimeout(done, 60_000));";
    const late = await run(endless, { language: "javascript", timeout_ms: 500 });
    expect(late.data.timed_out).toBe(true);
  });

  it("tells of wrong types before anything runs, and of what a program throws", async () => {
    await start({ demo: scripted }, "--allow-tool", "demo/*");
    const code = 'import * as demo from "tools/demo";\nconsole.log("ran");\nawait demo.echo({ txt: "a" });\n';
    const wrong = await run(code);
    expect(wrong.isError).toBe(true);
    expect(wrong.text).toContain("nothing of it was run");
    expect(wrong.text).toMatch(/line 3, column \d+: error TS\d+: .*'txt' does not exist/);
    expect(wrong.text).toContain('await demo.echo({ txt: "a" });');
    const failing = 'import * as demo from "tools/demo";\nawait demo.fail({});';
    const thrown = await run(failing, { language: "javascript" });
    expect(thrown.data.exit_code).toBe(1);
    expect(thrown.data.stderr).toContain("ToolError: no, not with");
  });

  it("keeps what is too long for later code, and records every call", async () => {
    const policy = join(caller.folder(), "tools.json");
    writeFileSync(policy, JSON.stringify({ allow: ["demo/l*"], untrusted: ["demo/large"] }));
    await start({ demo: scripted }, "--tool-policy", policy);
    const code =
      'import * as demo from "tools/demo";\nconsole.log(await demo.large({ bytes: 100_000 }));\ntry { await demo.whoami({}); } catch (error) { console.error(String(error)); }';
    const { data, text } = await run(code);
    expect(data).toMatchObject({ untrusted: ["demo/large"], stderr: expect.stringContaining("no rule allows it") });
    expect(text).toMatch(/^\[The program read what demo\/large gave, which is not trusted/);
    const [path = ""] = /\/tmp\/code\/outputs\/\w+\.txt/.exec(text) ?? [];
    const again = `import { readFileSync } from "node:fs"; console.log(readFileSync("${path}", "utf8").length)`;
    expect((await run(again, { language: "javascript" })).data.stdout).toBe(`${100_001 + data.stderr.length}\n`);
    expect(await toolRecords(data.sandbox, 2)).toMatchObject([
      { server: "demo", tool: "large", verdict: "allowed", outcome: "result", bytesIn: 100_002, untrusted: true },
      { server: "demo", tool: "whoami", verdict: "denied", rule: "no rule allows it", outcome: null },
    ]);
  });

  it("puts calls to the user where the policy says so, and has each decision on record", async () => {
    const policy = join(caller.folder(), "tools.json");
    writeFileSync(policy, JSON.stringify({ allow: ["demo/*"], ask: ["demo/delete_all"] }));
    const secret = "s3cr3t-of-the-server-1";
    const servers = { demo: { ...scripted, env: { SECRET_TOKEN: secret } } };
    const code = `import * as demo from "tools/demo";
for (let n = 0; n < 3; n++) await demo.deleteAll({ n }).then(console.log, ({ code }) => console.log(code));
await demo.environment({});`;
    const questions: string[] = [];
    const decided = (decision: string): ElicitResult => ({ action: "accept", content: { decision } });
    const answers: ElicitResult[] = [decided("once"), decided("never"), { action: "decline" }];
    await startAs({ answers, questions }, servers, "--tool-policy", policy);
    const { data } = await run(code);
    expect(data).toMatchObject({ stdout: "deleted\ndenied\ndenied\n", calls: 4 });
    expect(questions).toHaveLength(3);
    expect(questions[0]).toContain('demo/delete_all with {"n":0}');
    const rule = (words: string) => `ask demo/delete_all: the user ${words}`;
    const records = await toolRecords(data.sandbox, 4);
    expect(records).toMatchObject([
      { tool: "delete_all", verdict: "allowed", rule: rule("agreed"), outcome: "result", bytesIn: 9 },
      { tool: "delete_all", verdict: "denied", rule: rule("refused"), outcome: null, bytesIn: 0 },
      { tool: "delete_all", verdict: "denied", rule: rule("refused"), bytesOut: expect.any(Number) },
      { tool: "environment", verdict: "allowed", outcome: "result" },
    ]);
    expect(JSON.stringify(records)).not.toContain(secret);
    await client.close();
    // Where nobody sits at the client, nobody agrees.
    await start(servers, "--tool-policy", policy);
    expect((await run(code)).data.stdout).toBe("denied\n".repeat(3));
  });

  it("knows when a server changes its tools: what is gone is an error before anything runs", async () => {
    await start({ demo: { ...scripted, args: [scripted.args[0], "changing"] } }, "--allow-tool", "demo/*");
    const program = (name: string) => `import * as demo from "tools/demo";\nconsole.log(await demo.${name}({}));`;
    expect((await run(program("change"))).data.stdout).toBe("done\n");
    expect((await run(program("changed"))).data.stdout).toBe("new\n");
    expect((await run(program("change"))).text).toMatch(/nothing of it was run:\nline 2.*'change' does not exist/);
    const late = await run(program("change"), { language: "javascript" });
    expect(late.data.exit_code).toBe(1);
  });

  it("has 500 tools of 20 servers over HTTP, and shows a model a few lines of them", async () => {
    await start(many.entries, "--allow-tool", "*", "--tools", "code");
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["code_search", "code_types", "code_run"]);
    expect(client.getInstructions()).not.toContain("sandbox_");
    const listed = await call(client, "code_search");
    expect(listed.data.servers).toHaveLength(20);
    const found = await call(client, "code_search", { query: "service7 action 3" });
    expect(found.data.tools[0]).toMatchObject({ tool: "service7/service7_action_3" });
    expect(found.text.length).toBeLessThan(3000);
    const code = `import * as a from "tools/service7"; import * as b from "tools/service19";
console.log(await a.service7Action3({ id: "x" }), await b.service19Action24({ id: "y" }));`;
    expect((await run(code)).data.stdout).toBe("service7_action_3 x service19_action_24 y\n");
    expect(many.unidentified()).toBe(0);
  });
});
