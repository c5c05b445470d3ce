/** Snapshots, restored sandboxes and forks over HTTP: what is kept, and whose it is. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { ApiServer } from "../support/api-server.js";

describe.each(actors)("as $name", (actor) => {
  let server: ApiServer;
  let key: string;
  beforeAll(async () => {
    server = await ApiServer.start(actor);
    key = await server.key("admin", ["--scope", "admin"]);
  });
  afterAll(async () => {
    expect(await server.stop()).toBe(0);
  });
  const as = (by: string) => (method: string, path: string, body?: unknown) =>
    server.ask(method, path, { ...(body === undefined ? {} : { body }), key: by });
  const ask: ReturnType<typeof as> = (...words) => as(key)(...words);
  const exec = async (name: string, script: string) =>
    (await ask("POST", `/sandboxes/${name}/exec`, { command: ["sh", "-c", script] })).json.data.stdout;

  it("a snapshot is made, listed, restored and removed, and a fork is a sandbox of its own", async () => {
    await ask("POST", "/sandboxes", { name: "box", network: false, resources: { pids: 100 } });
    await exec("box", "echo one > /opt/x");
    await ask("POST", "/sandboxes/box/stop");
    const made = await ask("POST", "/sandboxes/box/snapshot", { name: "kept" });
    expect(made.status).toBe(201);
    expect(made.json.data).toMatchObject({ name: "kept", sandbox: "box", backend: "linux", dir: null });
    expect((await ask("POST", "/sandboxes/box/snapshot", { name: "kept" })).status).toBe(409);
    expect((await ask("POST", "/sandboxes/box/snapshot")).json.data.name).toMatch(/^box-\d{8}-\d{6}$/);
    expect((await ask("GET", "/snapshots")).json.data.snapshots).toHaveLength(2);
    expect((await ask("GET", "/snapshots/kept")).json.data).toEqual(made.json.data);

    const fork = await ask("POST", "/sandboxes/box/fork", { name: "twin", start: false });
    expect([fork.status, fork.json.data.state, fork.json.data.resources.pids]).toEqual([201, "created", 100]);
    await exec("twin", "echo twin > /opt/x");
    expect(await exec("box", "cat /opt/x")).toBe("one\n");
    const restored = await ask("POST", "/snapshots/kept/restore", { name: "again" });
    expect([restored.status, restored.json.data.state]).toEqual([201, "running"]);
    expect(await exec("again", "cat /opt/x; hostname")).toBe("one\nagain\n");

    expect((await ask("DELETE", "/snapshots/kept")).json.data).toEqual({ name: "kept" });
    expect((await ask("POST", "/snapshots/kept/restore", { name: "late" })).status).toBe(404);
    expect(await exec("again", "cat /opt/x")).toBe("one\n");
    for (const name of ["box", "twin", "again"]) await ask("DELETE", `/sandboxes/${name}?force=true`);
    for (const { name } of (await ask("GET", "/snapshots")).json.data.snapshots)
      await ask("DELETE", `/snapshots/${name}`);
  });

  it("of others' snapshots nobody learns anything, nothing is made of them, and they count for their owner", async () => {
    const mine = as(await server.key("mine", ["--scope", "sandboxes", "--max-sandboxes", "2"]));
    const others = as(await server.key("others", ["--scope", "sandboxes"]));
    await mine("POST", "/sandboxes", { name: "private", network: false, start: false });
    expect((await mine("POST", "/sandboxes/private/snapshot", { name: "secret" })).status).toBe(201);
    expect((await mine("GET", "/snapshots")).json.data.snapshots).toHaveLength(1);
    expect((await mine("POST", "/sandboxes/private/fork", { name: "third" })).status).toBe(429);
    expect((await others("GET", "/snapshots")).json.data.snapshots).toEqual([]);
    const tries: readonly (readonly [string, string, unknown?])[] = [
      ["GET", "/snapshots/secret"],
      ["DELETE", "/snapshots/secret"],
      ["POST", "/snapshots/secret/restore", { name: "stolen" }],
      ["POST", "/sandboxes/private/snapshot", { name: "stolen" }],
      ["POST", "/sandboxes/private/fork", { name: "stolen" }],
    ];
    for (const [method, path, body] of tries) expect((await others(method, path, body)).status, path).toBe(404);
    const shown = as(await server.key("shown", ["--scope", "sandboxes", "--sandbox", "private"]));
    expect((await shown("GET", "/sandboxes/private")).status).toBe(200);
    expect((await shown("POST", "/sandboxes/private/snapshot", {})).status).toBe(403);
    expect((await ask("DELETE", "/snapshots/secret")).status).toBe(200);
    await ask("DELETE", "/sandboxes/private?force=true");
  });

  it("wrong fields are named", async () => {
    await ask("POST", "/sandboxes", { name: "plain", network: false, start: false });
    const bad = await ask("POST", "/sandboxes/plain/snapshot", { nmae: "x" });
    expect([bad.status, bad.json.error.message]).toEqual([400, expect.stringContaining("nmae")]);
    expect((await ask("POST", "/sandboxes/plain/fork", {})).json.error.message).toContain("name");
    expect((await ask("GET", "/snapshots/..%2fup")).status).toBe(400);
    expect((await ask("DELETE", "/sandboxes/plain")).status).toBe(200);
  });
});
