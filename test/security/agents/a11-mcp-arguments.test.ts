/**
 * A11: whoever writes what a model reads could have it ask for more than the user gave. Each argument of each tool, as
 * the official client lists them, is attacked here, or has the reason why it can open nothing.
 */
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { join } from "node:path";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { resourceNumbers } from "../../../src/settings/index.js";
import { actors } from "../../support/actors.js";
import { clientOf } from "../../support/daemon.js";
import { call, startMcp } from "../../support/mcp-client.js";
import { makeProject } from "../../support/project.js";
import { runCli } from "../../support/run-cli.js";
import { rustModule } from "../../support/wasm-modules.js";

type Arguments = Readonly<Record<string, unknown>>;

interface Attack {
  readonly args: Arguments;
  /** What refuses it. */
  readonly refused: RegExp;
  /** The user's configuration, where another than the usual one of this file. */
  readonly config?: string;
}

const usual = [
  "[security]",
  "network = false",
  "[resources]",
  "vcpus = 1",
  "memory_mb = 256",
  "pids = 64",
  "disk_mb = 256",
  "open_files = 1024",
  "timeout_ms = 20000",
  "",
].join("\n");

/** Arguments that open nothing, whatever they say. */
const openNothing: Readonly<Record<string, string>> = {
  env: "variables for the command, which could set them itself",
  cwd: "a path inside the sandbox",
  lang: "the language of a program that runs without files, network and user",
  path: "resolved inside the sandbox (F5)",
  content: "bytes of a file inside the sandbox",
  encoding: "how content is written",
  mode: "permission bits inside the sandbox",
  offset: "where an answer begins",
  exec: "a command of a sandbox that the name reaches",
  limit: "how long an answer is, bounded",
  streaming: "whether output is told early",
  ttl: "a sandbox lives for ever without it",
  idle_timeout: "a sandbox runs for ever without it",
};

describe("A11 arguments of MCP tools", () => {
  const [actor] = actors;
  if (actor === undefined) throw new Error("nobody runs tests");
  const own = clientOf(actor);
  const configFolder = actor.folder("config");
  const caller = {
    ...actor,
    program: own.program ?? [],
    variables: {
      ...own.variables,
      XDG_STATE_HOME: actor.folder("state"),
      XDG_CONFIG_HOME: configFolder,
      AGENTKERNEL_PULL: "missing",
    },
  };
  const project = makeProject(actor, { "keep.txt": "the user's\n" });
  const other = makeProject(actor, { "other.txt": "another project's\n" });
  // Also for a user inside who is not the owner.
  chmodSync(project.path, 0o755);
  const outside = rustModule("tell");
  symlinkSync(outside, join(project.path, "linked.wasm"));

  let service: Server;
  let port = 0;
  let connections = 0;
  let client: Client;
  const configure = (text: string) => {
    mkdirSync(join(configFolder, "agentkernel"), { recursive: true });
    writeFileSync(join(configFolder, "agentkernel", "config.toml"), text);
  };
  const start = async (words: readonly string[] = [], cwd = project.path) =>
    (await startMcp(caller, { cwd, words: ["mcp", "server", ...words] })).client;
  beforeAll(async () => {
    service = createServer((socket) => {
      connections++;
      socket.destroy();
    });
    await new Promise<void>((resolve) => service.listen(0, "127.0.0.1", resolve));
    port = (service.address() as AddressInfo).port;
    configure(usual);
    client = await start(["--user", "1000"]);
    const made = await call(client, "sandbox_session_create", { name: "own" });
    expect(made.isError, made.text).toBe(false);
    const lasting = await call(client, "sandbox_create", { name: "lasting" });
    expect(lasting.isError, lasting.text).toBe(false);
    const theirs = await runCli(caller, ["create", "theirs"], { cwd: other.path });
    expect(theirs.status, theirs.stderr).toBe(0);
  });
  afterAll(async () => {
    await client?.close();
    await runCli(caller, ["remove", "--force", "theirs", "lasting"]);
    await runCli(caller, ["daemon", "stop", "--all"]);
    service?.close();
  });

  const wider = (args: Arguments, field: string): readonly Attack[] => [
    { args, refused: new RegExp(`^policy_denied: a call may not go beyond the user's configuration: .*${field}`) },
  ];
  const elsewhere: readonly Attack[] = [
    { args: { name: "theirs" }, refused: /^not_found: there is no sandbox theirs/ },
  ];
  const attacks: Readonly<Record<string, () => readonly Attack[]>> = {
    image: () => [
      ...wider({ image: other.path }, "image: "),
      ...[`127.0.0.1:${port}/x/data:v1`, `localhost:${port}/x/data`, "registry.internal/x", "evil.example/x"].map(
        (image) => ({ args: { image }, refused: /^policy_denied: image: \S+ is not one of the registries/ }),
      ),
      // Not even one of the user's list, where the user's limits leave no network.
      {
        args: { image: `127.0.0.1:${port}/x/data:v2` },
        refused: /^image_unavailable: .* pulling is off/,
        config: `[limits]\nnetwork = "off"\n[images]\nregistries = ["127.0.0.1:${port}"]\n`,
      },
    ],
    profile: () => wider({ profile: "permissive" }, "fs.workspace.mode"),
    compatibility_mode: () => wider({ compatibility_mode: "claude" }, "fs.workspace.mode"),
    network: () => wider({ network: true }, "net.egress"),
    "network.enabled": () => wider({ network: { enabled: true } }, "net.egress"),
    "network.allowed_domains": () => wider({ network: { allowed_domains: ["evil.example"] } }, "net.egress"),
    ...Object.fromEntries(
      resourceNumbers.map(({ path, jsonPath, setting: { key, max } }) => [
        jsonPath,
        () => wider({ resources: { [key]: max } }, path),
      ]),
    ),
    timeout_ms: () => wider({ timeout_ms: 86_400_000 }, "resources.timeoutMs"),
    backend: () =>
      ["linux", "auto"].map((backend) => ({
        args: { backend },
        refused: /^policy_denied: .*backend "\w+" instead of "gvisor"/,
        config: '[sandbox]\nbackend = "gvisor"\n',
      })),
    command: () =>
      [outside, "linked.wasm", `../${other.path.split("/").at(-1)}/other.txt`].map((module) => ({
        args: { command: [module], backend: "wasm" },
        refused: /^policy_denied: command: the module is not a file of this project/,
        config: "",
      })),
    user: () =>
      ["0", "root", "1001"].map((user) => ({
        args: { user },
        refused: /^policy_denied: user: the sandbox was made for the user 1000/,
      })),
    name: () => elsewhere,
  };
  /** What an argument means elsewhere, here. */
  const ofTool: Readonly<Record<string, string>> = {
    "sandbox_exec.command": "a program in a sandbox that is there",
    "sandbox_exec.timeout_ms": "the sandbox's own limit holds besides, and is tested below",
    "sandbox_background.command": "a program in a sandbox that is there",
    "sandbox_background.timeout_ms": "the sandbox's own limit holds besides",
    "sandbox_create.name": "it is taken, or it is new",
    "sandbox_session_create.name": "it is taken, or it is new",
  };
  const required: Readonly<Record<string, Arguments>> = {
    sandbox_run: { command: ["true"] },
    sandbox_create: { name: "made" },
    sandbox_exec: { name: "own", command: ["true"] },
    sandbox_background: { name: "lasting", command: ["true"] },
    sandbox_kill: { name: "lasting", exec: "x00000000" },
    sandbox_file_read: { name: "own", path: "/etc/hostname" },
    sandbox_file_write: { name: "own", path: "/tmp/a", content: "" },
  };

  type Schema = { readonly properties?: Readonly<Record<string, Schema>>; readonly anyOf?: readonly Schema[] };
  /** `network`, `network.enabled`, … */
  const leaves = (schema: Schema, path: string): readonly string[] => {
    const inner = [schema, ...(schema.anyOf ?? [])].flatMap(({ properties }) => Object.entries(properties ?? {}));
    const own = schema.properties === undefined ? [path] : [];
    return [...own, ...inner.flatMap(([name, below]) => leaves(below, `${path}.${name}`))];
  };

  it("each of every tool is attacked, and gives nothing that the user has not given", async () => {
    const { tools } = await client.listTools();
    const before = project.content();
    const unknown: string[] = [];
    const attacked = new Set<string>();
    for (const { name: tool, inputSchema } of tools) {
      const all = Object.entries((inputSchema as Schema).properties ?? {}).flatMap(([one, schema]) =>
        leaves(schema, one),
      );
      for (const argument of all) {
        if (ofTool[`${tool}.${argument}`] !== undefined || openNothing[argument] !== undefined) continue;
        const found = attacks[argument]?.();
        if (found === undefined) unknown.push(`${tool}.${argument}`);
        for (const { args, refused, config } of found ?? []) {
          configure(config ?? usual);
          const { isError, text } = await call(client, tool, { ...required[tool], ...args });
          expect([isError, text], `${tool} ${JSON.stringify(args)}`).toEqual([true, expect.stringMatching(refused)]);
          attacked.add(argument);
        }
      }
    }
    configure(usual);
    expect(unknown, "arguments with neither an attack nor a reason").toEqual([]);
    expect([...attacked].sort()).toEqual(Object.keys(attacks).sort());
    expect(connections).toBe(0);
    expect(project.content()).toEqual(before);
  }, 120_000);

  it("what the user's configuration gives, and less, is given without a question", async () => {
    const args = { network: false, profile: "restrictive", timeout_ms: 5000 };
    const ran = await call(client, "sandbox_run", { command: ["cat", "keep.txt"], ...args });
    expect(ran.data?.stdout, ran.text).toBe("the user's\n");
    const resources = { memory_mb: 128, pids: 32 };
    const made = await call(client, "sandbox_session_create", { name: "small", resources });
    expect(made.isError, made.text).toBe(false);
    await call(client, "sandbox_remove", { name: "small" });
    const exec = await call(client, "sandbox_exec", { name: "own", command: ["id", "-u"], user: "1000" });
    expect(exec.data?.stdout, exec.text).toBe("1000\n");
  });

  it("a registry of the user's list is asked", async () => {
    configure(`${usual}[images]\nregistries = ["127.0.0.1:${port}"]\n`);
    const { isError } = await call(client, "sandbox_run", {
      command: ["true"],
      image: `127.0.0.1:${port}/x/data:v3`,
    });
    configure(usual);
    expect(isError).toBe(true);
    expect(connections).toBeGreaterThan(0);
  });

  it("a command lives no longer than its sandbox's limit says, whatever the call says", async () => {
    configure("[resources]\ntimeout_ms = 1000\n");
    const command = ["sleep", "600"];
    await call(client, "sandbox_session_create", { name: "brief" });
    const { data } = await call(client, "sandbox_exec", { name: "brief", command, timeout_ms: 86_400_000 });
    await call(client, "sandbox_remove", { name: "brief" });
    configure(usual);
    expect(data).toMatchObject({ timed_out: true });
  });

  it("the user's sandboxes of other projects are not there, and those of this project are", async () => {
    const mine = await runCli(caller, ["create", "mine"], { cwd: project.path });
    expect(mine.status, mine.stderr).toBe(0);
    const { data } = await call(client, "sandbox_list");
    expect(data.sandboxes.map(({ name }: { name: string }) => name)).toEqual(["own", "lasting", "mine"]);
    const uri = "agentkernel://sandboxes/theirs/files/workspace/other.txt";
    await expect(client.readResource({ uri })).rejects.toThrow(/there is no sandbox theirs/);
    expect((await call(client, "sandbox_remove", { name: "mine" })).isError).toBe(false);
    // Their own project's session has them.
    const neighbour = await start([], other.path);
    const listed = await call(neighbour, "sandbox_list");
    await neighbour.close();
    expect(listed.data.sandboxes).toMatchObject([{ name: "theirs" }]);
  });

  it("a mode that carries changes over is the user's to give: by the words that start the server", async () => {
    const command = ["sh", "-c", "rm -f keep.txt; echo made > made.txt"];
    const asked = { command, compatibility_mode: "claude" };
    const refused = await call(client, "sandbox_run", asked);
    expect(refused.text).toContain("agentkernel mcp server --compatibility-mode claude");
    expect(project.content()).toMatchObject({ "keep.txt": "the user's\n" });
    configure("");
    const given = await start(["--compatibility-mode", "claude", "--memory", "512m"]);
    try {
      const narrower = await call(given, "sandbox_run", { command, profile: "moderate" });
      expect(narrower.data?.exit_code, narrower.text).toBe(0);
      expect(project.content()).toMatchObject({ "keep.txt": "the user's\n" });
      const more = await call(given, "sandbox_session_create", { resources: { memory_mb: 1024 } });
      expect(more.text).toMatch(/^policy_denied: .*resources\.memoryMiB 1024 instead of 512/);
      const ran = await call(given, "sandbox_run", asked);
      expect(ran.data?.notes.join("\n"), ran.text).toContain("made.txt");
      expect(project.content()).toMatchObject({ "made.txt": "made\n" });
      expect(project.content()).not.toHaveProperty("keep.txt");
    } finally {
      await given.close();
      configure(usual);
    }
  });

  it("words that no sandbox could have end the server at once, with what is wrong", async () => {
    const { status, stderr } = await runCli(caller, ["mcp", "server", "--memory", "lots"], { cwd: project.path });
    expect(status).toBe(125);
    expect(stderr).toMatch(/--memory/);
  });
});
