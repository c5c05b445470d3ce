/** A11: a key asks for more than its ceiling, through every operation that makes or changes a sandbox. */
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { resourceNumbers } from "../../../src/settings/index.js";
import { actors } from "../../support/actors.js";
import { type Answer, ApiServer, eventsOf } from "../../support/api-server.js";
import { call } from "../../support/mcp-client.js";
import { makeProject } from "../../support/project.js";
import { repository } from "../../support/repository.js";
import { runCli } from "../../support/run-cli.js";

type Body = Readonly<Record<string, unknown>>;

describe("A11 a key at its ceiling", () => {
  const [actor] = actors;
  if (actor === undefined) throw new Error("nobody runs tests");
  const project = makeProject(actor, { "seen.txt": "seen\n", ".env": "TOKEN=planted\n" });
  const other = makeProject(actor, { "other.txt": "another project's\n" });
  for (const { path } of [project, other]) chmodSync(path, 0o755);
  let server: ApiServer;
  let key: string;
  let roomy: string;
  let client: Client;
  const ask = (method: string, path: string, body: object, by = key) => server.ask(method, path, { body, key: by });
  const refusal = ({ status, json }: Answer) => [status, json.error?.code, json.error?.message];
  beforeAll(async () => {
    server = await ApiServer.start(actor);
    const scopes = ["--scope", "run", "--scope", "sandboxes"];
    key = await server.key("small", scopes);
    const more = ["--memory", "2g", "--allow-domain", "*.allowed.example", "--dir", project.path, "--timeout", "2h"];
    roomy = await server.key("roomy", [...scopes, ...more, "--image", "host"]);
    const headers = { authorization: `Bearer ${key}` };
    const transport = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit: { headers } });
    client = new Client({ name: "test", version: "1" });
    await client.connect(transport);
  });
  afterAll(async () => {
    await client.close();
    for (const name of ["small", "roomy", "users"]) await server.ask("DELETE", `/sandboxes/${name}?force=true`);
    await server.stop();
  });

  const beyond: readonly (readonly [Body, RegExp])[] = [
    ...resourceNumbers.map(
      ({ name, setting: { key, max, keyCeiling } }) =>
        [
          { resources: { [key]: max } },
          new RegExp(`${name} ${max} is more than this key's ceiling allows \\(${keyCeiling}\\)`),
        ] as const,
    ),
    [{ network: true }, /egress "on" is more than this key's ceiling/],
    [{ network: { allowed_domains: ["evil.example"] } }, /egress "allowlist" is more than this key's ceiling/],
    [{ backend: "linux" }, /backend: linux may isolate less than auto/],
    [{ backend: "docker" }, /backend: docker may isolate less than auto/],
    [{ dir: project.path }, /dir: this caller may not name this folder of the host/],
  ];
  const onlyRuns: readonly (readonly [Body, RegExp])[] = [
    [{ timeout_ms: 86_400_000 }, /timeout_ms: 86400000 is more than this key's ceiling allows \(3600000\)/],
  ];

  it.each([...beyond, ...onlyRuns])("%j is refused by every operation that runs a command", async (body, message) => {
    const run = { command: ["true"], ...body };
    const one = await ask("POST", "/run", run);
    expect(one.json.error.details.field.split(".")[0]).toBe(Object.keys(body)[0]);
    expect(refusal(one)).toEqual([403, expect.any(String), expect.stringMatching(message)]);
    const batch = await ask("POST", "/batch/run", { commands: [run] });
    expect(batch.json.data.results).toMatchObject([{ success: false, error: { message: one.json.error.message } }]);
    const stream = await ask("POST", "/run/stream", run);
    expect(stream.text).toContain(JSON.stringify(one.json.error.message).slice(1, -1));
  });

  it.each(beyond)("%j is refused by what makes sandboxes, and by tools", async (body, message) => {
    const made = await ask("POST", "/sandboxes", { name: "small", ...body, start: false });
    expect(refusal(made)).toEqual([403, expect.any(String), expect.stringMatching(message)]);
    if ("dir" in body) return;
    for (const [tool, args] of [
      ["sandbox_run", { command: ["true"] }],
      ["sandbox_create", { name: "small" }],
      ["sandbox_session_create", { name: "small" }],
    ] as const) {
      if (tool === "sandbox_run" && "resources" in body) continue;
      const { isError, text } = await call(client, tool, { ...args, ...body });
      expect([isError, text], tool).toEqual([true, expect.stringMatching(message)]);
    }
  });

  it("defaults, profiles and modes that a request names count as far as the key goes", async () => {
    for (const body of [{}, { profile: "permissive" }, { compatibility_mode: "claude" }]) {
      const { status, json, text } = await ask("POST", "/run", { command: ["true"], ...body });
      expect([status, json.data?.network.mode], text).toEqual([200, "off"]);
    }
  });

  it("an SDK gets the refusal with its hint", async () => {
    // By its place: the SDK has compiler options of its own.
    const { AgentKernel } = await import(join(repository, "sdk/typescript/src/index.ts"));
    const sdk = new AgentKernel({ baseUrl: server.url, apiKey: key });
    await expect(sdk.run(["true"], { resources: { memoryMb: 1 << 20 } })).rejects.toMatchObject({
      code: "policy_denied",
      hint: expect.stringContaining("agentkernel keys create --memory"),
    });
  });

  it("what the user has given a key, it gets, and nothing beside it", async () => {
    const run = (body: Body) => ask("POST", "/run", { command: ["true"], ...body }, roomy);
    const given = await run({ resources: { memory_mb: 2048 }, network: { allowed_domains: ["a.allowed.example"] } });
    expect([given.status, given.json.data?.network.mode], given.text).toEqual([200, "allowlist"]);
    expect((await run({ resources: { memory_mb: 2049 } })).status).toBe(403);
    expect((await run({ network: { allowed_domains: ["allowed.example.evil.example"] } })).status).toBe(403);
    expect((await run({ network: true })).status).toBe(403);
    const image = await run({ image: "python:3.12" });
    expect(refusal(image)).toEqual([
      403,
      "forbidden",
      expect.stringMatching(/image: this key may not use python:3\.12/),
    ]);
    const command = ["sh", "-c", "cat seen.txt; cat .env 2>/dev/null; echo changed > seen.txt"];
    const seen = await run({ dir: project.path, command });
    expect([seen.status, seen.json.data?.stdout], seen.text).toEqual([200, "seen\n"]);
    for (const workspace of ["sync", "mount"]) expect((await run({ dir: project.path, workspace })).status).toBe(403);
    for (const dir of [other.path, `${project.path}/..`, "/nonexistent"])
      expect(refusal(await run({ dir }))).toEqual([
        403,
        "forbidden",
        expect.stringMatching(/may not name this folder/),
      ]);
    expect(project.content()["seen.txt"]).toBe("seen\n");
  });

  it("a sandbox that is there gives no more time, and no more network", async () => {
    expect((await server.ask("POST", "/sandboxes", { body: { name: "users" } })).status).toBe(201);
    const guest = await server.key("guest", ["--scope", "sandboxes", "--sandbox", "users", "--timeout", "1s"]);
    const exec = (body: Body) => ask("POST", "/sandboxes/users/exec", { command: ["sleep", "100"], ...body }, guest);
    expect((await exec({ timeout_ms: 2000 })).status).toBe(403);
    expect((await exec({})).json.data.timed_out).toBe(true);
    const watching = await server.open("GET", "/sandboxes/users/events", { key: guest });
    expect((await exec({ detach: true })).status).toBe(202);
    for await (const { event } of eventsOf(watching)) if (event === "exec.ended") break;
    const mine = await ask("POST", "/sandboxes", { name: "small", start: false });
    expect([mine.status, mine.json.data?.network], mine.text).toEqual([201, "off"]);
    expect((await ask("PATCH", "/sandboxes/small", { network: true })).status).toBe(403);
  });

  it("the user is told what a key may when it is made, and a key that acts as the user takes no ceiling", async () => {
    const made = await runCli(server.actor, ["keys", "create", "told", "--dir", project.path]);
    expect(made.stderr).toMatch(/at most: 2 cores, 1g of memory, 512 processes, .* no network, .* copies of \//);
    const wrong = await runCli(server.actor, ["keys", "create", "wrong", "--scope", "admin", "--memory", "2g"]);
    expect([wrong.status, wrong.stderr]).toEqual([125, expect.stringMatching(/--memory: .*scope admin acts as you/)]);
    const listed = JSON.parse((await runCli(server.actor, ["keys", "list", "--json"])).stdout).data;
    expect(listed.find(({ name }: { name: string }) => name === "roomy").ceiling).toMatchObject({
      memory_mb: 2048,
      network: "allowlist",
      allowed_domains: ["*.allowed.example"],
      images: ["host"],
      dirs: [project.path],
    });
  });

  it("processor time that is used up stays so when the server starts anew", async () => {
    const first = await ApiServer.start(actor);
    const brief = await first.key("brief", ["--cpu-seconds", "1"]);
    // Until it has used 1.3 seconds.
    const isUnused = `[ "$(cut -d' ' -f14 /proc/$$/stat)" -lt 130 ]`;
    const burn = `while ${isUnused}; do i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done; done`;
    const body = { command: ["sh", "-c", burn], timeout_ms: 120_000 };
    expect((await first.ask("POST", "/run", { body, key: brief })).status).toBe(200);
    await first.stop();
    const state = first.actor.variables?.XDG_STATE_HOME ?? "";
    const next = await ApiServer.start({ ...actor, folder: (name) => (name === "state" ? state : actor.folder(name)) });
    const { status } = await next.ask("POST", "/run", { body: { command: ["true"] }, key: brief });
    expect(status).toBe(429);
    await next.stop();
  });
});
