/** A whole agent in a sandbox: `run --compatibility-mode claude claude …`, with its vendor's API played by a scripted model. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { buildSync } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AgentName } from "../../src/agents/agent.js";
import { type Actor, actors, root } from "../support/actors.js";
import { agentCli } from "../support/agent-clis.js";
import type { Protocol, Seen, Step } from "../support/model-servers/index.js";
import { NetworkWorld, WORLD, whyNoWorld } from "../support/network-world.js";
import { makeProject } from "../support/project.js";
import { repository } from "../support/repository.js";
import { testFolder } from "../support/test-folder.js";

const INSTALL_TIMEOUT_MS = 180_000;
const KEY = "fake-key-0123456789abcdef0123456789";
const COMMAND = "uname -n; env; cat .env; echo made inside > made";

interface Case {
  readonly name: AgentName;
  readonly protocol: Protocol;
  readonly host: string;
  readonly variable: string;
  readonly step: Step;
  readonly words: readonly string[];
}

const cases: readonly Case[] = [
  {
    name: "claude",
    protocol: "anthropic",
    host: "api.anthropic.com",
    variable: "ANTHROPIC_API_KEY",
    step: { tool: "Bash", input: { command: COMMAND } },
    words: ["-p", "go", "--dangerously-skip-permissions"],
  },
  {
    name: "codex",
    protocol: "openai-responses",
    host: "api.openai.com",
    variable: "CODEX_API_KEY",
    step: { tool: "exec_command", input: { cmd: COMMAND } },
    words: ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "go"],
  },
  {
    name: "gemini",
    protocol: "gemini",
    host: "generativelanguage.googleapis.com",
    variable: "GEMINI_API_KEY",
    step: { tool: "run_shell_command", input: { command: COMMAND } },
    words: ["--approval-mode", "yolo", "-p", "go"],
  },
];

/** Programs lie in the checkout, which may be root's alone. */
function isServed({ uid }: Actor): boolean {
  if (uid === 0) return true;
  for (let at = repository; at !== dirname(at); at = dirname(at)) {
    if ((statSync(at).mode & 0o001) === 0) {
      console.warn(`${at} is closed to ordinary users: a whole agent inside is tried as root only`);
      return false;
    }
  }
  return true;
}

describe.skipIf(whyNoWorld() !== null)("a whole agent inside", () => {
  const server = join(testFolder(), "lone-server.mjs");
  if (root === undefined) return;
  const servers: Actor = root;
  let world: NetworkWorld;
  let programs: string;

  beforeAll(async () => {
    world = await NetworkWorld.start();
    programs = mkdtempSync(join(testFolder(), "inside-programs-"));
    chmodSync(programs, 0o755);
    const clis = await Promise.all(cases.map(async ({ name }) => ({ name, cli: await agentCli(name) })));
    for (const { name, cli } of clis) symlinkSync(cli.program, join(programs, name));
    const entry = join(repository, "test/support/model-servers/lone-server.ts");
    buildSync({ entryPoints: [entry], bundle: true, platform: "node", format: "esm", outfile: server });
  }, INSTALL_TIMEOUT_MS);
  afterAll(() => world?.stop());

  const runs = actors.filter(isServed).flatMap((actor) =>
    cases
      // What an ordinary user's sandbox lacks is the same for all of them.
      .filter(({ name }) => actor === servers || name === "claude")
      .map((one) => ({ ...one, actor, who: actor.name })),
  );
  test.each(runs)("$name works there as $who, and its key is not there", async (one) => {
    const { name, protocol, host, variable, step, words, actor } = one;
    await world.name(host, [WORLD.public4]);
    const place = { address: WORLD.public4, port: 443, tls: world.tls(host) };
    const order = { protocol, script: [step, { text: "the end" }], place };
    const model = world.spawnInWorld(servers, [process.execPath, server, JSON.stringify(order)]);
    let told = "";
    model.stdout?.on("data", (chunk: Buffer) => {
      told += String(chunk);
    });
    await new Promise((resolve) => model.stdout?.once("data", resolve));
    const project = makeProject(actor, { ".env": "hidden-from-agents", "README.md": "hello" });
    const ran = await world.runCli(actor, ["run", "--compatibility-mode", name, name, ...words], {
      cwd: project.path,
      env: { PATH: `${programs}:${process.env.PATH}`, [variable]: KEY, SSL_CERT_FILE: world.authority.certPath },
    });
    const closed = new Promise((resolve) => model.once("close", resolve));
    model.stdin?.end();
    await closed;
    const seen = JSON.parse(told.replace(/^ready\n/, "")) as Seen;

    expect({ status: ran.status, stdout: ran.stdout }, ran.stderr).toEqual({
      status: 0,
      stdout: expect.stringContaining("the end"),
    });
    // The real key reaches its own API, and nothing inside has it.
    expect(seen.keys.length).toBeGreaterThan(0);
    for (const key of seen.keys) expect(key).toContain(KEY);
    expect(seen.results[0]).toMatch(/run-[0-9a-f]+/);
    expect(seen.results[0]).toMatch(new RegExp(`${variable}=agentkernel-secret-`));
    expect(seen.results[0]).not.toContain(KEY);
    expect(seen.results[0]).not.toContain("hidden-from-agents");
    expect(existsSync(join(project.path, "made")) && readFileSync(join(project.path, "made"), "utf8")).toBe(
      "made inside\n",
    );
  });
});
