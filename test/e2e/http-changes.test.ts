/** What a named sandbox changed in a project, over HTTP: looked at, and taken over into the project. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { ApiServer } from "../support/api-server.js";

describe.each(actors)("as $name", (actor) => {
  let server: ApiServer;
  let key: string;
  let dir: string;
  let count = 0;
  let box = "";
  beforeAll(async () => {
    server = await ApiServer.start(actor);
    key = await server.key("tests", ["--scope", "admin"]);
  });
  afterAll(async () => {
    expect(await server.stop()).toBe(0);
  });
  const ask = (method: string, path: string, body?: unknown, as = key) =>
    server.ask(method, path, { ...(body === undefined ? {} : { body }), key: as });

  beforeEach(async () => {
    box = `changes-${++count}`;
    dir = actor.folder(box);
    for (const name of ["kept", "edited", "gone"]) writeFileSync(join(dir, name), `${name}\n`, { mode: 0o666 });
    if (process.getuid?.() === 0) execFileSync("chown", ["-R", `${actor.uid}:${actor.gid}`, dir]);
    const made = await ask("POST", "/sandboxes", { name: box, network: false, dir, workspace: "copy" });
    expect(made.status).toBe(201);
    const command = ["sh", "-c", "cd /workspace; echo more >> edited; rm gone; echo new > added"];
    const ran = await ask("POST", `/sandboxes/${box}/exec`, { command });
    expect(ran.json.data).toMatchObject({ exit_code: 0, stderr: "" });
    return async () => {
      expect((await ask("DELETE", `/sandboxes/${box}?force=true`)).status).toBe(200);
    };
  });

  it("are listed, and shown as a patch that git takes", async () => {
    const { changes, truncated } = (await ask("GET", `/sandboxes/${box}/diff`)).json.data;
    expect(truncated).toBe(false);
    expect(changes).toMatchObject([
      { path: "added", change: "added", type: "file", size_bytes: 4, conflict: null, refused: null },
      { path: "edited", change: "modified", size_bytes: 12 },
      { path: "gone", change: "deleted", size_bytes: null },
    ]);
    const below = (await ask("GET", `/sandboxes/${box}/diff?path=edited`)).json.data.changes;
    expect(below.map(({ path }: { path: string }) => path)).toEqual(["edited"]);
    const patch = await ask("GET", `/sandboxes/${box}/diff?format=patch`);
    expect(patch.headers["content-type"]).toBe("text/x-diff");
    expect(patch.bytes.toString()).toContain("+more\n");
    execFileSync("git", ["apply", "--check"], { cwd: dir, input: patch.bytes });
    expect(existsSync(join(dir, "added"))).toBe(false);
  });

  it("are taken over, of a sandbox that is stopped too, but for what the host changed meanwhile", async () => {
    writeFileSync(join(dir, "edited"), "of the host\n");
    const rehearsed = (await ask("POST", `/sandboxes/${box}/apply`, { dry_run: true })).json.data;
    expect(rehearsed).toMatchObject({ written: ["added"], deleted: ["gone"], conflicts: ["edited"] });
    expect(existsSync(join(dir, "gone"))).toBe(true);
    await ask("POST", `/sandboxes/${box}/stop`);
    const applied = await ask("POST", `/sandboxes/${box}/apply`);
    expect(applied.json.data).toEqual({
      written: ["added"],
      deleted: ["gone"],
      conflicts: ["edited"],
      refused: [],
      held: [],
      held_as: null,
      omitted: 0,
      repositories: [],
    });
    expect(readFileSync(join(dir, "edited"), "utf8")).toBe("of the host\n");
    expect(readFileSync(join(dir, "added"), "utf8")).toBe("new\n");
    expect(existsSync(join(dir, "gone"))).toBe(false);
    const [left] = (await ask("GET", `/sandboxes/${box}/diff`)).json.data.changes;
    expect(left).toMatchObject({ path: "edited", conflict: expect.stringMatching(/./) });

    const unnamed = await ask("POST", `/sandboxes/${box}/apply`, { force: true });
    expect([unnamed.status, unnamed.json.error.details.field]).toEqual([400, "paths"]);
    const forced = await ask("POST", `/sandboxes/${box}/apply`, { force: true, paths: ["edited"] });
    expect(forced.json.data).toMatchObject({ written: ["edited"], conflicts: [] });
    expect(readFileSync(join(dir, "edited"), "utf8")).toBe("edited\nmore\n");
  });

  it("are the host's business: a key for the sandbox alone may look, and not apply", async () => {
    const narrow = await server.key(`narrow-${count}`, ["--scope", "sandboxes", "--sandbox", box]);
    expect((await ask("GET", `/sandboxes/${box}/diff`, undefined, narrow)).status).toBe(200);
    expect((await ask("POST", `/sandboxes/${box}/apply`, {}, narrow)).status).toBe(403);
    expect(existsSync(join(dir, "gone"))).toBe(true);
    const outside = await ask("GET", `/sandboxes/${box}/diff?path=../etc`);
    expect([outside.status, outside.json.error.details.field]).toEqual([400, "path"]);
  });

  it("cannot be told of a sandbox that has never run, or has no project", async () => {
    await ask("POST", "/sandboxes", { name: "never", network: false, start: false });
    expect((await ask("GET", "/sandboxes/never/diff")).status).toBe(409);
    await ask("POST", "/sandboxes/never/start");
    expect((await ask("GET", "/sandboxes/never/diff")).status).toBe(501);
    expect((await ask("GET", "/sandboxes/never/diff?format=patch")).status).toBe(501);
    await ask("DELETE", "/sandboxes/never?force=true");
  });
});
