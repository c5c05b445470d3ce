/** What code could try from its sandbox against the tools outside and against other runs. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { call, startMcp } from "../../support/mcp-client.js";
import { repository } from "../../support/repository.js";
import { runCli } from "../../support/run-cli.js";

const SECRET = "s3cr3t-of-a-server-0123456789";
/** The user's own, which servers inherit. */
const OWN_SECRET = "ghp-of-the-user-9876543210";
const [actor] = actors;
if (actor === undefined) throw new Error("nobody runs tests here");
const variables = { XDG_STATE_HOME: actor.folder("state"), AGENTKERNEL_DAEMON: "off", GITHUB_TOKEN: OWN_SECRET };

/** A raw line, as a program can write it beside our modules. */
const raw = (lines: string) => `import { Socket } from "node:net";
const socket = new Socket({ fd: Number(process.env.AGENTKERNEL_CALLS_FD), readable: true, writable: true });
socket.on("data", (bytes) => process.stdout.write(bytes));
socket.on("error", () => {});
socket.on("close", () => { console.log("closed"); process.exit(0); });
${lines}`;

describe("A6 the credentials and connections of MCP servers, from code in a sandbox", () => {
  let client: Client;
  beforeAll(async () => {
    const cwd = actor.folder();
    const servers = {
      demo: {
        command: process.execPath,
        args: [join(repository, "test/support/tool-servers/scripted.mjs"), "usual"],
        env: { SECRET_TOKEN: SECRET },
      },
      // One that leads back to us.
      again: {
        command: process.execPath,
        args: [
          join(actor.dist, "agentkernel.js"),
          "mcp",
          "server",
          "--mcp-config",
          join(cwd, "servers.json"),
          "--allow-tool",
          "*",
        ],
      },
    };
    writeFileSync(join(cwd, "servers.json"), JSON.stringify({ mcpServers: servers }));
    const policy = {
      allow: ["demo/*"],
      deny: ["demo/delete_all"],
      limits: { calls: 20, argument_bytes: 4096 },
      arguments: [{ tool: "demo/large", argument: "bytes", allow: ["1", "2"] }],
    };
    writeFileSync(join(cwd, "tools.json"), JSON.stringify(policy));
    const words = ["mcp", "server", "--mcp-config", "servers.json", "--tool-policy", "tools.json"];
    ({ client } = await startMcp(actor, { cwd, words, env: variables }));
  });
  afterAll(() => client.close());
  const run = async (code: string) =>
    (await call(client, "code_run", { code, language: "javascript", timeout_ms: 60_000 })).data;
  const demo = (code: string) => run(`import * as demo from "tools/demo";\n${code}`);

  it("are out of reach, while the server itself has them", async () => {
    expect((await demo("console.log(await demo.whoami({}))")).stdout).toBe(`${SECRET.length} letters\n`);
    const { stdout, stderr } = await run(`import { execSync } from "node:child_process";
console.log(execSync("env; cat /proc/*/environ 2>/dev/null | tr '\\\\0' '\\\\n'; grep -rl ${SECRET.slice(0, 6)}''${SECRET.slice(6)} /tmp/code /proc/self/fd /etc 2>/dev/null || true; ls /proc/*/fd 2>/dev/null; cat /proc/*/cmdline | tr '\\\\0' ' '").toString());`);
    expect(stdout).toContain("AGENTKERNEL_CALLS_FD");
    expect(stdout + stderr).not.toContain(SECRET);
    expect(stdout + stderr).not.toContain(OWN_SECRET);
    expect(stdout).not.toContain("scripted.mjs");
  });

  it("do not come back in results either, whatever a server shows of itself", async () => {
    const { stdout } = await demo(
      "console.log(JSON.stringify(await demo.environment({}))); await demo.fail({}).catch(({ message }) => console.log(message));",
    );
    expect(stdout).toContain('"SECRET_TOKEN":"[redacted]"');
    expect(stdout).toContain("no, not with [redacted]");
    expect(stdout).not.toContain(SECRET);
    expect(stdout).not.toContain(OWN_SECRET);
  });

  it("are not in what a failing server blurts out into errors of ours, nor in the log", async () => {
    await demo("await demo.echo({ text: 'SECRET' }); await demo.crash({}).catch(() => {});");
    const { stdout } = await runCli(actor, ["audit", "list", "--json"], { env: variables });
    expect(stdout).toContain('"tool":"crash"');
    expect(stdout).not.toContain(SECRET);
  });

  it("do not open what no rule opens: tools, arguments, servers, names that mean something to JavaScript", async () => {
    const tries = `import { call } from "tools/runtime";
for (const [server, tool, args] of [["demo", "delete_all"], ["again", "code_run", { code: "1" }], ["demo", "large", { bytes: 3 }], ["demo", "large"], ["nobody", "x"], ["__proto__", "toString"], ["demo/../demo", "echo"], ["", ""]]) {
  await call(server, tool, args).then(() => console.log("CALLED"), ({ code }) => console.log(code));
}`;
    expect((await run(tries)).stdout).toBe("denied\n".repeat(8));
  });

  it("cannot be flooded: beyond the limit nothing is called, and what is too long ends the calls", async () => {
    const flood = `const codes = await Promise.all(Array.from({ length: 500 }, () => demo.echo({ text: "x" }).then(() => "ok", ({ code }) => code)));
console.log(codes.filter((code) => code === "ok").length, codes.filter((code) => code === "limit").length);`;
    expect((await demo(flood)).stdout).toBe("20 480\n");
    const long = raw(
      'socket.write(JSON.stringify({ id: 1, server: "demo", tool: "echo", args: { text: "x".repeat(100_000) } }) + "\\n");',
    );
    expect((await run(long)).stdout).toMatch(/"id":0.*no more calls are taken.*\nclosed\n$/);
    const endless = raw(
      'const piece = Buffer.alloc(1 << 20, "x"); const write = () => socket.write(piece, write); write(); setTimeout(() => process.exit(0), 500);',
    );
    expect((await run(endless)).exit_code).toBe(0);
    expect((await demo("console.log(await demo.echo({ text: 'still there' }))")).stdout).toBe("still there\n");
  });

  it("cannot be reached for another run: answers come to whoever asked, by the stream and not by a number", async () => {
    const victim = demo(
      "const all = []; for (let n = 0; n < 15; n++) all.push(await demo.echo({ text: 'mine ' + n })); console.log(all.every((one, n) => one === 'mine ' + n));",
    );
    const thief = run(
      raw(`for (const id of [1, 2, 3, 1, 1]) socket.write(JSON.stringify({ id, run: "other", sandbox: "run-000000000000", server: "demo", tool: "echo", args: { text: "forged" } }) + "\\n");
socket.end();`),
    );
    const [mine, stolen] = await Promise.all([victim, thief]);
    expect(mine.stdout).toBe("true\n");
    expect(stolen.stdout).not.toContain("mine");
    expect(stolen.stdout.match(/forged/g)).toHaveLength(5);
  });

  it("do not recurse: an agentkernel among the servers offers no code mode, and no network leads to one", async () => {
    const { data } = await call(client, "code_search", { query: "code run program" });
    const offered = data.tools
      .map(({ tool }: { tool: string }) => tool)
      .filter((tool: string) => tool.startsWith("again/"));
    expect(offered).not.toContain("again/code_run");
    expect((await call(client, "code_search")).data.servers).toContain("again: 14 tools");
    const out = await run(
      "await fetch('http://127.0.0.1:8080/mcp').then(() => console.log('reached'), () => console.log('kept out'))",
    );
    expect(out.stdout).toBe("kept out\n");
  });
});
